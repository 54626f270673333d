"""One problem by SAT: depth upwards, then every other stage downwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from odtdsl.backends.base import Limits, Report
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.lowering import MAX_FORMULA_DEPTH, Lowered, Shape, deepest, shape_of
from odtdsl.backends.clauses.sums import Counter, Terms, at_most
from odtdsl.backends.sat.solvers import DEFAULT, INTERRUPTIBLE
from odtdsl.backends.staged import Stopped, UpwardSearch
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.evaluate import Evaluation, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, Depth, LinearStage, SignedAtom
from odtdsl.problem.ir.raw import RawTree, depth_of

COUNTED = 100_000
"""Literals times bound, up to which one counter serves all bounds of a stage."""

OFTEN = 10_000
"""Clauses between two looks at the limits, while a solver is given them."""

POLL = 0.02
"""Seconds between two looks at the limits."""


class TreeOf(Protocol):
    """The variables of a perfect tree."""

    depth: int
    rows_in: list[int]
    uncounted: list[int]

    def decode(self, true: set[int]) -> RawTree:
        """The tree of a model of the formula, given its true variables."""


class Code(Protocol):
    """A formula of a tree that takes rows one after the other."""

    core: Core
    shape: Shape
    formula: Formula

    @property
    def tree(self) -> TreeOf:
        """The variables of the tree."""

    def add_rows(self, rows: Iterable[int]) -> None:
        """Add the clauses of some training rows."""


class IncrementalSolver:
    """A SAT solver with a formula that grows between its calls."""

    def __init__(
        self, formula: Formula, limits: Limits, name: str = DEFAULT, *, with_proof: bool = False
    ) -> None:
        from pysat.solvers import Solver

        self.formula, self.limits, self.name = formula, limits, name
        self.solver = Solver(name=name, with_proof=with_proof)
        self.sent = self.calls = 0

    def close(self) -> None:
        """Free the solver."""
        self.solver.delete()

    def true(self, assumptions: list[int]) -> set[int] | None:
        """The true variables of a model of the formula; None: there is none.

        Raises
        ------
        Stopped
            A limit was met before that was known.
        """
        self.calls += 1
        clauses = self.formula.clauses
        for first in range(self.sent, len(clauses), OFTEN):
            checked(self.limits)
            for clause in clauses[first : first + OFTEN]:
                self.solver.add_clause(clause)
        self.sent = len(clauses)
        answer = self._run(assumptions)
        if answer is None:
            raise Stopped
        return {x for x in self.solver.get_model() if x > 0} if answer else None

    def _run(self, assumptions: list[int]) -> bool | None:
        if stopped(self.limits):
            return None
        if self.name not in INTERRUPTIBLE:
            return bool(self.solver.solve(assumptions=assumptions))
        with watched(self.limits, self.solver.interrupt):
            found: bool | None = self.solver.solve_limited(
                assumptions=assumptions, expect_interrupt=True
            )
        if found is None:
            self.solver.clear_interrupt()
        return found


class DepthSolver(IncrementalSolver):
    """A SAT solver with a problem at one depth, to which rows and bounds are added."""

    def __init__(
        self, lowered: Code, limits: Limits, name: str = DEFAULT, *, with_proof: bool = False
    ) -> None:
        super().__init__(lowered.formula, limits, name, with_proof=with_proof)
        self.lowered = lowered

    def ask(self, assumptions: list[int]) -> RawTree | None:
        """A tree that keeps all of the formula on the rows in it; None: there is none.

        Raises
        ------
        Stopped
            A limit was met before that was known.
        """
        true = self.true(assumptions)
        return None if true is None else self.lowered.tree.decode(true)

    def tree(self, assumptions: list[int]) -> RawTree | None:
        """A tree that keeps all of the problem: rows that it gets wrong are added until none is."""
        while True:
            tree = self.ask(assumptions)
            if tree is None:
                return None
            wrong = self._wrong(tree)
            if not wrong:
                return tree
            self.lowered.add_rows(wrong)

    def _wrong(self, tree: RawTree) -> list[int]:
        """One row per leaf that must not be predicted as it is, or is no leaf to the formula."""
        lowered = self.lowered
        found = Evaluation(lowered.core, tree)
        rows = np.arange(lowered.core.n_rows)
        wrong = np.flatnonzero(~lowered.shape.allowed[rows, found.predicted])
        _, first = np.unique(found.leaf_of[wrong], return_index=True)
        return [*map(int, wrong[first]), *lowered.tree.uncounted]


def stopped(limits: Limits) -> bool:
    """Whether the deadline is over or the user has interrupted."""
    late = limits.deadline is not None and time.monotonic() >= limits.deadline
    return late or limits.interrupted()


def checked(limits: Limits) -> None:
    """Stop where a limit is met."""
    if stopped(limits):
        raise Stopped


@contextmanager
def watched(limits: Limits, interrupt: Callable[[], object]) -> Iterator[None]:
    """Interrupt what runs inside where a limit is met."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(POLL):
            if stopped(limits):
                interrupt()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


