"""Estimators as users of scikit-learn use them: frames, rules, searches, pipelines, pickles."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import odtdsl as odt
from odtdsl import words

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

Tree = odt.OptimalTreeClassifier


def visits(n: int = 40) -> tuple[Any, Any]:
    """Rows of every kind of column, with missing cells, and a label that a small tree explains."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "age": rng.randint(20, 80, n),
            "city": rng.choice(["Köln", "Bonn", "Aachen"], n),
            "smoker": rng.rand(n) > 0.5,
            "stage": pd.Categorical(
                rng.choice(["I", "II", "III"], n), categories=["I", "II", "III"], ordered=True
            ),
            "bmi": rng.randn(n).round(2),
        }
    )
    ill = (frame["age"] > 50) & (frame["stage"] >= "II") | frame["smoker"]
    frame.loc[3, "bmi"] = np.nan
    frame.loc[5, "city"] = None
    return frame, pd.Series(np.where(ill, "ill", "well"), name="outcome")


def code_of(caught: pytest.ExceptionInfo[odt.OdtError]) -> str:
    return caught.value.diagnostics[0].code


def test_more_time_is_not_proposed_where_a_back_end_gave_up_by_itself() -> None:
    tree = odt.OptimalTreeClassifier(["forall leaf: size >= 5"], max_depth=2, backend="greedy")
    with pytest.raises(odt.OdtError) as caught:
        tree.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    (one,) = caught.value.diagnostics
    assert one.code == "U608"
    assert one.helps == ('another back end (`backend="auto"`) or looser rules may help',)


def test_frames_of_every_kind_give_one_tree() -> None:
    X, y = visits()
    tree = Tree(max_depth=3, objective="error_rate then leaves").fit(X, y)
    assert tree.result_.status == "optimal"
    assert tree.audit_.holds
    assert tree.score(X, y) == 1
    assert tree.feature_names_in_.tolist() == list(X.columns)
    assert {"age", "stage", "smoker"} == set(tree.tree_.tested)
    assert 'feature stage: ordered {"I", "II", "III"}' in tree.spec_
    other = pl.from_pandas(X)
    assert np.array_equal(clone(tree).fit(other, y.tolist()).predict(other), tree.predict(X))
    objects = Tree(max_depth=3).fit(X.drop(columns="stage").to_numpy(), y)
    assert objects.score(X.drop(columns="stage").to_numpy(), y) > 0.8
    with pytest.raises(ValueError, match="alter"):
        tree.predict(X.rename(columns={"age": "alter"}))
    with pytest.raises(ValueError, match="4 features"):
        objects.predict(X.drop(columns=["stage"]).to_numpy()[:, :3])
    with pytest.raises(ValueError, match="convert"):
        tree.predict(X.assign(age="old"))


def test_arrow_tables_are_frames() -> None:
    arrow = pytest.importorskip("pyarrow", exc_type=ImportError, reason="needs a pyarrow that fits")
    X, y = visits()
    tree = Tree(max_depth=2).fit(X, y)
    assert np.array_equal(tree.predict(arrow.Table.from_pandas(X)), tree.predict(X))


def test_a_category_of_numerals_stays_a_category_in_every_fold() -> None:
    X = pd.DataFrame({"code": ["1", "2", "x", "2"] * 3})
    tree = Tree(max_depth=1).fit(X[X["code"] != "x"], [0, 1, 1] * 3)
    assert "feature code: category" in tree.spec_
    assert tree.predict(X)[2] in (0, 1)


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a"],
        [True, False],
        [2, -1],
        [1.0, 0.0],
        ["1", "01"],
        ["", "x"],
        ["nan", "None"],
        [" a", "a"],
        [" >50K", " <=50K"],
        ["a\n", "b"],
        [2**60, 2**60 + 1],
        [np.str_("é"), np.str_("e")],
    ],
)
def test_labels_come_back_as_they_were(labels: list[Any]) -> None:
    y = np.array([labels[0], labels[1]] * 4)
    tree = Tree(max_depth=1).fit(np.arange(8)[:, None] % 2, y)
    assert np.array_equal(tree.predict(np.arange(8)[:, None] % 2), y)
    assert tree.predict([[0]]).dtype == y.dtype
    assert np.array_equal(tree.predict_proba([[0]])[0], tree.classes_ == labels[0])


