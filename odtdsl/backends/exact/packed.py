"""Trees as our engine holds them while it searches: arrays, without labels or outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.maxima import written_out
from odtdsl.problem.ir.raw import RawTree

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Packed:
    """A tree that one of the searches for trees told.

    Attributes
    ----------
    search
        Makes one of its kind, which is only asked to finish trees.
    depth
        What it was asked for.
    arrays
        The engine's plan; under rules the tree itself.
    """

    search: Callable[[Core], Any]
    depth: int
    arrays: Arrays

    def raw(self, core: Core, memo: dict[Any, Any]) -> RawTree:
        """The tree on the families of the core; its leaves are filled as the search fills them."""
        made = memo.get(self.search)
        if made is None:
            made = memo[self.search] = self.search(written_out(core))
        tree: RawTree = made.unpacked(self)
        return tree
