"""`python -m tests`: lint, types and tests, as CI runs them.

Arguments go to pytest: `python -m tests -k syntax`. With `--nightly` all instances are tried of
which CI tries a part (see `tests/scale.py`), and the tests that are marked `nightly`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST: tuple[tuple[str, ...], ...] = (("ruff", "check", "."), ("ruff", "format", "--check", "."))
BESIDE = ("mypy",)
"""Runs while the tests run, on a core that these leave idle now and then; told at the end."""


def main() -> int:
    """Run every step, and say again at the end which of them failed."""
    arguments = sys.argv[1:]
    environment = dict(os.environ)
    # Every process that a test starts would compile the package anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if "--nightly" in arguments:
        arguments = ["-m", "not slow", *(word for word in arguments if word != "--nightly")]
        environment.setdefault("ODTDSL_SCALE", "1")
        environment.setdefault("ODTDSL_NIGHTLY", "1")
    else:
        # Threads of numpy and scikit-learn, in processes that fill the cores, mostly wait for each
        # other by turning round: half the time of some tests.
        environment.setdefault("OMP_NUM_THREADS", "1")
        environment.setdefault("OPENBLAS_NUM_THREADS", "1")
    # One process more than two cores: tests that wait for others leave a core idle. Stolen, not
    # dealt out: neighbours stay in one process, where they share what is cached.
    tests = ("pytest", "-n", "3", "--dist", "worksteal", *arguments)
    failed = []

    def told(step: tuple[str, ...], status: int) -> None:
        if status:
            failed.append(" ".join(step))

    for step in FIRST:
        print("+", *step, flush=True)
        told(step, subprocess.call(_command(step), cwd=ROOT, env=environment))
    with ThreadPoolExecutor(1) as pool:
        types = pool.submit(_captured, BESIDE, environment)
        if not arguments:
            # Once compiled here, the tests are not compiled by each of the processes below.
            _captured(("pytest", "--collect-only"), environment)
        print("+", *tests, flush=True)
        told(tests, subprocess.call(_command(tests), cwd=ROOT, env=environment))
    print("+", *BESIDE, flush=True)
    print(types.result().stdout, end="", flush=True)
    told(BESIDE, types.result().returncode)
    print("failed: " + ", ".join(failed) if failed else "all passed", flush=True)
    return 1 if failed else 0


def _command(step: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", *step]


def _captured(
    step: tuple[str, ...], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(step),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
