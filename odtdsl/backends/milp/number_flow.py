"""Trees whose leaves predict numbers: pattern flow, and the set of rows that each leaf holds.

What a leaf predicts and what it loses follow from its rows alone: the best output that the rules
admit, whatever the loss. Beside the tests, slots and flows of `pattern_flow`, with S the sets of
patterns that some tree may have in slot t (see `row_sets`), columns between 0 and 1:

- `leaf(t,S)`: `sum over S leaf(t,S) = alive(t)`;
- `sum over S with x of leaf(t,S) = flow(x,t)` for every pattern x.

Flows of a tree are 0 or 1, and a corner of the unit cube is no mixture of other corners: exactly
the set of those that flow to t has a 1. A loss is the sum of `leaf(t,S)` times that of S: linear
for squared and absolute errors and deviances alike, with one or many outputs, on grids, and
under any rules on outputs.

Losses are floats. They are written in whole steps, of which the loss of one leaf has some
millions (see `DIGITS`); what a sum may be off stands in `Lost.loose`.

References: the columns are those of set partitioning, as in Firat et al., "Column generation
based heuristic for learning classification trees" (2020), here of all leaves and with the tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from odtdsl.backends.milp.monotone import FlowRules
from odtdsl.backends.milp.pattern_flow import PatternFlow
from odtdsl.backends.milp.program import SKELETON, Affine, Numbers
from odtdsl.backends.milp.row_sets import TooManySets, mask_of, members, refuse, slot_sets
from odtdsl.backends.milp.rows import RowMaker
from odtdsl.backends.milp.structure import Tick
from odtdsl.backends.programs import RowSet
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.forms import Additive, Core, LossBound, Monotone, TargetLoss
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.ir.regression import INFINITE, ROUNDING, allowance, lost
from odtdsl.problem.outputs.leaves import best_output, fitted

DIGITS = 7
"""The largest loss of a leaf has at most a one with so many zeros as steps: what solvers'
tolerances leave of a sum."""

BLURRED = 20
"""Steps of so large sums that solvers' tolerances may hide."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lost:
    """A loss as whole steps.

    Attributes
    ----------
    cost
        The steps.
    least, most
        What they are at least and at most.
    first
        What they are at least where they are more than nothing; 0 where some leaf has less.
    finite
        What they are at most where no leaf has a loss without bound; one that has adds more.
    step
        What one of them is worth.
    loose
        How many steps the sum may be off: values that are nearer count as equal.
    """

    cost: Affine
    least: int
    most: int
    first: int
    finite: int
    step: Fraction
    loose: int


