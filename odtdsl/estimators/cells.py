"""What scikit-learn calls `X` and `y` as named columns of the language."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, column_or_1d

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.numbers import counted
from odtdsl.datasets.cells import about, number_of, reading
from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.datasets.frames import of_batch, read_frame
from odtdsl.datasets.levels import level_text
from odtdsl.datasets.table import BoolArray, FloatArray, RawColumn
from odtdsl.datasets.typing import check_apart, encode
from odtdsl.datasets.writing import objects
from odtdsl.estimators.versions import remembered, validated

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What kind of column it is; `levels` are those of an ordered one."""

    word: Literal["number", "category", "ordered"]
    levels: tuple[Value, ...] = ()


NUMBER = Kind(word="number")
CATEGORY = Kind(word="category")
APART = (
    "if they are codes: pass them as strings, such as `X.astype(str)`, or as categories",
    "if they identify rows: leave the column out",
    "if they are measurements: subtract a constant, or round them",
)
"""What to do with numbers that float64 would merge: a rule cannot declare what `X` holds."""
_INFINITE = "if it marks a missing value: pass NaN instead, such as `X.replace(np.inf, np.nan)`"
_TEMPORAL = (
    "convert it to a number before `fit` and `predict`, such as days since a date:"
    ' `(column - pd.Timestamp("2020-01-01")).dt.days`; or leave it out: '
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Columns by name: float64 with NaN for numbers, else texts with None."""

    columns: Mapping[str, Array]
    kinds: Mapping[str, Kind]
    n_rows: int

    def take(self, rows: BoolArray) -> Cells:
        """The rows where `rows` is true."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Cells(columns=columns, kinds=self.kinds, n_rows=int(rows.sum()))


def read_features(
    estimator: Any,
    X: Any,
    *,
    known: Mapping[str, Kind] | None,
    may_miss: bool,
    instead: str,
    dropped: Collection[str] = (),
) -> Cells:
    """`X` as columns, checked as scikit-learn checks it.

    Parameters
    ----------
    estimator
        Remembers the width and the names of `X`, or has them compared.
    X
        A frame (pandas, polars, Arrow), whose columns keep their names and kinds; or an array,
        whose columns are `x0`, `x1`, ...: numbers, or categories where they hold texts.
    known
        The columns seen in `fit`; None there.
    may_miss, instead
        Whether cells may be missing; if not, the help to give.
    dropped
        Columns of a frame that may hold anything.

    Raises
    ------
    ValueError, TypeError
        As scikit-learn's own estimators.
    OdtError
        D104, D106, D134, D135, as for frames; U604: a missing cell.
    """
    reset = known is None
    X = of_batch(X)
    frame = _as_frame(X)
    if frame is not None:
        remembered(estimator, X, reset=reset)
        cells = _of_frame(frame, known, dropped)
    else:
        cells = _of_array(estimator, X, known, may_miss)
    if not may_miss:
        _check_present(cells, instead)
    return cells


def _as_frame(X: Any) -> Any:
    """A frame wrapped by narwhals; None for what scikit-learn takes for an array."""
    if isinstance(X, np.ndarray):
        return None
    import narwhals as nw

    _check_names(X)
    wrapped = nw.from_native(X, eager_only=True, pass_through=True)
    return wrapped if isinstance(wrapped, nw.DataFrame) else None


def _check_names(given: Any) -> None:
    """Refuse names that a frame of pandas has twice, which narwhals would not wrap."""
    if not hasattr(given, "columns"):
        return
    # Of an Arrow table, `columns` are its arrays.
    names = [str(name) for name in getattr(given, "column_names", given.columns)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise error(
            "U605",
            f"two columns of the frame are named `{twice}`",
            helps=("give every column a different name",),
        )


def _of_frame(frame: Any, known: Mapping[str, Kind] | None, dropped: Collection[str]) -> Cells:
    if frame.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={tuple(frame.shape)}) while a minimum of 1 is"
            " required."
        )
    names = [str(name) for name in frame.columns] if known is None else list(known)
    columns: dict[str, Array] = {}
    kinds: dict[str, Kind] = {}
    for name, series in zip(names, frame.iter_columns(), strict=True):
        raw = _raw(name, series, dropped)
        kind = _kind(series, raw) if known is None else known[name]
        columns[name], kinds[name] = _cells(raw, kind), kind
    return Cells(columns=columns, kinds=kinds, n_rows=frame.shape[0])


