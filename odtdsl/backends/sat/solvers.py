"""Solvers of python-sat, by name."""

from __future__ import annotations

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest

DEFAULT = "minisat22"
"""The fastest where clauses are added between calls, see `benchmarks/sat.py solvers`."""

INTERRUPTIBLE = (
    "minisat22",
    "minisat-gh",
    "minicard",
    "glucose3",
    "glucose4",
    "glucose42",
    "gluecard3",
    "gluecard4",
    "maplecm",
    "maplechrono",
    "mergesat3",
)
"""Those that stop within a call. `maplesat` is left out: in python-sat 1.9 it crashes on some
formulas of the study's encoding."""

WHOLE_CALLS = ("cadical103", "cadical153", "cadical195", "lingeling")
"""Those that look at no limit before a call has ended."""

MAXSAT = "rc2"
"""Makes sums least by MaxSAT; what is no sum is asked of the default."""

NAMES = (*INTERRUPTIBLE, *WHOLE_CALLS, MAXSAT)


def known(name: str) -> str:
    """The name itself.

    Raises
    ------
    OdtError
        U318: there is no such solver.
    """
    if name not in NAMES:
        near = closest(name, NAMES)
        hints = (f"did you mean `{near}`?",) if near is not None else ()
        raise error(
            "U318",
            f"`{name}` is not a known solver of python-sat",
            helps=(*hints, f"the solvers: {', '.join(NAMES)}"),
        )
    return name
