"""Rules and objectives: expressions resolved to terms, with scopes, kinds and percentages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from odtdsl.analysis.cells import Cells
from odtdsl.analysis.columns import Columns
from odtdsl.analysis.desk import Desk, Stop
from odtdsl.ir.expr import (
    Abs,
    AndC,
    Apply,
    Arg,
    Arith,
    CellCompare,
    Compare,
    CompareOp,
    Condition,
    Const,
    Count,
    Expr,
    FeatureArg,
    GroupArg,
    LabelArg,
    Level,
    Minus,
    MultipleOf,
    NotC,
    OneOf,
    OrC,
    RowArg,
    RowShare,
    Scope,
    TargetArg,
)  # fmt: skip
from odtdsl.ir.problem import FeatureDecl, GroupDecl, TargetDecl
from odtdsl.syntax import ast
from odtdsl.syntax.expressions import expr_to_text
from odtdsl.terms.base import Kind, Param, Signature, Term
from odtdsl.terms.evaluate import applications
from odtdsl.terms.registry import BY_NAME

MOST_GROUPS_OF_COLUMN = 20
FUNCTIONS = ("abs", "sum", "count")
SCOPES = {"path": Scope.PATH, "leaf": Scope.LEAF, "split": Scope.SPLIT}
WORDS = frozenset(BY_NAME) - {"output", "before", "requires"}
"""Names that a bare word means as a term."""


@dataclass(slots=True, kw_only=True)
class World:
    """What names can mean. `groups` grows by the groups that columns make."""

    features: tuple[FeatureDecl, ...]
    target: TargetDecl
    columns: Columns
    cells: Cells
    groups: list[GroupDecl]
    lets: Mapping[str, ast.Let]
    diagram: bool
    opening: list[str] = field(default_factory=list)

    @property
    def feature_names(self) -> list[str]:
        return [feature.name for feature in self.features]

    def feature(self, name: str) -> FeatureDecl:
        return next(feature for feature in self.features if feature.name == name)


class Resolver:
    """Resolves the expressions of one scope."""

    def __init__(self, world: World, scope: Scope, desk: Desk) -> None:
        self.world, self.scope, self.desk = world, scope, desk

    # ---- conditions

    def condition(self, expr: ast.Expr) -> Condition:
        match expr:
            case ast.And():
                return AndC(items=self._all(expr.items))
            case ast.Or():
                return OrC(items=self._all(expr.items))
            case ast.Not():
                return NotC(operand=self.condition(expr.operand))
            case ast.If():
                premise, conclusion = self._all((expr.condition, expr.consequence))
                return OrC(items=(NotC(operand=premise), conclusion))
            case ast.Compare():
                return self._chain(expr)
            case ast.Member():
                return self._member(expr)
            case ast.Infix(word="multiple_of"):
                return self._multiple(expr)
            case ast.Infix():
                return self._pair(expr)
            case ast.Name() | ast.Call():
                return self._term_condition(expr)
            case ast.IsMissing():
                raise self.desk.error(
                    "T201", "`is missing` is said of a row's cell, inside a `group`", expr
                )
            case _:
                raise self.desk.error(
                    "T202", f"`{_text(expr)}` is a number, not a condition", expr,
                    helps=("compare it: `errors <= 10`",),
                )  # fmt: skip

    def _all(self, items: Sequence[ast.Expr]) -> tuple[Condition, ...]:
        """Resolve each, so that the mistakes of all are told at once."""
        found: list[Condition] = []
        failed = False
        for item in items:
            try:
                found.append(self.condition(item))
            except Stop:
                failed = True
        if failed:
            raise Stop
        return tuple(found)

    def _term_condition(self, expr: ast.Name | ast.Call) -> Condition:
        if isinstance(expr, ast.Name) and not expr.quoted and expr.name in self.world.lets:
            return self._let(expr, self.condition)
        apply, kind = self.apply(expr)
        if kind is not Kind.CONDITION:
            raise self.desk.error(
                "T202", f"`{_text(expr)}` is a {kind.value}, not a condition", expr,
                helps=(
                    f"write `{apply.term} in {{...}}`" if kind is Kind.COLUMN
                    else f"compare it: `{_text(expr)} <= ...`",
                ),
            )  # fmt: skip
        return apply

    def _pair(self, expr: ast.Infix) -> Condition:
        term = self._in_scope(expr.word, expr)
        args = (self._feature(expr.left), self._feature(expr.right))
        if args[0].name == args[1].name:
            raise self.desk.error(
                "T203", f"`{args[0].name} {expr.word} {args[1].name}` compares a feature with itself",
                expr,
                helps=(f"to test it once a path at most: `tests({args[0].name}) <= 1`",),
            )  # fmt: skip
        return Apply(term=term.name, args=args)

    def _member(self, expr: ast.Member) -> Condition:
        word = self._column_word(expr.item)
        if word is not None:
            return self._columns_in(word, expr)
        item = self._value(expr.item)
        if isinstance(expr.within, ast.Interval):
            low, high = expr.within.low.value, expr.within.high.value
            if low > high:
                raise self.desk.error(
                    "T204", "the interval is empty: its ends are swapped", expr.within
                )
            return AndC(
                items=(
                    Compare(op=">=", left=item, right=Const(value=low)),
                    Compare(op="<=", left=item, right=Const(value=high)),
                )
            )
        texts = [literal for literal in expr.within.items if isinstance(literal, ast.Text)]
        if texts:
            return self._levels(item, "=", texts, expr)
        values: list[Fraction] = []
        for literal in expr.within.items:
            if isinstance(literal, ast.Number):
                values.append(literal.value)
            else:
                raise self.desk.error("T205", "a number should stand here", literal)
        return OneOf(item=item, values=tuple(values))

    def _column_word(self, expr: ast.Expr) -> str | None:
        """`root` or `feature`, the words that are compared with columns."""
        if isinstance(expr, ast.Name) and not expr.quoted:
            term = BY_NAME.get(expr.name)
            if term is not None and term.kind is Kind.COLUMN:
                return expr.name
        return None

    def _columns_in(self, word: str, expr: ast.Member) -> Condition:
        term = self._in_scope(word, expr)
        if isinstance(expr.within, ast.Interval):
            raise self.desk.error(
                "T206", f"`{word}` is compared with features", expr.within,
                helps=(f"write `{word} in {{age, sex}}`",),
            )  # fmt: skip
        args: list[Arg] = []
        failed = False
        for literal in expr.within.items:
            try:
                args.append(self._feature(literal))
            except Stop:
                failed = True
        if failed:
            raise Stop
        return Apply(term=term.name, args=tuple(args))

    def _multiple(self, expr: ast.Infix) -> Condition:
        item = self._value(expr.left)
        step = self._value(expr.right)
        if not isinstance(step, Const) or step.value <= 0:
            raise self.desk.error("T207", "`multiple_of` takes a number above 0", expr.right)
        return MultipleOf(item=item, step=step.value)

    # ---- comparisons

    def _chain(self, expr: ast.Compare) -> Condition:
        found: list[Condition] = []
        for left, op, right in zip(expr.operands, expr.ops, expr.operands[1:], strict=False):
            found.append(self._compare(left, op, right, expr))
        return found[0] if len(found) == 1 else AndC(items=tuple(found))

    def _compare(
        self, left: ast.Expr, op: CompareOp, right: ast.Expr, at: ast.Compare
    ) -> Condition:
        for word_side, other in ((left, right), (right, left)):
            word = self._column_word(word_side)
            if word is not None and isinstance(other, ast.Name) and op in ("=", "!="):
                term = self._in_scope(word, word_side)
                one = Apply(term=term.name, args=(self._feature(other),))
                return one if op == "=" else NotC(operand=one)
            if isinstance(other, ast.Text):
                item = self._value(word_side)
                ordered = op if other is right else _flip(op)
                return self._levels(item, ordered, [other], at)
        if isinstance(left, ast.Compare | ast.And | ast.Or | ast.Not):
            raise self.desk.error("T208", "a condition is compared with a number", left)
        a, b = self._value(left), self._value(right)
        group = self._counted(a, b, at)
        if group is not None:
            a, b = (_shares_of_rows(side, group.of) for side in (a, b))
        return Compare(op=op, left=a, right=b)

    def _counted(self, a: Expr, b: Expr, at: ast.Node) -> _Counted | None:
        """Of which rows a percentage in the comparison is a share; None where it is a ratio."""
        if not (_has_percent(a) or _has_percent(b)):
            return None
        both = Compare(op="<=", left=a, right=b)
        kinds = {BY_NAME[call.term].kind for call in applications(both)}
        if Kind.ROW_COUNT not in kinds:
            if Kind.SHARE not in kinds and (_is_percent(a) or _is_percent(b)) and kinds:
                name = next(iter(applications(both))).term
                raise self.desk.error(
                    "T209", f"a percentage of what? `{name}` is neither a share nor a count of rows",
                    at, helps=("write a plain number",),
                )  # fmt: skip
            return None
        counts = [c for c in applications(both) if BY_NAME[c.term].kind is Kind.ROW_COUNT]
        groups = {next((x for x in c.args if isinstance(x, GroupArg)), None) for c in counts}
        if len(groups) > 1 or Kind.SHARE in kinds:
            raise self.desk.error(
                "T210", "it is not clear what the percentage is a share of", at,
                helps=("write the number of rows, or compare shares only",),
            )  # fmt: skip
        return _Counted(of=groups.pop())

    def _levels(
        self, item: Expr, op: CompareOp, texts: Sequence[ast.Text], at: ast.Node
    ) -> Condition:
        """`threshold(f) <= "mid"` on an ordered column with text levels."""
        if not isinstance(item, Apply) or item.term != "threshold":
            raise self.desk.error("T211", "a number is compared with a text", texts[0])
        argument = item.args[0]
        assert isinstance(argument, FeatureArg)
        levels = self.world.feature(argument.name).type.levels
        chosen: list[str] = []
        for text in texts:
            if text.value not in levels:
                raise self.desk.unknown(
                    "N116",
                    f"level of `{argument.name}`",
                    text.value,
                    [str(v) for v in levels],
                    text,
                )
            at_rank = levels.index(text.value)
            chosen += [str(level) for rank, level in enumerate(levels) if _RANKS[op](rank, at_rank)]
        return Level(item=item, values=tuple(dict.fromkeys(chosen)))

    # ---- numbers

    def _value(self, expr: ast.Expr) -> Expr:
        match expr:
            case ast.Number():
                return Const(value=expr.value)
            case ast.Percent():
                return Const(value=expr.value / 100, percent=True)
            case ast.Negate():
                return Minus(operand=self._value(expr.operand))
            case ast.Binary():
                return self._binary(expr)
            case ast.Call(function="abs"):
                return Abs(operand=self._value(self._arguments(expr, 1)[0]))
            case ast.Call(function="sum"):
                items = [self._value(arg) for arg in self._arguments(expr, None)]
                total = items[0]
                for item in items[1:]:
                    total = Arith(op="+", left=total, right=item)
                return total
            case ast.Call(function="count") if "count" not in self.world.feature_names:
                return Count(conditions=self._all(self._arguments(expr, None)))
            case ast.Name() | ast.Call():
                return self._number_term(expr)
            case ast.Text():
                raise self.desk.error("T211", "a text where a number should stand", expr)
            case _:
                raise self.desk.error(
                    "T212", f"`{_text(expr)}` is a condition where a number should stand", expr,
                    helps=("count conditions with `count(...)`",),
                )  # fmt: skip

    def number(self, expr: ast.Expr) -> Expr:
        return self._value(expr)

    def _binary(self, expr: ast.Binary) -> Expr:
        left, right = self._value(expr.left), self._value(expr.right)
        if expr.op == "/" and isinstance(right, Const) and right.value == 0:
            raise self.desk.error("T213", "a division by 0", expr.right)
        if isinstance(left, Const) and isinstance(right, Const):
            a, b = left.value, right.value
            value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else a}[expr.op]
            percent = (left.percent or right.percent) and expr.op in "+-"
            return Const(value=value, percent=percent)
        return Arith(op=expr.op, left=left, right=right)

    def _arguments(self, expr: ast.Call, count: int | None) -> tuple[ast.Expr, ...]:
        wrong = not expr.args if count is None else len(expr.args) != count
        if wrong:
            wanted = "at least one argument" if count is None else f"{count} argument"
            raise self.desk.error("T214", f"`{expr.function}` takes {wanted}", expr)
        return expr.args

    def _number_term(self, expr: ast.Name | ast.Call) -> Expr:
        if isinstance(expr, ast.Name):
            if not expr.quoted and expr.name in self.world.lets and expr.name not in WORDS:
                return self._let(expr, self._value)
            target = self._target_output(expr)
            if target is not None:
                return target
        apply, kind = self.apply(expr)
        if kind in (Kind.CONDITION, Kind.COLUMN):
            raise self.desk.error(
                "T212", f"`{_text(expr)}` is a condition where a number should stand", expr,
                helps=("count conditions with `count(...)`",),
            )  # fmt: skip
        return apply

    def _target_output(self, expr: ast.Name) -> Apply | None:
        """A number target's name stands for the leaf's output of it."""
        target = self.world.target
        if expr.name not in target.names or (not expr.quoted and expr.name in WORDS):
            if not (expr.name in target.names and self.scope is Scope.LEAF and expr.name != "size"):
                return None
        if target.kind != "number":
            raise self.desk.error(
                "T215", f"`{expr.name}` is the target; a class has no value to compare", expr,
                helps=("for the label of a leaf write `majority` or `purity`",),
            )  # fmt: skip
        self._in_scope("output", expr, shown=expr.name)
        return Apply(
            term="output", args=(TargetArg(name=expr.name, index=target.names.index(expr.name)),)
        )

    def _let(self, expr: ast.Name, resolve):  # type: ignore[no-untyped-def]
        if expr.name in self.world.opening:
            raise self.desk.error("N117", f"`let {expr.name}` is defined by itself", expr)
        self.world.opening.append(expr.name)
        try:
            return resolve(self.world.lets[expr.name].value)
        finally:
            self.world.opening.pop()

    # ---- terms

    def apply(self, expr: ast.Name | ast.Call) -> tuple[Apply, Kind]:
        """A term with its arguments, and the kind of its value."""
        name = expr.name if isinstance(expr, ast.Name) else expr.function
        given = () if isinstance(expr, ast.Name) else expr.args
        if name not in WORDS or (isinstance(expr, ast.Name) and expr.quoted):
            raise self._no_term(name, expr)
        term = self._in_scope(name, expr)
        if term.kind is Kind.COLUMN:
            raise self.desk.error(
                "T216", f"`{name}` is compared with features", expr,
                helps=(f"write `{name} in {{age, sex}}`",),
            )  # fmt: skip
        signature = self._signature(term, given, expr)
        args: list[Arg] = []
        of: Apply | None = None
        failed = False
        for param, arg in zip(_params(signature, len(given)), given, strict=True):
            try:
                if param is Param.MEASURE:
                    of = self._measure(arg)
                elif param is Param.BY:
                    args += self._by(arg)
                else:
                    args.append(self._arg(param, arg))
            except Stop:
                failed = True
        if failed:
            raise Stop
        self._check_threshold(term, args, expr)
        return Apply(term=term.name, args=tuple(args), of=of), term.kind

    def _no_term(self, name: str, expr: ast.Expr) -> Stop:
        world = self.world
        if isinstance(expr, ast.Call):
            known = sorted(WORDS | set(FUNCTIONS))
            return self.desk.unknown("N201", "term", name, known, expr)
        if any(group.name == name for group in world.groups):
            return self.desk.error(
                "T217", f"`{name}` is a group of rows, not a number or condition", expr,
                helps=(f"write `accuracy({name})`, or `size({name})` on leaves",),
            )  # fmt: skip
        if name in world.columns.table.columns:
            helps = (
                (f"write `uses({name})`, or `threshold({name})` on splits",)
                if name in world.feature_names
                else ()
            )
            return self.desk.error("T218", f"`{name}` is a column, not a number or condition", expr,
                                   helps=helps)  # fmt: skip
        known = [*sorted(WORDS), *world.lets, *(g.name for g in world.groups)]
        return self.desk.unknown("N201", "name", name, known, expr)

    def _in_scope(self, name: str, at: ast.Node, shown: str | None = None) -> Term:
        term = BY_NAME[name]
        word = shown or name
        kind = self.world.target.kind
        if term.target is not None and term.target != kind:
            wanted = "a class target" if term.target == "class" else "a number target"
            raise self.desk.error(
                "T219", f"`{word}` needs {wanted}, but the target is a {kind}", at,
                helps=(
                    "write `minimize mse`, `mae` or `poisson` for numbers" if kind == "number"
                    else "write `minimize errors`, or declare the target `: number`",
                ),
            )  # fmt: skip
        if self.scope not in term.scopes:
            where = " or ".join(
                "the whole model" if scope is Scope.MODEL else f"a {scope.value}"
                for scope in term.scopes
            )
            hint = term.hint or f"`{word}` stands in a rule without `forall`"
            raise self.desk.error(
                "T220", f"`{word}` belongs to {where}", at, label=f"in the scope {self.scope.value}",
                helps=(hint,),
            )  # fmt: skip
        if self.world.diagram and not term.on_diagrams:
            if self.scope is not Scope.SPLIT:
                raise self.desk.error(
                    "T221", f"`{word}` has no meaning on a diagram: it has one terminal per class",
                    at, helps=("write `forall split: size >= 10%`",),
                )  # fmt: skip
        return term

    def _signature(self, term: Term, given: Sequence[ast.Expr], at: ast.Node) -> Signature:
        for signature in term.signatures:
            n = len(signature.params)
            if len(given) == n or (signature.repeat and len(given) >= n):
                return signature
        shapes = " or ".join(_shape(term, signature) for signature in term.signatures)
        raise self.desk.error(
            "T214", f"`{term.name}` does not take {len(given)} arguments", at,
            helps=(f"write {shapes}",),
        )  # fmt: skip

    def _check_threshold(self, term: Term, args: Sequence[Arg], at: ast.Node) -> None:
        if term.kind is not Kind.THRESHOLD:
            return
        arg = args[0]
        assert isinstance(arg, FeatureArg)
        feature = self.world.feature(arg.name)
        if feature.type.kind not in ("number", "ordered"):
            raise self.desk.error(
                "T222", f"`{arg.name}` is of type {feature.type.kind}: its splits have no threshold",
                at, helps=("thresholds are of numbers and ordered columns",),
            )  # fmt: skip
        if feature.candidates.place == "bins":
            raise self.desk.error(
                "T222", f"`{arg.name}` is split by bins, which have no threshold", at,
                helps=(f"write `candidates {arg.name} at quantiles 4` for thresholds",),
            )  # fmt: skip

    # ---- arguments

    def _arg(self, param: Param, expr: ast.Expr) -> Arg:
        match param:
            case Param.FEATURE:
                return self._feature(expr)
            case Param.TARGET:
                return self._target(expr)
            case Param.LABEL:
                return self._label(expr)
            case Param.GROUP:
                return self._group(expr)
            case Param.ROW:
                return RowArg(text=_text(expr), index=self.world.cells.row(expr))
            case Param.MEASURE | Param.BY:
                raise AssertionError("resolved by the caller")
            case _:
                assert_never(param)

    def _feature(self, expr: ast.Expr) -> FeatureArg:
        if isinstance(expr, ast.Text):
            raise self.desk.error(
                "T223", "a text where a feature should stand", expr,
                helps=(f"columns are written without quotes, or in backticks: `{expr.value}`",),
            )  # fmt: skip
        if not isinstance(expr, ast.Name):
            raise self.desk.error("T223", "a feature's name should stand here", expr)
        names = self.world.feature_names
        column = self.world.columns.feature(expr, names)
        return FeatureArg(name=column, index=names.index(column))

    def _target(self, expr: ast.Expr) -> TargetArg:
        names = self.world.target.names
        if not isinstance(expr, ast.Name) or expr.name not in names:
            raise self.desk.unknown("N118", "target", _text(expr).strip("`"), names, expr)
        return TargetArg(name=expr.name, index=names.index(expr.name))

    def _label(self, expr: ast.Expr) -> LabelArg:
        classes = self.world.target.classes
        if isinstance(expr, ast.Number | ast.Text | ast.Name | ast.Percent):
            index = self.world.columns.label(expr, classes)
            shown = (
                f'"{classes[index]}"' if isinstance(classes[index], str) else str(classes[index])
            )
            return LabelArg(text=shown, index=index)
        raise self.desk.error(
            "T224", "a class label should stand here", expr,
            helps=(f"the classes are {', '.join(map(str, classes))}",),
        )  # fmt: skip

    def _group(self, expr: ast.Expr) -> GroupArg:
        names = [group.name for group in self.world.groups]
        if isinstance(expr, ast.Name):
            if expr.name in names:
                return GroupArg(name=expr.name)
            raise self.desk.unknown(
                "N119", "group", expr.name, names, expr,
                helps=() if names else (f"define it: `group {expr.name} = ...`",),
            )  # fmt: skip
        raise self.desk.error(
            "T225", "a group's name should stand here", expr,
            helps=("name the rows first: `group women = sex = \"female\"`",),
        )  # fmt: skip

    def _measure(self, expr: ast.Expr) -> Apply:
        if not isinstance(expr, ast.Name | ast.Call):
            raise self.desk.error("T226", 'a measure such as `rate("yes")` should stand here', expr)
        apply, kind = self.apply(expr)
        takes_group = any(Param.GROUP in s.params for s in BY_NAME[apply.term].signatures)
        if not takes_group or kind not in (Kind.SHARE, Kind.ROW_COUNT, Kind.NUMBER):
            raise self.desk.error(
                "T226", f"`{apply.term}` is no measure of groups", expr,
                helps=("take accuracy, error_rate, rate, recall or false_positive_rate",),
            )  # fmt: skip
        if any(isinstance(arg, GroupArg) for arg in apply.args):
            raise self.desk.error(
                "T226", "the measure is taken of each group in turn: name none", expr
            )
        return apply

    def _by(self, expr: ast.Expr) -> list[GroupArg]:
        if isinstance(expr, ast.Name) and any(g.name == expr.name for g in self.world.groups):
            return [GroupArg(name=expr.name)]
        column = self.world.cells.column(expr)
        levels = self.world.cells.types[column].levels or self._numbers_of(column, expr)
        found: list[GroupArg] = []
        for level in levels:
            value = level if isinstance(level, str) else Fraction(str(level))
            shown = f'"{level}"' if isinstance(level, str) else str(level)
            group = GroupDecl(
                name=f"{column} = {shown}",
                condition=CellCompare(column=column, op="=", value=value),
            )
            if group not in self.world.groups:
                self.world.groups.append(group)
            found.append(GroupArg(name=group.name))
        if len(found) < 2:
            raise self.desk.error("T227", f"`{column}` makes fewer than two groups", expr)
        return found

    def _numbers_of(self, column: str, at: ast.Expr) -> Sequence[str | int | float]:
        from odtdsl.data.typing import levels_of

        levels = levels_of(self.world.columns.table.columns[column])
        if len(levels) > MOST_GROUPS_OF_COLUMN:
            raise self.desk.error(
                "T227", f"`{column}` has {len(levels)} distinct numbers, too many for groups", at,
                helps=(f"make groups of it: `group young = {column} < 30`",),
            )  # fmt: skip
        return levels


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    of: GroupArg | None


def _shares_of_rows(expr: Expr, group: GroupArg | None) -> Expr:
    """Percentages that stand as summands become shares of rows; factors stay ratios."""
    match expr:
        case Const(percent=True):
            return RowShare(share=expr.value, group=group)
        case Minus():
            return Minus(operand=_shares_of_rows(expr.operand, group))
        case Arith(op="+" | "-"):
            return Arith(
                op=expr.op, left=_shares_of_rows(expr.left, group),
                right=_shares_of_rows(expr.right, group),
            )  # fmt: skip
        case _:
            return expr


def _has_percent(expr: Expr) -> bool:
    """Whether a percentage stands as a summand."""
    return expr != _shares_of_rows(expr, None)


def _is_percent(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.percent


def _params(signature: Signature, count: int) -> tuple[Param, ...]:
    params = signature.params
    return params + (params[-1],) * (count - len(params)) if count > len(params) else params


def _shape(term: Term, signature: Signature) -> str:
    if not signature.params:
        return f"`{term.name}`"
    shown = ", ".join(param.value for param in signature.params)
    return f"`{term.name}({shown}{', ...' if signature.repeat else ''})`"


def _flip(op: CompareOp) -> CompareOp:
    flipped: dict[CompareOp, CompareOp] = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
    return flipped.get(op, op)


_RANKS = {
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b,
    ">": lambda a, b: a > b, "=": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


def _text(expr: ast.Expr) -> str:
    return expr_to_text(expr)
