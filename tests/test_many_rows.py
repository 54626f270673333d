"""What is done in other ways where rows are many: counts, codes between thresholds, Arrow texts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from engine_calls import solve
from engine_oracle import rank_columns
from scale import scaled

import odtdsl
from odtdsl.base import _engine as engine
from odtdsl.datasets.frames import read_frame
from odtdsl.problem.ir import families


def random_frame(rng: random.Random, n: int) -> dict[str, list[Any]]:
    def cell(f: int) -> float | None:
        return None if f == 1 and rng.random() < 0.2 else rng.randint(0, 9) / 2

    frame: dict[str, list[Any]] = {f"x{f}": [cell(f) for _ in range(n)] for f in range(3)}
    frame["y"] = [rng.choice("pq") for _ in range(n)]
    return frame


@pytest.mark.usefixtures("few_starts")
@pytest.mark.parametrize("using", ["exact", "greedy", "milp"])
def test_listed_thresholds_give_the_same_optimum_from_codes_between_them(
    using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With missing cells, all three places of thresholds, and rules that leave some out."""
    rng = random.Random(3)
    for _ in range(scaled(60 if using == "milp" else 300, part=0.5)):
        frame = random_frame(rng, rng.randint(4, 30))
        places = rng.choice(["quantiles 4", "{1, 2.5, 7}", "{0.5, 0.75, 3}"])
        rule = rng.choice(["", "rule r: forall split: threshold(x0) >= 1"])
        missing = rng.choice(["branch", "left", "right"])
        text = (
            f"data frame target y: class\nmissing {missing}\n"
            f"candidates * at {places} tree depth <= 2 "
            f"minimize errors then leaves {rule}"
        )
        found = []
        for most in (100_000, 0):
            monkeypatch.setattr(families, "MOST_EXACT_GAPS", most)
            result = odtdsl.solve(text, frame=frame, using=using)
            assert result.audit is None or result.audit.holds, text
            found.append((result.status, [stage.value for stage in result.stages]))
        assert found[0] == found[1], text


def test_counts_prove_what_scans_prove_on_many_rows() -> None:
    """Chosen from 32,768 rows on, with one thread or two, weights, prices and least sizes."""
    rng = np.random.default_rng(4)
    n = 40_000
    x = rng.integers(0, 6, size=(n, 5))
    x[:, 3] %= 2
    ranks, distinct = rank_columns(x)
    labels = ((x[:, 0] > 2) ^ (x[:, 1] > 3) ^ (rng.random(n) < 0.1)).astype(np.int32)
    weights = rng.integers(1, 4, size=n).astype(np.int64)
    for depth, more in ((1, {}), (2, {}), (3, {}), (3, {"weights": weights, "leaf_price": 90})):
        for least in (1, 4000):
            asked = (ranks, distinct, labels, 2, depth)
            limits: dict[str, Any] = {"min_leaf_rows": least, **more}
            scans = solve(*asked, method="sorted", beside=False, **limits)
            for threads in (1, 2):
                counts = solve(*asked, threads=threads, **limits)
                assert (scans.method, counts.method) == ("sorted", "counts")
                assert (counts.status, counts.objective) == ("optimal", scans.objective)


def test_a_limit_that_ends_the_counts_keeps_a_tree(request: pytest.FixtureRequest) -> None:
    """At every look at the clock; the bound is true."""
    rng = np.random.default_rng(5)
    ranks, distinct = rank_columns(rng.integers(0, 5, size=(500, 5)))
    labels = rng.integers(0, 3, size=500).astype(np.int32)
    asked = (ranks, distinct, labels, 3, 3)
    best = solve(*asked, method="counts")
    assert best.method == "counts"
    values = set()
    engine.look_every(1)
    request.addfinalizer(lambda: engine.look_every(0))
    for looks in range(40):
        found = solve(*asked, method="counts", time_limit=1e9, work_limit=max(1, 500 * looks))
        assert found.bound <= best.objective
        if found.tree is not None:
            assert found.objective >= best.objective
            values.add(found.objective)
    assert len(values) > 1, "some are stopped between pairs and threes of features"


@pytest.mark.parametrize("words", [["a", None, "b"], ["1", "2", None], ["", " a", "a"], [None]])
def test_arrow_texts_are_what_other_texts_are(words: list[str | None]) -> None:
    import pyarrow

    many = words * 5
    plain = read_frame({"x": many}).columns["x"]
    for array in (
        pyarrow.array(many, pyarrow.string()),
        pyarrow.array(many, pyarrow.large_string()),
        pyarrow.array(many, pyarrow.string()).dictionary_encode(),
        pyarrow.chunked_array([pyarrow.array(words, pyarrow.string())] * 5),
    ):
        column = read_frame(pyarrow.table({"x": array})).columns["x"]
        assert column.texts.tolist() == plain.texts.tolist()
        assert column.missing.tolist() == plain.missing.tolist()
        assert (column.numbers is None) == (plain.numbers is None)
        assert (column.blanks, column.by_value) == (plain.blanks, plain.by_value)
        if plain.numbers is not None:
            np.testing.assert_array_equal(column.numbers, plain.numbers)
