"""What estimators say of data and weights: all that `Model` says of the same frame."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scale import scaled

import odtdsl

pytest.importorskip("sklearn")
ROWS = 60


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "const": [1] * ROWS,
            "money": [f"{i % 7},{100 + i % 9}" for i in range(ROWS)],
            "lab": [f"{i % 9}.5" if i % 8 else "<2" for i in range(ROWS)],
            "id": [f"p{i}" for i in range(ROWS)],
            "a": rng.normal(size=ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
        }
    )


def test_doubts_about_data_are_those_of_a_model() -> None:
    X = frame()
    y = pd.Series(np.where(X.a > 0, "p", "q"), name="y")
    fitted = odtdsl.OptimalTreeClassifier(max_depth=1).fit(X, y)
    text = "data frame target y tree depth <= 1 minimize error_rate"
    wanted = odtdsl.solve(text, frame=X.assign(y=y)).warnings
    told = [(one.code, one.message) for one in fitted.result_.warnings]
    assert told == [(one.code, one.message) for one in wanted]
    assert {code for code, _ in told} >= {"D213", "D214", "D215"}
    meant = odtdsl.OptimalTreeClassifier(max_depth=1, spec="feature money, lab, id: category").fit(
        X, y
    )
    assert {one.code for one in meant.result_.warnings} == {"D213"}


def test_doubts_about_data_are_one_warning_of_a_fit() -> None:
    """One text among numbers makes a category of them all, which nobody looks for in a result."""
    numbers: list[Any] = [float(i % 50) for i in range(ROWS)]
    X = pd.DataFrame({"a": np.arange(ROWS) % 7, "income": pd.Series(numbers, dtype=object)})
    y = np.arange(ROWS) % 2
    X.loc[3, "income"] = "1200 EUR"
    X["code"] = X.income
    with pytest.warns(odtdsl.DataWarning) as caught:
        fitted = odtdsl.OptimalTreeClassifier(max_depth=2).fit(X, y)
    (one,) = caught
    assert one.filename == __file__
    texts = [str(told) for told in fitted.result_.warnings if told.code == "D214"]
    assert len(texts) == 2
    assert str(one.message) == "\n".join(texts)
    assert '"1200 EUR"' in texts[0]
    meant = odtdsl.OptimalTreeClassifier(max_depth=2, spec="feature income, code: category")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meant.fit(X, y).predict(X)
        odtdsl.OptimalTreeClassifier(max_depth=2).fit(X[["a"]], y)


def test_rules_that_are_probably_not_meant_so_are_one_warning_of_a_fit() -> None:
    """A percentage without its sign is seen in the rule, and not in what no tree satisfies."""
    X, y = np.arange(40.0)[:, None], (np.arange(40) % 4 == 0).astype(int)
    tree = odtdsl.OptimalTreeClassifier({"sure": "accuracy >= 90", "low": "precision(1) >= 80"})
    with pytest.warns(odtdsl.RuleWarning) as caught, pytest.raises(odtdsl.OdtError, match="U607"):
        tree.fit(X, y)
    (one,) = caught
    assert "rule `sure`" in str(one.message)
    assert "rule `low`" in str(one.message)
    assert "if a percentage is meant, write `90%`" in str(one.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odtdsl.OptimalTreeClassifier(["accuracy >= 60%"]).fit(X, y)


def test_a_grid_search_warns_of_a_rule_once() -> None:
    from sklearn.model_selection import GridSearchCV

    X, y = np.arange(40.0)[:, None], (np.arange(40) % 4 == 0).astype(int)
    tree = odtdsl.OptimalTreeClassifier(["precision(1) >= 80"])
    with pytest.warns(odtdsl.RuleWarning) as caught:
        GridSearchCV(tree, {"max_depth": [1, 2]}, cv=2).fit(X, y)
    assert sum(one.category is odtdsl.RuleWarning for one in caught) == 1


def test_a_path_of_trees_warns_of_its_data_once() -> None:
    X = pd.DataFrame({"lab": [float(i % 9) if i % 8 else "<2" for i in range(ROWS)]})
    y = np.arange(ROWS) % 9 > 3
    with pytest.warns(odtdsl.DataWarning) as caught:
        path = odtdsl.OptimalTreeClassifier(max_depth=2).cost_complexity_pruning_path(X, y)
    assert len(path.n_leaves) > 1
    assert len(caught) == 1


def test_a_grid_search_warns_of_a_column_once() -> None:
    from sklearn.model_selection import GridSearchCV

    X = pd.DataFrame({"lab": [float(i % 9) if i % 8 else "<2" for i in range(ROWS)]})
    y = np.arange(ROWS) % 9 > 3
    tree = odtdsl.OptimalTreeClassifier()
    with pytest.warns(odtdsl.DataWarning) as caught:
        found = GridSearchCV(tree, {"max_depth": [1, 2]}, cv=3).fit(X, y)
    assert len(caught) == 1
    assert "D214" in {one.code for one in found.best_estimator_.result_.warnings}
    other = X.rename(columns={"lab": "dose"})
    for data in (other, other):  # a column that no clone has seen; a fit once more
        with pytest.warns(odtdsl.DataWarning):
            tree.fit(data, y)


def test_classes_that_differ_only_in_capitals_are_told() -> None:
    X = frame()[["a"]]
    y = np.where(X.a > 0, "Yes", np.where(X.a > -1, "yes", "no"))
    fitted = odtdsl.OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert "D222" in {one.code for one in fitted.result_.warnings}
    listed = 'target target: class {"Yes", "no", "yes"}'
    meant = odtdsl.OptimalTreeClassifier(max_depth=2, spec=listed).fit(X, y)
    assert "D222" not in {one.code for one in meant.result_.warnings}


def test_what_to_do_with_merged_integers_can_be_done_in_python() -> None:
    codes = np.array([[2**63], [2**63 + 1]] * 5, dtype=np.uint64)
    y = ["p", "q"] * 5
    for X in (codes, pd.DataFrame(codes, columns=["code"])):
        with pytest.raises(odtdsl.OdtError) as caught:
            odtdsl.OptimalTreeClassifier(max_depth=1).fit(X, y)
        (one,) = caught.value.diagnostics
        assert one.code == "D146"
        assert not any("statement" in text or "feature " in text for text in one.helps)
        assert "`X.astype(str)`" in one.helps[0]
        texts = X.astype(str)
        assert odtdsl.OptimalTreeClassifier(max_depth=1).fit(texts, y).score(texts, y) == 1


def test_weights_that_are_rounded_are_told() -> None:
    X = frame()[["a", "sex"]]
    y = np.where(X.a + np.arange(ROWS) % 3 > 1, "p", "q")
    weights = np.random.default_rng(1).uniform(size=ROWS)
    rule = 'gap(recall("p"), sex) <= 20%'
    fitted = odtdsl.OptimalTreeClassifier([rule], max_depth=1).fit(X, y, sample_weight=weights)
    (said,) = [one for one in fitted.result_.warnings if one.code == "D209"]
    assert "7 significant digits" in said.message or "6 significant digits" in said.message
    whole = odtdsl.OptimalTreeClassifier([rule], max_depth=1)
    whole.fit(X, y, sample_weight=np.arange(1, ROWS + 1) / 4)
    assert not whole.result_.warnings


def test_weights_are_rounded_where_class_weights_multiply_them() -> None:
    """Until the objective has no more digits than a back end takes: all of these fits failed."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, weights = rng.integers(0, 3, (30, 2)), rng.uniform(size=30)
        y = rng.permutation(np.arange(30) % 7 % 3)
        tree = odtdsl.OptimalTreeClassifier(max_depth=2, class_weight="balanced")
        fitted = tree.fit(X, y, sample_weight=weights)
        assert fitted.result_.status == "optimal"
        (said,) = [one for one in fitted.result_.warnings if one.code == "D209"]
        assert "losses" in said.message
        price = np.round(30 / 3 / np.bincount(y), 5)[y]
        lost = np.average(price * (fitted.predict(X) != y), weights=weights)
        assert abs(lost - float(fitted.result_.objective)) < 0.001


