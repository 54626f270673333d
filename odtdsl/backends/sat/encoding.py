"""How a problem is written as clauses: one encoding per name of `--encoding`.

`ordered` is the class below. Another is a subclass in a file that is loaded when it is asked for;
`_HOMES` names it. Those of studies stand in `replicas`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from odtdsl.problem.ir.forms import Core

if TYPE_CHECKING:
    from odtdsl.backends.sat.search import Code, Search

_HOMES = {"ordered": "encoding:Encoding", "paper": "replicas.paper:Paper"}


class Encoding:
    """Trees by prefixes of an order of thresholds; diagrams, and sums for MaxSAT.

    Imports inside methods keep the clauses' code from being loaded where nothing is solved.
    """

    name: ClassVar[str] = "ordered"
    plain: ClassVar[bool] = False
    """Whether it has trees without sums only."""

    def refuse(self, core: Core) -> None:
        """Raise B102 for all of a problem of trees that it does not express."""

    def code(self, core: Core, depth: int) -> Code:
        """The formula of a perfect tree, without rows."""
        from odtdsl.backends.clauses.lowering import Lowered, shape_of

        return Lowered(core, depth, shape_of(core))

    def search(self) -> type[Search]:
        """What asks its formulas."""
        from odtdsl.backends.sat.search import Search

        return Search


def encoding(name: str) -> Encoding:
    """An encoding by the name of `--encoding`."""
    module, _, kind = _HOMES[name].partition(":")
    made: Encoding = getattr(import_module(f"odtdsl.backends.sat.{module}"), kind)()
    return made
