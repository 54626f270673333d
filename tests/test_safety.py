"""What a spec, its data and a model cannot do: run code, read elsewhere, exhaust the machine."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import fuzz_targets
import pytest
from click.testing import CliRunner
from fuzzing import outcome

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.datasets.readers import read
from odtdsl.datasets.request import DataRequest
from odtdsl.interfaces.api import load_model
from odtdsl.interfaces.cli.main import app
from odtdsl.language.parser import parse

REST = " target y tree depth <= 1 minimize errors"


def code_of(name: str, base: Path, **options: object) -> str:
    with pytest.raises(OdtError) as caught:
        read(DataRequest(kind="file", name=name, **options), base=base)  # type: ignore[arg-type]
    fuzz_targets.told(caught.value)
    return caught.value.diagnostics[0].code


# ---- paths

NO_FILES = (
    "no.csv",
    ".",
    "..",
    "/",
    "/dev/zero",
    "/dev/stdin",
    "~nobody-of-this-name/x.csv",
    "a" * 300,
    "a\0b.csv",
    "a\0/b.csv",
    "\ud800.csv",
    "\ud800/x.csv",
    "pipe.csv",
    "folder.csv",
    "no/../no.csv",
    "http://localhost/x.csv",
    "file:///etc/passwd",
    "$HOME/x.csv",
    "`id`.csv",
    "*.csv",
)


@pytest.mark.parametrize("name", NO_FILES)
def test_names_that_are_no_regular_file_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
    assert code_of(name, tmp_path) == "D101"


def test_links_and_parent_folders_are_followed_as_by_every_program(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n1,u\n")
    (tmp_path / "spec").mkdir()
    try:
        (tmp_path / "spec" / "link.csv").symlink_to(tmp_path / "rows.csv")
        (tmp_path / "spec" / "loop.csv").symlink_to(tmp_path / "spec" / "loop.csv")
    except OSError:
        pytest.skip("this system has no links")
    for name in ("link.csv", "../rows.csv", str(tmp_path / "rows.csv")):
        assert read(DataRequest(kind="file", name=name), base=tmp_path / "spec").n_rows == 1
    assert code_of("loop.csv", tmp_path / "spec") == "D101"


def test_a_message_with_half_a_surrogate_pair_is_json(tmp_path: Path) -> None:
    spec = tmp_path / "s.odt"
    spec.write_text(r'data "\u{d800}.csv"' + REST)
    result = CliRunner().invoke(app, ["check", str(spec), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["diagnostics"][0]["code"] == "D101"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_start_that_never_ends_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "rows.csv").write_text("a,y\n1,u\n2,v\n")
    spec = tmp_path / "s.odt"
    spec.write_text('data "rows.csv"' + REST + ' solve start "pipe.json"')
    result = CliRunner().invoke(app, ["solve", str(spec), "--json"])
    assert json.loads(result.stdout)["diagnostics"][0]["code"] == "F201"


# ---- Parquet


def test_a_parquet_file_is_read_alone(tmp_path: Path) -> None:
    """Neither the names of folders nor brackets in its own name mean anything."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    folder = tmp_path / "year=2020"
    folder.mkdir()
    for name in ("f.parquet", "f[1].parquet", "f*.parquet"):
        write_table(pyarrow.table({"a": [1, 2], "y": ["u", "v"]}), folder / name)
        table = read(DataRequest(kind="file", name=f"year=2020/{name}"), base=tmp_path)
        assert list(table.columns) == ["a", "y"]


def test_a_parquet_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    from odtdsl.datasets import frames

    long = pyarrow.array(["u" * 10_000, "v"]).dictionary_encode()
    texts = pyarrow.DictionaryArray.from_arrays([0] * 100_000, long.dictionary)
    write_table(pyarrow.table({"y": texts}), tmp_path / "texts.parquet", store_schema=False)
    assert (tmp_path / "texts.parquet").stat().st_size < 20_000  # for a gigabyte of texts
    monkeypatch.setattr(frames, "MAX_BYTES", 10_000_000)
    assert code_of("texts.parquet", tmp_path) == "D114"
    monkeypatch.setattr(frames, "MAX_CELLS", 1000)
    write_table(pyarrow.table({"y": [1] * 2000}), tmp_path / "cells.parquet")
    assert code_of("cells.parquet", tmp_path) == "D114"


def test_a_file_beyond_all_memory_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "sparse.csv").open("wb") as stream:
        try:
            stream.truncate(1 << 40)  # a terabyte of nothing
        except OSError:
            pytest.skip("this file system has no sparse files")
    assert code_of("sparse.csv", tmp_path) == "D114"


# ---- texts

PLAIN = b"a,y\n1,u\n2,v\n"


