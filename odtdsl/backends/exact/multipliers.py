"""Certificates under rules: whole multipliers of the rules on the whole tree, for `odtcheck`.

With multipliers at least 0 of bounds on measures, the least of the loss plus multiplier times
(measure less bound) over all trees is at most the loss of any tree that keeps the bounds:
Lagrange's bound. Good multipliers leave the checker few trees to look at; bad ones cost it time,
not truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from odtdsl.backends.base import Limits
from odtdsl.backends.exact.lowering import digit
from odtdsl.backends.exact.ruled import Ruled
from odtdsl.base import engine
from odtdsl.base.frozen import dataclass
from odtdsl.datasets.table import IntArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, LinearStage

SCALE = 1000
"""Multipliers are whole numbers over this."""

MOST = (1 << 40) - 1
"""What `odtcheck` takes for a multiplier, at most."""

SUMS = 1 << 53
"""What `odtcheck` keeps all its sums below."""

ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stacked:
    """The stages as one loss, as `odtcheck` stacks them from their lines in a certificate.

    Attributes
    ----------
    units
        What a step of each stage weighs.
    price
        What a leaf weighs.
    base
        What the rows lose together whatever is predicted.
    beyond
        Above every value.
    """

    units: tuple[int, ...]
    price: int
    base: int
    beyond: int

    @classmethod
    def of(cls, core: Core, depth: int) -> Stacked:
        """Of the objective of a core."""
        shape = (core.n_rows, core.n_classes)
        leaves = min(1 << depth, core.n_rows)
        unit, units, price = 1, list[int](), 0
        total = np.zeros(shape, dtype=np.int64)
        for stage in reversed(core.objective):
            assert isinstance(stage, LinearStage), "as `uncovered` has it"
            output, of_leaf, span = digit(stage.measure, shape, leaves)
            total += output * unit
            price += of_leaf * unit
            units.insert(0, unit)
            unit *= span + 1
        base = int(total.min(axis=1).sum())
        return cls(units=tuple(units), price=price, base=base, beyond=unit)


def certificate_of(
    core: Core, made: Ruled, found: engine.RuledAnswer | None, limits: Limits
) -> bytes:
    """The steps that show a value of the search to be the least, or that no tree keeps the rules.

    `found`: what the search has found; None if it had no need to begin.
    """
    objective = None if found is None else found.objective
    stacked = Stacked.of(core, made.depth)
    if objective is None:
        target = stacked.beyond - stacked.base
    else:
        values = (made.stage(objective, at) for at in range(len(stacked.units)))
        target = _target(core, stacked, values)
    numbers = [made.depth, target]
    if target > 0 and found is not None and objective is not None:
        numbers += _of_search(made, stacked, found)
    elif target > 0:
        numbers += _Tuning(core, made, stacked, limits).multipliers(needed=True)
    return b"".join(varints(numbers))


def _of_search(made: Ruled, stacked: Stacked, found: engine.RuledAnswer) -> list[int]:
    """The scale of the loss and the multipliers by which the search bounds it, as it told them."""
    # The certificate may weigh the stages otherwise; then the first one counts.
    scale = found.scale * made.rules.objective[0][0]
    unit = SCALE * stacked.units[0]
    rules = [(one * unit + scale // 2) // scale for one in found.multipliers]
    return _small(made, stacked, SCALE, rules)


def _small(made: Ruled, stacked: Stacked, scale: int, rules: Sequence[int]) -> list[int]:
    """A scale and a multiplier per rule on the whole tree, so small that `odtcheck` takes them."""
    spans = [
        _span(made, *clause[0][1:]) if len(clause) == 1 and clause[0][0] == "component" else 0
        for clause in made.rules.clauses
    ]
    loss = stacked.beyond + (stacked.price << made.depth)

    def share(scale: int, room: int) -> Fraction:
        total = scale * loss + sum(m * span for m, span in zip(rules, spans, strict=True))
        largest = max(rules, default=0)
        return min(Fraction(1), Fraction(room, max(1, total)), Fraction(MOST, max(1, largest)))

    whole = scale and max(1, int(scale * share(scale, SUMS - 1)))
    if whole < scale:
        rules = [one * whole // scale for one in rules]
    left = share(0, max(0, SUMS - 1 - whole * loss))
    return [whole, *(int(one * left) for one in rules)]


def _span(made: Ruled, component: int, bound: int) -> int:
    """What sums of `odtcheck` have of a bound for each unit of its multiplier, at most.

    Weights of a row and class are counted above the least of the row, which may be negative, and
    this least beside them: three times the size of a weight.
    """
    rules = made.rules
    reach = rules.components.reach(component, 1 << made.depth, rules.states.delta, made.depth)
    return 3 * reach + abs(bound)


def too_long(core: Core, made: Ruled) -> Iterator[str]:
    """What has sums or bounds of more digits than `odtcheck` takes."""
    from odtdsl.backends.exact.paths import clauses_of

    rules = made.rules
    if all(isinstance(stage, LinearStage) for stage in core.objective):
        stacked = Stacked.of(core, made.depth)
        if 2 * (stacked.beyond + (stacked.price << made.depth)) > SUMS:  # as `odtcheck` asks
            yield "the stages together"
    for name, clause in zip(rules.names, rules.clauses, strict=True):
        if any(kind == "component" and _span(made, at, most) >= SUMS for kind, at, most in clause):
            yield f"rule `{name}`"
    for scope, clauses in ((Scope.LEAF, rules.leaf_clauses), (Scope.SPLIT, rules.split_clauses)):
        for clause_, literals in zip(clauses_of(core, scope), clauses, strict=True):
            for sums, constant, at_most in literals:
                each = (
                    float(np.abs(rules.components.sums[at]).sum(dtype=np.float64))
                    for at in sums
                    if at >= 0
                )
                if sum(each) + abs(at_most - constant) >= SUMS:
                    yield f"rule `{clause_.origin.rule}`"


def certificate_without(core: Core, made: Ruled, values: Iterable[Fraction]) -> bytes:
    """The same of an optimum with these values of the stages, where no rule has a multiplier."""
    target = _target(core, Stacked.of(core, made.depth), values)
    rules = [0 for _ in made.rules.clauses]
    return b"".join(varints([made.depth, target, *([1, *rules] if target > 0 else [])]))


def list_steps(core: Core, made: Ruled, limits: Limits) -> bytes:
    """The steps of a list under rules: the scale of the loss, and the multipliers."""
    tuning = _Tuning(core, made, Stacked.of(core, made.depth), limits)
    scale, *rules = tuning.multipliers(needed=False)
    return b"".join(varints([scale if any(rules) else 1, *rules]))  # sums are to stay small


def _target(core: Core, stacked: Stacked, values: Iterable[Fraction]) -> int:
    """The value of a tree, above what the rows lose together, by those of its stages."""
    from odtdsl.backends.exact.lowering import least

    total = -stacked.base
    for stage, unit, value in zip(core.objective, stacked.units, values, strict=True):
        assert isinstance(stage, LinearStage), "as `uncovered` has it"
        total += unit * (int(value * stage.measure.denominator) - least(stage.measure))
    return total


def varints(values: Iterable[int]) -> Iterator[bytes]:
    """Numbers as a certificate has them."""
    for value in values:
        left = value
        while left >= 128:
            yield bytes([left & 127 | 128])
            left >>= 7
        yield bytes([left])


class _Tuning:
    """Multipliers by cutting planes: those that are best for the trees that are known, and the tree
    that is best for these."""

    def __init__(self, core: Core, made: Ruled, stacked: Stacked, limits: Limits) -> None:
        self.core, self.made, self.stacked, self.limits = core, made, stacked, limits
        self.bounds = [
            (at, clause[0][1], clause[0][2])
            for at, clause in enumerate(made.rules.clauses)
            if len(clause) == 1 and clause[0][0] == "component"
        ]
        self.stages = [components[0] for _, components, _ in made.rules.objective]

    def multipliers(self, *, needed: bool) -> list[int]:
        """The scale of the loss, 0 where no tree keeps the rules, and a multiplier per rule on the
        whole tree."""
        scale = 0 if needed else SCALE
        best = [0] * len(self.bounds)
        if self.bounds:
            best = max(self._tried(scale), key=lambda one: one[0], default=(0.0, best))[1]
        rules = [0] * len(self.made.rules.clauses)
        for (at, _, _), multiplier in zip(self.bounds, best, strict=True):
            rules[at] = multiplier
        return _small(self.made, self.stacked, scale, rules)

    def _tried(self, scale: int) -> Iterator[tuple[float, list[int]]]:
        """Multipliers with their bounds, over `scale`."""
        known: list[tuple[float, list[int]]] = []
        wanted, most = [0] * len(self.bounds), float("inf")
        for _ in range(ROUNDS):
            tree = self._best_tree(scale, wanted)
            if tree is None:
                return
            loss, excess = self._measured(tree)
            found = scale * loss + sum(m * x for m, x in zip(wanted, excess, strict=True))
            yield found, wanted
            if found >= most - 1e-6 * abs(most) - 1 or (loss, excess) in known:
                return
            known.append((loss, excess))
            most, wanted = self._master(scale, known)

    def _best_tree(self, scale: int, multipliers: Sequence[int]) -> engine.Tree | None:
        terms = [
            (scale * unit, (component,), -1)
            for unit, component in zip(self.stacked.units, self.stages, strict=True)
        ]
        terms += [
            (multiplier, (component,), -1)
            for multiplier, (_, component, _) in zip(multipliers, self.bounds, strict=True)
        ]
        rules = replace(self.made.rules, clauses=[], objective=[t for t in terms if t[0]], offset=0)
        free = replace(self.made, rules=rules).problem(self.core)
        return engine.solve_ruled(free, self.limits.of_engine(gap=False)).tree

    def _measured(self, tree: engine.Tree) -> tuple[int, list[int]]:
        """The loss of a tree, and by how much it passes each bound."""
        label, n_leaves = self._labels(tree)

        def value(component: int) -> int:
            found = self.made.rules.components
            total = found.leaf[component] * n_leaves
            for c, at in enumerate(found.sum_of[component]):
                if at >= 0:
                    total += int(found.sums[at][label == c].sum())
            return total

        loss = sum(
            unit * value(component)
            for unit, component in zip(self.stacked.units, self.stages, strict=True)
        )
        return loss, [value(component) - bound for _, component, bound in self.bounds]

    def _labels(self, tree: engine.Tree) -> tuple[IntArray, int]:
        label = np.zeros(self.core.n_rows, dtype=np.int64)
        ranks, n_leaves = self.made.features.ranks, 0
        todo = [(0, np.arange(self.core.n_rows))]
        while todo:
            at, rows = todo.pop()
            feature = int(tree.feature[at])
            if feature < 0:
                label[rows] = tree.label[at]
                n_leaves += 1
                continue
            left = ranks[feature, rows] <= tree.cut[at]
            todo += [(int(tree.left[at]), rows[left]), (int(tree.right[at]), rows[~left])]
        return label, n_leaves

    def _master(
        self, scale: int, known: Sequence[tuple[float, list[int]]]
    ) -> tuple[float, list[int]]:
        """The best multipliers if there were no other trees, and the bound with them."""
        from scipy.optimize import linprog

        n = len(self.bounds)
        span = max(1.0, *(max(map(abs, excess), default=1) for _, excess in known))
        unit = float(scale * self.stacked.units[0]) if scale else 1.0
        high = max(SCALE * 100.0, unit * 100.0) if scale else float(SCALE)
        rows = [[*(-float(x) for x in excess), 1.0] for _, excess in known]
        sides = [scale * float(loss) for loss, _ in known]
        top = (abs(scale) * float(self.stacked.beyond) + high * span * n) * 2
        found = linprog(
            [0.0] * n + [-1.0],
            A_ub=rows,
            b_ub=sides,
            bounds=[(0, high)] * n + [(-top, top)],
            method="highs",
        )
        if found.x is None:
            return float("inf"), [0] * n
        return float(found.x[-1]), [round(x) for x in found.x[:-1]]
