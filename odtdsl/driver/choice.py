"""Which back ends: what a problem needs, what each has, and why one or several are taken."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from odtdsl.backends.base import BackEnd, Support
from odtdsl.backends.needs import Need, Refusal, needs, refusals
from odtdsl.backends.steps import (
    BEFORE_ANOTHER,
    BRIEF_START,
    OF_DIAGRAMS,
    SEARCHED_START,
    START,
    START_OF_DIAGRAMS,
    VECTOR_START,
    WITHOUT_PROOF,
    Step,
)
from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.source import Source
from odtdsl.problem.ir.forms import Core, Form
from odtdsl.problem.ir.problem import DiagramSkeleton

_WHERE = {
    "exact": "odtdsl.backends.exact.backend:Exact",
    "milp": "odtdsl.backends.milp.backend:Milp",
    "sat": "odtdsl.backends.sat.backend:Sat",
    "cpsat": "odtdsl.backends.cpsat.backend:CpSat",
    "search": "odtdsl.backends.exact.anytime:Search",
    "greedy": "odtdsl.backends.greedy.backend:GreedyBackEnd",
}
"""Back ends of this version: module and class."""

PREFERENCE = ("exact", "milp", "sat", "cpsat")
"""`auto` takes the first of these that expresses all of a problem: so they were measured
(`docs/explanation/sat-measured.md`, `exact-measured.md`)."""

FOR_DIAGRAMS = ("cpsat", "milp", "sat", "exact")
"""The same for diagrams: clauses prove more of them than linear relaxations do. Where `exact` can,
it comes before the first of the others that can, which takes what is left open."""

NAMES = (*PREFERENCE, "search", "greedy")


def available() -> tuple[str, ...]:
    """The back ends that this version has, in the order of preference."""
    return tuple(name for name in NAMES if name in _WHERE)


def back_end(name: str) -> BackEnd:
    """A back end by name.

    Raises
    ------
    OdtError
        B101: this version has no such back end.
    """
    if name not in _WHERE:
        near = closest(name, available())
        raise error(
            "B101",
            f"the back end `{name}` is not part of this version",
            notes=(f"the back ends are `{'`, `'.join(available())}`; `auto` chooses one",),
            helps=(f"did you mean `{near}`?",) if near else (),
        )
    module, _, kind = _WHERE[name].partition(":")
    made: BackEnd = getattr(import_module(module), kind)()
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """A need of a problem, and how far each back end has it."""

    need: Need
    by: tuple[tuple[str, Support], ...]


def supported(core: Core) -> tuple[Supported, ...]:
    """Every need of a problem against every back end; numbers and shapes are not asked about."""
    engines = [(name, back_end(name)) for name in available()]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The steps to take, why, and what keeps each back end from the problem.

    Attributes
    ----------
    steps
        What `solve` does in turn until the problem is closed; nothing where no back end can.
    refusals
        Of each back end; empty where it can.
    """

    steps: tuple[Step, ...]
    reason: str
    refusals: tuple[tuple[str, tuple[Refusal, ...]], ...]

    @property
    def name(self) -> str | None:
        """The back end of the last step; None without one."""
        return self.steps[-1].backend if self.steps else None


def choose(core: Core, wish: str) -> Choice:
    """The steps for a problem; `wish` is a name, which then runs alone, or `auto`."""
    required = needs(core)
    found = {name: refusals(back_end(name), core, required) for name in available()}
    listed = tuple(found.items())
    grows = not back_end("greedy").objections(core)
    searches = not found["search"]
    if wish != "auto":
        back_end(wish)
        if found[wish]:
            return Choice(steps=(), reason=f"`{wish}` was requested", refusals=listed)
        steps = alone(core, wish, grows=grows, searches=searches)
        return Choice(steps=steps, reason="requested", refusals=listed)
    diagram = isinstance(core.skeleton, DiagramSkeleton)
    order = [name for name in (FOR_DIAGRAMS if diagram else PREFERENCE) if name in found]
    able = [name for name in order if not found[name]]
    if not able:
        reason = "no back end supports the whole problem"
        return Choice(steps=(), reason=reason, refusals=listed)
    name, others = able[0], order[: order.index(able[0])]
    reason = "supports the whole problem exactly"
    if others:
        reason += f"; {' and '.join(others)} cannot"
    if diagram and "exact" in able[1:]:
        reason = f"`exact` first, and what it leaves open by `{name}`"
        return Choice(steps=after_exact(name, grows=grows), reason=reason, refusals=listed)
    steps = alone(core, name, grows=grows, searches=searches)
    return Choice(steps=steps, reason=reason, refusals=listed)


def alone(core: Core, name: str, *, grows: bool, searches: bool) -> tuple[Step, ...]:
    """One back end, with nothing but a start before it.

    `grows` and `searches` tell whether `greedy` and `search` can take part.
    """
    diagram = isinstance(core.skeleton, DiagramSkeleton)
    by_steps = name == "exact" and diagram
    asked = OF_DIAGRAMS if by_steps else (Step(kind="whole", backend=name),)
    if name == "greedy" or not grows:
        return asked
    if by_steps:
        return (START_OF_DIAGRAMS, *asked)
    if name == "exact":
        return (_start_of_trees(core), *asked)
    searches = searches and name != "search"
    return (START, SEARCHED_START, *asked) if searches else (START, *asked)


def _start_of_trees(core: Core) -> Step:
    """Before trees by `exact`, which grows its own, but for those of output vectors."""
    from odtdsl.backends.exact.regression import takes_vectors

    vectors = core.targets is not None and takes_vectors(core)
    return VECTOR_START if vectors else BRIEF_START


def after_exact(name: str, *, grows: bool) -> tuple[Step, ...]:
    """Diagrams by `exact`, and what it leaves open by another back end."""
    asked = (*BEFORE_ANOTHER, Step(kind="rest", backend=name))
    return (START_OF_DIAGRAMS, *asked) if grows else asked


def refused(choice: Choice, wish: str, source: Source | None) -> OdtError:
    """Why no back end can run: the rule, the reason, and the back ends that can."""
    missing = None if wish == "auto" else getattr(back_end(wish), "missing", None)
    problem: OdtError | None = None if missing is None else missing()
    if problem is not None:
        return problem  # an extra that is not installed
    by_need: dict[Need, list[str]] = {}
    asked = [wish] if wish != "auto" else _near(choice)
    for name, reasons in choice.refusals:
        if name in asked:
            for refusal in reasons:
                by_need.setdefault(refusal.need, []).append(f"{name}: {refusal.reason}")
    can = [name for name, reasons in choice.refusals if not reasons and name != wish]
    helps = tuple(
        f"`using {name}` can" + (", without a proof" if name in WITHOUT_PROOF else "")
        for name in can[:1]
    )
    return OdtError(
        [
            Diagnostic(
                code="B102",
                message=f"{_subject(need)} cannot be expressed"
                + (f" by `{wish}`" if wish != "auto" else " by a back end that proves its answer"),
                labels=(Label(span=need.origin.span),) if need.origin.span.start >= 0 else (),
                notes=tuple(reasons),
                helps=helps,
                source=source,
            )
            for need, reasons in by_need.items()
        ]
    )


def _near(choice: Choice) -> list[str]:
    """The proving back ends, but for those without number targets where another one has them."""
    proving = [(name, reasons) for name, reasons in choice.refusals if name not in WITHOUT_PROOF]
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
    "after_exact",
    "alone",
    "available",
    "back_end",
    "choose",
    "refused",
    "supported",
]
