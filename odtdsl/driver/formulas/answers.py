"""A model that another solver found, audited, as a result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from odtdsl.auditor.audit import audit
from odtdsl.datasets.digest import Fingerprint
from odtdsl.driver.result import Result, Stage
from odtdsl.driver.scoring import score

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.predictors.predictor import Predictor


def answered(
    analysis: Analysis, model: Predictor, began: float, size: tuple[tuple[str, int], ...]
) -> Result:
    """The result: `feasible`, since what the other solver proved is not known here.

    Parameters
    ----------
    analysis
        The spec, resolved.
    model
        What was decoded.
    began
        On the monotonic clock.
    size
        Of the encoding.
    """
    rows = analysis.rows
    audited = audit(model, rows)
    stages = tuple(
        Stage(text=stage.text, value=value, bound=None, gap=None, proven=False)
        for stage, value in zip(analysis.problem.objective, audited.objective, strict=True)
    )
    test = analysis.test
    return Result(
        status="feasible",
        stages=stages,
        model=model,
        audit=audited,
        backend="assignment",
        seconds=time.monotonic() - began,
        seed=analysis.problem.options.seed,
        fingerprint=Fingerprint(rows.data.table),
        size=size,
        warnings=analysis.warnings,
        test=None if test is None or not test.n_rows else score(model, test),
        rows=rows,
    )
