"""Rules on the order of predictions on the exact back end: all trees, by brute force.

`ODTDSL_SCALE=40` gives some 10,000 random problems.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from milp_trees import best, tiny
from random_cores import HERE
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.exact.backend import Exact
from odtdsl.backends.exact.feature_space import Rule, Space, space
from odtdsl.backends.exact.features import Features
from odtdsl.problem.ir.evaluate import children, goes_left, split_fault, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    LinearStage,
    Monotone,
    Origin,
    Root,
    SignedAtom,
    SplitFilter,
)
from odtdsl.problem.ir.intervals import RealSet
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree, Visit

VALUES = np.array([0, 1, 2.5, 6, 6.5, 13, 20, 21, 30, 44])
"""Irregular: a row more in a gap may move its threshold past another one."""


def rule(*literals: SignedAtom) -> Clause:
    return Clause(scope=Scope.MODEL, literals=literals, origin=HERE)


def literal(rng: random.Random, columns: int, *, negated: float = 0.0) -> SignedAtom:
    atom = Monotone(column=rng.randrange(columns), increasing=rng.random() < 0.5)
    return SignedAtom(atom=atom, positive=rng.random() >= negated)


def with_rules(rng: random.Random, core: Core, *, negated: float = 0.0) -> Core:
    n = len(core.columns)
    made = [
        rule(*(literal(rng, n, negated=negated) for _ in range(rng.choice([1, 1, 1, 2]))))
        for _ in range(rng.choice([1, 1, 2]))
    ]
    return replace(core, clauses=(*core.clauses, *made))


def agrees(core: Core) -> str:
    """Whether the optimum is that of brute force; `bound` where rules on order change it."""
    answer = Exact().solve(core, Limits(), None, None)
    expected = best(core)
    if expected is None:
        assert answer.status == "infeasible"
        return "infeasible"
    assert answer.status == "optimal"
    assert answer.tree is not None
    assert not violations(core, answer.tree)
    assert tuple(outcome.value for outcome in answer.stages) == expected
    free = replace(core, clauses=tuple(c for c in core.clauses if not about_order(c)))
    without = Exact().solve(free, Limits(), None, None)
    return "bound" if tuple(o.value for o in without.stages) != expected else "free"


def about_order(clause: Clause) -> bool:
    return any(isinstance(x.atom, Monotone) for x in clause.literals)


@pytest.mark.parametrize("negated", [0.0, 0.5])
def test_any_columns_alone_inside_or_and_negated(negated: float) -> None:
    """Numbers, ordered columns, bins, categories and missing cells; up to three classes."""
    found = [
        agrees(with_rules(rng, tiny(rng), negated=negated))
        for seed in range(scaled(30, least=30))
        for rng in [random.Random(f"order {negated} {seed}")]
    ]
    assert found.count("bound") >= 2 * SCALE


def test_with_other_rules_and_objectives() -> None:
    found = []
    for seed in range(scaled(40, least=8)):
        rng = random.Random(f"order and rules {seed}")
        core = tiny(rng, free_clauses=rng.randint(1, 3), stages=rng.random() < 0.6)
        found.append(agrees(with_rules(rng, core, negated=0.2)))
    assert found.count("bound") >= SCALE


def test_depth_three_with_other_rules() -> None:
    for seed in range(scaled(25)):
        rng = random.Random(f"order deep {seed}")
        core = tiny(rng, most_rows=5, free_clauses=rng.randint(0, 1), stages=rng.random() < 0.3)
        core = replace(core, skeleton=TreeSkeleton(depth=3, leaves=rng.choice([None, 5])))
        agrees(with_rules(rng, core, negated=0.2))


# ---- more rows: no tree of less loss satisfies the rules


def contrary(rng: random.Random, *, most_rows: int, depth: int) -> Core:
    """Labels that go against the rule; losses by class, also ordered; sometimes a filter."""
    n, columns = rng.randint(5, most_rows), rng.randint(2, 3)
    classes = rng.choice([2, 2, 3])
    families = []
    for column in range(columns):
        cells = VALUES[[rng.randint(0, 9) for _ in range(n)]]
        values, codes = np.unique(cells, return_inverse=True)
        families.append(
            Family(
                column=column,
                kind="threshold",
                codes=codes.astype(np.int64),
                values=values,
                n_tests=len(values) - 1,
            )
        )
    first = families[0].codes
    increasing = rng.random() < 0.5
    against = (-first if increasing else first) - (-first if increasing else first).min()
    labels = [
        int(x) * classes // int(against.max() + 1) if rng.random() < 0.5 else rng.randrange(classes)
        for x in against
    ]
    weights = [rng.choice([1, 1, 1, 2]) for _ in labels]
    by_order = rng.random() < 0.3
    output = np.array(
        [
            [w * (abs(c - y) if by_order else int(c != y)) for c in range(classes)]
            for y, w in zip(labels, weights, strict=True)
        ],
        dtype=np.int64,
    )
    atoms = [Monotone(column=0, increasing=increasing)]
    if rng.random() < 0.3:
        atoms.append(Monotone(column=rng.randrange(columns), increasing=rng.random() < 0.5))
    cut = SplitFilter(
        column=rng.randrange(columns),
        levels=rng.choice([None, (0,), (1, 2)]),
        origin=HERE,
        allowed=rng.choice([RealSet.between(2, 21), RealSet.points([1.0, 3.0, 6.0, 25.0])]),
    )
    return Core(
        n_rows=n,
        n_classes=classes,
        columns=("a", "b", "c")[:columns],
        families=tuple(families),
        labels=np.array(labels),
        skeleton=TreeSkeleton(depth=depth, leaves=None),
        filters=(cut,) if rng.random() < 0.2 else (),
        clauses=tuple(rule(SignedAtom(atom=atom)) for atom in atoms),
        objective=(LinearStage(measure=Additive(output=output)),),
    )


class TreesBelow:
    """All trees of less loss than a value, by bounds on sub-trees without rules."""

    def __init__(self, core: Core) -> None:
        stage = core.objective[0]
        assert isinstance(stage, LinearStage)
        assert stage.measure.output is not None
        self.core, self.output = core, stage.measure.output
        self._least: dict[tuple[bytes, int, int], int] = {}
        self._stubs: dict[tuple[bytes, int], tuple[RawSplit, ...]] = {}

    def root(self) -> Visit:
        rows = np.arange(self.core.n_rows)
        return Visit(node=RawLeaf(label=0), level=0, rows=rows, above=())

    def stubs(self, visit: Visit) -> tuple[RawSplit, ...]:
        key = (visit.rows.tobytes(), visit.level)
        if key not in self._stubs:
            found: dict[tuple[int, bytes], RawSplit] = {}
            for index, family in enumerate(self.core.families):
                for test in range(family.n_tests):
                    stub = RawSplit(family=index, test=test, left=visit.node, right=visit.node)
                    left = goes_left(family, test, family.codes[visit.rows]).tobytes()
                    if (index, left) not in found and split_fault(self.core, visit, stub) is None:
                        found[index, left] = stub
            self._stubs[key] = tuple(found.values())
        return self._stubs[key]

    def least(self, visit: Visit, depth: int) -> int:
        key = (visit.rows.tobytes(), visit.level, depth)
        if key not in self._least:
            values = [int(self.output[visit.rows].sum(axis=0).min())]
            for stub in self.stubs(visit) if depth else ():
                sides = children(self.core, visit, stub)
                values.append(sum(self.least(side, depth - 1) for side in sides))
            self._least[key] = min(values)
        return self._least[key]

    def trees(self, visit: Visit, depth: int, below: int) -> Iterator[tuple[int, RawTree]]:
        for label, loss in enumerate(self.output[visit.rows].sum(axis=0).tolist()):
            if loss < below:
                yield loss, RawLeaf(label=label)
        for stub in self.stubs(visit) if depth else ():
            left, right = children(self.core, visit, stub)
            a, b = self.least(left, depth - 1), self.least(right, depth - 1)
            if a + b >= below:
                continue
            rights = list(self.trees(right, depth - 1, below - a))
            for x, one in self.trees(left, depth - 1, below - b):
                for y, other in rights:
                    if x + y < below:
                        yield x + y, replace(stub, left=one, right=other)


def no_better(core: Core) -> int:
    """Holds the answer to all trees of less loss; their number."""
    answer = Exact().solve(core, Limits(), None, None)
    assert answer.status == "optimal"
    assert answer.tree is not None
    assert not violations(core, answer.tree)
    value = answer.stages[0].value
    assert value is not None
    assert isinstance(core.skeleton, TreeSkeleton)
    lesser = TreesBelow(core)
    count = 0
    for _, tree in lesser.trees(lesser.root(), core.skeleton.depth or 0, int(value)):
        count += 1
        assert violations(core, tree), tree
    return count


@pytest.mark.parametrize(("depth", "rows", "count"), [(2, 16, 100), (3, 8, 15)])
def test_no_tree_of_less_loss_keeps_the_rules(depth: int, rows: int, count: int) -> None:
    found = [
        no_better(contrary(random.Random(f"less {depth} {seed}"), most_rows=rows, depth=depth))
        for seed in range(scaled(count, least=count // 10))
    ]
    assert sum(n > 0 for n in found) >= max(1, count * SCALE // 4)


# ---- thresholds as they come out


def numbers(*columns: tuple[float, ...], labels: str) -> Core:
    families = []
    for column, cells in enumerate(columns):
        values, codes = np.unique(np.array(cells, dtype=np.float64), return_inverse=True)
        families.append(
            Family(
                column=column,
                kind="threshold",
                codes=codes.astype(np.int64),
                values=values,
                n_tests=len(values) - 1,
            )
        )
    classes = np.array(["ny".index(c) for c in labels])
    errors = 1 - np.eye(2, dtype=np.int64)[classes]
    rules = (Monotone(column=0, increasing=True), Root(columns=(0,)))
    return Core(
        n_rows=len(labels),
        n_classes=2,
        columns=("a", "b")[: len(columns)],
        families=tuple(families),
        labels=classes,
        filters=(),
        skeleton=TreeSkeleton(depth=2, leaves=None),
        clauses=tuple(rule(SignedAtom(atom=atom)) for atom in rules),
        objective=(LinearStage(measure=Additive(output=errors)),),
    )


def late(u: float) -> Core:
    """Below a = 0.5, y stands above b = 5; beyond it, above the middle of 1 and u."""
    return numbers((0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 10, 10, 1, 1, u, u), labels="nnyynnyy")


def test_thresholds_are_compared_not_ranks() -> None:
    for u, errors in ((8.0, 0), (9.0, 0), (9.5, 2)):
        answer = Exact().solve(late(u), Limits(), None, None)
        assert [o.value for o in answer.stages] == [errors]


def test_a_rule_with_thresholds_moves_them() -> None:
    """The middle of 1 and 9.5 is too high, and a list of cuts offers 5 for both sides."""
    cuts = SplitFilter(
        column=1, levels=None, allowed=RealSet.points([5.0]), origin=Origin(rule="cuts")
    )
    answer = Exact().solve(replace(late(9.5), filters=(cuts,)), Limits(), None, None)
    assert [o.value for o in answer.stages] == [0]


# ---- limits, statuses, mutants


def test_a_stopped_search_has_a_true_bound() -> None:
    for seed in range(scaled(20)):
        rng = random.Random(f"order stopped {seed}")
        core = contrary(rng, most_rows=14, depth=2)
        answer = Exact().solve(core, Limits(interrupted=lambda: True), None, None)
        full = Exact().solve(core, Limits(), None, None).stages[0].value
        assert full is not None
        for outcome in answer.stages:
            assert outcome.bound is None or outcome.bound <= full
            assert outcome.value is None or outcome.value >= full


ORDERED = """
data frame
target y: ordered {"low", "mid", "high"}
feature a: number
feature b: ordered {"s", "m", "l"}
tree depth <= 2
minimize errors
rule up: increasing(a)
rule down: decreasing(b)
"""


def test_ordered_classes_on_both_back_ends() -> None:
    rng = random.Random(5)
    frame = {
        "a": [rng.randint(0, 5) for _ in range(16)],
        "b": [rng.choice("sml") for _ in range(16)],
        "y": [rng.choice(["low", "mid", "high"]) for _ in range(16)],
    }
    results = [odtdsl.parse(ORDERED).solve(using=using, frame=frame) for using in ("exact", "milp")]
    assert [r.status for r in results] == ["optimal", "optimal"]
    assert results[0].objective == results[1].objective
    free = odtdsl.parse(ORDERED.split("rule")[0]).solve(using="exact", frame=frame)
    assert free.objective < results[0].objective  # type: ignore[operator]


Mutant = Callable[[Space], Space]


@pytest.mark.parametrize("using", ["exact", "milp"])
def test_a_bin_that_no_row_is_in_has_its_place_in_the_order(using: str) -> None:
    """Between the bins of 0 and 2 lies one without rows: it goes with the missing cells."""
    frame = {"a": [0, 2, None, None], "y": ["high", "high", "low", "low"]}
    text = """
        data frame
        target y: ordered {"low", "high"}
        feature a: number
        candidates a at bins 3
        missing {a} right
        tree depth <= 2
        minimize errors
        """
    free = odtdsl.parse(text).solve(using=using, frame=frame)
    ruled = odtdsl.parse(text + "rule up: increasing(a)").solve(using=using, frame=frame)
    assert (free.status, free.stages[0].value) == ("optimal", 0)
    assert (ruled.status, ruled.stages[0].value) == ("optimal", 1)


def turned(space: Space) -> Space:
    return replace(space, monotone=[(f, c, not up) for f, c, up in space.monotone])


def forgotten(space: Space) -> Space:
    return replace(space, monotone=[])


def ranks(space: Space) -> Space:
    cells = [np.unique(row, return_inverse=True)[1] for row in space.cells]
    return replace(space, cells=np.array(cells, float))


@pytest.mark.parametrize("mutant", [turned, forgotten, ranks])
def test_a_mutant_is_caught(monkeypatch: pytest.MonkeyPatch, mutant: Mutant) -> None:
    """Rules passed on wrongly give a wrong optimum somewhere."""
    from odtdsl.backends.exact import ruled

    def wrong(core: Core, found: Features, depth: int, rules: list[Rule]) -> Space:
        return mutant(space(core, found, depth, rules))

    monkeypatch.setattr(ruled, "space", wrong)
    for seed in range(scaled(60)):
        core = contrary(random.Random(f"less 2 {seed}"), most_rows=16, depth=2)
        try:
            no_better(late(9.5))
            no_better(core)
        except AssertionError:
            return
    pytest.fail("no instance tells the mutant from the search")
