"""`greedy` for diagrams: many starts of layered growth, each reworked, pruned, judged exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from odtdsl.backends.base import Limits, RawAnswer, Report
from odtdsl.backends.decode_diagram import Draft, canonical, folded, simplify_diagram
from odtdsl.backends.greedy.costs import Lagrangian, PenalizedObjective
from odtdsl.backends.greedy.diagram_local_search import DiagramLocalSearch, pruned
from odtdsl.backends.greedy.layers import LayerGrower, Start
from odtdsl.backends.greedy.scans import Scans
from odtdsl.backends.incumbent import Incumbent
from odtdsl.datasets.candidates import short_cut
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.evaluate import NotEvaluable
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, Depth, Linear, Used, demanded
from odtdsl.problem.ir.planes import planes
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawPlane, RawTest

ATTEMPTS = 400
"""Starts at most."""
PATIENCE = 100
"""Starts without anything better after which there are no more."""
WORK = 60_000_000
"""Cells counted at most, once a valid diagram is known; four times as many before."""
BRIEF_PATIENCE, BRIEF_WORK = 20, 6_000_000
"""The same where a search goes on from it."""
SHARE = 0.6
"""Of the features, how many each split looks at after the first start (as in the study)."""


def grow(
    core: Core,
    limits: Limits,
    start: RawDiagram | None,
    report: Report | None,
    *,
    brief: bool = False,
) -> RawAnswer:
    """The best diagram of many starts; deterministic for a seed within the limits.

    Under hyperplanes splits weigh one feature each, as in the study's first step. The status
    is `feasible` or `unknown`, never a proof.
    """
    incumbent: Incumbent[RawDiagram] = Incumbent(core, limits, report)
    if start is not None:
        incumbent.offer(start)
    _Starts(core, incumbent, limits.seed, brief=brief).run()
    return incumbent.answer(
        None if incumbent.best is None else simplify_diagram(core, incumbent.best)
    )


class _Starts:
    """One run: starts; the best diagram is kept."""

    def __init__(
        self, core: Core, incumbent: Incumbent[RawDiagram], seed: int, *, brief: bool
    ) -> None:
        self.core = core
        self.patience, self.work = (BRIEF_PATIENCE, BRIEF_WORK) if brief else (PATIENCE, WORK)
        self.incumbent = incumbent
        self.planes = core.diagram.splits == "hyperplane"
        widths = core.diagram.widths[: _depth(core)]
        self.axis = replace(core, skeleton=replace(core.diagram, widths=widths, splits="axis"))
        self.scans = Scans(self.axis)
        self.rng = np.random.default_rng(seed)
        self.lagrangian = Lagrangian(core)
        self.most = _most_splits(core)
        self.required = _required(core)
        self.free = not any(clause.scope is Scope.PATH for clause in core.clauses)

    def run(self) -> None:
        for label in range(self.core.n_classes):
            self.incumbent.offer(RawDiagram(entry=~label))
        idle = 0
        for widths, start, first in self._plans():
            limit = self.work if self.incumbent.best is not None else 4 * self.work
            if self.incumbent.stopped() or self.scans.work > limit or not self.scans.n_tests:
                return
            before = self.incumbent.values
            self._attempt(widths, start, first)
            idle = idle + 1 if self.incumbent.values == before else 0
            if idle > self.patience and self.incumbent.best is not None:
                return

    def _plans(self) -> Iterator[tuple[tuple[int, ...], Start, int | None]]:
        """Plain growth, forced roots, shallow diagrams, then starts at random."""
        skeleton = self.axis.skeleton
        assert isinstance(skeleton, DiagramSkeleton)
        widths = skeleton.widths
        if not widths:
            return  # a rule leaves no room for a split
        yield widths, Start(), None
        for column in self.required:
            yield widths, Start(), column
        for depth in range(1, min(len(widths), 4)):
            yield widths[:depth], Start(), None
        for attempt in range(ATTEMPTS):
            depth = len(widths) if attempt % 4 else 1 + int(self.rng.integers(len(widths)))
            yield widths[:depth], Start(share=SHARE, loose=attempt % 2 == 1), None

    def _attempt(self, widths: tuple[int, ...], start: Start, first: int | None) -> None:
        objective = self.lagrangian.current()
        gains = objective.gains.astype(np.float64)
        grower = LayerGrower(self.axis, widths, self.scans, self.rng)
        layers: list[list[RawNode | None]] = [list(x) for x in grower.grow(gains, start, first)]
        grown = folded(Draft(entry=0, layers=layers)) if layers else None
        if grown is None or not grown.layers:
            return
        self._offer(grown)
        self._offer(pruned(self.axis, grown, objective, self.scans, self.most))
        if self.incumbent.stopped():
            return
        better = self._improved(grown, objective)
        small = pruned(self.axis, better, objective, self.scans, self.most)
        self._offer(small)
        again = self._improved(small, objective)
        self._offer(pruned(self.axis, again, objective, self.scans, self.most))

    def _improved(self, raw: RawDiagram, objective: PenalizedObjective) -> RawDiagram:
        if not raw.layers:
            return raw
        work = DiagramLocalSearch(self.axis, raw, objective.gains.astype(np.float64), self.scans)
        work.improve(set(range(len(self.core.columns))) if self.free else None)
        return work.raw() or raw

    def _offer(self, raw: RawDiagram) -> None:
        """Judge a diagram of axis splits; what it breaks is learnt from."""
        raw = canonical(raw)
        if self.planes:
            raw = _as_planes(self.core, raw)
        try:
            self.incumbent.offer(raw)
            self.lagrangian.learn(DiagramEvaluation(self.core, raw))
        except NotEvaluable:
            return


def _as_planes(core: Core, raw: RawDiagram) -> RawDiagram:
    """A diagram of axis splits as one of hyperplanes that weigh one column each."""
    index = {(c.column, c.level): i for i, c in enumerate(planes(core).columns)}

    def plane(split: RawTest | RawPlane) -> RawPlane:
        if isinstance(split, RawPlane):
            return split
        family = core.families[split.family]
        if family.kind == "threshold":
            low, high = float(family.values[split.test]), float(family.values[split.test + 1])
            # `x < bound` goes left: of (low, high], as floats.
            bound = short_cut(math.nextafter(low, math.inf), math.nextafter(high, math.inf))
            return RawPlane(weights=((index[family.column, None], 1.0),), bound=bound)
        level = int(family.values[split.test])
        return RawPlane(weights=((index[family.column, level], -1.0),), bound=-0.5)

    layers = tuple(
        tuple(replace(node, split=plane(node.split)) for node in layer) for layer in raw.layers
    )
    return RawDiagram(entry=raw.entry, layers=layers)


def _depth(core: Core) -> int:
    limits = [rule.at_most for rule in demanded(core.clauses, Depth)]
    return max(0, min([len(core.diagram.widths), *limits]))


def _most_splits(core: Core) -> int | None:
    """The bound of a rule on the number of splits; None without one."""
    limits: list[int] = []
    for atom in demanded(core.clauses, Linear, Scope.MODEL):
        measure = atom.measure
        plain = measure.output is None and measure.columns is None and not measure.leaves
        if measure.splits > 0 and plain:
            rows = 0 if measure.rows is None else int(measure.rows.sum())
            limits.append((atom.at_most - measure.constant - rows) // measure.splits)
    return max(0, min(limits)) if limits else None


def _required(core: Core) -> list[int]:
    """Columns that rules want some split to test."""
    return list(
        dict.fromkeys(
            literal.atom.column
            for clause in core.clauses
            for literal in clause.literals
            if isinstance(literal.atom, Used) and literal.positive
        )
    )
