"""Programs for other solvers: what the files say, and forged solutions that are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from program_solvers import highs, solved
from sklearn.datasets import load_iris

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.formulas.solution import parse, seems_program
from odtdsl.interfaces.cli.main import app

SPEC = """
data sklearn "iris"
target target
candidates * at quantiles 3
tree depth <= 2
minimize errors then leaves
rule petals: root in {`petal length (cm)`, `petal width (cm)`}
rule robust: forall leaf: size >= 5
"""


def odt(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    folder = tmp_path_factory.mktemp("program")
    odtdsl.parse(SPEC).compile(folder / "iris.lp")
    highs(folder / "iris.lp", folder / "answer")
    return parse((folder / "answer").read_text(), folder / "answer").values


def code_of(values: dict[str, float], **options: Any) -> str:
    with pytest.raises(OdtError) as caught:
        odtdsl.parse(SPEC).decode(values, **options)
    return caught.value.diagnostics[0].code


# ---- what the files say


def test_the_head_of_a_file_says_what_names_mean(tmp_path: Path) -> None:
    for to, mark in (("lp", "\\"), ("mps", "*"), ("mzn", "%")):
        path = tmp_path / f"iris.{to}"
        odtdsl.parse(SPEC).compile(path)
        text = path.read_text(encoding="ascii")
        for line in (
            "minimize errors: 150 + 1 * objective of this file",
            "rule robust: forall leaf: size >= 5",
            "c1 is class 1" if 'c1 is class "' not in text else 'c1 is class "versicolor"',
            "p2: data rows 8, 41",
            "cut(n,petal_width__cm_,12): node n tests `petal width (cm)` at threshold 1.6 or above",
        ):
            assert f"{mark} {line}" in text, line


def test_the_rows_of_a_pattern_are_those_that_go_the_same_way(tmp_path: Path) -> None:
    """By the legend's own thresholds: rows of one pattern agree on every test, two differ."""
    spec, legend = odtdsl.parse(SPEC), tmp_path / "legend.json"
    spec.compile(tmp_path / "iris.lp", legend=legend)
    told = json.loads(legend.read_text())
    cuts = {text.split("tests ")[1] for name, text in told["columns"].items() if "cut(" in name}
    table = load_iris(as_frame=True).data
    sides: dict[int, list[bool]] = {row: [] for row in range(len(table))}
    for cut in sorted(cuts):
        column, threshold = re.findall(r"`(.*)` at threshold (.*) or above", cut)[0]
        for row, cell in enumerate(table[column]):
            sides[row].append(cell <= float(threshold))
    # a column's lowest threshold has no `cut` of its own, so patterns are at least as fine
    for rows in told["patterns"].values():
        assert len({tuple(sides[row]) for row in rows}) == 1
    assert sorted(row for rows in told["patterns"].values() for row in rows) == list(sides)


def test_the_legend_names_every_column_and_row(tmp_path: Path) -> None:
    spec, legend = odtdsl.parse(SPEC), tmp_path / "legend.json"
    size = spec.compile(tmp_path / "iris.lp", legend=legend)
    told = json.loads(legend.read_text())
    assert len(told["columns"]) == size["variables"]
    assert sum(len(group["names"]) for group in told["rows"]) == size["rows"]
    assert not any("as the formulation names it" in text for text in told["columns"].values())
    robust = next(group for group in told["rows"] if group["rule"] == "robust")
    assert robust["says"] == "rule robust: forall leaf: size >= 5"
    for to in ("cnf", "wcnf", "opb"):
        size = spec.compile(tmp_path / f"iris.{to}", legend=legend)
        assert len(json.loads(legend.read_text())["variables"]) == size["variables"]


