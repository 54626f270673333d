"""Workers on other machines, or of this one: clusters of Dask."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error

LOCAL = re.compile(r"local:([1-9]\d{0,3})")
"""An address that stands for so many worker processes of this machine."""

HERE = "127.0.0.1"
"""Where own processes listen. Dask's pages too: without an address it serves these to all."""


QUIET = {
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.client.scheduler-info-interval": "10s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
"""What own processes look at less often than Dask would: .4 to .9% of their time, not 3%."""


class Cluster:
    """A client of Dask, and what became of the cluster.

    Attributes
    ----------
    lost
        Why it can no longer be used; empty as long as it can.
    silent
        Why it did not hear that a search has ended; empty where it did.
    tasks
        How many tasks its workers have answered.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.lost = ""
        self.silent = ""
        self.tasks = 0

    def warnings(self) -> tuple[Diagnostic, ...]:
        """A warning where the cluster was lost, did not hear of the end, or had nothing to do."""
        if self.lost:
            return (
                Diagnostic(
                    code="B111",
                    severity="warning",
                    message=f"the search ended because the cluster was lost: {self.lost}",
                    helps=("save the model with `--out`, and start again from it: `--start FILE`",),
                ),
            )
        if self.silent:
            return (
                Diagnostic(
                    code="B111",
                    severity="warning",
                    message=f"the cluster did not respond when the search ended: {self.silent}",
                    notes=("the answer stands; workers may still hold the rows of this search",),
                ),
            )
        if self.tasks:
            return ()
        return (
            Diagnostic(
                code="B112",
                severity="warning",
                message="the cluster had nothing to do: this machine solved the problem alone",
                notes=(
                    (
                        "only large searches by sorted scans are shared: of depth 4 or more, or "
                        "of depth 3 on more than a million cells"
                    ),
                ),
                helps=("omit `--cluster`",),
            ),
        )


PATIENCE = 10
"""Seconds in which a scheduler has to respond."""


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """The cluster at an address, left again at the end.

    Parameters
    ----------
    address
        Of a scheduler, `tcp://host:8786`; or `local:N` for N processes of this machine, each with
        one thread.

    Raises
    ------
    OdtError
        U347: Dask is not installed, or nothing responds.
    """
    local = LOCAL.fullmatch(address)
    if local is None and address.startswith("local"):
        raise error(
            "U347",
            f"`{address}` is no cluster",
            helps=("write `local:2` for two processes of this machine, or `tcp://HOST:8786`",),
        )
    if local:
        with _deaf_children():
            client = dask_client(None, int(local[1]))
    else:
        client = dask_client(address, None)
    try:
        yield Cluster(client)
    finally:
        client.close()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that begin here ignore Ctrl-C, which a terminal sends to all: this one ends them.

    A Ctrl-C while they start is not heard either.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def dask_client(address: str | None, workers: int | None) -> Any:
    """A client of the scheduler at an address, or of new processes of this machine.

    Parameters
    ----------
    address
        `tcp://host:8786`; None for new processes.
    workers
        Processes without an address, one thread each; None for one per processor.

    Raises
    ------
    OdtError
        U347: Dask is not installed, or nothing responds.
    """
    if find_spec("distributed") is None:
        raise error("U347", "`dask` is not installed", helps=('pip install "odtdsl[distributed]"',))
    from dask import config
    from distributed import Client

    own = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": f"{HERE}:0"}
    try:
        if address:
            return Client(address, set_as_default=False, timeout=PATIENCE)
        with config.set(QUIET):
            return Client(set_as_default=False, **own)
    except (OSError, ValueError, TimeoutError, RuntimeError) as failure:  # the last: a worker ended
        raise unreachable("dask", address, failure) from None


def unreachable(kind: str, address: str | None, failure: Exception) -> OdtError:
    """U347: no such cluster responds."""
    where = f" at {address}" if address else ""
    helps = ("start one: `dask scheduler`, and `dask worker ADDRESS` on each machine",)
    return error(
        "U347",
        f"no {kind} cluster{where} responds: {failure}",
        helps=helps if kind == "dask" and address else (),
    )


__all__ = ["LOCAL", "Cluster", "connected", "dask_client", "unreachable"]
