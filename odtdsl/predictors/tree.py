"""Decision trees as values: immutable, named, independent of any solver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy.typing as npt

from odtdsl.base.methods import method
from odtdsl.data.dataset import ColumnType, Value
from odtdsl.data.table import FloatArray, IntArray
from odtdsl.predictors.display import Drawn
from odtdsl.predictors.nodes import Branch, Leaf, TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Drawn):
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
    """

    root: TreeNode
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...] = ()

    def nodes(self) -> Iterator[TreeNode]:
        """All nodes, each before its children, left before right."""
        stack: list[TreeNode] = [self.root]
        while stack:
            node = stack.pop()
            yield node
            if isinstance(node, Branch):
                stack.extend((node.right, node.left))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Leaves from left to right."""
        return tuple(node for node in self.nodes() if isinstance(node, Leaf))

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.leaves)

    @property
    def n_splits(self) -> int:
        """The number of splits."""
        return self.n_leaves - 1

    @property
    def depth(self) -> int:
        """Splits on the longest path; 0 for a single leaf."""
        deepest, level = 0, [self.root]
        while level := [
            child for node in level if isinstance(node, Branch) for child in (node.left, node.right)
        ]:
            deepest += 1
        return deepest

    @property
    def tested(self) -> tuple[str, ...]:
        """The features that some branch node tests, in the order of `nodes()`."""
        return tuple(dict.fromkeys(n.feature for n in self.nodes() if isinstance(n, Branch)))

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
        from odtdsl.predictors.prediction import apply

        return apply(self, data)

    def predict(self, data: object) -> npt.NDArray[Any]:
        """The predicted label or output of each row.

        Parameters
        ----------
        data
            As for `apply`.

        Returns
        -------
        array, shape (n_rows,) or (n_rows, n_targets)
            Labels: int64 or float64 where all classes are numbers, else object. Outputs:
            float64, with a second axis where there are several targets.

        Raises
        ------
        OdtError
            As `apply`.
        """
        from odtdsl.predictors.prediction import predict

        return predict(self, data)

    def predict_proba(self, data: object) -> FloatArray:
        """The share of each class in the training weight of each row's leaf.

        A leaf without training weight has share 1 for its own label. The largest share is
        not always the leaf's label: rules and losses may prefer another.

        Parameters
        ----------
        data
            As for `apply`.

        Returns
        -------
        float64 array, shape (n_rows, n_classes)

        Raises
        ------
        OdtError
            As `apply`; U206 where the targets are numbers.
        """
        from odtdsl.predictors.prediction import predict_proba

        return predict_proba(self, data)

    def export(
        self, to: str, path: str | os.PathLike[str] | None = None, *, name: str | None = None
    ) -> str | bytes:
        """The model in the words of another program, with the predictions of `predict`.

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
