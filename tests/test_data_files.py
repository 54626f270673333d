"""Text files become tables: numbers, missing cells, quotes, encodings, and every refusal."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scale import scaled

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.datasets.readers import read, read_test
from odtdsl.datasets.request import DataRequest, TestFile, TestShare
from odtdsl.datasets.table import Table
from odtdsl.datasets.typing import levels_of


def read_text(folder: Path, text: str | bytes, name: str = "t.csv", **options: object) -> Table:
    content = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(content)
    return read(DataRequest(kind="file", name=name, **options), base=folder)  # type: ignore[arg-type]


def refused(folder: Path, text: str | bytes, name: str = "t.csv", **options: object) -> Diagnostic:
    with pytest.raises(OdtError) as caught:
        read_text(folder, text, name, **options)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def cells(table: Table) -> dict[str, list[str | None]]:
    return {name: column.texts.tolist() for name, column in table.columns.items()}


def numbers(table: Table, name: str) -> list[float] | None:
    found = table.columns[name].numbers
    return None if found is None else found.tolist()


def test_plain(tmp_path: Path) -> None:
    table = read_text(tmp_path, "a,b,y\n1,2.50,yes\n-3e2,007,no\n")
    assert table.name == "t.csv"
    assert table.n_rows == 2
    assert list(table.columns) == ["a", "b", "y"]
    assert numbers(table, "a") == [1.0, -300.0]
    assert numbers(table, "b") == [2.5, 7.0]
    assert numbers(table, "y") is None
    assert cells(table) == {"a": ["1", "-3e2"], "b": ["2.50", "007"], "y": ["yes", "no"]}
    assert not any(column.missing.any() for column in table.columns.values())


def test_missing_cells(tmp_path: Path) -> None:
    table = read_text(tmp_path, 'a,b,c\n1,,x\nNaN,"", \n -nan ,2,nan\n')
    assert cells(table) == {"a": ["1", None, None], "b": [None, None, "2"], "c": ["x", None, None]}
    assert table.columns["a"].missing.tolist() == [False, True, True]
    assert np.array_equal(table.columns["b"].numbers, [math.nan, math.nan, 2.0], equal_nan=True)
    assert numbers(table, "c") is None


def test_marks_equal_text_or_number(tmp_path: Path) -> None:
    text = "a,b,c\n-9,?,NA\n-9.0,1,na\n-90,2,-9\n"
    table = read_text(tmp_path, text, na=("?", "NA", "-9"))
    assert cells(table) == {
        "a": [None, None, "-90"],
        "b": [None, "1", "2"],
        "c": [None, "na", None],
    }
    assert np.array_equal(table.columns["b"].numbers, [math.nan, 1, 2], equal_nan=True)


def test_a_column_without_values_counts_as_numbers(tmp_path: Path) -> None:
    column = read_text(tmp_path, "a,b\n1,\n2,\n").columns["b"]
    assert column.numbers is not None
    assert np.isnan(column.numbers).all()
    assert column.missing.all()


def test_underscores_do_not_group_digits(tmp_path: Path) -> None:
    assert numbers(read_text(tmp_path, "a,b\n1_000,1\n2,2\n"), "a") is None
    assert numbers(read_text(tmp_path, "a,b\n1_000,1\n,2\n"), "a") is None


def test_negative_zero_is_zero(tmp_path: Path) -> None:
    column = read_text(tmp_path, "a,b\n-0.0,1\n,2\n").columns["a"]
    assert column.numbers is not None
    assert not np.signbit(column.numbers[0])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_mark(tmp_path: Path, end: str) -> None:
    lines = ["a,b", "1,x", "", '2,"y, ""z"""', ""]
    table = read_text(tmp_path, "\ufeff" + end.join(lines))
    assert cells(table) == {"a": ["1", "2"], "b": ["x", 'y, "z"']}


def test_no_final_line_end_and_cells_over_lines(tmp_path: Path) -> None:
    assert cells(read_text(tmp_path, 'a,b\n1,"x\ny"\n2,z')) == {"a": ["1", "2"], "b": ["x\ny", "z"]}


def test_blanks_around_cells_do_not_count(tmp_path: Path) -> None:
    assert cells(read_text(tmp_path, 'a, b \n 1 , x\n2, "y"\n')) == {
        "a": ["1", "2"],
        "b": ["x", "y"],
    }


def test_separators(tmp_path: Path) -> None:
    expected = {"a": ["1"], "b": ["2"]}
    assert cells(read_text(tmp_path, "a;b\n1;2\n", separator=";")) == expected
    assert cells(read_text(tmp_path, "a\tb\n1\t2\n", "t.tsv")) == expected
    assert cells(read_text(tmp_path, "a\tb\n1\t2\n", separator=r"\t")) == expected
    assert cells(read_text(tmp_path, "a\tb\n\t2\n", "t.tsv")) == {"a": [None], "b": ["2"]}


