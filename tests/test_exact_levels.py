"""Categories of very many levels, each of them a feature of the search, under its limits."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from random_cores import random_sample
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.exact.features import ruled_features
from odtdsl.backends.registry import back_end
from odtdsl.problem.ir import filters
from odtdsl.problem.ir.families import Family, admissible
from odtdsl.problem.ir.filters import threshold_set
from odtdsl.problem.ir.forms import SplitFilter
from odtdsl.problem.ir.intervals import RealSet

LEVELS, ROWS = 10_000, 20_000
LIMIT = 2
"""Seconds of wall time, that the command is given."""
MOST = 16
"""Seconds of the processor, for all of it; comparing the rows two by two took more than 25."""


def test_features_part_the_rows_as_their_tests_do() -> None:
    learned = by_level = 0
    for seed in range(scaled(300)):
        core = random_sample(random.Random(f"levels {seed}")).core
        found = ruled_features(core, 2)
        levels = found.by_level or (found.allowed,)
        expected = []
        for index, family in enumerate(core.families):
            may = [
                admissible(family, threshold_set(family, core.filters, level))
                for level in range(len(levels))
            ]
            asked = np.flatnonzero(np.any(may, axis=0)).tolist()
            for test in asked:
                feature = found.tests.index((index, -1 if family.kind == "threshold" else test))
                cut = test + (family.missing == "left") if family.kind == "threshold" else 0
                assert ((found.ranks[feature] <= cut) == family.goes_left(test)).all(), seed
                for level, flags in enumerate(may):
                    stands = levels[level][feature]
                    assert (stands is None or stands[cut]) == flags[test], seed
            expected += (
                [(index, -1)] * bool(asked)
                if family.kind == "threshold"
                else [(index, test) for test in asked]
            )
            learned += bool(asked) and family.kind != "threshold" and family.missing == "left"
        assert found.tests == tuple(expected)
        assert (found.ranks.max(axis=1) < found.distinct).all()
        by_level += len(levels) > 1
    assert learned >= 100 * SCALE
    assert by_level >= 100 * SCALE


@pytest.mark.parametrize("using", ["exact", "greedy"])
def test_filters_of_other_columns_are_not_looked_at(
    using: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A rule by level has a filter for each column: to look at all of them for each is to square
    them, 7 of 9 seconds with 4,000 columns."""
    columns, looked = 200, 0

    def counted(family: Family, rules: Iterable[SplitFilter], level: int) -> RealSet:
        nonlocal looked
        looked += len(rules := list(rules))
        return threshold_set(family, rules, level)

    monkeypatch.setattr(filters, "threshold_set", counted)
    cells = np.random.default_rng(1).integers(0, 9, (40, columns))
    names = [*(f"c{i}" for i in range(columns)), "y"]
    lines = [",".join([*map(str, row), "ab"[int(row[5] > 4)]]) for row in cells]
    (tmp_path / "f.csv").write_text("\n".join([",".join(names), *lines]))
    rule = "rule rooted: forall split: if level = 0 then feature in {c1, c2}"
    (tmp_path / "f.odt").write_text(f'data "f.csv" target y tree depth <= 1 minimize errors {rule}')
    assert odtdsl.solve(odtdsl.load(tmp_path / "f.odt"), using=using).tree is not None
    assert columns < looked < 30 * columns


def test_many_columns_of_few_rows_count_as_work() -> None:
    """Or the search under rules parts the rows for seconds without a look at the clock."""
    columns, steps = 500, 2
    rng = np.random.default_rng(0)
    cells = {f"c{i}": rng.integers(0, 9, 40) for i in range(columns)}
    cells["y"] = rng.choice(["a", "b"], 40)
    rule = "rule rooted: forall split: if level = 0 then feature in {c1, c2}"
    text = f"data frame target y tree depth <= 3 minimize errors {rule}"
    core = odtdsl.plan(text, frame=cells).core
    answer = back_end("exact").solve(core, Limits(steps=steps), None, None)
    # A cut parts all columns; the nodes below it count as well, and leave it a half at least.
    fewest = steps * 1_000_000 / (columns * len(cells["y"])) / 2
    assert fewest < dict(answer.counters)["cuts"] < steps * 1_000_000 / columns


@pytest.mark.parametrize(
    "rule", ["", pytest.param("rule pure: forall leaf: purity >= 60%", marks=pytest.mark.nightly)]
)
def test_ten_thousand_levels_end_near_the_limit(tmp_path: Path, rule: str) -> None:
    rng = np.random.default_rng(1)
    level, x = rng.integers(0, LEVELS, ROWS), rng.normal(size=ROWS)
    label = np.where((x > 0) ^ (level % 7 == 0), "a", "b")
    lines = [f"v{a},{b:.3f},{c}" for a, b, c in zip(level, x, label, strict=True)]
    (tmp_path / "f.csv").write_text("\n".join(["c,x,y", *lines]))
    (tmp_path / "f.odt").write_text(
        f'data "f.csv" target y feature c: category tree depth <= 2 minimize errors {rule}'
        f" solve within {LIMIT} s"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, "-m", "odtdsl", "solve", "f.odt"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.returncode == 0, ran.stderr
    assert "feasible: the best tree found" in ran.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < MOST
