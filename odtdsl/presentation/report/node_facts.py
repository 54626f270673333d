"""What is known of each node of a model: rows, groups, costs, and the rules that shaped it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from odtdsl.base.numbers import counted
from odtdsl.datasets.table import IntArray
from odtdsl.driver.result import Show
from odtdsl.insight.attribution import rules_by_node
from odtdsl.predictors.graph import End, Graph, Joint
from odtdsl.predictors.missing_values import missing_notes
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.wording import rounded
from odtdsl.presentation.pictures.picture import Notes
from odtdsl.problem.ir.expr import GroupArg
from odtdsl.problem.ir.rows import Rows

SHOWS: tuple[Show, ...] = ("costs", "groups", "rules")

MAX_TESTED_SETS = 256
"""Sets of features asked above a node of a diagram that are told apart for its costs."""

MOST_NAMES = 3
"""Rules, and groups, that a picture names at a node; the table of nodes has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A node on the training rows.

    Attributes
    ----------
    inside
        int64: the rows that reach it, as positions.
    groups
        Rows of each group of the spec in it, in their order.
    costs
        The least and the largest cost of a path down to it, what it asks itself included; None
        where the spec has no costs, or a diagram has too many paths.
    rules
        Names of the rules that speak of it.
    """

    node: Joint | End
    inside: IntArray
    groups: tuple[int, ...]
    costs: tuple[Fraction, Fraction] | None
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A model on the training rows, node by node."""

    model: Predictor
    graph: Graph
    rows: Rows
    nodes: tuple[NodeFacts, ...]
    missing: Notes
    """Where missing cells go at splits, where such cells can be."""

    def shaped(self, rule: str) -> tuple[int, ...]:
        """The numbers of the nodes that a rule applies to."""
        return tuple(one.node.number for one in self.nodes if rule in one.rules)


def facts_of(model: Predictor, rows: Rows) -> Facts:
    """Of each node what is known.

    Raises
    ------
    OdtError
        U201 to U204: the rows are not ones that the model reads.
    """
    graph = model.graph()
    inside = model.rows_of_nodes(rows.data.table)
    masks = [rows.mask(GroupArg(name=group.name)) for group in rows.problem.groups]
    costs = _costs(graph, rows)
    nodes = tuple(
        NodeFacts(
            node=node,
            inside=here,
            groups=tuple(int(mask[here].sum()) for mask in masks),
            costs=costs[node.number],
            rules=rules,
        )
        for node, here, rules in zip(
            graph.nodes, inside, rules_by_node(graph, rows, inside), strict=True
        )
    )
    missing = missing_notes(model, rows.data.table, rows.may_miss)
    return Facts(model=model, graph=graph, rows=rows, nodes=nodes, missing=missing)


def has_costs(rows: Rows) -> bool:
    """Whether asking costs anything."""
    costs = rows.problem.costs
    return any(costs.features) or any(shared.amount for shared in costs.shared)


def cost_of(asked: Iterable[str], rows: Rows) -> Fraction:
    """What a path costs that asks these features."""
    from odtdsl.auditor.meanings import price

    return price(rows.problem, frozenset(asked))


def _costs(graph: Graph, rows: Rows) -> list[tuple[Fraction, Fraction] | None]:
    """By the sets of features that paths to a node ask; each node comes behind those above."""
    asked: list[set[frozenset[str]] | None] = [set() for _ in graph.nodes]
    found: list[tuple[Fraction, Fraction] | None] = [None] * len(graph.nodes)
    if not has_costs(rows):
        return found
    asked[graph.root] = {frozenset()}
    for node in graph.nodes:
        above = asked[node.number]
        if isinstance(node, Joint):
            here = None if above is None else {one | set(node.features) for one in above}
            for child in (node.left, node.right):
                asked[child] = _either(asked[child], here)
            above = here
        if above:
            each = [cost_of(sorted(one), rows) for one in above]
            found[node.number] = (min(each), max(each))
    return found


def _either(
    one: set[frozenset[str]] | None, other: set[frozenset[str]] | None
) -> set[frozenset[str]] | None:
    if one is None or other is None or len(one | other) > MAX_TESTED_SETS:
        return None
    return one | other


# ---- in words


def notes_of(
    facts: Facts, show: Sequence[Show], *, numbered: bool = False
) -> dict[int, tuple[str, ...]]:
    """What a picture adds to each node."""
    return {one.node.number: tuple(_notes(one, facts, show, numbered)) for one in facts.nodes}


def _notes(one: NodeFacts, facts: Facts, show: Sequence[Show], numbered: bool) -> Iterator[str]:
    node = one.node
    if numbered:
        sized = facts.model.kind == "tree" and isinstance(node, Joint)
        yield f"#{node.number}" + (f" · {counted(node.size, 'row')}" if sized else "")
    yield from facts.missing.get(node.number, ())
    if "costs" in show and one.costs is not None and one.costs[1]:
        yield cost_words(one)
    if "groups" in show:
        yield from _groups(one, facts)
    if "rules" in show and one.rules:
        more = len(one.rules) - MOST_NAMES
        names = (*one.rules[:MOST_NAMES], *([f"{more} more"] if more > 0 else []))
        yield "rules: " + ", ".join(names)


def _groups(one: NodeFacts, facts: Facts) -> Iterator[str]:
    names = [group.name for group in facts.rows.problem.groups]
    each = [f"{name} {n}" for name, n in zip(names, one.groups, strict=True)]
    more = len(each) - MOST_NAMES
    yield from each[:MOST_NAMES] if more > 1 else each  # a single one has its line
    if more > 1:
        yield f"{more} more groups"


def cost_words(one: NodeFacts) -> str:
    """`cost 5`, or `cost 5 to 20` where paths differ."""
    assert one.costs is not None
    low, high = (rounded(float(cost)) for cost in one.costs)
    return f"cost {low}" if low == high else f"cost {low} to {high}"
