"""A result in a notebook: status, picture and audit, without scripts or styles of its own but
those that stay inside of it."""

from __future__ import annotations

from odtdsl import console
from odtdsl.predictors.svg import to_svg
from odtdsl.report.markup import Markup, Part, joined, tag
from odtdsl.result import Result


def fragment(result: Result) -> str:
    """The result as a piece of HTML."""
    parts: list[Part] = [tag("p", tag("strong", console.status_line(result)))]
    if result.stages:
        lines = (tag("li", console.stage_line(stage)) for stage in result.stages)
        parts.append(tag("ul", *lines))
    if result.model is not None:
        parts.append(Markup(to_svg(result.model)))
    if result.test is not None:
        parts.append(tag("p", console.test_line(result.test)))
    if result.audit is not None:
        heads = ("rule", "holds", "value", "bound", "slack", "says")
        rows = [
            (line.rule, "yes" if line.holds else "soft" if line.soft else "NO",
             console.shown(line.value), console.shown(line.bound), console.shown(line.slack),
             line.text + (f" ({line.note})" if line.note else ""))
            for line in result.audit.lines
        ]  # fmt: skip
        head = tag("tr", *(tag("th", one) for one in heads))
        body = (tag("tr", *(tag("td", one) for one in row)) for row in rows)
        audit = tag("table", tag("thead", head), tag("tbody", *body))
        parts.append(tag("details", tag("summary", _kept(result)), audit))
    return tag("div", joined(parts))


def _kept(result: Result) -> str:
    assert result.audit is not None, "there is an audit"
    count = console.counted(len(result.audit.lines), "line")
    return f"audit: {count}, " + ("all hold" if result.audit.holds else "some do NOT hold")
