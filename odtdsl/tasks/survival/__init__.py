"""Survival: rows have a time and whether an event came then, and a leaf estimates a hazard."""

from odtdsl.base.tasks import Task

TASK = Task(
    kind="survival",
    types=(),
    timed=("survival",),
    plural="survival times",
    estimator="survival tree",
)
