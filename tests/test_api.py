"""Reading, checking, solving, writing and auditing models from Python; doctests of the package."""

from __future__ import annotations

import doctest
import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_words import codes

import odtdsl
from odtdsl import Model, OdtError
from odtdsl.datasets.digest import digest
from odtdsl.predictors.json import save
from odtdsl.words import col, errors, leaves, named, output, size, uses

ROWS: dict[str, list[Any]] = {
    "age": [20, 25, 30, 35, 40, 45, 50, 55],
    "sex": ["f", "m", "f", "m", "f", "m", "f", "m"],
    "sick": ["no", "no", "no", "yes", "no", "yes", "yes", "yes"],
}


def model(rows: Any = ROWS) -> Model:
    return Model().data(rows).target("sick", positive="yes").tree(depth=2).minimize(errors)


# ---- the package


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
    )
    return done.stdout


def test_importing_and_building_load_nothing_heavy() -> None:
    code = """
import sys
import odtdsl
at_first = sorted(name for name in sys.modules if name.startswith("odtdsl"))
model = odtdsl.Model().data("x.csv").rule("r", odtdsl.words.accuracy >= 0.9)
str(model)
heavy = "numpy lark scipy sklearn pandas polars pyarrow pyomo highspy narwhals click".split()
print(at_first, [name for name in heavy if name in sys.modules])
"""
    light = ["odtdsl", "odtdsl.base", "odtdsl.base.methods", "odtdsl.presentation"]
    assert run(code) == f"{light} []\n"


@pytest.mark.parametrize(("option", "commands"), [("--help", 1), ("--version", 0)])
def test_help_and_version_load_nothing_heavy(option: str, commands: int) -> None:
    code = f"""
import sys
from contextlib import redirect_stdout, suppress
from odtdsl.__main__ import main
sys.argv = ["odt", "{option}"]
with suppress(SystemExit), redirect_stdout(sys.stderr):
    main()
heavy = "numpy lark scipy sklearn pandas polars pyarrow pyomo highspy narwhals".split()
loaded = ["odtdsl.interfaces.cli.why", *heavy]
print([name for name in loaded if name in sys.modules])
"""
    assert run(code) == f"{['odtdsl.interfaces.cli.why'][:commands]}\n"


def test_classes_of_a_text_file_are_solved_without_what_they_do_not_need() -> None:
    code = """
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from odtdsl.__main__ import main
with TemporaryDirectory() as folder:
    Path(folder, "rows.csv").write_text("a,y" + "".join(f"\\n{i},{i % 3 == 0}" for i in range(9)))
    spec = Path(folder, "spec.odt")
    spec.write_text('data "rows.csv" target y tree depth <= 2 minimize errors')
    sys.argv = ["odt", "solve", str(spec)]
    with suppress(SystemExit), redirect_stdout(sys.stderr):
        main()
other = '''
    numpy.ma odtdsl.backends.exact.diagrams odtdsl.backends.exact.regression
    odtdsl.backends.greedy.regression odtdsl.driver.alternatives odtdsl.problem.outputs.feasible
    odtdsl.interfaces.cli.tune odtdsl.interfaces.cli.formulas odtdsl.interfaces.api
    odtdsl.backends.milp.backend odtdsl.backends.sat.backend odtdsl.backends.clauses.lowering
    odtdsl.backends.decode_diagram odtdsl.backends.exact.ruled odtdsl.datasets.dates
    narwhals pandas polars pyarrow scipy sklearn joblib pyomo highspy ortools pysat pindakaas
'''.split()
print("odtdsl.driver.pipeline" in sys.modules, [name for name in other if name in sys.modules])
"""
    assert run(code) == "True []\n"


def test_several_threads_may_solve_before_anything_is_loaded() -> None:
    code = """
import threading
import odtdsl
rows = {"a": list(range(20)), "y": [0, 1] * 10}
found = []
def solve():
    spec = "data frame target y tree depth <= 2 minimize errors"
    found.append(odtdsl.solve(spec, frame=rows).status)
threads = [threading.Thread(target=solve) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found)
"""
    assert run(code) == f"{['optimal'] * 4}\n"


