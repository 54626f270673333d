"""Tiny problems for the tests of `milp`: every tree, every atom, and a live model to ask."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from random_cores import HERE, errors_of, random_filter, random_rows

from odtdsl.backends.base import Limits
from odtdsl.backends.milp.formulation import PATTERN
from odtdsl.backends.milp.highs import Solver
from odtdsl.backends.milp.lowering import Lowered
from odtdsl.backends.milp.pyomo_model import build, standard_form
from odtdsl.problem.ir.evaluate import Evaluation, children, goes_left, split_fault
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import build_families
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    Link,
    MaximaBound,
    Monotone,
    Order,
    PathMeasure,
    PathSum,
    PathTotal,
    Root,
    Shared,
    SignedAtom,
    StageForm,
    Used,
)
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree, Visit
from odtdsl.problem.ir.rows import Rows

"""Multiplies the number of random instances; 40 gives 200 per atom and 2,000 optima."""

Make = Callable[[random.Random, Rows], Atom]


def _measure(rng: random.Random, rows: Rows, *, model: bool, output: bool = True) -> Additive:
    ints = np.random.default_rng(rng.randrange(2**32))
    n, classes, columns = rows.n_rows, rows.n_classes, len(rows.problem.features)
    return Additive(
        constant=rng.randint(-2, 2),
        rows=rng.choice([None, ints.integers(-2, 3, n), -np.ones(n, dtype=np.int64)]),
        output=rng.choice([None, ints.integers(-3, 4, (n, classes)), errors_of(rows).output])
        if output
        else None,
        columns=rng.choice([None, ints.integers(-2, 3, columns)]) if model else None,
        leaves=rng.randint(-1, 2) if model else 0,
        denominator=rng.randint(1, 3),
    )


def _path_measure(rng: random.Random, rows: Rows) -> PathMeasure:
    n = len(rows.problem.features)
    shared = tuple(
        Shared(columns=tuple(rng.sample(range(n), k=min(n, 2))), amount=rng.randint(-3, 3))
        for _ in range(rng.randint(0, 2))
    )
    return PathMeasure(
        per_test=tuple(rng.randint(-2, 2) for _ in range(n)),
        once=tuple(rng.randint(-3, 3) for _ in range(n)),
        shared=shared,
        constant=rng.randint(-1, 1),
        denominator=rng.randint(1, 2),
    )


def _column(rng: random.Random, rows: Rows) -> int:
    return rng.randrange(len(rows.problem.features))


def _used(rng: random.Random, rows: Rows) -> Atom:
    return Used(column=_column(rng, rows))


def _order(rng: random.Random, rows: Rows) -> Atom:
    return Order(here=_column(rng, rows), above=_column(rng, rows), absent=rng.random() < 0.5)


def _root(rng: random.Random, rows: Rows) -> Atom:
    n = len(rows.problem.features)
    return Root(columns=tuple(rng.sample(range(n), k=rng.randint(0, n))))


def _budget(rng: random.Random, rows: Rows) -> Atom:
    return Budget(measure=_path_measure(rng, rows), at_most=rng.randint(-3, 4))


def _linear(scope: Scope) -> Make:
    def make(rng: random.Random, rows: Rows) -> Atom:
        measure = _measure(rng, rows, model=scope is Scope.MODEL, output=scope is not Scope.SPLIT)
        if rng.random() < 0.5:  # a bound that bites: near the value of some tree
            return Linear(measure=measure, at_most=measure.constant + rng.randint(-2, 3))
        return Linear(measure=measure, at_most=rng.randint(-5, 6))

    return make


def _depth(rng: random.Random, rows: Rows) -> Atom:
    return Depth(at_most=rng.randint(-1, 3))


def _link(rng: random.Random, rows: Rows) -> Atom:
    return Link(first=rng.randrange(rows.n_rows), second=rng.randrange(rows.n_rows))


def _monotone(rng: random.Random, rows: Rows) -> Atom:
    return Monotone(column=_column(rng, rows), increasing=rng.random() < 0.5)


def path_sum(rng: random.Random, rows: Rows) -> PathSum:
    ints = np.random.default_rng(rng.randrange(2**32))
    weights = rng.choice([rows.weights, ints.integers(-2, 4, rows.n_rows)])
    return PathSum(weights=weights, measure=_path_measure(rng, rows), denominator=rng.randint(1, 3))


def _path_total(rng: random.Random, rows: Rows) -> Atom:
    paths = path_sum(rng, rows)
    measure = _measure(rng, rows, model=True)
    measure = replace(measure, denominator=paths.whole_denominator)
    typical = measure.constant + int(paths.weights.sum()) * paths.measure.constant
    return PathTotal(measure=measure, path_sum=paths, at_most=typical + rng.randint(-6, 8))


def maxima_bound(rng: random.Random, rows: Rows) -> Atom:
    """Denominators of several digits, so that the common one has many."""

    def measure() -> Additive:
        return replace(_measure(rng, rows, model=True), denominator=rng.randint(1, 97))

    maxima = tuple(
        (
            Fraction(rng.randint(1, 5), rng.randint(1, 30)),
            tuple(measure() for _ in range(rng.randint(1, 3))),
        )
        for _ in range(rng.randint(1, 4))
    )
    return MaximaBound(
        measure=measure(), maxima=maxima, at_most=Fraction(rng.randint(-20, 60), rng.randint(1, 60))
    )


ATOMS: dict[str, tuple[Scope, Make]] = {
    "used_path": (Scope.PATH, _used),
    "order": (Scope.PATH, _order),
    "budget": (Scope.PATH, _budget),
    "used_model": (Scope.MODEL, _used),
    "root": (Scope.MODEL, _root),
    "depth": (Scope.MODEL, _depth),
    "linear_model": (Scope.MODEL, _linear(Scope.MODEL)),
    "link": (Scope.MODEL, _link),
    "monotone": (Scope.MODEL, _monotone),
    "path_total": (Scope.MODEL, _path_total),
    "maxima_bound": (Scope.MODEL, maxima_bound),
    "linear_leaf": (Scope.LEAF, _linear(Scope.LEAF)),
    "linear_split": (Scope.SPLIT, _linear(Scope.SPLIT)),
}


def literal(rng: random.Random, rows: Rows, kind: str) -> SignedAtom:
    atom = ATOMS[kind][1](rng, rows)
    positive = isinstance(atom, Linear | Budget | PathTotal | MaximaBound) or rng.random() < 0.5
    return SignedAtom(atom=atom, positive=positive)


def clause(rng: random.Random, rows: Rows, kinds: tuple[str, ...]) -> Clause:
    """A disjunction of one literal of each kind; all kinds of one scope."""
    literals = tuple(literal(rng, rows, kind) for kind in kinds)
    return Clause(scope=ATOMS[kinds[0]][0], literals=literals, origin=HERE)


BEYOND = ("link", "monotone", "path_total", "maxima_bound")
"""Kinds that came later; without them a seed gives the problem that it always gave."""


def random_clause(rng: random.Random, rows: Rows, *, every: bool = True) -> Clause:
    scope = rng.choice(list(Scope))
    kinds = [kind for kind, (place, _) in ATOMS.items() if place is scope]
    kinds = [kind for kind in kinds if every or kind not in BEYOND]
    return clause(rng, rows, tuple(rng.choice(kinds) for _ in range(rng.choice([1, 1, 2, 3]))))


def objective(rng: random.Random, rows: Rows, *, every: bool = True) -> tuple[StageForm, ...]:
    errors = LinearStage(measure=errors_of(rows))
    anything = LinearStage(measure=_measure(rng, rows, model=True))
    parts = tuple(_measure(rng, rows, model=True) for _ in range(rng.randint(1, 3)))
    gap = LinearStage(
        measure=errors_of(rows), maxima=((Fraction(rng.randint(1, 3), rng.randint(1, 3)), parts),)
    )
    priced = LinearStage(measure=errors_of(rows) + Additive(leaves=1, denominator=3))
    leaves = LinearStage(measure=Additive(leaves=1))
    stages: list[tuple[StageForm, ...]] = [
        (errors,),
        (anything,),
        (gap,),
        (priced,),
        (errors, leaves),
        (gap, anything),
        (DepthStage(), errors),
        (errors, DepthStage()),
        (leaves, DepthStage(), errors),
        (DepthStage(),),
        (DepthStage(), leaves, errors),
    ]
    if every:
        costly = LinearStage(
            measure=errors_of(rows),
            path_sum=path_sum(rng, rows),
            maxima=gap.maxima if rng.random() < 0.3 else (),
        )
        stages += [(costly,), (errors, costly), (costly, leaves)]
    return rng.choice(stages)


def tiny(
    rng: random.Random,
    *,
    most_rows: int = 8,
    clauses: tuple[tuple[str, ...], ...] = (),
    free_clauses: int = 0,
    stages: bool = False,
    every: bool = True,
) -> Core:
    """A problem of depth at most 2; `clauses` gives the kinds of each clause's literals."""
    rows = random_rows(rng, n_rows=rng.randint(2, most_rows), n_classes=rng.randint(1, 3))
    bounded = rng.random() < 0.9
    made = [clause(rng, rows, kinds) for kinds in clauses]
    made += [random_clause(rng, rows, every=every) for _ in range(free_clauses)]
    return Core(
        n_rows=rows.n_rows,
        n_classes=rows.n_classes,
        columns=tuple(f.name for f in rows.problem.features),
        families=build_families(rows.problem, rows.data),
        labels=rows.labels,
        skeleton=TreeSkeleton(
            depth=rng.choice([1, 2, 2, 2]) if bounded else None,
            leaves=rng.choice([None, None, 2, 3]) if bounded else 3,
        ),
        filters=tuple(random_filter(rng, rows) for _ in range(rng.choice([0, 0, 0, 1]))),
        clauses=tuple(made),
        objective=(
            objective(rng, rows, every=every) if stages else (LinearStage(measure=errors_of(rows)),)
        ),
    )


