"""Types, levels, encoded cells, splits and weights: what they are and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scale import scaled

from odtdsl.auditor.rows import _stands_for
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.datasets.dataset import MISSING_CODE, UNSEEN_CODE, Column, ColumnType, Weights
from odtdsl.datasets.frames import read_frame
from odtdsl.datasets.levels import as_levels, level_index, level_text
from odtdsl.datasets.split import groups_of, split_groups, split_rows
from odtdsl.datasets.table import RawColumn
from odtdsl.datasets.typing import declare_type, encode, infer_type, levels_of
from odtdsl.datasets.weights import MAX_WEIGHT_SUM, _exact, encode_weights
from odtdsl.datasets.writing import number_text
from odtdsl.predictors.encoding import level_codes


def column(*values: Any) -> RawColumn:
    return read_frame({"f": list(values)}).columns["f"]


def refused(call: Any, *args: Any, **options: Any) -> Diagnostic:
    with pytest.raises(OdtError) as caught:
        call(*args, **options)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def codes(found: Column) -> list[int]:
    assert found.numbers is None
    assert found.codes is not None
    assert found.codes.dtype == np.int64
    return found.codes.tolist()


def test_inferred_types() -> None:
    number = ColumnType(name="f", kind="number")
    assert infer_type(column(1, 2.5, None)) == number
    assert infer_type(column(0, 1, 0)) == number
    assert infer_type(column(None, None)) == number
    assert infer_type(column("1", "2")) == number
    assert infer_type(column("no", "yes")) == ColumnType(
        name="f", kind="category", levels=("no", "yes")
    )
    assert infer_type(column(True, False)).levels == ("False", "True")


def test_levels_are_sorted_numbers_before_texts() -> None:
    assert levels_of(column("b", "10", "9", "a", None)) == ("9", "10", "a", "b")
    assert levels_of(column(10, 9.5, 9.0, None, -0.0)) == (0, 9, 9.5, 10)
    assert [type(x) for x in levels_of(column(9.0, 9.5))] == [int, float]
    assert levels_of(column("1", "1.0", "01")) == ("01", "1", "1.0")
    assert levels_of(column("1", "1.0", "x")) == ("1", "1.0", "x")
    assert levels_of(column("1.5", "01", "-0")) == ("-0", "01", "1.5")
    assert levels_of(column("900000000000207009", "900000000000207008")) == (
        900000000000207008,
        900000000000207009,
    )


def test_declared_types() -> None:
    raw = column(0, 1, 2)
    assert declare_type(raw, "category").levels == (0, 1, 2)
    assert declare_type(raw, "ordered").levels == (0, 1, 2)
    assert declare_type(raw, "ordered", levels=(2, 0, 1)).levels == (2, 0, 1)
    assert declare_type(raw, "number", step=Fraction(1)).step == 1
    assert declare_type(column("a", "b"), "binary").levels == ("a", "b")
    assert declare_type(column("a"), "binary").levels == ("a",)
    assert refused(declare_type, raw, "binary").code == "D143"
    assert "has 3 values: `0`, `1`, `2`" in refused(declare_type, raw, "binary").message
    diagnostic = refused(declare_type, column("low", "high"), "ordered")
    assert diagnostic.code == "D144"
    assert 'ordered {"high", "low"}' in diagnostic.helps[0]


def test_numbers_encode_as_they_are() -> None:
    raw = column(1.5, None, 2)
    found = encode(raw, infer_type(raw))
    assert found.codes is None
    assert np.array_equal(found.numbers, [1.5, math.nan, 2], equal_nan=True)
    assert found.name == "f"


def test_cells_of_other_rows_leave_numbers() -> None:
    raw = column(1.5, None, "12 mg", 2)
    declared = ColumnType(name="f", kind="number")
    found = encode(raw.take(np.array([3, 1, 0])), declared)
    assert np.array_equal(found.numbers, [2, math.nan, 1.5], equal_nan=True)
    taken = raw.take(np.array([0, 1, 2])).take(np.array([2, 1]))
    assert "row 2 (counted from 0) contains `12 mg`" in refused(encode, taken, declared).message


def test_a_number_column_with_other_cells_is_refused() -> None:
    raw = column(1, None, "?", "inf", "?", "many", 5)
    diagnostic = refused(encode, raw, ColumnType(name="f", kind="number"))
    assert diagnostic.code == "D141"
    assert "row 2 (counted from 0) contains `?`" in diagnostic.message
    assert diagnostic.notes == ("4 of 7 cells are not finite numbers: `?`, `inf`, `many`",)
    assert 'na {"?"}' in diagnostic.helps[0]


def test_steps() -> None:
    tenth = ColumnType(name="f", kind="number", step=Fraction(1, 10))
    encode(column(0.1, 0.3, -2, None), tenth)
    diagnostic = refused(encode, column(0.1, 0.35, 0.35), tenth)
    assert diagnostic.code == "D145"
    assert "row 1 (counted from 0) contains `0.35`" in diagnostic.message
    assert diagnostic.notes == ("2 of 3 cells are not multiples of 1/10",)


def test_cells_and_levels_that_are_written_match_by_text() -> None:
    kind = ColumnType(name="f", kind="category", levels=("1", "1.0", "2.50", "a"))
    assert codes(encode(column("1", "1.0", "a", "b", "1.00", None), kind)) == [
        0,
        1,
        3,
        UNSEEN_CODE,
        UNSEEN_CODE,
        MISSING_CODE,
    ]
    numbers = ColumnType(name="f", kind="category", levels=(2, 0, 1.5))
    assert codes(encode(column("2.0", "0", "-0", "1.50", "1.5", None, "7"), numbers)) == [
        UNSEEN_CODE,
        1,
        UNSEEN_CODE,
        UNSEEN_CODE,
        2,
        MISSING_CODE,
        UNSEEN_CODE,
    ]


def test_a_number_without_a_writing_is_the_one_level_that_reads_as_it() -> None:
    kind = ColumnType(name="f", kind="category", levels=("1", "1.0", "2.50", "a"))
    assert codes(encode(column(2.5, 3, None), kind)) == [2, UNSEEN_CODE, MISSING_CODE]
    diagnostic = refused(encode, column(2.5, 1), kind)
    assert diagnostic.code == "D147"
    assert "number 1 in row 1 (counted from 0), but `1` and `1.0` are" in diagnostic.message


def test_levels_that_were_numbers_match_by_value() -> None:
    raw = column(2.0, 0, 1.5, -0.0)
    kind = declare_type(raw, "category")
    assert (kind.levels, kind.by_value) == ((0, 1.5, 2), True)
    assert codes(encode(raw, kind)) == [2, 0, 1, 0]
    assert codes(encode(column("2.0", "0", "-0", "1.50", None, "7"), kind)) == [
        2,
        0,
        0,
        1,
        MISSING_CODE,
        UNSEEN_CODE,
    ]


def test_values_outside_declared_levels() -> None:
    raw = column("a", "z", None, "q", "z")
    for kind, closed in (("ordered", False), ("category", True), ("binary", True)):
        column_type = ColumnType(name="f", kind=kind, levels=("a", "b"))  # type: ignore[arg-type]
        diagnostic = refused(encode, raw, column_type, closed=closed)
        assert diagnostic.code == "D142"
        assert "contains `z`, `q`" in diagnostic.message
        assert diagnostic.notes[0] == "first in row 1 (counted from 0); 3 of 5 cells"
    for kind in ("category", "binary"):
        column_type = ColumnType(name="f", kind=kind, levels=("a", "b"))  # type: ignore[arg-type]
        assert codes(encode(raw, column_type)) == [0, -2, -1, -2, -2]
    three = ColumnType(name="f", kind="binary", levels=("a", "b", "c"))
    assert refused(encode, raw, three).code == "D143"


def test_level_index() -> None:
    assert level_index((0, 0.1, 2), Fraction(1, 10)) == 1
    assert level_index((0, 0.1, 2), 2.0) == 2
    assert level_index((0, 0.1, 2), Fraction(1, 3)) is None
    assert level_index((0, 1), "1") == 1
    assert level_index((0, 1), "1.0") is None
    assert level_index((0, 1), "one") is None
    assert level_index(("01", "1", "3+"), "1") == 1
    assert level_index(("01", "1", "3+"), 1) is None
    assert level_index(("a", "nan"), "nan") == 1
    assert level_index((0, 1), Fraction(10**400)) is None


WRITTEN = st.one_of(
    st.none(), st.sampled_from(["a", "b", "1", "1.0", "01", "+1", "1e0", "-0", "0", "0.5", ".5"])
)


@given(st.lists(WRITTEN, min_size=1, max_size=8), st.lists(WRITTEN, min_size=1, max_size=8))
@settings(deadline=None)
def test_texts_are_told_apart_as_they_are_written(
    train: list[str | None], later: list[str | None]
) -> None:
    kind = declare_type(column(*train), "category")
    assert [level_text(level) for level in kind.levels] == sorted(
        {text for text in train if text is not None}, key=sort_key
    )
    for cells in (train, later):
        expected = [
            MISSING_CODE
            if text is None
            else [level_text(x) for x in kind.levels].index(text)
            if text in train
            else UNSEEN_CODE
            for text in cells
        ]
        assert codes(encode(column(*cells), kind)) == expected
        assert level_codes(column(*cells), kind).tolist() == expected


def sort_key(text: str) -> tuple[int, float, str]:
    return (1, 0.0, text) if text in "ab" else (0, float(text), text)


NUMBER = st.one_of(st.none(), st.integers(-3, 3), st.floats(-2, 2), st.just(2**53 + 1))


@given(st.lists(NUMBER, min_size=1, max_size=8), st.lists(NUMBER, min_size=1, max_size=8))
@settings(deadline=None)
def test_numbers_are_told_apart_by_value(
    train: list[float | None], later: list[float | None]
) -> None:
    kind = declare_type(column(*train), "category")
    present = sorted({x for x in train if x is not None})
    assert list(kind.levels) == present
    for cells in (train, later):
        expected = [
            MISSING_CODE if x is None else present.index(x) if x in present else UNSEEN_CODE
            for x in cells
        ]
        assert codes(encode(column(*cells), kind)) == expected
        assert level_codes(column(*cells), kind).tolist() == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_so_that_they_read_back(x: float) -> None:
    assert float(number_text(x)) == x
    assert as_levels([number_text(x)]) == (x + 0.0,)
    assert not number_text(x).endswith(".0")


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("share", ["1/3", "33/100", "1/10", "1/2", "9/10"])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_splits_are_those_of_scikit_learn(share: str, seed: int, stratified: bool) -> None:
    from sklearn.model_selection import train_test_split

    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 0, 1, 1, 2, 2], rng.integers(0, 3, 101)])
    train, test = split_rows(107, Fraction(share), labels if stratified else None, seed)
    wanted = train_test_split(
        np.arange(107),
        test_size=float(Fraction(share)),
        random_state=seed,
        stratify=labels if stratified else None,
    )
    assert train.tolist() == sorted(wanted[0].tolist())
    assert test.tolist() == sorted(wanted[1].tolist())
    assert train.dtype == np.int64


def test_random_splits_are_those_of_scikit_learn() -> None:
    """Also of few rows and of classes that tie, and refused where it refuses them."""
    from sklearn.model_selection import train_test_split

    rng = np.random.default_rng(0)
    drawn = 0
    for _ in range(scaled(3000, least=300)):
        n_rows, share = int(rng.integers(2, 200)), Fraction(int(rng.integers(1, 100)), 100)
        seed = int(rng.integers(0, 2**32))
        labels = rng.integers(0, int(rng.integers(1, 7)), n_rows) if rng.random() < 0.7 else None
        case = (n_rows, share, seed, labels)
        try:
            wanted = train_test_split(
                np.arange(n_rows), test_size=float(share), random_state=seed, stratify=labels
            )
        except ValueError:
            assert refused(split_rows, n_rows, share, labels, seed).code == "D151", case
            continue
        drawn += 1
        for ours, theirs in zip(split_rows(n_rows, share, labels, seed), wanted, strict=True):
            assert ours.tolist() == sorted(theirs.tolist()), case
    assert drawn > 200


def test_splits_by_groups_are_those_of_scikit_learn() -> None:
    """Of numbers and of texts, whose order differs; every value stays on one side."""
    from sklearn.model_selection import GroupShuffleSplit

    rng = np.random.default_rng(1)
    drawn = 0
    for _ in range(scaled(2000, least=200)):
        n_rows, share = int(rng.integers(2, 80)), Fraction(int(rng.integers(1, 100)), 100)
        seed = int(rng.integers(0, 2**32))
        groups: list[Any] = rng.integers(0, int(rng.integers(1, 30)), n_rows).tolist()
        if rng.random() < 0.5:
            groups = [f"P{one}" for one in groups]
        split = GroupShuffleSplit(1, test_size=float(share), random_state=seed)
        try:
            wanted = next(split.split(groups, groups=groups))
        except ValueError:
            assert refused(split_groups, column(*groups), share, seed).code == "D151"
            continue
        drawn += 1
        train, test = split_groups(column(*groups), share, seed)
        assert train.tolist() == sorted(wanted[0].tolist())
        assert test.tolist() == sorted(wanted[1].tolist())
        assert not {groups[at] for at in train} & {groups[at] for at in test}
    assert drawn > 100


def test_a_row_without_a_group_is_told() -> None:
    told = refused(groups_of, column("a", None, "b", None))
    assert (told.code, told.message) == ("D151", "2 rows cannot be kept together: no `f`")
    assert "row 1" in told.notes[0]


@pytest.mark.parametrize(
    ("n_rows", "share", "labels", "seed", "part"),
    [
        (10, Fraction(0), None, 0, "leaves no rows"),
        (10, Fraction(1), None, 0, "leaves no rows"),
        (1, Fraction(1, 2), None, 0, "leaves 0 for training"),
        (10, Fraction(1, 2), None, -1, "seed"),
        (10, Fraction(1, 2), None, 2**32, "seed"),
        (4, Fraction(1, 2), [0, 0, 0, 1], 0, "a class has a single row"),
        (6, Fraction(1, 3), [0, 0, 1, 1, 2, 2], 0, "4 training rows and 2 test rows"),
        (6, Fraction(2, 3), [0, 0, 1, 1, 2, 2], 0, "2 training rows and 4 test rows"),
    ],
)
def test_impossible_splits(
    n_rows: int, share: Fraction, labels: list[int] | None, seed: int, part: str
) -> None:
    array = None if labels is None else np.array(labels)
    diagnostic = refused(split_rows, n_rows, share, array, seed)
    assert diagnostic.code == "D151"
    assert part in " ".join((diagnostic.message, *diagnostic.notes))


def weights(*values: Any) -> tuple[Weights, bool]:
    return encode_weights(column(*values))


def test_weights_are_exact_decimals() -> None:
    found, rounded = weights(0.1, 0.25, 0, 3)
    assert not rounded
    assert (found.numerators.tolist(), found.denominator) == ([2, 5, 0, 60], 20)
    found, rounded = encode_weights(np.ones(3))
    assert (found.numerators.tolist(), found.denominator, rounded) == ([1, 1, 1], 1, False)


def test_computed_weights_are_the_fractions_that_they_stand_for() -> None:
    found, rounded = weights(1 / 3, 10 / 7, 999_999 + 2 / 9, 0.1)
    assert not rounded
    exact = [Fraction(n, found.denominator) for n in found.numerators.tolist()]
    assert exact == [Fraction(1, 3), Fraction(10, 7), 999_999 + Fraction(2, 9), Fraction(1, 10)]
    assert _exact(0.333333333333) == Fraction("0.333333333333")  # too short
    assert _exact(0.1234567890123456) == Fraction("0.1234567890123456")  # no such fraction
    assert _exact(1e8 / 3) == Fraction(repr(1e8 / 3))


FRACTIONS = st.builds(lambda a, b: a / b, st.integers(0, 10**5), st.integers(1, 2000))


@given(st.lists(st.floats(0, 1e12) | FRACTIONS, min_size=1, max_size=4))
@settings(max_examples=scaled(300))
def test_the_audit_reads_weights_alike(values: list[float]) -> None:
    for value in values:
        assert _stands_for(value) == _exact(value)


@given(st.lists(st.decimals(0, 1000, places=3), min_size=1, max_size=9))
def test_short_decimals_are_never_rounded(values: list[Any]) -> None:
    if not any(values):
        return
    found, rounded = encode_weights(np.array([float(x) for x in values]))
    assert not rounded
    assert [Fraction(n, found.denominator) for n in found.numerators.tolist()] == [
        Fraction(x) for x in values
    ]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=9))
def test_rounded_weights_are_near_and_fit(values: list[float]) -> None:
    if not any(values):
        return
    found, rounded = encode_weights(np.array(values))
    assert sum(found.numerators.tolist()) <= MAX_WEIGHT_SUM
    unit = Fraction(max(values)) / 2**39
    for value, numerator in zip(values, found.numerators.tolist(), strict=True):
        assert (numerator > 0) == (value > 0)
        off = abs(Fraction(numerator, found.denominator) - _exact(value))
        assert off <= (unit if rounded else 0)


def test_many_weights_round_coarser() -> None:
    values = np.full(100_000, 0.123456789012345678)
    values[0] = 1e-9
    found, rounded = encode_weights(values)
    assert rounded
    assert int(found.numerators.sum()) <= MAX_WEIGHT_SUM
    assert found.numerators[1] / found.denominator == pytest.approx(values[1], rel=1e-9)
    assert found.numerators[0] > 0


@pytest.mark.parametrize(
    ("values", "code", "part"),
    [
        ((1, -2, -3), "D161", "row 1 (counted from 0) has a negative weight, -2.0 (2 rows in all)"),
        ((1, None), "D161", "weight column `f`: row 1 (counted from 0) has no value"),
        ((0, 0), "D162", "no row has a weight above 0"),
        ((1e300, 1), "D161", "too large"),
        ((1, "x"), "D141", "contains `x`"),
    ],
)
def test_wrong_weights(values: tuple[Any, ...], code: str, part: str) -> None:
    diagnostic = refused(weights, *values)
    assert diagnostic.code == code
    assert part in diagnostic.message


def test_all_wrong_weights_are_told_at_once() -> None:
    from odtdsl.datasets.weights import wrong_cells

    told = [(one.code, one.message) for one in wrong_cells(column(None, "-1", "two", "3", "-2"))]
    assert told == [
        ("D141", "column `f` is declared a number, but row 2 (counted from 0) contains `two`"),
        (
            "D161",
            "weight column `f`: row 1 (counted from 0) has a negative weight, -1.0 (2 rows in all)",
        ),
    ]
    assert not wrong_cells(column(None, "0", "3"))


def test_missing_and_wrong_weights_are_told_together() -> None:
    import odtdsl

    for cells, codes in (
        (["", "-1", "two", "1"], ["D201", "D141", "D161"]),
        (["", "1", "2", "1"], ["D201"]),
    ):
        frame = {"a": [1, 2, 3, 4], "y": ["p", "q"] * 2, "w": [one or None for one in cells]}
        with pytest.raises(odtdsl.OdtError) as caught:
            odtdsl.plan("data frame target y weight w tree depth <= 1 minimize errors", frame=frame)
        assert [one.code for one in caught.value.diagnostics] == codes


def test_a_wrong_weight_is_named_by_its_row_of_the_data() -> None:
    import odtdsl

    frame = {"a": [None, 2, 3, 4], "y": ["p", "q"] * 2, "w": [1, 1, -1, 1]}
    spec = "data frame target y weight w missing drop tree depth <= 1 minimize errors"
    with pytest.raises(odtdsl.OdtError, match=r"row 2 .counted from 0. has a negative weight"):
        odtdsl.plan(spec, frame=frame)


def test_a_text_as_weight_is_no_feature() -> None:
    for cells, helps in ((("north", "south"), 1), (("1", "two"), 2)):
        found = refused(weights, *cells)
        assert found.helps[-1] == "otherwise name a column of numbers after `weight`"
        assert len(found.helps) == helps


def test_dates_declared_numbers_are_days() -> None:
    for cells, words in (
        (("2024-01-01", "2024-01-02"), "`days {f}`"),
        (("13/01/2024", "02/01/2024"), '`days {f}, dates "dmy"`'),
    ):
        found = refused(encode, column(*cells), ColumnType(name="f", kind="number"))
        assert words in found.helps[0]
        assert not any("na {" in one for one in found.helps)


def test_wrong_weights_in_arrays() -> None:
    assert "an infinite weight" in refused(encode_weights, np.array([1, math.inf])).message
    assert "no value" in refused(encode_weights, np.array([1, math.nan])).message


def test_take_keeps_levels() -> None:
    from dataclasses import replace

    from odtdsl.datasets.table import Table

    raw = replace(column("a", "b", "a"), levels=("b", "a"), ordered=True)
    taken = Table(name="t", columns={"f": raw}, n_rows=3).take(np.array([2, 1])).columns["f"]
    assert (taken.levels, taken.ordered) == (("b", "a"), True)
    assert taken.texts.tolist() == ["a", "b"]
