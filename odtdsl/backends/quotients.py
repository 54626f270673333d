"""Objectives that are quotients, such as `f1`, made greatest by linear ones (Dinkelbach 1967).

At a share s, minimizing `s * under - over` finds a model whose own share is above s, or proves
that none is: then the least is 0. The share of what was found is the next s, so that shares rise;
they do so faster than linearly. What a search proves before it is stopped bounds the share, too:
where `s * under - over >= b` on all models, no share is above `s - b / under`. A share of more
digits than a back end counts with is rounded up, and what is found below it is not proven.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

from odtdsl.backends.base import Limits, Progress, RawAnswer, Report, StageOutcome
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.memory import Guard
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    Linear,
    LinearStage,
    Origin,
    QuotientStage,
    SignedAtom,
    check_overflow,
)
from odtdsl.problem.ir.raw import RawModel

FIRST_SHARE = Fraction(1, 2)
"""Where to begin without a model: between all errors alike and none but those of the class."""

ROUNDED = (9, 6, 3)
"""Digits of shares that are rounded up, where a back end cannot count with all of them."""

FIRST_SECONDS = 2.0
"""That a search has before a better share that it met interrupts it; each has twice as long."""

Search = Callable[[Core, Limits, RawModel | None, Report | None], RawAnswer]
"""Makes the stages of a core without quotients least."""

Takes = Callable[[Core], bool]
"""Whether it can count with the numbers of such a core."""


def at_share(stage: QuotientStage, share: Fraction) -> LinearStage:
    """What is below 0 on the models whose share is larger, and on no others."""
    return LinearStage(measure=stage.under.scaled(share) + stage.over.scaled(Fraction(-1)))


def linear(core: Core) -> Core:
    """The core with such a stage for each quotient: what back ends are asked to take."""
    if place_of(core) is None:
        return core
    stages = tuple(
        at_share(stage, FIRST_SHARE) if isinstance(stage, QuotientStage) else stage
        for stage in core.objective
    )
    return replace(core, objective=stages)


def place_of(core: Core) -> int | None:
    """The first stage that is a quotient; None where none is."""
    stages = enumerate(core.objective)
    return next((at for at, stage in stages if isinstance(stage, QuotientStage)), None)


def solve(
    core: Core,
    search: Search,
    limits: Limits,
    start: RawModel | None,
    report: Report | None,
    takes: Takes = lambda _: True,
) -> RawAnswer:
    """Make the stages of a core least, of which some are quotients.

    Parameters
    ----------
    core, limits, start, report
        As `BackEnd.solve` takes them. A gap is one of the first stage that is a quotient.
    search
        What makes stages without quotients least.
    takes
        Whether it can count with the numbers of a core, which grow with the digits of a share.

    Returns
    -------
    RawAnswer
        Optimal only where every stage is proven; a share that is not has the bound that follows
        from what the searches proved.
    """
    place = place_of(core)
    if place is None:
        return search(core, limits, start, report)
    shares = _Shares(core, place, search, limits, report, takes)
    answer = shares.run(start)
    if answer.status != "optimal" or place + 1 == len(core.objective):
        return answer
    return _later(core, place, answer, search, limits, report, takes)


class Unpacked:
    """Progress with models in place of what a search holds, which only its own core can read."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._memo: dict[Any, Any] = {}

    def __call__(self, told: Progress) -> Progress:
        """The same, with a model."""
        if told.found is None or isinstance(told.found, RawModel):
            return told
        return replace(told, found=told.found.raw(self.core, self._memo))


# ---- one quotient


