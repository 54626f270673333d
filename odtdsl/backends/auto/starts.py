"""Where a search starts: the best model that is known before it begins."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

from odtdsl.backends.base import STEP, Limits, Report
from odtdsl.backends.registry import back_end
from odtdsl.backends.steps import START, Step
from odtdsl.base.back_ends import able
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawModel

MOST_STEPS = 600
"""Of a start by visits: about a quarter of a minute where no time is given and cells are many."""

PART, SPARED, CELLS = 20, 1.5, 1_000_000
"""Of a search that is cut off, for growth after it: one in so many of its seconds, these at most,
where there are no more cells than these. Growth takes a tenth of a second to a second and a half
of the processor; on more cells a search grows better trees."""
STEPS_PART = 4
"""Of the steps, those of growth after them are at most one in so many more."""


def spared(core: Core, limits: Limits) -> float:
    """Seconds that a search leaves to growth after it, where it is cut off without a proof.

    Growth begins with luck as well, and on few rows it may have more of it than a search had.
    """
    left = limits.left()
    few = core.targets is None and core.n_rows * len(core.columns) <= CELLS
    if left is None or left < 2 * START.least or not few:  # a shorter one has its first tree after
        return 0.0
    return min(SPARED, left / PART)


def late_start(core: Core, limits: Limits) -> RawModel | None:
    """What growth alone finds in the time or the steps that are there for it."""
    if limits.steps is not None:
        limits = replace(limits, steps=Fraction(limits.steps) / STEPS_PART)
    grower = back_end(able("grow")).for_start("optimal", brief=False)
    return grower.solve(core, limits, None, None).model


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
    limits = replace(limits, steps=None)  # those of the search
    if limits.deadline is not None:
        now = time.monotonic()
        share = step.share * (limits.deadline - now)
        brief = brief or share < step.least
        limits = replace(limits, deadline=now + max(step.least, share))
    engine, best = back_end(step.backend), given
    for way in step.ways:
        grower = engine.for_start(way, brief=brief or step.quick)
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
