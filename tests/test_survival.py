"""Survival trees: `exact` against brute force under every rule, and the audit."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale import scaled
from survival_worlds import KINDS, survival_case
from test_number_rules import solved

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray
from odtdsl.predictors.saving import from_json, to_json


@pytest.mark.parametrize(("scope", "term"), KINDS)
def test_the_optimum_under_rules_is_that_of_brute_force(scope: str, term: str) -> None:
    found = Counter(solved(survival_case(scope, term, seed)) for seed in range(scaled(60, least=6)))
    assert found["optimal"]


def test_events_of_tiny_weights_are_kept() -> None:
    """Beside large weights; their hazards round, which must not change their events."""
    assert solved(survival_case("model", "splits", 194)) == "optimal"


def test_weights_that_drown_others_are_refused() -> None:
    frame = {"t": [3, 1, 2, 4], "d": [1, 0, 1, 1], "a": [0, 1, 0, 1], "w": [1e-7, 1, 0, 0.5]}
    text = "data frame target survival t event d weight w tree depth <= 1 minimize survival_loss"
    with pytest.raises(OdtError, match="more than 1,000,000 times the smallest"):
        odtdsl.parse(text).solve(frame=frame)
    enough = {**frame, "w": [1e-6, 1, 0, 0.5]}
    assert odtdsl.parse(text).solve(using="exact", frame=enough).status == "optimal"


# ---- the same optimum as SurTree


def cells(seed: int) -> tuple[dict[str, list[Any]], int]:
    """0/1 features, times with ties, events; and a depth."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(8, 60)), int(rng.integers(2, 6))
    frame: dict[str, list[Any]] = {f"x{k}": rng.integers(0, 2, n).tolist() for k in range(m)}
    frame["t"] = rng.choice([rng.integers(1, 9, n), rng.exponential(5, n).round(2) + 0.01]).tolist()
    frame["d"] = [1, *(rng.random(n - 1) < 0.6).astype(int).tolist()]
    return frame, int(rng.integers(1, 4))


