"""Data sets by name: those that scikit-learn ships, and OpenML's through scikit-learn."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException  # of names that no address can hold
from typing import Any

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.datasets.cells import (
    Marks,
    build_table,
    column_from_numbers,
    column_from_texts,
    with_levels,
)
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.shipped import shipped
from odtdsl.datasets.table import RawColumn, Table

BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""The sets that come with scikit-learn and need no network."""


def read_sklearn(request: DataRequest) -> Table:
    """A bundled set: its features, and `target` with the labels of `target_names`.

    `target` holds numbers for diabetes and digits (0 to 9); linnerud has its three targets
    by their own names.

    Raises
    ------
    OdtError
        D121: no such set.
    """
    if request.name not in BUNDLED:
        raise _unknown(request.name)
    bunch: Any = shipped(request.name)
    if bunch is None:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{request.name}")()
    marks = Marks.of(request.na)
    columns = [
        column_from_numbers(str(name), values, marks=marks)
        for name, values in zip(bunch.feature_names, bunch.data.T, strict=True)
    ]
    columns.extend(_targets(request.name, bunch, marks))
    return build_table(f'sklearn "{request.name}"', columns, len(bunch.data))


def _targets(name: str, bunch: Any, marks: Marks) -> list[RawColumn]:
    target = np.asarray(bunch.target)
    if name == "linnerud":
        return [
            column_from_numbers(str(key), values, marks=marks)
            for key, values in zip(bunch.target_names, target.T, strict=True)
        ]
    if name in ("diabetes", "digits"):
        return [column_from_numbers("target", target, marks=marks)]
    labels = [str(bunch.target_names[i]) for i in target]
    return [column_from_texts("target", labels, marks=marks)]


def _unknown(name: str) -> OdtError:
    near = difflib.get_close_matches(name.lower(), BUNDLED, n=1, cutoff=0.5)
    listed = ", ".join(f'"{known}"' for known in BUNDLED)
    helps = [f'did you mean `data sklearn "{near[0]}"`?'] if near else []
    helps.append(
        "data sets that scikit-learn downloads are not included: save them as CSV, or use `data "
        "openml`"
    )
    return error(
        "D121",
        f'scikit-learn contains no data set "{name}"',
        notes=(f"it contains {listed}",),
        helps=helps,
    )


def read_openml(request: DataRequest, fetch: Callable[..., Any] | None = None) -> Table:
    """An OpenML set by its name or, in digits, its number.

    Columns keep the names that OpenML gives them, the target too. `fetch` stands in for
    `sklearn.datasets.fetch_openml`.

    Raises
    ------
    OdtError
        D122: it could not be fetched. D123: it is stored sparse.
    """
    if fetch is None:
        from sklearn.datasets import fetch_openml

        fetch = fetch_openml
    frames = _has_pandas()
    parser = "auto" if frames else "liac-arff"
    is_number = request.name.isdecimal() and len(request.name) <= 18
    which = {"data_id": int(request.name)} if is_number else {"name": request.name}
    try:
        with warnings.catch_warnings():
            # Several versions of one name: scikit-learn takes the oldest active one and warns.
            warnings.simplefilter("ignore")
            bunch = fetch(**which, as_frame=frames, parser=parser)
    except (OSError, ValueError, ImportError, HTTPException) as problem:
        raise _not_fetched(request.name, problem) from None
    name = f'openml "{request.name}"'
    if frames:
        from odtdsl.datasets.frames import read_frame

        return read_frame(bunch.frame, name=name, na=request.na)
    return _from_arrays(bunch, name, Marks.of(request.na))


def _has_pandas() -> bool:
    from importlib.util import find_spec

    return find_spec("pandas") is not None


def _not_fetched(name: str, problem: Exception) -> OdtError:
    return error(
        "D122",
        f'the OpenML data set "{name}" could not be downloaded: {problem}',
        helps=(
            "check the name on openml.org and your network connection",
            "without a network, save the data set as CSV or ARFF and use the file",
        ),
    )


def _from_arrays(bunch: Any, name: str, marks: Marks) -> Table:
    """Arrays with categories as ordinals, which is how scikit-learn hands them out."""
    if not isinstance(bunch.data, np.ndarray):
        raise error(
            "D123",
            f"{name} is stored in sparse form, which needs pandas",
            helps=("install pandas: pip install 'odtdsl[frames]'",),
        )
    categories: Mapping[str, Sequence[Any]] = getattr(bunch, "categories", None) or {}
    columns = [
        _array_column(str(key), values, categories.get(key), marks)
        for key, values in zip(bunch.feature_names, bunch.data.T, strict=True)
    ]
    target = np.asarray(bunch.target)
    columns.extend(
        _array_column(str(key), values, None, marks)
        for key, values in zip(bunch.target_names, target.reshape(len(target), -1).T, strict=True)
    )
    return build_table(name, columns, len(bunch.data))


def _array_column(name: str, values: Any, levels: Sequence[Any] | None, marks: Marks) -> RawColumn:
    from odtdsl.datasets.frames import column_from_values

    if levels is None:
        return column_from_values(name, values.tolist(), marks=marks)
    texts = [str(level) for level in levels]
    cells = [None if code is None or code != code else texts[int(code)] for code in values.tolist()]
    column = column_from_texts(name, cells, marks=marks)
    return with_levels(column, texts, ordered=False)
