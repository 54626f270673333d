"""scikit-learn's own checks of every estimator.

With the parameters of a user the checks of diagrams and of three levels take minutes:
`python -m pytest -m slow tests/test_estimators.py` runs them.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import odtdsl as odt

QUICK = [
    odt.OptimalTreeClassifier(max_depth=2),
    odt.OptimalTreeRegressor(max_depth=2),
    odt.OutputConstrainedTreeRegressor(max_depth=2),
    odt.OptimalDiagramClassifier(widths=(1, 2), backend="greedy"),
    odt.OutputConstrainedForestRegressor(n_estimators=1, max_depth=2, min_samples_leaf=1),
]
SLOW = [
    odt.OptimalTreeClassifier(),
    odt.OptimalTreeRegressor(),
    odt.OutputConstrainedTreeRegressor(),
    odt.OptimalDiagramClassifier(widths=(1, 2)),
    odt.OutputConstrainedForestRegressor(),
]


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
