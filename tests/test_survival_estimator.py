"""`OptimalSurvivalTree`, and the scores of survival, against what their definitions say."""

from __future__ import annotations

import itertools
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scale import scaled
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import odtdsl
from odtdsl import OdtError, OptimalSurvivalTree, datasets
from odtdsl.interfaces.cli.main import app
from odtdsl.predictors.leaves import leaves_of
from odtdsl.predictors.survival import (
    concordance,
    cumulative_hazard,
    integrated_brier,
    median,
    survival,
)
from odtdsl.tasks.survival.problem import course


def rows(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times with ties, events and risks with ties."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 12, n).astype(float)
    return times, (rng.random(n) < 0.6).astype(float), rng.integers(0, 4, n).astype(float)


def structured(times: Any, events: Any) -> np.ndarray:
    y = np.zeros(len(times), dtype=[("died", bool), ("months", float)])
    y["died"], y["months"] = events, times
    return y


# ---- curves and scores


def test_curves_are_products_over_times() -> None:
    for seed in range(scaled(50, least=5)):
        times, events, _ = rows(seed)
        weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], len(times))
        curve = course(times, events, weights)
        at = np.array([0.0, 0.5, *range(1, 14)])
        for time, share, summed in zip(
            at, survival(curve, at), cumulative_hazard(curve, at), strict=True
        ):
            left, hazard = 1.0, 0.0
            for step in np.unique(times[times <= time]):
                risk = weights[times >= step].sum()
                came = (weights * events)[times == step].sum()
                left, hazard = left * (1 - came / risk), hazard + came / risk
            assert (share, summed) == pytest.approx((left, hazard), abs=1e-12)
        half = median(curve)
        below = [time for time in np.unique(times) if survival(curve, np.array([time]))[0] <= 0.5]
        assert half == (below[0] if below else None)


def test_concordance_counts_pairs() -> None:
    for seed in range(scaled(50, least=5)):
        times, events, risk = rows(seed)
        known = agree = 0.0
        for i, j in itertools.permutations(range(len(times)), 2):
            outlived = times[j] > times[i] or (times[j] == times[i] and not events[j])
            if events[i] and outlived:
                known += 1
                agree += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
        assert concordance(times, events, risk) == pytest.approx(agree / known)
    assert concordance(np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([1.0, 2.0])) is None


def test_scores_are_those_of_scikit_survival() -> None:
    """Its Brier score takes the censoring of training rows, too; times are those of events."""
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    for seed in range(scaled(30, least=4)):
        times, events, risk = rows(seed)
        mine = concordance(times, events, risk)
        theirs = metrics.concordance_index_censored(events == 1, times, risk)[0]
        assert mine == pytest.approx(theirs)
        ones = np.ones(len(times))
        ends = (risk > 1).astype(int)
        curves = [course(times[ends == k], events[ends == k], ones[ends == k]) for k in (0, 1)]
        at = np.unique(times[(events == 1) & (times < times.max())])
        shares = np.array([survival(curve, at) for curve in curves])[ends]
        y = structured(times, events)
        expected = metrics.integrated_brier_score(y, y, shares, at)
        assert integrated_brier(times, events, curves, ends) == pytest.approx(expected)


# ---- the estimator


@pytest.fixture(scope="module")
def patients() -> tuple[pd.DataFrame, np.ndarray]:
    made = datasets.survival(300, seed=3)
    frame = pd.DataFrame({name: made[name] for name in ("age", "stage", "marker", "sex")})
    return frame, structured(made["months"], made["died"])


