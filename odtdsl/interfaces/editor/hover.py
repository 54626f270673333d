"""The meaning of a word in its place, as Markdown; where a name is defined; renaming it."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.base.diagnostics.model import error
from odtdsl.base.numbers import counted
from odtdsl.base.source import Span
from odtdsl.interfaces.editor.data_facts import ColumnFacts, Facts
from odtdsl.interfaces.editor.keywords import FUNCTIONS, MEANINGS, SCOPES
from odtdsl.interfaces.editor.outline import Definition, Outline, Token
from odtdsl.language import ast
from odtdsl.language.constructors import HIDING
from odtdsl.language.expressions import backticks, expr_to_text, name_text
from odtdsl.problem.terms.catalogue import as_json
from odtdsl.problem.terms.registry import BY_NAME

MOST_SHOWN = 12


def hover(outline: Outline, offset: int, facts: Facts | None) -> tuple[str, Span] | None:
    """The meaning of the word at an offset, as Markdown, and its span."""
    token = outline.token_at(offset)
    if token is None or token.name is None:
        return None
    found = _definition_at(outline, token)
    if found is not None:
        return _named(found, facts), token.span
    use = next((use for use in outline.uses if use.span == token.span), None)
    if use is not None and use.kind == "term":
        return (term(use.name) or FUNCTIONS.get(use.name, "")), token.span
    column = None if facts is None else facts.column(token.name)
    if column is not None and (use is not None or not _keyword_place(outline, token)):
        assert facts is not None, "the column comes from facts"
        return _column(column, facts), token.span
    if use is None and token.kind == "word":
        text = _word(outline, token)
        return None if text is None else (text, token.span)
    return None


def _keyword_place(outline: Outline, token: Token) -> bool:
    """Whether the parser takes a word for a keyword here, though a column has its name."""
    from odtdsl.language.recovery import before

    if token.text not in MEANINGS:
        return False
    state = before(outline.source, token.start)
    return state is not None and token.text.upper() in state.expected


def _word(outline: Outline, token: Token) -> str | None:
    word = token.text
    if word in MEANINGS:
        return f"**{word}** (keyword)\n\n{MEANINGS[word]}"
    if word in SCOPES:
        return f"**{word}** (scope)\n\n{SCOPES[word]}"
    return term(word) or FUNCTIONS.get(word)


def term(name: str) -> str | None:
    """A term's page of the reference; None where there is no such term."""
    if name not in BY_NAME or name == "output":
        return None
    (entry,) = as_json(name)
    usage = " or ".join(f"`{one}`" for one in entry["usage"])
    value = f"{entry['value']}{', compared only with constants' * entry['quotient']}"
    rows = [f"{usage}: a {value}; in rules on: {', '.join(entry['scopes'])}", ""]
    rows.append(_sentence(entry["meaning"]))
    for heading in ("Also known as", "Expresses", "Related", "References"):
        text = entry.get(heading.casefold().replace(" ", "_"))
        if text is not None:
            rows += ["", f"*{heading}:* {text}"]
    return "\n".join(rows)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---- names


def _definition_at(outline: Outline, token: Token) -> Definition | None:
    """The rule, group or `let` that a token names, where it is defined or used."""
    for one in outline.definitions:
        if one.span == token.span:
            return one
    use = next((use for use in outline.uses if use.span == token.span), None)
    if use is None or use.kind not in ("group", "let"):
        return None
    return next((d for d in outline.definitions if d.kind == use.kind and d.name == use.name), None)


def definition(outline: Outline, offset: int) -> Definition | None:
    """What the name at an offset refers to."""
    token = outline.token_at(offset)
    return None if token is None or token.name is None else _definition_at(outline, token)


def occurrences(outline: Outline, of: Definition) -> list[Span]:
    """Where a name is defined and used, in order."""
    found = [d.span for d in outline.definitions if d.kind == of.kind and d.name == of.name]
    found += [u.span for u in outline.uses if u.kind == of.kind and u.name == of.name]
    return sorted(found, key=lambda span: span.start)


