"""Why no tree satisfies all rules: conflicts, what to drop, and the nearest bounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.backends.base import Limits
from odtdsl.backends.decode import to_tree
from odtdsl.base.diagnostics.model import error
from odtdsl.base.source import NOWHERE, Span
from odtdsl.driver.choice import choose, refused
from odtdsl.insight.explanations.conflict_sets import (
    Conflicts,
    ConflictSet,
    Members,
    shrink,
    smallest_drop,
)
from odtdsl.insight.explanations.explanation import Conflict, Explanation, NearestBound
from odtdsl.insight.explanations.near_misses import near_miss
from odtdsl.insight.explanations.nearest_bounds import UndecidedError, nearest
from odtdsl.insight.explanations.oracle import DEEPER, Constraint, Oracle, no_progress, relaxed
from odtdsl.insight.explanations.prices import Prices, price_rules
from odtdsl.language import ast
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH, Problem, TreeSkeleton
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis

MAX_CONFLICTS = 20
"""Conflicts that are listed where all are asked for, unless said otherwise."""


def explain(
    analysis: Analysis,
    *,
    backend: str | None = None,
    seconds: float | None = None,
    memory_bytes: int | None = None,
    most: int = 1,
    deeper: int = DEEPER,
    tell: Callable[[str], None] = no_progress,
    began: float | None = None,
) -> Explanation:
    """Why no tree keeps all rules of a spec; or, where one does, what each rule costs.

    Parameters
    ----------
    analysis
        The spec, resolved.
    backend
        `auto` or a name.
    seconds
        Wall time, counted from `began`; default that of the spec.
    memory_bytes
        Of one search.
    most
        How many conflicts to look for.
    deeper
        The depth counts as relaxed where so many levels more are allowed; 0: it is no constraint.
    tell
        Called before each search with what is searched for, in words.
    began
        `time.monotonic()` value from which time counts, so that reading counts; default: from here.

    Raises
    ------
    OdtError
        B102: no back end expresses the problem, or it is one of diagrams.
    """
    from odtdsl.base.interrupts import interruptible

    began, options = began or time.monotonic(), analysis.problem.options
    seconds = options.seconds if seconds is None else seconds
    given = analysis.problem.skeleton
    if not isinstance(given, TreeSkeleton):
        raise error(
            "B102",
            "`odt explain` does not support diagrams yet",
            helps=(
                "explain the rules for a tree: write `tree depth <= 3` instead of the diagram",
                "`odt solve` says of a diagram whether its rules can be kept",
            ),
        )
    core = replace(normalize(_of_all_levels(analysis, given, deeper)), skeleton=given)
    choice = choose(core, backend or options.backend)
    if choice.name is None:
        raise refused(choice, backend or options.backend, analysis.problem.source)
    with interruptible() as interrupted:
        limits = Limits(
            deadline=None if seconds is None else began + seconds,
            gap=Fraction(0),
            threads=options.threads,
            seed=options.seed,
            interrupted=interrupted,
            memory_bytes=options.memory_bytes if memory_bytes is None else memory_bytes,
        )
        oracle = Oracle(
            core, constraints(analysis.problem, deeper), choice.name, limits, deeper, tell
        )
        return _Explainer(analysis, oracle, most, began, interrupted).run()


def _of_all_levels(analysis: Analysis, given: TreeSkeleton, deeper: int) -> Rows:
    """Rules on levels mean the same in deeper trees only if they are read for those."""
    deepest = relaxed(given, deeper=deeper, leaves=True)
    return Rows(replace(analysis.problem, skeleton=deepest), analysis.rows.data)


def constraints(problem: Problem, deeper: int = DEEPER) -> tuple[Constraint, ...]:
    """The rules in their order, then the bounds of the skeleton."""
    found = [
        Constraint(kind="rule", name=rule.name, text=rule.text, span=rule.span)
        for rule in problem.rules
    ]
    skeleton = problem.skeleton
    assert isinstance(skeleton, TreeSkeleton), "diagrams have been rejected"
    spans = _skeleton_spans(problem)
    if skeleton.leaves is not None:
        text = f"leaves <= {skeleton.leaves}"
        span = spans.get("leaves", NOWHERE)
        found.append(Constraint(kind="leaves", name="tree leaves", text=text, span=span))
    if skeleton.depth is not None and deeper and skeleton.depth < MAX_SEARCH_DEPTH:
        text = f"depth <= {skeleton.depth}"
        span = spans.get("depth", NOWHERE)
        found.append(Constraint(kind="depth", name="tree depth", text=text, span=span))
    return tuple(found)


def _skeleton_spans(problem: Problem) -> dict[str, Span]:
    """Where the `tree` statement bounds depth and leaves (also as splits or nodes)."""
    from odtdsl.language.parser import parse

    if problem.source is None:
        return {}
    found: dict[str, Span] = {}
    for statement in parse(problem.source).statements:
        if isinstance(statement, ast.Tree):
            for bound in statement.bounds:
                found["depth" if bound.measure == "depth" else "leaves"] = bound.span
    return found


class _Explainer:
    """One explanation."""

    def __init__(
        self,
        analysis: Analysis,
        oracle: Oracle,
        most: int,
        began: float,
        interrupted: Callable[[], bool],
    ) -> None:
        self.analysis, self.oracle, self.most, self.began = analysis, oracle, most, began
        self.interrupted = interrupted

    def run(self) -> Explanation:
        oracle = self.oracle
        answer = oracle.answer(oracle.all_members)
        if answer.feasible is None:
            missed = near_miss(oracle, self.analysis.rows)
            return self._explained("undecided", near_miss=missed)
        if answer.tree is not None:
            return self._explained("feasible", prices=self._prices(answer.tree))
        order = sorted(oracle.all_members)
        first = shrink(oracle.feasible, oracle.all_members, order)
        conflicts, complete = self._conflicts(first, order)
        drop = self._drop([first.members, *(one for one, _, _ in conflicts)])
        bounds, open_ = self._nearest(conflicts[0][0])
        return self._explained(
            "infeasible",
            conflicts=tuple(
                Conflict(
                    constraints=self._named(members),
                    minimal=minimal,
                    smallest=smallest,
                    searched=self._searched(members),
                )
                for members, minimal, smallest in conflicts
            ),
            complete=complete,
            drop=None if drop is None else self._named(drop),
            nearest=bounds,
            open=open_,
        )

    def _prices(self, tree: RawTree) -> Prices | None:
        """What each rule costs, given a tree that keeps all."""
        oracle = self.oracle
        return price_rules(
            self.analysis,
            oracle.constraints,
            oracle.backend,
            oracle.limits,
            deeper=oracle.deeper,
            start=to_tree(oracle.core, self.analysis.rows, tree),
            tell=oracle.tell,
        )

    def _conflicts(
        self, first: ConflictSet, order: list[int]
    ) -> tuple[list[tuple[Members, bool, bool]], bool]:
        """Conflicts, each with whether it is minimal and whether smallest; and if they are all."""
        search = Conflicts(self.oracle.feasible, order, first)
        found: list[tuple[Members, bool, bool]] = []
        while len(found) < self.most and (members := search.next()) is not None:
            smallest = not search.open and len(members) == len(search.known[0])
            found.append((members, True, smallest))
        if first.members not in search.known and (not found or len(found) < self.most):
            found.append((first.members, first.minimal, False))
        if self.most > 1 and len(found) == self.most and not search.complete:
            search.next()  # maybe these are all
        return found, search.complete

    def _drop(self, conflicts: list[Members]) -> Members | None:
        oracle = self.oracle
        rules = frozenset(i for i in oracle.all_members if oracle.constraints[i].kind == "rule")
        found = smallest_drop(oracle.feasible, oracle.all_members, rules, conflicts)
        return None if found is None else found.members

    def _nearest(
        self, conflict: Members
    ) -> tuple[tuple[NearestBound, ...], tuple[Constraint, ...]]:
        """For each member the nearest bound; and of which it is undecided.

        The rest of the spec is kept if that is possible; else the rest of the conflict, with the
        skeleton of the spec if that is possible.
        """
        oracle = self.oracle
        found: list[NearestBound] = []
        open_: list[Constraint] = []
        skeleton = {i for i in oracle.all_members if oracle.constraints[i].kind != "rule"}
        for constraint in sorted(conflict):
            rest = oracle.feasible(oracle.all_members - {constraint})
            among = oracle.all_members if rest else conflict | skeleton
            if not rest and not oracle.feasible(among - {constraint}):
                among = conflict
            try:
                one = nearest(oracle, self.analysis.rows, constraint, among)
            except UndecidedError:
                open_.append(oracle.constraints[constraint])
                continue
            if one is not None:
                kept = among - {constraint}
                found.append(
                    NearestBound(
                        constraint=oracle.constraints[constraint],
                        found=one,
                        others="spec" if rest else "conflict",
                        kept=self._named(kept),
                        searched=self._searched(kept),
                        rest=rest,
                    )
                )
        return tuple(found), tuple(open_)

    def _searched(self, members: Members) -> TreeSkeleton:
        """The trees among which one that keeps these is searched for."""
        return self.oracle.without(self.oracle.all_members - members).tree

    def _named(self, members: Members) -> tuple[Constraint, ...]:
        return tuple(self.oracle.constraints[i] for i in sorted(members))

    def _explained(
        self, status: str, *, prices: Prices | None = None, **parts: object
    ) -> Explanation:
        oracle = self.oracle
        return Explanation(
            status=status,  # type: ignore[arg-type]
            backend=oracle.backend,
            seconds=time.monotonic() - self.began,
            searches=oracle.searches,
            undecided=oracle.undecided,
            interrupted=self.interrupted() or (prices is not None and prices.interrupted),
            prices=prices,
            source=self.analysis.problem.source,
            warnings=self.analysis.warnings,
            most=self.most,
            deeper=oracle.deeper,
            **parts,  # type: ignore[arg-type]
        )