def test_a_blank_separator_stands_for_runs(tmp_path: Path) -> None:
    text = '  a b  \n1   2\n\n 3\t"x ""y"" z" \n"" 4\n'
    table = read_text(tmp_path, text, separator=" ")
    assert cells(table) == {"a": ["1", "3", None], "b": ["2", 'x "y" z', "4"]}
    diagnostic = refused(tmp_path, 'a b\n1 "x\n', separator=" ")
    assert diagnostic.code == "D103"
    assert "line 2" in diagnostic.message


def test_header_none(tmp_path: Path) -> None:
    table = read_text(tmp_path, "0 0.5\n1 0.25\n", "t.txt", separator=" ", header=False)
    assert cells(table) == {"c1": ["0", "1"], "c2": ["0.5", "0.25"]}


def test_a_nameless_column_is_called_by_position(tmp_path: Path) -> None:
    assert list(read_text(tmp_path, ",a\n0,5\n").columns) == ["c1", "a"]


def test_encodings(tmp_path: Path) -> None:
    text = "größe,y\n1,ä\n"
    for encoding in ("latin-1", "utf-16", "utf-8-sig", "cp1252"):
        table = read_text(tmp_path, text.encode(encoding), encoding=encoding)
        assert cells(table) == {"größe": ["1"], "y": ["ä"]}
    assert cells(read_text(tmp_path, text.encode("utf-16"))) == {"größe": ["1"], "y": ["ä"]}


def test_one_column_keeps_quoted_empty_cells(tmp_path: Path) -> None:
    assert cells(read_text(tmp_path, 'a\n1\n\n""\n2\n')) == {"a": ["1", None, "2"]}
    assert cells(read_text(tmp_path, "a,b\n1,2\n  \n3,4\n"))["a"] == ["1", "3"]


