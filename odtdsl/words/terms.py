"""The words of all terms, written by `python -m docs.generate` from the terms: do not edit."""

from __future__ import annotations

from odtdsl.language import ast
from odtdsl.words import build
from odtdsl.words.expr import ColumnWord, Condition, Measure, OfGroup, OfTarget
from odtdsl.words.values import Label

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "before",
    "cost",
    "count_predicted",
    "decreasing",
    "depth",
    "different_leaf",
    "error_rate",
    "errors",
    "expected_cost",
    "expected_loss",
    "expected_reward",
    "f1",
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
    "negative_predictive_value",
    "nodes",
    "poisson",
    "precision",
    "purity",
    "rate",
    "ratio",
    "recall",
    "requires",
    "reward",
    "root",
    "same_leaf",
    "share",
    "size",
    "specificity",
    "splits",
    "survival_loss",
    "tests",
    "threshold",
    "uses",
]

TERM_WORDS = frozenset(__all__) - {"before", "requires"}
"""What a bare word means as a term: a column of such a name needs backticks."""

depth = Measure(node=ast.Name(name="depth"))
"""The number of splits on the longest root-to-leaf path; 0 without a split."""

leaves = Measure(node=ast.Name(name="leaves"))
"""The number of leaves; in a diagram, the number of classes that rows end at."""

splits = Measure(node=ast.Name(name="splits"))
"""The number of branch nodes."""

nodes = Measure(node=ast.Name(name="nodes"))
"""`splits` + `leaves`."""

errors = OfGroup(node=ast.Name(name="errors"))
"""The weight of the rows whose prediction is not their class."""

error_rate = OfGroup(node=ast.Name(name="error_rate"))
"""`errors` over the weight of the rows."""

accuracy = OfGroup(node=ast.Name(name="accuracy"))
"""The weighted share of the rows whose prediction is their class.

>>> accuracy("women") >= accuracy - 0.05
accuracy(women) >= accuracy - 0.05
"""

balanced_accuracy = OfGroup(node=ast.Name(name="balanced_accuracy"))
"""The mean, over the classes that the rows (of a group) belong to, of the weighted share of
their rows that are predicted as them: each class counts alike, however rare it is.

>>> balanced_accuracy >= 0.8
balanced_accuracy >= 0.8
"""

loss = OfGroup(node=ast.Name(name="loss"))
"""The weighted sum over rows of `losses[class of the row][its prediction]`. Errors that no
`loss` statement names cost 1, correct predictions 0.
"""

expected_loss = OfGroup(node=ast.Name(name="expected_loss"))
"""`loss` over the weight of the rows."""

reward = OfGroup(node=ast.Name(name="reward"))
"""The weighted sum over rows (of a group) of the reward of the choice that is made for the row.
Rewards are the decimals of their cells, and sums are exact. Where they need more than 14 digits,
weight times reward is rounded to as many decimals as fit (D226).

>>> reward("women") >= 100
reward(women) >= 100
"""

expected_reward = OfGroup(node=ast.Name(name="expected_reward"))
"""`reward` over the weight of the rows.

>>> gap(expected_reward, "sex") <= 0.5
gap(expected_reward, sex) <= 0.5
"""


def rate(label: Label, group: str | None = None) -> Measure:
    """The weighted share of the rows (of a group) that are predicted as the class.

    >>> rate("yes", "women") >= 0.8 * rate("yes")
    rate("yes", women) >= 0.8 * rate("yes")
    """
    return build.measure_of("rate", build.label(label), build.group(group))


def share(label: Label, group: str | None = None) -> Measure:
    """The weighted share of the rows (of a group) for which the choice is made: `rate`, under
    the name that budgets of treatments have.

    >>> share("drug_a") <= 0.3
    share("drug_a") <= 0.3
    """
    return build.measure_of("share", build.label(label), build.group(group))


def recall(label: Label, group: str | None = None) -> Measure:
    """The weighted share, among the rows of the class (in a group), of those predicted as the
    class.
    """
    return build.measure_of("recall", build.label(label), build.group(group))


