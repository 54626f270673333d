"""Which back ends: what a problem needs, what each has, and what is said where none can."""

from __future__ import annotations

from dataclasses import dataclass

from odtdsl.backends.auto.backend import Choice, choose
from odtdsl.backends.base import Support
from odtdsl.backends.needs import OBJECTIVE, SKELETON, Need, needs
from odtdsl.backends.quotients import place_of
from odtdsl.backends.registry import back_end
from odtdsl.base.back_ends import AUTO, names, proves
from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.base.source import Source
from odtdsl.language import ast
from odtdsl.language.parser import parse
from odtdsl.problem.ir.forms import Core, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """A need of a problem, and how far each back end has it."""

    need: Need
    by: tuple[tuple[str, Support], ...]


def supported(core: Core, choice: Choice) -> tuple[Supported, ...]:
    """Every need of a problem against every back end; `choice` has what they cannot take here."""
    beyond = {
        (name, one.need.form, one.need.origin): Support(level="unsupported", reason=one.reason)
        for name, reasons in choice.refusals
        for one in reasons
        if not one.of_form
    }
    engines = [(name, back_end(name)) for name in names()]
    return tuple(
        Supported(
            need=need,
            by=tuple(
                (
                    name,
                    beyond.get((name, need.form, need.origin))
                    or engine.supports(need.form, inside_or=need.inside_or),
                )
                for name, engine in engines
            ),
        )
        for need in needs(core)
    )


def refused(choice: Choice, wish: str, source: Source | None, *, solving: bool = True) -> OdtError:
    """Why no back end can run: the rule, the reason, and the back ends that can.

    Not `solving` is for what one back end alone does, such as to write formulas.
    """
    if (missing := back_end(wish).missing()) is not None:
        return missing  # an extra that is not installed
    reasons_of: dict[tuple[Need, bool], list[str]] = {}
    asked = [wish] if wish != AUTO else _near(choice)
    for name, reasons in choice.refusals:
        if name in asked:
            for one in reasons:
                reasons_of.setdefault((one.need, one.of_form), []).append(f"{name}: {one.reason}")
    can = [name for name, reasons in choice.refusals if solving and not reasons and name != wish]
    proving = [name for name in can if proves(name)]
    helps = tuple(
        f"`using {name}` can" + ("" if proving else ", without a proof") for name in proving or can
    )
    return OdtError(
        [
            Diagnostic(
                code="B102",
                message=_message(need, of_form, wish),
                labels=_labels(need, source),
                notes=tuple(reasons),
                helps=helps,
                source=source,
            )
            for (need, of_form), reasons in reasons_of.items()
        ]
    )


def _message(need: Need, of_form: bool, wish: str) -> str:
    if of_form:
        who = f"`{wish}`" if wish != AUTO else "a back end that proves its answer"
        return f"{need.described} cannot be expressed by {who}"
    who = f"`{wish}`" if wish != AUTO else "every back end that proves its answer"
    return f"{need.subject} is beyond {who}"


def _labels(need: Need, source: Source | None) -> tuple[Label, ...]:
    """Where the spec has what a back end lacks: in a rule, or the skeleton or objective."""
    if need.origin.span.start >= 0:
        return (Label(span=need.origin.span),)
    kinds = {SKELETON: (ast.Tree, ast.Diagram), OBJECTIVE: (ast.Objective,)}.get(need.origin, ())
    if source is None or not kinds:
        return ()
    found = [one.span for one in parse(source).statements if isinstance(one, kinds)]
    return tuple(Label(span=span) for span in found[:1])


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
