"""The words of the language as Python objects, for rules, groups and objectives.

Every term is here under its own name, as a constant or a function; comparisons and arithmetic
build expressions, `&`, `|` and `~` stand for `and`, `or` and `not`. A string where a feature,
a group or a target stands is its name; where a class, a level or a cell stands it is the value.

Examples
--------
>>> from odtdsl import Model
>>> from odtdsl.words import accuracy, before, cost, leaves, error_rate, uses
>>> model = Model().rule("women", accuracy("women") >= 0.9)
>>> model = model.rule("order", before("age", "chol") & (cost <= 150), forall="path")
>>> print(model.minimize(error_rate + 0.005 * leaves), end="")
rule women: accuracy(women) >= 0.9
rule order: forall path: age before chol and cost <= 150
<BLANKLINE>
minimize error_rate + 0.005 * leaves
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from odtdsl.language import ast
from odtdsl.words import values
from odtdsl.words.expr import (
    ColumnWord,
    Condition,
    Expression,
    Measure,
    Named,
    OfGroup,
    OfTarget,
    RowWord,
)
from odtdsl.words.values import Label, Numeric

# `abs`, `sum` are words too, left out so that a star import keeps Python's own.
__all__ = [
    "Condition",
    "Expression",
    "Measure",
    "accuracy",
    "before",
    "col",
    "cost",
    "count",
    "count_predicted",
    "decreasing",
    "depth",
    "different_leaf",
    "error_rate",
    "errors",
    "expected_cost",
    "expected_loss",
    "false_positive_rate",
    "feature",
    "gap",
    "if_then",
    "increasing",
    "leaves",
    "length",
    "level",
    "loss",
    "mae",
    "majority",
    "mse",
    "named",
    "nodes",
    "output",
    "percent",
    "poisson",
    "precision",
    "purity",
    "rate",
    "ratio",
    "recall",
    "requires",
    "root",
    "row",
    "same_leaf",
    "size",
    "splits",
    "tests",
    "threshold",
    "uses",
]

TERM_WORDS = frozenset(
    {
        "accuracy",
        "cost",
        "count_predicted",
        "decreasing",
        "depth",
        "different_leaf",
        "error_rate",
        "errors",
        "expected_cost",
        "expected_loss",
        "false_positive_rate",
        "feature",
        "gap",
        "increasing",
        "leaves",
        "length",
        "level",
        "loss",
        "mae",
        "majority",
        "mse",
        "nodes",
        "poisson",
        "precision",
        "purity",
        "rate",
        "ratio",
        "recall",
        "root",
        "same_leaf",
        "size",
        "splits",
        "tests",
        "threshold",
        "uses",
    }
)
"""What a bare word means as a term: a column of such a name needs backticks. As the registry of
terms has it, which this module does not import: it would load numpy."""


def _word(word: str) -> ast.Name:
    return ast.Name(name=word)


# ---- of the model

depth = Measure(node=_word("depth"))
"""Splits on the longest path."""

leaves = Measure(node=_word("leaves"))
"""Number of leaves."""

splits = Measure(node=_word("splits"))
"""Number of splits (branch nodes)."""

nodes = Measure(node=_word("nodes"))
"""Splits and leaves."""

errors = OfGroup(node=_word("errors"))
"""Weight of the wrong predictions; `errors("women")` of a group."""

error_rate = OfGroup(node=_word("error_rate"))
"""Weighted share of wrong predictions; of a group when called with its name."""

accuracy = OfGroup(node=_word("accuracy"))
"""Weighted share of right predictions; of a group when called with its name."""

loss = OfGroup(node=_word("loss"))
"""Sum of the losses that `Model.loss` sets; of a group when called with its name."""

expected_loss = OfGroup(node=_word("expected_loss"))
"""Weighted mean of the losses; of a group when called with its name."""

expected_cost = Measure(node=_word("expected_cost"))
"""Weighted mean over rows of the cost of the row's path."""

mse = OfTarget(node=_word("mse"))
"""Mean squared error over rows and targets; `mse("math")` of one target."""

mae = OfTarget(node=_word("mae"))
"""Mean absolute error over rows and targets; `mae("math")` of one target."""

poisson = OfTarget(node=_word("poisson"))
"""Half the mean Poisson deviance; `poisson("count")` of one target."""

root = ColumnWord(node=_word("root"))
"""The feature that the root tests: `root.isin({"age", "sex"})`."""


