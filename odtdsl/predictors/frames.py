"""What people predict on (tables, frames, mappings, arrays) as the raw columns a tree tests."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.data.table import BoolArray, FloatArray, ObjectArray, RawColumn, Table
from odtdsl.diagnostics.model import OdtError, error
from odtdsl.predictors.encode import as_number
from odtdsl.predictors.tree import Tree


def as_table(tree: Tree, data: object) -> Table:
    """The tested columns of `data` as raw columns; see `Tree.apply` for what `data` may be.

    Absent columns are left to routing, which knows how to tell.

    Raises
    ------
    OdtError
        U202, an array of a wrong shape or columns of unequal length; U205, data of no known kind.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, np.ndarray):
        columns, n_rows = _of_array(tree, data)
    elif isinstance(data, Mapping):
        columns, n_rows = _of_mapping(tree, data)
    else:
        columns, n_rows = _of_frame(tree, data)
    raw = {name: raw_column(name, values) for name, values in columns.items()}
    return Table(name="the data", columns=raw, n_rows=n_rows)


def raw_column(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> RawColumn:
    """A raw column of cells: None, NaN, NaT, NA and empty text are missing."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return _number_column(name, values.astype(np.float64))
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [_text(cell) for cell in cells]
    missing = np.array([text is None for text in texts], dtype=bool)
    found = [np.nan if text is None else as_number(text) for text in texts.tolist()]
    figures = None if None in found else np.array(found, dtype=np.float64)
    return RawColumn(name=name, numbers=figures, texts=texts, missing=missing)


def _number_column(name: str, figures: FloatArray) -> RawColumn:
    missing: BoolArray = np.isnan(figures)
    texts: ObjectArray = np.empty(len(figures), dtype=object)
    texts[:] = [None if cell != cell else _text(cell) for cell in figures.tolist()]
    finite = bool(np.isfinite(figures[~missing]).all())
    return RawColumn(name=name, numbers=figures if finite else None, texts=texts, missing=missing)


def _text(cell: Any) -> str | None:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return str(cell)
    if isinstance(cell, numbers.Real):
        return None if cell != cell else repr(float(cell)).removesuffix(".0")
    return str(cell) or None


def _of_array(tree: Tree, data: npt.NDArray[Any]) -> tuple[dict[str, npt.NDArray[Any]], int]:
    width = len(tree.features)
    if data.ndim != 2 or data.shape[1] != width:
        names = ", ".join(f"`{type_.name}`" for type_ in tree.features[:10])
        raise error(
            "U202",
            f"an array to predict on must have shape (rows, {width}), this one has {data.shape}",
            notes=[f"its columns are the features in order: {names}" + ", ..." * (width > 10)],
            helps=["give a frame or a dict of columns to go by names"],
        )
    order = {type_.name: i for i, type_ in enumerate(tree.features)}
    return {name: data[:, order[name]] for name in tree.tested if name in order}, len(data)


def _of_mapping(tree: Tree, data: Mapping[Any, Any]) -> tuple[dict[str, Any], int]:
    columns: dict[str, Any] = {}
    for name, values in data.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise error("U205", f"column `{name}` is one value: give a list, one cell for a row")
        columns[str(name)] = values if isinstance(values, np.ndarray) else list(values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        (first, n), (other, m) = next(
            (a, b) for a in lengths.items() for b in lengths.items() if a[1] != b[1]
        )
        raise error("U202", f"column `{first}` has {n} rows, column `{other}` has {m}")
    return columns, next(iter(lengths.values()), 0)


def _of_frame(tree: Tree, data: object) -> tuple[dict[str, Any], int]:
    import narwhals as nw

    try:
        native: Any = data
        frame = nw.from_native(native, eager_only=True)
    except TypeError as caught:
        raise _unknown(data) from caught
    columns: dict[str, Any] = {}
    for name in frame.columns:
        series = frame[name]
        plain = series.dtype.is_numeric() and not series.is_null().any()
        columns[str(name)] = series.to_numpy() if plain else series.to_list()
    return columns, len(frame)


def _unknown(data: object) -> OdtError:
    return error(
        "U205",
        f"cannot predict on a {type(data).__name__}",
        helps=["give a pandas, polars or Arrow frame, a dict of columns, or a 2-D numpy array"],
    )
