"""Early stopping of estimators: the improvement that is best on held-out rows."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from odtdsl import OptimalTreeClassifier, OptimalTreeRegressor
from odtdsl.auditor.audit import audit
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.scoring import model_warnings, output_score
from odtdsl.estimators import early
from odtdsl.estimators.early import HeldOut, parted


def noisy(rows: int = 400, seed: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 5)).round(2)
    y = (x[:, 0] + x[:, 1] > 0) ^ (rng.random(rows) < 0.25)
    return x, np.where(y, "p", "n")


def fitted(**said: Any) -> OptimalTreeClassifier:
    given = {
        "max_depth": 6,
        "spec": "solve using search(steps = 30)",
        "early_stopping": True,
        "validation_fraction": 0.3,
        "time_limit": None,
        **said,
    }
    return OptimalTreeClassifier(**given).fit(*noisy())


class Recording(HeldOut):
    """All that were met, with their values on the held-out rows."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.met: list[tuple[Any, Any]] = []
        last.append(self)

    def take(self, model: Any) -> None:
        super().take(model)
        self.met.append((self._values(model), model))


last: list[Recording] = []


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Recording]:
    last.clear()
    monkeypatch.setattr("odtdsl.estimators.base.HeldOut", Recording)
    return last


def test_the_model_kept_is_the_best_of_those_met_and_never_proven(heard: list[Recording]) -> None:
    tree = fitted(n_iter_no_change=1000)
    (held,) = heard
    assert len(held.met) > 5
    best = min(values for values, _ in held.met)
    (first, *_) = [model for values, model in held.met if values == best]
    assert str(tree.tree_) == str(first)
    assert best < held.met[-1][0], "the last one was the best: nothing is shown"
    result = tree.result_
    assert (result.status, result.stopped, result.interrupted) == ("feasible", "held out", False)
    assert not any(stage.proven for stage in result.stages)
    seen = audit(tree.tree_, result.rows)
    assert [stage.value for stage in result.stages] == list(seen.objective)
    assert tree.audit_ == seen
    assert "the best one on held-out rows" in str(result)
    assert result.to_json()["stopped"] == "held out"


def test_all_that_is_told_is_of_the_model_that_is_kept(heard: list[Recording]) -> None:
    """Scores and warnings, too, and not those of the last model of the search."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 4)).round(2)
    y = x[:, :2] + rng.normal(size=(300, 2))
    numbers = OptimalTreeRegressor(
        max_depth=5, early_stopping=True, spec="solve using search(steps = 20)", time_limit=None
    ).fit(x, y)
    assert heard[-1].met[-1][1] != numbers.tree_, "the last one was kept: nothing is shown"
    rows = numbers.result_.rows
    assert numbers.result_.outputs == output_score(numbers.tree_, rows, rows.data)
    rare = np.where(np.arange(400) % 40 == 0, "rare", noisy()[1])
    with warnings.catch_warnings(record=True):
        classes = OptimalTreeClassifier(
            max_depth=6, early_stopping=True, validation_fraction=0.5, time_limit=2.0
        ).fit(noisy()[0], rare)
    result = classes.result_
    told = [one for one in result.warnings if one.code == "O104"]
    assert told == list(model_warnings(classes.tree_, result.rows))


def test_a_proof_on_the_rows_of_the_fit_is_not_told(heard: list[Recording]) -> None:
    tree = fitted(max_depth=1, spec=None, n_iter_no_change=1000)
    assert tree.result_.status == "feasible"
    assert tree.result_.bound is not None


def test_enough_improvements_without_a_better_one_end_the_search(heard: list[Recording]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(n_iter_no_change=2)
        fitted(n_iter_no_change=1000)
    soon, late = heard
    assert soon.over()
    assert len(soon.met) < len(late.met)
    assert soon.idle == 2
    assert [values for values, _ in soon.met] == [v for v, _ in late.met[: len(soon.met)]]


def test_the_search_sees_no_held_out_row() -> None:
    tree = fitted()
    x, y = noisy()
    assert tree.tree_.root.size == len(y) - sum(int(0.3 * (y == c).sum()) for c in "np")
    again = fitted()
    assert str(again.tree_) == str(tree.tree_)
    assert str(fitted(random_state=5).tree_) != str(tree.tree_)
    assert clone(tree).get_params()["validation_fraction"] == 0.3
    assert (pickle.loads(pickle.dumps(tree)).predict(x) == tree.predict(x)).all()


def test_weights_rules_and_numbers() -> None:
    x, y = noisy()
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.25], size=len(y))
    said: dict[str, Any] = {"early_stopping": True, "time_limit": 0.5, "max_depth": 5}
    tree = OptimalTreeClassifier(["forall leaf: size >= 20"], **said).fit(x, y, weights)
    assert tree.audit_.holds
    assert tree.result_.status == "feasible"
    target = x[:, 0] + np.random.default_rng(1).normal(size=len(y))
    numbers = OptimalTreeRegressor(**said).fit(x, target)
    assert numbers.result_.stopped == "held out"
    with pytest.warns(ConvergenceWarning, match="reached its limit"):
        whole = OptimalTreeRegressor(time_limit=0.5, max_depth=5).fit(x, target)
    assert whole.result_.stopped == ""
    assert whole.score(x, target) >= numbers.score(x, target)


def test_of_each_class_the_share_is_held_out() -> None:
    table = {"a": list(range(100)), "y": ["p"] * 89 + ["n"] * 10 + ["q"]}
    fit, held = parted(table, "y", 0.25, 1)
    assert sorted([*fit["a"], *held["a"]]) == table["a"]
    assert sorted(held["y"]) == ["n"] * 2 + ["p"] * 22
    assert len(parted(table, None, 0.25, 1)[1]["a"]) == 25
    assert list(parted(table, "y", 0.25, 2)[1]["a"]) != list(held["a"])


@pytest.mark.parametrize("share", [0, 1, 1.5, "a", None, 0.001])
def test_shares_that_hold_out_nothing_are_told(share: Any) -> None:
    with pytest.raises(OdtError, match="U613"):
        fitted(validation_fraction=share)
    assert early.parted({"y": ["a", "b"] * 3}, "y", 0.5, 0)[1]