class BoundedSum:
    """A sum under bounds that may fall; equal weights are counted once for all bounds."""

    def __init__(self, formula: Formula, terms: Terms) -> None:
        self.formula, self.terms = formula, terms
        self.counter: Counter | None = None

    def at_most(self, most: int, guard: tuple[int, ...]) -> None:
        """The sum is at most this, or a literal of the guard is true."""
        formula = self.formula
        constant, weighted = self.terms.positive()
        weights = {weight for _, weight in weighted}
        if len(weights) != 1 or most < constant:
            at_most(formula, self.terms, most, guard)
            return
        slack = (most - constant) // weights.pop()
        if self.counter is None and len(weighted) * slack <= COUNTED:
            literals = [literal for literal, _ in weighted]
            self.counter = Counter(formula, literals, slack + 1)  # the bound that is not beaten
        if self.counter is None or slack > self.counter.most:
            at_most(formula, self.terms, most, guard)
            return
        bounded = self.counter.at_most(slack)
        if bounded is not None:
            formula.add(*guard, bounded)


class Goal:
    """Bounds on a stage of the objective."""

    def __init__(self, lowered: Lowered, stage: int) -> None:
        self.lowered = lowered
        self.form = lowered.core.objective[stage]
        if isinstance(self.form, LinearStage):
            terms = lowered.rules.terms(self.form.measure, Scope.MODEL, 0)
            self.sum = BoundedSum(lowered.formula, terms)

    def below(self, value: Fraction, guard: tuple[int, ...]) -> None:
        """The stage is less than a value that some tree has."""
        if isinstance(self.form, LinearStage):
            most = int(value * self.form.measure.denominator) - 1
            self.sum.at_most(most, guard)
        else:
            self._shallow(int(value) - 1, guard)

    def at_most(self, value: Fraction) -> None:
        """The stage is a value at most."""
        if isinstance(self.form, LinearStage):
            most = int(value * self.form.measure.denominator)
            self.sum.at_most(most, ())
        else:
            self._shallow(int(value), ())

    def _shallow(self, most: int, guard: tuple[int, ...]) -> None:
        formula = self.lowered.formula
        if most < 0:
            formula.add(*guard)
            return
        literal = self.lowered.rules.literal(SignedAtom(atom=Depth(at_most=most)), Scope.MODEL, 0)
        if literal is not True:
            formula.add(*guard, *([] if literal is False else [literal]))