def test_the_optimum_is_that_of_surtree() -> None:
    """Seldom it stops a little above the optimum; then brute force has ours."""
    pytest.importorskip("pystreed", reason="pystreed is not installed")
    many, above = scaled(200), 0
    for seed in range(many):
        frame, depth = cells(seed)
        text = f"data frame target survival t event d tree depth <= {depth} minimize survival_loss"
        found = odtdsl.parse(text).solve(using="exact", frame=frame)
        assert found.status == "optimal"
        assert found.stages[0].value is not None
        value, theirs = float(found.stages[0].value), surtree(frame, depth)
        assert value <= theirs + 1e-7, seed
        if value < theirs - 1e-7:
            above += 1
            assert value == pytest.approx(least(frame, depth), rel=1e-9), seed
    assert above <= max(1, many // 50)


def least(frame: dict[str, list[Any]], depth: int) -> float:
    """The least loss of all trees of 0/1 features, one after the other."""
    hazards = hazards_of(np.array(frame["t"]), np.array(frame["d"]))
    columns = [np.array(cells) == 1 for name, cells in frame.items() if name.startswith("x")]
    events = np.array(frame["d"])

    def best(inside: BoolArray, left: int) -> float:
        came, exposed = events[inside].sum(), hazards[inside].sum()
        lost = 0.0 if not came else -came * np.log(came / exposed)
        if left:
            parts = ((inside & column, inside & ~column) for column in columns)
            trees = (best(a, left - 1) + best(b, left - 1) for a, b in parts if a.any() and b.any())
            lost = min([lost, *trees])
        return float(lost)

    whole = best(np.ones(len(events), dtype=bool), depth)
    return (whole - float(np.log(hazards[events == 1]).sum())) / len(events)


def hazards_of(times: FloatArray, events: IntArray) -> FloatArray:
    """The cumulative hazard of all rows at the time of each."""
    at = np.unique(times[events == 1])
    steps = [events[times == now].sum() / (times >= now).sum() for now in at]
    return np.array([sum(steps[: (at <= t).sum()]) or 1 / (len(times) + 1) for t in times])


def surtree(frame: dict[str, list[Any]], depth: int) -> float:
    """The loss of the tree of pystreed; its own class for survival asks for scikit-survival."""
    base = pytest.importorskip("pystreed.base", reason="pystreed is not installed")
    SAData = import_module("pystreed.data").SAData

    class Survival(base.BaseSTreeDSolver):  # type: ignore[misc, name-defined]
        def _process_extra_data(self, X: Any, events: Any) -> Any:
            known = [1] * len(X) if events is None else events
            return [SAData(int(event), -1.0) for event in known]

    solver = Survival(
        "survival-analysis",
        max_depth=depth,
        feature_ordering="in-order",
        use_similarity_lower_bound=False,
    )
    solver._label_type = np.double
    features = np.column_stack([cells for name, cells in frame.items() if name.startswith("x")])
    solver.fit(features, np.array(frame["t"], dtype=float), np.array(frame["d"]))
    assert solver.fit_result.is_optimal()
    return loss_of(frame, np.asarray(solver.predict(features)))


def loss_of(frame: dict[str, list[Any]], ratios: FloatArray) -> float:
    """The loss of hazard ratios. A leaf without an event counts nothing, as in their search; what
    they report of a tree has half an event there."""
    times, events = np.array(frame["t"]), np.array(frame["d"])
    hazards = hazards_of(times, events)
    came = np.array([events[ratios == ratio].any() for ratio in ratios])
    expected = np.where(came, hazards * ratios, 0.0)
    return float((expected - events * (np.log(np.where(events, expected, 1)) + 1)).mean())


# ---- the audit


HEAD = "data frame target survival t event d tree depth <= 2 minimize survival_loss"
FRAME = {
    "x": [1, 2, 3, 4, 5, 6, 7, 8],
    "z": [0, 1, 0, 1, 0, 1, 0, 0],
    "t": [9, 1, 8, 3, 5, 0, 7, 7],
    "d": [1, 1, 0, 1, 1, 0, 0, 1],
}


def changed(node: dict[str, Any], how: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """A copy of a saved node whose leaves are changed."""
    node = dict(node)
    if node["node"] == "leaf":
        how(node)
        return node
    return node | {side: changed(node[side], how) for side in ("left", "right")}


def other_ratio(leaf: dict[str, Any]) -> None:
    leaf["output"] = [leaf["output"][0] * 1.001]


def other_time(leaf: dict[str, Any]) -> None:
    (time, *step), *rest = leaf["curve"]
    leaf["curve"] = [[time - 0.5, *step], *rest]


def fewer_events(leaf: dict[str, Any]) -> None:
    leaf["curve"] = [[time, risk, 0.0] for time, risk, _ in leaf["curve"]]


def less_risk(leaf: dict[str, Any]) -> None:
    *first, (time, risk, events) = leaf["curve"]
    leaf["curve"] = [*([at, more - 0.5, 0.0] for at, more, _ in first), [time, risk, events]]


@pytest.mark.parametrize(
    ("how", "lines"),
    [
        (other_ratio, ["tree outputs"]),
        (other_time, ["tree curves"]),
        (fewer_events, ["tree curves"]),
        (less_risk, ["tree curves"]),
    ],
)
def test_the_audit_counts_again(how: Callable[[dict[str, Any]], None], lines: list[str]) -> None:
    spec = odtdsl.parse(HEAD)
    result = spec.solve(frame=FRAME)
    assert result.tree is not None
    saved = json.loads(json.dumps(to_json(result.tree)))
    tree = from_json(saved)
    assert tree == result.tree
    assert odtdsl.audit(tree, spec, frame=FRAME).holds
    wrong = from_json(saved | {"root": changed(saved["root"], how)})
    audit = odtdsl.audit(wrong, spec, frame=FRAME)
    assert [line.rule for line in audit.lines if not line.holds] == lines
    if how is other_ratio:
        assert audit.objective[0] > result.stages[0].value + Fraction(1, 10**8)


def test_wrong_hazards_fail_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first meaning counts rows at risk that are gone."""
    from odtdsl.tasks.survival import problem

    def late(*columns: FloatArray) -> Any:
        at, where, risk, came = true(*columns)
        return at, where, risk + 1, came

    true = problem._steps
    monkeypatch.setattr(problem, "_steps", late)
    with pytest.raises(OdtError, match="X101"):
        odtdsl.parse(HEAD).solve(frame=FRAME)


def test_test_rows_are_scored_by_the_hazards_of_training_rows(tmp_path: Path) -> None:
    """A leaf without events has half of one there, so that no loss is infinite."""
    text = HEAD.replace("data frame", 'data "train.csv", test "test.csv"')
    test = {"x": [2, 6, 9], "z": [0, 1, 1], "t": [0, 4, 30], "d": [1, 1, 0]}
    for name, frame in (("train", FRAME), ("test", test)):
        rows = zip(*frame.values(), strict=True)
        lines = [",".join(frame), *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "s.odt").write_text(text, encoding="utf-8")
    result = odtdsl.solve(tmp_path / "s.odt")
    assert result.test is not None
    assert result.test.audit is not None
    (found,) = result.test.audit.objective
    assert result.tree is not None
    ratios = result.tree.predict(test)
    times, events = np.array(FRAME["t"]), np.array(FRAME["d"])
    at = np.unique(times[events == 1])
    steps = [events[times == now].sum() / (times >= now).sum() for now in at]
    expected = [sum(steps[: (at <= t).sum()]) or 1 / 9 for t in test["t"]] * ratios
    came = np.array(test["d"])
    assert float(found) == pytest.approx(
        (expected - came * (np.log(expected) + 1)).mean(), rel=1e-12
    )


# ---- words and messages


def test_specs_are_written_as_they_are_read() -> None:
    text = "target survival months event `has died`\n"
    model = odtdsl.parse(text)
    assert str(model) == text
    built = odtdsl.Model().target("months", event="has died")
    assert str(built) == text
    assert built.spec == model.spec
    for wrong in ({"event": 3}, {"event": "d", "step": 1}, {"type": "survival"}):
        with pytest.raises(OdtError, match=r"U40"):
            odtdsl.Model().target("t", **wrong)


def test_a_column_of_that_name_is_a_class_as_before() -> None:
    frame = {"x": [1, 2, 3, 4], "survival": ["a", "a", "b", "b"], "event": [1, 1, 2, 2]}
    for name in ("survival", "event"):
        text = f"data frame target {name} tree depth <= 1 minimize errors"
        assert odtdsl.parse(text).solve(frame=frame).stages[0].value == 0
    text = "data frame target survival event event survival tree depth <= 1 minimize survival_loss"
    frame["survival"] = ["no", "yes", "Yes", "no"]
    with pytest.raises(OdtError, match="D229"):
        odtdsl.parse(text).solve(frame=frame | {"survival": [0, 1, 1, 2]})
    frame["survival"] = ["alive", "dead", "dead", "alive"]
    swapped = "data frame target survival d event t tree depth <= 1 minimize survival_loss"
    rows = {"x": [1, 2, 3], "t": [5, 7, 9], "d": [1, 0, 1]}
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(swapped, frame=rows, test_frame=rows)
    (only,) = [one for one in caught.value.diagnostics if one.code == "D229"]
    assert only.helps == ("these look swapped: the time is first in `target survival t event d`",)
    with pytest.raises(OdtError, match="D229") as caught:
        odtdsl.parse(text).solve(frame=frame)
    assert "it holds `alive`, `dead`" in caught.value.diagnostics[0].notes
    found = []
    for said in (["no", "yes", "yes", "no"], ["no", "yes", "Yes", "False"], [0, 1, 1, 0]):
        result = odtdsl.parse(text).solve(frame=frame | {"survival": said})
        assert result.status == "optimal"
        found.append(result.objective)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        ({"t": [1, 2, -3, 4, 5, 6, 7, 8]}, "D228"),
        ({"d": [0, 1, 2, 1, 0, 1, 1, 0]}, "D229"),
        ({"d": [0] * 8}, "D230"),
        ({"t": [1, None, 3, 4, 5, 6, 7, 8]}, "D201"),
        ({"d": [1, None, 0, 1, 1, 1, 1, 1]}, "D201"),
        ({"t": ["soon", *"2345678"]}, "D141"),
    ],
)
def test_cells_out_of_place(cells: dict[str, list[Any]], code: str) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.parse(HEAD).solve(frame=FRAME | cells)
    assert [one.code for one in caught.value.diagnostics] == [code]


def test_a_rule_on_losses_needs_an_event_too() -> None:
    with pytest.raises(OdtError, match="D230"):
        odtdsl.parse(HEAD + " rule f: survival_loss <= 0.1").solve(frame=FRAME | {"d": [0] * 8})


def test_events_at_one_time_are_told() -> None:
    result = odtdsl.parse(HEAD).solve(frame=FRAME | {"t": [4] * 8})
    assert [one.code for one in result.warnings] == ["D231"]
    assert result.status == "optimal"


def test_booleans_are_events() -> None:
    """As frames, files and other programs write them."""
    plain = odtdsl.parse(HEAD).solve(frame=FRAME)
    for no, yes in ((False, True), ("false", "true"), ("No", "Yes"), ("FALSE", "TRUE")):
        said = FRAME | {"d": [(no, yes)[event] for event in FRAME["d"]]}
        assert odtdsl.parse(HEAD).solve(frame=said).tree == plain.tree


def main() -> None:
    """Counts by rule as JSON lines; a difference is told with the spec that shows it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=500, help="instances per rule")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    options = parser.parse_args()
    wrong = 0
    for scope, term in KINDS:
        found = Counter[str]()
        for seed in range(options.first, options.first + options.each):
            try:
                found[solved(survival_case(scope, term, seed))] += 1
            except (AssertionError, OdtError, RuntimeError) as difference:
                found["DIFFERENT"] += 1
                print(f"# {scope} {term} {seed}: {difference}", flush=True)
        wrong += found["DIFFERENT"]
        print(json.dumps({"rule": f"{scope} {term}", **found}), flush=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
