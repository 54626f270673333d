"""What is told of columns natively: ranks against a plain sort, few texts, plain errors."""

from __future__ import annotations

import numpy as np
import pytest
from scale import scaled

from odtdsl.base import engine
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


def test_finite_numbers_are_told() -> None:
    random = np.random.default_rng(3)
    for _ in range(scaled(500)):
        numbers = random.choice([0.0, -1.5, 1e308, -1e308, 5e-324], int(random.integers(0, 40)))
        if random.random() < 0.5 and len(numbers):
            place = int(random.integers(0, len(numbers)))
            numbers[place] = random.choice([np.nan, np.inf, -np.inf])
        assert engine.all_finite(numbers) == np.isfinite(numbers).all()


def test_few_words_are_those_of_a_dictionary() -> None:
    random = np.random.default_rng(4)
    some = ("", "a", "b", "ab", "aa", "a b", "\u00e4", "\U0001f333", "abc" * 9, "abc" * 8)
    words = np.array(some)
    for _ in range(scaled(500)):
        cells = random.choice(words, int(random.integers(1, 60)))[::2]
        most = int(random.integers(1, 12))
        known: dict[str, int] = {}
        wanted = [known.setdefault(str(cell), len(known)) for cell in cells]
        characters = np.ascontiguousarray(cells).view(np.uint32).reshape(len(cells), -1)
        found = engine.few_words(characters, most)
        if len(known) > most:
            assert found is None
            continue
        assert found is not None
        assert [str(cells[row]) for row in found[0]] == list(known)
        assert found[1].tolist() == wanted


def test_plain_errors_are_told_from_other_losses() -> None:
    random = np.random.default_rng(6)
    for _ in range(scaled(1_000)):
        rows, labels = int(random.integers(0, 8)), int(random.integers(1, 5))
        right = random.integers(0, labels, rows)
        losses = random.integers(-3, 4, rows)[:, None] + np.ones((rows, labels), dtype=np.int64)
        losses[np.arange(rows), right] -= 1
        if random.random() < 0.3 and rows:
            losses[int(random.integers(0, rows)), int(random.integers(0, labels))] += 1
        least = losses.min(axis=1, keepdims=True)
        plain = labels > 1 and (np.sort(losses - least, axis=1)[:, 1:] == 1).all()
        found = engine.plain_errors(losses)
        assert (found is not None) == (plain or rows == 0)
        if found is not None and rows:
            assert found[0].tolist() == losses.argmin(axis=1).tolist()
            assert found[1] == least.sum()
