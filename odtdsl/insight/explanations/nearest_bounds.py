"""The nearest bound of a rule that the other rules leave room for.

Measures of a tree take finitely many values. A tree that satisfies the other rules has one of them;
either no tree has less, which is then proven, or one has, and so on. Bounds half-way between
what is refuted and what is met make that quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from odtdsl.auditor.audit import audit
from odtdsl.backends.decode import to_tree
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.insight.explanations.bounded_rules import Bounded, bounded_of
from odtdsl.insight.explanations.conflict_sets import Members
from odtdsl.insight.explanations.oracle import Oracle
from odtdsl.problem.ir.expr import Apply, CompareOp, Scope
from odtdsl.problem.ir.forms import Core, Linear
from odtdsl.problem.ir.problem import RuleDecl, TreeSkeleton
from odtdsl.problem.ir.raw import RawLeaf, RawTree, depth_of, walk
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import ProblemPart
from odtdsl.problem.terms.base import EmptyDenominator, Unsupported
from odtdsl.problem.terms.formulas import TooManyCases
from odtdsl.problem.terms.normalize import rule_forms

STEPS = 200
"""Questions for one bound at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The bound of a rule, or of the skeleton, with which the others hold.

    Attributes
    ----------
    op
        `<=` or `>=`: whether the rule bounds from above or from below.
    value
        With it the rules hold. Rows where the rule gives a share of rows.
    percent
        Whether the rule gives its bound as a percentage.
    """

    constraint: int
    op: CompareOp
    value: Fraction
    percent: bool = False


class UndecidedError(Exception):
    """A search for the nearest bound ended without an answer."""


def nearest(oracle: Oracle, rows: Rows, constraint: int, among: Members) -> Nearest | None:
    """The nearest bound of a constraint with which `among`, that it is part of, holds.

    None where it has no bound, or no bound is enough.

    Raises
    ------
    UndecidedError
        None was proven to be the nearest.
    """
    asked, bounded = oracle.constraints[constraint], None
    if asked.kind == "rule":
        rule = next(rule for rule in rows.problem.rules if rule.name == asked.name)
        bounded = _bounded(rule, rows)
        if bounded is None:
            return None
    found = oracle.answer(among - {constraint})
    if found.feasible is None:
        raise UndecidedError
    if found.tree is None:
        return None
    if bounded is None:
        return _of_skeleton(oracle, constraint, among, found.tree)
    try:
        value = _Descent(oracle, rows, bounded, constraint, among).run(found.tree)
    except (OdtError, Unsupported, EmptyDenominator, TooManyCases):  # digits beyond 64 bits
        return None
    if value is None:
        return None
    return Nearest(constraint=constraint, op=bounded.op, value=value, percent=bounded.percent)


def _bounded(rule: RuleDecl, rows: Rows) -> Bounded | None:
    """The rule as a comparison of one measure with a constant, if it is one."""
    if ProblemPart.of(rows.problem.target.kind).in_floats:
        return None
    found = bounded_of(rule, rows)
    return found if found is not None and isinstance(found.measure, Apply) else None


class _Descent:
    """The search for the nearest bound of one rule."""

    def __init__(
        self, oracle: Oracle, rows: Rows, bounded: Bounded, constraint: int, among: Members
    ) -> None:
        self.oracle, self.rows, self.bounded = oracle, rows, bounded
        self.without = oracle.without(oracle.all_members - (among - {constraint}))

    def run(self, tree: RawTree) -> Fraction | None:
        """The nearest bound, given a tree that satisfies the others."""
        if (best := self._best()) is not None:
            return best
        met = self._value(self.without, tree)
        refuted: Fraction | None = self.bounded.bound
        for step in range(STEPS):
            if met is None:
                return None
            between = None if refuted is None else _between(refuted, met)
            last = step % 2 == 1 or between is None
            core = self._core(met if last or between is None else between, beyond=last)
            found = self.oracle.decide(core)
            if found.feasible is None:
                raise UndecidedError
            if found.feasible:
                assert found.tree is not None, "a feasible answer has a tree"
                value = self._value(core, found.tree)
                if value is not None and not self._is_nearer(value, met):
                    return None  # kept otherwise than by its value
                met = value
            elif last:
                return met
            else:
                refuted = between
        raise UndecidedError

    def _best(self) -> Fraction | None:
        """The best value by a single search, where the rule bounds one measure of the tree."""
        forms = rule_forms(self.bounded.moved(Fraction(0)), self.rows)
        if len(forms.clauses) != 1 or forms.filters or len(forms.clauses[0].literals) != 1:
            return None
        (clause,) = forms.clauses
        atom = clause.literals[0].atom
        if clause.scope is not Scope.MODEL or not isinstance(atom, Linear):
            return None
        best = self.oracle.best(self.without, atom.measure)
        return None if best is None else self._value(self.without, best)

    def _is_nearer(self, value: Fraction, met: Fraction) -> bool:
        return value < met if self.bounded.op == "<=" else value > met

    def _core(self, bound: Fraction, *, beyond: bool) -> Core:
        forms = rule_forms(self.bounded.moved(bound, beyond=beyond), self.rows)
        return replace(
            self.without,
            clauses=(*self.without.clauses, *forms.clauses),
            filters=(*self.without.filters, *forms.filters),
        )

    def _value(self, core: Core, tree: RawTree) -> Fraction | None:
        """The measure of a tree where it is tightest."""
        rule = self.bounded.moved(Fraction(0))
        alone = Rows(replace(self.rows.problem, rules=(rule,)), self.rows.data)
        (line,) = (
            line
            for line in audit(to_tree(core, self.rows, tree), alone).lines
            if line.rule == rule.name and line.text == rule.text
        )
        return None if line.note else line.value


def _between(a: Fraction, b: Fraction) -> Fraction | None:
    """A number of few digits in the middle third between two."""
    low, high = min(a, b), max(a, b)
    if low == high:
        return None
    third = (high - low) / 3
    step = Fraction(1)
    while step > third:
        step /= 10
    return ceil((low + third) / step) * step


def _of_skeleton(oracle: Oracle, constraint: int, among: Members, tree: RawTree) -> Nearest | None:
    core = oracle.without(oracle.all_members - (among - {constraint}))
    given, now = oracle.core.skeleton, core.skeleton
    assert isinstance(given, TreeSkeleton)
    assert isinstance(now, TreeSkeleton)
    if oracle.constraints[constraint].kind == "depth":
        assert given.depth is not None
        value = _least(
            oracle,
            given.depth + 1,
            depth_of(tree),
            lambda bound: replace(core, skeleton=replace(now, depth=bound)),
        )
    else:
        assert given.leaves is not None
        value = _least(
            oracle,
            given.leaves + 1,
            _leaves(tree),
            lambda bound: replace(core, skeleton=replace(now, leaves=bound)),
        )
    return Nearest(constraint=constraint, op="<=", value=Fraction(value))


def _least(oracle: Oracle, low: int, high: int, bounded: Callable[[int], Core]) -> int:
    """The least whole bound that does, of `low` to `high`, which does."""
    while low < high:
        middle = (low + high) // 2
        feasible = oracle.decide(bounded(middle)).feasible
        if feasible is None:
            raise UndecidedError
        low, high = (low, middle) if feasible else (middle + 1, high)
    return high


def _leaves(tree: RawTree) -> int:
    return sum(isinstance(node, RawLeaf) for node, _ in walk(tree))


def shown(found: Nearest) -> str:
    """The bound with six digits, rounded to the side where the rules still hold."""
    value = found.value * 100 if found.percent else found.value
    scale = 10 ** max(0, 6 - len(str(abs(int(value)))))
    round_ = ceil if found.op == "<=" else floor
    text = f"{float(Fraction(round_(value * scale), scale)):.6f}".rstrip("0").rstrip(".")
    return text + ("%" if found.percent else "")