def test_the_rows_of_a_rule_are_shown_below_its_sentence(tmp_path: Path) -> None:
    spec = tmp_path / "iris.odt"
    spec.write_text(SPEC)
    shown = odt("compile", spec, "--show", "rule robust").stdout
    assert shown.startswith("\\ rule robust: forall leaf: size >= 5\n rule_robust(n3): +5 active")
    assert shown.count("rule_robust(") == 4
    shown = odt("compile", spec, "--show", "lookahead").stdout
    assert shown.startswith("\\ lookahead: tightens the relaxation")
    assert "rule_" not in shown
    assert (
        "c rule robust: forall leaf"
        in odt("compile", spec, "--show", "robust", "--to", "cnf").stdout
    )
    for wrong, said in (("petals", "makes no row"), ("budget", "has no rule `budget`")):
        told = odt("compile", spec, "--show", wrong)
        assert (told.exit_code != 0, said in told.stderr) == (True, True), told.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["iris.odt"]


@pytest.mark.parametrize(("bound", "rows"), [(1, 2), (2, 0)])
def test_a_budget_that_no_path_exceeds_makes_no_row(tmp_path: Path, bound: int, rows: int) -> None:
    """Nor columns of what is paid, which would say nothing without it."""
    path = tmp_path / "iris.lp"
    odtdsl.parse(SPEC + f"cost * = 1 rule budget: forall path: cost <= {bound}").compile(path)
    text = path.read_text()
    assert len(re.findall(r"^ rule_budget\(path\d\): ", text, re.MULTILINE)) == rows
    assert ("paid(" in text) == bool(rows)
    said = "(no rows: it leaves out or fixes variables, or holds anyway)"
    assert (f"rule budget: forall path: cost <= {bound} {said}" in text) == (not rows)


def test_the_study_of_cptree_is_explained(tmp_path: Path) -> None:
    """Every column and every kind of row, and no node that it does not have."""
    path, legend = tmp_path / "iris.lp", tmp_path / "legend.json"
    spec = odtdsl.parse(SPEC.replace("quantiles 3", "bins 3").replace("depth <= 2", "depth <= 1"))
    spec.compile(path, model="cptree", legend=legend)
    text, told = path.read_text(), json.loads(legend.read_text())
    assert "n0 is the root" not in text
    assert "\\ structure" not in text
    assert "\\ test petal_width__cm_.2: `petal width (cm)` in [1.6, 2.5]" in text
    columns = told["columns"]
    assert columns["Q(1,0,petal_width__cm_.2,0)"] == (
        "branch 1 asks at level 0 whether `petal width (cm)` in [1.6, 2.5], and the answer is no"
    )
    assert columns["Z2(0,0,1)"] == "branches 0 and 1 parted above level 0"
    assert columns["S(p0,1)"] == "the rows of p0 are in the leaf of branch 1"
    assert not any("as the formulation names it" in text for text in columns.values())
    highs(path, tmp_path / "answer")
    values = parse((tmp_path / "answer").read_text(), tmp_path / "answer").values
    result = spec.decode(values, model="cptree")
    assert result.objective == spec.solve(using="exact").objective


def test_all_stages_at_once_are_those_one_after_the_other(tmp_path: Path) -> None:
    spec = odtdsl.parse(SPEC)
    path = tmp_path / "iris.mps"
    spec.compile(path, weighted=True)
    result = spec.decode(solved("highs", path), weighted=True)
    assert result.objective == spec.solve(using="exact").objective
    assert "solve it with an optimality gap of 0" in path.read_text()


# ---- forged solutions


def test_a_solution_is_decoded_and_audited(values: dict[str, float]) -> None:
    result = odtdsl.parse(SPEC).decode(values)
    assert result.audit is not None
    assert result.audit.holds
    assert (result.status, result.warnings) == ("feasible", ())


