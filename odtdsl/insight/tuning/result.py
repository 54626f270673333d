"""What a tuning found: every setting with its scores, the choice, and how good it really is."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import fmean, stdev
from typing import Any, Literal, cast

from odtdsl.base.diagnostics.model import Diagnostic, error
from odtdsl.base.methods import method
from odtdsl.base.theme import Theme
from odtdsl.driver.result import Result
from odtdsl.insight.tuning.grid import Setting, numbers, shown
from odtdsl.insight.tuning.single_run import Cell

Rule = Literal["one-se", "best"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A setting and its runs.

    Attributes
    ----------
    setting
        A value per name of the tuning.
    runs
        One per fold; fewer where the tuning was stopped.
    folds
        Folds of one division of the rows: what the standard error counts.
    done
        Whether all runs are there.
    """

    setting: Setting
    runs: tuple[Cell, ...]
    folds: int
    done: bool = True

    @property
    def scores(self) -> tuple[Fraction, ...]:
        """The scores of the runs that have one."""
        return tuple(run.score for run in self.runs if run.score is not None)

    @property
    def reason(self) -> str:
        """Why the setting cannot be chosen; empty where it can."""
        failed = [(at, run) for at, run in enumerate(self.runs) if run.score is None]
        if failed:
            at, run = failed[0]
            return f"fold {at + 1}: {run.reason}"
        return "" if self.done and self.runs else "not all runs are done"

    @property
    def mean(self) -> float | None:
        """Mean score over folds; None where it cannot be chosen."""
        return None if self.reason else float(sum(self.scores, Fraction(0)) / len(self.scores))

    @property
    def error(self) -> float | None:
        """Standard error of the mean: the deviation of the folds over the root of their number."""
        return None if self.reason else _standard_error(self.scores, self.folds)

    @property
    def splits(self) -> float | None:
        """Mean number of splits of the models."""
        found = [run.splits for run in self.runs if run.splits is not None]
        return fmean(found) if found else None

    @property
    def leaves(self) -> float | None:
        """Mean number of leaves (of diagrams: terminals) of the models."""
        found = [run.leaves for run in self.runs if run.leaves is not None]
        return fmean(found) if found else None

    @property
    def proven(self) -> int:
        """Runs whose model is proven optimal."""
        return sum(run.status == "optimal" for run in self.runs)

    @property
    def seconds(self) -> float:
        """Of all runs together."""
        return sum(run.seconds for run in self.runs)


