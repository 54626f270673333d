"""`OptimalPolicyTree`: what scikit-learn's own checks (`test_estimators`) do not ask."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from scale import scaled

from odtdsl import OdtError, OptimalPolicyTree, OptimalTreeClassifier


def world(seed: int, rows: int = 40, choices: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(rows, 2)).astype(float), rng.integers(-3, 6, (rows, choices))


def best(x: np.ndarray, rewards: np.ndarray, depth: int) -> int:
    """The largest sum of a tree, over all splits."""
    found = int(rewards.sum(axis=0).max(initial=-(10**9)))
    if depth:
        for column, cut in itertools.product(range(x.shape[1]), range(3)):
            left = x[:, column] <= cut
            if left.any() and not left.all():
                sides = (best(x[one], rewards[one], depth - 1) for one in (left, ~left))
                found = max(found, sum(sides))
    return found


def test_the_score_is_the_best_mean() -> None:
    for seed in range(scaled(50, least=5)):
        x, rewards = world(seed)
        policy = OptimalPolicyTree(max_depth=2).fit(x, rewards)
        assert policy.result_.status == "optimal"
        assert policy.score(x, rewards) == pytest.approx(best(x, rewards, 2) / len(x))
        made = rewards[np.arange(len(x)), policy.predict(x)]
        assert made.mean() == pytest.approx(policy.score(x, rewards))
        losses = OptimalPolicyTree(by="loss", max_depth=2).fit(x, -rewards)
        assert losses.score(x, -rewards) == pytest.approx(policy.score(x, rewards))


def test_choices_of_a_frame_have_its_names() -> None:
    x, rewards = world(1)
    frame = pd.DataFrame(rewards, columns=["none", "drug", "surgery"])
    policy = OptimalPolicyTree(["share(drug) <= 20%"], max_depth=2)
    policy.fit(pd.DataFrame(x, columns=["age", "dose"]), frame)
    chosen = policy.predict(pd.DataFrame(x, columns=["age", "dose"]))
    assert list(policy.choices_) == ["none", "drug", "surgery"]
    assert set(chosen) <= set(policy.choices_)
    assert (chosen == "drug").mean() <= 0.2
    assert "target choice {none, drug, surgery} by reward" in policy.spec_
    assert policy.audit_.holds
    again = pickle.loads(pickle.dumps(policy))
    assert (again.predict(pd.DataFrame(x, columns=["age", "dose"])) == chosen).all()


def test_names_that_features_have_are_made_free() -> None:
    x, rewards = world(2)
    features = pd.DataFrame(x, columns=["choice0", "choice1"])
    policy = OptimalPolicyTree(max_depth=1).fit(features, rewards)
    assert policy.tree_.classes == ("choice0_", "choice1_", "choice2")
    assert set(policy.predict(features)) <= {0, 1, 2}


def test_one_column_is_the_gain_of_acting() -> None:
    x, rewards = world(3, choices=1)
    policy = OptimalPolicyTree(max_depth=2).fit(x, rewards)
    both = np.column_stack([0 * rewards, rewards])
    assert policy.score(x, rewards) == pytest.approx(best(x, both, 2) / len(x))
    assert list(policy.choices_) == [0, 1]
    for flat in (rewards.ravel(), pd.Series(rewards.ravel(), name="outcome")):  # of what was done?
        with pytest.warns(UserWarning, match="what `choice1` gains over `choice0`"):
            again = OptimalPolicyTree(max_depth=2).fit(x, flat)
        assert again.score(x, flat) == policy.score(x, rewards)


def test_a_spec_may_list_the_choices_in_another_order() -> None:
    x, rewards = world(4)
    frame = pd.DataFrame(rewards, columns=["a", "b", "c"])
    spec = "target choice {c, a, b} by reward tree depth <= 2 maximize reward then minimize leaves"
    policy = OptimalPolicyTree(spec=spec).fit(x, frame)
    chosen = policy.predict(x)
    made = frame.to_numpy()[np.arange(len(x)), [list("abc").index(one) for one in chosen]]
    assert made.sum() == policy.result_.stages[0].value == best(x, rewards, 2)


def test_weights_and_sensitive_features() -> None:
    x, rewards = world(5)
    sex = np.array(["f", "m"] * 20)
    weights = np.where(sex == "f", 2.0, 1.0)
    policy = OptimalPolicyTree(["gap(rate(choice1), sex) <= 0.1"], max_depth=2)
    named = pd.DataFrame({"sex": sex})
    policy.fit(x, rewards, weights, sensitive_features=named)
    given = policy.predict(x) == 1
    assert abs(given[sex == "f"].mean() - given[sex == "m"].mean()) <= 0.1 + 1e-9
    made = rewards[np.arange(len(x)), policy.predict(x)]
    assert policy.score(x, rewards, weights) == pytest.approx((made * weights).sum() / 60)
    other = policy.audit(x, rewards, weights, sensitive_features=named)
    assert other.audit is not None
    assert all(line.holds for line in other.audit.lines)
    assert other.figures["mean reward"] == pytest.approx((made * weights).sum() / 60)


def test_a_price_per_leaf_and_sizes() -> None:
    x, rewards = world(6)
    dear = OptimalPolicyTree(max_depth=2, cost_complexity=10.0).fit(x, rewards)
    assert dear.get_n_leaves() == 1
    large = OptimalPolicyTree(max_depth=2, min_samples_leaf=10).fit(x, rewards)
    assert min(leaf.size for leaf in large.tree_.leaves) >= 10


def test_mistakes() -> None:
    x, rewards = world(7)
    with pytest.raises(OdtError, match="`by`"):
        OptimalPolicyTree(by="profit").fit(x, rewards)  # type: ignore[arg-type]
    policy = OptimalPolicyTree(max_depth=1).fit(x, rewards)
    with pytest.raises(ValueError, match="2 columns, but there are 3 choices"):
        policy.score(x, rewards[:, :2])
    spec = "target y tree depth <= 1 minimize errors"
    with pytest.raises(OdtError, match="but this estimator predicts choices"):
        OptimalPolicyTree(spec=spec).fit(x, rewards)
    choices = "target choice {a, b} by reward tree depth <= 1 maximize reward"
    with pytest.raises(OdtError, match="use a policy tree"):
        OptimalTreeClassifier(spec=choices).fit(x, rewards[:, 0])
    with pytest.raises(OdtError, match="U607"):
        OptimalPolicyTree(["reward >= 10000"]).fit(x, rewards)
