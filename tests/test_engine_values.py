"""What crosses the border to the engine: copies, names, refusals, and no engine."""

from __future__ import annotations

import copy
import pickle
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_calls import same_tree, solve
from engine_oracle import narrow, rank_columns

from odtdsl.base import _engine, engine
from odtdsl.base.diagnostics.model import OdtError


def problem(rows: int = 60) -> _engine.ClassProblem:
    rng = np.random.default_rng(0)
    ranks = np.array([rng.permutation(rows) for _ in range(3)], dtype=np.uint16)
    labels = ((ranks[0] > rows // 3) ^ (ranks[1] > rows // 2)).astype(np.int32)
    table = _engine.RankTable(ranks, np.full(3, rows, dtype=np.uint32))
    return _engine.ClassProblem(table, labels, 2, 2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_trees_and_plans_are_copied(copied: Any) -> None:
    told: list[_engine.Plan | _engine.Tree | None] = []
    found = _engine.solve(
        problem(), _engine.Limits(method="sorted"), progress=lambda *now: told.append(now[3])
    )
    assert found.status == "optimal"
    assert found.objective == 0
    assert same_tree(copied(found.tree), found.tree)
    plans = [one for one in told if isinstance(one, _engine.Plan)]
    assert plans
    for plan in plans:
        whole, again = (_engine.finish(problem(), one) for one in (plan, copied(plan)))
        assert same_tree(whole.tree, again.tree)
        assert whole.objective == again.objective
    assert _engine.finish(problem(), plans[-1]).objective == 0


def test_parts_that_do_not_fit_are_refused() -> None:
    ranks, distinct = np.zeros((2, 5), dtype=np.uint32), np.ones(2, dtype=np.uint32)
    with pytest.raises(ValueError, match="one entry per feature"):
        _engine.RankTable(ranks, distinct[:1])
    with pytest.raises(ValueError, match="one entry per feature"):
        _engine.RankTable(ranks, distinct, [None])
    with pytest.raises(ValueError, match="one flag per rank"):
        _engine.RankTable(ranks, distinct, [None, np.ones(3, dtype=bool)])
    with pytest.raises(ValueError, match="uint16 or uint32"):
        _engine.RankTable(ranks.astype(np.int64), distinct)  # type: ignore[arg-type]
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="one entry per node"):
        _engine.Tree(feature=one, cut=np.zeros(2, dtype=np.int64), left=one, right=one)
    with pytest.raises(TypeError):
        _engine.Limits(seconds=1)  # type: ignore[call-arg]


def test_an_engine_of_other_sources_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OdtError, match="built from other sources") as older:
        engine.solve_by_magic  # type: ignore[attr-defined]  # noqa: B018
    assert older.value.diagnostics[0].code == "X202"
    assert not hasattr(engine, "__wrapped__")
    monkeypatch.setitem(sys.modules, "odtdsl.base._engine", None)
    with pytest.raises(OdtError, match="not built"):
        engine.solve  # noqa: B018


def test_sources_that_hide_the_installed_package_say_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As Python in a clone finds its folder `odtdsl` before what `pip install .` built."""
    base = tmp_path / "odtdsl" / "base"
    base.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setitem(sys.modules, "odtdsl.base._engine", None)
    (base / "_engine.pyi").touch()  # no native part
    with pytest.raises(OdtError) as alone:
        engine.solve  # noqa: B018
    assert not alone.value.diagnostics[0].notes
    (base / f"_engine{EXTENSION_SUFFIXES[0]}").touch()
    with pytest.raises(OdtError) as hidden:
        engine.solve  # noqa: B018
    diagnostic = hidden.value.diagnostics[0]
    assert diagnostic.code == "X202"
    assert str(tmp_path / "odtdsl") in diagnostic.notes[1]
    assert "python -P" in diagnostic.helps[0]


def test_counters_have_the_same_names_everywhere() -> None:
    meanings = _engine.counter_meanings()
    assert all(meanings.values())
    rng = np.random.default_rng(13)
    ranks, distinct = rank_columns(rng.integers(0, 9, size=(60, 4)))
    labels = rng.integers(0, 2, size=60).astype(np.int32)
    ways = ({"method": "sorted"}, {"method": "bitset"}, {"smallest": True})
    for way in ways:
        result = solve(narrow(ranks), distinct, labels, 2, 4, time_limit=5.0, **way)
        assert list(result.counters) == list(meanings)
        assert result.counters["nodes"] > 0


def test_callback_errors_come_through() -> None:
    def fail(*_: object) -> None:
        raise KeyError("mine")

    x = np.arange(20).reshape(-1, 1)
    ranks, distinct = rank_columns(x)
    with pytest.raises(KeyError):
        solve(narrow(ranks), distinct, (np.arange(20) % 2).astype(np.int32), 2, 2, progress=fail)


def test_bad_arguments_are_errors() -> None:
    ranks = np.zeros((1, 3), dtype=np.uint16)
    distinct = np.ones(1, dtype=np.uint32)
    labels = np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match="not a class"):
        solve(ranks, distinct, labels + 5, 2, 2)
    with pytest.raises(ValueError, match="isa"):
        solve(ranks, distinct, labels, 2, 2, isa="mmx")
    with pytest.raises(ValueError, match="rank"):
        solve(ranks + 7, distinct, labels, 2, 2)
