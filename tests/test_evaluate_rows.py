"""`odt evaluate`: measures are scikit-learn's, intervals those of a bootstrap of rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scale import scaled
from sklearn import metrics
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.datasets.frames import read_frame
from odtdsl.insight import evaluation
from odtdsl.insight.evaluation import Evaluation, evaluate, evaluate_under
from odtdsl.interfaces.cli.main import app
from odtdsl.language.parser import parse, read_source
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.wording import label_text
from odtdsl.presentation.evaluation import lines


def solved(frame: dict[str, Any], spec: str) -> Predictor:
    model = odtdsl.solve(spec, frame=frame).model
    assert model is not None
    return model


def odt(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def values(found: Evaluation, part: int = 0) -> dict[str, float]:
    return {measure.name: measure.value for measure in found.parts[part].measures}


@pytest.mark.parametrize(
    "classes", [["no", "yes"], ["1st", "2\x1bnd"], [1, 2, 3], ["a", "b", "c", "d"]]
)
def test_classes_are_measured_as_by_scikit_learn(classes: list[Any]) -> None:
    rng = np.random.default_rng(len(classes))
    for _ in range(scaled(40)):
        n = int(rng.integers(30, 80))
        x = rng.integers(0, 9, size=(n, 2))
        truth = [classes[i] for i in (x[:, 0] * len(classes) // 9).tolist()]
        mixed = [
            t if rng.random() < 0.7 else classes[int(rng.integers(len(classes)))] for t in truth
        ]
        frame = {"x": x[:, 0].tolist(), "z": x[:, 1].tolist(), "y": mixed}
        model = solved(frame, "data frame target y: class tree depth <= 2 minimize errors")
        found = evaluate(model, read_frame(frame), draws=100)
        got = values(found)
        said, shares = model.predict(frame), model.predict_proba(frame)
        true = np.array(mixed)
        assert got["accuracy"] == pytest.approx(metrics.accuracy_score(true, said))
        assert got["balanced accuracy"] == pytest.approx(
            metrics.balanced_accuracy_score(true, said)
        )
        np.testing.assert_array_equal(
            found.parts[0].confusion, metrics.confusion_matrix(true, said, labels=classes)
        )
        for at, name in enumerate(classes):
            one = true == name
            name = label_text(name)
            of = f"ROC AUC({name})" if len(classes) > 2 else "ROC AUC"
            assert got[of] == pytest.approx(metrics.roc_auc_score(one, shares[:, at]))
            predicted = said == classes[at]
            assert got[f"recall({name})"] == pytest.approx(metrics.recall_score(one, predicted))
            f1 = metrics.f1_score(one, predicted, zero_division=0)
            assert got[f"F1({name})"] == pytest.approx(f1)
        if len(classes) == 2:
            brier = metrics.brier_score_loss(true == classes[1], shares[:, 1])
            assert got["Brier score"] == pytest.approx(brier)
        assert sum(rows for _, rows, *_ in found.parts[0].calibration) == n


def test_numbers_are_measured_as_by_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=50), rng.normal(size=50)
    frame = {"x": x.tolist(), "y": (y + (x > 0)).tolist()}
    model = solved(frame, "data frame target y: number tree depth <= 2 minimize mse")
    got, said = values(evaluate(model, read_frame(frame))), model.predict(frame)
    true = np.array(frame["y"])
    assert got["mean squared error"] == pytest.approx(metrics.mean_squared_error(true, said))
    assert got["mean absolute error"] == pytest.approx(metrics.mean_absolute_error(true, said))
    assert got["R2"] == pytest.approx(metrics.r2_score(true, said))


def test_intervals_are_those_of_drawn_rows() -> None:
    """Against rows drawn one by one; the same seed gives the same interval."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 9, size=120)
    y = np.where(rng.random(120) < 0.2, x < 5, x >= 5).astype(int)
    frame = {"x": x.tolist(), "y": y.tolist()}
    model = solved(frame, "data frame target y: class tree depth <= 1 minimize errors")
    found = evaluate(model, read_frame(frame))
    assert found == evaluate(model, read_frame(frame))
    right = model.predict(frame) == y
    drawn = [right[rng.integers(0, 120, 120)].mean() for _ in range(4000)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    first = found.parts[0].measures[0]
    assert first.name == "accuracy"
    assert first.low == pytest.approx(low, abs=0.012)
    assert first.high == pytest.approx(high, abs=0.012)


def test_groups_and_rows_without_a_truth() -> None:
    frame: dict[str, Any] = {"x": [1, 2, 3, 4, 5, 6], "y": ["a", "b", "a", "b", "b", "b"]}
    model = solved(frame, "data frame target y tree depth <= 1 minimize errors")
    rows = {
        "x": [1, 2, 9, 9, 1],
        "y": ["a", None, "b", "c", "b"],
        "g": ["u", "u", "v", "v", None],
    }
    found = evaluate(model, read_frame(rows), by="g")
    assert (found.left_out, found.parts[0].rows) == (2, 3)
    assert [(part.group, part.rows) for part in found.parts[1:]] == [
        ("u", 1),
        ("v", 1),
        ("missing", 1),
    ]
    assert np.isnan(values(found, 1)["ROC AUC"])
    for wrong in ({"x": [1]}, {"x": [1], "y": [None]}, {"x": [1], "y": ["c"]}):
        with pytest.raises(OdtError, match=r"U217|no row|no column"):
            evaluate(model, read_frame(wrong))
    with pytest.raises(OdtError) as coded:
        evaluate(model, read_frame({"x": [1, 2], "y": [1, 0]}))
    assert coded.value.diagnostics[0].notes == (
        "the classes of the model are `a`, `b`; the column has `0`, `1`",
    )
    numbers = solved(
        frame | {"y": [1, 2, 3, 4, 5, 6]},
        "data frame target y: number tree depth <= 1 minimize mse",
    )
    with pytest.raises(OdtError, match="U217") as caught:
        evaluate(numbers, read_frame({"x": [1, 2], "y": ["3", "4,5"]}))
    (problem,) = caught.value.diagnostics
    assert problem.notes == ("row 1 (counted from 0) contains `4,5`",)
    assert "--decimal" in problem.helps[0]
    with pytest.raises(OdtError, match="no column `h`"):
        evaluate(model, read_frame(rows), by="h")
    many = {"x": list(range(30)), "y": ["a"] * 30}
    with pytest.raises(OdtError, match="30 values"):
        evaluate(model, read_frame(many), by="x")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "x,s,y\n" + "\n".join(f"{i},{'mf'[i % 2]},{int(i > 9)}" for i in range(20))
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "s.odt").write_text('data "rows.csv"\ntarget y\ntree depth <= 1\nminimize errors\n')
    odt("solve", "s.odt", "--out", "t.json")
    text = odt("evaluate", "t.json", "rows.csv", "--by", "s").stdout
    assert "rows by true class (left) and prediction (above):" in text
    found = json.loads(odt("evaluate", "t.json", "rows.csv", "--json").stdout)
    assert found["parts"][0]["measures"][0]["value"] == 1
    assert odt("evaluate", "t.json", "rows.csv", "--by", "y2").exit_code == 1


