"""`odt doctor`, `odt --version`, and what a release is made of."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from odtdsl.base.back_ends import names
from odtdsl.interfaces import health
from odtdsl.interfaces.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_doctor_finds_all_that_is_needed_working() -> None:
    result = CliRunner().invoke(app, ["doctor", "--json"])
    found = json.loads(result.stdout)
    assert found["ok"], [one for one in found["findings"] if one["state"] != "ok"]
    assert result.exit_code == 0
    states = {one["name"]: one["state"] for one in found["findings"]}
    assert {f"back end {name}" for name in names()} <= set(states)
    assert set(states.values()) <= {"ok", "missing"}


def test_what_is_broken_or_missing_is_told_and_sets_the_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from odtdsl.interfaces import api

    def broken(*_: object, using: str, **__: Any) -> None:
        raise RuntimeError(f"{using} does not load")

    monkeypatch.setattr(api, "solve", broken)
    absent = {"ortools", "pygls"}

    def some(package: str) -> str:
        if package in absent:
            raise PackageNotFoundError
        return version(package)

    monkeypatch.setattr(health, "version", some)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "RuntimeError: milp does not load" in result.stdout
    assert 'pip install "odtdsl[cpsat]"' in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("does not work: ")
    assert "cpsat" not in last


def test_the_version_names_the_solvers() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    first, second, third = result.stdout.splitlines()
    assert first.startswith("odt ")
    assert re.match(r"engine (portable|avx2|avx512)", second)
    assert re.search(r"highspy \d", third)


def test_every_extra_that_is_named_is_one() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for _, _, _, how in health.EXTRAS:
        if match := re.fullmatch(r"odtdsl\[(\w+)\]", how):
            assert match[1] in extras


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    said = dict(re.findall(r"^([a-z-]+): +(.+)$", text, re.MULTILINE))
    assert said["version"] == PROJECT["project"]["version"]
    assert said["license"] == PROJECT["project"]["license"]


@pytest.mark.slow
def test_a_source_release_builds_installs_and_solves(tmp_path: Path) -> None:
    """Takes minutes: the engine is compiled. Needs the package `build`, and a registry."""
    if not os.environ.get("ODTDSL_RELEASE"):
        pytest.skip("compiles the engine twice: run with ODTDSL_RELEASE=1")
    pytest.importorskip("build.__main__", reason="the package `build` is not installed")
    made = tmp_path / "dist"
    command = [sys.executable, "-m", "build", str(ROOT), "--outdir", str(made)]
    subprocess.run(command, cwd=tmp_path, check=True)  # elsewhere: our folder `build` is no package
    (source,), (wheel,) = made.glob("*.tar.gz"), made.glob("*.whl")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "solvers/CMakeLists.txt", "grammar/odt.lark"} <= inside
    assert not any(name.endswith((".so", ".pyd")) or name.startswith(".ci") for name in inside)
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {
        "odtdsl/py.typed",
        "odtdsl/_data/grammar/odt.lark",
        "odtdsl/_data/models/iris.odt",
        "odtdsl/presentation/report/page.html",
    } <= set(names)
    assert not any(name.startswith("odtdsl/_data/grammar/bad") for name in names)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", str(source)], check=True)
    (tmp_path / "iris.odt").write_text((ROOT / "models" / "iris.odt").read_text())
    solve = [str(tmp_path / "venv" / "bin" / "odt"), "solve", "iris.odt"]
    done = subprocess.run(solve, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "optimal: proven" in done.stdout
