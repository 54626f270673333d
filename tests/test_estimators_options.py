"""`options` of estimators: those of one back end, as `solve` takes them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV

import odtdsl
from odtdsl import OdtError, OptimalDiagramClassifier, OptimalTreeClassifier

CELLS = [[0, 0], [0, 1], [1, 0], [1, 1]] * 3
LABELS = ["even", "odd", "odd", "even"] * 3


@pytest.mark.parametrize(
    ("options", "back_end"),
    [({"solver": "glucose4"}, "sat"), ({"model": "subtrees"}, "milp")],
)
def test_options_name_their_back_end_and_reach_it(
    options: dict[str, Any], back_end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from odtdsl.driver import pipeline

    heard: list[dict[str, Any]] = []
    solve = pipeline.solve

    def hear(*given: Any, **named: Any) -> Any:
        heard.append(dict(named["variant"].given))
        return solve(*given, **named)

    monkeypatch.setattr(pipeline, "solve", hear)
    fitted = OptimalTreeClassifier(max_depth=2, options=options)
    fitted.fit(CELLS, LABELS)
    assert heard == [options]
    assert fitted.result_.backend == back_end
    assert fitted.score(CELLS, LABELS) == 1
    same = OptimalTreeClassifier(max_depth=2, backend=back_end, options=options)
    assert same.fit(CELLS, LABELS).result_.backend == back_end


def test_options_are_a_parameter_as_others() -> None:
    tree = OptimalTreeClassifier(max_depth=2, options={"solver": "cadical153"})
    assert clone(tree).get_params()["options"] == {"solver": "cadical153"}
    choices = [{"solver": "glucose4"}, {"model": "pattern"}]
    grid = GridSearchCV(tree, {"options": choices}, cv=3).fit(CELLS, LABELS)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    diagram = OptimalDiagramClassifier(widths=(1, 2), options={"solver": "glucose4"})
    assert diagram.fit(CELLS, LABELS).result_.backend == "sat"


def test_every_estimator_with_a_back_end_has_options() -> None:
    classes = [getattr(odtdsl, name) for name in odtdsl.__all__]
    estimators = [c for c in classes if inspect.isclass(c) and issubclass(c, BaseEstimator)]
    taking = [c for c in estimators if "backend" in inspect.signature(c).parameters]
    assert len(taking) == 6
    for one in taking:
        assert "options" in inspect.signature(one).parameters
        assert "options" in (one.__doc__ or "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"options": {"encodin": "paper"}}, "U322"),
        ({"options": {"encoding": "papers"}}, "U302"),
        ({"options": ["encoding"]}, "U401"),
        ({"options": {"encoding": "paper"}, "backend": "milp"}, "U302"),
        ({"options": {"encoding": "paper"}, "backend": "auto"}, "U302"),
        ({"options": {"encoding": "paper"}, "spec": "solve using milp"}, "U302"),
    ],
)
def test_wrong_options_are_told(given: dict[str, Any], said: str) -> None:
    with pytest.raises(OdtError) as caught:
        OptimalTreeClassifier(max_depth=1, **given).fit(np.array(CELLS), LABELS)
    assert caught.value.diagnostics[0].code == said
