"""A toy task: each row has a reward for each of a few choices, and a leaf makes one choice."""

from odtdsl.base.tasks import Task

TASK = Task(kind="pick", types=("pick",), plural="picks")