def _raw(name: str, series: Any, dropped: Collection[str]) -> RawColumn:
    native = series.to_native()
    dtype = getattr(native, "dtype", None)  # an Arrow column has none
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        native = series.to_numpy()  # not wrapped and unwrapped a second time
    try:
        return read_frame({name: native}, dropped=dropped).columns[name]
    except OdtError as refused:
        # There is no data statement whose words could help.
        dropped_so = about('spec="drop NAME"', name)
        helps = {"D106": (_INFINITE,), "D134": (_TEMPORAL + dropped_so,)}
        raise OdtError(
            replace(one, helps=helps.get(one.code, one.helps)) for one in refused.diagnostics
        ) from None


def _kind(series: Any, raw: RawColumn) -> Kind:
    """By the type of the column, not by its cells: a fold without a value changes nothing."""
    import narwhals as nw

    if series.dtype.is_numeric():
        return NUMBER
    if raw.ordered and raw.levels:
        return Kind(word="ordered", levels=raw.levels)
    if series.dtype == nw.Object and not any(isinstance(cell, str | bool) for cell in series):
        return NUMBER if raw.numbers is not None else CATEGORY
    return CATEGORY


def _cells(raw: RawColumn, kind: Kind) -> Array:
    """Numbers as float64, other cells as texts; numbers among levels as Python's, exactly."""
    if kind.word != "number":
        if not raw.by_value:
            return raw.texts
        texts: list[str | None] = raw.texts.tolist()
        numbers: list[Any] = [None if text is None else reading(text) for text in texts]
        return objects(numbers)
    if raw.numbers is None:
        wrong = next(cell for cell in raw.texts.tolist() if cell and number_of(cell) is None)
        raise ValueError(f"could not convert string to float: {wrong!r} in column `{raw.name}`")
    try:
        check_apart(raw, encode(raw, ColumnType(name=raw.name, kind="number")))
    except OdtError as merged:
        raise OdtError(replace(one, helps=APART) for one in merged.diagnostics) from None
    return raw.numbers


def _of_array(estimator: Any, X: Any, known: Mapping[str, Kind] | None, may_miss: bool) -> Cells:
    finite: Any = "allow-nan" if may_miss else True
    if issparse(X):
        return _of_sparse(estimator, X, known, finite)
    if known is None:
        texts = _holds_texts(X)
    else:
        texts = any(kind.word != "number" for kind in known.values())
    if not texts:
        array = validated(
            estimator, X, reset=known is None, dtype=np.float64, ensure_all_finite=finite
        )
        names = _array_names(array.shape[1]) if known is None else list(known)
        _check_whole(X, names)
        columns = {name: array[:, i] for i, name in enumerate(names)}
        return Cells(columns=columns, kinds=dict.fromkeys(columns, NUMBER), n_rows=len(array))
    array = validated(estimator, X, reset=known is None, dtype=object, ensure_all_finite=False)
    return _of_objects(array, known)


def _of_sparse(estimator: Any, X: Any, known: Mapping[str, Kind] | None, finite: Any) -> Cells:
    """A sparse matrix as dense columns: cells that it does not store are 0."""
    if known is not None and any(kind.word != "number" for kind in known.values()):
        raise TypeError("X is sparse, so it holds numbers, but `fit` saw texts or categories")
    array = validated(
        estimator,
        X,
        reset=known is None,
        dtype=np.float64,
        accept_sparse="csc",
        ensure_all_finite=finite,
    ).toarray()
    names = _array_names(array.shape[1]) if known is None else list(known)
    if X.dtype.kind in "iu":
        _check_whole(X.toarray(), names)
    columns = {name: array[:, i] for i, name in enumerate(names)}
    return Cells(columns=columns, kinds=dict.fromkeys(columns, NUMBER), n_rows=len(array))


