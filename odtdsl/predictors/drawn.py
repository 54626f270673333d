"""What trees and diagrams draw alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from odtdsl.predictors.colours import Theme
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree


class Drawn:
    """A tree or a diagram as a picture."""

    __slots__ = ()

    def to_svg(self, *, title: str = "", theme: Theme = "auto") -> str:
        """The model as a standalone SVG document, with the side of missing cells at each split.

        Parameters
        ----------
        title
            The picture's accessible name; the default says the target and the sizes.
        theme
            `auto` follows the reader's preference for dark or light pages; `light`, `dark`.
        """
        from odtdsl.predictors.svg import to_svg

        return to_svg(self._model, title=title, theme=theme)

    def __str__(self) -> str:
        """The model as text, as `odt solve` prints it."""
        from odtdsl.console import drawn

        return drawn(self._model).rstrip("\n")

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
        from odtdsl.predictors.plot import plot

        return plot(self._model, ax)

    def _repr_html_(self) -> str:
        return self.to_svg()

    @property
    def _model(self) -> Tree | Diagram:
        return cast("Tree | Diagram", self)
