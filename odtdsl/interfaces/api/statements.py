"""Arguments of Python calls as statements of the language."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import Literal, TypeVar, cast

from odtdsl.base.diagnostics.model import error
from odtdsl.base.frozen import field_names
from odtdsl.base.source import Source
from odtdsl.base.tasks import heads_of_targets, timed_targets, types_of_targets
from odtdsl.language import ast
from odtdsl.language.expressions import name_text
from odtdsl.language.fragments import written
from odtdsl.language.printer import statement_to_text
from odtdsl.words import values
from odtdsl.words.expr import Expression

S = TypeVar("S", bound=ast.Statement)

SCOPES = ("path", "leaf", "split")
_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
_NESTED = 50
"""Statements nested less deep than this are sure to parse back."""


# ---- text of the language inside calls


def check_writable(statement: ast.Statement) -> None:
    """Hold that a statement can be written, and read back.

    Raises
    ------
    OdtError
        S090: no text says it. S027: it nests too deep.
    """
    from odtdsl.language.depth import MAX_DEPTH
    from odtdsl.language.parser import parse

    deep = _depth(statement)
    if deep > MAX_DEPTH:
        raise error(
            "S027",
            f"an expression nests more than {MAX_DEPTH} levels deep",
            helps=("name parts of it with `let`, or write a long sum as `words.sum(a, b, ...)`",),
        )
    text = statement_to_text(statement)
    if deep > _NESTED:
        parse(Source(name="<model>", text=text))


def _depth(statement: ast.Node) -> int:
    """Nodes on the longest way down, by a stack: what is too deep must not recurse."""
    deepest, stack = 0, [(statement, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        for name in field_names(type(node)):
            value = getattr(node, name)
            inside = value if isinstance(value, tuple) else (value,)
            stack.extend((one, level + 1) for one in inside if isinstance(one, ast.Node))
    return deepest


# ---- data and columns


def data(
    source: object,
    *,
    sklearn: str | None,
    openml: str | None,
    test: object,
    by: object = None,
    stratified: bool,
    seed: int | None,
    na: object,
    separator: str | None,
    decimal: str | None,
    thousands: str | None,
    header: object,
    encoding: str | None,
    sheet: str | None = None,
    id: object,
    days: object = None,
    parts: object = None,
    dates: str | None = None,
) -> ast.Data:
    """`data ...`; frames are for the model to hold."""
    given = [one for one in (source, sklearn, openml) if one is not None]
    if len(given) > 1:
        raise error(
            "U402",
            "the data must come from one source",
            helps=("pass a path or a frame, or `sklearn=`, or `openml=`",),
        )
    options: list[ast.DataOption] = []
    tested = _test(test, by, stratified, seed)
    if tested is not None:
        options.append(tested)
    if na is not None:
        marks = (na,) if isinstance(na, str) else na
        options.append(ast.NaMarks(marks=values.labels(marks, "a mark of missing values")))
    if separator is not None:
        options.append(ast.Separator(text=separator))
    if decimal is not None:
        options.append(ast.Decimal(text=decimal))
    if thousands is not None:
        options.append(ast.Thousands(text=thousands))
    if header in (False, None, "none"):
        options.append(ast.Header(word="none"))
    elif header is not True:
        raise values.wrong("`header`", header, 'pass True or "none"')
    if encoding is not None:
        options.append(ast.Encoding(name=encoding))
    if sheet is not None:
        options.append(ast.Sheet(name=sheet))
    if id is not None:
        options.append(ast.IdColumn(column=values.name(id)))
    if days is not None:
        options.append(ast.Days(columns=values.names(days)))
    if parts is not None:
        options.append(ast.Parts(columns=values.names(parts)))
    if dates is not None:
        options.append(ast.Dates(order=dates))
    return ast.Data(source=_source(source, sklearn, openml), options=tuple(options))


def is_path(value: object) -> bool:
    """Whether a value names a file rather than being a frame."""
    return isinstance(value, str | os.PathLike)


def is_frame(value: object) -> bool:
    """Whether a value should be read as a table; reading shows of which kind."""
    scalar = isinstance(value, Expression) or values.exact(value) is not None
    return not (value is None or is_path(value) or scalar or isinstance(value, bool))


def file_path(option: str, rows: str, given: object) -> str | None:
    """The path of a file; for a frame, an error that says where to pass it."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return os.fspath(cast("str | os.PathLike[str]", given))
    raise error(
        "U213",
        f"`{option}=` takes the path of a file, not a value of type `{type(given).__name__}`",
        helps=(f"pass rows as `{rows}=`",),
    )


