"""onnxruntime runs the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from exported import REFUSED, Model, Row, plain

from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner, alone


def by_onnx(model: Model, rows: list[Row]) -> list[Any]:
    """The graph in onnxruntime."""
    import onnx
    import onnxruntime

    written = model.export("onnx")
    assert isinstance(written, bytes)
    onnx.checker.check_model(onnx.load_from_string(written), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(written, options, providers=["CPUExecutionProvider"])
    return _onnx_or_refused(session, model, rows)


def _onnx_or_refused(session: Any, model: Model, rows: list[Row]) -> list[Any]:
    """A batch with rows that it refuses is halved until they are alone."""
    try:
        return _onnx(session, model, rows)
    except Exception as failure:
        if "out of data bounds" not in str(failure):
            raise
    if len(rows) == 1:
        return [REFUSED]
    half = len(rows) // 2
    return [
        said
        for part in (rows[:half], rows[half:])
        for said in _onnx_or_refused(session, model, part)
    ]


def _onnx(session: Any, model: Model, rows: list[Row]) -> list[Any]:
    plan = plan_of(model)
    inputs = [value.name for value in session.get_inputs()]
    if inputs == ["X"]:
        names = [type_.name for type_ in model.features]
        cells = [[plain("number", row.get(name)) for name in names] for row in rows]
        feeds = {"X": np.array(cells, dtype=np.float64)}
    elif inputs == ["rows"]:
        feeds = {"rows": np.zeros((len(rows), 1))}
    else:
        feeds = {
            name: np.array([[_onnx_cell(c.kind, row.get(c.name))] for row in rows])
            for name, c in zip(inputs, plan.columns, strict=True)
        }
    found = session.run(None, feeds)
    if plan.classes:
        assert np.allclose(found[1].sum(axis=1), 1)
        return list(found[0].tolist())
    assert found[0].dtype == np.float64
    return [row[0] if len(row) == 1 else tuple(row) for row in found[0].tolist()]


def _onnx_cell(kind: str, cell: Any) -> Any:
    return plain(kind, cell) if kind == "number" else "" if cell is None else str(cell)


RUNNER = Runner(run=alone(by_onnx), packages=("onnx", "onnxruntime"), cases=24)