@dataclass
class _Shares:
    """The searches for the greatest share, each at the share of the best model before it.

    Attributes
    ----------
    best, upper
        The best model, and a share that no model exceeds which is best in all stages before.
    """

    core: Core
    place: int
    search: Search
    limits: Limits
    report: Report | None
    takes: Takes

    def __post_init__(self) -> None:
        stage = self.core.objective[self.place]
        assert isinstance(stage, QuotientStage), "the place is that of a quotient"
        self.stage = stage
        self.best: RawModel | None = None
        self.before: tuple[Fraction, ...] = ()
        self.share = Fraction(0)
        self.upper = Fraction(1)

    def run(self, start: RawModel | None) -> RawAnswer:
        """Search until a share is proven or a limit is met."""
        seconds = FIRST_SECONDS
        if start is not None:
            self._take(start)
        answer = RawAnswer(status="unknown")
        while True:
            wish = FIRST_SHARE if self.best is None else self.share
            found = self._asked(wish)
            if found is None:
                return self._answer(answer)
            share, asked = found
            turn = _Turn(self, share, seconds, Unpacked(asked))
            limits = replace(self.limits, gap=Fraction(0), interrupted=turn)
            answer = self.search(asked, limits, self.best, turn.hear)
            if answer.status == "infeasible":
                return answer
            if answer.model is not None:
                self._take(answer.model)
            if not self._settled_before(answer):
                return self._answer(answer)
            self._bound(share, answer.stages[self.place].bound)
            self._tell(time.monotonic() - turn.began)
            if answer.status == "optimal" and share == self.share:
                self.upper = self.share
            if self._ends(answer, turn) or wish == self.share < share:
                return self._answer(answer)
            seconds *= 2

    def _asked(self, share: Fraction) -> tuple[Fraction, Core] | None:
        """The core at a share, or at one above it of fewer digits; None where no digits do."""
        before = self.core.objective[: self.place]
        rounded = [Fraction(ceil(share * 10**digits), 10**digits) for digits in ROUNDED]
        for near in (share, *rounded):
            try:
                stage = at_share(self.stage, near)
                if stage.measure.output is not None:
                    check_overflow(stage.measure.output, 4)  # searches add twice, and compare
            except OdtError:  # R301
                continue
            asked = replace(self.core, objective=(*before, stage))
            if self.takes(asked):
                return near, asked
        return None

    def _settled_before(self, answer: RawAnswer) -> bool:
        """Whether the stages before are proven, so that bounds are those of the share."""
        before = answer.stages[: self.place]
        return len(answer.stages) > self.place and all(stage.proven for stage in before)

    def _ends(self, answer: RawAnswer, turn: _Turn) -> bool:
        if self._near():
            return True
        if answer.status != "optimal" and not turn.over:
            return True  # a limit, or a back end that proves nothing
        over = self.limits.deadline is not None and time.monotonic() >= self.limits.deadline
        return over or self.limits.interrupted()

    def _near(self) -> bool:
        return self.best is not None and self.upper - self.share <= self.limits.gap * self.share

    def _take(self, model: RawModel) -> None:
        """Keep a model if it is better."""
        evaluation = evaluated(self.core, model)
        stages = self.core.objective[: self.place]
        values = tuple(evaluation.stage_value(stage) for stage in stages)
        share = evaluation.of_share(self.stage)
        if self.best is None or (values, -share) < (self.before, -self.share):
            self.best, self.before, self.share = model, values, share

    def _bound(self, share: Fraction, least: Fraction | None) -> None:
        """No share is above what a bound on the linear stage leaves."""
        if least is not None:
            self.upper = min(self.upper, _above(self.stage, share, least))

    def _outcomes(self, answer: RawAnswer) -> tuple[StageOutcome, ...]:
        """The stages up to this one, on the best model."""
        found = [
            replace(told, value=value)
            for told, value in zip(answer.stages, self.before, strict=False)
        ]
        if len(found) < self.place or not all(told.proven for told in found):
            return tuple(found)
        value, bound = -self.stage.factor * self.share, -self.stage.factor * self.upper
        proven = self.best is not None and self.share == self.upper
        known = None if self.best is None else value
        return (*found, StageOutcome(value=known, bound=bound, proven=proven))

    def _answer(self, answer: RawAnswer) -> RawAnswer:
        stages = self._outcomes(answer)
        proven = len(stages) > self.place and stages[-1].proven
        status = answer.status if self.best is None else "optimal" if proven else "feasible"
        interrupted = not proven and self.limits.interrupted()
        return replace(
            answer, status=status, model=self.best, stages=stages, interrupted=interrupted
        )

    def hear(self, share: Fraction, told: Progress) -> None:
        """Progress of a search at a share, told in terms of the shares."""
        if told.stage < self.place:
            if self.report is not None:
                self.report(told)
            return
        if isinstance(told.found, RawModel):
            self._take(told.found)
        self._bound(share, told.bound)
        self._tell(told.seconds)

    def _tell(self, seconds: float) -> None:
        if self.report is None:
            return
        known = None if self.best is None else -self.stage.factor * self.share
        self.report(
            Progress(
                stage=self.place,
                incumbent=known,
                bound=-self.stage.factor * self.upper,
                seconds=seconds,
                found=self.best,
            )
        )


