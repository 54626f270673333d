"""One run: a setting is solved on some rows and scored on others. What workers are sent."""

from __future__ import annotations

import hashlib
import pickle
import re
import time
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.digest import digest
from odtdsl.datasets.split import Division
from odtdsl.datasets.table import IntArray, Table
from odtdsl.insight.tuning.grid import Setting, applied, plain
from odtdsl.insight.tuning.scores import Score, measured, parted, with_score
from odtdsl.language import ast

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.problem.ir.expr import Expr

_VERSION = "odtdsl tuning 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came of one run.

    Attributes
    ----------
    score
        Of the rows that were held out; None where there is none, and `reason` says why.
    status
        As of the solve; empty where none was started.
    splits, leaves, depth
        Of the model that was found.
    seconds
        Of the solve, compiling included.
    """

    score: Fraction | None
    status: str = ""
    splits: int | None = None
    leaves: int | None = None
    depth: int | None = None
    seconds: float = 0.0
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The score is exact: a text such as `3/50`."""
        found = asdict(self)
        return found | {"score": None if self.score is None else str(self.score)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Cell:
        """The inverse of `to_json`; TypeError or ValueError for what is no cell."""
        score = value["score"]
        if score is not None and not re.fullmatch(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?", score):
            raise ValueError(
                "a score must be a fraction written in digits"
            )  # `1e999999999` takes for ever
        found = cls(**{**value, "score": None if score is None else Fraction(score)})
        whole = (found.splits, found.leaves, found.depth)
        if not all(one is None or type(one) is int for one in whole):
            raise TypeError("sizes must be whole numbers")
        if not (isinstance(found.seconds, int | float) and found.seconds >= 0):
            raise TypeError("seconds must be a number")
        if not (isinstance(found.status, str) and isinstance(found.reason, str)):
            raise TypeError("status and reason must be strings")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Rows to train on and rows held out, as positions in the table as read."""

    train: IntArray
    held: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all runs of a tuning share."""

    spec: ast.Spec
    names: tuple[str, ...]
    score: Score
    table: Table
    folds: tuple[Fold, ...]

    def analysis(self, setting: Setting, fold: Fold) -> tuple[Analysis, Expr]:
        """The spec under a setting on the rows of a fold, and the score's measure."""
        from odtdsl.compiler import analyse

        spec = with_score(applied(self.spec, self.names, setting), self.score)
        division = Division(table=self.table, train=fold.train, test=fold.held)
        return parted(analyse(spec, division=division))

    def run(self, setting: Setting, fold: Fold) -> Cell | None:
        """Solve and score; None where Ctrl-C came between.

        What is wrong with a setting on these rows, such as a class without a row, becomes a cell
        without a score.

        Raises
        ------
        OdtError
            X codes: a mistake of odtdsl.
        """
        from odtdsl.driver.pipeline import solve

        began = time.monotonic()
        try:
            analysis, measure = self.analysis(setting, fold)
            # What is reported of test rows is not asked for, nor where the search began.
            options = replace(analysis.problem.options, start=None)
            problem = replace(analysis.problem, options=options)
            result = solve(replace(analysis, problem=problem, test=None))
            if result.interrupted:
                return None
            if result.model is None:
                return Cell(
                    score=None,
                    status=result.status,
                    seconds=result.seconds,
                    reason=_without_model(result.status),
                )
            assert analysis.test is not None, "rows were held out"
            score = measured(result.model, analysis, measure, analysis.test)
        except OdtError as failure:
            if any(one.code.startswith("X") for one in failure.diagnostics):
                raise
            errors = [one for one in failure.diagnostics if one.severity == "error"]
            seconds = time.monotonic() - began
            return Cell(score=None, seconds=seconds, reason=errors[0].message)
        return Cell(
            score=score,
            status=result.status,
            splits=result.model.n_splits,
            leaves=result.model.n_leaves,
            depth=result.model.depth,
            seconds=result.seconds,
        )


def _without_model(status: str) -> str:
    return (
        "no model satisfies all rules"
        if status == "infeasible"
        else "no model was found within the time limit"
    )


# ---- names of runs


def keys(job: Job, settings: tuple[Setting, ...]) -> dict[tuple[int, int], str]:
    """A name for each run, by its setting and fold: the same for the same run, and only then.

    It is a digest of the spec under the setting, the score, the rows, how they are divided, and
    the version of odtdsl.
    """
    from odtdsl.base.version import VERSION

    data = digest(job.table)
    divided = []
    for fold in job.folds:
        hasher = hashlib.sha256(fold.train.astype("<i8").tobytes())
        hasher.update(b"|" + fold.held.astype("<i8").tobytes())
        divided.append(hasher.hexdigest())
    found = {}
    for at, setting in enumerate(settings):
        said = plain(with_score(applied(job.spec, job.names, setting), job.score))
        for number, rows in enumerate(divided):
            text = "\n".join((_VERSION, VERSION, data, rows, said))
            found[at, number] = hashlib.sha256(text.encode()).hexdigest()
    return found


# ---- on workers


def packed(job: Job) -> bytes:
    """A job as bytes, which clusters send along with every run.

    Larger objects they would put into the memory of one worker, to be lost with it.
    """
    return pickle.dumps(job)


@lru_cache(maxsize=4)
def _unpacked(job: bytes) -> Job:
    found = pickle.loads(job)
    assert isinstance(found, Job), "only jobs are sent"
    return found


def run_packed(job: bytes, setting: Setting, at: tuple[int, int]) -> tuple[tuple[int, int], Any]:
    """A run on a worker: where it belongs, and its cell."""
    found = _unpacked(job)
    return at, found.run(setting, found.folds[at[1]])


__all__ = ["Cell", "Fold", "Job", "keys", "packed", "run_packed"]
