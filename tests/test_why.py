"""Why a row is predicted so, and the least change, against all combinations of cells."""

from __future__ import annotations

import json
import math
import random
from itertools import product
from typing import Any

import pytest
from scale import scaled
from tiny_tables import LEVELS, TinyTable, random_world

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.reasons import Change, Counterfactual, Why
from odtdsl.driver.result import Result
from odtdsl.predictors.nodes import Branch, InBin, Threshold
from odtdsl.predictors.routing import paths

pytestmark = pytest.mark.usefixtures("few_starts")


def solved(rng: random.Random) -> tuple[TinyTable, Result]:
    while True:
        tiny = random_world(rng)
        text = "\n".join([*tiny.head(), "minimize errors"])
        try:
            result = odtdsl.solve(text, frame=tiny.frame, using="greedy")
        except OdtError:
            continue
        if result.tree is not None and result.tree.n_splits:
            return tiny, result


def marks(result: Result, name: str) -> list[float]:
    """All numbers at which some test of a feature changes its mind, on both sides."""
    assert result.tree is not None
    found: set[float] = set()
    for node in result.tree.nodes():
        if isinstance(node, Branch) and node.feature == name:
            if isinstance(node.test, Threshold):
                found |= {float(node.test.value), math.nextafter(float(node.test.value), math.inf)}
            elif isinstance(node.test, InBin):
                for edge in (node.test.low, node.test.high):
                    if math.isfinite(edge):
                        found |= {edge, math.nextafter(edge, -math.inf)}
                        found.add(math.nextafter(edge, math.inf))
    return sorted(found)


def choices(tiny: TinyTable, result: Result, name: str, row: int) -> list[tuple[object, float]]:
    """Cells of a feature with the size of the change to each."""
    column = next(c for c in tiny.columns if c.name == name)
    cell = column.cells[row]
    present = [x for x in column.cells if x is not None]
    found: list[tuple[object, float]] = [(cell, 0.0)]
    if column.kind == "number":
        numbers = [float(x) for x in present]
        spread = (max(numbers) - min(numbers)) or 1.0
        at = marks(result, name)
        if all(x.is_integer() for x in numbers):  # as those that the cell becomes
            at = sorted({float(to(x)) for x in at for to in (math.floor, math.ceil)})
        for x in [*at, *numbers]:
            found.append((x, 1.0 if cell is None else abs(x - float(cell)) / spread))
    else:
        for x in dict.fromkeys(present):  # type: ignore[assignment]
            size = 1.0
            if column.kind == "ordered" and cell is not None:
                size = abs(LEVELS.index(str(x)) - LEVELS.index(str(cell))) / (len(LEVELS) - 1)
            found.append((x, size))
    return found


def least(
    tiny: TinyTable, result: Result, row: int, to: object, frozen: set[str]
) -> tuple[int, float] | None:
    """Over all combinations of cells: features changed, then the sum of the changes."""
    tree = result.tree
    assert tree is not None
    names = list(tree.tested)
    over = [
        [(tiny.frame[n][row], 0.0)] if n in frozen else choices(tiny, result, n, row) for n in names
    ]
    combos = list(product(*over))
    frame = {n: [combo[i][0] for combo in combos] for i, n in enumerate(names)}
    labels = tree.predict(frame).tolist()
    now = tree.predict({n: [tiny.frame[n][row]] for n in names})[0]
    best: tuple[int, float] | None = None
    for combo, label in zip(combos, labels, strict=True):
        if label == now or (to is not None and label != to):
            continue
        moved = [size for i, (cell, size) in enumerate(combo) if cell != tiny.frame[names[i]][row]]
        key = (len(moved), math.fsum(moved))
        best = key if best is None else min(best, key)
    return best


