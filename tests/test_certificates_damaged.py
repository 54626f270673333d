"""Certificates of another problem, other rows or other bytes: refused, and nothing crashes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from scale import scaled
from test_certificates import (
    checked,
    few_valued,
    measured,
    odt,
    pieces,
    spec_of,
    squared,
    without_a_tree,
)

import odtdsl
from odtdsl.insight.proofs.certificate import MAGIC, checker


def test_bytes_crash_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    n = 60
    frame = {f"x{i}": rng.integers(0, 20, n).tolist() for i in range(3)}
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, n)]
    path = tmp_path / "a.cert"
    odtdsl.solve(
        "data frame target y: class tree depth <= 4 minimize errors",
        frame=frame,
        using="exact",
        proof=path,
    )
    whole = path.read_bytes()
    for _ in range(scaled(1000)):
        raw = bytearray(whole)
        for _ in range(int(rng.integers(1, 6))):
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        if rng.random() < 0.3:
            raw = raw[: int(rng.integers(len(raw)))]
        path.write_bytes(raw)
        assert checked(path).returncode in (0, 1, 2)


def test_another_spec_and_what_is_not_covered(tmp_path: Path) -> None:
    frame: dict[str, list[Any]] = {"x": [1, 2, 3, 4], "z": [1, 1, 2, 2], "y": list("abab")}
    spec = "data frame target y: class tree depth <= 2 minimize errors"
    path = tmp_path / "a.cert"
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    assert odtdsl.check_proof(path, spec, result, frame=frame)
    with pytest.raises(odtdsl.OdtError, match="P104"):
        odtdsl.check_proof(path, spec.replace("2", "3"), frame=frame)
    fewer = {name: cells[:3] for name, cells in frame.items()}
    with pytest.raises(odtdsl.OdtError, match="P103"):
        odtdsl.check_proof(path, spec, frame=fewer)
    with pytest.raises(odtdsl.OdtError, match="P203"):
        odtdsl.solve(f"{spec} rule one: same_leaf(0, 1)", frame=frame, using="exact", proof=path)


def test_the_rows_beside_a_certificate_replace_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the data that are read, nor another file of that name."""
    monkeypatch.chdir(tmp_path)

    def solve(name: str) -> Result:
        return odt("solve", "s.odt", "--using", "exact", "--proof", name)

    rows = "x,y\n1,a\n2,b\n3,b\n"
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "other.csv").write_text("mine")
    (tmp_path / "s.odt").write_text('data "rows.csv" target y tree depth <= 1 minimize errors')
    assert "U308" in solve("rows").stderr
    assert "F303" in solve("other").stderr
    assert (tmp_path / "rows.csv").read_text() == rows
    assert (tmp_path / "other.csv").read_text() == "mine"
    assert solve("new").exit_code == 0
    assert solve("new").exit_code == 0


@pytest.mark.parametrize("end", ["\u2028", "\x0b", "\x0c", "\x1c", "\x85", "\r"])
def test_no_line_is_hidden_from_the_checker(end: str, tmp_path: Path) -> None:
    """The certificate of a spec without a feature, whose line only looks as if it were there."""
    frame: dict[str, list[Any]] = {"a": [0, 0, 1, 1, 0, 1], "b": [0, 1, 1, 0, 1, 1]}
    frame["y"] = ["xy"[one] for one in frame["b"]]
    spec = "data frame target y: class tree depth <= 1 minimize errors"
    path, whole = tmp_path / "a.cert", tmp_path / "whole.cert"
    worse = odtdsl.solve(f"{spec} drop b", frame=frame, using="exact", proof=path)
    odtdsl.solve(spec, frame=frame, using="exact", proof=whole)
    _, text, steps = pieces(path)
    hidden = pieces(whole)[1].replace(
        b"feature\tnumber\tb", f"made\t{end}feature\tnumber\tb".encode()
    )
    lines = [one for one in hidden.splitlines(True) if not one.startswith((b"split", b"leaf\t"))]
    lines += [one for one in text.splitlines(True) if one.startswith((b"split", b"leaf\t"))]
    forged = b"".join(lines)
    path.write_bytes(MAGIC + f"{len(forged)}\n".encode() + forged + steps)
    assert checked(path).returncode == 0
    with pytest.raises(odtdsl.OdtError, match="P104"):
        odtdsl.check_proof(path, spec, worse, frame=frame)


@pytest.mark.parametrize(
    ("line", "read"),
    [(b"1", True), (b"2", False), (b"01", False), (b"", False), (b"1\t1", False), (b"one", False)],
)
def test_a_format_of_another_version_is_refused(line: bytes, read: bool, tmp_path: Path) -> None:
    frame = {"a": [0, 1, 1], "y": ["x", "y", "y"]}
    path = tmp_path / "a.cert"
    spec = "data frame target y: class tree depth <= 1 minimize errors"
    odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    _, text, steps = pieces(path)
    first, _, rest = text.partition(b"\n")
    assert first == b"problem\t1"
    other = b"problem\t" + line + b"\n" + rest
    path.write_bytes(MAGIC + f"{len(other)}\n".encode() + other + steps)
    told = checked(path)
    assert (told.returncode == 0) is read
    assert ("another version" in told.stdout + told.stderr) is not read
    if read:
        assert "steps: 1, with 0 checks of depth two\n" in told.stdout


