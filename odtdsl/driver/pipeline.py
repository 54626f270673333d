"""From an analysed spec to an audited answer: normalize, choose, start, solve, decode, check."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Unpack, cast

from odtdsl.auditor.audit import Audit, audit
from odtdsl.backends.answers import same, unfounded, with_model
from odtdsl.backends.auto.backend import Course
from odtdsl.backends.auto.portfolio import Portfolio
from odtdsl.backends.base import (
    BackEnd,
    Limits,
    Progress,
    RawAnswer,
    Report,
    StageOutcome,
    Status,
    relative_gap,
)
from odtdsl.backends.progress import ProgressRelay
from odtdsl.backends.quotients import linear
from odtdsl.backends.steps import main_of
from odtdsl.backends.stopping import Patience
from odtdsl.base.back_ends import AUTO, Variant, entry_of
from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.base.interrupts import interruptible
from odtdsl.base.kept import keeping
from odtdsl.base.limits import LEAST, counting
from odtdsl.base.memory import Guard
from odtdsl.base.methods import method
from odtdsl.compiler.bounds import plainly_refuted
from odtdsl.datasets.digest import Fingerprint
from odtdsl.driver.choice import (
    Choice,
    Supported,
    back_end,
    choose,
    refused,
    supported,
)
from odtdsl.driver.overrides import Overrides, overridden, unused
from odtdsl.driver.reporting import Unpacking, as_written, reporting, user_value
from odtdsl.driver.result import Result, Stage
from odtdsl.driver.scoring import TestScore, output_score, score, training_score
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.problem import Options, TreeSkeleton
from odtdsl.problem.ir.raw import RawModel
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.backends.decode import IdleSplit
    from odtdsl.backends.ledger import Ledger
    from odtdsl.base.cluster import Cluster
    from odtdsl.compiler import Analysis
    from odtdsl.datasets.dataset import Dataset
    from odtdsl.problem.ir.rows import Rows


DEFAULT = Variant()
"""No option of a back end is asked for."""

STEADY = 10.0
"""Seconds without a better model after which a search that has no end of its own is ended, where it
was given no limit at all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What a solve would do: see `odt plan`.

    Attributes
    ----------
    core
        The problem as back ends read it.
    choice
        The steps to take, why, and what keeps each other back end from it.
    sizes
        Of each step, the size of its encoding of the whole problem; empty where it has none.
    support
        How far each back end has each core form that the problem needs.
    """

    core: Core
    choice: Choice
    sizes: tuple[tuple[tuple[str, int], ...], ...]
    support: tuple[Supported, ...]

    def __str__(self) -> str:
        """What `odt plan` prints."""
        return cast(str, method("Plan.__str__")(self))

    @property
    def size(self) -> tuple[tuple[str, int], ...]:
        """That of the last step that has one."""
        return next((size for size in reversed(self.sizes) if size), ())


@keeping()
def plan(
    analysis: Analysis,
    *,
    backend: str | None = None,
    variant: Variant = DEFAULT,
) -> Plan:
    """The steps that `solve` would take and why, and the sizes of their encodings.

    Raises
    ------
    OdtError
        B102: the formulation cannot express the problem. U302, U318: as in `solve`.
    """
    core = normalize(analysis.rows)
    options = analysis.problem.options
    choice = choose(core, variant.asked(backend) or options.backend)
    sizes: tuple[tuple[tuple[str, int], ...], ...] = ()
    if choice.name is not None:
        engine = back_end(choice.name, variant, options)
        engine.check(linear(core))
        sizes = Portfolio(choice.steps, engine).sizes(linear(core))
    return Plan(core=core, choice=choice, sizes=sizes, support=supported(core, choice))


def solve(
    analysis: Analysis,
    *,
    start: Predictor | None = None,
    report: Report | None = None,
    stop: Callable[[], bool] | None = None,
    began: float | None = None,
    ledger: Ledger | None = None,
    cluster: Cluster | None = None,
    **overrides: Unpack[Overrides],
) -> Result:
    """Solve a spec.

    Parameters
    ----------
    analysis
        The spec, resolved.
    start
        A tree, or for diagrams a diagram, to start from.
    report
        Called with every improvement of incumbent or bound.
    stop
        Asked often; True ends the search as Ctrl-C does.
    began
        `time.monotonic()` value from which time counts, so that reading and analysis count; by
        default from here.
    ledger
        Where `exact` leaves certificates of what it proves.
    cluster
        Whose workers share the search.
    overrides
        Settings instead of those of the `solve` statement.

    Returns
    -------
    Result
        On Ctrl-C, with the best so far and `interrupted` set, even where the search had just
        ended: who solves many specs stops there.

    Raises
    ------
    OdtError
        B101, B102, B201: no such back end, or none that expresses the problem. U302, U318: a
        formulation or solver of another back end, or an unknown solver. B105, B106: the memory
        limit is met before the search, or cannot be watched. B108: the time limit is. B110: the
        search cannot be shared with a cluster. X101: the
        answer did not survive its audit, which is a mistake of this package.
    """
    began = time.monotonic() if began is None else began
    options, variant = overridden(analysis.problem.options, overrides)
    with keeping(), interruptible() as pressed:
        asked = pressed if stop is None else lambda: pressed() or stop()
        with counting(began, options.seconds):
            core = normalize(analysis.rows)
        patience = _patience(core, options, asked)
        memory = Guard(options.memory_bytes, patience)
        choice = choose(core, options.backend)
        if choice.name is None:
            raise refused(choice, options.backend, analysis.problem.source)
        engine = back_end(choice.name, variant, options)
        engine.check(linear(core))
        if cluster is not None:
            _must_be_shared(engine, core, ledger, analysis)
        memory.begin()
        limits = Limits(
            deadline=None if options.seconds is None else began + options.seconds,
            gap=options.gap if options.gap < 1 else Fraction(0),
            threads=options.threads,
            seed=options.seed,
            memory_bytes=memory.most,
            steps=options.steps,
            ledger=ledger,
            cluster=cluster,
            interrupted=memory,
        )
        answered = engine.answered(core)
        unpacking = Unpacking(analysis.rows, answered, engine)
        told = ProgressRelay(began, reporting(core, patience, report, unpacking))
        given = _given(analysis, core, start)
        course = Course(choice, options.backend, engine)
        ended = unused(options) + _late(options.seconds, time.monotonic() - began)
        answer = course.solve(core, limits, given, told)
        answer = replace(answer, timeline=tuple(told.timeline))
        if answer.status == "unknown" and options.backend == AUTO and ledger is None:
            answer = replace(answer, status=_foreseen(core))
        if (memory.full or patience.over) and not asked():  # nobody asked to stop
            answer = replace(answer, interrupted=False)
        if cluster is not None:
            ended += cluster.warnings()
        if answer.status not in ("optimal", "infeasible"):
            ended += memory.warnings()
        result = _result(analysis, answered, answer, unpacking, options.seed, began, ended)
        unpacking.forget()
        if pressed():  # perhaps after the search last asked, or while the answer was made
            result = replace(result, interrupted=True)
        asked_for = result.status == "feasible" and not result.interrupted
        return replace(result, stopped=patience.over) if asked_for else result


def _must_be_shared(engine: BackEnd, core: Core, ledger: Ledger | None, analysis: Analysis) -> None:
    """Refuse what one machine would have to do alone."""
    why = engine.kept_here(linear(core))
    if ledger is not None:
        why = "a certificate is written by one machine"
    if why:
        raise error(
            "B110",
            f"a cluster cannot share this search: {why}",
            helps=("omit `--cluster` (in Python `client=`); `--threads` may help",),
            source=analysis.problem.source,
        )


def _patience(core: Core, options: Options, asked: Callable[[], bool]) -> Patience:
    steady = options.steady
    limited = entry_of(options.backend).ends or options.seconds is not None
    if steady is None and not limited and options.steps is None:
        steady = STEADY
    near = options.gap if options.gap >= 1 and len(core.objective) == 1 else None
    return Patience(asked, steady, near)


def _foreseen(core: Core) -> Status:
    """What the warnings said before a search that found nothing, of trees of classes whose splits
    test one feature: there they have been compared with brute force longest."""
    compared = (
        isinstance(core.skeleton, TreeSkeleton)
        and core.skeleton.splits == "axis"
        and core.targets is None
    )
    return "infeasible" if compared and plainly_refuted(core) else "unknown"


def _late(seconds: float | None, spent: float) -> tuple[Diagnostic, ...]:
    """A warning where the limit was over before the search; a moment's work needs none."""
    if seconds is None or spent < max(seconds, LEAST):
        return ()
    return (
        Diagnostic(
            code="B113",
            severity="warning",
            message=f"the limit of {seconds:g} s was over before the search began",
            notes=(f"reading and analysis of the rows took {spent:.1f} s",),
            helps=("allow more time (`within`): the answer is what was found in a moment",),
        ),
    )


