"""The walk along the bounds of a rule, from the loosest to the tightest.

Each optimum's own value of the measure gives the next bound, strictly tighter (the
epsilon-constraint method: Haimes, Lasdon and Wismer 1971). So nothing lies between two steps,
and the walk ends with the proof that no tree is tighter. Where the measure can be a stage of the
objective it is the last one, so that every step is a trade-off that no tree beats in both. Else a
step can turn out to be as good as the one before, and replaces it.

In parallel the range of the bound is cut; each part is walked until it meets the first point of the
next. A step depends on nothing but the point before it, so the points are those of a single walk;
the trees too, where the back end gives the same tree to the same question.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.auditor.audit import audit
from odtdsl.base.back_ends import proves
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.interrupts import interruptible
from odtdsl.driver.choice import choose, refused
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result
from odtdsl.insight.explanations.bounded_rules import Bounded, find, unit_of
from odtdsl.insight.explanations.curves import Curve, Ended, Point
from odtdsl.insight.explanations.oracle import no_progress, relaxed
from odtdsl.insight.explanations.variants import compared, signed, varied
from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.problem import Problem, StageDecl, TreeSkeleton
from odtdsl.problem.ir.targets import ProblemPart
from odtdsl.problem.terms.base import Kind
from odtdsl.problem.terms.normalize import normalize
from odtdsl.problem.terms.registry import BY_NAME

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis

MAX_CURVE_POINTS = 200
"""Points of a curve, unless said otherwise."""

SEARCH_SHARE = 0.4
"""Of the time that is left, what one search may take."""

POLL = 0.05
"""Seconds between two looks at whether to stop."""

PARTS_PER_JOB = 2
"""Parts of the range for each job: they take different times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of the walk: its points, why it ended, and how many searches it took."""

    points: tuple[Point, ...]
    ended: Ended | None
    """None: it met its end, where the next part begins."""
    searches: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Where a part begins: behind a point, or at a bound that is allowed itself."""

    point: Point | None = None
    bound: Fraction | None = None


class Stop:
    """A request to stop that processes share through a file."""

    def __init__(self, path: str) -> None:
        self.path, self.seen, self.checked_at = path, False, 0.0

    def request(self) -> None:
        """Ask all processes that share the file to stop."""
        self.seen = True
        Path(self.path).touch()

    def __call__(self) -> bool:
        now = time.monotonic()
        if not self.seen and now - self.checked_at > POLL:
            self.checked_at, self.seen = now, os.path.exists(self.path)
        return self.seen


