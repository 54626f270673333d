"""Why a row gets its prediction, as a value: the path, the rules on it, and the smallest change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Value
from odtdsl.predictors.wording import value_text

_DIGITS = 5
"""So many digits longer than its neighbour, a number was not written so by anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One node of the path.

    Attributes
    ----------
    text
        The question and the answer, such as `age <= 54.5: yes (age is 41)`.
    feature
        The feature tested; None at the leaf.
    rules
        Names of the rules whose conditions speak of this node: of its feature, its threshold
        or its level; at the leaf those on leaves and on the rows in it.
    """

    text: str
    feature: str | None
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One feature of a counterfactual; `size` is a share of the training range.

    A category's change, and a missing cell that gets a value, have size 1.
    """

    feature: str
    before: Value | None
    after: Value
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """The least change that makes the tree predict otherwise."""

    prediction: str
    changes: tuple[Change, ...]

    @property
    def size(self) -> float:
        """The sum of the changes, each as a share of its training range."""
        return math.fsum(change.size for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a row is predicted so.

    Attributes
    ----------
    prediction
        What the leaf predicts.
    steps
        The path from the root, the leaf last.
    tight
        Of the rules named in the steps those that have no slack for this leaf, its path, the splits
        above it, or the whole tree.
    counterfactual
        None where no admitted change leads to another prediction.
    """

    prediction: str
    steps: tuple[Step, ...]
    tight: tuple[str, ...]
    counterfactual: Counterfactual | None
    stays: str = "no allowed change leads to another prediction"
    """What is said where there is no counterfactual."""

    def lines(self) -> Iterator[str]:
        """The answer in words."""
        for step in self.steps:
            rules = ", ".join(step.rules)
            yield step.text + (f"   (rules: {rules})" if rules else "")
        if self.tight:
            yield f"tight rules (no slack): {', '.join(self.tight)}"
        if self.counterfactual is None:
            yield self.stays
            return
        changes = ", ".join(_change_text(change) for change in self.counterfactual.changes)
        yield f"it would be {self.counterfactual.prediction} with {changes}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """One object; the counterfactual is null if there is none."""
        other = self.counterfactual
        return {
            "prediction": self.prediction,
            "steps": [
                {"text": step.text, "feature": step.feature, "rules": list(step.rules)}
                for step in self.steps
            ],
            "tight": list(self.tight),
            "counterfactual": None
            if other is None
            else {
                "prediction": other.prediction,
                "size": other.size,
                "changes": [
                    {"feature": c.feature, "before": c.before, "after": c.after, "size": c.size}
                    for c in other.changes
                ],
            },
        }


def _change_text(change: Change) -> str:
    before = "missing" if change.before is None else value_text(change.before)
    return f"{printable(change.feature)} {_after_text(change.after)} instead of {before}"


def _after_text(after: Value) -> str:
    """A value; the float next to a threshold or an edge is named by that."""
    said = value_text(after)
    if isinstance(after, str):
        return said
    for towards, side in ((-math.inf, "above"), (math.inf, "below")):
        near = value_text(math.nextafter(after, towards))
        if len(near) + _DIGITS < len(said):
            return f"just {side} {near}"
    return said