def _given(analysis: Analysis, core: Core, given: Predictor | None) -> RawModel | None:
    from odtdsl.backends.decode import NoCandidate
    from odtdsl.backends.decoding import from_predictor

    if given is None or given.kind != core.skeleton.kind:
        return None
    raw = from_predictor(core, analysis.rows, given)
    if isinstance(raw, NoCandidate) or evaluated(core, raw).violations():
        return None
    return raw


# ---- the answer


def _result(
    analysis: Analysis,
    core: Core,
    answer: RawAnswer,
    unpacking: Unpacking,
    seed: int,
    began: float,
    more: tuple[Diagnostic, ...],
) -> Result:
    from odtdsl.backends.decode import idle_splits
    from odtdsl.backends.decoding import simplified, to_predictor
    from odtdsl.driver.scoring import model_warnings

    name = main_of(answer.steps).backend
    _must_be_founded(analysis, core, answer)
    model: Predictor | None = None
    audited: Audit | None = None
    warnings = analysis.warnings + more
    if (raw := answer.model) is not None:
        raw = simplified(core, raw)
        answer = with_model(core, answer, raw)
        warnings += _idle(analysis, core, idle_splits(core, raw))
        model = to_predictor(core, analysis.rows, raw)
        audited = audit(model, analysis.rows, backend=name)
        _must_be_founded(analysis, core, answer)
        _must_agree(analysis, core, answer, audited)
        warnings += model_warnings(model, analysis.rows, counted=True)
    stages = _stages(analysis, core, answer, audited)
    return Result(
        status=answer.status,
        stages=stages,
        model=model,
        audit=audited,
        backend=name,
        seconds=time.monotonic() - began,
        seed=seed,
        fingerprint=Fingerprint(analysis.rows.data.table),
        timeline=tuple(as_written(core, at, unpacking) for at in answer.timeline),
        size=answer.size,
        counters=answer.counters,
        steps=tuple(str(step) for step in answer.steps),
        interrupted=answer.interrupted,
        test=_test(model, analysis.test, analysis.rows),
        warnings=warnings,
        rows=analysis.rows,
        test_rows=analysis.test,
        training=None if model is None else training_score(model, analysis.rows),
        outputs=None if model is None else output_score(model, analysis.rows, analysis.rows.data),
    )


