"""What trees and diagrams are alike: models that predict, and can be shown and written."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
import numpy.typing as npt

from odtdsl.base.methods import method
from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.datasets.table import FloatArray, IntArray, Table
from odtdsl.predictors.nodes import Leaf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from odtdsl.base.diagnostics.model import Diagnostic
    from odtdsl.base.theme import Theme
    from odtdsl.predictors.graph import Graph


class Predictor(ABC):
    """A tree or a diagram: an immutable value that knows no solver.

    Attributes
    ----------
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

    __slots__ = ()

    kind: ClassVar[Literal["tree", "diagram"]]
    features: tuple[ColumnType, ...]
    targets: tuple[str, ...]
    classes: tuple[Value, ...]
    task: str

    # ---- its parts

    @property
    def target_kind(self) -> str:
        """The kind of target, such as `class`: a key of `odtdsl.base.tasks.tasks()`."""
        return self.task or ("class" if self.classes else "number")

    @property
    @abstractmethod
    def ends(self) -> tuple[Leaf, ...]:
        """Where rows can end, in the order that `apply` counts them."""

    @property
    @abstractmethod
    def leaves(self) -> tuple[Leaf, ...]:
        """Those of `ends` that something leads to."""

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.leaves)

    @property
    @abstractmethod
    def n_splits(self) -> int:
        """The number of splits."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Splits on the longest path."""

    @property
    @abstractmethod
    def tested(self) -> tuple[str, ...]:
        """The features that some split tests, in the order of `nodes()`."""

    @property
    def weighed(self) -> Collection[str]:
        """The features that some hyperplane weighs."""
        return ()

    @abstractmethod
    def graph(self) -> Graph:
        """Its nodes, numbered: splits, and ends that predict."""

    @abstractmethod
    def rows_of_nodes(self, table: Table) -> tuple[IntArray, ...]:
        """Of each node of `graph()` the rows that reach it, ascending; errors as `apply`."""

    @abstractmethod
    def faults(self) -> tuple[Diagnostic, ...]:
        """All that is not well formed: F207 to F210."""

    @abstractmethod
    def alone(self, leaf: Leaf) -> Self:
        """The model without a split where all rows end at a leaf."""

    # ---- prediction

    @abstractmethod
    def apply(self, data: object) -> IntArray:
        """Where each row ends: positions in `ends`."""

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

    def labels(self, data: object) -> IntArray:
        """int64 (n_rows,): index of the predicted class of each row; errors as `apply`."""
        of_ends: IntArray = np.array([leaf.label for leaf in self.ends], dtype=np.int64)
        return of_ends[self.apply(data)]

    def outputs(self, data: object) -> FloatArray:
        """float64 (n_rows, n_targets): the predicted outputs; errors as `apply`."""
        of_ends: FloatArray = np.array([leaf.output for leaf in self.ends], dtype=np.float64)
        return of_ends[self.apply(data)]

    # ---- shown and written

    def to_svg(self, *, title: str = "", theme: Theme = "auto") -> str:
        """The model as a standalone SVG document, with the side of missing cells at each split.

        Parameters
        ----------
        title
            The picture's accessible name; the default says the target and the sizes.
        theme
            `auto` follows the reader's preference for dark or light pages; `light`, `dark`.
        """
        return cast(str, method("Model.to_svg")(self, title=title, theme=theme))

    def __str__(self) -> str:
        """The model as text, as `odt solve` prints it."""
        return cast(str, method("Model.__str__")(self))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The model drawn by matplotlib (the extra `plot`), as `to_svg` draws it.

        Parameters
        ----------
        ax
            The axes to draw on, which should have their final size: text is as large as fits.
            By default a figure of the picture's own size is made.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OdtError
            U360: matplotlib is not installed.
        """
        return cast("Axes", method("Model.plot")(self, ax))

    def _repr_html_(self) -> str:
        return self.to_svg()

    def export(
        self, to: str, path: str | os.PathLike[str] | None = None, *, name: str | None = None
    ) -> str | bytes:
        """The model in the words of another program, with the predictions of `predict`.

        A node of a diagram that several arcs lead to is written once for each path to it.

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
