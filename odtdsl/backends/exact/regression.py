"""`exact` on number targets: the search for trees of least squared or absolute error, or deviance.

Values are floats here. What is called proven is proven up to `TOLERANCE` of the loss of a
single leaf, which covers the rounding of sums in the search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from odtdsl.backends.base import Limits, Objection, Progress, RawAnswer, Report, StageOutcome
from odtdsl.backends.exact.features import features, size_of
from odtdsl.backends.exact.lowering import leaf_rows, least_leaf_rows, leaves_that_fit, most_leaves
from odtdsl.backends.exact.number_model import EXPRESSED, TooLong, TreeModel
from odtdsl.backends.exact.number_rules import (
    asks_tree,
    bounds_first_loss,
    number_rules,
    of_tree,
    scans,
    taken,
)
from odtdsl.backends.exact.packed import Packed
from odtdsl.backends.exact.path_states import TooManyStates
from odtdsl.backends.exact.raw_trees import from_raw, to_raw
from odtdsl.backends.exact.ruled import MOST_FACTS, TooManyFacts
from odtdsl.backends.needs import form_of
from odtdsl.base import engine
from odtdsl.datasets.table import FloatArray
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Clause,
    Core,
    Form,
    LinearStage,
    LossBound,
    Origin,
    OutputSet,
    RegressionStage,
    TargetLoss,
)
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH
from odtdsl.problem.ir.raw import RawLeaf, RawTree, depth_of
from odtdsl.problem.ir.regression import TOLERANCE, allowance, loss_in
from odtdsl.problem.outputs.feasible import FeasibleSet, anything, feasible_set
from odtdsl.problem.outputs.leaves import fitted, target_weights

OBJECTIVE = Origin(rule="objective")

FREE_SHARE = 0.2
"""Of the time that is left, for the search without rules before the one with them."""
FREE_SECONDS = 20.0
"""The same where no time is given: the one with them must begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The best tree under a bound on leaves, if one was met; `value` and `bound` are of the first
    stage."""

    tree: RawTree | None
    value: Fraction | None
    bound: Fraction
    proven: bool
    refuted: bool
    counters: tuple[tuple[str, int], ...]
    interrupted: bool


class RegressionSearch:
    """One solve: a search, and one per number of leaves where these are made few."""

    def __init__(
        self, core: Core, limits: Limits, start: RawTree | None, report: Report | None
    ) -> None:
        self.core, self.limits, self.report = core, limits, report
        self.began = time.monotonic()
        self.scanned = scans(core)
        self.rules = number_rules(core)
        self.features = features(core) if self.rules is None else self.rules.features
        self.native_rules = None if self.rules is None else self.rules.native()
        first = stage_of_leaves(core)
        assert core.targets is not None, "a loss of number targets has targets"
        self.stage = first
        self.factor = max(first.loss.factors)
        self.weights = _masses(first.loss)
        total = core.n_rows if self.weights is None else int(first.loss.weights.sum())
        self.unit = self.factor / total  # what one of the engine's units of loss is worth
        needed = core.tree.depth
        if needed is None:  # no reduced tree is deeper
            needed = max(0, most_leaves(core, MAX_SEARCH_DEPTH) - 1)
        self.depth = min(MAX_SEARCH_DEPTH, needed)
        self.cut_off = self.depth < needed
        self.single = fitted(core, RawLeaf())
        self.slack = TOLERANCE * evaluated(core, self.single).of_loss(first.loss)
        met = [self.single, *([] if start is None else [start])]
        self.starts = [tree for tree in met if self._valid(tree)]
        self.timeline: list[Progress] = []
        self.later = False
        self.relaxed: Fraction | None = None  # what the best tree without the rules is worth
        self.by_first: list[float] = []  # what such trees lose at least, by their first feature

    native_model: engine.NumberModel | None = None

    def run(self) -> RawAnswer:
        """Search until the optimum is proven or a limit is met.

        Bounds on the loss are rules of the search; a proof that none can be met makes it
        infeasible.
        """
        leaves = leaves_that_fit(self.core, self.depth)
        if leaves < 1 or not self._possible():
            return RawAnswer(status="infeasible")
        best = self._search(leaves, self._upper())
        tree = best.tree
        if best.refuted or tree is None or not self._bounded(tree):
            return self._without(best)
        outcomes = [StageOutcome(value=best.value, bound=best.bound, proven=best.proven)]
        counters, interrupted = best.counters, best.interrupted
        for stage in self.core.objective[1:]:
            assert isinstance(stage, LinearStage), "objections() lets only leaves follow"
            tree, least = self._fewest(best, tree)
            value = evaluated(self.core, tree).stage_value(stage)
            bound = Fraction(
                stage.measure.leaves * least + stage.measure.constant, stage.measure.denominator
            )
            proven = best.proven and value == bound
            outcomes.append(StageOutcome(value=value, bound=bound, proven=proven))
            outcomes[0] = StageOutcome(
                value=self._value(tree), bound=best.bound, proven=best.proven
            )
        return RawAnswer(
            status="optimal" if all(o.proven for o in outcomes) else "feasible",
            model=tree,
            stages=tuple(outcomes),
            timeline=tuple(self.timeline),
            size=size_of(self.core, self.features),
            counters=counters,
            interrupted=interrupted or self.limits.interrupted(),
        )

    def _possible(self) -> bool:
        """Whether no rule is broken by every tree, as far as that shows before a search."""
        never = any(c.scope is Scope.MODEL and not c.literals for c in self.core.clauses)
        return not never and (self.rules is None or self.rules.possible)

    def _valid(self, tree: RawTree) -> bool:
        """Whether it keeps all rules but bounds on the loss: these are told of what is found."""
        bounds = {id(clause) for clause, _ in _loss_bounds(self.core)}
        return all(id(broken) in bounds for broken in evaluated(self.core, tree).violations())

    def _bounded(self, tree: RawTree) -> bool:
        """Whether it keeps the bounds on the loss."""
        found = evaluated(self.core, tree)
        return all(found.keeps(clause) for clause, _ in _loss_bounds(self.core))

    def _upper(self) -> Fraction | None:
        """The largest value of the first stage that the bounds on the loss admit."""
        bounds = [
            (atom.at_most + allowance(atom.at_most)) * self.factor / max(atom.loss.factors)
            for _, atom in _loss_bounds(self.core)
        ]
        return min(bounds) + self._rest(0) if bounds else None

    def _without(self, best: _Found) -> RawAnswer:
        """No tree under the bound: proven infeasible, or not met so far."""
        nothing = StageOutcome(value=None, bound=best.bound, proven=False)
        return RawAnswer(
            status="infeasible" if best.refuted else "unknown",
            stages=() if best.refuted else (nothing,),
            timeline=tuple(self.timeline),
            size=size_of(self.core, self.features),
            counters=best.counters,
            interrupted=best.interrupted,
        )

    def _fewest(self, best: _Found, tree: RawTree) -> tuple[RawTree, int]:
        """A tree of the same value with the fewest leaves, and how many it takes at least."""
        self.later = True
        least = 1
        most = self._value(tree) + self.slack
        if (upper := self._upper()) is not None:
            most = min(most, upper)
        if not self.limits.proves:  # it would not end by itself where nothing is found
            return tree, least
        while least < (now := _count(tree)):
            middle = (least + now - 1) // 2
            found = self._search(middle, most)
            if found.tree is not None and self._value(found.tree) <= most:
                tree = found.tree
            elif found.refuted:
                least = middle + 1
            else:
                break
        return tree, least

    # ---- one search

    def _search(self, leaves: int, upper: Fraction | None = None) -> _Found:
        """The best tree of at most so many leaves; `refuted` where none is as good as `upper`."""
        if (free := self._free(leaves)) is not None and (upper is None or free.bound <= upper):
            return free
        found = self._asked(leaves, upper)
        met = [tree for tree in self.starts if self._fits(tree, leaves)]
        if found.tree is not None:
            met.append(fitted(self.core, to_raw(self.core, self.features, found.tree)))
        tree = min(reversed(met), key=self._value, default=None)
        value = None if tree is None else self._value(tree)
        proven = found.status == "optimal" and value is not None
        bound = self._rest(1)
        if value is None and math.isfinite(found.bound):
            bound = max(bound, self._of_engine(found.bound))
        elif value is None:
            pass
        elif not self.cut_off:  # else deeper trees were not looked at
            bound = value if proven else min(value, self._of_engine(found.bound))
        else:
            proven = value <= bound
        if tree is not None:
            self.starts.append(tree)
        return _Found(
            tree=tree,
            value=value,
            bound=bound,
            proven=proven,
            refuted=found.status == "infeasible" and not self.cut_off,
            counters=tuple(found.counters.items()),
            interrupted=found.interrupted,
        )

    def _free(self, leaves: int) -> _Found | None:
        """The best tree without the rules but for least sizes of leaves, where it keeps them.

        The search by scans is far faster than the one that knows all rules, above all on 0/1
        columns.
        """
        if self.rules is None or _needs_outputs(self.core) or self.cut_off or self.later:
            return None
        if self.scanned:  # that search knows the rules
            return None
        if not self.limits.proves or not self._plain_price():
            return None
        limits = self.limits.part(FREE_SHARE)
        if limits.deadline is None:
            limits = replace(limits, deadline=time.monotonic() + FREE_SECONDS)
        sizes = self._sizes()
        least = 1 if sizes is None else least_leaf_rows(self.core)
        found = engine.solve_numbers(self._under(leaves, sizes, None, least), limits.of_engine())
        if found.status != "optimal" or found.tree is None:
            return None
        tree = fitted(self.core, to_raw(self.core, self.features, found.tree))
        self.relaxed = self._value(tree)
        self.by_first = found.by_first
        if not self._valid(tree):
            return None
        self.starts.append(tree)
        if found.objective is not None:
            self._progress(found.objective, found.bound, 0.0, None)
        return _Found(
            tree=tree,
            value=self._value(tree),
            bound=self._value(tree),
            proven=True,
            refuted=False,
            counters=tuple(found.counters.items()),
            interrupted=found.interrupted,
        )

    def _sizes(self) -> engine.NumberRules | None:
        """No rules on paths, but least sizes of leaves; None without these."""
        if least_leaf_rows(self.core) <= 1:
            return None
        sizes = tuple(clause for clause in self.core.clauses if leaf_rows(clause))
        alone = replace(self.core, clauses=sizes, objective=(self.stage,))
        found = number_rules(alone) if scans(alone) else None
        return None if found is None else found.native()

    def _plain_price(self) -> bool:
        """Whether nothing but leaves has a price."""
        return self.stage.rest.columns is None and self.stage.rest.leaves >= 0

    def _asked(self, leaves: int, upper: Fraction | None) -> engine.NumberAnswer:
        """The engine's answer."""
        limits = self.limits.of_engine(gap=len(self.core.objective) == 1)
        start = self._start(leaves)
        most = None if upper is None else float((upper - self._rest(0)) / self.unit)
        return engine.solve_numbers(
            self._problem(leaves),
            limits,
            start=start,
            upper_bound=most,
            progress=self._progress,
        )

    def unpacked(self, told: Packed) -> RawTree:
        """The tree of a plan that this search told, with outputs."""
        assert isinstance(told.held, engine.Plan), "as `_progress` has it"
        found = engine.finish_numbers(self._problem(), told.held)
        assert found.tree is not None, "a plan is that of a tree"
        return fitted(self.core, to_raw(self.core, self.features, found.tree))

    @cached_property
    def _space(self) -> FeasibleSet:
        """The outputs that leaves may have."""
        assert self.core.targets is not None
        return feasible_set(self.core) or anything(self.core.targets.shape[1])

    def _problem(self, leaves: int | None = None) -> engine.NumberProblem:
        rules, model = self.native_rules, self.native_model
        return self._under(leaves, rules, model, least_leaf_rows(self.core))

    def _under(
        self,
        leaves: int | None,
        rules: engine.NumberRules | None,
        model: engine.NumberModel | None,
        leaf_rows: int,
    ) -> engine.NumberProblem:
        assert self.core.targets is not None
        return engine.NumberProblem(
            self.features.table(),
            np.ascontiguousarray(self.core.targets),
            self.depth,
            factors=target_weights(self.core),
            space=self._space.native,
            weights=self.weights,
            loss=self.stage.loss.kind,
            max_leaves=leaves,
            leaf_price=float(self._price() / self.unit),
            leaf_rows=leaf_rows,
            rules=rules,
            model=model,
        )

    def _start(self, leaves: int) -> engine.Tree | None:
        """The best tree so far that fits, as the engine's."""
        met = [tree for tree in self.starts if tree is not self.single and self._fits(tree, leaves)]
        return from_raw(self.core, self.features, min(met, key=self._value)) if met else None

    def _fits(self, tree: RawTree, leaves: int) -> bool:
        return _count(tree) <= leaves and depth_of(tree) <= self.depth

    # ---- values of the first stage

    def _value(self, tree: RawTree) -> Fraction:
        return evaluated(self.core, tree).stage_value(self.stage)

    def _price(self) -> Fraction:
        return Fraction(self.stage.rest.leaves, self.stage.rest.denominator)

    def _rest(self, leaves: int) -> Fraction:
        """What a tree of so many leaves costs beside its loss."""
        rest = self.stage.rest
        return Fraction(rest.constant + rest.leaves * leaves, rest.denominator)

    def _of_engine(self, value: float) -> Fraction:
        """The engine's sum of losses and prices as a value of the stage."""
        return Fraction(value) * self.unit + self._rest(0)

    def _progress(
        self,
        value: float,
        bound: float,
        _seconds: float,
        found: engine.Plan | engine.Tree | None,
    ) -> None:
        """The engine's incumbent, where it has one, and bound; of the first search only."""
        if self.later:
            return
        incumbent = self._of_engine(value) if math.isfinite(value) else None
        progress = Progress(
            stage=0,
            incumbent=incumbent,
            bound=self._of_engine(bound),
            seconds=time.monotonic() - self.began,
            found=None if found is None else Packed(_finishing, self.depth, found),
        )
        self.timeline.append(progress)
        if self.report is not None:
            self.report(progress)