def test_rules_in_all_their_forms() -> None:
    X, y = visits()
    model = odt.Model().rule("few", words.leaves <= 5).cost(age=2)
    forms: list[Any] = [
        "forall path: age before city",
        ("leaf", words.size >= 3),
        words.depth <= 3,
        model,
        "rule cheap: forall path: cost <= 4   group old = age >= 65",
        "accuracy(old) >= 50%",
    ]
    tree = Tree(forms).fit(X, y)
    names = [line.rule for line in tree.audit_.lines if not line.rule.startswith("tree")]
    assert names == ["rule1", "rule2", "rule3", "few", "cheap", "rule4"]
    named = Tree({"order": "forall path: age before city"}).fit(X, y)
    assert "rule order: forall path: age before city" in named.spec_
    assert odt.parse(tree.spec_).spec == odt.parse(str(tree.to_model(X, y))).spec


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"rules": ["forall leaf: siz >= 5"]}, "N201"),
        ({"rules": ["forall leaf: age before city"]}, "T220"),
        ({"rules": ["rule a: forall path age before city"]}, "S015"),
        ({"rules": [42]}, "U401"),
        ({"rules": 42}, "U401"),
        ({"max_depth": "deep"}, "U401"),
        ({"max_depth": -1}, "U401"),
        ({"max_leaf_nodes": 0}, "U401"),
        ({"min_samples_leaf": 0}, "U401"),
        ({"min_samples_leaf": 2.5}, "U401"),
        ({"missing": "ignore"}, "U401"),
        ({"missing": "refuse"}, "U604"),
        ({"backend": "gurobi"}, "K115"),
        ({"spec": "target outcome: number"}, "U603"),
        ({"spec": "diagram widths 1, 2"}, "U603"),
        ({"settings": {"alpha": 1}}, "U601"),
        ({"spec": 7}, "U401"),
        ({"settings": ["alpha"]}, "U401"),
        ({"groups": ["age >= 65"]}, "U401"),
        ({"spec": "minimize errors", "objective": "loss"}, "U602"),
        ({"rules": ["accuracy >= 1", "forall leaf: size >= 20"]}, "U607"),
    ],
)
def test_wrong_parameters_are_told(wrong: dict[str, Any], code: str) -> None:
    X, y = visits()
    with pytest.raises(odt.OdtError) as caught:
        Tree(**wrong).fit(X, y)
    assert code_of(caught) == code


def test_where_columns_of_groups_are_passed_is_told() -> None:
    X, y = visits()
    with pytest.raises(odt.OdtError, match="N103") as caught:
        Tree(["gap(error_rate, ward) <= 5%"]).fit(X, y)
    (problem,) = caught.value.diagnostics
    assert "sensitive_features" in problem.helps[0]
    with pytest.raises(odt.OdtError, match=r"did you mean `city`"):
        Tree(["gap(error_rate, citi) <= 5%"]).fit(X, y)


def test_columns_of_one_name_are_told() -> None:
    X, y = visits()
    twice = pd.concat([X, X.age], axis=1)
    for arguments in ((twice, y, None, None), (X, y, None, twice)):
        with pytest.raises(odt.OdtError) as caught:
            Tree().fit(*arguments[:3], sensitive_features=arguments[3])
        assert code_of(caught) == "U605"


def test_rules_that_clash_are_explained_by_the_model() -> None:
    X, y = visits()
    tree = Tree({"exact": "accuracy >= 1", "large": "forall leaf: size >= 20"})
    assert tree.to_model(X, y).explain().conflicts[0].names == ("exact", "large")
    assert not hasattr(tree, "n_features_in_")


def test_a_whole_spec_with_parameters_over_it() -> None:
    X, y = visits()
    spec = """
        data "visits.csv", na {"?"}, header none
        target result: class {"well", "ill"} positive "ill"
        let least = 3
        tree depth <= 4, leaves <= 9
        minimize errors + 0.1 * leaves
        rule robust: forall leaf: size >= least
        solve within 7 s, seed 3
    """
    tree = Tree(spec=spec, max_depth=2, settings={"least": 7}, min_samples_leaf=0.1).fit(X, y)
    assert "tree depth <= 2, leaves <= 9" in tree.spec_
    assert "let least = 7" in tree.spec_
    assert "solve within 7 s, seed 3" in tree.spec_
    assert tree.tree_.classes == ("well", "ill")
    assert tree.classes_.tolist() == ["ill", "well"]
    assert tree.score(X, y) > 0.8
    assert np.array_equal(tree.classes_[tree.predict_proba(X).argmax(axis=1)], tree.predict(X))
    with pytest.raises(odt.OdtError) as caught:
        Tree(spec="weight bmi").fit(X.fillna({"bmi": 1}), y, sample_weight=np.arange(40) + 0.5)
    assert code_of(caught) == "U602"


