"""Ctrl-C, SIGTERM and SIGHUP: an interrupted search ends with the best model it has.

Batch systems, containers, service managers and `timeout` send SIGTERM, closed terminals SIGHUP.
Handlers are set in the main thread only, and put back. A handler of the user's for SIGTERM or
SIGHUP stays, and so does what is ignored (`nohup`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

POLITE = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals beside Ctrl-C that ask a process to end. Some senders repeat them at once."""


class _Handler(ABC):
    """A signal handler; the handlers around it are notified, too."""

    def __init__(self, outer: _Handler | None) -> None:
        self.outer, self.process = outer, os.getpid()
        self.asked = False  # no Event: its lock could be held where a second signal comes

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if os.getpid() != self.process and number != signal.SIGINT:  # in a fork of it
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        first = not self.asked
        self.hear()
        self.act(number, first)

    def hear(self) -> None:
        self.asked = True
        if self.outer is not None:
            self.outer.hear()

    @abstractmethod
    def act(self, number: int, first: bool) -> None:
        """React to the signal; `first` says that none came before it."""


class _Asking(_Handler):
    """Asks once; a second Ctrl-C interrupts as usual."""

    def __init__(self, outer: _Handler | None) -> None:
        super().__init__(outer)
        self.asked = outer is not None and outer.asked

    def act(self, number: int, first: bool) -> None:
        if not first and number == signal.SIGINT:
            raise KeyboardInterrupt


class _Raising(_Handler):
    """Interrupts at once."""

    raised = False

    def act(self, number: int, first: bool) -> None:
        if first or number == signal.SIGINT:
            self.raised = True
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C or SIGTERM asks what is within to stop once; a second Ctrl-C interrupts as usual.

    Yields what says whether it was asked; also where what is around it was asked before.
    """
    before = _handlers()
    handler = _Asking(_innermost(before))
    with _set(handler, before):
        yield lambda: handler.asked


@contextmanager
def interrupted() -> Iterator[Callable[[], bool]]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does, where nothing within takes it.

    Yields what says whether it was raised.
    """
    before = _handlers()
    handler = _Raising(_innermost(before))
    with _set(handler, before):
        yield lambda: handler.raised


def ends_quietly() -> None:
    """Until something else is set, signals end the process at once, without a traceback.

    For a command before it has begun: while modules are imported, nothing can be lost.
    """

    def end(_signal: int, _frame: FrameType | None) -> None:
        os._exit(130)

    for number in (signal.SIGINT, *POLITE):
        if _free(number, signal.getsignal(number)):
            signal.signal(number, end)
    _QUIET.append(end)


_QUIET: list[Any] = []
"""The handler of `ends_quietly`, where it was called."""


def _handlers() -> list[tuple[int, Any]]:
    """What is set for each signal."""
    return [(number, signal.getsignal(number)) for number in (signal.SIGINT, *POLITE)]


def _innermost(handlers: list[tuple[int, Any]]) -> _Handler | None:
    """The first of them that is ours and was set in this process."""
    for _, handler in handlers:
        if isinstance(handler, _Handler) and handler.process == os.getpid():
            return handler
    return None


def _free(number: int, before: Any) -> bool:
    """Whether a signal may be taken from the handler that it has."""
    if before is None or before is signal.SIG_IGN:
        return False
    if number == signal.SIGINT:
        return True
    # Pools of processes end their workers by it.
    ours = before is signal.SIG_DFL or isinstance(before, _Handler) or before in _QUIET
    workers = sys.modules.get("multiprocessing.process")  # a worker has loaded it
    return ours and not (workers is not None and workers.current_process().daemon)


@contextmanager
def _set(handler: _Handler, handlers: list[tuple[int, Any]]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [(number, before) for number, before in handlers if _free(number, before)]
    try:
        for number, _ in taken:
            signal.signal(number, handler)
        yield
    finally:
        for number, before in taken:
            signal.signal(number, before)


__all__ = ["ends_quietly", "interrupted", "interruptible"]
