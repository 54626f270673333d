"""Raw trees to predictors and back: routing, thresholds, missing values, collapsing."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from random_cores import random_rows, random_sample, random_tree
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends import decode
from odtdsl.backends.decode import NoCandidate, from_tree, simplify, to_tree
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.cells import build_table, column_from_numbers
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Threshold
from odtdsl.predictors.routing import route as route_cells
from odtdsl.problem.ir.evaluate import Evaluation, route, stage_values, violations
from odtdsl.problem.ir.families import build_families
from odtdsl.problem.ir.filters import threshold_set
from odtdsl.problem.ir.forms import Additive, Core, LinearStage
from odtdsl.problem.ir.intervals import RealSet
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, walk
from odtdsl.problem.ir.rows import Rows


def stand_alone(core: Core, tree) -> bool:
    """Whether all splits of the tree may stand, whatever the clauses say."""
    return not Evaluation(core, tree).bad_splits


@pytest.mark.parametrize("seed", range(scaled(20)))
def test_round_trip(seed: int) -> None:
    rng = random.Random(seed)
    kinds = set()
    tried = 0
    while tried < (80 if SCALE >= 1 else 40):
        sample = random_sample(rng, rules=0)
        raw = random_tree(rng, sample.core, 3)
        if isinstance(raw, RawLeaf) or not stand_alone(sample.core, raw):
            continue
        tried += 1
        core, rows = sample.core, sample.rows
        tree = to_tree(core, rows, raw)
        assert route_cells(tree, rows.data.table).tolist() == route(core, raw).tolist()
        assert [leaf.label for leaf in tree.leaves] == [
            node.label for node, _ in walk(raw) if isinstance(node, RawLeaf)
        ]
        assert sum(leaf.size for leaf in tree.leaves) == core.n_rows
        total = math.fsum(w for leaf in tree.leaves for w in leaf.class_weights)
        assert total == rows.weights.sum() / rows.weight_denominator
        back = from_tree(core, rows, tree)
        assert not isinstance(back, NoCandidate)
        assert route(core, back).tolist() == route(core, raw).tolist()
        assert stand_alone(core, back)
        kinds |= {core.families[n.family].kind for n, _ in walk(raw) if isinstance(n, RawSplit)}
    assert kinds == {"threshold", "equals", "bin"}


@pytest.mark.parametrize("seed", range(scaled(10)))
def test_thresholds_obey_candidates_and_filters_at_their_level(seed: int) -> None:
    rng = random.Random(seed)
    seen = 0
    while seen < 20:
        sample = random_sample(rng, rules=0)
        raw = random_tree(rng, sample.core, 3)
        if not stand_alone(sample.core, raw):
            continue
        tree = to_tree(sample.core, sample.rows, raw)
        for (node, level), branch in zip(walk(raw), tree.nodes(), strict=True):
            if isinstance(node, RawLeaf):
                assert isinstance(branch, Leaf)
                continue
            assert isinstance(branch, Branch)
            family = sample.core.families[node.family]
            allowed = threshold_set(family, sample.core.filters, level)
            match branch.test:
                case Threshold(value=value):
                    levels = sample.rows.problem.features[family.column].type.levels
                    assert (levels.index(value) if levels else value) in allowed  # type: ignore[operator]
                    seen += 1
                case Equals(value=value):
                    assert value in sample.rows.problem.features[family.column].type.levels
                case InBin():
                    assert family.kind == "bin"


def number_rows(values: list[float], labels: list[int] | None = None, **changes: Any) -> Rows:
    """One number column, under the given declaration."""
    rng = random.Random(3)
    n = len(values)
    while True:
        rows = random_rows(rng, n_rows=n)
        if [f.type.kind for f in rows.problem.features] == ["number"]:
            break
    feature = rows.problem.features[0]
    raw = column_from_numbers(feature.name, np.array(values))
    changes = {"missing": "refuse", "candidates": type(feature.candidates)(), **changes}
    feature = replace(feature, **changes)
    column = replace(rows.data.columns[feature.name], numbers=raw.numbers)
    labels_ = np.zeros(n, dtype=np.int64) if labels is None else np.array(labels, dtype=np.int64)
    data = replace(
        rows.data,
        table=build_table("rows", [raw], n),
        columns={feature.name: column},
        labels=labels_,
        weights=replace(rows.data.weights, numerators=np.ones(n, dtype=np.int64), denominator=1),
    )
    return Rows(replace(rows.problem, features=(feature,)), data)


def core_of(rows: Rows, *, leaves_cost: int = 0) -> Core:
    return Core(
        n_rows=rows.n_rows,
        n_classes=2,
        columns=("f0",),
        labels=rows.labels,
        families=build_families(rows.problem, rows.data),
        skeleton=TreeSkeleton(depth=4, leaves=None),
        filters=(),
        clauses=(),
        objective=(LinearStage(measure=Additive(leaves=leaves_cost)),),
    )


LEAVES = {"left": RawLeaf(label=0), "right": RawLeaf(label=1)}


def test_the_threshold_is_the_shortest_decimal_of_the_gap_of_the_rows_that_are_there() -> None:
    rows = number_rows([0, 1, 2, 10])
    below = RawSplit(family=0, test=1, **LEAVES)
    tree = to_tree(
        core_of(rows), rows, RawSplit(family=0, test=2, left=below, right=RawLeaf(label=0))
    )
    assert tree.root.test == Threshold(value=6.0)
    assert tree.root.left.test == Threshold(value=1.0)
    # Where 2 does not come, the gap runs from 1 to 10.
    above = RawSplit(
        family=0, test=0, left=RawLeaf(label=0), right=RawSplit(family=0, test=1, **LEAVES)
    )
    rows = number_rows([0, 1, 10, 10])
    assert to_tree(core_of(rows), rows, above).root.right.test == Threshold(value=6.0)
    exact = replace(rows.problem.features[0].candidates, place="midpoints exact")
    rows = number_rows([0, 1, 10, 10], candidates=exact)
    assert to_tree(core_of(rows), rows, above).root.right.test == Threshold(value=5.5)


def test_bins_reach_to_infinity_and_close_at_the_last_edge() -> None:
    rows = number_rows([0, 1, 2, 3, 4, 5])
    feature = rows.problem.features[0]
    rows = number_rows(
        [0, 1, 2, 3, 4, 5], candidates=replace(feature.candidates, place="bins", count=3)
    )
    core = core_of(rows)
    tests = [
        to_tree(core, rows, RawSplit(family=0, test=bin_, **LEAVES)).root.test for bin_ in range(3)
    ]
    edges = core.families[0].values.tolist()
    assert tests == [
        InBin(low=-math.inf, high=edges[1], closed=False),
        InBin(low=edges[1], high=edges[2], closed=False),
        InBin(low=edges[2], high=math.inf, closed=True),
    ]
    tree = to_tree(core, rows, RawSplit(family=0, test=2, **LEAVES))
    assert tree.predict({"f0": [1e9, -1e9]}).tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("policy", "values", "side"),
    [
        ("left", [0, 1, 2, 3], "left"),
        ("right", [0, 1, 2, 3], "right"),
        ("refuse", [0, 1, 2, 3], "right"),  # threshold below 1: three rows go right
        ("drop", [0, 1, 2, 3], "right"),
        ("branch", [0, 1, 2, 3], "right"),
        ("branch", [0, 1, math.nan], "left"),  # the family's side, which the rows follow
    ],
)
def test_where_missing_cells_go(policy: str, values: list[float], side: str) -> None:
    rows = number_rows(values, missing=policy)
    tree = to_tree(core_of(rows), rows, RawSplit(family=0, test=0, **LEAVES))
    assert tree.root.missing == side


def test_missing_cells_that_do_not_reach_a_split_go_with_the_weight() -> None:
    rows = number_rows([0, 1, 2, 3, math.nan], missing="branch")
    core = core_of(rows)
    families = [family.missing for family in core.families]
    right, left = families.index("right"), families.index("left")
    raw = RawSplit(
        family=right,
        test=2,
        right=RawLeaf(label=1),
        left=RawSplit(family=left, test=0, **LEAVES),
    )
    tree = to_tree(core, rows, raw)
    assert tree.root.missing == "right"
    assert tree.root.left.missing == "right"  # two of the three rows
    even = replace(raw, left=RawSplit(family=right, test=1, **LEAVES))
    assert to_tree(core, rows, even).root.left.missing == "left"  # two rows against one


def test_a_wrong_route_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = number_rows([0, 1, 2, 3])
    raw = RawSplit(family=0, test=0, **LEAVES)
    real = decode.axis_test
    monkeypatch.setattr(decode, "axis_test", lambda *args: Threshold(value=real(*args).value + 1))  # type: ignore[operator]
    with pytest.raises(OdtError) as caught:
        to_tree(core_of(rows), rows, raw)
    assert [d.code for d in caught.value.diagnostics] == ["X201"]


def test_trees_that_are_no_candidates_say_why() -> None:
    rows = number_rows([0, 1, 2, 3])
    core = core_of(rows)
    tree = to_tree(core, rows, RawSplit(family=0, test=0, **LEAVES))
    one = replace(core.families[0], domain=RealSet.points([2.5]))
    found = from_tree(replace(core, families=(one,)), rows, tree)
    assert isinstance(found, NoCandidate)
    assert "gap" in found.reason
    found = from_tree(core, rows, replace(tree, classes=("no", "perhaps")))
    assert isinstance(found, NoCandidate)
    assert "class" in found.reason
    other = Rows(replace(rows.problem, features=()), rows.data)
    found = from_tree(core, other, tree)
    assert isinstance(found, NoCandidate)
    assert "`f0`" in found.reason


def test_a_split_that_sends_all_rows_one_way_is_left_out() -> None:
    rows = number_rows([0, 1, 2, 3])
    core = core_of(rows)
    tree = to_tree(core, rows, RawSplit(family=0, test=0, **LEAVES))
    far = replace(tree, root=replace(tree.root, test=Threshold(value=99.0)))  # type: ignore[arg-type]
    assert from_tree(core, rows, far) == RawLeaf(label=0)


@pytest.mark.parametrize("seed", range(scaled(15)))
def test_simplify_keeps_predictions_rules_and_stages(seed: int) -> None:
    rng = random.Random(seed)
    collapsed = tried = 0
    while tried < 25:
        sample = random_sample(rng)
        core = sample.core
        raw = random_tree(rng, core, 3)
        if violations(core, raw):
            continue
        tried += 1
        small = simplify(core, raw)
        assert not violations(core, small)
        assert Evaluation(core, small).predicted.tolist() == (
            Evaluation(core, raw).predicted.tolist()
        )
        before, after = stage_values(core, raw), stage_values(core, small)
        assert all(a <= b for a, b in zip(after, before, strict=True))
        assert simplify(core, small) == small
        collapsed += small != raw
    assert seed or collapsed


def test_simplify_collapses_unless_it_costs() -> None:
    rows = number_rows([0, 1, 2, 3])
    same = RawSplit(family=0, test=0, left=RawLeaf(label=1), right=RawLeaf(label=1))
    assert simplify(core_of(rows), same) == RawLeaf(label=1)
    assert simplify(core_of(rows, leaves_cost=1), same) == RawLeaf(label=1)
    assert simplify(core_of(rows, leaves_cost=-1), same) == same


@pytest.mark.parametrize("using", ["exact", "milp"])
def test_a_side_that_a_rule_rests_on_is_kept_where_no_cell_is_missing(using: str) -> None:
    """The heavier side of the left split would let predictions rise where `b` is missing."""
    text = (
        'data frame\ntarget y: ordered {"z", "y", "n"}\nfeature b: ordered {"lo", "mid"}\n'
        "missing {b} branch\ntree depth <= 2\nminimize errors\nrule falls: decreasing(a)"
    )
    frame = {
        "a": [0, 0, 0, 3, 3, 3],
        "b": ["lo", "mid", "mid", "lo", "mid", None],
        "y": ["n", "z", "z", "y", "z", "y"],
    }
    result = odtdsl.solve(text, frame=frame, using=using)
    assert result.status == "optimal"
    assert result.objective == 0
    assert result.audit is not None
    assert result.audit.holds
