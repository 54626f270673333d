"""What steps of a solve keep for each other is gone when it ends."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import odtdsl
from odtdsl.base import kept
from odtdsl.base.back_ends import names
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.kept import keeping
from odtdsl.problem.ir.forms import Core

DRAW = np.random.default_rng(0)
ROWS = {"x": DRAW.normal(size=60).round(1), "z": DRAW.normal(size=60).round(1)}
CLASSES = ROWS | {"y": DRAW.integers(0, 2, 60).astype(str)}
NUMBERS = ROWS | {"y": DRAW.normal(size=60)}
HEAD = "data frame target y tree depth <= 2 minimize "


@pytest.fixture(scope="module", autouse=True)
def what_was_there_before() -> Iterator[None]:
    """It is not looked through again: in a process of many tests, that takes most of the time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def cores() -> set[int]:
    gc.collect()
    return {id(one) for one in gc.get_objects() if isinstance(one, Core)}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("errors", CLASSES),
        ("errors then leaves", CLASSES),
        ("errors rule all: accuracy >= 20%", CLASSES),
        ("errors rule some: forall path: x before z", CLASSES),
        ("mse", NUMBERS),
        ("mse rule all: mse <= 100", NUMBERS),
    ],
)
@pytest.mark.parametrize("ask", [odtdsl.solve, odtdsl.plan, odtdsl.alternatives, odtdsl.explain])
def test_no_problem_outlives_its_answer(
    text: str, rows: dict[str, Any], ask: Callable[..., Any]
) -> None:
    before = cores()
    try:
        answer = ask(HEAD + text, frame=rows)
    except OdtError as refused:  # lists of trees of numbers
        answer = refused.diagnostics[0].code
    assert answer
    del answer
    assert cores() <= before


@pytest.mark.parametrize("backend", names())
def test_no_back_end_keeps_a_problem(backend: str) -> None:
    before = cores()
    assert odtdsl.solve(HEAD + "errors", frame=CLASSES, using=backend, within=10).tree is not None
    assert cores() <= before


def test_the_last_answer_is_kept_within_a_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_kept", [])
    asked: list[int] = []

    @kept.kept
    def double(of: int) -> int:
        asked.append(of)
        return 2 * of

    with keeping():
        assert [double(one) for one in (1, 1, 2, 2, 1)] == [2, 2, 4, 4, 2]
        assert asked == [1, 2, 1]
    assert double(1) == 2
    assert asked == [1, 2, 1, 1]
    with pytest.raises(ZeroDivisionError), keeping():
        raise ZeroDivisionError
    double(1)
    assert asked == [1, 2, 1, 1, 1]


def test_labels_of_a_measure_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a stage that counts leaves is asked for between."""
    from odtdsl.base import _engine

    calls: list[int] = []
    plain = _engine.plain_errors

    def counted(output: Any) -> Any:
        calls.append(len(output))
        return plain(output)

    monkeypatch.setattr(_engine, "plain_errors", counted)
    assert odtdsl.solve(HEAD + "errors then leaves", frame=CLASSES).status == "optimal"
    assert len(calls) == 1
