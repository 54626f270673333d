"""Rules and objectives as a spec writes them, each with its meaning on a `worlds.Model`.

One maker per term and scope; the meanings are written from the language reference and use
nothing of the package. Bounds are drawn near the values of some model, so that rules bite.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, permutations

from worlds import LEVELS, Column, Leaf, Model, Split, World, decimal

OPS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
    "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
VACUOUS = "vacuous"
"""The value of a quotient over nothing: every comparison with it holds."""

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


def place(world: World, split: Split, rules: Sequence[Rule]) -> Fraction | None:
    """The threshold that comes out of a split: the admissible one nearest to the middle."""
    low, high = split.test.low, split.test.high
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    own = [rule for rule in rules if rule.column == split.test.column]
    open_ = [t for t in world.thresholds(split) if all(rule.holds(split, t) for rule in own)]
    return min(open_, key=lambda t: (abs(t - (low + high) / 2), t), default=None)


class Judge:
    """Whether models keep all rules, and the candidates where they split.

    Trees share their leaves and splits, so that what is found of one is kept.
    """

    def __init__(self, world: World, rules: Sequence[Rule]) -> None:
        self.world, self.rules = world, rules
        self.local = [rule for rule in rules if rule.scope != "model" and rule.column is None]
        self.known: dict[Leaf | Split, bool] = {}

    def admits(self, model: Model) -> bool:
        places = (*model.splits, *model.leaves)
        return all(map(self.stands, places)) and all(
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
        if isinstance(at, Leaf) or not self.world.columns[at.test.column].ranked:
            return True
        free = all(rule.column != at.test.column for rule in self.rules)
        if free and self.world.columns[at.test.column].place == "midpoints":
            return True
        return place(self.world, at, self.rules) is not None


# ---- numbers of a model


class Measures:
    """Draws measures of the model as (text, value); `None` where the data leave no rows."""

    def __init__(self, rng: random.Random, world: World) -> None:
        self.rng, self.world = rng, world

    def label(self) -> int:
        return self.rng.randrange(len(self.world.classes))

    def group(self) -> str | None:
        return self.rng.choice(list(self.world.groups)) if self.rng.random() < 0.5 else None

    def named(self, term: str, label: int | None, group: str | None) -> str:
        shown = [] if label is None else [f'"{self.world.classes[label]}"']
        shown += [] if group is None else [group]
        return f"{term}({', '.join(shown)})" if shown else term

    def wrong(self, group: str | None) -> Number:
        w = self.world

        def value(model: Model) -> Fraction:
            rows = w.members(group)
            right = sum(leaf.rows & w.of_class(leaf.label) for leaf in model.leaves)
            return w.weight(rows & ~right)

        return value

    def lost(self, group: str | None) -> Number:
        w = self.world

        def value(model: Model) -> Fraction:
            inside = w.members(group)
            return sum(
                (w.weights[row] * w.loss(leaf.label, row)
                 for leaf in model.leaves for row in w.rows(leaf.rows & inside)), Fraction(0)
            )  # fmt: skip

        return value

    def share(self, over: int, label: int) -> Number:
        """Of some rows, the share that is predicted as a class."""
        w, whole = self.world, self.world.weight(over)
        return lambda model: w.weight(over & model.predicted(label)) / whole

    def of(self, term: str, label: int, group: str | None) -> tuple[str, Number] | None:
        """A measure of a group, or of all rows."""
        w, rows = self.world, self.world.members(group)
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
        text = self.named(term, label, group)
        if term == "count_predicted":
            return text, lambda m: Fraction((rows & m.predicted(label)).bit_count())
        over = {"rate": rows, "recall": rows & own, "false_positive_rate": rows & ~own}[term]
        return (text, self.share(over, label)) if w.weight(over) else None

    def any_of(self, *terms: str, group: bool = True) -> tuple[str, Number]:
        while True:
            at = self.group() if group else None
            found = self.of(self.rng.choice(terms), self.label(), at)
            if found is not None:
                return found

    def plain(self, term: str) -> tuple[str, Number]:
        """A measure that is not one of rows."""
        w = self.world
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
        n = len(self.world.columns)
        return self.rng.sample(range(n), self.rng.randint(1, n))

    def over_groups(self, *terms: str) -> tuple[str, list[Number]]:
        """A measure over groups, or over the values of a column: its text and its values."""
        while True:
            term, label = self.rng.choice(terms), self.label()
            if self.rng.random() < 0.7:
                many = self.rng.randint(2, len(self.world.groups))
                by = self.rng.sample(list(self.world.groups), many)
                masks = [self.world.members(name) for name in by]
            else:
                column = self.rng.choice(self.world.columns)
                by, masks = [column.name], _parts(column)
            text = self.named(term, label if term not in _UNLABELLED else None, None)
            values = [self._within(term, label, mask) for mask in masks]
            found = [value for value in values if value is not None]
            if len(found) == len(values) > 1:
                return f"{text}, {', '.join(by)}", found

    def _within(self, term: str, label: int, mask: int) -> Number | None:
        self.world.groups["?"] = (mask, "")
        found = self.of(term, label, "?")
        value = None if found is None else _bound_to(self.world, mask, found[1])
        del self.world.groups["?"]
        return value


_UNLABELLED = ("accuracy", "error_rate", "errors", "loss", "expected_loss")


def _bound_to(world: World, mask: int, value: Number) -> Number:
    """A measure of the group `?`, which is these rows."""

    def bound(model: Model) -> Fraction:
        world.groups["?"] = (mask, "")
        try:
            return value(model)
        finally:
            del world.groups["?"]

    return bound


def _parts(column: Column) -> list[int]:
    values = sorted({x for x in column.cells if x is not None}, key=str)
    return [sum(1 << i for i, x in enumerate(column.cells) if x == value) for value in values]


# ---- atoms


class Atoms:
    """Draws conditions. `models` are some trees, whose values bounds are near to."""

    def __init__(self, rng: random.Random, world: World, models: Sequence[Model]) -> None:
        self.rng, self.world = rng, world
        self.models = list(models)
        self.draw = Measures(rng, world)

    def op(self, often: str = "<=") -> str:
        return self.rng.choice([often, often, ">=", *OPS])

    def column(self) -> int:
        return self.rng.randrange(len(self.world.columns))

    def name(self, column: int) -> str:
        return self.world.columns[column].name

    def near(self, value: Number, step: Fraction = Fraction(1)) -> Fraction:
        met = value(self.rng.choice(self.models))
        return met + self.rng.choice([0, 0, 0, 1, -1, Fraction(1, 2)]) * step

    def compared(self, text: str, value: Number, bound: Fraction, shown: str) -> Atom:
        op = self.op()
        return f"{text} {op} {shown}", lambda m: OPS[op](value(m), bound)  # type: ignore[arg-type]

    # -- model

    def counted(self, text: str, value: Number, rows: int | None) -> Atom:
        """A comparison of a count (of rows, where `rows` says of how many)."""
        if rows is not None and self.rng.random() < 0.3:
            percent = self.rng.choice([10, 25, 30, 50, 75])
            return self.compared(text, value, Fraction(percent * rows, 100), f"{percent}%")
        kind = self.rng.random()
        bound = Fraction(round(4 * self.near(value)), 4)
        if kind < 0.15:
            low, high = bound, bound + self.rng.randint(0, 2)
            return (f"{decimal(low)} <= {text} <= {decimal(high)}",
                    lambda m: low <= value(m) <= high)  # type: ignore[arg-type]  # fmt: skip
        if kind < 0.25:
            some = sorted({bound, self.near(value)})
            return (f"{text} in {{{', '.join(map(decimal, some))}}}",
                    lambda m: value(m) in some) if all((8 * x).denominator == 1 for x in some) \
                else self.compared(text, value, bound, decimal(bound))  # type: ignore[arg-type]  # fmt: skip
        return self.compared(text, value, bound, decimal(bound))

    def shared(self, text: str, value: Number) -> Atom:
        """A comparison of a share, with a percentage or a decimal."""
        bound = Fraction(round(100 * self.near(value, Fraction(1, 10))), 100)
        shown = f"{bound * 100}%" if self.rng.random() < 0.6 else decimal(bound)
        return self.compared(text, value, bound, shown if bound >= 0 else decimal(bound))

    def with_another(self, text: str, value: Number) -> Atom:
        """A comparison of two measures, or of their difference."""
        other, also = self.draw.any_of("rate", "accuracy", "recall", "false_positive_rate")
        factor = self.rng.choice([Fraction(1), Fraction(1, 2), Fraction(4, 5), Fraction(2)])
        op, far = self.op(), self.rng.choice([0, 5, 20, 50])
        if self.rng.random() < 0.5:
            return (f"{text} {op} {decimal(factor)} * {other}",
                    lambda m: OPS[op](value(m), factor * also(m)))  # type: ignore[arg-type]  # fmt: skip
        return (f"abs({text} - {other}) {op} {far}%",
                lambda m: OPS[op](abs(value(m) - also(m)), Fraction(far, 100)))  # type: ignore[arg-type]  # fmt: skip

    def measure(self, term: str) -> Atom:
        while True:
            label, group = self.draw.label(), self.draw.group()
            found = self.draw.of(term, label, group)
            if found is not None:
                break
        text, value = found
        if term in ("errors", "count_predicted"):
            return self.counted(text, value, self.world.members(group).bit_count())
        if term == "loss":
            return self.counted(text, value, None)
        if term == "expected_loss":
            return self.counted(text, value, None)
        if self.rng.random() < 0.3:
            return self.with_another(text, value)
        return self.shared(text, value)

    def plain(self, term: str) -> Atom:
        text, value = self.draw.plain(term)
        if term in ("depth", "expected_cost") or self.rng.random() < 0.7:
            return self.counted(text, value, None)
        other, also = self.draw.any_of("errors", "loss", "expected_loss")
        factor = self.rng.choice([Fraction(1, 2), Fraction(1), Fraction(-2)])
        sign, size = "-" if factor < 0 else "+", decimal(abs(factor))
        return self.counted(
            f"{other} {sign} {size} * {text}", lambda m: also(m) + factor * value(m), None
        )

    def precision(self) -> Atom:
        label, group = self.draw.label(), self.draw.group()
        w, op = self.world, self.op(">=")
        bound = Fraction(self.rng.choice([0, 30, 50, 60, 75, 100]), 100)

        def holds(model: object) -> bool:
            assert isinstance(model, Model)
            predicted = w.members(group) & model.predicted(label)
            whole = w.weight(predicted)
            return not whole or OPS[op](w.weight(predicted & w.of_class(label)) / whole, bound)

        return f"{self.draw.named('precision', label, group)} {op} {bound * 100}%", holds

    def gap(self) -> Atom:
        text, values = self.draw.over_groups(
            "rate", "recall", "false_positive_rate", "accuracy", "error_rate"
        )  # fmt: skip
        return self.shared(f"gap({text})", lambda m: _gap(values, m))

    def ratio(self) -> Atom:
        text, values = self.draw.over_groups(
            "rate", "recall", "false_positive_rate", "accuracy", "error_rate"
        )  # fmt: skip
        return self.shared(f"ratio({text})", lambda m: _ratio(values, m))

    def root(self) -> Atom:
        some = self.draw.some_columns()
        return (f"root in {{{self.world.names(some)}}}",
                lambda m: not m.splits or m.splits[0].test.column in some)  # type: ignore[attr-defined]  # fmt: skip

    def pair(self, term: str) -> Atom:
        first, second = self.rng.randrange(self.world.n), self.rng.randrange(self.world.n)
        wish = term == "same_leaf"
        return (f"{term}({first}, {second})",
                lambda m: (m.leaf_of(first) is m.leaf_of(second)) == wish)  # type: ignore[attr-defined]  # fmt: skip

    def monotone(self, term: str) -> Atom:
        known = [i for i, c in enumerate(self.world.columns) if c.kind in ("number", "ordered")]
        column, rising = self.rng.choice(known), term == "increasing"
        return (f"{term}({self.name(column)})",
                lambda m: monotone(self.world, m, column, rising))  # type: ignore[arg-type]  # fmt: skip

    def used(self) -> Atom:
        column = self.column()
        return (f"uses({self.name(column)})",
                lambda m: any(split.test.column == column for split in m.splits))  # type: ignore[attr-defined]  # fmt: skip

    # -- path (the leaf at its end)

    def order(self, term: str) -> Atom:
        first, second = self.rng.sample(range(len(self.world.columns)), 2)

        def before(leaf: object) -> bool:
            path = leaf.path  # type: ignore[attr-defined]
            return not any(a == second and b == first for a, b in combinations(path, 2))

        def requires(leaf: object) -> bool:
            path = leaf.path  # type: ignore[attr-defined]
            return all(second in path[:i] for i, column in enumerate(path) if column == first)

        text = f"{self.name(first)} {term} {self.name(second)}"
        return text, before if term == "before" else requires

    def path_uses(self) -> Atom:
        column = self.column()
        return f"uses({self.name(column)})", lambda leaf: column in leaf.path  # type: ignore[attr-defined]

    def path_number(self, term: str) -> Atom:
        w, rng = self.world, self.rng
        some = self.draw.some_columns()
        values: dict[str, Callable[[Leaf], Fraction]] = {
            "tests": lambda leaf: Fraction(sum(c in some for c in leaf.path)),
            "length": lambda leaf: Fraction(len(leaf.path)),
            "cost": lambda leaf: w.path_cost(leaf.path),
        }
        value = values[term]
        text = f"tests({w.names(some)})" if term == "tests" else term
        if term != "length" and rng.random() < 0.2:
            factor, length = rng.choice([Fraction(2), Fraction(1, 2)]), values["length"]
            one = value
            text, value = (f"{text} - {decimal(factor)} * length",
                           lambda leaf: one(leaf) - factor * length(leaf))  # fmt: skip
        if rng.random() < 0.15:
            middle, two = rng.choice([Fraction(1), Fraction(2)]), value
            text, value = (f"abs({text} - {decimal(middle)})", lambda leaf: abs(two(leaf) - middle))
        leaves = [leaf for model in self.models for leaf in model.leaves]
        bound = value(rng.choice(leaves)) + rng.choice([0, 0, 0, 1, Fraction(1, 2)])
        op = self.op()
        return f"{text} {op} {decimal(bound)}", lambda leaf: OPS[op](value(leaf), bound)  # type: ignore[arg-type]

    # -- leaf

    def sized(self) -> Atom:
        """`size` of a leaf or a split."""
        group, op, w = self.draw.group(), self.op(">="), self.world
        inside = w.members(group)
        text = self.draw.named("size", None, group)
        pick = self.rng.random()
        if pick < 0.3:
            percent = self.rng.choice([10, 25, 30, 50])
            bound, shown = Fraction(percent * inside.bit_count(), 100), f"{percent}%"
        elif pick < 0.5:
            other, factor = self.rng.choice(list(w.groups)), self.rng.choice([1, 2])
            theirs, more = w.members(other), self.rng.randint(0, 2)
            return (f"{text} {op} {factor} * size({other}) + {more}",
                    lambda at: OPS[op](Fraction((at.rows & inside).bit_count()),  # type: ignore[attr-defined]
                                       Fraction(factor * (at.rows & theirs).bit_count() + more)))  # type: ignore[attr-defined]  # fmt: skip
        else:
            bound = Fraction(self.rng.choice([0, 1, 1, 2, 2, 3, 4, "2.5"]))
            shown = decimal(bound)
        return (f"{text} {op} {shown}",
                lambda at: OPS[op](Fraction((at.rows & inside).bit_count()), bound))  # type: ignore[attr-defined]  # fmt: skip

    def purity(self) -> Atom:
        bound = Fraction(self.rng.choice([25, 50, 60, 75, 80, 100]), 100)
        op, w = self.op(">="), self.world

        def holds(leaf: object) -> bool:
            assert isinstance(leaf, Leaf)
            whole = w.weight(leaf.rows)
            return not whole or OPS[op](w.weight(leaf.rows & w.of_class(leaf.label)) / whole, bound)

        return f"purity {op} {bound * 100}%", holds

    def majority(self) -> Atom:
        w = self.world

        def holds(leaf: object) -> bool:
            assert isinstance(leaf, Leaf)
            sums = [w.weight(leaf.rows & w.of_class(c)) for c in range(len(w.classes))]
            return sums[leaf.label] == max(sums)

        return "majority", holds

    # -- split

    def feature(self) -> Atom:
        some, op = self.draw.some_columns(), self.rng.choice(["=", "!="])
        if self.rng.random() < 0.6:
            return (f"feature in {{{self.world.names(some)}}}",
                    lambda s: s.test.column in some)  # type: ignore[attr-defined]  # fmt: skip
        return (f"feature {op} {self.name(some[0])}",
                lambda s: (s.test.column == some[0]) == (op == "="))  # type: ignore[attr-defined]  # fmt: skip

    def level(self) -> Atom:
        op, bound = self.op(), Fraction(self.rng.randint(0, 2))
        return f"level {op} {bound}", lambda s: OPS[op](Fraction(s.level), bound)  # type: ignore[attr-defined]

    def threshold(self, column: int) -> tuple[str, Callable[[Fraction], bool]]:
        """A condition on the threshold of a ranked column."""
        here, rng = self.world.columns[column], self.rng
        text = f"threshold({here.name})"
        if here.kind == "ordered":
            level, op = rng.randrange(3), rng.choice(list(OPS))
            if rng.random() < 0.3:
                some = rng.sample(range(3), 2)
                names = ", ".join(f'"{LEVELS[i]}"' for i in some)
                return f"{text} in {{{names}}}", lambda t: t in some
            return f'{text} {op} "{LEVELS[level]}"', lambda t: OPS[op](t, Fraction(level))
        low = Fraction(rng.randint(0, 6), 2)
        high = low + Fraction(rng.randint(0, 4), 2)
        some = sorted({Fraction(rng.randint(0, 12), 4) for _ in range(rng.randint(1, 4))})
        step, op = rng.choice([Fraction(1, 2), Fraction(2), Fraction(3)]), rng.choice(list(OPS))
        return rng.choice(
            [
                (f"{text} {op} {decimal(low)}", lambda t: OPS[op](t, low)),
                (f"{text} in {{{', '.join(map(decimal, some))}}}", lambda t: t in some),
                (f"{text} in [{decimal(low)}, {decimal(high)}]", lambda t: low <= t <= high),
                (f"{text} multiple_of {decimal(step)}", lambda t: (t / step).denominator == 1),
            ]
        )  # fmt: skip


def _gap(values: Sequence[Number], model: Model) -> Fraction:
    found = [value(model) for value in values]
    return max(found) - min(found)


def _ratio(values: Sequence[Number], model: Model) -> Fraction:
    found = [value(model) for value in values]
    return min(found) / max(found) if max(found) else Fraction(1)


def monotone(world: World, model: Model, column: int, rising: bool) -> bool:
    """No two points that agree but in the column are predicted against the direction.

    Per leaf and column, the probes that reach it: all cells that no test tells apart have
    one. Two leaves share a point of the other columns iff every one of these has a probe.
    """
    probes = [_probes(world, model, c) for c in range(len(world.columns))]
    reach = [
        (leaf.label, [{i for i, x in enumerate(of) if _arrives(world, leaf, c, x)}
                      for c, of in enumerate(probes)])
        for leaf in model.leaves
    ]  # fmt: skip
    order = [world.rising.index(name) for name in world.classes]
    for (low, here), (high, there) in permutations(reach, 2):
        falls = order[low] > order[high] if rising else order[low] < order[high]
        ours = [probes[column][i] for i in here[column] if probes[column][i] is not None]
        theirs = [probes[column][i] for i in there[column] if probes[column][i] is not None]
        if not falls or not ours or not theirs or min(ours) >= max(theirs):  # type: ignore[type-var]
            continue
        if all(a & b for c, (a, b) in enumerate(zip(here, there, strict=True)) if c != column):
            return False
    return True


def _probes(world: World, model: Model, index: int) -> list[object]:
    """Cells of a column in rising order, one at least for each set that no test tells apart."""
    column = world.columns[index]
    missing: list[object] = [None] if None in column.cells else []
    if column.kind == "ordered":
        return [*map(Fraction, range(len(LEVELS))), *missing]
    if column.kind != "number":
        return [*sorted({x for x in column.cells if x is not None}, key=str), "?", *missing]
    cuts = {Fraction(x) for x in column.edges} | {
        at for split in model.splits
        if split.test.column == index and (at := _placed(world, split)) is not None
    }  # fmt: skip
    ends = sorted(cuts) or [Fraction(0)]
    between = [(a + b) / 2 for a, b in pairwise(ends)]
    return [*sorted([ends[0] - 1, *ends, *between, ends[-1] + 1]), *missing]


def _placed(world: World, split: Split) -> Fraction | None:
    """Where a ranked split stands; rules on thresholds do not meet rules on the direction."""
    return place(world, split, ()) if split.test.kind == "<=" else None


def _arrives(world: World, leaf: Leaf, column: int, cell: object) -> bool:
    """Whether a cell passes all tests of its column on the way to a leaf."""
    for split, left in leaf.above:
        if split.test.column == column:
            goes = split.test.missing_left if cell is None else split.test.passes(
                cell, _placed(world, split)
            )  # fmt: skip
            if bool(goes) != left:
                return False
    return True


# ---- rules

TERMS: dict[str, tuple[str, ...]] = {
    "model": (
        "depth", "leaves", "splits", "nodes", "errors", "error_rate", "accuracy", "loss",
        "expected_loss", "rate", "recall", "precision", "false_positive_rate", "count_predicted",
        "gap", "ratio", "expected_cost", "uses", "tests", "root", "same_leaf", "different_leaf",
        "increasing", "decreasing",
    ),
    "path": ("uses", "tests", "before", "requires", "cost", "length"),
    "leaf": ("size", "purity", "majority"),
    "split": ("size", "threshold", "feature", "level"),
}  # fmt: skip
MONOTONE = ("increasing", "decreasing")


def atom(atoms: Atoms, scope: str, term: str) -> Atom:
    """A condition of a scope with a term."""
    match scope, term:
        case "model", "leaves" | "splits" | "nodes" | "depth" | "tests" | "expected_cost":
            return atoms.plain(term)
        case "model", "precision" | "gap" | "ratio" | "root":
            made: Atom = getattr(atoms, term)()
            return made
        case "model", "uses":
            return atoms.used()
        case "model", "same_leaf" | "different_leaf":
            return atoms.pair(term)
        case "model", "increasing" | "decreasing":
            return atoms.monotone(term)
        case "model", _:
            return atoms.measure(term)
        case "path", "uses":
            return atoms.path_uses()
        case "path", "before" | "requires":
            return atoms.order(term)
        case "path", _:
            return atoms.path_number(term)
        case _, "size":
            return atoms.sized()
        case _, "purity" | "majority" | "feature" | "level":
            alone: Atom = getattr(atoms, term)()
            return alone
    raise AssertionError(term)


def combined(
    rng: random.Random, first: Atom, more: Callable[[], Atom], *, counts: bool = True
) -> Atom:
    """A condition alone, or with others of its scope."""
    (a, is_a) = first
    pick = rng.random()
    if pick < 0.5:
        return first
    if pick < 0.62:
        return f"not ({a})", lambda x: not is_a(x)
    (b, is_b) = more()
    if pick < 0.7:
        return f"{a} and {b}", lambda x: is_a(x) and is_b(x)
    if pick < 0.82:
        return f"{a} or {b}", lambda x: is_a(x) or is_b(x)
    if pick < 0.88:
        return f"if {a} then {b}", lambda x: not is_a(x) or is_b(x)
    if pick < 0.94 or not counts:
        return f"not ({a} and ({b}))", lambda x: not (is_a(x) and is_b(x))
    (c, is_c) = more()
    op, bound = rng.choice(["<=", ">=", "=", "!="]), Fraction(rng.randint(0, 3))
    return (f"count({a}, {b}, {c}) {op} {bound}",
            lambda x: OPS[op](Fraction(is_a(x) + is_b(x) + is_c(x)), bound))  # fmt: skip


def rule(atoms: Atoms, scope: str, term: str) -> Rule:
    """A rule of a scope with a term, alone or together with other terms of the scope."""
    rng = atoms.rng
    if term == "threshold":
        return _threshold_rule(atoms)
    others = [t for t in TERMS[scope] if t not in (*MONOTONE, "threshold")]
    if scope == "split":  # rows of a split and its test are conditions of two rules
        others = ["size"] if term == "size" else ["feature", "level"]
    text, holds = combined(
        rng,
        atom(atoms, scope, term),
        lambda: atom(atoms, scope, rng.choice(others)),
        counts=scope != "split" or term == "size",
    )
    return Rule(text=text, scope=scope, holds=holds)


def no_errors(world: World) -> Rule:
    """The demand that every row is right."""
    wrong = Measures(random.Random(0), world).wrong(None)
    return Rule(text="errors <= 0", scope="model", holds=lambda model: not wrong(model))


def least_size(rng: random.Random) -> Rule:
    """So many rows in every leaf."""
    least = rng.choice([1, 2, 2, 3])
    return Rule(
        text=f"size >= {least}", scope="leaf", holds=lambda leaf: leaf.rows.bit_count() >= least
    )


def _threshold_rule(atoms: Atoms) -> Rule:
    """A rule on the threshold of a column, at all levels or at some."""
    rng = atoms.rng
    column = rng.choice([i for i, c in enumerate(atoms.world.columns) if c.ranked])
    text, allows = atoms.threshold(column)
    pick = rng.random()
    if pick < 0.15:
        old = allows
        text, allows = f"not ({text})", lambda t: not old(t)
    elif pick < 0.45:
        more, also = atoms.threshold(column)
        one = allows
        text, allows = rng.choice(
            [(f"{text} and {more}", lambda t: one(t) and also(t)),
             (f"{text} or {more}", lambda t: one(t) or also(t))]
        )  # fmt: skip
    if rng.random() < 0.35:
        where, at = atoms.level()
        return Rule(
            text=f"if {where} then {text}" if " or " not in text else f"if {where} then ({text})",
            scope="split", column=column, holds=lambda split, t: not at(split) or allows(t),
        )  # fmt: skip
    return Rule(text=text, scope="split", column=column, holds=lambda split, t: allows(t))


# ---- objectives


def goals(rng: random.Random, world: World, models: Sequence[Model]) -> list[Goal]:
    """One to three stages."""
    draw = Measures(rng, world)
    return [_goal(rng, world, draw) for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3]))]


def plain_goals(rng: random.Random, world: World) -> list[Goal]:
    """Stages of losses and leaves only, which a search without rules takes."""
    draw = Measures(rng, world)
    leaves = Goal(text="leaves", sign=1, value=draw.plain("leaves")[1])
    depth = Goal(text="depth", sign=1, value=draw.plain("depth")[1])
    text, value = draw.any_of("errors", "loss", "accuracy", "expected_loss", "error_rate")
    sign = -1 if text.startswith("accuracy") else 1
    price = Fraction(rng.choice(["0.01", "0.25", 1]))
    alone = Goal(text=text, sign=sign, value=value)
    priced = Goal(
        text=f"{text} {'-' if sign < 0 else '+'} {decimal(price)} * leaves", sign=sign,
        value=lambda m: value(m) + sign * price * len(m.leaves),
    )  # fmt: skip
    return rng.choice(
        [[alone], [alone], [priced], [alone, leaves], [depth, alone], [leaves, alone]]
    )


def _goal(rng: random.Random, world: World, draw: Measures) -> Goal:
    factor = Fraction(rng.choice(["0.005", "0.25", 1, 2]))
    errors, depth = draw.wrong(None), draw.plain("depth")[1]
    match rng.randrange(11):
        case 0 | 1:
            return Goal(text="errors", sign=1, value=errors)
        case 2:
            size, of = draw.plain(rng.choice(["leaves", "splits", "nodes", "tests"]))
            rate, wrong = draw.any_of("error_rate", "errors", group=False)
            return Goal(
                text=f"{rate} + {decimal(factor)} * {size}", sign=1,
                value=lambda m: wrong(m) + factor * of(m),
            )  # fmt: skip
        case 3:
            cost, lost = draw.plain("expected_cost")[1], draw.lost(None)
            return Goal(
                text=f"loss + {decimal(factor)} * expected_cost", sign=1,
                value=lambda m: lost(m) + factor * cost(m),
            )  # fmt: skip
        case 4:
            return Goal(text="depth", sign=1, value=depth)
        case 5:
            text, value = draw.plain(rng.choice(["leaves", "splits", "nodes", "expected_cost"]))
            return Goal(text=text, sign=1, value=value)
        case 6:
            text, values = draw.over_groups("rate", "recall", "false_positive_rate", "accuracy")
            return Goal(
                text=f"errors + {decimal(factor)} * gap({text})", sign=1,
                value=lambda m: errors(m) + factor * _gap(values, m),
            )  # fmt: skip
        case 7:
            one, a = draw.any_of("rate", "recall", "accuracy")
            two, b = draw.any_of("rate", "recall", "accuracy")
            return Goal(
                text=f"abs({one} - {two}) + {decimal(factor)} * leaves", sign=1,
                value=lambda m: abs(a(m) - b(m)) + factor * len(m.leaves),
            )  # fmt: skip
        case 8:
            return weighting(rng, world)
        case _:
            text, value = draw.any_of(
                "errors", "error_rate", "accuracy", "loss", "expected_loss", "rate", "recall",
                "false_positive_rate", "count_predicted",
            )  # fmt: skip
            return Goal(text=text, sign=rng.choice([1, -1]), value=value)


def weighting(rng: random.Random, world: World) -> Goal:
    """A random number for every row and class that it is predicted as; `r0` is row 0, ..."""
    price = {
        (row, label): rng.randint(-2, 6)
        for row in range(world.n) for label in range(len(world.classes)) if rng.random() < 0.7
    }  # fmt: skip
    for column in range(len(world.columns)):
        price[column, -1] = rng.choice([0, 0, 0, 1, -1])
    terms = []
    for (row, label), size in price.items():
        if label < 0:  # `row` is a column
            what = f"tests({world.names([row])})"
        else:
            what = f'count_predicted("{world.classes[label]}", r{row})'
        terms.append(f"{'-' if size < 0 else '+'} {abs(size)} * {what}")

    def value(model: Model) -> Fraction:
        paid = sum(
            price.get((row, leaf.label), 0)
            for leaf in model.leaves for row in world.rows(leaf.rows)
        )  # fmt: skip
        return Fraction(paid + sum(price[split.test.column, -1] for split in model.splits))

    return Goal(text=f"0 {' '.join(terms)}", sign=1, value=value, of_rows=True)


def row_groups(world: World) -> list[str]:
    """The statements that name single rows, as `weighting` does."""
    return [f"group r{row} = row in {{{row}}}" for row in range(world.n)]