@pytest.mark.parametrize("rules", [None, ["forall leaf: size >= 2"]])
def test_weights_are_rounded_however_large_they_are(rules: list[str] | None) -> None:
    """What all have in common is no digit, nor is a weight without decimals kept at any price."""
    for seed, largest in product(range(3), (1, 1e-12, 10**9, 10**10 / 2)):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 3, (25, 2)), rng.permutation(np.arange(25) % 7 % 3)
        weights = rng.uniform(size=25) * largest
        weights = np.rint(2 * weights) / 2 if largest > 1 else weights
        tree = odtdsl.OptimalTreeClassifier(rules, max_depth=2, class_weight="balanced")
        fitted = tree.fit(X, y, sample_weight=weights)
        assert fitted.result_.status == "optimal"
        price = np.round(25 / 3 / np.bincount(y), 5)[y]
        lost = np.average(price * (fitted.predict(X) != y), weights=weights)
        assert abs(lost - float(fitted.result_.objective)) < 0.001


RULES = ['gap(recall("p"), sex) <= 20%', 'recall("p") >= 60%']


@pytest.mark.parametrize("kind", ["thirds", "thousands", "balanced", "short"])
def test_weights_under_rules_are_exact(kind: str) -> None:
    """What is common to all weights is divided out, and thirds are thirds: 60 fits, no rounding."""
    for seed in range(scaled(15, least=4)):
        rng = np.random.default_rng(seed)
        n = 60
        X = pd.DataFrame({"a": rng.integers(0, 5, n), "sex": rng.choice(["f", "m"], n)})
        y = np.where(X.a + rng.integers(0, 3, n) > 3, "p", "q")
        share = [Fraction(n, 2 * int((y == one).sum())) for one in y]
        exact: list[Fraction] = {
            "thirds": [Fraction(seed + 1, 3)] * n,
            "thousands": [Fraction(3_333_331 + seed)] * n,
            "balanced": share,
            "short": [Fraction(int(k), 4) for k in rng.integers(1, 9, n)],
        }[kind]
        tree = odtdsl.OptimalTreeClassifier(RULES, max_depth=2)
        fitted = tree.fit(X, y, sample_weight=[float(one) for one in exact])
        assert not any(one.code == "D209" for one in fitted.result_.warnings)
        wrong = fitted.predict(X) != y
        lost = sum(weight for weight, bad in zip(exact, wrong, strict=True) if bad)
        stage = fitted.result_.stages[0]
        assert stage.proven
        assert stage.value in (lost, lost / sum(exact)), stage.text


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("early_stopping", "no", "True or False"),
        ("certify", "no", "True or False"),
        ("n_iter_no_change", 0, "at least 1"),
        ("n_iter_no_change", "few", "whole number"),
        ("validation_fraction", 2, "between 0 and 1"),
        ("cost_complexity", -0.1, "at least 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused_where_it_is_not_used_either(
    name: str, given: object, told: str
) -> None:
    tree = odtdsl.OptimalTreeClassifier(max_depth=1).set_params(**{name: given})
    with pytest.raises(odtdsl.OdtError, match=told) as raised:
        tree.fit([[0], [1], [2], [3]], ["p", "p", "q", "q"])
    assert f"`{name}`" in raised.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        (pd.array([True, True, False, False], dtype="boolean"), [False, True]),
        (pd.array([3, 3, 2**60, 2**60], dtype="Int64"), [3, 2**60]),
        (pd.Series([1, 1, 2, 2], dtype="int64[pyarrow]"), [1, 2]),
        (pd.Series([True, True, False, False], dtype="bool[pyarrow]"), [False, True]),
    ],
)
def test_labels_that_could_be_missing_come_back_as_they_were(labels: Any, kept: list[Any]) -> None:
    X = [[0], [1], [2], [3]]
    tree = odtdsl.OptimalTreeClassifier(max_depth=1).fit(X, labels)
    assert tree.classes_.tolist() == kept
    assert [type(one) for one in tree.classes_.tolist()] == [type(one) for one in kept]
    assert tree.predict(X).tolist() == list(labels)
    assert tree.score(X, labels) == 1
    assert tree.audit(X, labels).errors == 0


