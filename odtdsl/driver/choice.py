"""Which back ends: what a problem needs, what each has, and what is said where none can."""

from __future__ import annotations

from dataclasses import dataclass

from odtdsl.backends.auto.backend import Choice, choose
from odtdsl.backends.base import Support
from odtdsl.backends.needs import Need, needs
from odtdsl.backends.quotients import place_of
from odtdsl.backends.registry import back_end
from odtdsl.base.back_ends import AUTO, names, proves
from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.base.source import Source
from odtdsl.problem.ir.forms import Core, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """A need of a problem, and how far each back end has it."""

    need: Need
    by: tuple[tuple[str, Support], ...]


def supported(core: Core) -> tuple[Supported, ...]:
    """Every need of a problem against every back end; numbers and shapes are not asked about."""
    engines = [(name, back_end(name)) for name in names()]
    return tuple(
        Supported(
            need=need,
            by=tuple(
                (name, engine.supports(need.form, inside_or=need.inside_or))
                for name, engine in engines
            ),
        )
        for need in needs(core)
    )


def refused(choice: Choice, wish: str, source: Source | None) -> OdtError:
    """Why no back end can run: the rule, the reason, and the back ends that can."""
    if (missing := back_end(wish).missing()) is not None:
        return missing  # an extra that is not installed
    by_need: dict[Need, list[str]] = {}
    asked = [wish] if wish != AUTO else _near(choice)
    for name, reasons in choice.refusals:
        if name in asked:
            for refusal in reasons:
                by_need.setdefault(refusal.need, []).append(f"{name}: {refusal.reason}")
    can = [name for name, reasons in choice.refusals if not reasons and name != wish]
    proving = [name for name in can if proves(name)]
    helps = tuple(
        f"`using {name}` can" + ("" if proving else ", without a proof") for name in proving or can
    )
    return OdtError(
        [
            Diagnostic(
                code="B102",
                message=f"{_subject(need)} cannot be expressed"
                + (f" by `{wish}`" if wish != AUTO else " by a back end that proves its answer"),
                labels=(Label(span=need.origin.span),) if need.origin.span.start >= 0 else (),
                notes=tuple(reasons),
                helps=helps,
                source=source,
            )
            for need, reasons in by_need.items()
        ]
    )


def refuse_quotients(core: Core, source: Source | None, asked: str) -> None:
    """B102 where an objective is a quotient, and what is asked has one search or program only."""
    if place_of(core) is None:
        return
    raise error(
        "B102",
        f"{asked} take no quotient in the objective, which needs several searches",
        helps=('use `odt solve`, or make the quotient a rule, such as `f1("yes") >= 60%`',),
        source=source,
    )


def _near(choice: Choice) -> list[str]:
    """The proving back ends, but for those without number targets where another one has them."""
    proving = [(name, reasons) for name, reasons in choice.refusals if proves(name)]
    near = [
        name
        for name, reasons in proving
        if all(refusal.need.form is not Form.REGRESSION for refusal in reasons)
    ]
    return near or [name for name, _ in proving]


def _subject(need: Need) -> str:
    inside = " inside `or`" if need.inside_or else ""
    if need.origin.rule in ("skeleton", "objective"):
        return f"the {need.origin.rule} ({need.form.value}{inside})"
    return f"rule `{need.origin.rule}` ({need.form.value}{inside})"


__all__ = [
    "Choice",
    "Support",
    "Supported",
    "back_end",
    "choose",
    "refuse_quotients",
    "refused",
    "supported",
]