@pytest.mark.parametrize("block", range(scaled(6)))
def test_the_change_is_the_least_and_does_change_the_prediction(block: int) -> None:
    seen = {"none": 0, "one": 0, "more": 0, "frozen": 0, "to": 0}
    for seed in range(25):
        rng = random.Random(f"why {block} {seed}")
        tiny, result = solved(rng)
        tree = result.tree
        assert tree is not None
        row = rng.randrange(tiny.n)
        frozen = {n for n in tree.tested if rng.random() < 0.25}
        to = rng.choice([None, *tiny.classes])
        found = result.why(row, to=to, frozen=frozen).counterfactual
        expected = least(tiny, result, row, to, frozen)
        assert (found is None) == (expected is None), (block, seed)
        seen["frozen"] += bool(frozen)
        seen["to"] += to is not None
        if found is None or expected is None:
            seen["none"] += 1
            continue
        assert len(found.changes) == expected[0], (block, seed)
        assert math.isclose(found.size, expected[1], abs_tol=1e-12), (block, seed)
        changed = {n: [tiny.frame[n][row]] for n in tree.tested}
        assert not frozen & {change.feature for change in found.changes}
        for change in found.changes:
            assert changed[change.feature] == [change.before]
            changed[change.feature] = [change.after]
        label = tree.predict(changed)[0]
        assert str(label) == found.prediction
        assert label != tree.predict({n: [tiny.frame[n][row]] for n in tree.tested})[0]
        assert to is None or label == to
        seen["one" if len(found.changes) == 1 else "more"] += 1
    assert min(seen[word] for word in ("none", "one", "frozen", "to")) >= 1, seen


def test_a_rule_is_tight_where_this_leaf_has_no_slack() -> None:
    """Of leaves, paths and splits, those of the row: elsewhere there may be less room."""
    frame = {"x": [1, 1, 2, 2, 2, 3], "z": [1, 1, 1, 1, 2, 2], "y": list("aabbbc")}
    spec = """data frame target y tree depth <= 2 minimize errors cost x = 1, z = 2
    rule size: forall leaf: size >= 1
    rule steps: forall path: length <= 2
    rule half: forall split: size >= 4
    rule all: errors <= 0
    rule free: accuracy >= 10%"""
    result = odtdsl.solve(spec, frame=frame)
    assert result.tree is not None
    wanted = {
        (leaf.size == 1, len(path) == 2, "all")
        for leaf, path in zip(result.tree.leaves, paths(result.tree), strict=True)
    }
    assert len({one[:2] for one in wanted}) > 1
    for row in range(6):
        at = int(result.tree.apply(result.rows.data.table)[row])  # type: ignore[union-attr]
        leaf, path = result.tree.leaves[at], paths(result.tree)[at]
        tight = set(result.why(row).tight)
        assert ("size" in tight) == (leaf.size == 1)
        assert ("steps" in tight) == (len(path) == 2)
        assert ("half" in tight) == any(branch.size == 4 for branch, _ in path)
        assert "all" in tight
        assert "free" not in tight


def test_a_choice_is_not_said_to_be_predicted() -> None:
    frame = {"x": [1, 2, 3, 4], "none": [2, 2, 0, 0], "drug": [0, 0, 3, 3]}
    spec = "data frame target choice {none, drug} by reward tree depth <= 1 maximize reward"
    result = odtdsl.solve(spec, frame=frame)
    assert str(result.why(0)).splitlines()[1] == "chooses none (2 rows)"
    lone = odtdsl.solve(spec + " rule r: share(drug) = 0", frame=frame)
    assert "no leaf chooses drug" in str(lone.why(0, to="drug"))


FRAME = {
    "a": [1, 2, 3, 4, 5, 6, 7, 8],
    "b": ["x", "y"] * 4,
    "y": ["p", "n", "p", "n", "n", "n", "n", "n"],
}
TEXT = """data frame target y positive "p" feature a: integer cost b = 5 tree depth <= 2
minimize errors
rule first: root in {b}
rule order: forall path: b before a
rule cheap: forall path: cost <= 5
rule cuts:  forall split: threshold(a) <= 3.75
rule sized: forall leaf: size >= 2
rule right: accuracy >= 90%
rule calm:  errors <= 7
rule pair:  different_leaf(0, 6)"""


@pytest.fixture(name="result")
def _result() -> Result:
    found = odtdsl.solve(TEXT, frame=FRAME)
    assert found.status == "optimal"
    return found


