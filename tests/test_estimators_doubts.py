"""What estimators say of data and weights: all that `Model` says of the same frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import odtdsl

pytest.importorskip("sklearn")
ROWS = 60


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "const": [1] * ROWS, "money": [f"{i % 7},{100 + i % 9}" for i in range(ROWS)],
            "lab": [f"{i % 9}.5" if i % 8 else "<2" for i in range(ROWS)],
            "id": [f"p{i}" for i in range(ROWS)], "a": rng.normal(size=ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
        }
    )  # fmt: skip


def test_doubts_about_data_are_those_of_a_model() -> None:
    X = frame()
    y = pd.Series(np.where(X.a > 0, "p", "q"), name="y")
    fitted = odtdsl.OptimalTreeClassifier(max_depth=1).fit(X, y)
    text = "data frame target y tree depth <= 1 minimize error_rate"
    wanted = odtdsl.solve(text, frame=X.assign(y=y)).warnings
    told = [(one.code, one.message) for one in fitted.result_.warnings]
    assert told == [(one.code, one.message) for one in wanted]
    assert {code for code, _ in told} >= {"D213", "D214", "D215"}
    meant = odtdsl.OptimalTreeClassifier(
        max_depth=1, spec="feature money, lab, id: category"
    ).fit(X, y)  # fmt: skip
    assert {one.code for one in meant.result_.warnings} == {"D213"}


def test_weights_that_are_rounded_are_told() -> None:
    X = frame()[["a", "sex"]]
    y = np.where(X.a + np.arange(ROWS) % 3 > 1, "p", "q")
    weights = np.random.default_rng(1).uniform(size=ROWS)
    rule = 'gap(recall("p"), sex) <= 20%'
    fitted = odtdsl.OptimalTreeClassifier([rule], max_depth=1).fit(X, y, sample_weight=weights)
    (said,) = [one for one in fitted.result_.warnings if one.code == "D209"]
    assert "7 digits" in said.message or "6 digits" in said.message
    whole = odtdsl.OptimalTreeClassifier([rule], max_depth=1)
    whole.fit(X, y, sample_weight=np.arange(1, ROWS + 1) / 4)
    assert not whole.result_.warnings
