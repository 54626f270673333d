"""Tables of 10 to 24 rows and trees of depth 3, where a search prunes: all sums of all trees.

Too many trees to list, so the sums that rules and objectives speak of are: a set of vectors of
integers for every set of rows and path above it, made of those of both sides of every split.
Nothing is pruned, and nothing of the package is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from meanings import OPS, Rule, RuleChecker
from sentences import Atoms, rule
from tiny_tables import Column, Leaf, Model, Split, TinyTable, decimal

Part = tuple[Any, ...]
"""A sum over leaves and splits: ("wrong", group), ("said", class, group), ..."""

Sums = npt.NDArray[np.int64]
Values = Mapping[Part, Sums]
SCALE = 4
"""Weights and prices are multiples of a quarter."""


@dataclass(frozen=True, kw_only=True)
class ModelMeasure:
    """A condition on, or a measure of, the sums of a tree, for many trees at once."""

    text: str
    parts: tuple[Part, ...]
    of: Callable[[Values], npt.NDArray[np.int64] | npt.NDArray[np.bool_]]
    over: int = 1
    """What an objective's values are to be divided by."""


@dataclass(frozen=True, kw_only=True)
class Larger:
    tiny: TinyTable
    local: tuple[Rule, ...]
    rules: tuple[ModelMeasure, ...]
    stages: tuple[ModelMeasure, ...]

    @property
    def text(self) -> str:
        written = [one.written(f"p{i}") for i, one in enumerate(self.local)]
        written += [f"rule r{i}: {one.text}" for i, one in enumerate(self.rules)]
        stages = " then ".join(f"minimize {stage.text}" for stage in self.stages)
        return "\n".join([*self.tiny.head(), stages, *written])

    def best(self) -> tuple[Fraction, ...] | None:
        """The least values of the stages, in their order, over all trees that satisfy the rules."""
        wanted = [*self.rules, *self.stages]
        parts = tuple(dict.fromkeys(part for one in wanted for part in one.parts))
        found = _Table(self.tiny, self.local, parts).values()
        for one in self.rules:
            kept = one.of(found)
            found = {part: sums[kept] for part, sums in found.items()}
        best = []
        for stage in self.stages:
            values = stage.of(found)
            if not values.size:
                return None
            best.append(Fraction(int(values.min()), stage.over))
            found = {part: sums[values == values.min()] for part, sums in found.items()}
        return tuple(best)

    def __str__(self) -> str:
        return f"{self.text}\n{self.tiny.frame}"


# ---- the sums of all trees


class _Table:
    def __init__(self, tiny: TinyTable, local: Sequence[Rule], parts: tuple[Part, ...]) -> None:
        self.tiny, self.parts = tiny, parts or (("leaves",),)
        self.checker = RuleChecker(tiny, local)
        assert tiny.depth is not None
        self.most = [most_of(tiny, part) + 1 for part in self.parts]
        assert prod(self.most) < 2**62
        self.known: dict[object, Sums] = {}
        self.tests: dict[int, list[tuple[Any, int]]] = {}

    def values(self) -> dict[Part, Sums]:
        found, rest = {}, self.below(self.tiny.everyone, 0, ())
        for part, radix in zip(self.parts, self.most, strict=True):
            found[part], rest = rest % radix, rest // radix
        return found

    def coded(self, values: Sequence[int]) -> int:
        code = 0
        for value, radix in zip(reversed(values), reversed(self.most), strict=True):
            code = code * radix + value
        return code

    def below(self, mask: int, level: int, above: tuple[tuple[Split, bool], ...]) -> Sums:
        """The distinct sums of all sub-trees that may stand on some rows below a path."""
        key = (mask, tuple(split.test.column for split, _ in above))
        if key not in self.known:
            self.known[key] = self._below(mask, level, above)
        return self.known[key]

    def _below(self, mask: int, level: int, above: tuple[tuple[Split, bool], ...]) -> Sums:
        tiny = self.tiny
        leaves = [Leaf(mask, label, above) for label in range(len(tiny.classes))]
        found = [
            np.array(
                [
                    self.coded([of_leaf(tiny, part, leaf) for part in self.parts])
                    for leaf in leaves
                    if self.checker.stands(leaf)
                ],
                dtype=np.int64,
            )
        ]
        if level < (tiny.depth or 0):
            for test, left in self._tests(mask):
                split = Split(mask, test, left, level)
                if not self.checker.stands(split):
                    continue
                lefts = self.below(left, level + 1, (*above, (split, True)))
                if lefts.size:
                    rights = self.below(mask & ~left, level + 1, (*above, (split, False)))
                    own = self.coded([of_split(part, split) for part in self.parts])
                    found.append(np.unique(np.add.outer(lefts, rights)) + own)
        return np.unique(np.concatenate(found))

    def _tests(self, mask: int) -> list[tuple[Any, int]]:
        if mask not in self.tests:
            self.tests[mask] = self.tiny.tests(mask, both_sides=False)
        return self.tests[mask]


