"""Trees of numbers under rules on the whole tree, and objectives of any stages.

Stages are made least one after the other: what one has reached is a rule for the next.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import lcm

from odtdsl.backends.base import Limits, RawAnswer, Report, StageOutcome
from odtdsl.backends.exact.features import size_of
from odtdsl.backends.exact.lowering import leaves_that_fit, most_leaves
from odtdsl.backends.exact.number_model import TreeModel
from odtdsl.backends.exact.number_rules import asks_tree, of_tree, tells_at_once
from odtdsl.backends.exact.raw_trees import to_raw
from odtdsl.backends.exact.regression import OBJECTIVE, RegressionSearch
from odtdsl.base import engine
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    LossBound,
    PathSum,
    PathTotal,
    RegressionStage,
    SignedAtom,
    StageForm,
)
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.ir.regression import TOLERANCE
from odtdsl.problem.outputs.leaves import fitted

ROUNDED = Fraction(1, 25)
"""A share of what counts as equal: the engine may exceed what it is asked for, by half as much."""

FEW_LEVELS, FIRST_STEPS = 3, 30
"""Deeper trees are searched for so many steps before they are proven."""


class StagedSearch(RegressionSearch):
    """One solve under rules on the whole tree: a search per stage."""

    def __init__(
        self, core: Core, limits: Limits, start: RawTree | None, report: Report | None
    ) -> None:
        super().__init__(core, limits, start, report)
        assert self.rules is not None, "rules on a tree need the states of its paths"
        self.leaves = most_leaves(core, self.depth)
        self.fixed: list[Clause] = []
        if tells_at_once(core):  # it counts leaves as it does all else
            if self.leaves < min(core.n_rows, 1 << self.depth):
                self.fixed.append(_leaves_at_most(self.leaves))
            self.leaves = 1 << self.depth
        else:
            self.leaves = leaves_that_fit(core, self.depth)
        self.upper = self.asked = self._upper()
        self.later = core.objective[:1] != (self.stage,)
        self.counters: Counter[str] = Counter()
        self.interrupted = False

    def run(self) -> RawAnswer:
        """Search stage by stage until all are proven or a limit is met."""
        if leaves_that_fit(self.core, self.depth) < 1 or not self._possible():
            return RawAnswer(status="infeasible")
        status, tree = "optimal", None
        outcomes: list[StageOutcome] = []
        for stage in self.core.objective or (None,):
            found = self._of_stage(stage)
            if found is None:
                status, tree = "infeasible", None
                break
            tree, outcome = found
            outcomes.append(outcome)
            if not outcome.proven:
                status = "unknown" if tree is None else "feasible"
                break
            assert tree is not None, "what is proven has a tree"
            self._fix(stage, tree)
            self.starts.append(tree)
            self.later = True
        if tree is not None:
            outcomes = self._valued(outcomes, tree)
        return RawAnswer(
            status=status,  # type: ignore[arg-type]
            model=tree,
            stages=tuple(outcomes) if self.core.objective and status != "infeasible" else (),
            timeline=tuple(self.timeline),
            size=size_of(self.core, self.features),
            counters=tuple(self.counters.items()),
            interrupted=self.interrupted or self.limits.interrupted(),
        )

    def _valued(self, outcomes: list[StageOutcome], tree: RawTree) -> list[StageOutcome]:
        """The same with the values that a tree has; those of losses may differ by rounding."""
        found = evaluated(self.core, tree)
        return [
            replace(outcome, value=found.stage_value(stage))
            for stage, outcome in zip(self.core.objective, outcomes, strict=False)
        ]

    # ---- one stage

    def _of_stage(self, stage: StageForm | None) -> tuple[RawTree | None, StageOutcome] | None:
        """The best tree of a stage, and what is known of it; None where no tree keeps the rules."""
        assert self.rules is not None
        goal = None if stage is self.stage or stage is None else stage
        leaves = most_leaves(self.core, self.depth)
        model = TreeModel(self.core, self.rules, (*of_tree(self.core), *self.fixed), goal)
        if not model.possible:
            return None
        if (priced := self._priced()) is not None:
            model.price(priced, float(self.unit))
        self.native_model = model.native()
        self.native_rules = self.rules.native()  # it has the sums of the model
        if goal is None and self.limits.proves and self.depth > FEW_LEVELS:
            self._begun()
        if goal is None and (free := self._free(leaves)) is not None and free.tree is not None:
            self.counters.update(dict(free.counters))
            if self._admitted(free.tree):
                return free.tree, StageOutcome(value=free.value, bound=free.bound, proven=True)
        found = self._found(goal)
        self.counters.update(found.counters)
        self.interrupted = self.interrupted or found.interrupted
        met = [tree for tree in self.starts if self._admitted(tree)]
        kept = True
        if found.tree is not None:
            tree = fitted(self.core, to_raw(self.core, self.features, found.tree))
            kept = self._admitted(tree)
            met += [tree] if kept else []
        if not met:
            if found.status == "infeasible" and not self.cut_off:
                return None
            return None, StageOutcome(value=None, bound=None, proven=False)
        of = self.stage if stage is None else stage
        tree = min(reversed(met), key=lambda one: evaluated(self.core, one).stage_value(of))
        value = evaluated(self.core, tree).stage_value(of)
        # A goal that is infinite on all trees is what the search calls infeasible.
        proven = found.status == "optimal" or (goal is not None and found.status == "infeasible")
        if proven and kept and not self.cut_off:
            return tree, StageOutcome(value=value, bound=value, proven=True)
        bound = None
        if goal is None and not self.cut_off and math.isfinite(found.bound):
            bound = self._of_engine(found.bound)
            bound = min(value, bound if self.relaxed is None else max(bound, self.relaxed))
        return tree, StageOutcome(value=value, bound=bound, proven=False)

    def _begun(self) -> None:
        """What the search for good trees finds in some work, to begin from; none runs beside."""
        steps = self.limits.steps or FIRST_STEPS
        found = self._found(None, replace(self.limits, proves=False, steps=steps, ledger=None))
        self.interrupted = self.interrupted or found.interrupted
        if found.tree is not None:
            self.starts.append(fitted(self.core, to_raw(self.core, self.features, found.tree)))

    def _found(self, goal: StageForm | None, limits: Limits | None = None) -> engine.NumberAnswer:
        limits = limits or self.limits
        most = None if self.asked is None else float((self.asked - self._rest(0)) / self.unit)
        return engine.solve_numbers(
            self._problem(self.leaves),
            limits.of_engine(gap=goal is None and len(self.core.objective) == 1),
            start=self._start(most_leaves(self.core, self.depth)),
            upper_bound=most,
            progress=self._progress,
            by_first=self.by_first,
        )

    def _admitted(self, tree: RawTree) -> bool:
        """Whether a tree keeps all rules, and is as good as earlier stages are."""
        found = evaluated(self.core, tree)
        if found.violations() or not all(map(found.keeps, self.fixed)):
            return False
        return self.upper is None or found.stage_value(self.stage) <= self.upper

    def _fix(self, stage: StageForm | None, tree: RawTree) -> None:
        """The value that a stage has reached, as a rule."""
        if stage is None:
            return
        value = evaluated(self.core, tree).stage_value(stage)
        if stage is self.stage:
            slack = max(self.slack, TOLERANCE * abs(value))  # prices are floats as well
            self.upper = _least(self.upper, value + slack)
            self.asked = _least(self.asked, value + slack * (1 - ROUNDED))
            return
        clause = Clause(
            scope=Scope.MODEL, literals=(SignedAtom(atom=_at_most(stage, value)),), origin=OBJECTIVE
        )
        self.fixed.append(clause)

    # ---- the part of the first loss's stage that is no price per leaf

    def _priced(self) -> Additive | None:
        rest = self.stage.rest
        leaves = min(0, rest.leaves)
        if not leaves and rest.columns is None:
            return None
        return Additive(leaves=leaves, columns=rest.columns, denominator=rest.denominator)

    def _price(self) -> Fraction:
        rest = self.stage.rest
        return Fraction(max(0, rest.leaves), rest.denominator)


def _least(known: Fraction | None, other: Fraction) -> Fraction:
    return other if known is None else min(known, other)


def _at_most(stage: StageForm, value: Fraction) -> Atom:
    """That a stage has at most a value."""
    if isinstance(stage, DepthStage):
        return Depth(at_most=int(value))
    if isinstance(stage, RegressionStage):
        assert stage.rest.is_constant, "objections() refuses prices of later losses"
        rest = Fraction(stage.rest.constant, stage.rest.denominator)
        return LossBound(loss=stage.loss, at_most=value - rest)
    assert isinstance(stage, LinearStage), "a number target has no quotients"
    if stage.path_sum is None:
        return Linear(measure=stage.measure, at_most=int(value * stage.measure.denominator))
    total = stage.path_sum
    common = lcm(stage.measure.denominator, total.whole_denominator)
    return PathTotal(
        measure=stage.measure + Additive(denominator=common),
        path_sum=PathSum(
            weights=total.scaled(Fraction(common // total.whole_denominator)).weights,
            measure=total.measure,
            denominator=common // total.measure.denominator,
        ),
        at_most=int(value * common),
    )


def _leaves_at_most(most: int) -> Clause:
    atom = Linear(measure=Additive(leaves=1), at_most=most)
    return Clause(scope=Scope.MODEL, literals=(SignedAtom(atom=atom),), origin=OBJECTIVE)


def search_of(
    core: Core, limits: Limits, start: RawTree | None, report: Report | None
) -> RawAnswer:
    """The answer of the search that a core needs."""
    kind = StagedSearch if asks_tree(core) else RegressionSearch
    return kind(core, limits, start, report).run()
