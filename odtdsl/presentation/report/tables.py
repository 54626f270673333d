"""The costs of features, the positions of thresholds, and the nodes that are shared."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from odtdsl.base.numbers import counted
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import AxisTest
from odtdsl.predictors.graph import End, Joint
from odtdsl.predictors.nodes import Threshold
from odtdsl.predictors.wording import leaf_words, node_words, number_text, rounded, value_text
from odtdsl.presentation.report.markup import Markup, Part, section, table, tag
from odtdsl.presentation.report.model import node_links
from odtdsl.presentation.report.node_facts import Facts, NodeFacts, cost_of, has_costs
from odtdsl.presentation.report.subject import Subject


def costs(subject: Subject) -> Markup:
    """Prices of features, and what the paths that rows take cost."""
    facts = subject.facts
    if facts is None or not has_costs(subject.rows):
        return Markup("")
    return section("Costs", "costs", _prices(facts), _paths(facts))


def _prices(facts: Facts) -> Markup:
    problem, asked = facts.rows.problem, set(facts.model.tested)
    rows = []
    for index, feature in enumerate(problem.features):
        price = problem.costs.features[index]
        shared = [s.amount for s in problem.costs.shared if index in s.features and s.amount]
        if price or shared:
            tested = "yes" if feature.name in asked else "no"
            also = " + ".join(_exact(amount) for amount in shared)
            rows.append((feature.name, _exact(price), also or "-", tested))
    heads = ("feature", "price", "shared, once per path", "tested by the model")
    return table("Cost of features", heads, rows, numbers=(1, 2))


def _paths(facts: Facts) -> Markup:
    """Each path that rows take, with its cost; in the end the mean."""
    rows: list[tuple[Part, ...]] = []
    total, weight = Fraction(0), 0
    for asked, inside, label, nodes in _taken(facts):
        cost = cost_of(asked, facts.rows)
        here = int(facts.rows.weights[inside].sum())
        total, weight = total + cost * here, weight + here
        names = ", ".join(dict.fromkeys(asked)) or "nothing"
        rows.append((names, label, nodes, str(len(inside)), _exact(cost)))
    if weight:
        rows.append(("expected cost per row", "", "", "", rounded(float(total / weight))))
    heads = ("tests", "predicts", "ends at", "rows", "cost")
    return table("Cost of the paths taken", heads, rows, numbers=(3, 4))


def _taken(facts: Facts) -> Iterator[tuple[list[str], list[int], str, Markup]]:
    """The paths of rows: features in the order of their tests, rows, prediction and end."""
    asked: dict[int, list[str]] = {}
    for one in facts.nodes:
        if isinstance(one.node, Joint):
            for row in one.inside.tolist():
                asked.setdefault(row, []).extend(one.node.features)
    for one in facts.nodes:
        if not isinstance(one.node, End):
            continue
        by_path: dict[tuple[str, ...], list[int]] = {}
        for row in one.inside.tolist():
            by_path.setdefault(tuple(asked.get(row, ())), []).append(row)
        label = leaf_words(one.node.leaf, facts.model)[0]
        for path, inside in by_path.items():
            yield list(path), inside, label, node_links((one.node.number,))


def _exact(value: Fraction) -> str:
    return number_text(float(value))


# ---- thresholds


def thresholds(subject: Subject) -> Markup:
    """Each threshold between the nearest values of the rows that reach it."""
    facts = subject.facts
    if facts is None:
        return Markup("")
    rows = [row for one in facts.nodes if (row := _threshold(one, facts)) is not None]
    if not rows:
        return Markup("")
    heads = ("node", "feature", "threshold", "next below", "next above", "rows yes", "rows no")
    said = (
        "Next below and above: the nearest values among the training rows that reach the "
        "node. Any threshold between them splits these rows in the same way."
    )
    return section(
        "Thresholds",
        "thresholds",
        tag("p", said, class_="hint"),
        table("Thresholds", heads, rows, numbers=range(2, 7)),
    )


def _threshold(one: NodeFacts, facts: Facts) -> tuple[Part, ...] | None:
    node = one.node
    if not isinstance(node, Joint) or not isinstance(node.split, AxisTest):
        return None
    test, name = node.split.test, node.split.feature
    if not isinstance(test, Threshold):
        return None
    column = facts.rows.data.columns[name]
    left, right = (str(size) for size in node.sizes)
    if column.numbers is None:
        levels = column.type.levels
        at, below = levels.index(test.value), value_text(test.value)
        above = value_text(levels[at + 1]) if at + 1 < len(levels) else "-"
        return node_links((node.number,)), name, below, below, above, left, right
    here = column.numbers[one.inside]
    here = here[here == here]
    cut = float(test.value)
    low, high = here[here <= cut], here[here > cut]
    below = number_text(float(low.max())) if low.size else "-"
    above = number_text(float(high.min())) if high.size else "-"
    return node_links((node.number,)), name, number_text(cut), below, above, left, right


# ---- shared nodes


def shared(subject: Subject) -> Markup:
    """The nodes of a diagram that several arcs lead to."""
    facts = subject.facts
    if facts is None or not isinstance(facts.model, Diagram):
        return Markup("")
    rows = []
    for one in facts.nodes:
        into = facts.graph.arcs_into(one.node.number)
        if isinstance(one.node, Joint) and len(into) > 1:
            arcs = "; ".join(
                f"#{joint.number} {answer}: {counted(joint.sizes[answer == 'no'], 'row')}"
                for joint, answer in into
            )
            asks = " ".join(node_words(one.node.split))
            rows.append(
                (node_links((one.node.number,)), asks, str(len(into)), arcs, str(one.node.size))
            )
    if not rows:
        return section(
            "Shared nodes", "shared", tag("p", "No node is reached by more than one arc.")
        )
    heads = ("node", "asks", "arcs", "from", "rows")
    return section("Shared nodes", "shared", table("Shared nodes", heads, rows, numbers=(2, 4)))
