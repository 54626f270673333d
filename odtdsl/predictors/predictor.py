"""What trees and diagrams are alike: models that predict, and can be shown and written."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from odtdsl.base.methods import method
from odtdsl.datasets.table import FloatArray, IntArray, Table
from odtdsl.predictors.graph import Graph
from odtdsl.predictors.leaves import leaves_of
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.structure import Structure
from odtdsl.predictors.survival import survival

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from odtdsl.base.diagnostics.model import Diagnostic
    from odtdsl.base.theme import Theme


class Predictor(Structure):
    """A tree or a diagram: an immutable value that knows no solver."""

    __slots__ = ()

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
        ends = self.apply(data)
        return leaves_of(self).predictions(self)[ends]

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
        ends = self.apply(data)
        return leaves_of(self).shares(self)[ends]

    def labels(self, data: object) -> IntArray:
        """int64 (n_rows,): index of the predicted class of each row; errors as `apply`."""
        of_ends: IntArray = np.array([leaf.label for leaf in self.ends], dtype=np.int64)
        return of_ends[self.apply(data)]

    def outputs(self, data: object) -> FloatArray:
        """float64 (n_rows, n_targets): the predicted outputs; errors as `apply`."""
        of_ends: FloatArray = np.array([leaf.output for leaf in self.ends], dtype=np.float64)
        return of_ends[self.apply(data)]

    def survival(self, data: object, times: npt.ArrayLike) -> FloatArray:
        """The share of the training rows at each row's leaf that survives beyond some times.

        Parameters
        ----------
        data
            As for `apply`.
        times
            At least 0, (n_times,).

        Returns
        -------
        float64 array, shape (n_rows, n_times)
            The Kaplan-Meier estimate; behind the last time of the leaf its last value.

        Raises
        ------
        OdtError
            As `apply`; U215 where it is no survival tree.
        """
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        curves = leaves_of(self).curves(self)
        shares: FloatArray = np.array([survival(curve, at) for curve in curves])
        return shares[self.apply(data)]

    # ---- shown and written

    def to_svg(self, *, title: str = "", theme: Theme = "auto", long_arcs: bool = True) -> str:
        """The model as a standalone SVG document, with the side of missing cells at each split.

        Parameters
        ----------
        title
            The picture's accessible name; the default says the target and the sizes.
        theme
            `auto` follows the reader's preference for dark or light pages; `light`, `dark`.
        long_arcs
            Of diagrams: whether arcs that pass layers are drawn, or end below their node with the
            class that they lead to.
        """
        draw = method("Model.to_svg")
        return cast(str, draw(self, title=title, theme=theme, long_arcs=long_arcs))

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of JSON, whole or not at all.

        `odtdsl.load_model`, `odt predict` and the other commands read it.

        Raises
        ------
        OdtError
            F301, the file cannot be written; F207 to F210, a part that cannot be saved, such as a
            number that is not finite.
        """
        method("Model.save")(self, path)

    def export(
        self, to: str, path: str | os.PathLike[str] | None = None, *, name: str | None = None
    ) -> str | bytes:
        """The model in the words of another program, with the predictions of `predict`.

        A node of a diagram that several arcs lead to is written once for each path to it.

        Parameters
        ----------
        to
            What `odt export --to` takes, such as "sql" or "onnx"; `docs/how-to/deploy.md` lists
            the formats.
        path
            A file to write as well.
        name
            Of the function, the table or the model; default by the format.

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