class NumberFlow(PatternFlow):
    """The model of one problem with number targets at one depth.

    Attributes
    ----------
    masks
        The sets that leaves may hold, ascending.
    outputs
        float64 (n_sets, n_targets): what a leaf of each predicts.
    leaf
        Per slot the column of each set that may be there, by its position in `masks`.
    """

    def __init__(
        self,
        core: Core,
        depth: int,
        measures: Sequence[Additive],
        tick: Tick = lambda: None,
    ) -> None:
        super().__init__(core, depth, measures, tick)
        try:
            found = slot_sets(core, self.patterns, self._levels, tick)
        except TooManySets:
            refuse(depth)
        rows = np.argsort(self.patterns.of_row, kind="stable")
        self._rows = np.split(rows, np.cumsum(self.patterns.sizes)[:-1])
        self.masks, self.outputs = self._predictable(sorted(set().union(*found)))
        self._place = {mask: place for place, mask in enumerate(self.masks)}
        self.leaf = [self._leaves(slot, masks) for slot, masks in enumerate(found)]
        self._each: dict[TargetLoss, FloatArray] = {}

    @property
    def row_sets(self) -> tuple[RowSet, ...]:
        """The sets and what leaves of them predict."""
        count = self.patterns.count
        return tuple(
            RowSet(patterns=tuple(members(mask, count).tolist()), output=tuple(output))
            for mask, output in zip(self.masks, self.outputs.tolist(), strict=True)
        )

    @cached_property
    def ranks(self) -> list[IntArray]:
        """Per target, of every set the rank of its output among those of all sets; outputs that
        differ by rounding alone have one."""
        found: list[IntArray] = []
        for column in self.outputs.T:
            values, place = np.unique(column, return_inverse=True)
            size = 1 + np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
            steps = (np.diff(values) > ROUNDING * size).astype(np.int64)
            found.append(np.concatenate([[0], np.cumsum(steps)])[place] if len(values) else place)
        return found

    def predicted(self, slot: int, values: IntArray) -> Affine:
        """What a slot has, given that of every set: int64 (n_sets,); 0 where it is no leaf."""
        places = np.array(list(self.leaf[slot]), dtype=np.int64)
        columns = np.array(list(self.leaf[slot].values()), dtype=np.int64)
        return Affine().add_terms(columns, values[places])

    # ---- columns and rows

    def _labels(self) -> IntArray:
        return np.zeros((self.perfect.n_leaves, 0), dtype=np.int64)

    def _predictable(self, masks: list[int]) -> tuple[list[int], FloatArray]:
        """The sets that some output is admitted for, and the best one."""
        kept: list[int] = []
        outputs: list[tuple[float, ...]] = []
        for mask in masks:
            output = best_output(self.core, self._members(mask))
            self._tick()
            if not np.isnan(output).any():
                kept.append(mask)
                outputs.append(output)
        assert self.core.targets is not None, "a flow of numbers is for number targets"
        shape = (len(kept), self.core.targets.shape[1])
        return kept, np.array(outputs, dtype=np.float64).reshape(shape)

    def _members(self, mask: int) -> IntArray:
        """The rows of a set, ascending."""
        patterns = members(mask, self.patterns.count).tolist()
        return np.sort(np.concatenate([self._rows[x] for x in patterns]))

    def _leaves(self, slot: int, masks: list[int]) -> dict[int, int]:
        """The columns of a slot, and the rows that bind them to its flow."""
        name, count = self.slot_name(slot), self.patterns.count
        here = [self._place[mask] for mask in masks if mask in self._place]
        alone = self.perfect.depth == 0  # solvers tell no bound where no column is to be whole
        names = [f"leaf({name},s{place})" for place in here]
        columns = self.program.columns(names, integer=alone)
        row = Affine().add_terms(columns, np.ones_like(columns)).add(self.alive(slot), -1)
        self.program.row(f"one_leaf({name})", SKELETON, row, lower=0, upper=0)
        inside = [members(self.masks[place], count) for place in here]
        patterns = np.concatenate([np.arange(count), *inside])
        taken = np.concatenate(
            [self.flow[:, slot], np.repeat(columns, [len(one) for one in inside])]
        )
        order = np.argsort(patterns, kind="stable")
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(patterns, minlength=count), out=starts[1:])
        signs = np.where(np.arange(len(patterns)) < count, -1, 1)
        self.program.block(
            [f"in_leaf(p{x},{name})" for x in range(count)],
            SKELETON,
            starts=starts,
            columns=taken[order],
            values=signs[order],
            lower=np.zeros(count, dtype=np.int64),
            upper=np.zeros(count, dtype=np.int64),
        )
        self._tick()
        return dict(zip(here, columns.tolist(), strict=True))

    # ---- losses

    def lost(self, loss: TargetLoss, beside: Sequence[Fraction] = ()) -> Lost:
        """A loss of the tree, in steps that are no finer than prices `beside` it need."""
        each = self._of_sets(loss)
        known = [abs(x) for x in each.tolist() if math.isfinite(x)]
        largest = max([*known, *(float(abs(price)) for price in beside)], default=0.0)
        step = _step(largest)
        steps = [round(Fraction(x) / step) if math.isfinite(x) else None for x in each.tolist()]
        prices = len(self.active) + 1 if beside else 0
        loose = (self.perfect.n_leaves + prices) // 2 + 1
        finite = sum(max([abs(steps[s] or 0) for s in one], default=0) for one in self.leaf)
        beyond = 2 * (finite + loose) + BLURRED + 1  # whatever the others are
        whole = [beyond if value is None else value for value in steps]
        cost = Affine()
        for slot in self.leaf:
            for place, column in slot.items():
                cost.add_term(column, whole[place])
        return Lost(
            cost=cost,
            least=sum(min([0, *(whole[s] for s in one)]) for one in self.leaf),
            most=sum(max([0, *(whole[s] for s in one)]) for one in self.leaf),
            first=min((x for x in whole if x), default=0) if min(whole, default=0) >= 0 else 0,
            finite=finite,
            step=step,
            loose=loose,
        )

    def _of_sets(self, loss: TargetLoss) -> FloatArray:
        """float64 (n_sets,): the loss of a leaf of each; infinite where it has no bound."""
        if loss not in self._each:
            found = []
            for mask, output in zip(self.masks, self.outputs, strict=True):
                value = lost(self.core, loss, self._members(mask), output[None, :])
                found.append(math.inf if value >= INFINITE else float(value))
                self._tick()
            self._each[loss] = np.array(found, dtype=np.float64)
        return self._each[loss]

    # ---- trees in and out

    def decode(self, point: Numbers) -> RawTree:
        """The tree of a solution, with the best outputs of its leaves."""
        return fitted(self.core, super().decode(point))

    def _predict(self, point: IntArray, slot_of: IntArray) -> bool:
        for slot in np.unique(slot_of).tolist():
            place = self._place.get(mask_of(slot_of == slot), -1)
            if place not in self.leaf[slot]:
                return False
            point[self.leaf[slot][place]] = 1
        return True