def test_help_of_estimators_is_not_about_a_data_statement() -> None:
    y = ["p", "p", "q", "q"]
    days = pd.DataFrame({"day": pd.date_range("2021-01-01", periods=4, tz="UTC")})
    wide = pd.DataFrame({"a": [0.0, 1.0, 2.0, np.inf]})
    tree = odtdsl.OptimalTreeClassifier(max_depth=1)
    for X, told in ((days, ".dt.days"), (wide, "np.nan")):
        with pytest.raises(odtdsl.OdtError) as raised:
            tree.fit(X, y)
        assert told in raised.value.diagnostics[0].helps[0]
        assert "data statement" not in str(raised.value)


@pytest.mark.parametrize("lacks", [None, float("nan")])
def test_rows_without_a_treatment_are_told(lacks: Any) -> None:
    given = [lacks, *([0, 1] * 10)] if lacks is None else [lacks, *([0.0, 1.0] * 10)]
    with pytest.raises(odtdsl.OdtError, match="1 of 21 rows have no treatment"):
        odtdsl.policy_scores([[k] for k in range(21)], given, range(21))


def test_widths_and_numbers_of_trees_of_a_wrong_kind_are_told() -> None:
    X, y = [[0], [1], [2], [3]], [0, 0, 1, 1]
    with pytest.raises(odtdsl.OdtError, match="`widths` cannot be 3"):
        odtdsl.OptimalDiagramClassifier(widths=3).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(odtdsl.OdtError, match="`n_estimators` cannot be 'x'"):
        odtdsl.OutputConstrainedForestRegressor(n_estimators="x").fit(X, y)  # type: ignore[arg-type]


