"""The spec with its rules, the audit, and what is known of conflicts and prices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from odtdsl.auditor.audit import AuditLine
from odtdsl.base.diagnostics.render import render_text
from odtdsl.base.source import Source
from odtdsl.insight.explanations import Explanation, Price, Prices
from odtdsl.presentation import console, explanations
from odtdsl.presentation.report.markup import (
    Markup,
    Part,
    block,
    cells,
    joined,
    section,
    table,
    tag,
)
from odtdsl.presentation.report.model import node_links
from odtdsl.presentation.report.subject import Subject
from odtdsl.problem.ir.problem import RuleDecl


def spec(subject: Subject) -> Markup:
    """The text of the spec; each rule is a link to its audit and shows its nodes."""
    source = subject.problem.source
    if source is None:
        return Markup("")
    conflict = _conflicting(subject.explanation)
    lines = _lines(source, subject.problem.rules, conflict, subject.model is not None)
    said = tag("pre", joined(lines), class_="spec")
    hint = "Click a rule to see the nodes that it applies to, and its line in the audit."
    some = subject.problem.rules and subject.model is not None
    return section("The spec", "spec", tag("p", hint, class_="hint screen") if some else None, said)


def _conflicting(explanation: Explanation | None) -> frozenset[str]:
    if explanation is None or not explanation.conflicts:
        return frozenset()
    return frozenset(one.name for one in explanation.conflicts[0].constraints)


def _lines(
    source: Source, rules: Iterable[RuleDecl], conflict: frozenset[str], linked: bool
) -> Iterator[Markup]:
    """Line by line, so that each has its number; a rule over several is a link in each."""
    spans = [(rule.span.start, rule.span.end, at, rule) for at, rule in enumerate(rules)]
    begins = 0
    for number, line in enumerate(source.text.rstrip("\n").split("\n"), start=1):
        ends, at = begins + len(line), begins
        parts: list[Part] = []
        for start, end, index, rule in sorted(spans, key=lambda span: span[0]):
            first, last = max(start, at), min(end, ends)
            if start < 0 or first >= last:
                continue
            parts.append(_code(source.text[at:first]))
            inside = tag(
                "a" if linked else "span",
                _code(source.text[first:last]),
                href=f"#rule-{index}" if linked else None,
                data_rule=index if linked else None,
                id=f"spec-{index}" if first == start else None,
                class_="rule conflict" if rule.name in conflict else "rule",
            )
            parts.append(inside)
            at = last
        parts.append(_code(source.text[at:ends]))
        yield tag("span", *parts, class_="line", id=f"line-{number}")
        yield Markup("\n")
        begins = ends + 1


def _code(words: str) -> str:
    """A piece of a line, with blanks for tabs and without a carriage return."""
    return words.replace("\t", "    ").replace("\r", "")


# ---- the audit


def audit(subject: Subject) -> Markup:
    """Every rule and part of the skeleton, checked."""
    found = subject.result.audit
    if found is None:
        return Markup("")
    order = {rule.name: at for at, rule in enumerate(subject.problem.rules)}
    heads = ("rule", "holds", "value", "bound", "slack", "over", "rows", "condition", "nodes")
    rows = [_line(line, order.get(line.rule), subject) for line in found.lines]
    return section(
        "Audit",
        "audit",
        tag(
            "p",
            (
                "Checked on the training rows by code that shares nothing with the solver. "
                "Value and bound are taken where the rule is tightest; rows are those that its "
                "measures cover."
            ),
            class_="hint",
        ),
        table("Rules and skeleton", heads, rows, numbers=(2, 3, 4, 5)),
        by_group(found.lines),
    )


def _line(line: AuditLine, index: int | None, subject: Subject) -> Markup:
    facts = subject.facts
    nodes = Markup("") if facts is None or index is None else node_links(facts.shaped(line.rule))
    name: Part = line.rule
    if index is not None and subject.problem.source is not None:
        name = tag("a", line.rule, href=f"#spec-{index}", data_rule=index)
    row = cells((name, *checked(line), nodes), (2, 3, 4, 5))
    return tag("tr", *row, id=None if index is None else f"rule-{index}", data_audit=index)


def checked(line: AuditLine) -> tuple[Part, ...]:
    """What a line of an audit says behind the name of its rule."""
    kept = console.kept_text(line)
    text = line.text + (f" ({line.note})" if line.note else "")
    return (
        tag("span", kept, class_=f"holds {kept.lower()}"),
        *console.sides_text(line),
        console.slack_text(line),
        str(line.instances),
        row_counts(line),
        text,
    )


def by_group(lines: Sequence[AuditLine]) -> Markup:
    """A table of the groups that rules compare; nothing where none does."""
    rows = [row for line in lines for row in console.group_rows(line)]
    if not rows:
        return Markup("")
    said = "Groups that rules compare, lowest first"
    return table(said, console.GROUP_COLUMNS, rows, numbers=(3, 4))


def row_counts(line: AuditLine) -> Markup:
    """How many rows a line rests on, with the names of their groups."""
    if len(line.rows) > console.MAX_ROW_COUNTS:
        each = "\n".join(f"{one.of}: {one.rows}" for one in line.rows)
        return tag("span", console.row_counts_text(line), title=each)
    said = (tag("span", f"{one.of} {one.rows}".strip(), class_="behind") for one in line.rows)
    return joined(said, " ") if line.rows else Markup("-")


# ---- conflicts and prices


def explained(subject: Subject) -> Markup:
    """Which rules conflict, or what each costs."""
    found = subject.explanation
    if found is None:
        said = tag("p", subject.other_warnings) if subject.other_warnings else None
        return section("Rules, explained", "explained", said)
    if found.prices is not None:
        return _prices(found.prices, subject)
    title = "Why there is no model" if found.status == "infeasible" else "Rules, explained"
    parts = [_conflict(found, subject)] if found.conflicts else []
    texts = [tag("pre", block(render_text(one))) for one in found.diagnostics()]
    return section(title, "explained", *parts, *texts)


def _conflict(found: Explanation, subject: Subject) -> Markup:
    order = {rule.name: at for at, rule in enumerate(subject.problem.rules)}
    nearest = {one.constraint.name: one for one in found.nearest}
    drop = {one.name for one in found.drop or ()}
    rows = []
    for one in found.conflicts[0].constraints:
        at = order.get(one.name)
        near = nearest.get(one.name)
        name = one.name if at is None else tag("a", one.name, href=f"#spec-{at}")
        would = "-" if near is None else near.text
        rows.append((name, one.text, would, "yes" if one.name in drop else ""))
    heads = ("rule or bound", "condition", "nearest bound that works", "enough to drop")
    return table("A proven conflict: these cannot hold together", heads, rows)


def _prices(found: Prices, subject: Subject) -> Markup:
    if not found.prices:
        return Markup("")
    order = {rule.name: at for at, rule in enumerate(subject.problem.rules)}
    rows = [_price(one, order.get(one.name)) for one in found.prices]
    heads = ("rule", "price", "errors", "binds", "without it", "value", "bound", "slack")
    return section(
        "Price of rules",
        "prices",
        tag(
            "p",
            (
                "How much better the best model is without the rule. The price is in the units "
                "of the objective; errors are those of the two models found."
            ),
            class_="hint",
        ),
        table("What each rule costs", heads, rows, numbers=(1, 2, 4, 5, 6, 7)),
    )


def _price(one: Price, index: int | None) -> tuple[Part, ...]:
    name: Part = one.name
    if index is not None:
        name = tag("a", one.name, href=f"#rule-{index}", data_rule=index)
    price, without = (
        ", ".join("-" if each is None else explanations.ranged(each) for each in ranges)
        for ranges in (one.price, one.without)
    )
    return (
        name,
        price,
        console.shown(one.errors),
        explanations.BINDS[one.binds],
        without,
        *console.sides_text(one),
        console.shown(one.slack),
    )
