"""Cuts of the root, evaluated by the workers of a cluster.

The engine keeps the root's queue, the incumbent and the bound; `Exchange` hands its cuts to Dask
in tasks, each cut with the interval around it, and brings back what became of them. Dask gives a
task to whoever is free, takes waiting ones from the slow, and repeats those of a worker that dies.
The engine may merge answers in any order, twice or never, and stays exact: see
`solvers/include/odt/elsewhere.hpp`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from importlib.metadata import version
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self

import numpy as np

from odtdsl.backends.exact.features import Features
from odtdsl.base.cluster import Cluster
from odtdsl.base.diagnostics.model import OdtError, error

PAUSE = 0.2
"""Seconds that the engine waits for an answer before it looks at its limits."""

LOOK = 1.0
"""Seconds between looks at which workers there are."""

PATIENCE = 60.0
"""Seconds without any worker after which a cluster is lost."""

PATIENCE_WITH_ONE = 2.0
"""Seconds in which an answer is fetched from the worker that has it."""

REPEATS = 3
"""How often a task is given again with which several workers ended or failed."""

Arguments = Mapping[str, Any]
"""What `engine.ClassProblem` takes beside the table, by name."""


class Exchange:
    """What the engine calls as `elsewhere`; a context that leaves nothing on the workers."""

    def __init__(self, cluster: Cluster, cells: Features, arguments: Arguments) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.token = f"odtdsl-{uuid.uuid4().hex}"
        self._data = (_narrow(cells), dict(arguments))
        self._sent = False
        self._given = 0
        self._away: dict[int, Any] = {}
        self._tasks: dict[int, bytes] = {}
        self._repeats: dict[int, int] = {}
        self._done: SimpleQueue[int] = SimpleQueue()
        self._threads, self._looked, self._seen = 1, 0.0, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The answer stands, whether or not the cluster hears that it is no longer needed.
        try:
            self._forget()
            if self._sent and self.client.status == "running":
                self.client.unregister_worker_plugin(self.token)
        except (KeyError, ValueError):
            pass  # workers say the one, schedulers the other where they are new and do not know it
        except (OSError, TimeoutError, CancelledError) as failure:
            self.cluster.silent = str(failure) or type(failure).__name__
        except Exception as failure:
            if self.client.status == "running":
                raise
            self.cluster.silent = str(failure) or type(failure).__name__

    def __call__(
        self, tasks: Sequence[bytes], drop: bool, /
    ) -> tuple[int, list[tuple[int, bytes]]] | None:
        """Give tasks away, and take what has come back; None once the cluster is lost."""
        if drop:
            self._forget()
        try:
            self._look()
            for task in tasks:
                self._tasks[self._given] = task
                self._give(self._given)
                self._given += 1
            answers = [] if self.cluster.lost else self._taken()
        except (OSError, TimeoutError) as failure:
            self.cluster.lost = f"its scheduler does not answer ({failure})"
        except Exception as failure:
            if self.client.status == "running":
                raise
            self.cluster.lost = f"its scheduler is gone ({failure})"
        if self.cluster.lost:
            return None
        return self._threads, answers

    # ---- giving

    def _look(self) -> None:
        """See that the scheduler is there, and how many threads its workers have."""
        if self.client.status != "running":
            self.cluster.lost = f"its scheduler at {_address(self.client)} is gone"
            return
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        threads = sum(self.client.nthreads().values())
        if threads:
            self._threads, self._seen = threads, now
        elif now - self._seen > PATIENCE:
            self.cluster.lost = f"it has had no worker for {PATIENCE:.0f} seconds"

    def _give(self, number: int) -> None:
        if self.cluster.lost:
            return
        if not self._sent:
            self._send()
        name = f"{self.token}-{number}-{self._repeats.get(number, 0)}"
        from odtdsl.backends.exact.remote_worker import evaluate

        future = self.client.submit(evaluate, self.token, self._tasks[number], key=name, pure=False)
        self._away[number] = future
        self._watch(number)

    def _watch(self, number: int) -> None:
        self._away[number].add_done_callback(lambda _: self._done.put(number))

    def _send(self) -> None:
        """The problem, once to each worker, also to those that come later."""
        from odtdsl.backends.exact.remote_worker import ProblemPlugin

        self._sent = True
        plugin = ProblemPlugin(self.token, version("odtdsl"), self._data)
        try:
            self.client.register_plugin(plugin, name=self.token)
        except (ImportError, AttributeError, OdtError, TypeError, ValueError) as failure:
            raise error(
                "U347",
                f"the workers cannot take the problem: {failure}",
                helps=(f"install odtdsl {version('odtdsl')} on each machine",),
            ) from failure

    # ---- taking

    def _taken(self) -> list[tuple[int, bytes]]:
        """What has come back; waits a moment for the first."""
        answers: list[tuple[int, bytes]] = []
        if not self._away:
            return answers
        pause = PAUSE
        while not self.cluster.lost:
            try:
                number = self._done.get(timeout=pause) if pause else self._done.get_nowait()
            except Empty:
                break
            future = self._away.get(number)
            if future is None:
                continue  # of a task that is no longer wanted
            if not future.done():  # was given again, or its worker died with the answer
                self._watch(number)
                break
            if (answer := self._answer(number, future)) is not None:
                answers.append((number, answer))
                pause = 0.0
        return answers

    def _answer(self, number: int, future: Any) -> bytes | None:
        """What a future holds; otherwise its task is given again, or the cluster lost."""
        answer: bytes | None = None
        why = "a worker stopped it"
        if future.status == "finished":
            try:
                answer = future.result(timeout=PATIENCE_WITH_ONE)
            except TimeoutError:  # its worker died with the answer; it is worked out again
                self._watch(number)
                return None
            except CancelledError as cancelled:  # meanwhile, as its scheduler goes
                why = str(cancelled)
        elif future.status == "error":
            failure = future.exception()
            why = f"a worker failed ({type(failure).__name__}: {failure})"
        if answer is not None:
            self.cluster.tasks += 1
            del self._away[number], self._tasks[number]
            return answer
        self._repeats[number] = self._repeats.get(number, 0) + 1
        if self._repeats[number] > REPEATS:
            self.cluster.lost = why
        elif self.client.status == "running":
            self._give(number)
        return None

    def _forget(self) -> None:
        """Tasks that are away are no longer wanted."""
        away = list(self._away.values())
        self._away.clear()
        self._tasks.clear()
        if away and self.client.status == "running":
            self.client.cancel(away, force=True)


def _narrow(cells: Features) -> Features:
    """With ranks of 16 bits where they fit: half to send."""
    if len(cells.distinct) == 0 or int(cells.distinct.max()) > 0xFFFF:
        return cells
    return replace(cells, ranks=np.ascontiguousarray(cells.ranks, dtype=np.uint16))


def _address(client: Any) -> str:
    scheduler = client.scheduler
    return "its address" if scheduler is None else str(scheduler.address)


__all__ = ["Exchange"]
