"""What each term means: the second meaning, written from the language reference alone.

A term's first meaning is its translation, in `odtdsl/problem/terms`; the searches work by it. These
functions take the finished model on raw cells and share nothing with that: an answer that the
first meaning got wrong fails the audit. Every term of the language has one here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from odtdsl.auditor.monotone import is_monotone
from odtdsl.auditor.routing import LeafOn, ModelOn, PathOn, Place, SplitOn, TreeOn
from odtdsl.auditor.rows import AuditRows, NoValue
from odtdsl.auditor.targets import AuditPart
from odtdsl.datasets.table import BoolArray, FloatArray
from odtdsl.predictors.nodes import Threshold
from odtdsl.problem.ir.expr import (
    Apply,
    FeatureArg,
    GroupArg,
    LabelArg,
    RowArg,
    TargetArg,
)
from odtdsl.problem.ir.problem import DiagramSkeleton, Problem

NO_ROW = "no row to measure"

INFINITE = Fraction(10**300)
"""Stands for a loss without bound: `poisson` where 0 is predicted for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of what the model itself decides; where `under` is 0, comparisons hold vacuously,
    and `empty` says what is so then.
    """

    over: Fraction
    under: Fraction
    empty: str


Value = Fraction | bool | Share
Meaning = Callable[[Place, Apply], Value]

MEANINGS: dict[str, Meaning] = {}
"""The meanings by the names of terms: value or truth on a model, a path, a leaf or a split."""

IN_FLOATS: set[str] = set()
"""Terms whose values are floats: comparisons allow a tolerance, and are closed."""

Base = Callable[[ModelOn, Apply], BoolArray]
BASES: dict[str, tuple[Base, str]] = {}
"""Of measures of rows, the rows (n_rows,) that they are taken over, and what these are called."""


M = TypeVar("M", bound=Callable[..., Value])


def means(
    term: str, *, over: Base | None = None, called: str = "", in_floats: bool = False
) -> Callable[[M], M]:
    """Register a function as the meaning of a term; it takes what the term applies to.

    Parameters
    ----------
    term
        The term.
    over
        Of a measure of rows, those that it is taken over.
    called
        What these are called, where they are not all rows of the group: `{}` is the class.
    in_floats
        Whether the values are floats.
    """

    def enter(meaning: M) -> M:
        assert term not in MEANINGS, f"{term} has one meaning"
        MEANINGS[term] = meaning
        if over is not None:
            BASES[term] = over, called
        if in_floats:
            IN_FLOATS.add(term)
        return meaning

    return enter


# ---- arguments


def class_of(call: Apply) -> int:
    """The index of the class among the arguments of a term."""
    return next(arg.index for arg in call.args if isinstance(arg, LabelArg))


def features_of(call: Apply) -> tuple[str, ...]:
    """The names of the features among the arguments of a term."""
    return tuple(arg.name for arg in call.args if isinstance(arg, FeatureArg))


def _of_the_group(call: Apply) -> str:
    """What a note adds to "row" where a term is about a group."""
    return " of the group" if any(isinstance(arg, GroupArg) for arg in call.args) else ""


# ---- rows that measures are taken over


def whole(model: ModelOn, call: Apply) -> BoolArray:
    """The rows of the group, or all."""
    return model.rows.of_group(call.args)


def of_class(model: ModelOn, call: Apply) -> BoolArray:
    """Those of the class."""
    rows: BoolArray = whole(model, call) & (model.rows.classes == class_of(call))
    return rows


def _of_others(model: ModelOn, call: Apply) -> BoolArray:
    """Those of the other classes."""
    rows: BoolArray = whole(model, call) & (model.rows.classes != class_of(call))
    return rows


def predicted_so(model: ModelOn, call: Apply) -> BoolArray:
    """Those that are predicted as the class."""
    rows: BoolArray = whole(model, call) & (model.predicted == class_of(call))
    return rows


def _not_predicted_so(model: ModelOn, call: Apply) -> BoolArray:
    """Those that are predicted as another class."""
    rows: BoolArray = whole(model, call) & (model.predicted != class_of(call))
    return rows


# ---- the model: its form


@means("depth")
def depth(model: ModelOn, _: Apply) -> Fraction:
    """The number of splits on the longest path."""
    return Fraction(model.depth)


@means("splits")
def splits(model: ModelOn, _: Apply) -> Fraction:
    """The number of splits; of a diagram, of its nodes."""
    return Fraction(len(model.splits))


@means("leaves")
def leaves(model: ModelOn, _: Apply) -> Fraction:
    """The number of leaves; of a tree of hyperplanes one more than its splits."""
    skeleton = model.rows.problem.skeleton
    if isinstance(skeleton, DiagramSkeleton) and skeleton.tree:  # its arcs make a tree
        return Fraction(len(model.splits) + 1)
    return Fraction(len(model.leaves))


@means("nodes")
def nodes(model: ModelOn, call: Apply) -> Fraction:
    """The number of splits and leaves together."""
    return splits(model, call) + leaves(model, call)


@means("root")
def root(model: ModelOn, call: Apply) -> bool:
    """Whether the first split tests only features that the rule names; a single leaf passes."""
    return not model.splits or set(model.splits[0].features) <= set(features_of(call))


# ---- the model: measures of rows


def misclassified(model: ModelOn) -> BoolArray:
    """bool (n_rows,): the rows whose prediction is not their class."""
    found: BoolArray = model.predicted != model.rows.classes
    return found


def _weighted_share(rows: AuditRows, some: BoolArray, whole: BoolArray) -> Fraction:
    """The weight of `some` of the rows of `whole` as a share of its weight."""
    under = rows.weight(whole)
    if not under:
        raise NoValue(NO_ROW)
    return rows.weight(whole & some) / under


@means("errors", over=whole)
def errors(model: ModelOn, call: Apply) -> Fraction:
    """The weight of the rows of the group whose prediction is wrong."""
    return model.rows.weight(whole(model, call) & misclassified(model))


@means("error_rate", over=whole)
def error_rate(model: ModelOn, call: Apply) -> Fraction:
    """The weight of wrong rows over that of all rows of the group; `NoValue` without any."""
    return _weighted_share(model.rows, misclassified(model), whole(model, call))


@means("accuracy", over=whole)
def accuracy(model: ModelOn, call: Apply) -> Fraction:
    """The weight of right rows over that of all rows of the group; `NoValue` without any."""
    return _weighted_share(model.rows, ~misclassified(model), whole(model, call))


@means("balanced_accuracy", over=whole)
def balanced_accuracy(model: ModelOn, call: Apply) -> Fraction:
    """The mean, over the classes that the group's rows belong to, of the share, by weight, of
    their rows predicted as them; `NoValue` without any row.
    """
    rows, inside = model.rows, whole(model, call)
    of_each = [inside & (rows.classes == label) for label in np.unique(rows.classes[inside])]
    shares = [
        rows.weight(own & ~misclassified(model)) / rows.weight(own)
        for own in of_each
        if rows.weight(own)
    ]
    if not shares:
        raise NoValue(NO_ROW)
    return sum(shares, Fraction(0)) / len(shares)


@means("loss", over=whole)
def loss(model: ModelOn, call: Apply) -> Fraction:
    """The sum over the rows of the group of weight times what the prediction costs."""
    return AuditPart.of(model.rows.problem.target.kind).lost(model, whole(model, call))


@means("expected_loss", over=whole)
def expected_loss(model: ModelOn, call: Apply) -> Fraction:
    """`loss` over the weight of the group's rows; `NoValue` without any."""
    weight = model.rows.weight(whole(model, call))
    if not weight:
        raise NoValue(NO_ROW)
    return loss(model, call) / weight


