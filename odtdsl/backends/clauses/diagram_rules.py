"""Rules and measures as clauses on the variables of a diagram."""

from __future__ import annotations

from functools import cache

import numpy as np

from odtdsl.backends.clauses.diagram_paths import MOST_STATES, Layered, layered
from odtdsl.backends.clauses.diagrams import DiagramCode, widths_of
from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.maxima import bound_maxima
from odtdsl.backends.clauses.rules import Literal
from odtdsl.backends.clauses.sums import Terms, at_most
from odtdsl.problem.ir.automata import State
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Atom,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    MaximaBound,
    Root,
    SignedAtom,
    StageForm,
    Used,
)


class DiagramRules:
    """Clauses, atoms and measures over a diagram; definitions are made once each.

    Measures of rows need all kinds of rows in the code.
    """

    def __init__(self, code: DiagramCode) -> None:
        self.code, self.core, self.formula = code, code.core, code.formula
        self._labelled = cache(self._at_label)
        self.ended = cache(self._ended)

    # ---- clauses

    def add(self, clause: Clause) -> None:
        """The clause in every instance of its scope."""
        self.formula.group(f"rule `{clause.origin.rule}`", clause.origin.rule)
        match clause.scope:
            case Scope.PATH:
                self._paths(clause)
            case Scope.SPLIT:
                for node, split in enumerate(self.code.split.tolist()):
                    self._instance(clause, node, (-split,))
            case _:
                self._instance(clause, 0, ())

    def _instance(self, clause: Clause, node: int, guard: tuple[int, ...]) -> None:
        atom = clause.atom
        if isinstance(atom, Linear):
            at_most(self.formula, self.terms(atom.measure, clause.scope, node), atom.at_most, guard)
            return
        if isinstance(atom, MaximaBound):
            bound_maxima(self.formula, atom, self._of_model, guard)
            return
        self.formula.either(
            (self.literal(one, clause.scope, node) for one in clause.literals), guard
        )

    # ---- paths

    def _paths(self, clause: Clause) -> None:
        """No path of arcs ends in a state that breaks the rule."""
        code = self.code
        machine = layered(clause, len(self.core.columns), len(code.widths))
        assert machine is not None, "rules with too many states are refused before"
        if not machine.rule.holds(machine.start):
            self.formula.add(*(int(one) for one in code.split[:1]))
        here: dict[tuple[int, State], int] = {}
        if machine.start is not None and code.level:
            here[0, machine.start] = int(code.split[0])
        for level, layer in enumerate(machine.layers):
            below: dict[tuple[int, State], int] = {}
            for node in code.layer(level):
                away: dict[State, int] = {}
                for state in layer.states:
                    if (node, state) in here:
                        self._leave(node, here[node, state], layer.after[state], away)
                for after, leaves in away.items():
                    self._arrive(machine, node, after, leaves, below)
            here = below

    def _leave(
        self, node: int, there: int, after: tuple[State, ...], away: dict[State, int]
    ) -> None:
        """Some path comes to a node in a state: its test makes another one of it."""
        code = self.code
        groups: dict[State, list[int]] = {}
        for column, state in enumerate(after):
            groups.setdefault(state, []).append(column)
        most = max(groups, key=lambda state: len(groups[state]))
        others = [c for state, columns in groups.items() if state != most for c in columns]
        for state, columns in groups.items():
            if state is None:
                continue
            if state not in away:
                away[state] = self.formula.variable(
                    f"a path leaves node {node + 1} in state {len(away) + 1}"
                )
            if state == most:
                self.formula.add(-there, *code.selects(node, others), away[state])
            else:
                for one in code.selects(node, columns):
                    self.formula.add(-there, -one, away[state])

    def _arrive(
        self,
        machine: Layered,
        node: int,
        state: State,
        leaves: int,
        below: dict[tuple[int, State], int],
    ) -> None:
        """Both arcs of a node take its paths on, or end them."""
        code = self.code
        if not machine.rule.may_hold(state):
            self.formula.add(-leaves)
            return
        for side in (0, 1):
            if not machine.rule.holds(state):
                self.formula.add(-leaves, -int(code.ends[node, side]))
            for after in code.layer(code.level[node] + 1):
                if (after, state) not in below:
                    below[after, state] = self.formula.variable(
                        f"a path comes to node {after + 1} in state {len(below) + 1}"
                    )
                self.formula.add(-leaves, -code.to_node(node, side, after), below[after, state])

    # ---- atoms

    def literal(self, signed: SignedAtom, scope: Scope, node: int) -> Literal:
        """The literal of a signed atom, at a node where the scope is splits."""
        found = self._atom(signed.atom, scope, node)
        if isinstance(found, bool):
            return found == signed.positive
        return found if signed.positive else -found

    def _atom(self, atom: Atom, scope: Scope, node: int) -> Literal:
        code = self.code
        match atom:
            case Used():
                name = f"the diagram tests `{self.core.columns[atom.column]}`"
                tests = [x for q in range(len(code.level)) for x in code.selects(q, [atom.column])]
                return self.formula.any_of(tests, name)
            case Root():
                if not code.level:
                    return True
                tests = code.selects(0, atom.columns)
                name = "the root tests one of those asked for"
                return self.formula.any_of([*tests, -int(code.split[0])], name)
            case Depth():
                if atom.at_most >= len(code.widths):
                    return True
                return -int(code.split[code.layer(atom.at_most)[0]])
            case Linear():
                bounded = self.formula.variable(f"a sum is at most {atom.at_most}")
                terms = self.terms(atom.measure, scope, node)
                at_most(self.formula, terms, atom.at_most, (-bounded,))
                return bounded
            case MaximaBound():
                bounded = self.formula.variable("a sum of maxima is within its bound")
                bound_maxima(self.formula, atom, self._of_model, (-bounded,))
                return bounded
            case _:
                raise AssertionError(f"{type(atom).__name__} has no clauses on diagrams")

    # ---- measures

    def stage(self, stage: StageForm) -> Terms:
        """What a stage makes least: the numerator of its measure, or the depth."""
        if isinstance(stage, DepthStage):
            terms = Terms()
            for level in range(len(self.code.widths)):
                terms.add(int(self.code.split[self.code.layer(level)[0]]), 1)
            return terms
        assert isinstance(stage, LinearStage), "number targets are refused before"
        return self.terms(stage.measure, Scope.MODEL, 0)

    def _of_model(self, measure: Additive) -> Terms:
        return self.terms(measure, Scope.MODEL, 0)

    def terms(self, measure: Additive, scope: Scope, node: int) -> Terms:
        """The numerator of a measure, of the model or of a node."""
        terms = Terms(constant=measure.constant)
        if scope is Scope.MODEL:
            self._model_terms(measure, terms)
        else:
            self._node_terms(measure, node, terms)
        return terms

    def _model_terms(self, measure: Additive, terms: Terms) -> None:
        code = self.code
        if measure.rows is not None:
            terms.constant += int(measure.rows.sum())
        if measure.output is not None:
            values = np.zeros((len(code.first), self.core.n_classes), dtype=np.int64)
            np.add.at(values, code.kind_of, measure.output)
            for kind in np.flatnonzero(values.any(axis=1)).tolist():
                least = int(values[kind].min())
                terms.constant += least
                for label, value in enumerate(values[kind].tolist()):
                    if value > least:
                        terms.add(int(code.pred[kind][label]), value - least)
        for node in range(len(code.level)):
            if measure.splits:
                terms.add(int(code.split[node]), measure.splits)
            if measure.columns is not None:
                for f in code.families:
                    weight = int(measure.columns[self.core.families[f].column])
                    if weight:
                        terms.add(code.select(node, f), weight)
        if measure.leaves:
            for label in range(self.core.n_classes):
                terms.add(self.ended(label), measure.leaves)

    def _node_terms(self, measure: Additive, node: int, terms: Terms) -> None:
        code = self.code
        many = len(code.first)
        weights = np.zeros(many, dtype=np.int64)
        if measure.rows is not None:
            np.add.at(weights, code.kind_of, measure.rows)
        values = np.zeros((many, self.core.n_classes), dtype=np.int64)
        if measure.output is not None:
            np.add.at(values, code.kind_of, measure.output)
        for kind in np.flatnonzero(weights | values.any(axis=1)).tolist():
            least = int(values[kind].min())
            if weights[kind] + least:
                terms.add(int(code.at[kind][node]), int(weights[kind]) + least)
            for label, value in enumerate(values[kind].tolist()):
                if value > least:
                    terms.add(self._labelled(kind, node, label), value - least)

    def _at_label(self, kind: int, node: int, label: int) -> Literal:
        names, row = self.code.names, int(self.code.first[kind])
        told = f"{names.row(row)} comes to node {node + 1} and ends as {names.label(label)}"
        both = [int(self.code.at[kind][node]), int(self.code.pred[kind][label])]
        return self.formula.all_of(both, told)

    def _ended(self, label: int) -> Literal:
        """Some arc leads to a class; rows take every arc."""
        code = self.code
        arcs = [
            int(code.to_classes(q, side)[label]) for q in range(len(code.level)) for side in (0, 1)
        ]
        told = f"rows end as {code.names.label(label)}"
        return self.formula.any_of([*arcs, int(code.entry[label])], told)


def too_many_states(core: Core) -> list[tuple[Clause, str]]:
    """The rules on paths that have too many states, and why they are refused."""
    reason = f"following tests and costs along paths needs more than {MOST_STATES} states per layer"
    return [
        (clause, reason)
        for clause in core.clauses
        if clause.scope is Scope.PATH
        and layered(clause, len(core.columns), len(widths_of(core))) is None
    ]


def ruled(core: Core, formula: Formula | None = None) -> DiagramRules:
    """The formula of a diagram with all rows and rules."""
    code = DiagramCode(core, formula=formula)
    code.part_rows()
    rules = DiagramRules(code)
    for clause in core.clauses:
        rules.add(clause)
    return rules
