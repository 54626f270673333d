"""A search shared with a cluster: exact whatever becomes of its parts, and told where it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from engine_oracle import INFINITE, brute_force, loss_table, narrow, rank_columns, tree_loss
from scale import scaled

import odtdsl
from odtdsl.backends.exact import remote
from odtdsl.base import _engine
from odtdsl.base.cluster import connected, dask_client
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.interfaces.cli.main import app

remote_worker = pytest.importorskip(
    "odtdsl.backends.exact.remote_worker",
    reason="Dask is not installed: pip install distributed",
)


# ---- the engine's side, without a cluster


WORK, CUTS = slice(24, 32), slice(32, 40)
"""Of a task: after how much work no further cut of it is begun, and how many it has."""


class Disorder:
    """Workers that answer late, in any order, twice, or never: a lost cut is given again."""

    def __init__(self, seed: int, problem: _engine.ClassProblem) -> None:
        self.rng = np.random.default_rng(seed)
        self.workers = [_engine.RemoteProblem(problem) for _ in range(3)]
        self.given = 0
        self.away: dict[int, bytes] = {}
        self.stale: list[tuple[int, bytes]] = []
        self.threads = int(self.rng.choice([1, 1, 1, 2, 3]))
        self.several = 0  # tasks of more cuts than one

    def __call__(self, tasks: Any, drop: bool) -> tuple[int, list[tuple[int, bytes]]]:
        if drop:
            self.away.clear()
        for task in tasks:
            self.several += int.from_bytes(task[CUTS], sys.byteorder) > 1
            # With no work left all but the first cut come back as they went.
            idle = task[: WORK.start] + bytes(8) + task[WORK.stop :]
            self.away[self.given] = idle if self.rng.random() < 0.3 else task
            self.given += 1
        back = []
        for number in list(self.away):
            if self.rng.random() < 0.4:
                continue  # not yet, or its worker died
            worker = self.workers[int(self.rng.integers(3))]
            answer = worker.evaluate(self.away[number])
            assert answer is not None
            if self.rng.random() < 0.8:
                del self.away[number]  # otherwise it comes twice
            back.append((number, answer))
            self.stale.append((number, answer))
        self.rng.shuffle(back)  # type: ignore[arg-type]
        if self.stale and self.rng.random() < 0.2:
            back.append(self.stale[0])
        return self.threads, [(int(number), answer) for number, answer in back]


def drawn(rng: np.random.Generator) -> tuple[Any, Any, Any, int, dict[str, Any], dict[str, Any]]:
    """Ranks, distinct, labels, classes, what else the engine takes, and what brute force does."""
    n, p, classes = int(rng.integers(4, 13)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    ranks, distinct = rank_columns(rng.integers(0, int(rng.integers(2, n + 2)), size=(n, p)))
    labels = rng.integers(0, classes, size=n).astype(np.int32)
    weights = rng.integers(0, 6, size=n).astype(np.int64) if rng.random() < 0.4 else None
    costs = None
    if rng.random() < 0.3:
        costs = rng.integers(0, 8, size=(classes, classes)).astype(np.int64)
    allowed = None
    if rng.random() < 0.3:
        allowed = [None if rng.random() < 0.3 else rng.random(d) < 0.5 for d in distinct]
    leaves = int(rng.integers(2, 17)) if rng.random() < 0.4 else None
    price = int(rng.integers(0, 4)) if rng.random() < 0.4 else 0
    least = int(rng.integers(1, n // 2 + 1)) if rng.random() < 0.3 else 1
    must = int(rng.integers(p)) if rng.random() < 0.2 else None
    given = {
        "weights": weights,
        "costs": costs,
        "max_leaves": leaves,
        "leaf_price": price,
        "min_leaf_rows": least,
        "column": np.arange(p, dtype=np.int32) if must is not None else None,
        "must_column": -1 if must is None else must,
    }
    forced = {"leaves": leaves, "price": price, "leaf_rows": least, "must": must}
    return ranks, distinct, labels, classes, given, {**forced, "allowed": allowed}


@contextmanager
def parted(work: int) -> Iterator[None]:
    """Workers give back what is left after 30 or 750 times so much work; 0: as ever."""
    _engine.look_every(work)
    try:
        yield
    finally:
        _engine.look_every(0)


@pytest.mark.parametrize("block", range(4))
def test_cuts_may_come_back_late_twice_or_in_any_order(block: int) -> None:
    shared = 0
    for seed in range(block, 4 * scaled(1500, least=75, part=0.5), 4):
        rng = np.random.default_rng(seed)
        ranks, distinct, labels, classes, given, forced = drawn(rng)
        depth = int(rng.integers(4, 6))
        table = _engine.RankTable(narrow(ranks), distinct, forced["allowed"])
        problem = _engine.ClassProblem(table, labels, classes, depth, **given)
        loss = loss_table(labels, classes, given["weights"], given["costs"])
        best = brute_force(ranks, loss, depth, **forced)
        workers = Disorder(seed, problem)
        with parted(int(rng.choice([0, 1, 2, 5, 20]))):
            limits = _engine.Limits(method="sorted", beside=bool(rng.random() < 0.5))
            found = _engine.solve(problem, limits, elsewhere=workers)
        shared += workers.given > 0
        if best >= INFINITE:
            assert found.status == "infeasible", seed
            continue
        assert (found.status, found.objective, found.bound) == ("optimal", best, best), seed
        assert tree_loss(found.tree, ranks, loss, price=given["leaf_price"]) == best, seed
    assert shared > 20


def test_tasks_of_several_cuts_are_exact_in_any_order() -> None:
    several = 0
    for seed in range(scaled(600, least=60)):
        rng = np.random.default_rng(seed)
        rows, columns, classes = int(rng.integers(10, 22)), 5, int(rng.integers(2, 4))
        ranks, distinct = rank_columns(rng.integers(0, rows, size=(rows, columns)))
        labels = rng.integers(0, classes, size=rows).astype(np.int32)
        leaves = int(rng.integers(6, 14)) if rng.random() < 0.5 else None
        table = _engine.RankTable(narrow(ranks), distinct)
        problem = _engine.ClassProblem(table, labels, classes, 4, max_leaves=leaves)
        limits = _engine.Limits(method="sorted", beside=False)
        alone, workers = _engine.solve(problem, limits), Disorder(seed, problem)
        with parted(int(rng.choice([0, 1, 5]))):
            found = _engine.solve(problem, limits, elsewhere=workers)
        assert (found.status, found.objective, found.bound) == (
            "optimal",
            alone.objective,
            alone.bound,
        ), seed
        several += workers.several
    assert several > 10


def noise(rows: int, columns: int, seed: int = 0) -> pd.DataFrame:
    """Numbers that say little of a class: long to prove."""
    rng = np.random.default_rng(seed)
    cells = rng.random((rows, columns))
    y = (cells[:, 0] + cells[:, 1] + 0.8 * rng.random(rows) > 1.4).astype(int)
    return pd.DataFrame({**{f"x{i}": cells[:, i] for i in range(columns)}, "y": y})


SPEC = "data frame target y tree depth <= 4 minimize errors solve using exact"


def test_what_ends_an_exchange_ends_the_search_with_its_bound() -> None:
    rng = np.random.default_rng(0)
    ranks, distinct = rank_columns(rng.random((150, 4)))
    labels = rng.integers(0, 2, size=150).astype(np.int32)
    problem = _engine.ClassProblem(_engine.RankTable(ranks, distinct), labels, 2, 4)
    best = _engine.solve(problem, _engine.Limits(method="sorted")).objective
    assert best is not None
    worker, left = _engine.RemoteProblem(problem), [5]
    away: list[tuple[int, bytes]] = []
    given = [0]

    def until_gone(cuts: Any, drop: bool) -> tuple[int, list[tuple[int, bytes]]] | None:
        for cut in cuts:
            answer = worker.evaluate(cut)
            assert answer is not None
            away.append((given[0], answer))
            given[0] += 1
        left[0] -= 1
        back = list(away)
        away.clear()
        return (1, back) if left[0] > 0 else None

    found = _engine.solve(problem, _engine.Limits(method="sorted"), elsewhere=until_gone)
    assert found.status == "feasible"
    assert found.objective is not None
    assert found.bound <= best <= found.objective

    def raises(cuts: Any, drop: bool) -> None:
        raise RuntimeError("as it was raised")

    with pytest.raises(RuntimeError, match="as it was raised"):
        _engine.solve(problem, _engine.Limits(method="sorted"), elsewhere=raises)


def test_what_one_worker_learns_the_others_know() -> None:
    rows = noise(400, 6)
    ranks, distinct = rank_columns(rows.drop(columns="y").to_numpy())
    table = _engine.RankTable(ranks, distinct)
    problem = _engine.ClassProblem(table, rows["y"].to_numpy(dtype=np.int32), 2, 4)

    def solved(workers: int) -> _engine.ClassAnswer:
        each = [_engine.RemoteProblem(problem) for _ in range(workers)]
        given = [0]

        def in_turn(cuts: Any, drop: bool) -> tuple[int, list[tuple[int, bytes]]]:
            back = []
            for cut in cuts:
                answer = each[given[0] % workers].evaluate(cut)
                assert answer is not None
                back.append((given[0], answer))
                given[0] += 1
            return 4, back

        limits = _engine.Limits(method="sorted", beside=False)
        with parted(1):  # so that each cut is of its own
            return _engine.solve(problem, limits, elsewhere=in_turn)

    alone, shared = solved(1), solved(3)
    assert (shared.objective, shared.bound) == (alone.objective, alone.bound)
    assert shared.counters["depth_two"] < 1.02 * alone.counters["depth_two"]


def test_a_worker_tells_no_more_of_a_long_cut_than_is_sent_on() -> None:
    """Uncapped, the longest answer had 704 kB where what is sent on has 79."""
    rows = noise(700, 3)
    ranks, distinct = rank_columns(rows.drop(columns="y").to_numpy())
    table = _engine.RankTable(ranks, distinct)
    problem = _engine.ClassProblem(table, rows["y"].to_numpy(dtype=np.int32), 2, 5)
    worker, told = _engine.RemoteProblem(problem), list[bytes]()

    def evaluate(cuts: Any, drop: bool) -> tuple[int, list[tuple[int, bytes]]]:
        first = len(told)
        told.extend(answer for cut in cuts if (answer := worker.evaluate(cut)) is not None)
        return 4, list(enumerate(told))[first:]

    limits = _engine.Limits(method="sorted", beside=False)
    assert _engine.solve(problem, limits, elsewhere=evaluate).status == "optimal"
    assert 70_000 < max(map(len, told)) < 90_000


def test_cuts_of_another_problem_or_version_are_refused() -> None:
    rng = np.random.default_rng(0)
    made = []
    for rows, columns in ((150, 4), (40, 1)):
        ranks, distinct = rank_columns(rng.random((rows, columns)))
        labels = rng.integers(0, 2, size=rows).astype(np.int32)
        table = _engine.RankTable(ranks, distinct)
        made.append(_engine.ClassProblem(table, labels, 2, 4))
    seen: list[bytes] = []

    def first(cuts: Any, drop: bool) -> tuple[int, list[tuple[int, bytes]]] | None:
        seen.extend(cuts)
        return None if seen else (1, [])

    _engine.solve(made[0], _engine.Limits(method="sorted"), elsewhere=first)
    other = _engine.RemoteProblem(made[1])
    with pytest.raises(ValueError, match="another version"):
        other.evaluate(seen[0][:-1])
    with pytest.raises(ValueError, match="another problem"):
        other.evaluate(seen[0])
    mine = _engine.RemoteProblem(made[0])
    assert mine.evaluate(seen[0]) is not None


def test_messages_cut_short_are_refused() -> None:
    rows = noise(150, 4)
    ranks, distinct = rank_columns(rows.drop(columns="y").to_numpy())
    table = _engine.RankTable(ranks, distinct)
    problem = _engine.ClassProblem(table, rows["y"].to_numpy(dtype=np.int32), 2, 4)
    worker, cut = _engine.RemoteProblem(problem), 0
    limits = _engine.Limits(method="sorted", beside=False)

    def evaluate(tasks: Any, drop: bool) -> tuple[int, list[tuple[int, bytes]]]:
        nonlocal cut
        back = []
        for task in tasks:
            for length in range(0, len(task), 1 + len(task) // 40):
                cut += 1
                with pytest.raises(ValueError, match="another version"):
                    worker.evaluate(task[:length])
            answer = worker.evaluate(task)
            assert answer is not None
            back.append((len(told), answer))
            told.append(answer)
        return 1, back

    told: list[bytes] = []
    assert _engine.solve(problem, limits, elsewhere=evaluate).status == "optimal"
    assert cut > 100
    longest = max(told, key=len)
    for length in range(0, len(longest), 1 + len(longest) // 100):

        def short(tasks: Any, drop: bool, length: int = length) -> Any:
            return 1, [(0, longest[:length])]

        with pytest.raises(ValueError, match="another version"):
            _engine.solve(problem, limits, elsewhere=short)


# ---- on workers of Dask


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        made.wait_for_workers(2, timeout=60)
        yield made


def kept(result: Any) -> tuple[Any, ...]:
    return result.status, result.objective, result.stages[0].bound, result.stages[0].proven


def codes(result: Any) -> list[str]:
    return [one.code for one in result.warnings]


def test_two_workers_prove_what_one_machine_proves(client: Any) -> None:
    rows = noise(160, 4)
    alone = odtdsl.solve(SPEC, frame=rows)
    shared = odtdsl.solve(SPEC, frame=rows, client=client)
    assert kept(shared) == kept(alone)
    assert shared.status == "optimal"
    assert codes(shared) == codes(alone)
    assert client.run(_problems_held) == dict.fromkeys(client.nthreads(), 0)


def _problems_held() -> int:
    return len(remote_worker._problems) + len(remote_worker._held)


def killed_while_solving(client: Any, rows: pd.DataFrame, seed: int) -> Any:
    """The answer of a search one of whose workers is killed after some cuts."""
    rng = np.random.default_rng(seed)
    pids = client.run(os.getpid)
    worker = pids[sorted(pids)[int(rng.integers(len(pids)))]]
    answers = int(rng.integers(1, 15))  # of some 20 to 24
    began = threading.Event()

    def kill() -> None:
        """Once some answers came, so that other tasks are away."""
        began.wait(60)
        os.kill(worker, signal.SIGKILL)

    call = remote.Exchange._answer

    def counted(self: remote.Exchange, number: int, future: Any) -> bytes | None:
        answer = call(self, number, future)
        if self.cluster.tasks >= answers:
            began.set()
        return answer

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote.Exchange, "_answer", counted)
        found = odtdsl.solve(SPEC, frame=rows, client=client)
    assert began.is_set(), "the search was over before"
    killer.join()
    return found


def killed_anew(rows: pd.DataFrame, seed: int) -> tuple[Any, ...]:
    """The same on workers of its own: Dask does not always replace one that was killed twice."""
    from distributed import Client, LocalCluster

    own = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**own) as made, Client(made, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        return kept(killed_while_solving(client, rows, seed))


def test_a_killed_worker_loses_nothing_but_its_task() -> None:
    rows = noise(300, 5)
    assert killed_anew(rows, 0) == kept(odtdsl.solve(SPEC, frame=rows))


@pytest.mark.nightly
def test_twenty_killed_workers_change_nothing() -> None:
    rows = noise(400, 6)
    alone = kept(odtdsl.solve(SPEC, frame=rows))
    for seed in range(20):
        assert killed_anew(rows, seed) == alone, seed


def test_a_worker_that_comes_at_the_end_loses_no_answer(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not know of the problem yet, and Dask raises that here."""
    forget = client.unregister_worker_plugin

    def unknown(name: str) -> None:
        forget(name)
        raise KeyError(name)

    monkeypatch.setattr(client, "unregister_worker_plugin", unknown)
    found = odtdsl.solve(SPEC, frame=noise(160, 4), client=client)
    assert (found.status, codes(found)) == ("optimal", [])


