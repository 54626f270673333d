"""The model of a report: its picture, the form to follow a row, and the table of its nodes."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.predictors.graph import Joint
from odtdsl.predictors.wording import (
    leaf_words,
    node_words,
    share_text,
)
from odtdsl.presentation.pictures.picture import MARGIN
from odtdsl.presentation.pictures.svg import drawn, picture_of
from odtdsl.presentation.report.markup import Markup, Part, cells, joined, section, table, tag
from odtdsl.presentation.report.node_facts import SHOWS, Facts, NodeFacts, cost_words, notes_of
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.targets import ReportPart

WIDE = 900.0
"""A picture wider than this, in px, is printed on paper turned sideways."""

DEEPEST_INDENT = 12
"""Levels that the table of nodes sets off from each other."""


def model(subject: Subject) -> Markup:
    """The picture, its controls, and the nodes in words."""
    facts = subject.facts
    if facts is None:
        return Markup("")
    picture = picture_of(facts.model, notes=notes_of(facts, SHOWS, numbered=True))
    wide = picture.width + 2 * MARGIN > WIDE
    return section(
        "The model",
        "model",
        tag("div", Markup(_TOOLS), id="tools", class_="tools", hidden=True),
        tag(
            "figure",
            tag(
                "div",
                Markup(drawn(picture, None)),
                id="picture",
                class_="scroll",
                role="region",
                aria_label="the picture of the model",
            ),
            tag("figcaption", _caption(facts)),
        ),
        tag("form", id="follow", hidden=True, autocomplete="off"),
        _nodes(facts),
        class_="wide" if wide else None,
    )


_TOOLS = (
    '<button type="button" id="unfold">Unfold all</button>'
    '<button type="button" id="fold">Fold below the root</button>'
    '<button type="button" id="size" aria-pressed="false">Full size</button>'
    '<button type="button" id="clear">Clear marks</button>'
    '<span class="hint">Click a split, or press Enter on it, to fold what is below it.</span>'
)


def _caption(facts: Facts) -> str:
    problem = facts.rows.problem
    said = ["Every node shows its number and its training rows"]
    if any(one.costs for one in facts.nodes):
        said.append("the cost of the path so far")
    if problem.groups:
        said.append("rows of each group")
    if problem.rules:
        said.append("the rules that apply to it")
    arcs = "Rows that pass the test go left."
    if facts.model.kind == "diagram":
        arcs = "Dashed arcs mean no; the width of an arc is its share of the rows."
    return f"{', '.join(said)}. {arcs}"


# ---- the table


def _nodes(facts: Facts) -> Markup:
    problem = facts.rows.problem
    part = ReportPart.of(problem.target.kind)
    costs = any(one.costs is not None for one in facts.nodes)
    heads = [
        "node",
        "test or prediction",
        "reached by",
        "rows",
        "share",
        part.spread_head,
        *(group.name for group in problem.groups),
        *(["cost"] if costs else []),
        "rules",
    ]
    right = [3, 4, *range(6, 6 + len(problem.groups))]
    rows = [_row(one, facts, costs, right) for one in facts.nodes]
    return table("Nodes", heads, rows, numbers=right, class_="nodes")


def _row(one: NodeFacts, facts: Facts, costs: bool, right: list[int]) -> Markup:
    node = one.node
    said: list[Part] = [
        tag("a", f"#{node.number}", href="#picture", data_show=node.number),
        tag("span", _words(one, facts), class_=f"l{_indent(one, facts)}"),
        joined(_into(one, facts), ", ") or "all rows",
        str(len(one.inside)),
        share_text(len(one.inside), facts.rows.n_rows),
        ReportPart.of(facts.rows.problem.target.kind).spread(one, facts),
        *map(str, one.groups),
    ]
    if costs:
        said.append("" if one.costs is None else cost_words(one).removeprefix("cost "))
    said.append(joined((_rule_link(name, facts) for name in one.rules), ", "))
    kind = "split" if isinstance(node, Joint) else "end"
    return tag(
        "tr", *cells(said, right), id=f"node-{node.number}", data_row=node.number, class_=kind
    )


def _indent(one: NodeFacts, facts: Facts) -> int:
    """Trees are set off by level; in diagrams a node has many above it."""
    if facts.model.kind == "diagram":
        return 0
    return min(one.node.level, DEEPEST_INDENT)


def _words(one: NodeFacts, facts: Facts) -> str:
    node = one.node
    if not isinstance(node, Joint):
        label, counts = leaf_words(node.leaf, facts.model)
        return f"{label} ({counts})"
    words = " ".join(node_words(node.split))
    return words + "".join(f" ({note})" for note in facts.missing.get(node.number, ())) + "?"


def _into(one: NodeFacts, facts: Facts) -> Iterator[Markup]:
    for joint, answer in facts.graph.arcs_into(one.node.number):
        link = tag("a", f"#{joint.number}", href=f"#node-{joint.number}")
        yield joined((link, f" {answer}"))


def _rule_link(name: str, facts: Facts) -> Markup:
    """A link to the audit of a rule."""
    at = [rule.name for rule in facts.rows.problem.rules].index(name)
    return tag("a", name, href=f"#rule-{at}", data_rule=at)


def node_links(numbers: tuple[int, ...]) -> Markup:
    """Links to nodes, which show them in the picture."""
    return joined((tag("a", f"#{n}", href=f"#node-{n}", data_show=n) for n in numbers), " ")
