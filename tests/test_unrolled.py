"""Bounds on diagrams by trees, against all diagrams of tiny tables."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pandas as pd
from brute_diagrams import best_priced
from scale import SCALE, scaled
from tiny_diagrams import PRICES, RULES, WIDTHS, admitted, check_answer, core_of, unrolled

from odtdsl.backends.exact.unrolled import Shape, copies, narrowed
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.language.parser import parse
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawTest
from odtdsl.problem.terms.normalize import normalize

ANY = RawTest(family=0, test=0)


def test_bounds_hold_and_proofs_are_proofs() -> None:
    seen: Counter[str] = Counter()
    for seed in range(scaled(150)):
        rng = random.Random(f"unrolled {seed}")
        price = rng.choice(PRICES)
        core = core_of(rng, 8, rng.choice(WIDTHS), price)
        search = unrolled(core)
        answer = search.run()
        best = best_priced(core, price)
        (outcome,) = answer.stages
        assert outcome.bound is not None
        assert outcome.value is not None
        assert outcome.bound <= best <= outcome.value, seed
        assert (answer.status == "optimal") == outcome.proven
        if outcome.proven:
            assert outcome.value == best, seed
        assert answer.diagram is not None
        evaluation = DiagramEvaluation(core, answer.diagram)
        assert not evaluation.violations()
        assert evaluation.stage_value(core.objective[0]) == outcome.value
        if best < outcome.value:  # what is better lies in the room that is left
            assert isinstance(core.skeleton, DiagramSkeleton)
            _, widths = search.room()
            narrow = replace(core, skeleton=replace(core.skeleton, widths=widths))
            assert best_priced(narrow, price) == best, seed
            seen["sharing pays"] += 1
        seen[answer.status] += 1
    assert seen["optimal"] > 50 * SCALE
    assert seen["sharing pays"] > 3 * SCALE


def test_bounds_hold_under_rules() -> None:
    """By the search under rules: no diagram that keeps them is below, and proofs are proofs."""
    seen: Counter[str] = Counter()
    for seed in range(scaled(50, least=12)):
        rng = random.Random(f"ruled {seed}")
        some = rng.sample(RULES, rng.randint(1, 2))
        core = core_of(rng, 6, rng.choice(("1, 2", "1, 2, 1")), rng.choice(PRICES), some)
        values = admitted(core)
        if not values:
            continue
        search = unrolled(core, rng.choice(values)[1])
        seen["proven" if check_answer(search, search.run(), values) else "open"] += 1
    assert seen["proven"] > 15 * SCALE
    assert seen["open"] > SCALE


def test_no_time_claims_nothing() -> None:
    rng = random.Random("no time")
    for _ in range(20):
        price = Fraction(1, 3)
        core = core_of(rng, 8, "1, 2, 2", price)
        (outcome,) = unrolled(core, seconds=0.0).run().stages
        assert outcome.bound is not None
        assert outcome.bound <= best_priced(core, price)


def test_diagrams_unroll_to_no_more_than_is_said() -> None:
    shared = 0
    for seed in range(2000):
        rng = random.Random(f"copies {seed}")
        widths = rng.choice(((1, 2, 4, 8), (1, 2, 3, 2), (1, 2, 2, 2, 2), (1, 2, 1, 2, 4)))
        raw = random_shape(rng, widths)
        sizes, every = _unrolled_sizes(raw)
        narrow = narrowed(widths, sum(sizes))
        assert all(size <= width for size, width in zip(sizes, narrow, strict=False))
        assert len(sizes) <= len(narrow)
        if every == sum(sizes):
            continue
        shared += 1
        tree = Shape(depth=len(sizes), splits=every)
        shapes = copies(widths, sum(widths))[sum(sizes)]
        assert any(tree.depth <= s.depth and tree.splits <= s.splits for s in shapes), raw
    assert shared > 500


def random_shape(rng: random.Random, widths: tuple[int, ...]) -> RawDiagram:
    """Layers and arcs of a diagram; what its splits test does not matter."""
    layers: list[tuple[RawNode, ...]] = []
    reached = 1
    for width in (*widths[1:], 0):
        below = min(width, 2 * reached)
        ends = [*range(rng.randint(min(1, below), below)), -1]
        ends += [-2] * (len(ends) < 2)
        arcs = [rng.sample(ends, 2) for _ in range(reached)]
        led = sorted({arc for pair in arcs for arc in pair if arc >= 0})
        place = {arc: led.index(arc) for arc in led}
        layers.append(
            tuple(
                RawNode(
                    split=RawTest(family=0, test=0), left=place.get(a, a), right=place.get(b, b)
                )
                for a, b in arcs
            )
        )
        reached = len(led)
        if not reached:
            break
    return RawDiagram(layers=tuple(layers))


def _unrolled_sizes(raw: RawDiagram) -> tuple[list[int], int]:
    """Nodes by layer, and nodes of the tree of all paths."""
    every, here = 0, Counter({0: 1} if raw.layers else {})
    for layer in raw.layers:
        every += sum(here.values())
        below: Counter[int] = Counter()
        for position, many in here.items():
            for arc in (layer[position].left, layer[position].right):
                if arc >= 0:
                    below[arc] += many
        here = below
    return [len(layer) for layer in raw.layers], every


def test_known_room() -> None:
    assert copies((1, 2, 4, 8), 15)[4] == (Shape(depth=3, splits=5),)
    assert copies((1, 1, 1), 3) == {}
    assert narrowed((1, 2, 4, 8), 5) == (1, 2, 2, 2)
    wide = tuple(2**level for level in range(12))  # 12 s were needed for eight layers
    assert copies(wide, sum(wide))[2000] == (Shape(depth=12, splits=2**12 - 1),)
    assert max(copies(wide, 30)) == 30


def test_a_rule_about_a_level_is_not_taken_for_all_levels() -> None:
    """The parity of two bits with `a` asked first: `b` may be asked below."""
    text = (
        "data frame\ntarget y\ndiagram widths 1, 2\nminimize errors + splits / 10\n"
        "rule first: forall split: if level = 0 then feature in {a}\n"
    )
    frame = pd.DataFrame({"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "y": list("xyyx") * 3})
    source = Source(name="levels.odt", text=text)
    core = normalize(analyse(parse(source), source=source, frame=frame).rows)
    (outcome,) = unrolled(core, RawDiagram(entry=~0)).run().stages
    assert (outcome.value, outcome.proven) == (Fraction(3, 10), True)


def test_without_a_limit_no_deep_trees_are_asked_for() -> None:
    """The back end would wait for them."""
    rng = random.Random("unlimited")
    core = core_of(rng, 8, ", ".join(["1", *"2222222222"]), Fraction(0))
    search = unrolled(core)
    (outcome,) = search.run().stages
    assert search.deepest == 5
    assert all(shape.depth <= 5 for shape in search.floors)
    assert outcome.bound is not None
    assert outcome.value is not None
    assert outcome.bound <= outcome.value


def test_deep_skeletons_ask_for_no_deeper_trees_than_could_pay() -> None:
    """Every split costs a row: the depth of the skeleton alone makes no search."""
    rng = random.Random("deep")
    core = core_of(rng, 8, ", ".join(["1", *"2222222222"]), Fraction(3))
    search = unrolled(core)
    assert search.run().status == "optimal"
    assert search.searches <= 2