def test_log_loss_and_roc_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 12, size=90)
    y = np.where(rng.random(90) < 0.25, x < 6, x >= 6)
    frame = {"x": x.tolist(), "y": ["yes" if one else "no" for one in y]}
    model = solved(frame, "data frame target y tree depth <= 2 minimize errors then leaves")
    found = evaluate(model, read_frame(frame), draws=100)
    shares = model.predict_proba(frame)
    assert values(found)["log loss"] == pytest.approx(metrics.log_loss(y, shares))
    false, true, least = metrics.roc_curve(y, shares[:, 1], drop_intermediate=False)
    np.testing.assert_allclose(found.parts[0].roc, np.stack([false, true, least], axis=1))


def test_survival_is_measured_with_intervals() -> None:
    rows: dict[str, Any] = odtdsl.datasets.survival(rows=300)
    del rows["true_hazard"]
    spec = "data frame target survival months event died tree depth <= 1 minimize survival_loss"
    result = odtdsl.solve(spec, frame=rows, test_frame=rows)
    assert result.model is not None
    assert result.test is not None
    found = evaluate(result.model, read_frame(rows), draws=100, by="stage")
    concordance, brier = found.parts[0].measures
    assert result.test.measures == (("concordance", concordance.value), ("brier", brier.value))
    assert concordance.low < concordance.value < concordance.high
    assert sum(part.rows for part in found.parts[1:]) == 300
    said = rows | {"died": ["Yes" if died else "no" for died in rows["died"]]}
    said["died"][7] = said["months"][9] = None
    again = evaluate(result.model, read_frame(said), draws=100)
    assert (again.left_out, again.parts[0].rows) == (2, 298)