def test_a_certificate_without_a_feature_a_cut_or_a_row_is_refused(tmp_path: Path) -> None:
    """The problem that a certificate states is compared with that of the spec and its data."""
    rng = np.random.default_rng(5)
    frame: dict[str, list[Any]] = {f"x{i}": rng.integers(0, 9, 40).tolist() for i in range(3)}
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 40)]
    spec = (
        "data frame target y: class tree depth <= 3 minimize errors"
        " rule cut: forall split: threshold(x0) <= 5"
    )
    path = tmp_path / "a.cert"
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    assert odtdsl.check_proof(path, spec, result, frame=frame)
    _, text, steps = pieces(path)
    problem, rows = tmp_path / "problem", f"{path}.csv"

    def of_problem(text: bytes) -> subprocess.CompletedProcess[str]:
        problem.write_bytes(text)
        return subprocess.run(
            [checker(), problem, rows, path], capture_output=True, text=True, check=False
        )

    assert of_problem(text).stdout.endswith("certified: the tree is optimal\n")
    lines = text.decode().splitlines(keepends=True)
    cuts = next(i for i, line in enumerate(lines) if line.startswith("feature\tcuts"))
    number = next(i for i, line in enumerate(lines) if line.startswith("feature\tnumber"))
    fewer_cuts = lines[cuts].rstrip("\n").rsplit("\t", 1)[0] + "\n"
    shorter = next(i for i, line in enumerate(lines) if line.startswith("depth"))
    without = {
        "a feature": lines[:number] + lines[number + 1 :],
        "a cut": [*lines[:cuts], fewer_cuts, *lines[cuts + 1 :]],
        "a level": [*lines[:shorter], "depth\t2\n", *lines[shorter + 1 :]],
        "a loss": [line.replace("loss\t0\t1", "loss\t0\t0") for line in lines],
    }
    for what, changed in without.items():
        assert changed != lines, what
        told = of_problem("".join(changed).encode())
        assert (told.returncode, "of another problem" in told.stdout) == (1, True), what
        body = "".join(changed).encode()
        path.write_bytes(MAGIC + f"{len(body)}\n".encode() + body + bytes(steps))
        with pytest.raises(odtdsl.OdtError, match="P104"):
            odtdsl.check_proof(path, spec, result, frame=frame)
    fewer = {name: cells[1:] for name, cells in frame.items()}
    path.write_bytes(MAGIC + f"{len(text)}\n".encode() + text + bytes(steps))
    with pytest.raises(odtdsl.OdtError, match="P103"):
        odtdsl.check_proof(path, spec, frame=fewer)


@pytest.mark.parametrize(
    ("weight", "rule"),
    [("weight", ""), ("drop", "rule kept: accuracy(these) >= 60%")],
)
def test_another_target_is_seen_where_the_problem_tells_what_rows_lose(
    weight: str, rule: str, tmp_path: Path
) -> None:
    """By what each of them weighs, or by the group it is in."""
    rng = np.random.default_rng(7)
    frame: dict[str, Any] = {f"x{i}": rng.integers(0, 9, 30).tolist() for i in range(2)}
    frame["w"] = rng.integers(1, 4, 30).tolist()
    frame["y"] = [f"c{k}" for k in rng.integers(0, 2, 30)]
    spec = (
        f"data frame target y: class {weight} w"
        f" group these = x0 >= 4 tree depth <= 2 minimize errors {rule}"
    )
    path = tmp_path / "a.cert"
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    assert result.status == "optimal"
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")
    beside = Path(f"{path}.csv")
    head, *rows = beside.read_text().splitlines(keepends=True)
    assert head.startswith("y,")
    for at, row in enumerate(rows):
        other = ("c1" if row.startswith("c0") else "c0") + row[2:]
        beside.write_text("".join([head, *rows[:at], other, *rows[at + 1 :]]))
        told = checked(path)
        assert told.returncode == 1
        assert "a target is not that of the problem" in told.stdout


def damaged(folder: Path, count: int) -> None:
    """Damage the certificates of a folder: no address and no behaviour is undefined."""
    import shutil

    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    here = Path(__file__).parent
    words: list[str | Path] = ["-O1", "-g", "-std=c++17", "-fsanitize=address,undefined"]
    words += ["-fno-sanitize-recover=all", "-I", here.parent / "solvers" / "check"]
    program = folder / "fuzz"
    command = [compiler, *words, here / "fuzz_odtcheck.cpp", "-o", program]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("the compiler has no sanitizers")
    ran = subprocess.run([program, folder, str(count), "0"], capture_output=True, errors="replace")
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = ran.stderr.splitlines()[-1].replace(",", "").split()  # certified N refused N ...
    assert all(int(many) > count / 100 for many in told[1::2]), told


@pytest.mark.nightly
def test_bytes_crash_nothing_with_sanitizers(tmp_path: Path) -> None:
    """Addresses and undefined behaviour are watched while certificates and rows are damaged."""
    for seed in range(40):
        kind = (spec_of, few_valued, measured, without_a_tree, squared)[seed % 5]
        spec, frame = kind(np.random.default_rng(seed))
        path = tmp_path / f"{seed}.cert"
        odtdsl.solve(spec, frame=frame, using="exact", proof=path)
        assert kind is spec_of or checked(path).returncode == 0
    damaged(tmp_path, scaled(100_000))
