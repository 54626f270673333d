"""What the page's script is given: the model's questions, features, rows, and rules' nodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import ColumnType, Dataset, Value
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.diagram_nodes import AxisTest, Split
from odtdsl.predictors.encoding import Cells
from odtdsl.predictors.graph import End, Joint
from odtdsl.predictors.nodes import Equals, InBin, Threshold
from odtdsl.predictors.routing import encoded
from odtdsl.predictors.wording import label_text, leaf_words, node_words
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart

MAX_PAGE_CELLS = 100_000
"""Cells of training rows that a page holds at most; of more rows, some that lie evenly apart."""


def payload(subject: Subject) -> dict[str, Any]:
    """The object that the script reads; empty without a model."""
    facts = subject.facts
    if facts is None:
        return {}
    model = facts.model
    types = {type_.name: type_ for type_ in model.features}
    tested = {name: at for at, name in enumerate(model.tested)}
    return {
        "kind": model.kind,
        "root": facts.graph.root,
        "nodes": [_node(one.node, subject, tested, types) for one in facts.nodes],
        "features": [
            {
                "name": printable(name),
                "kind": types[name].kind,
                "levels": [label_text(level) for level in types[name].levels],
            }
            for name in tested
        ],
        "rules": [
            {"name": printable(rule.name), "nodes": facts.shaped(rule.name)}
            for rule in subject.problem.rules
        ],
        "targets": [printable(name) for name in model.targets],
        "rows": _rows(subject) if subject.with_rows else None,
    }


def _node(
    node: Joint | End, subject: Subject, tested: dict[str, int], types: dict[str, ColumnType]
) -> dict[str, Any]:
    facts = subject.facts
    assert facts is not None, "asked only with a model"
    rules = list(facts.nodes[node.number].rules)
    if isinstance(node, End):
        says = ": ".join(leaf_words(node.leaf, facts.model))
        return {"text": says, "rules": [printable(rule) for rule in rules]}
    return {
        "asks": " ".join(node_words(node.split)),
        "yes": node.left,
        "no": node.right,
        "rules": [printable(rule) for rule in rules],
        **_question(node.split, tested, types),
    }


def _question(split: Split, tested: dict[str, int], types: dict[str, ColumnType]) -> dict[str, Any]:
    """Values of columns with levels are places among them."""
    if not isinstance(split, AxisTest):
        weights = [
            [tested[w.feature], w.weight, _place(types[w.feature], w.value)] for w in split.weights
        ]
        return {"test": "plane", "weights": weights, "bound": split.bound}
    found = {"feature": tested[split.feature], "missing": split.missing == "left"}
    match split.test:
        case Threshold(value=value):
            return {**found, "test": "at most", "value": _place(types[split.feature], value)}
        case Equals(value=value):
            return {**found, "test": "equal", "value": _place(types[split.feature], value)}
        case InBin(low=low, high=high, closed=closed):
            ends = [_finite(low), _finite(high)]
            return {**found, "test": "bin", "low": ends[0], "high": ends[1], "closed": closed}


def _place(type_: ColumnType, value: Value | None) -> float | int | None:
    if value is None:
        return None
    return float(value) if type_.kind == "number" else type_.levels.index(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rows(subject: Subject) -> dict[str, Any]:
    """The tested cells of rows, of training and then of test, and what is known of them.

    A row is called by its `id` where the spec names one, else by its number; test rows of a file of
    their own by `test` and their number there.
    """
    data, test, model = subject.rows.data, subject.result.test_rows, subject.model
    assert model is not None, "asked only with a model"
    most = max(1, MAX_PAGE_CELLS // max(1, len(model.tested)))
    found = _some_rows(data, subject, most, "")
    found |= {"all": data.n_rows, "tests": 0, "ends": _ends(subject)[found.pop("kept")].tolist()}
    if test is not None and test.n_rows:
        apart = test.table.name != data.table.name
        more = _some_rows(test, subject, most, "test " if apart else "")
        found["names"] += more["names"]
        found["actual"] += more["actual"]
        found["cells"] = [a + b for a, b in zip(found["cells"], more["cells"], strict=True)]
        found |= {"all": data.n_rows + test.n_rows, "tests": len(more["names"])}
    return found


def _some_rows(data: Dataset, subject: Subject, most: int, before: str) -> dict[str, Any]:
    """At most so many rows, evenly apart: their names, cells and truths, and their places."""
    model, target, column = subject.model, subject.problem.target, subject.problem.data.id_column
    assert model is not None, "asked only with a model"
    kept = np.arange(0, data.n_rows, max(1, math.ceil(data.n_rows / most)))
    cells = encoded(model, data.table.columns, data.table.name)
    names = [f"{before}{number}" for number in data.row_numbers[kept].tolist()]
    if column is not None and column in data.table.columns:
        ids = data.table.columns[column].texts[kept].tolist()
        names = [name if of is None else of for name, of in zip(names, ids, strict=True)]
    return {
        "names": names,
        "cells": [_cells(cells[name], kept) for name in model.tested],
        "actual": list(ReportPart.of(target.kind).actual(data, target, kept)),
        "kept": kept,
    }


def _cells(column: Cells, kept: IntArray) -> list[float | int | None]:
    """Numbers, or places among the levels; null where missing."""
    missing = column.missing[kept].tolist()
    values = (column.numbers if column.codes is None else column.codes)[kept].tolist()  # type: ignore[index]
    return [None if gone else value for gone, value in zip(missing, values, strict=True)]


def _ends(subject: Subject) -> IntArray:
    """int64 (n_rows,): the number of the end of each row, for tests of the script."""
    facts = subject.facts
    assert facts is not None, "asked only with a model"
    found = np.zeros(subject.rows.n_rows, dtype=np.int64)
    for one in facts.nodes:
        if isinstance(one.node, End):
            found[one.inside] = one.node.number
    return found
