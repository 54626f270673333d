"""A feasible set of outputs, ready for queries: its pieces in the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from odtdsl.base import engine
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.datasets.table import BoolArray, FloatArray
from odtdsl.problem.ir.expr import Condition, applications
from odtdsl.problem.ir.forms import Core, OutputSet
from odtdsl.problem.ir.intervals import nearest_float
from odtdsl.problem.ir.outputs import TOLERANCE
from odtdsl.problem.outputs.compile import compile_outputs
from odtdsl.problem.outputs.union import FREE, Apart, Number, OutputUnion, Piece, Range
from odtdsl.problem.outputs.words import piece_words

if TYPE_CHECKING:
    from odtdsl.problem.ir.rows import Rows

Weights = Sequence[float] | FloatArray

MAX_SHOWN_PIECES = 6
"""Pieces that are said; beyond, how many there are."""


class FeasibleSet:
    """The output vectors that all rules admit.

    Attributes
    ----------
    union
        As pieces in exact numbers; pieces that hold nothing are left out.
    native
        The same in the engine, in floats.
    """

    def __init__(self, union: OutputUnion) -> None:
        held = tuple(piece for piece in union.pieces if _holds_something(union, piece))
        self.union = replace(union, pieces=held)

    def __getstate__(self) -> dict[str, OutputUnion]:
        """Without the set in the engine, which is made again where it is asked for."""
        return {"union": self.union}

    @cached_property
    def native(self) -> engine.OutputSpace:
        """The set in the engine; floats, projections and membership come from there."""
        return _native(self.union)

    @property
    def n_targets(self) -> int:
        """The number of targets, the length of an output vector."""
        return len(self.union.steps)

    @property
    def is_empty(self) -> bool:
        """Whether no output vector satisfies the rules."""
        return not self.union.pieces

    @property
    def convex(self) -> bool:
        """Whether the set is plainly convex: a single polyhedron without a grid."""
        return bool(self.native.convex)

    @property
    def everything(self) -> bool:
        """Whether every output vector satisfies the rules."""
        return bool(self.native.everything)

    def contains(self, outputs: FloatArray) -> BoolArray:
        """bool (n,): which of the output vectors, float64 (n, n_targets), lie in the set.

        Within 1e-9 * (1 + |bound|), as audits allow.
        """
        found: BoolArray = self.native.contains(_rows(outputs), TOLERANCE)
        return found

    def project(
        self,
        goals: FloatArray,
        weights: Weights | None = None,
        *,
        price: float | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """The nearest members of the set.

        Parameters
        ----------
        goals
            float64 (n, n_targets).
        weights
            What a target's squared distance weighs; default 1 each.
        price
            Of one unit of violation (1-norm, of the nearest piece); default: none may be.

        Returns
        -------
        values, outputs
            float64 (n,), the weighted squared distance (plus price times violation), and
            float64 (n, n_targets). Infinite and NaN where the set is empty. Of equally near
            members that of the first piece.
        """
        values, outputs = self.native.project(_rows(goals), self._weights(weights), price)
        return values, outputs

    def deviance(
        self, goals: FloatArray, weights: Weights | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """As `project`, by half the Poisson deviance of means `goals`; infinite where a goal
        above 0 would get an output of 0."""
        values, outputs = self.native.deviance(_rows(goals), self._weights(weights))
        return values, outputs

    def absolute(
        self,
        points: FloatArray,
        row_weights: Weights | None = None,
        weights: Weights | None = None,
        *,
        price: float | None = None,
    ) -> tuple[float, FloatArray]:
        """The member with the least weighted sum of absolute differences from the points.

        Parameters
        ----------
        points, row_weights
            float64 (n, n_targets) and (n,).
        weights, price
            As of `project`; a unit of violation is paid for by every weighted row.
        """
        points = _rows(points)
        rows = np.ones(len(points)) if row_weights is None else row_weights
        value, output = self.native.absolute(
            points, np.ascontiguousarray(rows, dtype=np.float64), self._weights(weights), price
        )
        return float(value), output

    def _weights(self, weights: Weights | None) -> FloatArray:
        given = [1.0] * self.n_targets if weights is None else list(weights)
        return np.array(given, dtype=np.float64)

    def lines(self, names: Sequence[str]) -> list[str]:
        """The set in words, a line per piece."""
        return [piece_words(piece, self.union.steps, names) for piece in self.union.pieces]


def feasible_set(core: Core) -> FeasibleSet | None:
    """The outputs that a core's rules admit; None where every vector is."""
    if core.targets is None:
        return None
    conditions = _output_conditions(core)
    if not conditions and not any(core.steps):
        return None
    found = _compiled(conditions, core.steps or (None,) * core.targets.shape[1])
    return None if found.everything else found


