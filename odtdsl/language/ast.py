"""The syntax tree of a spec: what was written, before any name has a meaning.

Every node is frozen, holds tuples, and carries a `span` that takes no part in
equality, so that `parse(print(spec)) == spec` compares what was said and not where.
Numbers are exact; `text` keeps how a literal was written for the formatter and
takes no part in equality either.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Literal as Lit

from odtdsl.base.frozen import dataclass
from odtdsl.base.source import NOWHERE, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Base of all syntax nodes."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---- expressions


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Node):
    """A number literal; a minus sign directly before a literal is part of it."""

    value: Fraction
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Percent(Node):
    """`p%`; `value` is p itself, so 10% has value 10."""

    value: Fraction
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Node):
    """A quoted value, `"text"`."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Node):
    """A bare or backticked word: a column, group, `let` name or term without arguments."""

    name: str
    quoted: bool = False
    """Written in backticks: always a column, never a term. Takes part in equality."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Node):
    """`function(arg, ...)`."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Negate(Node):
    """`-x` for an x that is not a number literal."""

    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Node):
    """Arithmetic, left-associative."""

    op: Lit["+", "-", "*", "/"]
    left: Expr
    right: Expr


CompareOp = Lit["<=", ">=", "<", ">", "=", "!="]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Node):
    """`a <= b`, or a chain `0 <= a <= 100` (two operators at most). `==` is read as `=`."""

    operands: tuple[Expr, ...]
    ops: tuple[CompareOp, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOf(Node):
    """`{a, b, ...}`."""

    items: tuple[Literal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Node):
    """`[low, high]`, closed."""

    low: Number
    high: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Node):
    """`x in {...}` or `x in [low, high]`."""

    item: Expr
    within: SetOf | Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class IsMissing(Node):
    """`x is missing`."""

    item: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Infix(Node):
    """`a before b`, `b requires a`, `x multiple_of 5`."""

    word: Lit["before", "requires", "multiple_of"]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Not(Node):
    """`not C`."""

    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class And(Node):
    """`C and D`, with two operands or more."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Or(Node):
    """`C or D`, with two operands or more."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class If(Node):
    """`if condition then consequence`."""

    condition: Expr
    consequence: Expr


Literal = Number | Percent | Text | Name
"""What may stand in a set or as a label: a name there is a bare word, such as a feature."""

Expr = (
    Number
    | Percent
    | Text
    | Name
    | Call
    | Negate
    | Binary
    | Compare
    | Member
    | IsMissing
    | Infix
    | Not
    | And
    | Or
    | If
)


# ---- statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Star(Node):
    """`*`: all features that no other statement of the kind names."""


