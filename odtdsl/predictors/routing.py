"""Which rows reach which node of a tree, on raw cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.datasets.table import BoolArray, IntArray, RawColumn, Table
from odtdsl.predictors.encoding import Cells, encode_cells
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Side, Test, Threshold, TreeNode
from odtdsl.predictors.structure import TreeStructure
from odtdsl.predictors.validation import check_tree

Path = tuple[tuple[Branch, Side], ...]


def paths(tree: TreeStructure) -> tuple[Path, ...]:
    """The root-to-leaf paths, leaves from left to right: each branch and the side taken."""
    found: list[Path] = []
    stack: list[tuple[TreeNode, Path]] = [(tree.root, ())]
    while stack:
        node, path = stack.pop()
        if isinstance(node, Leaf):
            found.append(path)
        else:
            stack.append((node.right, (*path, (node, "right"))))
            stack.append((node.left, (*path, (node, "left"))))
    return tuple(found)


def route(tree: TreeStructure, table: Table) -> IntArray:
    """The leaf of each row.

    Parameters
    ----------
    tree
        The tree.
    table
        Raw rows; columns that the tree does not test may be absent.

    Returns
    -------
    int64 array, shape (n_rows,)
        Positions of leaves from left to right, as in `tree.leaves`.

    Raises
    ------
    OdtError
        U201, a tested column is absent; U203 and U204, see `encode_cells`; F207 to F210,
        the tree is not well formed, see `check_tree`.
    """
    positions = np.empty(table.n_rows, dtype=np.int64)
    leaf = 0
    for node, rows in reach(tree, table):
        if isinstance(node, Leaf):
            positions[rows] = leaf
            leaf += 1
    return positions


def reach(tree: TreeStructure, table: Table) -> tuple[tuple[TreeNode, IntArray], ...]:
    """Each node, in the order of `tree.nodes()`, with the ascending rows that reach it."""
    cells = tested_cells(tree, table.columns, table.name)
    reached: list[tuple[TreeNode, IntArray]] = []
    stack: list[tuple[TreeNode, IntArray]] = [(tree.root, np.arange(table.n_rows))]
    kinds = {type_.name: type_.levels for type_ in tree.features}
    while stack:
        node, rows = stack.pop()
        reached.append((node, rows))
        if isinstance(node, Branch):
            column = cells[node.feature]
            left = passes(node.test, column, kinds[node.feature], rows)
            left = np.where(column.missing[rows], node.missing == "left", left)
            stack.append((node.right, rows[~left]))
            stack.append((node.left, rows[left]))
    return tuple(reached)


def passes(test: Test, cells: Cells, levels: tuple[Value, ...], rows: IntArray) -> BoolArray:
    """Whether each of `rows` passes a test; meaningless where the cell is missing."""
    if cells.codes is not None:
        return _passes_codes(test, cells.codes[rows], levels)
    assert cells.numbers is not None
    numbers = cells.numbers[rows]
    result: BoolArray
    match test:
        case Threshold(value=value):
            result = numbers <= float(value)
        case Equals(value=value):
            result = numbers == float(value)
        case InBin(low=low, high=high, closed=closed):
            result = (numbers >= low) & (numbers <= high if closed else numbers < high)
    return result


def _passes_codes(test: Test, codes: IntArray, levels: tuple[Value, ...]) -> BoolArray:
    assert not isinstance(test, InBin), "check_tree refuses bins of columns with levels"
    rank = levels.index(test.value)
    at_most = isinstance(test, Threshold)
    result: BoolArray = (codes >= 0) & (codes <= rank) if at_most else codes == rank
    return result


class HasFeatures(Protocol):
    """A model that names its features, and those that it tests."""

    @property
    def features(self) -> tuple[ColumnType, ...]:
        """All features of the model, in order."""

    @property
    def tested(self) -> tuple[str, ...]:
        """The names of the features that the model tests."""


def tested_cells(
    tree: TreeStructure, columns: Mapping[str, RawColumn], name: str
) -> dict[str, Cells]:
    """The encoded columns that the tree tests; all that is wrong with them is raised at once."""
    if broken := check_tree(tree):
        raise OdtError(broken)
    return encoded(tree, columns, name)


def encoded(model: HasFeatures, columns: Mapping[str, RawColumn], name: str) -> dict[str, Cells]:
    """The encoded columns that a well-formed model tests, as `tested_cells`."""
    types = {type_.name: type_ for type_ in model.features}
    cells: dict[str, Cells] = {}
    problems: list[Diagnostic] = []
    for feature in model.tested:
        if feature not in columns:
            problems.append(absent(feature, columns, name))
            continue
        try:
            cells[feature] = encode_cells(columns[feature], types[feature], table=name)
        except OdtError as caught:
            problems.extend(caught.diagnostics)
    if problems:
        raise OdtError(problems)
    return cells


def absent(feature: str, columns: Iterable[str], name: str) -> Diagnostic:
    """The diagnostic of a tested column that the data do not have."""
    from odtdsl.base.diagnostics.suggest import closest

    known = list(columns)
    near = closest(feature, known)
    shown = ", ".join(f"`{key}`" for key in known[:10]) or "no columns"
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""
    return Diagnostic(
        code="U201",
        message=f"{name} has no column `{feature}`, which the model needs",
        notes=() if near else (f"its columns are {shown}{more}",),
        helps=(f"did you mean `{near}`? rename it to `{feature}`",) if near else (),
    )