def test_all_public_names_are_there_listed_and_no_others() -> None:
    for name in odtdsl.__all__:
        assert getattr(odtdsl, name) is not None
        assert name in dir(odtdsl)
    assert isinstance(odtdsl.__version__, str)
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        odtdsl.sovle  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_that_of_the_project() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        expected = version("odtdsl")
    except PackageNotFoundError:
        expected = "0+source"
    assert odtdsl.__version__ == expected


@pytest.mark.parametrize(
    "name",
    [
        "odtdsl",
        "odtdsl.interfaces.api.auditing",
        "odtdsl.interfaces.api.builder",
        "odtdsl.interfaces.api.explaining",
        "odtdsl.interfaces.api.formulas",
        "odtdsl.interfaces.api.model",
        "odtdsl.interfaces.api.solving",
        "odtdsl.words",
        "odtdsl.words.expr",
    ],
)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    found = doctest.testmod(module, extraglobs={"Model": odtdsl.Model})
    assert found.attempted > 0
    assert found.failed == 0


# ---- data from Python


def test_any_frame_makes_the_same_data() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frames = (ROWS, pandas.DataFrame(ROWS), polars.DataFrame(ROWS), pyarrow.table(ROWS))
    digests = set()
    for frame in frames:
        built = model(frame)
        assert built.frame is frame
        assert str(built).startswith("data frame\n")
        rows = built.analyse().rows
        assert rows.data.columns["age"].numbers is not None
        digests.add((rows.n_rows, tuple(rows.labels), tuple(rows.data.columns["age"].numbers)))
    assert len(digests) == 1


def test_the_digest_of_the_rows_outlives_them() -> None:
    """It is computed when it is asked for, and at the latest when the rows go."""
    rows = {"age": [20, 30, 40, 50], "sick": ["no", "no", "yes", "yes"]}
    spec = "data frame target sick tree depth <= 1 minimize errors"
    result, same = (odtdsl.solve(spec, frame=rows) for _ in range(2))
    assert result.rows is not None
    kept = pickle.loads(pickle.dumps(same.without_rows()))
    assert kept.rows is None
    assert kept.digest == result.digest == digest(result.rows.data.table)
    assert kept.fingerprint == result.fingerprint
    other = odtdsl.solve(spec, frame={**rows, "age": [21, 30, 40, 50]})
    assert other.digest != result.digest
    assert other.fingerprint != result.fingerprint


def test_an_array_has_columns_by_number() -> None:
    array = np.array([[1.0, 0], [2, 0], [3, 1]])
    built = Model().data(array).target("x1").tree(depth=1).minimize("errors")
    assert built.solve(using="greedy").tree.tested == ("x0",)  # type: ignore[union-attr]


def test_a_frame_can_be_given_when_solving_and_test_rows_as_well() -> None:
    built = model(None)
    assert built.frame is None
    with pytest.raises(OdtError) as caught:
        built.analyse()
    assert codes(caught) == ["D131"]
    later = {name: values[:4] for name, values in ROWS.items()}
    analysis = built.analyse(frame=ROWS, test_frame=later)
    assert analysis.rows.n_rows == 8
    assert analysis.test is not None
    assert analysis.test.n_rows == 4
    held = model().copy().data(ROWS, test=later)
    assert held.test_frame is later


def test_paths_are_relative_to_the_spec_and_replacements_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    for folder, n_rows in ((home, 8), (other, 4)):
        lines = [",".join(ROWS)]
        lines += [
            ",".join(map(str, row)) for row in list(zip(*ROWS.values(), strict=True))[:n_rows]
        ]
        (folder / "x.csv").write_text("\n".join(lines))
    spec = home / "a.odt"
    spec.write_text('data "x.csv" target sick tree depth <= 1 minimize errors')
    monkeypatch.chdir(other)
    assert odtdsl.load(spec).analyse().rows.n_rows == 8
    assert odtdsl.load(spec).rule("r", "leaves <= 2").analyse().rows.n_rows == 8
    assert odtdsl.load(spec).analyse(data="x.csv").rows.n_rows == 4
    again = odtdsl.parse(spec.read_text(), base=home).analyse(test=Path("x.csv"))
    assert again.test is not None
    assert again.test.n_rows == 4


# ---- checking