class _Walk:
    """The searches of one curve; picklable, for other processes."""

    def __init__(
        self,
        analysis: Analysis,
        bounded: Bounded,
        backend: str,
        *,
        last_stage: bool,
        until: float | None,
        memory_bytes: int | None,
        stop: Stop,
    ) -> None:
        self.analysis, self.bounded, self.backend = analysis, bounded, backend
        self.last_stage, self.until, self.memory_bytes = last_stage, until, memory_bytes
        self.stop, self.searches, self.note = stop, 0, ""
        self.tell: Callable[[str], None] = no_progress
        reading = replace(analysis.problem, rules=(bounded.moved(bounded.bound),))
        self.reader = varied(analysis, reading).rows

    @property
    def problem(self) -> Problem:
        """The analysed problem of the curve."""
        return self.analysis.problem

    def part(self, start: _Start, end: Fraction | None, most: int) -> Part:
        """Walk until an efficient point is as tight as `end`, or for a number of points."""
        points: list[Point] = []
        before = self.searches

        def ended(why: Ended | None) -> Part:
            searches = self.searches - before
            return Part(points=tuple(points), ended=why, searches=searches, note=self.note)

        now = start.point or self.best_at(start.bound, beyond=False)
        while isinstance(now, Point):
            later: Point | Ended | None = None
            if not now.efficient:
                later = self._next(now)
                if isinstance(later, Point) and self.is_as_good(later, now):
                    now = replace(later, bound=now.bound)
                    continue
                now = _settled(now, later)
            points.append(now)
            if self._met(now, end):
                return ended(None)
            if len(points) >= most and not isinstance(later, str):
                return ended("points")
            now = later if later is not None else self._next(now)
        return ended(now)

    def _met(self, point: Point, end: Fraction | None) -> bool:
        if end is None or point.measure is None or not point.efficient:
            return False
        return not self.bounded.tighter(end, point.measure)

    def _next(self, point: Point) -> Point | Ended:
        if point.measure is None:
            return "tightest"
        return self.best_at(point.measure, beyond=True)

    def is_as_good(self, later: Point, now: Point) -> bool:
        """Whether the later, tighter point makes the other one pointless."""
        mine, theirs = (signed(self.problem, one.objective) for one in (now, later))
        return compared(self.problem, theirs, mine) <= 0

    # ---- one search

    def best_at(self, bound: Fraction | None, *, beyond: bool) -> Point | Ended:
        """The best tree with the rule at or beyond a bound, or why there is none."""
        if self.stop():
            return "interrupted"
        left = self._left()
        if left == 0.0:
            return "time"
        self.searches += 1
        self.tell(f"search {self.searches}: the next tighter bound of `{self.bounded.rule.name}`")
        try:
            result = self._solve(bound, beyond, None if left is None else SEARCH_SHARE * left)
        except OdtError as failure:
            if any(one.code.startswith("X") for one in failure.diagnostics):
                raise
            self.note = failure.diagnostics[0].message
            return "refused"
        if result.interrupted:
            self.stop.request()
        if result.tree is None:
            return self._without_tree(result)
        return self._point(result, bound)

    def _solve(self, bound: Fraction | None, beyond: bool, seconds: float | None) -> Result:
        problem = self.problem
        rules = list(problem.rules)
        if bound is not None:
            rules.append(self.bounded.moved(bound, beyond=beyond))
        stages = problem.objective
        if self.last_stage:
            stages = (*stages, _measure_stage(self.bounded))
        asked = varied(self.analysis, replace(problem, rules=tuple(rules), objective=stages))
        return solve(
            asked,
            backend=self.backend,
            seconds=seconds,
            gap=Fraction(0),
            memory_bytes=self.memory_bytes,
            stop=self.stop,
        )

    def _without_tree(self, result: Result) -> Ended:
        if result.status == "infeasible":
            return "tightest"
        if self.stop():
            return "interrupted"
        limited = self.until is not None and proves(self.backend)
        return "time" if limited else "undecided"

    def _point(self, result: Result, bound: Fraction | None) -> Point:
        count = len(self.problem.objective)
        stages = result.stages[:count]
        assert result.tree is not None, "called for results with a tree"
        found = audit(result.tree, self.reader)
        line = found.lines[-1]  # rules come last, and there is one
        proven = all(stage.proven for stage in stages)
        return Point(
            bound=bound,
            measure=None if line.note else line.value,
            objective=tuple(found.objective),
            proven=proven,
            efficient=proven and self.last_stage and all(s.proven for s in result.stages),
            gap=next((stage.gap for stage in stages if not stage.proven), Fraction(0)),
            errors=found.errors,
            result=replace(result, stages=stages, rows=None),
        )

    def _left(self) -> float | None:
        return None if self.until is None else max(0.0, self.until - time.time())


def _settled(now: Point, later: Point | Ended) -> Point:
    """What is known of a point by the next, which is worse or none."""
    known = later.proven if isinstance(later, Point) else later == "tightest"
    return replace(now, efficient=now.proven and known)


def _measure_stage(bounded: Bounded) -> StageDecl:
    """The measure as a stage: as tight as can be."""
    sense = "minimize" if bounded.op == "<=" else "maximize"
    return StageDecl(
        sense=sense,  # type: ignore[arg-type]
        measure=bounded.measure,
        text=f"{sense} {bounded.text}",
    )


# ---- the whole