def _idle(analysis: Analysis, core: Core, splits: tuple[IdleSplit, ...]) -> tuple[Diagnostic, ...]:
    """Warnings about splits that stand for the rules only."""
    spans = {rule.name: rule.span for rule in analysis.problem.rules}
    found: list[Diagnostic] = []
    for split in splits:
        if not split.rules:
            continue
        names = " and ".join(f"`{name}`" for name in split.rules)
        holds = f"rule {names} holds" if len(split.rules) == 1 else f"rules {names} hold"
        places = [spans[name] for name in split.rules if name in spans]
        found.append(
            Diagnostic(
                code="R305",
                severity="warning",
                message=(
                    f"{holds} only by a split that changes no prediction: it tests "
                    f"`{core.columns[split.column]}`, and both its sides predict the same"
                ),
                labels=tuple(Label(span=span) for span in places if span.start >= 0),
                helps=(
                    (
                        "the best tree does not need this test: remove the rule, unless the "
                        "test must be made in any case"
                    ),
                ),
                source=analysis.problem.source,
            )
        )
    return tuple(found)


def _must_be_founded(analysis: Analysis, core: Core, answer: RawAnswer) -> None:
    """The solver's claims against its own model: what contradicts it is our mistake."""
    if said := unfounded(core, answer):
        raise _mistake(analysis, (f"the search returned an impossible result: {said}",))


