"""The steps of a solve: `solve` takes them in turn, and `plan` tells them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from odtdsl.base.back_ends import able

Kind = Literal["start", "whole", "moves", "trees", "shapes", "rest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one back end is asked for.

    Attributes
    ----------
    kind
        `start`: a first model. `whole`: the problem. `moves`, `trees` and `shapes`: parts of a
        search for diagrams. `rest`: what these leave open.
    share
        The most that it may take of the time that is left then.
    least
        Seconds that it has in any case.
    brief
        Of a start: whether the first good model will do. It is kept for a search that is stopped;
        the search grows its own to begin from.
    late
        Of a brief start: whether it comes last, and only where the search ended before the start's
        least time without a proof, or without a model. Else the search grew better ones.
    quick
        Of a start: whether little effort will do, as the search soon makes more of it.
    ways
        Of a start: how it scores splits, one growth after the other.
    improves
        Whether it waits for a model to improve on, and is left out where none is known.
    visits
        Of a start that improves another: how often it may visit each cell, on average.
    """

    kind: Kind
    backend: str
    share: float = 1.0
    least: float = 0.0
    brief: bool = False
    late: bool = False
    quick: bool = False
    ways: tuple[str, ...] = ("optimal",)
    improves: bool = False
    visits: int = 0

    def __str__(self) -> str:
        """As `odt plan` and answers name it."""
        match self.kind:
            case "start":
                return f"{'growth' if self.late else 'start'} by {self.backend}"
            case "whole":
                return self.backend
            case "moves" | "trees" | "shapes":
                return f"{self.backend} by {self.kind}"
            case "rest":
                return f"{self.backend} on what is left open"


def main_of(steps: tuple[Step, ...]) -> Step:
    """The last step that is no start: that of the back end that answers."""
    return [step for step in steps if step.kind != "start"][-1]


START = Step(kind="start", backend=able("grow"), share=0.5, least=0.5)
"""A limit that has passed is no reason to have no model, so that it has some time in any case."""

BRIEF_START = replace(START, brief=True)

LATE_START = replace(BRIEF_START, late=True)
"""Growing a tree takes longer than to prove the best one where rows are few, and longer than the
search itself takes to grow better ones where they are many."""

SEARCHED_START = Step(kind="start", backend=able("improve"), share=0.25, visits=3_000)
"""Before another back end's trees: enough to grow trees with optimal bottoms and to move some."""

VECTOR_START = replace(START, ways=("optimal", "average"))
"""Rules can bend the outputs of vectors, so that neither way is always the better one."""

START_OF_DIAGRAMS = replace(START, share=0.25)
"""Moves soon make more of a diagram than more starts do."""

QUICK_START_OF_DIAGRAMS = replace(START_OF_DIAGRAMS, quick=True)
"""Without rules they soon make as much of what growth finds in a tenth of its usual effort."""
