"""From typed rules and objectives to core forms, generically: no term is named here.

A rule's condition becomes a formula of atoms in negation normal form, then clauses. A
comparison becomes atoms by its measures: what is linear in the end is accepted in any
arrangement. What no core form carries is refused with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from typing import assert_never

import numpy as np

from odtdsl.diagnostics.model import Diagnostic, Label, OdtError
from odtdsl.ir.expr import (
    Abs,
    AndC,
    Apply,
    Arith,
    Compare,
    CompareOp,
    Condition,
    Const,
    Count,
    Expr,
    Level,
    Minus,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    RowShare,
    Scope,
)  # fmt: skip
from odtdsl.ir.families import build_families
from odtdsl.ir.forms import (
    Additive,
    Budget,
    Clause,
    Core,
    Depth,
    DepthMeasure,
    DepthStage,
    Linear,
    LinearStage,
    Literal_,
    Origin,
    OutputSet,
    PathMeasure,
    PathSum,
    PathTotal,
    Root,
    SplitFilter,
    StageForm,
)  # fmt: skip
from odtdsl.ir.intervals import EMPTY
from odtdsl.ir.problem import Problem, RuleDecl, StageDecl
from odtdsl.ir.rows import Rows
from odtdsl.source import Span
from odtdsl.terms.base import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    EmptyDenominator,
    Formula,
    Holds,
    Largest,
    Measure,
    Quotient,
    Smallest,
    Unsupported,
)  # fmt: skip
from odtdsl.terms.evaluate import applications
from odtdsl.terms.registry import BY_NAME
from odtdsl.terms.splits_filter import split_filters

MOST_CLAUSES = 2000
FLIPPED: dict[CompareOp, CompareOp] = {
    "<=": ">", ">": "<=", ">=": "<", "<": ">=", "=": "!=", "!=": "=",
}  # fmt: skip


def normalize(rows: Rows) -> Core:
    """The core problem that back ends read.

    Raises
    ------
    OdtError
        R304 for a share of nothing, R302 for a rule of too many cases, B201 for what no
        back end can express, one diagnostic per rule or stage.
    """
    problem = rows.problem
    found: list[Diagnostic] = []
    clauses: list[Clause] = []
    filters: list[SplitFilter] = []
    stages: list[StageForm] = []
    for rule in problem.rules:
        with _Told(found, problem, f"rule `{rule.name}`", rule.span):
            of_rule = _clauses_of(rule, rows)
            clauses += of_rule.clauses
            filters += of_rule.filters
    for stage in problem.objective:
        with _Told(found, problem, f"the objective `{stage.text}`", stage.span):
            stages.append(_stage(stage, rows))
    if found:
        raise OdtError(found)
    return Core(
        n_rows=rows.n_rows,
        n_classes=rows.n_classes,
        columns=tuple(feature.name for feature in problem.features),
        families=build_families(problem, rows.data),
        labels=rows.data.labels,
        skeleton=problem.skeleton,
        filters=tuple(filters),
        clauses=tuple(clauses),
        objective=tuple(stages),
    )


class _Told:
    """Turns refusals inside the block into diagnostics about one rule or stage."""

    def __init__(self, found: list[Diagnostic], problem: Problem, what: str, span: Span) -> None:
        self.found, self.problem, self.what, self.span = found, problem, what, span

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        match error:
            case Unsupported():
                self._tell("B201", f"{self.what} cannot be expressed: {error}")
            case EmptyDenominator():
                self._tell("R304", f"{self.what}: {error}")
            case _TooManyCases():
                self._tell(
                    "R302",
                    f"{self.what} has more than {MOST_CLAUSES} cases when written as clauses",
                    "split it into several rules, or nest `and` and `or` less deeply",
                )
            case OdtError():
                self.found.extend(error.diagnostics)
            case _:
                return False
        return True

    def _tell(self, code: str, message: str, *helps: str) -> None:
        labels = () if self.span.start < 0 else (Label(span=self.span),)
        self.found.append(
            Diagnostic(
                code=code, message=message, labels=labels, helps=helps, source=self.problem.source
            )
        )


# ---- rules


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfRule:
    clauses: tuple[Clause, ...] = ()
    filters: tuple[SplitFilter, ...] = ()


def _clauses_of(rule: RuleDecl, rows: Rows) -> _OfRule:
    origin = Origin(rule=rule.name, span=rule.span)
    terms = {call.term for call in applications(rule.condition)}
    if rule.scope is Scope.LEAF and "output" in terms:
        literal = Literal_(atom=OutputSet(condition=rule.condition))
        return _OfRule(clauses=(Clause(scope=rule.scope, literals=(literal,), origin=origin),))
    if rule.scope is Scope.SPLIT and "size" not in terms:
        return _OfRule(filters=split_filters(rule, rows, origin))
    if rule.scope is Scope.SPLIT and terms != {"size"}:
        raise Unsupported(
            "a split condition that mixes `size` with the split's feature, threshold or level"
            " has no core form; write two rules"
        )
    formula = _formula(rule.condition, rows, rule.scope)
    clauses: list[Clause] = []
    filters: list[SplitFilter] = []
    for literals in _cnf(formula):
        only = literals[0] if len(literals) == 1 else None
        if only is not None and only.positive and isinstance(only.atom, Root):
            filters += _root_filters(only.atom, rows, origin)
        else:
            clauses.append(Clause(scope=rule.scope, literals=literals, origin=origin))
    return _OfRule(clauses=tuple(clauses), filters=tuple(filters))


def _root_filters(root: Root, rows: Rows, origin: Origin) -> list[SplitFilter]:
    return [
        SplitFilter(column=index, levels=(0,), allowed=EMPTY, origin=origin)
        for index in range(len(rows.problem.features))
        if index not in root.columns
    ]


# ---- formulas


def _formula(condition: Condition, rows: Rows, scope: Scope) -> Formula:
    """The condition as a formula of atoms, negations pushed down to them."""
    match condition:
        case AndC():
            return AllOf(items=tuple(_formula(item, rows, scope) for item in condition.items))
        case OrC():
            return AnyOf(items=tuple(_formula(item, rows, scope) for item in condition.items))
        case NotC():
            return negated(_formula(condition.operand, rows, scope))
        case OneOf():
            each = [
                Compare(op="=", left=condition.item, right=Const(value=value))
                for value in condition.values
            ]
            return AnyOf(items=tuple(_formula(item, rows, scope) for item in each))
        case Compare():
            return _comparison(condition, rows, scope)
        case Apply():
            formula = BY_NAME[condition.term].translate(rows, scope, condition)
            assert isinstance(formula, Holds | AllOf | AnyOf), "analysis admits conditions only"
            return formula
        case MultipleOf() | Level():
            raise Unsupported("multiples and level names are for thresholds only")
        case _:
            assert_never(condition)


def negated(formula: Formula) -> Formula:
    """The negation, on atoms: `not (n <= b)` is `-n <= -b - 1` for integer n and b."""
    match formula:
        case AllOf():
            return AnyOf(items=tuple(negated(item) for item in formula.items))
        case AnyOf():
            return AllOf(items=tuple(negated(item) for item in formula.items))
        case Holds(atom=Linear() as atom):
            minus = atom.measure.scaled(Fraction(-1))
            return Holds(atom=Linear(measure=minus, at_most=-atom.at_most - 1))
        case Holds(atom=Budget() as atom):
            less = atom.measure.scaled(Fraction(-1))
            return Holds(atom=Budget(measure=less, at_most=-atom.at_most - 1))
        case Holds(atom=PathTotal(condition=Compare() as compare)):
            flipped = Compare(op=FLIPPED[compare.op], left=compare.left, right=compare.right)
            return Holds(atom=PathTotal(condition=flipped))
        case Holds():
            return Holds(atom=formula.atom, positive=not formula.positive)
        case _:
            assert_never(formula)


class _TooManyCases(Exception):
    pass


def _cnf(formula: Formula) -> list[tuple[Literal_, ...]]:
    """Clauses by distribution; tautologies and repeated literals removed, order kept."""
    match formula:
        case Holds():
            return [(Literal_(atom=formula.atom, positive=formula.positive),)]
        case AllOf():
            clauses = [clause for item in formula.items for clause in _cnf(item)]
        case AnyOf():
            clauses = [()]
            for item in formula.items:
                right = _cnf(item)
                if len(clauses) * len(right) > MOST_CLAUSES:
                    raise _TooManyCases
                clauses = [(*a, *b) for a in clauses for b in right]
        case _:
            assert_never(formula)
    if len(clauses) > MOST_CLAUSES:
        raise _TooManyCases
    kept = (tuple(dict.fromkeys(clause)) for clause in clauses)
    return list(dict.fromkeys(clause for clause in kept if not _tautology(clause)))


def _tautology(clause: tuple[Literal_, ...]) -> bool:
    return any(
        Literal_(atom=literal.atom, positive=not literal.positive) in clause for literal in clause
    )


# ---- comparisons


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearForm:
    """A constant plus multiples of measures."""

    constant: Fraction
    parts: tuple[tuple[Fraction, Measure], ...] = ()
    counts: tuple[tuple[Fraction, Count], ...] = ()


def linear_form(expr: Expr, rows: Rows, scope: Scope) -> LinearForm:
    """Multiply out; `Unsupported` for products and quotients of measures."""
    match expr:
        case Const():
            return LinearForm(constant=expr.value)
        case RowShare():
            return LinearForm(constant=expr.share * int(rows.mask(expr.group).sum()))
        case Apply():
            measure = BY_NAME[expr.term].translate(rows, scope, expr)
            assert not isinstance(measure, Holds | AllOf | AnyOf), "analysis admits numbers only"
            return LinearForm(constant=Fraction(0), parts=((Fraction(1), measure),))
        case Minus():
            return _times(Fraction(-1), linear_form(expr.operand, rows, scope))
        case Abs():
            return _absolute(linear_form(expr.operand, rows, scope))
        case Count():
            return LinearForm(constant=Fraction(0), counts=((Fraction(1), expr),))
        case Arith():
            left = linear_form(expr.left, rows, scope)
            right = linear_form(expr.right, rows, scope)
            return _arith(expr.op, left, right)
        case _:
            assert_never(expr)


def _arith(op: str, left: LinearForm, right: LinearForm) -> LinearForm:
    if op == "-":
        right = _times(Fraction(-1), right)
    if op in "+-":
        return LinearForm(
            constant=left.constant + right.constant,
            parts=left.parts + right.parts,
            counts=left.counts + right.counts,
        )
    if op == "*":
        if not left.parts and not left.counts:
            return _times(left.constant, right)
        if not right.parts and not right.counts:
            return _times(right.constant, left)
        raise Unsupported("a product of measures is not linear")
    if right.parts or right.counts:
        raise Unsupported("a quotient by a measure is not linear; multiply both sides by it")
    return _times(1 / right.constant, left)


def _times(factor: Fraction, form: LinearForm) -> LinearForm:
    return LinearForm(
        constant=form.constant * factor,
        parts=tuple((factor * a, measure) for a, measure in form.parts),
        counts=tuple((factor * a, count) for a, count in form.counts),
    )


def _absolute(form: LinearForm) -> LinearForm:
    if not form.parts and not form.counts:
        return LinearForm(constant=abs(form.constant))
    total = _additive(form)
    if total is None:
        raise Unsupported("`abs` of a measure that is not additive over rows")
    both = Largest(of=(total, total.scaled(Fraction(-1))))
    return LinearForm(constant=Fraction(0), parts=((Fraction(1), both),))


def _additive(form: LinearForm) -> Additive | None:
    """The form as one additive measure, its constant included; None where it is not one."""
    if form.counts:
        return None
    total = Additive(constant=form.constant.numerator, denominator=form.constant.denominator)
    for factor, measure in form.parts:
        if not isinstance(measure, Additive):
            return None
        total = total + measure.scaled(factor)
    return total


def _comparison(condition: Compare, rows: Rows, scope: Scope) -> Formula:
    """`left op right` as `left - right op 0`, by the measures it holds."""
    form = linear_form(Arith(op="-", left=condition.left, right=condition.right), rows, scope)
    kinds = {type(measure) for _, measure in form.parts}
    if form.counts:
        return _count_formula(condition.op, form, rows, scope)
    if PathSum in kinds:
        return Holds(atom=PathTotal(condition=condition))
    if Quotient in kinds or Smallest in kinds:
        return _only_with_constants(condition.op, form)
    if Largest in kinds:
        return _with_largest(condition.op, form, scope)
    if DepthMeasure in kinds:
        return _depth(condition.op, form)
    if PathMeasure in kinds:
        return _budget(condition.op, form, rows)
    total = _additive(form)
    assert total is not None, "all other measures are additive"
    return _linear(condition.op, total, scope)


def _linear(op: CompareOp, measure: Additive, scope: Scope) -> Formula:
    """`measure op 0` on integers."""
    if scope is Scope.MODEL and measure.rows is not None:
        measure = Additive(
            constant=measure.constant + int(measure.rows.sum()), output=measure.output,
            columns=measure.columns, leaves=measure.leaves, denominator=measure.denominator,
        )  # fmt: skip
    if measure.is_constant:
        return _bool(op, measure.constant)

    def at_most(bound: int, sign: int) -> Formula:
        signed = measure if sign > 0 else measure.scaled(Fraction(-1))
        return Holds(atom=Linear(measure=signed, at_most=bound))

    return _by_op(op, at_most)


def _by_op(op: CompareOp, at_most: Callable[[int, int], Formula]) -> Formula:
    """`n op 0` for an integer n, given `at_most(b, s)` for `s n <= b`."""
    match op:
        case "<=":
            return at_most(0, 1)
        case "<":
            return at_most(-1, 1)
        case ">=":
            return at_most(0, -1)
        case ">":
            return at_most(-1, -1)
        case "=":
            return AllOf(items=(at_most(0, 1), at_most(0, -1)))
        case "!=":
            return AnyOf(items=(at_most(-1, 1), at_most(-1, -1)))
        case _:
            assert_never(op)


def _bool(op: CompareOp, number: int) -> Formula:
    from odtdsl.terms.evaluate import COMPARE

    return TRUE if COMPARE[op](Fraction(number), Fraction(0)) else FALSE


def _budget(op: CompareOp, form: LinearForm, rows: Rows) -> Formula:
    n = len(rows.problem.features)
    total = PathMeasure(
        per_test=(0,) * n, once=(0,) * n, constant=form.constant.numerator,
        denominator=form.constant.denominator,
    )  # fmt: skip
    for factor, measure in form.parts:
        assert isinstance(measure, PathMeasure), "a path has no other measures"
        total = total + measure.scaled(factor)
    if not any((*total.per_test, *total.once, *(s.amount for s in total.shared))):
        return _bool(op, total.constant)

    def at_most(bound: int, sign: int) -> Formula:
        signed = total if sign > 0 else total.scaled(Fraction(-1))
        return Holds(atom=Budget(measure=signed, at_most=bound))

    return _by_op(op, at_most)


def _depth(op: CompareOp, form: LinearForm) -> Formula:
    """`factor * depth + constant op 0`."""
    if len(form.parts) != 1:
        factor = sum((a for a, m in form.parts if isinstance(m, DepthMeasure)), Fraction(0))
        if any(not isinstance(m, DepthMeasure) for _, m in form.parts):
            raise Unsupported("`depth` is not additive: compare it with constants only")
    else:
        factor = form.parts[0][0]
    if factor == 0:
        return _bool(op, ceil(form.constant) if form.constant > 0 else floor(form.constant))
    limit = -form.constant / factor
    flipped: dict[CompareOp, CompareOp] = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
    sense = op if factor > 0 else flipped.get(op, op)

    def at_most(bound: int) -> Formula:
        return FALSE if bound < 0 else Holds(atom=Depth(at_most=bound))

    match sense:
        case "<=":
            return at_most(floor(limit))
        case "<":
            return at_most(ceil(limit) - 1)
        case ">=":
            return negated(at_most(ceil(limit) - 1))
        case ">":
            return negated(at_most(floor(limit)))
        case "=" | "!=":
            if limit.denominator != 1:
                equal: Formula = FALSE
            else:
                equal = AllOf(items=(at_most(int(limit)), negated(at_most(int(limit) - 1))))
            return equal if sense == "=" else negated(equal)
        case _:
            assert_never(sense)


def _with_largest(op: CompareOp, form: LinearForm, scope: Scope) -> Formula:
    """Take the largest measures apart, one after the other."""
    if op in ("=", "!="):
        both = AllOf(items=(_with_largest("<=", form, scope), _with_largest(">=", form, scope)))
        return both if op == "=" else negated(both)
    if op in (">", ">="):
        return negated(_with_largest("<=" if op == ">" else "<", form, scope))
    index = next((i for i, (_, m) in enumerate(form.parts) if isinstance(m, Largest)), None)
    if index is None:
        total = _additive(form)
        if total is None:
            raise Unsupported("`gap` and `abs` mix with additive measures only")
        return _linear(op, total, scope)
    factor, largest = form.parts[index]
    assert isinstance(largest, Largest)
    rest = form.parts[:index] + form.parts[index + 1 :]
    cases = tuple(
        _with_largest(op, LinearForm(constant=form.constant, parts=(*rest, (factor, each))), scope)
        for each in largest.of
    )
    return AllOf(items=cases) if factor >= 0 else AnyOf(items=cases)


def _only_with_constants(op: CompareOp, form: LinearForm) -> Formula:
    """A quotient or a ratio over groups against a constant."""
    if len(form.parts) != 1:
        raise Unsupported(
            "a quotient of measures, such as precision, purity or ratio, is compared with"
            " constants only"
        )
    factor, measure = form.parts[0]
    bound = -form.constant / factor
    flipped: dict[CompareOp, CompareOp] = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
    sense = op if factor > 0 else flipped.get(op, op)
    if isinstance(measure, Quotient):
        cleared = measure.over + measure.under.scaled(-bound)
        scope = Scope.LEAF if measure.under.rows is not None else Scope.MODEL
        return _linear(sense, cleared, scope)
    assert isinstance(measure, Smallest)
    return _ratio(sense, measure.of, bound)


def _ratio(op: CompareOp, of: tuple[Additive, ...], bound: Fraction) -> Formula:
    """Smallest over largest against a bound; 1 where the largest is 0."""
    if op in ("<", "<="):
        return negated(_ratio(">=" if op == "<" else ">", of, bound))
    if op in ("=", "!="):
        both = AllOf(items=(_ratio("<=", of, bound), _ratio(">=", of, bound)))
        return both if op == "=" else negated(both)
    if bound > 1 or (bound == 1 and op == ">"):
        return FALSE
    pairs = AllOf(
        items=tuple(
            _linear(op, a + b.scaled(-bound), Scope.MODEL)
            for i, a in enumerate(of)
            for j, b in enumerate(of)
            if i != j
        )
    )
    if op == ">=":
        return pairs
    nothing = AllOf(items=tuple(_linear("<=", a, Scope.MODEL) for a in of))
    return AnyOf(items=(nothing, pairs))


def _count_formula(op: CompareOp, form: LinearForm, rows: Rows, scope: Scope) -> Formula:
    """`count(C1, ..., Cn)` against a constant, by the subsets that must not all (fail to) hold."""
    if form.parts or len(form.counts) != 1:
        raise Unsupported("`count` is compared with constants only")
    factor, count = form.counts[0]
    items = [_formula(item, rows, scope) for item in count.conditions]
    n = len(items)
    from odtdsl.terms.evaluate import COMPARE

    good = [k for k in range(n + 1) if COMPARE[op](factor * k + form.constant, Fraction(0))]

    def at_most(k: int) -> Formula:
        if k >= n:
            return TRUE
        if k < 0:
            return FALSE
        return AllOf(
            items=tuple(
                AnyOf(items=tuple(negated(item) for item in some))
                for some in combinations(items, k + 1)
            )
        )

    exactly = (AllOf(items=(at_most(k), negated(at_most(k - 1)))) for k in good)
    if good == list(range(good[-1] + 1)) if good else False:
        return at_most(good[-1])
    if good and good == list(range(good[0], n + 1)):
        return negated(at_most(good[0] - 1))
    return AnyOf(items=tuple(exactly))


# ---- objective


def _stage(stage: StageDecl, rows: Rows) -> StageForm:
    form = linear_form(stage.measure, rows, Scope.MODEL)
    if any(isinstance(measure, DepthMeasure) for _, measure in form.parts):
        if len(form.parts) == 1 and form.parts[0][0] > 0 and stage.sense == "minimize":
            if form.constant == 0 and form.parts[0][0] == 1:
                return DepthStage()
        raise Unsupported("`depth` stands alone in its stage: write `minimize depth then ...`")
    sign = 1 if stage.sense == "minimize" else -1
    form = _times(Fraction(sign), form)
    total = Additive(constant=form.constant.numerator, denominator=form.constant.denominator)
    maxima: list[tuple[Fraction, tuple[Additive, ...]]] = []
    path_sum: PathSum | None = None
    if form.counts:
        raise Unsupported("`count` is no objective")
    for factor, measure in form.parts:
        match measure:
            case Additive():
                total = total + measure.scaled(factor)
            case Largest() if factor > 0:
                maxima.append((factor, measure.of))
            case Largest():
                raise Unsupported("a difference between groups or `abs` can be made small only")
            case PathSum() if path_sum is None:
                path_sum = _scaled_sum(measure, factor)
            case _:
                raise Unsupported(
                    "an objective is a sum of additive measures, differences between groups"
                    " and `abs`; put quotients and ratios into rules"
                )
    total = _fold_rows(total)
    return LinearStage(
        measure=total, maxima=tuple(maxima), path_sum=path_sum, sign=1 if sign > 0 else -1
    )


def _fold_rows(measure: Additive) -> Additive:
    if measure.rows is None:
        return measure
    return Additive(
        constant=measure.constant + int(np.sum(measure.rows)), output=measure.output,
        columns=measure.columns, leaves=measure.leaves, denominator=measure.denominator,
    )  # fmt: skip


def _scaled_sum(total: PathSum, factor: Fraction) -> PathSum:
    return PathSum(
        weights=total.weights * factor.numerator, measure=total.measure,
        denominator=total.denominator * factor.denominator,
    )  # fmt: skip
