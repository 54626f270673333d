"""What an audit says: a line for each rule and each part of the skeleton."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One line of an audit.

    Attributes
    ----------
    rule
        The rule's name, or a part of the skeleton.
    value, bound, slack
        For a comparison, the sides where it is tightest and how much room is left
        (negative where it is broken); None for other conditions. Exact.
    instances
        How many paths, leaves or splits the rule ranges over; 1 for the whole model.
    note
        Why the line deserves a second look, such as "vacuous".
    soft
        Whether the spec only wishes for it: a rule on outputs whose leaves are `relaxed` or
        `average`. Then it may be broken, and `note` says in how many leaves.
    """

    rule: str
    text: str
    holds: bool
    value: Fraction | None = None
    bound: Fraction | None = None
    slack: Fraction | None = None
    instances: int = 1
    note: str = ""
    soft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All rules and the skeleton, checked; and the objective, recomputed.

    Attributes
    ----------
    objective
        The value of each stage, in the terms of the spec.
    errors
        Weight of the wrong predictions on the training rows; None for number targets.
    """

    lines: tuple[Checked, ...]
    objective: tuple[Fraction, ...]
    errors: Fraction | None

    @property
    def holds(self) -> bool:
        return all(line.holds or line.soft for line in self.lines)