def _step(largest: float) -> Fraction:
    """The least of 1, 2, 5, 10, ... and their tenths that makes at most `DIGITS` zeros of it."""
    if not largest:
        return Fraction(1)
    tens = Fraction(10) ** (math.floor(math.log10(largest)) - DIGITS)
    return next(x * tens for x in (1, 2, 5, 10, 20) if largest <= x * tens * 10**DIGITS)


class NumberRules(FlowRules):
    """Rules on trees of numbers: those of other trees, and bounds on losses.

    Rules on outputs make no rows: leaves have no columns that break them. An order of
    predictions compares, in place of labels, the ranks of the outputs that leaves predict.
    """

    encoding: NumberFlow

    def __init__(self, encoding: NumberFlow, n_classes: int, tick: Tick) -> None:
        super().__init__(encoding, n_classes, tick)
        self._more: dict[tuple[int, int, int], Affine] = {}

    def _not_falling(self, atom: Monotone, row: RowMaker, low: int, high: int) -> None:
        encoding = self.encoding
        first, second = (low, high) if atom.increasing else (high, low)
        reasons = self._parts.reasons(atom.column, low, high)
        dead = Affine(constant=1).add(encoding.alive(second), -1)
        for target, ranks in enumerate(encoding.ranks):
            most = int(ranks.max(initial=0))
            falls = encoding.predicted(first, ranks).add(encoding.predicted(second, ranks), -1)
            falls.add(reasons, -most).add(dead, -most)
            place = f"{encoding.slot_name(low)}_{encoding.slot_name(high)}_t{target}"
            row.at_most(falls, 0, most, place)

    def _falling(self, atom: Monotone, low: int, high: int) -> list[Affine]:
        first, second = (low, high) if atom.increasing else (high, low)
        return [
            self._parts.falls(atom, low, high, f"t{target}", [self._above(first, second, target)])
            for target in range(len(self.encoding.ranks))
        ]

    def _above(self, first: int, second: int, target: int) -> Affine:
        """A column that is 1 only if both slots are leaves and the first one predicts more."""
        key = (first, second, target)
        if key not in self._more:
            encoding, ranks = self.encoding, self.encoding.ranks[target]
            slots = f"{encoding.slot_name(first)},{encoding.slot_name(second)}"
            name = f"more({slots},t{target})"
            more = Affine().add_term(self.program.column(name, integer=True))
            apart = encoding.predicted(first, ranks).add(encoding.predicted(second, ranks), -1)
            alive = [encoding.alive(slot) for slot in (first, second)]
            most = int(ranks.max(initial=0))
            parts = self._parts
            parts.add(f"by_{name}", more.copy().add(more, most).add(apart, -1), most)
            for index, one in enumerate(alive):
                parts.add(f"alive_{name}_{index}", more.copy().add(one, -1), 0)
            self.program.completed_by(
                next(iter(more.terms)),
                lambda p: int(apart.at(p) > 0 and all(one.at(p) > 0 for one in alive)),
            )
            self._more[key] = more
        return self._more[key]

    def _on_outputs(self) -> None:
        """Nothing is left to be asked of the leaves that have columns."""

    def _loss(self, atom: LossBound, positive: bool, row: RowMaker) -> None:
        found = self.encoding.lost(atom.loss)
        limit = math.floor((atom.at_most + allowance(atom.at_most)) / found.step)
        bound = min(max(limit, found.least - 1 - found.loose), found.finite) + found.loose
        if positive:
            row.at_most(found.cost, bound, found.most, "")
            return
        above = bound + BLURRED
        if limit >= 0 and above < found.first:  # what is above has a leaf that is
            above = found.first
        row.at_most(Affine().add(found.cost, -1), -above, -found.least, "")
