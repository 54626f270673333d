"""Core forms mean what terms mean: random rules on random trees, both ways.

The meaning on the finished tree (`odtdsl.auditor`, on decoded trees and raw cells, by which
answers are audited) is compared with that of the core (`problem.ir.evaluate`, on codes, to which
back ends are held); a rule and its negation part the paths, leaves or splits of every tree.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from random_specs import Case, case, read, rule, tree
from scale import SCALE, scaled

from odtdsl.auditor.audit import model_on_data
from odtdsl.auditor.routing import ModelOn
from odtdsl.auditor.values import holds, instances, number
from odtdsl.backends.decode import to_tree
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler import Analysis
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.terms.normalize import normalize

SCOPES = ("model", "path", "leaf", "split")
TREES = 8


def _normalized(case_: Case, text: str) -> tuple[Analysis, Core] | None:
    """None where the data leave a share without rows, which is an error of its own."""
    try:
        analysis = read(case_, text)
        return analysis, normalize(analysis.rows)
    except OdtError as problem:
        if {one.code for one in problem.diagnostics} != {"R304"}:
            raise
        return None


def _view(analysis: Analysis, core: Core, raw: RawTree) -> ModelOn:
    """The decoded tree; thresholds obey the rule where some do."""
    if Evaluation(core, raw).violations():
        core = replace(core, filters=())
    return model_on_data(to_tree(core, analysis.rows, raw), analysis.problem, analysis.rows.data)


@pytest.mark.parametrize("scope", SCOPES)
def test_terms_and_core_forms_mean_the_same(scope: str) -> None:
    seen: Counter[bool] = Counter()
    for seed in range(scaled(150)):
        rng = random.Random(f"{scope} {seed}")
        here = case(rng)
        for text in rule(rng, here, "r", scope):
            found = _normalized(here, text)
            if found is None:
                continue
            analysis, core = found
            (resolved,) = analysis.problem.rules
            for _ in range(TREES):
                raw = tree(rng, core, rng.randint(0, 3))
                view = _view(analysis, core, raw)
                meant = all(holds(resolved.condition, each) for each in instances(resolved, view))
                kept = not Evaluation(core, raw).violations()
                assert meant == kept, f"{here.head}\n{text}\n{here.frame}\n{raw}"
                seen[meant] += 1
    assert min(seen[True], seen[False]) > 200 * SCALE, "rules that hold and rules that do not"


@pytest.mark.parametrize("scope", ["model", "path", "leaf"])
def test_a_negation_is_the_complement_on_every_instance(scope: str) -> None:
    parted = 0
    for seed in range(scaled(100)):
        rng = random.Random(f"not {scope} {seed}")
        here = case(rng)
        both = [_normalized(here, text) for text in rule(rng, here, "r", scope)]
        for found in both:
            if found is None:
                break
        else:
            cores = [found[1] for found in both if found is not None]
            for _ in range(TREES):
                raw = tree(rng, cores[0], rng.randint(0, 3))
                kept, turned = (_kept(core, raw, scope) for core in cores)
                assert [not each for each in kept] == turned, f"{here.head}\n{raw}"
                parted += len(kept)
    assert parted > 500 * SCALE


def _kept(core: Core, raw: RawTree, scope: str) -> list[bool]:
    """For each instance of the scope, whether it keeps all clauses and root filters."""
    evaluation = Evaluation(core, raw)
    places = evaluation.visits[:1] if scope == "model" else evaluation.leaves
    filtered = not evaluation.bad_splits
    return [
        filtered and all(evaluation.satisfies(c.literals, Scope(scope), at) for c in core.clauses)
        for at in places
    ]


OBJECTIVES = (
    "errors",
    "-accuracy",
    "error_rate + 0.125 * leaves",
    "expected_loss + 2 * expected_cost",
    '0.5 * abs(rate("y", g) - rate("y", h)) + errors(h)',
    'gap(rate("n"), g, h) + 1 / 3',
    "loss - 0.5 * accuracy + 0.25 * nodes",
    "tests(a, c) + splits - 1",
    "depth",
    "abs(errors - 2) + abs(leaves - 3)",
    'count_predicted("y") + expected_cost - errors',
    "expected_cost + expected_cost / 2",
)


@pytest.mark.parametrize("text", OBJECTIVES)
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_objectives_and_their_stages_have_one_value(sense: str, text: str) -> None:
    different: set[Fraction] = set()
    for seed in range(scaled(12, least=4)):
        rng = random.Random(f"{text} {seed}")
        here = case(rng)
        analysis = read(here, "", f"{sense} {text}")
        try:
            core = normalize(analysis.rows)
        except OdtError as refusal:
            refused = {one.code for one in refusal.diagnostics}
            break
        (stage,) = analysis.problem.objective
        for _ in range(TREES):
            raw = tree(rng, core, rng.randint(0, 3))
            evaluation = Evaluation(core, raw)
            decoded = to_tree(core, analysis.rows, raw)
            view = model_on_data(decoded, analysis.problem, analysis.rows.data)
            value = number(stage.measure, view)
            assert value == core.objective[0].sign * evaluation.stage_value(core.objective[0])
            assert isinstance(value, Fraction)
            different.add(value)
    else:
        assert len(different) > 3
        return
    # Differences and the depth cannot be made large.
    assert refused == {"R205"}
    assert sense == "maximize"
    assert any(word in text for word in ("abs", "gap", "depth"))