def _masses(loss: TargetLoss) -> FloatArray | None:
    """What the loss of each row counts; None where rows count alike, as one."""
    alike = loss.exposure is None and (loss.weights == loss.weights[0]).all()
    return None if alike else loss.masses.astype(np.float64)


def _count(tree: RawTree) -> int:
    return 1 if isinstance(tree, RawLeaf) else _count(tree.left) + _count(tree.right)


def _loss_bounds(core: Core) -> Iterator[tuple[Clause, LossBound]]:
    """The rules that bound the loss of the first stage, and nothing else."""
    for clause in core.clauses:
        if isinstance(clause.atom, LossBound) and bounds_first_loss(core, clause):
            yield clause, clause.atom


def stage_of_leaves(core: Core) -> RegressionStage:
    """The stage whose loss decides on the outputs of leaves, or one that stands for it."""
    for stage in core.objective:
        if isinstance(stage, RegressionStage):
            return stage
    assert core.targets is not None, "outputs are for number targets"
    n_targets = core.targets.shape[1]
    loss = loss_in(core)
    if loss is None:
        weights = np.ones(core.n_rows, dtype=np.int64)
        factors = (Fraction(1, n_targets),) * n_targets
        loss = TargetLoss(kind="squared", factors=factors, weights=weights)
    return RegressionStage(loss=loss)


