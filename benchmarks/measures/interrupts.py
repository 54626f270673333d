"""Ctrl-C at random moments: each run must return an audited tree, its status and its bound."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from measures import sets
from measures.report import ROOT, Table

PROBLEMS = (("eeg", 4), ("fault", 4), ("magic", 4), ("raisin", 5), ("bean", 4))
"""Sets and depths that take minutes and more."""

SPEC = """data "{file}", separator " ", header none
target c1: class
feature *: number
tree depth <= {depth}
minimize errors
rule full: leaves <= {leaves}
solve using exact
"""


def interrupts(args: Namespace) -> None:
    """`odt solve` stopped by SIGINT; `odt audit` in a process of its own reads what it saved."""
    table = Table(
        "interrupts",
        (
            "set",
            "depth",
            "SIGINT after",
            "ended after",
            "exit",
            "status",
            "errors",
            "bound",
            "gap",
            "leaves",
            "audit",
            "audited again",
        ),
    )
    moments = random.Random(args.seed)
    for number in range(args.times):
        name, depth = PROBLEMS[number % len(PROBLEMS)]
        wait = moments.uniform(2.0, args.longest)
        table.add(name, depth, *_run(name, depth, wait))
    table.note(
        f"Moments drawn with seed {args.seed} from 2 to {args.longest:g} s after the start of the"
        " process, imports and reading included."
    )
    if args.docs:
        table.publish()


def _run(name: str, depth: int, wait: float) -> list[object]:
    with tempfile.TemporaryDirectory() as folder:
        spec, answer = Path(folder, "spec.odt"), Path(folder, "answer.json")
        file = sets.path("continuous", name)
        spec.write_text(SPEC.format(file=file, depth=depth, leaves=2**depth))
        began = time.perf_counter()
        child = subprocess.Popen(
            _odt("solve", spec, "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
        )
        try:
            child.wait(wait)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
        printed, said = child.communicate(timeout=60)
        seconds = time.perf_counter() - began
        assert child.returncode == 0, (name, wait, child.returncode, said)
        answer.write_text(printed)
        again = subprocess.run(
            _odt("audit", spec, answer, "--json"),
            capture_output=True,
            text=True,
            env=_environment(),
            check=False,
        )
    return [
        f"{wait:.1f} s",
        f"{seconds:.1f} s",
        child.returncode,
        *_checked(json.loads(printed), json.loads(again.stdout), again.returncode),
    ]


def _checked(found: dict[str, Any], again: dict[str, Any], code: int) -> list[object]:
    """The cells of a row; status, audit and bound are as an interrupted run has to have them."""
    (stage,) = found["stages"]
    assert found["interrupted"] is True, found
    assert found["status"] == "feasible", found["status"]
    assert found["audit"]
    assert all(line["holds"] for line in found["audit"]), found["audit"]
    value, bound = float(stage["value"]), float(stage["bound"])
    assert 0 <= bound <= value, stage
    assert code == 0, again
    assert again["holds"] is True, again
    assert float(again["objective"]) == value, again
    return [
        found["status"],
        f"{value:g}",
        f"{bound:g}",
        f"{100 * (value - bound) / value:.1f}%",
        found["leaves"],
        "holds",
        "holds",
    ]


def _odt(*words: object) -> list[str]:
    program = "from odtdsl.interfaces.cli.main import main; main()"
    return [sys.executable, "-c", program, *map(str, words)]


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path}
