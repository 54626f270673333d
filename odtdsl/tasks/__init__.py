"""What can be predicted: one folder for each task, found by `odtdsl.base.tasks`."""
