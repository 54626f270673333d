"""The objective against the bound of a rule: a front of trees, as a value, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, cast

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.base.diagnostics.render import to_json as diagnostic_to_json
from odtdsl.base.methods import method
from odtdsl.base.numbers import as_number, only
from odtdsl.base.theme import Theme
from odtdsl.driver.result import Result
from odtdsl.insight.explanations.bounded_rules import Bounded
from odtdsl.predictors.tree import Tree

Ended = Literal["tightest", "points", "time", "interrupted", "undecided", "refused"]
"""Why a walk along the bounds ended. `tightest`: no tree keeps a tighter bound, proven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A tree on the curve.

    Attributes
    ----------
    bound
        What was asked: the rule strictly tighter than this; None for the first point, the spec
        without the rule.
    measure
        What the tree has: the tightest bound that it keeps. None where it satisfies every bound,
        because there is nothing to measure (a precision without predictions).
    objective
        The value of each stage.
    proven
        No tree that is as tight has a better objective.
    efficient
        Proven: besides, no tree with this objective is tighter. So no tree is as good in both
        and better in one.
    gap
        Of the first stage that is not proven; 0 where all are, None where it is unknown.
    errors
        Weight of the wrong predictions on the training rows; None for number targets.
    result
        The whole answer, audited; its `tree` is the tree.
    """

    bound: Fraction | None
    measure: Fraction | None
    objective: tuple[Fraction, ...]
    proven: bool
    efficient: bool
    gap: Fraction | None
    errors: Fraction | None
    result: Result = field(repr=False, compare=False)

    @property
    def tree(self) -> Tree:
        """The tree of the point."""
        assert self.result.tree is not None, "a point is a tree"
        return self.result.tree

    def to_json(self) -> dict[str, Any]:
        """As in `odt explain --curve --json`."""
        return {
            "bound": as_number(self.bound),
            "measure": as_number(self.measure),
            "objective": as_number(only(self.objective)),
            "proven": self.proven,
            "efficient": self.efficient,
            "gap": as_number(self.gap),
            "errors": as_number(self.errors),
            "result": self.result.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The best objective for every bound of a rule, all other rules kept.

    Attributes
    ----------
    rule
        The rule, with its measure and the bound that the spec gives.
    stages
        The stages of the objective as written, such as `minimize errors`.
    points
        From the loosest to the tightest bound; between two points the looser one's bound rules.
    complete
        Proven: these are all the trade-offs that there are between objective and measure, each
        by one tree, and no tree is tighter than the last.
    ended
        Why the walk ended; `tightest` where no tree is tighter.
    searches
        How many optima were searched for.
    units
        Of each stage, then of the rule's measure: `%`, `rows`, or empty.
    """

    rule: Bounded
    stages: tuple[str, ...]
    points: tuple[Point, ...]
    complete: bool
    ended: Ended
    backend: str
    seconds: float
    searches: int = field(compare=False)
    units: tuple[str, ...] = ("", "")
    notes: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        """What `odt explain --curve` prints."""
        return cast(str, method("Curve.__str__")(self))

    @property
    def status(self) -> Literal["feasible", "infeasible", "undecided"]:
        """Whether some tree satisfies the other rules."""
        if self.points:
            return "feasible"
        return "infeasible" if self.ended == "tightest" else "undecided"

    def at(self, bound: Fraction | int | float | None = None) -> Point | None:
        """The point that holds at a bound, by default that of the spec; None without a tree.

        A bound of the curve as a float is meant to be that bound.
        """
        asked = self.rule.bound if bound is None else Fraction(bound)
        for point in self.points:
            if point.measure is None or not self.rule.tighter(asked, point.measure):
                return point
            if isinstance(bound, float) and float(point.measure) == bound:
                return point
        return None

    def to_json(self) -> dict[str, Any]:
        """One object as `odt explain --curve --json` writes it."""
        return {
            "status": self.status,
            "rule": self.rule.rule.name,
            "measure": self.rule.text,
            "op": self.rule.op,
            "bound": as_number(self.rule.bound),
            "percent": self.rule.percent,
            "stages": list(self.stages),
            "complete": self.complete,
            "ended": self.ended,
            "backend": self.backend,
            "seconds": round(self.seconds, 6),
            "searches": self.searches,
            "notes": list(self.notes),
            "points": [point.to_json() for point in self.points],
            "warnings": [diagnostic_to_json(warning) for warning in self.warnings],
        }

    def to_csv(self) -> str:
        """A line per point: bound, the value of each stage, errors, size of the tree, proof."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [self.rule.text, *self.stages, "errors", "depth", "leaves", "proven", "efficient"]
        )
        for point in self.points:
            writer.writerow(
                [
                    "" if point.measure is None else as_number(point.measure),
                    *(as_number(value) for value in point.objective),
                    "" if point.errors is None else as_number(point.errors),
                    point.tree.depth,
                    point.tree.n_leaves,
                    "yes" if point.proven else "no",
                    "yes" if point.efficient else "no",
                ]
            )
        return file.getvalue()

    def to_svg(self, *, title: str = "", theme: Theme = "auto") -> str:
        """The curve as an SVG picture: steps, the spec's bound marked.

        Parameters
        ----------
        title
            The picture's accessible name; the default says what is drawn.
        theme
            `auto` follows the reader's preference for dark or light pages.
        """
        return cast(str, method("Curve.to_svg")(self, title=title, theme=theme))


__all__ = ["Curve", "Ended", "Point"]
