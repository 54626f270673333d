"""A result in a notebook: status, picture and audit; its scripts and styles stay inside."""

from __future__ import annotations

from odtdsl.base.numbers import counted
from odtdsl.driver.result import Result
from odtdsl.predictors.missing_values import missing_notes
from odtdsl.presentation import console
from odtdsl.presentation.pictures.picture import Notes
from odtdsl.presentation.pictures.svg import to_svg
from odtdsl.presentation.report.markup import Markup, Part, joined, tag


def fragment(result: Result) -> str:
    """The result as a piece of HTML."""
    parts: list[Part] = [tag("p", tag("strong", console.status_line(result)))]
    if result.stages:
        lines = (tag("li", console.stage_line(stage)) for stage in result.stages)
        parts.append(tag("ul", *lines))
    if result.model is not None:
        parts.append(Markup(to_svg(result.model, notes=_notes(result))))
    if result.test is not None:
        parts.append(tag("p", console.test_line(result.test)))
        told = console.test_lines(result.test, console.stage_texts(result))
        parts.append(tag("ul", *(tag("li", line) for line in told)))
        if result.test.audit is not None and result.test.audit.lines:
            parts.append(tag("pre", "\n".join(console.audited_test(result.test.audit))))
    if result.audit is not None:
        head = tag("tr", *(tag("th", one) for one in console.COLUMNS))
        body = (
            tag("tr", *(tag("td", one) for one in console.checked(line)))
            for line in result.audit.lines
        )
        audit = tag("table", tag("thead", head), tag("tbody", *body))
        groups = "\n".join(console.by_group(result.audit.lines))
        said = (tag("pre", groups),) if groups else ()
        parts.append(tag("details", tag("summary", _kept(result)), audit, *said))
    return tag("div", joined(parts))


def _notes(result: Result) -> Notes | None:
    """Where missing cells go, with counts; without the rows there are none."""
    if result.model is None or result.rows is None:
        return None
    rows = result.rows
    return missing_notes(result.model, rows.data.table, rows.may_miss)


def _kept(result: Result) -> str:
    assert result.audit is not None, "there is an audit"
    count = counted(len(result.audit.lines), "line")
    return f"audit: {count}, " + ("all hold" if result.audit.holds else "some do NOT hold")
