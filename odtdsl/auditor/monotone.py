"""Whether a tree's predictions are monotone in a feature, over the whole feature space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from odtdsl.auditor.routing import TreeOn
from odtdsl.auditor.targets import AuditPart
from odtdsl.datasets.dataset import ColumnType
from odtdsl.predictors.nodes import Branch, InBin, Leaf, Side, Threshold, TreeNode

MISSING = math.nan
"""The probe of a missing value."""

Way = tuple[tuple[Branch, Side], ...]
"""The branches above a leaf, each with the side that leads there."""


def is_monotone(model: TreeOn, feature: str, *, increasing: bool) -> bool:
    """Compare every pair of leaves that points which differ in the feature only can reach.

    Two such points reach the leaves iff every other feature has a value that passes the
    tests of both ways, and this feature a value on the first way below one on the second.
    """
    tree, target = model.tree, model.rows.problem.target
    ends = list(_ends(tree.root, ()))
    tested = [type_ for type_ in tree.features if type_.name in {*tree.tested, feature}]
    probes = {type_.name: _probes(model, type_) for type_ in tested}
    probes[feature] = [x for x in probes[feature] if x == x]  # missing values have no order
    reach = [
        {type_.name: _passing(way, type_, probes[type_.name]) for type_ in tested}
        for _, way in ends
    ]
    others = [name for name in probes if name != feature]
    part = AuditPart.of(target.kind)
    for low, (low_leaf, _) in zip(reach, ends, strict=True):
        for high, (high_leaf, _) in zip(reach, ends, strict=True):
            first, second = (low_leaf, high_leaf) if increasing else (high_leaf, low_leaf)
            if (
                not part.in_order(first, second, target)
                and low[feature]
                and high[feature]
                and min(low[feature]) < max(high[feature])
                and all(low[name] & high[name] for name in others)
            ):
                return False
    return True


def _ends(node: TreeNode, way: Way) -> Iterator[tuple[Leaf, Way]]:
    if isinstance(node, Leaf):
        yield node, way
    else:
        yield from _ends(node.left, (*way, (node, "left")))
        yield from _ends(node.right, (*way, (node, "right")))


def _probes(model: TreeOn, type_: ColumnType) -> list[float]:
    """Values of a feature, in rising order, one for each set that no test tells apart.

    Levels stand by their rank, an unseen one by a rank that none has. Missing values are
    among them where rows have some.
    """
    if type_.kind != "number":
        found = [float(rank) for rank in range(len(type_.levels))]
        if type_.kind != "ordered":
            found.append(float(len(type_.levels)))
    else:
        edges = sorted(
            {
                edge
                for node in model.tree.nodes()
                if isinstance(node, Branch) and node.feature == type_.name
                for edge in _edges(node)
                if math.isfinite(edge)
            }
        )
        between = [low / 2 + high / 2 for low, high in pairwise(edges)]
        found = sorted({*edges, *between}) or [0.0]
        found = [found[0] - 1 - abs(found[0]), *found, found[-1] + 1 + abs(found[-1])]
    return [*found, MISSING] if model.rows.missing(type_.name).any() else found


def _edges(branch: Branch) -> tuple[float, ...]:
    test = branch.test
    return (test.low, test.high) if isinstance(test, InBin) else (float(test.value),)


def _passing(way: Way, type_: ColumnType, probes: list[float]) -> set[int]:
    """Positions of the probes that pass all tests of a feature on a way."""
    steps = [(branch, side) for branch, side in way if branch.feature == type_.name]
    return {
        position
        for position, probe in enumerate(probes)
        if all(_side(branch, type_, probe) == side for branch, side in steps)
    }


def _side(branch: Branch, type_: ColumnType, probe: float) -> Side:
    if probe != probe:
        return branch.missing
    test = branch.test
    if isinstance(test, InBin):
        left = test.low <= probe < test.high or (test.closed and probe == test.high)
    else:
        value = float(test.value) if type_.kind == "number" else type_.levels.index(test.value)
        left = probe <= value if isinstance(test, Threshold) else probe == value
    return "left" if left else "right"
