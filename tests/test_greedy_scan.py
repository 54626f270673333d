"""The native split scan against sums in plain Python."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest
from random_cores import random_sample
from scale import scaled

from odtdsl.backends.greedy.tables import Tables, _scanner
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.ir.evaluate import goes_left
from odtdsl.problem.ir.families import Family


def naive(family: Family, rows, gains, bounded, minima, mask) -> list[tuple[int, int, float, int]]:
    """Every test that may stand: (test, gain, gini, sides)."""
    codes = family.codes[rows]
    n_values = len(family.bins) if family.kind == "bin" else len(family.values)
    found = []
    for test in range(family.n_tests):
        present = sorted({int(c) for c in codes if 0 <= c < n_values})
        if test not in present:
            continue  # the same as the test of the next lower value that is here
        later = [c for c in present if c > test]
        if family.kind == "threshold":
            if not later or not mask[test : later[0]].any():
                continue
        elif not mask[test]:
            continue
        left = goes_left(family, test, codes)
        if left.all() or not left.any():
            continue
        sides = (rows[left], rows[~left])
        if any((bounded[side].sum(axis=0) < minima).any() for side in sides):
            continue
        sums = [gains[side].sum(axis=0) for side in sides]
        gini = sum(float((s.astype(float) ** 2).sum() / s.sum()) for s in sums if s.sum() > 0)
        gain = int(sums[0].max() + sums[1].max())
        found.append((test, gain, gini, int(sums[0][0] + sums[1][1])))
    return found


@pytest.mark.parametrize("seed", range(scaled(25)))
def test_agrees_with_plain_sums(seed: int) -> None:
    rng = random.Random(seed)
    draw = np.random.default_rng(seed)
    some = 0
    for _ in range(12):
        core = random_sample(rng, rules=0, n_rows=rng.choice([3, 9, 60])).core
        n = core.n_rows
        scan = _scanner(core)
        gains = draw.integers(0, 6, (n, 2))
        bounded = draw.integers(0, 3, (n, rng.randint(0, 2)))
        minima = draw.integers(0, 4, bounded.shape[1])
        masks = [draw.random(family.n_tests) < 0.7 for family in core.families]
        allowed = np.concatenate([np.concatenate(([0], np.cumsum(m))) for m in masks])
        rows = np.sort(draw.choice(n, size=rng.randint(1, n), replace=False))
        every = np.arange(len(core.families))
        answers = [
            scan.best(rows, gains, bounded, minima, allowed.astype(np.int64), every, score)  # type: ignore[arg-type]
            for score in range(3)
        ]
        for index, family in enumerate(core.families):
            listed = naive(family, rows, gains, bounded, minima, masks[index])
            some += bool(listed)
            for score, (tests, exact, gini) in enumerate(answers):
                if not listed:
                    assert tests[index] == -1
                    continue
                (chosen,) = [item for item in listed if item[0] == tests[index]]
                if score == 0:
                    assert gini[index] == pytest.approx(max(item[2] for item in listed))
                    assert gini[index] == pytest.approx(chosen[2])
                elif score == 1:
                    assert exact[index] == chosen[1] == max(item[1] for item in listed)
                else:
                    assert exact[index] == chosen[3] == max(item[3] for item in listed)
    assert some


def test_sums_are_exact_where_doubles_are_not() -> None:
    core = random_sample(random.Random(4), rules=0, n_rows=60).core
    scan = _scanner(core)
    gains = np.zeros((60, 2), dtype=np.int64)
    gains[:, 0] = 2**52 + 1
    gains[:, 1] = 2**52
    nothing = np.zeros((60, 0), dtype=np.int64)
    allowed = np.concatenate([np.arange(f.n_tests + 1) for f in core.families]).astype(np.int64)
    tests, exact, _ = scan.best(
        np.arange(60),
        gains,
        nothing,
        np.zeros(0, dtype=np.int64),
        allowed,
        np.arange(len(core.families)),
        1,
    )
    assert (tests >= 0).any()
    assert set(exact[tests >= 0].tolist()) == {60 * (2**52 + 1)}


def test_refuses_what_would_read_beyond_its_arrays() -> None:
    core = random_sample(random.Random(4), rules=0, n_rows=9).core
    scan = _scanner(core)
    gains, nothing = np.zeros((9, 2), dtype=np.int64), np.zeros((9, 0), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    allowed = np.concatenate([np.arange(f.n_tests + 1) for f in core.families]).astype(np.int64)
    first = np.zeros(1, dtype=np.int64)
    for bad in (
        (np.array([9]), gains, nothing, none, allowed, first, 0),
        (np.array([-1]), gains, nothing, none, allowed, first, 0),
        (np.arange(9), gains[:5], nothing, none, allowed, first, 0),
        (np.arange(9), gains, nothing, none, allowed[:-1], first, 0),
        (np.arange(9), gains, nothing, none, allowed, np.array([99]), 0),
        (np.arange(9), gains, nothing, none, allowed, first, 3),
    ):
        with pytest.raises(ValueError, match="scan:"):
            scan.best(*bad)


def test_says_how_to_build_the_native_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "odtdsl.base._engine", None)
    with pytest.raises(OdtError) as caught:
        Tables(random_sample(random.Random(0), rules=0).core)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "X202"
    assert "pip install --editable ." in diagnostic.helps[-1]