def test_choices_are_measured_beside_each_choice_for_everybody() -> None:
    rows = {"age": [20, 30, 60, 70], "none": [4, 4, 0, 0], "drug": [1, 1, 3, 3]}
    spec = "data frame target choice {none, drug} by reward tree depth <= 1 "
    spec += "maximize expected_reward"
    found = evaluate(solved(rows, spec), read_frame(rows), draws=100)
    expected = {"mean of the choices": 3.5, "always none": 2.0, "always drug": 2.0}
    assert values(found) == expected


def test_a_spec_adds_its_rules_and_a_greedy_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x,g,y\n" + "1,a,no\n2,b,no\n3,a,yes\n4,b,yes\n" * 5)
    (tmp_path / "later.csv").write_text("x,g,y\n1,a,no\n2,b,yes\n9,a,yes\n")
    (tmp_path / "spec.odt").write_text(
        'data "rows.csv", test 40% target y tree depth <= 1 minimize errors '
        "rule all: accuracy >= 90%"
    )
    assert odt("solve", "spec.odt", "--out", "tree.json").exit_code == 0
    asked = ("evaluate", "spec.odt", "tree.json", "later.csv")
    done = odt(*asked)
    assert done.exit_code == 0
    assert "greedy tree" in done.stdout
    assert "on the 3 test rows" in done.stdout
    assert "test: 1 error on 3 rows" in done.stdout
    assert "all   NO     0.666667" in done.stdout
    found = json.loads(odt(*asked, "--json").stdout)
    assert found["spec"]["rows"] == 3
    assert [one["model"] for one in found["beside"]] == ["greedy tree", "CART"]
    assert found["trained"] == 0
    own = odt(*asked[:3], "rows.csv").stdout.splitlines()
    assert own[:2] == ["20 rows", "12 of them are the training rows of the spec: this is no test"]
    assert any(line.startswith("on the 20 rows (rules are") for line in own)
    assert "rows: 0 errors on 20 rows, accuracy 100.00%" in own
    checked = ("audit", *asked[1:3])
    audited = odt(*checked, "rows.csv").stdout.splitlines()
    assert audited[1].startswith("rows: 0 errors on 20 rows")
    assert audited[2].strip() == own[1]
    assert any(line.startswith("on the 20 rows (rules are") for line in audited)
    assert "test" not in "".join(audited).replace("this is no test", "")
    assert json.loads(odt(*checked, "rows.csv", "--json").stdout)["trained"] == 12
    for rows in ((), ("later.csv",)):
        said = odt(*checked, *rows).stdout
        assert "test: " in said
        assert "test rows (rules are" in said
        assert "this is no test" not in said
        assert json.loads(odt(*checked, *rows, "--json").stdout)["trained"] == 0


def test_the_report_has_the_measures_of_the_test_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 12, size=120)
    frame = {"x": x.tolist(), "y": np.where(rng.random(120) < 0.2, x < 6, x >= 6).tolist()}
    spec = "data frame target y tree depth <= 1 minimize errors"
    result = odtdsl.solve(spec, frame=frame, test_frame={k: v[::3] for k, v in frame.items()})
    assert result.model is not None
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    found = evaluate(result.model, read_frame({k: v[::3] for k, v in frame.items()}), draws=1000)
    for measure in found.parts[0].measures:
        assert f">{measure.name}</th>" in page
        assert f"{measure.value:.4g}</td>" in page
    assert ">greedy tree</th>" in page
    assert ">CART</th>" in page
    assert "What the leaves say, and what came" in page