class Search(UpwardSearch[RawTree]):
    """Trees: depth upwards, then every other stage downwards."""

    deepest_built = MAX_FORMULA_DEPTH

    def __init__(
        self,
        core: Core,
        limits: Limits,
        start: RawTree | None,
        report: Report | None,
        solver: str = DEFAULT,
    ) -> None:
        super().__init__(core, limits, report)
        self.solver = solver
        self.shape = shape_of(core)
        self.simple = self._first_shape()
        self.calls = 0
        self.live: DepthSolver | None = None
        if start is not None and not violations(core, start):
            self.take(start)

    def _first_shape(self) -> Shape:
        """What the least depth is searched with: the clauses that it needs, or all of them where
        these are few more, so that what was learned serves the later stages."""
        first = shape_of(replace(self.core, objective=self.core.objective[:1]))
        kinds = [(one.idle, one.single, one.parts, one.every) for one in (first, self.shape)]
        return self.shape if kinds[0] == kinds[1] else first

    # ---- the course

    def possible(self) -> bool:
        """Whether rows that no test tells apart may be predicted alike."""
        return agreeing(self.core, self.shape)

    def deepest(self) -> int:
        """By the skeleton and the rows."""
        return deepest(self.core)

    def feasible_at(self, depth: int) -> bool:
        """By the best tree, else by a formula of the depth."""
        if self.best is not None and depth_of(self.best) <= depth:
            return True
        tree = self._open(depth, self.simple).tree([])
        if tree is not None:
            self.take(tree)
        return tree is not None

    def minimize(self, stage: int) -> bool:
        """Better and better trees, until there is none."""
        depth = self.deepest() if self.depth is None else self.depth
        if not self._opened(depth):
            self._open(depth, self.shape)
        assert self.live is not None
        if self.best is None:
            tree = self.live.tree([])
            if tree is None:
                return False
            self.take(tree)
        self._improve(self.live, stage)
        return True

    def _improve(self, live: DepthSolver, stage: int) -> None:
        lowered, formula = live.lowered, live.lowered.formula
        assert isinstance(lowered, Lowered), "the study's encoding has its own search"
        goal = Goal(lowered, stage)
        while True:
            value = self.values[stage]
            better = formula.variable(f"stage {stage + 1} is below {value}")
            formula.group(f"objective below {value}", "objective")
            goal.below(value, (-better,))
            tree = live.tree([better])
            formula.add(-better)
            if tree is None:
                break
            self.take(tree, stage)
            if self.values[stage] >= value:
                raise RuntimeError(f"the formula admits a tree that is not below {value}")
        self._proven(stage)
        formula.group(f"objective stays at {self.values[stage]}", "objective")
        goal.at_most(self.values[stage])

    def _proven(self, stage: int) -> None:
        """No tree is better at a stage than the best."""
        self.raise_bound(stage, self.values[stage])
        self.tell(stage)

    # ---- its state

    def _opened(self, depth: int) -> bool:
        """Whether the live formula is that of all stages at the depth."""
        if self.live is None or self.live.lowered.shape is not self.shape:
            return False
        return self.live.lowered.tree.depth == depth

    def _open(self, depth: int, shape: Shape) -> DepthSolver:
        """The formula at a depth, with the rows that mattered before."""
        rows = [] if self.live is None else list(self.live.lowered.tree.rows_in)
        self.close()
        checked(self.limits)
        formula = Formula(tick=lambda: checked(self.limits))
        lowered = Lowered(self.core, depth, shape, formula=formula)
        lowered.add_rows(rows)
        self.live = DepthSolver(lowered, self.limits, self.solver)
        return self.live

    def close(self) -> None:
        """Let go of the solver."""
        if self.live is not None:
            self.calls += self.live.calls
            self.live.calls = 0
            self.live.close()

    def size(self) -> tuple[tuple[str, int], ...]:
        """Of the last formula."""
        if self.live is None:
            return ()
        lowered = self.live.lowered
        return (*lowered.formula.size(), ("depth", lowered.tree.depth))

    def counters(self) -> tuple[tuple[str, int], ...]:
        """Calls of the solver, and rows in the last formula."""
        rows = () if self.live is None else (("rows", len(self.live.lowered.tree.rows_in)),)
        return (("calls", self.calls), *rows)


def agreeing(core: Core, shape: Shape) -> bool:
    """As `agreeing_on`, of the demands of a shape.

    Without that, no depth has a tree, and each would have to be refuted.
    """
    return agreeing_on(core, shape.allowed)


def agreeing_on(core: Core, allowed: BoolArray) -> bool:
    """Whether rows that no test tells apart may all be predicted as one class."""
    if allowed.all():
        return True
    codes = [core.families[f].codes for f in range(len(core.families))]
    table = np.stack(codes, axis=1) if codes else np.zeros((core.n_rows, 1), dtype=np.int64)
    _, kind = np.unique(table, axis=0, return_inverse=True)
    together = np.ones((int(kind.max()) + 1, core.n_classes), dtype=bool)
    np.logical_and.at(together, kind.reshape(-1), allowed)
    return bool(together.any(axis=1).all())
