"""The command line: exit codes, outputs that programs read, and files written whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.driver import pipeline
from odtdsl.driver.collected import Collected
from odtdsl.interfaces.cli.main import app

MODELS = Path(__file__).parent.parent / "models"
IRIS = """data sklearn "iris"
target target
candidates * at quantiles 4
tree depth <= 2
minimize errors
"""
HARD = """data sklearn "breast_cancer"
target target
tree depth <= 4
minimize errors
"""


SLOW = HARD.replace("depth <= 4", "depth <= 5").replace(
    "minimize errors", "minimize errors + leaves"
)


@pytest.fixture
def spec(tmp_path: Path):
    def write(text: str, name: str = "spec.odt") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def odt(*args: str):
    return CliRunner().invoke(app, list(args))


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "odtdsl", *args]


@pytest.mark.parametrize(("command", "option"), [("tune", "--vary")])
def test_an_option_that_a_command_needs_is_missed(spec, command, option):
    missing = odt(command, spec(IRIS))
    assert missing.exit_code == 2
    assert f"Missing option '{option}'" in missing.output
    empty = odt(command, spec(IRIS), option)
    assert empty.exit_code == 2
    assert f"Option '{option}' requires an argument" in empty.output


@pytest.mark.parametrize(
    ("option", "written"),
    [("--timeout", "--within 60s"), ("--output", "--out tree.json"), ("--n-jobs", "--threads 2")],
)
def test_options_of_other_tools_are_translated(spec, option, written):
    told = odt("solve", str(spec), option, "5")
    assert told.exit_code == 2
    assert f"Write {written}." in told.output
    foreign = odt("check", str(spec), option, "5")
    assert foreign.exit_code == 2
    assert "Write" not in foreign.output


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), '"test.csv"'),
        (("--test", "unlike.csv"), ""),
        (("--data", "unlike.csv"), ""),
    ],
)
def test_a_missing_file_is_shown_where_it_is_named(spec, options, shown, tmp_path):
    """Not at the statement `data` where the command named it, and with the files that there are."""
    (tmp_path / "rows.csv").write_text("a,y\n1,u\n2,v\n")
    text = 'data "rows.csv", test "test.csv"\ntarget y\ntree depth <= 1\nminimize errors\n'
    options = [str(tmp_path / one) if one.endswith("csv") else one for one in options]
    found = odt("check", spec(text), *options, "--json")
    assert found.exit_code == 1
    (one,) = json.loads(found.stdout)["diagnostics"]
    assert one["code"] == "D101"
    assert "rows.csv" in one["helps"][0]
    places = [text[at["column"] - 1 : at["end_column"] - 1] for at in one["labels"]]
    assert places == ([f"test {shown}"] if shown else [])


def test_solve_prints_a_tree_its_status_and_the_audit(spec):
    result = odt("solve", spec(IRIS + "rule big: forall leaf: size >= 5\n"))
    assert result.exit_code == 0
    assert "optimal: proven" in result.stdout
    assert "minimize errors: 22, proven" in result.stdout
    line = next(line for line in result.stdout.splitlines() if line.strip().startswith("big"))
    assert line.split()[1] == "yes"


def test_solve_json_has_what_a_program_reads(spec):
    result = odt("solve", spec(IRIS), "--json")
    answer = json.loads(result.stdout)
    for key in (
        "status",
        "objective",
        "bound",
        "gap",
        "errors",
        "depth",
        "leaves",
        "splits",
        "nodes",
        "seconds",
        "backend",
        "audit",
        "model",
    ):
        assert key in answer
    assert (answer["status"], answer["objective"], answer["bound"]) == ("optimal", 22, 22)
    assert answer["nodes"] == answer["leaves"] + answer["splits"]
    assert all(line["holds"] for line in answer["audit"])
    assert {"rule", "holds", "value", "bound"} <= set(answer["audit"][0])


@pytest.mark.parametrize("rule", ["errors = 0", "forall path: length >= 3", "leaves >= 5"])
def test_rules_that_cannot_hold_are_infeasible(spec, rule):
    path = spec(IRIS + f"rule never: {rule}\n")
    result = odt("solve", path)
    assert result.exit_code == 3
    assert "infeasible" in result.stdout
    assert json.loads(odt("solve", path, "--json").stdout)["status"] == "infeasible"


def test_a_short_limit_keeps_the_greedy_tree_with_bound_and_gap(spec):
    path = spec(HARD)
    odt("check", path)  # imports do not count
    slow = ("--using", "milp", "--within", "0.5")
    answer = json.loads(odt("solve", path, *slow, "--json").stdout)
    assert answer["status"] == "feasible"
    assert answer["seconds"] < 9  # a runaway; benchmarks/compile.py measures it
    assert answer["objective"] <= answer["timeline"][0]["incumbent"]  # the greedy start
    assert answer["bound"] is not None
    assert answer["bound"] <= answer["objective"]
    assert 0 < answer["gap"] <= 1
    text = odt("solve", path, *slow).stdout
    assert "feasible" in text
    assert "gap" in text


def test_greedy_never_says_optimal_or_infeasible(spec):
    answer = json.loads(odt("solve", spec(IRIS), "--using", "greedy", "--json").stdout)
    assert (answer["status"], answer["bound"]) == ("feasible", None)
    never = spec(IRIS + "rule never: errors = 0\n")
    result = odt("solve", never, "--using", "greedy", "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["status"] == "unknown"
    shown = odt("solve", never, "--using", "greedy").stdout
    assert "another back end (`--using auto`) or looser rules may help" in shown


def test_the_same_seed_gives_the_same_answer(spec):
    path = spec(IRIS.replace("depth <= 2", "depth <= 3"))
    one, two = (json.loads(odt("solve", path, "--json").stdout) for _ in range(2))
    assert one["model"] == two["model"]


def test_saved_trees_predict_and_are_audited(spec, tmp_path):
    path = spec(IRIS + "rule few: leaves <= 3\n")
    tree, svg, dot = tmp_path / "t.json", tmp_path / "t.svg", tmp_path / "t.dot"
    assert odt("solve", path, "-o", str(tree), "--svg", str(svg), "--dot", str(dot)).exit_code == 0
    assert svg.read_text().lstrip().startswith("<svg")
    assert dot.read_text().startswith("digraph")
    audit = odt("audit", path, str(tree), "--json")
    assert audit.exit_code == 0
    assert json.loads(audit.stdout)["holds"] is True
    stricter = spec(IRIS + "rule few: leaves <= 2\n", "stricter.odt")
    failed = odt("audit", stricter, str(tree))
    assert failed.exit_code == 1
    assert "NO" in failed.stdout
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)\n"
        "5.1,3.5,1.4,0.2\n6.3,3.3,6.0,2.5\n"
    )
    predicted = odt("predict", str(tree), str(rows))
    assert predicted.stdout.split() == ["target", "setosa", "virginica"]
    whole = tmp_path / "result.json"
    whole.write_text(odt("solve", path, "--json").stdout)
    assert odt("predict", str(whole), str(rows), "--json").exit_code == 0


def test_compile_writes_readable_rows_named_after_rules(spec, tmp_path):
    path = spec(IRIS + "rule petals: forall path: not uses(`petal width (cm)`)\n")
    for to in ("lp", "mps"):
        out = tmp_path / f"model.{to}"
        assert odt("compile", path, "--to", to, "-o", str(out)).exit_code == 0
        assert "petals" in out.read_text()
    assert odt("compile", path, "--to", "xls").exit_code == 2


def test_formulations_of_milp_agree(spec):
    path = spec(IRIS.replace("quantiles 4", "bins 3").replace("depth <= 2", "depth <= 1"))
    for formulation in ("pattern", "subtrees", "cptree"):
        answer = json.loads(odt("solve", path, "--model", formulation, "--json").stdout)
        assert (answer["status"], answer["objective"]) == ("optimal", 50)


def test_check_collects_all_mistakes(spec):
    result = odt("check", spec(IRIS + "rule a: erors = 0\nrule b: forall leaf: cost <= 3\n"))
    assert result.exit_code == 1
    assert "erors" in result.stderr
    assert "`cost` belongs to a path" in result.stderr
    listed = json.loads(odt("check", spec(IRIS + "rule a: erors = 0\n"), "--json").stdout)
    assert listed["diagnostics"][0]["code"] == "N201"


def test_refused_forms_name_the_rule_and_the_reason(spec):
    ordered = 'target target: ordered {"setosa", "versicolor", "virginica"}'
    iris = IRIS.replace("target target", ordered)
    path = spec(iris + "rule up: increasing(`petal width (cm)`)\n")
    result = odt("solve", path, "--model", "cptree")
    assert result.exit_code == 1
    assert "`up` (Monotone)" in result.stderr
    assert "the study compares training rows" in result.stderr
    assert odt("plan", spec(IRIS)).exit_code == 0


def test_fmt_writes_whole_files_and_keeps_comments(spec):
    path = spec("# iris\n" + IRIS.replace("\n", "   \n"))
    assert odt("fmt", path, "--check").exit_code == 1
    assert odt("fmt", path, "--write").exit_code == 0
    assert Path(path).read_text().startswith("# iris\n")
    assert odt("fmt", path, "--check").exit_code == 0
    assert os.listdir(Path(path).parent) == ["spec.odt"]


def test_settings_replace_lets(spec):
    path = spec(IRIS.replace("minimize errors", "let a = 1\nminimize errors + a * leaves"))
    cheap = json.loads(odt("solve", path, "--json").stdout)
    dear = json.loads(odt("solve", path, "--set", "a=1000", "--json").stdout)
    assert cheap["leaves"] > dear["leaves"] == 1
    assert odt("solve", path, "--set", "b=1").exit_code == 1
    assert odt("solve", path, "--set", "a").exit_code == 2


def test_rules_lists_and_explains_terms():
    assert "before" in odt("rules").stdout
    assert "Turney" in odt("rules", "cost").stdout
    assert odt("rules", "coost").exit_code == 2
    assert "see `odt rules precision`" in odt("rules", "prec").stderr
    assert "see `odt rules balanced_accuracy`" in odt("rules", "balanced").stderr
    assert "`odt rules` lists all terms" in odt("rules", "qq").stderr
    assert len(json.loads(odt("rules", "--json").stdout)) > 30


def test_a_pipe_sees_no_progress_and_no_traceback(spec):
    done = subprocess.run(command("solve", spec(IRIS)), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    broken = subprocess.run(
        command("solve", spec("\x00", "b.odt")), capture_output=True, text=True, check=False
    )
    assert broken.returncode == 1
    assert "Traceback" not in broken.stderr


@pytest.mark.parametrize("back_end", ["milp", "exact"])
def test_interrupts_return_the_best_tree_so_far(spec, back_end):
    """Ctrl-C at the first incumbent, from inside the process."""
    sent: list[int] = []

    def stop(_progress: object) -> None:
        if not sent:  # a second Ctrl-C would end the process
            sent.append(signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    answer = odtdsl.load(spec(SLOW)).solve(progress=stop, using=back_end).to_json()
    assert answer["status"] == "feasible"
    assert answer["interrupted"] is True
    assert all(line["holds"] for line in answer["audit"])


def test_all_optimal_and_near_list_trees(spec, tmp_path):
    path = spec(IRIS.replace("candidates * at quantiles 4\n", ""))
    done = odt("solve", path, "--near", "1 error", "-o", str(tmp_path / "tree.json"))
    assert done.exit_code == 0
    assert "distinct trees within 1 error of the best; the list is complete" in done.stdout
    answer = json.loads(odt("solve", path, "--near", "1 error", "--json").stdout)
    assert answer["complete"] is True
    assert answer["count"] == len(answer["trees"]) > 1
    assert [tree["objective"] for tree in answer["trees"]] == sorted(
        tree["errors"] for tree in answer["trees"]
    )
    assert json.loads((tmp_path / "tree.json").read_text()) == answer["trees"][0]["model"]
    some = json.loads(odt("solve", path, "--all-optimal", "--most", "1", "--json").stdout)
    assert (some["count"], some["near"]) == (1, None)


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        (["--until", "steady 2min"], {"steady": 120.0}),
        (["--until", " gap 5%"], {"gap": Fraction(1, 20)}),
        (["--until", "gap 18"], {"gap": Fraction(18)}),
        (["--until", "steady 10", "--gap", "1%"], {"steady": 10.0, "gap": Fraction(1, 100)}),
        (["--memory", "4GB"], {"memory_bytes": 4 * 10**9}),
        (["--memory", "3.5 GB"], {"memory_bytes": 3_500_000_000}),
    ],
)
def test_limits_of_one_run_replace_those_of_the_spec(spec, options, holds, monkeypatch):
    solve = pipeline.solve
    heard = {}
    monkeypatch.setattr(pipeline, "solve", lambda *a, **k: heard.update(k) or solve(*a, **k))
    text = f"{IRIS}solve until steady 60 s, memory 8 GB, gap 2%"
    assert odt("solve", spec(text), *options).exit_code == 0
    names = ("steady", "gap", "memory_bytes")
    assert {name: heard[name] for name in names if heard.get(name) is not None} == holds


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--until", "steady"], "U323"),
        (["--until", "10s"], "U323"),
        (["--until", "gap 1%", "--gap", "1%"], "U323"),
        (["--until", "steady x"], "U305"),
        (["--until", "gap 100%"], "U306"),
        (["--memory", "4"], "U324"),
        (["--memory", "0.5MB"], "U324"),
    ],
)
def test_wrong_limits_are_told_before_the_data_are_read(spec, options, code):
    found = odt("solve", spec(IRIS.replace('sklearn "iris"', '"no.csv"')), *options)
    assert found.exit_code == 2
    assert code in found.output


@pytest.mark.parametrize(
    "options",
    [
        ["--near", "x"],
        ["--most", "3"],
        ["--near", "1%", "--gap", "1%"],
        ["--near", "1%", "--until", "steady 1s"],
        ["--near", "1%", "--all-optimal"],
        ["--all-optimal", "--most", "0"],
    ],
)
def test_lists_that_cannot_be_asked_for(spec, options):
    assert odt("solve", spec(IRIS), *options).exit_code == 2


def test_an_interrupted_list_keeps_what_it_has(spec, monkeypatch):
    """Ctrl-C at the sixth tree, from inside the process."""
    heard = Collected.__call__
    stops: list[int] = []

    def stop(self, raw, values, function):
        if len(self.known) == 5 and not stops:
            stops.append(len(self.known))
            os.kill(os.getpid(), signal.SIGINT)
        return heard(self, raw, values, function)

    monkeypatch.setattr(Collected, "__call__", stop)
    model = odtdsl.load(spec(HARD.replace("<= 4", "<= 3")))
    answer = model.alternatives(near="30 errors", most=10**6).to_json()
    assert (answer["status"], answer["complete"]) == ("optimal", False)
    assert answer["stopped"] == "interrupted"
    assert stops
    assert answer["count"] >= 5


def test_internal_errors_leave_a_report_and_no_traceback(spec, monkeypatch):
    def fail(*_args: object, **_options: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("odtdsl.driver.pipeline.solve", fail)
    result = odt("solve", spec(IRIS))
    assert result.exit_code == 70
    assert "boom" in result.stderr
    assert "Traceback" not in result.stderr
    path = result.stderr.split("written to ")[1].split(";")[0]
    assert "RuntimeError" in Path(path).read_text()
    Path(path).unlink()


def test_outputs_are_checked_before_the_search_and_full_disks_are_told(spec, tmp_path):
    path = spec(IRIS)
    before = Path(path).read_text()
    assert odt("solve", path, "-o", path).exit_code == 2
    assert Path(path).read_text() == before
    for bad in (tmp_path, tmp_path / "no" / "tree.json"):
        result = odt("solve", path, "-o", str(bad))
        assert result.exit_code == 1
        assert "F301" in result.stderr
        assert result.stdout == ""
    if Path("/dev/full").is_char_device():
        assert odt("solve", path, "-o", "/dev/full").exit_code == 1
        assert Path("/dev/full").is_char_device()
        code = "from odtdsl.interfaces.cli.main import main; main()"
        for asked in (f"check {path}", "--help", "--version", "solve --help"):
            full = f"{sys.executable} -c '{code}' {asked} > /dev/full"
            ran = subprocess.run(full, shell=True, capture_output=True, text=True, check=False)
            assert ran.returncode == 1
            assert ran.stderr.startswith("error[F302]: reading or writing failed")
            assert ran.stderr.count("\n") == 1


def test_the_side_of_missing_cells_is_printed(spec, tmp_path):
    (tmp_path / "m.csv").write_text("a,y\n1,u\n2,u\n3,v\n,v\n4,v\n")
    text = 'data "m.csv"\ntarget y\nmissing branch\ntree depth <= 1\nminimize errors\n'
    shown = odt("solve", spec(text)).stdout
    assert "missing" in shown.splitlines()[0] + shown.splitlines()[1] + shown.splitlines()[2]


def test_why_explains_a_training_row_and_a_row_of_ones_own(spec, tmp_path):
    path, tree = spec(IRIS), tmp_path / "tree.json"
    assert odt("solve", path, "--out", str(tree)).exit_code == 0
    found = odt("why", path, str(tree), "--row", "0")
    assert found.exit_code == 0
    assert "predicts setosa" in found.stdout
    assert "it would be versicolor with" in found.stdout
    cells = [
        f"--cell={name} (cm)={cell}"
        for name, cell in {
            "petal length": 5.5,
            "petal width": 2.4,
            "sepal length": 7,
            "sepal width": "",
        }.items()
    ]
    told = json.loads(odt("why", path, str(tree), *cells, "--to", "setosa", "--json").stdout)
    assert told["prediction"] == "virginica"
    assert told["counterfactual"]["prediction"] == "setosa"


@pytest.mark.parametrize("options", [[], ["--row", "1", "--cell", "a=1"], ["--cell", "a"]])
def test_why_wants_one_row(spec, tmp_path, options):
    path = spec(IRIS)
    found = odt("why", path, str(tmp_path / "none.json"), *options)
    assert found.exit_code == 2
    assert "U309" in found.output + found.stderr


@pytest.mark.parametrize(("code", "told"), [(0, 0), (3, 3), (None, 0), ("no", 1)])
def test_a_run_of_highs_left_behind_does_not_hold_the_process(
    monkeypatch: pytest.MonkeyPatch, code: int | str | None, told: int
) -> None:
    from odtdsl.backends.milp import highs
    from odtdsl.interfaces.cli import common

    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(highs, "running", lambda: True)
    common.leave(SystemExit(code))
    assert codes == [told]
    monkeypatch.setattr(highs, "running", lambda: False)
    with pytest.raises(SystemExit) as ended:
        common.leave(SystemExit(code))
    assert ended.value.code == code
