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
    """Run every step, pytest last; the first failure decides the exit code."""
    failed = 0
    for step in STEPS:
        print("+", *step, flush=True)
        failed = subprocess.call([sys.executable, "-m", *step], cwd=ROOT) or failed
    pytest = [sys.executable, "-m", "pytest", "-n", "2", *sys.argv[1:]]
    print("+", *pytest[1:], flush=True)
    return subprocess.call(pytest, cwd=ROOT) or failed


if __name__ == "__main__":
    sys.exit(main())
