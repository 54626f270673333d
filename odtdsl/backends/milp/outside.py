"""Programs in other solvers than HiGHS, by Pyomo's interfaces, in a process of their own.

A process can be ended whatever the solver does, its memory is its own, and solvers whose libraries
do not load together never meet. `outside_process` is what runs there.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from odtdsl.backends.base import Limits
from odtdsl.backends.milp.highs import Run, Verdict, wide_rows
from odtdsl.backends.milp.outside_progress import Hearer, News
from odtdsl.backends.milp.program import FREE, Matrix, Numbers, Program
from odtdsl.backends.milp.pyomo_model import Finished
from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.base.memory import held_bytes

OWN = "highs"
"""The solver that is called without a process, see `highs`."""

POLL, LATE, FAREWELL = 0.02, 0.5, 3.0
"""Seconds between two looks at the limits, of waiting for a solver that overruns its own limit, and
for one that was asked to stop."""

COMMAND = ("-m", "odtdsl.backends.milp.outside_process")
"""What Python runs there; the folder follows."""

TOLD = "told"
"""The file in the folder where the process tells what its solver finds."""

SHOWN = 3
"""Lines of what a solver said before it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """A solver that Pyomo reaches.

    Attributes
    ----------
    module, program
        What must be there: a module, or a program on the path.
    install
        How to get it.
    interface
        Its name in Pyomo's interface of `pyomo.contrib.solver`, or in the older one.
    is_new
        Which of the two.
    """

    module: str = ""
    program: str = ""
    install: str
    interface: str
    is_new: bool

    @property
    def is_there(self) -> bool:
        """Whether it is installed; a licence is not asked for."""
        if self.module:
            return find_spec(self.module) is not None
        return shutil.which(self.program) is not None

    @property
    def version(self) -> str:
        """What is installed: a package with its version, or where the program is."""
        if self.module:
            return f"{self.module} {version(self.module)}"
        return shutil.which(self.program) or ""


SOLVERS = {
    "scip": Outside(
        module="pyscipopt",
        install="pip install 'odtdsl[scip]'",
        interface="scip_direct",
        is_new=True,
    ),
    "gurobi": Outside(
        module="gurobipy", install="pip install gurobipy", interface="gurobi_direct", is_new=True
    ),
    "xpress": Outside(
        module="xpress", install="pip install xpress", interface="xpress_direct", is_new=False
    ),
    "cbc": Outside(
        program="cbc",
        install="install COIN-OR's cbc (Debian: apt install coinor-cbc)",
        interface="cbc",
        is_new=False,
    ),
    "glpk": Outside(
        program="glpsol",
        install="install GLPK (Debian: apt install glpk-utils)",
        interface="glpk",
        is_new=False,
    ),
}


