"""The function of a `tiny_tables.Model`: its labels at one point of every part of the space.

Written from the language reference; it uses nothing of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from tiny_tables import LEVELS, Column, Model, Split, TinyTable

Point = tuple[object, ...]
UNSEEN = "unseen"


def points(tiny: TinyTable, models: Iterable[Model]) -> list[Point]:
    """Points such that models that agree on all of them agree everywhere.

    Numbers stand for the part of the line between two thresholds, or for a bin. Missing cells
    are for columns where the training rows have some.
    """
    thresholds: list[set[Fraction]] = [set() for _ in tiny.columns]
    for model in models:
        for split in model.splits:
            if split.test.kind == "<=":
                placed = tiny.placed[split]
                assert placed is not None, "the model is admitted"
                thresholds[split.test.column].add(placed)
    each = [
        _cells(column, sorted(own)) for column, own in zip(tiny.columns, thresholds, strict=True)
    ]
    return list(product(*each))


def _cells(column: Column, thresholds: Sequence[Fraction]) -> list[Any]:
    found: list[Any]
    if column.place.startswith("bins"):
        # Well inside of each: edges that are computed otherwise differ by a float.
        found = [(low + high) / 2 for low, high in pairwise(column.edges)] or [0.0]
    elif column.kind == "ordered":
        found = [Fraction(i) for i in range(len(LEVELS))]
    elif column.ranked:
        found = [*thresholds, (thresholds[-1] if thresholds else Fraction(0)) + 1]
    else:
        found = [*sorted({x for x in column.cells if x is not None}, key=str), UNSEEN]
    return [*found, None] if None in column.cells else found


def labels(
    tiny: TinyTable, model: Model, at: Sequence[Point], *, sides_stay: bool
) -> tuple[int, ...]:
    """The model's label at each point.

    Where no row of a split has a missing cell, one goes to the side of more weight, unless the
    spec says where to; with `sides_stay`, as under rules on directions, to the side of the test.
    """
    return tuple(_label(tiny, model, point, sides_stay) for point in at)


def _label(tiny: TinyTable, model: Model, point: Point, sides_stay: bool) -> int:
    while isinstance(model.root, tuple):
        split, left, right = model.root
        model = left if _goes_left(tiny, split, point, sides_stay) else right
    return model.root.label


def _goes_left(tiny: TinyTable, split: Split, point: Point, sides_stay: bool) -> bool:
    test, column = split.test, tiny.columns[split.test.column]
    cell = point[test.column]
    if cell is not None:
        return test.passes(cell, tiny.placed.get(split))
    if column.missing in ("left", "right"):
        return column.missing == "left"
    rows = tiny.rows(split.rows)
    if sides_stay or any(column.cells[row] is None for row in rows):
        return bool(test.missing_left)
    return tiny.weight(split.left_rows) >= tiny.weight(split.rows & ~split.left_rows)


def frame(tiny: TinyTable, at: Sequence[Point]) -> dict[str, list[Any]]:
    """The points as data for a predictor."""
    return {
        column.name: [_written(column, point[i]) for point in at]
        for i, column in enumerate(tiny.columns)
    }


def _written(column: Column, cell: object) -> object:
    if isinstance(cell, Fraction):
        return LEVELS[int(cell)] if column.kind == "ordered" else float(cell)
    return cell
