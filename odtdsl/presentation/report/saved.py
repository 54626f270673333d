"""Saved models as results, to report on without a search."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtdsl.auditor.audit import audit
from odtdsl.backends.base import Progress
from odtdsl.base.numbers import as_number
from odtdsl.datasets.digest import Fingerprint
from odtdsl.driver.result import Result, Stage, problem_digest
from odtdsl.driver.scoring import model_warnings, output_score, score, training_score
from odtdsl.predictors.saving import load_saved
from odtdsl.presentation.console import status_line

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.problem.ir.rows import Rows


def saved(analysis: Analysis, path: Path) -> tuple[Result, str]:
    """A saved model as a result, audited again, with the status that can be claimed.

    A saved result is believed what no audit can show (bounds, proofs, the timeline) only where
    it is of the same data and of the same problem, and its values are those of the audit.

    Raises
    ------
    OdtError
        F201 to F210: it cannot be read. U201 to U204, U301: it is not of this spec.
    """
    model, said = load_saved(path)
    found = audit(model, analysis.rows)
    test = analysis.test
    stages = tuple(
        Stage(text=stage.text, value=value, bound=None, gap=None, proven=False)
        for stage, value in zip(analysis.problem.objective, found.objective, strict=True)
    )
    result = Result(
        status="feasible",
        stages=stages,
        model=model,
        audit=found,
        backend="saved",
        seconds=0.0,
        seed=analysis.problem.options.seed,
        fingerprint=Fingerprint(analysis.rows.data.table),
        test=None if test is None or not test.n_rows else score(model, test, analysis.rows),
        warnings=analysis.warnings + model_warnings(model, analysis.rows),
        rows=analysis.rows,
        test_rows=test,
        training=training_score(model, analysis.rows),
        outputs=output_score(model, analysis.rows, analysis.rows.data),
    )
    told = _believed(result, analysis.rows, said)
    if told is None:
        alone = isinstance(said, dict) and "stages" not in said
        return result, (
            "a saved model, audited here; no search was made for a better one, and the file tells "
            + (
                "of no proof (`odt solve SPEC --json > answer.json` makes one that does)"
                if alone
                else "of a search for another problem, of other data, or of other values"
            )
        )
    return told, f"{status_line(told)}; as saved, and audited here"


def _believed(result: Result, rows: Rows, said: Any) -> Result | None:
    """The result with what the file records of its search; None if it belongs to another spec."""
    try:
        if said["digest"] != result.digest or len(said["stages"]) != len(result.stages):
            return None
        if said["problem"] != problem_digest(rows.problem):
            return None  # other rules, or other models to choose from: proofs are of those
        stages = []
        for mine, theirs in zip(result.stages, said["stages"], strict=True):
            if theirs["text"] != mine.text or theirs["value"] != as_number(mine.value):
                return None
            stages.append(_stage(mine, theirs))
        proven = all(stage.proven for stage in stages)
        if said["status"] not in ("optimal", "feasible") or (said["status"] == "optimal") > proven:
            return None
        return replace(
            result,
            status=said["status"],
            stages=tuple(stages),
            backend=_word(said["backend"]),
            seconds=_seconds(said["seconds"]),
            seed=int(said["seed"]),
            timeline=tuple(map(_progress, said["timeline"])),
            size=_counts(said["size"]),
            counters=_counts(said["counters"]),
            steps=tuple(map(_word, said.get("steps", ()))),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _stage(mine: Stage, theirs: dict[str, Any]) -> Stage:
    proven = theirs["proven"] is True
    bound = mine.value if proven else _number(theirs["bound"])
    gap = Fraction(0) if proven else _number(theirs["gap"])
    return replace(mine, bound=bound, gap=gap, proven=proven)


def _progress(said: dict[str, Any]) -> Progress:
    return Progress(
        stage=int(said["stage"]),
        seconds=_seconds(said["seconds"]),
        incumbent=_number(said["incumbent"]),
        bound=_number(said["bound"]),
    )


def _number(value: object) -> Fraction | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return Fraction(value)


def _seconds(value: object) -> float:
    number = float(_number(value) or 0)
    if not math.isfinite(number) or number < 0:
        raise ValueError
    return number


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _counts(said: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    return tuple((_word(name), int(count)) for name, count in said.items())
