"""Which back ends: what a problem needs, what each has, and why one or several are taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import assert_never

from odtdsl.backends.base import BackEnd, Support
from odtdsl.backends.steps import WITHOUT_PROOF, Step, after_exact, alone
from odtdsl.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.diagnostics.suggest import closest
from odtdsl.ir.expr import Scope
from odtdsl.ir.forms import (
    Atom,
    Budget,
    Core,
    Depth,
    DepthStage,
    Form,
    Linear,
    LinearStage,
    Link,
    LossBound,
    MaximaBound,
    Monotone,
    Order,
    Origin,
    OutputSet,
    PathTotal,
    RegressionStage,
    Root,
    Used,
)  # fmt: skip
from odtdsl.ir.problem import DiagramSkeleton, TreeSkeleton
from odtdsl.source import Source

_WHERE = {
    "exact": "odtdsl.exact.backend:Exact",
    "milp": "odtdsl.milp.backend:Milp",
    "sat": "odtdsl.sat.backend:Sat",
    "cpsat": "odtdsl.cpsat.backend:CpSat",
    "search": "odtdsl.exact.anytime:Search",
    "greedy": "odtdsl.greedy.backend:GreedyBackEnd",
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
            notes=(f"there are: `{'`, `'.join(available())}`; or leave it to `auto`",),
            helps=(f"did you mean `{near}`?",) if near else (),
        )
    module, _, kind = _WHERE[name].partition(":")
    made: BackEnd = getattr(import_module(module), kind)()
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A core form that a problem uses, where, and whether inside a disjunction."""

    form: Form
    inside_or: bool
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A need that a back end does not have."""

    need: Need
    reason: str


SKELETON = Origin(rule="skeleton")
OBJECTIVE = Origin(rule="objective")


def needs(core: Core) -> tuple[Need, ...]:
    """All core forms of a problem, each once per rule."""
    return tuple(dict.fromkeys(_needs(core)))


def _needs(core: Core) -> Iterator[Need]:
    def plain(form: Form, origin: Origin) -> Need:
        return Need(form=form, inside_or=False, origin=origin)

    match core.skeleton:
        case DiagramSkeleton():
            yield plain(Form.DIAGRAM, SKELETON)
        case TreeSkeleton():
            bounded = core.skeleton.depth is not None
            yield plain(Form.TREE if bounded else Form.TREE_UNBOUNDED, SKELETON)
    if core.skeleton.splits == "hyperplane":
        yield plain(Form.HYPERPLANE, SKELETON)
    if core.labels is None:
        yield plain(Form.REGRESSION, SKELETON)
    columns = [family.column for family in core.families]
    if len(set(columns)) < len(columns):
        yield plain(Form.MISSING_BRANCH, SKELETON)
    for split_filter in core.filters:
        yield plain(Form.SPLIT_FILTER, split_filter.origin)
    for clause in core.clauses:
        inside_or = len(clause.literals) > 1
        for literal in clause.literals:
            form = form_of(literal.atom, clause.scope)
            yield Need(form=form, inside_or=inside_or, origin=clause.origin)
    for stage in core.objective:
        match stage:
            case DepthStage():
                yield plain(Form.OBJECTIVE_DEPTH, OBJECTIVE)
            case RegressionStage():
                yield plain(Form.OBJECTIVE_LOSS, OBJECTIVE)
            case LinearStage():
                yield plain(Form.OBJECTIVE_LINEAR, OBJECTIVE)
                if stage.maxima:
                    yield plain(Form.OBJECTIVE_MAX, OBJECTIVE)
                if stage.path_sum is not None:
                    yield plain(Form.OBJECTIVE_PATH_SUM, OBJECTIVE)


def form_of(atom: Atom, scope: Scope) -> Form:
    """The name of an atom's form in its scope."""
    match atom:
        case Used():
            return Form.USED_PATH if scope is Scope.PATH else Form.USED_MODEL
        case Order():
            return Form.ORDER
        case Root():
            return Form.ROOT
        case Budget():
            return Form.BUDGET
        case Linear():
            return {
                Scope.MODEL: Form.LINEAR_MODEL,
                Scope.LEAF: Form.LINEAR_LEAF,
                Scope.SPLIT: Form.LINEAR_SPLIT,
            }[scope]
        case Depth():
            return Form.DEPTH
        case Link():
            return Form.LINK
        case Monotone():
            return Form.MONOTONE
        case PathTotal():
            return Form.PATH_TOTAL
        case OutputSet():
            return Form.OUTPUT_SET
        case LossBound():
            return Form.LOSS_BOUND
        case MaximaBound():
            return Form.MAXIMA_BOUND
        case _:
            assert_never(atom)


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
    refusals = {name: _refusals(back_end(name), core, required) for name in available()}
    listed = tuple(refusals.items())
    grows = not back_end("greedy").objections(core)
    searches = not refusals["search"]
    if wish != "auto":
        back_end(wish)
        if refusals[wish]:
            return Choice(steps=(), reason=f"`{wish}` was asked for", refusals=listed)
        steps = alone(core, wish, grows=grows, searches=searches)
        return Choice(steps=steps, reason="asked for", refusals=listed)
    diagram = isinstance(core.skeleton, DiagramSkeleton)
    order = [name for name in (FOR_DIAGRAMS if diagram else PREFERENCE) if name in refusals]
    able = [name for name in order if not refusals[name]]
    if not able:
        reason = "no back end expresses the whole problem"
        return Choice(steps=(), reason=reason, refusals=listed)
    name, others = able[0], order[: order.index(able[0])]
    reason = "expresses the whole problem, exactly"
    if others:
        reason += f"; {' and '.join(others)} cannot"
    if diagram and "exact" in able[1:]:
        reason = f"`exact` first, and what it leaves open by `{name}`"
        return Choice(steps=after_exact(name, grows=grows), reason=reason, refusals=listed)
    steps = alone(core, name, grows=grows, searches=searches)
    return Choice(steps=steps, reason=reason, refusals=listed)


