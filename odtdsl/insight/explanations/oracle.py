"""Whether some tree satisfies a set of rules, by any back end; answers are kept and reused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from odtdsl.backends.base import (
    DEPTH_BOUND,
    LEAVES_BOUND,
    Assumptions,
    BackEnd,
    Limits,
    Progress,
)
from odtdsl.backends.quotients import linear
from odtdsl.base.back_ends import proves
from odtdsl.base.source import Span
from odtdsl.compiler.bounds import plainly_refuted
from odtdsl.driver.choice import back_end, choose
from odtdsl.insight.explanations.conflict_sets import Members
from odtdsl.problem.ir.evaluate import NotEvaluable, violations
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, LinearStage, StageForm
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH, TreeSkeleton
from odtdsl.problem.ir.raw import RawTree

ANSWER_SHARE = 0.4
"""Of the time that is left, what one question may take."""

FIRST_SLICE = 0.2
LONGER = 3
"""Seconds that each objective has at first where several are tried by turns, and the factor."""

BEST_SLICE = 3.0
"""Seconds for the best value of a rule in one search, before its bound is halved."""

MAX_OBJECTIVES = 4
"""Rules whose measures are tried as objectives."""

DEEPER = 1
"""Where the depth is relaxed, trees of so many levels more are looked at, unless said otherwise."""


def no_progress(text: str) -> None:
    """Ignore what is searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A rule, or a bound of the skeleton."""

    kind: Literal["rule", "depth", "leaves"]
    name: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`feasible` is None if undecided; `tree` satisfies the constraints."""

    feasible: bool | None
    tree: RawTree | None = None


