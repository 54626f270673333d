"""A whole tuning: divide the rows, do the runs that are not done yet, choose, solve again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.interrupts import interrupted
from odtdsl.base.numbers import counted
from odtdsl.compiler import Analysis, analyse
from odtdsl.datasets.request import TestShare
from odtdsl.datasets.split import Division, groups_of
from odtdsl.datasets.table import IntArray
from odtdsl.driver.result import Result
from odtdsl.insight.tuning.folds import deal
from odtdsl.insight.tuning.grid import Grid, Setting, applied, shown
from odtdsl.insight.tuning.result import OuterFold, Rule, Trial, Tuning, choose
from odtdsl.insight.tuning.scores import Score, default_score, parse_score, parted, with_score
from odtdsl.insight.tuning.single_run import Cell, Fold, Job, keys, packed, run_packed
from odtdsl.insight.tuning.store import Store
from odtdsl.insight.tuning.workers import Pool, pool
from odtdsl.language import ast

if TYPE_CHECKING:
    from odtdsl.base.source import Source

ProgressCallback = Callable[[int, int], None]
"""Called with the runs that are done, and how many there are in all."""

MAX_RUNS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningOptions:
    """How to tune.

    Attributes
    ----------
    cv, repeats
        Folds, and how often the rows are divided anew.
    outer
        Folds that no choice sees, to judge the procedure by; 0 for none.
    seed
        Of all divisions.
    by
        A column whose values stay together in one fold; None for that of the spec's test rows.
    rule
        See `Tuning.rule`.
    score
        A measure of the language; None for the spec's own, see
        `insight.tuning.scores.default_score`.
    jobs, backend, address
        See `workers.pool`.
    keep
        A file for runs that are done, and to read them from.
    """

    cv: int = 5
    repeats: int = 1
    outer: int = 0
    seed: int = 0
    by: str | None = None
    rule: Rule = "one-se"
    score: str | None = None
    jobs: int = 1
    backend: str | None = None
    address: str | None = None
    keep: Path | None = None


def tune(
    spec: ast.Spec,
    source: Source | None,
    analysis: Analysis,
    grid: Grid,
    options: TuningOptions,
    solve: Callable[[ast.Spec], Result],
    told: ProgressCallback | None = None,
) -> Tuning:
    """Score every setting of a grid on held-out rows, choose one, and solve it on all rows.

    Parameters
    ----------
    spec, source, analysis
        The spec, its text for messages, and the spec resolved with its data.
    grid, options
        What to vary, and how.
    solve
        Solves a spec on all training rows; called once, for the chosen setting.
    told
        Called when the runs begin and after each.

    Returns
    -------
    Tuning
        On Ctrl-C or SIGTERM with what was done, and `complete` false.

    Raises
    ------
    OdtError
        U341 to U348, F310, and whatever is wrong with the spec under a setting.
    """
    began = time.monotonic()
    if options.repeats < 1 or options.outer == 1 or options.outer < 0:
        raise error("U343", "`repeats` must be at least 1, and `outer` must be 0 or at least 2")
    score = default_score(spec) if options.score is None else parse_score(options.score)
    settings = grid.settings()
    plan = _plan(analysis, options)
    if len(settings) * len(plan.inner) > MAX_RUNS:
        raise error(
            "U341",
            f"{counted(len(settings), 'setting')} on {len(plan.inner)} folds give too many runs",
            helps=(f"the limit is {MAX_RUNS:,}: give fewer values or folds",),
        )
    _check(spec, source, analysis, grid, settings, score)
    job = Job(
        spec=spec,
        names=grid.names,
        score=score,
        table=analysis.table,
        folds=(*plan.inner, *plan.outer),
    )
    runs = _Runs(job, settings, Store(options.keep), told)
    complete = True
    try:
        with interrupted(), pool(options.jobs, options.backend, options.address) as workers:
            complete = _all_runs(runs, plan, workers, options)
    except KeyboardInterrupt:
        complete = False
    finally:
        runs.store.flush()
    trials = runs.trials(plan.main, options.cv)
    places = choose(trials, score.sense == "maximize", options.rule) if complete else None
    result = None
    if places is not None:
        try:
            with interrupted():
                result = solve(applied(spec, grid.names, settings[places[1]]))
        except KeyboardInterrupt:  # before or after its search
            complete = False
        else:
            complete = not result.interrupted
    return Tuning(
        names=grid.names,
        score=score.text,
        rule=options.rule,
        cv=options.cv,
        repeats=options.repeats,
        seed=options.seed,
        by=_together(analysis, options),
        trials=trials,
        best=places and places[0],
        chosen=places and places[1],
        outer=tuple(runs.outer(plan, options)),
        result=result,
        complete=complete,
        resumed=runs.resumed,
        seconds=time.monotonic() - began,
        keep=None if options.keep is None else str(options.keep),
        unkept=runs.store.failure,
    )


# ---- folds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Folds by number: first those of all rows, then those without each outer fold, then these.

    Attributes
    ----------
    main
        The folds that all training rows are divided into.
    within
        For each outer fold, the folds that the other rows are divided into.
    """

    inner: tuple[Fold, ...]
    outer: tuple[Fold, ...]
    main: range
    within: tuple[range, ...]


