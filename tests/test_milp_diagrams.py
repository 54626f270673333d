"""`milp` on diagrams: what it admits and what it proves are those of brute force."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from brute_diagrams import all_diagrams, best_priced
from milp_diagrams import KINDS, LoadedProgram, best, some_kinds, tiny
from milp_files import write
from scale import blocks
from test_diagrams import _tiny as priced

from odtdsl.backends.base import Limits
from odtdsl.backends.milp import Milp
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.driver.choice import choose
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.raw import RawDiagram

ASKED = 25
"""Diagrams that a model is asked about, of those that satisfy the rules and of the others."""


@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
@pytest.mark.parametrize("seeds", blocks(4, 4))
def test_admitted_diagrams_are_those_of_brute_force(kind: str, seeds: range) -> None:
    seen: Counter[bool] = Counter()
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        clauses = (some_kinds(rng), some_kinds(rng)) if kind == "mixed" else ((kind,),)
        core, diagrams = tiny(rng, clauses=clauses, widths=rng.choice([(1,), (1, 2), (1, 2)]))
        kept: dict[bool, list[RawDiagram]] = {True: [], False: []}
        for raw in diagrams:
            kept[not DiagramEvaluation(core, raw).violations()].append(raw)
        live = LoadedProgram(core)
        for holds, some in kept.items():
            for raw in rng.sample(some, min(ASKED, len(some))):
                assert live.admits(raw) == holds, (seed, raw)
                full = live.lowered.full_start(raw)
                assert (full is not None) == holds, (seed, raw)
                seen[holds] += 1
    assert seen[True] + seen[False] > 20


@pytest.mark.parametrize("seeds", blocks(20, 10))
def test_the_optimum_is_that_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"optimum {seed}")
        kinds = tuple(some_kinds(rng) for _ in range(rng.randint(0, 2)))
        widths = rng.choice([(1,), (1, 2), (1, 2)])
        core, diagrams = tiny(rng, clauses=kinds, widths=widths, most_rows=10, stages=True)
        expected = best(core, diagrams)
        answer = Milp().solve(core, Limits())
        if expected is None:
            assert answer.status == "infeasible", seed
            assert answer.diagram is None
            continue
        assert answer.status == "optimal", seed
        assert answer.diagram is not None
        evaluation = DiagramEvaluation(core, answer.diagram)
        assert not evaluation.violations()
        assert tuple(evaluation.stage_value(s) for s in core.objective) == expected, seed
        assert tuple(stage.value for stage in answer.stages) == expected
        assert all(stage.proven and stage.bound == stage.value for stage in answer.stages)


@pytest.mark.parametrize("seeds", blocks(10, 10))
def test_the_priced_optimum_is_that_of_partitions(seeds: range) -> None:
    """By the default and by the study's formulation; hyperplanes are never worse than axis splits.

    With ODTDSL_SCALE=100 these are 1,000 problems.
    """
    for seed in seeds:
        rng = random.Random(f"priced {seed}")
        core, _ = priced(rng, rng.choice(["1, 2", "1, 2, 2"]))
        expected = best_priced(core, Fraction(1, 3))
        answers = [Milp().solve(core, Limits())]
        if seed % 5 == 0:
            answers.append(Milp("odd").solve(core, Limits()))
        for answer in answers:
            assert answer.status == "optimal", seed
            assert answer.stages[0].value == answer.stages[0].bound == expected, seed
        if seed % 5 == 0:
            planes = replace(core, skeleton=replace(core.skeleton, splits="hyperplane"))
            first_way, study = Milp().solve(planes, Limits()), Milp("odd").solve(planes, Limits())
            assert first_way.status == study.status == "optimal", seed
            value = first_way.stages[0].value
            assert value is not None
            assert value == study.stages[0].value
            assert value <= expected
            assert first_way.diagram is not None
            assert not DiagramEvaluation(planes, first_way.diagram).violations()


RULES = (
    "rule r: forall split: size >= 2",
    "rule r: splits <= 2",
    'rule r: rate("y") >= 40%',
    "rule r: forall path: length <= 1",
    "rule r: depth <= 1",
    "rule r: leaves = 1",
    "rule r: root in {b}",
    "rule r: forall split: feature in {a, c}",
    "rule r: forall path: a before b",
    "rule r: uses(c)",
    "rule r: tests(a) <= 1",
    "rule r: forall path: c requires b",
)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", ["pattern", "odd"])
def test_planes_keep_rules(rule: str, model: str) -> None:
    planes, _ = priced(random.Random(rule), "1, 2 splits hyperplane", rule)
    assert choose(planes, "milp").name == "milp"
    answer = Milp("odd" if model == "odd" else "pattern").solve(planes, Limits())
    assert answer.status == "optimal"
    assert answer.diagram is not None
    assert not DiagramEvaluation(planes, answer.diagram).violations()


def test_planes_have_no_thresholds_to_restrict() -> None:
    core, _ = priced(random.Random(1), "1, 2", "rule r: forall split: threshold(a) in [1, 2]")
    assert choose(core, "milp").name == "milp"
    planes = replace(core, skeleton=replace(core.skeleton, splits="hyperplane"))
    refusals = dict(choose(planes, "milp").refusals)["milp"]
    assert {refusal.need.origin.rule for refusal in refusals} == {"r"}


@pytest.mark.parametrize("model", ["pattern", "odd"])
@pytest.mark.parametrize(
    "rule",
    [
        "rule r: forall path: a before b",
        "rule r: uses(c) and uses(a)",
        "rule r: tests(a) <= 1",
        "rule r: root in {b}",
        "rule r: forall split: size >= 3",
        'rule r: rate("y") >= 60%',
        "rule r: forall path: length <= 1 or uses(a)",
        "rule r: splits >= 3",
    ],
)
def test_both_models_obey_rules(rule: str, model: str) -> None:
    core, _ = priced(random.Random(rule), "1, 2", rule)
    expected = best(core, list(all_diagrams(core)))
    answer = Milp("odd" if model == "odd" else "pattern").solve(core, Limits())
    if expected is None:
        assert answer.status == "infeasible"
        return
    assert answer.status == "optimal"
    assert (answer.stages[0].value,) == expected


def test_too_many_paths_are_refused_where_a_rule_speaks_of_them() -> None:
    wide = "1, " + ", ".join(["4"] * 8)
    assert choose(priced(random.Random(1), wide)[0], "milp").name == "milp"
    core, _ = priced(random.Random(1), wide, "rule r: forall path: a before b")
    (refusal,) = dict(choose(core, "milp").refusals)["milp"]
    assert "43,692 paths" in refusal.reason


@pytest.mark.parametrize("model", ["cptree", "subtrees"])
def test_models_of_trees_are_refused(model: str) -> None:
    core, _ = priced(random.Random(1), "1, 2")
    with pytest.raises(OdtError, match="diagram"):
        Milp("cptree" if model == "cptree" else "subtrees").check(core)


def test_the_study_is_refused_where_its_margin_is_too_wide() -> None:
    core, _ = priced(random.Random(1), "1, 2")
    numbers = core.families[0]
    values = numbers.values.copy()
    values[1] = values[0] + 1e-6
    close = replace(core, families=(replace(numbers, values=values), *core.families[1:]))
    with pytest.raises(OdtError, match="cuts of `a`"):
        Milp("odd").check(close)
    assert Milp().solve(close, Limits()).status == "optimal"


@pytest.mark.parametrize("to", ["lp", "mps"])
@pytest.mark.parametrize("hyperplanes", [False, True])
def test_programs_are_written_with_names(to: str, hyperplanes: bool, tmp_path: Path) -> None:
    core, _ = priced(random.Random(2), "1, 2", "rule small: forall split: size >= 2")
    if hyperplanes:
        core = replace(core, skeleton=replace(core.skeleton, splits="hyperplane"))
    path = tmp_path / f"model.{to}"
    write(core, path, "lp" if to == "lp" else "mps")
    text = path.read_text(encoding="ascii")
    wanted = ["arc(n0,left,n1)", "flow(p0,n0,right,c1)", "end(c0)", "rule_small(n2)"]
    wanted.append("weight(n2,b)" if hyperplanes else "cut(n2,a,1)")
    assert all(name in text for name in wanted)
