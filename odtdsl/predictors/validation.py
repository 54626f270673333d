"""Whether a tree is well formed: what a reader of files, or of trees built by hand, must know."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.predictors.leaves import known, leaves_of
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Test, Threshold, TreeNode
from odtdsl.predictors.structure import TreeStructure

MAX_DEPTH = 64
"""Deeper trees are neither saved nor loaded; no back end makes them."""


def check_tree(tree: TreeStructure) -> tuple[Diagnostic, ...]:
    """All that is wrong with a tree: codes F208 (too deep), F209 (a number that is not
    finite), F210 (a name, level or class that does not exist), F207 (a test or leaf that
    does not fit its column or target). Empty for a tree that can predict."""
    if tree.depth > MAX_DEPTH:
        return (wrong("F208", "root", f"the tree is deeper than {MAX_DEPTH}"),)
    if not known(tree.target_kind):
        return (wrong("F210", "task", f"{tree.target_kind!r} is none of the tasks"),)
    leaves = leaves_of(tree)
    types = {type_.name: type_ for type_ in tree.features}
    found = [*repeated("features", [type_.name for type_ in tree.features])]
    found += repeated("classes", tree.classes)
    for i, type_ in enumerate(tree.features):
        found += repeated(f"features[{i}].levels", type_.levels)
    if not tree.targets:
        found.append(wrong("F207", "targets", "a tree must have at least one target"))
    found += leaves.check_model(tree)
    for node, place in _placed(tree.root):
        if isinstance(node, Leaf):
            found.extend(leaves.check(node, place, tree))
            found.extend(_check_numbers(node, place))
        elif node.feature not in types:
            found.append(
                wrong("F210", place, f"`{node.feature}` is not one of the features of the tree")
            )
        else:
            found.extend(check_test(node.test, place, types[node.feature]))
    return tuple(found)


def _check_numbers(leaf: Leaf, place: str) -> Iterator[Diagnostic]:
    if not all(map(math.isfinite, (leaf.output or ()) + leaf.class_weights)):
        yield wrong("F209", place, "outputs and class weights must be finite")
    elif not all(math.isfinite(value) for step in leaf.curve for value in step):
        yield wrong("F209", place, "the curve must be finite")
    elif not math.isfinite(sum(leaf.class_weights)):
        yield wrong("F209", place, "the sum of class weights must be finite")
    if any(weight < 0 for weight in leaf.class_weights):
        yield wrong("F207", place, "class weights must not be negative")


def check_test(test: Test, place: str, type_: ColumnType) -> Iterator[Diagnostic]:
    """What does not fit between a test and its column."""
    if isinstance(test, InBin):
        if type_.kind != "number":
            yield wrong("F207", place, f"`{type_.name}` is {type_.kind}: bins are only for numbers")
        elif math.isnan(test.low) or math.isnan(test.high):
            yield wrong("F209", place, "the edges of a bin must not be NaN")
        elif test.low > test.high or test.low == math.inf or test.high == -math.inf:
            yield wrong("F207", place, f"the bin from {test.low} to {test.high} is empty")
    elif type_.kind == "number":
        if isinstance(test.value, str):
            yield wrong(
                "F207", place, f"`{type_.name}` is a number: it cannot be compared with text"
            )
        elif not _finite(test.value):
            yield wrong(
                "F209", place, f"a test of `{type_.name}` must compare with a finite number"
            )
    elif isinstance(test, Threshold) and type_.kind == "category":
        yield wrong("F207", place, f"`{type_.name}` is a category: it cannot have thresholds")
    elif isinstance(test, (Threshold, Equals)) and test.value not in type_.levels:
        yield wrong("F210", place, f"{test.value!r} is not one of the levels of `{type_.name}`")


def repeated(place: str, values: Iterable[Value]) -> Iterator[Diagnostic]:
    """What is there twice."""
    seen: set[Value] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield wrong("F207", f"{place}[{i}]", f"{value!r} occurs twice")
        seen.add(value)


def _placed(root: TreeNode) -> Iterator[tuple[TreeNode, str]]:
    stack: list[tuple[TreeNode, str]] = [(root, "root")]
    while stack:
        node, place = stack.pop()
        yield node, place
        if isinstance(node, Branch):
            stack.append((node.right, f"{place}.right"))
            stack.append((node.left, f"{place}.left"))


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def wrong(code: str, place: str, message: str) -> Diagnostic:
    """A diagnostic about one place of a model."""
    return Diagnostic(code=code, message=f"at {place}: {message}")
