"""All trees of a problem whose stages are within bounds, the best ones first.

The engine lists trees by its bounds without solving anew for each: see `enumerate.hpp` among the
headers of `solvers`. Every tree is checked here against the whole core before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import zip_longest
from math import floor, inf
from typing import Literal

import numpy as np

from odtdsl.backends.base import Limits, Objection
from odtdsl.backends.decode import absent_rows, bin_test
from odtdsl.backends.exact.features import Features
from odtdsl.backends.exact.idle_splits import idle_splits_go
from odtdsl.backends.exact.lowering import deepest_of, demands, least, most_leaves
from odtdsl.backends.exact.raw_trees import to_raw
from odtdsl.backends.exact.ruled import Ruled, assemble, ruled_objections
from odtdsl.base import engine
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.families import place
from odtdsl.problem.ir.filters import placing
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    DepthStage,
    LinearStage,
    Monotone,
    StageForm,
)
from odtdsl.problem.ir.intervals import RealSet
from odtdsl.problem.ir.maxima import written_out
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.ir.rows import Rows

Stopped = Literal["", "enough", "time", "interrupted", "memory", "depth"]
"""Why trees may be missing: nothing is, `found` had enough, or a limit was met."""

MOST_MERGED_LEAVES = 32
"""Of larger trees the engine does not compare the functions."""

Found = Callable[[RawTree, tuple[Fraction, ...], int], bool]
"""Told of a tree, the values of its stages, and the number of its function (-1: not compared).

False ends the enumeration.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which trees are told.

    Attributes
    ----------
    least
        The values of the best tree's stages, where they are known.
    most
        Trees to tell.
    tell
        Whether trees are told, or only counted, up to `most`.
    count
        Whether all trees are counted first, and those without each column.
    functions
        How the functions of trees are compared: of those that compute one, the best is told;
        again, if one as good has fewer leaves, or then is shallower. None: each tree is told.
    """

    least: tuple[Fraction, ...] | None = None
    most: int = 2**62
    tell: bool = True
    count: bool = False
    functions: Functions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Functions:
    """What the engine reads of the rows to compare functions, beside the core."""

    rows: Rows
    columns: frozenset[str]
    """Those whose cells may be missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumerated:
    """What came of an enumeration: complete iff `stopped` is empty.

    Attributes
    ----------
    told
        Trees that were told, or would have been.
    counts
        How many trees have which first stage, if all were counted; trees that predict alike
        count as often as there are. None: not counted, or rules on the order of predictions
        are asked of complete trees.
    without
        Per column of the core, how many of these do not test it; empty: not asked for.
    """

    stopped: Stopped
    counters: tuple[tuple[str, int], ...] = ()
    told: int = 0
    counts: tuple[tuple[Fraction, int], ...] | None = None
    without: tuple[int, ...] = ()


def enumerate_objections(core: Core) -> Iterator[Objection]:
    """What keeps the enumeration from a problem that `exact` can solve."""
    yield from ruled_objections(_asked(written_out(core)))