class Oracle:
    """The feasibility questions of one spec.

    Attributes
    ----------
    searches
        How many questions were put to the back end; others were answered by what was known.
    undecided
        How many of them it did not answer.
    """

    def __init__(
        self,
        core: Core,
        constraints: tuple[Constraint, ...],
        backend: str,
        limits: Limits,
        deeper: int = DEEPER,
        tell: Callable[[str], None] = no_progress,
    ) -> None:
        self.tell = tell
        self.core, self.constraints, self.backend, self.limits = core, constraints, backend, limits
        self.deeper = deeper
        self.skeleton = core.tree
        self.searches = self.undecided = 0
        self.all_members: Members = frozenset(range(len(constraints)))
        self._trees: list[RawTree] = []
        self._asked: dict[Members, Answer] = {}
        self._infeasible: list[Members] = []
        self._served = ""
        bare = back_end(backend)
        self.proves = proves(backend)
        self.engine = back_end(backend, bare.for_questions)
        self._live = self._assumptions()

    # ---- sets of constraints

    def feasible(self, members: Members) -> bool | None:
        """Whether some tree satisfies these constraints; None where that is undecided."""
        return self.answer(members).feasible

    def answer(self, members: Members) -> Answer:
        """As `feasible`, with the tree."""
        if members not in self._asked:
            self._asked[members] = self._answer(members)
        return self._asked[members]

    def _count(self) -> None:
        self.searches += 1
        self.tell(f"search {self.searches}: can a tree satisfy these rules together?")

    def _answer(self, members: Members) -> Answer:
        if any(one <= members for one in self._infeasible):
            return Answer(feasible=False)
        if self._live is not None:
            return self._assumed(self._live, members)
        core = self.without(self.all_members - members)
        found = self.decide(core)
        if found.feasible is False:
            self._infeasible.append(members)
        return found

    def _assumed(self, live: Assumptions, members: Members) -> Answer:
        """An answer under assumptions; a refutation may name fewer constraints than were given."""
        core = self.without(self.all_members - members)
        for tree in reversed(self._trees):
            if keeps(core, tree):
                return Answer(feasible=True, tree=tree)
        self._count()
        names = {i: _name_of(self.constraints[i]) for i in members}
        reply = live.ask(names.values(), self._deadline())
        if reply is None:
            self.undecided += 1
            return Answer(feasible=None)
        if reply.tree is None:
            self._infeasible.append(
                frozenset(i for i, name in names.items() if name in reply.conflict)
            )
            return Answer(feasible=False)
        if not keeps(core, reply.tree):
            raise RuntimeError("the formula admits a tree that breaks a required rule")
        self._trees.append(reply.tree)
        return Answer(feasible=True, tree=reply.tree)

    def _assumptions(self) -> Assumptions | None:
        """What answers for all sets of constraints at once, where the back end has that."""
        widest = self.without(self.all_members)
        everything = replace(self.core, skeleton=widest.skeleton)
        return self.engine.assuming(
            everything, self.limits, depth=self.skeleton.depth, leaves=self.skeleton.leaves
        )

    def without(self, dropped: Members, *, extra: Core | None = None) -> Core:
        """The core with some constraints relaxed; `extra` has further clauses and filters."""
        gone = {self.constraints[i].name for i in dropped if self.constraints[i].kind == "rule"}
        kinds = {self.constraints[i].kind for i in dropped}
        core = self.core
        more = () if extra is None else extra.clauses
        filters = () if extra is None else extra.filters
        return replace(
            core,
            clauses=(*(c for c in core.clauses if c.origin.rule not in gone), *more),
            filters=(*(f for f in core.filters if f.origin.rule not in gone), *filters),
            skeleton=relaxed(
                self.skeleton,
                deeper=self.deeper if "depth" in kinds else 0,
                leaves="leaves" in kinds,
            ),
        )

    # ---- single questions

    def decide(self, core: Core, trees: Iterable[RawTree] = ()) -> Answer:
        """Whether some tree keeps all of a core: by the trees that are known, else by a search."""
        for tree in (*trees, *reversed(self._trees)):
            if keeps(core, tree):
                return Answer(feasible=True, tree=tree)
        for stage in _deepening(core, self.core):
            found = self._search(stage)
            if found.feasible is not False:
                break
        return found

    def _search(self, core: Core) -> Answer:
        if self.stopped():
            return Answer(feasible=None)
        if self.proves and plainly_refuted(core):
            return Answer(feasible=False)
        self._count()
        end, slice_ = self._deadline(), FIRST_SLICE
        if self.engine.refutes_by_bounds and (rule := _widest(core)) is not None:
            found = self._relaxing(core, rule, end)
            self.undecided += found.feasible is None
            return found
        wishes = self._wishes(core)
        while wishes and not self.stopped() and not _over(end):
            for wish in tuple(wishes):
                asked = replace(core, objective=wish.objective)
                if wish.name and choose(asked, self.backend).name is None:
                    wishes.remove(wish)
                    continue
                cut = None if len(wishes) == 1 else time.monotonic() + slice_
                found = self._try(asked, _earlier(cut, end))
                if found.feasible is not None:
                    self._served = wish.name
                    return found
                if cut is None or not _over(cut):  # it gave up by itself
                    wishes.remove(wish)
            slice_ *= LONGER
        self.undecided += 1
        return Answer(feasible=None)

    def _wishes(self, core: Core) -> list[_TrialObjective]:
        """What to make small meanwhile, first what the last answer came by."""
        wishes = _wishes(core, self.engine)
        wishes.sort(key=lambda one: one.name != self._served)
        return wishes

    def _try(self, core: Core, deadline: float | None) -> Answer:
        """One search until its first tree."""
        first = _FirstTree(self.limits.interrupted)
        limits = replace(self.limits, deadline=deadline, interrupted=first.stop)
        engine = self.engine
        answer = engine.solve(core, limits, None, first.report)
        if answer.tree is None and first.seen and not self.stopped():
            answer = engine.solve(core, replace(limits, interrupted=first.asked), None, None)
        if answer.tree is not None and keeps(core, answer.tree):
            self._trees.append(answer.tree)
            return Answer(feasible=True, tree=answer.tree)
        if answer.status == "infeasible" and self.proves:
            return Answer(feasible=False)
        return Answer(feasible=None)

    def _relaxing(self, core: Core, rule: Clause, deadline: float | None) -> Answer:
        """A rule made small instead of kept: a program's bounds say soon if it can be kept."""
        atom = rule.literals[0].atom
        assert isinstance(atom, Linear), "the widest rule is a bound"
        bound = Fraction(atom.at_most, atom.measure.denominator)
        told = _Against(bound, Fraction(1, 2 * atom.measure.denominator), self.limits.interrupted)
        asked = replace(
            core,
            clauses=tuple(clause for clause in core.clauses if clause is not rule),
            objective=(LinearStage(measure=atom.measure),),
        )
        limits = replace(self.limits, deadline=deadline, interrupted=told.stop)
        answer = self.engine.solve(asked, limits, None, told.report)
        if answer.tree is not None and keeps(core, answer.tree):
            self._trees.append(answer.tree)
            return Answer(feasible=True, tree=answer.tree)
        if answer.status == "infeasible":
            return Answer(feasible=False)
        least = answer.stages[0].bound if answer.stages else None
        return Answer(feasible=False if told.beyond(least) else None)

    def best(self, core: Core, measure: Additive) -> RawTree | None:
        """A tree of a core that is proven to have the least of a measure; None where undecided."""
        asked = replace(core, objective=(LinearStage(measure=measure),))
        if self.stopped() or choose(asked, self.backend).name is None:
            return None
        self._count()
        end = self._deadline()
        if self.engine.asks_by_turns:
            end = _earlier(end, time.monotonic() + BEST_SLICE)
        limits = replace(self.limits, deadline=end, gap=Fraction(0))
        answer = self.engine.solve(asked, limits, None, None)
        if answer.tree is None or not keeps(core, answer.tree):
            return None
        self._trees.append(answer.tree)
        return answer.tree if answer.status == "optimal" else None

    def stopped(self) -> bool:
        """Whether the time is over, or the user has interrupted."""
        return _over(self.limits.deadline) or self.limits.interrupted()

    def _deadline(self) -> float | None:
        if self.limits.deadline is None:
            return None
        now = time.monotonic()
        share = 1.0 if self.searches == 1 else ANSWER_SHARE
        return now + share * max(0.0, self.limits.deadline - now)