def rate(label: Label, group: str | None = None) -> Measure:
    """Weighted share of the rows (of a group) that are predicted as the class `label`.

    >>> rate("yes", "women") >= 0.8 * rate("yes")
    rate("yes", women) >= 0.8 * rate("yes")
    """
    return _of_class("rate", label, group)


def recall(label: Label, group: str | None = None) -> Measure:
    """Weighted share, among the rows of class `label` (in a group), of those predicted so."""
    return _of_class("recall", label, group)


def precision(label: Label, group: str | None = None) -> Measure:
    """Weighted share, among the rows predicted as class `label`, of those that are of it."""
    return _of_class("precision", label, group)


def false_positive_rate(label: Label, group: str | None = None) -> Measure:
    """Weighted share, among the rows not of class `label`, of those predicted as it."""
    return _of_class("false_positive_rate", label, group)


def count_predicted(label: Label, group: str | None = None) -> Measure:
    """Number of rows (of a group) that are predicted as the class `label`, unweighted."""
    return _of_class("count_predicted", label, group)


def gap(measure: Measure, by: str, *groups: str) -> Measure:
    """Largest minus smallest value of a measure over the values of a column, or over groups.

    >>> gap(rate("yes"), "race") <= percent(5)
    gap(rate("yes"), race) <= 5%
    """
    return _over_groups("gap", measure, (by, *groups))


def ratio(measure: Measure, by: str, *groups: str) -> Measure:
    """Smallest over largest value of a measure over the values of a column, or over groups.

    >>> ratio(recall("yes"), "aa", "cc") >= percent(80)
    ratio(recall("yes"), aa, cc) >= 80%
    """
    return _over_groups("ratio", measure, (by, *groups))


def same_leaf(first: Label, second: Label) -> Condition:
    """Two rows (numbers counted from 0, or ids) end in the same leaf."""
    return _condition("same_leaf", values.label(first, "a row"), values.label(second, "a row"))


def different_leaf(first: Label, second: Label) -> Condition:
    """Two rows (numbers counted from 0, or ids) end in different leaves."""
    return _condition("different_leaf", values.label(first, "a row"), values.label(second, "a row"))


def increasing(feature: str) -> Condition:
    """The prediction never falls as the feature grows and nothing else changes."""
    return _condition("increasing", _feature(feature))


def decreasing(feature: str) -> Condition:
    """The prediction never rises as the feature grows and nothing else changes."""
    return _condition("decreasing", _feature(feature))


# ---- of the model or a path


def uses(feature: str) -> Condition:
    """Some split of the model, or of the path, tests the feature.

    >>> ~(uses("thal") & uses("math score"))
    not (uses(thal) and uses(`math score`))
    """
    return _condition("uses", _feature(feature))


def tests(feature: str, *features: str) -> Measure:
    """Number of splits, of the model or of the path, that test any of the features."""
    args = tuple(_feature(one) for one in (feature, *features))
    return Measure(node=ast.Call(function="tests", args=args))


tests.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test where imported


# ---- of a path

cost = Measure(node=_word("cost"))
"""What the tests of a path cost: each asked feature once, each shared price once."""

length = Measure(node=_word("length"))
"""Number of splits on a path."""


def before(first: str, second: str) -> Condition:
    """On every path each test of `first` stands strictly above each test of `second`.

    >>> before("age", "chol")
    age before chol
    """
    return _pair("before", first, second)


def requires(feature: str, needed: str) -> Condition:
    """Each test of `feature` has a test of `needed` strictly above it.

    >>> requires("bilirubin", "age")
    bilirubin requires age
    """
    return _pair("requires", feature, needed)


# ---- of a leaf or a split

size = OfGroup(node=_word("size"))
"""Number of training rows in a leaf, or that reach a split; `size("women")` of a group."""

purity = Measure(node=_word("purity"))
"""Weighted share of a leaf's rows that have the leaf's label."""

majority = Condition(node=_word("majority"))
"""A leaf has the label of most of its rows."""


def output(target: str) -> Measure:
    """What a leaf predicts for a number target.

    >>> if_then(output("reading") < 50, output("writing") == 0)
    if reading < 50 then writing = 0
    """
    return col(target)


# ---- of a split

feature = ColumnWord(node=_word("feature"))
"""The feature that a split tests: `feature.isin({"age", "sex"})`."""

level = Measure(node=_word("level"))
"""Depth of a split: 0 at the root."""


