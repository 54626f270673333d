"""Rules that cannot hold end as infeasible, proven; bad rules are told what is wrong with them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from milp_trees import ATOMS, grown, tiny

import odtdsl
from odtdsl.analysis.doubts import _least
from odtdsl.backends.base import Limits
from odtdsl.diagnostics.model import OdtError
from odtdsl.ir.evaluate import Evaluation, path_numerator
from odtdsl.ir.expr import Scope
from odtdsl.ir.forms import Atom, Budget, Linear, PathMeasure, PathTotal, SignedAtom
from odtdsl.milp import Milp

FRAME = {
    "a": [1, 2, 3, 4, 5, 6], "b": ["x", "y"] * 3, "g": ["w", "w", "w", "m", "m", "m"],
    "y": ["p", "n", "p", "n", "p", "n"],
}  # fmt: skip
HEAD = 'data frame target y positive "p" drop g tree depth <= 2 minimize errors\n'

CONFLICTS = {
    "a budget under the cheapest feature, and must use":
        "cost a = 5, b = 7  rule ask: uses(a) or uses(b)  rule cheap: forall path: cost <= 4",
    "an accuracy of a group whose equal rows differ in class":
        'rule right: accuracy(twins) >= 95%  group twins = row in {0, 1}  drop a, b',
    "rows in one leaf and not": "rule s: same_leaf(0, 1)  rule d: different_leaf(0, 1)",
    "both ways at once, and every row right":
        "rule up: increasing(a)  rule all: errors = 0  drop b",
    "an average cost that the cheapest split passes":
        "cost * = 3  rule mean: expected_cost <= 1  rule two: leaves >= 2",
}  # fmt: skip


@pytest.mark.parametrize("rules", CONFLICTS.values(), ids=CONFLICTS)
def test_rules_that_cannot_hold_together_are_proven_infeasible(rules: str) -> None:
    frame = FRAME
    if "twins" in rules:
        frame = {**FRAME, "c": ["z", "z", "q", "q", "z", "q"]}
    result = odtdsl.solve(HEAD + rules, frame=frame, using="milp")
    assert result.status == "infeasible"
    assert result.tree is None


BAD = {
    "cost * = 1 rule r: forall path: cost <= -1": "R107",
    "cost * = 1 rule r: expected_cost <= -1": "R107",
    "cost * = 1 rule r: expected_cost + errors < 0": "R107",
    "rule r: errors <= -1": "R107",
    "rule r: accuracy >= 120%": "R107",
    "rule r: forall leaf: size >= 50": "R107",
    "rule r: forall leaf: size >= 101%": "R107",
    "rule r: forall leaf: purity >= 110%": "R107",
    "rule r: forall split: size > 6": "R107",
    "rule r: forall split: threshold(a) in [20, 80]": "R106",
    "group none = a > 100 rule r: accuracy(none) >= 50%": "D202",
    "group all = a >= 1 rule r: accuracy(all) >= 10%": "D203",
}


@pytest.mark.parametrize("rule", BAD)
def test_a_bad_rule_is_told(rule: str) -> None:
    found = odtdsl.check(HEAD + rule, frame=FRAME)
    assert BAD[rule] in {d.code for d in found}
    (told,) = (d for d in found if d.code == BAD[rule])
    assert told.severity == ("error" if told.code == "D202" else "warning")
    if told.code == "D202":
        with pytest.raises(OdtError, match="D202"):
            odtdsl.solve(HEAD + rule, frame=FRAME)


@pytest.mark.parametrize(
    "rule",
    [
        "rule r: forall path: cost <= 0", "rule r: errors <= 0", "rule r: accuracy >= 100%",
        "rule r: forall leaf: size >= 6", "rule r: forall leaf: purity >= 100%",
        "rule r: forall split: size >= 6", "cost * = 1 rule r: expected_cost <= 0",
    ],
)  # fmt: skip
def test_a_rule_at_the_edge_is_not_doubted(rule: str) -> None:
    assert not odtdsl.check(HEAD + rule, frame=FRAME)


KINDS = ("budget", "linear_model", "linear_leaf", "linear_split", "path_total")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_called_least_is_never_undercut(kind: str) -> None:
    """On random trees no instance of the atom has less; and sometimes it is met."""
    scope, met = ATOMS[kind][0], 0
    for seed in range(150):
        rng = random.Random(f"least {kind} {seed}")
        core = tiny(rng, clauses=((kind,),))
        atom = _dear(core.clauses[0].literals[0].atom)
        least = _least(SignedAtom(atom=atom), scope)
        if least is None:
            continue
        for _ in range(10):
            values = _values(Evaluation(core, grown(rng, core, 2)), atom, scope)
            assert all(value >= least for value in values), seed
            met += least in values
    assert met >= 5


def _dear(atom: Atom) -> Atom:
    """The atom without rebates, of which nothing is called least."""
    match atom:
        case Budget(measure=path):
            return replace(atom, measure=_priced(path))
        case PathTotal(path_sum=paths):
            plain = replace(paths, weights=abs(paths.weights), measure=_priced(paths.measure))
            return replace(atom, path_sum=plain, measure=replace(atom.measure, columns=None))
        case _:
            return atom


def _priced(path: PathMeasure) -> PathMeasure:
    shared = tuple(replace(s, amount=abs(s.amount)) for s in path.shared)
    per_test, once = (tuple(map(abs, amounts)) for amounts in (path.per_test, path.once))
    return replace(path, per_test=per_test, once=once, shared=shared)


def _values(evaluation: Evaluation, atom: object, scope: Scope) -> list[int]:
    match atom:
        case Linear() if scope is Scope.MODEL:
            return [evaluation.of_model(atom.measure)]
        case Linear():
            where = evaluation.leaves
            if scope is Scope.SPLIT:
                where = tuple(visit for visit, _ in evaluation.splits)
            return [evaluation.over_rows(atom.measure, visit.rows) for visit in where]
        case Budget():
            return [path_numerator(atom.measure, leaf.above) for leaf in evaluation.leaves]
        case PathTotal():
            return [evaluation.of_model(atom.measure) + evaluation.over_paths(atom.path_sum)]
    raise AssertionError(atom)


def test_an_impossible_rule_is_infeasible_on_milp() -> None:
    met = 0
    for seed in range(120):
        rng = random.Random(f"impossible {seed}")
        core = tiny(rng, clauses=((rng.choice(KINDS[1:2] + KINDS[4:]),),))
        (clause,) = core.clauses
        atom = clause.literals[0].atom
        assert isinstance(atom, Linear | PathTotal)
        least = _least(clause.literals[0], Scope.MODEL)
        if least is not None and least > atom.at_most and met < 10:
            met += 1
            assert Milp().solve(core, Limits()).status == "infeasible"
    assert met >= 3
