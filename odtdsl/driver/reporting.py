"""What users are told of a search: values in the terms of the spec, models when asked for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from odtdsl.backends.base import BackEnd, Progress, Report
from odtdsl.backends.improvements import Found
from odtdsl.backends.stopping import Patience
from odtdsl.predictors.predictor import Predictor
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.raw import RawModel
from odtdsl.problem.ir.rows import Rows


class Unpacking:
    """Makes predictors of what the searches of one solve found.

    Parameters
    ----------
    rows
        The problem with its training rows.
    core
        The same normalized, as the searches had it; None to normalize again where it is needed.
    engine
        The back end, by which some rules may be soft; None where none are.
    """

    def __init__(self, rows: Rows, core: Core | None = None, engine: BackEnd | None = None) -> None:
        self.rows, self.engine = rows, engine
        self._core = core
        self._memo: dict[str, Any] = {}

    def forget(self) -> None:
        """Let go of what can be made again."""
        self._core = None
        self._memo = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "engine": self.engine, "_core": None, "_memo": {}}

    def __call__(self, found: Found) -> Predictor:
        """The predictor, without splits that say nothing."""
        from odtdsl.backends.decoding import simplified, to_predictor

        core = self._normalized()
        raw = found if isinstance(found, RawModel) else found.raw(core, self._memo)
        return to_predictor(core, self.rows, simplified(core, raw))

    def _normalized(self) -> Core:
        from odtdsl.problem.terms.normalize import normalize

        if self._core is None:
            core = normalize(self.rows)
            self._core = core if self.engine is None else self.engine.answered(core)
        return self._core


def reporting(
    core: Core, patience: Patience, report: Report | None, unpacking: Unpacking
) -> Report:
    """A callback that passes progress, in the terms of the spec, to `patience` and to `report`."""

    def told(at: Progress) -> None:
        patience.hear(at)
        if report is not None:
            report(as_written(core, at, unpacking))

    return told


def as_written(core: Core, progress: Progress, unpacking: Unpacking) -> Progress:
    """Progress in the terms of the spec, with a model that can be made."""
    stage, value, bound = progress.stage, progress.incumbent, progress.bound
    return Progress(
        stage=stage,
        incumbent=None if value is None else user_value(core, stage, value),
        bound=None if bound is None else user_value(core, stage, bound),
        seconds=progress.seconds,
        found=progress.found,
        make=unpacking,
    )


def user_value(core: Core, index: int, value: Fraction) -> Fraction:
    """A stage's value in the direction that the spec writes."""
    stage = core.objective[index]
    return value if isinstance(stage, DepthStage) or stage.sign == 1 else stage.sign * value