# ---- what the search does not take


def objections(core: Core) -> Iterator[Objection]:
    """Reasons that lie in targets, objective and bounds on the loss."""
    assert core.targets is not None
    yield from _rules_refused(core)
    yield from _numbers_refused(core)
    if takes_vectors(core) or asks_tree(core):
        yield from _vectors_refused(stage_of_leaves(core))
    for stage in core.objective:
        if isinstance(stage, LinearStage) and stage.maxima:
            yield Objection(
                form=Form.OBJECTIVE_MAX,
                origin=OBJECTIVE,
                reason="the search for number targets cannot add up maxima",
            )


def _numbers_refused(core: Core) -> Iterator[Objection]:
    """Rules that tell too many paths apart, and numbers too long for the search."""
    try:
        rules = number_rules(core)
        if rules is not None and not any(True for _ in _rules_refused(core)):
            for goal in (None, *core.objective):
                TreeModel(core, rules, of_tree(core), goal)
    except TooManyStates:
        reason = "the rules on paths distinguish too many paths"
        yield Objection(form=Form.BUDGET, origin=OBJECTIVE, reason=reason)
    except TooManyFacts:
        reason = f"the rules depend on more than {MOST_FACTS} facts about the tree"
        yield Objection(form=Form.USED_MODEL, origin=OBJECTIVE, reason=reason)
    except TooLong:
        reason = "the numbers of the rules and the objective add up to more than 15 digits"
        yield Objection(form=Form.LINEAR_MODEL, origin=OBJECTIVE, reason=reason)


