"""A search that is taken in steps, until one of them closes the problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from odtdsl.backends.base import Limits, RawAnswer, Stepwise
from odtdsl.backends.steps import Step

CLOSED = ("optimal", "infeasible")


def take(
    search: Stepwise,
    todo: Sequence[Step],
    limits: Limits,
    rest: Callable[[RawAnswer], RawAnswer] | None = None,
) -> RawAnswer:
    """Take steps in turn until the problem is closed or a limit is met.

    Parameters
    ----------
    search, todo
        A search of one stage, and its steps; the last one may be the `rest`.
    limits
        Of all steps.
    rest
        What answers the step `rest`, given the answer so far.

    Returns
    -------
    RawAnswer
        With the steps that were taken.
    """
    answer = search.answer()
    taken: list[Step] = []
    for step in todo:
        if taken and _closed(answer, limits):
            break
        if step.improves and answer.diagram is None:
            continue
        if step.kind == "rest":
            assert rest is not None, "a choice with this step names who does it"
            answer = rest(answer)
        else:
            answer = search.take(step, limits.part(step.share).deadline)
        taken.append(step)
    if answer.status not in CLOSED and limits.interrupted():
        answer = replace(answer, interrupted=True)
    return replace(answer, steps=tuple(taken))


def _closed(answer: RawAnswer, limits: Limits) -> bool:
    """Whether nothing is left to ask, or no time for it."""
    if answer.status in CLOSED or answer.interrupted or limits.interrupted():
        return True
    if limits.deadline is not None and time.monotonic() >= limits.deadline:
        return True
    (stage,) = answer.stages
    if stage.value is None or stage.bound is None:
        return False
    return stage.value - stage.bound <= limits.gap * abs(stage.value)
