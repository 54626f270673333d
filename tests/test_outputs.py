"""Feasible sets of outputs: compiled from rules, and projected on, against independent solvers."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from output_oracle import Case, absolute, cases, deviance, keeps, lowest, quadratic, together
from scale import scaled

from odtdsl.problem.ir.expr import (
    AndC,
    Apply,
    Arith,
    Compare,
    CompareOp,
    Condition,
    Const,
    Count,
    Expr,
    NotC,
    OneOf,
    OrC,
    TargetArg,
)
from odtdsl.problem.ir.outputs import admits
from odtdsl.problem.outputs.feasible import FeasibleSet, compiled
from odtdsl.problem.outputs.union import Apart, OutputUnion, Piece, Range

SETS = scaled(1500)
"""Random sets per test; the run for the issue took 10,000."""


def y(index: int) -> Apply:
    return Apply(term="output", args=(TargetArg(name=f"y{index}", index=index),))


def number(value: int | Fraction) -> Const:
    return Const(value=Fraction(value))


def random_sum(rng: random.Random, n: int) -> Expr:
    """A sum of one to three outputs with small factors."""
    found: Expr | None = None
    for index in rng.sample(range(n), rng.randint(1, min(3, n))):
        part = Arith(op="*", left=number(rng.choice([-2, -1, 1, 1, 1, 2])), right=y(index))
        found = part if found is None else Arith(op="+", left=found, right=part)
    assert found is not None
    return found


def random_compare(rng: random.Random, n: int) -> Condition:
    op: CompareOp = rng.choice(["<=", ">=", "=", "<=", ">="])
    return Compare(op=op, left=random_sum(rng, n), right=number(rng.randint(-3, 4)))


def random_condition(rng: random.Random, n: int, depth: int = 2) -> Condition:
    """Without negations of equalities, which rules refuse."""
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return random_compare(rng, n)
    if kind < 0.5:
        items = tuple(random_condition(rng, n, depth - 1) for _ in range(2))
        return AndC(items=items) if rng.random() < 0.4 else OrC(items=items)
    if kind < 0.65:
        op: CompareOp = rng.choice(["<=", ">="])
        return NotC(
            operand=Compare(op=op, left=random_sum(rng, n), right=number(rng.randint(-2, 3)))
        )
    if kind < 0.8:
        return OneOf(item=y(rng.randrange(n)), values=(Fraction(0), Fraction(1), Fraction(3)))
    size = rng.randint(2, min(4, n))
    single = rng.random() < 0.7
    counted = tuple(
        Compare(
            op=rng.choice([">", "<="]),
            right=number(rng.randint(0, 2)),
            left=y(index) if single else random_sum(rng, n),
        )
        for index in rng.sample(range(n), size)
    )
    op = rng.choice(["<=", ">=", "="])
    return Compare(op=op, left=Count(conditions=counted), right=number(rng.randint(0, size)))


def random_polyhedron(rng: np.random.Generator, n: int) -> tuple[Piece, Case]:
    """Bounds and ranges of small integers, as a piece and as rows."""
    low = np.where(rng.random(n) < 0.6, rng.integers(-3, 1, n), -math.inf)
    high = np.where(rng.random(n) < 0.4, rng.integers(1, 4, n), math.inf)
    rows: Case = [(np.eye(n)[t], float(low[t]), float(high[t])) for t in range(n)]
    ranges: list[Range] = []
    for _ in range(int(rng.integers(0, 6))):
        factors = rng.integers(-2, 3, n) * (rng.random(n) < 0.6)
        if np.count_nonzero(factors) < 2:
            continue
        bound, kind = int(rng.integers(-3, 4)), int(rng.integers(0, 3))
        least = None if kind == 1 else Fraction(bound)
        most = None if kind == 2 else Fraction(bound + (kind == 1 and int(rng.integers(0, 3))))
        lead = Fraction(int(factors[np.flatnonzero(factors)[0]]))
        ends = (least, most) if lead > 0 else (most, least)
        scaled = tuple((int(t), Fraction(int(factors[t])) / lead) for t in np.flatnonzero(factors))
        ranges.append(
            Range(
                factors=scaled,
                low=None if ends[0] is None else ends[0] / lead,
                high=None if ends[1] is None else ends[1] / lead,
            )
        )
        rows.append(
            (
                factors.astype(float),
                -math.inf if least is None else float(least),
                math.inf if most is None else float(most),
            )
        )
    bounds = tuple(
        (None if math.isinf(a) else Fraction(int(a)), None if math.isinf(b) else Fraction(int(b)))
        for a, b in zip(low, high, strict=True)
    )
    return Piece(bounds=bounds, ranges=tuple(ranges)), rows


def sum_is(n: int, value: int) -> Range:
    factors = tuple((t, Fraction(1)) for t in range(n))
    return Range(factors=factors, low=Fraction(value), high=Fraction(value))


def one_piece(piece: Piece) -> FeasibleSet:
    return FeasibleSet(OutputUnion(steps=(None,) * len(piece.bounds), pieces=(piece,)))


def near(a: float, b: float, tolerance: float = 1e-8) -> bool:
    return a == b or abs(a - b) <= tolerance * (1 + abs(b))


def test_projections_on_polyhedra_are_those_of_a_qp_solver() -> None:
    rng = np.random.default_rng(0)
    finite = 0
    for _ in range(SETS):
        n = int(rng.integers(2, 10))
        piece, rows = random_polyhedron(rng, n)
        weights, goal = rng.choice([1.0, 1.0, 0.5, 2.0], n), rng.normal(0, 3, n)
        found = one_piece(piece)
        expected = quadratic(goal, weights, rows)
        if found.is_empty:
            assert math.isinf(expected)
            continue
        finite += 1
        (value,), outputs = found.project(goal[None], weights)
        assert near(value, expected)
        assert found.contains(outputs).all()
    assert finite > SETS // 2


def test_sets_compiled_from_rules_are_those_of_all_cases() -> None:
    rng = random.Random(1)
    numbers = np.random.default_rng(1)
    empty = 0
    for _ in range(SETS // 2):
        n = rng.randint(2, 5)
        rules = [random_condition(rng, n) for _ in range(rng.randint(1, 3))]
        every = list(together([list(cases(rule, n)) for rule in rules]))
        if len(every) > 60:
            continue
        found = compiled(rules, (None,) * n)
        goal, weights = numbers.normal(1, 2, n), numbers.choice([1.0, 0.5, 2.0], n)
        expected = min((quadratic(goal, weights, rows) for rows in every), default=math.inf)
        if found.is_empty:
            empty += 1
            assert math.isinf(expected)
            continue
        (value,), outputs = found.project(goal[None], weights)
        assert near(value, expected)
        assert all(admits(rule, outputs[0].tolist()) for rule in rules)
        points = numbers.integers(-1, 4, (20, n)).astype(float)
        kept = [all(admits(rule, point) for rule in rules) for point in points.tolist()]
        assert found.contains(points).tolist() == kept
    assert empty


def test_outputs_on_a_grid_are_the_nearest_of_all_grid_points() -> None:
    rng = random.Random(2)
    numbers = np.random.default_rng(2)
    box = [
        Compare(op=op, left=y(t), right=number(end))  # type: ignore[arg-type]
        for t in range(3)
        for op, end in ((">=", -2), ("<=", 3))
    ]
    for _ in range(SETS // 4):
        step = rng.choice([Fraction(1), Fraction(1, 2)])
        rules = [*box, *(random_condition(rng, 3, 1) for _ in range(rng.randint(0, 2)))]
        grid = [float(step) * k for k in range(math.ceil(-2 / step), math.floor(3 / step) + 1)]
        points = np.array(list(product(grid, repeat=3)))
        fits = np.all([keeps(rule, points) for rule in rules], axis=0)
        for at in rng.sample(range(len(points)), 10):
            assert all(admits(rule, points[at].tolist()) for rule in rules) == fits[at]
        kept = points[fits]
        found = compiled(rules, (step,) * 3)
        goal = numbers.normal(0, 2, 3)
        values, outputs = found.project(goal[None])
        if not len(kept):
            assert found.is_empty or math.isinf(values[0])
            continue
        assert near(values[0], float(((kept - goal) ** 2).sum(axis=1).min()))
        assert (np.abs(kept - outputs[0]).max(axis=1) < 1e-9).any()


def test_units_are_handed_out_as_if_all_divisions_were_tried() -> None:
    """The time series' set: whole numbers of a given sum, few of them nonzero."""
    rng = np.random.default_rng(3)
    n = 5
    for most in (1, 2, 3, 5):
        count = Apart(most=most, inside=tuple((t, None, Fraction(0)) for t in range(n)))
        piece = Piece(
            bounds=((Fraction(0), Fraction(5)),) * n,
            counts=(count,) if most < n else (),
            ranges=(sum_is(n, 6),),
        )
        found = FeasibleSet(OutputUnion(steps=(Fraction(1),) * n, pieces=(piece,)))
        points = np.array(
            [p for p in product(range(6), repeat=n) if sum(p) == 6 and sum(map(bool, p)) <= most],
            dtype=float,
        )
        goals = rng.normal(1.2, 1.5, (200, n))
        values, outputs = found.project(goals)
        if most == 1:
            assert found.is_empty
            continue
        expected = ((points[None] - goals[:, None]) ** 2).sum(axis=2).min(axis=1)
        assert np.allclose(values, expected, rtol=1e-12, atol=1e-12)
        assert found.contains(outputs).all()