@pytest.fixture
def usual_cells() -> Iterator[None]:
    """The limit of Python's `csv`, which SciPy's reader of ARFF lifts for the whole process."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize(
    ("text", "options", "code", "part"),
    [
        ("", {}, "D105", "is empty"),
        ("\n\n", {}, "D105", "is empty"),
        ("a,b\n", {}, "D105", "no rows"),
        ("a,b,a,b\n1,2,3,4\n", {}, None, ""),
        ("a,b\n1,2\n3\n4,5,6\n", {}, "D103", "line 3 has 1 cell where the first line has 2"),
        ('a,b\n1,"x\ny"\n3\n', {}, "D103", "line 4 has 1 cell"),
        ('a,b\n1,"x"y\n', {}, "D103", "line 2"),
        ('a,b\n1,2\n3,"x\n4,5\n', {}, "D103", "line 3"),
        ('a,b\n1,"' + "x" * 140_000 + '"\n', {}, "D103", "line 2"),
        ("a,b\n1,2\n\n3,inf\n", {}, "D106", "`b` has an infinite number, `inf`, in line 4"),
        ("a,b\n1e999,2\n,3\n-1e999,2\n", {}, "D106", "`1e999`, in line 2, and 1 more"),
        (f"a,b\n{'9' * 60_000},2\n", {}, "D106", f"number, `{'9' * 39}…`, in line 2"),
        ("a;b\n1;2\n", {}, "D107", "only one column"),
        ("a,b\n1,2\n", {"separator": "::"}, "D107", "cannot separate"),
        ("a,b\n1,2\n", {"separator": '"'}, "D107", "cannot separate"),
        ("a,b\n1,2\n", {"separator": ""}, "D107", "cannot separate"),
        (b"a,b\n1,\xe9\n", {}, "D102", "is not UTF-8 text: byte 0xe9 on line 2"),
        (b"a,b\n1,\xe9\n", {"encoding": "ascii"}, "D102", "is not ascii text"),
        ("a,b\n1,2\n", {"encoding": "utf-99"}, "D102", "not a known text encoding"),
        ("a,b\n1,2\n", {"encoding": "base64"}, "D102", "not a known text encoding"),
        (b"PK\x03\x04\0\0", {}, "D102", "not a text file"),
    ],
)
def test_refusals(
    tmp_path: Path,
    text: str | bytes,
    options: dict[str, Any],
    code: str | None,
    part: str,
    usual_cells: None,
) -> None:
    if code is None:
        with pytest.raises(OdtError) as caught:
            read_text(tmp_path, text, **options)
        assert [d.code for d in caught.value.diagnostics] == ["D104", "D104"]
        assert [d.message[-3:] for d in caught.value.diagnostics] == ["`a`", "`b`"]
        return
    diagnostic = refused(tmp_path, text, **options)
    assert diagnostic.code == code
    assert part in diagnostic.message


def test_a_line_that_is_too_short_is_not_told_to_quote_separators(tmp_path: Path) -> None:
    (short,) = refused(tmp_path, "a,b,c\n1,2\n").helps
    (long,) = refused(tmp_path, "a,b\n1,2,3\n").helps
    assert "empty cells" in short
    assert "contain the separator" in long


def test_a_text_column_may_hold_infinity(tmp_path: Path) -> None:
    assert cells(read_text(tmp_path, "a,b\n1,inf\n2,x\n"))["b"] == ["inf", "x"]


def test_infinities_of_all_columns_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(OdtError) as caught:
        read_text(tmp_path, "a,b,c\ninf,1,-inf\n")
    assert [d.message[:10] for d in caught.value.diagnostics] == ["column `a`", "column `c`"]


def test_other_separators_are_suggested(tmp_path: Path) -> None:
    assert refused(tmp_path, "a;b;c\n1;2;3\n").helps == (
        'write `separator ";"` in the data statement',
    )
    assert r'"\t"' in refused(tmp_path, "a\tb\n1\t2\n").helps[0]
    assert '","' in refused(tmp_path, "a,b\n1,2\n", "t.tsv").helps[0]


def test_missing_files(tmp_path: Path) -> None:
    (tmp_path / "haberman.csv").write_text("a\n1\n")
    (tmp_path / "folder").mkdir()
    for name, part in (("habermann.csv", "there is no file"), ("folder", "is a folder")):
        with pytest.raises(OdtError) as caught:
            read(DataRequest(kind="file", name=name), base=tmp_path)
        assert caught.value.diagnostics[0].code == "D101"
        assert part in caught.value.diagnostics[0].message
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="file", name="no/such/habermann.csv"), base=tmp_path)
    assert caught.value.diagnostics[0].helps == ()
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="file", name="habermann.csv"), base=tmp_path)
    assert caught.value.diagnostics[0].helps == ('did you mean "haberman.csv"?',)
    for i in range(5):
        (tmp_path / f"{i}.csv").write_text("a\n1\n")
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="file", name="unlike.csv"), base=tmp_path)
    listed = "0.csv, 1.csv, 2.csv, 3.csv, 4.csv and 1 more"
    assert caught.value.diagnostics[0].helps == (f"in that folder there are {listed}",)


def test_a_spec_is_never_proposed_as_its_data(tmp_path: Path) -> None:
    (tmp_path / "claims.odt").write_text('data "claims.csv"')
    request = DataRequest(kind="file", name="claims.csv")

    def helps() -> tuple[str, ...]:
        with pytest.raises(OdtError) as caught:
            read(request, base=tmp_path)
        return caught.value.diagnostics[0].helps

    assert helps() == ()
    (tmp_path / "claim.csv").write_text("a\n1\n")
    assert helps() == ('did you mean "claim.csv"?',)
    (tmp_path / "other.py").write_text("print()")
    (tmp_path / "prepare.py").write_text('write(folder / "claims.csv")')
    assert helps() == (f"`python {tmp_path / 'prepare.py'}` may write it: `claims` stands in it",)


def test_foreign_kinds_and_options_that_do_not_fit(tmp_path: Path) -> None:
    assert refused(tmp_path, "", "t.xlsx").code == "D108"
    assert "compressed" in refused(tmp_path, "", "t.csv.gz").message
    for request in (
        DataRequest(kind="sklearn", name="iris", separator=";"),
        DataRequest(kind="frame", header=False),
        DataRequest(kind="file", name="x.parquet", encoding="latin-1"),
        DataRequest(kind="file", name="x.arff", header=False),
    ):
        with pytest.raises(OdtError) as caught:
            read(request, base=tmp_path, frame={"a": [1]})
        assert caught.value.diagnostics[0].code == "D109"


def test_test_sources(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a;b\n1;?\n")
    (tmp_path / "test.csv").write_text("a;b\n2;3\n")
    request = DataRequest(
        kind="file", name="train.csv", separator=";", na=("?",), test=TestFile(path="test.csv")
    )
    assert cells(read(request, base=tmp_path)) == {"a": ["1"], "b": [None]}
    found = read_test(request, base=tmp_path)
    assert found is not None
    assert cells(found) == {"a": ["2"], "b": ["3"]}
    found = read_test(request, base=tmp_path, test_frame={"a": [7]})
    assert found is not None
    assert cells(found) == {"a": ["7"]}
    assert read_test(DataRequest(kind="frame"), base=tmp_path) is None
    from fractions import Fraction

    share = DataRequest(kind="frame", test=TestShare(fraction=Fraction(1, 3)))
    assert read_test(share, base=tmp_path) is None


# Without carriage returns: Python 3.11's writer leaves them unquoted where lines end in "\n".
CELL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(
        [
            "",
            "?",
            "nan",
            "-INF",
            "1e999",
            " 1",
            "1 ",
            "a,b",
            'a"b',
            "x\ny",
            "1e5",
            "0x1",
            "1_0",
            "+.5",
        ]
    ),
)


def expected_column(texts: list[str]) -> tuple[list[float] | None, list[str | None]]:
    """The meaning of a column, said the slow way."""
    stripped = [text.strip() for text in texts]
    missing = [t in ("", "?") or t.lower().lstrip("+-") == "nan" for t in stripped]
    shown = [None if gone else t for t, gone in zip(stripped, missing, strict=True)]
    try:
        if any("_" in t for t in shown if t is not None):
            return None, shown
        return [math.nan if t is None else float(t) for t in shown], shown
    except ValueError:
        return None, shown


@settings(max_examples=scaled(300), deadline=None)
@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(
            st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=6
        )
    ),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_csv_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    separator: str,
    end: str,
    quoting: int,
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    names = [f"c{i}" for i in range(1, len(rows[0]) + 1)]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerows([names, *rows])
    wholes = [expected_column(list(texts))[0] for texts in zip(*rows, strict=True)]
    if any(math.isinf(x) for whole in wholes if whole is not None for x in whole):
        with pytest.raises(OdtError) as caught:
            read_text(folder, stream.getvalue(), separator=separator, na=("?",))
        assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"D106"}
        return
    table = read_text(folder, stream.getvalue(), separator=separator, na=("?",))
    assert table.n_rows == len(rows)
    assert list(table.columns) == names
    for name, texts in zip(names, zip(*rows, strict=True), strict=True):
        column = table.columns[name]
        wanted, shown = expected_column(list(texts))
        assert column.texts.tolist() == shown
        assert column.missing.tolist() == [text is None for text in shown]
        if wanted is None:
            assert column.numbers is None
        else:
            assert column.numbers is not None
            assert np.array_equal(column.numbers, wanted, equal_nan=True)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
@settings(deadline=None)
def test_floats_survive_exactly(tmp_path_factory: pytest.TempPathFactory, xs: list[float]) -> None:
    folder = tmp_path_factory.mktemp("floats")
    table = read_text(folder, "x\n" + "".join(f"{x!r}\n" for x in xs))
    assert numbers(table, "x") == xs


def test_arff(tmp_path: Path) -> None:
    text = (
        "% a comment\n@RELATION 'my data'\n\n@attribute 'the age' numeric\n"
        "@ATTRIBUTE size {small, 'very large', medium}\n@attribute grade{3,1,2}\n"
        "@attribute note string\n@attribute 'it\\'s' real\n@data\n"
        "1.5, 'very large', 3, 'a, b', ?\n\n% more\n?,small,1,\"?\",2\n2,?,2,?,3e1\n"
    )
    table = read_text(tmp_path, text, "t.arff")
    assert cells(table) == {
        "the age": ["1.5", None, "2"],
        "size": ["very large", "small", None],
        "grade": ["3", "1", "2"],
        "note": ["a, b", "?", None],
        "it's": [None, "2", "3e1"],
    }
    assert table.columns["size"].levels == ("small", "very large", "medium")
    assert table.columns["grade"].levels == ("3", "1", "2")
    assert levels_of(table.columns["grade"]) == (3, 1, 2)
    assert table.columns["note"].levels is None


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("@relation x\n@attribute a numeric\n1\n", "D111", "no line `@data`"),
        ("@relation x\nhello\n@data\n1\n", "D111", "line 2 is not ARFF"),
        ("@attribute a complex\n@data\n1\n", "D111", "has an unknown type"),
        ("@attribute a\n@data\n1\n", "D111", "has an unknown type"),
        ("@attribute a {x,'y}\n@data\nx\n", "D111", "has an unknown type"),
        ("@attribute a date 'yyyy'\n@data\n1\n", "D113", "type date"),
        ("@attribute a numeric\n@data\n{0 1}\n", "D113", "sparse"),
        ("@attribute a numeric\n@data\n1,2\n", "D112", "2 cells for 1 attributes"),
        ("@attribute a string\n@data\n'x\n", "D112", "quote"),
        ("@attribute a {x,y}\n@data\nz\n", "D112", "line 3: `z` is not a value of attribute `a`"),
        ("@attribute a real\n@attribute a real\n@data\n1,2\n", "D104", "2 columns named `a`"),
        ("@attribute a real\n@data\n", "D105", "no rows"),
        ("@attribute a real\n@data\n1\ninf\n", "D106", "in line 4"),
    ],
)
def test_arff_refusals(tmp_path: Path, text: str, code: str, part: str) -> None:
    diagnostic = refused(tmp_path, text, "t.arff")
    assert diagnostic.code == code
    assert part in diagnostic.message
