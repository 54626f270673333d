"""Which rows reach which node of a diagram, on raw cells; and the paths of its arcs."""

from __future__ import annotations

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.datasets.table import BoolArray, IntArray, Table
from odtdsl.predictors.diagram_nodes import AxisTest, Node
from odtdsl.predictors.diagram_validation import check_diagram
from odtdsl.predictors.encoding import Cells
from odtdsl.predictors.routing import encoded, passes
from odtdsl.predictors.structure import DiagramStructure

Sequence = tuple[tuple[str, ...], ...]
"""The features that each split of a path tests, from the root down."""


def route(diagram: DiagramStructure, table: Table) -> IntArray:
    """int64 (n_rows,): the class index whose terminal each row of a table reaches.

    Raises
    ------
    OdtError
        U201, a tested column is absent; U203 and U204, see `encode_cells`; U208, a missing
        cell under a hyperplane; F207 to F210, the diagram is not well formed.
    """
    found = np.full(table.n_rows, diagram.entry.label or 0, dtype=np.int64)
    for node, rows, left in reach(diagram, table):
        for arc, some in ((node.left, rows[left]), (node.right, rows[~left])):
            if arc.label is not None:
                found[some] = arc.label
    return found


def reach(diagram: DiagramStructure, table: Table) -> tuple[tuple[Node, IntArray, BoolArray], ...]:
    """Each node, in the order of `nodes()`, with the ascending rows that reach it and which
    of them go left."""
    if broken := check_diagram(diagram):
        raise OdtError(broken)
    cells = encoded(diagram, table.columns, table.name)
    _refuse_missing(diagram, cells, table.name)
    found: list[tuple[Node, IntArray, BoolArray]] = []
    here: dict[int, list[IntArray]] = {}
    if diagram.entry.node is not None:
        here[diagram.entry.node] = [np.arange(table.n_rows)]
    nothing = np.zeros(0, dtype=np.int64)
    for layer in diagram.layers:
        below: dict[int, list[IntArray]] = {}
        for position, node in enumerate(layer):
            rows = np.sort(np.concatenate([nothing, *here.get(position, [])]))
            left = sends_left(diagram, node, cells, rows)
            found.append((node, rows, left))
            for arc, some in ((node.left, rows[left]), (node.right, rows[~left])):
                if arc.node is not None:
                    below.setdefault(arc.node, []).append(some)
        here = below
    return tuple(found)


def sends_left(
    diagram: DiagramStructure, node: Node, cells: dict[str, Cells], rows: IntArray
) -> BoolArray:
    """bool (len(rows),): which rows the split of a node sends left."""
    levels = {type_.name: type_.levels for type_ in diagram.features}
    split = node.split
    if isinstance(split, AxisTest):
        column = cells[split.feature]
        left = passes(split.test, column, levels[split.feature], rows)
        sided: BoolArray = np.where(column.missing[rows], split.missing == "left", left)
        return sided
    total = np.zeros(len(rows))
    for weight in split.weights:
        column = cells[weight.feature]
        if weight.value is not None:
            assert column.codes is not None, "check_diagram: a value is of a column with levels"
            counted = (column.codes[rows] == levels[weight.feature].index(weight.value)) * 1.0
        elif column.codes is not None:
            counted = column.codes[rows].astype(np.float64)
        else:
            assert column.numbers is not None
            counted = column.numbers[rows]
        total = total + weight.weight * counted
    below: BoolArray = total < split.bound
    return below


def _refuse_missing(diagram: DiagramStructure, cells: dict[str, Cells], name: str) -> None:
    weighed = diagram.weighed
    problems: list[Diagnostic] = []
    for feature in diagram.tested:
        if feature in weighed and (count := int(cells[feature].missing.sum())):
            row = int(np.flatnonzero(cells[feature].missing)[0])
            problems.append(
                Diagnostic(
                    code="U208",
                    message=(
                        f"`{feature}` of {name} has {count} missing cells, the first in row "
                        f"{row}, but a hyperplane uses it"
                    ),
                    helps=("fill the cells, or remove the rows",),
                )
            )
    if problems:
        raise OdtError(problems)


def taken(diagram: DiagramStructure, table: Table) -> tuple[tuple[Sequence, IntArray], ...]:
    """The sequences of features that rows are tested on, each with its rows."""
    asked: list[list[tuple[str, ...]]] = [[] for _ in range(table.n_rows)]
    for node, rows, _ in reach(diagram, table):
        for row in rows.tolist():
            asked[row].append(node.features)
    groups: dict[Sequence, list[int]] = {}
    for row, path in enumerate(asked):
        groups.setdefault(tuple(path), []).append(row)
    return tuple((path, np.asarray(rows, dtype=np.int64)) for path, rows in groups.items())
