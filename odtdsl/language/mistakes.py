"""Recognises what a person probably meant where a text fails to parse.

Each recogniser looks at a `Failure` and gives a diagnostic or None; `explain` asks them in order,
the surest first, and the last one always answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.source import Span
from odtdsl.base.tasks import heads_of_targets, timed_targets
from odtdsl.language.failure import Failure
from odtdsl.language.grammar import keywords
from odtdsl.language.missing_cells import missing_cells
from odtdsl.language.misspellings import (
    lone_percent,
    number_form,
    operator,
    single_quotes,
    stray_character,
    unclosed_text,
)
from odtdsl.language.named_solvers import named_solver
from odtdsl.language.prices import losses, one_price
from odtdsl.language.vocabulary import (
    INFIX,
    OTHER_STATEMENTS,
    OTHER_WORDS,
    SCOPES_BY_WORD,
    SPELLINGS,
    STATEMENTS,
    UNITS,
    WORDS_OF_TARGETS,
    expected_words,
    one_of,
)

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_LISTS = ("target", "feature", "drop", "missing", "cost", "candidates", "weight")
_TYPES = ("number", "integer", "category", "binary", "ordered", "class")
_RELATIONS = ("in", "is", "before", "requires", "multiple_of")
_SIGNS = ("<", ">", "=", "<=", ">=", "==", "!=", "+", "*", "/", ",", ")")
_COMPARING = {"COMPARISON", "EQUAL"}
_BREAKS = {"AND", "OR", "NOT", "IF", "THEN", "COLON", "COMMA", "LPAR"}


def explain(failure: Failure) -> Diagnostic:
    """The most helpful thing to say about a failure."""
    for recognise in _RECOGNISERS:
        if (diagnostic := recognise(failure)) is not None:
            return diagnostic
    return _unexpected(failure)


# ---- brackets


def _closing(f: Failure) -> Diagnostic | None:
    if f.found not in (")", "]", "}"):
        return None
    opener = f.opener()
    if opener is None:
        return f.error("S008", f"`{f.found}` closes nothing", "remove it")
    right = _PAIRS[opener.text]
    if right == f.found:
        return None
    opened = Label(span=f.span(opener.start, opener.end), text="opened here")
    return f.error(
        "S008",
        f"`{opener.text}` must be closed by `{right}`, not by `{f.found}`",
        f"write `{right}`",
        also=(opened,),
    )


def _unclosed(f: Failure) -> Diagnostic | None:
    opener = f.opener()
    if opener is None:
        return None
    right = _PAIRS[opener.text]
    if right in f.text[f.at :].split("\n")[0] or (not f.ended and right in f.text[f.at :]):
        return None
    label = f"add `{right}` at the end of the list" if right == "}" else f"add `{right}`"
    return f.error(
        "S007",
        f"this `{opener.text}` is never closed",
        label,
        span=f.span(opener.start, opener.end),
    )


# ---- rules


def _nested_forall(f: Failure) -> Diagnostic | None:
    if f.last.text != "forall" or f.last.kind != "NAME" or not f.is_word:
        return None
    if len(f.statement) < 3:  # `rule forall path: ...` lacks its name
        return None
    return f.error(
        "S012",
        "`forall` is allowed only at the start of a rule",
        "inside a condition",
        span=f.span(f.last.start, f.at + len(f.found)),
        helps=(f"make this a rule of its own: `rule NAME: forall {f.found}: ...`",),
    )


def _rule_head(f: Failure) -> Diagnostic | None:
    said = f.statement
    if f.keyword != "rule" or len(said) > 5:
        return None
    if len(said) == 1:
        return _rule_name(f) if f.found == ":" else None
    if len(said) == 5 and said[3].kind == "FORALL" and f.expected == {"COLON"}:
        return f.error(
            "S015",
            "a colon is missing after `forall` and its scope",
            f"write `forall {SCOPES_BY_WORD.get(f.last.text, f.last.text)}:`",
            span=_behind(f),
        )
    if len(said) != 2 or f.expected != {"COLON"}:
        return None
    if said[1].text == "forall" or not (f.is_word or f.ended):
        return _rule_name(f)
    if re.match(r"\s*:", f.rest):
        right = f"{f.last.text}_{f.found}"
        return f.error(
            "S021",
            "the name of a rule must be one word",
            f"write `{right}`",
            span=f.span(f.last.start, f.at + len(f.found)),
        )
    return f.error(
        "S015",
        "a colon is missing after the name of the rule",
        f"write `rule {f.last.text}:`",
        span=_behind(f),
    )


def _rule_name(f: Failure) -> Diagnostic:
    return f.error(
        "S014",
        "a rule needs a name",
        "no name after `rule`",
        span=f.span(f.statement[0].start, f.statement[0].end),
        helps=("write `rule NAME: ...`; messages and audits use this name",),
    )


def _behind(f: Failure) -> Span:
    """The word that something is missing behind."""
    return f.span(f.last.start, f.last.end)


def _three_comparisons(f: Failure) -> Diagnostic | None:
    if f.found not in ("<", ">", "=", "<=", ">=", "==", "!=") or _COMPARING & f.expected:
        return None
    depth, seen = 0, []
    for piece in reversed(f.statement):
        if piece.text in _PAIRS.values():
            depth += 1
        elif piece.text in _PAIRS and depth:
            depth -= 1
        elif depth == 0 and piece.kind in _BREAKS:
            break
        elif depth == 0 and piece.kind in _COMPARING:
            seen.append(piece)
    if len(seen) < 2:
        return None
    also = [Label(span=f.span(piece.start, piece.end)) for piece in reversed(seen)]
    return f.error(
        "S011",
        "a chain has at most two comparisons",
        "the third",
        also=also,
        helps=("join two chains with `and`",),
    )


# ---- words


def _keyword_as_name(f: Failure) -> Diagnostic | None:
    taken, behind = f.last, f.found
    if f.last.text in _RELATIONS and f.last.kind == "NAME":
        taken, behind = f.back(1), f.last.text  # `not in {...}` reads `in` as a name
    if taken.kind not in ("IF", "NOT", "FORALL", "MINIMIZE", "MAXIMIZE"):
        return None
    if behind not in _RELATIONS and behind not in _SIGNS:
        return None
    if len(f.statement) == 1:  # `minimize <= ...` names nothing
        return None
    word = taken.text
    return f.error(
        "S016",
        f"`{word}` is a keyword",
        f"if it is a name, write `` `{word}` ``",
        span=f.span(taken.start, taken.end),
    )


def _unit(f: Failure) -> Diagnostic | None:
    kind = next((k for k in ("TIME_UNIT", "MEMORY_UNIT") if k in f.expected), None)
    if kind is None:
        return None
    limit = f.back(1)
    word, amount = limit.text, f.last.text
    units, usual = ("`s`, `min` or `h`", "s") if kind == "TIME_UNIT" else ("`MB` or `GB`", "GB")
    meant = UNITS.get(f.found.lower())
    if f.is_word and f.same_line:
        right = f"{amount} {meant}" if meant and meant in keywords()[kind].split() else None
        return f.error(
            "S020",
            f"`{f.found}` is not a unit of `{word}`",
            f"write `{right}`" if right else f"write {units}",
        )
    return f.error(
        "S020",
        f"`{word}` needs a unit: {units}",
        f"write `{amount} {usual}`",
        span=f.span(f.last.start, f.last.end),
    )


def _share(f: Failure) -> Diagnostic | None:
    """Test rows as a share without a percent sign, `test 0.3`, as scikit-learn takes it."""
    if f.last.kind != "NUMBER" or f.back(1).kind != "TEST" or "PERCENT" not in f.expected:
        return None
    number = Fraction(f.last.text)
    percent = float(number * 100 if number < 1 else number)
    return f.error(
        "S020",
        "`test` needs a percentage",
        f"write `{percent:g}%`" if percent < 100 else "for example `25%`",
        span=f.span(f.last.start, f.last.end),
    )


def _kept_together(f: Failure) -> Diagnostic | None:
    """`by` behind `stratified` or `seed`, or behind a file of test rows."""
    behind = [f.back(k) for k in range(5)]
    test = next((k for k, token in enumerate(behind) if token.kind == "TEST"), None)
    if f.found != "by" or not test:
        return None
    if behind[test - 1].kind == "STRING":
        return f.error("S001", "unexpected `by`", "rows of a file are test rows as they are")
    share = "25%" if behind[test - 1].kind != "NUMBER" else f"{behind[test - 1].text}%"
    return f.error(
        "S001",
        "unexpected `by`",
        f"it stands behind the share, without `stratified`: `test {share} by patient seed 1`",
    )


def _spelling(f: Failure) -> Diagnostic | None:
    for word, start in ((f.found, f.at), (f.last.text, f.last.start)):
        right = SPELLINGS.get(word)
        wanted = f.at_statement if start == f.at else f.back(1).kind == "THEN"
        if right and wanted:
            return f.error(
                "S024",
                f"`{word}` is spelt `{right}` here",
                f"write `{right}`",
                span=f.span(start, start + len(word)),
            )
    return None


def _set_of_values(f: Failure) -> Diagnostic | None:
    if f.last.kind == "IN" and f.found:
        what = "after `in`, write a set in braces or a range in brackets"
        listed = _listed(f, f.at) if f.found == "(" else None
        if listed is not None:
            span = f.span(f.at, f.at + len(listed) + 2)
            return f.error("S001", what, f"write `{{{listed.strip()}}}`", span=span)
        label = "write `{...}`" if f.found == "(" else "write `{...}` or `[low, high]`"
        return f.error("S001", what, label)
    opener = f.opener()
    if opener is not None and opener.text == "[" and f.found in (",", "]"):
        listed = _listed(f, opener.start)
        end = f.at + 1 if listed is None else opener.start + len(listed) + 2
        values = "a, b, c" if listed is None else listed.strip()
        return f.error(
            "S001",
            "`[low, high]` is a range of numbers",
            span=f.span(opener.start, end),
            helps=(f"write a list of values as `{{{values}}}`",),
        )
    return None


def _listed(f: Failure, start: int) -> str | None:
    """What stands between an opening bracket and the next one that closes, on its line."""
    listed, closed, _ = f.text[start + 1 :].partition(_PAIRS[f.text[start]])
    return listed if closed and "\n" not in listed and listed.strip() else None


def _braced_arguments(f: Failure) -> Diagnostic | None:
    """`gap(rate("yes"), {old, young})`: a term takes its arguments one after the other."""
    if f.found not in ("{", "[") or f.last.text not in ("(", ",") or "NAME" not in f.expected:
        return None
    opener = f.opener()
    if opener is None or opener.text != "(":
        return None
    called = next((one for one in f.pieces if one.end == opener.start), None)
    if called is None or called.kind != "NAME":
        return None
    return _braced(f, called.text, "arguments")


def _braced_columns(f: Failure) -> Diagnostic | None:
    """`drop {age, bmi}`: a statement takes its columns one after the other."""
    if f.found not in ("{", "[") or f.last.text != f.keyword or "NAME" not in f.expected:
        return None
    if f.keyword not in _LISTS:
        return None
    return _braced(f, f.keyword, "columns", f"{f.keyword} ")


def _braced(f: Failure, word: str, what: str, before: str = "") -> Diagnostic | None:
    listed = _listed(f, f.at)
    if listed is None:
        return None
    return f.error(
        "S001",
        f"`{word}` takes its {what} without `{f.found}` and `{_PAIRS[f.found]}`",
        f"write `{before}{listed.strip()}`",
        span=f.span(f.at, f.at + len(listed) + 2),
    )


def _negated(f: Failure) -> Diagnostic | None:
    if f.found != "not" or "IN" not in f.expected | {"IN" if f.last.kind == "IS" else ""}:
        return None
    name = (f.back(1) if f.last.kind == "IS" else f.last).text
    what = f"{name} is missing"
    if f.rest.split()[:1] == ["in"]:
        values = re.match(r"\s*in\s*(\{[^{}\n]+\}|\[[^\[\]\n]+\])", f.rest)
        what = f"{name} in {values[1] if values else '{...}'}"
    return f.error("S001", "put `not` before the whole condition", f"write `not {what}`")


def _statement_word(f: Failure) -> Diagnostic | None:
    if not (f.at_statement and f.is_word) or (f.same_line and f.pieces):
        return None
    meant = OTHER_STATEMENTS.get(f.found) or closest(f.found, STATEMENTS)
    if meant is not None:
        return f.error("S002", f"no statement starts with `{f.found}`", f"did you mean `{meant}`?")
    return f.error(
        "S002",
        f"no statement starts with `{f.found}`",
        helps=(f"statements start with {one_of([f'`{s}`' for s in STATEMENTS])}",),
    )


def _other_word(f: Failure) -> Diagnostic | None:
    if not f.is_word:
        return None
    words = [
        word
        for kind in sorted(f.expected | (f.after_comma if f.same_line else frozenset()))
        for word in keywords().get(kind, "").split()
        if len(word) > 1
    ]
    likely = [word for word in words if not (f.at_statement and word in STATEMENTS)]
    others = OTHER_WORDS | (WORDS_OF_TARGETS if f.keyword == "target" else {})
    meant = others.get(f.found)
    if meant not in likely:
        meant = closest(f.found, likely) if len(f.found) > 2 else None
    if meant is None or meant == f.found:
        return None
    if f.last.kind in ("NAME", "QUOTED") and meant not in INFIX and f.keyword == "rule":
        return None
    return f.error("S028", f"unexpected `{f.found}`", f"did you mean `{meant}`?")


def _missing_word(f: Failure) -> Diagnostic | None:
    wanted = f.expected - {"COMMA"}
    if "COLON" in wanted and f.keyword in ("target", "feature") and f.found in _TYPES:
        return f.error("S015", "a colon is missing before the type", f"write `: {f.found}`")
    if len(wanted) != 1 or f.ended or not f.same_line:
        return None
    word = keywords().get(next(iter(wanted)), "")
    if not word or " " in word or not (f.is_word or f.found[:1].isdigit() or f.found in '"{'):
        return None
    if f.is_word and not _kinds(f) - {"NAME"}:
        return None
    if f.last.text == word:  # it was taken for a column
        missing = f"nothing stands before `{word}`"
        return f.error("S028", missing, f"write `{f.keyword} * {word} {f.found}`")
    return f.error("S028", f"`{word}` is missing", f"write `{word} {f.found}`")


def _choice(f: Failure) -> Diagnostic | None:
    """`target a, b: choice`, or a target of choices without its braces or its `by`."""
    heads = heads_of_targets()
    near = {f.found, *(one.text for one in f.statement[1:2])}
    if f.keyword != "target" or not near & {*heads, "{"}:
        return None
    if f.found == "{" and f.last.text == "target":
        several = "write `target a, b: number`"
        choice = f"for a choice among them `target {heads[0]} {{a, b}} by reward`"
        return f.error("S028", "several targets stand without braces", f"{several}, or {choice}")
    return f.error(
        "S028",
        "a target of choices names its columns in braces, and says what they hold",
        f"write `target {heads[0]} {{a, b}} by reward`, or `by loss`",
        span=_behind(f) if f.ended or not f.same_line else None,
    )


def _timed(f: Failure) -> Diagnostic | None:
    """`target survival months`, `target months event died`, `target survival {months, died}`."""
    said = [f.found, *(one.text for one in f.statement[1:3])]
    if f.keyword != "target" or not {*said} & {*timed_targets(), "event"}:
        return None
    return f.error(
        "S028",
        "a target of survival names the time of each row, then whether the event came",
        f"write `target {timed_targets()[0]} months event died`",
        span=_behind(f) if f.ended or not f.same_line else None,
    )


def _comma(f: Failure) -> Diagnostic | None:
    if f.ended or not f.same_line or not f.after_comma & _kinds(f):
        return None
    if f.last.kind == "NAME" and f.is_word and "NAME" in f.after_comma:
        return None
    return f.error("S022", "a comma is missing", f"write `, {f.found}`")


def _kinds(f: Failure) -> set[str]:
    """The terminals that the found text could be."""
    if f.is_word:
        words = keywords()
        return {kind for kind in words if f.found in words[kind].split()} | {"NAME"}
    first = f.found[:1]
    if first.isdigit():
        return {"NUMBER"}
    return {'"': {"STRING"}, "`": {"QUOTED"}}.get(first, set())


def _named_frame(f: Failure) -> Diagnostic | None:
    """`data frame flowers`: the frame comes from outside, not from the text."""
    if f.keyword != "data" or f.last.text != "frame" or not f.is_word or not f.same_line:
        return None
    if f.found in STATEMENTS:
        return None
    return f.error(
        "S029",
        "`data frame` takes no name",
        helps=(
            (
                f"write `data frame` only, and pass the frame: `solve(frame={f.found})` in "
                f"Python, `%%odt {f.found}` in a notebook"
            ),
        ),
    )


_SETTINGS = frozenset({"using", "within", "gap", "until", "threads", "seed", "memory"})


def _setting(f: Failure) -> Diagnostic | None:
    """`minimize errors within 60 s`: a setting of the search stands in a statement of its own."""
    line = f.text[f.at :].splitlines()[0] if f.found else ""
    said = line.split("#")[0].strip(" ,")
    word = said.split()[0] if said else ""
    if f.keyword not in ("minimize", "maximize", "tree", "diagram") or word not in _SETTINGS:
        return None
    return f.error(
        "S033",
        f"`{word}` is a setting of `solve`, not of `{f.keyword}`",
        helps=(f"write a statement of its own: `solve {said}`",),
    )


def _two_names(f: Failure) -> Diagnostic | None:
    if f.last.kind != "NAME" or not f.is_word or not f.same_line:
        return None
    if f.found == "else":
        return f.error(
            "S001", "rules have no `else`", helps=("write a second rule for the other case",)
        )
    if f.last.text in INFIX:
        return f.error(
            "S001",
            f"unexpected `{f.last.text}`",
            "write a condition before it, or remove it",
            span=f.span(f.last.start, f.last.end),
        )
    first = f.keyword == "rule" and len(f.statement) == 4  # behind `rule NAME:`
    if first and (scope := _scope(f)) is not None:
        return f.error(
            "S013",
            f"a rule about every {scope} begins with `forall {scope}:`",
            f"write `forall {scope}:`",
            span=f.span(f.last.start, f.at + len(f.found) if f.last.text == "for" else f.last.end),
        )
    wanted = f.keyword in _LISTS or {"COMPARISON", "PLUS"} & f.expected or f.after_comma
    if not wanted or f.found in STATEMENTS:
        return None
    more = re.compile(r"(?:[ \t]+[^\W\d]\w*)*").match(f.text, f.at + len(f.found))
    end = more.end() if more and f.keyword in _LISTS else f.at + len(f.found)
    column = " ".join(f.text[f.last.start : end].split())
    lists = "COMMA" in f.expected and f.keyword != "rule"
    other = "a comma is missing" if lists else "an operator is missing"
    return f.error(
        "S021",
        "two names in a row",
        f"if this is one column, write `` `{column}` ``",
        span=f.span(f.last.start, end),
        helps=(f"if a column name has several words, write it in backticks; otherwise {other}",),
    )


def _scope(f: Failure) -> str | None:
    """What a rule is about that begins with `for all paths:` or `leaf`, without its `forall`."""
    in_words = re.match(r"for\s+(?:all|each|every)\s+(\w+)", f.text[f.last.start :])
    word = in_words[1] if in_words else f.last.text
    return SCOPES_BY_WORD.get(word)


# ---- the rest


def _unexpected(f: Failure) -> Diagnostic:
    words = expected_words(f.expected)
    hint = f"expected {one_of(words[:8])}" if words else "nothing may follow here"
    if f.ended:
        file_ends = f.offset + len(f.text) >= len(f.source.text)
        what = "the file ends" if file_ends else "the statement ends"
        inside = f", inside `{f.keyword}`" if f.keyword else ""
        return f.error("S003", f"{what} too early{inside}", hint, span=f.span(f.at, f.at + 1))
    kind = "text " if f.found.startswith('"') else ""
    kind = "number " if f.found[:1].isdigit() else kind
    shown = f.found if f.found.startswith("`") else f"`{f.found}`"
    return f.error("S001", f"unexpected {kind}{shown}", hint)


_RECOGNISERS: tuple[Callable[[Failure], Diagnostic | None], ...] = (
    single_quotes,
    unclosed_text,
    _nested_forall,
    operator,
    lone_percent,
    number_form,
    stray_character,
    _rule_head,
    named_solver,
    missing_cells,
    one_price,
    losses,
    _keyword_as_name,
    _three_comparisons,
    _closing,
    _unit,
    _share,
    _kept_together,
    _spelling,
    _statement_word,
    _set_of_values,
    _braced_arguments,
    _negated,
    _unclosed,
    _timed,
    _choice,
    _braced_columns,
    _other_word,
    _missing_word,
    _comma,
    _named_frame,
    _setting,
    _two_names,
)
