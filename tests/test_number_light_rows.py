"""Trees of numbers under rules where some rows weigh next to nothing beside others.

Against brute force in exact fractions over all trees of tiny tables. `ODTDSL_SCALE=10` draws ten
times as many.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pytest
from number_worlds import mean, median
from sat_trees import without_start
from scale import scaled

import odtdsl

WEIGHTS = ["0", "1e-12", "1e-9", "1e-6", "1", "1000"]
NONE = Fraction(0)

Point = tuple[Fraction, Fraction]
Added = Callable[[tuple[int, ...], Fraction], Fraction]


@dataclass(kw_only=True)
class Light:
    """A table, all whose columns are 0/1."""

    columns: list[list[int]]
    targets: list[int]
    weights: list[Fraction]
    written: list[str]
    depth: int

    @property
    def frame(self) -> dict[str, list[float]]:
        found = {f"x{c}": list(map(float, cells)) for c, cells in enumerate(self.columns)}
        found["y"] = list(map(float, self.targets))
        return found | {"w": list(map(float, self.written))}

    def text(self, loss: str, rule: str) -> str:
        head = "data frame\ntarget y: number\nweight w\n"
        head += "".join(
            f"feature x{c}: binary\ncost x{c} = {c + 1}\n" for c in range(len(self.columns))
        )
        head += f"group g = x0 = 0\ntree depth <= {self.depth}\n"
        return f"{head}minimize {loss}\nrule r: {rule}"

    @property
    def everyone(self) -> tuple[int, ...]:
        return tuple(range(len(self.targets)))

    def weight(self, rows: tuple[int, ...]) -> Fraction:
        return sum((self.weights[row] for row in rows), NONE)

    def output(self, rows: tuple[int, ...], loss: str) -> Fraction:
        weights = [self.weights[row] for row in rows]
        if not any(weights):
            weights = [Fraction(1)] * len(rows)
        values = [Fraction(self.targets[row]) for row in rows]
        return (median if loss == "mae" else mean)(values, weights)

    def lost(self, rows: tuple[int, ...], loss: str, output: Fraction) -> Fraction:
        apart = [(self.weights[row], abs(self.targets[row] - output)) for row in rows]
        return sum((w * (d if loss == "mae" else d * d) for w, d in apart), NONE)

    def trees(self, loss: str, leaf: Added, paid: bool, least: int = 1) -> list[Point]:
        """What trees lose, and what their leaves add or their tests cost, of those that none
        dominates."""

        @cache
        def best(rows: tuple[int, ...], depth: int) -> list[Point]:
            found: list[Point] = []
            if len(rows) >= least:
                output = self.output(rows, loss)
                found.append((self.lost(rows, loss, output), leaf(rows, output)))
            for c, cells in enumerate(self.columns if depth else []):
                sides = [tuple(row for row in rows if cells[row] == side) for side in (0, 1)]
                if not all(sides):
                    continue
                cost = self.weight(rows) * (c + 1) if paid else NONE
                low, high = (best(side, depth - 1) for side in sides)
                found += [(a[0] + b[0], a[1] + b[1] + cost) for a in low for b in high]
            kept: list[Point] = []
            for point in sorted(set(found)):
                if not kept or point[1] < kept[-1][1]:
                    kept.append(point)
            return kept

        return best(self.everyone, self.depth)


def light(seed: str) -> Light:
    rng = random.Random(f"light {seed}")
    rows, columns = rng.randint(6, 11), rng.randint(2, 4)
    pool = rng.choice(
        [WEIGHTS, WEIGHTS[:5], ["1e-9", "1"], ["1e-9", "1e-9", "1"], ["1e-12", "1"], ["1e-12", "5"]]
    )
    written = [rng.choice(pool) for _ in range(rows)]
    written[:2] = [pool[-1], rng.choice([pool[-1], pool[-2]])]
    alike = pool[-1] == "5"  # light rows hold all of the loss
    if alike:
        written[2:4] = ["5", "5"]
    if pool in (WEIGHTS, WEIGHTS[:5]):  # numbers of more digits are refused
        written = [w if w != "1e-12" or "1000" not in written else "1e-9" for w in written]
    cells = [[rng.randint(0, 1) for _ in range(rows)] for _ in range(columns)]
    cells[0][:2] = [0, 1]
    targets = [rng.choice([0, 1, 2, 7, 11]) for _ in range(rows)]
    weights = [Fraction(w) for w in written]
    if alike:
        targets = [7 if w == 5 else y for w, y in zip(weights, targets, strict=True)]
    return Light(columns=cells, targets=targets, weights=weights, written=written, depth=3)


def least(trees: list[Point], bound: Fraction) -> Fraction | None:
    return min((lost for lost, added in trees if added <= bound), default=None)


RULES = ["expected_cost", "mse(g)", "mae(g)", "size"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_the_optimum_is_that_of_brute_force(loss: str, rule: str) -> None:
    met = 0
    for seed in range(scaled(200, part=0.5)):
        case = light(f"{loss} {rule} {seed}")
        rng = random.Random(f"bound {loss} {rule} {seed}")
        group = {row for row in case.everyone if not case.columns[0][row]}
        asked, whole = 1, case.weight(case.everyone)

        def leaf(rows: tuple[int, ...], output: Fraction) -> Fraction:
            if rule not in ("mse(g)", "mae(g)"):
                return NONE
            return case.lost(tuple(group.intersection(rows)), rule[:3], output)  # noqa: B023

        if rule == "size":
            asked = rng.randint(2, 3)
        elif rule != "expected_cost":
            whole = case.weight(tuple(group))
        trees = case.trees(loss, leaf, rule == "expected_cost", asked)
        if rule == "size":
            text, near, far = f"forall leaf: size >= {asked}", whole, whole
        else:
            values = sorted(added / whole for _, added in trees)
            step = 2 if rule == "expected_cost" else 1000  # costs are exact, of 15 digits
            bound = Fraction(int(rng.choice(values) * rng.choice([1, 1, 2]) * step) + 1, step)
            text = f"{rule} <= {float(bound)}"
            slack = 0 if rule == "expected_cost" else Fraction(1, 10**9) * (1 + bound)
            near, far = bound * whole, (bound + slack) * whole
        with without_start():
            found = odtdsl.solve(case.text(loss, text), using="exact", frame=case.frame)
        strict, loose = least(trees, near), least(trees, far)
        if loose is None:
            assert found.status == "infeasible", (case, text)
            continue
        assert found.status == "optimal" or (strict is None and found.tree is None), (case, text)
        if strict is None:
            continue
        value, proven = found.stages[0].value, found.stages[0].bound
        assert value is not None
        assert proven is not None
        everyone = case.everyone
        single = case.lost(everyone, loss, case.output(everyone, loss))
        rounded = single / 10**9
        everything = case.weight(everyone)
        for one in (Fraction(value), Fraction(proven)):
            assert loose - rounded <= one * everything <= strict + rounded, (case, text, found)
        assert found.audit is not None
        assert found.audit.holds, (case, text)
        met += 1
    assert met
