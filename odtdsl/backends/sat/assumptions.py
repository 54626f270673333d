"""One live formula for many questions of the same kind: can these rules be kept together?

Every rule, and every bound of the skeleton, has a selector: its clauses hold where that is
assumed. So a question is a call with assumptions, all that a solver has learned stays, and where
no tree keeps what is asked, the assumptions that the refutation used are a conflict already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from odtdsl.backends.base import DEPTH_BOUND, LEAVES_BOUND, Limits, Reply
from odtdsl.backends.clauses.lowering import (
    MAX_FORMULA_DEPTH,
    Lowered,
    deepest,
    demand_of,
    shape_of,
)
from odtdsl.backends.clauses.sums import at_most
from odtdsl.backends.sat.search import DepthSolver
from odtdsl.backends.staged import Stopped
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import admissible
from odtdsl.problem.ir.forms import Additive, Core, LinearStage, SplitFilter
from odtdsl.problem.ir.problem import TreeSkeleton
from odtdsl.problem.ir.raw import RawTree


class RuleAssumptions:
    """The rules of a problem, each under its name, and two bounds of the skeleton.

    Parameters
    ----------
    core
        The problem; its objective is not read. Its skeleton is the widest that is asked about.
    depth, leaves
        Bounds that count under the names `DEPTH_BOUND` and `LEAVES_BOUND`; None for none.
    """

    def __init__(
        self, core: Core, limits: Limits, *, depth: int | None, leaves: int | None
    ) -> None:
        self.demands: dict[str, list[BoolArray]] = {}
        for clause in core.clauses:
            if (demand := demand_of(clause)) is not None:
                self.demands.setdefault(clause.origin.rule, []).append(demand)
        bare = replace(core, objective=(LinearStage(measure=Additive()),))
        shape = shape_of(bare)
        everything = np.ones((core.n_rows, core.n_classes), dtype=bool)
        shape = replace(shape, allowed=everything, clauses=(), idle=True)
        lowered = Lowered(replace(bare, filters=()), deepest(core), shape)
        self.core, self.formula, self.tree = core, lowered.formula, lowered.tree
        self.live = DepthSolver(lowered, limits)
        names = {clause.origin.rule for clause in core.clauses}
        names |= {one.origin.rule for one in core.filters} | {DEPTH_BOUND, LEAVES_BOUND}
        self.selector = {name: self.formula.variable(f"asked: {name}") for name in sorted(names)}
        self._demanded: set[int] = set()
        for clause in core.clauses:
            if demand_of(clause) is None:
                lowered.rules.add(clause, (-self.selector[clause.origin.rule],))
        for one in core.filters:
            self._filter(one)
        self._skeleton(lowered, depth, leaves)
        self._demand(self.tree.rows_in)

    @staticmethod
    def takes(core: Core) -> bool:
        """Whether each rule's clauses can stand alone: rules on one column's thresholds cannot."""
        columns = [one.column for one in core.filters]
        return (
            len(set(columns)) == len(columns)
            and isinstance(core.skeleton, TreeSkeleton)
            and deepest(core) <= MAX_FORMULA_DEPTH
        )

    def ask(self, names: Iterable[str], deadline: float | None = None) -> Reply | None:
        """A tree that keeps the rules and bounds of these names; None where time ended first."""
        self.live.limits = replace(self.live.limits, deadline=deadline)
        try:
            return self._reply(set(names))
        except Stopped:
            return None

    def _reply(self, asked: set[str]) -> Reply:
        selectors = {self.selector[name]: name for name in sorted(asked) if name in self.selector}
        while True:
            tree = self.live.ask(list(selectors))
            if tree is None:
                core = self.live.solver.get_core() or []
                return Reply(tree=None, conflict=frozenset(selectors[x] for x in core))
            wrong = self._wrong(tree, asked)
            if not wrong:
                return Reply(tree=tree)
            for row in wrong:
                self.tree.add_row(row)
            self._demand(wrong)

    def close(self) -> None:
        """Free the solver."""
        self.live.close()

    # ---- what is asked

    def _filter(self, one: SplitFilter) -> None:
        guard = -self.selector[one.origin.rule]
        self.formula.group(f"rule `{one.origin.rule}`", one.origin.rule)
        for f in self.tree.families:
            family = self.core.families[f]
            if family.column != one.column:
                continue
            allowed = admissible(family, family.domain & one.allowed)
            for level in range(self.tree.depth):
                if one.levels is not None and level not in one.levels:
                    continue
                for node in self.tree.at_level(level):
                    upto = self.tree.upto[f][node - 1].tolist()
                    for test in np.flatnonzero(~allowed).tolist():
                        self.formula.add(guard, -upto[test], *([upto[test - 1]] if test else []))

    def _skeleton(self, lowered: Lowered, depth: int | None, leaves: int | None) -> None:
        tree, formula = self.tree, self.formula
        formula.group("bounds of the skeleton")
        if depth is not None and depth < tree.depth:
            assert tree.idle is not None, "nodes may be no split"
            for node in tree.at_level(depth):
                formula.add(-self.selector[DEPTH_BOUND], int(tree.idle[node - 1]))
        if leaves is not None:
            terms = lowered.rules.terms(Additive(leaves=1), Scope.MODEL, 0)
            at_most(formula, terms, leaves, (-self.selector[LEAVES_BOUND],))

    def _demand(self, rows: Iterable[int]) -> None:
        """What demands of no error ask of rows that are in the formula."""
        for row in rows:
            if row in self._demanded:
                continue
            self._demanded.add(row)
            for name, demands in self.demands.items():
                for demand in demands:
                    labels = np.flatnonzero(demand[row]).tolist()
                    if len(labels) < self.core.n_classes:
                        self.tree.allow(row, labels, (-self.selector[name],))

    def _wrong(self, tree: RawTree, asked: set[str]) -> list[int]:
        """One row per leaf that a demand wants predicted otherwise."""
        allowed = np.ones((self.core.n_rows, self.core.n_classes), dtype=bool)
        for name in asked & set(self.demands):
            for demand in self.demands[name]:
                allowed &= demand
        found = Evaluation(self.core, tree)
        wrong = np.flatnonzero(~allowed[np.arange(self.core.n_rows), found.predicted])
        _, first = np.unique(found.leaf_of[wrong], return_index=True)
        return [int(row) for row in wrong[first]]
