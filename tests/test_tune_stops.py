"""Tuning that is stopped, goes on from a file, and runs in processes, threads and clusters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tunings import SPEC, code, made, said

import odtdsl
from odtdsl.backends.exact.backend import Exact
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.insight.tuning.single_run import Job
from odtdsl.interfaces.api.model import Model

# ---- stops


class Stopping:
    """Interrupts after so many runs."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, done: int, asked: int) -> None:
        if done == self.after < asked:
            raise KeyboardInterrupt


def test_what_was_done_is_kept_and_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, keep = made(40), tmp_path / "kept.json"
    vary = {"depth": [1, 2], "alpha": [0, 0.01]}
    whole = odtdsl.tune(SPEC, vary, frame=rows, cv=3, outer=2)
    part = odtdsl.tune(SPEC, vary, frame=rows, cv=3, outer=2, keep=keep, progress=Stopping(7))
    assert (part.complete, part.chosen, part.result) == (False, None, None)
    assert len(json.loads(keep.read_text())["runs"]) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]
    count = 0
    run = Job.run

    def counted(self: Job, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        return run(self, *arguments)

    monkeypatch.setattr(Job, "run", counted)
    again = odtdsl.tune(SPEC, vary, frame=rows, cv=3, outer=2, keep=keep)
    assert said(again) == said(whole)
    assert (again.resumed, count) == (7, 4 * 9 + 2 - 7)
    count = 0
    wider = odtdsl.tune(SPEC, vary | {"depth": [0, 1, 2]}, frame=rows, cv=3, keep=keep)
    assert (wider.resumed, count) == (12, 6)
    other = odtdsl.tune(SPEC, vary, frame=made(40, 2), cv=3, keep=keep)
    assert other.resumed == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "odtdsl.tuning", "version": 2, "runs": {}}',
        '{"format": "odtdsl.tuning", "version": 1, "runs": {"a": {"score": "1/0"}}}',
        '{"format": "odtdsl.tuning", "version": 1, "runs": {"a": {"score": "1e999999999"}}}',
        '{"format": "odtdsl.tuning", "version": 1, "runs": {"a": {"score": null, "splits": "3"}}}',
        '{"format": "odtdsl.tuning", "version": 1, "runs": {"a": {"score": null, "x": 3}}}',
    ],
)
def test_a_file_that_holds_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    keep = tmp_path / "kept.json"
    keep.write_text(text)
    with pytest.raises(OdtError) as failure:
        odtdsl.tune(SPEC, {"depth": [1]}, frame=made(20), keep=keep)
    assert code(failure) == "F310"
    assert keep.read_text() == text


def test_ctrl_c_at_the_very_end_of_a_run_stops_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search is over and asks no more, but the handler is still that of the search."""
    rows, keep, calls = made(40), tmp_path / "kept.json", 0
    search = Exact.solve

    def ended(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = search(*arguments)
        if calls == 4:
            signal.raise_signal(signal.SIGINT)
        return answer

    monkeypatch.setattr(Exact, "solve", ended)
    found = odtdsl.tune(SPEC, {"depth": [1, 2]}, frame=rows, cv=3, keep=keep)
    assert (found.complete, found.result, calls) == (False, None, 4)
    assert len(json.loads(keep.read_text())["runs"]) == 3
    assert odtdsl.tune(SPEC, {"depth": [1, 2]}, frame=rows, cv=3, keep=keep).resumed == 3


@pytest.mark.parametrize("at_end", [True, False], ids=["at the end", "before the search"])
def test_ctrl_c_in_the_last_solve_keeps_the_table(
    monkeypatch: pytest.MonkeyPatch, at_end: bool
) -> None:
    solve = Model.solve

    def last(self: Model, **arguments: Any) -> Any:
        if not at_end:
            raise KeyboardInterrupt
        search = Exact.solve

        def ended(*arguments: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return search(*arguments)

        monkeypatch.setattr(Exact, "solve", ended)
        return solve(self, **arguments)

    monkeypatch.setattr(Model, "solve", last)
    found = odtdsl.tune(SPEC, {"depth": [1, 2]}, frame=made(40), cv=3)
    assert not found.complete
    assert found.chosen is not None
    assert all(trial.done for trial in found.trials)
    assert (found.result is not None) == at_end


def test_ctrl_c_ends_the_command_with_what_was_done(tmp_path: Path) -> None:
    # trees of depth 4 on noise take minutes each: nothing is done before the signal comes
    noise = np.random.default_rng(0)
    rows = [f"{','.join(map(str, noise.random(8)))},{noise.integers(2)}" for _ in range(3000)]
    (tmp_path / "s.csv").write_text("a,b,c,d,e,f,g,h,y\n" + "\n".join(rows))
    spec = tmp_path / "s.odt"
    spec.write_text('data "s.csv"\ntarget y: class\ntree depth <= 3\nminimize errors')
    command = [
        sys.executable,
        "-c",
        "from odtdsl.interfaces.cli.main import main; main()",
        "tune",
        str(spec),
        "--vary",
        "depth=1,4",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        keep = tmp_path / "s.tune.json"
        deadline = time.monotonic() + 120
        while not keep.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"the same command continues from there" in out
    assert json.loads(keep.read_text())["runs"]


# ---- workers


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_processes_and_threads_find_what_one_process_finds(backend: str) -> None:
    rows, vary = made(40), {"depth": [1, 2], "alpha": [0, 0.01]}
    serial = odtdsl.tune(SPEC, vary, frame=rows, cv=3, outer=2)
    found = odtdsl.tune(SPEC, vary, frame=rows, cv=3, outer=2, jobs=2, backend=backend)
    assert said(found) == said(serial)


class Cluster:
    """A scheduler and two workers of Dask, each a process of its own on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        self.workers = [
            self._start("worker", "--no-nanny", "--no-dashboard", "--nthreads", "1") for _ in "ab"
        ]

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """In the same code as this process, so in the same odtdsl."""
        command = [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(self.file)]
        home = Path(odtdsl.__file__).resolve().parent.parent
        path = os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH")]))
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def address(self) -> str:
        from distributed import Client  # type: ignore[import-untyped, unused-ignore]

        deadline = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        with Client(scheduler_file=str(self.file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            return str(client.scheduler.address)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            with suppress(OSError):
                process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")
    found = Cluster(tmp_path)
    try:
        yield found
    finally:
        found.close()


def test_a_worker_of_dask_that_is_killed_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    rows, vary = made(60), {"depth": [1, 3], "leaves": [2, 4]}
    serial = odtdsl.tune(SPEC, vary, frame=rows, cv=4, outer=2)
    killed: list[int] = []

    def kill_one(done: int, asked: int) -> None:
        if done >= 20 and not killed:
            cluster.workers[0].kill()
            killed.append(done)

    keep = tmp_path / "kept.json"
    found = odtdsl.tune(
        SPEC,
        vary,
        frame=rows,
        cv=4,
        outer=2,
        backend="dask",
        address=cluster.address(),
        keep=keep,
        progress=kill_one,
    )
    assert killed
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert cluster.workers[1].poll() is None
    assert found.complete
    assert said(found) == said(serial)
    assert len(json.loads(keep.read_text())["runs"]) == 4 * 4 * 3 + 2
