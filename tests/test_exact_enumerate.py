"""The trees that `exact` lists on tables where its bounds prune, by their number for each value.

There are too many trees to list them here too: their numbers are added and multiplied up from
sub-tables. Then what a list says at its limits.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from random_cores import errors_of, random_filter, random_rows
from scale import SCALE, scaled

import odtdsl
from odtdsl.auditor.audit import Audit, audit
from odtdsl.backends.base import Limits
from odtdsl.backends.exact import enumeration
from odtdsl.backends.exact.enumeration import Wish, enumerate_trees
from odtdsl.backends.exact.idle_splits import idle_splits_go
from odtdsl.base import engine
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver import collected
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.evaluate import goes_left, split_fault
from odtdsl.problem.ir.families import build_families, local_gap
from odtdsl.problem.ir.forms import Additive, Core, LinearStage
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTree, Visit, walk
from odtdsl.problem.ir.rows import Rows

Count = Counter[tuple[int, int]]
"""How many trees have which errors and leaves."""


def random_core(rng: random.Random) -> Core:
    """10 to 18 rows, filters but no rules, errors (and a price of leaves) to be least."""
    rows = random_rows(rng, n_rows=rng.randint(10, 18), n_classes=rng.randint(2, 3))
    deep = rng.random() < 0.4
    return Core(
        n_rows=rows.n_rows,
        n_classes=rows.n_classes,
        columns=tuple(feature.name for feature in rows.problem.features),
        families=build_families(rows.problem, rows.data),
        labels=rows.labels,
        skeleton=TreeSkeleton(depth=3 if deep else 2, leaves=rng.choice([None, None, 3, 4, 5])),
        filters=tuple(random_filter(rng, rows) for _ in range(rng.choice([0, 0, 1]))),
        clauses=(),
        objective=(LinearStage(measure=errors_of(rows) + Additive(leaves=rng.randint(0, 1))),),
    )


def counts(core: Core) -> Count:
    """All trees without a split of two leaves with one label; each partition once."""
    stage = core.objective[0]
    assert isinstance(stage, LinearStage)
    output = stage.measure.output
    assert output is not None
    most = core.skeleton.leaves or 99  # type: ignore[union-attr]

    @cache
    def splits(rows: tuple[int, ...], level: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        inside, found = np.array(rows), {}
        for index, family in enumerate(core.families):
            codes = family.codes[inside]
            for test in range(family.n_tests):
                split = RawSplit(
                    family=index, test=test, left=RawLeaf(label=0), right=RawLeaf(label=0)
                )
                visit = Visit(node=split, level=level, rows=inside, above=())
                if split_fault(core, visit, split) is not None:
                    continue
                left = goes_left(family, test, codes)
                gap = local_gap(family, test, codes) if family.kind == "threshold" else (test, test)
                key = (family.column, gap, tuple(inside[left].tolist()))
                found[key] = (tuple(inside[left].tolist()), tuple(inside[~left].tolist()))
        return list(found.values())

    @cache
    def leaves(rows: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        sums = output[list(rows)].sum(axis=0).tolist()
        return tuple((total, 1) for total in sums)

    @cache
    def trees(rows: tuple[int, ...], level: int) -> Count:
        found = Count(leaves(rows))
        if level == core.skeleton.depth:  # type: ignore[union-attr]
            return found
        for left, right in splits(rows, level):
            for (a, k), n in trees(left, level + 1).items():
                for (b, m), o in trees(right, level + 1).items():
                    if k + m <= most:
                        found[a + b, k + m] += n * o
            for (a, _), (b, _) in zip(leaves(left), leaves(right), strict=True):
                found[a + b, 2] -= 1  # one label on both sides
        return found

    total = trees(tuple(range(core.n_rows)), 0)
    return Count({key: n for key, n in total.items() if n and key[1] <= most})


def test_as_many_trees_as_there_are() -> None:
    listed = 0
    for seed in range(scaled(40)):
        rng = random.Random(f"count {seed}")
        core = random_core(rng)
        stage = core.objective[0]
        assert isinstance(stage, LinearStage)
        price, expected = stage.measure.leaves, Counter[Fraction]()
        for (wrong, leaves), n in counts(core).items():
            expected[Fraction(wrong + price * leaves, stage.measure.denominator)] += n
        values = sorted(expected)
        bound = values[0]
        while (more := [v for v in values if v > bound]) and sum(
            expected[v] for v in values if v <= more[0]
        ) <= 300:
            bound = more[0]
        found = Counter[Fraction]()
        using = Counter[int]()

        def told(
            tree: RawTree,
            values: tuple[Fraction, ...],
            _: int,
            core: Core = core,
            found: Counter[Fraction] = found,
            using: Counter[int] = using,
        ) -> bool:
            found[values[0]] += 1
            splits = [node for node, _ in walk(tree) if isinstance(node, RawSplit)]
            using.update({core.families[split.family].column for split in splits})
            return True

        ended = enumerate_trees(core, (bound,), Limits(), told, wish=Wish(count=True))
        assert ended.counts is not None
        assert Counter(dict(ended.counts)) == found
        assert list(ended.without) == [
            found.total() - using[column] for column in range(len(core.columns))
        ]
        assert idle_splits_go(core)
        assert not ended.stopped
        assert found == Counter({v: expected[v] for v in values if v <= bound}), seed
        listed += found.total()
    assert listed > 1000 * SCALE


def test_threads_list_the_same_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def at_once(*, threads: int, **given: Any) -> Any:
        asked.append(threads)
        return engine.Limits(threads=threads, alone=0, **given)

    mine = SimpleNamespace(**{name: getattr(engine, name) for name in ("Wish", "Twins")})
    mine.Limits, mine.enumerate = at_once, engine.enumerate
    monkeypatch.setattr(enumeration, "engine", mine)
    listed = 0
    for seed in range(scaled(150, least=10)):
        core = random_core(random.Random(f"threads {seed}"))
        best = min(counts(core))[0]
        lists = []
        for threads in (1, 2, 3):
            told: list[RawTree] = []

            def hear(tree: RawTree, *_: object, told: list[RawTree] = told) -> bool:
                told.append(tree)
                return len(told) < 200

            stage = core.objective[0]
            assert isinstance(stage, LinearStage)
            bound = Fraction(best + 3 * stage.measure.denominator, stage.measure.denominator)
            ended = enumerate_trees(
                core, (bound,), Limits(threads=threads), hear, wish=Wish(count=True)
            )
            lists.append((told, ended.counts, ended.without, ended.stopped))
        assert lists[0] == lists[1] == lists[2], seed
        listed += len(lists[0][0])
    assert listed > 100
    assert set(asked) == {1, 2, 3}


# ---- limits, and what is refused

IRIS = """data sklearn "iris"
target target
tree depth <= 2
minimize errors
"""
MANY = """data sklearn "breast_cancer"
target target
tree depth <= 3
minimize errors
"""


def test_a_list_that_ends_early_says_so_and_has_the_best() -> None:
    model = odtdsl.parse(MANY)
    some = model.alternatives(near="2 errors", most=4)
    assert (len(some.trees), some.complete, some.stopped) == (4, False, "most")
    assert some.trees[0].objective == (some.result.objective,)
    values = [tree.objective for tree in some.trees]
    assert values == sorted(values)


def test_a_time_limit_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the audits of what was found would take longer than the limit."""

    def slow(tree: Tree, rows: Rows) -> Audit:
        time.sleep(0.02)
        return audit(tree, rows)

    model = odtdsl.parse(MANY)
    model.solve()  # what is imported on the way takes as long as the search
    monkeypatch.setattr(collected, "audit", slow)
    began = time.monotonic()
    found = model.alternatives(near="30 errors", most=10**6, within=6)
    assert time.monotonic() - began < 13
    assert len(found.trees) > 1
    assert (found.complete, found.stopped) == (False, "time")
    assert all(tree.audit.holds for tree in found.trees)


