"""Moves on diagrams: good ones early, of the value they are told with, and no rule broken."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from brute_diagrams import best_priced
from scale import SCALE, scaled
from tiny_diagrams import PRICES, RULES, WIDTHS, admitted, core_of, unrolled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.exact import layered_diagrams
from odtdsl.backends.exact.layered_diagrams import Layered, Layers, diagram_of
from odtdsl.backends.exact.moves import Moves, encoded, prefix
from odtdsl.backends.exact.unrolled import Unrolled
from odtdsl.base import engine
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram


class CheckedMoves(Moves):
    """Every diagram that the engine tells has at most the value that it tells."""

    def _judge(self, value: int, layers: Layers) -> bool:
        raw = diagram_of(self.trees, layers)
        assert raw is not None
        steps = steps_of(self.trees, raw)
        splits = sum(len(layer) for layer in layers)
        left_out = splits - sum(len(layer) for layer in raw.layers)
        assert steps == value + self.trees.price * (1 - left_out)
        return super()._judge(value, layers)


def steps_of(trees: Unrolled, raw: RawDiagram) -> int:
    evaluation = DiagramEvaluation(trees.core, raw)
    return int(evaluation.of_model(trees.stage.measure)) - trees.least


def moved(core: Core, start: RawDiagram | None, patience: int = 60) -> Unrolled:
    trees = unrolled(core, start)
    CheckedMoves(trees).run(None, patience)
    return trees


@pytest.mark.parametrize(("second", "value"), [([True, True], 11), ([False, False], None)])
def test_moves_begin_with_a_cut_that_may_stand(second: list[bool], value: int | None) -> None:
    """The first feature would tell all rows, but its cut may not stand."""
    labels = np.arange(40) % 4 == 0
    ranks = np.array([labels, np.arange(40) // 4 % 2], dtype=np.uint32)
    allowed = [np.array([False, False]), np.array(second)]
    table = engine.RankTable(ranks, np.array([2, 2], dtype=np.uint32), allowed)
    told: list[tuple[int, Layers]] = []

    def judge(worth: int, layers: Layers) -> bool:
        told.append((worth, layers))
        return True

    engine.improve_diagram(
        table,
        1 - np.eye(2, dtype=np.int64)[labels.astype(int)],
        (1, 2),
        price=1,
        start=(),
        upper=2**60,
        judge=judge,
        limits=engine.Limits(seed=1),
        picky=False,
        patience=100,
    )
    assert {node[0] for _, layers in told for layer in layers for node in layer} <= {1}
    assert (min(told)[0] if told else None) == value


def test_moves_go_on_by_way_of_worse_diagrams() -> None:
    """After 150 moves without gain, by annealing."""
    better = 0
    for seed in range(scaled(200, least=20)):
        rng = random.Random(f"far moves {seed}")
        widths, price = rng.choice(("1, 2, 2, 2, 2, 2", "1, 2, 4, 4")), rng.choice(PRICES)
        core = core_of(rng, 40, widths, price)
        short, long = moved(core, None, patience=150), moved(core, None, patience=600)
        assert short.value is not None
        assert long.value is not None
        assert long.value <= short.value, seed
        better += long.value < short.value
    assert better > SCALE


def test_moves_tell_true_values_and_mostly_find_the_best() -> None:
    seen: Counter[str] = Counter()
    for seed in range(scaled(150)):
        rng = random.Random(f"moves {seed}")
        price = rng.choice(PRICES)
        core = core_of(rng, 8, rng.choice(WIDTHS), price)
        trees = moved(core, None, patience=200)
        assert trees.best is not None
        assert trees.value == steps_of(trees, trees.best)
        assert not DiagramEvaluation(core, trees.best).violations()
        (outcome,) = trees.answer(0).stages
        best = best_priced(core, price)
        assert outcome.value is not None
        assert outcome.value >= best, seed
        seen["best" if outcome.value == best else "other"] += 1
    assert seen["best"] > 0.85 * seen.total(), seen


def test_annealing_tells_true_values_and_finds_nearly_every_best() -> None:
    """After 150 moves without gain: the judge compares each value that it is told."""
    found = some = 0
    for seed in range(scaled(60)):
        rng = random.Random(f"annealing {seed}")
        price = rng.choice(PRICES)
        core = core_of(rng, 8, rng.choice(WIDTHS), price)
        trees = moved(core, None, patience=400)
        (outcome,) = trees.answer(0).stages
        best = best_priced(core, price)
        assert outcome.value is not None
        assert outcome.value >= best, seed
        found += outcome.value == best
        some += 1
    assert found > 0.95 * some, (found, some)


def test_moves_break_no_rule_and_lose_no_start() -> None:
    met = better = 0
    for seed in range(scaled(60)):
        rng = random.Random(f"ruled moves {seed}")
        core = core_of(
            rng,
            6,
            rng.choice(("1, 2", "1, 2, 1")),
            rng.choice(PRICES),
            rng.sample(RULES, rng.randint(1, 2)),
        )
        values = admitted(core)
        if not values:
            continue
        value, start = rng.choice(values)
        trees = moved(core, start)
        assert trees.best is not None
        assert not DiagramEvaluation(core, trees.best).violations()
        (outcome,) = trees.answer(0).stages
        assert outcome.value is not None
        assert min(v for v, _ in values) <= outcome.value <= value, seed
        met += 1
        better += outcome.value < value
    assert better > met / 3 > 5 * SCALE


def test_a_diagram_is_the_same_in_the_terms_of_the_engine() -> None:
    for seed in range(scaled(60)):
        rng = random.Random(f"encoded {seed}")
        core = core_of(rng, 6, "1, 2, 2", Fraction(0))
        trees = unrolled(core)
        for _, raw in rng.sample(values := admitted(core), min(5, len(values))):
            layers = encoded(trees, raw)
            assert layers is not None
            again = diagram_of(trees, layers) if layers else raw
            assert again is not None
            one, other = (DiagramEvaluation(core, it).predicted for it in (raw, again))
            assert np.array_equal(one, other), seed


def test_layers_in_which_all_trees_fit() -> None:
    assert [prefix(w) for w in ((1,), (1, 2), (1, 1, 2), (1, 2, 4, 8), (1, 2, 3, 8))] == [
        1,
        2,
        1,
        4,
        2,
    ]


def table(rows: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 40, size=(rows, 5))
    y = ((x[:, 0] + x[:, 1]) % 16 < 8) ^ (x[:, 2] > 20) ^ (rng.random(rows) < 0.1)
    return {f"x{i}": x[:, i].tolist() for i in range(5)} | {"y": np.where(y, "p", "n").tolist()}


def test_the_same_seed_and_steps_make_the_same_diagram() -> None:
    text = "data frame target y diagram widths 1, 2, 4, 4 minimize errors solve using exact"
    found = []
    for seed in (1, 1):
        made = odtdsl.plan(text, frame=table(600)).core
        trees = unrolled(made)
        trees.limits = Limits(seed=seed, steps=80)
        CheckedMoves(trees).run(None, 0)
        found.append((trees.value, trees.best, trees.moves))
    assert found[0] == found[1]
    assert found[0][2] > 3


@pytest.mark.parametrize(
    "widths", ["1, 2, 3, 3, 3", pytest.param("1, 2, 4, 8", marks=pytest.mark.nightly)]
)
def test_a_solve_is_no_worse_than_greedy_and_tells_its_moves(widths: str) -> None:
    text = f"data frame target y diagram widths {widths} minimize errors"
    quick = odtdsl.solve(text, frame=table(600), using="greedy")
    whole = odtdsl.solve(text, frame=table(600), using="exact", within="2 s")
    values = [one.stages[0].value for one in (whole, quick)]
    assert values[0] is not None
    assert values[1] is not None
    assert values[0] < values[1]
    assert dict(whole.counters)["moves"] > 10
    assert "exact by moves" in whole.steps
    assert whole.timeline[-1].model is not None


def test_a_shifted_cut_has_values_on_both_sides() -> None:
    nan = float("nan")
    frame = {
        "a": [0, 0, nan, 1, nan, 0, 0, nan, 0, 0, 0, 0],
        "b": [0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1],
        "c": [0, 1, 0, 2, 1, 0, 1, 2, 1, 1, 2, 1],
        "w": [2, 0, 1, 1, 3, 0, 2, 3, 1, 3, 1, 2],
        "y": list("111000101011"),
    }
    text = """data frame target y weight w missing {a} left diagram widths 1, 2
