"""Rules under assumptions on one live formula: every subset of a spec's rules, by brute force.

`ODTDSL_SCALE=30` asks some 5,000 questions.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

from meanings import RuleChecker
from scale import SCALE, scaled
from test_every_term import MIXED, case, core_of

from odtdsl.backends.base import Limits
from odtdsl.backends.sat.assumptions import RuleAssumptions
from odtdsl.driver.choice import choose
from odtdsl.problem.ir.evaluate import violations
from odtdsl.problem.ir.forms import Additive, Core, LinearStage


def test_every_subset_of_rules() -> None:
    asked = infeasible = 0
    for seed in range(scaled(30, least=20)):
        one = case(MIXED, f"subset {seed}")
        core = core_of(replace(one, stages=one.stages[:1]))
        core = replace(core, objective=(LinearStage(measure=Additive()),))
        if choose(core, "sat").name is None or not RuleAssumptions.takes(core):
            continue
        live = RuleAssumptions(core, Limits(), depth=None, leaves=None)
        rules = {f"r{i}": rule for i, rule in enumerate(one.rules)}
        subsets = (combinations(rules, count) for count in range(len(rules) + 1))
        for names in chain.from_iterable(subsets):
            reply = live.ask(names)
            assert reply is not None
            asked += 1
            kept = RuleChecker(one.tiny, [rules[name] for name in names])
            assert (reply.tree is not None) == any(map(kept.admits, one.models)), f"{names}\n{one}"
            if reply.tree is not None:
                assert not violations(only(core, names), reply.tree), f"{names}\n{one}"
                continue
            infeasible += 1
            assert reply.conflict <= set(names)
            blamed = RuleChecker(one.tiny, [rules[name] for name in reply.conflict])
            assert not any(map(blamed.admits, one.models)), f"{reply.conflict}\n{one}"
        live.close()
    assert asked > 100 * SCALE
    assert infeasible > 10 * SCALE


def only(core: Core, names: tuple[str, ...]) -> Core:
    """The core with these rules alone."""
    return replace(
        core,
        clauses=tuple(one for one in core.clauses if one.origin.rule in names),
        filters=tuple(one for one in core.filters if one.origin.rule in names),
    )
