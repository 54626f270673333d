"""Terms with their arguments: scopes, signatures, features, classes, groups, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar, assert_never

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.namespace import FUNCTIONS, WORDS, Namespace
from odtdsl.compiler.targets import TargetPart, called
from odtdsl.datasets.dataset import Value
from odtdsl.datasets.levels import as_levels
from odtdsl.datasets.typing import distinct, encode
from odtdsl.datasets.writing import number_text
from odtdsl.language import ast
from odtdsl.language.expressions import backticks, coded, expr_to_text, name_text
from odtdsl.problem.ir.expr import (
    Apply,
    Arg,
    CellCompare,
    FeatureArg,
    GroupArg,
    LabelArg,
    RowArg,
    Scope,
    TargetArg,
)
from odtdsl.problem.ir.problem import GroupDecl
from odtdsl.problem.terms.base import Kind, Param, Signature, Term
from odtdsl.problem.terms.registry import BY_NAME
from odtdsl.problem.terms.synonyms import our_way

_CONDITIONS = (ast.Compare, ast.Member, ast.IsMissing, ast.Not, ast.And, ast.Or)
"""Of rows, they make a group."""

MOST_GROUPS_OF_COLUMN = 20
R = TypeVar("R")


class Arguments:
    """Resolves terms and their arguments in one scope."""

    def __init__(self, namespace: Namespace, scope: Scope, reporter: Reporter) -> None:
        self.namespace, self.scope, self.reporter = namespace, scope, reporter

    def each(self, items: Iterable[ast.Expr], resolve: Callable[[ast.Expr], R]) -> tuple[R, ...]:
        """Resolve each, so that all mistakes are reported at once."""
        found: list[R] = []
        failed = False
        for item in items:
            try:
                found.append(resolve(item))
            except StatementError:
                failed = True
        if failed:
            raise StatementError
        return tuple(found)

    # ---- terms

    def apply(self, expr: ast.Name | ast.Call, *, of_groups: bool = False) -> tuple[Apply, Kind]:
        """A term with its arguments, and the kind of its value; `of_groups`: inside `gap`."""
        name = expr.name if isinstance(expr, ast.Name) else expr.function
        given = () if isinstance(expr, ast.Name) else expr.args
        if not self._is_term(expr, name):
            raise self._no_term(name, expr)
        term = self.in_scope(name, expr)
        if term.kind is Kind.COLUMN:
            raise self.reporter.error(
                "T216",
                f"`{name}` must be compared with features",
                expr,
                helps=(f"write `{name} in {{age, sex}}`",),
            )
        signature = self._signature(term, given, expr)
        of: Apply | None = None
        args: list[Arg] = []
        failed = False
        for param, arg in zip(_params(signature, len(given)), given, strict=True):
            try:
                if param is Param.MEASURE:
                    of = self._measure(arg)
                elif param is Param.BY:
                    args += self._by(arg)
                elif param is Param.LABEL and self._group_for_class(arg):
                    raise self._no_class(name, arg, of_groups=of_groups)
                else:
                    args.append(self._arg(param, arg))
            except StatementError:
                failed = True
        if failed:
            raise StatementError
        if of is not None:
            self._check_groups(term, args, expr)
        self._check_monotone(term, args, expr)
        self._check_threshold(term, args, expr)
        return Apply(term=term.name, args=tuple(args), of=of), term.kind

    def _is_term(self, expr: ast.Name | ast.Call, name: str) -> bool:
        """Whether a name is a term; those of another task only where nothing else has it."""
        if isinstance(expr, ast.Name) and expr.quoted:
            return False
        namespace = self.namespace
        if name in namespace.words or name not in WORDS:
            return name in WORDS
        return isinstance(expr, ast.Call) or not (
            name in namespace.group_names or name in namespace.columns.table.columns
        )

    def _no_term(self, name: str, expr: ast.Name | ast.Call) -> StatementError:
        namespace = self.namespace
        if isinstance(expr, ast.Call):
            # Those that may stand here come first: of equally near ones they are meant.
            here, elsewhere = self._words()
            return self._unknown("term", name, [*FUNCTIONS, *here], elsewhere, expr)
        if name in namespace.group_names:
            return self.reporter.error(
                "T217",
                f"`{name}` is a group of rows, not a number or condition",
                expr,
                helps=(f"write `accuracy({name})`, or `size({name})` on leaves",),
            )
        if name in namespace.columns.table.columns:
            shown = name_text(name)
            is_feature = name in namespace.feature_names
            uses, threshold = coded(f"uses({shown})"), coded(f"threshold({shown})")
            helps = (f"write {uses}, or {threshold} on splits",)
            return self.reporter.error(
                "T218",
                f"`{name}` is a column, not a number or condition",
                expr,
                helps=helps if is_feature else (),
            )
        here, elsewhere = (
            [w for w in words if w not in ("root", "feature")] for words in self._words()
        )
        scopes = (Scope.LEAF, Scope.MODEL)  # of the model: `forall leaf` may be forgotten
        outputs = "number" in TargetPart.of(namespace.target.kind).terms and self.scope in scopes
        names = namespace.target.names if outputs else ()
        known = [*names, *here, *namespace.lets, *namespace.group_names]
        return self._unknown("name", name, known, elsewhere, expr)

    def _words(self) -> tuple[list[str], list[str]]:
        """The words that may stand here, then all others of this target."""
        target = self.namespace.target
        part = TargetPart.of(target.kind)
        here = []
        for word in sorted(self.namespace.words):
            term = BY_NAME[word]
            if self.scope in term.scopes and (
                term.target is None or part.takes(term.target, target)
            ):
                here.append(word)
        return here, sorted(self.namespace.words.difference(here))

    def _unknown(
        self, what: str, name: str, known: list[str], elsewhere: list[str], expr: ast.Node
    ) -> StatementError:
        """The error on an unknown word; for a word of other languages it names the term.

        What is listed may stand here (`known`); a misspelt word may belong elsewhere, too.
        """
        ours = our_way(name)
        if ours is not None:
            return self.reporter.error("N201", f"{what} `{name}` is unknown", expr, helps=(ours,))
        if closest(name, [*known, *elsewhere]) is not None:
            return self.reporter.unknown("N201", what, name, [*known, *elsewhere], expr)
        helps = ("`odt rules` lists all words and what they mean",)
        return self.reporter.unknown("N201", what, name, known, expr, helps=helps)

    def in_scope(self, name: str, at: ast.Node, shown: str | None = None) -> Term:
        """The term of a word, if it may stand here; `shown` is how the spec calls it."""
        term = BY_NAME[name]
        word = shown or name
        part = TargetPart.of(self.namespace.target.kind)
        if term.target is not None and not part.takes(term.target, self.namespace.target):
            raise self._other_target(term, word, at)
        if self.scope not in term.scopes:
            where = " or ".join(
                "the whole model" if scope is Scope.MODEL else f"a {scope.value}"
                for scope in term.scopes
            )
            label = (
                "a rule without `forall` is about the whole model"
                if self.scope is Scope.MODEL
                else f"this rule is about every {self.scope.value}"
            )
            hint = term.hint or f"write `{word}` in a rule without `forall`"
            if shown is not None:
                code = coded(f"forall leaf: {name_text(shown)} >= 0")
                hint = f"for the output of every leaf write {code}"
            elif term.form == "infix" and (said := self.reporter.text(at)) is not None:
                hint = f"write {coded(f'forall path: {said}')}"
            raise self.reporter.error(
                "T220", f"`{word}` belongs to {where}", at, label=label, helps=(hint,)
            )
        if self.namespace.diagram and not term.on_diagrams and self.scope is not Scope.SPLIT:
            raise self._on_diagrams(word, at)
        if self.namespace.hyperplanes and term.kind is Kind.THRESHOLD:
            raise self.reporter.error(
                "T222",
                "hyperplane splits combine several features and have no threshold",
                at,
                helps=("remove the rule, or write `splits axis`",),
            )
        return term

    def _on_diagrams(self, word: str, at: ast.Node) -> StatementError:
        """That a word of leaves has no meaning where all rows of a class end at one terminal."""
        helps = ["to bound the rows at a node write `forall split: size >= 10%`"]
        what = "a diagram, which has"
        if self.namespace.plane_tree:
            what = "a tree of hyperplane splits, which is solved as a diagram with"
            helps.append("for rules on leaves leave `splits hyperplane` out")
        message = f"`{word}` is not defined for {what} one terminal per class"
        return self.reporter.error("T221", message, at, helps=tuple(helps))

    def _other_target(self, term: Term, word: str, at: ast.Node) -> StatementError:
        target = self.namespace.target
        assert term.target is not None, "other terms take all targets"
        wanted = called(term.target)
        return self.reporter.error(
            "T219",
            f"`{word}` needs {wanted}, but the target is {TargetPart.of(target.kind).said}",
            at,
            helps=TargetPart.of(target.kind).other_terms(word, target),
        )

    def _signature(self, term: Term, given: Sequence[ast.Expr], at: ast.Node) -> Signature:
        fitting = [
            signature
            for signature in term.signatures
            if len(given) == len(signature.params)
            or (signature.repeat and len(given) >= len(signature.params))
        ]
        if len(fitting) > 1 and self._names_group(given[0]):  # of a target, or of a group
            return next(s for s in fitting if s.params[0] is Param.GROUP)
        if fitting:
            return fitting[0]
        shapes = " or ".join(_shape(term, signature) for signature in term.signatures)
        raise self.reporter.error(
            "T214",
            f"`{term.name}` does not take {len(given)} argument{'s' * (len(given) != 1)}",
            at,
            helps=(f"write {shapes}",),
        )

    def _names_group(self, given: ast.Expr) -> bool:
        """Whether an argument is a group, and no target."""
        namespace = self.namespace
        if not isinstance(given, ast.Name) or given.name in namespace.target.names:
            return False
        return given.name in namespace.group_names

    def _group_for_class(self, given: ast.Expr) -> bool:
        """Whether a group stands where a class must."""
        if not isinstance(given, ast.Name) or given.name in self.namespace.lets:
            return False
        is_choice = self._labels_are_columns and given.name in self.namespace.target.classes
        return self._names_group(given) and not is_choice

    def _no_class(self, term: str, group: ast.Expr, *, of_groups: bool) -> StatementError:
        target = self.namespace.target
        named = target.classes[-1 if target.positive is None else target.positive]
        shown = expr_to_text(group)
        if self._labels_are_columns:
            label = name_text(str(named))
        else:
            label = f'"{named}"' if isinstance(named, str) else str(named)
        what = "choice" if self._labels_are_columns else "class"
        return self.reporter.error(
            "T102",
            f"expected a {what}, but {coded(shown)} is a group of rows",
            group,
            helps=(
                f"name the {what}, as in {coded(f'{term}({label})')}"
                if of_groups
                else f"name the {what} before the group: {coded(f'{term}({label}, {shown})')}",
            ),
        )

    def _check_threshold(self, term: Term, args: Sequence[Arg], at: ast.Node) -> None:
        if term.kind is not Kind.THRESHOLD:
            return
        arg = args[0]
        assert isinstance(arg, FeatureArg)
        feature = self.namespace.feature(arg.name)
        if feature.type.kind not in ("number", "ordered"):
            raise self.reporter.error(
                "T222",
                f"`{arg.name}` has type {feature.type.kind}: its splits have no threshold",
                at,
                helps=("only number and ordered columns have thresholds",),
            )
        if feature.candidates.place == "bins":
            raise self.reporter.error(
                "T222",
                f"`{arg.name}` is split by bins, which have no thresholds",
                at,
                helps=(
                    (
                        "for thresholds write "
                        f"{coded(f'candidates {name_text(arg.name)} at quantiles 4')}"
                    ),
                ),
            )

    def _check_monotone(self, term: Term, args: Sequence[Arg], at: ast.Node) -> None:
        """`increasing` and `decreasing` need an order of the feature and of the classes."""
        if term.name not in ("increasing", "decreasing"):
            return
        (arg,) = args
        assert isinstance(arg, FeatureArg)
        kind = self.namespace.feature(arg.name).type.kind
        if kind not in ("number", "ordered"):
            raise self.reporter.error(
                "T228",
                f"`{arg.name}` has type {kind}: its values have no order",
                at,
                helps=(
                    f"declare an order: {coded(f'feature {name_text(arg.name)}: ordered {{...}}')}",
                ),
            )
        target = self.namespace.target
        unordered = TargetPart.of(target.kind).unordered(target)
        if unordered is not None:
            message, instead = unordered
            raise self.reporter.error("T228", message, at, helps=(instead,))

    def _check_groups(self, term: Term, args: Sequence[Arg], at: ast.Node) -> None:
        """`gap` and `ratio` compare at least two groups, each named once."""
        if len(set(args)) < len(args):
            raise self.reporter.error("T227", f"`{term.name}` names a group twice", at)
        if len(args) < 2:
            raise self.reporter.error(
                "T227",
                f"`{term.name}` needs at least two groups",
                at,
                helps=(f"name another group, or a column: `{term.name}(..., women, men)`",),
            )

    # ---- arguments

    def _arg(self, param: Param, expr: ast.Expr) -> Arg:
        match param:
            case Param.FEATURE:
                return self.feature(expr)
            case Param.TARGET:
                return self._target(expr)
            case Param.LABEL:
                return self._label(expr)
            case Param.GROUP:
                return self._group(expr)
            case Param.ROW:
                return RowArg(text=expr_to_text(expr), index=self.namespace.cells.row(expr))
            case Param.MEASURE | Param.BY:
                raise AssertionError("resolved by the caller")
            case _:
                assert_never(param)

    def feature(self, expr: ast.Expr) -> FeatureArg:
        """A feature as an argument of a term, else an error."""
        if isinstance(expr, ast.Text):
            raise self.reporter.error(
                "T223",
                "expected a feature, but this is a text",
                expr,
                helps=(f"write columns without quotes or in backticks: `{expr.value}`",),
            )
        if not isinstance(expr, ast.Name):
            raise self.reporter.error(
                "T223",
                "expected the name of a feature",
                expr,
                helps=self._meant(expr),
            )
        names = self.namespace.feature_names
        column = self.namespace.columns.feature(expr, names)
        return FeatureArg(name=column, index=names.index(column))

    def _meant(self, expr: ast.Expr) -> tuple[str, ...]:
        """A column whose name is no word may have been written bare: `debt-to-income`."""
        source = self.reporter.source
        said = "" if source is None else source.text[expr.span.start : expr.span.end]
        column = next((name for name in self.namespace.feature_names if name.strip() == said), None)
        if column is not None:
            return (f"this name needs backticks: {backticks(column)}",)
        return ("a name that is not a single word needs backticks, such as `debt-to-income`",)

    def _target(self, expr: ast.Expr) -> TargetArg:
        names = self.namespace.target.names
        if not isinstance(expr, ast.Name) or expr.name not in names:
            raise self.reporter.unknown(
                "N118", "target", expr_to_text(expr).strip("`"), names, expr
            )
        return TargetArg(name=expr.name, index=names.index(expr.name))

    def _label(self, expr: ast.Expr) -> LabelArg:
        classes = self.namespace.target.classes
        literal = self.namespace.opened(expr)
        if isinstance(literal, ast.Name) and self._labels_are_columns:
            if literal.name not in classes:
                raise self.reporter.unknown("N106", "choice", literal.name, classes, literal)
            return LabelArg(text=name_text(literal.name), index=classes.index(literal.name))
        if isinstance(literal, ast.Number | ast.Text | ast.Name | ast.Percent):
            index = self.namespace.columns.label(literal, classes)
            label = classes[index]
            shown = f'"{label}"' if isinstance(label, str) else str(label)
            return LabelArg(text=shown, index=index)
        raise self.reporter.error(
            "T224",
            "expected a class label",
            expr,
            helps=(f"the classes are {', '.join(map(str, classes))}",),
        )

    @property
    def _labels_are_columns(self) -> bool:
        return TargetPart.of(self.namespace.target.kind).labels_are_columns

    def _group(self, expr: ast.Expr) -> GroupArg:
        if not isinstance(expr, ast.Name):
            example = 'women = sex = "female"'
            if isinstance(expr, _CONDITIONS):
                example = f"these = {expr_to_text(expr)}"
            raise self.reporter.error(
                "T225",
                "expected the name of a group",
                expr,
                helps=(f"define the group first: {coded(f'group {example}')}",),
            )
        known = self.namespace.group_names
        if expr.name not in known:
            helps = () if known else (f"define it: {coded(f'group {name_text(expr.name)} = ...')}",)
            raise self.reporter.unknown("N119", "group", expr.name, known, expr, helps=helps)
        return self._declared(expr)

    def _declared(self, expr: ast.Name) -> GroupArg:
        """A declared group; a mistake in its condition has been reported already."""
        if not any(group.name == expr.name for group in self.namespace.groups):
            raise StatementError
        return GroupArg(name=expr.name)

    def _measure(self, expr: ast.Expr) -> Apply:
        if not isinstance(expr, ast.Name | ast.Call):
            raise self.reporter.error("T226", 'expected a measure such as `rate("yes")`', expr)
        apply, kind = self.apply(expr, of_groups=True)
        if not BY_NAME[apply.term].takes_group or kind not in (
            Kind.SHARE,
            Kind.ROW_COUNT,
            Kind.NUMBER,
        ):
            raise self.reporter.error(
                "T226",
                f"`{apply.term}` is not a measure of groups",
                expr,
                helps=('use a measure of rows such as `accuracy`, `error_rate` or `rate("yes")`',),
            )
        if any(isinstance(arg, GroupArg) for arg in apply.args):
            raise self.reporter.error(
                "T226", "the measure is computed for each group: leave the group out", expr
            )
        return apply

    def _by(self, expr: ast.Expr) -> list[GroupArg]:
        """A group, or the groups that the values of a column make of the training rows."""
        if isinstance(expr, ast.Name) and expr.name in self.namespace.group_names:
            return [self._declared(expr)]
        column = self.namespace.cells.column(expr)
        levels = self._values(column)
        example = f'= "{levels[0]}"' if levels and isinstance(levels[0], str) else "< 30"
        if len(levels) > MOST_GROUPS_OF_COLUMN:
            raise self.reporter.error(
                "T227",
                f"`{column}` has {len(levels)} values, too many to compare as groups",
                expr,
                helps=(
                    (
                        "define groups from it: "
                        f"{coded(f'group these = {name_text(column)} {example}')}"
                    ),
                ),
            )
        if len(levels) < 2:
            raise self.reporter.error("T227", f"`{column}` has fewer than two groups", expr)
        return [self._of_value(column, level) for level in levels]

    def _values(self, column: str) -> tuple[Value, ...]:
        """The values of a column that training rows have."""
        type_ = self.namespace.cells.types[column]
        raw = self.namespace.training.columns[column]
        try:
            cells = encode(raw, type_)
        except OdtError:  # which the rows tell later
            raise StatementError from None
        if cells.numbers is not None:
            return as_levels(map(number_text, distinct(cells.numbers)))
        assert cells.codes is not None, "a column has numbers or codes"
        codes = np.unique(cells.codes).tolist()
        return tuple(type_.levels[code] for code in codes if code >= 0)

    def _of_value(self, column: str, level: Value) -> GroupArg:
        value = level if isinstance(level, str) else Fraction(str(level))
        shown = f'"{level}"' if isinstance(level, str) else str(level)
        condition = CellCompare(column=column, op="=", value=value)
        name, groups = f"{name_text(column)} = {shown}", self.namespace.groups
        while any(one.name == name and one.column is None for one in groups):
            name = f"rows of {name}"  # a group is declared by the name
        group = GroupDecl(name=name, condition=condition, column=column)
        if group not in groups:
            groups.append(group)
        return GroupArg(name=group.name)


def _params(signature: Signature, count: int) -> tuple[Param, ...]:
    params = signature.params
    return params + (params[-1],) * (count - len(params)) if count > len(params) else params


def _shape(term: Term, signature: Signature) -> str:
    if not signature.params:
        return f"`{term.name}`"
    shown = ", ".join(param.value for param in signature.params)
    return f"`{term.name}({shown}{', ...' if signature.repeat else ''})`"