def test_check_tells_everything_and_never_raises() -> None:
    assert odtdsl.check(model()) == ()
    assert model().check() == ()
    assert [d.code for d in odtdsl.check("tagret y")] == ["S002"]
    assert [d.code for d in odtdsl.check(Path("none.odt"))] == ["F001"]
    assert [d.code for d in odtdsl.check("none.odt")] == ["F001"]
    several = model().rule("a", uses("agee")).rule("b", "cost <= 3")
    assert [d.code for d in several.check()] == ["N103", "T220"]


def test_messages_show_the_canonical_text_of_a_built_model() -> None:
    (mistake,) = model().rule("a", uses("agee") & uses("sex")).check()
    assert mistake.source is not None
    assert mistake.source.text.splitlines()[-1] == "rule a: uses(agee) and uses(sex)"
    span = mistake.labels[0].span
    assert mistake.source.text[span.start : span.end] == "agee"
    assert "<model>:9:14" in str(OdtError([mistake]))
    assert "did you mean `age`?" in str(OdtError([mistake]))


def test_warnings_are_told_too() -> None:
    assert [d.severity for d in model().group("all", "age > 0").check()] == ["warning"]


# ---- solving


@pytest.mark.parametrize("using", ["auto", "milp", "greedy"])
def test_a_model_is_solved_and_its_rules_audited(using: str) -> None:
    built = model().rule("robust", size >= 2, forall="leaf")
    result = built.solve(using=using)
    assert result.status == ("feasible" if using == "greedy" else "optimal")
    assert result.objective == 1
    assert result.audit is not None
    assert result.audit.holds
    assert [line.rule for line in result.audit.lines][-1] == "robust"
    assert odtdsl.solve(str(built), frame=ROWS, using=using).objective == 1


def test_settings_replace_values_that_the_model_names() -> None:
    built = model().let("most", 4).rule("small", leaves <= named("most"))
    for most in (1, "1", Fraction(1), 3 - 2 * named("one")):
        built_too = built.copy().let("one", 1)
        result = built_too.solve(settings={"most": most}, using="greedy")
        assert result.tree is not None
        assert result.tree.n_leaves == 1
    with pytest.raises(OdtError) as caught:
        built.solve(settings={"mots": 1})
    assert codes(caught) == ["N113"]


def test_limits_are_read_as_in_the_language() -> None:
    seen: list[Any] = []
    result = model().solve(
        within="1 min", gap="50%", threads=1, seed=3, memory="1 GB", progress=seen.append
    )
    assert result.seed == 3
    assert result.objective is not None
    assert all(progress.seconds >= 0 for progress in seen)
    for wrong in ({"within": "1"}, {"within": -1}, {"gap": -2}, {"memory": "1 KB"}, {"seed": -1}):
        with pytest.raises(OdtError):
            model().solve(**wrong)


@pytest.mark.parametrize(
    ("name", "meant"), [("wihtin", "within"), ("seconds", "within"), ("frames", "frame")]
)
@pytest.mark.parametrize("call", [odtdsl.solve, odtdsl.plan, odtdsl.explain, odtdsl.tune])
def test_an_argument_that_is_none_is_told(call: Callable[..., Any], name: str, meant: str) -> None:
    grid = ({"depth": [1, 2]},) if call is odtdsl.tune else ()
    with pytest.raises(TypeError, match=f"argument '{name}'; did you mean '{meant}'"):
        call(Model().data({"y": ["a", "b"]}).target("y").add("tree"), *grid, **{name: 3})


def test_an_infeasible_model_is_an_answer() -> None:
    result = model().rule("none", errors <= 0).rule("all", leaves <= 1).solve()
    assert result.status == "infeasible"
    with pytest.raises(OdtError) as caught:
        odtdsl.audit(result, model())
    assert codes(caught) == ["U401"]


def test_several_number_targets_built_by_calls_are_analysed() -> None:
    rows = {"x": [1, 2, 3, 4], "a": [0.5, 1, 2, 3], "b": [1, 1, 2, 2]}
    built = (
        Model()
        .data(rows)
        .target("a", "b", type="number")
        .tree(depth=1)
        .minimize("mse")
        .group("high", col("x") >= 3)
        .rule("sum", output("a") + output("b") <= 5, forall="leaf")
    )
    assert built.analyse().problem.target.names == ("a", "b")


