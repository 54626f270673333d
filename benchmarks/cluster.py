"""A search shared with a cluster: what workers add, and how it would go with many.

    ODTDSL_DATA=... python benchmarks/cluster.py simulate|measure page,magic [--workers 1,2]
    ODTDSL_DATA=... python benchmarks/cluster.py kill page [--runs 20]

`simulate` runs the real search and evaluates each task that it gives away here, one after the
other; only the clock is made up: a task begins once it has come (`--latency`) and a worker is free,
and takes as long as it took the processor. So queue, bounds and tail are those of so many workers,
whatever else this machine does. Up to 16 workers have tables of their own, more share those.

`measure` runs `--cluster local:N`: wall time from the frame to the audited answer, processor time
of the process that proves, which also holds Dask's scheduler, and of all workers, as medians; and
how many times as fast as the first number of workers, pair by pair. That processes start and import
is not in it.

`kill` kills one of two workers after a random number of answers, and says whether value, bound and
proof are those of this machine alone.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pandas as pd
from measures import sets

from odtdsl import solve
from odtdsl.backends.exact import remote
from odtdsl.base import engine
from odtdsl.base.cluster import Cluster, connected
from odtdsl.driver import pipeline
from odtdsl.driver.result import Result
from odtdsl.interfaces.api.reading import spec_of

SPEC = "data frame target y: class tree depth <= {} minimize errors solve using exact"
TABLES = 16
"""Workers whose tables are simulated apart."""


class Simulated:
    """Stands for `remote.Exchange`."""

    workers, latency = 1, 0.005
    last: Simulated

    def __init__(self, cluster: Any, cells: Any, arguments: Any) -> None:
        problem = engine.ClassProblem(cells.table(), **arguments)
        self.problems = [engine.RemoteProblem(problem) for _ in range(min(TABLES, self.workers))]
        self.cluster = cluster
        self.free = [(0.0, worker) for worker in range(self.workers)]
        self.now = self.busy = self.here = self.longest = 0.0
        self.away: list[tuple[float, int, bytes]] = []
        self.given, self.left = 0, time.thread_time()
        self.ends: list[float] = []
        Simulated.last = self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        spent = time.thread_time() - self.left
        self.here += spent
        self.now += spent

    def __call__(
        self, tasks: Sequence[bytes], drop: bool, /
    ) -> tuple[int, list[tuple[int, bytes]]] | None:
        """The first task to be done, at its time."""
        spent = time.thread_time() - self.left
        self.here += spent
        self.now += spent
        if drop:
            self.away.clear()
            self.free = [(min(end, self.now), worker) for end, worker in self.free]
            heapq.heapify(self.free)
        for task in tasks:
            end, worker = heapq.heappop(self.free)
            began = time.thread_time()
            answer = self.problems[worker % len(self.problems)].evaluate(task)
            taken = time.thread_time() - began
            assert answer is not None
            end = max(end, self.now + self.latency) + taken
            self.busy += taken
            self.longest = max(self.longest, taken)
            heapq.heappush(self.free, (end, worker))
            heapq.heappush(self.away, (end, self.given, answer))
            self.given += 1
        back = []
        if self.away:
            end, number, answer = heapq.heappop(self.away)
            self.now = max(self.now, end + self.latency)
            self.ends.append(self.now)
            back.append((number, answer))
        self.cluster.tasks += len(back)
        self.left = time.thread_time()
        return self.workers, back


def simulated(frame: pd.DataFrame, depth: int, workers: int, latency: float) -> None:
    """A line of the table."""
    Simulated.workers, Simulated.latency = workers, latency
    remote.Exchange = Simulated  # type: ignore[assignment, misc]
    analysis = spec_of(SPEC.format(depth)).analyse(frame=frame)
    result = pipeline.solve(analysis, cluster=Cluster(None))
    last = Simulated.last
    print(
        f"{workers:>8,}  {last.now:>9.1f}  {last.busy:>9.1f}  {last.here:>6.1f}  "
        f"{last.busy / workers / last.now:>6.0%}  {last.given:>7,}  {last.longest:>7.2f}  "
        f"{_proof(result)}",
        flush=True,
    )


def measured(frame: pd.DataFrame, depth: int, counts: Sequence[int], runs: int) -> None:
    """A line for each number of workers, by turns, so that a slow minute is one of all."""
    taken: dict[int, list[tuple[float, float, float]]] = {count: [] for count in counts}
    proofs = dict.fromkeys(counts, "")
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(f"local:{n}")).client for n in counts]
        for run in range(runs + 1):
            for workers, client in zip(counts, clients, strict=True):
                client.wait_for_workers(workers)
                before = client.run(time.process_time)
                here, began = time.process_time(), time.monotonic()
                result = solve(SPEC.format(depth), frame=frame, client=client)
                wall, here = time.monotonic() - began, time.process_time() - here
                after = client.run(time.process_time)
                proofs[workers] = _proof(result)
                if run:  # imports are in the first
                    spent = sum(after[one] - before[one] for one in after)
                    taken[workers].append((wall, here, spent))
    first = [wall for wall, _, _ in taken[counts[0]]]
    for workers in counts:
        columns = zip(*taken[workers], strict=True)
        wall, here, spent = map(statistics.median, columns)
        times = [one / mine for one, (mine, _, _) in zip(first, taken[workers], strict=True)]
        print(
            f"{workers:>8,}  {wall:>9.2f}  {here:>6.2f}  {spent:>9.2f}  "
            f"{statistics.median(times):>5.2f} ({min(times):.2f} to {max(times):.2f})  "
            f"{proofs[workers]}",
            flush=True,
        )


def killed(frame: pd.DataFrame, depth: int, runs: int) -> None:
    """A line for each run, and whether all are as one machine's."""
    alone, most = _shared(frame, depth, 0, 0)
    print(f"   alone  {most} answers  {_kept(alone)}")
    same = 0
    for seed in range(runs):
        rng = random.Random(seed)
        result, answers = _shared(frame, depth, rng.randrange(2), rng.randrange(1, most * 3 // 4))
        same += answers > 0 and _kept(result) == _kept(alone)
        print(f"{seed:>8}  killed after {answers:>3} answers  {_kept(result)}", flush=True)
    print(f"{same} of {runs} have value, bound and proof of the search without a cluster")


def _shared(frame: pd.DataFrame, depth: int, victim: int, answers: int) -> tuple[Result, int]:
    """A search by two workers, one of which is killed after some answers, and how many came before.

    With 0 answers nobody is killed: a search without a cluster, and all answers of one with it.
    """
    analysis = spec_of(SPEC.format(depth)).analyse(frame=frame)
    with connected("local:2") as cluster:
        cluster.client.wait_for_workers(2)
        pids = cluster.client.run(os.getpid)
        pid = pids[sorted(pids)[victim]]
        came, over = [0], threading.Event()

        def kill() -> None:
            while cluster.tasks < answers:
                if over.wait(0.001):
                    return
            came[0] = cluster.tasks
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        if answers:
            killer.start()
        result = pipeline.solve(analysis, cluster=cluster)
        over.set()
        if answers:
            killer.join()
            return result, came[0]
        return solve(SPEC.format(depth), frame=frame), cluster.tasks


def _kept(result: Result) -> str:
    stage = result.stages[0]
    return f"{stage.value} bound {stage.bound} {result.status}"


def _proof(result: Result) -> str:
    return f"{result.objective} {result.status}"


def main() -> None:
    """Read the command line and print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("simulate", "measure", "kill"))
    parser.add_argument("sets")
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--workers", help="by commas; measured ones are processes of this machine")
    parser.add_argument("--latency", type=float, default=0.005, help="seconds, each way")
    parser.add_argument("--runs", type=int, help="5 to measure, 20 with a worker killed")
    args = parser.parse_args()
    for name in args.sets.split(","):
        x, y = sets.load("continuous", name)
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(y=y)
        simulate = args.what == "simulate"
        print(f"{name}, {len(frame):,} rows, depth {args.depth}")
        if args.what == "kill":
            killed(frame, args.depth, args.runs or 20)
            continue
        print(
            " workers  simulated  processor    here    busy    tasks  longest  proof"
            if simulate
            else " workers       wall    here  processor  times as fast        proof"
        )
        usual = "1,2,16,64,1024" if simulate else "1,2"
        counts = [int(count) for count in (args.workers or usual).split(",")]
        if not simulate:
            measured(frame, args.depth, counts, args.runs or 5)
            continue
        for workers in counts:
            simulated(frame, args.depth, workers, args.latency)


if __name__ == "__main__":
    main()