def _plan(analysis: Analysis, options: TuningOptions) -> _Plan:
    rows = analysis.rows
    everything = rows.data.row_numbers

    by = _together(analysis, options)
    groups = None if by is None else _groups(analysis, by)

    def divided(chosen: IntArray, count: int, *seed: int) -> Iterator[Fold]:
        for held in deal(rows, chosen, count, (options.seed, *seed), groups):
            yield Fold(train=np.setdiff1d(chosen, held, assume_unique=True), held=held)

    def repeated(chosen: IntArray, of: int) -> list[Fold]:
        return [
            fold
            for repeat in range(options.repeats)
            for fold in divided(chosen, options.cv, of, repeat)
        ]

    inner = repeated(everything, 0)
    main = range(len(inner))
    outer = tuple(divided(everything, options.outer, 0, options.repeats)) if options.outer else ()
    within = []
    for number, fold in enumerate(outer):
        start = len(inner)
        inner += repeated(fold.train, number + 1)
        within.append(range(start, len(inner)))
    return _Plan(inner=tuple(inner), outer=outer, main=main, within=tuple(within))


def _together(analysis: Analysis, options: TuningOptions) -> str | None:
    """The column whose values stay together: that asked for, else that of the spec's test rows."""
    test = analysis.problem.data.test
    return test.by if options.by is None and isinstance(test, TestShare) else options.by


def _groups(analysis: Analysis, by: str) -> IntArray:
    if by not in analysis.table.columns:
        near = closest(by, list(analysis.table.columns))
        raise error(
            "U343",
            f"{analysis.table.name} has no column `{by}` to keep rows together by",
            helps=() if near is None else (f"did you mean `{near}`?",),
        )
    return groups_of(analysis.table.columns[by])


def _check(
    spec: ast.Spec,
    source: Source | None,
    analysis: Analysis,
    grid: Grid,
    settings: tuple[Setting, ...],
    score: Score,
) -> None:
    """Try every value once, on all rows, so that mistakes are reported before hours of runs."""
    from odtdsl.driver.choice import choose as choose_back_end
    from odtdsl.driver.choice import refused
    from odtdsl.problem.terms.normalize import normalize

    everything = analysis.rows.data.row_numbers
    division = Division(table=analysis.table, train=everything, test=everything[:0])
    for setting in _each_value_once(grid, settings):
        try:
            varied = with_score(applied(spec, grid.names, setting), score)
            under, _ = parted(analyse(varied, source=source, division=division))
            choice = choose_back_end(normalize(under.rows), under.problem.options.backend)
            if choice.name is None:
                raise refused(choice, under.problem.options.backend, source)
        except OdtError as failure:
            note = f"with the setting {shown(grid.names, setting)}"
            raise OdtError([_noted(one, note) for one in failure.diagnostics]) from None


def _noted(diagnostic: Diagnostic, note: str) -> Diagnostic:
    return replace(diagnostic, notes=(*diagnostic.notes, note))


def _each_value_once(grid: Grid, settings: tuple[Setting, ...]) -> Iterator[Setting]:
    first = settings[0]
    yield first
    for at, values in enumerate(grid.values):
        for value in values[1:]:
            yield (*first[:at], value, *first[at + 1 :])


# ---- runs


class _Runs:
    """The runs of a tuning, by setting and fold."""

    def __init__(
        self, job: Job, settings: tuple[Setting, ...], store: Store, told: ProgressCallback | None
    ) -> None:
        self.job, self.settings, self.store, self.told = job, settings, store, told
        self.keys = keys(job, settings)
        self.resumed = sum(key in store.cells for key in self.keys.values())
        self.done = self.asked = 0

    def get(self, at: tuple[int, int]) -> Cell | None:
        return self.store.cells.get(self.keys[at])

    def do(self, wanted: list[tuple[int, int]], workers: Pool) -> bool:
        """Do those that are not done; False where Ctrl-C came between."""
        todo = [at for at in wanted if self.get(at) is None]
        self.asked += len(wanted)
        self.done += len(wanted) - len(todo)
        self._tell()
        if not todo:
            return True
        sent = packed(self.job)
        tasks = ((run_packed, (sent, self.settings[at[0]], at)) for at in todo)
        for at, cell in workers(tasks):
            if cell is None:
                return False
            self.store.add(self.keys[at], cell)
            self.done += 1
            self._tell()
        return True

    def _tell(self) -> None:
        if self.told is not None:
            self.told(self.done, self.asked)

    def trials(self, folds: range, cv: int) -> tuple[Trial, ...]:
        """The settings with their runs on some folds."""
        found = []
        for at, setting in enumerate(self.settings):
            runs = [self.get((at, fold)) for fold in folds]
            done = tuple(run for run in runs if run is not None)
            found.append(Trial(setting=setting, runs=done, folds=cv, done=len(done) == len(folds)))
        return tuple(found)

    def chosen(self, folds: range, options: TuningOptions) -> int | None:
        """The setting that some folds lead to; None where none can be chosen."""
        trials = self.trials(folds, options.cv)
        places = choose(trials, self.job.score.sense == "maximize", options.rule)
        return None if places is None else places[1]

    def outer(self, plan: _Plan, options: TuningOptions) -> Iterator[OuterFold]:
        for number, folds in enumerate(plan.within):
            done = all(trial.done for trial in self.trials(folds, options.cv))
            chosen = self.chosen(folds, options) if done else None
            run = None if chosen is None else self.get((chosen, len(plan.inner) + number))
            yield OuterFold(setting=None if chosen is None else self.settings[chosen], run=run)


def _all_runs(runs: _Runs, plan: _Plan, workers: Pool, options: TuningOptions) -> bool:
    """First all settings on all inner folds, then what each outer fold led to."""
    count = range(len(runs.settings))
    if not runs.do([(at, fold) for at in count for fold in range(len(plan.inner))], workers):
        return False
    last = []
    for number, folds in enumerate(plan.within):
        chosen = runs.chosen(folds, options)
        if chosen is not None:
            last.append((chosen, len(plan.inner) + number))
    return runs.do(last, workers)


__all__ = ["ProgressCallback", "TuningOptions", "tune"]
