"""Syntax tree to text, in the one canonical form.

One statement stands on a line, with single blanks and the fewest parentheses. Comments stay:
those on lines of their own before the statement that follows them, one behind a statement on its
line, those inside a statement on lines before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import assert_never

from odtdsl.base.diagnostics.model import error
from odtdsl.base.source import Source, Span
from odtdsl.base.tasks import timed_targets
from odtdsl.language import ast
from odtdsl.language.expressions import (
    column_text,
    columns_text,
    expr_to_text,
    items_text,
    label_text,
    measure_text,
    name_text,
    number_text,
    percent_text,
    quote,
    word_text,
)

_LINE_END = re.compile(r"\r\n|\n|\r")

__all__ = ["expr_to_text", "format_source", "statement_to_text", "to_text"]


def to_text(spec: ast.Spec, *, source: Source | None = None) -> str:
    """A spec as text, ending with a line end unless it is empty.

    Parameters
    ----------
    spec
        Any spec. `parse` gives an equal one back from the text.
    source
        The text that `spec` was parsed from. With it, blank lines stay as written, one at most;
        without it, they stand between statements of different kinds.

    Raises
    ------
    OdtError
        S090 where a tree built in Python says what no text can (a third as a literal, a column
        name with a line break, an empty set), S027 where it is nested too deep.
    """
    rows: list[str] = []
    try:
        for row, blank in _rows(spec, source):
            if blank and rows:
                rows.append("")
            rows.append(row)
    except RecursionError:
        raise error("S027", "an expression nests too deep to be written") from None
    return "".join(row + "\n" for row in rows)


def format_source(source: Source) -> str:
    """The canonical form of a text, with its comments and, one at most, its blank lines.

    Raises
    ------
    OdtError
        Where the text cannot be parsed.
    """
    from odtdsl.language.parser import parse

    return to_text(parse(source), source=source)


def statement_to_text(statement: ast.Statement) -> str:
    """A statement on one line, without comments."""
    match statement:
        case ast.Data():
            return ", ".join((_data_source(statement.source), *map(_option, statement.options)))
        case ast.Target() | ast.Feature():
            return _declaration(statement)
        case ast.Drop():
            return f"drop {columns_text(statement.columns)}"
        case ast.Weight():
            return f"weight {column_text(statement.column)}"
        case ast.Missing():
            return _missing(statement)
        case ast.Candidates():
            return f"candidates {columns_text(statement.columns)} at {_place(statement)}"
        case ast.Cost():
            return "cost " + ", ".join(_cost_item(item) for item in statement.items)
        case ast.Loss():
            labels = label_text(statement.predicted), label_text(statement.actual)
            return f"loss predict {labels[0]} when {labels[1]} = {number_text(statement.amount)}"
        case ast.Group():
            return f"group {name_text(statement.name)} = {expr_to_text(statement.condition)}"
        case ast.Let():
            return f"let {name_text(statement.name)} = {expr_to_text(statement.value)}"
        case ast.Tree() | ast.Diagram():
            return _skeleton(statement)
        case ast.Objective():
            return " then ".join(_stage(stage, i) for i, stage in enumerate(statement.stages))
        case ast.Rule():
            head = f"rule {name_text(statement.name)}: "
            if statement.scope is None:
                return head + expr_to_text(statement.condition, rule_head=True)
            scope = word_text(statement.scope)
            return f"{head}forall {scope}: {expr_to_text(statement.condition)}"
        case ast.Solve():
            return "solve " + ", ".join(_limit(option) for option in statement.options)
        case _:
            assert_never(statement)


# ---- statements by part


def _data_source(source: ast.FileSource | ast.LibrarySource | ast.FrameSource) -> str:
    match source:
        case ast.FileSource():
            return f"data {quote(source.path)}"
        case ast.LibrarySource():
            return f"data {word_text(source.library)} {quote(source.name)}"
        case ast.FrameSource():
            return "data frame"
        case _:
            assert_never(source)


def _option(option: ast.DataOption) -> str:
    match option:
        case ast.TestFile():
            return f"test {quote(option.path)}"
        case ast.TestShare():
            by = "" if option.by is None else f" by {column_text(option.by)}"
            stratified = " stratified" if option.stratified else ""
            seed = "" if option.seed is None else f" seed {option.seed}"
            return f"test {percent_text(option.share)}{by}{stratified}{seed}"
        case ast.NaMarks():
            return f"na {items_text(option.marks)}"
        case ast.Separator():
            return f"separator {quote(option.text)}"
        case ast.Decimal():
            return f"decimal {quote(option.text)}"
        case ast.Thousands():
            return f"thousands {quote(option.text)}"
        case ast.Header():
            return f"header {word_text(option.word)}"
        case ast.Encoding():
            return f"encoding {quote(option.name)}"
        case ast.Sheet():
            return f"sheet {quote(option.name)}"
        case ast.IdColumn():
            return f"id {column_text(option.column)}"
        case ast.Days():
            return f"days {items_text(option.columns)}"
        case ast.Parts():
            return f"parts {items_text(option.columns)}"
        case ast.Dates():
            return f"dates {quote(option.order)}"
        case _:
            assert_never(option)


def _declaration(statement: ast.Target | ast.Feature) -> str:
    if isinstance(statement, ast.Feature):
        return f"feature {columns_text(statement.columns)}: {_type(statement.type)}"
    if statement.by is not None:
        kind = "" if statement.type is None else f"{word_text(statement.type.kind)} "
        by = word_text(statement.by.name)
        return f"target {kind}{{{columns_text(statement.columns)}}} by {by}"
    if statement.type is not None and statement.type.kind in timed_targets():
        time, event = map(column_text, statement.columns)
        return f"target {word_text(statement.type.kind)} {time} event {event}"
    kind = "" if statement.type is None else f": {_type(statement.type)}"
    positive = statement.positive
    last = "" if positive is None else f" positive {label_text(positive)}"
    return f"target {columns_text(statement.columns)}{kind}{last}"


def _type(kind: ast.TypeSpec) -> str:
    values = "" if kind.values is None else f" {items_text(kind.values)}"
    step = "" if kind.step is None else f" step {number_text(kind.step)}"
    return f"{word_text(kind.kind)}{values}{step}"


def _missing(statement: ast.Missing) -> str:
    columns = statement.columns
    some = "" if columns is None else f"{{{columns_text(columns)}}} "
    return f"missing {some}{word_text(statement.policy)}"


def _place(statement: ast.Candidates) -> str:
    if statement.values is not None:
        return items_text(statement.values)
    count = "" if statement.count is None else f" {statement.count}"
    return " ".join(map(word_text, statement.place.split(" "))) + count


def _cost_item(item: ast.CostItem) -> str:
    columns = columns_text(item.columns)
    who = f"{{{columns}}} shared" if item.shared else columns
    return f"{who} = {number_text(item.amount)}"


def _skeleton(statement: ast.Tree | ast.Diagram) -> str:
    splits = [] if statement.splits is None else [f"splits {word_text(statement.splits)}"]
    if isinstance(statement, ast.Diagram):
        widths = ", ".join(str(width) for width in statement.widths)
        return " ".join((f"diagram widths {widths}", *splits))
    bounds = [
        f"{word_text(bound.measure)} {bound.op} {number_text(bound.value)}"
        for bound in statement.bounds
    ]
    return f"tree {', '.join(bounds + splits)}".rstrip()


def _stage(stage: ast.Stage, index: int) -> str:
    if stage.sense is None:
        return measure_text(stage.measure, later_stage=index > 0)
    return f"{stage.sense} {measure_text(stage.measure)}"


def _limit(option: ast.SolveOption) -> str:
    match option:
        case ast.Using():
            settings = ", ".join(_setting(setting) for setting in option.settings)
            return f"using {word_text(option.backend)}" + (f"({settings})" if settings else "")
        case ast.Within():
            return f"within {number_text(option.amount)} {word_text(option.unit)}"
        case ast.GapLimit(amount=ast.Percent() as share):
            return f"gap {percent_text(share)}"
        case ast.GapLimit(amount=ast.Number() as number):
            return f"gap {number_text(number)}"
        case ast.Steady():
            return f"until steady {number_text(option.amount)} {word_text(option.unit)}"
        case ast.Threads():
            return f"threads {option.count}"
        case ast.Seed():
            return f"seed {option.value}"
        case ast.Memory():
            return f"memory {number_text(option.amount)} {word_text(option.unit)}"
        case ast.Start():
            return f"start {quote(option.path)}"
        case _:
            raise AssertionError(option)  # pragma: no cover


def _setting(setting: ast.Setting) -> str:
    given = [] if setting.value == "" else [word_text(setting.value)]
    if setting.amount is not None:
        given.append(number_text(setting.amount))
    return f"{word_text(setting.key)} = {' '.join(given)}"


# ---- lines, with comments and blank lines between them


def _rows(spec: ast.Spec, source: Source | None) -> Iterator[tuple[str, bool]]:
    """Each line, and whether a blank one stands before it."""
    comments = sorted(spec.comments, key=lambda comment: comment.span.start)
    trailing = _trailing(spec.statements, comments)
    behind = {id(comment) for comment in trailing.values()}
    waiting = [comment for comment in comments if id(comment) not in behind]
    kind, done = None, 0
    for index, statement in enumerate(spec.statements):
        upto = done
        while upto < len(waiting) and _precedes(waiting[upto].span, statement.span):
            upto += 1
        before, done = waiting[done:upto], upto
        blank = kind is not None and kind != _KINDS[type(statement)]
        kind = _KINDS[type(statement)]
        for comment in before:
            inside = comment.span.start > statement.span.start
            at = statement.span if inside else comment.span
            yield from _comment(comment, blank if source is None else _gap(source, at))
            blank = False
        hoisted = bool(before) and before[-1].span.start > statement.span.start
        if source is not None:
            blank = not hoisted and _gap(source, statement.span)
        row = statement_to_text(statement)
        if index in trailing:
            row += "  " + _line(trailing[index].text)
        yield row, blank
    for i, comment in enumerate(waiting[done:]):
        yield from _comment(comment, i == 0 if source is None else _gap(source, comment.span))


def _trailing(
    statements: tuple[ast.Statement, ...], comments: list[ast.Comment]
) -> dict[int, ast.Comment]:
    """The comment behind each statement that has one, by the statement's position."""
    found: dict[int, ast.Comment] = {}
    places = sorted((s.span.start, i) for i, s in enumerate(statements) if s.span.start >= 0)
    for comment in comments:
        if comment.own_line or comment.span.start < 0 or _LINE_END.search(comment.text):
            continue
        at = bisect_left(places, (comment.span.start, 0)) - 1
        if at >= 0 and statements[places[at][1]].span.end <= comment.span.start:
            found.setdefault(places[at][1], comment)
    return found


