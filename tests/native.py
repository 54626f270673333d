"""Build and run the C++ tests of the engine, with and without sanitizers.

    python -m tests.native                  # all of it: a quarter of an hour on two cores
    python -m tests.native plain
    python -m tests.native address thread

`address` is built with the address and undefined-behaviour sanitizers, `thread` with the check for
data races.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SANITIZERS = {"plain": "", "address": "address,undefined", "thread": "thread"}


def build_tests(kind: str, *, library: Path | None = None, folder: Path | None = None) -> Path:
    """Build the C++ tests and return the program.

    Args:
        kind: A key of `SANITIZERS`.
        library: An engine to link that was built before; without it the engine is built, too.
        folder: Where to build.

    Raises:
        subprocess.CalledProcessError: CMake or the compiler failed; they say why.
    """
    folder = folder or ROOT / "build" / f"tests-{kind}"
    options = [f"-DODT_SANITIZE={SANITIZERS[kind]}", "-DODT_PYTHON=OFF", "-DODT_TESTS=ON"]
    if library is not None:
        # In one piece: they compile as long as they run.
        options += [f"-DODT_LIBRARY={library}", "-DCMAKE_UNITY_BUILD=ON"]
        options += ["-DCMAKE_UNITY_BUILD_BATCH_SIZE=0", "-DCMAKE_CXX_FLAGS_RELEASE=-Og"]
    subprocess.run(["cmake", "-S", ROOT / "solvers", "-B", folder, *options], check=True)
    subprocess.run(["cmake", "--build", folder, "--parallel", "2"], check=True)
    return folder / "odt_tests"


def run_command(program: Path, kind: str) -> list[str]:
    """Return the command that runs a test program.

    The race check wants to lay out memory itself, which an address space that is laid out at random
    can forbid: `setarch -R` keeps it in order where it is there.
    """
    fixed = kind == "thread" and shutil.which("setarch")
    return ["setarch", platform.machine(), "-R", str(program)] if fixed else [str(program)]


def main() -> int:
    """Build and run what the command line names; say at the end what failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(SANITIZERS))
    kinds = parser.parse_args().kinds or list(SANITIZERS)
    if unknown := [kind for kind in kinds if kind not in SANITIZERS]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(SANITIZERS)}")
    failed = []
    for kind in kinds:
        try:
            subprocess.run(run_command(build_tests(kind), kind), check=True)
        except subprocess.CalledProcessError:
            failed.append(kind)
    print("failed: " + ", ".join(failed) if failed else "all passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
