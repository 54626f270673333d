"""Rules that are a measure with a bound: which they are, and the same rules with other bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.source import Source
from odtdsl.compiler.measures import constant
from odtdsl.language import ast
from odtdsl.problem.ir.expr import (
    MIRRORED,
    AndC,
    Apply,
    Compare,
    CompareOp,
    Const,
    Expr,
    RowShare,
    Scope,
    applications,
)
from odtdsl.problem.ir.problem import Problem, RuleDecl, TreeSkeleton
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Kind
from odtdsl.problem.terms.registry import BY_NAME

SKELETON = {"tree leaves": "leaves", "tree depth": "depth", "leaves": "leaves", "depth": "depth"}
"""Names under which the bounds of the skeleton can be asked for, where no rule has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A rule of the form `measure op bound`, with the bound on the right.

    Attributes
    ----------
    rule
        As written; made up for a bound of the skeleton.
    op
        `<=` or `>=`, whether or not the rule's own comparison is strict.
    bound
        In rows where the rule gives a share of rows.
    percent
        Whether the rule gives its bound as a percentage of the measure itself.
    text
        The measure as written.
    """

    rule: RuleDecl
    measure: Expr
    op: CompareOp
    bound: Fraction
    percent: bool
    text: str
    of_skeleton: bool = False

    def moved(self, bound: Fraction, *, beyond: bool = False) -> RuleDecl:
        """The rule with another bound; `beyond` it where the bound itself is not enough."""
        op: CompareOp = self.op
        if beyond:
            op = "<" if self.op == "<=" else ">"
        head = "" if self.rule.scope is Scope.MODEL else f"forall {self.rule.scope}: "
        return replace(
            self.rule,
            text=f"{head}{self.text} {op} {self.shown(bound)}",
            condition=Compare(op=op, left=self.measure, right=Const(value=bound)),
        )

    def tighter(self, a: Fraction, b: Fraction) -> bool:
        """Whether a bound is stricter than another."""
        return a < b if self.op == "<=" else a > b

    def shown(self, value: Fraction) -> str:
        """A value with six digits, rounded to the side where the rule still holds."""
        value = value * 100 if self.percent else value
        scale = 10 ** max(0, 6 - len(str(abs(int(value)))))
        rounded = (ceil if self.op == "<=" else floor)(value * scale)
        text = f"{float(Fraction(rounded, scale)):.6f}".rstrip("0").rstrip(".")
        return text + ("%" if self.percent else "")


def bounded_of(rule: RuleDecl, rows: Rows) -> Bounded | None:
    """The rule as a comparison of a measure with a number, if it is one."""
    condition = rule.condition
    if not isinstance(condition, Compare) or condition.op in ("=", "!="):
        return None
    if rule.scope is Scope.SPLIT and {c.term for c in applications(condition)} != {"size"}:
        return None  # what a split tests has no size
    left, right, op = condition.left, condition.right, condition.op
    mirrored = _number(right, rows) is None
    if mirrored:
        left, right, op = right, left, MIRRORED[op]
    bound = _number(right, rows)
    if bound is None or not applications(left):
        return None
    return Bounded(
        rule=rule,
        measure=left,
        op="<=" if op in ("<", "<=") else ">=",
        bound=bound,
        percent=isinstance(right, Const) and right.percent,
        text=_measure_text(rule.text, right=mirrored),
    )


def _number(side: Expr, rows: Rows) -> Fraction | None:
    if isinstance(side, RowShare):
        return side.share * int(rows.mask(side.group).sum())
    return constant(side)


def _measure_text(rule_text: str, *, right: bool) -> str:
    """The measure's side of a comparison, as the rule's canonical text has it."""
    from odtdsl.language.parser import parse
    from odtdsl.language.printer import expr_to_text

    (statement,) = parse(Source(name="rule", text=f"rule r: {rule_text}")).statements
    assert isinstance(statement, ast.Rule), "the text of a rule is one"
    assert isinstance(statement.condition, ast.Compare), "a comparison was asked for"
    return expr_to_text(statement.condition.operands[1 if right else 0])


def find(name: str, rows: Rows) -> Bounded:
    """The rule of a name, or the bound of the skeleton that `leaves` or `depth` names.

    Raises
    ------
    OdtError
        U310: no such rule. U311: it is no measure with a bound.
    """
    problem = rows.problem
    for rule in problem.rules:
        if rule.name == name:
            found = bounded_of(rule, rows)
            if found is None:
                raise _no_bound(rule, problem)
            return found
    skeleton = _of_skeleton(name, problem)
    if skeleton is not None:
        return skeleton
    names = [*(rule.name for rule in problem.rules), *_bounds_of(problem)]
    near = closest(name, names)
    raise error(
        "U310",
        f"the spec has no rule `{name}`",
        notes=(
            f"its rules and bounds are {', '.join(f'`{one}`' for one in names)}"
            if names
            else "the spec has no rules",
        ),
        helps=(f"for its curve give it a bound, such as `tree {name} <= 8`",)
        if name in SKELETON
        else (f"did you mean `{near}`?",)
        if near is not None
        else (),
    )


def unit_of(measure: Expr, problem: Problem) -> str:
    """`%` of a share, `rows` of a count of rows, else nothing."""
    kinds = {BY_NAME[call.term].kind for call in applications(measure)}
    if kinds == {Kind.SHARE}:
        return "%"
    return "rows" if kinds == {Kind.ROW_COUNT} and problem.weight is None else ""


def _bounds_of(problem: Problem) -> Iterator[str]:
    skeleton = problem.skeleton
    if isinstance(skeleton, TreeSkeleton):
        yield from (name for name in ("leaves", "depth") if getattr(skeleton, name) is not None)


def _of_skeleton(name: str, problem: Problem) -> Bounded | None:
    term = SKELETON.get(name)
    if term is None or term not in _bounds_of(problem):
        return None
    bound = Fraction(getattr(problem.skeleton, term))
    measure = Apply(term=term)
    condition = Compare(op="<=", left=measure, right=Const(value=bound))
    rule = RuleDecl(
        name=f"tree {term}", scope=Scope.MODEL, condition=condition, text=f"{term} <= {bound}"
    )
    return Bounded(
        rule=rule,
        measure=measure,
        op="<=",
        bound=bound,
        percent=False,
        text=term,
        of_skeleton=True,
    )


def _no_bound(rule: RuleDecl, problem: Problem) -> OdtError:
    """What keeps a rule from having a curve, and what to write instead."""
    condition = rule.condition
    note = "it does not compare a measure with a number"
    hint = (
        "curves are drawn for rules such as `accuracy(women) >= 90%` or `forall path: cost <= 150`"
    )
    if isinstance(condition, AndC):
        note = "it consists of several conditions"
        hint = "write one rule for each: `rule a: ...` and `rule b: ...`"
    elif isinstance(condition, Compare) and condition.op in ("=", "!="):
        note = f"`{condition.op}` has no looser or tighter bound"
        hint = "write `<=` or `>=`"
    elif isinstance(condition, Compare) and rule.scope is not Scope.SPLIT:
        note = "it compares two measures"
        hint = "bring both to one side: `accuracy(a) - accuracy(b) >= 0`"
    labels = () if rule.span.start < 0 else (Label(span=rule.span),)
    return OdtError(
        [
            Diagnostic(
                code="U311",
                message=f"rule `{rule.name}` has no bound to vary",
                labels=labels,
                notes=(note,),
                helps=(hint,),
                source=problem.source,
            )
        ]
    )


__all__ = ["Bounded", "bounded_of", "find", "unit_of"]
