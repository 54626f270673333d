"""A rule that holds only by a split that changes no prediction is warned about."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from milp_trees import grown, tiny
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.decode import idle_splits, simplify
from odtdsl.interfaces.cli.main import app
from odtdsl.problem.ir.evaluate import Evaluation, violations
from odtdsl.problem.ir.raw import RawLeaf, RawSplit

ROWS = {
    "a": [1, 2, 3, 4, 5, 6, 7, 8],
    "noise": ["x", "y"] * 4,
    "y": ["n", "n", "n", "n", "p", "p", "p", "p"],
}
SPEC = "data frame target y tree depth <= 2 minimize errors rule ask: uses(noise)"


@pytest.mark.parametrize("using", ["milp", "greedy"])
def test_a_must_use_rule_that_needs_a_useless_split(using: str) -> None:
    result = odtdsl.solve(SPEC, frame=ROWS, using=using)
    (warning,) = (w for w in result.warnings if w.code == "R305")
    assert warning.severity == "warning"
    assert "`ask`" in warning.message
    assert "`noise`" in warning.message
    assert result.audit is not None
    assert result.audit.holds
    assert result.tree is not None
    assert "noise" in result.tree.tested
    assert any(w["code"] == "R305" for w in result.to_json()["warnings"])


def test_no_warning_where_every_split_counts() -> None:
    plain = odtdsl.solve(SPEC.partition("rule")[0], frame=ROWS)
    assert not plain.warnings
    useful = odtdsl.solve(SPEC.replace("uses(noise)", "uses(a)"), frame=ROWS, using="milp")
    assert not useful.warnings


def test_the_command_line_tells_it_beside_the_answer(tmp_path: Path) -> None:
    lines = [",".join(ROWS), *(",".join(map(str, r)) for r in zip(*ROWS.values(), strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "spec.odt"
    path.write_text(SPEC.replace("data frame", 'data "rows.csv"'), encoding="utf-8")
    shown = CliRunner().invoke(app, ["solve", str(path), "--using", "milp"])
    assert shown.exit_code == 0
    assert "warning[R305]" in shown.stderr
    assert "rule ask: uses(noise)" in shown.stderr
    told = CliRunner().invoke(app, ["solve", str(path), "--using", "milp", "--json"])
    assert [w["code"] for w in json.loads(told.stdout)["warnings"]] == ["R305"]


def test_idle_splits_are_those_that_predict_alike_and_carry_a_rule() -> None:
    met = 0
    for seed in range(scaled(300)):
        rng = random.Random(f"idle {seed}")
        core = tiny(rng, clauses=(("used_model",),))
        raw = simplify(core, grown(rng, core, 2))
        if violations(core, raw):
            continue
        found = {idle.column: idle.rules for idle in idle_splits(core, raw)}
        columns = {core.families[s.family].column for s in _alike(raw)}
        assert set(found) == columns, seed
        met += any(rules == ("r",) for rules in found.values())
        for column, rules in found.items():
            assert rules, (seed, column)
            assert Evaluation(core, raw).tested.count(column) >= 1
    assert met >= 10 * SCALE


def _alike(raw: RawLeaf | RawSplit) -> list[RawSplit]:
    """Splits whose two sides are the same tree, or have one label."""
    if isinstance(raw, RawLeaf):
        return []
    below = [*_alike(raw.left), *_alike(raw.right)]
    same = raw.left == raw.right or len(_labels(raw)) == 1
    return [*below, raw] if same else below


def _labels(raw: RawLeaf | RawSplit) -> set[int]:
    return {raw.label} if isinstance(raw, RawLeaf) else _labels(raw.left) | _labels(raw.right)
