"""The rows that the CPTree study published for its splits, held against proven optima."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

METHODS = ("CPTree", "DL8.5")
ROUNDED = 5e-5
"""Published accuracies have four digits, or more."""

Verdict = Literal["other data", "optimal", "below"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Accuracies of one method on one split, with up to `leaves` leaves.

    `claimed`: whether the row says that the tree is optimal.
    """

    method: str
    split: int
    train: float
    test: float
    leaves: int
    claimed: bool

    def verdict(self, best: float, rows: int, test_rows: int) -> Verdict:
        """Against the largest training accuracy that any such tree has on the split's file."""
        of_file = all(
            abs(share * count - round(share * count)) <= ROUNDED * count + 1e-9
            for share, count in ((self.train, rows), (self.test, test_rows))
        )
        if not of_file or self.train > best + ROUNDED:
            return "other data"
        return "optimal" if self.train >= best - ROUNDED else "below"


def published(folder: Path, name: str, depth: int) -> Iterator[Published]:
    """The rows of a set; `folder` holds those of the study."""
    for method, file, prefix in (
        ("CPTree", f"published_CPtree_holdout_{name}.csv", "cp_tree"),
        ("DL8.5", f"published_DL85_cat_dis_holdout_{name}.csv", "dl8.5"),
    ):
        path = folder / name / file
        if not path.exists():
            continue
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, skipinitialspace=True):
                if int(row["K"]) == depth:
                    yield Published(
                        method=method,
                        split=int(row["step"]),
                        train=float(row[f"{prefix}_train"]),
                        test=float(row[f"{prefix}_test"]),
                        leaves=int(row.get("L", 2**depth)),
                        claimed=row.get("optimality") == "Optimal",
                    )
