"""Candidate thresholds and bins: exact, inside their gaps, and scikit-learn's bins."""

from __future__ import annotations

import math
import os
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scale import scaled

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler import rule_warnings
from odtdsl.datasets import candidates
from odtdsl.datasets.candidates import (
    bin_codes,
    bin_edges,
    gaps,
    guessed_cuts,
    midpoint,
    quantile_cuts,
    short_cut,
)
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.predictors.nodes import Branch

FINITE = st.floats(allow_nan=False, allow_infinity=False)
Floats = npt.NDArray[np.float64]


@given(FINITE, FINITE)
@settings(max_examples=scaled(500))
def test_midpoint_is_inside_its_gap(a: float, b: float) -> None:
    assume(a != b)
    low, high = min(a, b), max(a, b)
    middle = midpoint(low, high)
    assert low <= middle < high
    assert not (middle == 0 and math.copysign(1, middle) < 0) or middle == low


@given(FINITE)
def test_midpoint_of_neighbours(low: float) -> None:
    high = math.nextafter(low, math.inf)
    assume(math.isfinite(high))
    assert midpoint(low, high) == low


def test_midpoint_of_extremes() -> None:
    largest = math.nextafter(math.inf, 0)
    assert midpoint(-largest, largest) == 0
    assert midpoint(1e308, largest) == pytest.approx(0.5e308 + largest / 2)
    assert midpoint(0.0, 5e-324) == 0
    assert midpoint(1.0, 2.0) == 1.5


def test_gaps() -> None:
    values = np.array([3.0, math.nan, 1.0, 3.0, 2.0])
    assert gaps(values).tolist() == [1, 2, 3]


def short_cuts(values: Floats) -> set[float]:
    return {short_cut(u, v) for u, v in pairwise(gaps(values).tolist())}


def test_quantile_cuts() -> None:
    values = np.append(np.arange(101.0), math.nan)
    assert quantile_cuts(values, 10) == (10, 20, 30, 40, 50, 60, 70, 80, 90)
    assert quantile_cuts(np.array([1.0, 1, 1, 1, 9]), 4) == (1.0,)
    assert quantile_cuts(np.array([math.nan]), 4) == ()
    rng = np.random.default_rng(0)
    values = rng.normal(size=57)
    wanted = np.quantile(values, np.arange(1, 7) / 7)
    assert quantile_cuts(values, 7) == pytest.approx(wanted, rel=1e-11)
    largest = math.nextafter(math.inf, 0)
    assert quantile_cuts(np.array([-largest, largest]), 2) == (0.0,)


