"""Numbers as places among their different values: the native ranks against a plain sort."""

from __future__ import annotations

import numpy as np
import pytest
from scale import scaled

from odtdsl.datasets.table import FloatArray, ranked


def drawn(random: np.random.Generator) -> FloatArray:
    """Few or many values, close or far apart, of either sign, some of them missing."""
    count = int(random.choice([0, 1, 2, 3, 10, 100, 3_000, 6_000]))
    numbers: FloatArray = random.normal(size=count) * 10.0 ** random.integers(-300, 300)
    if random.random() < 0.5:
        numbers = random.integers(-50, 50, count) * random.choice([1.0, 0.1, 1e-320])
    if random.random() < 0.3 and count:
        numbers = numbers[random.integers(0, count, count)]
    if random.random() < 0.3 and count:
        special = np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1.7e308])
        numbers = np.where(random.random(count) < 0.2, random.choice(special, count), numbers)
    return np.where(random.random(count) < random.choice([0, 0.1, 1]), np.nan, numbers)


def held(numbers: FloatArray) -> None:
    values, places = ranked(numbers)
    there = ~np.isnan(numbers)
    wanted = np.unique(numbers[there])
    assert values.dtype == np.float64
    assert places.dtype == np.int64
    assert np.array_equal(values, wanted)
    assert np.array_equal(places[there], np.searchsorted(wanted, numbers[there]))
    assert (places[~there] == len(wanted)).all()


def test_ranks_are_those_of_a_sort() -> None:
    random = np.random.default_rng(5)
    for _ in range(scaled(3_000)):
        held(drawn(random))


@pytest.mark.parametrize("different", [2_047, 2_048, 2_049, 5_000])
def test_as_many_values_as_a_table_holds(different: int) -> None:
    random = np.random.default_rng(different)
    numbers = np.concatenate([random.permutation(different), random.integers(0, different, 999)])
    held(numbers / 7)


def test_columns_of_a_matrix() -> None:
    table = np.random.default_rng(1).integers(0, 9, (50, 3)) / 2
    held(table[:, 1])
    assert not np.signbit(ranked(np.array([-0.0, 0.0]))[0]).any()
