"""Diagrams as versioned JSON, read as strictly as trees (`predictors.json`).

A file of version 2 is one object::

    {"format": "odtdsl.diagram", "version": 2,
     "features": [{"name": "age", "kind": "number", "levels": [], "step": null,
                   "by_value": false}, ...],
     "targets": ["disease"], "classes": ["no", "yes"],
     "entry": ARC, "layers": [[NODE, ...], ...],
     "terminals": [{"size": 31, "class_weights": [30.0, 1.0]}, ...]}

    NODE: {"split": SPLIT, "left": ARC, "right": ARC, "size": 303}
    ARC: {"node": 0, "label": null, "size": 120}   (a node of the next layer)
      or {"node": null, "label": 1, "size": 183}   (an index into `classes`)
    SPLIT: {"split": "axis", "feature": "age", "test": TEST, "missing": "left"}
      or   {"split": "hyperplane", "bound": 4.5,
            "weights": [{"feature": "age", "weight": 0.1, "value": null}, ...]}

TEST is that of trees. `value` is the value of a category whose presence is weighed, else null.
"""

from __future__ import annotations

import json
from typing import Any

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Hyperplane, Node, Split, Terminal, Weight
from odtdsl.predictors.diagram_validation import check_diagram
from odtdsl.predictors.json import (
    MAX_MESSAGES,
    VERSION,
    Object,
    Reader,
    check_version,
    feature_object,
    named,
    parsed,
    plain,
    test_object,
)
from odtdsl.predictors.nodes import Side, Threshold
from odtdsl.predictors.validation import MAX_DEPTH

FORMAT = "odtdsl.diagram"


def to_json(diagram: Diagram) -> Object:
    """The diagram as an object that `json.dumps` writes and `from_json` reads back equal.

    Raises
    ------
    OdtError
        F207 to F210: the diagram is not well formed (see `check_diagram`).
    """
    if problems := check_diagram(diagram):
        raise OdtError(problems[:MAX_MESSAGES])
    return {
        "format": FORMAT,
        "version": VERSION,
        "features": [feature_object(type_) for type_ in diagram.features],
        "targets": list(diagram.targets),
        "classes": [plain(label) for label in diagram.classes],
        "entry": _arc_object(diagram.entry),
        "layers": [
            [
                {
                    "split": _split_object(node.split),
                    "left": _arc_object(node.left),
                    "right": _arc_object(node.right),
                    "size": int(node.size),
                }
                for node in layer
            ]
            for layer in diagram.layers
        ],
        "terminals": [
            {"size": int(one.size), "class_weights": [float(v) for v in one.class_weights]}
            for one in diagram.terminals
        ],
        **({"task": diagram.task} if diagram.task else {}),
    }