def _standard_error(scores: tuple[Fraction, ...], folds: int) -> float:
    """Of a mean of scores by folds; divisions of the same rows over again do not count."""
    return stdev(map(float, scores)) / math.sqrt(folds) if len(scores) > 1 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterFold:
    """A fold that no choice has seen: what was chosen without it, and its score on it."""

    setting: Setting | None
    run: Cell | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Settings compared on rows that were held out.

    Attributes
    ----------
    names
        What was varied.
    score
        The measure, as written; with `maximize` in front where more is better.
    rule
        How the choice was made: `one-se`, the fewest splits among the settings that are within
        one standard error of the best; or `best`.
    trials
        In the order of the grid.
    by
        The column whose values stayed together in one fold, if any.
    best, chosen
        Their places among the trials; None where no setting can be chosen, or the tuning was
        stopped.
    outer
        Of nested selection: the folds that no choice has seen.
    result
        The chosen setting solved on all training rows; `result.test` where there are test rows.
    complete
        Whether all runs were done.
    resumed
        Runs that were read from the file.
    unkept
        What kept runs from being written to the file at the end (F301), such as a full disk.
    """

    names: tuple[str, ...]
    score: str
    rule: Rule
    cv: int
    repeats: int
    seed: int
    trials: tuple[Trial, ...]
    best: int | None
    chosen: int | None
    by: str | None = None
    outer: tuple[OuterFold, ...] = ()
    result: Result | None = None
    complete: bool = True
    resumed: int = field(default=0, compare=False)
    seconds: float = field(default=0.0, compare=False)
    keep: str | None = field(default=None, compare=False)
    unkept: Diagnostic | None = field(default=None, compare=False)

    @property
    def maximizes(self) -> bool:
        """Whether more is better for the score."""
        return self.score.startswith("maximize ")

    @property
    def measure(self) -> str:
        """The score without its direction."""
        return self.score.removeprefix("maximize ")

    def __str__(self) -> str:
        """What `odt tune` prints: the settings with their scores, the choice, the estimate."""
        return cast(str, method("Tuning.__str__")(self))

    @property
    def model(self) -> Any:
        """The tree or diagram of the chosen setting, on all training rows; None without one."""
        return None if self.result is None else self.result.model

    @property
    def setting(self) -> dict[str, str] | None:
        """The chosen value of each name, as the language writes it."""
        if self.chosen is None:
            return None
        return dict(zip(self.names, self.trials[self.chosen].setting, strict=True))

    @property
    def limit(self) -> float | None:
        """The worst score that counts as good as the best: one standard error from it."""
        if self.best is None:
            return None
        best = self.trials[self.best]
        assert best.mean is not None, "the best has a score"
        assert best.error is not None, "and its error"
        return best.mean - best.error if self.maximizes else best.mean + best.error

    @property
    def estimate(self) -> tuple[float, float] | None:
        """Mean and standard error over the outer folds; None without nested selection.

        It judges the whole procedure, choice included; the score of the chosen setting itself
        is too good, since it was chosen for it.
        """
        scores = tuple(
            fold.run.score
            for fold in self.outer
            if fold.run is not None and fold.run.score is not None
        )
        if not scores or len(scores) < len(self.outer):
            return None
        return float(sum(scores, Fraction(0)) / len(scores)), _standard_error(scores, len(scores))

    def called(self, setting: Setting) -> str:
        """`depth 3, leaves 8`."""
        return shown(self.names, setting)

    # ---- as data

    def columns(self) -> dict[str, list[Any]]:
        """A column per name, then the scores, sizes and what became of each setting.

        Where a name that was varied is the name of a later column, that one is called
        `found_...`.
        """
        varied = {
            name: numbers(trial.setting[at] for trial in self.trials)
            for at, name in enumerate(self.names)
        }
        later = {}
        for name, cells in self._outcomes().items():
            while name in varied or name in later:
                name = f"found_{name}"
            later[name] = cells
        return varied | later

    def _outcomes(self) -> dict[str, list[Any]]:
        trials = self.trials
        score = "score" if self.measure in self.names else self.measure
        found: dict[str, list[Any]] = {score: [t.mean for t in trials]}
        found["se"] = [t.error for t in trials]
        for fold in range(self.cv * self.repeats):
            runs = [t.runs[fold] if fold < len(t.runs) else None for t in trials]
            found[f"fold_{fold + 1}"] = [
                None if run is None or run.score is None else float(run.score) for run in runs
            ]
        found["splits"] = [t.splits for t in trials]
        found["proven"] = [t.proven for t in trials]
        found["seconds"] = [round(t.seconds, 6) for t in trials]
        found["chosen"] = [at == self.chosen for at in range(len(trials))]
        found["reason"] = [t.reason for t in trials]
        return found

    def to_frame(self) -> Any:
        """The columns as a data frame: of pandas, else of polars, else of Arrow.

        Raises
        ------
        OdtError
            U346: none of them is installed.
        """
        from importlib.util import find_spec

        import narwhals as nw

        for library in ("pandas", "polars", "pyarrow"):
            if find_spec(library):
                return nw.from_dict(self.columns(), backend=library).to_native()
        raise error(
            "U346",
            "a frame needs pandas, polars or pyarrow",
            helps=("pip install pandas", "or take `columns()` or `to_csv()`"),
        )

    def to_csv(self) -> str:
        """A line per setting; empty cells where there is no number."""
        columns = self.columns()
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow(["" if cell is None else cell for cell in row])
        return file.getvalue()

    def to_svg(self, *, title: str = "", theme: Theme = "auto") -> str:
        """The settings as an SVG picture: each with its score and one standard error.

        Parameters
        ----------
        title
            The picture's accessible name; the default says what is drawn.
        theme
            `auto` follows the reader's preference for dark or light pages.
        """
        return cast(str, method("Tuning.to_svg")(self, title=title, theme=theme))

    def to_json(self) -> dict[str, Any]:
        """One object as `odt tune --json` writes it."""
        estimate = self.estimate
        return {
            "names": list(self.names),
            "score": self.score,
            "rule": self.rule,
            "cv": self.cv,
            "repeats": self.repeats,
            "seed": self.seed,
            "by": self.by,
            "complete": self.complete,
            "resumed": self.resumed,
            "seconds": round(self.seconds, 6),
            "best": self.best,
            "chosen": self.chosen,
            "limit": self.limit,
            "trials": [
                {
                    "setting": dict(zip(self.names, trial.setting, strict=True)),
                    "mean": trial.mean,
                    "se": trial.error,
                    "splits": trial.splits,
                    "proven": trial.proven,
                    "reason": trial.reason,
                    "runs": [_run_json(run) for run in trial.runs],
                }
                for trial in self.trials
            ],
            "outer": [
                {
                    "setting": None
                    if fold.setting is None
                    else dict(zip(self.names, fold.setting, strict=True)),
                    "run": None if fold.run is None else _run_json(fold.run),
                }
                for fold in self.outer
            ],
            "estimate": None if estimate is None else {"mean": estimate[0], "se": estimate[1]},
            "result": None if self.result is None else self.result.to_json(),
        }


def _run_json(run: Cell) -> dict[str, Any]:
    return run.to_json() | {"score": None if run.score is None else float(run.score)}


def choose(trials: tuple[Trial, ...], maximizes: bool, rule: Rule) -> tuple[int, int] | None:
    """The places of the best trial and of the chosen one; None where none can be chosen.

    The best has the best mean, then the fewest splits. Under `one-se` the fewest splits are
    chosen, then the best mean, among those whose mean is at most one standard error of the best
    from it (Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, section 3.4.3).
    """
    sign = -1.0 if maximizes else 1.0
    able = [
        (sign * trial.mean, trial.splits or 0.0, at)
        for at, trial in enumerate(trials)
        if trial.mean is not None
    ]
    if not able:
        return None
    mean, _, best = min(able)
    if rule == "best":
        return best, best
    error_ = trials[best].error
    assert error_ is not None, "a trial with a mean has an error"
    chosen = min((one for one in able if one[0] <= mean + error_), key=lambda one: (one[1], one))
    return best, chosen[2]


__all__ = ["OuterFold", "Rule", "Trial", "Tuning", "choose"]