def of_leaf(tiny: TinyTable, part: Part, leaf: Leaf) -> int:
    match part:
        case ("wrong", group):
            inside = leaf.rows & tiny.members(group) & ~tiny.of_class(leaf.label)
            return weight(tiny, inside)
        case ("said", label, group):
            return weight(tiny, leaf.rows & tiny.members(group)) if leaf.label == label else 0
        case ("right", label, group):
            inside = leaf.rows & tiny.members(group) & tiny.of_class(leaf.label)
            return weight(tiny, inside) if leaf.label == label else 0
        case ("count", label, group):
            inside = leaf.rows & tiny.members(group)
            return inside.bit_count() if leaf.label == label else 0
        case ("loss",):
            lost = sum(
                tiny.weights[row] * tiny.loss(leaf.label, row) for row in tiny.rows(leaf.rows)
            )
            return whole(SCALE * SCALE * lost)
        case ("leaves",):
            return 1
        case ("paid",):
            return whole(SCALE * tiny.path_cost(leaf.path)) * weight(tiny, leaf.rows)
        case ("both", first, second):
            return int(leaf.rows >> first & leaf.rows >> second & 1)
        case _:
            return 0


def of_split(part: Part, split: Split) -> int:
    return int(part[0] == "tests" and split.test.column in part[1:])


def most_of(tiny: TinyTable, part: Part) -> int:
    """What a sum never passes."""
    most = 1 << (tiny.depth or 0)
    everything = weight(tiny, tiny.everyone)
    match part[0]:
        case "paid":
            paid = tiny.path_cost(range(len(tiny.columns)))
            return whole(SCALE * paid) * everything
        case "loss":
            return 5 * SCALE * everything
        case "leaves" | "tests":
            return most
        case "count":
            return tiny.n
        case "both":
            return 1
        case _:
            return everything


def weight(tiny: TinyTable, mask: int) -> int:
    return whole(SCALE * tiny.weight(mask))


def whole(value: Fraction | int) -> int:
    found = Fraction(value)
    assert found.denominator == 1, "weights, prices and losses are multiples of a quarter"
    return int(found)


# ---- conditions and objectives on sums


