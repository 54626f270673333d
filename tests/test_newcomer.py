"""What somebody new meets: traps in the data, rows that are missed, wrong files, and the words."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.interfaces.cli.main import app

SPEC = "data frame target y {more} missing branch tree depth <= 2 minimize errors"
Cells = dict[str, list[Any]]


def rows(n: int = 40) -> Cells:
    """Two classes by `a`; nothing else."""
    rng = random.Random(3)
    a = [rng.randrange(10) for _ in range(n)]
    return {"a": a, "y": ["p" if one > 4 else "n" for one in a]}


def warned(frame: Cells, more: str = "") -> dict[str, Diagnostic]:
    found = odtdsl.parse(SPEC.format(more=more)).check(frame=frame)
    assert all(one.severity == "warning" for one in found)
    return {one.code: one for one in found}


# ---- columns


def test_columns_that_never_differ_are_told_together() -> None:
    more: Cells = {"land": ["Austria"] * 40, "visits": [3] * 40, "gone": [None] * 40}
    told = warned(rows() | more)
    assert set(told) == {"D213"}
    assert "`land`, `visits` and `gone`" in told["D213"].message
    assert told["D213"].notes == (
        '`land` is "Austria" in every row',
        "`visits` is 3 in every row",
        "`gone` has only missing values",
    )
    assert told["D213"].helps == ("to leave them out, write `drop land, visits, gone`",)
    assert not warned(rows() | more, "drop land, visits, gone")


def test_many_such_columns_are_one_warning_of_a_few_lines() -> None:
    told = warned(rows() | {f"c{i}": [i] * 40 for i in range(30)})
    assert "and 24 other features" in told["D213"].message
    assert len(told["D213"].notes) == 7


@pytest.mark.parametrize("missing", ["left", "right", "branch"])
def test_the_warning_is_right_about_gaps(missing: str) -> None:
    """A column is told of exactly where no split on it can be had: the solver is asked."""
    gaps = [None if i % 2 else 1 for i in range(40)]
    y = ["p" if i % 2 else "n" for i in range(40)]
    for cells in (gaps, [None if one is None else "x" for one in gaps]):
        spec = SPEC.format(more="").replace("missing branch", f"missing {missing}")
        result = odtdsl.solve(spec, frame={"a": cells, "y": y})
        assert result.tree is not None
        told = {one.code for one in result.warnings}
        assert ("D213" in told) == (result.tree.n_leaves == 1)


def test_a_mark_among_numbers() -> None:
    rng = random.Random(5)
    cells = [f"{rng.gauss(5, 1):.2f}" if i % 4 else "NA" for i in range(40)]
    told = warned(rows() | {"lab": cells})
    assert set(told) == {"D214"}
    assert "30 of 40 cells are numbers" in told["D214"].message
    assert told["D214"].notes == ('not numbers: "NA"',)
    assert not warned(rows() | {"lab": cells}, "feature lab: category")


def test_a_mark_among_numbers_of_a_file_is_named_in_the_data_statement(tmp_path: Path) -> None:
    frame = rows() | {"lab": [f"{i * 7 % 31}.5" if i % 4 else "?" for i in range(40)]}
    spec = written(tmp_path, frame)
    (told,) = odtdsl.load(spec).check()
    assert told.helps[0] == ('if these mean a missing value, add `na {"?"}` to the data statement')
    text = spec.read_text().replace('"rows.csv"', '"rows.csv", na {"?"}')
    spec.write_text(text.replace("tree", "missing branch tree"))
    assert not odtdsl.load(spec).check()


def test_decimal_commas() -> None:
    told = warned(rows() | {"lab": [f"{i % 13},{i % 7}" for i in range(40)]})
    assert set(told) == {"D220"}
    assert "convert the column to numbers in the frame" in told["D220"].helps[0]


def test_levels_that_write_a_few_numbers_are_levels() -> None:
    doors = [("2", "3", "4", "5more")[i % 4] for i in range(40)]
    assert not warned(rows() | {"doors": doors})


@pytest.mark.parametrize(
    "cells",
    [list(range(40)), list(range(1000, 1080, 2)), [f"p{i}" for i in range(40)]],
)
def test_names_of_rows(cells: list[Any]) -> None:
    random.Random(1).shuffle(cells)
    told = warned(rows() | {"id": cells})
    assert set(told) == {"D215"}
    assert not warned(rows() | {"id": cells}, "drop id")
    kind = "number" if isinstance(cells[0], int) else "category"
    assert not warned(rows() | {"id": cells}, f"feature id: {kind}")


@pytest.mark.parametrize(
    "cells",
    [
        [i * 100 for i in range(40)],
        [i + 0.5 for i in range(40)],
        [i % 39 for i in range(40)],
        [f"p{i % 20}" for i in range(40)],
    ],
)
def test_what_is_no_name_of_rows(cells: list[Any]) -> None:
    assert not warned(rows() | {"id": cells})


def test_numbers_taken_for_classes() -> None:
    frame = rows() | {"y": [i % 30 for i in range(40)]}
    told = warned(frame)
    assert set(told) == {"T122"}
    assert "`target y: number` and `minimize mse`" in told["T122"].helps[0]
    spec = SPEC.format(more="").replace("target y", "target y: class")
    assert not odtdsl.parse(spec).check(frame=frame)


# ---- classes


RARE: dict[str, list[Any]] = {
    "a": [i % 10 for i in range(40)],
    "y": ["rare" if i == 7 else "np"[i % 10 > 4] for i in range(40)],
}


def test_a_class_that_is_never_predicted(tmp_path: Path) -> None:
    result = odtdsl.solve(SPEC.format(more=""), frame=RARE)
    (told,) = result.warnings
    assert told.code == "O104"
    assert told.message == 'the model never predicts "rare"'
    assert told.notes == ('1 of 40 training rows has "rare"',)
    rule = told.helps[0].split("`")[1]
    found = odtdsl.solve(f"{SPEC.format(more='')} {rule}", frame=RARE)
    assert not found.warnings
    assert found.tree is not None
    assert "rare" in found.tree.predict(RARE)
    loss = told.helps[1].split("`")[1]
    dear = SPEC.format(more=loss).replace("minimize errors", "minimize expected_loss")
    assert not odtdsl.solve(dear, frame=RARE).warnings


def test_a_class_that_only_test_rows_have(tmp_path: Path) -> None:
    spec = written(tmp_path, RARE)
    text = spec.read_text()
    told = set()
    for seed in range(6):
        spec.write_text(text.replace('"rows.csv"', f'"rows.csv", test 50% seed {seed}'))
        model = odtdsl.load(spec)
        trained = set(model.analyse().rows.labels.tolist())
        codes = {one.code for one in model.check()}
        assert ("D216" in codes) == (len(trained) == 2)
        told |= codes
    assert "D216" in told


def test_the_command_line_tells_it_aside_and_in_json(tmp_path: Path) -> None:
    spec, out = written(tmp_path, RARE), tmp_path / "tree.json"
    shown = run("solve", spec, "--out", out)
    assert shown.exit_code == 0
    assert "warning[O104]" in shown.stderr
    assert "O104" not in shown.stdout
    told = run("solve", spec, "--json")
    assert not told.stderr
    assert [one["code"] for one in json.loads(told.stdout)["warnings"]] == ["O104"]
    audited = run("audit", spec, out)
    assert audited.exit_code == 0
    assert "warning[O104]" in audited.stderr
    told = run("audit", spec, out, "--json")
    assert [one["code"] for one in json.loads(told.stdout)["warnings"]] == ["O104"]
    page = tmp_path / "page.html"
    for more in ((), ("--model", out)):
        assert run("report", spec, "--out", page, *more).exit_code == 0
        assert "warning[O104]" in page.read_text(encoding="utf-8")


# ---- answers and questions


def test_a_result_prints_as_the_command_does() -> None:
    result = odtdsl.solve(SPEC.format(more=""), frame=rows())
    assert str(result).startswith("a <= 4")
    assert "optimal: proven" in str(result)
    assert "tree depth" in str(result)


def test_an_infeasible_answer_says_whom_to_ask(tmp_path: Path) -> None:
    spec = written(tmp_path, RARE, "rule r: accuracy >= 99%")
    shown = run("solve", spec)
    assert shown.exit_code == 3
    assert "`odt explain` says which rules conflict" in shown.stdout


def test_why_says_that_no_leaf_is_of_the_class() -> None:
    result = odtdsl.solve(SPEC.format(more=""), frame=RARE)
    assert "no leaf predicts rare" in str(result.why(0, to="rare"))
    assert "the prediction is n already" in str(result.why(0, to="n"))
    with pytest.raises(OdtError) as caught:
        result.why(0, to="unheard of")
    assert caught.value.diagnostics[0].helps == ("write one of `n`, `p`, `rare`",)


def test_a_frame_is_not_passed_over(tmp_path: Path) -> None:
    spec = written(tmp_path, RARE)
    with pytest.raises(OdtError) as caught:
        odtdsl.load(spec).solve(frame=RARE)
    assert caught.value.diagnostics[0].code == "U209"


@pytest.mark.parametrize("word", ["squared_error", "mean_squared_error"])
def test_the_words_of_others(word: str) -> None:
    spec = SPEC.format(more="").replace("target y", "target y: number")
    (told,) = odtdsl.parse(spec.replace("errors", word)).check(frame={"a": [1, 2], "y": [3, 4]})
    assert told.code == "N201"
    assert told.helps == ("its name is `mse`",)


@pytest.mark.parametrize(
    ("rule", "help"),
    [
        ("demographic_parity <= 3%", 'write, for example, `gap(rate("yes"), sex) <= 5%`'),
        ('fnr("p") <= 30%', 'write, for example, `1 - recall("yes")`'),
        ('tnr("p") >= 30%', "its name is `specificity`"),
        ('npv("p") >= 30%', "its name is `negative_predictive_value`"),
        ("monotonic(a)", "its name is `increasing`"),
        ("fallout <= 30%", "its name is `false_positive_rate`"),
        ("Fall_Out <= 30%", "its name is `false_positive_rate`"),
    ],
)
def test_the_words_of_fairness_and_of_medicine(rule: str, help: str) -> None:
    spec = SPEC.format(more="") + f" rule r: {rule}"
    (told,) = odtdsl.parse(spec).check(frame=rows())
    assert (told.code, told.helps) == ("N201", (help,))


def test_rules_are_found_by_the_words_of_others() -> None:
    parity = run("rules", "demographic parity").stderr
    assert "see `odt rules gap`, `odt rules ratio`" in parity
    assert 'write, for example, `gap(rate("yes"), sex) <= 5%`' in parity
    assert run("rules", "demographic", "parity").stderr == parity
    assert run("rules", "order").stdout.startswith("feature before feature\n")
    assert run("rules", "-h").stdout == run("rules", "--help").stdout
    for word in ("true_positive_rate", "True positive rate", "tpr"):
        assert run("rules", word).stdout.startswith("recall(class)  or  recall(class, group)\n")
    values = run("rules", "predictive value").stderr
    assert "see `odt rules precision`, `odt rules negative_predictive_value`" in values
    both = run("rules", "monotonicity constraint").stderr
    assert "see `odt rules increasing`, `odt rules decreasing`" in both
    assert "did you mean `gap`?" in run("rules", "gapp").stderr


@pytest.mark.parametrize(
    ("rule", "code", "note", "help"),
    [
        ("forall leaf: size >= 0.03", "R116", "means `>= 1`", "`3%`"),
        ("forall leaf: 0.03 > size", "R116", "means `<= 0`", "`3%`"),
        ('count_predicted("p") <= 0.3', "R116", "means `<= 0`", "`30%`"),
        ("forall leaf: size = 0.5", "R116", "never holds", "`50%`"),
        ("not (errors != 0.5)", "R116", "always holds", "`50%`"),
        ("forall path: cost <= 30", "R117", "", "`cost * = 1, NAME = 20`"),
        ("leaves >= 2 or 2 * expected_cost + 1 <= 30", "R117", "", "`cost * = 1, NAME = 20`"),
    ],
)
def test_bounds_that_cannot_be_meant_are_told(rule: str, code: str, note: str, help: str) -> None:
    told = warned(rows(), f"rule r: {rule}")[code]
    assert note in "".join(told.notes)
    assert help in told.helps[0]


@pytest.mark.parametrize(
    "rule",
    [
        "forall leaf: size >= 3%",
        "forall leaf: size >= 1",
        "errors >= 0",
        'rate("p") <= 0.3',
        "cost * = 1 rule s: forall path: cost <= 30",
        "cost {a, b} shared = 2 rule s: forall path: cost <= 30",
        "weight w rule s: errors <= 0.5",
    ],
)
def test_bounds_that_can_be_meant_are_not(rule: str) -> None:
    more = rule if " rule " in rule else f"rule r: {rule}"
    frame = rows() | {"b": [i % 3 for i in range(40)], "w": [0.1 + i % 2 for i in range(40)]}
    assert not {"R116", "R117"} & set(warned(frame, more))


def test_a_back_end_is_spelt_right(tmp_path: Path) -> None:
    shown = run("solve", written(tmp_path, RARE), "--using", "serach")
    assert shown.exit_code != 70
    assert "the back ends are `exact`" in shown.stderr
    assert "did you mean `search`?" in shown.stderr


def test_groups_are_made_of_cells_and_not_of_names() -> None:
    spec = SPEC.format(more="group old = a > 4 group young = not old group some = a")
    young, some = odtdsl.parse(spec).check(frame=rows())
    assert young.message == "`old` is not a condition on the cells of a row"
    assert young.helps == ("if it is another group, write the condition of that group here",)
    assert some.message == "column `a` alone is not a condition"
    assert some.helps == ("compare it with a value: `a = 1`",)


def test_one_error_is_one() -> None:
    frame = {"a": [1, 1, 2], "y": ["n", "p", "p"]}
    result = odtdsl.solve(SPEC.format(more=""), frame=frame)
    assert "1 leaf, 1 training error\n" in str(result)


# ---- wrong files


def test_rows_and_models_in_the_place_of_a_spec(tmp_path: Path) -> None:
    spec, out = written(tmp_path, RARE), tmp_path / "tree.json"
    run("solve", spec, "--out", out)
    for other, hint in ((tmp_path / "rows.csv", "write a spec"), (out, "put the spec first")):
        shown = run("solve", other)
        assert shown.exit_code == 1
        assert "error[F008]" in shown.stderr
        assert hint in shown.stderr
    shown = run("predict", spec, tmp_path / "rows.csv")
    assert shown.exit_code == 2
    assert "odt solve SPEC --out tree.json" in shown.stderr


def test_a_proof_in_the_place_of_a_spec_or_a_model(tmp_path: Path) -> None:
    spec, proof = written(tmp_path, RARE), tmp_path / "tree.proof"
    for begins in (b"ODTCERT1\n7\n\0\xff", b"c odt proof 1\n"):
        proof.write_bytes(begins)
        for words in (("check", proof), ("audit", spec, proof), ("predict", proof, "rows.csv")):
            shown = run(*words)
            assert shown.exit_code == 1
            assert "is a proof, not a" in " ".join(shown.stderr.split())
            assert "--proof" in shown.stderr


def test_the_mark_of_a_missing_cell_of_new_rows_is_asked_for(tmp_path: Path) -> None:
    spec, out = written(tmp_path, RARE), tmp_path / "tree.json"
    run("solve", spec, "--out", out)
    for mark, shown_as in (("NA", "NA"), ("?", '"?"'), ("1o5", "NA")):
        (tmp_path / "new.csv").write_text(f"a\n1\n{mark}\n")
        shown = run("predict", out, tmp_path / "new.csv")
        assert shown.exit_code == 1
        assert f"`--na {shown_as}`" in shown.stderr


# ---- the whole way


def test_the_journey_ends_where_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    from benchmarks import journey

    rng = random.Random(9)
    cells = [[rng.randrange(4) * 20 + 20 for _ in journey.FEATURES] for _ in range(90)]
    with (tmp_path / "pima.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*journey.FEATURES, "diabetes"])
        writer.writerows(
            [*one, "yes" if one[1] > 50 or rng.random() < 0.1 else "no"] for one in cells
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["journey", "pima.csv", "--folder", "out"])
    journey.main()
    assert "every prediction elsewhere is the estimator's" in capsys.readouterr().out
    assert {one.name for one in Path("out").iterdir()} >= {"pima.html", "pima.sql", "pima.py"}


@pytest.mark.parametrize("text", [None, "a,b\n1,2\n"])
def test_the_journey_says_what_it_needs(text: str | None, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    from benchmarks import journey

    if text is not None:
        (tmp_path / "pima.csv").write_text(text)
    with pytest.raises(SystemExit, match=r"must have the columns|cannot be read"):
        journey.load(tmp_path / "pima.csv")


# ---- helpers


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def written(folder: Path, frame: Cells, more: str = "") -> Path:
    """A spec of a file with these rows."""
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(frame), *zip(*frame.values(), strict=True)])
    spec = folder / "spec.odt"
    spec.write_text(f'data "rows.csv" target y tree depth <= 2 minimize errors {more}\n')
    return spec


# ---- names that are no words


def _messages(text: str, frame: Cells | None = None) -> str:
    with pytest.raises(OdtError) as told:
        odtdsl.parse(text).solve(frame=rows() if frame is None else frame)
    return " ".join(str(told.value).split())


@pytest.mark.parametrize("name", ["debt-to-income", "Alter (Jahre)", "a + b", "a - 3"])
def test_a_bare_name_that_needs_backticks_is_recognised(name: str) -> None:
    frame = rows() | {name: [i % 3 for i in range(40)], "b": [i % 5 for i in range(40)]}
    told = _messages(SPEC.format(more="") + f" rule r: not uses({name})", frame)
    assert f"this name needs backticks: `{name}`" in told


def test_other_things_than_names_get_an_example() -> None:
    assert "needs backticks, such as `debt-to-income`" in _messages(
        SPEC.format(more="") + " rule r: not uses(a - 3)"
    )


def test_code_with_backticks_stands_between_two() -> None:
    told = warned(rows() | {"case no": list(range(40))})["D215"]
    assert told.helps[0].startswith(
        "to leave it out, write `` drop `case no` ``, or `` id `case no` ``"
    )
    told = warned(rows() | {"land of birth": ["A"] * 40})["D213"]
    assert "`` drop `land of birth` ``" in told.helps[0]


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("data frame visits", "`solve(frame=visits)` in Python, `%%odt visits` in a notebook"),
        ("data visits", "passed from Python `data frame` (with `frame=visits`, or `%%odt visits`"),
    ],
)
def test_a_frame_is_not_named_in_the_text(source: str, hint: str) -> None:
    told = _messages(SPEC.format(more="").replace("data frame", source))
    assert "S029" in told
    assert hint in told


# ---- what is printed


def test_models_print_as_pictures_in_text() -> None:
    result = odtdsl.parse(SPEC.format(more="")).solve(frame=rows())
    assert str(result.tree).startswith("a <= 4\n├─ yes: n  (")
    spec = SPEC.format(more="").replace("tree depth <= 2", "diagram widths 1, 2")
    found = odtdsl.parse(spec).solve(frame=rows(), using="greedy")
    assert str(found.diagram).startswith("1: a <= 4  (40 rows)")
    assert not str(found.diagram).endswith("\n")


def test_errors_in_python_stand_apart() -> None:
    with pytest.raises(OdtError) as told:
        odtdsl.parse(SPEC.format(more="") + "\nrule r: uses(aa)\nrule s: uses(bb)").solve(
            frame=rows()
        )
    assert "\n\nerror[N103]" in str(told.value)


# ---- rows from Python


@pytest.mark.parametrize(("option", "instead"), [("data", "frame"), ("test", "test_frame")])
def test_rows_in_the_place_of_a_file_are_told(option: str, instead: str) -> None:
    given: dict[str, Any] = {option: rows()}
    with pytest.raises(OdtError, match="U213") as told:
        odtdsl.parse(SPEC.format(more="")).solve(frame=rows(), **given)
    assert f"`{instead}=`" in str(told.value)


def test_a_frame_that_is_asked_for_is_named() -> None:
    with pytest.raises(OdtError, match="D131") as told:
        odtdsl.parse(SPEC.format(more="")).solve()
    assert "`solve(frame=rows)`" in str(told.value)
