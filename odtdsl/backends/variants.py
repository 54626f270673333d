"""Formulations and solvers of a back end, chosen by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from odtdsl.backends.base import BackEnd
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.diagnostics.suggest import closest

Formulation = Literal["pattern", "subtrees", "cptree", "odd", "ordered", "paper"]

OF_MODEL, OF_ENCODING = ("pattern", "subtrees", "cptree", "odd"), ("ordered", "paper")

OWNERS = {"--model": ("milp", OF_MODEL), "--encoding": ("sat", OF_ENCODING)}
"""Options that name a formulation: the back end whose it is, and the names, the default first."""


def named(*, model: str | None = None, encoding: str | None = None) -> Formulation | None:
    """The formulation that `--model` or `--encoding` asks for.

    Raises
    ------
    OdtError
        U302: an unknown one, or one of each.
    """
    asked = {"--model": model, "--encoding": encoding}
    given = {option: name for option, name in asked.items() if name is not None}
    if len(given) > 1:
        raise error(
            "U302",
            "`--model` and `--encoding` are of different back ends",
            helps=("leave out one of them",),
        )
    for option, name in given.items():
        names = OWNERS[option][1]
        if name not in names:
            ways = " or ".join(f"`{option} {one}`" for one in names)
            raise error("U302", f"`{option} {name}` is unknown", helps=(f"write {ways}",))
        return next(one for one in get_args(Formulation) if one == name)
    return None


def owner(formulation: Formulation | None, solver: str | None) -> str | None:
    """The back end that a formulation or a solver is of; None where neither is asked for."""
    for back_end, names in OWNERS.values():
        if formulation in names:
            return back_end
    return None if solver is None else "sat"


def varied(engine: BackEnd, formulation: Formulation | None, solver: str | None) -> BackEnd:
    """The back end with a formulation and a solver.

    Raises
    ------
    OdtError
        U302: the formulation, or the choice of a solver, is another back end's. U318: an
        unknown solver.
    """
    if formulation is not None:
        option, home = next((o, b) for o, (b, names) in OWNERS.items() if formulation in names)
        if engine.name != home:
            raise _not_of(f"`{option} {formulation}` is a formulation of `{home}`", home)
        engine = getattr(engine, "with_formulation")(formulation)  # noqa: B009
    if solver is not None:
        if engine.name != "sat":
            raise _not_of(f"`--solver {solver}` is a solver of `sat`", "sat")
        engine = getattr(engine, "with_solver")(solver)  # noqa: B009
    return engine


def _not_of(message: str, home: str) -> OdtError:
    return error("U302", message, helps=(f"add `--using {home}`",))


def variants(back_end: str) -> Iterator[Formulation]:
    """The formulations of a back end besides its default."""
    for home, names in OWNERS.values():
        if home == back_end:
            yield from (one for one in get_args(Formulation) if one in names[1:])


def unknown_solver(name: str, names: tuple[str, ...]) -> OdtError:
    """U318, with the name that was probably meant."""
    near = closest(name, names)
    hints = (f"did you mean `{near}`?",) if near is not None else ()
    return error(
        "U318",
        f"`{name}` is no solver of python-sat that is known here",
        helps=(*hints, f"the solvers: {', '.join(names)}"),
    )
