"""Fuzzing, shortly: all finds of longer runs, the seeds, and some seconds of new inputs.

`python tests/fuzz.py TARGET --seconds 600` runs longer; what it finds is kept in `tests/finds`.
"""

from __future__ import annotations

from pathlib import Path

import fuzz_targets
import pytest
from fuzzing import Target, fuzz, outcome
from scale import scaled

FINDS = Path(__file__).parent / "finds"
INPUTS = {"parser": 60, "data": 150, "models": 100, "editor": 12, "commands": 12}


@pytest.mark.parametrize("name", fuzz_targets.TARGETS)
def test_no_find_comes_back(name: str) -> None:
    with fuzz_targets.TARGETS[name]() as target:
        for path in sorted((FINDS / name).glob("*.bin")):
            assert outcome(target, path.read_bytes()) is None, path.name


@pytest.mark.parametrize("name", fuzz_targets.TARGETS)
def test_only_odt_errors_come_out(name: str) -> None:
    with fuzz_targets.TARGETS[name]() as target:
        report = fuzz(target, 60.0, seed=1, tell=print, most=scaled(INPUTS[name], least=6))
    assert report.inputs > 0
    assert not report.finds


def test_finds_are_found() -> None:
    def run(data: bytes) -> None:
        if b"xy" in data:
            raise KeyError(data)

    target = Target(name="t", run=run, seeds=(b"axbycxdy",), words=(b"xy",))
    report = fuzz(target, 60.0, seed=0, tell=lambda text: None, most=200)
    assert [data for data, _ in report.finds.values()] == [b"xy"]


def test_every_find_has_its_target() -> None:
    assert {path.name for path in FINDS.iterdir()} <= set(fuzz_targets.TARGETS)
