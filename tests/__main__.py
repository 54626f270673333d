"""`python -m tests`: lint, types and tests, as CI runs them.

Arguments go to pytest: `python -m tests -k syntax`.
"""

from __future__ import annotations

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
    # Stolen, not dealt out: neighbours stay in one process, where they share what is cached.
    steps = (*STEPS, ("pytest", "-n", "2", "--dist", "worksteal", *sys.argv[1:]))
    failed = []
    for step in steps:
        print("+", *step, flush=True)
        if subprocess.call([sys.executable, "-m", *step], cwd=ROOT):
            failed.append(" ".join(step))
    print("failed: " + ", ".join(failed) if failed else "all passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
