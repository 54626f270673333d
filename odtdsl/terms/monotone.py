"""Whether a tree's predictions are monotone in a feature, over the whole feature space."""

from __future__ import annotations

import math
from itertools import pairwise

from odtdsl.data.dataset import ColumnType
from odtdsl.ir.problem import TargetDecl
from odtdsl.predictors.routing import Path, paths
from odtdsl.predictors.tree import Branch, Equals, InBin, Leaf, Test, Threshold
from odtdsl.terms.view import TreeView

MISSING = math.nan
"""The probe of a missing value."""


def rises_with_index(target: TargetDecl) -> bool:
    """Whether a higher class is one of a higher index: of two, `positive` is the higher."""
    return not (len(target.classes) == 2 and target.positive == 0)


def is_monotone(view: TreeView, feature: str, *, increasing: bool) -> bool:
    """Compare every pair of leaves that points which differ in the feature only can reach.

    Two such points reach the leaves iff every other feature has a value that passes the
    tests of both paths, and this feature a value on the first path below one on the second.
    """
    tree, target = view.tree, view.rows.problem.target
    probes = {type_.name: _probes(view, type_) for type_ in tree.features}
    probes[feature] = [x for x in probes[feature] if x == x]  # missing values have no order
    reach = [
        {type_.name: _passing(path, type_, probes[type_.name]) for type_ in tree.features}
        for path in paths(tree)
    ]
    others = [name for name in probes if name != feature]
    for low, low_leaf in zip(reach, tree.leaves, strict=True):
        for high, high_leaf in zip(reach, tree.leaves, strict=True):
            first, second = (low_leaf, high_leaf) if increasing else (high_leaf, low_leaf)
            if (
                not _in_order(first, second, target)
                and low[feature] and high[feature]
                and min(low[feature]) < max(high[feature])
                and all(low[name] & high[name] for name in others)
            ):  # fmt: skip
                return False
    return True


def _in_order(below: Leaf, above: Leaf, target: TargetDecl) -> bool:
    if below.output is not None and above.output is not None:
        return all(b <= a for b, a in zip(below.output, above.output, strict=True))
    assert below.label is not None
    assert above.label is not None
    if rises_with_index(target):
        return below.label <= above.label
    return below.label >= above.label


def _probes(view: TreeView, type_: ColumnType) -> list[float]:
    """Values of a feature, in rising order, one for each set that no test tells apart.

    Levels stand by their rank, an unseen one by a rank that none has. Missing values are
    among them where training rows have some.
    """
    tests = [
        node.test
        for node in view.tree.nodes()
        if isinstance(node, Branch) and node.feature == type_.name
    ]
    column = view.rows.data.columns[type_.name]
    if column.codes is not None:
        found = [float(rank) for rank in range(len(type_.levels))]
        if type_.kind != "ordered":
            found.append(float(len(type_.levels)))
        missing = bool((column.codes < 0).any())
    else:
        assert column.numbers is not None
        missing = bool((column.numbers != column.numbers).any())
        edges = sorted({edge for test in tests for edge in _edges(test) if math.isfinite(edge)})
        between = [low / 2 + high / 2 for low, high in pairwise(edges)]
        found = sorted({*edges, *between})
        if found:
            found = [found[0] - 1 - abs(found[0]), *found, found[-1] + 1 + abs(found[-1])]
        else:
            found = [0.0, 1.0]
    return [*found, MISSING] if missing else found


def _edges(test: Test) -> tuple[float, ...]:
    match test:
        case Threshold() | Equals():
            return (float(test.value),)
        case InBin():
            return (test.low, test.high)


def _passing(path: Path, type_: ColumnType, probes: list[float]) -> set[int]:
    """Positions of the probes that pass all tests of a feature on a path."""
    steps = [(branch, side) for branch, side in path if branch.feature == type_.name]
    return {
        position
        for position, probe in enumerate(probes)
        if all(_side(branch, type_, probe) == side for branch, side in steps)
    }


def _side(branch: Branch, type_: ColumnType, probe: float) -> str:
    if probe != probe:
        return branch.missing
    test = branch.test
    if isinstance(test, InBin):
        left = test.low <= probe < test.high or (test.closed and probe == test.high)
    else:
        value = type_.levels.index(test.value) if type_.levels else float(test.value)
        left = probe <= value if isinstance(test, Threshold) else probe == value
    return "left" if left else "right"
