"""Large files are read by pyarrow: the same table, or the same error, as cell by cell."""

from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import pytest
from scale import scaled

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets import quick
from odtdsl.datasets.digest import digest
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import Table

FILES = scaled(6000)
NUMBERS = ["1", "1.0", "-2.5e3", "+4", ".5", "5.", "1e400", "inf", "nan", "NaN", "nan(1)", "0x1F"]
NUMBERS += ["1_0", "-0", "٣", "9007199254740993", "9007199254740992", "1e-400", "-999", "-999.0"]
TEXTS = [
    "",
    " ",
    "?",
    "NA",
    "a",
    "A",
    " a",
    "a ",
    "\ta",
    "b c",
    "é",
    "\u00a0x",
    "x\x1f",
    "yes",
    "1,5",
]
QUOTED = ['""', '" "', '"a"', '"a,b"', '"a;b"', '"a ""b"" c"', '""""', '"a\nb"', '"a\r\nb"', '"1"']
ODD = ['a"b', ' "a"', '"a" ', '"a"b', '"', "a\rb", "\x0b", "\u2028", "\ufeff", '"a""', "\x85z"]


def cell(chance: random.Random, kinds: list[list[str]]) -> str:
    return chance.choice(chance.choice(kinds))


def file(chance: random.Random) -> tuple[str, DataRequest]:
    separator = chance.choice([",", ",", ";", "\t"])
    kinds = chance.choice([[NUMBERS[:6]], [NUMBERS], [NUMBERS[:6], TEXTS[:4]], [NUMBERS, TEXTS]])
    if chance.random() < 0.4:
        kinds = [*kinds, QUOTED]
    if chance.random() < 0.15:
        kinds = [*kinds, ODD]
    width = chance.choice([1, 2, 2, 3, 5])
    header = [chance.choice([f"n{i}", f" n{i}", f'"n {i}"', ""]) for i in range(width)]
    of_column = [chance.choice(kinds) for _ in range(width)]
    lines = [separator.join(header)]
    for _ in range(chance.randint(0, 12)):
        cells = [chance.choice(of_column[i]) for i in range(width)]
        if chance.random() < 0.3:
            cells = [cell(chance, kinds) for _ in range(width)]
        if chance.random() < 0.02:
            cells.append("1")
        lines.append(separator.join(cells))
        if chance.random() < 0.1:
            lines.append(chance.choice(["", "", " ", separator * (width - 1)]))
    end = chance.choice(["\n", "\n", "\r\n", "\r\n", "\r"]) if chance.random() < 0.3 else "\n"
    text = end.join(lines) + chance.choice(["", end])
    marks = chance.choice([(), (), ("?",), ("-999",), ("NA", "1"), ("9007199254740993",)])
    given = None if separator == "," else separator
    header_there = chance.random() < 0.8
    return text, DataRequest(
        kind="file", name="f.csv", na=marks, separator=given, header=header_there
    )


def outcome(request: DataRequest, base: Path) -> object:
    try:
        return told(read(request, base=base))
    except OdtError as problem:
        return [(d.code, d.message, d.notes, d.helps) for d in problem.diagnostics]


def told(table: Table) -> object:
    every_other = table.take(np.arange(0, table.n_rows, 2))
    return (
        table.n_rows,
        digest(table),
        digest(every_other),
        [
            (
                name,
                None if column.numbers is None else column.numbers.tobytes(),
                column.texts.tolist(),
                column.missing.tolist(),
                column.blanks,
                column.take(np.arange(0, table.n_rows, 2)).texts.tolist(),
                {
                    text: (column.distinct[1] == i).tolist()
                    for i, text in enumerate(column.distinct[0])
                },
            )
            for name, column in table.columns.items()
        ],
    )


@pytest.mark.parametrize("start", range(0, FILES, 100))
def test_both_ways(start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "LEAST_LINES", 0)
    whole, lines = quick._LEAST_BLOCK, quick._LINES_AT_ONCE
    for seed in range(start, start + 100):
        text, request = file(random.Random(seed))
        in_parts = seed % 2  # as files of several MB are, with a block for each line or two
        monkeypatch.setattr(quick, "_LEAST_BLOCK", 16 if in_parts else whole)
        monkeypatch.setattr(quick, "_LINES_AT_ONCE", 2 if in_parts else lines)
        (tmp_path / "f.csv").write_text(text, encoding="utf-8", newline="")
        monkeypatch.setattr(quick, "MIN_QUICK_SIZE", len(text) + 1)
        slow = outcome(request, tmp_path)
        monkeypatch.setattr(quick, "MIN_QUICK_SIZE", 0)
        assert outcome(request, tmp_path) == slow, (seed, text)


def test_most_random_files_are_read_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above compares something: not all files are left to the plain reader."""
    monkeypatch.setattr(quick, "MIN_QUICK_SIZE", 0)
    monkeypatch.setattr(quick, "LEAST_LINES", 0)
    tries = [file(random.Random(seed)) for seed in range(FILES)]
    taken = [quick.quick_lines(text, r.separator or ",") is not None for text, r in tries]
    assert sum(taken) > FILES / 3


def test_missing_texts_in_several_blocks(tmp_path: Path) -> None:
    """A file of more than 1 MB is read in blocks, which have the missing cells of their own."""
    jobs = [random.Random(seed).choice(["nurse", "clerk", ""]) for seed in range(200)]
    rows = [f"{i},{jobs[i % 200]},{'x' * 40}" for i in range(40_000)]
    (tmp_path / "f.csv").write_text("\n".join(["i,job,x", *rows]), encoding="utf-8")
    job = read(DataRequest(kind="file", name="f.csv"), base=tmp_path).columns["job"]
    assert job.texts.tolist() == [jobs[i % 200] or None for i in range(40_000)]
    assert job.missing.tolist() == [not jobs[i % 200] for i in range(40_000)]


SPEC = 'data "f.csv"\ntarget y: class\ntree depth <= 2\nminimize errors\n'


def checked(folder: Path) -> float:
    """The seconds of the processor that a check takes."""
    spec = folder / "f.odt"
    spec.write_text(SPEC)
    start = time.process_time()
    odtdsl.load(spec).check()
    return time.process_time() - start


def test_many_cells(tmp_path: Path) -> None:
    """Two million cells, where cell by cell takes 3 s; numbers are not written as texts again."""
    rng = np.random.default_rng(0)
    rows = [",".join(row) for row in rng.integers(-999, 999, (40_000, 50)).astype(str)]
    lines = [f"{row},{i % 2}" for i, row in enumerate(rows)]
    names = ",".join(f"x{i}" for i in range(50))
    (tmp_path / "f.csv").write_text("\n".join([f"{names},y", *lines]))
    table = read(DataRequest(kind="file", name="f.csv"), base=tmp_path)
    assert isinstance(table.columns["x7"].writing, quick.Strings)
    digest(table)  # of every answer
    assert "texts" not in vars(table.columns["x7"])
    assert "distinct" not in vars(table.columns["x7"])
    assert checked(tmp_path) < 2


def test_many_columns(tmp_path: Path) -> None:
    """A check is linear in the columns: no column looks at all others."""
    n = 20_000
    lines = [",".join([*(f"x{i}" for i in range(n)), "y"])]
    lines += [
        ",".join([*(str((i * 7 + row * 3) % 11) for i in range(n)), str(row % 2)])
        for row in range(12)
    ]
    (tmp_path / "f.csv").write_text("\n".join(lines))
    assert checked(tmp_path) < 8