def test_one_audit_that_waits_for_the_processor_does_not_end_a_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the tree at each power of two; as long for all 512 would take 38 s, and the last was
    asked alone."""
    audits = 0

    def held_up(tree: Tree, rows: Rows) -> Audit:
        nonlocal audits
        audits += 1
        time.sleep(0.075 if audits == 10 else 0)
        return audit(tree, rows)

    monkeypatch.setattr(collected, "audit", held_up)
    found = odtdsl.parse(MANY).alternatives(near="30 errors", most=600, within=30)
    assert (len(found.trees), found.stopped) == (600, "most")


def test_a_wider_tolerance_costs_no_more_until_there_are_enough() -> None:
    """All trees of a wide one are too many to be known before the first ones are told."""
    rng = random.Random(1)
    frame = {name: [rng.randrange(60) for _ in range(120)] for name in "abcd"}
    noise = [rng.random() < 0.25 for _ in range(120)]
    cells = zip(frame["a"], frame["b"], noise, strict=True)
    frame["y"] = [int((a < 24) ^ (b < 18) ^ n) for a, b, n in cells]
    spec = "data frame target y: class tree depth <= 4 minimize errors"
    narrow, wide = (
        odtdsl.alternatives(spec, frame=frame, near=near, most=100) for near in ("2 errors", "400%")
    )
    assert wide.stopped == "most"
    assert [one.objective for one in wide.trees] == [one.objective for one in narrow.trees]
    assert dict(wide.counters)["nodes"] <= 2 * dict(narrow.counters)["nodes"]


def test_no_proof_no_list() -> None:
    text = MANY.replace("depth <= 3", "depth <= 6").replace("errors", "errors + leaves")
    found = odtdsl.parse(text).alternatives(within=0.5)
    assert (found.status, found.complete, found.stopped) == ("feasible", False, "unproven")
    assert len(found.trees) == 1


def test_infeasible_is_a_complete_list_of_nothing() -> None:
    found = odtdsl.parse(IRIS + "rule r: errors <= 2").alternatives()
    assert (found.status, found.trees, found.complete) == ("infeasible", (), True)
    assert found.shared == ()
    assert found.to_json()["count"] == 0


@pytest.mark.parametrize(
    ("near", "of_errors"),
    [("2 errors", 2), ("0.02", None), ("10%", None), (2, 2)],
)
def test_tolerances(near: str | int, of_errors: int | None) -> None:
    """`errors` of iris: 6 at best."""
    found = odtdsl.parse(IRIS).alternatives(near=near)
    assert found.complete
    assert max(t.objective[0] for t in found.trees) <= 6 + (of_errors or 0)
    assert (len(found.trees) > len(odtdsl.parse(IRIS).alternatives().trees)) == bool(of_errors)


def test_errors_are_worth_what_the_objective_says() -> None:
    text = IRIS + "candidates * at quantiles 4"
    in_errors = odtdsl.parse(text).alternatives(near="2 errors")
    assert len(in_errors.trees) > 1
    for objective in ("minimize error_rate", "maximize accuracy", "minimize 3 * errors"):
        other = odtdsl.parse(text.replace("minimize errors", objective))
        assert len(other.alternatives(near="2 errors").trees) == len(in_errors.trees)
    dear = (
        IRIS.replace("minimize errors", "minimize loss")
        + 'loss predict "setosa" when "virginica" = 3'
    )
    with pytest.raises(OdtError, match="does not count all errors at the same price"):
        odtdsl.parse(dear).alternatives(near="2 errors")


@pytest.mark.parametrize("using", ["milp", "greedy"])
def test_other_back_ends_list_nothing(using: str) -> None:
    with pytest.raises(OdtError, match="finds one tree"):
        odtdsl.parse(IRIS).alternatives(using=using)
    with pytest.raises(OdtError, match="finds one tree"):
        odtdsl.parse(IRIS + f"solve using {using}").alternatives()


def test_number_targets_are_refused() -> None:
    text = 'data sklearn "diabetes"\ntarget target: number\ntree depth <= 1\nminimize mse'
    with pytest.raises(OdtError, match="not for number targets"):
        odtdsl.parse(text).alternatives()


@pytest.mark.parametrize("near", ["", "1 leaf", "-1", "1%%", "many"])
def test_what_is_no_tolerance(near: str) -> None:
    with pytest.raises(OdtError, match="is not a tolerance"):
        odtdsl.parse(IRIS).alternatives(near=near)


def test_what_the_trees_share() -> None:
    found = odtdsl.parse(IRIS).alternatives(near="1 error")
    count = len(found.trees)
    for use in found.features:
        having = [one for one in found.trees if use.feature in one.tree.tested]
        assert (use.trees, use.share) == (len(having), Fraction(len(having), count))
    assert {use.feature for use in found.features} == {f.name for f in found.trees[0].tree.features}
    assert sum(trees for _, _, trees in found.sizes) == count
    assert found.to_json()["shared"] == list(found.shared)


def test_rules_that_keep_idle_splits() -> None:
    """Of a rule that asks for a question, every place of it makes the same function."""
    core_text = IRIS + "rule asked: uses(`sepal length (cm)`)"
    found = odtdsl.parse(core_text).alternatives()
    assert found.complete
    assert found.raw is not None
    assert found.raw > len(found.trees)
    assert all("sepal length (cm)" in one.tree.tested for one in found.trees)


def test_collapsing_is_asked_of_every_rule() -> None:
    rng = random.Random("idle")
    core = replace(random_core(rng), objective=(LinearStage(measure=Additive(leaves=-1)),))
    assert not idle_splits_go(core)


# ---- counts, and what the trees rely on


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "rule r: leaves <= 3",
        "rule r: uses(`petal width (cm)`)",
        'rule r: errors <= 50\nrule s: recall("versicolor") >= 60%',
        "rule r: not uses(`sepal width (cm)`) or leaves <= 2",
        "rule r: root in {`petal length (cm)`}",
    ],
)
@pytest.mark.parametrize("objective", ["errors", "errors + leaves", "depth then errors"])
def test_counts_are_those_of_the_list(rule: str, objective: str) -> None:
    """Under rules of paths, of facts and of measures, without a list and beside one."""
    text = IRIS.replace("minimize errors", f"minimize {objective}")
    spec = odtdsl.parse(f"{text}candidates * at quantiles 4\n{rule}")
    near = "0" if objective.startswith("depth") else "1"
    some = spec.alternatives(near=near, most=100_000, count=True)
    only = spec.alternatives(near=near, most=100_000, only_count=True)
    assert some.complete
    assert only.complete
    assert only.trees == ()
    assert (some.raw, some.counts, some.without) == (only.raw, only.counts, only.without)
    assert some.distinct == only.distinct == len(some.trees)
    assert some.raw is not None
    assert some.raw >= some.distinct > 0
    for one in some.reliance():
        assert one.without is not None
        if one.needed:
            assert all(one.feature in tree.tree.tested for tree in some.trees)


def test_a_count_needs_no_list() -> None:
    """Many more trees than could be listed."""
    text = IRIS.replace("depth <= 2", "depth <= 3\ncandidates * at quantiles 4")
    found = odtdsl.parse(text).alternatives(near="60 errors", most=1, only_count=True)
    assert found.raw is not None
    assert found.raw > 10**7
    assert sum(trees for _, trees in found.counts) == found.raw
    assert (found.complete, found.stopped, found.distinct) == (False, "most", 1)


@pytest.mark.parametrize("depth", [5, 6])
def test_deep_trees_where_no_test_is_left(depth: int) -> None:
    """Nodes of equal rows; at depth 6 functions are compared in Python, not in the engine."""
    text = IRIS.replace("depth <= 2", f"depth <= {depth}\ncandidates * at quantiles 2")
    found = odtdsl.parse(text.replace("errors", "errors + leaves")).alternatives(near=2, count=True)
    assert found.complete
    assert (found.raw, found.distinct) == (37, 23)


def test_reliance_is_that_of_all_pairs_of_rows() -> None:
    """By the definition: each row with the feature of each other row."""
    rng = np.random.default_rng(5)
    for _ in range(scaled(20)):
        n = int(rng.integers(4, 12))
        rows = {
            "a": rng.integers(0, 4, n).tolist(),
            "b": rng.integers(0, 3, n).tolist(),
            "y": ["n", "p", *rng.choice(["n", "p"], n - 2).tolist()],
        }
        text = "data frame target y tree depth <= 2 minimize errors"
        found = odtdsl.parse(text).alternatives(near="1 error", count=True, frame=rows)
        assert found.complete
        for one in found.reliance():
            growth = [grown(tree.tree, rows, one.feature) for tree in found.trees]
            assert one.least == pytest.approx(min(growth), abs=1e-12)
            assert one.most == pytest.approx(max(growth), abs=1e-12)


def grown(tree: Tree, rows: dict[str, list[Any]], feature: str) -> float:
    n = len(rows["y"])
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    switched = {name: [values[i] for i, _ in pairs] for name, values in rows.items()}
    switched[feature] = [rows[feature][j] for _, j in pairs]

    def rate(given: dict[str, list[Any]]) -> float:
        asked = {name: given[name] for name in ("a", "b")}
        wrong = [p != y for p, y in zip(tree.predict(asked), given["y"], strict=True)]
        return sum(wrong) / len(wrong)

    return rate(switched) - rate(rows)