def test_forged_values_are_refused(values: dict[str, float]) -> None:
    """Each integer variable that is turned breaks a row of the structure, but for those that
    make another tree; then the objective that is claimed is no longer that of the tree."""
    spec = odtdsl.parse(SPEC)
    size = dict.fromkeys(("active", "use", "cut", "label"), 0)
    for name in values:
        kind = name.partition("(")[0]
        if kind not in size:
            continue
        forged = {**values, name: 1 - round(values[name])}
        try:
            result = spec.decode(forged)
        except OdtError as problem:
            if problem.diagnostics[0].code not in ("U212", "U230"):
                raise
            size[kind] += 1
            continue
        assert result.audit is not None
        honest = spec.decode(values)
        assert result.objective == honest.objective or not result.audit.holds, name
    assert all(size.values())


def test_hits_that_are_not_there_are_refused(values: dict[str, float]) -> None:
    missed = next(name for name in values if name.startswith("hit(") and values[name] < 0.5)
    assert code_of({**values, missed: 1}) == "U212"


def test_wrong_numbers_are_refused(values: dict[str, float]) -> None:
    assert code_of({**values, "active(n0)": 0.5}) == "U212"
    assert code_of({**values, "active(n0)": 2}) == "U212"
    assert code_of({**values, "actve(n0)": 1}) == "U211"
    with pytest.raises(OdtError, match=r"odt audit changed\.odt model\.json"):
        odtdsl.parse(SPEC).decode({**values, "actve(n0)": 1})
    assert code_of(values, bound=1) == "U212"


@pytest.mark.parametrize("claim", ["-150", "-143", "7"])
def test_a_false_claim_is_refused(claim: str, values: dict[str, float], tmp_path: Path) -> None:
    answer = tmp_path / "answer.sol"
    lines = [f"{name} {value!r}" for name, value in values.items()]
    answer.write_text("\n".join([f"# Objective value = {claim}", *lines]))
    with pytest.raises(OdtError) as caught:
        odtdsl.parse(SPEC).decode(answer)
    assert caught.value.diagnostics[0].code == "U230"


def test_a_false_cost_of_a_formula_is_refused(tmp_path: Path) -> None:
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    spec, path, answer = odtdsl.parse(SPEC), tmp_path / "iris.wcnf", tmp_path / "answer"
    spec.compile(path)
    with RC2(WCNF(from_file=str(path))) as solver:
        model = solver.compute()
        said = f"v {' '.join(map(str, model))} 0\n"
        answer.write_text(f"o {solver.cost}\n{said}")
        assert spec.decode(answer).objective == spec.solve(using="exact").objective
        answer.write_text(f"o {solver.cost - 1}\n{said}")
    with pytest.raises(OdtError) as caught:
        spec.decode(answer)
    assert caught.value.diagnostics[0].code == "U230"


def test_a_solution_of_a_loosened_rule_is_decoded_and_its_audit_says_so(tmp_path: Path) -> None:
    """Who changes the bound of a rule by hand gets the tree, a warning, and an audit that fails."""
    spec = tmp_path / "iris.odt"
    spec.write_text(SPEC.replace("size >= 5", "size >= 60"))
    path = tmp_path / "iris.lp"
    assert odt("compile", spec, "--out", path).exit_code == 0
    text = path.read_text()
    loose = text.replace("+60 active", "+5 active").replace("<= -60", "<= -5")
    assert loose != text
    cut = re.sub(r"\n\\ lookahead:.*?(?=\n(\\|Bounds))", "", loose, flags=re.DOTALL)
    assert cut != loose
    path.write_text(cut)
    told = odt("decode", spec, "--assignment", solved("highs", path))
    assert told.exit_code == 1, told.stderr
    assert "breaks row `rule_robust(" in told.stderr
    assert "robust" in told.stdout