def _of_regions() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    region = rng.choice(["north", "south", "east"], ROWS)
    frame = pd.DataFrame({"region": region, "age": rng.integers(20, 80, ROWS).astype(float)})
    return frame, np.where(region == "south", "a", "b")


def test_new_values_are_told_where_they_are_predicted_on() -> None:
    """Each once, as one warning of all columns; the answers are as before."""
    X, y = _of_regions()
    fitted = odtdsl.OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert fitted.tree_.tested == ("region",)
    later = pd.DataFrame({"region": ["South", "south", "West", "South"], "age": 30.0})
    with pytest.warns(odtdsl.DataWarning) as caught:
        answers = fitted.predict(later)
    (one,) = caught
    assert answers.tolist() == ["b", "a", "b", "b"]
    assert one.filename == __file__
    assert str(one.message).startswith(
        'warning[U218]: `region` is "South", "West" in 3 of 4 rows, which no training row has'
    )
    assert 'did you mean "south"?' in str(one.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(later)
        fitted.predict(later[2:])
        fitted.predict_proba(later)
        fitted.predict(X)
        fitted.predict(X.assign(age=1000.0))
    with pytest.warns(odtdsl.DataWarning, match="UP"):
        fitted.predict_proba(later.assign(region="UP"))


@pytest.mark.parametrize("how", ["predict", "apply", "score"])
def test_new_values_are_told_of_numbers_and_by_every_method(how: str) -> None:
    X, y = _of_regions()
    outputs = (y == "a").astype(float)
    fitted = odtdsl.OptimalTreeRegressor(max_depth=1).fit(X, outputs)
    later = X.assign(region="Ost")
    with pytest.warns(odtdsl.DataWarning, match="Ost"):
        getattr(fitted, how)(later, outputs) if how == "score" else getattr(fitted, how)(later)


def test_folds_without_a_value_tell_of_it_once() -> None:
    from sklearn.model_selection import cross_val_score

    X, y = _of_regions()
    X.loc[7, "region"] = "isle"
    with pytest.warns(odtdsl.DataWarning) as caught:
        cross_val_score(odtdsl.OptimalTreeClassifier(max_depth=1), X, y, cv=3)
    assert len([one for one in caught if "isle" in str(one.message)]) == 1