@means("rate", over=whole)
def rate(model: ModelOn, call: Apply) -> Fraction:
    """The share, by weight, of the group's rows predicted as the class."""
    return _weighted_share(model.rows, model.predicted == class_of(call), whole(model, call))


@means("recall", over=of_class, called="{}")
def recall(model: ModelOn, call: Apply) -> Fraction:
    """The share, by weight, of the group's rows of the class predicted as it."""
    return _weighted_share(model.rows, model.predicted == class_of(call), of_class(model, call))


@means("false_positive_rate", over=_of_others, called="not {}")
def false_positive_rate(model: ModelOn, call: Apply) -> Fraction:
    """The share, by weight, of the group's rows of other classes predicted as the class."""
    return _weighted_share(model.rows, model.predicted == class_of(call), _of_others(model, call))


@means("specificity", over=_of_others, called="not {}")
def specificity(model: ModelOn, call: Apply) -> Fraction:
    """The share, by weight, of the group's rows of other classes that are not predicted as the
    class.
    """
    return _weighted_share(model.rows, model.predicted != class_of(call), _of_others(model, call))


@means("precision", over=predicted_so, called="predicted {}")
def precision(model: ModelOn, call: Apply) -> Share:
    """The share, by weight, of the group's rows predicted as the class that belong to it."""
    predicted = predicted_so(model, call)
    right = predicted & (model.rows.classes == class_of(call))
    return Share(
        over=model.rows.weight(right),
        under=model.rows.weight(predicted),
        empty=f"no row{_of_the_group(call)} is predicted as that class",
    )


