"""Proofs written and checked by commands and from Python."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_proofs import ROWS, XOR

import odtdsl
from odtdsl.insight.proofs.commands import log
from odtdsl.interfaces.cli.main import app


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    names = list(ROWS)
    lines = [
        ",".join(names),
        *(",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True)),
    ]
    (tmp_path / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    path = tmp_path / "spec.odt"
    path.write_text(XOR.replace("data frame", 'data "rows.csv"'), encoding="utf-8")
    return path


def odt(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_proof_from_the_command_line(spec: Path, tmp_path: Path) -> None:
    proof, answer, tree = (tmp_path / name for name in ("a.proof", "a.json", "tree.json"))
    solved = odt("solve", spec, "--proof", proof, "--json", "--out", tree)
    answer.write_text(solved.stdout)
    told = json.loads(solved.stdout)
    assert (solved.exit_code, told["status"], told["backend"]) == (0, "optimal", "sat")
    assert told["proof"]["bytes"] == proof.stat().st_size
    assert len(told["proof"]["parts"]) == 2
    alone = odt("audit", spec, "--proof", proof)
    assert alone.exit_code == 0
    assert "no tree that satisfies all rules has depth below" in alone.stdout
    assert "tree is optimal" not in alone.stdout
    for file in (answer, tree):
        both = odt("audit", spec, file, "--proof", proof)
        assert both.exit_code == 0
        assert "so the tree is optimal" in both.stdout
    data = json.loads(odt("audit", spec, tree, "--proof", proof, "--json").stdout)
    assert (data["holds"], len(data["proven"]), data["diagnostics"]) == (True, 2, [])


def test_a_tree_that_the_proof_does_not_reach(spec: Path, tmp_path: Path) -> None:
    proof, tree = tmp_path / "a.proof", tmp_path / "tree.json"
    assert odt("solve", spec, "--proof", proof).exit_code == 0
    worse = tmp_path / "worse.odt"
    worse.write_text(spec.read_text().replace("depth then leaves", "errors - leaves / 100"))
    worse.write_text(worse.read_text().replace("y tree ", "y tree depth <= 5 "))
    assert odt("solve", worse, "--using", "exact", "--out", tree).exit_code == 0
    audited = odt("audit", spec, tree, "--proof", proof)
    assert audited.exit_code == 1
    assert "P108" in audited.stderr
    assert "so the tree is optimal" not in audited.stdout
    with pytest.raises(odtdsl.OdtError, match="P108"):
        odtdsl.check_proof(proof, spec, tree)


def test_what_keeps_a_proof_from_being_written(spec: Path, tmp_path: Path) -> None:
    proof = tmp_path / "a.proof"
    for words, code in (
        (("--using", "milp"), "U316"),
        (("--model", "pattern"), "U316"),
        (("--all-optimal", "--using", "sat"), "B103"),
        (("--proof", tmp_path / "no" / "a.proof"), "F301"),
    ):
        refused = odt("solve", spec, "--proof", proof, *words)
        assert (refused.exit_code, code in refused.stderr) == (2 if code == "U316" else 1, True)
    assert (odt("audit", spec).exit_code, odt("audit", spec, "--proof", proof).exit_code) == (2, 1)
    assert not proof.exists()


def test_a_limit_leaves_the_answer(spec: Path, tmp_path: Path) -> None:
    proof = tmp_path / "a.proof"
    limited = odtdsl.load(spec).solve(proof=proof, within=1e-6)
    assert limited.warnings[-1].code in ("P201", "P202")
    assert not proof.exists()


def test_a_certificate_of_a_stopped_search_is_told_to_show_less(tmp_path: Path) -> None:
    spec, proof = tmp_path / "a.odt", tmp_path / "a.cert"
    for data, depth, said in (("digits", 5, True), ("iris", 1, False)):
        spec.write_text(
            f'data sklearn "{data}" target target tree depth <= {depth} minimize errors'
        )
        limit = "1s" if said else "60s"
        ran = odt("solve", spec, "--using", "exact", "--within", limit, "--proof", proof)
        assert ran.exit_code == 0
        assert f"certificate: {proof}" in ran.stdout
        assert ("  the search was stopped: the check may show less" in ran.stdout) == said


def test_the_limit_of_the_spec_is_that_of_the_proof_too(spec: Path, tmp_path: Path) -> None:
    proof = tmp_path / "a.proof"
    model = odtdsl.load(spec).options(within=60)
    analysis, result = model.analyse(), model.solve(using="sat")
    late = log(analysis, result, proof, time.monotonic() - 61, None)
    assert ([one.code for one in late[0].warnings], late[1]) == (["P202"], None)
    assert not proof.exists()
    assert log(analysis, result, proof, time.monotonic() - 61, 3600.0)[1] is not None


def test_a_proof_from_python(spec: Path, tmp_path: Path) -> None:
    proof, model = tmp_path / "a.proof", odtdsl.load(spec)
    result = model.solve(proof=proof)
    assert [one.claim.stage for one in model.check_proof(proof, result)] == [0, 1]
    assert odtdsl.check_proof(proof, model) == odtdsl.check_proof(str(proof), str(spec))
