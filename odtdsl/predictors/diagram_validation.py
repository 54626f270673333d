"""Whether a diagram is well formed: what a reader of files, or of diagrams built by hand, must
know."""

from __future__ import annotations

import math
from collections.abc import Iterator

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.datasets.dataset import ColumnType
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Hyperplane, Weight
from odtdsl.predictors.leaves import known, leaves_of
from odtdsl.predictors.structure import DiagramStructure
from odtdsl.predictors.validation import MAX_DEPTH, check_test, repeated, wrong


def check_diagram(diagram: DiagramStructure) -> tuple[Diagnostic, ...]:
    """All that is wrong with a diagram: codes F208 (too many layers), F209 (a number that is
    not finite), F210 (a name, level, class or node that does not exist), F207 (anything else
    out of place). Empty for a diagram that can predict."""
    if diagram.depth > MAX_DEPTH:
        return (wrong("F208", "layers", f"the diagram has more than {MAX_DEPTH} layers"),)
    found = [*repeated("features", [type_.name for type_ in diagram.features])]
    found += repeated("classes", diagram.classes)
    for i, type_ in enumerate(diagram.features):
        found += repeated(f"features[{i}].levels", type_.levels)
    if not known(diagram.target_kind):
        return (wrong("F210", "task", f"{diagram.target_kind!r} is none of the tasks"),)
    if not diagram.targets or not diagram.classes:
        found.append(wrong("F207", "targets", "a diagram must have one target, with classes"))
    else:
        found += leaves_of(diagram).check_model(diagram)
    found += _terminals(diagram)
    found += _arc(diagram.entry, "entry", diagram, -1)
    if (diagram.entry.node is None) == bool(diagram.layers):
        found.append(
            wrong("F207", "entry", "the entry of a diagram with layers must lead to a node")
        )
    types = {type_.name: type_ for type_ in diagram.features}
    for level, layer in enumerate(diagram.layers):
        for position, node in enumerate(layer):
            place = f"layers[{level}][{position}]"
            found += _arc(node.left, f"{place}.left", diagram, level)
            found += _arc(node.right, f"{place}.right", diagram, level)
            found += _split(node.split, f"{place}.split", types)
    return tuple(found)


def _terminals(diagram: DiagramStructure) -> Iterator[Diagnostic]:
    many = len(diagram.classes)
    if len(diagram.terminals) != many:
        yield wrong("F207", "terminals", f"there must be {many}, one per class")
    for i, terminal in enumerate(diagram.terminals):
        weights = terminal.class_weights
        if len(weights) not in (0, many):
            yield wrong("F207", f"terminals[{i}]", f"class_weights must have {many} entries")
        if not all(map(math.isfinite, weights)):
            yield wrong("F209", f"terminals[{i}]", "class weights must be finite")
        elif any(weight < 0 for weight in weights):
            yield wrong("F207", f"terminals[{i}]", "class weights must not be negative")
        elif not math.isfinite(sum(weights)):
            yield wrong("F209", f"terminals[{i}]", "the sum of class weights must be finite")


def _arc(arc: Arc, place: str, diagram: DiagramStructure, level: int) -> Iterator[Diagnostic]:
    if (arc.node is None) == (arc.label is None):
        yield wrong("F207", place, "an arc must lead to either a node or a class")
    elif arc.label is not None:
        if not 0 <= arc.label < len(diagram.classes):
            yield wrong(
                "F210", place, f"label {arc.label} is not among the {len(diagram.classes)} classes"
            )
    else:
        assert arc.node is not None
        width = len(diagram.layers[level + 1]) if level + 1 < diagram.depth else 0
        if not 0 <= arc.node < width:
            yield wrong("F210", place, f"the next layer has no node {arc.node}")


def _split(
    split: AxisTest | Hyperplane, place: str, types: dict[str, ColumnType]
) -> Iterator[Diagnostic]:
    if isinstance(split, AxisTest):
        if split.feature in types:
            yield from check_test(split.test, place, types[split.feature])
        else:
            yield wrong("F210", place, f"`{split.feature}` is not one of the features")
        return
    if not split.weights:
        yield wrong("F207", place, "a hyperplane must have at least one feature")
    if not math.isfinite(split.bound):
        yield wrong("F209", place, "the bound of a hyperplane must be finite")
    for weight in split.weights:
        if weight.feature in types:
            yield from _weight(weight, place, types[weight.feature])
        else:
            yield wrong("F210", place, f"`{weight.feature}` is not one of the features")


def _weight(weight: Weight, place: str, type_: ColumnType) -> Iterator[Diagnostic]:
    if not math.isfinite(weight.weight):
        yield wrong("F209", place, "the weights of a hyperplane must be finite")
    if weight.value is None:
        if type_.kind in ("category", "binary"):
            yield wrong(
                "F207",
                place,
                f"`{type_.name}` is {type_.kind}: a hyperplane must use one of its levels",
            )
    elif type_.kind in ("number", "ordered"):
        yield wrong(
            "F207",
            place,
            f"`{type_.name}` is {type_.kind}: a hyperplane must use it without a level",
        )
    elif weight.value not in type_.levels:
        yield wrong("F210", place, f"{weight.value!r} is not one of the levels of `{type_.name}`")
