"""What the rows of a shape lose at least, layer by layer: against enumeration, and against planted
diagrams, of more rows than can be enumerated."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from brute_shapes import Shapes
from scale import SCALE, scaled
from shape_tables import NO_LIMITS, engine_of

from odtdsl.base import _engine


def test_one_cut_is_best_of_all_features() -> None:
    """The last layer, where eight features are summed at once for two labels, or 32 of them if
    their sums fit in bytes: against all cuts."""
    seen: Counter[str] = Counter()
    for seed in range(scaled(3_000)):
        rng = np.random.default_rng(seed)
        rows = int(rng.choice([1, 2, 5, 30, 64, 65, 129, 200, 300]))
        features = int(rng.integers(1, 19) if seed % 4 else rng.integers(30, 70))
        labels = int(rng.choice([2, 2, 2, 3, 5, 6]))
        distinct = rng.integers(1, 9, features).astype(np.uint32)
        ranks = np.array([rng.integers(0, n, rows) for n in distinct], dtype=np.uint32)
        allowed = [None if rng.random() < 0.5 else rng.random(n) < 0.6 for n in distinct]
        largest = int(rng.choice([1, 5, 10**6, 10**9]))
        losses = rng.integers(0, largest + 1, (rows, labels)) * rng.choice([1, 7])
        table = _engine.RankTable(ranks, distinct, allowed)
        found = _engine.Layered(table, losses).solve([1], 2**60, NO_LIMITS)
        assert found.complete
        least = int(losses.sum(axis=0).min())
        whole = least
        for rank, n, may in zip(ranks, distinct, allowed, strict=True):
            for cut in range(int(n) - 1):
                if may is None or may[cut]:
                    sides = (
                        losses[rank <= cut].sum(axis=0).min() + losses[rank > cut].sum(axis=0).min()
                    )
                    least = min(least, int(sides))
        assert found.bound == found.value == least, seed
        for below in {least + 1, least, 1 + seed % 4}:
            found = _engine.Layered(table, losses).solve([1], below, NO_LIMITS, bound_only=True)
            assert found.bound == min(least, below), (seed, below)
        seen["cut" if least < whole else "none"] += 1
        seen[f"labels {labels}"] += least < whole
    assert min(seen.values()) > 10 * SCALE


LABELS = (2, 2, 2, 2, 3, 4, 5, 6)


def drawn(rng: Any, rows: int, features: int, most: int, labels: int) -> tuple[Any, ...]:
    """Ranks, how many there are of each feature, where cuts are allowed, and losses."""
    distinct = rng.integers(1, most, features).astype(np.uint32)
    ranks = np.array([rng.integers(0, n, rows) for n in distinct], dtype=np.uint32)
    allowed = [None if rng.random() < 0.6 else rng.random(n) < 0.7 for n in distinct]
    right = rng.integers(0, labels, rows) * (rng.random(rows) < rng.choice([0.2, 1]))
    losses = int(rng.choice([1, 7])) * (1 - np.eye(labels, dtype=np.int64)[right])
    kind = rng.random()
    if kind < 0.2:
        losses[rng.random(rows) < 0.3] = losses.max()  # whatever the label
    elif kind < 0.3:
        losses *= rng.integers(0, 3, (rows, 1))
    elif kind < 0.5:  # rows of several labels, as rows are that no test tells apart
        losses += losses[rng.permutation(rows)]
    return ranks, distinct, allowed, losses


def test_trees_below_a_shape_lose_as_little_as_all_of_them() -> None:
    """One, two and four words of rows; also sums that leave a byte, rows that are several, more
    labels and rows than the lanes take, and features with few cuts, with many, and both."""
    seen: Counter[tuple[int, ...]] = Counter()
    shapes_ = ((1, 2), (1, 1), (1, 2, 2), (1, 1, 1), (1, 2, 1), (1, 1, 2), (1, 1, 1, 1))
    for seed in range(scaled(2_000)):
        rng = np.random.default_rng(seed)
        rows, labels = int(rng.choice([3, 6, 9, 12, 70, 150, 230])), int(rng.choice(LABELS))
        ranks, distinct, allowed, losses = drawn(
            rng, rows, int(rng.integers(1, 5)), int(rng.choice([4, 8])) if rows > 20 else 9, labels
        )
        shape = shapes_[seed % len(shapes_)]
        least = Shapes(ranks, losses, allowed).trees(shape)
        table = _engine.RankTable(ranks, distinct, allowed)
        for below in {10**6, least + 1, least, max(least - 1, 0), 1}:
            search = _engine.Layered(table, losses)
            found = search.solve(list(shape), below, NO_LIMITS, bound_only=True)
            assert found.bound == min(least, below), (seed, shape, below)
        seen[shape] += least < losses.sum(axis=0).min()
    assert min(seen.values()) > 50 * SCALE


SHAPES = ((1, 2), (1, 1))
# Rows, features, and ranks of these.
SIZES = (
    (12, 3, 12),
    (14, 25, 4),
    (16, 16, 2),
    (18, 27, 3),
    (22, 40, 2),
    (20, 60, 2),
    (16, 100, 2),
    (70, 3, 12),
    (150, 2, 14),
    (240, 2, 14),
)


def test_trees_that_lose_few_rows_are_bounded() -> None:
    """Two labels by a planted tree, but for a few rows; some rows weigh nothing, or more than one.
    One vector of features and several; one to four words of rows."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for seed in range(scaled(2_000, least=200)):
        rng = np.random.default_rng(seed)
        shape = SHAPES[seed % 2]
        rows, features, most = SIZES[seed // 2 % len(SIZES)]
        distinct = rng.integers(2, most + 1, features).astype(np.uint32)
        ranks = np.array([rng.integers(0, n, rows) for n in distinct], dtype=np.uint32)
        allowed = [None if rng.random() < 0.6 else rng.random(n) < 0.7 for n in distinct]
        tests = [ranks[f] > rng.integers(0, distinct[f]) for f in rng.integers(0, features, 3)]
        right = np.where(tests[0], tests[1], tests[2] if shape == (1, 2) else seed // 2 % 2)
        right ^= rng.permutation(rows) < rng.integers(0, 5)
        losses = 1 - np.eye(2, dtype=np.int64)[right.astype(int)]
        if rng.random() < 0.5:
            losses *= rng.choice([0, 1, 1, 1, 2, 5], (rows, 1))
        least = Shapes(ranks, losses, allowed).trees(shape)
        table = _engine.RankTable(ranks, distinct, allowed)
        for below in range(1, 7):
            search = _engine.Layered(table, losses)
            found = search.solve(list(shape), below, NO_LIMITS, bound_only=True)
            assert found.bound == min(least, below), (seed, shape, below)
        if 0 < least < losses.sum(axis=0).min():
            seen[shape, rows, "few" if least < 4 else "more"] += 1
    assert all(seen[shape, rows, "few"] for shape, rows in product(SHAPES, [s[0] for s in SIZES]))
    assert sum(seen.values()) > 800 * SCALE


# Rows, features, and ranks of these, where each of three layers is asked for all pairs of cuts.
CHAIN_SIZES = (
    (12, 3, 12),
    (14, 18, 3),
    (18, 9, 4),
    (18, 20, 2),
    (70, 3, 7),
    (150, 2, 8),
    (230, 2, 8),
)


def test_chains_that_lose_few_rows_are_told() -> None:
    """Of three and four layers, where what ends is of any labels, planted but for few rows."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for seed in range(scaled(700, least=140)):
        rng = np.random.default_rng(seed)
        shape = ((1, 1, 1), (1, 1, 1, 1), (1, 1, 2))[seed % 3]
        rows, features, most = CHAIN_SIZES[seed // 3 % len(CHAIN_SIZES)]
        distinct = rng.integers(2, most + 1, features).astype(np.uint32)
        ranks = np.array([rng.integers(0, n, rows) for n in distinct], dtype=np.uint32)
        allowed = [None if rng.random() < 0.6 else rng.random(n) < 0.7 for n in distinct]
        right = np.zeros(rows, bool)
        for f in rng.integers(0, features, sum(shape)):  # from the last test up
            side = (ranks[f] > rng.integers(0, distinct[f])) ^ bool(rng.integers(0, 2))
            right = np.where(side, bool(rng.integers(0, 2)), right)
        right[: rng.integers(0, 2 if seed % 2 else 5)] ^= True
        losses = 1 - np.eye(2, dtype=np.int64)[right.astype(int)]
        if rng.random() < 0.5:
            losses *= rng.choice([0, 1, 1, 1, 2, 5], (rows, 1))
        least = Shapes(ranks, losses, allowed).trees(shape)
        table = _engine.RankTable(ranks, distinct, allowed)
        for below in (1, 2, 3, 4):
            search = _engine.Layered(table, losses)
            found = search.solve(list(shape), below, NO_LIMITS, bound_only=True)
            assert found.bound == min(least, below), (seed, shape, below)
        seen[shape, least > 0] += losses.sum(axis=0).min() > 0
    assert len(seen) == 6, seen
    assert min(seen.values()) > 20 * SCALE, seen


def test_many_features_of_few_cuts_lose_as_little_as_all_of_them() -> None:
    """Cuts of several vectors, of which a node looks at those that part its rows."""
    seen: Counter[tuple[int, ...]] = Counter()
    shapes_ = ((1, 2), (1, 1), (1, 2, 2), (1, 1, 1), (1, 2, 1), (1, 1, 2))
    for seed in range(scaled(300, least=60)):
        rng = np.random.default_rng(seed)
        shape, labels = shapes_[seed % len(shapes_)], int(rng.choice(LABELS))
        rows = int(rng.integers(8, 13)) if len(shape) > 2 else int(rng.choice([20, 70, 140]))
        ranks, distinct, allowed, losses = drawn(rng, rows, int(rng.integers(20, 60)), 4, labels)
        least = Shapes(ranks, losses, allowed).trees(shape)
        table = _engine.RankTable(ranks, distinct, allowed)
        for below in {10**6, least + 1, least, max(least - 1, 0), 1}:
            search = _engine.Layered(table, losses)
            found = search.solve(list(shape), below, NO_LIMITS, bound_only=True)
            assert found.bound == min(least, below), (seed, shape, below)
        seen[shape] += 0 < least < losses.sum(axis=0).min()
    assert min(seen.values()) > 5 * SCALE


def test_diagrams_of_a_shape_lose_as_little_as_all_of_them() -> None:
    """Many cuts of a feature, and many features, which are closed several at once."""
    seen: Counter[str] = Counter()
    shapes_ = ((1, 2, 1), (1, 2, 2), (1, 1, 2, 1), (1, 2, 1, 1))
    for seed in range(scaled(200)):
        rng = np.random.default_rng(seed)
        features, most = ((1, 10), (2, 10), (6, 4))[seed % 3]
        ranks, distinct, allowed, losses = drawn(rng, 9, features, most, LABELS[seed % 8])
        shape = shapes_[seed % len(shapes_)]
        least = Shapes(ranks, losses, allowed).diagrams(shape)
        table = _engine.RankTable(ranks, distinct, allowed)
        for below in {10**6} if least is None else {10**6, least + 1, least}:
            found = _engine.Layered(table, losses).solve(list(shape), below, NO_LIMITS)
            assert found.complete, (seed, shape)
            assert found.value == (least if least is not None and least < below else None), seed
            assert found.bound == min(below, 10**6 if least is None else least), (seed, shape)
        seen["none" if least is None else "better" if least < losses.sum(axis=0).min() else ""] += 1
    assert seen["better"] > 50 * SCALE


def test_nodes_share_the_tests_of_the_last_layer() -> None:
    """Few tests of two labels: what a layer loses with the same last tests closes no diagram."""
    shared = 0
    shapes_ = ((1, 2, 2), (1, 2, 2, 1), (1, 2, 2), (1, 2, 3), (1, 2, 2), (1, 1, 2, 2), (1, 2, 1, 2))
    for seed in range(scaled(120, least=12)):
        rng = np.random.default_rng(seed)
        ranks = np.array(list(product((0, 1), repeat=4)), dtype=np.uint32).T
        ranks = ranks[:, rng.permutation(16)[: int(rng.integers(12, 17))]]
        losses = 1 - np.eye(2, dtype=np.int64)[rng.integers(0, 2, ranks.shape[1])]
        losses *= rng.integers(1 - seed % 4 // 3, 3, (ranks.shape[1], 1))
        shape, best = shapes_[seed % len(shapes_)], Shapes(ranks, losses, [None] * 4)
        least = best.diagrams(shape)
        assert least is not None, seed
        for below in (10**6, least + 1, least):
            found = engine_of(ranks, losses).solve(list(shape), below, NO_LIMITS)
            assert found.complete, (seed, shape)
            assert found.value == (least if least < below else None), (seed, shape)
            assert found.bound == least, (seed, shape)
        shared += best.trees(shape) < least
    assert shared > 20 * SCALE


def test_searches_find_the_same_without_shared_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger shapes than those that can be enumerated, up to four nodes in the last layer."""
    if "avx2" not in _engine.instruction_sets():
        pytest.skip("no AVX2: the bound is not used")
    better = 0
    shapes_ = (
        *((1, 2, 2, 2, 2), (1, 2, 3, 4), (1, 2, 2, 1, 2), (1, 2, 3, 3), (1, 2, 4, 4), (1, 2, 2, 2)),
        *((1, 1, 2, 2, 2), (1, 2, 2, 4), (1, 2, 2, 2, 1), (1, 2, 1, 2, 2), (1, 2, 3, 2)),
    )
    for seed in range(scaled(330, least=33)):
        rng = np.random.default_rng(seed)
        features, rows = int(rng.integers(4, 7)), int(rng.integers(15, 50))
        ranks = rng.integers(0, 2 + (rng.random((features, 1)) < 0.2), (features, rows))
        ranks = ranks.astype(np.uint32)
        losses = 1 - np.eye(2, dtype=np.int64)[rng.integers(0, 2, rows)]
        losses *= rng.integers(0, 3, (rows, 1))
        shape, found = shapes_[seed % len(shapes_)], {}
        below = int(losses.sum(axis=0).min()) * int(rng.integers(2, 5)) // 4
        for name in ("portable", "avx2"):
            monkeypatch.setenv("ODTDSL_ISA", name)
            found[name] = engine_of(ranks, losses).solve(list(shape), below, NO_LIMITS)
            assert found[name].complete, seed
        assert len({(one.value, one.bound) for one in found.values()}) == 1, (seed, shape)
        better += found["avx2"].value is not None
    assert better > 30 * SCALE


def planted(rng: Any, columns: Any, shape: tuple[int, ...]) -> Any:
    """The labels that a random diagram of this shape tells, each of its splits between rows."""
    while True:
        held, told = [np.ones(columns.shape[1], dtype=bool)], np.zeros(columns.shape[1], dtype=int)
        whole = True
        for here, below in zip(shape, (*shape[1:], 0), strict=True):
            arcs = rng.permutation(2 * here)
            to = np.where(rng.random(2 * here) < 0.3, -1, rng.integers(0, max(below, 1), 2 * here))
            to = to if below else np.full(2 * here, -1)
            to[arcs[:below]] = np.arange(below)
            then = [np.zeros_like(held[0]) for _ in range(below)]
            for node in range(here):
                on_left, ends = columns[rng.integers(0, len(columns))] == 0, rng.permutation(2)
                for side, rows in enumerate((held[node] & on_left, held[node] & ~on_left)):
                    whole &= bool(rows.any())
                    if to[2 * node + side] < 0:
                        told[rows] = ends[side]
                    else:
                        then[to[2 * node + side]] |= rows
                whole &= to[2 * node] != to[2 * node + 1] or to[2 * node] < 0
            held = then
        if whole:
            return told


def test_planted_diagrams_of_many_last_tests_are_found() -> None:
    """A diagram of up to four last nodes tells all rows, or all but a few: of so many rows that
    seldom another one does, so that a choice of last tests that is left out wrongly is missed."""
    shapes_ = (
        (1, 2, 3, 2, 4),
        (1, 2, 2, 2),
        (1, 2, 4, 3, 4),
        (1, 2, 3, 3),
        (1, 2, 3, 4),
        (1, 2, 2, 3),
    )
    for seed in range(scaled(360, least=36)):
        rng = np.random.default_rng(seed)
        columns = rng.integers(0, 2, (int(rng.integers(6, 9)), int(rng.integers(150, 250))))
        shape, lost = shapes_[seed % len(shapes_)], seed // len(shapes_) % 3
        told = planted(rng, columns, shape)
        told[rng.permutation(len(told))[:lost]] ^= 1
        losses = 1 - np.eye(2, dtype=np.int64)[told]
        limits = _engine.Limits(memory_limit=1 << 20) if seed % 2 else NO_LIMITS  # little is kept
        found = engine_of(columns.astype(np.uint32), losses).solve(shape, lost + 1, limits)
        assert found.complete, (seed, shape)
        assert found.value is not None, (seed, shape)
        assert found.value <= lost, (seed, shape)


def test_rows_that_only_one_node_has_room_for_go_there() -> None:
    """Of two nodes, the second parts its rows as those of the first one leave room."""
    better, many = 0, scaled(3000, least=30, part=0.3)
    for seed in range(many):
        rng = np.random.default_rng(seed)
        features, rows, labels = ((3, 14, 2), (3, 12, 4), (4, 12, 4))[seed % 3]
        ranks = rng.integers(0, 3 + seed % 3 % 2, (features, rows)).astype(np.uint32)
        losses = 1 - np.eye(labels, dtype=np.int64)[rng.integers(0, labels, rows)]
        losses *= rng.integers(1, 4, (rows, 1))
        least = Shapes(ranks, losses, [None] * features).diagrams((1, 2, 2))
        assert least is not None, seed
        for below in (10**6, least + 3, least + 1, least):
            found = engine_of(ranks, losses).solve((1, 2, 2), below, NO_LIMITS)
            assert found.complete, seed
            assert found.value == (least if least < below else None), (seed, below)
            assert found.bound == least, (seed, below)
        better += 0 < least < losses.sum(axis=0).min()
    assert better > many / 3


def test_a_node_may_end_on_both_sides_beside_one_that_leads_on() -> None:
    """Then the last node has the rows of the other one alone. Again a diagram is planted."""
    every = np.array(list(product((0, 1), repeat=7)), dtype=np.uint32).T
    a, b, c, d, e, f, g = every
    for seed in range(scaled(60, least=20)):
        rng = np.random.default_rng(seed)
        shape, then = (((1, 2, 2, 1), e | f), ((1, 2, 2, 1, 1), e | (f & g)))[seed % 2]
        lost = 1 - np.eye(2, dtype=np.int64)[np.where(np.where(a, b, 1 - c), d, then)]
        some = rng.permutation(128)[: rng.integers(60, 129)]
        for below in (1, 2, 1000):
            found = engine_of(every[:, some], lost[some]).solve(shape, below, NO_LIMITS)
            assert (found.complete, found.value) == (True, 0), (seed, below)


def test_nodes_that_lose_few_rows_meet_in_one_below() -> None:
    """Two nodes end a side each, of one label or of both; the layers below have one node each.
    A diagram that loses nothing, or one or two rows, is planted: it, or a better one, is found."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for seed in range(scaled(200, least=72)):
        rng = np.random.default_rng(seed)
        lost, rows = seed % 3, int(rng.choice([120, 240]))
        features = 3 if lost > 1 else int(rng.choice([3, 18]))
        ranks = rng.integers(0, 12, (features, rows)).astype(np.uint32)
        parted = []  # the sides of each node

        def sides(held: Any) -> tuple[Any, Any]:
            left = ranks[rng.integers(0, features)] < rng.integers(2, 11)  # noqa: B023
            parted.extend([held & left, held & ~left])  # noqa: B023
            return held & left, held & ~left

        flipped, labels = bool(rng.integers(0, 2)), rng.integers(0, 2, 2)
        (a, b), right = sides(np.ones(rows, bool)), np.zeros(rows, bool)
        met = np.zeros(rows, bool)
        of_a, of_b = sides(a), sides(b)[:: -1 if flipped else 1]
        for label, one, other in zip(labels, of_a, of_b, strict=True):
            ends, leads = sides(one | other)
            right |= ends & (label == 1)
            met |= leads
        shape = (1, 2, 2, 1) if rng.random() < 0.5 else (1, 2, 2, 1, 1)
        if len(shape) > 4:
            ends, met = sides(met)
            right |= ends & bool(rng.integers(0, 2))
        right |= sides(met)[0]
        if not all(rows.any() for rows in parted):
            continue
        right[rng.permutation(rows)[:lost]] ^= True
        losses = 1 - np.eye(2, dtype=np.int64)[right.astype(int)]
        for below in (lost + 1, lost + 2) if lost < 1 else (lost + 1,):
            found = engine_of(ranks, losses).solve(shape, below, NO_LIMITS)
            assert found.complete, (seed, below)
            assert found.value is not None, (seed, below)
            assert found.value <= lost, (seed, below)
        seen[bool(labels[0] == labels[1]), shape, lost] += 1
    assert len(seen) == 12, seen
    assert min(seen.values()) > 3 * SCALE