def depth_cap(core: Core) -> int:
    assert isinstance(core.skeleton, TreeSkeleton)
    if core.skeleton.depth is not None:
        return core.skeleton.depth
    assert core.skeleton.leaves is not None
    return core.skeleton.leaves - 1


def reduced_trees(core: Core, *, labels: tuple[int, ...] | None = None) -> list[RawTree]:
    """All trees whose splits may stand, once per partition, within the depth."""
    return list(_every(core, tuple(range(core.n_classes)) if labels is None else labels))


def few_trees(core: Core, most: int = 10_000) -> bool:
    """Whether brute force is cheap. Daily runs draw again where not: one problem in fifty, which
    take longer than all others; long runs keep them.
    """
    return len(list(itertools.islice(_every(core, tuple(range(core.n_classes))), most + 1))) <= most


def _every(core: Core, labels: tuple[int, ...]) -> Iterator[RawTree]:
    root = Visit(node=RawLeaf(label=0), level=0, rows=np.arange(core.n_rows), above=())
    return _trees(core, root, depth_cap(core), labels)


def _trees(core: Core, visit: Visit, depth: int, labels: tuple[int, ...]) -> Iterator[RawTree]:
    for label in labels:
        yield RawLeaf(label=label)
    if depth == 0:
        return
    seen: set[tuple[int, bytes]] = set()
    for index, family in enumerate(core.families):
        for test in range(family.n_tests):
            stub = RawSplit(family=index, test=test, left=visit.node, right=visit.node)
            key = (index, goes_left(family, test, family.codes[visit.rows]).tobytes())
            if key in seen or split_fault(core, visit, stub) is not None:
                continue
            seen.add(key)
            left, right = children(core, visit, stub)
            lefts = list(_trees(core, left, depth - 1, labels))
            rights = list(_trees(core, right, depth - 1, labels))
            for a, b in itertools.product(lefts, rights):
                yield RawSplit(family=index, test=test, left=a, right=b)


