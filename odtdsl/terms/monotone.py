"""Whether a tree's predictions are monotone in a feature, over the whole feature space."""

from __future__ import annotations

from odtdsl.ir.problem import TargetDecl
from odtdsl.predictors.routing import paths
from odtdsl.predictors.tree import Branch, Equals, InBin, Leaf, Side, Threshold, Tree


def is_monotone(tree: Tree, feature: str, target: TargetDecl, *, increasing: bool) -> bool:
    """Compare every pair of leaves that differ in the feature only.

    Two leaves are comparable iff some two points that agree on all other features reach
    them; then their outputs must be in order wherever the first can lie below the second.
    """
    found = [(path, leaf) for path, leaf in zip(paths(tree), tree.leaves, strict=True)]
    for low_path, low in found:
        for high_path, high in found:
            above, below = (high, low) if increasing else (low, high)
            if (
                not _ordered(below, above, target)
                and _lies_below(low_path, high_path, feature)
                and _can_agree(low_path, high_path, feature)
            ):
                return False
    return True


def _ordered(below: Leaf, above: Leaf, target: TargetDecl) -> bool:
    if below.output is not None and above.output is not None:
        return all(b <= a for b, a in zip(below.output, above.output, strict=True))
    assert below.label is not None
    assert above.label is not None
    if target.positive is not None and len(target.classes) == 2:
        return (below.label == target.positive) <= (above.label == target.positive)
    return below.label <= above.label


Path = tuple[tuple[Branch, Side], ...]


def _bounds(path: Path, feature: str) -> tuple[float, float]:
    """The open-closed interval (low, high] of a number or rank that a path leaves."""
    low, high = float("-inf"), float("inf")
    for branch, side in path:
        if branch.feature == feature and isinstance(branch.test, Threshold):
            value = branch.test.value
            number = float(value) if not isinstance(value, str) else float("nan")
            low, high = (low, min(high, number)) if side == "left" else (max(low, number), high)
    return low, high


def _lies_below(low_path: Path, high_path: Path, feature: str) -> bool:
    """Whether some value that reaches the first is below some value that reaches the second."""
    return _bounds(low_path, feature)[0] < _bounds(high_path, feature)[1]


def _can_agree(first: Path, second: Path, feature: str) -> bool:
    """Whether the two paths admit equal values of every other feature."""
    tests = [(b, s) for b, s in (*first, *second) if b.feature != feature]
    for name in {branch.feature for branch, _ in tests}:
        of_one = [(b, s) for b, s in tests if b.feature == name]
        if not _satisfiable(of_one):
            return False
    return True


def _satisfiable(tests: list[tuple[Branch, Side]]) -> bool:
    """Whether one value of a feature passes all these tests as said."""
    if any(isinstance(b.test, Equals) for b, _ in tests):
        wanted = {b.test.value for b, s in tests if isinstance(b.test, Equals) and s == "left"}
        refused = {b.test.value for b, s in tests if isinstance(b.test, Equals) and s == "right"}
        return len(wanted) <= 1 and not wanted & refused
    low, high = float("-inf"), float("inf")
    edges: set[float] = set()
    for branch, side in tests:
        if isinstance(branch.test, Threshold) and not isinstance(branch.test.value, str):
            value = float(branch.test.value)
            low, high = (low, min(high, value)) if side == "left" else (max(low, value), high)
        elif isinstance(branch.test, InBin):
            edges |= {branch.test.low, branch.test.high}
    if not edges:
        return low < high
    points = sorted(edges)
    probes = [
        points[0] - 1,
        *points,
        *((a + b) / 2 for a, b in zip(points, points[1:], strict=False)),
        points[-1] + 1,
    ]
    return any(
        all(_in_bin(b.test, x) == (s == "left") for b, s in tests if isinstance(b.test, InBin))
        for x in probes
    )


def _in_bin(test: InBin, x: float) -> bool:
    return test.low <= x < test.high or (test.closed and x == test.high)