def test_it_fits_and_predicts(patients: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = patients
    rules = ["forall path: stage before age", "forall leaf: size >= 20"]
    tree = OptimalSurvivalTree(rules, max_depth=2, cost_complexity=0.001).fit(frame, y)
    assert tree.result_.status == "optimal"
    assert tree.audit_.holds
    assert "target survival months event died" in tree.spec_
    risk = tree.predict(frame)
    assert tree.score(frame, y) == concordance(y["months"], y["died"] * 1.0, risk)
    assert 0.6 < tree.score(frame, y) < 1
    values = tree.predict_survival_function(frame, return_array=True)
    assert values.shape == (300, len(tree.unique_times_))
    assert (np.diff(values, axis=1) <= 0).all()
    one = tree.predict_survival_function(frame.iloc[:1])[0]
    assert one(0.0) == 1.0
    assert (one(tree.unique_times_) == values[0]).all()
    hazard = tree.predict_cumulative_hazard_function(frame.iloc[:1])[0]
    assert hazard(0.0) == 0.0
    with pytest.warns(UserWarning, match="longest follow-up"):
        assert hazard(1e9) == hazard.y[-1]
    at = [3.0, 12.0]
    assert (tree.tree_.survival(frame.iloc[:1], at) == one(at)).all()
    again = pickle.loads(pickle.dumps(tree))
    assert (again.predict(frame) == risk).all()
    assert clone(tree).get_params() == tree.get_params()


def test_it_works_in_searches(patients: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = patients
    assert len(cross_val_score(OptimalSurvivalTree(max_depth=1), frame, y, cv=3)) == 3
    search = GridSearchCV(OptimalSurvivalTree(), {"max_depth": [0, 1]}, cv=2).fit(frame, y)
    assert search.best_params_ == {"max_depth": 1}


def test_a_frame_names_event_and_time(patients: tuple[pd.DataFrame, np.ndarray]) -> None:
    frame, y = patients
    plain = OptimalSurvivalTree(max_depth=1).fit(frame, y)
    for names in (["died", "months"], ["months", "died"]):
        table = pd.DataFrame(y)[names]
        assert OptimalSurvivalTree(max_depth=1).fit(frame, table).tree_ == plain.tree_


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda y: y["months"], "structured array"),
        (lambda y: np.array([(1.5, 2.0)] * 300, dtype=[("a", float), ("b", float)]), "True or F"),
        (lambda y: structured(-y["months"], y["died"]), "below 0"),
        (lambda y: structured(y["months"] * np.nan, y["died"]), "missing or infinite"),
        (lambda y: structured(y["months"], y["died"] & False), "all rows are censored"),
    ],
)
def test_wrong_targets_are_refused(
    change: Any, said: str, patients: tuple[pd.DataFrame, np.ndarray]
) -> None:
    frame, y = patients
    with pytest.raises(ValueError, match=said):
        OptimalSurvivalTree(max_depth=1).fit(frame, change(y))


# ---- the generator, the command line, pictures


def test_the_truth_of_the_generator_is_found() -> None:
    made = datasets.survival(3000, seed=1)
    frame = {name: made[name] for name in ("age", "stage", "marker", "months", "died")}
    text = (
        "data frame target survival months event died tree depth <= 2 minimize survival_loss"
        " rule size: forall leaf: size >= 100"
    )
    tree = odtdsl.parse(text).solve(frame=frame).tree
    assert tree is not None
    ratios = tree.predict(frame)
    truth = np.array(made["true_hazard"])
    means = [np.log(ratios[truth == level]).mean() for level in (0.5, 1.0, 2.0, 4.0)]
    assert np.diff(means) == pytest.approx(np.log(2), abs=0.25)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    made = datasets.survival(120)
    table = pd.DataFrame(made).drop(columns="true_hazard")
    table.to_csv(tmp_path / "patients.csv", index=False)
    (tmp_path / "s.odt").write_text(
        'data "patients.csv", test 25% seed 1\ntarget survival months event died\n'
        "tree depth <= 2\nminimize survival_loss\nrule size: forall leaf: size >= 10\n",
        encoding="utf-8",
    )
    return tmp_path


def ran(*options: object) -> str:
    done = CliRunner().invoke(app, [str(one) for one in options])
    assert done.exit_code == 0, done.output
    return done.output


