"""The `auto` back end: starts, then the back end that suits a problem, or several in turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from odtdsl.backends import quotients
from odtdsl.backends.auto.portfolio import Portfolio
from odtdsl.backends.base import BackEnd, Limits, Objection, RawAnswer, Report, Support
from odtdsl.backends.needs import Refusal, needs, refusals
from odtdsl.backends.quotients import linear
from odtdsl.backends.registry import back_end
from odtdsl.backends.steps import Step, main_of
from odtdsl.base.back_ends import AUTO, names, preferred
from odtdsl.problem.ir.forms import Core, Form
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawModel


class Kept(dict[str, tuple[Refusal, ...]]):
    """By name, what keeps a back end from a problem. One that is not asked for is not loaded."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.required, self.core = needs(core), linear(core)

    def __missing__(self, name: str) -> tuple[Refusal, ...]:
        self[name] = found = refusals(back_end(name), self.core, self.required)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The steps to take, why, and what keeps each back end from the problem.

    Attributes
    ----------
    steps
        What `solve` does in turn until the problem is closed; nothing where no back end can.
    kept
        By name, what keeps a back end from it, looked up when it is asked for.
    """

    steps: tuple[Step, ...]
    reason: str
    kept: Kept = field(compare=False, repr=False)

    @property
    def refusals(self) -> tuple[tuple[str, tuple[Refusal, ...]], ...]:
        """Of each back end; empty where it can."""
        return tuple((name, self.kept[name]) for name in names())

    @property
    def name(self) -> str | None:
        """The back end that answers; None without one."""
        return main_of(self.steps).backend if self.steps else None


def choose(core: Core, wish: str) -> Choice:
    """The steps for a problem; `wish` is a name, which then runs alone, or `auto`.

    Raises
    ------
    OdtError
        B101: this version has no such back end.
    """
    kept = Kept(core)
    core = kept.core

    def alone(name: str) -> tuple[Step, ...]:
        """One back end, with nothing but starts before it or after it."""
        engine = back_end(name)
        starts = _starts(engine, core, kept)
        early, late = ([s for s in starts if s.late == late] for late in (False, True))
        return (*early, *engine.steps(core), *late)

    if wish != AUTO:
        back_end(wish)
        if kept[wish]:
            return Choice(steps=(), reason=f"`{wish}` was requested", kept=kept)
        return Choice(steps=alone(wish), reason="requested", kept=kept)
    diagrams = isinstance(core.skeleton, DiagramSkeleton)
    order = preferred(diagrams=diagrams)
    name = next((name for name in order if not kept[name]), None)
    if name is None:
        return Choice(steps=(), reason="no back end supports the whole problem", kept=kept)
    at = order.index(name)
    for first in order[at + 1 :] if diagrams else ():
        if not kept[first] and (before := back_end(first).steps_before_another(core)):
            reason = f"`{first}` first, then `{name}` for what it leaves open"
            starts = _starts(back_end(first), core, kept)
            steps = (*starts, *before, Step(kind="rest", backend=name))
            return Choice(steps=steps, reason=reason, kept=kept)
    reason = "supports the whole problem exactly"
    if others := order[:at]:
        reason += f"; {' and '.join(others)} cannot"
    return Choice(steps=alone(name), reason=reason, kept=kept)


def _starts(engine: BackEnd, core: Core, kept: Kept) -> tuple[Step, ...]:
    """Those of a back end that take part in a problem."""
    return tuple(step for step in engine.starts(core) if not kept[step.backend])


@dataclass(frozen=True, slots=True)
class Course:
    """The steps of a choice, as often as the objective asks for them.

    Parameters
    ----------
    choice, wish
        What `choose` answers to a wish.
    last
        The back end of the last step, with its options.
    """

    choice: Choice
    wish: str
    last: BackEnd

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """As `Portfolio.solve`; quotients in the objective take several searches."""
        steps = self.choice.steps

        def search(
            asked: Core, limits: Limits, start: RawModel | None, report: Report | None
        ) -> RawAnswer:
            nonlocal steps
            todo, last = steps, self.last
            if len(asked.clauses) > len(core.clauses):  # stages after a quotient
                again = choose(asked, self.wish)
                if again.name is None:
                    return RawAnswer(status="unknown")
                todo = again.steps
                last = last if again.name == last.name else back_end(again.name)
            steps = tuple(step for step in steps if step.kind != "start")
            return Portfolio(todo, last).solve(asked, limits, start, report)

        def takes(asked: Core) -> bool:
            one = len(asked.objective) == 1  # not stacked: its sums are exact up to 18 digits
            return all(
                one and found.form is Form.OBJECTIVE_LINEAR for found in self.last.objections(asked)
            )

        return quotients.solve(core, search, limits, start, report, takes)


@dataclass(frozen=True, slots=True)
class Auto(BackEnd):
    """The steps of `choose`, as one back end."""

    name: ClassVar[str] = AUTO

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """As the first back end that does; which ones go together is for `objections` to say."""
        asked = [
            back_end(name).supports(form, inside_or=inside_or) for name in preferred(diagrams=False)
        ]
        return next((one for one in asked if one.level != "unsupported"), asked[0])

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """The first of each back end, where none expresses all of a problem."""
        choice = choose(core, AUTO)
        return tuple(
            Objection(
                form=reasons[0].need.form, origin=reasons[0].need.origin, reason=reasons[0].reason
            )
            for _, reasons in choice.refusals
            if reasons and not choice.steps
        )

    def starts(self, core: Core) -> tuple[Step, ...]:
        """None of its own: they are among its steps."""
        return ()

    def steps(self, core: Core) -> tuple[Step, ...]:
        """Those of the choice."""
        return choose(core, AUTO).steps

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """That of the back end that answers."""
        return back_end(main_of(self.steps(core)).backend).size(core)

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """Take the steps in turn, until one closes the problem or a limit is met."""
        choice = choose(core, AUTO)
        assert choice.name is not None, "objections() refuses what no back end takes"
        return Course(choice, AUTO, back_end(choice.name)).solve(core, limits, start, report)
