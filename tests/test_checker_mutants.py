"""Faults planted in the first meaning of every term: the audit must not go along with them.

The answer to a rule whose translation is wrong breaks the rule, or claims another objective; the
audit, which shares no code with the translation, must say so (X101).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, PathMeasure, TargetLoss
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms import normalize
from odtdsl.problem.terms.base import AllOf, AnyOf, Holds
from odtdsl.problem.terms.formulas import negated
from odtdsl.problem.terms.library.false_positive_rate import FalsePositiveRate
from odtdsl.problem.terms.library.recall import Recall
from odtdsl.problem.terms.registry import BY_NAME

FRAME = {
    "x": [1, 2, 3, 4, 5, 6, 7, 8],
    "z": [1, 2, 1, 2, 2, 1, 2, 1],
    "c": ["a", "b", "a", "b", "a", "b", "a", "b"],
    "y": ["no", "no", "yes", "yes", "yes", "no", "no", "no"],
    "v": [0, 0, 10, 10, 10, 0, 0, 1],
    "w": [3, 4, 1, 2, 0, 5, 4, 2],
}
CLASSES = """
target y positive "yes"
feature x, z: number
feature c: category
drop v, w
cost x = 2, z = 1
group some = z == 1
tree depth <= 2
minimize errors
"""
NUMBERS = CLASSES.replace('target y positive "yes"', "target v: number").replace(
    "drop v, w\n", "drop y, w\n"
)

CHOICES = """
target choice {v, w} by reward
feature x, z: number
feature c: category
drop y
group some = z == 1
tree depth <= 2
"""

TIMES = """
target survival v event y
feature x, z: number
feature c: category
drop w
tree depth <= 2
minimize survival_loss
"""

RULES = {
    "depth": "depth <= 1",
    "leaves": "leaves <= 2",
    "splits": "splits <= 1",
    "nodes": "nodes <= 3",
    "errors": "errors <= 1",
    "error_rate": "error_rate <= 25%",
    "accuracy": "accuracy <= 75%",
    "loss": "loss <= 2",
    "expected_loss": "expected_loss <= 0.25",
    "rate": 'rate("yes") <= 25%',
    "recall": 'recall("yes") <= 50%',
    "precision": 'precision("yes") <= 75%',
    "balanced_accuracy": "balanced_accuracy <= 75%",
    "f1": 'f1("yes") <= 75%',
    "negative_predictive_value": 'negative_predictive_value("yes") <= 75%',
    "false_positive_rate": 'false_positive_rate("no") <= 20%',
    "specificity": 'specificity("yes") <= 60%',
    "count_predicted": 'count_predicted("yes") <= 2',
    "reward": "reward <= 30.5",
    "expected_reward": "expected_reward(some) <= 2.5",
    "share": "share(v) <= 25%",
    "gap": 'gap(rate("yes"), c) = 0',
    "ratio": 'ratio(rate("yes"), c) <= 40%',
    "expected_cost": "expected_cost <= 1",
    "mse": "leaves <= 2",
    "mae": "leaves <= 2",
    "poisson": "leaves <= 2",
    "survival_loss": "leaves <= 2",
    "uses": "not uses(x)",
    "tests": "tests(x) <= 1",
    "root": "root in {z}",
    "same_leaf": "same_leaf(0, 2)",
    "different_leaf": "different_leaf(0, 1)",
    "increasing": "increasing(x)",
    "decreasing": "decreasing(x)",
    "before": "forall path: x before z",
    "requires": "forall path: x requires z",
    "cost": "forall path: cost <= 1",
    "length": "forall path: length <= 1",
    "size": "forall leaf: size <= 2",
    "purity": "forall leaf: purity <= 80%",
    "majority": "forall leaf: majority",
    "output": "forall leaf: v <= 5",
    "threshold": "forall split: threshold(x) <= 4",
    "feature": "forall split: feature in {z, c}",
    "level": "forall split: if level = 0 then feature in {z}",
}
"""For each term a rule that the best tree without it breaks, or that its negation breaks.

