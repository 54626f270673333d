"""Diagrams shape by shape, against all diagrams of tiny tables."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brute_diagrams import all_diagrams, best_priced
from brute_shapes import Shapes
from scale import SCALE, scaled
from shape_tables import NO_LIMITS, engine_of
from tiny_diagrams import PRICES, RULES, WIDTHS, admitted, check_answer, core_of, unrolled

import odtdsl
from odtdsl.backends.exact import layered_diagrams
from odtdsl.backends.exact.layered_diagrams import (
    LEAST_EFFORT,
    Efforts,
    Layered,
    Looks,
    copies_of,
    shapes,
)
from odtdsl.backends.exact.unrolled import Unrolled
from odtdsl.base import _engine
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.language.parser import parse
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram
from odtdsl.problem.terms.normalize import normalize


class Alone(Unrolled):
    """Nothing is known by trees, so that the search by shapes does all."""

    def floor_of_shape(self, shape: tuple[int, ...], copied: int) -> int:
        return 0


def alone(core: Core, start: RawDiagram | None = None, threads: int = 1) -> Unrolled:
    known = unrolled(core, start)
    known.__class__ = Alone
    known.limits = replace(known.limits, threads=threads)
    return known


def test_shapes_alone_find_the_best_and_prove_it() -> None:
    seen: Counter[str] = Counter()
    for seed in range(scaled(100, least=20)):
        rng = random.Random(f"shapes {seed}")
        price = rng.choice(PRICES)
        core = core_of(rng, 8, rng.choice(WIDTHS), price)
        search = alone(core, threads=1 + seed % 3)
        answer = search.answer(Layered(search).bound(None))
        (outcome,) = answer.stages
        assert answer.status == "optimal", seed
        assert outcome.value == best_priced(core, price), seed
        assert answer.diagram is not None
        evaluation = DiagramEvaluation(core, answer.diagram)
        assert not evaluation.violations()
        assert evaluation.stage_value(core.objective[0]) == outcome.value
        sizes = tuple(len(layer) for layer in answer.diagram.layers)
        seen["shares" if sizes and copies_of(sizes) > sum(sizes) else "tree"] += 1
    assert seen["shares"] > 5 * SCALE


def test_bounds_of_shapes_hold_under_rules() -> None:
    """Rules only make diagrams dearer; what is better than the best lies in the room left."""
    seen: Counter[str] = Counter()
    for seed in range(scaled(40, least=10)):
        rng = random.Random(f"shapes under rules {seed}")
        some = rng.sample(RULES, rng.randint(1, 2))
        core = core_of(rng, 6, rng.choice(("1, 2", "1, 2, 1")), rng.choice(PRICES), some)
        values = admitted(core)
        if not values:
            continue
        search = alone(core, rng.choice(values)[1], threads=1 + seed % 3)
        layered = Layered(search)
        answer = search.answer(layered.bound(None))
        seen["proven" if check_answer(layered, answer, values) else "open"] += 1
    assert seen["proven"] > 10 * SCALE
    assert seen["open"] > SCALE


@pytest.mark.parametrize("widths", ["1, 2, 1", "1, 2, 2", "1, 1, 2, 1"])
def test_no_diagram_of_a_shape_loses_less_than_its_bound(widths: str) -> None:
    """Both bounds, by trees and by the search; with any losses."""
    for seed in range(scaled(12)):
        rng = random.Random(f"one shape {widths} {seed}")
        core = core_of(rng, 6, widths, Fraction(1, 3))
        search = alone(core)
        layered = Layered(search)
        least: dict[tuple[int, ...], int] = {}
        for raw in islice(all_diagrams(core), 30_000):
            shape = tuple(len(layer) for layer in raw.layers)
            value = DiagramEvaluation(core, raw).of_model(search.stage.measure) - search.least
            least[shape] = min(value, least.get(shape, value))
        whole = sum(1 for _ in islice(all_diagrams(core), 30_001)) <= 30_000
        for shape, value in least.items():
            if not shape:
                continue
            paid = search.price * (sum(shape) + 1)
            by_trees = layered.search.solve(shape, value + 1, NO_LIMITS, bound_only=True)
            assert by_trees.bound + paid <= value or not whole, (seed, shape)
            found = layered.search.solve(shape, value + 1, NO_LIMITS)
            assert found.bound + paid <= value, (seed, shape)
            if found.complete:  # what is worse than this is never the least
                assert found.value is not None, (seed, shape)
                assert found.bound == found.value


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 1), (1, 1, 2), (1, 1, 1, 1)])
def test_rows_that_lose_by_every_label_are_bounded(shape: tuple[int, ...]) -> None:
    """As kinds of rows do that hold several classes."""
    least = 0
    for seed in range(scaled(1000, least=100)):
        rng = np.random.default_rng(seed)
        n, features, labels = (int(rng.integers(*ends)) for ends in ((5, 12), (1, 4), (2, 6)))
        ranks = rng.integers(0, 4, (features, n)).astype(np.uint32)
        losses = 1 - np.eye(labels, dtype=np.int64)[rng.integers(0, labels, n)]
        losses = losses * rng.integers(1, 4) + rng.integers(0, 3, (n, 1))
        value = Shapes(ranks, losses, [None] * len(ranks)).diagrams(shape)
        if value is None:
            continue
        search = engine_of(ranks, losses)
        by_trees = search.solve(shape, 1000, NO_LIMITS, bound_only=True)
        assert by_trees.bound <= value, seed
        for below in (1000, value + 1, value, 1):
            found = search.solve(shape, below, NO_LIMITS)
            assert found.complete, seed
            if below > value:
                assert found.value == found.bound == value, (seed, below)
            else:
                assert found.value is None, (seed, below)
                assert found.bound <= value, (seed, below)
        least = max(least, value)
    assert least > 10


def test_a_search_that_is_cut_short_claims_no_more_and_is_taken_up() -> None:
    """Limits bite only after 200,000 rows visited, so tiny tables never meet them."""
    cut = 0
    for seed in range(scaled(3)):
        rng = np.random.default_rng(seed)
        ranks = rng.integers(0, 6, (4, 26)).astype(np.uint32)
        labels = (ranks[:3] % 2).sum(axis=0) % 2
        labels[rng.random(26) < 0.1] ^= 1
        losses = 1 - np.eye(2, dtype=np.int64)[labels]
        for shape in ([1, 2, 2], [1, 2, 1, 2], [1, 2, 3]):
            for many in (1, 3, 5, 19):  # one, two, four and eight words of rows
                search = engine_of(np.tile(ranks, many), np.tile(losses, (many, 1)))
                short = search.solve(shape, 10_000, _engine.Limits(work_limit=1))
                cut += not short.complete
                whole = search.solve(shape, 10_000, _engine.Limits(memory_limit=1))
                assert whole.complete, (seed, shape)
                assert whole.bound == whole.value
                assert short.bound <= whole.value, (seed, shape)
                assert short.value is None or short.value >= whole.value, (seed, shape)
                fresh = engine_of(ranks, losses).solve(shape, whole.value // many + 1, NO_LIMITS)
                assert whole.value == many * fresh.value, (seed, shape, many)
    assert cut > SCALE


def test_instruction_sets_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forced is used: kernels of many features look at other rows than those of one."""
    sets, differ = _engine.instruction_sets(), 0
    for seed in range(scaled(200, least=20)):
        rng = np.random.default_rng(seed)
        n, features, labels = (int(rng.integers(*ends)) for ends in ((10, 40), (2, 6), (2, 6)))
        ranks = rng.integers(0, 6, (features, n)).astype(np.uint32)
        losses = rng.integers(0, 3, (n, labels))
        found = []
        for name in sets:
            monkeypatch.setenv("ODTDSL_ISA", name)
            found.append(engine_of(ranks, losses).solve([1, 2, 1 + seed % 3], 10_000, NO_LIMITS))
        assert all(one.complete for one in found), seed
        assert len({(one.value, one.bound) for one in found}) == 1, seed
        differ += len({one.work for one in found}) > 1
    assert (differ > 0) == ("avx2" in sets)