@pytest.mark.parametrize(
    ("failure", "gone", "told"),
    [
        (OSError("Timed out trying to connect"), False, "Timed out"),
        (TimeoutError(), False, "TimeoutError"),
        (RuntimeError("IOLoop is closed"), True, "IOLoop is closed"),
    ],
)
def test_a_cluster_that_does_not_hear_of_the_end_is_told_and_loses_no_answer(
    client: Any, monkeypatch: pytest.MonkeyPatch, failure: Exception, gone: bool, told: str
) -> None:
    forget = client.unregister_worker_plugin

    def silent(name: str) -> None:
        forget(name)
        if gone:
            monkeypatch.setattr(client, "status", "closed")
        raise failure

    monkeypatch.setattr(client, "unregister_worker_plugin", silent)
    found = odtdsl.solve(SPEC, frame=noise(160, 4), client=client)
    assert (found.status, codes(found)) == ("optimal", ["B111"])
    assert told in found.warnings[0].message


def test_a_mistake_at_the_end_of_a_shared_search_is_not_hidden(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget = client.unregister_worker_plugin

    def mistaken(name: str) -> None:
        forget(name)
        raise AttributeError("as it was raised")

    monkeypatch.setattr(client, "unregister_worker_plugin", mistaken)
    with pytest.raises(AttributeError, match="as it was raised"):
        odtdsl.solve(SPEC, frame=noise(160, 4), client=client)


def test_limits_end_a_shared_search_and_its_tasks(client: Any) -> None:
    rows = noise(3000, 10)
    began = time.monotonic()
    found = odtdsl.solve(SPEC, frame=rows, client=client, within=3)
    assert found.status == "feasible"
    stage = found.stages[0]
    assert stage.bound is not None
    assert stage.value is not None
    assert stage.bound <= stage.value
    assert "B111" not in codes(found)
    assert time.monotonic() - began < 30
    waited = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < waited:
        time.sleep(0.1)
    assert not any(client.processing().values())


def test_a_task_that_begins_after_its_search_has_ended_does_nothing() -> None:
    assert remote_worker.evaluate("a search that has ended", b"") is None


def test_the_scheduler_that_dies_leaves_the_best_tree() -> None:
    from distributed import Client, LocalCluster

    rows = noise(3000, 8)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as made:
        client = Client(made.scheduler_address, set_as_default=False)
        client.wait_for_workers(1, timeout=60)
        ended = threading.Timer(3, made.close)
        ended.start()
        found = odtdsl.solve(SPEC, frame=rows, client=client, within=60)
        ended.join()
        client.close()
    assert found.status == "feasible"
    assert found.tree is not None
    assert found.seconds < 50
    assert "B111" in codes(found)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("data frame target y: number tree depth <= 2 minimize mse", "trees of numbers"),
        ("data frame target y tree depth <= 4 minimize errors solve using milp", "`milp`"),
        (
            "data frame target y tree depth <= 4 minimize errors "
            "rule r: forall leaf: purity >= 60%",
            "under these rules",
        ),
        (
            "data frame target y diagram widths 1, 2, 2 minimize errors solve using exact",
            "diagrams",
        ),
    ],
)
def test_what_one_machine_does_is_refused(client: Any, spec: str, why: str) -> None:
    with pytest.raises(OdtError) as refused:
        odtdsl.solve(spec, frame=noise(40, 2), client=client)
    first = refused.value.diagnostics[0]
    assert first.code == "B110", first.message
    assert why in first.message


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(OdtError) as refused:
        odtdsl.solve(SPEC, frame=noise(40, 2), client="tcp://127.0.0.1:8786")
    assert refused.value.diagnostics[0].code == "U401"