def enumerate_trees(
    core: Core,
    bounds: Sequence[Fraction | None],
    limits: Limits,
    found: Found,
    *,
    wish: Wish = Wish(),
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
        `gap` and `seed` are not read.
    found
        As `Found`.
    wish
        Which trees are told, and what is counted.
    shallowest
        The least depth that a tree can have, where the depth is the first stage.

    Raises
    ------
    OdtError
        X202: the native part of the package is not built.
    """
    core = written_out(core)
    if not isinstance(core.objective[0], DepthStage):
        return _Enumeration(core, bounds, limits, found, wish).run()
    stopped: Stopped = ""
    counters: dict[str, int] = {}
    counts: list[tuple[Fraction, int]] | None = []
    without: list[int] = []
    told = 0
    deepest, _ = deepest_of(core)
    most = deepest if bounds[0] is None else min(deepest, floor(bounds[0]))
    # Each depth by itself, so that the stages behind it say which tree is next.
    for depth in range(shallowest, most + 1):
        listed = _Enumeration(
            _of_depth(core, depth),
            bounds[1:] or (None,),
            limits,
            found,
            replace(wish, least=None),
            core,
        ).run()
        for name, count in listed.counters:
            counters[name] = counters.get(name, 0) + count
        told += listed.told
        if counts is not None and listed.counts is not None:
            counts.append((Fraction(depth), sum(count for _, count in listed.counts)))
            pairs = zip_longest(without, listed.without, fillvalue=0)
            without = [known + more for known, more in pairs]
        else:
            counts = None
        stopped = listed.stopped
        if stopped:
            break
    if not stopped and bounds[0] is None and deepest_of(core)[1]:
        stopped = "depth"
    return Enumerated(
        stopped=stopped,
        counters=tuple(counters.items()),
        told=told,
        counts=None if counts is None else tuple((v, n) for v, n in counts if n),
        without=tuple(without),
    )


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
        wish: Wish,
        whole: Core | None = None,
    ) -> None:
        self.core, self.limits, self.found, self.wish = core, limits, found, wish
        self.whole = core if whole is None else whole
        self.asked = _asked(core)
        self.hard = tuple(Fraction(least(one), one.denominator) for _, one in demands(core))
        self.bounds = (*self.hard, *bounds)
        self.ordered = any(map(_on_order, core.clauses))
        self.enough = False

    def run(self) -> Enumerated:
        depth, cut_off = deepest_of(self.core)
        if self.whole is not self.core:
            cut_off = False
        if most_leaves(self.core, depth) < 1:
            return Enumerated(stopped="", counts=())
        self.depth = depth
        self.ruled: Ruled = assemble(self.asked, depth)
        if not self.ruled.possible:
            return Enumerated(stopped="", counts=())
        listed = self._listed()
        counted = listed.counted and not self.ordered
        return Enumerated(
            stopped=self._stopped(listed, cut_off),
            counters=tuple(listed.counters.items()),
            told=listed.told,
            counts=tuple(self._counts(listed)) if counted else None,
            without=tuple(int(digits, 16) for digits in listed.without) if counted else (),
        )

    def _counts(self, listed: engine.Listed) -> Iterator[tuple[Fraction, int]]:
        """By the value of the first stage that is no demand."""
        at = len(self.hard)
        found: dict[Fraction, int] = {}
        for value, digits in listed.counts:
            first = self.ruled.stage(value, at)
            found[first] = found.get(first, 0) + int(digits, 16)
        yield from sorted(found.items())

    def _listed(self) -> engine.Listed:
        twin, absent = twins(self.core, self.ruled.features)
        limits = engine.Limits(
            time_limit=self.limits.left(),
            memory_limit=self.limits.table_bytes(),
            threads=self.limits.threads,
            interrupted=self.limits.interrupted,
        )
        wish, best = self.wish, self.wish.least
        return engine.enumerate(
            self.ruled.problem(self.core),
            limits,
            engine.Wish(
                at_most=self.ruled.at_most(self.bounds),
                least=None if best is None else self.ruled.at_most((*self.hard, *best)),
                most=wish.most,
                count=wish.count and not self.ordered,
                collapse=idle_splits_go(self.whole),
                deepest=self.whole is not self.core,
            ),
            self._heard if wish.tell or self.ordered else None,
            twins=engine.Twins(of=twin, absent=absent),
            functions=self._functions(),
        )

    def _functions(self) -> engine.FunctionSpace | None:
        """None where the engine cannot tell which trees count: see `merges`."""
        given = self.wish.functions
        if given is None or not merges(self.core):
            return None
        return FunctionSpace(self.core, self.ruled.features, given).given()

    def _heard(self, tree: engine.Tree, _value: int, function: int) -> bool:
        raw = to_raw(self.core, self.ruled.features, tree)
        evaluation = Evaluation(self.whole, raw)
        if self.ordered and evaluation.violations():
            return True
        values = tuple(evaluation.stage_value(stage) for stage in self.whole.objective)
        self.enough = not self.found(raw, values, function)
        return not self.enough

    def _stopped(self, listed: engine.Listed, cut_off: bool) -> Stopped:
        if self.enough or listed.enough:
            return "enough"
        if listed.complete:
            return "depth" if cut_off else ""
        if listed.interrupted:
            return "interrupted"
        return "memory" if listed.no_memory else "time"


def merges(core: Core) -> bool:
    """Whether the engine tells one tree of each function.

    Rules on the order of predictions are asked of complete trees, so each one must be told;
    and functions of large trees are compared here.
    """
    small = most_leaves(core, deepest_of(core)[0]) <= MOST_MERGED_LEAVES
    return small and not any(map(_on_order, core.clauses))


class FunctionSpace:
    """How the engine's splits part the feature space: as `decode` places thresholds."""

    def __init__(self, core: Core, features: Features, given: Functions) -> None:
        self.core, self.features, self.rows = core, features, given.rows
        self.missing = given.columns
        self.allowed = cache(self._allowed)

    def given(self) -> engine.FunctionSpace:
        """What the engine reads."""
        core, n = self.core, max(1, len(self.features.tests))
        codes: list[list[int] | None] = [None] * n
        values, policy, own = [0] * n, [2] * n, [2] * n
        absent: list[BoolArray | None] = [None] * n
        sides = {"left": 0, "right": 1}
        for f, (index, test) in enumerate(self.features.tests):
            family = core.families[index]
            feature = self.rows.problem.features[family.column]
            if test < 0:
                codes[f], values[f] = family.codes.tolist(), len(family.values)
            policy[f] = sides.get(feature.missing or "", 2)
            if family.missing is not None:
                own[f] = sides[family.missing]
                absent[f] = absent_rows(self.rows, feature.name)
        return engine.FunctionSpace(
            column_missing=[name in self.missing for name in core.columns],
            codes=codes,
            values=values,
            policy=policy,
            own=own,
            absent=absent,
            weight=self.rows.weights.tolist(),
            region=self.region,
        )

    def region(
        self, feature: int, low: int, high: int, level: int
    ) -> tuple[int, bool, float, int, float, int, int]:
        """What goes left between two codes of a feature."""
        index, test = self.features.tests[feature]
        family = self.core.families[index]
        if family.kind == "equals":
            return (family.column, False, 0.0, 0, 0.0, 0, int(family.values[test]))
        if family.kind == "bin":
            one = bin_test(family, family.bins[test])
            return (family.column, True, one.low, 0, one.high, int(one.closed), 0)
        cut = place(family, self.allowed(index, level), low, high)
        assert cut is not None, "a threshold may stand at a split that is listed"
        return (family.column, True, -inf, 0, float(cut), 1, 0)

    def _allowed(self, family: int, level: int) -> RealSet:
        return placing(self.core.families[family], self.core.filters, level)


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
