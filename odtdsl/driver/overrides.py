"""What a caller asks for instead of the `solve` statement of a spec."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypedDict

from odtdsl.base.back_ends import Variant, gives_up
from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.problem.ir.problem import Options, Setting


class Overrides(TypedDict, total=False):
    """Settings that replace those of the `solve` statement; None, or nothing, keeps them.

    Attributes
    ----------
    backend
        `auto` or a name.
    variant
        Options of one back end, as a formulation of `milp` or a solver of `sat`. The back end is
        then that one where none is named.
    seconds
        Wall time, compiling included.
    gap
        Where to stop: below 1 relative, else in units of the first stage.
    steady
        Seconds without a better model after which to stop.
    threads, seed
        Processor threads, seed of all choices.
    memory_bytes
        What the whole process may hold; the search ends a little below that.
    """

    backend: str | None
    variant: Variant
    seconds: float | None
    gap: Fraction | None
    steady: float | None
    threads: int | None
    seed: int | None
    memory_bytes: int | None


def unused(options: Options) -> tuple[Diagnostic, ...]:
    """A warning where a gap is asked of a back end that proves no bound."""
    if not options.gap or not gives_up(options.backend):
        return ()
    message = f"`{options.backend}` proves no bound, so that it never reaches a gap"
    helps = ("leave `gap` out, or use a back end that proves, such as `exact`",)
    return (Diagnostic(code="B109", severity="warning", message=message, helps=helps),)


def overridden(options: Options, overrides: Overrides) -> tuple[Options, Variant]:
    """The settings that hold, and the options of the back end."""
    variant = overrides.get("variant", Variant())
    given: dict[str, Any] = {
        name: value for name, value in overrides.items() if value is not None and name != "variant"
    }
    if (backend := variant.asked(given.get("backend"))) is not None:
        given["backend"] = backend
    kept = tuple(one for one in options.settings if variant.get(one.name) is None)
    asked = tuple(Setting(name=name, value=value) for name, value in variant.given)
    return replace(options, settings=(*kept, *asked), **given), variant
