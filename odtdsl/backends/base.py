"""What a back end is: what it supports, what it is given, what it answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, Protocol

from odtdsl.base.memory import Guard, held_bytes
from odtdsl.problem.ir.forms import Core, Form, Origin
from odtdsl.problem.ir.raw import RawDiagram, RawModel, RawTree

if TYPE_CHECKING:
    from odtdsl.backends.improvements import Found
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Whether a back end expresses a core form.

    `costly` means exactly, at a cost that `reason` tells; for `unsupported` the reason
    says why not.
    """

    level: Literal["exact", "costly", "unsupported"]
    reason: str = ""


EXACT = Support(level="exact")

STEP = 1_000_000
"""Visits of a row that a step of `search` stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one solve.

    Attributes
    ----------
    deadline
        `time.monotonic()` value at which to stop, compiling included; None for none.
    gap
        Relative gap at which to stop.
    memory_bytes
        What the whole process may hold. `interrupted` says when a search is to end for that.
    proves
        Whether to prove; `search` asks `exact` for better models only.
    steps
        Of `search`: millions of visits of a row after which to stop. Unlike seconds they are the
        same on every machine.
    interrupted
        Asked often while solving; True means stop and return what there is.
    """

    deadline: float | None = None
    gap: Fraction = Fraction(0)
    threads: int = 1
    seed: int = 0
    memory_bytes: int | None = None
    proves: bool = True
    steps: Fraction | int | None = None
    interrupted: Callable[[], bool] = field(default=lambda: False)

    def of_search(self) -> dict[str, Any]:
        """What our engine is told of the anytime search beside a proof, or without one."""
        return {
            "seed": self.seed,
            "method": "auto" if self.proves else "anytime",
            "work_limit": ceil((self.steps or 0) * STEP),
        }

    def part(self, share: float) -> Limits:
        """The limits of what may take a share of the time that is left."""
        if self.deadline is None:
            return self
        now = time.monotonic()
        return replace(self, deadline=now + share * max(0.0, self.deadline - now))

    def table_bytes(self) -> int | None:
        """What a search may keep in tables: half of what the memory limit leaves from now on.

        The other half is for what it does not count. None without a limit.
        """
        if self.memory_bytes is None:
            return None
        return max(1, (self.memory_bytes - (held_bytes() or 0)) // 2)

    def has_room(self, amount: int) -> bool:
        """Whether so many bytes can be taken at once; if not, the memory limit is met."""
        if self.memory_bytes is None or (held_bytes() or 0) + amount <= self.memory_bytes:
            return True
        if isinstance(self.interrupted, Guard):
            self.interrupted.full = True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a solve stands. Values are those of the stage (see `stage`), less is better.

    Attributes
    ----------
    found
        The incumbent itself, as the back end holds it. None where it does not tell it.
    make
        What makes a predictor of it; None where nothing does.
    """

    stage: int
    incumbent: Fraction | None
    bound: Fraction | None
    seconds: float
    found: Found | None = field(default=None, compare=False, repr=False)
    make: Callable[[Found], Tree | Diagram] | None = field(default=None, compare=False, repr=False)

    @property
    def model(self) -> Tree | Diagram | None:
        """The incumbent as a predictor, made when it is asked for; None where it was not kept.

        It keeps all rules, and its value on the training rows is `incumbent`, or a little better
        where splits that say nothing were left out.
        """
        return None if self.found is None or self.make is None else self.make(self.found)


def relative_gap(value: Fraction | None, bound: Fraction | None) -> Fraction | None:
    """|value - bound| / |value|; 1 where only the value is 0; None where either is unknown."""
    if value is None or bound is None:
        return None
    if value == bound:
        return Fraction(0)
    return Fraction(1) if value == 0 else abs(value - bound) / abs(value)


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutcome:
    """A stage's value on the answer's tree, a proven lower bound, and whether it is proven least.

    Values are of the stage's own (signed, minimized) measure. `bound` is None where the
    back end has none.
    """

    value: Fraction | None
    bound: Fraction | None
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    """What a back end returns.

    Attributes
    ----------
    status
        `optimal` only if every stage is proven; `infeasible` only if proven; `unknown`
        where no model was found.
    tree
        The best tree, on the families of the core; None without one.
    diagram
        The best diagram, where a diagram is asked for.
    stages
        One outcome per stage of the objective; stages not reached are missing.
    size
        Size of the encoding: names (`variables`, `rows`, `nonzeros`) to counts.
    counters
        What the search did and pruned, and by which bound: names to counts. Those of `exact`
        are listed in `docs/reference/counters.md`.
    """

    status: Status
    tree: RawTree | None
    diagram: RawDiagram | None = None
    stages: tuple[StageOutcome, ...] = ()
    timeline: tuple[Progress, ...] = ()
    size: tuple[tuple[str, int], ...] = ()
    counters: tuple[tuple[str, int], ...] = ()
    interrupted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a back end cannot take a problem although it expresses all of its forms."""

    form: Form
    origin: Origin
    reason: str


def started(start: RawModel | None) -> RawTree | None:
    """A start as searches for trees take it."""
    return None if isinstance(start, RawDiagram) else start


class BackEnd(Protocol):
    """A back end. `start` is a tree or diagram that keeps all rules, or None."""

    name: str

    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether it expresses a form, alone or inside a disjunction."""
        ...

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """What in the numbers or the shape of this very problem keeps it from being taken.

        Asked only where every form is supported.
        """
        ...

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Size of the encoding, as `RawAnswer.size`; empty where there is none to speak of."""
        ...

    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """Search, and keep to the limits."""
        ...