def _refusals(engine: BackEnd, core: Core, required: tuple[Need, ...]) -> tuple[Refusal, ...]:
    found: list[Refusal] = []
    kinds = [need for need in required if need.form is Form.REGRESSION]
    if kinds and engine.supports(Form.REGRESSION, inside_or=False).level == "unsupported":
        required = tuple(kinds)  # all else that has to do with them follows from it
    for need in required:
        support = engine.supports(need.form, inside_or=need.inside_or)
        if support.level == "unsupported":
            found.append(Refusal(need=need, reason=support.reason))
    if found:
        return tuple(found)
    return tuple(
        Refusal(need=Need(form=one.form, inside_or=False, origin=one.origin), reason=one.reason)
        for one in engine.objections(core)
    )


def refused(choice: Choice, wish: str, source: Source | None) -> OdtError:
    """Why no back end can run: the rule, the reason, and the back ends that can."""
    missing = None if wish == "auto" else getattr(back_end(wish), "missing", None)
    problem: OdtError | None = None if missing is None else missing()
    if problem is not None:
        return problem  # an extra that is not installed
    by_need: dict[Need, list[str]] = {}
    asked = [wish] if wish != "auto" else _near(choice)
    for name, refusals in choice.refusals:
        if name in asked:
            for refusal in refusals:
                by_need.setdefault(refusal.need, []).append(f"{name}: {refusal.reason}")
    can = [name for name, refusals in choice.refusals if not refusals and name != wish]
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
                notes=tuple(reasons), helps=helps, source=source,
            )
            for need, reasons in by_need.items()
        ]
    )  # fmt: skip


def _near(choice: Choice) -> list[str]:
    """The proving back ends, but for those without number targets where another one has them."""
    proving = [(name, refusals) for name, refusals in choice.refusals if name not in WITHOUT_PROOF]
    near = [
        name for name, refusals in proving
        if all(refusal.need.form is not Form.REGRESSION for refusal in refusals)
    ]  # fmt: skip
    return near or [name for name, _ in proving]


def _subject(need: Need) -> str:
    inside = " inside `or`" if need.inside_or else ""
    if need.origin.rule in ("skeleton", "objective"):
        return f"the {need.origin.rule} ({need.form.value}{inside})"
    return f"rule `{need.origin.rule}` ({need.form.value}{inside})"


__all__ = [
    "Choice", "Need", "Refusal", "Support", "Supported", "available", "back_end", "choose",
    "form_of", "needs", "refused", "supported",
]  # fmt: skip