minimize errors + 0.5 * splits rule most: accuracy >= 80%"""
    assert odtdsl.solve(text, frame=frame, using="exact").status == "infeasible"


@pytest.mark.parametrize("threads", [1, 2])
def test_moves_beside_shapes(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another thread finds is offered here, and nobody waits for it after the last shape."""
    monkeypatch.setattr(layered_diagrams.Looks, "EASY", -1.0)
    monkeypatch.setattr(layered_diagrams.Looks, "FIRST", 1.0)
    told: set[int] = set()
    again: Counter[bool] = Counter()
    found = 0
    for seed in range(scaled(60, least=10)):
        rng = random.Random(f"beside shapes {seed}")
        price, rules = rng.choice(PRICES), rng.sample(RULES, rng.randint(0, 1))
        core = core_of(rng, 8, rng.choice(WIDTHS), price, rules)
        trees = unrolled(core)
        trees.limits = replace(trees.limits, threads=threads)
        trees.report = lambda _: told.add(threading.get_ident())
        moves, offered = Moves(trees), 0

        def wander(until: float, brief: bool, tell: Any, over: Any) -> None:
            def heard(raw: RawDiagram) -> None:
                nonlocal offered
                assert not DiagramEvaluation(trees.core, raw).violations()  # noqa: B023
                offered += 1
                tell(raw)

            again[brief] += 1
            # a thread of its own goes on until it is told
            idle = 30 if brief or threads == 1 else 0
            moves.run(until, idle, told=heard, over=over)  # noqa: B023

        deadline = time.monotonic() + 60
        bound = Layered(trees).bound(deadline, wander)
        assert time.monotonic() < deadline
        assert not trees.interrupted
        if values := admitted(core):
            least = min(value for value, _ in values)
            (outcome,) = trees.answer(bound).stages
            assert outcome.bound is not None
            assert outcome.bound <= least, seed
            assert rules or outcome.value == least, seed
        found += offered > 0
    assert found > 10 * SCALE, found
    assert threads > 1 or again[True] > 0, again
    assert told == {threading.get_ident()}