def _predicted_or_of_class(model: ModelOn, call: Apply) -> BoolArray:
    """Those that are predicted as the class, or belong to it."""
    rows: BoolArray = predicted_so(model, call) | of_class(model, call)
    return rows


@means("f1", over=_predicted_or_of_class, called="predicted or truly {}")
def f1(model: ModelOn, call: Apply) -> Share:
    """Twice the weight of the group's rows of the class predicted as it, over the weight of
    those predicted as it plus the weight of those that belong to it.
    """
    predicted, own = predicted_so(model, call), of_class(model, call)
    return Share(
        over=2 * model.rows.weight(predicted & own),
        under=model.rows.weight(predicted) + model.rows.weight(own),
        empty=f"no row{_of_the_group(call)} is predicted as that class or belongs to it",
    )


@means("negative_predictive_value", over=_not_predicted_so, called="not predicted {}")
def negative_predictive_value(model: ModelOn, call: Apply) -> Share:
    """The share, by weight, of the group's rows not predicted as the class that belong to
    another.
    """
    others = _not_predicted_so(model, call)
    right = others & (model.rows.classes != class_of(call))
    return Share(
        over=model.rows.weight(right),
        under=model.rows.weight(others),
        empty=f"every row{_of_the_group(call)} is predicted as that class",
    )


@means("count_predicted", over=whole)
def count_predicted(model: ModelOn, call: Apply) -> Fraction:
    """The number of the group's rows, without weights, predicted as the class."""
    return model.rows.count(predicted_so(model, call))


def values_by_group(model: ModelOn, call: Apply) -> dict[str, Value | NoValue]:
    """The measure inside `gap` or `ratio` by group, or why a group has none."""
    assert call.of is not None, "analysis requires a measure"
    of, found = call.of, dict[str, Value | NoValue]()
    for arg in call.args:
        assert isinstance(arg, GroupArg), "groups follow a measure"
        try:
            found[arg.name] = MEANINGS[of.term](model, replace(of, args=(*of.args, arg)))
        except NoValue as reason:
            found[arg.name] = reason
    return found


def over_groups(model: ModelOn, call: Apply) -> list[Fraction]:
    """The measure inside `gap` or `ratio`, of each of the groups that follow.

    On other rows than those of training, of the groups that have a row to measure, and `NoValue`
    if fewer than two have one: of one group there is nothing to compare.
    """
    by_group = values_by_group(model, call)
    found = {name: value for name, value in by_group.items() if isinstance(value, Fraction)}
    reason = next((one for one in by_group.values() if isinstance(one, NoValue)), None)
    if reason is not None and (model.rows.training or not found):
        raise reason
    if reason is not None and len(found) == 1:
        raise NoValue(f"only the group {next(iter(found))} has a row to measure")
    return list(found.values())


@means("gap")
def gap(model: ModelOn, call: Apply) -> Fraction:
    """The largest minus the smallest value of the measure over the groups."""
    values = over_groups(model, call)
    return max(values) - min(values)


