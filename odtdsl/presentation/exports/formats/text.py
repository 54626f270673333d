"""A model as rules, one for each leaf, for people to read and to build by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Value
from odtdsl.predictors.wording import counts_text, number_text, value_text
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.plan import (
    TITLE,
    AtMost,
    Cell,
    CellTest,
    Column,
    Fork,
    Item,
    OneOf,
    Plan,
    Plane,
    Within,
)


def to_rules(plan: Plan, name: str | None = None) -> str:
    """Rules of which exactly one applies to each row: `if` a condition on each feature `and`
    the next, `then` the prediction.

    All that a path asks of one feature becomes one condition. "or missing" says that the path
    takes missing cells too. Leaves that no row can reach are left out.

    Parameters
    ----------
    plan
        The model.
    name
        Not used: rules have no name.

    Examples
    --------
    ::

        if `petal length (cm)` > 2.45 or missing
        and `petal width (cm)` <= 1.65
        then `species` = "versicolor"  (52 rows, 4 errors)
    """
    rules = [_rule(plan, path, leaf) for path, leaf in _paths(plan) if path is not None]
    many = f"{len(rules)} rules, of which exactly one" if len(rules) != 1 else "1 rule, which"
    head = f"{plan.title}: {many} applies to each row."
    return "\n\n".join(["\n".join([head, *rank_lines(plan)]), *rules]) + "\n"


FORMAT = Format(
    what="if-then rules",
    suffixes=(".txt",),
    begins=TITLE + b": ",
    write=to_rules,
    any_text=True,
    also=("rules",),
    shows_dates=True,
)


def rank_lines(plan: Plan) -> Iterator[str]:
    """The ranks of levels that hyperplanes weigh."""
    for column in plan.columns:
        if column.weighed and column.ordered:
            levels = ", ".join(f"{_cell(x)} {i}" for i, x in enumerate(column.levels))
            yield f"rank({_name(column.name)}): {levels}."


@dataclass(frozen=True, slots=True)
class _Room:
    """The cells of a column that a path admits.

    Numbers lie between the ends, each with whether it belongs, and outside of `without`.
    `one_of` lists all that are admitted, where the path says which; `none_of` what it excludes.
    """

    low: tuple[float, bool] = (-math.inf, False)
    high: tuple[float, bool] = (math.inf, False)
    without: tuple[Within, ...] = ()
    one_of: tuple[Cell, ...] | None = None
    none_of: tuple[Cell, ...] = ()
    missing: bool = True
    full: bool = False
    """Whether no cell that is there is admitted."""

    def after(self, ask: CellTest, passed: bool) -> _Room:
        room = replace(self, missing=self.missing and ask.missing == passed)
        condition = ask.condition
        if isinstance(condition, OneOf):
            return room.listed(condition.values, passed)
        if isinstance(condition, AtMost):
            end = condition.value
            return room.below(end, True) if passed else room.above(end, False)
        low, high, closed = condition.low, condition.high, condition.closed
        if passed:
            return room.above(low, True).below(high, closed)
        if low == -math.inf:
            return replace(room, full=True) if high == math.inf else room.above(high, not closed)
        if high == math.inf:
            return room.below(low, False)
        return replace(room, without=(*room.without, condition))

    def below(self, end: float, belongs: bool) -> _Room:
        value, known = self.high
        if end > value:
            return self
        return replace(self, high=(end, belongs and known if end == value else belongs))

    def above(self, end: float, belongs: bool) -> _Room:
        value, known = self.low
        if end < value:
            return self
        return replace(self, low=(end, belongs and known if end == value else belongs))

    def listed(self, values: tuple[Cell, ...], passed: bool) -> _Room:
        if not passed:
            left = None if self.one_of is None else tuple(v for v in self.one_of if v not in values)
            return replace(self, one_of=left, none_of=(*self.none_of, *values))
        kept = (v for v in values if v not in self.none_of)
        return replace(
            self, one_of=tuple(v for v in kept if self.one_of is None or v in self.one_of)
        )

    def admits(self, value: Cell) -> bool:
        """Whether a listed number lies within the ends."""
        if isinstance(value, str):
            return True
        (low, from_), (high, to) = self.low, self.high
        above = value >= low if from_ else value > low or low == -math.inf
        below = value <= high if to else value < high or high == math.inf
        return above and below and not any(_inside(value, part) for part in self.without)

    def closed(self, levels: tuple[Cell, ...]) -> _Room:
        """With what is known in the end: the levels that are left of an ordered column, and
        whether nothing is."""
        one_of = self.one_of
        if levels and one_of is None:
            one_of = tuple(v for v in levels if v not in self.none_of)
        if one_of is not None:
            one_of = tuple(v for v in one_of if self.admits(v))
            return replace(self, one_of=one_of, full=self.full or not one_of)
        (low, from_), (high, to) = self.low, self.high
        empty = low > high or (low == high and not (from_ and to))
        return replace(self, full=self.full or empty)


@dataclass(slots=True)
class _Path:
    """What a path asks: of each column, and of hyperplanes with their answers."""

    rooms: dict[int, _Room] = field(default_factory=dict)
    planes: tuple[tuple[Plane, bool], ...] = ()

    def after(self, question: CellTest | Plane, passed: bool) -> _Path:
        if isinstance(question, Plane):
            return _Path(self.rooms, (*self.planes, (question, passed)))
        room = self.rooms.get(question.column, _Room()).after(question, passed)
        return _Path({**self.rooms, question.column: room}, self.planes)


def _paths(plan: Plan) -> Iterator[tuple[_Path | None, int]]:
    """The path and the leaf of each end; None for a path that no row takes."""
    stack: list[tuple[Item, _Path]] = [(plan.root, _Path())]
    while stack:
        item, path = stack.pop()
        if isinstance(item, Fork):
            stack.append((item.right, path.after(item.question, False)))
            stack.append((item.left, path.after(item.question, True)))
            continue
        rooms = {
            at: room.closed(plan.columns[at].levels if plan.columns[at].ordered else ())
            for at, room in path.rooms.items()
        }
        never = any(room.full and not room.missing for room in rooms.values())
        yield None if never else _Path(rooms, path.planes), item.leaf


def _rule(plan: Plan, path: _Path, leaf: int) -> str:
    lines = [_words(plan.columns[at], room) for at, room in path.rooms.items()]
    lines += [_plane(plan, plane, passed) for plane, passed in path.planes]
    heads = ("if " if i == 0 else "and " for i in range(len(lines)))
    conditions = [head + line for head, line in zip(heads, lines, strict=True)] or ["always"]
    return "\n".join([*conditions, f"then {'  '.join(leaf_lines(plan, leaf))}"])


def question_text(plan: Plan, question: CellTest | Plane) -> str:
    """What a split asks, as a rule says it."""
    if isinstance(question, Plane):
        return _plane(plan, question, True)
    column = plan.columns[question.column]
    if question.condition == OneOf(values=()):  # of a level that no cell reads as
        return f"{_name(column.name)} {'missing' if question.missing else '= nothing'}"
    return _words(column, _Room().after(question, True))


def leaf_lines(plan: Plan, leaf: int) -> list[str]:
    """What a leaf predicts, and of a tree its rows and errors."""
    said = plan.leaves[leaf]
    values = (plan.classes[said.label],) if said.label is not None else said.output or ()
    outputs = zip(plan.targets, values, strict=True)
    predicted = ", ".join(f"{_name(target)} = {_value(value)}" for target, value in outputs)
    # Counts are those of a leaf; of a diagram's class they would be told again for every path.
    return [predicted, *([f"({counts_text(said)})"] if plan.kind == "tree" else [])]


def _words(column: Column, room: _Room) -> str:
    name = _name(column.name)
    if room.full:
        return f"{name} missing"
    parts = []
    if room.one_of is not None:
        parts.append(f"= {_list(room.one_of)}")
    else:
        parts += _ends(room)
        parts += [
            f"not = {_cell(value)}" for value in dict.fromkeys(room.none_of) if room.admits(value)
        ]
        parts += [f"not in {_interval(w)}" for w in room.without]
    words = " and ".join(parts) or "present"
    return f"{name} {words}" + " or missing" * room.missing


def _list(values: tuple[Cell, ...]) -> str:
    return " or = ".join(map(_cell, values))


def _ends(room: _Room) -> Iterator[str]:
    (low, from_), (high, to) = room.low, room.high
    if low != -math.inf:
        yield f"{'>=' if from_ else '>'} {value_text(low)}"
    if high != math.inf:
        yield f"{'<=' if to else '<'} {value_text(high)}"


def _interval(bin_: Within) -> str:
    end = "]" if bin_.closed else ")"
    return f"[{value_text(bin_.low)}, {value_text(bin_.high)}{end}"


def _inside(value: float, bin_: Within) -> bool:
    return bin_.low <= value and (value <= bin_.high if bin_.closed else value < bin_.high)


def _plane(plan: Plan, plane: Plane, passed: bool) -> str:
    words = []
    for term in plane.terms:
        name = _name(plan.columns[term.column].name)
        if term.value is not None:
            name = f"[{name} = {_cell(term.value)}]"
        elif plan.columns[term.column].ordered:
            name = f"rank({name})"
        words.append(f"{number_text(term.weight)} * {name}")
    return f"{' + '.join(words)} {'<' if passed else '>='} {number_text(plane.bound)}"


def _cell(value: Cell) -> str:
    return _value(value if isinstance(value, str) else float(value))


def _value(value: Value) -> str:
    """A number, or a text in quotes on one line."""
    if not isinstance(value, str):
        return value_text(value)
    return '"' + printable(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _name(name: str) -> str:
    """A name in backquotes, on one line."""
    return "`" + printable(name.replace("\\", "\\\\").replace("`", "\\`")) + "`"