def _source(
    source: object, sklearn: str | None, openml: str | None
) -> ast.FileSource | ast.LibrarySource | ast.FrameSource:
    if sklearn is not None:
        return ast.LibrarySource(library="sklearn", name=sklearn)
    if openml is not None:
        return ast.LibrarySource(library="openml", name=openml)
    if is_path(source):
        return ast.FileSource(path=os.fspath(cast("str | os.PathLike[str]", source)))
    if source is None or is_frame(source):
        return ast.FrameSource()
    raise values.wrong("the data", source, "pass a path, a frame, `sklearn=` or `openml=`")


def _test(test: object, by: object, stratified: bool, seed: int | None) -> ast.DataOption | None:
    share = _share(test)
    if share is not None:
        number = None if seed is None else values.whole(seed, "a seed")
        column = None if by is None else values.name(by)
        return ast.TestShare(share=share, by=column, stratified=bool(stratified), seed=number)
    if by is not None or stratified or seed is not None:
        raise error(
            "U402",
            "`by`, `stratified` and `seed` need a share of test rows",
            helps=('pass one, such as `test="33%"` or `test=0.33`',),
        )
    if is_path(test):
        return ast.TestFile(path=os.fspath(cast("str | os.PathLike[str]", test)))
    if test is None or is_frame(test):
        return None
    raise values.wrong("`test`", test, 'pass a path, a frame, or a share such as "33%" or 0.33')


def _share(value: object) -> ast.Percent | None:
    if isinstance(value, Expression) and isinstance(value.node, ast.Percent):
        return value.node
    if isinstance(value, str) and (match := _SHARE.fullmatch(value)):
        return ast.Percent(value=values.literal_number(Fraction(match[1]), "a share").value)
    found = values.exact(value)
    if found is None:
        return None
    return ast.Percent(value=values.literal_number(found * 100, "a share of test rows").value)


def target(
    columns: tuple[object, ...],
    *,
    type: str | None,
    classes: object,
    levels: object,
    positive: object,
    step: object,
    by: object = None,
    event: object = None,
) -> ast.Target:
    """`target ...`; the type follows from the other arguments if it is not given."""
    if event is not None or type in timed_targets():
        return _timed(columns, type, event, (classes, levels, positive, step, by))
    if by is not None or type in heads_of_targets():
        return _choice(columns, type, by, (classes, levels, positive, step))
    implied = [
        word
        for word, said in (("class", classes), ("ordered", levels), ("number", step))
        if said is not None
    ]
    kind = type or (implied[0] if implied else None)
    if any(word != kind for word in implied):
        raise error(
            "U402",
            f"a target of type {kind} takes no {_OPTIONS[implied[-1]]}",
            helps=("`classes` belong to class, `levels` to ordered, `step` to number",),
        )
    members = levels if classes is None else classes
    spec = None if kind is None else _type(kind, members, step, types_of_targets())
    return ast.Target(
        columns=_several(columns),
        type=spec,
        positive=None if positive is None else values.label(positive, "a class"),
    )


def _choice(
    columns: tuple[object, ...], type: str | None, by: object, others: tuple[object, ...]
) -> ast.Target:
    """`target choice {...} by ...`."""
    (word,) = heads_of_targets()
    if type not in (None, word) or any(one is not None for one in others):
        raise error(
            "U402",
            "a target of choices takes its columns and `by` alone",
            helps=(f'pass `type="{word}"`, or leave the type out',),
        )
    if not isinstance(by, str) or not by.isidentifier():
        raise values.wrong("`by`", by, 'pass "reward" or "loss": what the columns hold')
    kind = ast.TypeSpec(kind=word)
    return ast.Target(columns=_several(columns), type=kind, by=ast.Name(name=by))