def test_at_most_k_nonzero_within_bounds_has_the_closed_form() -> None:
    rng = np.random.default_rng(4)
    for n, most in ((7, 2), (9, 3), (4, 1)):
        every = [
            [(np.eye(n)[t], 0.0, 5.0 if t in chosen else 0.0) for t in range(n)]
            for chosen in _subsets(n, most)
        ]
        count = Apart(most=most, inside=tuple((t, None, Fraction(0)) for t in range(n)))
        found = one_piece(Piece(bounds=((Fraction(0), Fraction(5)),) * n, counts=(count,)))
        goals = rng.normal(2, 3, (100, n))
        values, outputs = found.project(goals)
        clipped = [np.clip(goals, [r[1] for r in rows], [r[2] for r in rows]) for rows in every]
        expected = np.min([((goals - one) ** 2).sum(axis=1) for one in clipped], axis=0)
        assert np.allclose(values, expected, rtol=1e-12)
        assert ((outputs > 0).sum(axis=1) <= most).all()


def _subsets(n: int, most: int) -> list[tuple[int, ...]]:
    from itertools import combinations

    return list(combinations(range(n), most))


def test_absolute_errors_are_those_of_a_linear_program() -> None:
    rng = np.random.default_rng(5)
    for turn in range(SETS // 3):
        n, n_rows = int(rng.integers(2, 10)), int(rng.integers(1, 10))
        piece, rows = random_polyhedron(rng, n)
        points = (
            rng.integers(-4, 5, (n_rows, n)).astype(float)
            if turn % 2
            else rng.normal(0, 3, (n_rows, n))
        )
        row_weights, weights = (
            rng.integers(0, 3, n_rows).astype(float),
            rng.choice([1.0, 0.5, 2.0], n),
        )
        row_weights[0] = 1
        found = one_piece(piece)
        expected = absolute(points, row_weights, weights, rows)
        if found.is_empty:
            assert math.isinf(expected)
            continue
        value, output = found.absolute(points, row_weights, weights)
        assert near(value, expected)
        assert near(float(row_weights @ np.abs(points - output) @ weights), value)
        assert found.contains(output[None]).all()


def test_the_median_is_not_the_best_output_even_of_a_convex_set() -> None:
    """The study's Lemma 2.1 does not hold for absolute errors: rows are feasible here."""
    units = np.eye(3)
    simplex = one_piece(
        Piece(
            bounds=((Fraction(0), None),) * 3,
            ranges=(sum_is(3, 1),),
        )
    )
    assert simplex.convex
    assert simplex.contains(units).all()
    assert not simplex.contains(np.median(units, axis=0)[None]).any()
    value, output = simplex.absolute(units)
    assert near(
        value,
        absolute(
            units,
            np.ones(3),
            np.ones(3),
            [
                *((np.eye(3)[t], 0.0, math.inf) for t in range(3)),
                (np.ones(3), 1.0, 1.0),
            ],
        ),
    )
    assert simplex.contains(output[None]).all()
    assert near(value, 4.0)


def test_deviances_are_proven_least_by_a_linear_program() -> None:
    """Convex: what the slope at the output can still gain nearby bounds what anything gains."""
    rng = np.random.default_rng(6)
    finite = same = 0
    for turn in range(SETS):
        n = int(rng.integers(2, 10))
        piece, rows = random_polyhedron(rng, n)
        bounds = tuple((max(low or Fraction(0), Fraction(0)), high) for low, high in piece.bounds)
        found = one_piece(Piece(bounds=bounds, ranges=piece.ranges))
        goal = rng.gamma(1, 2, n) * (rng.random(n) < 0.8)
        weights = rng.choice([1.0, 0.5, 2.0], n)
        if found.is_empty:
            continue
        (value,), (output,) = found.deviance(goal[None], weights)
        if not math.isfinite(value):
            continue
        finite += 1
        assert found.contains(output[None]).all()
        assert near(_deviance(goal, weights, output), value)
        slope = weights * np.where(goal > 0, 1 - goal / np.maximum(output, 1e-300), 1.0)
        above = [*rows, *((unit, 0.0, math.inf) for unit in np.eye(n))]
        could = float(slope @ output) - lowest(slope, above, output)
        assert could <= 1e-6 * (1 + value + float(np.abs(slope * output).sum()))
        if turn % 10 == 0:
            _, (start,) = found.project(np.ones((1, n)))
            general = deviance(goal, weights, above, start)
            assert value <= general + 1e-6 * (1 + value)
            same += near(value, general, 1e-5)
    assert finite > SETS // 6
    assert same > SETS // 100


def test_absolute_errors_on_unions_are_those_of_the_best_case() -> None:
    rng = random.Random(9)
    numbers = np.random.default_rng(9)
    for _ in range(SETS // 10):
        n = rng.randint(2, 4)
        rules = [random_condition(rng, n) for _ in range(rng.randint(1, 2))]
        every = list(together([list(cases(rule, n)) for rule in rules]))
        if len(every) > 12:
            continue
        found = compiled(rules, (None,) * n)
        points, weights = numbers.normal(1, 2, (4, n)), numbers.choice([1.0, 0.5, 2.0], n)
        expected = min(absolute(points, np.ones(4), weights, rows) for rows in every)
        if found.is_empty:
            assert math.isinf(expected)
            continue
        value, output = found.absolute(points, None, weights)
        assert near(value, expected)
        assert all(admits(rule, output.tolist()) for rule in rules)


def test_deviances_on_the_simplex_are_those_of_a_scan() -> None:
    """Minimizing y - m log y on a line: a fine grid tells the least value."""
    simplex = one_piece(
        Piece(
            bounds=((Fraction(0), None),) * 2,
            ranges=(sum_is(2, 1),),
        )
    )
    rng = np.random.default_rng(7)
    line = np.linspace(1e-6, 1 - 1e-6, 200_001)
    for goal in rng.gamma(1, 1, (20, 2)):
        (value,), _ = simplex.deviance(goal[None])
        each = [
            _deviance(goal[t : t + 1], np.ones(1), at[:, None])
            for t, at in enumerate((line, 1 - line))
        ]
        assert value <= float((each[0] + each[1]).min()) + 1e-9
        assert near(value, float((each[0] + each[1]).min()), 1e-6)


def _deviance(goal: np.ndarray, weights: np.ndarray, output: np.ndarray):  # type: ignore[no-untyped-def,type-arg]
    safe = np.maximum(output, 1e-300)
    each = np.where(
        goal > 0, output - goal - goal * np.log(safe / np.where(goal > 0, goal, 1)), output
    )
    found = (weights * each).sum(axis=-1)
    return float(found) if np.ndim(found) == 0 else found


def test_violations_are_paid_for() -> None:
    """`relaxed`: no point has a smaller sum of distance and price times violation."""
    rng = np.random.default_rng(8)
    for _ in range(SETS // 5):
        n = int(rng.integers(2, 6))
        piece, rows = random_polyhedron(rng, n)
        goal, price = rng.normal(0, 3, n), float(rng.choice([0.1, 0.5, 1, 3, 10]))
        found = one_piece(piece)
        if found.is_empty:
            continue
        pieces = [
            (np.array([float(dict(r.factors).get(t, 0)) for t in range(n)]), r)
            for r in piece.ranges
        ]
        scaled = [*rows[:n], *((f, _end(r.low, -1), _end(r.high, 1)) for f, r in pieces)]

        (value,), (output,) = found.project(goal[None], price=price)
        assert near(_paid(scaled, goal, price, output), value)
        _, (hard,) = found.project(goal[None])
        assert value <= _paid(scaled, goal, price, hard) + 1e-9
        assert value <= _paid(scaled, goal, price, goal) + 1e-9
        for _ in range(30):
            assert (
                value
                <= _paid(
                    scaled, goal, price, output + rng.normal(0, rng.choice([1e-4, 1e-2, 1]), n)
                )
                + 1e-9
            )


def _paid(rows: Case, goal: np.ndarray, price: float, at: np.ndarray) -> float:  # type: ignore[type-arg]
    beside = sum(max(0.0, low - f @ at, f @ at - high) for f, low, high in rows)
    return float(((at - goal) ** 2).sum() + price * beside)


def _end(value: Fraction | None, sign: int) -> float:
    return sign * math.inf if value is None else float(value)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_equally_near_pieces_the_first_wins(order: tuple[int, int]) -> None:
    both = [((Fraction(1), Fraction(1)),), ((Fraction(-1), Fraction(-1)),)]
    pieces = tuple(Piece(bounds=both[k]) for k in order)
    found = FeasibleSet(OutputUnion(steps=(None,), pieces=pieces))
    _, outputs = found.project(np.zeros((1, 1)))
    assert outputs[0, 0] == (1.0 if order[0] == 0 else -1.0)