def test_weights_are_exact_rows_of_none_are_left_out() -> None:
    X, y = load_iris(return_X_y=True)
    rng = np.random.RandomState(0)
    weights = rng.randint(0, 4, len(y))
    tree = Tree(max_depth=2).fit(X, y, sample_weight=weights)
    repeated = Tree(max_depth=2).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert str(tree) == str(repeated)
    halves = Tree(max_depth=2).fit(X, y, sample_weight=weights / 8)
    assert halves.result_.objective == tree.result_.objective
    assert "weight sample_weight" in halves.spec_
    with pytest.raises(odt.OdtError) as caught:
        Tree().fit(X, y, sample_weight=-weights)
    assert code_of(caught) == "D161"


def test_weights_with_many_digits_go_with_rules_of_groups() -> None:
    X, y = load_iris(return_X_y=True)
    rng = np.random.RandomState(1)
    parts = rng.choice(["a", "b"], len(y))
    tree = Tree(["gap(rate(1), sensitive) <= 20%"], max_depth=2)
    tree.fit(X, y, sample_weight=rng.rand(len(y)), sensitive_features=parts)
    assert tree.audit_.holds


def test_searches_pipelines_and_routed_groups() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    by = pd.DataFrame({"sex": np.where(np.arange(150) % 2, "m", "f"), "big": X.iloc[:, 0] > 6})
    with sklearn.config_context(enable_metadata_routing=True):
        tree = Tree(["gap(rate(1), sex) <= 30%", "accuracy(big) >= 50%"], max_depth=1)
        tree.set_fit_request(sensitive_features=True)
        search = GridSearchCV(tree, {"max_depth": [1, 2]}, cv=3, error_score="raise")
        search.fit(X, y, sensitive_features=by)
        assert search.best_params_ == {"max_depth": 2}
        assert search.best_estimator_.audit_.holds
        assert 'group big = big = "True"' in search.best_estimator_.spec_
        names = make_pipeline(StandardScaler(), clone(tree))
        for library in ("pandas", "polars"):
            names.set_output(transform=library)
            found = cross_validate(
                names, X, y, cv=3, params={"sensitive_features": by}, error_score="raise"
            )
            assert found["test_score"].min() > 0.5
    rooted = Tree(["root in {`petal width (cm)`}"], max_depth=2)
    pipe = make_pipeline(StandardScaler(), rooted).set_output(transform="pandas").fit(X, y)
    assert pipe[-1].tree_.root.feature == "petal width (cm)"


def test_masks_part_and_name_groups() -> None:
    X, y = load_iris(return_X_y=True)
    old = np.arange(150) % 2 == 0
    tree = Tree(["gap(rate(1), sensitive) <= 30%"], max_depth=1).fit(X, y, sensitive_features=old)
    assert "group" not in tree.spec_
    for wrong, code in ((old[:9], "U606"), (pd.Series(old, name="x0"), "U605")):
        with pytest.raises(odt.OdtError) as caught:
            Tree().fit(X, y, sensitive_features=wrong)
        assert code_of(caught) == code


def test_leaves_and_paths_are_numbered_as_in_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    tree = Tree(max_depth=2).fit(X, y)
    passed = tree.decision_path(X)
    assert passed.shape == (150, 2 * tree.get_n_leaves() - 1)
    assert tree.get_depth() == 2
    nodes = list(tree.tree_.nodes())
    leaves = tree.apply(X)
    for number, node in enumerate(nodes):
        assert passed[:, [number]].sum() == node.size
    assert all(passed[row, leaf] == 1 for row, leaf in enumerate(leaves))
    assert np.array_equal(tree.classes_[[nodes[leaf].label for leaf in leaves]], tree.predict(X))
    assert np.allclose(np.exp(tree.predict_log_proba(X)), tree.predict_proba(X))


