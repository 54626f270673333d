"""What people predict on (tables, frames, mappings, arrays) as the raw columns a tree tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.datasets.dataset import ColumnType
from odtdsl.datasets.frames import of_batch, read_frame
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import RawColumn, Table
from odtdsl.datasets.writing import Numbers, Texts
from odtdsl.predictors.routing import HasFeatures, absent

NAME = "the data"


def as_table(tree: HasFeatures, data: object) -> Table:
    """The tested columns of `data` as raw columns; see `Tree.apply` for what `data` may be.

    Columns that the tree does not test are not even read, so they may hold anything.

    Raises
    ------
    OdtError
        U201, a tested column is absent; U202, an array of a wrong shape; D132 to D135, no frame,
        columns of unequal length, dates, or other cells that cannot be read.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, np.ndarray):
        found, n_rows = _of_array(tree, data), len(data)
    elif isinstance(data, Mapping):
        found = {str(key): values for key, values in data.items()}
        n_rows = _check_mapping(found)
    else:
        found, n_rows = _of_frame(data)
    found |= _from_dates(tree.features, tree.tested, found)
    require(tree, found)
    columns = {name: found[name] for name in tree.tested}
    if n_rows == 0:
        return Table(name=NAME, columns={name: _empty(name) for name in columns}, n_rows=0)
    plain = {
        type_.name: column
        for type_ in tree.features
        if type_.kind == "number" and type_.name in columns
        if (column := _plain_numbers(type_.name, columns[type_.name])) is not None
    }
    rest = {name: values for name, values in columns.items() if name not in plain}
    read = read_frame(rest, name=NAME).columns if rest else {}
    return Table(name=NAME, columns={**read, **plain}, n_rows=n_rows)


def with_dates_of(model: HasFeatures, request: DataRequest) -> DataRequest:
    """The request, which also reads as dates what the tested features were made of."""
    tested = set(model.tested)
    made = [one.date for one in model.features if one.name in tested and one.date is not None]
    return replace(
        request,
        days=tuple(dict.fromkeys(one.column for one in made if one.part == "days")),
        parts=tuple(dict.fromkeys(one.column for one in made if one.part != "days")),
        date_order=next((one.order or None for one in made), None),
    )


def _from_dates(
    features: Iterable[ColumnType], tested: Iterable[str], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """The tested numbers that are made of dates of the data; days may be numbers already."""
    found: dict[str, Any] = {}
    asked = set(tested)
    for type_ in features:
        made = type_.date
        if made is None or type_.name not in asked or made.column not in columns:
            continue
        if made.part != "days" and type_.name in columns:
            continue
        from odtdsl.datasets.dates import of_date

        given = columns[made.column]
        raw = read_frame({made.column: given}, name=NAME, dates=[made.column]).columns[made.column]
        if raw.numbers is None:
            numbers = of_date(raw, type_.name, made.part, made.order).numbers
            found[type_.name] = numbers
    return found


def _plain_numbers(name: str, values: Any) -> RawColumn | None:
    """A number column of an array or a frame, without a second look at what it holds.

    None where the values are anything but numbers, so that the reader has its say.
    """
    if not isinstance(values, np.ndarray):
        values = _series_numbers(values)
    if values is None or values.ndim != 1 or values.dtype.kind not in "iuf":
        return None
    numbers = values.astype(np.float64)
    if np.isinf(numbers).any():
        return None
    return RawColumn(
        name=name,
        numbers=numbers,
        writing=Numbers(numbers),
        missing=np.isnan(numbers),
        by_value=True,
    )


def _series_numbers(values: Any) -> npt.NDArray[Any] | None:
    if isinstance(values, (list, tuple)):
        return None
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series) or not (
        series.dtype.is_float() or series.dtype.is_integer()
    ):
        return None
    return series.cast(nw.Float64()).fill_null(np.nan).to_numpy()


def require(tree: HasFeatures, names: Iterable[str], name: str = NAME) -> None:
    """Raise U201 for all tested features that are not among `names`."""
    known = list(names)
    if missing := [feature for feature in tree.tested if feature not in known]:
        raise OdtError(absent(feature, known, name) for feature in missing)


def _of_array(tree: HasFeatures, data: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    width = len(tree.features)
    if data.ndim != 2 or data.shape[1] != width:
        names = ", ".join(f"`{type_.name}`" for type_ in tree.features[:10])
        raise error(
            "U202",
            f"an array to predict on must have shape (rows, {width}), this one has {data.shape}",
            notes=[f"its columns must be the features, in order: {names}" + ", ..." * (width > 10)],
            helps=["use a frame or a dict of columns to match columns by name"],
        )
    return {type_.name: data[:, i] for i, type_ in enumerate(tree.features)}


def _check_mapping(columns: Mapping[str, Any]) -> int:
    """The number of rows, where all columns have as many."""
    for name, values in columns.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise error(
                "U205",
                f"column `{name}` is a single value",
                helps=["give a list with one value per row, also for a single row"],
            )
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        read_frame(columns, name=NAME)  # says which, with its D133
    return next(iter(lengths.values()), 0)


def _of_frame(data: object) -> tuple[dict[str, Any], int]:
    import narwhals as nw

    native = of_batch(data)
    try:
        frame = nw.from_native(native, eager_only=True)
        return {str(key): frame[key] for key in frame.columns}, len(frame)
    except Exception:  # each library has its own; read_frame knows what to say
        table = read_frame(data, name=NAME)
        return {key: column.texts for key, column in table.columns.items()}, table.n_rows


def _empty(name: str) -> RawColumn:
    return RawColumn(
        name=name,
        numbers=np.empty(0, dtype=np.float64),
        writing=Texts(np.empty(0, dtype=np.object_)),
        missing=np.empty(0, dtype=np.bool_),
    )
