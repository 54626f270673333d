"""Rules that cannot hold end as infeasible, proven; bad rules are told what is wrong with them."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from milp_trees import ATOMS, grown, tiny
from scale import SCALE, scaled

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.exact.backend import Exact
from odtdsl.backends.exact.ruled import assemble
from odtdsl.backends.milp import Milp
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler.bounds import Frame, ModelFacts
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Atom,
    Budget,
    Core,
    Form,
    Linear,
    PathMeasure,
    PathTotal,
    SignedAtom,
)
from odtdsl.problem.ir.paths import path_numerator
from odtdsl.problem.ir.problem import TreeSkeleton

pytestmark = pytest.mark.usefixtures("few_starts")
FRAME = {
    "a": [1, 2, 3, 4, 5, 6],
    "b": ["x", "y"] * 3,
    "g": ["w", "w", "w", "m", "m", "m"],
    "y": ["p", "n", "p", "n", "p", "n"],
}
HEAD = 'data frame target y positive "p" drop g tree depth <= 2 minimize errors\n'

CONFLICTS = {
    "a budget under the cheapest feature, and must use": (
        "cost a = 5, b = 7  rule ask: uses(a) or uses(b)  rule cheap: forall path: cost <= 4"
    ),
    "a budget under the cheapest feature, and must use on every path": "cost a = 5, b"
    " = 7  rule ask:"
    " forall path: uses(a) or uses(b)"
    "  rule cheap: forall path: cost <= 4",
    "a budget under what is shared, and must use": (
        "cost {a, b} shared = 5  rule ask: uses(a) or uses(b)  rule cheap: forall path: cost < 5"
    ),
    "an accuracy of a group whose equal rows differ in class": (
        "rule right: accuracy(twins) >= 95%  group twins = row in {0, 1}  drop a, b"
    ),
    "a purity that equal rows of two classes do not have": (
        "rule pure: forall leaf: purity >= 95%  drop a, b"
    ),
    "rows in one leaf and not": "rule s: same_leaf(0, 1)  rule d: different_leaf(0, 1)",
    "equal rows in two leaves": "rule d: different_leaf(0, 1)  drop a, b",
    "both ways at once, and every row right": (
        "rule up: increasing(a)  rule all: errors = 0  drop b"
    ),
    "an average cost that the cheapest split passes": (
        "cost * = 3  rule mean: expected_cost <= 1  rule two: leaves >= 2"
    ),
    "must use, and no split may": "rule ask: uses(a)  rule only: forall split: feature in {b}",
    "each requires the other": "rule ab: forall path: a requires b "
    " rule ba: forall path: b requires a"
    "  rule s: splits > 0",
    "an order that every path turns round": "rule r: forall path: a before b  rule"
    " s: forall path: uses(a) and uses(b)"
    "  rule t: root in {b}",
    "leaves of most rows": "rule r: forall leaf: size >= 4  rule s: leaves >= 2",
    "deeper than the tree": "rule r: depth >= 3",
    "more leaves than the depth has": "rule r: leaves = 5",
    "paths longer than the depth": "rule r: forall path: length >= 3",
    "more than all": 'rule r: rate("p") >= 60%  rule s: rate("n") >= 60%',
    "every row right, and as many of both groups": (
        'rule r: gap(rate("p"), g) <= 5%  rule s: accuracy >= 100%'
    ),
    "no thresholds, and must use": "rule r: forall split: threshold(a) in {7, 9}  rule s: uses(a)",
    "a level where nothing may stand, and depth": "rule r: forall split: if level = 1 then feature"
    " in {b}  rule s: forall path: length >= 2"
    "  rule t: forall split: if level = 0 then feature in {b}",
}


@pytest.mark.parametrize("using", ["exact", "milp"])
@pytest.mark.parametrize("rules", CONFLICTS.values(), ids=CONFLICTS)
def test_rules_that_cannot_hold_together_are_proven_infeasible(rules: str, using: str) -> None:
    frame = FRAME
    if "drop a, b" in rules:
        frame = {**FRAME, "c": ["z", "z", "q", "q", "z", "q"]}
    text = HEAD + rules
    monotone = Exact().supports(Form.MONOTONE, inside_or=False).level != "unsupported"
    if "increasing" in rules and using == "exact" and not monotone:
        return
    result = odtdsl.solve(text, frame=frame, using=using)
    assert result.status == "infeasible"
    assert result.tree is None
    assert result.objective is None
    assert result.audit is None


@pytest.mark.parametrize(
    "rule",
    [
        "accuracy >= 90",
        'recall("class_0") > 1',
        'count_predicted("class_0") >= 179',
        "forall leaf: purity >= 90",
        "forall leaf: purity > 1 or size >= 179",
        'gap(rate("class_0"), thin, thick) < 0',
        "gap(accuracy, thin, thick) <= -10%",
    ],
)
def test_a_rule_that_no_row_can_help_needs_no_search(rule: str) -> None:
    """As where the sign of a percentage was forgotten; the search would look at every tree."""
    spec = f"""data sklearn "wine" target target
        group thin = ash <= 2.3
        group thick = ash > 2.3
        tree depth <= 3
        minimize errors
        rule r: {rule}"""
    result = odtdsl.solve(spec, within=5)
    assert result.status == "infeasible"
    assert not dict(result.counters).get("nodes")


def test_a_rule_that_no_leaf_can_keep_has_no_certificate(tmp_path: Path) -> None:
    """The checker would look at every tree: so it is said, not tried."""
    spec = """data sklearn "wine" target target candidates * at quantiles 4
        tree depth <= {} minimize errors
        rule pure: forall leaf: purity >= 90"""
    with pytest.raises(odtdsl.OdtError, match="rule `pure`: no rows keep it"):
        odtdsl.solve(spec.format(3), using="exact", proof=tmp_path / "a.cert")
    low = odtdsl.solve(spec.format(2), proof=tmp_path / "b.cert")
    assert low.status == "infeasible"
    shown = odtdsl.check_proof(tmp_path / "b.cert", spec.format(2))
    assert any("no tree keeps the rules" in str(one) for one in shown)


@pytest.mark.parametrize("using", ["exact", "milp"])
@pytest.mark.parametrize("rules", CONFLICTS.values(), ids=CONFLICTS)
def test_without_one_of_the_rules_there_is_a_tree(rules: str, using: str) -> None:
    """Else the conflict would be no conflict."""
    parts = rules.split("rule ")
    if len(parts) < 3 or "increasing" in rules:
        return
    frame = {**FRAME, "c": ["z", "z", "q", "q", "z", "q"]} if "drop a, b" in rules else FRAME
    text = HEAD + "rule ".join(parts[:-1])
    assert odtdsl.solve(text, frame=frame, using=using).status == "optimal"


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
    'rule r: gap(rate("p"), g) <= -1%': "R107",
    'rule r: ratio(rate("p"), g) >= 120%': "R107",
    "rule r: 30% <= accuracy <= 20%": "R107",
    'rule r: rate("p") >= 60% and rate("n") >= 60%': "R107",
    'rule r: abs(rate("p") - rate("n")) < 0': "R107",
    "rule r: leaves <= 0": "R107",
    "rule r: depth < 0": "R107",
    "rule r: tests(a) <= -1": "R107",
    "rule r: forall path: length < 0": "R107",
    'rule r: count_predicted("p") >= 7': "R107",
    'rule r: recall("p") < 0': "R107",
    "candidates a at {20, 30}": "D212",
    "cost a = -5": "T112",
    "group late = row in {0, 9} rule r: accuracy(late) >= 95%": "N115",
    'group ps = y == "p" rule r: recall("n", ps) >= 50%': "R304",
    "group none = a > 100 rule r: accuracy(none) >= 50%": "D202",
    "group all = a >= 1 rule r: accuracy(all) >= 10%": "D203",
}


@pytest.mark.parametrize("rule", BAD)
def test_a_bad_rule_is_told(rule: str) -> None:
    found = odtdsl.check(HEAD + rule, frame=FRAME)
    assert BAD[rule] in {d.code for d in found}
    (told,) = (d for d in found if d.code == BAD[rule])
    errors = ("D202", "T112", "N115", "R304")
    assert told.severity == ("error" if told.code in errors else "warning")
    assert told.labels, "it shows a line of the spec"
    for using in ("exact", "milp") if SCALE >= 1 else ("exact",):
        if told.severity == "error":
            with pytest.raises(OdtError, match=told.code):
                odtdsl.solve(HEAD + rule, frame=FRAME, using=using)
            continue
        result = odtdsl.solve(HEAD + rule, frame=FRAME, using=using)
        assert told in result.warnings
        never = told.code == "R107" and "forall split" not in rule  # a tree may have no split
        assert result.status == ("infeasible" if never else "optimal")


SAID = {
    "cost * = 1 rule r: forall path: cost <= -1": (
        "no path can satisfy rule `r`",
        "the bound is missed by at least 1",
    ),
    "rule r: accuracy >= 120%": ("no tree can satisfy rule `r`", "missed by at least 0.2"),
    "rule r: 30% <= accuracy <= 20%": (
        "no tree can satisfy rule `r`",
        "exclude each other",
    ),
    "rule r: forall split: threshold(a) in [20, 80]": (
        "leaves no possible split on `a`",
        "between 1 and 6",
        "use thresholds inside this range",
    ),
    "group none = a > 100 rule r: accuracy(none) >= 50%": (
        "group `none` has no training rows",
        "check the values",
    ),
    "group all = a >= 1 rule r: accuracy(all) >= 10%": (
        "group `all` contains every training row",
        "remove the group",
    ),
    'group ps = y == "p" rule r: recall("n", ps) >= 50%': (
        'rule `r`: `recall("n", ps)` is a share of no training row',
    ),
    "cost a = -5": ("a cost must be at least 0",),
}


@pytest.mark.parametrize("rule", SAID)
def test_the_message_says_what_is_wrong(rule: str) -> None:
    (told,) = (d for d in odtdsl.check(HEAD + rule, frame=FRAME) if d.code == BAD[rule])
    said = "\n".join((told.message, *told.notes, *told.helps))
    assert all(part in said for part in SAID[rule]), said
    assert told.labels, "it points at the place"


@pytest.mark.parametrize(
    "rule",
    [
        "cost b = 1 rule r: forall path: cost <= 0",
        "rule r: errors <= 0",
        "rule r: accuracy >= 100%",
        "rule r: forall leaf: size >= 6",
        "rule r: forall leaf: purity >= 100%",
        "rule r: forall split: size >= 6",
        "cost * = 1 rule r: expected_cost <= 0",
    ],
)
def test_a_rule_at_the_edge_is_not_doubted(rule: str) -> None:
    assert not odtdsl.check(HEAD + rule, frame=FRAME)


KINDS = ("budget", "linear_model", "linear_leaf", "linear_split", "path_total")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_called_least_is_never_undercut(kind: str) -> None:
    """On random trees no instance of the atom has less; and sometimes it is met."""
    scope, met = ATOMS[kind][0], 0
    for seed in range(scaled(150, least=30)):
        rng = random.Random(f"least {kind} {seed}")
        core = tiny(rng, clauses=((kind,),))
        atom = _dear(core.clauses[0].literals[0].atom)
        core = replace(core, skeleton=TreeSkeleton(depth=2, leaves=4))  # as `grown` does
        least = room_of(core).least(SignedAtom(atom=atom), scope)
        if least is None:
            continue
        for _ in range(10):
            values = _values(Evaluation(core, grown(rng, core, 2)), atom, scope)
            assert all(value >= least for value in values), seed
            met += least in values
    assert met >= 5


@pytest.mark.parametrize("kinds", [("linear_leaf",), ("linear_model", "linear_model")])
def test_what_exact_refutes_without_a_search_no_tree_keeps(kinds: tuple[str, ...]) -> None:
    """One rule on leaves, or two bounds that pull against each other, at and below the edge."""
    refuted, many = 0, scaled(3000, least=100, part=0.3)
    for seed in range(many):
        rng = random.Random(f"hopeless {kinds} {seed}")
        core = tiny(rng, clauses=tuple((kind,) for kind in kinds))
        core = replace(core, skeleton=TreeSkeleton(depth=2, leaves=4), filters=())
        trees = [Evaluation(core, grown(rng, core, 2)) for _ in range(10)]
        atoms = [clause.literals[0].atom for clause in core.clauses]
        if len(atoms) == 2 and rng.random() < 0.7:
            assert isinstance(atoms[0], Linear)
            against = atoms[0].measure.scaled(Fraction(-1))
            atoms[1] = replace(atoms[0], measure=against)
        for k, atom in enumerate(atoms):
            scope = core.clauses[k].scope
            values = [value for tree in trees[:3] for value in _values(tree, atom, scope)]
            assert isinstance(atom, Linear)
            atoms[k] = replace(atom, at_most=min(values) - rng.choice([-1, 0, 0, 1]))
        clauses = tuple(
            replace(one, literals=(SignedAtom(atom=atom),))
            for one, atom in zip(core.clauses, atoms, strict=True)
        )
        core = replace(core, clauses=clauses)
        if not assemble(core, 2).possible:
            refuted += 1
            assert all(list(Evaluation(core, tree.tree).violations()) for tree in trees), seed
    assert refuted >= many // 15


def room_of(core: Core) -> ModelFacts:
    """What skeleton and data leave, whatever the rules."""
    frame = Frame(
        skeleton=core.skeleton,
        n_rows=core.n_rows,
        n_columns=len(core.columns),
        families=core.families,
    )
    return ModelFacts(frame)


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
    for seed in range(scaled(120, least=24)):
        rng = random.Random(f"impossible {seed}")
        core = tiny(rng, clauses=((rng.choice(KINDS[1:2] + KINDS[4:]),),))
        (clause,) = core.clauses
        atom = clause.literals[0].atom
        assert isinstance(atom, Linear | PathTotal)
        least = room_of(core).least(clause.literals[0], Scope.MODEL)
        if least is not None and least > atom.at_most and met < 10:
            met += 1
            assert Milp().solve(core, Limits()).status == "infeasible"
    assert met >= 3