def precision(label: Label, group: str | None = None) -> Measure:
    """The weighted share, among the rows (of a group) predicted as the class, of those that
    belong to it. Can be compared only with a constant b, as TP >= b * predicted, which holds if
    no row is predicted as the class (the audit says "vacuous"). It can be maximized, alone in
    its stage; of no predicted row it is then 0.
    """
    return build.measure_of("precision", build.label(label), build.group(group))


def f1(label: Label, group: str | None = None) -> Measure:
    """2 TP / (2 TP + FP + FN) of a class, by weight, over all rows or those of a group: the
    harmonic mean of `precision` and `recall`. Can be compared only with a constant b, as 2 TP >=
    b * (predicted + belonging), which holds if no row is predicted as the class or belongs to it
    (the audit says "vacuous"). It can be maximized, alone in its stage; of nothing it is then 0.

    >>> f1("yes") >= 0.7
    f1("yes") >= 0.7
    """
    return build.measure_of("f1", build.label(label), build.group(group))


def negative_predictive_value(label: Label, group: str | None = None) -> Measure:
    """The weighted share, among the rows (of a group) not predicted as the class, of those that
    do not belong to it. Can be compared only with a constant b, as TN >= b * not predicted,
    which holds if every row is predicted as the class (the audit says "vacuous").

    >>> negative_predictive_value("yes") >= 0.9
    negative_predictive_value("yes") >= 0.9
    """
    return build.measure_of("negative_predictive_value", build.label(label), build.group(group))


def false_positive_rate(label: Label, group: str | None = None) -> Measure:
    """The weighted share, among the rows of other classes (in a group), of those predicted as
    the class.
    """
    return build.measure_of("false_positive_rate", build.label(label), build.group(group))


def specificity(label: Label, group: str | None = None) -> Measure:
    """The weighted share, among the rows of other classes (in a group), of those not predicted
    as the class: 1 - `false_positive_rate`.

    >>> specificity("yes") >= 0.9
    specificity("yes") >= 0.9
    """
    return build.measure_of("specificity", build.label(label), build.group(group))


def count_predicted(label: Label, group: str | None = None) -> Measure:
    """The number of rows (of a group) that are predicted as the class, unweighted."""
    return build.measure_of("count_predicted", build.label(label), build.group(group))


def gap(measure: Measure, by: str, *groups: str) -> Measure:
    """The largest minus the smallest value of the measure over the groups, or over the values of
    a column.

    >>> gap(rate("yes"), "race") <= 0.05
    gap(rate("yes"), race) <= 0.05
    """
    return build.measure_of("gap", build.measure(measure), build.by(by), *map(build.by, groups))


def ratio(measure: Measure, by: str, *groups: str) -> Measure:
    """The smallest over the largest value of the measure over the groups, or over the values of
    a column; 1 where the largest is 0.

    >>> ratio(recall("yes"), "aa", "cc") >= 0.8
    ratio(recall("yes"), aa, cc) >= 0.8
    """
    return build.measure_of("ratio", build.measure(measure), build.by(by), *map(build.by, groups))


expected_cost = Measure(node=ast.Name(name="expected_cost"))
"""The weighted mean over rows of the `cost` of the row's path."""

mse = OfTarget(node=ast.Name(name="mse"))
"""The weighted mean over rows, and over targets unless one is named, of the squared error; also
of a group.

>>> mse("math") <= 20
mse(math) <= 20
"""

mae = OfTarget(node=ast.Name(name="mae"))
"""The weighted mean over rows, and over targets unless one is named, of the absolute error; also
of a group.
"""

poisson = OfTarget(node=ast.Name(name="poisson"))
"""The weighted mean over rows, and over targets unless one is named, of y log(y / p) - y + p,
which is half the Poisson deviance; also of a group.
"""

survival_loss = OfGroup(node=ast.Name(name="survival_loss"))
"""The weighted mean over rows (of a group) of h r - d log(h r) - d: d is 1 where the event came
and else 0, h the cumulative hazard of all training rows at the time of the row, and r the hazard
ratio of its leaf. It is half the deviance of proportional hazards, and 0 for what says of each
row exactly what came. As the objective it makes the ratio of a leaf its events over the sum of
h, by weight; a leaf without events loses nothing, as its likelihood is greatest at a ratio of 0.
h is the Nelson-Aalen estimate; before the first event it is 1 over the number of rows plus one.
"""


