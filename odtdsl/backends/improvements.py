"""The models that a search finds on its way, as it holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from odtdsl.problem.ir.raw import RawDiagram, RawLeaf, RawSplit

if TYPE_CHECKING:
    from odtdsl.problem.ir.forms import Core
    from odtdsl.problem.ir.raw import RawTree


class Packed(Protocol):
    """A tree as a search holds it."""

    def raw(self, core: Core, memo: dict[str, Any]) -> RawTree:
        """The raw tree. What several of one solve need is put into `memo`."""
        ...


Found = RawLeaf | RawSplit | RawDiagram | Packed
