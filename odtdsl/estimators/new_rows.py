"""Rows that an estimator was not fitted on, as data of its problem: for its audit there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.compiler.targets import TargetPart
from odtdsl.datasets.dataset import Dataset, Weights
from odtdsl.datasets.frames import read_frame
from odtdsl.datasets.table import FloatArray, Table
from odtdsl.datasets.typing import encode
from odtdsl.datasets.weights import encode_weights
from odtdsl.problem.ir.rows import Rows


def data_of(
    rows: Rows, cells: Mapping[str, Any], weights: FloatArray | None
) -> tuple[Rows, Dataset]:
    """Other rows under the types of the training rows.

    Parameters
    ----------
    rows
        The problem and its training rows.
    cells
        Columns by name: features, targets, and what groups compare.
    weights
        float64 (n_rows,); None where each row counts as one.

    Returns
    -------
    rows
        The training rows again, of a problem that weighs rows by the column that `data` has.
    data
        The other rows.

    Raises
    ------
    OdtError
        U609: a column is not there that rules or groups compare. D codes: cells that do not fit
        the types, such as a class that no training row has; weights that are none.
    """
    problem = rows.problem
    types = {name: one.type for name, one in rows.data.columns.items() if name != problem.weight}
    if lacking := [name for name in types if name not in cells]:
        raise error(
            "U609",
            f"these rows have no column `{lacking[0]}`, which `fit` had",
            helps=("pass `sensitive_features` with the same columns as in `fit`",),
        )
    weight = None
    given = {name: cells[name] for name in types}
    if weights is not None:
        weight = problem.weight or "sample weight"
        given[weight] = weights
    table: Table = read_frame(given)
    columns = {
        name: encode(table.columns[name], type_, closed=name in problem.target.names)
        for name, type_ in types.items()
    }
    labels, targets = TargetPart.of(problem.target.kind).truth(problem.target, columns)
    ones = Weights(numerators=np.ones(table.n_rows, dtype=np.int64), denominator=1)
    data = Dataset(
        table=table,
        columns=columns,
        labels=labels,
        targets=targets,
        weights=ones if weights is None else encode_weights(weights)[0],
        row_numbers=np.arange(table.n_rows, dtype=np.int64),
    )
    return Rows(replace(problem, weight=weight), rows.data), data


__all__ = ["data_of"]
