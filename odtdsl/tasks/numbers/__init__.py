"""Numbers: a leaf predicts an output for each target column."""

from odtdsl.base.tasks import Task

TASK = Task(kind="number", types=("number", "integer"), plural="numbers", estimator="Regressor")
