"""Which stage of a list of objectives a program is about."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Kept = tuple[tuple[int, Fraction], ...]
"""Earlier stages and their optimal values."""


@dataclass(frozen=True, slots=True)
class StageChoice:
    """The stage that a program minimizes, and what it keeps.

    Attributes
    ----------
    stage
        None for any model.
    kept
        Earlier stages that must stay at their optimum.
    lookahead
        Whether bounds of root tests tighten the relaxation, where a formulation has them.
    also
        Other stages that are to be expressed.
    """

    stage: int | None = 0
    kept: Kept = ()
    lookahead: bool = True
    also: tuple[int, ...] = ()


FIRST = StageChoice()