class ModelRules:
    """Draws rules of the model and stages."""

    def __init__(self, rng: random.Random, tiny: TinyTable) -> None:
        self.rng, self.tiny = rng, tiny

    def group(self) -> str | None:
        return self.rng.choice([None, *self.tiny.groups])

    def label(self) -> int:
        return self.rng.randrange(len(self.tiny.classes))

    def named(self, term: str, label: int | None, group: str | None) -> str:
        shown = [] if label is None else [f'"{self.tiny.classes[label]}"']
        shown += [] if group is None else [group]
        return f"{term}({', '.join(shown)})" if shown else term

    def share(self) -> tuple[str, Part, int, bool]:
        """A share: its text, its part, what that is divided by, and whether it is 1 less that."""
        while True:
            term, label, group = (
                self.rng.choice(["accuracy", "error_rate", "rate", "recall"]),
                self.label(),
                self.group(),
            )
            inside = self.tiny.members(group)
            over = inside & self.tiny.of_class(label) if term == "recall" else inside
            if not weight(self.tiny, over):
                continue
            if term in ("accuracy", "error_rate"):
                part: Part = ("wrong", group)
                return (
                    self.named(term, None, group),
                    part,
                    weight(self.tiny, over),
                    term == "accuracy",
                )
            if term == "rate":
                return (
                    self.named(term, label, group),
                    ("said", label, group),
                    weight(self.tiny, over),
                    False,
                )
            return (
                self.named(term, label, group),
                ("right", label, group),
                weight(self.tiny, over),
                False,
            )

    def parity(self) -> tuple[str, tuple[Part, ...], list[int]]:
        """A rate of two groups."""
        label, (g, h) = self.label(), self.rng.sample(list(self.tiny.groups), 2)
        text = f'rate("{self.tiny.classes[label]}"), {g}, {h}'
        parts: tuple[Part, ...] = (("said", label, g), ("said", label, h))
        return text, parts, [weight(self.tiny, self.tiny.members(x)) for x in (g, h)]

    def used(self) -> ModelMeasure:
        """A column that must be tested, or must not."""
        column = self.rng.randrange(len(self.tiny.columns))
        tests: Part = ("tests", column)
        wish = self.rng.random() < 0.8
        text = f"uses({self.tiny.names([column])})"
        return ModelMeasure(
            text=text if wish else f"not {text}",
            parts=(tests,),
            of=lambda v: (v[tests] > 0) == wish,
        )

    def rule(self) -> ModelMeasure:
        rng, op = self.rng, self.rng.choice(["<=", ">=", "<=", ">=", "=", "<", "!="])
        compare: Callable[[Any, Any], Any] = OPS[op]
        match rng.randrange(9):
            case 0 | 1:
                text, part, over, less = self.share()
                percent = rng.choice([5, 10, 20, 30, 50, 60, 70, 75, 80, 90, 95])
                return ModelMeasure(
                    text=f"{text} {op} {percent}%",
                    parts=(part,),
                    of=lambda v: compare(
                        100 * ((over - v[part]) if less else v[part]), percent * over
                    ),
                )
            case 2:
                text, parts, (a, b) = self.parity()
                percent = rng.choice([0, 1, 5, 10, 25])
                return ModelMeasure(
                    text=f"gap({text}) <= {percent}%",
                    parts=parts,
                    of=lambda v: 100 * abs(v[parts[0]] * b - v[parts[1]] * a) <= percent * a * b,
                )
            case 3:
                text, parts, (a, b) = self.parity()
                percent = rng.choice([50, 80, 100])
                return ModelMeasure(
                    text=f"ratio({text}) >= {percent}%",
                    parts=parts,
                    of=lambda v: (
                        (100 * v[parts[0]] * b >= percent * v[parts[1]] * a)
                        & (100 * v[parts[1]] * a >= percent * v[parts[0]] * b)
                    ),
                )
            case 4:
                bound = rng.randint(1, 6)
                return ModelMeasure(
                    text=f"leaves {op} {bound}",
                    parts=(("leaves",),),
                    of=lambda v: compare(v["leaves",], bound),
                )
            case 5:
                some = rng.sample(range(len(self.tiny.columns)), rng.choice([1, 1, 2]))
                tests: Part = ("tests", *some)
                if len(some) == 1 and rng.random() < 0.7:
                    return self.used()
                bound = rng.randint(0, 3)
                return ModelMeasure(
                    text=f"tests({self.tiny.names(some)}) {op} {bound}",
                    parts=(tests,),
                    of=lambda v: compare(v[tests], bound),
                )
            case 6:
                first, second = rng.sample(range(self.tiny.n), 2)
                both: Part = ("both", first, second)
                wish = rng.random() < 0.5
                return ModelMeasure(
                    text=f"{'same' if wish else 'different'}_leaf({first}, {second})",
                    parts=(both,),
                    of=lambda v: (v[both] == 1) == wish,
                )
            case 7:
                label, group = self.label(), self.group()
                count: Part = ("count", label, group)
                bound = rng.randint(0, self.tiny.members(group).bit_count())
                text = self.named("count_predicted", label, group)
                return ModelMeasure(
                    text=f"{text} {op} {bound}",
                    parts=(count,),
                    of=lambda v: compare(v[count], bound),
                )
            case _:
                bound = Fraction(rng.randint(0, 20), 4)  # type: ignore[assignment]
                over = SCALE * weight(self.tiny, self.tiny.everyone)
                return ModelMeasure(
                    text=f"expected_cost {op} {decimal(bound)}",  # type: ignore[arg-type]
                    parts=(("paid",),),
                    of=lambda v: compare(4 * v["paid",], int(4 * bound * over)),
                )

    def stages(self) -> tuple[ModelMeasure, ...]:
        rng = self.rng
        wrong: Part = ("wrong", None)
        errors = ModelMeasure(text="errors", parts=(wrong,), of=lambda v: v[wrong], over=SCALE)
        leaves = ModelMeasure(text="leaves", parts=(("leaves",),), of=lambda v: v["leaves",])
        price = Fraction(rng.choice(["0.25", "1", "0.05"]))
        priced = ModelMeasure(
            text=f"errors + {decimal(price)} * leaves",
            parts=(wrong, ("leaves",)),
            over=20 * SCALE,
            of=lambda v: 20 * v[wrong] + int(20 * SCALE * price) * v["leaves",],
        )
        loss = ModelMeasure(
            text="loss", parts=(("loss",),), of=lambda v: v["loss",], over=SCALE * SCALE
        )
        return rng.choice(
            [
                (errors,),
                (errors,),
                (errors,),
                (priced,),
                (loss,),
                (errors, leaves),
                self._costly(),
                self._fair(),
            ]
        )

    def _costly(self) -> tuple[ModelMeasure, ...]:
        factor = self.rng.choice([1, 2])
        whole_ = weight(self.tiny, self.tiny.everyone)
        return (
            ModelMeasure(
                text=f"loss + {factor} * expected_cost",
                parts=(("loss",), ("paid",)),
                over=SCALE * SCALE * whole_,
                of=lambda v: whole_ * v["loss",] + SCALE * factor * v["paid",],
            ),
        )

    def _fair(self) -> tuple[ModelMeasure, ...]:
        text, parts, (a, b) = self.parity()
        wrong: Part = ("wrong", None)
        over = lcm(a, b, SCALE)
        return (
            ModelMeasure(
                text=f"errors + 3 * gap({text})",
                parts=(wrong, *parts),
                over=over,
                of=lambda v: (
                    over // SCALE * v[wrong]
                    + 3 * abs(over // a * v[parts[0]] - over // b * v[parts[1]])
                ),
            ),
        )


# ---- drawing one


PATHS = [("path", t) for t in ("uses", "tests", "before", "requires", "cost", "length")]


def larger_case(seed: int) -> Larger:
    """A random case; every third has rules on paths only."""
    return random_larger(random.Random(f"larger {seed}"), paths_only=seed % 3 == 0)


def random_larger(rng: random.Random, *, paths_only: bool = False) -> Larger:
    """Rules on paths, leaves and splits, and up to two on the whole model.

    With `paths_only` rules that leave all bounds of the search in force.
    """
    tiny = _world(rng, plain=paths_only)
    models = [_grown(rng, tiny) for _ in range(6)]
    atoms = Atoms(rng, tiny, models)
    draw = ModelRules(rng, tiny)
    if paths_only:
        local = tuple(rule(atoms, *rng.choice(PATHS)) for _ in range(rng.choice([0, 1, 1, 2])))
        must = (draw.used(),) if not local or rng.random() < 0.3 else ()
        return Larger(tiny=tiny, local=local, rules=must, stages=draw.stages()[:1])
    kinds = [
        *PATHS,
        ("leaf", "size"),
        ("leaf", "size"),
        ("leaf", "purity"),
        ("leaf", "majority"),
        ("split", "size"),
        ("split", "threshold"),
        ("split", "feature"),
        ("split", "level"),
    ]
    local = tuple(rule(atoms, *rng.choice(kinds)) for _ in range(rng.choice([0, 1, 1, 2])))
    many = rng.choice([0, 1, 1, 2]) if local else rng.choice([1, 1, 2])
    return Larger(
        tiny=tiny,
        local=local,
        rules=tuple(draw.rule() for _ in range(many)),
        stages=draw.stages(),
    )


def _world(rng: random.Random, *, plain: bool) -> TinyTable:
    """Columns of many values, two classes mostly, labels that follow a column in part."""
    n, depth = rng.randint(10, 24), rng.choice([2, 3, 3, 3])
    k = rng.choice([2, 2, 2, 3])
    top = rng.choice([3, 5, 7]) if depth == 3 else rng.choice([5, 9, 20])
    columns = [
        Column(name=name, kind="number", cells=[rng.randint(0, top) / 2 for _ in range(n)])
        for name in "abc"[: rng.choice([2, 3])]
    ]
    if rng.random() < 0.4:
        levels = ["p", "q", "r"][: rng.choice([2, 3])]
        columns[-1] = Column(
            name=columns[-1].name, kind="category", cells=[rng.choice(levels) for _ in range(n)]
        )
    for column in columns:
        column.price = Fraction(rng.choice(["0", "1", "2", "0.5"]))
        if not plain and rng.random() < 0.2:
            column.cells[rng.randrange(n)] = None
            column.missing = rng.choice(["left", "right", "branch"])
    names = ("n", "y", "z")[:k]
    first = columns[0].numbers
    target = [
        int((first[i] or 0) * 2 > top / 2) if rng.random() < 0.5 else rng.randrange(k)
        for i in range(n)
    ]
    target[:k] = range(k)
    weighed = rng.random() < 0.3
    tiny = TinyTable(
        columns=columns,
        classes=names,
        rising=names,
        target=target,
        weights=[
            Fraction(rng.choice(["1", "2", "0.5"])) if weighed else Fraction(1) for _ in range(n)
        ],
        weighed=weighed,
        losses={("n", "y"): Fraction(3)} if rng.random() < 0.4 else {},
        shared=[((0, 1), Fraction(1))] if rng.random() < 0.3 else [],
        groups={},
        depth=depth,
        leaves=None,
    )
    for name in ("g", "h"):
        rows = sorted(rng.sample(range(n), rng.randint(n // 3, 2 * n // 3)))
        mask = sum(1 << row for row in rows)
        tiny.groups[name] = mask, f"row in {{{', '.join(map(str, rows))}}}"
    return tiny


def _grown(rng: random.Random, tiny: TinyTable) -> Model:
    """A random tree, near whose paths bounds are drawn."""

    def below(mask: int, level: int, above: tuple[tuple[Split, bool], ...]) -> Model:
        tests = tiny.tests(mask, both_sides=False)
        if level == tiny.depth or not tests or rng.random() < 0.15:
            leaf = Leaf(mask, rng.randrange(len(tiny.classes)), above)
            return Model(leaf, (leaf,), ())
        test, left = rng.choice(tests)
        split = Split(mask, test, left, level)
        a = below(left, level + 1, (*above, (split, True)))
        b = below(mask & ~left, level + 1, (*above, (split, False)))
        return Model((split, a, b), a.leaves + b.leaves, (split, *a.splits, *b.splits))

    return below(tiny.everyone, 0, ())