def _must_agree(analysis: Analysis, core: Core, answer: RawAnswer, audited: Audit) -> None:
    """The solver's claims against the audit: a difference is our mistake, never an answer."""
    broken = [line.rule for line in audited.lines if not (line.holds or line.soft)]
    claimed = [
        None if outcome.value is None else user_value(core, index, outcome.value)
        for index, outcome in enumerate(answer.stages)
    ]
    differs = any(
        value is not None and not same(core, stage, value, recomputed)
        for stage, value, recomputed in zip(core.objective, claimed, audited.objective, strict=True)
    )
    if broken or differs:
        raise _mistake(
            analysis,
            (
                f"broken rules: {', '.join(broken) or 'none'}",
                f"claimed objective {claimed}, recomputed {list(audited.objective)}",
            ),
        )


def _mistake(analysis: Analysis, notes: tuple[str, ...]) -> OdtError:
    return error(
        "X101",
        "the answer failed its audit: this is a bug in odtdsl, not your mistake",
        notes=notes,
        helps=("please report it with the spec and the data",),
        source=analysis.problem.source,
    )


def _stages(
    analysis: Analysis, core: Core, answer: RawAnswer, audited: Audit | None
) -> tuple[Stage, ...]:
    nothing = StageOutcome(value=None, bound=None, proven=False)
    found: list[Stage] = []
    for index, declared in enumerate(analysis.problem.objective):
        outcome = answer.stages[index] if index < len(answer.stages) else nothing
        value = None if audited is None else audited.objective[index]
        bound = None if outcome.bound is None else user_value(core, index, outcome.bound)
        proven = outcome.proven and value is not None
        found.append(
            Stage(
                text=declared.text,
                value=value,
                bound=bound,
                proven=proven,
                gap=Fraction(0) if proven else relative_gap(value, bound),
            )
        )
    return tuple(found)


def _test(model: Predictor | None, test: Dataset | None, rows: Rows) -> TestScore | None:
    return None if model is None or test is None or not test.n_rows else score(model, test, rows)


ABOUT_MODEL = ("O104", "R305")
"""Warnings that tell of one model."""


def with_other_model(result: Result, model: Predictor) -> Result:
    """The result with another model of the same problem, audited and scored anew.

    Bounds are of the problem, and stay; nothing is proven of the model.
    """
    from odtdsl.driver.scoring import model_warnings

    rows = result.rows
    assert rows is not None, "the result was not stripped of its rows"
    seen = audit(model, rows, backend=result.backend)
    stages = tuple(
        replace(stage, value=value, proven=False, gap=relative_gap(value, stage.bound))
        for stage, value in zip(result.stages, seen.objective, strict=True)
    )
    kept = tuple(told for told in result.warnings if told.code not in ABOUT_MODEL)
    return replace(
        result,
        status="feasible",
        stages=stages,
        model=model,
        audit=seen,
        test=_test(model, result.test_rows, rows),
        training=training_score(model, rows),
        outputs=output_score(model, rows, rows.data),
        warnings=(*kept, *model_warnings(model, rows)),
    )


__all__ = ["Plan", "Progress", "Status", "plan", "relative_gap", "solve"]