@means("ratio")
def ratio(model: ModelOn, call: Apply) -> Fraction:
    """The smallest over the largest value of the measure over the groups; 1 if all are 0."""
    values = over_groups(model, call)
    return min(values) / max(values) if max(values) else Fraction(1)


def price(problem: Problem, tested: frozenset[str]) -> Fraction:
    """What it costs to ask these features: each once, and each shared amount once."""
    costs, names = problem.costs, [feature.name for feature in problem.features]
    paid = [cost for name, cost in zip(names, costs.features, strict=True) if name in tested]
    for shared in costs.shared:
        if not tested.isdisjoint(names[index] for index in shared.features):
            paid.append(shared.amount)
    return sum(paid, Fraction(0))


@means("expected_cost", over=whole)
def expected_cost(model: ModelOn, _: Apply) -> Fraction:
    """The mean price of the features tested for a row, by weight; `NoValue` without rows."""
    rows = model.rows
    weight = rows.weight(rows.all_rows)
    if not weight:
        raise NoValue(NO_ROW)
    paid = [
        price(rows.problem, tested) * rows.weight(inside) for tested, inside in model.paths_taken
    ]
    return sum(paid, Fraction(0)) / weight


# ---- the model: number targets


def _mean_loss(
    model: TreeOn, call: Apply, each: Callable[[FloatArray, FloatArray], FloatArray]
) -> Fraction:
    """The weighted mean over rows (of a group) and targets of a loss of (true, predicted) float64
    values."""
    truth = model.rows.truth
    outputs = np.asarray([leaf.leaf.output for leaf in model.leaves], dtype=np.float64)
    predicted = outputs[model.leaf_of]
    chosen = [arg.index for arg in call.args if isinstance(arg, TargetArg)]
    if chosen:
        truth, predicted = truth[:, chosen], predicted[:, chosen]
    weights = np.where(whole(model, call), model.rows.units, 0).astype(np.float64)
    if not weights.any():
        raise NoValue(NO_ROW)
    lost = np.where(weights[:, None] > 0, each(truth, predicted), 0.0)  # not 0 times infinite
    value = float((lost.mean(axis=1) * weights).sum() / weights.sum())
    return Fraction(value) if np.isfinite(value) else INFINITE


@means("mse", over=whole, in_floats=True)
def mse(model: TreeOn, call: Apply) -> Fraction:
    """The mean squared error of one target or all, by weight."""
    return _mean_loss(model, call, lambda y, p: (y - p) ** 2)


@means("mae", over=whole, in_floats=True)
def mae(model: TreeOn, call: Apply) -> Fraction:
    """The mean absolute error of one target or all, by weight."""
    return _mean_loss(model, call, lambda y, p: np.abs(y - p))


@means("poisson", over=whole, in_floats=True)
def poisson(model: TreeOn, call: Apply) -> Fraction:
    """The mean half Poisson deviance of one target or all, by weight."""
    return _mean_loss(model, call, half_deviance)


def half_deviance(y: FloatArray, p: FloatArray) -> FloatArray:
    """y log(y / p) - y + p; the logarithm counts only where there is something.

    Where counts are large, and nearly as told, the quotient has fewer digits than their difference.
    """
    beyond = y - p
    with np.errstate(divide="ignore", invalid="ignore"):
        slight = np.abs(beyond) <= p / 4
        logs = np.where(slight, np.log1p(beyond / p), np.log(y / p))
        found: FloatArray = np.where(y > 0, y * logs, 0) - beyond
    return found


# ---- the model: pairs of rows, directions


@means("same_leaf")
def same_leaf(model: TreeOn, call: Apply) -> bool:
    """Whether two training rows reach the same leaf; `NoValue` on other rows."""
    if not model.rows.training:
        raise NoValue("the measure refers to training rows")
    first, second = (arg.index for arg in call.args if isinstance(arg, RowArg))
    return bool(model.leaf_of[first] == model.leaf_of[second])


@means("different_leaf")
def different_leaf(model: TreeOn, call: Apply) -> bool:
    """Whether two training rows reach different leaves; `NoValue` on other rows."""
    return not same_leaf(model, call)


