"""A tuning as `odt tune` prints it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from odtdsl.base.numbers import counted
from odtdsl.presentation.console import table

if TYPE_CHECKING:
    from odtdsl.insight.tuning.result import Trial, Tuning


def text(tuning: Tuning) -> str:
    """What `odt tune` prints before the tree: settings, choice, estimate."""
    return "\n".join(lines(tuning))


def lines(tuning: Tuning) -> Iterator[str]:
    """The settings as a table, the choice, and the estimate of nested selection."""
    head = (*tuning.names, tuning.measure, "splits", "proven", "seconds", "")
    rows = [head, *(_row(tuning, at, trial) for at, trial in enumerate(tuning.trials))]
    yield from table(rows)
    yield ""
    if tuning.by is not None:
        yield f"folds keep the rows of each `{tuning.by}` together"
    yield from _choice(tuning)
    yield from _estimate(tuning)
    if tuning.resumed:
        yield f"{counted(tuning.resumed, 'run')} from {tuning.keep}"


def _row(tuning: Tuning, at: int, trial: Trial) -> tuple[str, ...]:
    score = "-" if trial.mean is None else f"{trial.mean:.4f} ± {trial.error:.4f}"
    splits = "-" if trial.splits is None else f"{trial.splits:.1f}"
    return (
        *trial.setting,
        score,
        splits,
        f"{trial.proven}/{len(trial.runs)}",
        f"{trial.seconds:.2f} s",
        _mark(tuning, at, trial),
    )


def _mark(tuning: Tuning, at: int, trial: Trial) -> str:
    if trial.reason:
        return trial.reason
    marks = [
        word for word, place in (("chosen", tuning.chosen), ("best", tuning.best)) if place == at
    ]
    return ", ".join(marks)


def _choice(tuning: Tuning) -> Iterator[str]:
    if tuning.chosen is None:
        yield (
            "stopped before all runs were done"
            if not tuning.complete
            else ("no setting can be chosen: none has a score on all folds")
        )
        if not tuning.complete and tuning.keep is not None and tuning.unkept is None:
            yield f"completed runs are in {tuning.keep}: the same command continues from there"
        return
    called = tuning.called(tuning.trials[tuning.chosen].setting)
    if tuning.rule == "best":
        yield f"chosen: {called}, with the best mean"
        return
    side = "at least" if tuning.maximizes else "at most"
    assert tuning.limit is not None, "there is a best setting"
    yield (
        f"chosen: {called}, with the fewest splits within one standard error of the best"
        f" ({side} {tuning.limit:.4f})"
    )


def _estimate(tuning: Tuning) -> Iterator[str]:
    if not tuning.outer:
        return
    if tuning.estimate is None:
        if tuning.complete:
            failed = [f for f in tuning.outer if f.run is None or f.run.score is None]
            why = next(
                (f.run.reason for f in failed if f.run is not None), "no setting was chosen there"
            )
            yield f"nested: no estimate, {counted(len(failed), 'outer fold')} failed: {why}"
        return
    mean, error = tuning.estimate
    yield (
        f"nested: {tuning.measure} {mean:.4f} ± {error:.4f} on {len(tuning.outer)} folds "
        "not used to choose"
    )
    chosen = Counter(fold.setting for fold in tuning.outer if fold.setting is not None)
    each = ", ".join(
        f"{tuning.called(setting)} ({count} of {len(tuning.outer)})"
        for setting, count in chosen.most_common()
    )
    yield f"  chosen there: {each}"


__all__ = ["lines"]