# ---- files of solvers


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Infeasible - objective value 2.00000000\n      0 use(n0,a) 1 0\n", "U210"),
        ("Stopped on time (no integer solution - continuous used) - objective value 3\n", "U210"),
        ("no solution available\n", "U210"),
        ("solution status: infeasible\nno solution available\n", "U210"),
        ("=====UNSATISFIABLE=====\n", "U210"),
        ("Model status\nInfeasible\n\n# Primal solution values\nNone\n", "U210"),
        ("c Status: INTEGER EMPTY\ns mip 2 1 n 0\ni 1 0\n", "U210"),
        ("c Status\ns mip 2 2 o 0\nj 1 0\n", "F221"),
        ('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><CPLEXSolution/>', "F221"),
        ('<?xml version="1.0"?><CPLEXSolution><header/>', "F221"),
        ('<?xml version="1.0"?><other/>', "F221"),
        ('{"Vars": 3}', "F221"),
        ("# Objective value = x\nuse(n0,a) 1\n", "F221"),
        ("use(n0,a) nan\n", "F221"),
        ("use(n0,a) inf\n", "F221"),
        ("use(n0,a)\n", "F221"),
        ("", "F221"),
    ],
)
def test_files_without_a_solution(text: str, code: str) -> None:
    with pytest.raises(OdtError) as caught:
        parse(text, Path("answer"))
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("use(n0,a) 1\nx 0.5\n", None),
        ("use(n0,a) = 1;\nx=0.5\nobjective = 3\n", 3),
        ("# Solution for model obj\n# Objective value = -144\nuse(n0,a) 1\nx 0.5\n", -144),
        ("Optimal - objective value 3.5\n   0 use(n0,a)   1   0\n** 1 x .5 2e-3\n", 3.5),
        (
            "solution status: optimal\nobjective value:   3\n"
            "use(n0,a)    1 \t(obj:0)\nx   0.5 \t(obj:2)\n",
            3,
        ),
        (
            "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 3\n"
            "# Columns -2\n"
            "use(n0,a) 1 0\nx 0.5 1\n# Rows 1\nr 1 0\n",
            3,
        ),
        (  # HiGHS 1.16
            "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 3\n"
            "Objective_bound 2\nMIP_rel_gap 0.3\n# Columns 2\nuse(n0,a) 1\nx 0.5\n# Rows 0\n",
            3,
        ),
    ],
)
def test_lists_of_values_are_read(text: str, objective: float | None) -> None:
    assert seems_program(text)
    read = parse(text, Path("answer"))
    assert (read.values, read.objective) == ({"use(n0,a)": 1, "x": 0.5}, objective)


@pytest.mark.parametrize("text", ["v 1 -2 3 0\n", "SAT\n1 -2 0\n", "o 3\nv 0110\n", "v x1 -x2\n"])
def test_answers_to_formulas_are_told_apart(text: str) -> None:
    assert not seems_program(text)


@pytest.mark.parametrize("to", ["lp", "mps", "mzn"])
def test_long_comments_are_broken(to: str, tmp_path: Path) -> None:
    """SCIP and CBC cannot read an MPS file with a comment of more than 1,024 characters."""
    sums = " + ".join(["errors"] * 140)
    spec = odtdsl.parse(
        f'data sklearn "iris" target target candidates * at quantiles 2 tree depth <= 1'
        f" minimize {sums}"
    )
    spec.compile(tmp_path / f"long.{to}")
    comments = [
        line
        for line in (tmp_path / f"long.{to}").read_text().splitlines()
        if line.startswith(("\\", "*", "%"))
    ]
    assert sum(line.count("errors") for line in comments) >= 140
    assert max(map(len, comments)) <= 250


@pytest.mark.parametrize("options", [{}, {"bound": 12}, {"weighted": True}])
def test_rows_of_lookahead_come_last(options: dict[str, Any], tmp_path: Path) -> None:
    """So that the how-to can say how to delete them by hand."""
    spec = odtdsl.parse(
        'data sklearn "iris" target target candidates * at quantiles 3 tree depth <= 2'
        " minimize errors then leaves rule three: leaves <= 3"
    )
    path = tmp_path / "model.lp"
    spec.compile(path, **options)
    text = path.read_text()
    if "bound" not in options:
        assert "\n\\ lookahead" in text
    rows = text.partition("\n\\ lookahead")[2].partition("\nBounds")[0]
    assert re.findall(r"^ (\w+)\(?.*?: ", rows, re.MULTILINE).count("lookahead_left") <= 1
    assert all(x.startswith("lookahead_") for x in re.findall(r"^ (\w+)\S*: ", rows, re.MULTILINE))