def test_commands_know_survival(saved: Path) -> None:
    spec, tree = saved / "s.odt", saved / "t.json"
    printed = ran("solve", spec, "--out", tree, "--svg", saved / "t.svg")
    assert "hazard x" in printed
    assert "training: concordance 0." in printed
    assert "test: concordance 0." in printed
    told = ran("predict", tree, saved / "patients.csv", "--at", "12", "--at", "24.5").splitlines()
    assert told[0] == "hazard_ratio,median_survival,survival_12,survival_24.5"
    model = odtdsl.load_model(tree)
    first = [float(cell) if cell else None for cell in told[1].split(",")]
    frame = pd.read_csv(saved / "patients.csv")
    assert first[2:] == model.survival(frame, [12, 24.5])[0].tolist()
    assert "tree curves" in ran("audit", spec, tree)
    assert "hazard x" in ran("why", spec, tree, "--row", "3")
    page = saved / "r.html"
    ran("report", spec, "--out", page)
    html = page.read_text(encoding="utf-8")
    for words in ("Survival by leaf", "Kaplan-Meier curves of the leaves", "Harrell&#x27;s C"):
        assert words in html
    assert html.count('stroke-width="2"') >= model.n_leaves
    assert (saved / "t.svg").read_text(encoding="utf-8").count('stroke-width="1.5"') == (
        model.n_leaves
    )
    result = json.loads(ran("solve", spec, "--json"))
    assert set(result["training"]) == {"rows", "concordance", "brier"}


def test_times_are_times(saved: Path) -> None:
    ran("solve", saved / "s.odt", "--out", saved / "t.json")
    for wrong in ("-1", "soon", "nan"):
        done = CliRunner().invoke(
            app, ["predict", str(saved / "t.json"), str(saved / "patients.csv"), f"--at={wrong}"]
        )
        assert "U216" in done.output
    classes = odtdsl.parse("data frame target y tree depth <= 1 minimize errors").solve(
        frame={"x": [1, 2], "y": [0, 1]}
    )
    with pytest.raises(OdtError, match="U215"):
        classes.tree.survival({"x": [1]}, [3])


def test_times_behind_the_follow_up_are_told(saved: Path) -> None:
    tree = saved / "t.json"
    ran("solve", saved / "s.odt", "--out", tree)
    model, frame = odtdsl.load_model(tree), pd.read_csv(saved / "patients.csv")
    leaves = leaves_of(model).curves(model)
    for time in (0.5, 5000):
        done = CliRunner().invoke(
            app, ["predict", str(tree), str(saved / "patients.csv"), f"--at={time}"]
        )
        late = [one[-1][0] < time and one[-1][1] > one[-1][2] for one in leaves]
        count = sum(late[at] for at in model.apply(frame).tolist())
        assert ("U220" in done.stderr) == (count > 0)
        assert not count or f"for {count} of {len(frame)} rows" in done.stderr
    assert count > 0


def test_curves_behind_the_follow_up_are_told() -> None:
    X, y = np.arange(8.0).reshape(-1, 1), np.zeros(8, dtype=[("died", bool), ("months", float)])
    y["died"], y["months"] = [1, 0, 1, 1, 0, 1, 1, 0], np.arange(8) + 1.0
    curve = OptimalSurvivalTree(max_depth=1).fit(X, y).predict_survival_function(X[:1])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        last = curve([0.5, 8.0])[1]
    with pytest.warns(UserWarning, match="asked for at 60, but the longest follow-up .* is 8"):
        assert curve([3, 60])[1] == last


@pytest.mark.parametrize("to", ["python", "sql", "c", "javascript", "mermaid", "text"])
def test_exports_write_the_hazard_ratio(saved: Path, to: str) -> None:
    ran("solve", saved / "s.odt", "--out", saved / "t.json")
    assert "hazard_ratio" in str(odtdsl.load_model(saved / "t.json").export(to))