def _output_conditions(core: Core) -> tuple[Condition, ...]:
    """The conditions of a core's rules on leaf outputs."""
    return tuple(
        literal.atom.condition
        for clause in core.clauses
        for literal in clause.literals
        if isinstance(literal.atom, OutputSet)
    )


@lru_cache(maxsize=128)
def _compiled(conditions: tuple[Condition, ...], steps: tuple[Fraction | None, ...]) -> FeasibleSet:
    return FeasibleSet(compile_outputs(conditions, steps))


def compiled(conditions: Sequence[Condition], steps: Sequence[Fraction | None]) -> FeasibleSet:
    """The set where all conditions hold, compiled once.

    Raises
    ------
    OdtError
        R302: too many alternatives. X202: the native part of the package is not built.
    """
    return _compiled(tuple(conditions), tuple(steps))


def anything(n_targets: int) -> FeasibleSet:
    """The set of all vectors."""
    piece = Piece(bounds=(FREE,) * n_targets)
    return FeasibleSet(OutputUnion(steps=(None,) * n_targets, pieces=(piece,)))


# ---- to the engine


def _holds_something(union: OutputUnion, piece: Piece) -> bool:
    """Whether the nearest point of a piece to some point is there at all."""
    goal = np.array([[_near_zero(bound) for bound in piece.bounds]])
    native = _native(replace(union, pieces=(piece,)))
    try:
        value, _ = native.project(goal, np.ones(len(piece.bounds)), None)
    except ValueError:  # cases of a grid that never end
        raise error(
            "R306",
            (
                "outputs with a step have no bounds, so it is undecided whether any output "
                "satisfies the rules"
            ),
            helps=("bound the output of every target with a step, such as `0 <= y <= 1000`",),
        ) from None
    return math.isfinite(float(value[0]))


def _near_zero(bound: tuple[Number, Number]) -> float:
    low, high = _low(bound[0]), _high(bound[1])
    return min(max(0.0, low), high)


def _low(end: Number) -> float:
    return -math.inf if end is None else nearest_float(end)


def _high(end: Number) -> float:
    return math.inf if end is None else nearest_float(end)


def _native(union: OutputUnion) -> engine.OutputSpace:
    steps = np.array([0.0 if s is None else nearest_float(s) for s in union.steps])
    n = len(union.steps)
    return engine.OutputSpace(steps, [_piece(piece, n) for piece in union.pieces])


def _piece(piece: Piece, n: int) -> engine.OutputPiece:
    return engine.OutputPiece(
        low=np.array([_low(low) for low, _ in piece.bounds]),
        high=np.array([_high(high) for _, high in piece.bounds]),
        gaps=[(t, nearest_float(low), nearest_float(high)) for t, low, high in piece.gaps],
        ranges=_ranges(piece.ranges, n),
        counts=[_count(one) for one in piece.counts],
        choices=[[_ranges(ranges, n) for ranges in choice] for choice in piece.choices],
    )


def _ranges(ranges: Sequence[Range], n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    factors = np.zeros((len(ranges), n))
    for row, one in zip(factors, ranges, strict=True):
        for target, factor in one.factors:
            row[target] = nearest_float(factor)
    low = np.array([_low(one.low) for one in ranges], dtype=np.float64)
    return factors, low, np.array([_high(one.high) for one in ranges], dtype=np.float64)


def _count(one: Apart) -> tuple[int, npt.NDArray[np.uint32], FloatArray, FloatArray]:
    targets = np.array([target for target, _, _ in one.inside], dtype=np.uint32)
    low = np.array([_low(low) for _, low, _ in one.inside])
    return one.most, targets, low, np.array([_high(high) for _, _, high in one.inside])


def _rows(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(np.atleast_2d(values), dtype=np.float64)


def feasible_lines(rows: Rows) -> tuple[str, ...]:
    """The outputs that a problem's rules admit, a line per piece of the set.

    Nothing where every output is admitted, and for classes. More than a few pieces are counted.

    Parameters
    ----------
    rows
        The problem with its rows, as `Result.rows` has it.
    """
    target = rows.problem.target
    conditions = [
        rule.condition
        for rule in rows.problem.rules
        if any(call.term == "output" for call in applications(rule.condition))
    ]
    if not conditions and target.step is None:
        return ()
    try:
        found = compiled(conditions, (target.step,) * len(target.names))
    except OdtError:  # too many cases, or no engine: there is nothing short to say
        return ()
    if found.everything:
        return ()
    lines = found.lines(target.names)
    if len(lines) <= MAX_SHOWN_PIECES:
        return tuple(lines)
    return (*lines[:MAX_SHOWN_PIECES], f"{len(lines) - MAX_SHOWN_PIECES} more")
