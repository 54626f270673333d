"""The same problem on every back end that can, and whether their proofs agree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any, Unpack, cast

from odtdsl.backends.base import Status
from odtdsl.backends.quotients import linear
from odtdsl.backends.registry import back_end
from odtdsl.base.back_ends import Variant, entry_of, names, read_variant, variants
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.methods import method
from odtdsl.base.numbers import as_number
from odtdsl.driver.choice import choose
from odtdsl.driver.overrides import Overrides
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result
from odtdsl.problem.ir.forms import Core, RegressionStage
from odtdsl.problem.ir.regression import near
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from odtdsl.compiler import Analysis


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One back end's part in a comparison.

    Attributes
    ----------
    name
        The back end, and in brackets another formulation or solver: `milp (cptree)`.
    result
        Its answer; None where it cannot express the problem.
    reason
        Why it was left out; empty where it ran.
    """

    name: str
    result: Result | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The same problem on several back ends, in the order of preference."""

    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        """What `odt compare` prints."""
        return cast(str, method("Comparison.__str__")(self))

    @property
    def ran(self) -> tuple[Result, ...]:
        """The answers."""
        return tuple(entry.result for entry in self.entries if entry.result is not None)

    @property
    def status(self) -> Status:
        """What all runs together prove: the best that one of them did."""
        ranks: tuple[Status, ...] = ("optimal", "infeasible", "feasible", "unknown")
        found = {result.status for result in self.ran}
        return next((status for status in ranks if status in found), "unknown")

    def to_json(self) -> dict[str, Any]:
        """One object as `odt compare --json` writes it; without models and audits."""
        return {"status": self.status, "runs": [_entry_json(entry) for entry in self.entries]}


def _entry_json(entry: Entry) -> dict[str, Any]:
    result = entry.result
    if result is None:
        return {"backend": entry.name, "status": None, "reason": entry.reason}
    return {
        "backend": entry.name,
        "status": result.status,
        "objective": as_number(result.objective),
        "bound": as_number(result.bound),
        "gap": as_number(result.gap),
        "depth": None if result.model is None else result.model.depth,
        "leaves": None if result.model is None else result.model.n_leaves,
        "size": dict(result.size),
        "seconds": round(result.seconds, 6),
    }


def compare(
    analysis: Analysis,
    *,
    backends: Iterable[str] | None = None,
    began: Callable[[str], None] | None = None,
    **overrides: Unpack[Overrides],
) -> Comparison:
    """Solve a spec on several back ends, each alone, and hold them to each other.

    No back end sees what another found: each has nothing before it but the start by `greedy`.

    Parameters
    ----------
    analysis
        The spec, resolved.
    backends
        Names. `milp (cptree)` and `sat (paper)` are the studies' formulations, `sat (glucose4)`
        is another solver. By default all back ends and formulations that there are.
    began
        Called with the name of each run before it starts.
    overrides
        As in `solve`, for each run; the back end is not read.

    Raises
    ------
    OdtError
        B101: an unknown back end; U302, U318: an unknown formulation or solver. X102: proven
        answers that disagree, a mistake of this package.
    """
    asked = [(name, *read_variant(name)) for name in (_all() if backends is None else backends)]
    for _, engine, variant in asked:
        back_end(engine, variant)
    core = normalize(analysis.rows)
    entries: list[Entry] = []
    interrupted = False
    for name, engine, variant in asked:
        reason = "the comparison was interrupted before its turn" if interrupted else ""
        if reason := reason or _refusal(core, engine, variant):
            entries.append(Entry(name=name, reason=reason))
            continue
        if began is not None:
            began(name)
        overrides["backend"], overrides["variant"] = engine, variant  # with only a start before it
        result = solve(analysis, **overrides)
        entries.append(Entry(name=name, result=result))
        interrupted = result.interrupted
    found = Comparison(entries=tuple(entries))
    _must_agree(found, core, analysis)
    return found


def _all() -> tuple[str, ...]:
    """All with their formulations, but those that end only by a limit."""
    found: list[str] = []
    for name in names():
        if entry_of(name).ends:
            found.append(name)
            found += [f"{name} ({value})" for one in variants(name) for _, value in one.given]
    return tuple(found)


def _refusal(core: Core, engine: str, variant: Variant) -> str:
    """Why a back end cannot take the problem; empty where it can."""
    refusals = dict(choose(core, engine).refusals)[engine]
    if refusals:
        first = refusals[0]
        return f"{first.need.form.value} of `{first.need.origin.rule}`: {first.reason}"
    made = back_end(engine, variant)
    try:
        made.check(linear(core))
    except OdtError as refused:
        first_one = refused.diagnostics[0]
        return "; ".join((first_one.message, *first_one.notes))
    return made.same_as_default(linear(core))


# ---- proofs against each other


def _must_agree(found: Comparison, core: Core, analysis: Analysis) -> None:
    signs = [1 if stage.sense == "minimize" else -1 for stage in analysis.problem.objective]
    losses = [isinstance(stage, RegressionStage) for stage in core.objective]
    kinds = tuple(zip(signs, losses, strict=True))
    ran = [(entry.name, entry.result) for entry in found.entries if entry.result is not None]
    wrong = [
        f"{a}: {said}; {b}: {against}"
        for (a, mine), (b, theirs) in permutations(ran, 2)
        for said, against in contradictions(mine, theirs, kinds)
    ]
    if wrong:
        raise OdtError(
            [
                Diagnostic(
                    code="X102",
                    message=(
                        "the proofs of two back ends disagree: this is a bug in odtdsl, not "
                        "your mistake"
                    ),
                    notes=tuple(wrong),
                    source=analysis.problem.source,
                    helps=("please report it with the spec and the data",),
                )
            ]
        )


def contradictions(
    mine: Result, theirs: Result, kinds: tuple[tuple[int, bool], ...]
) -> Iterator[tuple[str, str]]:
    """What one answer proves and the other refutes by a model.

    Bounds of a stage hold for models that are best in all earlier stages. `kinds` gives, per
    stage, 1 or -1 for its sense and whether its values are floats.
    """
    refuted = theirs.model is not None and _keeps(theirs)
    if mine.status == "infeasible":
        if refuted:
            yield "infeasible", "a model that satisfies all rules"
        return
    if not refuted:
        return
    for stage, other, (sign, loss) in zip(mine.stages, theirs.stages, kinds, strict=False):
        bound = stage.value if stage.proven else stage.bound
        if bound is None or other.value is None:
            return
        if sign * other.value < sign * bound and not (loss and near(other.value, bound)):
            said = f"{stage.text}: {'proven' if stage.proven else 'bound'} {float(bound):g}"
            yield said, f"a model of {float(other.value):g}"
        if not stage.proven or stage.value is None or not _alike(stage.value, other.value, loss):
            return


def _keeps(result: Result) -> bool:
    """Whether a model keeps all rules: relaxed leaves of `greedy` may break some."""
    return result.audit is not None and all(line.holds for line in result.audit.lines)


def _alike(one: Fraction, other: Fraction, loss: bool) -> bool:
    return one == other or (loss and near(one, other))
