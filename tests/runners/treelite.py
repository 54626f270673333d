"""The interpreter of treelite runs the model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from exported import REFUSED, Model, Row, refuses

from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Hyperplane
from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner, alone


def by_treelite(model: Model, rows: list[Row]) -> list[Any]:
    """The model in treelite's own interpreter, which has no way to refuse a row."""
    import treelite

    written = model.export("treelite")
    assert isinstance(written, bytes)
    loaded = treelite.Model.deserialize_bytes(written)
    plan = plan_of(model)
    cells = np.full((len(rows), len(model.features)), np.nan)
    for column in plan.columns:
        for i, row in enumerate(rows):
            cells[i, column.position] = _code(column, row.get(column.name))
    found = treelite.gtil.predict(loaded, cells, nthread=1).reshape(len(rows), -1)
    assert found.dtype == np.float64
    if plan.classes:
        assert (found.sum(axis=1) == 1).all()
        said = [plan.classes[i] for i in found.argmax(axis=1)]
    else:
        said = [row[0] if len(row) == 1 else tuple(row) for row in found.tolist()]
    return [
        REFUSED if refuses(plan.refusing, row) else x for row, x in zip(rows, said, strict=True)
    ]


def _code(column: Any, cell: Any) -> float:
    if cell is None:
        return math.nan
    if column.kind == "number":
        return float(cell)
    return float(column.levels.index(cell)) if cell in column.levels else -1.0


def carries(model: Model) -> bool:
    """A node tests one feature."""
    return not isinstance(model, Diagram) or not any(
        isinstance(node.split, Hyperplane) for node in model.nodes()
    )


RUNNER = Runner(run=alone(by_treelite), packages=("treelite",), cases=24, carries=carries)