@means("increasing")
def increasing(model: TreeOn, call: Apply) -> bool:
    """Whether predictions never fall when only the feature rises."""
    return is_monotone(model, *features_of(call), increasing=True)


@means("decreasing")
def decreasing(model: TreeOn, call: Apply) -> bool:
    """Whether predictions never rise when only the feature rises."""
    return is_monotone(model, *features_of(call), increasing=False)


# ---- paths, and the model as a whole


@means("uses")
def uses(place: PathOn | ModelOn, call: Apply) -> bool:
    """Whether a path, or any path of the model, tests the feature."""
    (name,) = features_of(call)
    return any(name in tested for tested in _tested(place))


@means("tests")
def tests(place: PathOn | ModelOn, call: Apply) -> Fraction:
    """How many splits of a path, or of the model, test one of the features."""
    named = set(features_of(call))
    return Fraction(sum(not named.isdisjoint(tested) for tested in _tested(place)))


def _tested(place: PathOn | ModelOn) -> list[tuple[str, ...]]:
    """The features of each split."""
    if isinstance(place, PathOn):
        return list(place.tested)
    return [split.features for split in place.splits]


@means("before")
def before(path: PathOn, call: Apply) -> bool:
    """Whether no split on the second feature stands above or at one on the first, on this path."""
    first, second = features_of(call)
    return not any(
        first in lower and second in upper
        for level, lower in enumerate(path.tested)
        for upper in path.tested[: level + 1]
    )


@means("requires")
def requires(path: PathOn, call: Apply) -> bool:
    """Whether every split on the first feature has one on the second above it, on this path."""
    needing, needed = features_of(call)
    above: set[str] = set()
    for tested in path.tested:
        if needing in tested and needed not in above:
            return False
        above.update(tested)
    return True


@means("cost")
def cost(path: PathOn, _: Apply) -> Fraction:
    """The price of the features that the path tests, each once, with shared prices."""
    return price(path.rows.problem, frozenset(name for tested in path.tested for name in tested))


@means("length")
def length(path: PathOn, _: Apply) -> Fraction:
    """The number of splits on the path."""
    return Fraction(len(path.tested))


# ---- leaves


@means("size")
def size(place: LeafOn | SplitOn, call: Apply) -> Fraction:
    """How many of the group's rows reach the leaf or split, without weights."""
    return place.rows.count(place.rows.of_group(call.args)[place.inside])


@means("purity")
def purity(leaf: LeafOn, _: Apply) -> Share:
    """The share, by weight, of a leaf's rows that belong to the class it predicts."""
    right = leaf.inside[leaf.rows.classes[leaf.inside] == leaf.leaf.label]
    return Share(
        over=leaf.rows.weight(right),
        under=leaf.rows.weight(leaf.inside),
        empty="the leaf has no weight",
    )


@means("majority")
def majority(leaf: LeafOn, _: Apply) -> bool:
    """Whether no class weighs more in the leaf than the one it predicts."""
    classes = leaf.rows.classes[leaf.inside]
    mine = leaf.rows.weight(leaf.inside[classes == leaf.leaf.label])
    others = (leaf.rows.weight(leaf.inside[classes == label]) for label in np.unique(classes))
    return all(other <= mine for other in others)


@means("output", in_floats=True)
def output(leaf: LeafOn, call: Apply) -> Fraction:
    """What the leaf predicts for the target, exactly as the float it is."""
    (index,) = (arg.index for arg in call.args if isinstance(arg, TargetArg))
    assert leaf.leaf.output is not None, "a tree for number targets has outputs"
    return Fraction(leaf.leaf.output[index])


# ---- splits


@means("threshold")
def threshold(split: SplitOn, _: Apply) -> Fraction:
    """The threshold of the split."""
    assert isinstance(split.test, Threshold), "the rule ranges over thresholds only"
    assert not isinstance(split.test.value, str)
    return Fraction(split.test.value)


@means("feature")
def feature(split: SplitOn, call: Apply) -> bool:
    """Whether the split tests only features that the rule names."""
    return set(split.features) <= set(features_of(call))


@means("level")
def level(split: SplitOn, _: Apply) -> Fraction:
    """The depth of the split; the root has 0."""
    return Fraction(split.level)