def _rules_refused(core: Core) -> Iterator[Objection]:
    """Rules that are neither sums nor facts of a tree, nor kept by its paths and leaves."""
    known = {id(clause) for clause in (*taken(core), *(c for c, _ in _loss_bounds(core)))}
    model = {id(clause) for clause in of_tree(core)}
    for clause in core.clauses:
        atoms = {type(literal.atom) for literal in clause.literals}
        if id(clause) in known or leaf_rows(clause) is not None or atoms <= {OutputSet}:
            continue
        if clause.scope is Scope.MODEL and id(clause) not in model:
            continue
        strange = [x.atom for x in clause.literals if not isinstance(x.atom, EXPRESSED)]
        if clause.scope is Scope.MODEL and not strange:
            continue
        reason = "the search for number targets does not support this rule yet"
        if OutputSet in atoms:
            reason = "the search cannot make outputs depend on rows or columns"
        atom = strange[0] if strange else clause.literals[0].atom
        yield Objection(form=form_of(atom, clause.scope), origin=clause.origin, reason=reason)


def takes_vectors(core: Core) -> bool:
    """Whether a problem needs the search for output vectors: several targets, rules on outputs,
    or least leaf sizes."""
    return _needs_outputs(core) or least_leaf_rows(core) > 1


def _needs_outputs(core: Core) -> bool:
    assert core.targets is not None
    return core.targets.shape[1] > 1 or feasible_set(core) is not None


def _vectors_refused(first: RegressionStage) -> Iterator[Objection]:
    """What the search for output vectors does not take."""
    if not all(first.loss.factors):
        yield Objection(
            form=Form.OBJECTIVE_LOSS,
            origin=OBJECTIVE,
            reason="every number target needs a loss in the objective",
        )


def _finishing(core: Core) -> RegressionSearch:
    """A search that is only asked to finish trees."""
    return RegressionSearch(core, Limits(), None, None)
