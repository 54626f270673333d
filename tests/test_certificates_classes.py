"""CLASSES: what rows lose because a side has fewer leaves than they have classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale import blocks
from test_certificate_rules import as_bytes
from test_certificates import checked, forged

import odtdsl
from odtdsl.insight.proofs.certificate import MAGIC

Rows = frozenset[int]
NONE = 10**9
"""What no tree loses, where leaves of a least size leave none."""


@dataclass
class Problem:
    """Ranks and losses of some rows, and what is asked of a tree of three levels."""

    ranks: np.ndarray
    loss: np.ndarray  # per row and class; the least is 0
    price: int
    leaves: int
    least: int

    def __post_init__(self) -> None:
        self.rows: Rows = frozenset(range(len(self.ranks)))
        self.best = cache(self._best)
        ranks = self.ranks.T
        self.order = [np.argsort(column, kind="stable").tolist() for column in ranks]
        self.places = [
            [t for t in range(1, len(o)) if column[o[t - 1]] < column[o[t]]]
            for column, o in zip(ranks, self.order, strict=True)
        ]

    def side(self, feature: int, t: int, right: bool) -> Rows:
        order = self.order[feature]
        return frozenset(order[t:] if right else order[:t])

    def _best(self, rows: Rows, depth: int, leaves: int, least: int) -> int:
        """The least loss of a tree, with its price, each leaf of which has so many rows."""
        if len(rows) < least:
            return NONE
        found = self.price + int(self.loss[sorted(rows)].sum(axis=0).min())
        for f in range(len(self.order)) if depth and leaves > 1 and len(rows) > 1 else ():
            for t in self.places[f]:
                left = rows & self.side(f, t, False)
                if not left or left == rows:
                    continue
                half = 2 ** (depth - 1)
                for few in range(1, leaves):
                    lower = self.best(left, depth - 1, min(few, half), least)
                    upper = self.best(rows - left, depth - 1, min(leaves - few, half), least)
                    found = min(found, lower + upper)
        return found

    def most(self, rows: Rows) -> int:
        return int(self.loss[sorted(rows)].max(axis=1).sum()) if rows else 0

    def lost(self, rows: Rows, leaves: int) -> int:
        """What the rows lose in a tree of so many leaves, by the most that these may gain."""
        if not rows:
            return 0
        of = self.loss[sorted(rows)]
        gains = sorted((of.max(axis=1)[:, None] - of).sum(axis=0), reverse=True)
        return max(0, self.most(rows) - int(sum(gains[:leaves])))

    def text(self) -> bytes:
        """The problem, each row of a kind of its own; no tree."""
        n, k = self.loss.shape
        lines = ["problem\t1", "target\ty", *(f"class\tc{c}" for c in range(k))]
        lines += [f"feature\tnumber\tx{f}" for f in range(len(self.order))]
        lines += ["depth\t3", f"leaves\t{self.leaves}", f"leaf rows\t{self.least}"]
        lines.append(f"stage\tlost\tleast\t{self.price}")
        lines += ["loss\t" + "\t".join(map(str, row)) for row in self.loss.tolist()]
        lines.append("kinds\t" + "\t".join(map(str, self.loss.argmin(axis=1).tolist())))
        lines.append("rows\t" + "\t".join(map(str, range(n))))
        return "".join(f"{line}\n" for line in lines).encode()

    def csv(self) -> str:
        names = [f"x{f}" for f in range(len(self.order))]
        rows = zip(self.loss.argmin(axis=1), self.ranks.tolist(), strict=True)
        lines = [",".join([f"c{label}", *map(str, ranks)]) for label, ranks in rows]
        return "\n".join([",".join(["y", *names]), *lines]) + "\n"


def problem_of(rng: np.random.Generator) -> Problem:
    """Errors, weights or costs of more classes than a side has leaves."""
    n, p, k = int(rng.integers(8, 17)), int(rng.integers(1, 3)), int(rng.integers(3, 8))
    x = np.array([rng.integers(0, rng.integers(3, n), n) for _ in range(p)]).T
    x[:3, 0] = 0, 1, 2  # more than two values: not by bits
    ranks = np.array([np.unique(column, return_inverse=True)[1] for column in x.T]).T
    label = np.minimum(rng.integers(0, k, n), rng.integers(0, k, n))
    loss = np.ones((n, k), dtype=int)
    if rng.random() < 0.6:
        loss = loss * rng.integers(1, 4, n)[:, None]
        if rng.random() < 0.5:
            loss = rng.integers(0, 4, (n, k))
    loss[np.arange(n), label] = 0
    least = int(rng.integers(2, 4)) if rng.random() < 0.3 else 1
    return Problem(ranks, loss, int(rng.integers(0, 2)), int(rng.integers(4, 9)), least)


Bound = tuple[int, bool, bool, int]
"""A place, whether of the right side, whether leaves have the least size; and how much."""


@dataclass
class Claim:
    """Bounds at some tests of each feature, for each division of the leaves, and on all rows."""

    problem: Problem
    flat: int
    bounds: list[tuple[int, int, list[Bound]]]  # leaves on the left, feature, and those

    def closes(self, *, classes: bool = True) -> int:
        """The most that follows, by the rules as the page proves them."""
        p = self.problem
        n = len(p.rows)
        found = p.price + int(p.loss.sum(axis=0).min())
        for left, f, bounds in self.bounds:
            for t in p.places[f]:
                if not p.least <= t <= n - p.least:
                    continue
                total = 0
                for right, leaves in ((False, left), (True, p.leaves - left)):
                    here = p.side(f, t, right)
                    offers = [
                        (n * (not right), p.least > 1, self.flat),
                        (n * right, False, p.price),
                    ]
                    offers += [(u, sized, v) for u, side, sized, v in bounds if side == right]
                    best = p.price
                    for u, sized, value in offers:
                        there = p.side(f, u, right)
                        if there >= here:  # DEL
                            best = max(best, value - p.most(there - here))
                        elif not sized:  # MONO
                            best = max(best, value + classes * p.lost(here - there, leaves))
                    total += best
                found = min(found, total)
        return found

    def steps(self, target: int) -> list[int]:
        p, numbers = self.problem, [1, 3, target, 1, self.flat]
        for _, f, bounds in self.bounds:
            ranks = p.ranks[p.order[f], f]
            cuts = sorted({t for t, *_ in bounds})
            numbers.append(len(cuts))
            before = -1
            for t in cuts:
                here = {2 * sized + right: value for u, right, sized, value in bounds if u == t}
                rank = int(ranks[t - 1])
                numbers += [rank - before - 1, sum(1 << bit for bit in here)]
                numbers += [here[bit] for bit in sorted(here)]
                before = rank
        return numbers


def claim_of(rng: np.random.Generator, p: Problem) -> Claim:
    """True bounds at some tests, mostly few: the values of the best trees of two levels."""
    flat = p.best(p.rows, 2, min(p.leaves, 4), p.least) if rng.random() < 0.4 else 0
    bounds = []
    for left in range(max(1, p.leaves - 4), min(4, p.leaves - 1) + 1):
        for f, places in enumerate(p.places):
            if not places:
                continue
            chosen: list[Bound] = []
            for t in places:
                for right, leaves in ((False, left), (True, p.leaves - left)):
                    for sized in (False, True) if p.least > 1 else (False,):
                        if rng.random() < 0.5:
                            continue
                        least = p.least if sized else 1
                        value = p.best(p.side(f, t, right), min(2, leaves - 1), leaves, least)
                        if value < NONE:
                            chosen.append((t, right, sized, value))
            bounds.append((left, f, chosen))
    return Claim(p, 0 if flat == NONE else flat, bounds)


def verdict(problem: Problem, steps: list[int], folder: Path) -> str:
    """What `odtcheck` says of some steps, with no tree beside them."""
    path, text = folder / "a.cert", problem.text()
    (folder / "a.cert.csv").write_text(problem.csv())
    path.write_bytes(MAGIC + f"{len(text)}\n".encode() + text + as_bytes(steps))
    told = checked(path)
    assert told.returncode in (0, 1), told.stderr
    return told.stdout


@pytest.mark.parametrize("seeds", blocks(4000, 40, part=0.2), ids=lambda seeds: f"{seeds[0]}")
def test_a_claim_holds_as_far_as_the_rules_lead(seeds: range, tmp_path: Path) -> None:
    """No further, and never beyond what the best tree loses, found by trying all."""
    needed = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem = problem_of(rng)
        claim = claim_of(rng, problem)
        shown = claim.closes()
        assert shown <= problem.best(problem.rows, 3, problem.leaves, problem.least)
        if shown <= problem.price:
            continue
        true, false = (
            verdict(problem, claim.steps(value), tmp_path) for value in (shown, shown + 1)
        )
        assert "certified: the bounds above" in true, f"seed {seed}: {true}"
        assert "refused at step" in false, f"seed {seed}: {false}"
        if claim.closes(classes=False) < shown:
            assert "CLASSES" in true
            needed += 1
    assert needed > len(seeds) / 20


def solvable(rng: np.random.Generator) -> tuple[str, dict[str, Any], Problem, int]:
    """A spec of up to seven classes, its rows, the same as a problem, and the depth."""
    n, p, k = int(rng.integers(7, 16)), int(rng.integers(1, 4)), int(rng.integers(3, 8))
    x = np.array([rng.integers(0, rng.integers(3, n), n) for _ in range(p)]).T
    label = np.minimum(rng.integers(0, k, n), rng.integers(0, k, n))
    label[:2] = 0, 1
    depth, price = int(rng.integers(3, 5)), int(rng.integers(0, 3)) // 2
    leaves = int(rng.integers(4, 2**depth + 1))
    least = 2 if rng.random() < 0.2 else 1
    frame: dict[str, Any] = {f"x{f}": x[:, f].tolist() for f in range(p)}
    frame["y"] = [f"c{c}" for c in label]
    lines = [
        f"data frame target y: class feature {', '.join(f'x{f}' for f in range(p))}: number",
        f"tree depth <= {depth} minimize errors{' + leaves' * price}",
        f"rule few: leaves <= {leaves}",
        "rule big: forall leaf: size >= 2" * (least - 1),
    ]
    loss = (label[:, None] != np.arange(label.max() + 1)).astype(int)
    return "\n".join(lines), frame, Problem(x, loss, price, leaves, least), depth


@pytest.mark.parametrize("seeds", blocks(4000, 40, part=0.2), ids=lambda seeds: f"{seeds[0]}")
def test_optima_of_many_classes_are_certified(seeds: range, tmp_path: Path) -> None:
    """They are those of brute force, and a claim of one more is refused."""
    path = tmp_path / "a.cert"
    used = 0
    for seed in seeds:
        spec, frame, problem, depth = solvable(np.random.default_rng(seed))
        best = problem.best(problem.rows, depth, problem.leaves, problem.least)
        result = odtdsl.solve(spec, frame=frame, using="exact", threads=1 + seed % 2, proof=path)
        assert (result.status, result.objective) == ("optimal", best), f"seed {seed}"
        told = checked(path).stdout
        assert told.endswith("certified: the tree is optimal\n"), f"seed {seed}: {told}"
        used += "CLASSES" in told
        forged(path)
    assert used > len(seeds) / 20


def test_the_most_leaves_count_on_each_side_of_many_levels(tmp_path: Path) -> None:
    """One side may have more leaves than the engine counts classes, the other fewer."""
    rng = np.random.default_rng(3)
    frame: dict[str, Any] = {f"x{f}": rng.integers(0, 6, 60).tolist() for f in range(2)}
    frame["y"] = [f"c{c}" for c in np.minimum(rng.integers(0, 3, 60), rng.integers(0, 4, 60))]
    spec = "data frame target y: class tree depth <= 6 minimize errors rule few: leaves <= 20"
    path = tmp_path / "a.cert"
    assert odtdsl.solve(spec, frame=frame, using="exact", proof=path).status == "optimal"
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")


def test_gains_of_many_leaves_do_not_overflow(tmp_path: Path) -> None:
    """4,096 leaves on a side, each of which gains some 2^51 on the same row: a split loses 0."""
    path, heavy, classes = tmp_path / "a.cert", 3 << 50, 4098
    lines = [
        *["problem\t1", "target\ty", *(f"class\tc{c}" for c in range(classes))],
        *["feature\tnumber\tx", "depth\t13", "leaves\t8192", "leaf rows\t1"],
        "stage\tlost\tleast\t0",
        "\t".join(["loss\t0", str(heavy), *["1"] * (classes - 2)]),
        "\t".join(["loss\t1\t0", *["1"] * (classes - 2)]),
        *["kinds\t0\t1", "rows\t0\t1", "leaf\t0"],
    ]
    text = "".join(f"{line}\n" for line in lines).encode()
    (tmp_path / "a.cert.csv").write_text("y,x\nc0,0\nc1,1\n")
    path.write_bytes(MAGIC + f"{len(text)}\n".encode() + text + bytes([1, 13, 1, 1, 0, 0]))
    assert "refused at step 1: a test is left open" in checked(path).stdout
