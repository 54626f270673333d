"""What holds for all tests."""

from __future__ import annotations

import gc
import logging
import signal
import sys
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import settings
from scale import SCALE, scaled

# A runner in the background (`nohup`, a shell's `&`) starts with these ignored; tests of signals
# want them heard.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

gc.set_threshold(100_000, 50, 100)  # a twentieth of the time was spent on looking for garbage


def pytest_collection_finish() -> None:
    """What is there when the tests begin is no garbage: to look through it again costs much."""
    gc.collect()
    gc.freeze()


# Times are reported by benchmarks and never asserted: a busy machine is no failure.
settings.register_profile("odtdsl", deadline=None, max_examples=scaled(300))
settings.load_profile("odtdsl")


@pytest.fixture
def few_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for where any tree or diagram will do that `greedy` grows: by day it grows few.

    On the few rows of most tests it grows a hundred that are no better than one of the first, and
    where no tree keeps the rules it looks at thousands.
    """
    if SCALE < 1:
        monkeypatch.setattr("odtdsl.backends.greedy.diagrams.ATTEMPTS", 20)
        monkeypatch.setattr("odtdsl.backends.greedy.diagrams.PATIENCE", 5)
        monkeypatch.setattr("odtdsl.backends.greedy.backend.ATTEMPTS", 2)
        monkeypatch.setattr("odtdsl.backends.greedy.exhaustive.FEW", 500)


@pytest.fixture
def pyomo_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyomo must not take the process's own output: it gives up where a child or another thread of
    the tests holds that, too, or where a busy machine keeps its readers waiting. And its log goes
    to what was the error stream when it was imported, which the tests may have closed since.
    """
    from pyomo.common import tee

    monkeypatch.setattr(tee, "OVERRIDE_CAPTURE_OUTPUT", tee.CaptureOutputMode.DISABLE)
    for handler in logging.getLogger("pyomo").handlers:
        if isinstance(handler, logging.StreamHandler):
            monkeypatch.setattr(handler, "stream", sys.__stderr__)


@pytest.fixture
def start_by_search() -> None:
    """Asked for by tests in which `search` gives other back ends a start, as users have it."""


@pytest.fixture(autouse=True)
def encodings_find_their_optima(request: pytest.FixtureRequest) -> Iterator[None]:
    """No start by `search` before another back end.

    On small problems it is mostly the optimum already, and an encoding that is too tight to hold
    the optimum would pass for one that proves it.
    """
    if "start_by_search" in request.fixturenames:
        yield
        return
    unchanged = lambda core, step, limits, given, report: given  # noqa: E731
    with patch("odtdsl.backends.auto.starts.improved", unchanged):
        yield