def dumps(diagram: Diagram) -> str:
    """The diagram as JSON text that ends with a newline; see `to_json`."""
    return json.dumps(to_json(diagram), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def loads(data: str | bytes, *, name: str = "the model") -> Diagram:
    """Read a diagram from JSON text or its UTF-8 bytes; F202 to F210 as of trees."""
    return from_json(parsed(data, name), name=name)


def from_json(value: object, *, name: str = "the model") -> Diagram:
    """The diagram of an object that `to_json` made, possibly by way of JSON text.

    Raises
    ------
    OdtError
        F204 to F210, see `predictors.json.loads`; all that is wrong at once, at most 20.
    """
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise error(
            "F204",
            f"{name} is not a saved diagram: it has no format mark",
            helps=[f'a saved diagram is an object with "format": "{FORMAT}"'],
        )
    check_version(value, name)
    reader = _DiagramReader(value["version"])
    diagram = reader.diagram(value)
    problems = reader.problems or list(check_diagram(diagram))
    if problems:
        raise OdtError([named(problem, name) for problem in problems[:MAX_MESSAGES]])
    return diagram


def _arc_object(arc: Arc) -> Object:
    return {
        "node": None if arc.node is None else int(arc.node),
        "label": None if arc.label is None else int(arc.label),
        "size": int(arc.size),
    }


def _split_object(split: Split) -> Object:
    if isinstance(split, AxisTest):
        return {
            "split": "axis",
            "feature": split.feature,
            "test": test_object(split.test),
            "missing": split.missing,
        }
    return {
        "split": "hyperplane",
        "bound": float(split.bound),
        "weights": [
            {
                "feature": weight.feature,
                "weight": float(weight.weight),
                "value": None if weight.value is None else plain(weight.value),
            }
            for weight in split.weights
        ],
    }


class _DiagramReader(Reader):
    """Turns parsed JSON into a diagram and collects what is wrong, each with its place."""

    def diagram(self, value: Object) -> Diagram:
        keys = (
            "format",
            "version",
            "features",
            "targets",
            "classes",
            "entry",
            "layers",
            "terminals",
        )
        self.keys(value, "the top level", (*keys, "task") if "task" in value else keys)

        def listed(key: str) -> list[Any]:
            return self.items(value.get(key, []), key)

        layers = listed("layers")[: MAX_DEPTH + 1]
        return Diagram(
            features=tuple(
                self.feature(v, f"features[{i}]") for i, v in enumerate(listed("features"))
            ),
            targets=tuple(self.text(v, f"targets[{i}]") for i, v in enumerate(listed("targets"))),
            classes=tuple(self.value(v, f"classes[{i}]") for i, v in enumerate(listed("classes"))),
            entry=self.arc(value.get("entry", {}), "entry"),
            layers=tuple(
                tuple(
                    self.inner(v, f"layers[{i}][{j}]")
                    for j, v in enumerate(self.items(layer, f"layers[{i}]"))
                )
                for i, layer in enumerate(layers)
            ),
            terminals=tuple(
                self.terminal(v, f"terminals[{i}]") for i, v in enumerate(listed("terminals"))
            ),
            task=self.text(value.get("task", ""), "task"),
        )

    def inner(self, value: object, place: str) -> Node:
        entry = self.entry(value, place, ("split", "left", "right", "size"))
        return Node(
            split=self.split(entry.get("split"), f"{place}.split"),
            left=self.arc(entry.get("left"), f"{place}.left"),
            right=self.arc(entry.get("right"), f"{place}.right"),
            size=self.count(entry.get("size", 0), f"{place}.size"),
        )

    def arc(self, value: object, place: str) -> Arc:
        entry = self.entry(value, place, ("node", "label", "size"))
        node, label = entry.get("node"), entry.get("label")
        return Arc(
            node=None if node is None else self.count(node, f"{place}.node"),
            label=None if label is None else self.count(label, f"{place}.label"),
            size=self.count(entry.get("size", 0), f"{place}.size"),
        )

    def terminal(self, value: object, place: str) -> Terminal:
        entry = self.entry(value, place, ("size", "class_weights"))
        weights = self.items(entry.get("class_weights", []), f"{place}.class_weights")
        return Terminal(
            size=self.count(entry.get("size", 0), f"{place}.size"),
            class_weights=tuple(
                self.number(v, f"{place}.class_weights[{i}]") for i, v in enumerate(weights)
            ),
        )

    def split(self, value: object, place: str) -> Split:
        kind = value.get("split") if isinstance(value, dict) else None
        if kind == "axis":
            entry = self.entry(value, place, ("split", "feature", "test", "missing"))
            missing: Side = "left" if entry.get("missing", "left") == "left" else "right"
            if entry.get("missing", "left") not in ("left", "right"):
                self.wrong("F207", f"{place}.missing", 'it must be "left" or "right"')
            feature = self.text(entry.get("feature", ""), f"{place}.feature")
            return AxisTest(
                feature=feature,
                test=self.shown(feature, self.test(entry.get("test"), f"{place}.test")),
                missing=missing,
            )
        if kind == "hyperplane":
            entry = self.entry(value, place, ("split", "bound", "weights"))
            weights = self.items(entry.get("weights", []), f"{place}.weights")
            return Hyperplane(
                bound=self.number(entry.get("bound", 0), f"{place}.bound"),
                weights=tuple(
                    self.weight(v, f"{place}.weights[{i}]") for i, v in enumerate(weights)
                ),
            )
        self.wrong("F207", place, 'a split must be an object with "split": "axis" or "hyperplane"')
        return AxisTest(feature="", test=Threshold(value=0), missing="left")

    def weight(self, value: object, place: str) -> Weight:
        entry = self.entry(value, place, ("feature", "weight", "value"))
        of = entry.get("value")
        return Weight(
            feature=self.text(entry.get("feature", ""), f"{place}.feature"),
            weight=self.number(entry.get("weight", 0), f"{place}.weight"),
            value=None if of is None else self.value(of, f"{place}.value"),
        )
