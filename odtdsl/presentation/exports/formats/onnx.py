"""A model as an ONNX graph: a tree of doubles, whose leaf is looked up in tables.

    columns --> questions that are no thresholds, as 0 or 1 --> TreeEnsemble --> leaf --> tables

The ensemble says only which leaf a row reaches. Labels, outputs and shares are then gathered from
constant tensors, so that none of them passes through float32.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from odtdsl.datasets.dataset import Value
from odtdsl.datasets.levels import level_text
from odtdsl.predictors.leaves import leaf_shares
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.plan import (
    AtMost,
    CellTest,
    Column,
    End,
    Fork,
    Item,
    OneOf,
    Plan,
    Plane,
    Term,
    Within,
    described,
)

OPSET, ML_OPSET, IR_VERSION = 17, 5, 10
"""Versions of ai.onnx and ai.onnx.ml: 5 is the first with a TreeEnsemble whose sums are doubles."""
ML = "ai.onnx.ml"


def to_onnx(plan: Plan, name: str | None = None) -> bytes:
    """The bytes of an ONNX model.

    Where all features are numbers there is one input `X`, float64 (rows, features), as arrays
    for `predict`. Else there is one for each tested column, (rows, 1), float64 or text, by its
    name; NaN and "" are missing. Outputs: `label` (rows,) and `probabilities` (rows, classes), or
    `output` (rows, targets). A batch with a row that `predict` refuses is refused: the leaf is
    then behind the end of the tables, which runtimes report.

    Parameters
    ----------
    plan
        The model.
    name
        Of the graph; default `odtdsl`.
    """
    return _Graph(plan).model(name or "odtdsl")


FORMAT = Format(
    what="an ONNX graph",
    suffixes=(".onnx",),
    begins=rb"\x08.\x12\x06odtdsl",
    write=to_onnx,
    binary=True,
    package="onnx",
)


class _Graph:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.count = 0
        self.matrix = all(type_.kind == "number" for type_ in plan.features)
        self.cells = self.read()
        self.places: dict[CellTest | Plane, int] = {}
        """Where the answer to a question stands among the columns of the ensemble."""
        self.columns: list[str] = []
        self.numbers: dict[int, int] = {}

    # ---- building

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the name of the output."""
        from onnx import helper

        self.count += 1
        output = f"{kind.lower()}_{self.count}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def constant(self, value: Any) -> str:
        """A constant tensor."""
        from onnx import numpy_helper

        self.count += 1
        name = f"constant_{self.count}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def double(self, name: str) -> str:
        """A tensor as float64."""
        from onnx import TensorProto

        return self.op("Cast", name, to=TensorProto.DOUBLE)

    def read(self) -> list[str]:
        """A tensor (rows, 1) of each tested column."""
        from onnx import TensorProto, helper

        plan = self.plan
        if self.matrix:
            shape = ["rows", len(plan.features)]
            self.inputs.append(helper.make_tensor_value_info("X", TensorProto.DOUBLE, shape))
            return [
                self.op("Gather", "X", self.constant(np.array([c.position])), axis=1)
                for c in plan.columns
            ]
        names = _input_names(plan.columns)
        # A graph has an input, though a model may test nothing.
        for column, name in zip(plan.columns, names, strict=True):
            kind = TensorProto.DOUBLE if column.kind == "number" else TensorProto.STRING
            self.inputs.append(helper.make_tensor_value_info(name, kind, ["rows", 1]))
        if not plan.columns:
            shape = ["rows", 1]
            self.inputs.append(helper.make_tensor_value_info("rows", TensorProto.DOUBLE, shape))
        return list(names)

    # ---- questions

    def place(self, question: CellTest | Plane) -> tuple[int, float, bool]:
        """The column of the ensemble, the threshold, and whether NaN passes, for a question.

        Thresholds ask the cells themselves; all else is a column of 0 (passes) and 1.
        """
        if isinstance(question, CellTest) and isinstance(question.condition, AtMost):
            if question.column not in self.numbers:
                self.numbers[question.column] = len(self.columns)
                self.columns.append(self.cells[question.column])
            return self.numbers[question.column], question.condition.value, question.missing
        if question not in self.places:
            self.places[question] = len(self.columns)
            passes = (
                self.asked(question) if isinstance(question, CellTest) else self.below(question)
            )
            self.columns.append(self.double(self.op("Not", passes)))
        return self.places[question], 0.5, False

    def asked(self, ask: CellTest) -> str:
        """bool (rows, 1): who passes, missing cells included."""
        cell, condition = self.cells[ask.column], ask.condition
        if self.plan.columns[ask.column].kind == "text":
            assert isinstance(condition, OneOf), "texts are only compared"
            passing = [str(value) for value in condition.values] + [""] * ask.missing
            return self.listed(cell, dict.fromkeys(passing, 1))
        assert not isinstance(condition, AtMost), "a threshold is asked of the cells themselves"
        if isinstance(condition, OneOf):
            passes = self.equal(cell, [float(value) for value in condition.values])
        else:
            passes = self.within(cell, condition)
        return self.op("Or", passes, self.op("IsNaN", cell)) if ask.missing else passes

    def listed(self, cell: str, values: dict[str, int]) -> str:
        """bool (rows, 1): whether a text is one of those with 1."""
        from onnx import TensorProto

        if not values:
            values = {"": 0}
        codes = self.op(
            "LabelEncoder",
            cell,
            domain=ML,
            keys_strings=list(values),
            values_int64s=list(values.values()),
            default_int64=0,
        )
        return self.op("Cast", codes, to=TensorProto.BOOL)

    def equal(self, cell: str, values: list[float]) -> str:
        """bool (rows, 1): whether a number is one of the values."""
        found = self.op("Equal", cell, self.constant(values[0]))
        for value in values[1:]:
            found = self.op("Or", found, self.op("Equal", cell, self.constant(value)))
        return found

    def within(self, cell: str, bin_: Within) -> str:
        low, high = self.constant(bin_.low), self.constant(bin_.high)
        above = self.op("GreaterOrEqual", cell, low)
        return self.op("And", above, self.op("LessOrEqual" if bin_.closed else "Less", cell, high))

    def below(self, plane: Plane) -> str:
        """bool (rows, 1): whether the sum is below the bound, its terms added one by one."""
        total = ""
        for term in plane.terms:
            product = self.op("Mul", self.constant(term.weight), self.weighed(term))
            total = product if not total else self.op("Add", total, product)
        return self.op("Less", total, self.constant(plane.bound))

    def weighed(self, term: Term) -> str:
        """float64 (rows, 1): the number, the rank, or whether the cell is the value."""
        column, cell = self.plan.columns[term.column], self.cells[term.column]
        if term.value is not None:
            return self.double(self.is_level(term.value, cell))
        return self.rank(column, cell) if column.ordered else cell

    def rank(self, column: Column, cell: str) -> str:
        total = self.constant(0.0)
        for i, level in enumerate(column.levels):
            here = self.is_level(level, cell)
            total = self.op(
                "Add", total, self.op("Mul", self.constant(float(i)), self.double(here))
            )
        return total

    def is_level(self, level: float | str, cell: str) -> str:
        if isinstance(level, str):
            return self.listed(cell, {level: 1})
        return self.equal(cell, [level])

    def refused(self) -> str | None:
        """bool (rows, 1): the rows that `predict` refuses; None where it refuses none."""
        found: str | None = None
        for column in self.plan.refusing:
            cell = self.cells[self.plan.columns.index(column)]
            text = column.kind == "text"
            missing = self.listed(cell, {"": 1}) if text else self.op("IsNaN", cell)
            wrong = [missing] if column.weighed else []
            if column.ordered and text:
                known = dict.fromkeys([*map(str, column.levels), ""], 1)
                wrong.append(self.op("Not", self.listed(cell, known)))
            elif column.ordered:
                known_ = self.equal(cell, [float(level) for level in column.levels])
                wrong.append(self.op("Not", self.op("Or", known_, missing)))
            for one in wrong:
                found = one if found is None else self.op("Or", found, one)
        return found

    # ---- the tree

    def leaf(self) -> str:
        """int64 (rows,): the leaf of each row."""
        from onnx import TensorProto, numpy_helper

        lists = _lists(self, self.plan.root)
        if not self.columns:  # no split
            first = "X" if self.matrix else self.inputs[0].name
            self.columns.append(self.zeros(first))
        table = self.op("Concat", *self.columns, axis=1)
        doubles = {key: np.array(lists.pop(key)) for key in ("nodes_splits", "leaf_weights")}
        tensors = {key: numpy_helper.from_array(value, key) for key, value in doubles.items()}
        modes = np.zeros(len(lists["nodes_featureids"]), dtype=np.uint8)  # all are <=
        found = self.op(
            "TreeEnsemble",
            table,
            domain=ML,
            n_targets=1,
            aggregate_function=1,
            post_transform=0,
            tree_roots=[0],
            nodes_modes=numpy_helper.from_array(modes, "nodes_modes"),
            leaf_targetids=[0] * len(doubles["leaf_weights"]),
            **lists,
            **tensors,
        )
        leaf = self.op("Cast", found, to=TensorProto.INT64)
        refused = self.refused()
        if refused is not None:
            beyond = self.op("Cast", refused, to=TensorProto.INT64)
            many = self.constant(np.int64(len(self.plan.leaves)))
            leaf = self.op("Add", leaf, self.op("Mul", beyond, many))
        return self.op("Reshape", leaf, self.constant(np.array([-1])))

    def zeros(self, name: str) -> str:
        """float64 (rows, 1): zeros for the rows of an input."""
        rows = self.op("Gather", self.op("Shape", name), self.constant(np.array([0])), axis=0)
        shape = self.op("Concat", rows, self.constant(np.array([1])), axis=0)
        return self.op("Expand", self.constant(np.array([[0.0]])), shape)

    def outputs(self, leaf: str) -> list[Any]:
        from onnx import TensorProto, helper

        plan = self.plan

        def gathered(table: Any, output: str, shape: list[Any]) -> Any:
            node = helper.make_node("Gather", [self.constant(table), leaf], [output], axis=0)
            self.nodes.append(node)
            kinds = {"i": TensorProto.INT64, "f": TensorProto.DOUBLE, "O": TensorProto.STRING}
            return helper.make_tensor_value_info(output, kinds[table.dtype.kind], shape)

        if not plan.classes:
            outputs = np.array([leaf.output for leaf in plan.leaves], dtype=np.float64)
            return [gathered(outputs, "output", ["rows", len(plan.targets)])]
        labels = _label_tensor(plan.classes)[[leaf.label or 0 for leaf in plan.leaves]]
        many = len(plan.classes)
        shares = np.array([leaf_shares(leaf, many) for leaf in plan.leaves], dtype=np.float64)
        return [
            gathered(labels, "label", ["rows"]),
            gathered(shares, "probabilities", ["rows", many]),
        ]

    def described(self) -> dict[str, Any]:
        inputs = [value.name for value in self.inputs]
        return {**described(self.plan), "inputs": inputs}

    def model(self, name: str) -> bytes:
        from onnx import helper

        outputs = self.outputs(self.leaf())
        graph = helper.make_graph(self.nodes, name, self.inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="odtdsl",
            doc_string=self.plan.title,
        )
        helper.set_model_props(model, {"odtdsl": json.dumps(self.described())})
        found: bytes = model.SerializeToString(deterministic=True)
        return found


