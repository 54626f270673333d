"""What a rule and a stage are, and measures of a model as text with their meaning.

The meanings are written from the language reference and use nothing of the package.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from tiny_tables import Column, Leaf, Model, Split, TinyTable

OPS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
    "!=": operator.ne,
}

Number = Callable[[Model], Fraction]
Atom = tuple[str, Callable[[object], bool]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule of one scope: `holds` takes a model, a leaf (for a path too) or a split.

    A rule on thresholds takes a split and its threshold; it speaks of the splits of `column`.
    """

    text: str
    scope: str
    holds: Callable[..., bool]
    column: int | None = None

    def written(self, name: str) -> str:
        head = "" if self.scope == "model" else f"forall {self.scope}: "
        return f"rule {name}: {head}{self.text}"


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A stage of the objective; `sign` is -1 where it is maximized."""

    text: str
    sign: int
    value: Number
    of_rows: bool = False
    """Whether it names the groups of `row_groups`."""


def place(tiny: TinyTable, split: Split, rules: Sequence[Rule]) -> Fraction | None:
    """The threshold that comes out of a split: the shortest decimal that is admissible, where
    candidates say nothing; of these, or of those that they list, the nearest to the middle. Of
    two that are as near the even one, or the lower one where a rule parts them."""
    low, high = split.test.low, split.test.high
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    own = [rule for rule in rules if rule.column == split.test.column]
    open_ = [t for t in tiny.thresholds(split) if all(rule.holds(split, t) for rule in own)]
    if tiny.columns[split.test.column].place != "midpoints":
        return min(open_, key=lambda t: (abs(t - (low + high) / 2), t), default=None)
    most = min(map(digits, open_), default=0)
    short = [t for t in open_ if digits(t) == most]
    nearest = min((abs(t - (low + high) / 2) for t in short), default=None)
    near = [t for t in short if abs(t - (low + high) / 2) == nearest]
    if len(near) == 2 and near[1] - near[0] == Fraction(1, 10**most):
        between = [t for t in tiny.thresholds(split) if near[0] < t < near[1]]
        if set(between) <= set(open_):
            near.sort(key=lambda t: t * 10**most % 2)
    return near[0] if near else None


@cache
def digits(value: Fraction) -> int:
    """Digits after the point."""
    return next(many for many in range(20) if (value * 10**many).denominator == 1)


class RuleChecker:
    """Whether models satisfy all rules, and the candidates where they split.

    Trees share their leaves and splits, so that what is found of one is kept.
    """

    def __init__(self, tiny: TinyTable, rules: Sequence[Rule]) -> None:
        self.tiny, self.rules = tiny, rules
        self.local = [rule for rule in rules if rule.scope != "model" and rule.column is None]
        self.known: dict[Leaf | Split, bool] = {}
        self.places: dict[tuple[int, object, object], Fraction | None] = {}
        """By column and values, where thresholds stand of which no rule speaks."""

    def admits(self, model: Model) -> bool:
        places = (*model.splits, *model.leaves)
        return all(map(self.stands, places)) and all(  # type: ignore[arg-type]
            rule.holds(model) for rule in self.rules if rule.scope == "model"
        )

    def stands(self, at: Leaf | Split) -> bool:
        if at not in self.known:
            scopes = ("path", "leaf") if isinstance(at, Leaf) else ("split",)
            self.known[at] = self._placed(at) and all(
                rule.holds(at) for rule in self.local if rule.scope in scopes
            )
        return self.known[at]

    def _placed(self, at: Leaf | Split) -> bool:
        if isinstance(at, Leaf) or not self.tiny.columns[at.test.column].ranked:
            return True
        self.tiny.placed[at] = self._place(at)
        return self.tiny.placed[at] is not None

    def _place(self, at: Split) -> Fraction | None:
        column = at.test.column
        if any(rule.column == column for rule in self.rules):
            return place(self.tiny, at, self.rules)
        key = (column, at.test.low, at.test.high)
        if key not in self.places:
            self.places[key] = place(self.tiny, at, ())
        return self.places[key]


# ---- numbers of a model

SHARES: dict[str, Callable[[int, int], tuple[int, bool]]] = {
    "rate": lambda rows, own: (rows, True),
    "recall": lambda rows, own: (rows & own, True),
    "false_positive_rate": lambda rows, own: (rows & ~own, True),
    "specificity": lambda rows, own: (rows & ~own, False),
}
"""Measures that are shares: of the rows of a group, and those of the class among all, which rows
they are of, and whether they ask of these to get the class or not to get it."""

RATES = ("accuracy", "error_rate", "balanced_accuracy", *SHARES)
"""All shares by which groups can be compared."""

Rows = tuple[int, ...]

QUOTIENTS: dict[str, Callable[[int, int], tuple[Rows, Rows]]] = {
    "precision": lambda so, own: ((so & own,), (so,)),
    "negative_predictive_value": lambda so, own: ((~so & ~own,), (~so,)),
    "f1": lambda so, own: ((so & own, so & own), (so, own)),
}
"""Measures that are shares of rows which the model decides: of the rows that are predicted as a
class, and those that belong to it, which rows count, and which they are a share of. Rows that are
there twice count twice."""


class Measures:
    """Draws measures of the model as (text, value); `None` where the data leave no rows."""

    def __init__(self, rng: random.Random, tiny: TinyTable) -> None:
        self.rng, self.tiny = rng, tiny

    def label(self) -> int:
        return self.rng.randrange(len(self.tiny.classes))

    def group(self) -> str | None:
        return self.rng.choice(list(self.tiny.groups)) if self.rng.random() < 0.5 else None

    def named(self, term: str, label: int | None, group: str | None) -> str:
        shown = [] if label is None else [f'"{self.tiny.classes[label]}"']
        shown += [] if group is None else [group]
        return f"{term}({', '.join(shown)})" if shown else term

    def wrong(self, group: str | None) -> Number:
        w = self.tiny

        def value(model: Model) -> Fraction:
            rows = w.members(group)
            right = sum(leaf.rows & w.of_class(leaf.label) for leaf in model.leaves)
            return w.weight(rows & ~right)

        return value

    def lost(self, group: str | None) -> Number:
        w = self.tiny

        def value(model: Model) -> Fraction:
            inside = w.members(group)
            return sum(
                (
                    w.weights[row] * w.loss(leaf.label, row)
                    for leaf in model.leaves
                    for row in w.rows(leaf.rows & inside)
                ),
                Fraction(0),
            )

        return value

    def share(self, over: int, label: int, *, so: bool = True) -> Number:
        """Of some rows, the share that is predicted as a class, or that is not."""
        w, whole = self.tiny, self.tiny.weight(over)
        return lambda model: (
            w.weight(over & (model.predicted(label) if so else ~model.predicted(label))) / whole
        )

    def of(self, term: str, label: int, group: str | None) -> tuple[str, Number] | None:
        """A measure of a group, or of all rows."""
        w, rows = self.tiny, self.tiny.members(group)
        whole, own = w.weight(rows), w.of_class(label)
        wrong, lost = self.wrong(group), self.lost(group)
        if term in ("errors", "loss"):
            return self.named(term, None, group), wrong if term == "errors" else lost
        if term in ("error_rate", "accuracy", "expected_loss"):
            per: dict[str, Number] = {
                "error_rate": lambda m: wrong(m) / whole,
                "accuracy": lambda m: 1 - wrong(m) / whole,
                "expected_loss": lambda m: lost(m) / whole,
            }
            return (self.named(term, None, group), per[term]) if whole else None
        if term == "balanced_accuracy":
            each = [w.of_class(c) & rows for c in range(len(w.classes))]
            means = [self.share(own, c) for c, own in enumerate(each) if w.weight(own)]
            text = self.named(term, None, group)
            return (
                (text, lambda m: sum(v(m) for v in means) / Fraction(len(means))) if whole else None
            )
        text = self.named(term, label, group)
        if term == "count_predicted":
            return text, lambda m: Fraction((rows & m.predicted(label)).bit_count())
        over, so = SHARES[term](rows, own)
        return (text, self.share(over, label, so=so)) if w.weight(over) else None

    def quotient(
        self, term: str, label: int, group: str | None
    ) -> tuple[str, Callable[[Model], Fraction | None]]:
        """A measure of `QUOTIENTS`; its value is None where it is a share of nothing."""
        w, rows, own = self.tiny, self.tiny.members(group), self.tiny.of_class(label)

        def value(model: Model) -> Fraction | None:
            counted, among = QUOTIENTS[term](model.predicted(label), own)
            over, under = (sum(w.weight(rows & r) for r in some) for some in (counted, among))
            return over / under if under else None

        return self.named(term, label, group), value

    def any_of(self, *terms: str, group: bool = True) -> tuple[str, Number]:
        while True:
            at = self.group() if group else None
            found = self.of(self.rng.choice(terms), self.label(), at)
            if found is not None:
                return found

    def plain(self, term: str) -> tuple[str, Number]:
        """A measure that is not one of rows."""
        w = self.tiny
        match term:
            case "leaves":
                return term, lambda m: Fraction(len(m.leaves))
            case "splits":
                return term, lambda m: Fraction(len(m.splits))
            case "nodes":
                return term, lambda m: Fraction(len(m.leaves) + len(m.splits))
            case "depth":
                return term, lambda m: Fraction(m.depth)
            case "tests":
                some = self.some_columns()
                return f"tests({w.names(some)})", lambda m: Fraction(
                    sum(split.test.column in some for split in m.splits)
                )
            case _:
                assert term == "expected_cost"
                return (
                    term,
                    lambda m: (
                        sum(
                            (w.path_cost(leaf.path) * w.weight(leaf.rows) for leaf in m.leaves),
                            Fraction(0),
                        )
                        / w.weight(w.everyone)
                    ),
                )

    def some_columns(self) -> list[int]:
        n = len(self.tiny.columns)
        return self.rng.sample(range(n), self.rng.randint(1, n))

    def over_groups(self, *terms: str) -> tuple[str, list[Number]]:
        """A measure over groups, or over the values of a column: its text and its values."""
        while True:
            term, label = self.rng.choice(terms), self.label()
            if self.rng.random() < 0.7:
                many = self.rng.randint(2, len(self.tiny.groups))
                by = self.rng.sample(list(self.tiny.groups), many)
                masks = [self.tiny.members(name) for name in by]
            else:
                column = self.rng.choice(self.tiny.columns)
                by, masks = [column.name], _parts(column)
            text = self.named(term, label if term not in _UNLABELLED else None, None)
            values = [self._within(term, label, mask) for mask in masks]
            found = [value for value in values if value is not None]
            if len(found) == len(values) > 1:
                return f"{text}, {', '.join(by)}", found

    def _within(self, term: str, label: int, mask: int) -> Number | None:
        self.tiny.groups["?"] = (mask, "")
        found = self.of(term, label, "?")
        value = None if found is None else _bound_to(self.tiny, mask, found[1])
        del self.tiny.groups["?"]
        return value


_UNLABELLED = ("accuracy", "balanced_accuracy", "error_rate", "errors", "loss", "expected_loss")


def _bound_to(tiny: TinyTable, mask: int, value: Number) -> Number:
    """A measure of the group `?`, which is these rows."""

    def bound(model: Model) -> Fraction:
        tiny.groups["?"] = (mask, "")
        try:
            return value(model)
        finally:
            del tiny.groups["?"]

    return bound


def _parts(column: Column) -> list[int]:
    values = sorted({x for x in column.cells if x is not None}, key=str)
    return [sum(1 << i for i, x in enumerate(column.cells) if x == value) for value in values]


def gap_of(values: Sequence[Number], model: Model) -> Fraction:
    found = [value(model) for value in values]
    return max(found) - min(found)


def ratio_of(values: Sequence[Number], model: Model) -> Fraction:
    found = [value(model) for value in values]
    return min(found) / max(found) if max(found) else Fraction(1)