class _Turn(Guard):
    """One search: it ends early where a better share was met and its time is over.

    Parameters
    ----------
    shares, share, seconds
        All searches, the share of this one, and its time.
    unpacked
        What makes models of those that it tells.

    Attributes
    ----------
    reached, over
        Whether the stages before are settled, and whether it was ended so.
    """

    def __init__(
        self, shares: _Shares, share: Fraction, seconds: float, unpacked: Unpacked
    ) -> None:
        outer = shares.limits.interrupted
        super().__init__(None, outer)
        self.shares, self.share, self.seconds, self.over = shares, share, seconds, False
        self.unpacked, self.reached = unpacked, shares.place == 0
        self.outer = outer if isinstance(outer, Guard) else None
        self.began = time.monotonic()

    def hear(self, told: Progress) -> None:
        """As `_Shares.hear`."""
        self.reached = self.reached or told.stage >= self.shares.place
        self.shares.hear(self.share, self.unpacked(told))

    def __call__(self) -> bool:
        """Whether to end now."""
        if self.full and self.outer is not None:
            self.outer.full = True
        if self.full or self.interrupted():
            return True
        shares = self.shares
        if not self.reached:
            return False
        late = time.monotonic() - self.began > self.seconds
        if shares._near() or (late and shares.best is not None and shares.share > self.share):
            self.over = True
        return self.over


def _above(stage: QuotientStage, share: Fraction, least: Fraction) -> Fraction:
    """What no share exceeds where `share * under - over` is at least `least` on all models."""
    low, high = _range(stage.under)
    if least < 0:
        return share - least / low
    return max(Fraction(0), share - least / high)


def _range(under: Additive) -> tuple[Fraction, Fraction]:
    """Of a denominator: the least value above 0, and the largest; both at least the unit."""
    low = high = under.constant
    if under.output is not None:
        low += int(under.output.min(axis=1).sum())
        high += int(under.output.max(axis=1).sum())
        if low == 0:
            positive = under.output[under.output > 0]
            low = int(positive.min()) if positive.size else 1
    return Fraction(max(low, 1), under.denominator), Fraction(max(high, 1), under.denominator)


# ---- the stages after it


def _later(
    core: Core,
    place: int,
    answer: RawAnswer,
    search: Search,
    limits: Limits,
    report: Report | None,
    takes: Takes,
) -> RawAnswer:
    """Make the other stages least among the models of the greatest share."""
    stage = core.objective[place]
    assert isinstance(stage, QuotientStage), "the place is that of a quotient"
    value = answer.stages[place].value
    assert value is not None, "an optimal answer has a value"
    try:
        kept = _as_large(stage, -value / stage.factor)
    except OdtError:  # R301
        return replace(answer, status="feasible")
    rest = replace(
        core,
        objective=(*core.objective[:place], *core.objective[place + 1 :]),
        clauses=(*core.clauses, *kept),
    )

    unpacked = Unpacked(rest)

    def told(progress: Progress) -> None:
        if report is not None and progress.stage >= place:
            report(replace(unpacked(progress), stage=progress.stage + 1))

    limits = replace(limits, gap=Fraction(0))
    found = solve(rest, search, limits, answer.model, told, takes)
    stages = (*answer.stages, *found.stages[place:])
    model = found.model or answer.model
    if found.status == "infeasible":
        raise RuntimeError("the stages after a quotient lost all models")
    status = found.status if found.model is not None else "feasible"
    return replace(
        found, status=status, model=model, stages=stages, steps=answer.steps or found.steps
    )


def _as_large(stage: QuotientStage, share: Fraction) -> tuple[Clause, ...]:
    """That a share is at least so large."""
    if share == 0:
        return ()
    atoms = [Linear(measure=at_share(stage, share).measure, at_most=0)]
    if _may_be_empty(stage.under):
        atoms.append(Linear(measure=stage.under.scaled(Fraction(-1)), at_most=-1))
    origin = Origin(rule="objective")
    return tuple(
        Clause(scope=Scope.MODEL, literals=(SignedAtom(atom=atom),), origin=origin)
        for atom in atoms
    )


def _may_be_empty(under: Additive) -> bool:
    least = 0 if under.output is None else int(under.output.min(axis=1).sum())
    return under.constant + least <= 0