def test_pickles_leave_the_training_rows_behind() -> None:
    X, y = load_iris(return_X_y=True)
    tree = Tree(["forall leaf: size >= 5"], max_depth=2).fit(X, y)
    assert tree.result_.why(0).prediction == "0"
    stored = pickle.dumps(tree)
    assert len(stored) < len(pickle.dumps(X))
    for again in (pickle.loads(stored), copy.deepcopy(tree)):
        assert np.array_equal(again.predict(X), tree.predict(X))
        assert again.result_.rows is None
        assert again.result_.objective == tree.result_.objective
        assert again.audit_.holds
        with pytest.raises(odt.OdtError, match="training rows"):
            again.result_.why(0)
    assert tree.result_.rows is not None
    rules = {"few": words.leaves <= 3, "model": odt.parse("rule a: depth <= 1")}
    copied = pickle.loads(pickle.dumps(clone(Tree(rules, groups={"big": words.col("x0") > 5}))))
    assert copied.rules["model"] == rules["model"]


def test_what_is_shown() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = Tree(max_depth=2)
    assert str(tree) == repr(tree) == "OptimalTreeClassifier(max_depth=2)"
    assert 'role="img"' not in tree._repr_html_()
    tree.fit(X, y)
    assert str(tree).startswith("petal")
    assert "optimal: proven" in str(tree)
    assert repr(tree) == "OptimalTreeClassifier(max_depth=2)"
    for html in (tree._repr_html_(), tree._repr_mimebundle_()["text/html"]):
        assert 'role="img"' in html
        assert "petal width (cm)" in html


