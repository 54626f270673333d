"""From a result to a report: explanations to add, and saved models as results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.driver.result import Result
from odtdsl.presentation.report.subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from odtdsl.base.theme import Theme
    from odtdsl.driver.result import Show
    from odtdsl.insight.explanations import Explanation
    from odtdsl.predictors.predictor import Predictor

CONFLICT_SECONDS = 60.0
"""What the search for a conflict may take where no time is named."""


def subject_of(
    result: Result,
    *,
    title: str = "",
    prices: bool = False,
    seconds: float | None = None,
    with_rows: bool = True,
    claim: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Subject:
    """A result with what a report says of its rules.

    Parameters
    ----------
    result
        With its training rows, as `solve` gives it.
    title
        Of the page; default the name of the spec.
    prices
        Whether the price of each rule is searched for; a conflict always is.
    seconds
        What that may take.
    with_rows
        Whether the page may hold training rows.
    claim
        Said of the status instead of what the result says.
    tell
        Called with what is searched for, in words.

    Raises
    ------
    OdtError
        U361: the result has no rows, as after pickling without them.
    """
    if result.rows is None:
        raise error(
            "U361",
            "the result has no training rows to report on",
            helps=("use the result of `solve`, or `odt report SPEC --model FILE`",),
        )
    explanation, other_warnings = None, ""
    if prices or result.status == "infeasible":
        try:
            explanation = _explained(result, seconds, tell)
        except OdtError as refused:
            other_warnings = "; ".join(one.message for one in refused.diagnostics)
    return Subject(
        result=result,
        title=title,
        explanation=explanation,
        other_warnings=other_warnings,
        with_rows=with_rows,
        claim=claim,
    )


def _explained(result: Result, seconds: float | None, tell: Callable[[str], None]) -> Explanation:
    from odtdsl.compiler import Analysis
    from odtdsl.insight.explanations import explain

    assert result.rows is not None, "asked before"
    problem = result.rows.problem
    data = result.rows.data
    analysis = Analysis(problem=problem, rows=result.rows, test=None, table=data.table, warnings=())
    if seconds is None and problem.options.seconds is None and result.status == "infeasible":
        seconds = CONFLICT_SECONDS
    return explain(analysis, seconds=seconds, tell=tell)


def report(
    result: Result,
    path: Path,
    *,
    title: str = "",
    prices: bool = False,
    seconds: float | None = None,
    with_rows: bool = True,
) -> None:
    """Write the report of a result; see `Result.report`."""
    from odtdsl.base.files import check_writable
    from odtdsl.presentation.report.page import write

    check_writable(path)
    write(
        subject_of(result, title=title, prices=prices, seconds=seconds, with_rows=with_rows), path
    )


def _pictured(result: Result, show: Sequence[Show]) -> tuple[Predictor, dict[int, tuple[str, ...]]]:
    """The model of a result, and what a picture adds to its nodes."""
    from odtdsl.presentation.report.node_facts import SHOWS, facts_of, notes_of

    if result.model is None or result.rows is None:
        raise error("U361", f"there is no model to draw: the status is {result.status}")
    if wrong := sorted(set(show) - set(SHOWS)):
        raise error(
            "U362",
            f"`{wrong[0]}` is not something that pictures show",
            helps=(f"write some of {', '.join(SHOWS)}",),
        )
    return result.model, notes_of(facts_of(result.model, result.rows), show)


def result_svg(
    result: Result, *, title: str = "", theme: Theme = "auto", show: Sequence[Show]
) -> str:
    """The model of a result as an SVG document; see `Result.to_svg`."""
    from odtdsl.presentation.pictures.svg import to_svg

    model, notes = _pictured(result, show)
    return to_svg(model, title=title, theme=theme, notes=notes)


def result_plot(result: Result, ax: Axes | None, *, show: Sequence[Show]) -> Axes:
    """The model of a result drawn by matplotlib; see `Result.plot`."""
    from odtdsl.presentation.pictures.plot import plot

    model, notes = _pictured(result, show)
    return plot(model, ax, notes=notes)
