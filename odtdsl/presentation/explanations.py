"""What `odt explain` prints: conflicts, curves and the prices of rules as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.render import render_text
from odtdsl.base.numbers import counted
from odtdsl.presentation.console import shown, sides_text, stage_line, table
from odtdsl.problem.ir.expr import Scope

if TYPE_CHECKING:
    from odtdsl.insight.explanations.curves import Curve
    from odtdsl.insight.explanations.explanation import Explanation
    from odtdsl.insight.explanations.prices import Prices, Range


def explained(found: Explanation) -> Iterator[str]:
    """Conflicts with their source lines, or what each rule costs."""
    if found.status == "feasible":
        yield "feasible: a tree satisfies all rules"
    if found.prices is not None:
        yield from priced(found.prices)
        yield ""
    for one in found.diagnostics():
        yield render_text(one)
        yield ""
    undecided = f", {found.undecided} undecided" if found.undecided else ""
    optima = 0 if found.prices is None else found.prices.searches
    searches = counted(found.searches + optima, "search", "searches")
    yield f"{found.backend}, {found.seconds:.2f} s, {searches}{undecided}"


def explanation_text(found: Explanation) -> str:
    """An explanation as `odt explain` prints it."""
    return "\n".join(explained(found))


def curve_text(curve: Curve) -> str:
    """A curve as `odt explain --curve` prints it."""
    return "\n".join(traced(curve))


ENDED = {
    "tightest": "no tree satisfies a tighter bound",
    "points": "stopped at `--points`: there may be tighter bounds",
    "time": "stopped at the time limit: there may be more points",
    "interrupted": "interrupted: there may be more points",
    "undecided": "the search ended without an answer: there may be more points",
    "refused": "there may be tighter bounds, which the back end cannot search",
}


def traced(curve: Curve) -> Iterator[str]:
    """The points of a curve as a table; the spec's bound is marked."""
    rule = curve.rule
    if not curve.points:
        proven = curve.status == "infeasible"
        yield (
            "infeasible: proven; no tree satisfies the other rules"
            if proven
            else ENDED[curve.ended]
        )
    else:
        yield f"the best tree for every bound of `{rule.rule.name}`: {_with_scope(curve)}"
        yield ""
        yield from table(list(_points(curve)), indent="  ")
        yield ""
        which = "the complete trade-off, proven" if curve.complete else "not all of it proven"
        yield f"{counted(len(curve.points), 'point')}, {which}; {ENDED[curve.ended]}"
    yield from curve.notes
    searches = counted(curve.searches, "search", "searches")
    yield f"{curve.backend}, {curve.seconds:.2f} s, {searches}"


def _with_scope(curve: Curve) -> str:
    scope = curve.rule.rule.scope
    head = "" if scope is Scope.MODEL else f"forall {scope.value}: "
    return f"{head}{curve.rule.text} {curve.rule.op} bound"


def _points(curve: Curve) -> Iterator[Sequence[str]]:
    rule, marked = curve.rule, curve.at()
    stages = [stage.partition(" ")[2] for stage in curve.stages]
    others = (
        ["depth", "leaves"] if curve.points[0].errors is None else ["errors", "depth", "leaves"]
    )
    others = [name for name in others if name not in stages]
    yield ("bound", *stages, *others, "proven", "")
    for point in curve.points:
        size = {
            "errors": shown(point.errors),
            "depth": str(point.tree.depth),
            "leaves": str(point.tree.n_leaves),
        }
        proven = "yes" if point.proven else f"no, gap {_percent(point.gap)}"
        if point.proven and not point.efficient:
            proven = "yes, but a tighter bound may do as well"
        yield (
            "any" if point.measure is None else rule.shown(point.measure),
            *map(shown, point.objective),
            *(size[name] for name in others),
            proven,
            f"<- {rule.op} {rule.shown(rule.bound)}, the bound in the spec"
            if point is marked
            else "",
        )
    if marked is None:
        yield (
            "",
            *("" for _ in (*stages, *others)),
            "",
            f"<- {rule.op} {rule.shown(rule.bound)}, the bound in the spec: "
            + ("no tree" if curve.ended == "tightest" else "not reached"),
        )


def _percent(gap: Fraction | None) -> str:
    return "unknown" if gap is None else f"{float(gap):.2%}"


BINDS = {True: "yes", False: "no", None: "undecided"}


def priced(found: Prices) -> Iterator[str]:
    """The best tree's values, and what each rule costs, as a table."""
    for stage in found.optimum.stages:
        yield "  " + stage_line(stage)
    if not found.prices:
        return
    in_rows = any(price.errors is not None for price in found.prices)
    exact = all(price.rows is not None for price in found.prices)
    if is_errors := all(price.rows == price.price[0] for price in found.prices):
        in_rows = False  # the price itself is in rows
    rows = [
        (
            "rule",
            "price",
            *(["errors"] if in_rows else []),
            "binds",
            "without it",
            "value",
            "bound",
            "slack",
        )
    ]
    for price in found.prices:
        errors = [ranged(price.rows) if exact else shown(price.errors)] if in_rows else []
        rows.append(
            (
                price.name,
                _ranges(price.price),
                *errors,
                BINDS[price.binds],
                _ranges(price.without),
                *sides_text(price),
                shown(price.slack),
            )
        )
    yield ""
    yield "what each rule costs: how much better the best tree is without it" + (
        ", in errors" if is_errors else ""
    )
    yield from table(rows, indent="  ")
    if in_rows and not exact:
        yield (
            "  errors: those of the two trees found; other trees that are as good may have more "
            "or fewer"
        )


def _ranges(found: Iterable[Range | None]) -> str:
    return ", ".join("-" if one is None else ranged(one) for one in found)


def ranged(found: Range | None) -> str:
    """`7`, or `3 to 7` where only that much is proven."""
    if found is None or (found.low is None and found.high is None):
        return "-"
    if found.low == found.high:
        return shown(found.low)
    if found.high is None:
        return f"at least {shown(found.low)}"
    if found.low is None:
        return f"at most {shown(found.high)}"
    return f"{shown(found.low)} to {shown(found.high)}"
