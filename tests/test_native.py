"""The C++ tests of the engine, against the library that the installation built."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from native import ROOT, build_tests, run_command
from scale import SCALE


def built_library() -> Path | None:
    """Return the newest engine below `build/` that is no older than its sources."""
    sources = [*ROOT.glob("solvers/src/*"), *ROOT.glob("solvers/include/odt/*")]
    changed = max(file.stat().st_mtime for file in sources)
    libraries = sorted(
        ROOT.glob("build/cp*/src/libodt_engine.a"), key=lambda file: file.stat().st_mtime
    )
    return libraries[-1] if libraries and libraries[-1].stat().st_mtime >= changed else None


def test_the_cpp_tests_pass(tmp_path: Path) -> None:
    library = built_library()
    if library is None:
        pytest.skip("no engine as new as its sources below build/: run `pip install --editable .`")
    if shutil.which("cmake") is None:
        pytest.skip("CMake is not on the path")
    program = build_tests("plain", library=library, folder=tmp_path)
    run = subprocess.run(
        run_command(program, "plain"),
        capture_output=True,
        text=True,
        env={**os.environ, "ODT_SCALE": str(SCALE)},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(" ok\n") >= 20
