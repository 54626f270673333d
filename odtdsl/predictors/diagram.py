"""Decision diagrams as values: immutable, named, independent of any solver."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.datasets.table import IntArray, Table
from odtdsl.predictors.diagram_nodes import Arc, Terminal
from odtdsl.predictors.graph import Graph, of_diagram
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.structure import DiagramStructure


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram(DiagramStructure, Predictor):
    """A decision diagram.

    Attributes
    ----------
    entry
        Where all rows begin: node 0 of the first layer; a class where there is no split.
    layers
        Nodes by layer, from the root down; arcs lead to the next layer or to a class.
    terminals
        One for each class.
    features
        Type of each feature that the spec allows, in the order of the spec; predictors
        take columns by these names, arrays in this order.
    targets
        The name of the target column; of choices those of their columns.
    classes
        Labels in declared (else sorted) order.
    task
        The kind of target; empty for classes.
    """

    def apply(self, data: object) -> IntArray:
        """The terminal of each row.

        Parameters
        ----------
        data
            As for `Tree.apply`: a frame, a mapping of names to columns, a `Table`, or a 2-D
            array whose columns are `features`, in that order. Of named data only the tested
            columns need be there.

        Returns
        -------
        int64 array, shape (n_rows,)
            Indices into `classes`.

        Raises
        ------
        OdtError
            As `Tree.apply`; U208: a cell that a hyperplane weighs is missing.
        """
        from odtdsl.predictors.diagram_routing import route
        from odtdsl.predictors.frames import as_table

        return route(self, as_table(self, data))

    def rows_of_nodes(self, table: Table) -> tuple[IntArray, ...]:
        """See `Predictor.rows_of_nodes`; nodes in the order of `nodes()`, then terminals."""
        from odtdsl.predictors.diagram_routing import reach, route

        inside = [rows for _, rows, _ in reach(self, table)]
        labels = route(self, table)
        return (*inside, *(np.flatnonzero(labels == label) for label in self.reached))

    def graph(self) -> Graph:
        """See `Predictor.graph`."""
        return of_diagram(self)

    def faults(self) -> tuple[Diagnostic, ...]:
        """See `Predictor.faults`."""
        from odtdsl.predictors.diagram_validation import check_diagram

        return check_diagram(self)

    def alone(self, leaf: Leaf) -> Diagram:
        """The diagram whose entry leads to one class.

        Raises
        ------
        AssertionError
            The leaf has no label: a diagram predicts classes.
        """
        assert leaf.label is not None, "a diagram predicts a class"
        terminals = [Terminal() for _ in self.classes]
        terminals[leaf.label] = Terminal(size=leaf.size, class_weights=leaf.class_weights)
        entry = Arc(label=leaf.label, size=leaf.size)
        return replace(self, entry=entry, layers=(), terminals=tuple(terminals))