def random_table(seed: int, rows: int = 20) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 5, (5, rows)).astype(np.uint32)
    return ranks, rng.integers(0, 3, (rows, 2 + seed % 2))


TOGETHER = ([1, 2, 2, 2], [1, 2, 3], [1, 1, 2, 1], [1])


def test_threads_search_one_shape_together() -> None:
    """The same value and proof as one thread alone; each has a part of it."""
    parts = 0
    for seed in range(scaled(20, least=3)):
        for shape in TOGETHER:
            alone = engine_of(*random_table(seed)).solve(shape, 10_000, NO_LIMITS)
            search = engine_of(*random_table(seed))
            with ThreadPoolExecutor(3) as threads:
                asked = [threads.submit(search.solve, shape, 10_000, NO_LIMITS) for _ in range(3)]
                found = [one.result() for one in asked]
            for one in found:
                assert one.complete
                assert (one.value, one.bound) == (alone.value, alone.bound), (seed, shape)
            parts += sum(one.work > 0 for one in found) > 1
    assert parts > SCALE


def test_a_search_that_is_cut_short_goes_on_where_it_was() -> None:
    """Call by call: its bounds hold, only rise, and end at the value of a search at once."""
    taken_up = 0
    for seed in range(scaled(10, least=2)):
        for shape in TOGETHER:
            whole = engine_of(*random_table(seed)).solve(shape, 10_000, NO_LIMITS)
            search, before, told = engine_of(*random_table(seed)), 0, [10_000]
            for call in range(50):  # each takes some of the choices, however little it may do
                found = search.solve(
                    shape,
                    10_000,
                    _engine.Limits(work_limit=1 << call // 2),
                    told=lambda value, _: told.append(value),  # noqa: B023
                )
                assert before <= found.bound <= whole.value, (seed, shape)
                before = found.bound
                taken_up += call > 0
                if found.complete:
                    break
            assert found.complete
            assert found.value == found.bound == whole.value, (seed, shape)
            assert told == sorted(set(told), reverse=True)
            assert told[-1] == whole.value
            again = search.solve(shape, whole.value, NO_LIMITS)  # nothing is better
            assert again.complete
            assert again.value is None
            more = search.solve(shape, 20_000, NO_LIMITS)  # what was asked is not all of this
            assert more.value == whole.value
    assert taken_up > 10 * SCALE


def test_a_search_for_less_leaves_one_for_more_as_it_was() -> None:
    """Whatever is asked in between, and whether it was ended: what is complete holds for all."""
    more = 0
    for seed in range(scaled(30, least=6)):
        rng = random.Random(f"less {seed}")
        for shape in TOGETHER:
            value = engine_of(*random_table(seed)).solve(shape, 10_000, NO_LIMITS).value
            search, least, most = engine_of(*random_table(seed)), 0, value + 3
            for _ in range(30):
                below = rng.randint(max(1, value - 6), most)
                found = search.solve(
                    shape, below, _engine.Limits(work_limit=rng.choice((1, 100, 10_000)))
                )
                assert found.bound <= value, (seed, shape)
                if found.complete:
                    assert found.bound >= min(below, value), (seed, shape, below)
                    more += below > least > 0
                    least = max(least, below)
                if rng.random() < 0.1 and most > value + 1:  # found elsewhere
                    most = search.upper = value + 1
            found = search.solve(shape, most, NO_LIMITS)
            assert found.complete
            assert found.bound == value, (seed, shape)
    assert more > 10 * SCALE


def test_what_others_find_ends_a_search_sooner() -> None:
    """Nothing below the value that was told meanwhile is overlooked."""
    ended = 0
    for seed in range(scaled(200, least=30)):
        rng = random.Random(f"others {seed}")
        for shape in TOGETHER:
            whole = engine_of(*random_table(seed)).solve(shape, 10_000, NO_LIMITS)
            paid = rng.randint(0, 3)
            upper = whole.value + paid + rng.randint(-2, 3)
            search = engine_of(*random_table(seed))

            def told(*_: Any, search: Any = search, upper: int = upper) -> None:
                search.upper = upper

            found = search.solve(shape, 10_000, NO_LIMITS, paid=paid, told=told)
            assert found.complete
            least = min(whole.value, upper - paid)
            assert least <= found.bound <= whole.value, (seed, shape)
            if upper - paid > whole.value:
                assert found.value == whole.value, (seed, shape)
            ended += found.value is not None and found.value > whole.value
    assert ended > SCALE


def test_threads_share_what_they_keep() -> None:
    """The same value and proof as one thread alone; also where tables are emptied all the time."""
    for seed in range(scaled(20, least=3)):
        rng = np.random.default_rng(seed)
        ranks = rng.integers(0, 5, (5, 32)).astype(np.uint32)
        losses = rng.integers(0, 3, (32, 2 + seed % 2))
        shapes_ = [[1, 2, nodes, 2] for nodes in (1, 2, 3, 4)]
        limits = _engine.Limits(memory_limit=1 + seed % 3 * 2_000_000)
        alone = [engine_of(ranks, losses).solve(shape, 10_000, limits) for shape in shapes_]
        search = engine_of(ranks, losses)
        with ThreadPoolExecutor(3) as threads:
            found = list(threads.map(lambda s: search.solve(s, 10_000, limits), shapes_))  # noqa: B023
        for one, other in zip(alone, found, strict=True):
            assert one.complete
            assert other.complete
            assert (one.value, one.bound) == (other.value, other.bound), seed


def test_an_interrupt_is_heard_between_short_searches() -> None:
    """Each of them would end before it looks."""
    search = alone(core_of(random.Random("interrupted"), 8, "1, 2, 2", Fraction(0)))
    search.limits = replace(search.limits, interrupted=lambda: True)
    Layered(search).bound(None)
    assert search.interrupted
    assert search.shape_searches == 0


def test_every_shape_of_a_skeleton_is_asked() -> None:
    assert set(shapes((1, 2, 4), 7)) == {
        (1,),
        (1, 1),
        (1, 2),
        (1, 1, 1),
        (1, 1, 2),
        (1, 2, 1),
        (1, 2, 2),
        (1, 2, 3),
        (1, 2, 4),
    }
    assert all(sum(shape) <= 6 for shape in shapes((1, 2, 4, 8), 6))
    assert copies_of((1, 2, 1)) == 5
    assert copies_of((1, 2, 4, 8)) == 15


@pytest.mark.parametrize("rule", ["", "rule r: splits >= 1", "rule r: uses(a)"])
def test_rows_that_nothing_parts_have_labels_only(rule: str) -> None:
    """The engine gets a feature without a cut; as a test it has no name."""
    frame = pd.DataFrame({"a": [1] * 4, "y": list("xxxy")})
    text = f"data frame target y diagram widths 1, 2, 2, 2, 2, 2, 2 minimize errors {rule}"
    source = Source(name="flat.odt", text=text)
    core = normalize(analyse(parse(source), source=source, frame=frame).rows)
    search = alone(core)
    layered = Layered(search)
    answer = search.answer(layered.bound(None))
    assert answer.status == ("infeasible" if rule else "optimal")
    assert layered.open() == []
    if rule == "rule r: splits >= 1":
        assert odtdsl.solve(text, frame=frame, using="exact").status == "infeasible"


def test_no_time_claims_nothing_by_shapes() -> None:
    rng = random.Random("no time for shapes")
    for _ in range(10):
        price = Fraction(1, 3)
        core = core_of(rng, 8, "1, 2, 2", price)
        search = alone(core)
        (outcome,) = search.answer(Layered(search).bound(time.monotonic())).stages
        assert outcome.bound is not None
        assert outcome.bound <= best_priced(core, price)


def test_a_skeleton_of_too_many_shapes_is_left_alone() -> None:
    rng = random.Random("many shapes")
    core = core_of(rng, 8, ", ".join(["1", *"2222222222222"]), Fraction(0))
    search = alone(core)
    assert Layered(search).bound(None) == 0


def test_tables_that_do_not_fit_are_refused() -> None:
    ranks = np.arange(600, dtype=np.uint32).reshape(1, 600)
    distinct = np.array([600], dtype=np.uint32)
    with pytest.raises(ValueError, match="512 rows"):
        _engine.Layered(_engine.RankTable(ranks, distinct), np.ones((600, 2), dtype=np.int64))
    small = np.zeros((1, 3), dtype=np.uint32)
    table = _engine.RankTable(small, np.array([1], dtype=np.uint32))
    with pytest.raises(ValueError, match="at least 0"):
        _engine.Layered(table, np.full((3, 2), -1, dtype=np.int64))
    with pytest.raises(ValueError, match="row per row"):
        _engine.Layered(table, np.ones((2, 2), dtype=np.int64))
    with pytest.raises(ValueError, match="shape"):
        _engine.Layered(table, np.ones((3, 2), dtype=np.int64)).solve([1, 3], 5, NO_LIMITS)


@pytest.mark.parametrize(("before", "after", "leap"), [(2, 34, 1), (20, 25, 4), (1, 1, 6)])
def test_a_search_that_grows_little_leaves_out_levels(before: int, after: int, leap: int) -> None:
    efforts = Efforts()
    assert efforts.leap(0) == 1
    efforts.take(7, before * LEAST_EFFORT)
    efforts.take(8, after * LEAST_EFFORT)
    assert efforts.leap(9) == leap
    efforts.take(9 + leap, 9 * after * LEAST_EFFORT, complete=False)
    assert efforts.spent(9 + leap) == 9 * after * LEAST_EFFORT
    assert efforts.leap(9) == max(1, leap // 2)  # no further than that was too much


def test_a_search_that_looks_far_ahead_comes_by_its_bound() -> None:
    layered = Layered(alone(core_of(random.Random("when"), 8, "1, 2", Fraction(0))))
    turn, efforts = layered._next((1, 2)), layered.efforts[1, 2]
    bound, below = layered.bounds[1, 2], turn[0]
    assert bound < below
    assert layered._when(turn) == below  # nothing is known of it
    efforts.take(0, 1)
    assert layered._when(turn) == bound
    efforts.take(layered._level((1, 2), below), 1, complete=False)
    assert layered._when(turn) == below  # it takes more than was foreseen
    efforts.take(layered._level((1, 2), below), LEAST_EFFORT)
    assert layered._when(turn) == below


@pytest.mark.parametrize(("shapes", "threads"), [(Looks.MANY, 2), (33, 2), (33, 1)])
def test_where_no_proof_is_near_the_last_of_the_time_is_for_better_diagrams(
    shapes: int, threads: int
) -> None:
    now = time.monotonic()
    looks, still_open = Looks(now + 0.4, threads), lambda: shapes
    assert looks.next(now + 0.4, 5, still_open) is None
    time.sleep(max(0.0, now + 0.31 - time.monotonic()))
    look = looks.next(now + 0.4, 5, still_open)
    if shapes == Looks.MANY:
        assert look is None
    else:
        assert look is not None
        assert not look[1]
        assert (look[0] == now + 0.4) is (threads == 2)
        assert look[0] <= now + 0.4
    assert looks.next(now + 0.4, 5, still_open) is None, "once"


def test_threads_that_help_one_another_end_at_the_deadline() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(150, 8)), columns=list("abcdefgh"))
    frame["y"] = rng.choice(list("xy"), size=150)
    text = """data frame
        target y: class
        feature *: number
        diagram widths 1, 2, 4, 4, 4
        minimize errors + 0.3 * splits"""
    source = Source(name="late.odt", text=text)
    core = normalize(analyse(parse(source), source=source, frame=frame).rows)
    trees = alone(core, threads=2)
    deadline = time.monotonic() + 0.5
    bound = Layered(trees).bound(deadline, wander=lambda *_: None)
    assert bound < trees.upper()  # or it would not have been too hard
    assert time.monotonic() < deadline + 10


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What `layered_diagrams` takes for the time."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(layered_diagrams, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_looks_end_where_two_in_a_row_gained_nothing(clock: SimpleNamespace) -> None:
    looks, begun = Looks(60.0, 2), {}
    for now, upper in ((0.5, 9), (1.5, 9), (17, 8), (28, 8), (37, 8), (44, 8)):
        clock.now = now
        begun[now] = looks.next(60.0, upper, lambda: 1)
    assert begun == {
        0.5: None,
        1.5: (1.5 + 0.05 * 58.5, False),
        17: (17 + 0.1 * 43, False),  # one gained
        28: (28 + 0.1 * 32, False),  # one gained nothing
        37: None,  # two did
        44: None,
    }


def test_a_search_leaves_its_thread_in_time_for_a_look(clock: SimpleNamespace) -> None:
    looks = Looks(60.0, 2)
    assert looks.until(60.0) == 1.0
    clock.now = 2.0
    assert looks.next(60.0, 9, int) is not None
    assert looks.until(60.0) == 2.0 + 0.25 * 58
    clock.now = 44.0
    assert looks.until(60.0) == 45.0
    for clock.now in (59.0, 61.0):
        looks.due = looks.last = math.inf  # as where no more is to come
        assert looks.until(60.0) == 60.0


def test_the_last_look_ends_where_a_proof_comes_near(clock: SimpleNamespace) -> None:
    looks = Looks(60.0, 2)
    clock.now = 46.0
    many, few = Looks.MANY + 1, Looks.MANY
    assert looks.next(60.0, 9, lambda: many) == (60.0, False)
    looks.hear(True, lambda: many)
    assert not looks.over.is_set()
    looks.hear(False, lambda: few)
    assert looks.over.is_set()
    clock.now = 47.0
    assert looks.next(60.0, 8, lambda: few) is not None
    assert not looks.over.is_set(), "of this one"
