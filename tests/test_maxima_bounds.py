"""Rules that bound a sum of maxima, such as `abs(a - b) + abs(c - d) + ... <= 30%`.

Linear in size where the cases are a power of 2, and the same trees as by the cases.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from milp_trees import best, reduced_trees, tiny
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.driver.choice import back_end, choose
from odtdsl.language.parser import parse
from odtdsl.problem.ir.evaluate import Evaluation, stage_values, violations
from odtdsl.problem.ir.forms import Core, MaximaBound
from odtdsl.problem.ir.maxima import in_digits, written_out
from odtdsl.problem.terms import comparisons
from odtdsl.problem.terms.normalize import normalize

PROVING = ("exact", "milp", "cpsat")
SECONDS = 1


def test_digits_say_what_the_sum_says() -> None:
    for seed in range(scaled(400)):
        rng = random.Random(f"digits {seed}")
        base = rng.choice((2, 3, 10))
        coefficients = tuple(rng.randrange(0, 60) for _ in range(rng.randint(1, 3)))
        bound = rng.randint(-200, 300)
        rows = in_digits(coefficients, bound, base)
        assert all(0 <= c < base for row in rows for c in row.coefficients)
        for values in itertools.product(range(-3, 4), repeat=len(coefficients)):
            carry = 0
            for row in rows:
                terms = zip(row.coefficients, values, strict=True)
                left = sum(c * v for c, v in terms) + carry - row.at_most
                carry = -(-left // base)
            meant = sum(c * v for c, v in zip(coefficients, values, strict=True)) <= bound
            assert (left <= 0) == meant, (seed, values)


# ---- back ends against brute force


def drawn(seed: int) -> Core:
    """A tiny problem with a bound on a sum of maxima, alone or as one of two literals."""
    rng = random.Random(f"maxima {seed}")
    kinds = rng.choice([("maxima_bound",), ("maxima_bound",), ("linear_model", "maxima_bound")])
    return tiny(rng, most_rows=7, clauses=(kinds,), free_clauses=rng.choice((0, 0, 1)), stages=True)


@pytest.mark.parametrize("name", PROVING)
def test_the_optimum_is_that_of_all_trees(name: str) -> None:
    if name == "cpsat":
        pytest.importorskip("ortools")
    met = {"optimal": 0, "infeasible": 0}
    for seed in range(scaled(40, least=4)):
        core = drawn(seed)
        if choose(core, name).name is None:
            continue
        found = back_end(name).solve(core, Limits(), None, None)
        least = best(core)
        assert found.status == ("infeasible" if least is None else "optimal"), seed
        if found.tree is not None:
            assert not violations(core, found.tree), seed
            assert stage_values(core, found.tree) == least, seed
        met[found.status] += 1
    assert min(met.values()) >= 5 * SCALE, met


def test_greedy_keeps_the_bound() -> None:
    many = scaled(16, least=6)
    found = [back_end("greedy").solve(drawn(seed), Limits(), None, None) for seed in range(many)]
    known = [(seed, one.tree) for seed, one in enumerate(found) if one.tree is not None]
    assert len(known) >= many * 6 // 16
    assert not any(violations(drawn(seed), tree) for seed, tree in known)


# ---- the same as the cases

GROUPS = (
    "data frame target y feature a: number feature b: number feature g: category tree depth <= 2"
)


def frame(rng: random.Random, groups: int, rows: int) -> dict[str, list[Any]]:
    each = [f"g{i % groups}" for i in range(rows)]
    return {
        "a": [rng.randrange(4) for _ in each],
        "b": [rng.randrange(3) for _ in each],
        "g": each,
        "y": [rng.choice(("no", "yes")) for _ in each],
    }


def fair(pairs: int, bound: str, op: str = "<=", measure: str = 'rate("yes", {})') -> str:
    """A rule over neighbouring groups, as many pairs as there are groups."""
    names = [f'group h{i} = g = "g{i}"' for i in range(pairs)]
    one = measure.format
    sums = [f"abs({one(f'h{i}')} - {one(f'h{(i + 1) % pairs}')})" for i in range(pairs)]
    return "\n".join([*names, "minimize errors", f"rule fair: {' + '.join(sums)} {op} {bound}"])


def cored(text: str, data: object) -> Core:
    source = Source(name="text", text=text)
    return normalize(analyse(parse(source), source=source, frame=data).rows)


def bounds(core: Core) -> Iterator[MaximaBound]:
    for clause in core.clauses:
        for literal in clause.literals:
            if isinstance(literal.atom, MaximaBound):
                yield literal.atom


@pytest.mark.parametrize("pairs", [2, 3, 4])
@pytest.mark.parametrize("op", ["<=", "<", "="])
def test_it_admits_the_trees_that_its_cases_admit(
    pairs: int, op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"cases {pairs} {op}")
    kept = broken = 0
    for bound in (0, Fraction(2, 3), 1, Fraction(8, 3)):
        text = f"{GROUPS} {fair(pairs, str(bound), op)}"
        data = frame(rng, pairs, 9)
        by_cases = cored(text, data)
        assert not list(bounds(by_cases))
        monkeypatch.setattr(comparisons, "FEW_CASES", 1)
        whole = cored(text, data)
        monkeypatch.undo()
        assert len(list(bounds(whole))) == 1
        assert written_out(by_cases) is by_cases
        assert not list(bounds(written_out(whole)))
        trees = reduced_trees(whole)
        for tree in rng.sample(trees, min(len(trees), scaled(400))):
            holds = not violations(whole, tree)
            assert holds == (not violations(by_cases, tree))
            assert holds == (not violations(written_out(whole), tree))
            kept, broken = kept + holds, broken + (not holds)
    assert kept
    assert broken


@pytest.mark.parametrize("text", ["not ({})", "leaves <= 1 or {}", "if {} then leaves <= 2"])
def test_it_stands_in_conditions(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(text)
    for _ in range(4):
        *lines, rule = fair(3, str(Fraction(rng.randint(1, 8), 4))).splitlines()
        rule = "rule fair: " + text.format(rule.removeprefix("rule fair: "))
        spec, data = "\n".join([GROUPS, *lines, rule]), frame(rng, 3, 9)
        by_cases = cored(spec, data)
        monkeypatch.setattr(comparisons, "FEW_CASES", 1)
        whole = cored(spec, data)
        monkeypatch.undo()
        trees = reduced_trees(whole)
        for tree in rng.sample(trees, min(len(trees), scaled(400))):
            assert bool(violations(whole, tree)) == bool(violations(by_cases, tree))


# ---- size


@pytest.mark.parametrize("pairs", [16, 64])
def test_many_pairs_are_checked_at_once(pairs: int) -> None:
    data = frame(random.Random(pairs), pairs, 20 * pairs)
    text = f"{GROUPS} {fair(pairs, '30%')}"
    began = time.process_time()
    assert not [one for one in odtdsl.check(text, frame=data) if one.severity == "error"]
    assert time.process_time() - began < SECONDS
    (atom,) = bounds(cored(text, data))
    assert len(atom.maxima) == pairs
    assert len(atom.measures) == 2 * pairs + 1


@pytest.mark.parametrize("name", ["milp", "cpsat"])
def test_size_grows_by_the_pair(name: str) -> None:
    if name == "cpsat":
        pytest.importorskip("ortools")

    def size(pairs: int) -> int:
        text = f"{GROUPS} {fair(pairs, '300%')}"
        asked = dict(back_end(name).size(cored(text, frame(random.Random(1), 64, 320))))
        return sum(asked.values())

    few, more, many = (size(pairs) for pairs in (8, 16, 64))
    assert many - few <= 8 * (more - few)


def test_every_group_has_a_size_of_its_own() -> None:
    """The common denominator of 12 shares of different prime numbers of rows leaves 64 bits."""
    primes = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
    rng = random.Random(3)
    each = [f"g{i}" for i, count in enumerate(primes) for _ in range(count)]
    data = {
        "a": [rng.randrange(3) for _ in each],
        "b": [rng.randrange(2) for _ in each],
        "g": each,
        "y": [rng.choice(("no", "yes")) for _ in each],
    }
    shallow = GROUPS.replace("depth <= 2", "depth <= 1")
    limited = f"{shallow} rule no: not uses(g) {{}}"
    for pairs, measure, bound in (
        (12, 'rate("yes", {})', "96%"),
        (12, "error_rate({})", "96%"),
        (12, "error_rate({})", "250%"),
        (7, "error_rate({})", "90%"),
    ):
        core = cored(limited.format(fair(pairs, bound, measure=measure)), data)
        assert next(bounds(core))
        least = best(core)
        for name in ("milp", "cpsat"):
            if choose(core, name).name is None:
                continue  # without OR-tools
            found = back_end(name).solve(core, Limits(), None, None)
            assert found.status == ("infeasible" if least is None else "optimal")
            if found.tree is not None:
                assert not Evaluation(core, found.tree).violations()
                assert stage_values(core, found.tree) == least
    result = odtdsl.solve(limited.format(fair(12, "250%", measure="error_rate({})")), frame=data)
    assert result.status == "optimal"
    assert result.audit is not None
    assert result.audit.holds


def test_few_cases_with_too_many_digits_are_one_bound() -> None:
    primes = (1999, 2003, 2011, 2017, 2027, 2029)
    each = [f"g{i}" for i, count in enumerate(primes) for _ in range(count)]
    data = {
        "a": [i % 3 for i, _ in enumerate(each)],
        "g": each,
        "y": [("no", "yes")[i % 7 > 2] for i, _ in enumerate(each)],
    }
    names = " ".join(f'group h{i} = g = "g{i}"' for i in range(6))
    sums = " + ".join(f'abs(rate("yes", h{i}) - rate("yes", h{i + 1}))' for i in (0, 2, 4))
    spec = f"data frame target y tree depth <= 1 {names} minimize errors rule fair: {sums} <= 30%"
    assert len(list(bounds(cored(spec, data)))) == 1


# ---- what is refused


def test_who_has_it_is_said() -> None:
    text = f"{GROUPS} {fair(16, '30%')}"
    data = frame(random.Random(5), 16, 160)
    for name, reason in (("sat", "cannot add up maxima"), ("exact", "65,536 cases")):
        with pytest.raises(OdtError) as caught:
            odtdsl.solve(text, frame=data, using=name)
        (one,) = caught.value.diagnostics
        assert one.code == "B102"
        assert reason in one.notes[0]
    assert choose(cored(text, data), "auto").name == "milp"


def test_exact_writes_out_what_it_can() -> None:
    text = f"{GROUPS} {fair(8, '100%')}"
    data = frame(random.Random(6), 8, 40)
    core = cored(text, data)
    assert list(bounds(core))
    found = [back_end(name).solve(core, Limits(), None, None) for name in ("exact", "milp")]
    values = [stage_values(core, one.tree) for one in found if one.tree is not None]
    assert len(values) == 2
    assert values[0] == values[1]


def test_from_below_the_cases_are_bounded() -> None:
    data = frame(random.Random(7), 16, 160)
    for op in (">=", ">", "=", "!="):
        found = odtdsl.check(f"{GROUPS} {fair(16, '30%', op)}", frame=data)
        assert [one.code for one in found if one.severity == "error"] == ["R302"]
