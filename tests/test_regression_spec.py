"""Number targets through the whole line: messages, greedy growth, checker, Python, command line."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from regression_oracle import brute_force, random_case
from scale import SCALE, scaled

import odtdsl as odt
from odtdsl import OdtError
from odtdsl.auditor.audit import audit
from odtdsl.backends.base import Progress
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.json import dumps, loads
from odtdsl.predictors.nodes import Branch, Leaf, TreeNode
from odtdsl.predictors.tree import Tree
from odtdsl.words import mse

FRAME: dict[str, list[Any]] = {
    "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "k": ["a", "b", "a", "b", "a", "b"],
    "y": [0.0, 1.0, 5.0, 5.0, 9.0, 10.0],
}
HEAD = "data frame\ntarget y: number\ntree depth <= 2\n"
DIABETES = 'data sklearn "diabetes", test 25% seed 0\ntarget target: number\n'


def codes(text: str, **frame: list[Any]) -> list[str]:
    with pytest.raises(OdtError) as caught:
        odt.solve(text, frame={**FRAME, **frame})
    assert all(one.message for one in caught.value.diagnostics)
    return [one.code for one in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("minimize errors", "T219"),
        ("minimize mse + mae", "B201"),
        ("minimize poisson + mse", "B201"),
        ("maximize mse", "R205"),
        ("minimize abs(mse - 3)", "B201"),
        ("minimize mse rule a: mse = 3", "B201"),
        ("minimize mse rule a: mse <= leaves", "B201"),
        ("minimize mse rule a: mse - mae <= 3", "B201"),
        ("minimize mse rule a: mse <= 5%", "T209"),
        ("minimize mse rule a: forall leaf: y <= 3 rule b: forall leaf: y >= 4", "R112"),
        ("minimize mse rule a: forall leaf: purity >= 50%", "T219"),
        ("minimize mse solve using sat", "B102"),
        ("minimize poisson solve using greedy(split = relaxed 2)", "B102"),
        ("minimize poisson rule a: forall leaf: y <= 0", "R114"),
    ],
)
def test_what_is_refused_is_refused_with_a_code(lines: str, code: str) -> None:
    assert code in codes(HEAD + lines)


def test_targets_that_are_no_numbers_are_told() -> None:
    assert codes(HEAD + "minimize mse", y=[1.0, None, 2, 3, 4, 5]) == ["D201"]
    assert codes(HEAD + "minimize mse", y=["1", "two", "3", "4", "5", "6"]) == ["D141"]
    assert codes(HEAD + "minimize mse", y=[1e200, 2, 3, 4, 5, 6]) == ["R301"]
    assert codes("data frame\ntarget k\ntree depth <= 2\nminimize mse") == ["T219"]
    several = "data frame\ntarget x, y: number\ntree depth <= 2\nminimize mse"
    assert codes(several + "\nrule a: forall leaf: x * y <= 3") == ["R104"]
    one = several.replace("mse", "mse(x) solve using exact")
    assert codes(one) == ["B102"]


@pytest.mark.parametrize(
    ("target", "term", "classes", "numbers"),
    [
        ("x: class", "mse", True, True),
        ("k", "mse", True, False),
        ("x: number", "errors", True, True),
        ("x, y: number", "errors", False, True),
    ],
)
def test_a_term_of_another_target_leads_to_a_target_that_the_column_can_be(
    target: str, term: str, classes: bool, numbers: bool
) -> None:
    with pytest.raises(OdtError, match="T219") as caught:
        odt.solve(f"data frame target {target} tree depth <= 1 minimize {term}", frame=FRAME)
    (one,) = caught.value.diagnostics
    said = " ".join(one.helps)
    assert ("class" in said, "number" in said) == (classes, numbers)


def test_absolute_errors_of_several_targets_are_proven() -> None:
    spec = "data frame\ntarget x, y: number\ntree depth <= 2\nminimize mae"
    result = odt.solve(spec, frame=FRAME)
    rows = np.array([FRAME["x"], FRAME["y"]], dtype=float).T
    sides = [rows[::2], rows[1::2]]  # the one split that there is, by `k`
    parted = sum(np.abs(side - np.median(side, axis=0)).sum() for side in sides)
    whole = np.abs(rows - np.median(rows, axis=0)).sum()
    assert result.status == "optimal"
    assert result.objective is not None
    assert float(result.objective) * rows.size == pytest.approx(min(parted, whole))  # type: ignore[arg-type]


def test_a_bound_is_read_with_its_factor() -> None:
    text = HEAD.replace("2", "1") + "minimize mse\nrule a: {} <= {}"
    value = odt.solve(text.format("mse", 99), frame=FRAME).objective
    assert isinstance(value, Fraction)
    for written, bound in (("mse", value), ("2 * mse", 2 * value), ("mse + 1", value + 1)):
        for more, status in ((0.01, "optimal"), (-0.01, "infeasible")):
            spec = text.format(written, round(float(bound) + more, 6))
            assert odt.solve(spec, frame=FRAME).status == status, spec


# ---- greedy


def test_greedy_is_never_better_than_brute_force_and_keeps_the_rules() -> None:
    equal = 0
    for seed in range(scaled(60)):
        case = random_case(random.Random(f"greedy {seed}"))
        result = odt.solve(case.text(), using="greedy", frame=case.frame)
        most = min(case.leaves or 99, 2**case.depth, len(case.frame["y"]))
        expected = brute_force(case)(most)
        assert result.status == "feasible"
        assert result.bound is None
        assert result.audit is not None
        assert result.audit.holds
        assert isinstance(result.objective, Fraction)
        slack = brute_force(case)(1) / 10**9
        assert result.objective >= expected - slack
        equal += result.objective <= expected + slack
    assert equal >= 50 * SCALE


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_greedy_keeps_rules_that_exact_does_not_take(loss: str) -> None:
    text = (
        f"{DIABETES}tree depth <= 6, leaves <= 12\nminimize {loss}\n"
        "rule robust: forall leaf: size >= 15\nrule first: forall path: s5 before bp\n"
        "rule short: forall path: tests(bmi) <= 1\n"
        f"rule good: {loss} <= {5000 if loss == 'mse' else 60}\n"
    )
    result = odt.solve(text, using="greedy")
    assert result.audit is not None
    assert result.audit.holds
    assert result.tree is not None
    assert result.tree.n_leaves > 4
    again = odt.solve(text, using="greedy")
    assert again.tree == result.tree


def test_missing_cells_take_the_side_of_their_policy() -> None:
    x = [1.0, None, 3.0, 4.0, None, 6.0]
    for policy in ("left", "right", "branch"):
        text = f"{HEAD}missing {policy}\nminimize mse\nsolve using greedy"
        result = odt.solve(text, frame={**FRAME, "x": x})
        assert result.audit is not None
        assert result.audit.holds


# ---- the checker


def with_leaves(tree: Tree, change: float) -> Tree:
    def changed(node: TreeNode) -> TreeNode:
        if isinstance(node, Leaf):
            assert node.output is not None
            return replace(node, output=(node.output[0] + change,))
        assert isinstance(node, Branch)
        return replace(node, left=changed(node.left))

    return replace(tree, root=changed(tree.root))


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_the_checker_catches_changed_outputs(loss: str) -> None:
    frame = {**FRAME, "y": [value + 1e6 for value in FRAME["y"]]}  # type: ignore[operator]
    text = HEAD.replace("2", "1") + f"minimize {loss}"
    rows = odt.parse(text).analyse(frame=frame).rows
    tree = odt.solve(text, frame=frame).tree
    assert tree is not None
    assert audit(tree, rows).holds
    more = 1e-5 if loss == "mse" else 40.0  # up to the next row all are medians
    for change in (more, -1e-5, -3.0, 1e9):
        found = audit(with_leaves(tree, change), rows)
        (line,) = [line for line in found.lines if line.rule == "tree outputs"]
        assert not line.holds
        assert line.note
        assert found.objective[0] > audit(tree, rows).objective[0] or abs(change) < 1


def test_a_median_of_an_even_number_of_rows_is_any_between() -> None:
    text = "data frame\ntarget y: number\ntree depth <= 0\nminimize mae"
    rows = odt.parse(text).analyse(frame=FRAME).rows
    tree = odt.solve(text, frame={**FRAME, "y": [1.0, 2.0, 3.0, 5.0, 8.0, 9.0]}).tree
    assert tree is not None
    rows = odt.parse(text).analyse(frame={**FRAME, "y": [1.0, 2.0, 3.0, 5.0, 8.0, 9.0]}).rows
    for output, holds in ((3.0, True), (4.2, True), (5.0, True), (2.9, False), (5.1, False)):
        moved = replace(tree, root=replace(tree.root, output=(output,)))  # type: ignore[arg-type]
        assert audit(moved, rows).holds is holds


# ---- what comes out


def test_a_tree_of_numbers_goes_round_and_is_a_start() -> None:
    result = odt.solve(HEAD + "minimize mse + 0.5 * leaves", frame=FRAME)
    tree = result.tree
    assert tree is not None
    assert loads(dumps(tree)) == tree
    assert tree.predict(FRAME).dtype == np.float64
    again = odt.solve(HEAD + "minimize mse + 0.5 * leaves", frame=FRAME, start=tree)
    assert again.objective == result.objective
    value = result.to_json()
    assert value["errors"] is None
    assert value["bound"] == pytest.approx(value["objective"])
    with pytest.raises(OdtError):
        tree.predict_proba(FRAME)


def test_guessed_thresholds_are_those_of_a_regression_ensemble() -> None:
    text = f"{DIABETES}candidates * at guessed\ntree depth <= 3\nminimize mse"
    result = odt.solve(text)
    assert result.status == "optimal"
    assert result.audit is not None
    assert result.audit.holds


def test_the_model_of_calls_says_the_same() -> None:
    model = odt.Model().data(FRAME).target("y", type="number").tree(depth=2).minimize(mse)
    assert model.solve().objective == odt.solve(HEAD + "minimize mse", frame=FRAME).objective


def run(*args: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result.stdout


def test_the_command_line_from_check_to_audit(tmp_path: Path) -> None:
    spec, tree, rows = tmp_path / "s.odt", tmp_path / "t.json", tmp_path / "rows.csv"
    spec.write_text(DIABETES + "tree depth <= 2\nminimize mse\n", encoding="utf-8")
    run("check", spec)
    assert "back end: exact" in run("plan", spec)
    printed = run(
        "solve", spec, "-o", tree, "--svg", tmp_path / "t.svg", "--dot", tmp_path / "t.dot"
    )
    assert "optimal: proven" in printed
    assert "test: mse " in printed
    test = json.loads(run("solve", spec, "--json"))["test"]
    assert set(test) == {"rows", "mse", "mae", "objective", "audit", "baseline"}
    rows.write_text("s5,bmi\n0,0\n0.1,0.1\n", encoding="utf-8")
    predicted = run("predict", tree, rows).split()
    assert predicted[0] == "target"
    assert float(predicted[1]) < float(predicted[2])
    assert "every leaf's output is the mean of its rows" in run("audit", spec, tree)
    saved = json.loads(tree.read_text(encoding="utf-8"))
    text = json.dumps(saved).replace('"output": [', '"output": [1', 1)
    tree.write_text(text, encoding="utf-8")
    assert "NO" in run("audit", spec, tree, code=1)


def test_a_limit_ends_with_an_audited_tree_and_a_bound() -> None:
    told: list[Progress] = []
    result = odt.solve(
        f"{DIABETES}tree depth <= 5\nminimize mse then leaves", within="0.5s", progress=told.append
    )
    assert result.status == "feasible"
    assert result.audit is not None
    assert result.audit.holds
    first, second = result.stages
    assert first.value is not None
    assert first.bound is not None
    assert first.bound < first.value
    assert not first.proven
    assert not second.proven
    assert told
    assert all(one.bound is None or one.bound <= first.value for one in told)


GROUPED = 'data frame\ntarget y: number\ngroup a = k = "a"\ngroup b = k = "b"\ntree depth <= 1\n'


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("mse(a) <= 5.6", "optimal"),
        ("mse(y, b) <= 3.1", "optimal"),
        ("gap(mse, k) <= 0.5", "optimal"),
        ("gap(mae, a, b) <= 0.2", "optimal"),
        ("mse(a) - mse(b) <= 1", "optimal"),
        ("mse(a) <= 1.5 * mse(b)", "optimal"),
        ("gap(mse, a, a2) >= 1", "infeasible"),
    ],
)
def test_losses_of_groups_are_rules(rule: str, status: str) -> None:
    """`gap` of two groups of the same rows is 0; the audit measures each group anew."""
    text = f'{GROUPED}group a2 = k != "b"\nminimize mse\nrule fair: {rule}'
    result = odt.solve(text, frame=FRAME, using="exact")
    assert result.status == status
    assert (result.audit is not None and result.audit.holds) == (status == "optimal")


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("minimize mse(a)", "R205"),
        ("minimize mse then gap(mse, k)", "B201"),
        ("minimize mse rule r: ratio(mse, k) >= 50%", "B201"),
        ("minimize mse rule r: mse(c) <= 3", "N118"),
    ],
)
def test_losses_of_groups_are_no_objective(lines: str, code: str) -> None:
    assert code in codes(GROUPED + lines)


def test_the_kind_of_an_undeclared_target_follows_the_objective() -> None:
    rows = {"x": [1, 2, 3, 4, 5, 6], "y": [70, 70, 70, 90, 90, 90]}
    spec = "data frame target y tree depth <= 1 minimize {} "
    for measure in ("mse", "mae", "mse + leaves", "poisson(y)"):
        result = odt.solve(spec.format(measure), frame=rows)
        assert result.tree is not None
        assert not result.tree.classes, measure
    assert odt.solve(spec.format("errors"), frame=rows).tree.classes == (70, 90)
    assert odt.solve(spec.format("leaves"), frame=rows).tree.classes == (70, 90)
    words = rows | {"y": ["a", "a", "a", "b", "b", "b"]}
    for wrong, frame in (("mse", words), ("mse then errors", rows)):
        with pytest.raises(OdtError, match="T219"):
            odt.solve(spec.format(wrong), frame=frame)
    with pytest.raises(OdtError, match="T219"):
        odt.solve(spec.format("mse").replace("target y", "target y: class"), frame=rows)
