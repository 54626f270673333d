"""Scores of choices: on a world whose truth is known, and by hand on a few rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scale import scaled
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtdsl import OdtError, OptimalPolicyTree, datasets, policy_scores

DATA: dict[str, Any] = datasets.treatments(rows=4000, seed=1)
X = np.column_stack([DATA["age"], DATA["severity"]]).astype(float)
TRUE = np.column_stack([DATA["true_drug"], DATA["true_none"], DATA["true_surgery"]])
OUTCOME = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
TREATMENT = DecisionTreeClassifier(min_samples_leaf=100, random_state=0)
QUICK = (OUTCOME, TREATMENT)
BY_CHANCES: dict[str, Any] = {"method": "inverse_propensity"}
SAID = (X, DATA["treatment"], DATA["outcome"])


def value(policy: OptimalPolicyTree) -> float:
    """The mean outcome that the policy would really have."""
    return float(TRUE[np.arange(len(X)), policy.predict(X)].mean())


def test_the_world_is_what_it_says() -> None:
    data = {name: np.asarray(column) for name, column in DATA.items()}
    sick, young = data["severity"] >= 5, data["age"] < 50
    best = np.where(~sick, "none", np.where(young, "surgery", "drug"))
    true = np.column_stack([data[f"true_{name}"] for name in ("none", "drug", "surgery")])
    assert (np.array(["none", "drug", "surgery"])[true.argmax(axis=1)] == best).all()
    got = true[np.arange(len(X)), [("none", "drug", "surgery").index(w) for w in data["treatment"]]]
    assert abs((data["outcome"] - got).mean()) < 0.3
    assert 0 < data["propensity"].min() <= data["propensity"].max() < 1
    for name in ("none", "drug", "surgery"):  # propensities are those of the draws
        given = data["treatment"] == name
        assert abs((given / np.where(given, data["propensity"], 1)).mean() - 1) < 0.05
    assert datasets.treatments(5, seed=1) == datasets.treatments(5, seed=1)
    with pytest.raises(OdtError, match="U331"):
        datasets.treatments(0)


@pytest.mark.parametrize("method", ["doubly_robust", "inverse_propensity", "outcome_model"])
def test_means_of_scores_are_near_those_of_the_truth(method: Any) -> None:
    """Plain means by treatment are not: the sicker were treated."""
    found = policy_scores(*SAID, method=method, models=QUICK)
    assert found.choices == ("drug", "none", "surgery")
    far = {"inverse_propensity": 1.5}.get(method, 0.7)
    assert np.abs(found.scores.mean(axis=0) - TRUE.mean(axis=0)).max() < far
    given, outcome = np.asarray(DATA["treatment"]), np.asarray(DATA["outcome"])
    naive = [outcome[given == name].mean() for name in found.choices]
    assert np.abs(naive - TRUE.mean(axis=0)).max() > 2


def test_doubly_robust_scores_stand_one_wrong_model() -> None:
    """A constant outcome with right propensities, or constant propensities with a right outcome."""
    right = policy_scores(*SAID, DATA["propensity"], models=(DummyRegressor(), None))
    assert np.abs(right.scores.mean(axis=0) - TRUE.mean(axis=0)).max() < 1
    constant = policy_scores(*SAID, models=(OUTCOME, DummyClassifier()))
    assert np.abs(constant.scores.mean(axis=0) - TRUE.mean(axis=0)).max() < 1
    both = policy_scores(*SAID, models=(DummyRegressor(), DummyClassifier()))
    assert np.abs(both.scores.mean(axis=0) - TRUE.mean(axis=0)).max() > 1.3


def test_the_best_policy_is_found_again() -> None:
    best = float(TRUE.max(axis=1).mean())
    for known in (None, DATA["propensity"]):
        found = policy_scores(*SAID, known, models=QUICK)
        policy = OptimalPolicyTree(max_depth=2).fit(X, found.scores)
        assert policy.result_.status == "optimal"
        assert best - value(policy) < 0.15
        rarely = OptimalPolicyTree(["share(choice2) <= 10%"], max_depth=2).fit(X, found.scores)
        assert (rarely.predict(X) == 2).mean() <= 0.1
        assert value(rarely) < value(policy)


def test_the_default_models_are_good_enough() -> None:
    rows = slice(0, 1000)
    found = policy_scores(*(np.asarray(one)[rows] for one in SAID))
    assert np.abs(found.scores.mean(axis=0) - TRUE[rows].mean(axis=0)).max() < 1
    policy = OptimalPolicyTree(max_depth=2).fit(X[rows], found.scores)
    assert float(TRUE.max(axis=1).mean()) - value(policy) < 0.5


def test_scores_by_hand() -> None:
    x, given, y = np.zeros((4, 1)), ["b", "a", "b", "a"], [1.0, 2.0, 5.0, 4.0]
    chances = [0.5, 0.25, 0.5, 0.8]
    found = policy_scores(x, given, y, chances, method="inverse_propensity", folds=2)
    assert found.scores.tolist() == [[0, 2], [8, 0], [0, 10], [5, 0]]
    assert found.columns()["a"].tolist() == [0, 8, 0, 5]
    assert np.isnan(found.propensities[0, 0])
    assert np.isnan(found.outcomes).all()
    mean = policy_scores(x, given, y, chances, models=(DummyRegressor(), None), folds=2)
    predicted = mean.outcomes
    rest = np.array([[0, 1], [1, 0], [0, 1], [1, 0]]) * (np.array(y)[:, None] - predicted)
    assert mean.scores == pytest.approx(predicted + rest / np.array(chances)[:, None])
    # cross-fitted: each fold's mean of a treatment is that of the other fold's only row
    assert sorted(predicted[:, 0].tolist()) == [2, 2, 4, 4]


def test_known_propensities_of_all_treatments() -> None:
    both = np.array([[0.2, 0.8], [0.25, 0.75], [0.5, 0.5], [0.8, 0.2]])
    x, given, y = np.zeros((4, 1)), [1, 0, 1, 0], [4.0, 1.0, 2.0, 8.0]
    found = policy_scores(x, given, y, both, method="inverse_propensity", folds=2)
    assert found.choices == (0, 1)
    assert found.scores.tolist() == [[0, 5], [4, 0], [0, 4], [10, 0]]


def test_propensities_of_one_treatment_for_all_rows_are_told() -> None:
    """Of what each row got they are right; those of the drug for all rows are misread."""
    made = np.random.default_rng(0)
    for n in (200, 2000):
        drug = made.uniform(0.15, 0.6, n)
        got = made.random(n) < drug
        given, x, y = np.where(got, "drug", "none"), drug.reshape(-1, 1), made.random(n)
        columns = np.column_stack([drug, 1 - drug])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            right = policy_scores(x, given, y, np.where(got, drug, 1 - drug), **BY_CHANCES)
            both = policy_scores(x, given, y, columns, **BY_CHANCES)
        assert (right.scores == both.scores).all()
        for wrong in (drug, columns[:, ::-1]):
            with pytest.warns(UserWarning, match=r"does not fit the treatments.* drug, none"):
                policy_scores(x, given, y, wrong, **BY_CHANCES)


def test_right_propensities_are_not_told_as_wrong() -> None:
    """Also skewed ones, few rows and several treatments."""
    made = np.random.default_rng(1)
    told, tries = 0, scaled(200, 100)
    for _ in range(tries):
        n, k = int(made.integers(20, 300)), int(made.integers(2, 5))
        chances = made.dirichlet(np.full(k, 2.0), n) * 0.9 + 0.1 / k
        codes = [int(made.choice(k, p=row)) for row in chances]
        codes[: 2 * k] = [*range(k), *range(k)]
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            policy_scores(np.zeros((n, 1)), codes, np.zeros(n), chances, folds=2, **BY_CHANCES)
        told += any("does not fit" in str(one.message) for one in found)
    assert told <= 0.02 * tries


def test_small_propensities_are_raised_with_a_warning() -> None:
    x, given, y = np.zeros((4, 1)), ["b", "a", "b", "a"], [1.0, 2.0, 5.0, 4.0]
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        found = policy_scores(
            x,
            given,
            y,
            [0.5, 0.001, 0.5, 0.8],
            method="inverse_propensity",
            folds=2,
            least_propensity=0.1,
        )
    assert found.clipped == 1
    assert found.scores[1].tolist() == [20, 0]


def test_own_models_frames_and_outcomes_of_0_and_1() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["age", "severity"])
    died = (np.asarray(DATA["outcome"]) < 40).astype(int)
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    models = (tree, LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = policy_scores(frame, SAID[1], died, models=models)
    assert 0 <= found.outcomes.min() <= found.outcomes.max() <= 1
    assert found.propensities.sum(axis=1) == pytest.approx(1)
    again = policy_scores(frame, SAID[1], died, models=models)
    assert (again.scores == found.scores).all()
    linear = policy_scores(frame, SAID[1], SAID[2], models=(LinearRegression(), models[1]))
    policy = OptimalPolicyTree(max_depth=2).fit(X, linear.scores)
    assert value(policy) > TRUE.mean(axis=0).max()


def test_mistakes() -> None:
    x, given, y = np.zeros((4, 1)), ["b", "a", "b", "a"], [1.0, 2.0, 5.0, 4.0]
    for wrong in ([0.5, 0, 0.5, 0.8], [[0.5, 0.4]] * 4, [[0.2, 0.3, 0.5]] * 4):
        with pytest.raises(OdtError, match="U614"):
            policy_scores(x, given, y, wrong, folds=2)
    with pytest.raises(OdtError, match="`a` has 2 rows"):
        policy_scores(x, given, y)
    with pytest.raises(OdtError, match="same treatment"):
        policy_scores(x, ["a"] * 4, y, folds=2)
    with pytest.raises(OdtError, match="`method`"):
        policy_scores(x, given, y, method="guess")  # type: ignore[arg-type]
    with pytest.raises(OdtError, match="`least_propensity`"):
        policy_scores(x, given, y, folds=2, least_propensity=0)
    with pytest.raises(ValueError, match="inconsistent"):
        policy_scores(x, given[:3], y)