def test_the_path_is_told_with_the_rules_that_shape_it(result: Result) -> None:
    why = result.why(6)
    assert why.prediction == "n"
    root, second, leaf = why.steps
    assert root.text == 'b == "x": yes (b is "x")'
    assert second.text == "a <= 3: no (a is 7)"
    assert root.rules == ("first", "order", "cheap")
    assert second.rules == ("order", "cuts")
    assert leaf.rules == ("sized", "right", "calm", "pair")
    assert "cheap" in why.tight
    assert "right" not in why.tight
    assert str(why).splitlines()[0] == root.text + "   (rules: first, order, cheap)"


def test_numbers_on_a_grid_stay_there(result: Result) -> None:
    found = result.why(6).counterfactual
    assert found is not None
    (change,) = found.changes
    assert (change.feature, change.before, change.after) == ("a", 7, 3)
    assert change.size == 4 / 7
    back = result.why(0, frozen=["b"]).counterfactual
    assert back is not None
    assert back.changes[0].after == 4


def test_rows_of_ones_own(result: Result) -> None:
    assert result.why({"a": 1, "b": "x"}).prediction == "p"
    assert result.why({"a": [1], "b": ["x"]}).prediction == "p"
    assert result.why({"a": 1, "b": "z"}).prediction == "n"
    assert result.why({"a": 1, "b": "x"}, frozen=["a", "b"]).counterfactual is None


def test_json_is_json(result: Result) -> None:
    told = json.loads(json.dumps(result.why(6).to_json(), allow_nan=False))
    assert told["counterfactual"]["changes"] == [
        {"feature": "a", "before": 7, "after": 3, "size": 4 / 7}
    ]


@pytest.mark.parametrize(
    ("row", "more", "said"),
    [
        (99, {}, "row 99 is not a training row"),
        (0, {"to": "q"}, "`q` is not a class"),
        (0, {"frozen": ["aa"]}, "cannot be frozen"),
        ({"a": [1, 2], "b": ["x", "y"]}, {}, "give exactly one row"),
        ({"a": 1}, {}, "no column `b`"),
    ],
)
def test_a_wrong_question_is_told(
    result: Result, row: object, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(OdtError, match=said):
        result.why(row, **more)  # type: ignore[arg-type]


def test_without_a_tree_there_is_nothing_to_ask() -> None:
    none = odtdsl.solve(TEXT + " rule no: errors <= -1", frame=FRAME)
    with pytest.raises(OdtError, match="the answer is infeasible"):
        none.why(0)


TEXT_OF_NUMBERS = "data frame target y: number tree depth <= 1 minimize mse"


def test_a_tree_of_numbers_has_another_output() -> None:
    frame = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 1.0, 5.0, 5.0]}
    result = odtdsl.solve(TEXT_OF_NUMBERS, frame=frame)
    found = result.why(0).counterfactual
    assert found is not None
    assert found.prediction == "5"
    assert found.changes[0].after == 3
    assert "with x 3 instead of 1" in str(result.why(0))
    found = result.why({"x": 0.5}).counterfactual
    assert found is not None
    assert found.changes[0].after == math.nextafter(2, 3)
    frame["x"][0] = 1.25
    found = odtdsl.solve(TEXT_OF_NUMBERS, frame=frame).why(0).counterfactual
    assert found is not None
    assert found.changes[0].after == math.nextafter(2, 3)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (math.nextafter(59, 60), "just above 59"),
        (math.nextafter(0.1, 1), "just above 0.1"),
        (math.nextafter(40, 0), "just below 40"),
        (59, "59"),
        (59.5, "59.5"),
        (1 / 3, "0.3333333333333333"),
        ("b", '"b"'),
    ],
)
def test_a_number_beside_a_threshold_is_named_by_it(after: float | str, said: str) -> None:
    change = Change(feature="age", before=58, after=after, size=0.1)
    other = Counterfactual(prediction="yes", changes=(change,))
    why = Why(prediction="no", steps=(), tight=(), counterfactual=other)
    assert list(why.lines()) == [f"it would be yes with age {said} instead of 58"]