Columns = tuple[Name, ...] | Star


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource(Node):
    """`data "train.csv"`."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySource(Node):
    """`data sklearn "wine"`, `data openml "haberman"`."""

    library: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSource(Node):
    """`data frame`: given from Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFile(Node):
    """`test "test.csv"`."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestShare(Node):
    """`test 33% stratified seed 1`; `test 33% by patient` keeps rows of one value together."""

    share: Percent
    by: Name | None = None
    stratified: bool = False
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NaMarks(Node):
    """`na {"?", "NA"}`."""

    marks: tuple[Literal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Separator(Node):
    """`separator ";"`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decimal(Node):
    """`decimal ","`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thousands(Node):
    """`thousands "."`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Header(Node):
    """`header none`."""

    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding(Node):
    """`encoding "latin-1"`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet(Node):
    """`sheet "2024"`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdColumn(Node):
    """`id patient`."""

    column: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Days(Node):
    """`days {admitted}`."""

    columns: tuple[Literal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(Node):
    """`parts {admitted}`."""

    columns: tuple[Literal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates(Node):
    """`dates "dmy"`."""

    order: str


DataOption = (
    TestFile
    | TestShare
    | NaMarks
    | Separator
    | Decimal
    | Thousands
    | Header
    | Encoding
    | Sheet
    | IdColumn
    | Days
    | Parts
    | Dates
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Data(Node):
    """The statement `data`, with its options."""

    source: FileSource | LibrarySource | FrameSource
    options: tuple[DataOption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSpec(Node):
    """A column's type as written.

    `kind` is one of number, integer, category, binary, ordered, class; `values` holds
    the labels of `class {...}` or the levels of `ordered {...}`; `step` the grid of
    `number step 1`.
    """

    kind: str
    values: tuple[Literal, ...] | None = None
    step: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Node):
    """`target survived`, `target y: class {"a", "b"} positive "b"`.

    `target choice {a, b} by reward` has the type `choice`, and what its columns hold in `by`;
    `target survival months event died` has the type `survival`, and the two columns.
    """

    columns: tuple[Name, ...]
    type: TypeSpec | None = None
    positive: Literal | None = None
    by: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature(Node):
    """`feature age, chol: number`."""

    columns: Columns
    type: TypeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Node):
    """`drop id, race`."""

    columns: tuple[Name, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight(Node):
    """`weight w`."""

    column: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(Node):
    """`missing branch`, or for some columns `missing {comfort} branch`."""

    policy: str
    columns: tuple[Name, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates(Node):
    """`candidates * at bins 3`: `place` is midpoints, midpoints exact, quantiles, bins, guessed
    or values."""

    columns: Columns
    place: str
    count: int | None = None
    values: tuple[Literal, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostItem(Node):
    """One price: of a column, of `*`, or (`shared`) once for a set of columns."""

    columns: Columns
    shared: bool
    amount: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Node):
    """`cost chol = 7.27, thal = 1`."""

    items: tuple[CostItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Node):
    """`loss predict "no" when "yes" = 5`."""

    predicted: Literal
    actual: Literal
    amount: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Node):
    """`group women = sex = "female"`."""

    name: str
    condition: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Let(Node):
    """`let alpha = 0.01`."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonBound(Node):
    """`depth <= 3`, `leaves <= 6`, `nodes <= 7`, `splits <= 3`."""

    measure: str
    op: CompareOp
    value: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Node):
    """`tree depth <= 3, leaves <= 6`."""

    bounds: tuple[SkeletonBound, ...] = ()
    splits: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram(Node):
    """`diagram widths 1, 2, 4`."""

    widths: tuple[int, ...]
    splits: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Node):
    """One stage of the objective; `sense` is None if the stage did not give one."""

    sense: Lit["minimize", "maximize"] | None
    measure: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective(Node):
    """The first stage always has a sense."""

    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Node):
    """`rule NAME: forall SCOPE: condition`; `scope` is None for the whole model."""

    name: str
    condition: Expr
    scope: str | None = None
    scope_span: Span = field(default=NOWHERE, compare=False, repr=False)
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Node):
    """`split = relaxed 10` or, without a `value`, `steps = 500` inside `using NAME(...)`."""

    key: str
    value: str
    amount: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Using(Node):
    """`using exact`, `using greedy(leaf = optimal)`."""

    backend: str
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Within(Node):
    """A time limit; `unit` is s, min or h."""

    amount: Number
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GapLimit(Node):
    """The gap at which to stop: relative below 1, else in units of the first stage."""

    amount: Percent | Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady(Node):
    """How long no better model may come before the search ends; `unit` is s, min or h."""

    amount: Number
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads(Node):
    """`threads 2`."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed(Node):
    """`seed 1`."""

    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Node):
    """A memory limit; `unit` is MB or GB."""

    amount: Number
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Start(Node):
    """`start "tree.json"`."""

    path: str


SolveOption = Using | Within | GapLimit | Steady | Threads | Seed | Memory | Start


@dataclass(frozen=True, slots=True, kw_only=True)
class Solve(Node):
    """The statement `solve`, with its options."""

    options: tuple[SolveOption, ...]


Statement = (
    Data
    | Target
    | Feature
    | Drop
    | Weight
    | Missing
    | Candidates
    | Cost
    | Loss
    | Group
    | Let
    | Tree
    | Diagram
    | Objective
    | Rule
    | Solve
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment(Node):
    """A comment with its `#`; `own_line` is false for one that trails a statement."""

    text: str
    own_line: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec(Node):
    """A whole spec. Comments are kept for the formatter and take no part in equality."""

    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False, repr=False)
