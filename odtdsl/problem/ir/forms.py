"""The core forms: the closed family between rules and back ends.

Normalization turns every rule into clauses, split filters and objectives made of these,
and every back end says for each whether it can express it. All coefficients are
integers over a common denominator, so that `<` and `!=` are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from enum import StrEnum
from fractions import Fraction
from math import lcm
from typing import Literal, TypeVar

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.base.frozen import dataclass
from odtdsl.base.source import NOWHERE, Span
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.problem.ir.expr import Condition, Scope
from odtdsl.problem.ir.families import Family
from odtdsl.problem.ir.intervals import RealSet
from odtdsl.problem.ir.problem import DiagramSkeleton, TreeSkeleton

MAX_COEFFICIENT_SUM = 2**62
"""Coefficients stay below this, so that int64 sums over rows cannot wrap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The rule that a form came from; `rule` is `skeleton` or `objective` for those."""

    rule: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


def _scaled(array: IntArray | None, factor: int) -> IntArray | None:
    if array is None or factor == 1:
        return array
    check_overflow(array, factor)
    return array * factor


def check_overflow(array: IntArray, factor: int = 1) -> None:
    """Refuse (R301) numbers whose sum, times a factor, could leave 64 bits."""
    largest = int(np.abs(array).sum(dtype=np.float64)) + 1
    if largest * abs(factor) >= MAX_COEFFICIENT_SUM:
        raise error(
            "R301",
            "the numbers of a rule or objective have too many digits for exact arithmetic",
            helps=("round weights, costs or bounds to fewer decimals",),
        )


def _added(a: IntArray | None, b: IntArray | None) -> IntArray | None:
    if a is None or b is None:
        return b if a is None else a
    if a.shape != b.shape:  # a row vector joins a matrix of rows and classes
        a, b = (a[:, None], b) if a.ndim < b.ndim else (a, b[:, None])
    total: IntArray = a + b
    check_overflow(total)
    return total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Additive:
    """An additive measure of a model, a leaf, or a split.

    Its value is `numerator / denominator`, where the numerator is `constant`
    + the sum over rows i in scope of `rows[i] + output[i, label of i's leaf]`
    + (model only) the sum over splits of `columns[feature]` + `leaves` * number of leaves
    + `splits` * number of splits.

    Attributes
    ----------
    rows
        int64 (n_rows,), or None for zeros. In model scope it is folded into `constant`.
    output
        int64 (n_rows, n_classes), or None.
    columns
        int64 (n_features,), or None: weight of a split by the feature it tests; a
        hyperplane has the sum of those that it weighs.
    leaves
        On a diagram, of every terminal that rows reach.
    splits
        Only on diagrams: trees have one split less than leaves.
    """

    constant: int = 0
    rows: IntArray | None = field(default=None, repr=False)
    output: IntArray | None = field(default=None, repr=False)
    columns: IntArray | None = field(default=None, repr=False)
    leaves: int = 0
    splits: int = 0
    denominator: int = 1

    def __add__(self, other: Additive) -> Additive:
        common = lcm(self.denominator, other.denominator)
        a, b = common // self.denominator, common // other.denominator
        return Additive(
            constant=self.constant * a + other.constant * b,
            rows=_added(_scaled(self.rows, a), _scaled(other.rows, b)),
            output=_added(_scaled(self.output, a), _scaled(other.output, b)),
            columns=_added(_scaled(self.columns, a), _scaled(other.columns, b)),
            leaves=self.leaves * a + other.leaves * b,
            splits=self.splits * a + other.splits * b,
            denominator=common,
        )

    def scaled(self, factor: Fraction) -> Additive:
        """The measure times a factor, exactly: numerators and denominator are multiplied."""
        up = factor.numerator
        return Additive(
            constant=self.constant * up,
            rows=_scaled(self.rows, up),
            output=_scaled(self.output, up),
            columns=_scaled(self.columns, up),
            leaves=self.leaves * up,
            splits=self.splits * up,
            denominator=self.denominator * factor.denominator,
        )

    @property
    def is_constant(self) -> bool:
        """Whether the measure is the same for every model."""
        parts = (self.rows, self.output, self.columns)
        counts = self.leaves or self.splits
        return not counts and not any(part is not None and part.any() for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Paid once on a path that tests any of `columns`."""

    columns: tuple[int, ...]
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMeasure:
    """A weighted count of the tests of a path.

    Its value is `numerator / denominator`, where the numerator is `constant`
    + `per_test[f]` for every split that tests f + `once[f]` for every feature tested at
    least once + the amount of every shared set of which a feature is tested
    + `per_split` for every split (only under hyperplanes, which test several features).
    """

    per_test: tuple[int, ...]
    once: tuple[int, ...]
    shared: tuple[Shared, ...] = ()
    per_split: int = 0
    constant: int = 0
    denominator: int = 1

    def __add__(self, other: PathMeasure) -> PathMeasure:
        common = lcm(self.denominator, other.denominator)
        a, b = common // self.denominator, common // other.denominator
        return PathMeasure(
            per_test=tuple(
                x * a + y * b for x, y in zip(self.per_test, other.per_test, strict=True)
            ),
            once=tuple(x * a + y * b for x, y in zip(self.once, other.once, strict=True)),
            shared=(
                *(Shared(columns=s.columns, amount=s.amount * a) for s in self.shared),
                *(Shared(columns=s.columns, amount=s.amount * b) for s in other.shared),
            ),
            per_split=self.per_split * a + other.per_split * b,
            constant=self.constant * a + other.constant * b,
            denominator=common,
        )

    def scaled(self, factor: Fraction) -> PathMeasure:
        """The measure times a factor, exactly."""
        up = factor.numerator
        return PathMeasure(
            per_test=tuple(x * up for x in self.per_test),
            once=tuple(x * up for x in self.once),
            shared=tuple(Shared(columns=s.columns, amount=s.amount * up) for s in self.shared),
            per_split=self.per_split * up,
            constant=self.constant * up,
            denominator=self.denominator * factor.denominator,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthMeasure:
    """The depth of the model, times a factor, plus a constant."""

    factor: Fraction = Fraction(1)
    constant: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathSum:
    """The weighted sum over rows of a path measure: `expected_cost`.

    `weights` is int64 (n_rows,); the value is the sum of weight times measure, over
    `denominator`.
    """

    weights: IntArray
    measure: PathMeasure
    denominator: int = 1

    def scaled(self, factor: Fraction) -> PathSum:
        """The sum times a factor, exactly."""
        weights = _scaled(self.weights, factor.numerator)
        assert weights is not None, "weights are there"
        return PathSum(
            weights=weights,
            measure=self.measure,
            denominator=self.denominator * factor.denominator,
        )

    @property
    def whole_denominator(self) -> int:
        """What the sum of weight times the measure's numerator is over."""
        return self.denominator * self.measure.denominator


LossKind = Literal["squared", "absolute", "poisson"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetLoss:
    """The weighted mean over rows of a loss of number targets: `mse`, `mae`, `poisson`.

    Its value is the sum over targets t of `factors[t]` times the sum over rows i of
    `masses[i] * loss(y[i, t] - output of i's leaf for t)`, over `total`.
    Values are floats: see `problem.ir.regression`.

    Attributes
    ----------
    kind
        `squared`: the square of the difference; `absolute`: its size; `poisson`: half the
        Poisson deviance.
    factors
        One per target; 0 where a target does not count.
    weights
        int64 (n_rows,), at least 0, their sum above 0; in a difference of means below 0, too.
    everyone
        The weights of all rows, where those of some groups are meant: outputs are the best for
        these. None where `weights` are those of all rows.
    over
        What the sum is divided by; None for the sum of the weights.
    exposure
        float64 (n_rows,), at least 0: what a unit of weight is exposed to, where targets are
        rates. None: all rows to the same.
    """

    kind: LossKind
    factors: tuple[Fraction, ...]
    weights: IntArray = field(repr=False)
    everyone: IntArray | None = field(default=None, repr=False)
    over: int | None = None
    exposure: FloatArray | None = field(default=None, repr=False)

    @property
    def masses(self) -> IntArray | FloatArray:
        """(n_rows,): what the loss of each row is multiplied by: weight times exposure."""
        return self.weights if self.exposure is None else self.weights * self.exposure

    @property
    def total(self) -> int:
        """What the sum over rows is divided by."""
        return int(self.weights.sum()) if self.over is None else self.over

    @property
    def of_all(self) -> TargetLoss:
        """The same loss of all rows."""
        if self.everyone is None:
            return self
        return replace(self, weights=self.everyone, everyone=None, over=None)

    def scaled(self, factor: Fraction) -> TargetLoss:
        """The loss times a factor, exactly."""
        return replace(self, factors=tuple(factor * one for one in self.factors))


# ---- atoms


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Some split of the scope (model or path) tests the feature."""

    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Path: some split tests `here`, and `above` is tested (`absent`: is not) strictly above it.

    `a before b` is its negation with here=a, above=b; `b requires a` its negation with
    here=b, above=a, absent=True. Of a hyperplane that tests both, `above` counts as above
    `here`, but not as the needed one (`absent`).
    """

    here: int
    above: int
    absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """Model: the root tests one of the columns, or the model has no split."""

    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Path: the numerator of the measure is at most `at_most`."""

    measure: PathMeasure
    at_most: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linear:
    """Model, leaf or split: the numerator of the measure is at most `at_most`."""

    measure: Additive
    at_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """Model: depth at most `at_most`."""

    at_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Model: two training rows share a leaf."""

    first: int
    second: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Monotone:
    """Model: predictions do not fall (`increasing`) or rise as the feature grows."""

    column: int
    increasing: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathTotal:
    """Model: the numerators of a measure and of a path sum are together at most `at_most`.

    Both are over `measure.denominator`.
    """

    measure: Additive
    path_sum: PathSum
    at_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSet:
    """Leaf: the output vector satisfies the condition (number targets)."""

    condition: Condition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossBound:
    """Model: a loss of number targets is at most `at_most`, within `regression.allowance`."""

    loss: TargetLoss
    at_most: Fraction


Maxima = tuple[tuple[Fraction, tuple[Additive, ...]], ...]
"""Positive factors, each with the measures of which it takes the largest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaximaBound:
    """Model: the value of a measure, plus for each of `maxima` its factor times the largest value
    of its measures, is at most `at_most`.

    A sum of `abs` in a rule: linear in size, where its cases are a power of 2. Every measure is
    over a denominator of its own, which together may leave 64 bits.
    """

    measure: Additive
    maxima: Maxima
    at_most: Fraction

    @property
    def measures(self) -> tuple[Additive, ...]:
        """All measures that it is made of."""
        return (self.measure, *(part for _, parts in self.maxima for part in parts))


Atom = (
    Used
    | Order
    | Root
    | Budget
    | Linear
    | Depth
    | Link
    | Monotone
    | PathTotal
    | OutputSet
    | LossBound
    | MaximaBound
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedAtom:
    """An atom or its negation. Linear, Budget, PathTotal and MaximaBound occur only positively:
    their negations are rewritten (`not (n <= b)` is `-n <= -b - 1`)."""

    atom: Atom
    positive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A disjunction of literals that holds for every instance of the scope."""

    scope: Scope
    literals: tuple[SignedAtom, ...]
    origin: Origin

    @property
    def atom(self) -> Atom | None:
        """The atom that must hold by itself; None of a disjunction or a negation."""
        first = self.literals[0] if len(self.literals) == 1 else None
        return first.atom if first is not None and first.positive else None


A = TypeVar("A", bound=Atom)


def demanded(clauses: Iterable[Clause], kind: type[A], scope: Scope | None = None) -> Iterator[A]:
    """The atoms of a kind that must hold by themselves, in a scope (None: in any)."""
    for clause in clauses:
        if scope in (None, clause.scope) and isinstance(clause.atom, kind):
            yield clause.atom


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFilter:
    """At the given levels (None: all), splits of a column need a threshold in `allowed`.

    For columns that are not split by thresholds `allowed` is everything or nothing.
    """

    column: int
    levels: tuple[int, ...] | None
    allowed: RealSet
    origin: Origin


# ---- objective


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearStage:
    """Minimize `measure` plus, for each of `maxima`, a positive factor times the largest of
    its measures (`abs(x)` is the larger of x and -x, `gap` the largest difference).

    All is signed so that less is better: the value in the user's terms is `sign` * value.
    """

    measure: Additive
    maxima: Maxima = ()
    path_sum: PathSum | None = None
    sign: Literal[1, -1] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthStage:
    """Minimize the depth."""

    sign: Literal[1] = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegressionStage:
    """Minimize a loss of number targets plus `rest`, a price per leaf or split and a constant."""

    loss: TargetLoss
    rest: Additive = Additive()
    sign: Literal[1, -1] = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuotientStage:
    """Make a share `over / under` as large as can be, such as a precision.

    Both are at least 0 on every model, `over` at most `under`. Where `under` is 0 the share is 0.
    The stage's own value is `-factor` times the share, so that less is better.
    """

    over: Additive
    under: Additive
    factor: Fraction = Fraction(1)
    sign: Literal[1, -1] = -1


StageForm = LinearStage | DepthStage | RegressionStage | QuotientStage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Core:
    """A normalized problem: all that a back end reads.

    Attributes
    ----------
    families
        The candidate tests, with the codes of all training rows.
    labels
        int64 (n_rows,), class of each row; None for number targets.
    targets
        float64 (n_rows, n_targets), the number targets; None for classes.
    steps
        The grid that outputs of each number target lie on, None without one; empty where no
        target has a grid.
    filters
        All split filters; `problem.ir.filters` combines them.
    """

    n_rows: int
    n_classes: int
    columns: tuple[str, ...]
    families: tuple[Family, ...]
    labels: IntArray | None
    skeleton: TreeSkeleton | DiagramSkeleton
    filters: tuple[SplitFilter, ...]
    clauses: tuple[Clause, ...]
    objective: tuple[StageForm, ...]
    targets: FloatArray | None = None
    steps: tuple[Fraction | None, ...] = ()

    @property
    def tree(self) -> TreeSkeleton:
        """The skeleton of a tree, where one is asked for; else a mistake of the caller."""
        assert isinstance(self.skeleton, TreeSkeleton), "a diagram is asked for, not a tree"
        return self.skeleton

    @property
    def diagram(self) -> DiagramSkeleton:
        """The skeleton of a diagram, where one is asked for; else a mistake of the caller."""
        assert isinstance(self.skeleton, DiagramSkeleton), "a tree is asked for, not a diagram"
        return self.skeleton


class Form(StrEnum):
    """Names of the core forms in support tables."""

    TREE = "tree skeleton"
    TREE_UNBOUNDED = "tree skeleton without a depth"
    DIAGRAM = "diagram skeleton"
    HYPERPLANE = "hyperplane splits"
    REGRESSION = "number targets"
    SPLIT_FILTER = "split filter"
    USED_PATH = "Used on a path"
    USED_MODEL = "Used in the model"
    ORDER = "Order on a path"
    ROOT = "Root"
    BUDGET = "Budget on a path"
    LINEAR_MODEL = "Linear of the model"
    LINEAR_LEAF = "Linear of a leaf"
    LINEAR_SPLIT = "Linear of a split"
    DEPTH = "Depth"
    LINK = "Link"
    MONOTONE = "Monotone"
    PATH_TOTAL = "expected cost"
    OUTPUT_SET = "OutputSet"
    LOSS_BOUND = "bound on a loss of number targets"
    MAXIMA_BOUND = "bound on a sum of maxima and absolute values"
    OBJECTIVE_LINEAR = "linear objective"
    OBJECTIVE_MAX = "maxima and absolute values in the objective"
    OBJECTIVE_DEPTH = "depth objective"
    OBJECTIVE_LOSS = "loss of number targets in the objective"
    OBJECTIVE_PATH_SUM = "expected cost in the objective"
    OBJECTIVE_QUOTIENT = "quotient in the objective"
    MISSING_BRANCH = "missing values with a learned side"
