"""Why a row gets its prediction: its path, the rules that apply to it, and the smallest change.

The counterfactual is exact: of all leaves that predict otherwise, the one that the row reaches
by changing the fewest features, then by the least sum of changes, each as a share of the
training range of its feature. On a path every feature stands for itself, so that the least
change to a leaf is the least change of each feature.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from odtdsl.auditor.audit import without_slack
from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Column, Day, Value
from odtdsl.datasets.table import FloatArray, Table
from odtdsl.driver.reasons import Change, Counterfactual, Step, Why
from odtdsl.insight.attribution import applies_to_leaf, applies_to_split, forms_of_rules
from odtdsl.predictors.encoding import Cells
from odtdsl.predictors.frames import as_table
from odtdsl.predictors.leaves import leaves_of
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Side, Test, Threshold
from odtdsl.predictors.routing import Path, passes, paths, route, tested_cells
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import leaf_words, split_words, value_text
from odtdsl.problem.ir.intervals import FULL, RealSet
from odtdsl.problem.ir.rows import Rows


def why(
    tree: Tree,
    rows: Rows,
    row: int | Mapping[str, Any] | object,
    *,
    to: Value | None = None,
    frozen: Iterable[str] = (),
) -> Why:
    """Explain one prediction; see `Result.why`."""
    wanted = _wanted(tree, to)
    kept = _frozen(tree, frozen)
    table = _one_row(tree, rows, row)
    here = int(route(tree, table)[0])
    cells = tested_cells(tree, table.columns, table.name)
    path = paths(tree)[here]
    steps = _steps(tree, rows, path, here, cells)
    named = {name for step in steps for name in step.rules}
    return Why(
        prediction=leaf_words(tree.leaves[here], tree)[0],
        steps=steps,
        tight=without_slack(tree, rows, here, named),
        counterfactual=_nearest(tree, rows, cells, here, wanted, kept),
        stays=_stays(tree, here, wanted),
    )


def _stays(tree: Tree, here: int, wanted: int | None) -> str:
    """Why no other prediction can be had."""
    if wanted is None:
        return "no allowed change leads to another prediction"
    asked = printable(str(tree.classes[wanted]))
    if tree.leaves[here].label == wanted:
        return f"the prediction is {asked} already"
    if all(leaf.label != wanted for leaf in tree.leaves):
        return f"no leaf {leaves_of(tree).verb} {asked}"
    return f"no allowed change leads to {asked}"


# ---- what is asked


def _wanted(tree: Tree, to: Value | None) -> int | None:
    if to is None:
        return None
    for index, label in enumerate(tree.classes):
        if label == to or str(label) == str(to):
            return index
    near = closest(str(to), [str(label) for label in tree.classes])
    raise error(
        "U207",
        f"`{to}` is not a class of this tree",
        helps=(_classes(tree) if near is None else f"did you mean `{near}`?",),
    )


def _classes(tree: Tree) -> str:
    shown = [f"`{label}`" for label in tree.classes[:12]]
    if not shown:
        return "the tree predicts numbers: omit `to`"
    return "write one of " + ", ".join(shown) + (", ..." if len(tree.classes) > 12 else "")


def _frozen(tree: Tree, frozen: Iterable[str]) -> frozenset[str]:
    names = [type_.name for type_ in tree.features]
    kept = frozenset([frozen] if isinstance(frozen, str) else frozen)
    for name in sorted(kept - set(names)):
        near = closest(name, names)
        raise error(
            "U207",
            f"`{name}` is not a feature of this tree, so it cannot be frozen",
            helps=() if near is None else (f"did you mean `{near}`?",),
        )
    return kept


def _one_row(tree: Tree, rows: Rows, row: object) -> Table:
    """The cells of a training row by its number, or of a row that is given."""
    if isinstance(row, Table):
        return row
    if isinstance(row, int | np.integer) and not isinstance(row, bool):
        at = np.flatnonzero(rows.data.row_numbers == int(row))
        if not at.size:
            raise error(
                "U207",
                f"row {row} is not a training row",
                helps=("count rows from 0 in the data file, or give the cells as a mapping",),
            )
        return rows.data.table.take(at)
    if isinstance(row, Mapping):
        row = {
            name: cells if isinstance(cells, list | tuple | np.ndarray) else [cells]
            for name, cells in row.items()
        }
    table = as_table(tree, row)
    if table.n_rows != 1 and tree.tested:
        raise error("U207", f"give exactly one row, not {table.n_rows}")
    return table if tree.tested else Table(name=table.name, columns=table.columns, n_rows=1)


# ---- the path and its rules


def _steps(
    tree: Tree, rows: Rows, path: Path, here: int, cells: dict[str, Cells]
) -> tuple[Step, ...]:
    forms = forms_of_rules(rows)
    inside = np.flatnonzero(route(tree, rows.data.table) == here)
    index = {feature.name: i for i, feature in enumerate(rows.problem.features)}
    found: list[Step] = []
    for level, (branch, side) in enumerate(path):
        name, words = split_words(branch)
        value = _value(tree, branch.feature, cells)
        answer = "yes" if side == "left" else "no"
        shown = "missing" if value is None else value_text(value)
        applies = applies_to_split((index.get(branch.feature, -1),), level)
        found.append(
            Step(
                text=f"{name} {words}: {answer} ({name} is {shown})",
                feature=branch.feature,
                rules=tuple(rule for rule, one in forms if applies(one)),
            )
        )
    (label, counts), verb = leaf_words(tree.leaves[here], tree), leaves_of(tree).verb
    of_leaf = tuple(rule for rule, one in forms if applies_to_leaf(one, inside.tolist()))
    return (*found, Step(text=f"{verb} {label} ({counts})", feature=None, rules=of_leaf))


def _value(tree: Tree, feature: str, cells: dict[str, Cells]) -> Value | None:
    """The first cell of a tested column; None where it is missing."""
    column = cells[feature]
    if column.missing[0]:
        return None
    if column.codes is None:
        assert column.numbers is not None
        number = float(column.numbers[0])
        type_ = next(type_ for type_ in tree.features if type_.name == feature)
        if isinstance(shown := type_.shown(number), Day):
            return shown
        return int(number) if number == int(number) and abs(number) < 2**53 else number
    levels = next(type_.levels for type_ in tree.features if type_.name == feature)
    code = int(column.codes[0])
    return levels[code] if code >= 0 else "a value not seen in training"


# ---- the counterfactual


def _nearest(
    tree: Tree,
    rows: Rows,
    cells: dict[str, Cells],
    here: int,
    wanted: int | None,
    frozen: frozenset[str],
) -> Counterfactual | None:
    """The nearest leaf that predicts otherwise; ties go to the leftmost."""
    best: tuple[tuple[int, float], Leaf, tuple[Change, ...]] | None = None
    now = tree.leaves[here]
    for leaf, path in zip(tree.leaves, paths(tree), strict=True):
        if (leaf.label, leaf.output) == (now.label, now.output):
            continue
        if wanted is not None and leaf.label != wanted:
            continue
        changes = _changes(tree, rows, cells, path, frozen)
        if changes is None:
            continue
        key = (len(changes), math.fsum(change.size for change in changes))
        if best is None or key < best[0]:
            best = (key, leaf, changes)
    if best is None:
        return None
    return Counterfactual(prediction=leaf_words(best[1], tree)[0], changes=best[2])


def _changes(
    tree: Tree, rows: Rows, cells: dict[str, Cells], path: Path, frozen: frozenset[str]
) -> tuple[Change, ...] | None:
    """The least changes by which a row takes a path; None where none are admitted."""
    asked: dict[str, list[tuple[Branch, Side]]] = {}
    for branch, side in path:
        asked.setdefault(branch.feature, []).append((branch, side))
    found: list[Change] = []
    for feature, tests in asked.items():
        if all(_takes(tree, branch, cells[feature]) == side for branch, side in tests):
            continue
        if feature in frozen:
            return None
        change = _change(tree, rows, feature, tests, cells)
        if change is None:
            return None
        found.append(change)
    return tuple(found)


def _takes(tree: Tree, branch: Branch, cells: Cells) -> Side:
    """The side that the first cell takes."""
    if cells.missing[0]:
        return branch.missing
    levels = next(type_.levels for type_ in tree.features if type_.name == branch.feature)
    return "left" if passes(branch.test, cells, levels, np.zeros(1, dtype=np.int64))[0] else "right"


def _change(
    tree: Tree,
    rows: Rows,
    feature: str,
    tests: list[tuple[Branch, Side]],
    cells: dict[str, Cells],
) -> Change | None:
    column = rows.data.columns[feature]
    before = _value(tree, feature, cells)
    if column.numbers is not None:
        return _number_change(column, column.numbers, before, tests)
    return _level_change(column, before, tests)


def _number_change(
    column: Column, numbers: FloatArray, before: Value | None, tests: list[tuple[Branch, Side]]
) -> Change | None:
    allowed = FULL
    for branch, side in tests:
        left = _numbers_left(branch.test)
        allowed = allowed & (left if side == "left" else left.complement())
    present = numbers[~np.isnan(numbers)]
    wish = float(np.median(present)) if before is None else float(before)
    days = isinstance(column.type.shown(wish), Day)
    # A column that only ever held whole numbers gets one, where nobody wrote `integer`, too.
    held = present if before is None else np.append(present, wish)
    whole = column.type.step is None and bool((held == np.floor(held)).all())
    after = _nearest_value(allowed, wish, Fraction(1) if days or whole else column.type.step)
    if after is None and whole:
        after = _nearest_value(allowed, wish)
    if after is None:
        return None
    spread = float(present.max() - present.min()) if present.size else 0.0
    size = 1.0 if before is None else abs(after - wish) / (spread or 1.0)
    if days:
        return Change(feature=column.name, before=before, after=Day(after), size=size)
    shown: Value = int(after) if after == int(after) and abs(after) < 2**53 else after
    return Change(feature=column.name, before=before, after=shown, size=size)


def _numbers_left(test: Test) -> RealSet:
    """The numbers that go left."""
    match test:
        case Threshold(value=value):
            return RealSet.below(float(value), closed=True)
        case Equals(value=value):
            return RealSet.points([float(value)])
        case InBin(low=low, high=high, closed=closed):
            from_low = RealSet.above(low, closed=True)
            return from_low & RealSet.below(high, closed=closed)


def _nearest_value(allowed: RealSet, wish: float, step: Fraction | None = None) -> float | None:
    """The finite float of a set (a multiple of `step`) nearest to `wish`, ties downwards."""
    best: float | None = None
    for (low, after_low), (high, after_high) in allowed.pieces:
        first = math.nextafter(low, math.inf) if after_low else low
        last = high if after_high else math.nextafter(high, -math.inf)
        first, last = max(first, -MAX_FLOAT), min(last, MAX_FLOAT)
        if first > last:
            continue
        value = min(max(wish, first), last)
        for near in (value,) if step is None else _on_grid(value, step):
            if first <= near <= last and (best is None or abs(near - wish) < abs(best - wish)):
                best = near
    return best


def _on_grid(value: float, step: Fraction) -> tuple[float, ...]:
    """The multiples of a step around a value, upwards; one more where floats round."""
    below = math.floor(Fraction(value) / step)
    return tuple(float(k * step) for k in range(below - 1, below + 3))


MAX_FLOAT = float(np.finfo(np.float64).max)


def _level_change(
    column: Column, before: Value | None, tests: list[tuple[Branch, Side]]
) -> Change | None:
    """The nearest level that training has: by rank for ordered columns, else the first."""
    assert column.codes is not None
    levels = column.type.levels
    ordered = column.type.kind == "ordered"
    spread = max(1, len(levels) - 1)
    best: Change | None = None
    for code in np.unique(column.codes[column.codes >= 0]).tolist():
        cell = Cells(numbers=None, codes=np.array([code]), missing=np.zeros(1, dtype=np.bool_))
        at = np.zeros(1, dtype=np.int64)
        if any(bool(passes(b.test, cell, levels, at)[0]) != (side == "left") for b, side in tests):
            continue
        size = 1.0
        if ordered and before in levels:
            size = abs(levels.index(before) - code) / spread
        if best is None or size < best.size:
            best = Change(feature=column.name, before=before, after=levels[code], size=size)
    return best
