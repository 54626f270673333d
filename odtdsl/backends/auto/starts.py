"""Where a search starts: the best model that is known before it begins."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

from odtdsl.backends.base import STEP, Limits, Report
from odtdsl.backends.registry import back_end
from odtdsl.backends.steps import Step
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawModel

MOST_STEPS = 600
"""Of a start by visits: about a quarter of a minute where no time is given and cells are many."""


def best_start(
    core: Core, step: Step, limits: Limits, given: RawModel | None, report: Report | None
) -> RawModel | None:
    """A model that keeps all rules, for a search to begin from.

    The first good model will do where the step is brief, where one is given, and where the step
    has no more than its least time.

    Parameters
    ----------
    core, step, limits
        The problem, the step of kind `start`, and the limits of all steps.
    given
        A model that keeps all rules; what is returned is at least as good.
    report
        Told of every model that is better than those before.

    Returns
    -------
    RawModel or None
        None where none was met.
    """
    if step.visits:
        return improved(core, step, limits, given, report)
    brief = step.brief or given is not None
    if limits.deadline is not None:
        now = time.monotonic()
        share = step.share * (limits.deadline - now)
        brief = brief or share < step.least
        limits = replace(limits, deadline=now + max(step.least, share))
    engine, best = back_end(step.backend), given
    for way in step.ways:
        grower = engine.for_start(way, brief=brief)
        best = grower.solve(core, limits, best, report).model
    return best


def improved(
    core: Core, step: Step, limits: Limits, given: RawModel | None, report: Report | None
) -> RawModel | None:
    """What a search makes of a model within the visits that the step allows."""
    cells = core.n_rows * len(core.columns)
    steps = min(Fraction(MOST_STEPS), Fraction(step.visits * cells, STEP))
    limits = replace(limits.part(step.share), steps=steps, threads=1)
    return back_end(step.backend).solve(core, limits, given, report).model or given