def test_plan_says_which_back_end_and_why() -> None:
    planned = odtdsl.plan(model())
    assert planned.choice.name in ("exact", "milp")
    assert model().plan(using="greedy").choice.name == "greedy"


def test_compile_writes_what_the_ending_says(tmp_path: Path) -> None:
    built = model().rule("robust", size >= 2, forall="leaf")
    size_of = built.compile(tmp_path / "m.lp")
    assert size_of
    assert all(count >= 0 for count in size_of.values())
    assert "robust" in (tmp_path / "m.lp").read_text()
    odtdsl.compile(built, tmp_path / "m.mps")
    sections = [
        line for line in (tmp_path / "m.mps").read_text().splitlines() if line[0] not in " *"
    ]
    assert (sections[0].split()[0], sections[-1]) == ("NAME", "ENDATA")
    assert "ROWS" in sections
    odtdsl.compile(built, tmp_path / "m.txt", to="lp")
    assert "robust" in (tmp_path / "m.txt").read_text()


# ---- auditing


def test_a_saved_tree_is_audited_again_and_starts_a_search(tmp_path: Path) -> None:
    built = model()
    result = built.solve()
    assert result.tree is not None
    path = tmp_path / "tree.json"
    save(result.tree, path)
    whole = tmp_path / "result.json"
    whole.write_text(json.dumps(result.to_json()))
    assert odtdsl.load_tree(path) == odtdsl.load_tree(whole) == result.tree
    for tree in (result.tree, result, path, str(whole)):
        assert built.audit(tree) == result.audit
    broken = built.copy().rule("big", size >= 5, forall="leaf")
    assert [line.rule for line in broken.audit(path).lines if not line.holds] == ["big"]
    assert built.solve(start=path).objective == result.objective
    assert built.copy().options(start=path).solve().objective == result.objective


def test_what_is_no_tree_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"model": 3}')
    for wrong, code in ((tmp_path / "a.json", "F204"), (tmp_path / "b.json", "F201"), (3, "U401")):
        with pytest.raises(OdtError) as caught:
            odtdsl.audit(wrong, model())  # type: ignore[arg-type]
        assert codes(caught) == [code]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda one: one.solve(progress=3), "a function of one argument"),
        (lambda one: one.alternatives(progress=3), "a function of one argument"),
        (lambda one: one.solve(memory=4), 'such as "4 GB"'),
        (lambda one: one.curve("robust", jobs=0), "-1 for one per processor"),
        (lambda one: one.curve("robust", points=0), "at least 1"),
        (lambda one: odtdsl.tune(one, {"depth": [1, 2]}, jobs=0), "-1 for one per processor"),
        (lambda one: one.explain(most=0), "at least 1"),
        (lambda one: one.explain(deeper=-1), "at least 0"),
        (lambda one: one.compare(backends="exact"), "a list"),
        (lambda one: one.compare(backends=[3]), "its name"),
        (lambda one: one.decode(3), "a file, literals or values"),
        (lambda one: one.solve(proof=3), "the path of a file"),
        (lambda one: one.alternatives(proof=True), "the path of a file"),
        (lambda one: one.check_proof(3), "the path of a file"),
        (lambda one: one.compile(3), "the path of a file"),
        (lambda one: one.solve().certify(3), "the path of a file"),
        (lambda one: one.solve().report(3), "the path of a file"),
        (lambda one: one.solve().tree.save(3), "the path of a file"),
        (lambda _: odtdsl.load(3), "the path of a file"),  # type: ignore[arg-type]
        (lambda _: odtdsl.load_model(3), "the path of a file"),  # type: ignore[arg-type]
    ],
)
def test_a_call_of_a_wrong_kind_says_what_to_write(call: Any, told: str) -> None:
    with pytest.raises(OdtError) as caught:
        call(model())
    assert codes(caught) == ["U401"]
    assert told in caught.value.diagnostics[0].helps[0]


def test_a_time_limit_by_any_other_name_is_within() -> None:
    for name in ("timelimit", "time_limit", "time_out"):
        given: dict[str, Any] = {name: 3}
        with pytest.raises(TypeError, match="did you mean 'within'"):
            model().solve(**given)
