"""Trees as our engine holds them while it searches: arrays, without labels or outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt

from odtdsl.backends.base import Limits
from odtdsl.base.engine import engine
from odtdsl.ir.forms import Core
from odtdsl.ir.maxima import written_out
from odtdsl.ir.raw import RawTree

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Packed:
    """A tree that one of the searches for trees told.

    Attributes
    ----------
    search
        Which one: `plain` of classes, `ruled` of classes under rules, `numbers`.
    depth
        What it was asked for.
    arrays
        The engine's plan; under rules the tree itself.
    """

    search: Literal["plain", "ruled", "numbers"]
    depth: int
    arrays: Arrays

    def raw(self, core: Core, memo: dict[str, Any]) -> RawTree:
        """The tree on the families of the core; its leaves are filled as the search fills them."""
        made = memo.get(self.search)
        if made is None:
            made = memo[self.search] = _search(self.search, written_out(core))
        tree: RawTree = made.unpacked(self)
        return tree


def _search(kind: str, core: Core) -> Any:
    """A search that is only asked to finish trees."""
    from odtdsl.exact.backend import PlainSearch, plain_of
    from odtdsl.exact.regression import RegressionSearch
    from odtdsl.exact.under_rules import RuledSearch

    limits = Limits()
    if kind == "plain":
        rules = plain_of(core)
        assert rules is not None, "the plain search told the tree"
        return PlainSearch(core, rules, limits, None, None)
    if kind == "numbers":
        return RegressionSearch(engine(), core, limits, None, None)
    return RuledSearch(core, limits, None, None, engine())
