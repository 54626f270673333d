"""Classes: a leaf predicts a label."""

from odtdsl.base.tasks import Task

TASK = Task(kind="class", types=("class", "ordered"), plural="classes", estimator="Classifier")
