"""Which rules apply to which nodes of a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.table import IntArray
from odtdsl.predictors.graph import Graph, Joint
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Budget,
    Linear,
    Link,
    MaximaBound,
    Monotone,
    Order,
    PathMeasure,
    PathTotal,
    Root,
    Used,
)
from odtdsl.problem.ir.rows import Rows

if TYPE_CHECKING:
    from odtdsl.problem.terms.normalize import RuleForms


def rules_by_node(
    graph: Graph, rows: Rows, inside: Sequence[IntArray]
) -> tuple[tuple[str, ...], ...]:
    """For each node the names of the rules that apply to it.

    Parameters
    ----------
    graph, rows
        A model, and the problem with its rows.
    inside
        Of each node the training rows that reach it, as `graph.rows_of`.

    Returns
    -------
    tuple
        At splits the rules on their features, thresholds and levels; at ends those on leaves
        and on the rows in them.
    """
    forms = forms_of_rules(rows)
    index = {feature.name: i for i, feature in enumerate(rows.problem.features)}
    found = []
    for node, here in zip(graph.nodes, inside, strict=True):
        if isinstance(node, Joint):
            columns = [index[name] for name in node.features if name in index]
            applies = applies_to_split(columns, node.level)
            found.append(tuple(name for name, one in forms if applies(one)))
        else:
            some = here.tolist()
            found.append(tuple(name for name, one in forms if applies_to_leaf(one, some)))
    return tuple(found)


def forms_of_rules(rows: Rows) -> list[tuple[str, RuleForms]]:
    """The rules of a problem by name, with their core forms; those that have none are left out."""
    from odtdsl.problem.terms.base import EmptyDenominator, Unsupported
    from odtdsl.problem.terms.formulas import TooManyCases
    from odtdsl.problem.terms.normalize import rule_forms

    found = []
    for rule in rows.problem.rules:
        try:
            found.append((rule.name, rule_forms(rule, rows)))
        except (Unsupported, EmptyDenominator, TooManyCases, OdtError):
            continue
    return found


def applies_to_split(columns: Collection[int], level: int) -> Callable[[RuleForms], bool]:
    """A predicate: whether the forms of a rule apply to a split of these columns at a level."""

    def applies(forms: RuleForms) -> bool:
        for each in forms.filters:
            if each.column in columns and (each.levels is None or level in each.levels):
                return True
            if not each.allowed and (each.levels is None or level in each.levels):
                return True  # it shapes the split by the features that it refuses
        return any(
            clause.scope is Scope.SPLIT
            or any(_mentions(literal.atom, column, level) for column in columns)
            for clause in forms.clauses
            for literal in clause.literals
        )

    return applies


def _mentions(atom: Atom, column: int, level: int) -> bool:
    """Whether an atom is about tests of a column (at a level)."""
    match atom:
        case Used() | Monotone():
            return atom.column == column
        case Order():
            return column in (atom.here, atom.above)
        case Root():
            return level == 0
        case Budget(measure=measure):
            return _weighs(measure, column)
        case PathTotal(path_sum=total):
            return _weighs(total.measure, column)
        case Linear(measure=measure_):
            return _counts(measure_, column)
        case MaximaBound():
            return any(_counts(one, column) for one in atom.measures)
        case _:
            return False


def _counts(measure: Additive, column: int) -> bool:
    return measure.columns is not None and bool(measure.columns[column])


def _weighs(measure: PathMeasure, column: int) -> bool:
    shared = any(s.amount and column in s.columns for s in measure.shared)
    return bool(measure.per_test[column] or measure.once[column] or shared)


def applies_to_leaf(forms: RuleForms, inside: list[int]) -> bool:
    """Whether the forms of a rule apply to a leaf with these training rows."""
    for clause in forms.clauses:
        if clause.scope is Scope.LEAF:
            return True
        for literal in clause.literals:
            atom = literal.atom
            if isinstance(atom, Link) and {atom.first, atom.second} & set(inside):
                return True
            measures: tuple[Additive, ...] = ()
            if clause.scope is Scope.MODEL and isinstance(atom, Linear | PathTotal):
                measures = (atom.measure,)
            elif isinstance(atom, MaximaBound):
                measures = atom.measures
            outputs = [one.output for one in measures if one.output is not None]
            if any(output[inside].any() for output in outputs):
                return True
    return False