def _precedes(comment: Span, statement: Span) -> bool:
    return comment.start < 0 or (statement.start >= 0 and comment.start < statement.end)


def _gap(source: Source, span: Span) -> bool:
    """Whether a blank line stands before a span in its source."""
    if span.start < 0:
        return False
    lines, at, text = 0, span.start, source.text
    while at > 0 and text[at - 1].isspace() and lines < 2:
        at -= 1
        lines += text[at] == "\n"
    return lines > 1


def _comment(comment: ast.Comment, blank: bool) -> Iterator[tuple[str, bool]]:
    for row in _LINE_END.split(comment.text):
        yield _line(row), blank
        blank = False


def _line(text: str) -> str:
    text = _LINE_END.sub(" ", text).strip()
    return text if text.startswith("#") else f"# {text}".rstrip()


_KINDS: dict[type[ast.Node], int] = {
    kind: block
    for block, kinds in enumerate(
        (
            (ast.Data,),
            (ast.Target, ast.Feature, ast.Drop, ast.Weight, ast.Missing, ast.Candidates),
            (ast.Cost, ast.Loss),
            (ast.Group, ast.Let),
            (ast.Tree, ast.Diagram),
            (ast.Objective,),
            (ast.Rule,),
            (ast.Solve,),
        )
    )
    for kind in kinds
}
"""Statements of one block stand together where no text says otherwise."""
