"""The classes that scikit-learn ships as text files, read without importing scikit-learn.

Importing it and SciPy takes a second or two, many times what a solve of 150 rows takes. Its own
loaders read these files too; what they write into their code, the names of the columns, stands
here. Where a file is not as expected, the loaders read it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

_OF_CELLS = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
)
_FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "breast_cancer": (
        "breast_cancer.csv",
        tuple(
            form.format(of) for form, of in product(("mean {}", "{} error", "worst {}"), _OF_CELLS)
        ),
    ),
    "iris": (
        "iris.csv",
        ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"),
    ),
    "wine": (
        "wine_data.csv",
        (
            "alcohol",
            "malic_acid",
            "ash",
            "alcalinity_of_ash",
            "magnesium",
            "total_phenols",
            "flavanoids",
            "nonflavanoid_phenols",
            "proanthocyanins",
            "color_intensity",
            "hue",
            "od280/od315_of_diluted_wines",
            "proline",
        ),
    ),
}
"""Of each set its file, and the names of its columns but the last, the class."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shipped:
    """What scikit-learn's loaders return of a set of classes, under their names."""

    feature_names: tuple[str, ...]
    data: npt.NDArray[np.float64]
    """A row for each row, a column for each feature."""

    target: npt.NDArray[np.int64]
    """For each row an index of `target_names`."""

    target_names: tuple[str, ...]


def shipped(name: str) -> Shipped | None:
    """A set of scikit-learn by its name; None where its loader has to read it.

    The file begins with the numbers of rows and features and the names of the classes.
    """
    package = find_spec("sklearn")
    if name not in _FILES or package is None or package.origin is None:
        return None
    file, names = _FILES[name]
    try:
        text = (Path(package.origin).parent / "datasets" / "data" / file).read_text("utf-8")
        head, *rows = csv.reader(text.splitlines())
        data = np.array([row[:-1] for row in rows], dtype=np.float64)
        target = np.array([row[-1] for row in rows], dtype=np.int64)
        size = (int(head[0]), int(head[1]))
    except (OSError, ValueError, IndexError):
        return None
    classes = tuple(head[2:])
    if (
        data.shape != size
        or size[1] != len(names)
        or set(target.tolist()) != set(range(len(classes)))
    ):
        return None
    return Shipped(feature_names=names, data=data, target=target, target_names=classes)
