"""From typed rules and objectives to core forms, generically: no term is named here.

A rule's condition becomes a formula of atoms in negation normal form, then clauses;
conditions on the test of a split become filters. What no core form carries is refused with
its reason.
"""

from __future__ import annotations

from typing import assert_never

from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError
from odtdsl.base.frozen import dataclass
from odtdsl.base.source import Span
from odtdsl.problem.ir.expr import (
    AndC,
    Apply,
    Compare,
    Condition,
    Const,
    Level,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    Scope,
    applications,
)
from odtdsl.problem.ir.families import families_of
from odtdsl.problem.ir.forms import (
    Additive,
    Clause,
    Core,
    Linear,
    Origin,
    OutputSet,
    Root,
    SignedAtom,
    SplitFilter,
    StageForm,
)
from odtdsl.problem.ir.intervals import EMPTY
from odtdsl.problem.ir.problem import DiagramSkeleton, Problem, RuleDecl, TreeSkeleton
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.ir.targets import ProblemPart
from odtdsl.problem.terms.base import AllOf, AnyOf, EmptyDenominator, Formula, Holds, Unsupported
from odtdsl.problem.terms.comparisons import comparison
from odtdsl.problem.terms.formulas import MOST_CLAUSES, TooManyCases, clauses, negated
from odtdsl.problem.terms.objective import stage_form
from odtdsl.problem.terms.registry import BY_NAME
from odtdsl.problem.terms.splits_filter import split_filters


def normalize(rows: Rows) -> Core:
    """The core problem that back ends read.

    Raises
    ------
    OdtError
        R2xx for what the language refuses, B201 for what no back end can express, R301 for
        numbers of too many digits, R302 for a rule of too many cases, R304 for a share of
        nothing; one diagnostic per rule or stage.
    """
    problem = rows.problem
    found: list[Diagnostic] = []
    all_clauses: list[Clause] = []
    filters: list[SplitFilter] = []
    stages: list[StageForm] = []
    for rule in problem.rules:
        with RefusalReporter(found, problem, f"rule `{rule.name}`", rule.span):
            forms = rule_forms(rule, rows)
            all_clauses += forms.clauses
            filters += forms.filters
    for stage in problem.objective:
        with RefusalReporter(found, problem, f"the objective `{stage.text}`", stage.span):
            stages.append(stage_form(stage, rows))
    if found:
        raise OdtError(found)
    all_clauses += _bound(problem.skeleton)
    return Core(
        n_rows=rows.n_rows,
        n_classes=rows.n_classes,
        columns=tuple(feature.name for feature in problem.features),
        families=families_of(rows),
        labels=rows.data.labels,
        targets=ProblemPart.of(problem.target.kind).estimated(rows),
        steps=()
        if problem.target.step is None
        else (problem.target.step,) * len(problem.target.names),
        skeleton=problem.skeleton,
        filters=tuple(filters),
        clauses=tuple(all_clauses),
        objective=tuple(stages),
    )


def _bound(skeleton: TreeSkeleton | DiagramSkeleton) -> list[Clause]:
    """The bound on the leaves of a tree of hyperplanes, which has a split less."""
    if not isinstance(skeleton, DiagramSkeleton) or skeleton.leaves is None:
        return []
    atom = Linear(measure=Additive(splits=1), at_most=skeleton.leaves - 1)
    literal = SignedAtom(atom=atom, positive=True)
    return [Clause(scope=Scope.MODEL, literals=(literal,), origin=Origin(rule="skeleton"))]


class RefusalReporter:
    """Turns refusals inside the block into diagnostics about one rule or stage."""

    def __init__(self, found: list[Diagnostic], problem: Problem, what: str, span: Span) -> None:
        self.found, self.problem, self.what, self.span = found, problem, what, span

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        match error:
            case Unsupported():
                helps = (error.help,) if error.help else ()
                self._tell(error.code, f"{self.what} cannot be expressed: {error}", *helps)
            case EmptyDenominator():
                self._tell(
                    "R304",
                    f"{self.what}: {error}",
                    "check its class and the condition of its group, or leave out groups that "
                    "have no such rows",
                )
            case TooManyCases():
                self._tell(
                    "R302",
                    f"{self.what} has more than {MOST_CLAUSES} cases when written as clauses",
                    "split it into several rules, or nest `and`, `or` and `abs` less deeply",
                    (
                        "a sum of `abs` with an upper bound needs no cases; with a lower bound, "
                        "or nested, every `abs` doubles their number"
                    ),
                )
            case OdtError():
                for one in error.diagnostics:
                    self._tell(one.code, f"{self.what}: {one.message}", *one.helps)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleForms:
    """What one rule becomes."""

    clauses: tuple[Clause, ...] = ()
    filters: tuple[SplitFilter, ...] = ()


def rule_forms(rule: RuleDecl, rows: Rows) -> RuleForms:
    """The clauses and filters of a rule.

    Raises
    ------
    Unsupported, EmptyDenominator, TooManyCases
        As `normalize` tells.
    """
    origin = Origin(rule=rule.name, span=rule.span)
    terms = {call.term for call in applications(rule.condition)}
    if rule.scope is Scope.LEAF and "output" in terms:
        literal = SignedAtom(atom=OutputSet(condition=rule.condition))
        return RuleForms(clauses=(Clause(scope=rule.scope, literals=(literal,), origin=origin),))
    if rule.scope is Scope.SPLIT and "size" not in terms:
        return RuleForms(filters=split_filters(rule, rows, origin))
    if rule.scope is Scope.SPLIT and terms != {"size"}:
        raise Unsupported(
            (
                "a condition on splits cannot mix `size` with the split's feature, threshold or "
                "level; write two rules"
            ),
            code="R203",
        )
    found: list[Clause] = []
    filters: list[SplitFilter] = []
    for literals in clauses(formula(rule.condition, rows, rule.scope)):
        only = literals[0] if len(literals) == 1 else None
        if only is not None and only.positive and isinstance(only.atom, Root):
            filters += _root_filters(only.atom, rows, origin)
        else:
            found.append(Clause(scope=rule.scope, literals=literals, origin=origin))
    return RuleForms(clauses=tuple(found), filters=tuple(filters))


def _root_filters(root: Root, rows: Rows, origin: Origin) -> list[SplitFilter]:
    return [
        SplitFilter(column=index, levels=(0,), allowed=EMPTY, origin=origin)
        for index in range(len(rows.problem.features))
        if index not in root.columns
    ]


def formula(condition: Condition, rows: Rows, scope: Scope) -> Formula:
    """The condition as a formula of atoms, negations pushed down to them."""

    def nested(inner: Condition) -> Formula:
        return formula(inner, rows, scope)

    match condition:
        case AndC():
            return AllOf(items=tuple(nested(item) for item in condition.items))
        case OrC():
            return AnyOf(items=tuple(nested(item) for item in condition.items))
        case NotC():
            return negated(nested(condition.operand))
        case OneOf():
            equal = (
                Compare(op="=", left=condition.item, right=Const(value=value))
                for value in condition.values
            )
            return AnyOf(items=tuple(nested(item) for item in equal))
        case Compare():
            return comparison(condition, rows, scope, nested)
        case Apply():
            found = BY_NAME[condition.term].translate(rows, scope, condition)
            assert isinstance(found, Holds | AllOf | AnyOf), "analysis admits conditions only"
            return found
        case MultipleOf() | Level():
            raise Unsupported(
                "`multiple_of` and level names can be used only with thresholds", code="R206"
            )
        case _:
            assert_never(condition)
