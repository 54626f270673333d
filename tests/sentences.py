"""Rules as a spec writes them, each with its meaning on a `tiny_tables.Model`.

A method of `Atoms` under `@makes` draws conditions with some terms. Shares of rows need none: they
are lines of `SHARES` or `QUOTIENTS` in `meanings`.

Bounds are drawn near the values of some model, so that rules bite.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

from directions import monotone
from meanings import OPS, QUOTIENTS, RATES, Atom, Measures, Number, Rule, gap_of, ratio_of
from tiny_tables import LEVELS, Leaf, Model, TinyTable, decimal

from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.terms.registry import TERMS as REGISTERED

# ---- atoms

MONOTONE = ("increasing", "decreasing")

Maker = Callable[["Atoms", str], Atom]
MAKERS: dict[tuple[str, str], Maker] = {}
"""By scope and term, what draws a condition with it."""


def makes(scope: str, *terms: str) -> Callable[[Maker], Maker]:
    """Say which terms of a scope a method draws."""

    def enter(maker: Maker) -> Maker:
        MAKERS.update({(scope, term): maker for term in terms})
        return maker

    return enter


class Atoms:
    """Draws conditions. `models` are some trees, whose values bounds are near to.

    With `closed` no rule on thresholds leaves out the end of what it admits: what is nearest to
    a gap's middle is plain then, and rules on directions, which ask for it, may stand beside.
    """

    def __init__(
        self, rng: random.Random, tiny: TinyTable, models: Sequence[Model], *, closed: bool = False
    ) -> None:
        self.closed = closed
        self.rng, self.tiny = rng, tiny
        self.models = list(models)
        self.draw = Measures(rng, tiny)

    def op(self, often: str = "<=") -> str:
        return self.rng.choice([often, often, ">=", *OPS])

    def column(self) -> int:
        return self.rng.randrange(len(self.tiny.columns))

    def name(self, column: int) -> str:
        return self.tiny.columns[column].name

    def near(self, value: Number, step: Fraction = Fraction(1)) -> Fraction:
        met = value(self.rng.choice(self.models))
        return met + self.rng.choice([0, 0, 0, 1, -1, Fraction(1, 2)]) * step  # type: ignore[operator]

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
            return (
                f"{decimal(low)} <= {text} <= {decimal(high)}",
                lambda m: low <= value(m) <= high,
            )  # type: ignore[arg-type]
        if kind < 0.25:
            some = sorted({bound, self.near(value)})
            return (
                (f"{text} in {{{', '.join(map(decimal, some))}}}", lambda m: value(m) in some)  # type: ignore[arg-type]
                if all((8 * x).denominator == 1 for x in some)
                else self.compared(text, value, bound, decimal(bound))
            )  # type: ignore[arg-type]
        return self.compared(text, value, bound, decimal(bound))

    def shared(self, text: str, value: Number) -> Atom:
        """A comparison of a share, with a percentage or a decimal."""
        bound = Fraction(round(100 * self.near(value, Fraction(1, 10))), 100)
        shown = f"{bound * 100}%" if self.rng.random() < 0.6 else decimal(bound)
        return self.compared(text, value, bound, shown if bound >= 0 else decimal(bound))

    def with_another(self, text: str, value: Number) -> Atom:
        """A comparison of two measures, or of their difference."""
        other, also = self.draw.any_of(*RATES)
        factor = self.rng.choice([Fraction(1), Fraction(1, 2), Fraction(4, 5), Fraction(2)])
        op, far = self.op(), self.rng.choice([0, 5, 20, 50])
        if self.rng.random() < 0.5:
            return (
                f"{text} {op} {decimal(factor)} * {other}",
                lambda m: OPS[op](value(m), factor * also(m)),
            )  # type: ignore[arg-type]
        return (
            f"abs({text} - {other}) {op} {far}%",
            lambda m: OPS[op](abs(value(m) - also(m)), Fraction(far, 100)),
        )  # type: ignore[arg-type]

    @makes("model", *RATES, "errors", "loss", "expected_loss", "count_predicted")
    def measure(self, term: str) -> Atom:
        while True:
            label, group = self.draw.label(), self.draw.group()
            found = self.draw.of(term, label, group)
            if found is not None:
                break
        text, value = found
        if term in ("errors", "count_predicted"):
            return self.counted(text, value, self.tiny.members(group).bit_count())
        if term == "loss":
            return self.counted(text, value, None)
        if term == "expected_loss":
            return self.counted(text, value, None)
        if self.rng.random() < 0.3:
            return self.with_another(text, value)
        return self.shared(text, value)

    @makes("model", "leaves", "splits", "nodes", "depth", "tests", "expected_cost")
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

    @makes("model", *QUOTIENTS)
    def quotient(self, term: str) -> Atom:
        text, value = self.draw.quotient(term, self.draw.label(), self.draw.group())
        op, bound = self.op(">="), Fraction(self.rng.choice([0, 30, 50, 60, 75, 100]), 100)

        def holds(model: object) -> bool:
            found = value(model)  # type: ignore[arg-type]
            return found is None or OPS[op](found, bound)

        return f"{text} {op} {bound * 100}%", holds

    @makes("model", "gap", "ratio")
    def over_groups(self, term: str) -> Atom:
        text, values = self.draw.over_groups(*RATES)
        of = gap_of if term == "gap" else ratio_of
        return self.shared(f"{term}({text})", lambda m: of(values, m))

    @makes("model", "root")
    def root(self, _: str) -> Atom:
        some = self.draw.some_columns()
        return (
            f"root in {{{self.tiny.names(some)}}}",
            lambda m: not m.splits or m.splits[0].test.column in some,
        )  # type: ignore[attr-defined]

    @makes("model", "same_leaf", "different_leaf")
    def pair(self, term: str) -> Atom:
        first, second = self.rng.randrange(self.tiny.n), self.rng.randrange(self.tiny.n)
        wish = term == "same_leaf"
        return (
            f"{term}({first}, {second})",
            lambda m: (m.leaf_of(first) is m.leaf_of(second)) == wish,
        )  # type: ignore[attr-defined]

    @makes("model", *MONOTONE)
    def monotone(self, term: str) -> Atom:
        known = [i for i, c in enumerate(self.tiny.columns) if c.kind in ("number", "ordered")]
        column, rising = self.rng.choice(known), term == "increasing"
        return (f"{term}({self.name(column)})", lambda m: monotone(self.tiny, m, column, rising))  # type: ignore[arg-type]

    @makes("model", "uses")
    def used(self, _: str) -> Atom:
        column = self.column()
        return (
            f"uses({self.name(column)})",
            lambda m: any(split.test.column == column for split in m.splits),
        )  # type: ignore[attr-defined]

    # -- path (the leaf at its end)

    @makes("path", "before", "requires")
    def order(self, term: str) -> Atom:
        first, second = self.rng.sample(range(len(self.tiny.columns)), 2)

        def before(leaf: object) -> bool:
            path = leaf.path  # type: ignore[attr-defined]
            return not any(a == second and b == first for a, b in combinations(path, 2))

        def requires(leaf: object) -> bool:
            path = leaf.path  # type: ignore[attr-defined]
            return all(second in path[:i] for i, column in enumerate(path) if column == first)

        text = f"{self.name(first)} {term} {self.name(second)}"
        return text, before if term == "before" else requires

    @makes("path", "uses")
    def path_uses(self, _: str) -> Atom:
        column = self.column()
        return f"uses({self.name(column)})", lambda leaf: column in leaf.path  # type: ignore[attr-defined]

    @makes("path", "tests", "length", "cost")
    def path_number(self, term: str) -> Atom:
        w, rng = self.tiny, self.rng
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
            text, value = (
                f"{text} - {decimal(factor)} * length",
                lambda leaf: one(leaf) - factor * length(leaf),
            )
        if rng.random() < 0.15:
            middle, two = rng.choice([Fraction(1), Fraction(2)]), value
            text, value = (f"abs({text} - {decimal(middle)})", lambda leaf: abs(two(leaf) - middle))
        leaves = [leaf for model in self.models for leaf in model.leaves]
        bound = value(rng.choice(leaves)) + rng.choice([0, 0, 0, 1, Fraction(1, 2)])  # type: ignore[operator]
        op = self.op()
        return f"{text} {op} {decimal(bound)}", lambda leaf: OPS[op](value(leaf), bound)  # type: ignore[arg-type]

    # -- leaf

    @makes("leaf", "size")
    @makes("split", "size")
    def sized(self, _: str) -> Atom:
        """`size` of a leaf or a split."""
        group, op, w = self.draw.group(), self.op(">="), self.tiny
        inside = w.members(group)
        text = self.draw.named("size", None, group)
        pick = self.rng.random()
        if pick < 0.3:
            percent = self.rng.choice([10, 25, 30, 50])
            bound, shown = Fraction(percent * inside.bit_count(), 100), f"{percent}%"
        elif pick < 0.5:
            other, factor = self.rng.choice(list(w.groups)), self.rng.choice([1, 2])
            theirs, more = w.members(other), self.rng.randint(0, 2)
            return (
                f"{text} {op} {factor} * size({other}) + {more}",
                lambda at: OPS[op](
                    Fraction((at.rows & inside).bit_count()),  # type: ignore[attr-defined]
                    Fraction(factor * (at.rows & theirs).bit_count() + more),
                ),
            )  # type: ignore[attr-defined]
        else:
            bound = Fraction(self.rng.choice(["0", "1", "1", "2", "2", "3", "4", "2.5"]))
            shown = decimal(bound)
        return (
            f"{text} {op} {shown}",
            lambda at: OPS[op](Fraction((at.rows & inside).bit_count()), bound),
        )  # type: ignore[attr-defined]

    @makes("leaf", "purity")
    def purity(self, _: str) -> Atom:
        bound = Fraction(self.rng.choice([25, 50, 60, 75, 80, 100]), 100)
        op, w = self.op(">="), self.tiny

        def holds(leaf: object) -> bool:
            assert isinstance(leaf, Leaf)
            whole = w.weight(leaf.rows)
            return not whole or OPS[op](w.weight(leaf.rows & w.of_class(leaf.label)) / whole, bound)

        return f"purity {op} {bound * 100}%", holds

    @makes("leaf", "majority")
    def majority(self, _: str) -> Atom:
        w = self.tiny

        def holds(leaf: object) -> bool:
            assert isinstance(leaf, Leaf)
            sums = [w.weight(leaf.rows & w.of_class(c)) for c in range(len(w.classes))]
            return sums[leaf.label] == max(sums)

        return "majority", holds

    # -- split

    @makes("split", "feature")
    def feature(self, _: str) -> Atom:
        some, op = self.draw.some_columns(), self.rng.choice(["=", "!="])
        if self.rng.random() < 0.6:
            return (f"feature in {{{self.tiny.names(some)}}}", lambda s: s.test.column in some)  # type: ignore[attr-defined]
        return (
            f"feature {op} {self.name(some[0])}",
            lambda s: (s.test.column == some[0]) == (op == "="),
        )  # type: ignore[attr-defined]

    @makes("split", "level")
    def level(self, _: str) -> Atom:
        op, bound = self.op(), Fraction(self.rng.randint(0, 2))
        return f"level {op} {bound}", lambda s: OPS[op](Fraction(s.level), bound)  # type: ignore[attr-defined]

    def threshold(self, column: int) -> tuple[str, Callable[[Fraction], bool]]:
        """A condition on the threshold of a ranked column."""
        here, rng = self.tiny.columns[column], self.rng
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
        some = sorted({Fraction(rng.randint(0, 12), 4) for _ in range(rng.randint(1, 4))})  # type: ignore[misc]
        step = rng.choice([Fraction(1, 2), Fraction(2), Fraction(3)])
        op = rng.choice(["<=", ">="] if self.closed else list(OPS))
        return rng.choice(
            [
                (f"{text} {op} {decimal(low)}", lambda t: OPS[op](t, low)),
                (f"{text} in {{{', '.join(map(decimal, some))}}}", lambda t: t in some),  # type: ignore[arg-type]
                (f"{text} in [{decimal(low)}, {decimal(high)}]", lambda t: low <= t <= high),
                (f"{text} multiple_of {decimal(step)}", lambda t: (t / step).denominator == 1),
            ]
        )


# ---- rules

NO_CLASSES = (
    *("mse", "mae", "poisson", "output", "survival_loss"),
    *("reward", "expected_reward", "share"),
)
"""Terms of number targets (`test_regression_spec`, `test_engine_regression`), of survival
(`test_survival`) and of choices (`test_choice`)."""

TERMS: dict[str, tuple[str, ...]] = {
    scope.value: tuple(
        term.name for term in REGISTERED if scope in term.scopes and term.name not in NO_CLASSES
    )
    for scope in (Scope.MODEL, Scope.PATH, Scope.LEAF, Scope.SPLIT)
}
"""By scope, every term of the language: what has no meaning here fails."""


def atom(atoms: Atoms, scope: str, term: str) -> Atom:
    """A condition of a scope with a term."""
    assert (scope, term) in MAKERS, (
        f"say what `{term}` means: as a line of SHARES or QUOTIENTS in tests/meanings.py if it is a"
        " share of rows, else as a method under @makes in tests/sentences.py"
    )
    return MAKERS[scope, term](atoms, term)


def combined(rng: random.Random, first: Atom, more: Callable[[], Atom]) -> Atom:
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
    if pick < 0.94:
        return f"not ({a} and ({b}))", lambda x: not (is_a(x) and is_b(x))
    (c, is_c) = more()
    op, bound = rng.choice(["<=", ">=", "=", "!="]), Fraction(rng.randint(0, 3))
    return (
        f"count({a}, {b}, {c}) {op} {bound}",
        lambda x: OPS[op](Fraction(is_a(x) + is_b(x) + is_c(x)), bound),
    )


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
    )
    return Rule(text=text, scope=scope, holds=holds)


def no_errors(tiny: TinyTable) -> Rule:
    """The demand that every row is right."""
    wrong = Measures(random.Random(0), tiny).wrong(None)
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
    column = rng.choice([i for i, c in enumerate(atoms.tiny.columns) if c.ranked])
    text, allows = atoms.threshold(column)
    pick = rng.random()
    if pick < 0.15 and not atoms.closed:
        old = allows
        text, allows = f"not ({text})", lambda t: not old(t)
    elif pick < 0.45:
        more, also = atoms.threshold(column)
        one = allows
        text, allows = rng.choice(
            [
                (f"{text} and {more}", lambda t: one(t) and also(t)),
                (f"{text} or {more}", lambda t: one(t) or also(t)),
            ]
        )
    if rng.random() < 0.15 and not atoms.closed:
        more, third = atoms.threshold(column)
        where, at = atoms.level("level")
        op, bound, first = rng.choice(["<=", ">=", "="]), rng.randint(0, 3), allows
        return Rule(
            text=f"count({text}, {more}, {where}) {op} {bound}",
            scope="split",
            column=column,
            holds=lambda split, t: OPS[op](first(t) + third(t) + at(split), bound),  # type: ignore[arg-type]
        )
    if rng.random() < 0.35:
        where, at = atoms.level("level")
        return Rule(
            text=f"if {where} then {text}" if " or " not in text else f"if {where} then ({text})",
            scope="split",
            column=column,
            holds=lambda split, t: not at(split) or allows(t),
        )
    return Rule(text=text, scope="split", column=column, holds=lambda split, t: allows(t))
