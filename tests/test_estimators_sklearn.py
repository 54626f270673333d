"""What scikit-learn's own functions ask of a tree: views, importances, paths of prices, weights."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from scale import scaled
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import export_text, plot_tree

import odtdsl as odt


def drawn(seed: int) -> tuple[Any, Any]:
    random = default_rng(seed)
    rows = random.integers(0, 4, (int(random.integers(8, 40)), 3)) / 10
    return rows, random.integers(0, 3, len(rows))


@pytest.mark.parametrize("seed", range(scaled(60)))
def test_the_view_is_the_tree(seed: int) -> None:
    rows, y = drawn(seed)
    rows[default_rng(seed).random(rows.shape) < 0.1] = np.nan
    tree = odt.OptimalTreeClassifier(max_depth=2).fit(rows, y)
    shown = tree.to_sklearn()
    assert (shown.apply(rows) == tree.apply(rows)).all()
    assert (shown.decision_path(rows) != tree.decision_path(rows)).nnz == 0
    np.testing.assert_allclose(shown.predict_proba(rows), tree.predict_proba(rows))
    np.testing.assert_allclose(shown.feature_importances_, tree.feature_importances_)


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_numbers_have_a_view(seed: int) -> None:
    rows, y = drawn(seed)
    targets = np.column_stack([y, rows @ [1, 2, 3]])
    tree = odt.OptimalTreeRegressor(max_depth=2).fit(rows, targets)
    shown = tree.to_sklearn()
    np.testing.assert_allclose(shown.predict(rows), tree.predict(rows))
    np.testing.assert_allclose(shown.feature_importances_, tree.feature_importances_)


def test_levels_have_columns_of_their_tests() -> None:
    rows = pd.DataFrame(
        {
            "c": pd.Categorical(list("abcdab") * 6, categories=list("dcba"), ordered=True),
            "k": list("xyzxxy") * 6,
            "n": range(36),
        }
    )
    y = (rows["c"].isin(["d"]) | (rows["k"] == "y") & (rows["n"] > 20)).astype(int)
    tree = odt.OptimalTreeClassifier(max_depth=3).fit(rows, y)
    shown = tree.to_sklearn()
    assert shown.feature_names_in_.tolist()[:3] == ["c", "k", "n"]
    assert any(name.startswith("c <= ") for name in shown.feature_names_in_)
    columns = pd.DataFrame(tree.view_columns(rows), columns=shown.feature_names_in_)
    assert (shown.apply(columns) == tree.apply(rows)).all()
    text = export_text(shown, feature_names=list(shown.feature_names_in_))
    assert 'k == "y" >  0.50' in text
    assert tree.feature_importances_.sum() == pytest.approx(1)
    pytest.importorskip("matplotlib").use("Agg")
    assert plot_tree(shown)


def test_importances_of_policies_and_of_one_leaf() -> None:
    rows, y = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]] * 3, [0, 0, 1, 1] * 3
    rewards = np.column_stack([np.zeros(12), np.where(y, 1.0, -1.0)])
    policy = odt.OptimalPolicyTree(max_depth=1).fit(rows, rewards)
    assert policy.feature_importances_.sum() == 1
    single = odt.OptimalTreeClassifier(max_depth=0).fit(rows, y)
    assert single.feature_importances_.tolist() == [0, 0]
    assert "class" in export_text(single.to_sklearn())
    with pytest.raises(NotFittedError):
        odt.OptimalTreeClassifier().to_sklearn()


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_the_path_of_prices_is_that_of_all_prices(seed: int) -> None:
    rows, y = drawn(seed)
    rules = ["root in {x0, x1}"] if seed % 2 else []
    tree = odt.OptimalTreeClassifier(rules, max_depth=2)
    path = tree.cost_complexity_pruning_path(rows, y)
    assert path.ccp_alphas[0] == 0
    assert all(a < b for a, b in pairwise(path.ccp_alphas))
    assert all(a > b for a, b in pairwise(path.n_leaves))
    ends = [*path.ccp_alphas.tolist(), path.ccp_alphas[-1] + 0.2]
    for (low, high), leaves, value in zip(
        pairwise(ends), path.n_leaves, path.impurities, strict=True
    ):
        price = round((low + high) / 2, 6)
        one = tree.set_params(cost_complexity=price).fit(rows, y)
        assert float(one.result_.objective) == pytest.approx(value + price * leaves)
        if low < price < high:
            assert one.get_n_leaves() == leaves


def test_a_path_of_prices_maximizes_and_ends_where_rules_do() -> None:
    rows = np.arange(8.0).reshape(-1, 1)
    rewards = np.column_stack([np.zeros(8), [-2, -1, -1, 1, 1, 2, 2, 3]])
    path = odt.OptimalPolicyTree(max_depth=1).cost_complexity_pruning_path(rows, rewards)
    assert path.n_leaves.tolist() == [2, 1]
    assert path.impurities.tolist() == [-1.125, -0.625]
    bound = odt.OptimalTreeClassifier(["leaves >= 3"], max_depth=2)
    assert bound.cost_complexity_pruning_path(rows, [0, 1] * 4).n_leaves.min() == 3


def test_sparse_columns_are_the_dense_ones() -> None:
    rows, y = drawn(3)
    dense = odt.OptimalTreeClassifier(max_depth=2).fit(rows, y)
    for made in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        tree = odt.OptimalTreeClassifier(max_depth=2).fit(made(rows), y)
        assert tree.tree_ == dense.tree_
        assert (tree.predict(made(rows)) == dense.predict(rows)).all()
    with pytest.raises(odt.OdtError, match="D146"):
        odt.OptimalTreeClassifier().fit(sparse.csr_array([[2**60], [2**60 + 1]]), [0, 1])
    frame = pd.DataFrame({"a": list("xyxy"), "b": [1, 2, 3, 4]})
    fitted = odt.OptimalTreeClassifier(max_depth=1).fit(frame, [0, 1, 0, 1])
    with pytest.raises(TypeError, match="sparse"):
        fitted.predict(sparse.csr_array(np.eye(2)))


def test_a_default_encoder_in_a_pipeline() -> None:
    frame = pd.DataFrame({"a": list("xyzw") * 9, "b": range(36)})
    y = (frame["a"] == "z").astype(int)
    pipe = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["a"]), remainder="passthrough", sparse_threshold=1
        ),
        odt.OptimalTreeClassifier(max_depth=1),
    )
    assert sparse.issparse(pipe.fit(frame, y)[:-1].transform(frame))
    assert pipe.score(frame, y) == 1


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_class_weights_are_prices_of_errors(seed: int) -> None:
    rows, y = drawn(seed)
    prices = dict(zip(range(3), default_rng(seed).integers(0, 6, 3).tolist(), strict=True))
    prices = {label: price for label, price in prices.items() if label in y}
    tree = odt.OptimalTreeClassifier(max_depth=2, class_weight=prices).fit(rows, y)
    weights = np.array([prices[one] for one in y], dtype=float)
    lost = (weights * (tree.predict(rows) != y)).sum()
    assert float(tree.result_.objective) * len(y) == pytest.approx(lost)
    if weights.any():
        weighed = odt.OptimalTreeClassifier(max_depth=2).fit(rows, y, weights)
        assert lost == pytest.approx(float(weighed.result_.objective) * weights.sum())


def test_balanced_weights_give_each_class_the_same() -> None:
    y = ["a"] * 2 + ["b"] * 8 + ["c"] * 5
    tree = odt.OptimalTreeClassifier(max_depth=0, class_weight="balanced")
    assert float(tree.fit(np.zeros((15, 1)), y).result_.objective) == pytest.approx(2 / 3, abs=1e-5)


def test_sizes_of_splits_and_weights_of_leaves() -> None:
    rows, y = default_rng(5).integers(0, 20, (60, 3)), default_rng(6).integers(0, 2, 60)
    for estimator in (odt.OptimalTreeClassifier, odt.OptimalTreeRegressor):
        tree = estimator(max_depth=3, min_samples_split=20).fit(rows, y).tree_
        assert all(node.size >= 20 for node in tree.nodes() if hasattr(node, "left"))
    weights = {0: 2, 1: 1}
    tree = odt.OptimalTreeClassifier(
        max_depth=3, class_weight=weights, min_weight_fraction_leaf=0.05
    ).fit(rows, y)
    least = 0.05 * sum(weights[one] for one in y.tolist())
    assert tree.get_n_leaves() > 1
    assert all(
        sum(w * n for w, n in zip((2, 1), leaf.class_weights, strict=True)) >= least
        for leaf in tree.tree_.leaves
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"class_weight": "even"}, "`class_weight`"),
        ({"class_weight": {0: -1, 1: 1}}, "at least 0"),
        ({"class_weight": {0: float("nan"), 1: 1}}, "`class_weight` cannot be nan"),
        ({"class_weight": {0: float("nan")}}, "finite"),
        ({"class_weight": {0: 1, 1: 1, 7: 2}}, "`y` has 0, 1"),
        ({"class_weight": {0: 2}, "objective": "leaves"}, "U602"),
        ({"class_weight": {0: 2}, "spec": "minimize errors"}, "U602"),
        ({"class_weight": {0: 2}, "spec": "loss predict 0 when 1 = 2"}, "U602"),
        ({"min_weight_fraction_leaf": 0.7}, "from 0 to 0.5"),
        ({"min_samples_split": 0}, "`min_samples_split`"),
    ],
)
def test_what_cannot_be_meant_is_told(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(odt.OdtError, match=says):
        odt.OptimalTreeClassifier(**wrong).fit([[1], [2]], [0, 1])


def test_an_estimator_explains_its_rules() -> None:
    rows, y = drawn(4)
    tree = odt.OptimalTreeClassifier({"few": "leaves <= 1", "many": "leaves >= 2"}, max_depth=2)
    with pytest.raises(NotFittedError):
        tree.explain()
    with pytest.raises(odt.OdtError, match="explain"):
        tree.fit(rows, y)
    for found in (tree.explain(), tree.explain(rows, y)):
        assert found.conflicts is not None
        assert set(found.conflicts[0].names) == {"few", "many"}
