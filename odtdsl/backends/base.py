"""What a back end is: what it supports, what it is given, what it answers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self

from odtdsl.backends.steps import SEARCHED_START, START, Step
from odtdsl.base import engine
from odtdsl.base.back_ends import Value, Variant
from odtdsl.base.frozen import dataclass
from odtdsl.base.memory import Guard, held_bytes
from odtdsl.problem.ir.forms import Core, Form, Origin
from odtdsl.problem.ir.raw import RawDiagram, RawModel, RawTree

if TYPE_CHECKING:
    from pyomo.core.base import ConcreteModel

    from odtdsl.backends.improvements import Found
    from odtdsl.backends.ledger import Ledger
    from odtdsl.backends.programs import Handover
    from odtdsl.base.cluster import Cluster
    from odtdsl.base.diagnostics.model import OdtError
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.problem.ir.problem import Options

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Whether a back end expresses a core form.

    `costly` means exactly, at a cost that `reason` tells; for `unsupported` the reason
    says why not. It is shown behind the name of the back end, and need not repeat it.
    """

    level: Literal["exact", "costly", "unsupported"]
    reason: str = ""


EXACT = Support(level="exact")


def by_tables(form: Form, unsupported: Mapping[Form, str], costly: Mapping[Form, str]) -> Support:
    """Support where two tables have the reasons of what is not simply exact."""
    if form in unsupported:
        return Support(level="unsupported", reason=unsupported[form])
    return Support(level="costly", reason=costly[form]) if form in costly else EXACT


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
    ledger
        Where `exact` leaves certificates of what it proves; None for none.
    steps
        Of `search`: millions of visits of a row after which to stop. Unlike seconds they are the
        same on every machine.
    cluster
        Whose workers share a search that can be shared; None for this machine alone.
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
    ledger: Ledger | None = None
    cluster: Cluster | None = None
    interrupted: Callable[[], bool] = field(default=lambda: False)

    def of_engine(self, *, gap: bool = False) -> engine.Limits:
        """The same for our engine; without its gap where values say nothing of a share of them."""
        return engine.Limits(
            time_limit=self.left(),
            memory_limit=self.table_bytes(),
            work_limit=self.work,
            relative_gap=float(self.gap) if gap else 0.0,
            threads=self.threads,
            seed=self.seed,
            method="auto" if self.proves else "anytime",
            certify=self.ledger is not None,
            interrupted=self.interrupted,
        )

    @property
    def work(self) -> int:
        """Visits of a row after which `search` stops; 0 for none."""
        return ceil((self.steps or 0) * STEP)

    def left(self) -> float | None:
        """Seconds to the deadline; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

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
    make: Callable[[Found], Predictor] | None = field(default=None, compare=False, repr=False)

    @property
    def standing(self) -> tuple[int, Fraction | None, Fraction | None]:
        """Stage, incumbent and bound: what is no news if it was told before."""
        return self.stage, self.incumbent, self.bound

    @property
    def model(self) -> Predictor | None:
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
    model
        The best tree, or the best diagram where one is asked for, on the families of the core;
        also as `tree` or `diagram`. None without one.
    stages
        One outcome per stage of the objective; stages not reached are missing.
    size
        Size of the encoding: names (`variables`, `rows`, `nonzeros`) to counts.
    counters
        What the search did and pruned, and by which bound: names to counts. Those of `exact`
        are listed in `docs/reference/counters.md`.
    steps
        Those of a portfolio that were taken.
    """

    status: Status
    model: RawModel | None = None
    stages: tuple[StageOutcome, ...] = ()
    timeline: tuple[Progress, ...] = ()
    size: tuple[tuple[str, int], ...] = ()
    counters: tuple[tuple[str, int], ...] = ()
    interrupted: bool = False
    steps: tuple[Step, ...] = ()

    @property
    def tree(self) -> RawTree | None:
        """The model, where it is a tree."""
        return started(self.model)

    @property
    def diagram(self) -> RawDiagram | None:
        """The model, where it is a diagram."""
        return self.model if isinstance(self.model, RawDiagram) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a back end cannot take a problem although it expresses all of its forms.

    Such as a depth or a number of rows; `reason` is shown behind the name of the back end.
    """

    form: Form
    origin: Origin
    reason: str


def started(start: RawModel | None) -> RawTree | None:
    """A start as searches for trees take it."""
    return None if isinstance(start, RawDiagram) else start


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A tree that keeps what was asked, or else names that no tree keeps together."""

    tree: RawTree | None
    conflict: frozenset[str] = frozenset()


DEPTH_BOUND, LEAVES_BOUND = "depth ", "leaves "
"""Names of the bounds of a skeleton beside those of rules, none of which is called so."""


