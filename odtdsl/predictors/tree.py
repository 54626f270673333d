"""Decision trees as values: immutable, named, independent of any solver."""

from __future__ import annotations

from dataclasses import dataclass, replace

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.datasets.table import IntArray, Table
from odtdsl.predictors.graph import Graph, of_tree
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.structure import TreeStructure


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(TreeStructure, Predictor):
    """A decision tree.

    Attributes
    ----------
    root
        The topmost node.
    features
        Type of each feature that the spec allows, in the order of the spec; predictors
        take columns by these names, arrays in this order.
    targets
        Names of the target columns (one for classes).
    classes
        Labels in declared (else sorted) order; empty for number targets.
    task
        The kind of target; empty where `classes` tell it: a class with them, a number without.
    """

    def apply(self, data: object) -> IntArray:
        """The leaf of each row.

        Parameters
        ----------
        data
            A `Table`; a pandas, polars or Arrow frame; a mapping of names to columns; or a
            2-D array whose columns are `features`, in that order. Of named data only the
            tested columns need be there.

        Returns
        -------
        int64 array, shape (n_rows,)
            Positions in `leaves`, counted from 0 at the left.

        Raises
        ------
        OdtError
            U201 a tested column is absent; U202 an array of a wrong shape; U203 a cell that is
            not a number; U204 an unknown level of an ordered column; U205 a mapping to single
            values; D132 to D135 data that is no frame, or cells that cannot be read.
        """
        from odtdsl.predictors.frames import as_table
        from odtdsl.predictors.routing import route

        return route(self, as_table(self, data))

    def rows_of_nodes(self, table: Table) -> tuple[IntArray, ...]:
        """See `Predictor.rows_of_nodes`; nodes in the order of `nodes()`."""
        from odtdsl.predictors.routing import reach

        return tuple(rows for _, rows in reach(self, table))

    def graph(self) -> Graph:
        """See `Predictor.graph`."""
        return of_tree(self)

    def faults(self) -> tuple[Diagnostic, ...]:
        """See `Predictor.faults`."""
        from odtdsl.predictors.validation import check_tree

        return check_tree(self)

    def alone(self, leaf: Leaf) -> Tree:
        """The tree of one leaf."""
        return replace(self, root=leaf)