def _check_whole(given: Any, names: Sequence[str]) -> None:
    """Refuse columns of integers that float64 would merge."""
    array = np.asarray(given)
    if array.dtype.kind not in "iuO" or not array.size:
        return
    for i, name in enumerate(names):
        values = array.reshape(len(array), -1)[:, i]
        if values.dtype.kind != "O" or any(isinstance(cell, int) for cell in values):
            _cells(read_frame({name: values}).columns[name], NUMBER)


def _holds_texts(X: Any) -> bool:
    """Whether it is an array of two dimensions with a cell that is a text, even of a number."""
    if not isinstance(X, np.ndarray | list | tuple):
        return False
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths, which scikit-learn refuses
        return False
    if array.ndim != 2 or array.dtype.kind not in "OU":
        return False
    return array.dtype.kind == "U" or any(isinstance(cell, str) for cell in array.flat)


def _of_objects(array: Array, known: Mapping[str, Kind] | None) -> Cells:
    names = _array_names(array.shape[1]) if known is None else list(known)
    columns: dict[str, Array] = {}
    kinds: dict[str, Kind] = {}
    for i, name in enumerate(names):
        cells = array[:, i].tolist()
        raw = read_frame({name: cells}).columns[name]
        textual = any(isinstance(cell, str | bool | np.bool_) for cell in cells)
        kind = (CATEGORY if textual else NUMBER) if known is None else known[name]
        columns[name], kinds[name] = _cells(raw, kind), kind
    return Cells(columns=columns, kinds=kinds, n_rows=len(array))


def _array_names(width: int) -> list[str]:
    """Names of columns that have none, as scikit-learn makes them up."""
    return [f"x{i}" for i in range(width)]


def column_of(y: Any) -> npt.NDArray[Any]:
    """`y` as a column, with a warning if it has two dimensions.

    What pandas keeps as truth values or whole numbers that could be missing (`boolean`, `Int64`,
    Arrow's) stays so; through scikit-learn they would all come as floats.
    """
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if plain is not None and plain.kind in "biu" and not y.isna().any():
        y = y.to_numpy(dtype=plain)
    column: npt.NDArray[Any] = column_or_1d(y, warn=True)
    return column


def lacking(y: npt.NDArray[Any]) -> BoolArray:
    """Where a column of labels has none: None, NaN, NaT or pandas' NA."""
    if y.dtype.kind in "biuSU":
        return np.zeros(len(y), dtype=np.bool_)  # these have no cell for a missing value
    return np.array(
        [type(one).__name__ == "NAType" or one is None or one != one for one in y.tolist()],
        dtype=np.bool_,
    )


def check_labels(y: npt.NDArray[Any]) -> None:
    """Refuse missing class labels, which have no order among the others.

    Raises
    ------
    OdtError
        U604.
    """
    lacks = lacking(y)
    if lacks.any():
        found = error(
            "U604",
            f"Input y contains NaN: {int(lacks.sum())} of {len(y)} rows have no class",
            helps=("remove these rows from `X` and `y`",),
        )
        raise LabelError(found.diagnostics)


class LabelError(OdtError, ValueError):
    """Class labels that `fit` cannot take: a `ValueError`, as scikit-learn promises."""


def _check_present(cells: Cells, instead: str) -> None:
    for name, column in cells.columns.items():
        lacks = np.isnan(column) if column.dtype.kind == "f" else column == None  # noqa: E711
        if lacks.any():
            count = f"{int(lacks.sum())} of {len(column)} rows"
            raise error(
                "U604",
                f"Input X contains NaN: column `{name}` in {count}",
                helps=(instead,),
            )


def read_sensitive(given: Any, n_rows: int) -> Cells:
    """Columns for groups: a frame, a series, an array of one or two dimensions, a mapping.

    Raises
    ------
    OdtError
        U606: it has another number of rows than `X`. D132 to D135: as for frames.
    """
    import narwhals as nw

    _check_names(given)
    named: Any = nw.from_native(given, pass_through=True, allow_series=True)
    if isinstance(named, nw.Series):
        given = {named.name or "sensitive": given}
    elif not isinstance(named, nw.DataFrame) and not isinstance(given, Mapping):
        array = np.asarray(given)
        array = array[:, None] if array.ndim == 1 else array
        width = array.shape[1] if array.ndim == 2 else 0
        names = ["sensitive"] if width == 1 else [f"sensitive{i}" for i in range(width)]
        given = {name: array[:, i].tolist() for i, name in enumerate(names)} or given
    table = read_frame(given, name="sensitive_features")
    if table.n_rows != n_rows:
        raise error(
            "U606",
            f"sensitive_features has {counted(table.n_rows, 'row')}, and X has {n_rows}",
            helps=("pass one value per row of X",),
        )
    kinds = {
        name: NUMBER if column.numbers is not None else CATEGORY
        for name, column in table.columns.items()
    }
    columns = {name: _cells(table.columns[name], kind) for name, kind in kinds.items()}
    return Cells(columns=columns, kinds=kinds, n_rows=n_rows)


