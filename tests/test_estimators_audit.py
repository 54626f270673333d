"""`audit` of estimators: rules and objective on rows that they were not fitted on."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import odtdsl
from odtdsl.base.diagnostics.model import OdtError

pytest.importorskip("sklearn")

RULES = ['gap(rate("p"), sex) <= 20%', "forall leaf: size >= 5%", 'recall("p") >= 50%']


def rows(seed: int, n: int = 80) -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 9, n),
            "b": rng.normal(size=n).round(2),
            "c": rng.choice(["u", "v"], n),
        }
    )
    y = np.where(X.a + rng.integers(0, 4, n) > 6, "p", "q")
    weights = rng.integers(1, 5, n) / 4
    return X, y, pd.DataFrame({"sex": rng.choice(["f", "m"], n)}), weights


def share(chosen: Any, of: Any, weights: Any) -> Fraction:
    exact = [Fraction(float(one)) for one in weights]
    among = sum((w for w, b in zip(exact, of, strict=True) if b), Fraction(0))
    return sum((w for w, b in zip(exact, of & chosen, strict=True) if b), Fraction(0)) / among


@pytest.mark.parametrize("weighed", [False, True])
def test_rules_are_told_on_other_rows(weighed: bool) -> None:
    broken = 0
    for seed in range(8):
        X, y, sex, w = rows(seed)
        tree = odtdsl.OptimalTreeClassifier(RULES, max_depth=2, random_state=0)
        tree.fit(X, y, w if weighed else None, sensitive_features=sex)
        X2, y2, sex2, w2 = rows(seed + 100, 50)
        found = tree.audit(X2, y2, w2 if weighed else None, sensitive_features=sex2)
        each = w2 if weighed else np.ones(50)
        said = tree.predict(X2)
        assert found.errors == (said != y2).sum()
        women = (sex2.sex == "f").to_numpy()
        gap = abs(share(said == "p", women, each) - share(said == "p", ~women, each))
        recall = share(said == "p", y2 == "p", each)
        assert found.audit is not None
        by_rule = {line.rule: line for line in found.audit.lines}
        first, size, third = by_rule.values()
        assert (first.value, first.holds) == (gap, gap <= Fraction(1, 5))
        assert (third.value, third.holds) == (recall, recall >= Fraction(1, 2))
        assert "size" in size.text
        assert found.baseline is not None
        assert found.baseline.errors == min((y2 != one).sum() for one in (found.baseline.predicts))
        broken += not first.holds
        # The rows of the fit give what the audit of the fit says.
        again = tree.audit(X, y, w if weighed else None, sensitive_features=sex).audit
        assert again is not None
        of_fit = {line.rule: line.value for line in tree.audit_.lines}
        assert all(of_fit[line.rule] == line.value for line in again.lines)
        assert again.objective == tree.audit_.objective
    assert broken


def test_numbers_have_their_losses() -> None:
    X, _, _, _ = rows(1)
    y = X.a * 2.0 + X.b
    tree = odtdsl.OptimalTreeRegressor(["leaves <= 3"], max_depth=2).fit(X[["a", "b"]], y)
    X2, _, _, _ = rows(2, 30)
    y2 = X2.a * 2.0 + X2.b
    found = tree.audit(X2[["a", "b"]], y2.rename("other"))
    assert found.mse == pytest.approx(((tree.predict(X2[["a", "b"]]) - y2) ** 2).mean())
    assert found.baseline is not None
    assert found.baseline.mse == pytest.approx(((y.mean() - y2) ** 2).mean())


def test_what_is_lacking_is_told() -> None:
    X, y, sex, _ = rows(3)
    tree = odtdsl.OptimalTreeClassifier(RULES, max_depth=1).fit(X, y, sensitive_features=sex)
    with pytest.raises(OdtError, match="U609"):
        tree.audit(X, y)
    with pytest.raises(OdtError, match="not a class seen in `fit`") as caught:
        tree.audit(X, np.where(y == "p", "p", "new"), sensitive_features=sex)
    (one_problem,) = caught.value.diagnostics
    assert one_problem.code == "D142"
    assert one_problem.message == "`y` holds `new`, which is not a class seen in `fit`"
    assert one_problem.helps == ("leave these rows out, or fit with rows of that class",)
    one = tree.audit(X[y == "p"], y[y == "p"], sensitive_features=sex[y == "p"])
    assert one.rows == (y == "p").sum()
    with pytest.raises(OdtError, match="U609"):
        pickle.loads(pickle.dumps(tree)).audit(X, y, sensitive_features=sex)


def test_outputs_in_another_order_are_refused() -> None:
    X, y, _, _ = rows(4)
    X = X[["a", "b"]]
    gains = pd.DataFrame({"none": np.zeros(len(X)), "drug": np.where(y == "p", 2.0, -1.0)})
    policy = odtdsl.OptimalPolicyTree(max_depth=1).fit(X, gains)
    numbers = odtdsl.OptimalTreeRegressor(max_depth=1).fit(X, gains)
    turned = gains[["drug", "none"]]
    for measure in (policy.score, policy.audit, numbers.audit):
        measure(X, gains)
        with pytest.raises(ValueError, match="in that order: `none`, `drug`"):
            measure(X, turned)
    with pytest.raises(ValueError, match="in that order"):
        policy.score(X, gains[["none"]])
    assert policy.score(X, gains.to_numpy()) == policy.score(X, gains)
    with pytest.raises(OdtError, match="two columns of the frame are named `a`"):
        odtdsl.OptimalPolicyTree().fit(X, gains.set_axis(["a", "a"], axis=1))