def test_groups_of_a_spec_are_measured_apart(tmp_path: Path) -> None:
    """Named ones and those that a rule makes of a column, by the same draws as their rows alone."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 12, 200)
    frame = {"x": x.tolist(), "g": rng.choice(["a", "b"], 200).tolist()}
    frame["y"] = np.where(rng.random(200) < 0.2, x < 6, x >= 6).astype(str).tolist()
    (tmp_path / "rows.csv").write_text(
        "x,g,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(*frame.values(), strict=True))
    )
    (tmp_path / "spec.odt").write_text(
        f'data "{tmp_path}/rows.csv", test 50% target y group high = x >= 6 tree depth <= 1 '
        'minimize errors rule even: gap(rate("True"), g) <= 90%'
    )
    analysis = analyse(parse(read_source(tmp_path / "spec.odt")))
    result = odtdsl.solve(tmp_path / "spec.odt")
    found_tree = result.model
    assert found_tree is not None
    assert analysis.test is not None
    found = evaluate_under(analysis, found_tree, analysis.test.table, draws=100)
    assert [part.group for part in found.groups] == ["high", 'g = "a"', 'g = "b"']
    seen = analysis.test.table.columns
    cells = {name: [seen[name].texts[row] for row in range(found.parts[0].rows)] for name in frame}
    masks = [[float(one) >= 6 for one in cells["x"]], *([g == b for g in cells["g"]] for b in "ab")]
    for part, mask in zip(found.groups, masks, strict=True):
        kept = {n: [one for one, in_ in zip(c, mask, strict=True) if in_] for n, c in cells.items()}
        rows = read_frame(kept | {"x": [float(one) for one in kept["x"]]})
        alone = evaluate(found_tree, rows, draws=100)
        assert part.rows == sum(mask)
        for one, other in zip(part.measures, alone.parts[0].measures, strict=True):
            assert one.value == pytest.approx(other.value, nan_ok=True)
            assert np.isnan(one.value) or one.low <= one.value <= one.high
    assert [one["group"] for one in found.to_json()["groups"]] == [p.group for p in found.groups]
    result.report(tmp_path / "page.html")
    assert "Measures by group, on test rows" in (tmp_path / "page.html").read_text()


def test_no_other_trees_are_grown_beside_many_rows_unasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evaluation, "MOST_BESIDE", 30)
    frame = {"x": list(range(20)), "z": [1, 2] * 10, "y": ["a"] * 8 + ["b"] * 12}
    source = "data frame target y tree depth <= 1 minimize errors"
    analysis = analyse(parse(Source(name="", text=source)), frame=frame, test_frame=frame)
    model = odtdsl.solve(source, frame=frame).model
    assert model is not None
    assert analysis.test is not None
    found = evaluate_under(analysis, model, analysis.test.table, draws=100)
    assert found.left_beside
    assert found.beside == ()
    assert "--beside" in "\n".join(lines(found, ["minimize errors"]))
    asked = evaluate_under(analysis, model, analysis.test.table, draws=100, beside=True)
    assert [name for name, _ in asked.beside] == ["greedy tree", "CART"]


def _drawn(rng: np.random.Generator, n: int) -> dict[str, Any]:
    a = rng.integers(0, 9, n).astype(float)
    a[rng.random(n) < 0.1] = np.nan
    b = [("p", "q", "r")[i] for i in rng.integers(0, 3, n)]
    c = [("lo", "mid", "hi")[i] for i in rng.integers(0, 3, n)]
    signal = np.nan_to_num(a, nan=4.0) + 3 * (np.array(b) == "q")
    y = ["yes" if s + rng.normal() > 5 else "no" for s in signal]
    return {"a": a.tolist(), "b": b, "c": c, "y": y, "w": rng.integers(1, 4, n).tolist()}


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_loss_cost_and_cart_are_those_of_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    train, later = _drawn(rng, 60), _drawn(rng, 40)
    spec = """data frame target y: class {"no", "yes"} feature c: ordered {"lo", "mid", "hi"}
    missing branch weight w cost a = 2, b = 1 cost {a, c} shared = 0.5
    loss predict "no" when "yes" = 4 tree depth <= 2 minimize expected_loss"""
    analysis = odtdsl.parse(spec).analyse(frame=train)
    model = odtdsl.solve(spec, frame=train).tree
    assert model is not None
    found = evaluate_under(analysis, model, read_frame(later), draws=100)
    got = values(found)
    truth, said = np.array(later["y"]), model.predict(later)
    price = np.where((truth == "yes") & (said == "no"), 4, (truth != said).astype(int))
    weights = np.array(later["w"])
    assert found.weight == "w"
    assert got["expected loss"] == pytest.approx(np.average(price, weights=weights))
    rule = odtdsl.parse(spec + " rule r: expected_cost <= 99 rule s: expected_loss <= 99")
    told = odtdsl.audit(model, rule, frame=later)
    by_rule = {line.rule: line.value for line in told.lines}
    for name, value in (("expected cost", by_rule["r"]), ("expected loss", by_rule["s"])):
        assert value is not None
        assert got[name] == pytest.approx(float(value))
    cart = dict(found.beside)["CART"]
    columns = [
        np.column_stack(
            [
                np.array(rows["a"], dtype=float),
                *(np.array(rows["b"]) == level for level in "pqr"),
                [("lo", "mid", "hi").index(x) for x in rows["c"]],
            ]
        )
        for rows in (train, later)
    ]
    grown = DecisionTreeClassifier(max_depth=2, random_state=0)
    grown.fit(columns[0], train["y"], sample_weight=train["w"])
    beside = {measure.name: measure.value for measure in cart.measures}
    assert beside["accuracy"] == pytest.approx(grown.score(columns[1], truth, weights))
    shares = grown.predict_proba(columns[1])
    assert beside["log loss"] == pytest.approx(
        metrics.log_loss(truth, shares, sample_weight=weights)
    )
    paid = []
    for path in grown.decision_path(columns[1]).toarray():
        nodes = np.flatnonzero(path)
        asked = {"abbbc"[at] for at in grown.tree_.feature[nodes].tolist() if at >= 0}
        shared = 0.5 * bool(asked & {"a", "c"})
        paid.append(2 * ("a" in asked) + ("b" in asked) + shared)
    assert beside["expected cost"] == pytest.approx(np.average(paid, weights=weights))
    loss = next(one for one in found.parts[0].measures if one.name == "expected loss")
    assert loss.low <= loss.value <= loss.high


KINDS = {
    "classes": "target y minimize errors",
    "numbers": "target n: number minimize mse",
    "counts": "target n: number minimize poisson",
    "survival": "target survival t event e minimize survival_loss",
    "choices": "target choice {r, s} by reward maximize reward",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(scaled(10)))
def test_a_row_of_weight_k_is_measured_as_k_rows(kind: str, seed: int) -> None:
    """Also of weight 0, in groups, and in what is told of test rows."""
    rng = np.random.default_rng(seed)
    rows: dict[str, Any] = {
        "x": rng.integers(0, 5, 30).tolist(),
        "g": rng.choice(["u", "v"], 30).tolist(),
        "y": rng.choice(["a", "b", "c"], 30).tolist(),
        "n": rng.integers(0, 6, 30).tolist(),
        "t": rng.integers(1, 20, 30).tolist(),
        "e": rng.integers(0, 2, 30).tolist(),
        "r": rng.integers(0, 9, 30).tolist(),
        "s": rng.integers(0, 9, 30).tolist(),
    }
    used = re.findall(r"\w+", KINDS[kind])
    dropped = ", ".join(name for name in rows if name != "x" and name not in used)
    spec = f"data frame {KINDS[kind]} drop {dropped} tree depth <= 1"
    weights = rng.integers(0, 4, 30)
    model = odtdsl.solve(spec, frame=rows).tree
    assert model is not None
    repeated = {name: np.repeat(cells, weights).tolist() for name, cells in rows.items()}
    weighted = {**rows, "w": weights.tolist()}
    one, other = (
        evaluate_under(
            odtdsl.parse(text).analyse(frame=rows | extra, test_frame=test),
            model,
            read_frame(test),
            draws=100,
            by="g",
            beside=False,
        )
        for text, extra, test in (
            (spec + " weight w", {"w": [1] * 30}, weighted),
            (spec, {}, repeated),
        )
    )
    assert one.weight == "w"
    assert other.weight is None
    for first, second in zip(
        sorted(one.parts, key=lambda part: str(part.group)),
        sorted(other.parts, key=lambda part: str(part.group)),
        strict=True,
    ):
        for mine, theirs in zip(first.measures, second.measures, strict=True):
            assert mine.name == theirs.name
            assert mine.value == pytest.approx(theirs.value, nan_ok=True, abs=1e-12)
            assert np.isnan(mine.low) or mine.low <= mine.high
    assert one.score is not None
    assert other.score is not None
    for name, value in one.score.figures.items():
        if name != "errors":
            assert value == pytest.approx(other.score.figures[name], abs=1e-12), name
    if kind == "counts":
        assert values(one)["half Poisson deviance"] == pytest.approx(one.score.figures["poisson"])
        truth, said = np.array(repeated["n"]), np.array(model.predict(repeated))
        deviance = metrics.mean_poisson_deviance(truth, said) / 2
        assert values(one)["half Poisson deviance"] == pytest.approx(deviance)
        explained = metrics.d2_tweedie_score(truth, said, power=1)
        assert values(one)["D2 (Poisson)"] == pytest.approx(explained)


def test_intervals_of_weighted_rows_are_those_of_drawn_rows() -> None:
    """Weights part the rows of a leaf and a class: drawn with their rows, not beside them."""
    rng = np.random.default_rng(1)
    rows = {"x": [0, 1] * 100, "y": rng.choice(["a", "b"], 200).tolist()}
    weights = rng.choice([1.0, 10.0], 200)
    spec = "data frame target y weight w tree depth <= 1 minimize errors"
    frame = {**rows, "w": weights.tolist()}
    analysis = odtdsl.parse(spec).analyse(frame=frame, test_frame=frame)
    model = odtdsl.solve(spec, frame=frame).tree
    assert model is not None
    found = evaluate_under(analysis, model, read_frame(frame), draws=4000, beside=False)
    accuracy = next(one for one in found.parts[0].measures if one.name == "accuracy")
    right = np.array(model.predict(frame)) == np.array(rows["y"])
    at = rng.integers(0, 200, (4000, 200))
    drawn = (right[at] * weights[at]).sum(axis=1) / weights[at].sum(axis=1)
    assert accuracy.value == pytest.approx(np.average(right, weights=weights))
    assert accuracy.low == pytest.approx(np.quantile(drawn, 0.025), abs=0.01)
    assert accuracy.high == pytest.approx(np.quantile(drawn, 0.975), abs=0.01)


def test_a_prediction_of_none_for_some_has_no_bounded_deviance() -> None:
    spec = "data frame target y: number tree depth <= 1 minimize poisson"
    frame = {"x": [0, 0, 1, 1], "y": [0, 0, 3, 4]}
    analysis = odtdsl.parse(spec).analyse(frame=frame, test_frame=frame | {"y": [0, 1, 3, 4]})
    model = odtdsl.solve(spec, frame=frame).tree
    assert model is not None
    later = read_frame(frame | {"y": [0, 1, 3, 4]})
    found = evaluate_under(analysis, model, later, draws=100, beside=False)
    assert values(found)["half Poisson deviance"] == np.inf
    json.dumps(found.to_json(), allow_nan=False)
    assert found.score is not None
    assert "poisson inf" in str(found.score)


def test_numbers_stand_beside_cart_too() -> None:
    rng = np.random.default_rng(4)
    rows = _drawn(rng, 50)
    rows["y"] = (np.nan_to_num(rows["a"], nan=4.0) + rng.normal(size=50)).tolist()
    spec = """data frame target y: number drop c, w missing branch cost a = 2
    tree depth <= 2 minimize mse"""
    analysis = odtdsl.parse(spec).analyse(frame=rows)
    model = odtdsl.solve(spec, frame=rows).tree
    assert model is not None
    found = evaluate_under(analysis, model, read_frame(rows), draws=100)
    cells = np.column_stack([rows["a"], *(np.array(rows["b"]) == level for level in "pqr")])
    grown = DecisionTreeRegressor(max_depth=2, random_state=0).fit(cells.astype(float), rows["y"])
    beside = {measure.name: measure.value for measure in dict(found.beside)["CART"].measures}
    off = grown.predict(cells.astype(float)) - np.array(rows["y"])
    assert beside["mean squared error"] == pytest.approx((off**2).mean())
    assert values(found)["mean squared error"] <= beside["mean squared error"] + 1e-9
    assert 0 <= values(found)["expected cost"] <= 2


def test_many_groups_stand_in_several_tables() -> None:
    rows = {"x": list(range(24)), "g": [f"g{at % 8}" for at in range(24)], "y": ["a", "b"] * 12}
    model = odtdsl.Model().data(rows).drop("g").target("y").tree(depth=1).minimize("errors")
    found = evaluate(model.solve().model, read_frame(rows), draws=20, by="g")
    text = list(lines(found))
    assert max(map(len, text)) <= 160
    heads = [line.split("  ") for line in text if line.startswith("measure")]
    shown = [name.strip() for head in heads for name in head if name.strip() not in ("", "measure")]
    assert shown == ["all rows", *(f"g = {part.group}" for part in found.parts[1:])]
    assert len(heads) == 2
