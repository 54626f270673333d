"""Write the data of the models beside them: from what scikit-learn ships, and made-up ones.

Usage: python models/prepare.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sklearn.datasets import load_diabetes, load_digits

from odtdsl import datasets


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    part.replace(path)


def digits(folder: Path) -> None:
    """Threes and eights, pixels from 0 to 16."""
    data = load_digits()
    chosen = [(int(y), x) for x, y in zip(data.data, data.target, strict=True) if y in (3, 8)]
    rows = ([*map(int, x), y] for y, x in chosen)
    write(folder / "digits_3_8.csv", [*data.feature_names, "digit"], rows)


def diabetes(folder: Path) -> None:
    """Baseline values in raw units, and whether progression after a year is above 140."""
    data = load_diabetes(scaled=False)
    rows = (
        [
            *("female" if i == 1 and v == 2 else "male" if i == 1 else v for i, v in enumerate(x)),
            "yes" if y > 140 else "no",
        ]
        for x, y in zip(data.data.tolist(), data.target, strict=True)
    )
    write(folder / "diabetes_high.csv", [*data.feature_names, "high"], rows)


def made_up(folder: Path) -> None:
    """From the generators of `odtdsl.datasets`: what nobody would observe is left out."""
    patients = datasets.treatments(600, seed=0)
    rewards = {name: patients[f"true_{name}"] for name in ("none", "drug", "surgery")}
    asked = {name: patients[name] for name in ("age", "severity", "sex")}
    followed = datasets.survival(400, seed=0)
    del followed["true_hazard"]
    for name, columns in (
        ("patients", asked | rewards),
        ("followed", followed),
        ("houses", datasets.houses(400, seed=0)),
        ("electives", datasets.elective_grades(400, 3, seed=0)),
        ("exam_scores", datasets.exam_scores(800, seed=0)),
        ("car_claims", datasets.car_claims(500, seed=0)),
    ):
        write(folder / f"{name}.csv", list(columns), zip(*columns.values(), strict=True))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    digits(target)
    diabetes(target)
    made_up(target)
