"""scikit-learn's own checks of every estimator, each with its default parameters.

A forest of 20 trees and the proofs of diagrams take up to a minute:
`python -m pytest -m slow tests/test_estimators.py` runs them; in between, fewer trees and small
diagrams by `greedy` stand for them.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import odtdsl as odt
from odtdsl import estimators

pytestmark = pytest.mark.usefixtures("few_starts")

QUICK = [
    odt.OptimalTreeClassifier(),
    odt.OptimalTreeRegressor(),
    odt.OptimalPolicyTree(),
    odt.OutputConstrainedTreeRegressor(),
    odt.OptimalDiagramClassifier(widths=(1, 2), backend="greedy"),
    odt.OutputConstrainedForestRegressor(n_estimators=1, max_depth=2),
]
SLOW = [
    odt.OptimalDiagramClassifier(),
    odt.OptimalDiagramClassifier(backend="sat"),  # where `auto` finds another one
    odt.OutputConstrainedForestRegressor(),
]


def test_every_estimator_is_checked_with_its_defaults() -> None:
    exported = {getattr(estimators, name) for name in estimators.__all__}
    exported -= {odt.OptimalSurvivalTree}  # `y` is an array of two fields: its own tests
    assert {type(estimator) for estimator in QUICK} == exported
    plain = {type(one) for one in (*QUICK, *SLOW) if repr(one) == f"{type(one).__name__}()"}
    assert plain == exported


@parametrize_with_checks(QUICK)
def test_check_estimator(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", SLOW, ids=repr)
def test_check_estimator_as_a_user_has_it(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator)