def _timed(
    columns: tuple[object, ...], type: str | None, event: object, others: tuple[object, ...]
) -> ast.Target:
    """`target survival ... event ...`."""
    (word,) = timed_targets()
    times = _several(columns)
    if type not in (None, word) or any(one is not None for one in others) or len(times) != 1:
        raise error(
            "U402",
            "a target of survival takes a column of times and `event` alone",
            helps=(f'pass `type="{word}"`, or leave the type out',),
        )
    if event is None:
        raise values.wrong("`event`", event, "name the column of events")
    return ast.Target(columns=(*times, *_several((event,))), type=ast.TypeSpec(kind=word))


_OPTIONS = {"class": "`classes`", "ordered": "`levels`", "number": "`step`"}
FEATURE_TYPES = ("number", "category", "ordered", "binary", "integer")


def feature(columns: object, type: str | None, levels: object) -> ast.Feature:
    """`feature ...`; with levels it is ordered."""
    kind = type or ("ordered" if levels is not None else None)
    if levels is not None and kind != "ordered":
        raise error("U402", f"a feature of type {kind} takes no `levels`")
    return ast.Feature(
        columns=values.columns(columns), type=_type(kind, levels, None, FEATURE_TYPES)
    )


def _type(kind: object, members: object, step: object, kinds: tuple[str, ...]) -> ast.TypeSpec:
    if kind not in kinds:
        raise values.wrong("a type", kind, f"pass one of {', '.join(kinds)}")
    if kind == "ordered" and members is None:
        raise error(
            "U402",
            "an ordered column needs its levels",
            helps=('pass them, lowest first: `levels=["low", "mid", "high"]`',),
        )
    return ast.TypeSpec(
        kind=str(kind),
        values=None if members is None else _in_order(members),
        step=None if step is None else values.literal_number(step, "a step"),
    )


def _in_order(members: object) -> tuple[ast.Literal, ...]:
    if isinstance(members, set | frozenset):
        raise values.wrong("levels or classes", members, "a set has no order: pass a list")
    return values.labels(members, "a level or class")


def _several(columns: tuple[object, ...]) -> tuple[ast.Name, ...]:
    """Columns given one by one, or as one list."""
    if len(columns) == 1:
        return values.names(columns[0])
    return tuple(values.name(column) for column in columns)


def drop(columns: tuple[object, ...]) -> ast.Drop:
    """The statement `drop`."""
    return ast.Drop(columns=_several(columns))


def weight(column: object) -> ast.Weight:
    """The statement `weight`."""
    return ast.Weight(column=values.name(column))


def missing(policy: str, columns: object) -> ast.Missing:
    """The statement `missing`, for all columns or for some."""
    return ast.Missing(policy=policy, columns=None if columns is None else values.names(columns))


def candidates(
    columns: object, *, at: str | None, quantiles: int | None, bins: int | None, members: object
) -> ast.Candidates:
    """`candidates ... at ...`: the places exclude each other."""
    said = [one for one in (at, quantiles, bins, members) if one is not None]
    if len(said) > 1:
        raise error(
            "U402", "only one kind of candidates is allowed", helps=("pass one of the options",)
        )
    who = values.columns(columns)
    if quantiles is not None:
        shares = values.whole(quantiles, "a number of shares")
        return ast.Candidates(columns=who, place="quantiles", count=shares)
    if bins is not None:
        return ast.Candidates(columns=who, place="bins", count=values.whole(bins, "a number"))
    if members is not None:
        return ast.Candidates(
            columns=who, place="values", values=values.labels(members, "a threshold")
        )
    if at not in (None, "midpoints", "midpoints exact", "guessed"):
        help_ = 'pass "midpoints", "midpoints exact" or "guessed", or another option'
        raise values.wrong("`at`", at, help_)
    return ast.Candidates(columns=who, place=at or "midpoints")