def _name_of(constraint: Constraint) -> str:
    return {"depth": DEPTH_BOUND, "leaves": LEAVES_BOUND}.get(constraint.kind, constraint.name)


class _FirstTree:
    """Ends a search at its first tree, because only feasibility is wanted."""

    def __init__(self, asked: Callable[[], bool]) -> None:
        self.asked, self.seen = asked, False

    def report(self, progress: Progress) -> None:
        self.seen = self.seen or progress.incumbent is not None

    def stop(self) -> bool:
        return self.seen or self.asked()


class _Against:
    """Ends a search once its best value keeps a bound, or its proven bound is beyond it."""

    def __init__(self, most: Fraction, half_step: Fraction, asked: Callable[[], bool]) -> None:
        self.most, self.half_step, self.asked, self.seen = most, half_step, asked, False

    def report(self, progress: Progress) -> None:
        kept = progress.incumbent is not None and progress.incumbent <= self.most
        self.seen = self.seen or kept or self.beyond(progress.bound)

    def beyond(self, bound: Fraction | None) -> bool:
        """Half a step of the measure is far above what a program rounds."""
        return bound is not None and bound > self.most + self.half_step

    def stop(self) -> bool:
        return self.seen or self.asked()


def keeps(core: Core, tree: RawTree) -> bool:
    """Whether a tree satisfies every rule and bound of a core."""
    try:
        return not violations(core, tree)
    except NotEvaluable:
        return False


def relaxed(given: TreeSkeleton, *, deeper: int, leaves: bool) -> TreeSkeleton:
    """The skeleton with bounds relaxed: the depth by some levels, the leaves to as many as fit.

    Without a bound of the depth, leaves are twice as many.
    """
    deepest, most = given.depth, given.leaves
    if deepest is not None:
        deepest = min(MAX_SEARCH_DEPTH, deepest + deeper)
    if leaves and most is not None:
        most = 2 * most if deepest is None else None
    return replace(given, depth=deepest, leaves=most)


def _deepening(core: Core, given: Core) -> Iterable[Core]:
    """Where the depth is relaxed, one level after the other: shallow searches are short."""
    now, before = core.skeleton, given.skeleton
    assert isinstance(now, TreeSkeleton)
    assert isinstance(before, TreeSkeleton)
    if now.depth is None or before.depth is None:
        yield core
        return
    for depth in range(min(before.depth, now.depth), now.depth + 1):
        yield replace(core, skeleton=replace(now, depth=depth))


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrialObjective:
    """An objective for a feasibility search; any will do, but some end much earlier."""

    name: str
    objective: tuple[StageForm, ...]


def _wishes(core: Core, engine: BackEnd) -> list[_TrialObjective]:
    """Objectives to try: nothing at all, the measures of the rules themselves, that of the spec.

    Under nothing a back end proves best that there is no tree; a measure leads to the trees
    that satisfy its rule, and the rule's bound is then one of the objective. Where something
    large is built first, nothing is asked by turns: a program is not built for a moment.
    """
    own = _TrialObjective(name="", objective=linear(core).objective)
    if core.targets is not None:
        return [own]
    nothing = _TrialObjective(name="nothing", objective=(LinearStage(measure=Additive()),))
    if not engine.asks_by_turns:
        asked = replace(core, objective=nothing.objective)
        return [nothing if choose(asked, engine.name).name else own]
    rules = [
        _TrialObjective(
            name=clause.origin.rule,
            objective=(LinearStage(measure=clause.atom.measure),),
        )
        for clause in core.clauses
        if clause.scope is Scope.MODEL and isinstance(clause.atom, Linear)
    ]
    return [nothing, own, *rules[:MAX_OBJECTIVES]]


def _widest(core: Core) -> Clause | None:
    """The rule that bounds a measure of the tree over the most rows; None without one."""
    bounds = [
        (np.count_nonzero(clause.atom.measure.output.any(axis=1)), -at, clause)
        for at, clause in enumerate(core.clauses)
        if clause.scope is Scope.MODEL
        and isinstance(clause.atom, Linear)
        and clause.atom.measure.output is not None
    ]
    return max(bounds, key=lambda one: one[:2])[2] if bounds else None


def _over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _earlier(one: float | None, other: float | None) -> float | None:
    times = [time_ for time_ in (one, other) if time_ is not None]
    return min(times, default=None)