def test_a_worker_that_cannot_do_it_ends_the_search_with_the_best_tree(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_worker, "evaluate", _fails)
    found = odtdsl.solve(SPEC, frame=noise(160, 4), client=client)
    assert found.status == "feasible"
    assert found.tree is not None
    lost = [one for one in found.warnings if one.code == "B111"]
    assert "RuntimeError: not here" in lost[0].message


def _fails(token: str, cut: bytes) -> bytes:
    raise RuntimeError("not here")


@pytest.mark.parametrize("gone", [False, True])
def test_answers_that_are_cancelled_as_they_are_fetched_lose_nothing(
    client: Any, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    """A scheduler that dies does so too: `Future.result` raises though the future was finished."""
    from distributed import Future
    from distributed.client import FutureCancelledError

    fetch = Future.result
    cancelled: list[str] = []

    def result(self: Any, timeout: float | None = None) -> Any:
        if str(self.key).startswith("odtdsl-") and (gone or len(cancelled) < 3):
            cancelled.append(self.key)
            if gone:
                monkeypatch.setattr(client, "status", "closed")
            raise FutureCancelledError(self.key, "scheduler-connection-lost")
        return fetch(self, timeout)

    rows = noise(400, 6)
    alone = odtdsl.solve(SPEC, frame=rows)
    monkeypatch.setattr(Future, "result", result)
    found = odtdsl.solve(SPEC, frame=rows, client=client)
    monkeypatch.undo()
    assert cancelled
    assert found.tree is not None
    if gone:
        assert (found.status, "B111" in codes(found)) == ("feasible", True)
    else:
        assert (found.status, found.objective) == (alone.status, alone.objective)


def test_a_cluster_without_work_is_told(client: Any) -> None:
    found = odtdsl.solve(SPEC.replace("4", "2"), frame=noise(60, 2), client=client)
    assert found.status == "optimal"
    assert "B112" in codes(found)


def test_own_processes_serve_this_machine_alone() -> None:
    with connected("local:1") as found:
        pages = found.client.cluster.scheduler.http_server._sockets.values()
        assert {one.getsockname()[0] for one in pages} == {"127.0.0.1"}
        assert all("://127.0.0.1:" in worker for worker in found.client.nthreads())


def test_the_command_line_shares_and_refuses(tmp_path: Path) -> None:
    noise(150, 3).to_csv(tmp_path / "rows.csv", index=False)
    spec = tmp_path / "spec.odt"
    spec.write_text(SPEC.replace("frame", '"rows.csv"'))
    shared = CliRunner().invoke(app, ["solve", str(spec), "--cluster", "local:1"])
    assert shared.exit_code == 0
    assert "optimal: proven" in shared.output
    assert "warning" not in shared.output
    for arguments, code in (
        (["--cluster", "local:0"], "U347"),
        (["--cluster", "tcp://127.0.0.1:9"], "U347"),
        (["--cluster", "local:2", "--all-optimal"], "B110"),
    ):
        refused = CliRunner().invoke(app, ["solve", str(spec), *arguments])
        assert refused.exit_code == (2 if code[0] == "U" else 1)
        assert code in refused.output


def test_a_search_leaves_no_task_that_runs(client: Any) -> None:
    """Dask would warn of it as it ends a worker."""
    token = "odtdsl-ended"
    plugin = remote_worker.ProblemPlugin(token, version("odtdsl"), ({}, {}))
    client.register_plugin(plugin, name=token)
    tasks = [client.submit(time.sleep, 1.0, key=f"{token}-{i}", pure=False) for i in range(2)]
    while not all(any(one) for one in client.run(_running, token).values()):
        time.sleep(0.01)
    client.cancel(tasks, force=True)
    client.unregister_worker_plugin(token)
    assert not any(client.run(_running, token).values())


def _running(token: str, dask_worker: Any) -> list[str]:
    return [key for key in dask_worker.state.tasks if str(key).startswith(token)]


def test_ctrl_c_of_a_terminal_ends_local_workers_quietly(tmp_path: Path) -> None:
    noise(3000, 8).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "spec.odt").write_text(SPEC.replace("frame", '"rows.csv"'))
    sooner = (
        "import sys; from odtdsl.interfaces.cli import progress; progress.FIRST = 0.3; "
        "from odtdsl.__main__ import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", sooner, "solve", "spec.odt", "--cluster", "local:1"]
    ran = subprocess.Popen(
        command,
        cwd=tmp_path,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.stderr is not None
    for line in ran.stderr:  # its children are there when it tells how far the search is
        if "still searching" in line and "bound" in line:
            break
    os.killpg(ran.pid, signal.SIGINT)  # as a terminal does: to all processes
    out, err = ran.communicate(timeout=60)
    assert "interrupted" in out
    assert "Traceback" not in err


def test_a_worker_that_ends_as_it_starts_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.Client", fails)
    with pytest.raises(OdtError, match="no dask cluster responds: Nanny failed to start") as told:
        dask_client(None, 2)
    assert not told.value.diagnostics[0].helps  # no scheduler of one's own would help
