"""A worker of Dask that evaluates cuts of the root for a search elsewhere: see `remote`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker
from distributed.worker import thread_state

from odtdsl.backends.exact.features import Features
from odtdsl.base import engine
from odtdsl.base.diagnostics.model import error

PAUSE, PATIENCE = 0.002, 5.0
"""Seconds between looks at whether tasks that nobody wants have ended, and of all these looks."""

RUNNING = ("executing", "cancelled")
"""What Dask calls tasks that run, wanted and no longer so."""

Data = tuple[Features, Mapping[str, Any]]
"""A problem as it travels: its table, and what else `engine.ClassProblem` takes, by name."""

_problems: dict[str, Data] = {}
_held: dict[tuple[str, int], engine.RemoteProblem] = {}
"""By token and thread: the engine's is for one thread at a time."""
_lock = threading.Lock()


@dataclass
class ProblemPlugin(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """A problem under a token, on each worker for as long as it is searched."""

    token: str
    made_by: str
    data: Data

    def setup(self, worker: Worker) -> None:
        """Keep it.

        Raises
        ------
        OdtError
            U347: this machine has another version of the package.
        """
        mine = version("odtdsl")
        if self.made_by != mine:
            raise error("U347", f"a worker has odtdsl {mine}, not {self.made_by}")
        with _lock:
            _problems[self.token] = self.data

    async def teardown(self, worker: Worker) -> None:
        """Let it go, once nothing runs on it: Dask warns of tasks in which it ends a worker."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends and any(
            str(key).startswith(self.token) and task.state in RUNNING
            for key, task in worker.state.tasks.items()
        ):
            await asyncio.sleep(PAUSE)
        with _lock:
            _problems.pop(self.token, None)
            for key in [key for key in _held if key[0] == self.token]:
                del _held[key]


def evaluate(token: str, task: bytes) -> bytes | None:
    """What became of a task; None where it is no longer wanted."""
    key = (token, threading.get_ident())
    with _lock:
        held = _held.get(key)
        if held is None:
            if (data := _problems.get(token)) is None:
                return None  # the search has ended meanwhile
            cells, arguments = data
            held = engine.RemoteProblem(engine.ClassProblem(cells.table(), **arguments))
            _held[key] = held
    known, name = get_worker().state.tasks, thread_state.key

    def unwanted() -> bool:
        mine = known.get(name)
        return mine is None or mine.state == "cancelled"

    return held.evaluate(task, interrupted=unwanted)


__all__ = ["ProblemPlugin", "evaluate"]