def test_limits_warn_and_keep_the_best_found(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    rng = np.random.RandomState(0)
    X, y = rng.rand(400, 12), rng.randint(0, 3, 400)
    with pytest.warns(ConvergenceWarning, match="price of leaves helps more than `time_limit`"):
        tree = Tree(max_depth=5, time_limit=0.5).fit(X, y)
    assert tree.result_.status == "feasible"
    assert tree.score(X, y) > 0.4
    monkeypatch.setattr("odtdsl.estimators.base._FAR", 1)  # as if the proof were near
    with pytest.warns(ConvergenceWarning, match="raise `time_limit` for a proof"):
        Tree(max_depth=5, time_limit=0.5).fit(X, y)


def test_an_unknown_column_of_an_array_points_to_frames() -> None:
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    with pytest.raises(odt.OdtError, match="N103") as caught:
        Tree(["forall path: not uses(age)"], max_depth=1).fit(X, y)
    assert "set_output" in str(caught.value)
    frame = {"petal": X[:, 2], "sepal": X[:, 0]}
    with pytest.raises(odt.OdtError, match="N103") as caught:
        Tree(["forall path: not uses(age)"], max_depth=1).fit(pd.DataFrame(frame), y)
    assert "set_output" not in str(caught.value)


class ProgressCallback:
    """A callback by scikit-learn's protocol, which may stop the search at once."""

    def __init__(self, stop: bool) -> None:
        self.stop, self.seen = stop, list[Any]()

    def setup(self, estimator: Any, context: Any) -> None:
        self.seen.append("setup")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, metadata: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.seen.append((context.task_name, metadata, fitted_estimator))
        return self.stop

    def teardown(self, estimator: Any, context: Any) -> None:
        self.seen.append("teardown")


@pytest.mark.skipif(not hasattr(Tree, "set_callbacks"), reason="needs scikit-learn 1.9")
def test_callbacks_hear_of_improvements_and_may_stop() -> None:
    X, y = load_iris(return_X_y=True)
    watcher = ProgressCallback(stop=False)
    tree = Tree(max_depth=2).set_callbacks(watcher).fit(X, y)
    assert (watcher.seen[0], watcher.seen[-1]) == ("setup", "teardown")
    *steps, end = watcher.seen[1:-1]
    assert end[0] == "fit"
    assert end[2].score(X, y) == tree.score(X, y)
    assert [name for name, *_ in steps] == ["improvement"] * len(steps)
    assert steps[-1][1]["incumbent"] == pytest.approx(1 - tree.score(X, y))
    X, y = np.random.RandomState(0).rand(300, 12), np.random.RandomState(0).randint(0, 3, 300)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        Tree(max_depth=5, time_limit=60).set_callbacks(ProgressCallback(stop=True)).fit(X, y)


def test_regressors_take_one_target_or_several() -> None:
    rng = np.random.RandomState(0)
    X = rng.rand(30, 2).round(2)
    y = np.c_[X[:, 0] > 0.5, X[:, 1] > 0.5].astype(float) + rng.rand(30, 2) / 10
    one = odt.OptimalTreeRegressor(max_depth=2).fit(X, y[:, 0])
    assert one.predict(X).shape == (30,)
    both = odt.OptimalTreeRegressor(max_depth=2).fit(X, pd.DataFrame(y, columns=["a", "b"]))
    assert both.predict(X).shape == (30, 2)
    assert both.score(X, y) > 0.9
    for criterion in ("absolute_error", "poisson"):
        assert odt.OptimalTreeRegressor(criterion=criterion).fit(X, y[:, 0]).score(X, y[:, 0]) > 0.9
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        odt.OptimalTreeRegressor(missing="refuse").fit(X, y)
    dropped = odt.OptimalTreeRegressor(max_depth=1, missing="drop").fit(X, y)
    assert dropped.predict(X).shape == (30, 2)


def test_every_estimator_of_trees_takes_missing_cells_and_proves() -> None:
    rng = np.random.RandomState(0)
    X = rng.rand(40, 3)
    X[rng.rand(40, 3) < 0.2] = np.nan
    number = rng.rand(40)
    times = np.array(list(zip(number > 0.3, number + 1, strict=True)), dtype="?,f8")
    rewards = pd.DataFrame(rng.rand(40, 2), columns=["drug", "placebo"])
    for estimator, y in (
        (odt.OptimalTreeClassifier, number > 0.5),
        (odt.OptimalTreeRegressor, number),
        (odt.OutputConstrainedTreeRegressor, number),
        (odt.OptimalSurvivalTree, times),
        (odt.OptimalPolicyTree, rewards),
    ):
        tree = estimator(max_depth=2).fit(X, y)
        assert tree.result_.status == "optimal", estimator
        assert len(tree.predict(X)) == 40, estimator


def test_outputs_obey_the_rules() -> None:
    rng = np.random.RandomState(0)
    X = rng.rand(40, 2).round(2)
    y = pd.DataFrame({"reading": rng.randint(0, 100, 40), "writing": rng.randint(0, 100, 40)})
    rules = ["0 <= writing <= 100", "if reading < 50 then writing = 0", "forall leaf: size >= 4"]
    for ways in ({}, {"split": "average"}, {"leaf": "medoid", "step": 1}):
        tree = odt.OutputConstrainedTreeRegressor(rules, max_depth=2, **ways).fit(X, y)
        found = tree.predict(X)
        assert ((found[:, 0] >= 50) | (found[:, 1] == 0)).all()
        assert tree.audit_.holds
        assert ("greedy" in tree.spec_) == bool(ways)
    with pytest.raises(odt.OdtError) as caught:
        odt.OutputConstrainedTreeRegressor(split="average", backend="exact").fit(X, y)
    assert code_of(caught) == "U602"


def test_diagrams() -> None:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 4)
    y = np.array(["even", "odd", "odd", "even"] * 4)
    diagram = odt.OptimalDiagramClassifier(widths=(1, 2), backend="sat").fit(X, y)
    assert diagram.score(X, y) == 1
    assert (diagram.get_depth(), diagram.get_n_nodes()) == (2, 3)
    assert diagram.predict_proba(X).shape == (16, 2)
    assert diagram.diagram_.classes[diagram.apply(X)[0]] == "even"
    again = pickle.loads(pickle.dumps(diagram))
    assert np.array_equal(again.predict(X), y)
    with pytest.raises(odt.OdtError) as caught:
        odt.OptimalDiagramClassifier(["forall leaf: size >= 5"]).fit(X, y)
    assert "diagram" in str(caught.value)


def test_importing_odtdsl_does_not_import_scikit_learn() -> None:
    code = "import sys, odtdsl; sys.exit('sklearn' in sys.modules or 'joblib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_deep_fit_takes_seconds_and_does_not_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    for depth, limit in ((4, "60 s"), (8, "5 s")):
        assert f"within {limit}" in Tree(max_depth=depth).fit([[0], [1]], [0, 1]).spec_
    monkeypatch.setattr("odtdsl.estimators.problems.SHORT", 1.0)
    X, y = load_breast_cancer(return_X_y=True)
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.2, 1 - y, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        tree = Tree(max_depth=8).fit(X, noisy)
    assert tree.result_.seconds < 20
    assert tree.result_.status in ("feasible", "optimal")
    assert "within 1 s" in tree.spec_
    grown = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, noisy)
    assert tree.score(X, noisy) >= grown.score(X, noisy)
    with pytest.warns(ConvergenceWarning, match="best one found"):
        Tree(max_depth=6, time_limit=0.4, max_leaf_nodes=9).fit(X, noisy)