def cost(prices: Mapping[str, object], default: object) -> ast.Cost:
    """The statement `cost`, with prices by column and a price for the rest."""
    items = [] if default is None else [_price(ast.Star(), default)]
    items += [_price((values.name(column),), amount) for column, amount in prices.items()]
    if not items:
        raise values.wrong("prices", prices, "pass at least one")
    return ast.Cost(items=tuple(items))


def _price(columns: ast.Columns, amount: object) -> ast.CostItem:
    number = values.literal_number(amount, "a cost")
    return ast.CostItem(columns=columns, shared=False, amount=number)


def shared_cost(columns: object, amount: object) -> ast.Cost:
    """The statement `cost {...} shared = ...`."""
    number = values.literal_number(amount, "a cost")
    names = values.names(columns)
    return ast.Cost(items=(ast.CostItem(columns=names, shared=True, amount=number),))


def loss(predicted: object, actual: object, amount: object) -> ast.Loss:
    """The statement `loss predict ... when ... = ...`."""
    return ast.Loss(
        predicted=values.label(predicted, "a class"),
        actual=values.label(actual, "a class"),
        amount=values.literal_number(amount, "a loss"),
    )


# ---- skeleton, objective, rules


def tree(*, depth: object, leaves: object, nodes: object, splits: object) -> ast.Tree:
    """`tree ...`; `splits` is a bound, a family, or both in a pair."""
    pair = splits if isinstance(splits, tuple) else (splits,)
    family = [one for one in pair if isinstance(one, str)]
    most = [one for one in pair if not isinstance(one, str) and one is not None]
    if len(family) > 1 or len(most) > 1:
        raise values.wrong("`splits`", splits, 'pass a bound, a family, or (3, "hyperplane")')
    said = (("depth", depth), ("leaves", leaves), ("nodes", nodes), ("splits", (*most, None)[0]))
    bounds = tuple(
        ast.SkeletonBound(
            measure=measure, op="<=", value=values.literal_number(value, f"a bound of {measure}")
        )
        for measure, value in said
        if value is not None
    )
    return ast.Tree(bounds=bounds, splits=family[0] if family else None)


def diagram(widths: Iterable[int], splits: str | None) -> ast.Diagram:
    """The statement `diagram widths ...`."""
    layers = tuple(values.whole(one, "a width") for one in values.listed(widths, "widths"))
    return ast.Diagram(widths=layers, splits=splits)


Sense = Literal["minimize", "maximize"]


def stages(sense: Sense, measures: tuple[object, ...]) -> tuple[ast.Stage, ...]:
    """Stages in order of importance; only the first says the sense."""
    found: list[ast.Stage] = []
    for measure in measures:
        first, *rest = _stages(sense, measure)
        found += (replace(first, sense=None) if found else first, *rest)
    if not found:
        raise values.wrong("an objective", measures, "pass at least one measure")
    return tuple(found)


def later_stages(sense: Sense, measures: tuple[object, ...]) -> tuple[ast.Stage, ...]:
    """Stages that follow others: each says its sense, else it would be that of the first."""
    return tuple(replace(one, sense=one.sense or sense) for one in stages(sense, measures))


def _stages(sense: Sense, measure: object) -> tuple[ast.Stage, ...]:
    if isinstance(measure, Expression):
        return (ast.Stage(sense=sense, measure=measure.node),)
    if isinstance(measure, str):
        return written(measure, "the objective", ast.Objective, f"{sense} ").stages
    raise values.wrong("a stage", measure, 'pass a measure, such as "errors"')


def group(name: str, condition: object) -> ast.Group:
    """The statement `group`, from a text or an expression."""
    word = _title(name, "a group")
    if isinstance(condition, Expression):
        return ast.Group(name=word, condition=condition.node)
    text = _text(condition, "the condition of a group")
    return written(text, f"group {word}", ast.Group, f"group {name_text(word)} = ")


def let(name: str, value: object) -> ast.Let:
    """The statement `let`."""
    word = _title(name, "a `let`")
    return ast.Let(name=word, value=expression(value, f"let {word}"))