@pytest.mark.parametrize("to", ["lp", "mps", "mzn", "cnf", "opb", "wcnf"])
def test_the_file_that_was_to_be_solved_is_no_answer(to: str, tmp_path: Path) -> None:
    spec, path = tmp_path / "s.odt", tmp_path / f"p.{to}"
    spec.write_text('data sklearn "iris" target target tree depth <= 1 minimize errors')
    written = odt(
        "compile", spec, path, *(["--depth", 1] if to not in ("lp", "mps", "mzn") else [])
    )
    assert written.exit_code == 0, written.output
    told = odt("decode", spec, path)
    assert "what a solver is to solve, not its answer" in " ".join(told.output.split())
    path.write_text(" \n\n")
    assert "is empty" in odt("decode", spec, path).output


def test_cut_tables_of_glpk_are_told(tmp_path: Path) -> None:
    """A whole one is read; cut anywhere before the end of its columns it is said to be cut."""
    lines = ["Problem:    s", "Rows:       1", "Columns:    2", "Status:     INTEGER OPTIMAL", ""]
    lines += ["   No. Column name       Activity     Lower bound   Upper bound", "------ ---------"]
    lines += ["     1 use(n0,a)    *              1             0             1 "]
    lines += ["     2 x            *            0.5             0             1 "]
    whole = "\n".join(lines) + "\n\nInteger feasibility conditions:\n"
    assert parse(whole, Path("answer")).values == {"use(n0,a)": 1, "x": 0.5}
    for kept in (2, 5, 7, 8):
        with pytest.raises(OdtError, match="cut short"):
            parse("\n".join(lines[:kept]) + "\n", Path("answer"))


def test_rules_named_as_the_structure_are_told_apart(tmp_path: Path) -> None:
    """Forged answers break the rule that they break, and not the structure."""
    spec, path = tmp_path / "s.odt", tmp_path / "p.lp"
    names = ("skeleton", "objective", "lookahead", "skeleton_")
    rules = "".join(f"rule {name}: leaves <= {at + 2}\n" for at, name in enumerate(names))
    spec.write_text(f'data sklearn "iris" target target tree depth <= 2 minimize errors\n{rules}')
    assert odt("compile", spec, path).exit_code == 0
    text = path.read_text()
    assert "rule skeleton__: leaves <= 2" in text
    assert "rule skeleton_: leaves <= 5" in text or "skeleton_:" in text
    told = odt("decode", spec, solved("highs", path))
    assert told.exit_code == 0, told.output
    audited = [line for line in told.stdout.split("\n") if "leaves <= 2" in line]
    assert audited[0].startswith("  skeleton ")


def test_a_broken_rule_named_as_the_structure_is_told_as_a_rule(tmp_path: Path) -> None:
    spec, path = tmp_path / "iris.odt", tmp_path / "iris.lp"
    spec.write_text(
        SPEC.replace("rule robust: forall leaf: size >= 5", "")
        + ("rule skeleton: forall leaf: size >= 60\n")
    )
    assert odt("compile", spec, path).exit_code == 0
    loose = path.read_text().replace("+60 active", "+5 active").replace("<= -60", "<= -5")
    path.write_text(re.sub(r"\n\\ lookahead:.*?(?=\n(\\|Bounds))", "", loose, flags=re.DOTALL))
    told = odt("decode", spec, solved("highs", path))
    assert told.exit_code == 1, told.stderr
    assert "breaks row `rule_skeleton_(" in told.stderr
    assert next(line for line in told.stdout.split("\n") if "size >= 60" in line).split()[1] == "NO"
