"""Features of two values, and rows that no test parts: how far NEAR, THREE and POINTS lead."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scale import blocks
from test_certificates_classes import Claim, Problem, claim_of, verdict


@dataclass
class Near(Claim):
    """Each feature has one test, and a bound on a side of one holds for those of all."""

    def closes(self, *, classes: bool = True, near: bool = True) -> int:
        p = self.problem
        found = p.price + int(p.loss.sum(axis=0).min())
        divisions = {left for left, _, _ in self.bounds}
        for division in divisions:
            stated = [
                (f, right, p.side(f, t, right), value)
                for left, f, bounds in self.bounds
                for t, right, _, value in bounds
                if left == division
            ]
            alike = 2 * division == p.leaves
            for f, places in enumerate(p.places):
                if not places:
                    continue
                total = 0
                for right, leaves in ((False, division), (True, p.leaves - division)):
                    here = p.side(f, places[0], right)
                    best = max(p.price, self.flat - p.most(p.rows - here))
                    best = max(best, p.price + classes * p.lost(here, leaves))
                    for of, side, there, value in stated:
                        if (side == right and f == of) or (near and (side == right or alike)):
                            best = max(best, value - p.most(there - here))
                    total += best
                found = min(found, total)
        return found


def of_bits(rng: np.random.Generator, columns: int = 7) -> Problem:
    """Errors, weights or costs; some features are another one, or its opposite."""
    n, p, k = int(rng.integers(8, 17)), int(rng.integers(3, columns)), int(rng.integers(2, 6))
    x = rng.integers(0, 2, (n, p))
    x[0], x[1] = 0, 1
    if rng.random() < 0.3:
        x[:, -1] = x[:, 0] ^ int(rng.integers(2))
    loss = np.ones((n, k), dtype=int)
    if rng.random() < 0.6:
        loss = loss * rng.integers(1, 4, n)[:, None]
        if rng.random() < 0.5:
            loss = rng.integers(0, 4, (n, k))
    loss[np.arange(n), rng.integers(0, k, n)] = 0
    leaves = 8 if rng.random() < 0.5 else int(rng.integers(4, 8))
    return Problem(x, loss, int(rng.integers(0, 3)), leaves, 1)


@pytest.mark.parametrize("seeds", blocks(2000, 40), ids=lambda seeds: f"{seeds[0]}")
def test_bounds_at_one_test_hold_for_the_others(seeds: range, tmp_path: Path) -> None:
    """As far as the rules lead, and no further."""
    needed = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem = of_bits(rng)
        drawn = claim_of(rng, problem)
        claim = Near(problem, drawn.flat, drawn.bounds)
        shown = claim.closes()
        assert shown <= problem.best(problem.rows, 3, problem.leaves, 1)
        if shown <= problem.price:
            continue
        true, false = (
            verdict(problem, claim.steps(value), tmp_path) for value in (shown, shown + 1)
        )
        assert "certified: the bounds above" in true, f"seed {seed}: {true}"
        assert "refused at step" in false, f"seed {seed}: {false}"
        stated = [(bounds, i) for _, _, bounds in claim.bounds for i in range(len(bounds))]
        if stated:  # one of them is false now
            bounds, at = stated[int(rng.integers(len(stated)))]
            (t, right, sized, value), whole = bounds[at], list(bounds)
            bounds[at] = (t, right, sized, max(value, problem.price) + 1)
            told = verdict(problem, claim.steps(shown), tmp_path)
            assert "loses less than is claimed" in told, f"seed {seed}: {told}"
            bounds[:] = whole
        if claim.closes(near=False) < shown:
            assert "NEAR" in true
            needed += 1
    assert needed > len(seeds) / 20


@pytest.mark.parametrize("seeds", blocks(2000, 40), ids=lambda seeds: f"{seeds[0]}")
def test_depth_three_is_tried_in_full(seeds: range, tmp_path: Path) -> None:
    """THREE shows what the best tree loses, and no more; with fewer leaves it shows nothing."""
    asked = 0
    for seed in seeds:
        problem = of_bits(np.random.default_rng(seed))
        best = problem.best(problem.rows, 3, problem.leaves, 1)
        if best <= problem.price:
            continue
        true, false = (verdict(problem, [1, 3, x, 2], tmp_path) for x in (best, best + 1))
        assert "refused at step" in false, f"seed {seed}: {false}"
        if problem.leaves < 8:
            assert "a step of other levels or tests" in true
            continue
        assert "certified: the bounds above" in true, f"seed {seed}: {true}"
        asked += 1
    assert asked > len(seeds) / 4


@pytest.mark.parametrize("seeds", blocks(1000, 50), ids=lambda seeds: f"{seeds[0]}")
def test_rows_that_no_test_parts_lose_what_one_class_does(seeds: range, tmp_path: Path) -> None:
    asked = 0
    for seed in seeds:
        problem = of_bits(np.random.default_rng(seed), 5)
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, ranks in enumerate(problem.ranks.tolist()):
            groups.setdefault(tuple(ranks), []).append(i)
        sums = [int(problem.loss[rows].sum(axis=0).min()) for rows in groups.values()]
        loses = problem.price + sum(sums)
        if loses == problem.price:
            continue
        true, false = (verdict(problem, [1, 3, x, 0], tmp_path) for x in (loses, loses + 1))
        assert "certified: the bounds above" in true, f"seed {seed}: {true}"
        assert "rows that no test parts lose less than is claimed" in false, f"seed {seed}"
        asked += 1
    assert asked > len(seeds) / 4