def threshold(feature: str) -> Measure:
    """Where a split on the feature stands: a number, or a level of an ordered feature.

    >>> threshold("age").between(20, 80) & threshold("age").multiple_of(5)
    threshold(age) in [20, 80] and threshold(age) multiple_of 5
    """
    return Measure(node=ast.Call(function="threshold", args=(_feature(feature),)))


# ---- of a row

row = RowWord(node=_word("row"))
"""Rows of a group: `row.isin([3, 17])`."""


def col(column: str) -> Measure:
    """A column, in the condition of a group; in backticks where the bare word is a term.

    >>> (col("sex") == "female") | col("size").is_missing()
    sex = "female" or `size` is missing
    """
    found = values.name(column)
    hidden = found.name in TERM_WORDS or found.name == "row"
    return Measure(node=ast.Name(name=found.name, quoted=found.quoted or hidden))


# ---- anywhere


def named(let: str) -> Named:
    """What `Model.let` gave a name to: a number or a condition.

    >>> error_rate + named("alpha") * leaves
    error_rate + alpha * leaves
    """
    return Named(node=values.name(let, "a `let`"))


def percent(share: Numeric) -> Measure:
    """`share` percent. Against a count of rows it is that share of the rows.

    >>> size >= percent(2.5)
    size >= 2.5%
    """
    number = values.literal_number(share, "a percentage")
    return Measure(node=ast.Percent(value=number.value))


def if_then(condition: Condition, consequence: Condition) -> Condition:
    """The consequence holds where the condition does.

    >>> if_then(level == 0, feature.isin({"sex", "age"}))
    if level = 0 then feature in {age, sex}
    """
    premise, conclusion = _conditions((condition, consequence))
    return Condition(node=ast.If(condition=premise, consequence=conclusion))


def count(*conditions: Condition) -> Measure:
    """How many of the conditions hold.

    >>> count(uses("age"), uses("sex"), uses("chol")) <= 2
    count(uses(age), uses(sex), uses(chol)) <= 2
    """
    return Measure(node=ast.Call(function="count", args=_conditions(conditions)))


def abs(measure: Measure | Numeric) -> Measure:
    """The absolute value; Python's own `abs` does the same for measures.

    >>> abs(rate("yes", "aa") - rate("yes", "cc")) <= percent(5)
    abs(rate("yes", aa) - rate("yes", cc)) <= 5%
    """
    return Measure(node=ast.Call(function="abs", args=_measures((measure,))))


def sum(*measures: Measure | Numeric) -> Measure:
    """The sum, without the nesting that a long chain of `+` has.

    >>> from odtdsl import words
    >>> words.sum(errors, 2 * leaves, 3) <= 40
    sum(errors, 2 * leaves, 3) <= 40
    """
    return Measure(node=ast.Call(function="sum", args=_measures(measures)))


# ---- helpers


def _feature(feature: str) -> ast.Name:
    return values.name(feature, "a feature")


def _condition(function: str, *args: ast.Expr) -> Condition:
    return Condition(node=ast.Call(function=function, args=args))


def _of_class(function: str, label: Label, group: str | None) -> Measure:
    args: tuple[ast.Expr, ...] = (values.label(label, "a class"),)
    if group is not None:
        args += (values.name(group, "a group"),)
    return Measure(node=ast.Call(function=function, args=args))


def _over_groups(function: str, measure: Measure, by: tuple[str, ...]) -> Measure:
    over = (values.name(one, "a column or group") for one in by)
    return Measure(node=ast.Call(function=function, args=(*_measures((measure,)), *over)))


def _pair(word: Literal["before", "requires"], first: str, second: str) -> Condition:
    return Condition(node=ast.Infix(word=word, left=_feature(first), right=_feature(second)))


def _conditions(given: Iterable[object]) -> tuple[ast.Expr, ...]:
    found: list[ast.Expr] = []
    for one in given:
        if not isinstance(one, Condition):
            raise values.wrong("a condition", one, 'give one such as uses("age") or leaves <= 3')
        found.append(one.node)
    return tuple(found)


def _measures(given: Iterable[object]) -> tuple[ast.Expr, ...]:
    found: list[ast.Expr] = []
    for one in given:
        node = one.node if isinstance(one, Measure) else values.number(one)
        if node is None:
            raise values.wrong("a measure", one, "give one such as errors, or a number")
        found.append(node)
    return tuple(found)