class Assumptions(Protocol):
    """A problem whose rules each stand under a name, asked with some of them at a time."""

    def ask(self, names: Iterable[str], deadline: float | None = None) -> Reply | None:
        """A tree that keeps the rules and bounds of these names; None where time ended first."""
        ...


class Stepwise(Protocol):
    """A search that is taken in steps; each answers with all that is known so far."""

    def answer(self) -> RawAnswer:
        """What is known."""
        ...

    def take(self, step: Step, deadline: float | None) -> RawAnswer:
        """Take a step."""
        ...

    def left_open(self) -> Core:
        """The problem of what would be better, for another back end."""
        ...


class BackEnd(ABC):
    """A back end with its options: a frozen dataclass whose fields are named as users write them.

    Its entry in `odtdsl.base.back_ends` says what is known of it before it is loaded.
    """

    name: ClassVar[str]

    asks_by_turns: ClassVar[bool] = False
    """Whether a search begins at once, so that one objective can be tried for a moment, then
    another: nothing large is built before it."""

    for_questions: ClassVar[Variant] = Variant()
    """Options that suit many small questions of whether a tree keeps some rules."""

    refutes_by_bounds: ClassVar[bool] = False
    """Whether the bounds of a measure that is made small soon say that a rule on it cannot be
    kept."""

    @classmethod
    def of(cls, options: Options, given: Mapping[str, Value]) -> Self:
        """The back end with its options, as a user or else the spec gives them."""
        return cls(**given)

    @abstractmethod
    def supports(self, form: Form, *, inside_or: bool) -> Support:
        """Whether it expresses a form, alone or inside a disjunction."""

    def missing(self) -> OdtError | None:
        """What is not installed, as the error to raise; None where all is there."""
        return None

    def objections(self, core: Core) -> tuple[Objection, ...]:
        """What in the numbers or the shape of this very problem keeps it from being taken.

        Asked only where every form is supported.
        """
        return ()

    def check(self, core: Core) -> None:  # noqa: B027
        """Raise B102 for what its options do not express of a problem; as a rule nothing."""

    def same_as_default(self, core: Core) -> str:
        """Why its options change nothing on a problem; empty where they do."""
        return ""

    def starts(self, core: Core) -> tuple[Step, ...]:
        """What finds a first model for it, if these back ends can take part."""
        return (START, SEARCHED_START)

    def for_start(self, way: str, *, brief: bool) -> BackEnd:
        """With the options of a start: how splits are scored, and whether a first model will do."""
        return self

    def steps(self, core: Core) -> tuple[Step, ...]:
        """What it does for a problem, one after the other."""
        return (Step(kind="whole", backend=self.name),)

    def steps_before_another(self, core: Core) -> tuple[Step, ...]:
        """What it does before another back end, which takes what is left open; none as a rule.

        It is asked for diagrams.
        """
        return ()

    def begin(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> Stepwise | None:
        """The search that is taken step by step; None where it is asked as a whole."""
        return None

    def assuming(
        self, core: Core, limits: Limits, *, depth: int | None, leaves: int | None
    ) -> Assumptions | None:
        """What answers many such questions at once; None where it has nothing of the kind."""
        return None

    def kept_here(self, core: Core) -> str:
        """Why its search for this problem cannot be shared with a cluster; empty where it can."""
        return f"`{self.name}` runs on one machine"

    def answered(self, core: Core) -> Core:
        """The problem that its answers keep: rules may be soft under its options."""
        return core

    def size(self, core: Core) -> tuple[tuple[str, int], ...]:
        """Size of the encoding, as `RawAnswer.size`; empty where there is none to speak of."""
        return ()

    @abstractmethod
    def solve(
        self, core: Core, limits: Limits, start: RawModel | None, report: Report | None
    ) -> RawAnswer:
        """Search until proven or a limit is met.

        Parameters
        ----------
        core
            The problem.
        limits
            Time counts from the caller's clock, so that building an encoding is part of it.
        start
            A model that satisfies all rules, or None.
        report
            Called with every better model and bound.
        """


class ProgramWriter(ABC):
    """A back end with the ability to write programs."""

    @abstractmethod
    def hand_over(
        self, core: Core, *, kept: Sequence[Fraction] = (), weighted: bool = False
    ) -> Handover:
        """The program for other solvers, of the stage after those that keep some values; or of
        all stages from there on as one weighted sum."""

    @abstractmethod
    def to_pyomo(self, handed: Handover) -> ConcreteModel:
        """A program as a Pyomo model; the `doc` of a variable is the kind that names begin with."""
