"""Data sets of the measurements, and the optimal values that are known for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CONTINUOUS = [
    "bank",
    "wilt",
    "bidding",
    "occupancy",
    "raisin",
    "page",
    "bean",
    "fault",
    "magic",
    "eeg",
]
ERRORS = {
    3: dict(zip(CONTINUOUS, (19, 18, 37, 47, 76, 125, 1406, 494, 2567, 3495), strict=True)),
    4: dict(zip(CONTINUOUS, (0, 2, 16, 26, 59, 91, 946, 386, 2267, 2934), strict=True)),
}
"""Proven errors by depth and set."""
LONG = {4: ("bean", "fault", "magic", "eeg")}
"""Sets whose proofs take a minute or more, by depth."""

SMALLEST = {
    "car": (8, 143),
    "mouse": (4, 15),
    "monk1": (5, 15),
    "monk2": (6, 67),
    "iris": (4, 15),
    "wine": (3, 15),
}
"""Least depth, then least nodes, of a tree without error."""


def folder() -> Path:
    """The folder of the public data sets; without it there is nothing to measure."""
    named = os.environ.get("ODTDSL_DATA")
    if not named:
        sys.exit("set ODTDSL_DATA to the folder that holds the public data sets")
    return Path(named)


def path(kind: str, name: str) -> Path:
    return folder() / kind / (name + (".txt" if kind == "continuous" else ".csv"))


def load(kind: str, name: str) -> tuple[Array, Array]:
    """Features (n_rows, n_features) and labels 0, 1, ... of a `continuous` or `binary` set."""
    table = np.loadtxt(path(kind, name))
    return table[:, 1:], np.unique(table[:, 0], return_inverse=True)[1].astype(np.int32)


def load_sat(name: str) -> tuple[Array, Array]:
    table = np.genfromtxt(folder() / "sat" / f"{name}.csv", delimiter=",", skip_header=1)
    return table[:, :-1], np.unique(table[:, -1], return_inverse=True)[1].astype(np.int32)


def binary() -> list[str]:
    return sorted(file.stem for file in (folder() / "binary").glob("*.csv"))


def case(name: str, scratch: Path) -> Path | None:
    """The file of a case study, those of COMPAS joined; None where it is missing."""
    parts = [folder() / "cases" / f"{name}.csv"]
    if name == "compas":
        parts = [folder() / "cases" / f"compas_{part}.csv" for part in ("train", "test")]
    if not all(part.exists() for part in parts):
        print(f"{name}: no data in {parts[0].parent}: left out", file=sys.stderr)
        return None
    texts = [part.read_text(encoding="utf-8").partition("\n") for part in parts]
    joined = scratch / f"{name}.csv"
    joined.write_text(texts[0][0] + "\n" + "".join(text[2] for text in texts), encoding="utf-8")
    return joined


def cost_tables() -> Iterator[tuple[str, str, Array]]:
    """The misclassification costs of `costs/`: the binary set, which costs, labels x labels."""
    for name, of in (
        ("diabetes", "diabetes"),
        ("heart", "heart-cleveland"),
        ("hepatitis", "hepatitis"),
    ):
        for level in ("low", "middle", "high"):
            file = folder() / "costs" / name / f"{name}-{level}-costs.csv"
            yield of, level, np.loadtxt(file, max_rows=2).astype(np.int64)


def synthetic(rows: int, *, noise: float) -> tuple[Array, Array]:
    """Three numbers of 256 values and two classes; a share `noise` of labels is turned."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, size=(rows, 3)).astype(float)
    signal = (x[:, 0] > 100) ^ (x[:, 1] > 140) ^ ((x[:, 2] > 60) & (x[:, 0] < 200))
    return x, (signal ^ (rng.random(rows) < noise)).astype(np.int32)


def ranked(x: Array) -> tuple[Array, Array]:
    """Ranks by feature (n_features, n_rows), and how many each feature has."""
    ranks = np.empty((x.shape[1], x.shape[0]), dtype=np.uint32)
    distinct = np.empty(x.shape[1], dtype=np.uint32)
    for f in range(x.shape[1]):
        values, ranks[f] = np.unique(x[:, f], return_inverse=True)
        distinct[f] = len(values)
    return (ranks.astype(np.uint16) if distinct.max() < 65535 else ranks), distinct


def ranked_or_binary(x: Array) -> tuple[Array, Array]:
    """As `ranked`; 0/1 columns are their own ranks."""
    if ((x == 0) | (x == 1)).all():
        ranks = np.ascontiguousarray(x.T, dtype=np.uint16)
        return ranks, np.full(x.shape[1], 2, dtype=np.uint32)
    return ranked(x)