@pytest.mark.parametrize(
    ("content", "options", "code"),
    [
        (b"a,y\n\0,u\n", {}, "D102"),
        (b"a,y\n\xff,u\n", {}, "D102"),
        (gzip.compress(PLAIN, mtime=0), {}, "D102"),
        (PLAIN, {"encoding": "no\0such"}, "D102"),
        (PLAIN, {"encoding": "punycode"}, "D102"),
        (PLAIN, {"encoding": "zlib"}, "D102"),
        (b"a,y\n+2AA-,u\n", {"encoding": "utf-7"}, "D102"),
        (b"a,y\n1e999,u\n", {}, "D106"),
        (b"a,y\n" + b"9" * 5000 + b",u\n", {}, "D106"),
        (b"", {}, "D105"),
        (b"\xef\xbb\xbf", {}, "D105"),
    ],
)
def test_odd_bytes_are_refused(
    content: bytes, options: dict[str, str], code: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert code_of("t.csv", tmp_path, **options) == code


def test_packed_files_are_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(PLAIN))
    assert code_of("t.csv.gz", tmp_path) == "D108"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks_of_byte_order_do_not_count(
    end: bytes, mark: bytes, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes(mark + PLAIN.replace(b"\n", end))
    table = read(DataRequest(kind="file", name="t.csv"), base=tmp_path)
    assert list(table.columns) == ["a", "y"]
    assert table.n_rows == 2
    text = (mark + b"tree depth <= 1\nrule r: a <=".replace(b"\n", end)).decode()
    with pytest.raises(OdtError) as caught:
        parse(Source(name="t", text=text))
    assert "t:2:" in str(caught.value)


SLOW = {
    "data": (
        fuzz_targets.case(".csv", b"a\n" + b" \n" * 200_000),
        fuzz_targets.case(".csv", b"a\n" + b"z9k" * 60_000, encoding="punycode"),
        fuzz_targets.case(
            ".arff", b"@attribute a numeric\n@data\n" + b" " * 30_000 + b"x" + b" " * 30_000 + b"'"
        ),
        fuzz_targets.case(".csv", b'"' * 100_000, separator=" "),
    ),
    "parser": (
        b'data "' + rb"\q" * 100_000 + b'"',
        b"minimize " + b"(" * 20_000,
        b"rule r: " + b"not " * 20_000,
        b"rule r: " + b"(" * 149 + b"a" + b")" * 149 + b" )",
        b"minimize " + b"9" * 100_000,
        b"minimize 1e999999999",
        b"# c\r" * 20_000 + b"(",
    ),
    "models": (
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"format": "odtdsl.tree", "version": ' + b"9" * 10_000 + b"}",
    ),
}
"""Texts that took minutes, or all of the stack, in some reader once."""


@pytest.mark.parametrize("name", SLOW)
def test_nothing_takes_long(name: str) -> None:
    with fuzz_targets.TARGETS[name]() as target:
        for data in SLOW[name]:
            assert outcome(target, data) is None, data[:80]


def test_a_large_result_is_no_way_around_the_limit_of_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from odtdsl.predictors import json as trees

    monkeypatch.setattr(trees, "MAX_BYTES", 100)
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"status": "optimal", "model": {"pad": "x" * 200}}))
    with pytest.raises(OdtError) as caught:
        load_model(path)
    assert caught.value.diagnostics[0].code == "F202"


# ---- nothing runs

WATCHED = r"""
import json, sys
from pathlib import Path
import odtdsl
from odtdsl.interfaces.api import load_model

def work(spec, model):
    solve = lambda: odtdsl.load(spec).solve(within=5)
    for found in (lambda: odtdsl.check(odtdsl.load(spec)), solve):
        try:
            found()
        except odtdsl.OdtError:
            pass
    try:
        print(load_model(model), file=sys.stderr)
    except odtdsl.OdtError:
        pass

work(*sys.argv[1:3])  # all that is imported, is imported now
seen = []
sys.addaudithook(lambda event, args: seen.append((event, repr(args[:1]))))
work(*sys.argv[3:5])
kinds = ("exec", "compile", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.",
         "ctypes.dlopen", "pickle.find_class", "import", "os.remove", "os.rename", "shutil.")
print(json.dumps({
    "ran": sorted({event for event, _ in seen if event.startswith(kinds)}),
    "opened": sorted({args for event, args in seen if event == "open"}),
}))
"""


def test_hostile_specs_and_models_run_nothing_and_open_what_they_name(tmp_path: Path) -> None:
    attack = "__import__('os').system('touch owned')"
    for name, cell in (("plain", "u"), ("hostile", attack)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "rows.csv").write_text(f'a,"b{cell}",y\n1,{cell},{cell}\n2,x,v\n3,x,v\n')
        (folder / "s.odt").write_text(
            f'data "rows.csv", na {{"{cell}!"}} target y positive "{cell}" drop `b{cell}`\n'
            f'group g = y = "{cell}" let k = 1 tree depth <= 1 minimize errors then leaves\n'
            f"rule `{cell}`: errors(g) <= k + 2\n"
        )
        tree = json.loads(fuzz_targets.model_seeds()[0])
        tree["classes"][0] = tree["targets"][0] = cell
        tree["features"][1]["levels"][1] = cell
        (folder / "m.json").write_text(json.dumps(tree))
    (tmp_path / "watched.py").write_text(WATCHED)
    files = [
        str(tmp_path / name / file) for name in ("plain", "hostile") for file in ("s.odt", "m.json")
    ]
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "watched.py"), *files],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["ran"] == []
    mine = [one for one in told["opened"] if str(tmp_path) in one]
    assert len(mine) == 3  # the spec, its data, the model
    others = set(told["opened"]) - set(mine)
    assert not [one for one in others if "/proc/" not in one and "/sys/" not in one], others
    assert not list(tmp_path.rglob("owned"))
    assert attack in ran.stderr  # the model was read, and its class is a text