def uses(feature: str) -> Condition:
    """Some split of the path (of the model) tests the feature, with any threshold.

    >>> ~(uses("thal") & uses("math score"))
    not (uses(thal) and uses(`math score`))
    """
    return build.condition_of("uses", build.feature(feature))


def tests(feature: str, *features: str) -> Measure:
    """On a path, the number of its splits that test any of the named features; in the model, the
    number of such splits of the tree, not of its paths.

    >>> tests("age", "sex") <= 2
    tests(age, sex) <= 2
    """
    return build.measure_of("tests", build.feature(feature), *map(build.feature, features))


tests.__test__ = False  # type: ignore[attr-defined]  # for pytest, no test


root = ColumnWord(node=ast.Name(name="root"))
"""`root in {a, b}`: the root tests one of the features, or the model has no split.

>>> root.isin(["age", "sex"])
root in {age, sex}
"""


def same_leaf(first: Label, second: Label) -> Condition:
    """The two training rows end in the same leaf.

    >>> same_leaf(3, 17)
    same_leaf(3, 17)
    """
    return build.condition_of("same_leaf", build.row(first), build.row(second))


def different_leaf(first: Label, second: Label) -> Condition:
    """The two training rows end in different leaves."""
    return build.condition_of("different_leaf", build.row(first), build.row(second))


def increasing(feature: str) -> Condition:
    """For any two points of the feature space that differ only in f, the prediction does not
    fall as f grows. The classes need an order; with two, `positive` is the higher. Of several
    numbers none falls; of survival the hazard does not.
    """
    return build.condition_of("increasing", build.feature(feature))


def decreasing(feature: str) -> Condition:
    """For any two points of the feature space that differ only in f, the prediction does not
    rise as f grows. The classes need an order; with two, `positive` is the higher. Of several
    numbers none rises; of survival the hazard does not.
    """
    return build.condition_of("decreasing", build.feature(feature))


def before(first: str, second: str) -> Condition:
    """`a before b`: on the path each test of a is strictly above each test of b. A path with
    only one of them is allowed; a, b, a is not.

    >>> before("age", "chol")
    age before chol
    """
    return build.infix_of("before", build.feature(first), build.feature(second))


def requires(feature: str, needed: str) -> Condition:
    """`b requires a`: each test of b on the path has a test of a strictly above it; a, b, a is
    allowed.

    >>> requires("bilirubin", "age")
    bilirubin requires age
    """
    return build.infix_of("requires", build.feature(feature), build.feature(needed))


cost = Measure(node=ast.Name(name="cost"))
"""The cost of the features tested on the path. Each feature counts once, however often it is
tested; each shared cost counts once if any feature of its set is tested.
"""

length = Measure(node=ast.Name(name="length"))
"""The number of splits on the path."""

size = OfGroup(node=ast.Name(name="size"))
"""The number of training rows (of a group) in the leaf, or that reach the split, unweighted.

>>> size("women") >= 5
size(women) >= 5
"""

purity = Measure(node=ast.Name(name="purity"))
"""The weighted share of the leaf's rows that have the leaf's label. Can be compared only with a
constant b, as right >= b * all.
"""

majority = Condition(node=ast.Name(name="majority"))
"""No class has more weight among the leaf's rows than the leaf's label."""


def threshold(feature: str) -> Measure:
    """The threshold t of a split `f <= t`. A rule with `threshold(f)` ranges over the splits
    that test f. A split is allowed if some t between its neighbouring values u <= t < v
    satisfies all rules on thresholds; the shortest such decimal is chosen.

    >>> threshold("age").between(20, 80) & threshold("age").multiple_of(5)
    threshold(age) in [20, 80] and threshold(age) multiple_of 5
    """
    return build.measure_of("threshold", build.feature(feature))


feature = ColumnWord(node=ast.Name(name="feature"))
"""`feature in {a, b}`: the split tests one of the features.

>>> feature.isin(["age", "sex"]) | (level > 0)
feature in {age, sex} or level > 0
"""

level = Measure(node=ast.Name(name="level"))
"""The number of splits above this one: 0 at the root; in a diagram, the layer."""