def trace(
    analysis: Analysis,
    rule: str,
    *,
    backend: str | None = None,
    seconds: float | None = None,
    memory_bytes: int | None = None,
    points: int = MAX_CURVE_POINTS,
    jobs: int = 1,
    tell: Callable[[str], None] = no_progress,
    began: float | None = None,
) -> Curve:
    """The best objective for every bound of a rule, all other rules kept.

    Parameters
    ----------
    analysis
        The spec, resolved.
    rule
        The name of a rule that compares a measure with a number; `leaves` or `depth` for a
        bound of the skeleton.
    backend
        `auto` or a name.
    seconds
        Wall time of the whole, counted from `began`; default that of the spec.
    memory_bytes
        Of one search.
    points
        At most so many, from the loosest bound.
    jobs
        Processes, by joblib; the points do not depend on it.
    tell
        Called before each search of one process with what is searched for, in words.
    began
        `time.monotonic()` value from which time counts, so that reading counts; default: from here.

    Raises
    ------
    OdtError
        U310, U311: no such rule, or none with a bound. B102: no back end expresses the problem,
        or it is one of diagrams.
    """
    now = time.monotonic()
    began = began or now
    if not isinstance(analysis.problem.skeleton, TreeSkeleton):
        raise error(
            "B102",
            "curves do not support diagrams yet",
            helps=(
                "draw the curve for a tree: write `tree depth <= 3` instead of the diagram",
                "or solve the diagram under several bounds: name one by `let`, and use `odt tune`",
            ),
        )
    bounded = find(rule, analysis.rows)
    base = _without(analysis, bounded)
    options = analysis.problem.options
    name, last_stage = _chosen(base, bounded, backend or options.backend)
    seconds = options.seconds if seconds is None else seconds
    with interruptible() as interrupted, _stopping(interrupted) as stop:
        walk = _Walk(
            base,
            bounded,
            name,
            last_stage=last_stage,
            stop=stop,
            until=None if seconds is None else time.time() + seconds - (now - began),
            memory_bytes=options.memory_bytes if memory_bytes is None else memory_bytes,
        )
        if jobs == 1:
            walk.tell = tell  # what other processes do is not heard here
            parts = [walk.part(_Start(), None, points)]
        else:
            parts = list(_in_parallel(walk, points, jobs))
    return _joined(analysis, walk, parts, points, began)


def _without(analysis: Analysis, bounded: Bounded) -> Analysis:
    """The spec without the rule; the leaves are bounded by the depth if it is about them."""
    problem = analysis.problem
    skeleton = problem.skeleton
    assert isinstance(skeleton, TreeSkeleton), "diagrams have been rejected"
    if bounded.of_skeleton:
        about_leaves = bounded.text == "leaves"
        wider = relaxed(skeleton, deeper=0, leaves=about_leaves)
        return varied(analysis, replace(problem, skeleton=wider))
    rules = tuple(one for one in problem.rules if one.name != bounded.rule.name)
    return varied(analysis, replace(problem, rules=rules))


def _chosen(base: Analysis, bounded: Bounded, wish: str) -> tuple[str, bool]:
    """The back end, and whether it takes the measure as the last stage of the objective."""
    problem = base.problem
    ruled = replace(problem, rules=(*problem.rules, bounded.moved(bounded.bound)))
    choice = choose(normalize(varied(base, ruled).rows), wish)
    if choice.name is None:
        raise refused(choice, wish, problem.source)
    if bounded.rule.scope is not Scope.MODEL or ProblemPart.of(problem.target.kind).in_floats:
        return choice.name, False
    staged = replace(ruled, objective=(*ruled.objective, _measure_stage(bounded)))
    try:
        taken = choose(normalize(varied(base, staged).rows), choice.name).name is not None
    except OdtError:  # a ratio is no stage
        taken = False
    return choice.name, taken