def rename(
    outline: Outline, of: Definition, name: str, facts: Facts | None
) -> list[tuple[Span, str]]:
    """The edits that give a rule, group or `let` another name.

    Raises
    ------
    OdtError
        U350: the name is taken, or can be none.
    """
    name = name.strip()
    if name.startswith("`") and name.endswith("`") and len(name) > 2:
        name = name[1:-1].replace("``", "`")
    if not name or any(char in name for char in "\r\n"):
        raise error("U350", "a name is needed, on one line")
    taken = name != of.name and name in outline.named(of.kind)
    if of.kind == "let" and not taken:
        columns = () if facts is None else tuple(column.name for column in facts.columns)
        taken = name in BY_NAME or name in FUNCTIONS or name in columns
        # What else has the name would become the number: data may be not read, or not there.
        taken = taken or (name != of.name and any(one.name == name for one in outline.tokens))
    if of.kind == "group" and not taken:  # `gap(rate("a"), race)`
        taken = any(use.kind == "column" and use.name == name for use in outline.uses)
    if taken:
        raise error("U350", f"`{name}` is already used", helps=("choose another name",))
    if of.kind == "let" and name_text(name, HIDING).startswith("`"):
        raise error(
            "U350",
            f"`{name}` cannot name a `let`: in backticks it would be a column",
            helps=("use letters, digits and `_`",),
        )
    text = backticks(name) if name in HIDING else name_text(name)
    return [(span, text) for span in occurrences(outline, of)]


def _named(of: Definition, facts: Facts | None) -> str:
    match of.node:
        case ast.Rule() as rule:
            where = "the whole model" if rule.scope is None else f"every {rule.scope}"
            rows = [f"**{of.name}** (rule on {where})", "", _code(expr_to_text(rule.condition))]
            for word in dict.fromkeys(_terms(rule.condition)):
                (entry,) = as_json(word)
                rows += ["", f"`{word}`: {_sentence(entry['meaning'].split('. ')[0].rstrip('.'))}."]
            return "\n".join(rows)
        case ast.Group() as group:
            count = dict(facts.groups).get(of.name) if facts is not None else None
            n_rows = None if facts is None else facts.n_rows
            size = "" if count is None else f": {counted(count, 'training row')} (of {n_rows} read)"
            return f"**{of.name}** (group of rows{size})\n\n{_code(expr_to_text(group.condition))}"
        case ast.Let() as let:
            return f"**{of.name}** (`let`)\n\n{_code(expr_to_text(let.value))}"
        case None:
            return f"**{of.name}** ({of.kind}, not complete)"


def _code(text: str) -> str:
    return f"```odt\n{text}\n```"


def _terms(node: object) -> Iterator[str]:
    """The terms of an expression, in order."""
    match node:
        case ast.Infix(word="before" | "requires"):
            yield node.word
        case ast.Call() if node.function in BY_NAME:
            yield node.function
        case ast.Name() if not node.quoted and node.name in BY_NAME and node.name != "output":
            yield node.name
    if isinstance(node, ast.Node):
        for field in node.__dataclass_fields__:
            yield from _terms(getattr(node, field))
    elif isinstance(node, tuple):
        for item in node:
            yield from _terms(item)


# ---- columns


def _column(column: ColumnFacts, facts: Facts) -> str:
    rows = [f"**{_plain(column.name)}** (column of {_plain(facts.source)})", ""]
    if column.kind == "unknown":
        return rows[0]
    values = f"{column.n_levels} value{'s' * (column.n_levels != 1)}"
    if column.low is not None:
        rows.append(f"numbers from {column.low} to {column.high}, {values}")
    else:
        rows.append(f"texts, {values}" if column.kind == "text" else "no values")
    if column.n_missing:
        rows.append(f"\nmissing in {column.n_missing} of {facts.n_rows} rows")
    if column.levels:
        rows.append("")
        most = column.levels[:MOST_SHOWN]
        rows += [f"- `{_plain(text)}`: {counted(count, 'row')}" for text, count in most]
        if column.n_levels > MOST_SHOWN:
            rows.append(f"- and {column.n_levels - MOST_SHOWN} more")
    return "\n".join(rows)


def _plain(text: str) -> str:
    """A cell or a name from a file, which may hold anything, without Markdown or HTML."""
    kept = "".join(char if char.isprintable() else "\ufffd" for char in text[:80])
    return "".join(f"&#{ord(char)};" if char in "`*_[]<>&\\!|#~" else char for char in kept)
