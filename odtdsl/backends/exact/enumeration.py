"""All trees of a problem whose stages are within bounds, the best ones first.

The engine lists trees by its bounds without solving anew for each: see `enumerate.hpp` among the
headers of `solvers`. Every tree is checked here against the whole core before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Literal

import numpy as np

from odtdsl.backends.base import Limits, Objection
from odtdsl.backends.exact.idle_splits import idle_splits_go
from odtdsl.backends.exact.lowering import Features, deepest_of, demands, least, most_leaves, to_raw
from odtdsl.backends.exact.ruled import Ruled, assemble, ruled_objections
from odtdsl.base import engine
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    DepthStage,
    LinearStage,
    Monotone,
    StageForm,
)
from odtdsl.problem.ir.maxima import written_out
from odtdsl.problem.ir.raw import RawTree

Stopped = Literal["", "enough", "time", "interrupted", "memory", "depth"]
"""Why trees may be missing: nothing is, `found` had enough, or a limit was met."""

Found = Callable[[RawTree, tuple[Fraction, ...]], bool]
"""Told of a tree and the values of its stages; False ends the enumeration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerated:
    """What came of an enumeration: complete iff `stopped` is empty."""

    stopped: Stopped
    counters: tuple[tuple[str, int], ...] = ()


def enumerate_objections(core: Core) -> Iterator[Objection]:
    """What keeps the enumeration from a problem that `exact` can solve."""
    yield from ruled_objections(_asked(written_out(core)))


def enumerate_trees(
    core: Core,
    bounds: Sequence[Fraction | None],
    limits: Limits,
    found: Found,
    *,
    shallowest: int = 0,
) -> Enumerated:
    """Tell `found` of every tree that keeps all rules, with stages of at most `bounds`.

    Parameters
    ----------
    core
        A problem with classes, without the objections above.
    bounds
        Per stage its largest value, or None. Bounds before the last one that is given must be the
        least values of their stages.
    limits
        `gap`, `threads` and `seed` are not read.
    found
        As `Found`.
    shallowest
        The least depth that a tree can have, where the depth is the first stage.

    Raises
    ------
    OdtError
        X202: the native part of the package is not built.
    """
    core = written_out(core)
    if not isinstance(core.objective[0], DepthStage):
        return _Enumeration(core, bounds, limits, found).run()
    stopped: Stopped = ""
    counters: dict[str, int] = {}
    deepest, _ = deepest_of(core)
    most = deepest if bounds[0] is None else min(deepest, floor(bounds[0]))
    # Each depth by itself, so that the stages behind it say which tree is next.
    for depth in range(shallowest, most + 1):
        listed = _Enumeration(
            _of_depth(core, depth), bounds[1:] or (None,), limits, found, core
        ).run()
        for name, count in listed.counters:
            counters[name] = counters.get(name, 0) + count
        stopped = listed.stopped
        if stopped:
            break
    if not stopped and bounds[0] is None and deepest_of(core)[1]:
        stopped = "depth"
    return Enumerated(stopped=stopped, counters=tuple(counters.items()))


def _of_depth(core: Core, depth: int) -> Core:
    later: tuple[StageForm, ...] = core.objective[1:] or (LinearStage(measure=Additive()),)
    return replace(core, skeleton=replace(core.tree, depth=depth), objective=later)


def _asked(core: Core) -> Core:
    """What the engine is asked: orders of predictions are checked on whole trees.

    Demands such as `errors = 0` become stages before all others, whose value is known.
    """
    hard = tuple(LinearStage(measure=measure) for _, measure in demands(core))
    kept = tuple(clause for clause in core.clauses if not _on_order(clause))
    return replace(core, clauses=kept, objective=(*hard, *core.objective))


def _on_order(clause: Clause) -> bool:
    return any(isinstance(literal.atom, Monotone) for literal in clause.literals)


class _Enumeration:
    """One run of the engine. `whole` is what trees are checked against, if not the core itself."""

    def __init__(
        self,
        core: Core,
        bounds: Sequence[Fraction | None],
        limits: Limits,
        found: Found,
        whole: Core | None = None,
    ) -> None:
        self.core, self.limits, self.found = core, limits, found
        self.whole = core if whole is None else whole
        self.asked = _asked(core)
        self.bounds = (
            *(Fraction(least(one), one.denominator) for _, one in demands(core)),
            *bounds,
        )
        self.failed: BaseException | None = None
        self.enough = False

    def run(self) -> Enumerated:
        depth, cut_off = deepest_of(self.core)
        if self.whole is not self.core:
            cut_off = False
        if most_leaves(self.core, depth) < 1:
            return Enumerated(stopped="")
        self.depth = depth
        self.ruled: Ruled = assemble(self.asked, depth)
        if not self.ruled.possible:
            return Enumerated(stopped="")
        listed = self._listed()
        return Enumerated(
            stopped=self._stopped(listed, cut_off), counters=tuple(listed.counters.items())
        )

    def _listed(self) -> engine.Listed:
        twin, absent = twins(self.core, self.ruled.features)
        limits = engine.Limits(
            time_limit=self.limits.left(),
            memory_limit=self.limits.table_bytes(),
            interrupted=self.limits.interrupted,
        )
        return engine.enumerate(
            self.ruled.problem(self.core),
            limits,
            self.ruled.at_most(self.bounds),
            self._heard,
            collapse=idle_splits_go(self.whole),
            twin=twin,
            absent=absent,
        )

    def _heard(self, tree: engine.Tree, _value: int) -> bool:
        raw = to_raw(self.core, self.ruled.features, tree)
        evaluation = Evaluation(self.whole, raw)
        shallow = self.whole is not self.core and evaluation.depth < self.depth
        if shallow or evaluation.violations():
            return True
        values = tuple(evaluation.stage_value(stage) for stage in self.whole.objective)
        self.enough = not self.found(raw, values)
        return not self.enough

    def _stopped(self, listed: engine.Listed, cut_off: bool) -> Stopped:
        if self.enough:
            return "enough"
        if listed.complete:
            return "depth" if cut_off else ""
        if listed.interrupted:
            return "interrupted"
        return "memory" if listed.no_memory else "time"


def twins(core: Core, found: Features) -> tuple[list[int], list[BoolArray | None]]:
    """Per test that sends missing cells right its twin that sends them left, or -1.

    And the rows with such a cell: elsewhere both are the same test. Where rules ask for an order
    of predictions, points that no row is go by the side that was chosen: then there are none.
    """
    n = max(1, len(found.tests))
    twin, absent = [-1] * n, [None] * n
    if any(map(_on_order, core.clauses)):
        return twin, list(absent)
    rows: list[BoolArray | None] = list(absent)
    known = {_sided(core, *test): f for f, test in enumerate(found.tests)}
    for f, (family, test) in enumerate(found.tests):
        column, kind, at, side = _sided(core, family, test)
        other = known.get((column, kind, at, "left"))
        if side == "right" and other is not None:
            twin[f] = other
            codes = core.families[family].codes
            rows[f] = np.ascontiguousarray(codes == _missing_code(core, family))
    return twin, rows


def _sided(core: Core, family: int, test: int) -> tuple[int, str, int, str | None]:
    one = core.families[family]
    return one.column, one.kind, test, one.missing


def _missing_code(core: Core, family: int) -> int:
    """Of a family that sends missing cells right: its largest code, behind all values."""
    one = core.families[family]
    return len(one.bins) if one.kind == "bin" else len(one.values)
