"""Expression objects: nodes of the syntax tree with Python's operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.language import ast, constructors
from odtdsl.words import values
from odtdsl.words.values import Label, Numeric


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Expression:
    """Part of a rule, a group or an objective, as the language writes it.

    Attributes
    ----------
    node
        Its syntax tree.
    """

    node: ast.Expr

    def __repr__(self) -> str:
        from odtdsl.language.expressions import expr_to_text

        try:
            return expr_to_text(self.node)
        except OdtError:
            return f"<an expression that cannot be written as text: {type(self.node).__name__}>"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"`{self!r}` has no truth value before a model is found: for `and`, `or`, `not` "
            "write &, |, ~ with each comparison in parentheses, and for `a <= x <= b` write "
            "x.between(a, b)"
        )


class Condition(Expression):
    """What holds or does not: combine with `&`, `|` and `~`.

    Examples
    --------
    >>> from odtdsl.words import uses
    >>> uses("thal") & ~(uses("age") | uses("sex"))
    uses(thal) and not (uses(age) or uses(sex))
    """

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        return Condition(node=constructors.conjunction([self.node, other.node]))

    def __or__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        return Condition(node=constructors.disjunction([self.node, other.node]))

    def __invert__(self) -> Condition:
        return Condition(node=ast.Not(operand=self.node))


class Measure(Expression):
    """A number or a cell: compute with it, compare it.

    Comparisons give a `Condition`. A text on the other side is a label, a float the
    decimal that Python prints for it.

    Examples
    --------
    >>> from odtdsl.words import col, error_rate, leaves
    >>> error_rate + 0.005 * leaves
    error_rate + 0.005 * leaves
    >>> (col("sex") == "female") & col("age").between(20, 65)
    sex = "female" and age in [20, 65]
    """

    __slots__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]
    __array_ufunc__: ClassVar[None] = None
    """Tells numpy's numbers on the left of an operator to leave it to the measure."""

    # ---- arithmetic

    def __add__(self, other: Measure | Numeric) -> Measure:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Numeric) -> Measure:
        # Python's `sum` starts at 0.
        return self if other == 0 else _arithmetic("+", other, self)

    def __sub__(self, other: Measure | Numeric) -> Measure:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Numeric) -> Measure:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Measure | Numeric) -> Measure:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Numeric) -> Measure:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: Measure | Numeric) -> Measure:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: Numeric) -> Measure:
        return _arithmetic("/", other, self)

    def __neg__(self) -> Measure:
        return Measure(node=constructors.negate(self.node))

    def __pos__(self) -> Measure:
        return self

    def __abs__(self) -> Measure:
        return Measure(node=ast.Call(function="abs", args=(self.node,)))

    # ---- comparisons

    def __le__(self, other: Measure | Label) -> Condition:
        return _compare(self, "<=", other)

    def __ge__(self, other: Measure | Label) -> Condition:
        return _compare(self, ">=", other)

    def __lt__(self, other: Measure | Label) -> Condition:
        return _compare(self, "<", other)

    def __gt__(self, other: Measure | Label) -> Condition:
        return _compare(self, ">", other)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return _compare(self, "=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return _compare(self, "!=", other)

    def isin(self, members: Iterable[Label]) -> Condition:
        """`x in {a, b, ...}`; the members of a Python set are sorted."""
        items = tuple(_member(member) for member in values.listed(members, "a set of values"))
        return Condition(node=ast.Member(item=self.node, within=ast.SetOf(items=items)))

    def between(self, low: Measure | Numeric, high: Measure | Numeric) -> Condition:
        """`x in [low, high]`, ends included; `low <= x <= high` where an end is no literal."""
        ends = _operand(low), _operand(high)
        if isinstance(ends[0], ast.Number) and isinstance(ends[1], ast.Number):
            within = ast.Interval(low=ends[0], high=ends[1])
            return Condition(node=ast.Member(item=self.node, within=within))
        operands = (_demanded(ends[0], low), self.node, _demanded(ends[1], high))
        return Condition(node=ast.Compare(operands=operands, ops=("<=", "<=")))

    def is_missing(self) -> Condition:
        """`x is missing`, of a row's cell inside a group."""
        return Condition(node=ast.IsMissing(item=self.node))

    def multiple_of(self, step: Numeric) -> Condition:
        """`x multiple_of step`."""
        right = _demanded(_operand(step), step)
        return Condition(node=ast.Infix(word="multiple_of", left=self.node, right=right))


class OfGroup(Measure):
    """A measure of all rows, or, called with the name of a group, of the group's.

    Examples
    --------
    >>> from odtdsl.words import accuracy
    >>> accuracy("women") >= accuracy - 0.05
    accuracy(women) >= accuracy - 0.05
    """

    __slots__ = ()

    def __call__(self, group: str) -> Measure:
        """The measure of the rows of a group, by its name."""
        return call(self, values.name(group, "a group"))


class OfTarget(Measure):
    """A measure of all number targets and rows, or, called with the name of a target, a group or
    both, of these."""

    __slots__ = ()

    def __call__(self, target: str, group: str | None = None) -> Measure:
        """The measure of one target, or of a group; or of a target and a group."""
        if group is None:
            return call(self, values.name(target, "a target or a group"))
        return call(self, values.name(target, "a target"), values.name(group, "a group"))


class Named(Measure, Condition):
    """The name of a `let`, which may stand for a number or for a condition."""

    __slots__ = ()


class ColumnWord(Expression):
    """`root` or `feature`: what a split tests, compared with features.

    Examples
    --------
    >>> from odtdsl.words import feature, root
    >>> root.isin(["age", "math score"]) & (feature != "sex")
    root in {age, `math score`} and feature != sex
    """

    __slots__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def isin(self, features: Iterable[str]) -> Condition:
        """`root in {a, b, ...}`."""
        items = values.names(values.listed(features, "a set of features"), "a feature")
        return Condition(node=ast.Member(item=self.node, within=ast.SetOf(items=items)))

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compare("!=", other)

    def _compare(self, op: ast.CompareOp, other: object) -> Condition:
        operands = (self.node, values.name(other, "a feature"))
        return Condition(node=ast.Compare(operands=operands, ops=(op,)))


class RowWord(Expression):
    """`row`: rows of a group by number, counted from 0, or by the values of the `id` column.

    Examples
    --------
    >>> from odtdsl.words import row
    >>> row.isin([3, 17])
    row in {3, 17}
    """

    __slots__ = ()

    def isin(self, rows: Iterable[Label]) -> Condition:
        """`row in {3, 17}`."""
        items = values.labels(rows, "a row")
        return Condition(node=ast.Member(item=self.node, within=ast.SetOf(items=items)))


def call(word: Expression, *args: ast.Expr) -> Measure:
    """A measure's word with arguments."""
    assert isinstance(word.node, ast.Name), "a term's word"
    return Measure(node=ast.Call(function=word.node.name, args=args))


def _operand(value: object) -> ast.Expr | None:
    return value.node if isinstance(value, Measure) else values.number(value)


def _demanded(node: ast.Expr | None, value: object) -> ast.Expr:
    if node is None:
        raise values.wrong("a side of a comparison", value, "give a number or a measure")
    return node


def _arithmetic(op: Literal["+", "-", "*", "/"], left: object, right: object) -> Measure:
    sides = _operand(left), _operand(right)
    if sides[0] is None or sides[1] is None:
        return NotImplemented  # type: ignore[no-any-return]
    return Measure(node=ast.Binary(op=op, left=sides[0], right=sides[1]))


def _compare(left: Measure, op: ast.CompareOp, right: object) -> Condition:
    other = _operand(right)
    if other is None:
        other = values.label(right, "a side of a comparison")
    return Condition(node=ast.Compare(operands=(left.node, other), ops=(op,)))


def _member(value: object) -> ast.Literal:
    if isinstance(value, Measure) and isinstance(value.node, ast.Percent):
        return value.node
    return values.label(value, "a member of a set")