The fault that is planted makes a measure 0: bound it from above."""

INSTEAD = {
    **dict.fromkeys(
        ["errors", "error_rate", "loss", "expected_loss", "false_positive_rate"], "leaves"
    ),
    "mse": "mse",
    "mae": "mae",
    "poisson": "poisson",
    "output": "mse",
}
"""What is made least in place of errors, so that the rule binds; losses of numbers only there."""


def spec(term: str) -> odtdsl.Model:
    head = NUMBERS if term in ("mse", "mae", "poisson", "output") else CLASSES
    head = head.replace("minimize errors", f"minimize {INSTEAD.get(term, 'errors')}")
    if term == "survival_loss":
        head = TIMES
    if term in ("reward", "expected_reward", "share"):
        head = f"{CHOICES}maximize {'reward' if term == 'share' else 'share(v)'}\n"
    return odtdsl.parse(f"data frame\n{head}rule r: {RULES[term]}\n")


def solved(term: str) -> str:
    """What comes of it: the status, or the code of the error."""
    try:
        return spec(term).solve(frame=FRAME).status
    except OdtError as problem:
        return problem.diagnostics[0].code


def test_every_term_has_a_rule_here() -> None:
    assert set(RULES) == set(BY_NAME), "add a rule that binds for the new term"


def _says_nothing(translate: Callable[..., Any]) -> Callable[..., Any]:
    """A translation to 0, of losses of numbers to their half, of conditions to the contrary."""

    def faulty(rows: Rows, scope: Scope, call: object) -> object:
        true = translate(rows, scope, call)
        if isinstance(true, Holds | AllOf | AnyOf):
            return negated(true)
        if isinstance(true, PathMeasure):
            n = len(true.once)
            return PathMeasure(per_test=(0,) * n, once=(0,) * n)
        return true.scaled(Fraction(1, 2)) if isinstance(true, TargetLoss) else Additive()

    return faulty


@pytest.mark.parametrize("term", RULES)
def test_a_wrong_translation_fails_the_audit(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert solved(term) == "optimal"
    if term in ("feature", "threshold", "level", "output"):  # conditions translate them whole
        monkeypatch.setattr(normalize, "rule_forms", lambda *_: normalize.RuleForms())
    else:
        one = BY_NAME[term]
        monkeypatch.setattr(one, "translate", _says_nothing(one.translate), raising=False)
    assert solved(term) == "X101", (
        "the rule does not bind, or bounds a measure from below; where the least errors keep it "
        "anyway, say in INSTEAD what else is made least"
    )


def _without_first(mask: Callable[..., Any]) -> Callable[..., Any]:
    """A mask that forgets the first row that it holds."""

    def faulty(*args: object) -> object:
        found = mask(*args).copy()
        found[np.flatnonzero(found)[:1]] = False
        return found

    return faulty


FEW_YES, FEW_NO = (f'rule r: count_predicted("{label}") <= 2' for label in ("yes", "no"))

MASKS = [
    (Recall, "among", 'maximize recall("yes")', FEW_YES),
    (FalsePositiveRate, "among", 'maximize false_positive_rate("no")', FEW_NO),
    (Rows, "mask", 'maximize rate("yes", some)', FEW_YES),
    (Rows, "mask", "maximize accuracy(some)", "rule few: leaves <= 2"),
    (Rows, "mask", 'minimize error_rate + gap(rate("yes"), c)', ""),
    (Rows, "mask", "minimize errors", "rule r: forall leaf: size >= 3"),
]


@pytest.mark.parametrize(("where", "name", "objective", "rule"), MASKS)
def test_a_wrong_mask_fails_the_audit(
    where: type, name: str, objective: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"data frame\n{CLASSES.replace('minimize errors', objective)}{rule}\n"
    model = odtdsl.parse(text)
    true = model.solve(frame=FRAME)
    assert true.status == "optimal"
    assert true.model is not None
    monkeypatch.setattr(where, name, _without_first(getattr(where, name)))
    again = odtdsl.audit(true.model, model, frame=FRAME)
    assert (again.objective, again.lines) == (true.audit.objective, true.audit.lines)
    with pytest.raises(OdtError) as caught:
        model.solve(frame=FRAME)
    assert caught.value.diagnostics[0].code == "X101"
