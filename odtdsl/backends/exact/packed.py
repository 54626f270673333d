"""Trees as our engine holds them while it searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from odtdsl.base import engine
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.maxima import written_out
from odtdsl.problem.ir.raw import RawTree


@dataclass(frozen=True, slots=True)
class Packed:
    """A tree that one of the searches for trees told.

    Attributes
    ----------
    search
        Makes one of its kind, which is only asked to finish trees.
    depth
        What it was asked for.
    held
        The engine's plan; under rules the tree itself.
    """

    search: Callable[[Core], Any]
    depth: int
    held: engine.Plan | engine.Tree

    def raw(self, core: Core, memo: dict[Any, Any]) -> RawTree:
        """The tree on the families of the core; its leaves are filled as the search fills them."""
        made = memo.get(self.search)
        if made is None:
            made = memo[self.search] = self.search(written_out(core))
        tree: RawTree = made.unpacked(self)
        return tree