def grown(rng: random.Random, core: Core, depth: int) -> RawTree:
    """A random tree of splits that may stand, of a depth where there are too many to list."""
    root = Visit(node=RawLeaf(label=0), level=0, rows=np.arange(core.n_rows), above=())
    return _grown(rng, core, root, depth)


def _grown(rng: random.Random, core: Core, visit: Visit, depth: int) -> RawTree:
    stubs = [
        RawSplit(family=index, test=test, left=RawLeaf(label=0), right=RawLeaf(label=0))
        for index, family in enumerate(core.families)
        for test in range(family.n_tests)
    ]
    stand = [stub for stub in stubs if split_fault(core, visit, stub) is None]
    if not depth or not stand or rng.random() < 0.05:
        return RawLeaf(label=rng.randrange(core.n_classes))
    split = rng.choice(stand)
    left, right = (_grown(rng, core, side, depth - 1) for side in children(core, visit, split))
    return replace(split, left=left, right=right)


def best(core: Core) -> tuple[Fraction, ...] | None:
    """The least stage values over all trees that satisfy the rules; None where none does.

    Rules are asked only of trees with less than the least so far.
    """
    least: tuple[Fraction, ...] | None = None
    for evaluation in evaluations(core):
        values = tuple(evaluation.stage_value(s) for s in core.objective)
        if (least is None or values < least) and not evaluation.violations():
            least = values
    return least


def evaluations(core: Core) -> Iterator[Evaluation]:
    """Those of all `reduced_trees`; where rows go is found once for all labels of the leaves."""
    for tree in reduced_trees(core, labels=(0,)):
        shape = Evaluation(core, tree)
        known = {name: getattr(shape, name) for name in ("leaf_of", "splits", "tested")}
        for visits in itertools.product(*(_labelled(core, visit) for visit in shape.visits)):
            found = Evaluation.__new__(Evaluation)
            found.__dict__.update(known, core=core, visits=visits)
            yield found


def _labelled(core: Core, visit: Visit) -> list[Visit]:
    if isinstance(visit.node, RawSplit):
        return [visit]
    return [replace(visit, node=RawLeaf(label=label)) for label in range(core.n_classes)]


class LoadedProgram:
    """A program in HiGHS that is asked about many trees, by bounds on the tree's columns."""

    def __init__(self, core: Core, lowered: Lowered | None = None) -> None:
        core = replace(core, objective=core.objective[:1])
        self.lowered = PATTERN.lower(core, depth_cap(core)) if lowered is None else lowered
        program = self.lowered.program
        self.solver = Solver(program, standard_form(program, build(program)))
        self.lower = np.array(program.column_lower, dtype=np.float64)
        self.upper = np.array(program.column_upper, dtype=np.float64)

    def admits(self, tree: RawTree) -> bool:
        choices = self.lowered.encoding.choices(tree)
        if choices is None:
            return False
        columns = np.array(sorted(choices), dtype=np.int64)
        values = np.array([choices[c] for c in columns.tolist()], dtype=np.float64)
        if (values < self.lower[columns]).any() or (values > self.upper[columns]).any():
            return False
        self.solver.bounds(columns, values, values)
        run = self.solver.run(Limits())
        self.solver.bounds(columns, self.lower[columns], self.upper[columns])
        assert run.verdict != "stopped"
        return run.verdict == "optimal"
