"""The tasks: what can be predicted. Each is a folder of `odtdsl/tasks`.

A task has one part for each floor that treats kinds of targets in different ways: what a leaf
holds (`leaf.py`), how a target is declared (`target.py`), and so on. The floor says in an
abstract class what it needs of that part; a task's module of that name holds it as `PART`. No
floor imports a task: it finds the part by the kind of target, and so knows no kind by name.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import ClassVar, Self

from odtdsl.base.modules import loaded

FOLDER = "odtdsl.tasks"


class Part(ABC):
    """The base of what a floor needs of a task; `module` is the name of the task's module."""

    module: ClassVar[str]

    @classmethod
    def of(cls, kind: str) -> Self:
        """The part of the task for a kind of target."""
        _, package = tasks()[kind]
        name = f"{package}.{cls.module}"
        found: Self = loaded(name).PART
        assert cls in type(found).__mro__, f"{package}.{cls.module} holds a {cls.__name__}"
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What can be predicted.

    Attributes
    ----------
    kind
        The kind of target, such as `class`: a word for messages, files and the registry.
    types
        The types of a target, as a spec writes them behind its colon, that mean this task.
    plural
        What is predicted, in the plural: `classes`.
    heads
        Types that stand before the columns, as in `target choice {a, b} by reward`.
    timed
        Types that stand before a time and an event, as in `target survival months event died`.
    estimator
        What the estimators of the task are called: `Classifier`; empty where it has none.
    """

    kind: str
    types: tuple[str, ...]
    plural: str
    heads: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()
    estimator: str = ""


@cache
def tasks() -> dict[str, tuple[Task, str]]:
    """All tasks by the kind of target, each with the package of its parts."""
    home = import_module(FOLDER)
    packages = [f"{FOLDER}.{one.name}" for one in iter_modules(home.__path__)]
    found = [(import_module(package).TASK, package) for package in packages]
    return {task.kind: (task, package) for task, package in found}


def types_of_targets() -> tuple[str, ...]:
    """All types of targets, as a spec writes them."""
    return tuple(word for task, _ in tasks().values() for word in task.types)


def heads_of_targets() -> tuple[str, ...]:
    """All types that a spec writes before the columns of a target."""
    return tuple(word for task, _ in tasks().values() for word in task.heads)


def timed_targets() -> tuple[str, ...]:
    """All types that a spec writes before the time and the event of a target."""
    return tuple(word for task, _ in tasks().values() for word in task.timed)


def task_of_type(word: str) -> Task | None:
    """The task that a type of target means; None for a word that is no type of targets."""
    return next((t for t, _ in tasks().values() if word in (*t.types, *t.heads, *t.timed)), None)
