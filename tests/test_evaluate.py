"""`problem.ir.evaluate` against an independent reading of the forms, row by row and in plain
Python."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from random_cores import HERE, Sample, random_sample, random_tree
from scale import scaled

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.ir.evaluate import (
    BoundBroken,
    NotEvaluable,
    SplitBroken,
    route,
    stage_value,
    violations,
)
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Budget,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    Link,
    Monotone,
    Order,
    PathTotal,
    Root,
    SignedAtom,
    Used,
)
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree


class Naive:
    """The meaning of forms, written a second time: cell by cell, over paths as lists."""

    def __init__(self, core: Core, tree: RawTree) -> None:
        self.core = core
        self.leaves: list[tuple[RawLeaf, list[int], list[int]]] = []  # leaf, columns, rows
        self.splits: list[tuple[RawSplit, int, list[int]]] = []  # split, level, rows
        self._visit(tree, [], list(range(core.n_rows)))

    def _visit(self, tree: RawTree, above: list[int], rows: list[int]) -> None:
        if isinstance(tree, RawLeaf):
            self.leaves.append((tree, above, rows))
            return
        self.splits.append((tree, len(above), rows))
        column = self.core.families[tree.family].column
        left = [row for row in rows if self.passes(tree, row)]
        right = [row for row in rows if not self.passes(tree, row)]
        self._visit(tree.left, [*above, column], left)
        self._visit(tree.right, [*above, column], right)

    def passes(self, split: RawSplit, row: int) -> bool:
        family = self.core.families[split.family]
        code = int(family.codes[row])
        if family.kind == "threshold":
            return code <= split.test
        return code in (split.test, -1)

    @property
    def depth(self) -> int:
        return max(len(path) for _, path, _ in self.leaves)

    @property
    def columns(self) -> list[int]:
        return [self.core.families[split.family].column for split, _, _ in self.splits]

    def label(self, row: int) -> int:
        return next(leaf.label for leaf, _, rows in self.leaves if row in rows)

    def leaf(self, row: int) -> int:
        return next(i for i, (_, _, rows) in enumerate(self.leaves) if row in rows)

    def total(self, measure, rows, *, model=False) -> int:
        value = measure.constant
        for row in rows:
            value += 0 if measure.rows is None else int(measure.rows[row])
            value += 0 if measure.output is None else int(measure.output[row][self.label(row)])
        if model:
            value += measure.leaves * len(self.leaves)
            for column in self.columns:
                value += 0 if measure.columns is None else int(measure.columns[column])
        return value

    def path(self, measure, path) -> int:
        value = measure.constant
        for level, column in enumerate(path):
            value += measure.per_test[column]
            value += measure.once[column] if column not in path[:level] else 0
        return value + sum(s.amount for s in measure.shared if any(c in path for c in s.columns))

    def value(self, stage) -> Fraction:
        if isinstance(stage, DepthStage):
            return Fraction(self.depth)
        every = range(self.core.n_rows)

        def whole(m):
            return Fraction(self.total(m, every, model=True), m.denominator)

        value = whole(stage.measure) + sum(f * max(map(whole, ms)) for f, ms in stage.maxima)
        if stage.path_sum is not None:
            scale = stage.path_sum.measure.denominator * stage.path_sum.denominator
            value += Fraction(self.over_paths(stage.path_sum), scale)
        return value

    def over_paths(self, paths) -> int:
        return sum(
            int(paths.weights[row]) * self.path(paths.measure, path)
            for _, path, rows in self.leaves
            for row in rows
        )

    def atom(self, atom, scope, place) -> bool:
        every = range(self.core.n_rows)
        match atom:
            case Used():
                return atom.column in (self.columns if scope is Scope.MODEL else place[1])
            case Order():
                return any(
                    c == atom.here
                    and (
                        (atom.above not in place[1][:i])
                        if atom.absent
                        else (atom.above in place[1][:i])
                    )
                    for i, c in enumerate(place[1])
                )
            case Root():
                return not self.splits or self.columns[0] in atom.columns
            case Budget():
                return self.path(atom.measure, place[1]) <= atom.at_most
            case Linear():
                model = scope is Scope.MODEL
                return self.total(atom.measure, every if model else place[2], model=model) <= (
                    atom.at_most
                )
            case Depth():
                return self.depth <= atom.at_most
            case Link():
                return self.leaf(atom.first) == self.leaf(atom.second)
            case PathTotal():
                total = self.total(atom.measure, every, model=True)
                return total + self.over_paths(atom.path_sum) <= atom.at_most
        raise AssertionError(atom)

    def keeps(self, clause) -> bool:
        places = {
            Scope.MODEL: [None],
            Scope.PATH: self.leaves,
            Scope.LEAF: self.leaves,
            Scope.SPLIT: self.splits,
        }[clause.scope]
        return all(
            any(self.atom(x.atom, clause.scope, p) == x.positive for x in clause.literals)
            for p in places  # type: ignore[attr-defined]
        )

    def split_stands(self, split, level, rows) -> bool:
        family = self.core.families[split.family]
        codes = [int(family.codes[row]) for row in rows]
        sent = [self.passes(split, row) for row in rows]
        rules = [
            rule
            for rule in self.core.filters
            if rule.column == family.column and (rule.levels is None or level in rule.levels)
        ]
        if family.kind != "threshold":
            return len(set(sent)) == 2 and all(rule.allowed for rule in rules)
        here = [code for code in codes if 0 <= code < len(family.values)]
        below = [code for code in here if code <= split.test]
        above = [code for code in here if code > split.test]
        if not below or not above:
            return False
        low, high = float(family.values[max(below)]), float(family.values[min(above)])
        # All pieces are of halves and quarters here, or wide: a fine grid decides.
        grid = [low + (high - low) * k / 96 for k in range(96)]
        listed = [a[0] for s in (family.domain, *(r.allowed for r in rules)) for a, _ in s.pieces]
        listed += [b[0] for s in (family.domain, *(r.allowed for r in rules)) for _, b in s.pieces]
        grid += [x for x in listed if low <= x < high and math.isfinite(x)]
        return any(t in family.domain and all(t in r.allowed for r in rules) for t in grid)

    def valid(self) -> bool:
        skeleton = self.core.skeleton
        return (
            (skeleton.depth is None or self.depth <= skeleton.depth)
            and (skeleton.leaves is None or len(self.leaves) <= skeleton.leaves)
            and all(self.split_stands(*place) for place in self.splits)
            and all(self.keeps(clause) for clause in self.core.clauses)
        )


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_agrees_with_a_second_reading(seed: int) -> None:
    rng = random.Random(seed)
    n_valid = 0
    for _ in range(scaled(25)):
        core = random_sample(rng, monotone=False).core
        for _ in range(8):
            tree = random_tree(rng, core, rng.randint(0, 3))
            naive = Naive(core, tree)
            broken = violations(core, tree)
            assert [x for x in broken if isinstance(x, Clause)] == [
                clause for clause in core.clauses if not naive.keeps(clause)
            ]
            assert (not broken) == naive.valid()
            n_valid += not broken
            assert [stage_value(core, s, tree) for s in core.objective] == [
                naive.value(s) for s in core.objective
            ]
            assert route(core, tree).tolist() == [naive.leaf(i) for i in range(core.n_rows)]
    assert n_valid, "no valid tree was tried"


def labelled_cells(sample: Sample, tree: RawTree, atom: Monotone) -> bool:
    """Monotonicity by the emitted tree on a grid of cells, missing ones included."""
    from odtdsl.backends.decode import to_tree
    from odtdsl.datasets.cells import build_table, column_from_numbers, column_from_texts

    emitted = to_tree(sample.core, sample.rows, tree)
    features = sample.rows.problem.features
    grids: list[list[Any]] = []
    for index, feature in enumerate(features):
        column = sample.rows.data.columns[feature.name]
        cells = column.numbers if column.codes is None else column.codes
        gaps = bool((np.isnan(cells) if column.codes is None else cells < 0).any())
        if feature.type.kind == "number":
            points: list[Any] = [x / 8 for x in range(-4, 68)]
        else:
            points = list(feature.type.levels)
            points += ["zzz"] if feature.type.kind in ("category", "binary") else []
        if index == atom.column:
            points = [p for p in points if p != "zzz"]
        elif gaps:
            points.append(None)
        grids.append(points)
    numbers = [f.type.kind == "number" for f in features]
    points = list(itertools.product(*grids))
    columns = []
    for index, feature in enumerate(features):
        cells = [point[index] for point in points]  # type: ignore[assignment]
        if numbers[index]:
            values = np.array([np.nan if c is None else c for c in cells], dtype=float)
            columns.append(column_from_numbers(feature.name, values))
        else:
            columns.append(column_from_texts(feature.name, cells))  # type: ignore[arg-type]
    from odtdsl.predictors.routing import route as route_cells

    leaves = route_cells(emitted, build_table("grid", columns, len(points)))
    label = dict(zip(points, (emitted.leaves[i].label for i in leaves), strict=True))
    for point in points:
        for later in grids[atom.column][grids[atom.column].index(point[atom.column]) + 1 :]:
            moved = (*point[: atom.column], later, *point[atom.column + 1 :])
            a, b = label[point], label[moved]
            if (a > b) if atom.increasing else (a < b):
                return False
    return True


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_monotone_agrees_with_a_grid_of_cells(seed: int) -> None:
    rng = random.Random(seed)
    answers: list[Any] = []
    while len(answers) < 12:
        sample = random_sample(rng, rules=0, n_classes=3)
        if len(sample.core.columns) > 2:
            continue
        core = replace(sample.core, skeleton=replace(sample.core.skeleton, depth=3, leaves=None))  # type: ignore[arg-type]
        tree = random_tree(rng, core, 3)
        if violations(core, tree):
            continue
        column = rng.randrange(len(core.columns))
        if sample.rows.problem.features[column].type.kind == "category":
            continue
        atom = Monotone(column=column, increasing=rng.random() < 0.5)
        rule = Clause(scope=Scope.MODEL, literals=(SignedAtom(atom=atom),), origin=HERE)
        held = not violations(replace(core, clauses=(rule,)), tree)
        assert held == labelled_cells(Sample(rows=sample.rows, core=core), tree, atom)
        answers.append(held)
    assert any(answers)


def numbers_core(**changes: Any) -> Core:
    """One number column of the values 0, 1.5, 3, ... under a depth of 2."""
    rng = random.Random(0)
    while True:
        core = random_sample(rng, rules=0, n_rows=6, n_classes=2).core
        family = core.families[0]
        plain = family.kind == "threshold" and family.missing is None and not core.filters
        if plain and len(core.columns) == 1 and family.n_tests >= 2:
            return replace(core, skeleton=replace(core.skeleton, depth=2, leaves=None))  # type: ignore[arg-type]


def test_names_what_is_broken() -> None:
    core = numbers_core()
    leaf = RawLeaf(label=0)
    split = RawSplit(family=0, test=0, left=leaf, right=leaf)
    shallow = replace(core, skeleton=replace(core.skeleton, depth=0))  # type: ignore[arg-type]
    assert BoundBroken(what="depth", value=1, at_most=0) in violations(shallow, split)
    few = replace(core, skeleton=replace(core.skeleton, leaves=1))
    assert BoundBroken(what="leaves", value=2, at_most=1) in violations(few, split)
    again = replace(split, left=split)
    assert SplitBroken(position=1, reason="empty") in violations(core, again)
    beyond = replace(split, test=core.families[0].n_tests)
    assert SplitBroken(position=0, reason="range") in violations(core, beyond)


def test_diagrams_are_refused_with_the_reason() -> None:
    core = numbers_core()
    with pytest.raises(NotEvaluable, match="diagram"):
        violations(replace(core, skeleton=DiagramSkeleton(widths=(1, 2))), RawLeaf(label=0))
    assert not issubclass(NotEvaluable, OdtError)


def test_admissible_tests_are_those_with_a_place() -> None:
    """The pieces of a set against one gap after the other."""
    from odtdsl.problem.ir.families import Family, admissible, place
    from odtdsl.problem.ir.intervals import FULL, RealSet

    for seed in range(scaled(400)):
        rng = random.Random(f"admissible {seed}")
        values = np.array(sorted({rng.randint(0, 30) / 2 for _ in range(rng.randint(1, 12))}))
        family = Family(
            column=0,
            kind="threshold",
            codes=np.arange(len(values)),
            values=values,
            n_tests=len(values) - 1,
        )
        allowed = FULL
        for _ in range(rng.randint(0, 3)):
            ends = sorted(rng.randint(-4, 34) / 2 for _ in range(2))
            part = rng.choice([RealSet.points(ends), RealSet.between(*ends)])
            allowed = rng.choice([allowed & part, allowed | part, allowed & part.complement()])
        slow = [place(family, allowed, test) is not None for test in range(family.n_tests)]
        assert admissible(family, allowed).tolist() == slow, (seed, values, allowed)
