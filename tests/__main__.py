"""`python -m tests`: lint, types and tests, as CI runs them.

Arguments go to pytest: `python -m tests -k syntax`. With `--nightly` all instances are tried of
which CI tries a part (see `tests/scale.py`), and the tests that are marked `nightly`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
)


def main() -> int:
    """Run every step, pytest last, and say again at the end which of them failed."""
    arguments = sys.argv[1:]
    environment = dict(os.environ)
    if "--nightly" in arguments:
        arguments = ["-m", "not slow", *(word for word in arguments if word != "--nightly")]
        environment.setdefault("ODTDSL_SCALE", "1")
    # Stolen, not dealt out: neighbours stay in one process, where they share what is cached.
    steps = (*STEPS, ("pytest", "-n", "2", "--dist", "worksteal", *arguments))
    failed = []
    for step in steps:
        print("+", *step, flush=True)
        if subprocess.call([sys.executable, "-m", *step], cwd=ROOT, env=environment):
            failed.append(" ".join(step))
    print("failed: " + ", ".join(failed) if failed else "all passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
