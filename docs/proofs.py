"""Which back end proves the best tree or diagram under a rule: a table by the back ends' own word.

A tiny spec is made of every term, in every scope that it has, for every kind of target, skeleton
and split. The compiler says where it has no meaning, and each back end that proves what keeps it
from the spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

FRAME: dict[str, list[Any]] = {
    "a": [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0],
    "b": [0.0, 1.0, 1.0, 0.0, 2.0, 1.0, 0.0, 2.0],
    "y": ["no", "no", "yes", "no", "yes", "yes", "no", "yes"],
    "v": [0.0, 1.0, 4.0, 2.0, 5.0, 3.0, 2.0, 6.0],
    "w": [3.0, 1.0, 2.0, 2.0, 0.0, 3.0, 1.0, 1.0],
    "t": [4.0, 9.0, 2.0, 6.0, 1.0, 3.0, 8.0, 5.0],
    "e": [1, 0, 1, 1, 1, 0, 0, 1],
}
OTHER_TARGET = "T219"
"""The code of a term that has no meaning for the target."""
TARGETS = {
    "classes": ('target y positive "yes"', "errors"),
    "choices": ("target choice {v, w} by reward", "expected_reward"),
    "a number": ("target v: number", "mse"),
    "several numbers": ("target v, w: number", "mse"),
    "survival": ("target survival t event e", "survival_loss"),
}
"""By name the statement of the target and an objective."""
SHAPES = {
    "Trees of axis-parallel splits": "tree depth <= 2",
    "Trees of hyperplanes": "tree depth <= 2, splits hyperplane",
    "Diagrams of axis-parallel splits": "diagram widths 1, 2",
    "Diagrams of hyperplanes": "diagram widths 1, 2 splits hyperplane",
}
MODEL = {
    "depth": "depth <= 1",
    "leaves": "leaves <= 3",
    "splits": "splits <= 2",
    "nodes": "nodes <= 5",
    "errors": "errors <= 3",
    "error_rate": "error_rate <= 40%",
    "accuracy": "accuracy(g) >= 50%",
    "balanced_accuracy": "balanced_accuracy(g) >= 50%",
    "loss": "loss <= 3",
    "expected_loss": "expected_loss <= 1",
    "reward": "reward >= 1",
    "expected_reward": "expected_reward >= 0.5",
    "rate": "rate({label}) >= 20%",
    "share": "share(v) >= 20%",
    "recall": 'recall("yes") >= 50%',
    "precision": 'precision("yes") >= 50%',
    "f1": 'f1("yes") >= 50%',
    "negative_predictive_value": 'negative_predictive_value("yes") >= 50%',
    "false_positive_rate": 'false_positive_rate("yes") <= 50%',
    "specificity": 'specificity("yes") >= 50%',
    "count_predicted": "count_predicted({label}) <= 6",
    "gap": "gap(rate({label}), g, h) <= 50%",
    "ratio": "ratio(rate({label}), g, h) >= 50%",
    "expected_cost": "expected_cost <= 2",
    "mse": "mse <= 2",
    "survival_loss": "survival_loss <= 2",
    "mae": "mae <= 2",
    "poisson": "poisson <= 2",
    "uses": "uses(a)",
    "tests": "tests(a) <= 1",
    "root": "root in {{a}}",
    "same_leaf": "same_leaf(1, 2)",
    "different_leaf": "different_leaf(1, 2)",
    "increasing": "increasing(a)",
    "decreasing": "decreasing(a)",
}
RULES = {
    "model": MODEL,
    "path": {
        "before": "a before b",
        "requires": "a requires b",
        "cost": "cost <= 3",
        "length": "length <= 1",
        "uses": "uses(a)",
        "tests": "tests(a) <= 1",
    },
    "leaf": {
        "size": "size(g) >= 1",
        "purity": "purity >= 60%",
        "majority": "majority",
        "output": "v <= 4",
    },
    "split": {
        "size": "size >= 3",
        "threshold": "threshold(a) <= 3",
        "feature": "feature = a",
        "level": "level <= 1",
    },
}
"""By scope and term a rule; `{label}` stands for a label of the target."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The back ends that prove, or why there is none."""

    proving: tuple[str, ...]
    reason: str
    of_another_target: bool = False


def written(scope: str, term: str, target: str) -> str:
    """The rule of a term."""
    text = RULES[scope][term].format(label="v" if target == "choices" else '"yes"')
    return text if scope == "model" else f"forall {scope}: {text}"


def spec_of(target: str, shape: str, rule: str) -> str:
    """A spec with a rule; without one where it is empty."""
    statement, goal = TARGETS[target]
    lines = ["data frame", statement, "feature a: number", "feature b: number"]
    lines += ["cost a = 1", "cost b = 2", "group g = a <= 2", "group h = a > 2"]
    sense = "maximize" if goal == "expected_reward" else "minimize"
    lines += [SHAPES[shape], f"{sense} {goal}", *([f"rule r: {rule}"] if rule else [])]
    return "\n".join(lines)


@cache
def cell(target: str, shape: str, rule: str, loss: str = "mse") -> Cell:
    """Who proves a spec with a rule, under a loss where the target is a number."""
    import odtdsl
    from odtdsl.base.back_ends import ENTRIES
    from odtdsl.base.diagnostics.model import OdtError

    try:
        text = spec_of(target, shape, rule).replace("minimize mse", f"minimize {loss}")
        planned = odtdsl.plan(text, frame=FRAME)
    except OdtError as problem:
        if problem.diagnostics[0].code == OTHER_TARGET:
            return Cell((), "", of_another_target=True)
        return Cell((), "the language refuses it: " + problem.diagnostics[0].message)
    refusals = {n: r for n, r in planned.choice.refusals if ENTRIES[n].proves}
    proving = tuple(name for name, reasons in refusals.items() if not reasons)
    if proving:
        return Cell(proving, "")
    return Cell((), "; ".join(f"`{name}`: {r[0].reason}" for name, r in refusals.items()))


def _shown(one: Cell, reasons: dict[str, int]) -> str:
    if one.proving:
        return ", ".join(f"`{name}`" for name in one.proving)
    return f"({reasons.setdefault(one.reason, len(reasons) + 1)})" if one.reason else "-"


def lines() -> Iterator[str]:
    """The section of `support.md`."""
    goals = ", ".join(f"`{goal}` ({name})" for name, (_, goal) in TARGETS.items())
    yield from (
        "",
        "## Which back end proves a rule",
        "",
        "For every term in every scope, kind of target, skeleton and split: the back ends that",
        "prove that no other model is better, a number that says below why there is none, or a",
        "dash where the term is of another target. Each was asked about a small spec with the rule",
        f"and the objective {goals}.",
        "Under `mae` and `poisson` the answers are those of `mse`. Whether a proof comes in time",
        "is another question.",
    )
    reasons: dict[str, int] = {}
    for shape in SHAPES:
        yield from ("", f"### {shape}", "")
        yield "| rule | " + " | ".join(TARGETS) + " |"
        yield "| --- " * (len(TARGETS) + 1) + "|"
        rows = [("", ""), *((scope, term) for scope, terms in RULES.items() for term in terms)]
        for scope, term in rows:
            found = []
            for target in TARGETS:
                rule = written(scope, term, target) if term else ""
                one = cell(target, shape, rule)
                found.append(_shown(one, reasons))
            name = f"`{written(scope, term, 'classes')}`" if term else "no rule"
            yield f"| {name} | " + " | ".join(found) + " |"
    yield from ("", "Why no back end proves:", "")
    for reason, number in reasons.items():
        yield f"{number}. {reason}"