@contextmanager
def _stopping(interrupted: Callable[[], bool]) -> Iterator[Stop]:
    """Pass Ctrl-C on to all processes."""
    done = threading.Event()
    with tempfile.TemporaryDirectory(prefix="odt-") as folder:
        stop = Stop(os.path.join(folder, "stop"))

        def watch() -> None:
            while not done.wait(POLL):
                if interrupted():
                    stop.request()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield stop
        finally:
            done.set()
            watcher.join()


def _in_parallel(walk: _Walk, most: int, jobs: int) -> Iterator[Part]:
    """The parts of the range, walked at the same time."""
    from joblib import Parallel, delayed, effective_n_jobs

    first = walk.best_at(None, beyond=False)
    if not isinstance(first, Point):
        yield Part(points=(), ended=first, searches=walk.searches, note=walk.note)
        return
    cuts = _cuts(walk.bounded, first.measure, PARTS_PER_JOB * effective_n_jobs(jobs))
    starts = [_Start(point=first), *(_Start(bound=cut) for cut in cuts)]
    yield Part(points=(), ended=None, searches=walk.searches)
    yield from Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_walked)(walk, start, end, most)
        for start, end in zip(starts, [*cuts, None], strict=True)
    )


def _walked(walk: _Walk, start: _Start, end: Fraction | None, most: int) -> Part:
    """One part, in a process of its own; Ctrl-C of the terminal reaches it too."""
    with interruptible():
        return walk.part(start, end, most)


def _cuts(bounded: Bounded, first: Fraction | None, parts: int) -> list[Fraction]:
    """Bounds that part the range between the loosest point and the tightest bound there can be."""
    if first is None:
        return []
    end = Fraction(0)
    if bounded.op == ">=" or first <= 0:
        kind = BY_NAME[bounded.measure.term].kind if isinstance(bounded.measure, Apply) else None
        end = Fraction(1) if kind is Kind.SHARE else first + 2 * (bounded.bound - first)
    step = (end - first) / parts
    found = [(first + step * at).limit_denominator(1000) for at in range(1, parts)]
    tighter = [cut for cut in found if bounded.tighter(cut, first)]
    return sorted(set(tighter), reverse=bounded.op == "<=")


def _joined(analysis: Analysis, walk: _Walk, parts: list[Part], most: int, began: float) -> Curve:
    """The parts as one curve; where limits left points that others beat, without them."""
    found: dict[tuple[object, ...], Point] = {}
    for part in parts:
        for point in part.points:
            found.setdefault((point.measure, point.objective), point)
    front = _front(list(found.values()), walk)
    kept = tuple(
        replace(point, result=replace(point.result, rows=analysis.rows)) for point in front[:most]
    )
    reasons = [part.ended for part in parts if part.ended not in (None, "tightest")]
    if len(front) > most:
        reasons.insert(0, "points")
    measures = [*(one.measure for one in analysis.problem.objective), walk.bounded.measure]
    ended: Ended = reasons[0] if reasons and reasons[0] is not None else "tightest"
    return Curve(
        rule=walk.bounded,
        stages=tuple(stage.text for stage in analysis.problem.objective),
        points=kept,
        complete=ended == "tightest" and all(point.efficient for point in kept),
        ended=ended,
        backend=walk.backend,
        seconds=time.monotonic() - began,
        searches=sum(part.searches for part in parts),
        units=tuple(unit_of(one, analysis.problem) for one in measures),
        notes=tuple(dict.fromkeys(part.note for part in parts if part.note)),
        warnings=analysis.warnings,
    )


def _front(points: list[Point], walk: _Walk) -> list[Point]:
    """From the loosest to the tightest, without points that a tighter one is as good as."""
    sign = -1 if walk.bounded.op == "<=" else 1
    ends = [point for point in points if point.measure is None]
    others = [point for point in points if point.measure is not None]
    others.sort(key=lambda point: sign * (point.measure or Fraction(0)))
    front: list[Point] = []
    for point in reversed([*others, *ends]):
        if not front or not walk.is_as_good(front[-1], point):
            front.append(point)
    return front[::-1]


__all__ = ["MAX_CURVE_POINTS", "trace"]