def expression(value: object, what: str) -> ast.Expr:
    """The value of a `let`: a number, an expression, or the text of one."""
    if isinstance(value, Expression):
        return value.node
    number = values.number(value)
    if number is not None:
        return number
    return written(_text(value, f"the value of {what}"), what, ast.Let, "let x = ").value


def rule(name: str, condition: object, forall: str | None) -> ast.Rule:
    """The statement `rule`, from a text or an expression; `forall` is its scope."""
    word = _title(name, "a rule")
    if forall is not None and forall not in SCOPES:
        raise values.wrong("`forall`", forall, f"pass one of {', '.join(SCOPES)}, or omit it")
    if isinstance(condition, Expression):
        return ast.Rule(name=word, condition=condition.node, scope=forall)
    text = _text(condition, f"the condition of rule {word}")
    scope = "" if forall is None else f"forall {forall}: "
    return written(text, f"rule {word}", ast.Rule, f"rule {name_text(word)}: {scope}")


def _title(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise values.wrong(f"the name of {what}", name, "pass a string")
    return str(name)


def _text(value: object, place: str) -> str:
    if isinstance(value, str):
        return value
    raise values.wrong(place, value, "pass an expression, or its text in the language")


# ---- solve


def options(
    *,
    using: object = None,
    within: object = None,
    gap: object = None,
    steady: object = None,
    threads: object = None,
    seed: object = None,
    memory: object = None,
    start: object = None,
) -> ast.Solve:
    """`solve ...`: texts are as in the language, such as "2 min", "1%" and "4 GB"."""
    found: list[ast.SolveOption] = []
    if using is not None:
        found.append(_quoted(using, "using", ast.Using, "a back end"))
    if within is not None:
        found.append(_within(within))
    if gap is not None:
        found.append(_gap(gap))
    if steady is not None:
        found.append(_steady(steady))
    if threads is not None:
        found.append(ast.Threads(count=values.whole(threads, "threads")))
    if seed is not None:
        found.append(ast.Seed(value=values.whole(seed, "a seed")))
    if memory is not None:
        if not isinstance(memory, str):
            raise values.wrong(
                "a memory limit", memory, 'give a text with its unit, such as "4 GB"'
            )
        found.append(_quoted(memory, "memory", ast.Memory, "a memory limit"))
    if start is not None:
        if not is_path(start):
            raise values.wrong("`start`", start, "pass the path of a saved tree")
        found.append(ast.Start(path=os.fspath(cast("str | os.PathLike[str]", start))))
    if not found:
        raise error("U402", "`solve` needs an option", helps=('such as `within="60 s"`',))
    return ast.Solve(options=tuple(found))


Option = TypeVar("Option", ast.Using, ast.Within, ast.GapLimit, ast.Steady, ast.Memory)


def _quoted(text: object, keyword: str, kind: type[Option], what: str) -> Option:
    """An option written in the language."""
    solve = written(_text(text, what), what, ast.Solve, f"solve {keyword} ")
    if len(solve.options) != 1 or not isinstance(solve.options[0], kind):
        raise values.wrong(what, text, "pass one option only")
    return solve.options[0]


def _within(limit: object) -> ast.Within:
    if isinstance(limit, str):
        return _quoted(limit, "within", ast.Within, "a time limit")
    seconds = limit.total_seconds() if isinstance(limit, timedelta) else limit
    return ast.Within(amount=values.literal_number(seconds, "a time limit"), unit="s")


def _steady(time: object) -> ast.Steady:
    what = "a time without a better model"
    if isinstance(time, str):
        return _quoted(time, "until steady", ast.Steady, what)
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    return ast.Steady(amount=values.literal_number(seconds, what), unit="s")


def _gap(gap: object) -> ast.GapLimit:
    if isinstance(gap, str):
        return _quoted(gap, "gap", ast.GapLimit, "a gap")
    if isinstance(gap, Expression) and isinstance(gap.node, ast.Percent):
        return ast.GapLimit(amount=gap.node)
    return ast.GapLimit(amount=values.literal_number(gap, "a gap"))
