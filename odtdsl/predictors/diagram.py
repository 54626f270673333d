"""Decision diagrams as values: immutable, named, independent of any solver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy.typing as npt

from odtdsl.base.methods import method
from odtdsl.data.dataset import ColumnType, Value
from odtdsl.data.table import FloatArray, IntArray
from odtdsl.predictors.diagram_nodes import Arc, Node, Terminal
from odtdsl.predictors.display import Drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram(Drawn):
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
        The name of the target column.
    classes
        Labels in declared (else sorted) order.
    """

    entry: Arc
    layers: tuple[tuple[Node, ...], ...]
    terminals: tuple[Terminal, ...]
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...]

    def nodes(self) -> Iterator[Node]:
        """All nodes, layer by layer, each layer from left to right."""
        for layer in self.layers:
            yield from layer

    @property
    def widths(self) -> tuple[int, ...]:
        """Nodes of each layer."""
        return tuple(map(len, self.layers))

    @property
    def n_splits(self) -> int:
        """The number of splits."""
        return sum(self.widths)

    @property
    def n_leaves(self) -> int:
        """Classes that some arc leads to."""
        return len(self.reached)

    @property
    def reached(self) -> tuple[int, ...]:
        """The classes that some arc leads to, ascending."""
        arcs = [self.entry, *(arc for node in self.nodes() for arc in (node.left, node.right))]
        return tuple(sorted({arc.label for arc in arcs if arc.label is not None}))

    @property
    def depth(self) -> int:
        """Splits on the longest path; 0 for a class alone."""
        return len(self.layers)

    @property
    def tested(self) -> tuple[str, ...]:
        """The features that some node tests, in the order of `nodes()`."""
        return tuple(dict.fromkeys(name for node in self.nodes() for name in node.features))

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
        from odtdsl.predictors.diagram_routing import apply

        return apply(self, data)

    def predict(self, data: object) -> npt.NDArray[Any]:
        """The predicted label of each row.

        Returns
        -------
        array, shape (n_rows,)
            int64 or float64 where all classes are numbers, else object.

        Raises
        ------
        OdtError
            As `apply`.
        """
        from odtdsl.predictors.prediction import label_array

        return label_array(self.classes)[self.apply(data)]

    def predict_proba(self, data: object) -> FloatArray:
        """The share of each class in the training weight of each row's terminal.

        A terminal without training weight has share 1 for its class.

        Returns
        -------
        float64 array, shape (n_rows, n_classes)

        Raises
        ------
        OdtError
            As `apply`.
        """
        from odtdsl.predictors.diagram_routing import shares

        return shares(self)[self.apply(data)]

    def export(
        self, to: str, path: str | os.PathLike[str] | None = None, *, name: str | None = None
    ) -> str | bytes:
        """The model in the words of another program, with the predictions of `predict`.

        A node that several arcs lead to is written once for each path to it.

        Parameters
        ----------
        to
            What `odt export --to` takes: "text" (if-then rules), "sql" (a SELECT with a CASE),
            "python" (a function without dependencies), "c" (C99), "onnx", "pmml", ...
        path
            A file to write as well.
        name
            Of the function (Python, C), the table (SQL) or the model; default by the format.

        Returns
        -------
        str, or bytes for binary formats such as "onnx"

        Raises
        ------
        OdtError
            U370, no such format; U371, something that the format cannot carry, with the
            reason; U372, over 10,000 splits; U373, a name that cannot be used; U374, a package
            that is not installed; F301, a file that cannot be written.
        """
        return cast("str | bytes", method("Model.export")(self, to, path, name=name))
