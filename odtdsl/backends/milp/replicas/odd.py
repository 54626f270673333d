"""Diagrams by the ODD study's own formulation, as `--model odd`.

Its splits, axis-aligned ones too, are weights with a margin: see `diagram_planes`, which has the
equations and serves hyperplanes of the default formulation as well. What is the study's alone is
here: equation (12), which orders nodes by the arcs that lead to them, and what it has no place for.

Measured against: `python -m benchmarks.diagrams`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from odtdsl.backends.milp.diagram_arcs import Arcs, ones
from odtdsl.backends.milp.diagram_planes import MARGIN, PlaneFlow
from odtdsl.backends.milp.formulation import Formulation, no_tick
from odtdsl.backends.milp.program import SKELETON, Affine
from odtdsl.backends.milp.structure import Tick
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.intervals import FULL
from odtdsl.problem.ir.planes import MAX_PLANE_CELL, planes
from odtdsl.problem.ir.problem import DiagramSkeleton


class OddStudy(Formulation):
    """Diagrams whose splits, axis-aligned or hyperplanes, leave a margin."""

    name = "odd"

    def has_margins(self, core: Core) -> bool:
        """Axis-aligned splits too."""
        return True

    def flows(self, core: Core, tick: Tick = no_tick) -> OddFlow:
        """The structure of a diagram, with equation (12)."""
        return OddFlow(core, tick)

    def beyond(self, core: Core) -> list[tuple[str, str]]:
        """What the study has no place for."""
        if not isinstance(core.skeleton, DiagramSkeleton):
            return [
                ("trees", "the ODD study's model is one of diagrams; write `diagram widths ...`")
            ]
        found: list[tuple[str, str]] = []
        for family in core.families:
            name = core.columns[family.column]
            if family.missing is not None:
                found.append((f"missing cells of `{name}`", "the study weighs every cell"))
            if family.kind == "threshold" and np.abs(family.values).max(initial=0) > MAX_PLANE_CELL:
                found.append((f"the cells of `{name}`", "sums of cells beyond 1e150 leave floats"))
            if family.kind == "bin" or family.domain != FULL:
                found.append(
                    (f"the candidates of `{name}`", "the study's splits may stand anywhere")
                )
        for one in core.filters:
            if one.allowed and one.allowed != FULL:
                found.append((f"`{one.origin.rule}`", "the study's splits may stand anywhere"))
        if not found and core.skeleton.splits == "axis":
            of = planes(core)
            for index, column in enumerate(of.columns):
                gaps = np.diff(np.unique(of.scaled[:, index]))
                if gaps.min() < MARGIN:
                    why = f"two values are closer than {MARGIN} of the range, the study's margin"
                    found.append((f"cuts of `{core.columns[column.column]}`", why))
        return found


class OddFlow(PlaneFlow):
    """Nodes of a layer in the order of the number of arcs that lead to them."""

    def order_nodes(self, arcs: Arcs) -> None:
        """Equation (12)."""
        _by_degree(arcs)

    def ordered(self, level: int, targets: list[int]) -> list[int]:
        """From the third layer on, by the number of arcs."""
        order = super().ordered(level, targets)
        return sorted(order, key=lambda at: -targets.count(at)) if level > 0 else order


def _by_degree(arcs: Arcs) -> None:
    """From the third layer on, no node has fewer arcs than the next: equation (12)."""
    for level in range(2, 0 if arcs.layers.tree else arcs.layers.depth):
        nodes = arcs.layers.at_level(level)
        for first, second in pairwise(nodes):
            row = Affine()
            for node, sign in ((first, 1), (second, -1)):
                for _, columns in arcs.into(node):
                    row.add(ones(columns), sign)
            name = f"degree(n{first},n{second})"
            arcs.program.row(name, SKELETON, row, lower=0)
