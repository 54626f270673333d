"""A process that ends while a thread of it still solves keeps its exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
import numpy as np, pandas as pd
import odtdsl

objective, slow = sys.argv[1], sys.argv[2] == "callback"
draw = np.random.default_rng(0)
rows = pd.DataFrame(draw.normal(size=(2000, 12))).rename(columns="x{}".format)
rows["y"] = draw.normal(size=2000) if objective == "mse" else draw.integers(0, 3, 2000).astype(str)
model = odtdsl.Model().data(rows).target("y").tree(depth=4).minimize(objective)
begun = threading.Event()

def told(progress):
    begun.set()
    while slow:
        time.sleep(0.001)

work = lambda: model.solve(using="exact", within=100, progress=told)
threading.Thread(target=work, daemon=True).start()
if not begun.wait(60):
    sys.exit("no progress")
time.sleep(0.2)
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("objective", "within"),
    [
        ("errors", "search"),
        ("mse", "callback"),
        pytest.param("errors", "callback", marks=pytest.mark.nightly),
        pytest.param("mse", "search", marks=pytest.mark.nightly),
    ],
)
def test_leaving_during_a_solve_of_another_thread_keeps_the_exit_code(
    objective: str, within: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, objective, within],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, "")