def _lists(graph: _Graph, root: Item) -> dict[str, list[Any]]:
    """The attributes of the ensemble, nodes before their children; a leaf alone is a node whose
    sides are both that leaf."""
    keys = ("truenodeids", "falsenodeids", "trueleafs", "falseleafs", "featureids", "splits")
    found: dict[str, list[Any]] = {f"nodes_{key}": [] for key in keys}
    found["nodes_missing_value_tracks_true"] = []
    weights: list[float] = []

    def add(item: Item) -> tuple[int, int]:
        if isinstance(item, End):
            weights.append(float(item.leaf))
            return len(weights) - 1, 1
        at = len(found["nodes_splits"])
        column, split, missing = graph.place(item.question)
        for key, value in (("featureids", column), ("splits", split)):
            found[f"nodes_{key}"].append(value)
        found["nodes_missing_value_tracks_true"].append(int(missing))
        for key in ("truenodeids", "falsenodeids", "trueleafs", "falseleafs"):
            found[f"nodes_{key}"].append(0)
        for side, child in (("true", item.left), ("false", item.right)):
            found[f"nodes_{side}nodeids"][at], found[f"nodes_{side}leafs"][at] = add(child)
        return at, 0

    if isinstance(root, Fork):
        add(root)
    else:
        weights.append(float(root.leaf))
        for key, values in found.items():
            values.append(0.0 if key == "nodes_splits" else int(key.endswith("leafs")))
    return {**found, "leaf_weights": weights}


def _input_names(columns: tuple[Column, ...]) -> tuple[str, ...]:
    """The name of each column's input: its own, where that is not empty and no output's."""
    taken = {column.name for column in columns} | {"label", "probabilities", "output", "X"}
    found: list[str] = []
    for i, column in enumerate(columns):
        name = column.name
        while not name or (name in ("label", "probabilities", "output") or name in found):
            name = f"column {i}"
            while name in taken:
                name += "'"
        found.append(name)
    return tuple(found)


def _label_tensor(labels: tuple[Value, ...]) -> Any:
    """Labels as `predict` types them; texts where some are."""
    from odtdsl.predictors.leaves import label_array

    found = label_array(labels)
    if found.dtype != object:
        return found
    return np.array([level_text(label) for label in labels], dtype=object)