def missing(name: str) -> OdtError | None:
    """B104 where a solver is not installed."""
    if name == OWN or SOLVERS[name].is_there:
        return None
    there = [OWN, *(other for other, solver in SOLVERS.items() if solver.is_there)]
    return error(
        "B104",
        f"the solver `{name}` of `milp` is not installed",
        helps=(f"{SOLVERS[name].install}, or use {' or '.join(f'`{one}`' for one in there)}",),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """What the process is given.

    Attributes
    ----------
    interface, is_new
        As in `Outside`.
    program
        With half a step more on rows with wide numbers.
    start
        Values of all columns; None without a start.
    until
        Of the wall clock, when the solver is to stop; None for no limit.
    gap, threads, seed
        Of the solve.
    memory_bytes
        What the process may hold; None for no limit.
    """

    interface: str
    is_new: bool
    program: Finished
    start: Numbers | None
    until: float | None
    gap: float
    threads: int
    seed: int
    memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """What the process answers: what the solver says, and its solution by columns."""

    verdict: Verdict
    point: list[float] | None
    bound: float


def run(
    name: str,
    program: Program,
    start: Numbers | None,
    limits: Limits,
    heard: Callable[[News], None] = lambda _: None,
) -> Run:
    """Solve a program until proven or until a limit is met; `heard` is told what is found.

    Raises
    ------
    OdtError
        B104: the solver is not there. B226: it failed.
    """
    if (problem := missing(name)) is not None:
        raise problem
    if limits.deadline is not None and limits.deadline <= time.monotonic():
        return Run(verdict="stopped", point=None, bound=-np.inf)
    left = limits.left()
    task = Task(
        interface=SOLVERS[name].interface,
        is_new=SOLVERS[name].is_new,
        program=frozen(program),
        start=start,
        until=None if left is None else time.time() + left,
        gap=float(limits.gap),
        threads=limits.threads,
        seed=limits.seed,
        memory_bytes=_room(limits),
    )
    with tempfile.TemporaryDirectory(prefix="odt-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        with (home / "task").open("wb") as file:
            pickle.dump(task, file)
        hearer = Hearer(home / TOLD)

        def listen() -> None:
            for news in hearer.news():
                heard(news)

        answer, ended = _supervised(home, limits, listen)
    if answer is not None:
        found = None if answer.point is None else np.array(answer.point)
        return Run(verdict=answer.verdict, point=found, bound=answer.bound)
    if ended is None:
        return Run(verdict="stopped", point=None, bound=-np.inf)
    if "MemoryError" in ended or "std::bad_alloc" in ended or "emory" in ended:
        limits.has_room(sys.maxsize)  # a memory limit is met
        if limits.interrupted():
            return Run(verdict="stopped", point=None, bound=-np.inf)
    lines = [shortened(line) for line in ended.splitlines() if line.strip()][-SHOWN:]
    raise error(
        "B226",
        f"the solver `{name}` failed",
        notes=tuple(lines) or ("it said nothing",),
        helps=("check its installation and licence, or use `highs`",),
    )


def _room(limits: Limits) -> int | None:
    if limits.memory_bytes is None:
        return None
    return max(2**20, limits.memory_bytes - (held_bytes() or 0))


def frozen(program: Program) -> Finished:
    """A program as it is now, with half a step more on rows with wide numbers (see `highs`)."""
    matrix = program.matrix()
    wide = wide_rows(matrix.starts, matrix.values)
    lower, upper = matrix.lower.astype(np.float64), matrix.upper.astype(np.float64)
    lower[wide & (matrix.lower > -FREE)] -= 0.5
    upper[wide & (matrix.upper < FREE)] += 0.5
    return Finished(
        column_names=tuple(program.column_names),
        column_lower=tuple(program.column_lower),
        column_upper=tuple(program.column_upper),
        integer=tuple(program.integer),
        objective=program.objective,
        body=Matrix(
            starts=matrix.starts,
            columns=matrix.columns,
            values=matrix.values,
            lower=lower,
            upper=upper,
            names=matrix.names,
            origins=matrix.origins,
        ),
    )


def _supervised(
    home: Path, limits: Limits, listen: Callable[[], None]
) -> tuple[Told | None, str | None]:
    """The answer, and where there is none because the process failed, what it said."""
    environment = {**os.environ, "TMPDIR": str(home), "TEMP": str(home), "TMP": str(home)}
    command = [sys.executable, *COMMAND, str(home)]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
        try:
            stopped = _watched(process, limits, listen)
        finally:
            _send(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            process.wait()
    listen()
    path = home / "answer"
    if path.exists():
        answer = pickle.loads(path.read_bytes())
        assert isinstance(answer, Told), "the process writes nothing else"
        return answer, None
    if stopped:
        return None, None
    return None, (home / "log").read_text("utf-8", errors="replace")


def _watched(process: subprocess.Popen[bytes], limits: Limits, listen: Callable[[], None]) -> bool:
    """Wait for the end, or for a limit; whether one was met. The solver is asked to stop first,
    so that it can tell its best solution."""
    asked: float | None = None
    while process.poll() is None:
        listen()
        now = time.monotonic()
        late = limits.deadline is not None and now > limits.deadline + LATE
        if asked is None and (late or limits.interrupted()):
            asked = now
            _send(process, signal.SIGINT)
        if asked is not None and now > asked + FAREWELL:
            break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL)
    return asked is not None


def _send(process: subprocess.Popen[bytes], number: int) -> None:
    """A signal for the process and the programs that it runs."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
