"""The problem: everything a spec says, with its names resolved against the data's columns."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import ClassVar, Literal

from odtdsl.base.frozen import dataclass
from odtdsl.base.source import NOWHERE, Source, Span
from odtdsl.datasets.dataset import ColumnType, Value
from odtdsl.datasets.request import DataRequest
from odtdsl.problem.ir.expr import CellCondition, Condition, Expr, Scope, applications

MAX_SEARCH_DEPTH = 30
"""No tree is searched deeper than this many levels."""

MissingPolicy = Literal["refuse", "drop", "left", "right", "branch"]
Place = Literal["midpoints", "midpoints exact", "quantiles", "bins", "guessed", "values"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Where a column may be split: `count` of quantiles or bins, or the listed `values`."""

    place: Place = "midpoints"
    count: int = 0
    values: tuple[Fraction, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureDecl:
    """A feature: its column type, where it may be split, and where its missing cells go."""

    type: ColumnType
    candidates: Candidates = Candidates()
    missing: MissingPolicy = "refuse"

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.type.name


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDecl:
    """The target columns: one class column, one or more number columns, or what a task takes.

    `kind` is that of a task (`odtdsl.base.tasks`), such as `class` or `number`.
    `classes` are in declared, else sorted order; `ordered` says that the order means
    something; `positive` is an index into `classes`. `by` is what the columns of choices hold.
    """

    names: tuple[str, ...]
    kind: str
    classes: tuple[Value, ...] = ()
    ordered: bool = False
    positive: int | None = None
    step: Fraction | None = None
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDecl:
    """A named group: the rows whose cells satisfy a condition.

    `column` is that whose values a rule compares, of the group of one of them; None of a group
    that the spec declares.
    """

    name: str
    condition: CellCondition
    column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCost:
    """A price paid once per path that tests any of the features (indices into the features)."""

    features: tuple[int, ...]
    amount: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Price of asking for each feature, once per path, and prices shared by sets of features."""

    features: tuple[Fraction, ...]
    shared: tuple[SharedCost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSkeleton:
    """Bounds of a tree; None where the spec has none. `leaves` also carries splits and nodes."""

    kind: ClassVar[Literal["tree", "diagram"]] = "tree"

    depth: int | None
    leaves: int | None
    splits: Literal["axis", "hyperplane"] = "axis"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagramSkeleton:
    """Nodes per layer. Of a tree of hyperplanes: that every node has one arc into it.

    `leaves`: at most so many, of such a tree; a leaf is then an arc to a class.
    """

    kind: ClassVar[Literal["tree", "diagram"]] = "diagram"

    widths: tuple[int, ...]
    splits: Literal["axis", "hyperplane"] = "axis"
    tree: bool = False
    leaves: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDecl:
    """One stage of the objective, as written: `text` is its canonical text."""

    sense: Literal["minimize", "maximize"]
    measure: Expr
    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDecl:
    """A rule: `text` is its canonical text, without the name."""

    name: str
    scope: Scope
    condition: Condition
    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How `greedy` scores splits and fills leaves; `penalty` goes with `relaxed`."""

    split: str = "optimal"
    leaf: str = "optimal"
    split_penalty: Fraction = Fraction(0)
    leaf_penalty: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An option of the back end that a spec sets; `penalty` goes with `relaxed`."""

    name: str
    value: str | int
    penalty: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Defaults of `solve` that the command line can override.

    Attributes
    ----------
    seconds, steady
        The time limit, and how long no better model may come before the search ends.
    gap
        Where to stop: below 1 relative, else in units of the first stage.
    settings
        What stands in brackets after the name of the back end, each once.
    """

    backend: str = "auto"
    settings: tuple[Setting, ...] = ()
    seconds: float | None = None
    gap: Fraction = Fraction(0)
    steady: float | None = None
    threads: int = 1
    seed: int = 0
    memory_bytes: int | None = None
    start: str | None = None

    @property
    def growth(self) -> Growth:
        """How `greedy` grows trees."""
        split, leaf = self._setting("split"), self._setting("leaf")
        return Growth(
            split=str(split.value),
            leaf=str(leaf.value),
            split_penalty=split.penalty,
            leaf_penalty=leaf.penalty,
        )

    @property
    def steps(self) -> int | None:
        """The limit of `search` in millions of visits of a row."""
        return next((int(one.value) for one in self.settings if one.name == "steps"), None)

    def _setting(self, name: str) -> Setting:
        usual = Setting(name=name, value="optimal")
        return next((one for one in self.settings if one.name == name), usual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A resolved spec. Rows live in a `Dataset`; `Rows` joins the two."""

    data: DataRequest
    features: tuple[FeatureDecl, ...]
    target: TargetDecl
    skeleton: TreeSkeleton | DiagramSkeleton
    objective: tuple[StageDecl, ...]
    rules: tuple[RuleDecl, ...] = ()
    groups: tuple[GroupDecl, ...] = ()
    costs: Costs = Costs(features=())
    losses: tuple[tuple[Fraction, ...], ...] = ()
    """`losses[actual][predicted]`; empty for number targets."""
    weight: str | None = None
    options: Options = Options()
    source: Source | None = field(default=None, compare=False, repr=False)

    @property
    def days(self) -> tuple[bool, ...]:
        """Of each target, whether it counts days."""
        return tuple(name in self.data.days for name in self.target.names)

    @property
    def may_miss(self) -> frozenset[str]:
        """The features of which a cell that a model sees can be missing."""
        asked = ("left", "right", "branch")
        return frozenset(one.name for one in self.features if one.missing in asked)


def terms_of(problem: Problem) -> set[str]:
    """The names of the terms that the objective and the rules speak of."""
    stages = (stage.measure for stage in problem.objective)
    rules = (rule.condition for rule in problem.rules)
    return {call.term for said in (*stages, *rules) for call in applications(said)}