def masks(cells: Cells) -> tuple[str, ...]:
    """The columns of truth values, which a rule may name as groups."""
    found = []
    for name, column in cells.columns.items():
        if cells.kinds[name].word != "number" and set(column.tolist()) <= {"True", "False", None}:
            found.append(name)
    return tuple(found)


def labels_of(classes: Array) -> tuple[Value, ...]:
    """What the language calls the classes, each by its own value where that stays distinct.

    Texts go without the blanks around them, as cells do. Labels of one text, such as 1 and "1", and
    texts that would read as missing get made-up names.
    """
    values: list[Value] = []
    for label in classes.tolist():
        number = isinstance(label, int | float) and not isinstance(label, bool)
        values.append(label if number else str(label).strip())
    keys = [_key(value) for value in values]
    odd = len(set(keys)) < len(keys) or any(key in ("", None) for key in keys)
    return tuple(f"class {i}" for i in range(len(values))) if odd else tuple(values)


def _key(value: Value) -> str | None:
    """The text that the reader of cells sees; None for a missing or an infinite one."""
    text = level_text(value).strip()
    number = number_of(text)
    return text if number is None or math.isfinite(number) else None


def read_numbers(y: Any) -> tuple[FloatArray, tuple[str, ...], bool]:
    """Number targets, (n_rows, n_targets), their names, and whether `y` has one dimension.

    Names are those of a frame or series, else `y`, or `y0`, `y1`, ....
    """
    import narwhals as nw

    named: Any = nw.from_native(y, pass_through=True, allow_series=True)
    names: tuple[str, ...] = ()
    if isinstance(named, nw.DataFrame):
        names = tuple(map(str, named.columns))
    array = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    _check_whole(y, [f"y{i}" for i in range(array[:1].size)])
    flat = array.ndim == 1
    array = array.reshape(len(array), -1)
    if isinstance(named, nw.Series) and named.name:
        names = (str(named.name),)
    if len(set(names)) != array.shape[1]:
        width = array.shape[1]
        names = ("y",) if width == 1 else tuple(f"y{i}" for i in range(width))
    return array, names, flat


def outputs_of(y: Any) -> tuple[str, ...]:
    """The names of the columns of a frame; nothing for what has none."""
    if isinstance(y, np.ndarray):
        return ()
    import narwhals as nw

    _check_names(y)
    named: Any = nw.from_native(y, pass_through=True, allow_series=True)
    return tuple(map(str, named.columns)) if isinstance(named, nw.DataFrame) else ()


def check_outputs(y: Any, known: Sequence[str]) -> None:
    """Refuse a frame whose columns are not those of `fit`, in their order: taken by place, it would
    be measured wrongly without a word.

    Parameters
    ----------
    y
        Numbers of other rows than those of `fit`.
    known
        What `outputs_of` said in `fit`.

    Raises
    ------
    ValueError
        As scikit-learn does for the columns of `X`.
    """
    here = outputs_of(y)
    if len(known) > 1 and here and here != tuple(known):
        names = ", ".join(f"`{name}`" for name in known)
        raise ValueError(f"the columns of y must be those of fit, in that order: {names}")


def name_of(y: Any) -> str | None:
    """The name of a series or of a frame of one column."""
    if isinstance(y, np.ndarray):
        return None
    import narwhals as nw

    named: Any = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(named, nw.Series):
        return str(named.name) if named.name else None
    if isinstance(named, nw.DataFrame) and named.shape[1] == 1:
        return str(named.columns[0])
    return None
