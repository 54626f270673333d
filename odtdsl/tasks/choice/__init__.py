"""Choices: rows have a reward or a loss for each of several choices, and a leaf makes one."""

from odtdsl.base.tasks import Task

TASK = Task(kind="choice", types=(), heads=("choice",), plural="choices", estimator="policy tree")