@pytest.mark.parametrize("seed", range(scaled(200)))
def test_quantiles_are_written_without_the_noise_of_their_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(2, 60)), int(rng.integers(2, 9))
    values = np.round(rng.uniform(-100, 100, size), int(rng.integers(0, 4)))
    if seed % 5 == 0:  # digits that no rounding keeps
        values = values / 3
    wanted = np.quantile(values, np.arange(1, count) / count)
    cuts = quantile_cuts(values, count)
    assert {(values <= cut).tobytes() for cut in cuts} == {
        (values <= cut).tobytes() for cut in wanted
    }
    assert all(np.abs(wanted - cut).min() <= 1e-9 for cut in cuts)
    if seed % 5:
        assert all(len(repr(cut)) <= 14 for cut in cuts)
    frame = {"a": values.tolist(), "y": ["n", "p"] * (size // 2) + ["n"] * (size % 2)}
    text = f"target y\ncandidates a at quantiles {count}\ntree depth <= 2\nminimize errors"
    found = odtdsl.parse(f"data frame\n{text}").solve(frame=frame)
    assert found.audit is not None
    assert found.audit.holds


@pytest.mark.parametrize("call", [quantile_cuts, bin_edges])
def test_a_single_share_is_refused(call: object) -> None:
    with pytest.raises(OdtError) as caught:
        call(np.arange(3.0), 1)  # type: ignore[operator]
    assert caught.value.diagnostics[0].code == "D171"


def discretizer(values: Floats, count: int) -> tuple[Floats, Floats]:
    """Edges and codes by scikit-learn."""
    import inspect

    from sklearn.preprocessing import KBinsDiscretizer

    options = {"strategy": "quantile", "encode": "ordinal", "subsample": None}
    if "quantile_method" in inspect.signature(KBinsDiscretizer).parameters:
        options["quantile_method"] = "linear"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = KBinsDiscretizer(count, **options).fit(values.reshape(-1, 1))
        return fitted.bin_edges_[0], fitted.transform(values.reshape(-1, 1))[:, 0]


SERIES = st.one_of(
    st.lists(st.integers(0, 6).map(float), min_size=1, max_size=25),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=25),
    st.lists(st.integers(0, 9).map(lambda i: i * 4e-9), min_size=1, max_size=12),
)


@given(SERIES, st.integers(2, 6))
@settings(max_examples=scaled(300), deadline=None)
def test_bins_are_those_of_scikit_learn(series: list[float], count: int) -> None:
    values = np.array(series)
    edges = bin_edges(values, count)
    wanted, codes = discretizer(values, count)
    assert edges == tuple(wanted.tolist())
    assert bin_codes(values, edges).tolist() == codes.tolist()


def test_bins_pass_over_missing_values() -> None:
    values = np.array([1.0, math.nan, 2, 3, 4, 5, 6])
    edges = bin_edges(values, 3)
    assert edges == bin_edges(values[~np.isnan(values)], 3)
    assert bin_codes(values, edges).tolist() == [0, -1, 0, 1, 1, 2, 2]
    assert bin_codes(np.array([-99.0, 99.0]), edges).tolist() == [0, 2]
    assert bin_edges(np.array([math.nan]), 3) == (-math.inf, math.inf)


def least_errors(tests: list[npt.NDArray[np.bool_]], y: npt.NDArray[np.int64], depth: int) -> int:
    """The least errors of a tree over the tests, by trying all of them."""

    def of(rows: npt.NDArray[np.int64], left: int) -> int:
        best = len(rows) - int(np.bincount(y[rows]).max())
        if left == 0 or best == 0:
            return best
        for test in tests:
            yes, no = rows[test[rows]], rows[~test[rows]]
            if len(yes) and len(no):
                best = min(best, of(yes, left - 1) + of(no, left - 1))
        return best

    return of(np.arange(len(y)), depth)


def in_bin_tests(columns: list[Floats]) -> list[npt.NDArray[np.bool_]]:
    tests: list[Any] = []
    for values in columns:
        edges = bin_edges(values, 3)
        codes = bin_codes(values, edges)
        tests.extend(codes == i for i in range(len(edges) - 1))
    return tests


def test_iris_with_three_bins() -> None:
    table = read(DataRequest(kind="sklearn", name="iris"), base=Path())
    *features, target = table.columns.values()
    tests = in_bin_tests([c.numbers for c in features if c.numbers is not None])
    y = np.unique(target.texts.astype(str), return_inverse=True)[1]
    assert [least_errors(tests, y, depth) for depth in (1, 2, 3)] == [50, 7, 3]


def test_haberman_with_three_bins() -> None:
    folder = os.environ.get("ODTDSL_DATA")
    if folder is None:
        pytest.skip("ODTDSL_DATA does not name the folder of public data")
    request = DataRequest(kind="file", name="cases/haberman.csv")
    *features, target = read(request, base=Path(folder)).columns.values()
    tests = in_bin_tests([c.numbers for c in features if c.numbers is not None])
    y = (target.texts == "yes").astype(np.int64)
    assert [least_errors(tests, y, depth) for depth in (1, 2, 3)] == [81, 78, 77]


def test_guessed_cuts_find_the_gap_exactly() -> None:
    rng = np.random.default_rng(0)
    near = 1.0 + np.arange(40) * 2.0**-52  # apart in float64, all one in float32
    x = near[rng.integers(0, 40, 300)]
    noise = rng.normal(size=300)
    noise[:30] = math.nan
    y = (x > near[20]).astype(np.int64)
    cuts = guessed_cuts({"x": x, "noise": noise}, y, seed=0)  # type: ignore[dict-item]
    assert short_cut(near[20], near[21]) in cuts["x"]
    assert set(cuts["x"]) <= short_cuts(x)  # type: ignore[arg-type]
    assert cuts == guessed_cuts({"x": x, "noise": noise}, y, seed=0)  # type: ignore[dict-item]


def test_guessed_cuts_are_shortest_in_their_gaps() -> None:
    table = read(DataRequest(kind="sklearn", name="wine"), base=Path())
    *features, target = table.columns.values()
    columns = {c.name: c.numbers for c in features if c.numbers is not None}
    y = np.unique(target.texts.astype(str), return_inverse=True)[1].astype(np.int64)
    for goal in (y, columns["hue"], np.column_stack([columns["hue"], columns["ash"]])):
        cuts = guessed_cuts(columns, goal, seed=1)
        assert list(cuts) == list(columns)
        assert sum(map(len, cuts.values())) > 10
        for name, found in cuts.items():
            assert set(found) <= short_cuts(columns[name])
            assert all(u < v for u, v in pairwise(found))


def test_of_many_rows_a_sample_is_boosted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cuts stand in the gaps of all rows, and hit those of the sample's."""
    monkeypatch.setattr(candidates, "BOOSTED_ROWS", 100)
    monkeypatch.setattr(rule_warnings, "BOOSTED_ROWS", 100)
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=1000), 3)
    y = ((x > -0.5) & (x < 0.7)).astype(np.int64)
    (cuts,) = guessed_cuts({"x": x}, y, seed=0).values()
    values = np.unique(x)
    for cut in cuts:
        above = int(np.searchsorted(values, cut, "right"))
        assert cut == short_cut(values[above - 1], values[above])
    assert min(abs(c + 0.5) for c in cuts) < 0.1
    assert min(abs(c - 0.7) for c in cuts) < 0.1
    others = guessed_cuts({"x": x}, y, seed=1)["x"]
    assert others != cuts
    text = "data frame target y candidates x at guessed tree depth <= 2 minimize errors"
    result = odtdsl.solve(text, frame={"x": x, "y": y})
    assert result.tree is not None
    asked = {one.test.value for one in result.tree.nodes() if isinstance(one, Branch)}
    assert asked <= set(cuts)
    (told,) = result.warnings
    assert told.code == "D225"
    (label,) = told.labels
    assert text[label.span.start : label.span.end] == "candidates x at guessed"
    text = text.replace("candidates x at guessed", "")
    assert not odtdsl.solve(text, frame={"x": x, "y": y}).warnings


def test_guessed_cuts_where_there_is_nothing_to_learn() -> None:
    x = np.arange(4.0)
    assert guessed_cuts({"x": x}, np.zeros(4, dtype=np.int64), seed=0) == {"x": ()}
    assert guessed_cuts({"x": np.full(4, math.nan)}, np.array([0, 1, 0, 1]), seed=0) == {"x": ()}
    assert guessed_cuts({}, np.array([0, 1]), seed=0) == {}
