"""What trees and diagrams show alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from odtdsl.base.methods import method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from odtdsl.base.theme import Theme


class Drawn:
    """A tree or a diagram as text, as a picture, and in the words of other programs."""

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
