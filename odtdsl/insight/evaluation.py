"""How good a saved model is on rows whose truth is known, each measure with an interval.

All measures of classes are functions of one table: how many rows of each true class end at each
leaf. A bootstrap of rows draws that table from a multinomial distribution, so that thousands of
draws of a million rows cost no more than those of a hundred. Where rows have weights, it is drawn
by true class, leaf and weight, and holds the weights of what was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from odtdsl.auditor.meanings import half_deviance
from odtdsl.auditor.rows import AuditRows
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.numbers import as_number
from odtdsl.datasets.dataset import Value
from odtdsl.datasets.digest import digest
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, RawColumn, Table
from odtdsl.driver.pipeline import solve
from odtdsl.driver.scoring import (
    Resampled,
    ScorePart,
    TestScore,
    numbers_of,
    row_weights,
    score,
)
from odtdsl.insight.cart import Cart, Prices, cart_of
from odtdsl.predictors.leaves import leaf_shares
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.wording import label_text

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis

DRAWS = 2000
MOST_BESIDE = 2_000_000
"""Training cells (rows by features) from which trees are grown to be measured beside, unasked: two
million take one or two seconds of the processor."""
GREEDY_SECONDS = 10.0
"""Of the greedily grown tree that a model is measured beside, a backstop."""
_LEAST_SHARE = float(np.finfo(np.float64).eps)
"""What a class without training rows at a leaf counts as in the log loss, as in scikit-learn's."""
LEVEL = 0.95
MOST_GROUPS = 20
_MOST_CELLS = 2**26
"""Of numbers drawn at a time."""
_LEAST_SAMPLES, _MOST_SAMPLED = 100, 2 * 10**5
"""Of samples whose measures are computed row by row: how many, and rows of all."""
_MOST_DRAWN = 2 * 10**8
"""Of numbers: fewer draws are made of more rows, whose intervals are narrow anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure on some rows.

    Attributes
    ----------
    name
        Such as `accuracy` or `recall(yes)`.
    value
        NaN where it is a share of no row.
    low, high
        The 2.5% and the 97.5% quantile over bootstrap draws of the rows, of those draws in which it
        is defined; NaN where it is in none.
    """

    name: str
    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """Name, value and interval; None for what is undefined."""
        values = {"value": self.value, "low": self.low, "high": self.high}
        return {
            "measure": self.name,
            **{k: None if np.isnan(v) else as_number(v) for k, v in values.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The measures of all rows, or of those of one group.

    Attributes
    ----------
    group
        The value of the column that rows are grouped by, or the name of a group of the spec; None
        for all rows.
    confusion
        Rows, without weights, by true class (first) and predicted class; empty for numbers.
    calibration
        For each leaf that rows reach: its number, the rows, the class that it predicts, the share
        of that class in training (what `predict_proba` says) and here; empty for numbers.
    roc
        Of two classes, for the second: the false and the true positive rate, and the least share at
        a leaf that counts as positive, infinite at first; empty where only one class is among the
        rows.
    """

    group: str | None
    rows: int
    measures: tuple[Measure, ...]
    confusion: tuple[tuple[int, ...], ...] = ()
    calibration: tuple[tuple[int, int, str, float, float], ...] = ()
    roc: tuple[tuple[float, float, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it as values of JSON."""
        return {
            "group": self.group,
            "rows": self.rows,
            "measures": [measure.to_json() for measure in self.measures],
            "confusion": [list(line) for line in self.confusion],
            "calibration": [
                {"leaf": leaf, "rows": rows, "predicts": label, "expected": p, "observed": q}
                for leaf, rows, label, p, q in self.calibration
            ],
            "roc": [
                {"false_positive_rate": x, "true_positive_rate": y, "least_share": as_number(least)}
                for x, y, least in self.roc
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a model does on rows whose truth is known.

    Attributes
    ----------
    target
        The column, or columns, that it predicts.
    classes
        What it can predict, in the order of `Part.confusion`; empty for numbers.
    by
        The column that the later parts are grouped by, if any.
    left_out
        Rows whose truth is missing, or a class that the model does not know.
    parts
        All rows first, then the groups by the number of their rows.
    score
        The objective and every rule of a spec on these rows, beside the best constant; None without
        a spec. Rows without a known truth are not in it.
    beside
        Other models on all rows, with their names.
    left_beside
        Whether no others were grown beside since the training rows are too many to do so unasked.
    groups
        The groups that the spec names, or that its rules make of a column, in its order; of many
        the first.
    trained
        How many of the rows the spec trains on, where they are the rows of its own data.
    weight
        The column by whose weights rows count, in all measures and intervals; None where they
        count alike.
    """

    target: tuple[str, ...]
    classes: tuple[str, ...]
    by: str | None
    left_out: int
    parts: tuple[Part, ...]
    score: TestScore | None = None
    beside: tuple[tuple[str, Part], ...] = ()
    left_beside: bool = False
    groups: tuple[Part, ...] = ()
    trained: int = 0
    weight: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it as values of JSON."""
        told = {} if self.score is None else {"spec": self.score.to_json()}
        return told | {
            "beside": [{"model": name, **part.to_json()} for name, part in self.beside],
            "target": list(self.target),
            "classes": list(self.classes),
            "by": self.by,
            "left_out": self.left_out,
            "level": LEVEL,
            "parts": [part.to_json() for part in self.parts],
            "groups": [part.to_json() for part in self.groups],
            "trained": self.trained,
            "weight": self.weight,
        }


def evaluate(
    model: Predictor,
    table: Table,
    *,
    by: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    prices: Prices | None = None,
    weights: FloatArray | None = None,
) -> Evaluation:
    """Measure a model on rows whose truth is known.

    Parameters
    ----------
    model
        Of any kind.
    table
        The rows, with the columns of the target.
    by
        A column; its values (at most 20) part the rows into groups.
    draws, seed
        Of the bootstrap (Efron 1979), with percentile intervals of 95%.
    prices
        What mistakes and questions cost, for the expected loss and cost.
    weights
        float64 (n_rows,): what each row counts; by default all count alike.

    Raises
    ------
    OdtError
        As `Predictor.apply`. U217: no such column, a truth that cannot be read, no row
        with a known truth, or too many groups.
    """
    wanted = [*model.targets, *([by] if by is not None else [])]
    for name in wanted:
        if name not in table.columns:
            raise error(
                "U217",
                f"{table.name} has no column `{name}`",
                notes=(f"its columns are {', '.join(f'`{n}`' for n in list(table.columns)[:20])}",),
                helps=("the truth must be among the rows; `odt predict` does without it",)
                if name != by
                else (),
            )
    measured = _any_measured(model, table, prices, weights)
    if not measured.known.any():
        raise error(
            "U217",
            f"no row of {table.name} has a known `{model.targets[0]}`",
            notes=_unlike(model, table),
        )
    rng = np.random.default_rng(seed)
    parts = [measured.part(None, measured.known, draws, rng)]
    for name, rows in _groups(table.columns[by], measured.known) if by is not None else ():
        parts.append(measured.part(name, rows, draws, rng))
    return Evaluation(
        target=model.targets,
        classes=tuple(label_text(label) for label in model.classes),
        by=by,
        left_out=int((~measured.known).sum()),
        parts=tuple(parts),
    )


def _unlike(model: Predictor, table: Table) -> tuple[str, ...]:
    """What a column of classes holds, where none of it is a class of the model."""
    found = table.columns[model.targets[0]].distinct[0]
    if not model.classes or not found:
        return ()
    known, there = (
        ", ".join(f"`{one}`" for one in some[:5])
        for some in ([label_text(label) for label in model.classes], found)
    )
    return (f"the classes of the model are {known}; the column has {there}",)


def evaluate_under(
    analysis: Analysis,
    model: Predictor,
    table: Table,
    *,
    by: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    beside: bool | None = None,
) -> Evaluation:
    """As `evaluate`, with the objective and the rules of a spec on the same rows, its test rows.

    The groups of the spec are measured apart. Of classes and numbers two trees from the same
    training rows are measured beside: one that is grown greedily under the same rules, and that of
    scikit-learn's CART, which knows no rules. `beside` says whether; by default where there are at
    most `MOST_BESIDE` training cells.
    """
    prices = Prices(analysis, model)
    weights = _weights(analysis, table)
    found = evaluate(model, table, by=by, draws=draws, seed=seed, prices=prices, weights=weights)
    many = analysis.rows.data.n_rows * len(analysis.problem.features) > MOST_BESIDE
    others = []
    if beside or (beside is None and not many):
        if (grown := _greedy(analysis)) is not None:
            other = evaluate(grown, table, draws=draws, seed=seed, prices=prices, weights=weights)
            others.append(("greedy tree", other.parts[0]))
        if (cart := cart_of(analysis)) is not None:
            measured = _measured(model, table, prices, weights, cart)
            part = measured.part(None, measured.known, draws, np.random.default_rng(seed))
            others.append(("CART", part))
    test = analysis.test
    told = None if test is None or not test.n_rows else score(model, test, analysis.rows)
    groups = tuple(_of_spec(analysis, model, prices, draws, seed))
    left = beside is None and many
    own = digest(analysis.table) == digest(table)
    return replace(
        found,
        score=told,
        beside=tuple(others),
        left_beside=left,
        groups=groups,
        trained=analysis.rows.data.n_rows if own else 0,
        weight=None if weights is None else analysis.problem.weight or "sample weight",
    )


def _weights(analysis: Analysis, table: Table) -> FloatArray | None:
    """What each row counts by the spec; None where all count alike.

    Rows that the spec drops, as their truth is missing, have the weight of their cell.
    """
    test, name = analysis.test, analysis.problem.weight
    if test is not None and test.n_rows == table.n_rows:
        found = row_weights(test)
    elif name is not None and name in table.columns:
        found = np.nan_to_num(numbers_of(table.columns[name]))
    else:
        return None
    return found if found.any() and (found != found[:1]).any() else None


def _of_spec(
    analysis: Analysis, model: Predictor, prices: Prices, draws: int, seed: int
) -> Iterator[Part]:
    """The measures of each group of the spec that holds a test row with a known truth."""
    test, groups = analysis.test, analysis.problem.groups
    if test is None or not test.n_rows or not groups:
        return
    rows = AuditRows(analysis.problem, test, training=False)
    weights = row_weights(test)
    alike = bool((weights == weights[:1]).all())
    measured = _any_measured(model, test.table, prices, None if alike else weights)
    rng = np.random.default_rng(seed)
    for group in groups[:MOST_GROUPS]:
        inside = measured.known & rows.group(group.name)
        if inside.any():
            yield measured.part(group.name, inside, draws, rng)


def _any_measured(
    model: Predictor, table: Table, prices: Prices | None, weights: FloatArray | None
) -> _Classes | _Numbers | _Sampled:
    own = np.ones(table.n_rows) if weights is None else weights
    sampled = ScorePart.of(model.target_kind).resampled(model, table, own)
    return _Sampled(sampled) if sampled is not None else _measured(model, table, prices, weights)


def _measured(
    model: Predictor,
    table: Table,
    prices: Prices | None,
    weights: FloatArray | None,
    grown: Cart | None = None,
) -> _Classes | _Numbers:
    kind = _Classes if model.classes else _Numbers
    return kind(model, table, prices, weights, grown)


def _greedy(analysis: Analysis) -> Predictor | None:
    """A greedily grown tree that keeps the rules; None where there is none, or none was found."""
    try:
        return solve(analysis, backend="greedy", seconds=GREEDY_SECONDS).model
    except OdtError:
        return None


def _groups(column: RawColumn, known: BoolArray) -> Iterator[tuple[str, BoolArray]]:
    """The known rows of each value, those of most rows first; rows without a value last."""
    words, places = column.distinct
    counts = np.bincount(places[known & (places >= 0)], minlength=len(words))
    if np.count_nonzero(counts) > MOST_GROUPS:
        raise error(
            "U217",
            f"`{column.name}` has {np.count_nonzero(counts):,} values, too many for groups",
            helps=(f"choose a column of at most {MOST_GROUPS} values",),
        )
    for at in np.argsort(-counts, kind="stable").tolist():
        if counts[at]:
            yield words[at], known & (places == at)
    if (known & column.missing).any():
        yield "missing", known & column.missing


def _measure(name: str, value: float, drawn: FloatArray) -> Measure:
    defined = drawn[~np.isnan(drawn)]
    low, high = (np.nan, np.nan)
    if len(defined) and not np.isnan(value):
        # between infinite values nothing can be interpolated
        how: Literal["linear", "nearest"] = "linear" if np.isfinite(defined).all() else "nearest"
        low, high = np.quantile(defined, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), method=how)
    return Measure(name=name, value=float(value), low=float(low), high=float(high))


# ---- classes

_Table = npt.NDArray[Any]
"""Counts of rows, int64, or sums of their weights, float64."""


class _Classes:
    """Rows of classes as counts of leaves and true classes.

    Parameters
    ----------
    model, table
        The model of a spec, and the rows.
    prices
        What mistakes and questions cost, where a spec says so.
    weights
        float64 (n_rows,): what each row counts; None where all count alike.
    grown
        Another tree that is measured: CART.
    """

    def __init__(
        self,
        model: Predictor,
        table: Table,
        prices: Prices | None = None,
        weights: FloatArray | None = None,
        grown: Cart | None = None,
    ) -> None:
        self.weights = weights
        self.truth = _codes(table.columns[model.targets[0]], model.classes)
        self.known: BoolArray = self.truth >= 0
        many = len(model.classes)
        self.names = [label_text(label) for label in model.classes]
        trained = np.array([leaf.class_weights or (0.0,) * many for leaf in model.ends])
        self.most_often = int(trained.sum(axis=0).argmax())
        if grown is None:
            self.ends = model.apply(table)
            self.predicted = np.array([leaf.label for leaf in model.ends], dtype=np.int64)
            self.shares = np.array([leaf_shares(leaf, many) for leaf in model.ends])
        else:
            self.ends, self.shares = grown.ends(table, many)
            self.predicted = self.shares.argmax(axis=1)
        self.losses = None if prices is None else prices.losses
        self.paid = None if prices is None else prices.paid(model, grown)

    def part(
        self, group: str | None, rows: BoolArray, draws: int, rng: np.random.Generator
    ) -> Part:
        """The measures of some rows."""
        many = len(self.names)
        shape = (len(self.predicted), many)
        places = self.ends[rows] * many + self.truth[rows]
        counts = np.bincount(places, minlength=shape[0] * shape[1])
        n = int(counts.sum())
        if self.weights is None:
            used = np.flatnonzero(counts)
            drawn = np.zeros((draws, len(counts)), dtype=np.int64)
            drawn[:, used] = rng.multinomial(n, counts[used] / n, size=draws)
            tables: _Table = np.concatenate([counts[None], drawn])
        else:
            tables = _weighted(places, self.weights[rows], len(counts), draws, rng)
        both = tables.reshape(-1, *shape)
        measures = [_measure(name, v[0], v[1:]) for name, v in self._measures(both)]
        counts = counts.reshape(shape)
        confusion = np.zeros((many, many), dtype=np.int64)
        np.add.at(confusion.T, self.predicted, counts)
        return Part(
            group=group,
            rows=n,
            measures=tuple(measures),
            confusion=tuple(map(tuple, confusion.tolist())),
            calibration=tuple(self._calibration(counts, both[0])),
            roc=tuple(self._roc(both[0])) if many == 2 else (),
        )

    def _measures(self, counts: _Table) -> Iterator[tuple[str, FloatArray]]:
        """Each measure of tables (n, leaves, classes), float64 (n,)."""
        n = counts.sum(axis=(1, 2))
        classes = counts.sum(axis=1)
        hit, said = np.zeros_like(classes), np.zeros_like(classes)
        for leaf, label in enumerate(self.predicted):
            hit[:, label] += counts[:, leaf, label]
            said[:, label] += counts[:, leaf].sum(axis=1)
        recall, precision = _ratio(hit, classes), _ratio(hit, said)
        yield "accuracy", _ratio(hit.sum(axis=1), n)
        yield "always the most frequent class", _ratio(classes[:, self.most_often], n)
        yield "balanced accuracy", _mean_of_defined(recall)
        auc = np.stack([self._auc(counts, label) for label in range(len(self.names))], axis=1)
        yield "ROC AUC" if len(self.names) == 2 else "ROC AUC, mean", _mean_of_defined(auc)
        missed = ((np.eye(len(self.names)) - self.shares[:, None, :]) ** 2).sum(axis=2)
        halved = 2 if len(self.names) == 2 else 1  # of two classes one says it all
        yield "Brier score", _ratio((counts * missed).sum(axis=(1, 2)), halved * n)
        surprise = -np.log(np.clip(self.shares, _LEAST_SHARE, 1))
        yield "log loss", _ratio((counts * surprise).sum(axis=(1, 2)), n)
        if self.losses is not None:
            of_pair = self.losses.T[self.predicted]  # by leaf and true class
            yield "expected loss", _ratio((counts * of_pair).sum(axis=(1, 2)), n)
        if self.paid is not None:
            paid = (counts.sum(axis=2) * self.paid).sum(axis=1)
            yield "expected cost", _ratio(paid, n)
        f1 = _ratio(2 * hit, classes + said)
        for label, name in enumerate(self.names):
            yield f"recall({name})", recall[:, label]
            yield f"precision({name})", precision[:, label]
            yield f"F1({name})", f1[:, label]
            if len(self.names) > 2:
                yield f"ROC AUC({name})", auc[:, label]

    def _auc(self, counts: _Table, label: int) -> FloatArray:
        """The share of pairs of a row of the class and another one that stand in the right order
        by the class's share at their leaves; ties count half (Fawcett 2006)."""
        scores, at = np.unique(self.shares[:, label], return_inverse=True)
        positive = np.zeros((len(counts), len(scores)))
        negative = np.zeros_like(positive)
        for leaf, place in enumerate(at):
            positive[:, place] += counts[:, leaf, label]
            negative[:, place] += counts[:, leaf].sum(axis=1) - counts[:, leaf, label]
        below = negative.cumsum(axis=1) - negative / 2
        pairs = positive.sum(axis=1) * negative.sum(axis=1)
        return _ratio((positive * below).sum(axis=1), pairs)

    def _roc(self, counts: _Table) -> Iterator[tuple[float, float, float]]:
        """The points of the curve of the second class, from (0, 0) to (1, 1)."""
        scores, at = np.unique(self.shares[:, 1], return_inverse=True)
        ends = np.zeros((len(scores), 2))
        np.add.at(ends, at, counts)
        of = ends.sum(axis=0)
        if not of.all():
            return
        reached = np.cumsum(ends[::-1], axis=0) / of
        yield 0.0, 0.0, float("inf")
        for (false, true), least in zip(reached.tolist(), scores[::-1].tolist(), strict=True):
            yield false, true, least

    def _calibration(
        self, counts: IntArray, weights: _Table
    ) -> Iterator[tuple[int, int, str, float, float]]:
        for leaf, label in enumerate(self.predicted.tolist()):
            n, weight = int(counts[leaf].sum()), weights[leaf].sum()
            if n and weight:
                expected = float(self.shares[leaf, label])
                yield leaf, n, self.names[label], expected, float(weights[leaf, label] / weight)


def _weighted(
    places: IntArray, weights: FloatArray, size: int, draws: int, rng: np.random.Generator
) -> FloatArray:
    """The weight at each place, of the rows and of draws of them: float64 (draws + 1, size).

    Rows of one place and weight are drawn together; many of them, fewer times.
    """
    values, at = np.unique(weights, return_inverse=True)
    codes, counts = np.unique(places * len(values) + at, return_counts=True)
    here, own = codes // len(values), values[codes % len(values)]
    first = np.flatnonzero(np.diff(here, prepend=-1))
    draws = min(draws, max(100, _MOST_DRAWN // len(codes)))
    found = np.zeros((draws + 1, size))
    found[0, here[first]] = np.add.reduceat(counts * own, first)
    step = max(1, _MOST_CELLS // len(codes))
    for start in range(1, draws + 1, step):
        end = min(draws + 1, start + step)
        drawn = rng.multinomial(len(places), counts / len(places), size=end - start) * own
        found[start:end, here[first]] = np.add.reduceat(drawn, first, axis=1)
    return found


def _codes(column: RawColumn, classes: tuple[Value, ...]) -> IntArray:
    """int64 (n_rows,): the place of each cell among the classes; -1 where it is missing or none."""
    words, places = column.distinct
    by_text = {
        label if isinstance(label, str) else label_text(label): at
        for at, label in enumerate(classes)
    }
    by_number = {float(label): at for at, label in enumerate(classes) if not isinstance(label, str)}
    codes = [by_text.get(word, _by_number(word, by_number)) for word in words]
    found: IntArray = np.array([*codes, -1], dtype=np.int64)[places]
    return found


def _by_number(word: str, by_number: dict[float, int]) -> int:
    try:
        return by_number.get(float(word), -1)
    except ValueError:
        return -1


def _ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> FloatArray:
    """NaN for a share of nothing."""
    out = np.full(np.broadcast(above, below).shape, np.nan)
    found: FloatArray = np.divide(above, below, out=out, where=below != 0)
    return found


def _mean_of_defined(values: FloatArray) -> FloatArray:
    defined = ~np.isnan(values)
    return _ratio(np.where(defined, values, 0.0).sum(axis=1), defined.sum(axis=1))


# ---- numbers


class _Numbers:
    """Rows of numbers as errors of each target; see `_Classes` for the parameters."""

    def __init__(
        self,
        model: Predictor,
        table: Table,
        prices: Prices | None = None,
        weights: FloatArray | None = None,
        grown: Cart | None = None,
    ) -> None:
        self.weights, self.targets = weights, model.targets
        self.counted = prices is not None and prices.counted
        columns = [numbers_of(table.columns[name]) for name in model.targets]
        self.truth = np.stack(columns, axis=1)
        self.outputs = model.outputs(table) if grown is None else grown.outputs(table)
        self.known: BoolArray = np.asarray(~np.isnan(self.truth).any(axis=1))
        paid = None if prices is None else prices.paid(model, grown)
        self.paid: FloatArray | None = None
        if paid is not None:
            ends = model.apply(table) if grown is None else grown.ends(table, 0)[0]
            self.paid = paid[ends]

    def part(
        self, group: str | None, rows: BoolArray, draws: int, rng: np.random.Generator
    ) -> Part:
        """The measures of some rows."""
        truth, off = self.truth[rows], (self.truth - self.outputs)[rows]
        paid = np.zeros_like(off)
        if self.paid is not None:
            paid += self.paid[rows, None]
        each = [off**2, np.abs(off), truth, truth**2, paid]
        if self.counted:
            lost = half_deviance(truth, self.outputs[rows])
            unbounded = ~np.isfinite(lost)
            of_none = truth * np.log(np.where(truth > 0, truth, 1))
            each += [np.where(unbounded, 0, lost), unbounded, of_none]
        sums = np.stack(each)  # (5 or 8, rows, targets)
        n, own = len(truth), None if self.weights is None else self.weights[rows]
        draws = min(draws, max(100, _MOST_DRAWN // n))
        means = np.empty((draws + 1, *sums.shape[::2]))
        means[0] = sums.mean(axis=1) if own is None else _means(own[None], sums)
        step = max(1, _MOST_CELLS // n)
        for first in range(1, draws + 1, step):
            last = min(draws + 1, first + step)
            weights = rng.multinomial(n, np.full(n, 1 / n), size=last - first)
            means[first:last] = _means(weights if own is None else weights * own, sums)
        return Part(
            group=group,
            rows=n,
            measures=tuple(_measure(name, v[0], v[1:]) for name, v in self._measures(means)),
        )

    def _measures(self, means: FloatArray) -> Iterator[tuple[str, FloatArray]]:
        for at, name in enumerate(self.targets):
            of = f"({name})" if len(self.targets) > 1 else ""
            squared, absolute, mean, square = means[:, :4, at].T
            yield f"mean squared error{of}", squared
            yield f"root mean squared error{of}", np.sqrt(squared)
            yield f"mean absolute error{of}", absolute
            yield f"R2{of}", 1 - _ratio(squared, np.maximum(square - mean**2, 0))
            if self.counted:
                lost, unbounded, of_none = means[:, 5:, at].T
                deviance = np.where(unbounded > 0, np.inf, lost)
                alone = of_none - mean * np.log(np.where(mean > 0, mean, 1))
                yield f"half Poisson deviance{of}", deviance
                yield f"D2 (Poisson){of}", 1 - _ratio(deviance, np.maximum(alone, 0))
        if self.paid is not None:
            yield "expected cost", means[:, 4, 0]


def _means(weights: npt.NDArray[Any], sums: FloatArray) -> FloatArray:
    """float64 (draws, sums, targets): the means of (sums, rows, targets) by (draws, rows)."""
    total = weights.sum(axis=1, keepdims=True)
    found: FloatArray = np.einsum("dn,snt->dst", _ratio(weights, total), sums)
    return found


# ---- what else a task measures


class _Sampled:
    """Rows whose measures are computed anew for each draw."""

    def __init__(self, of: Resampled) -> None:
        self.known, self.of = of.known, of

    def part(
        self, group: str | None, rows: BoolArray, draws: int, rng: np.random.Generator
    ) -> Part:
        """The measures of some rows."""
        at = np.flatnonzero(rows)
        n = len(at)
        draws = min(draws, max(_LEAST_SAMPLES, _MOST_SAMPLED // n))
        drawn = [self.of.measures(at[rng.integers(0, n, size=n)]) for _ in range(draws)]
        return Part(
            group=group,
            rows=n,
            measures=tuple(
                _measure(name, value, np.array([one[name] for one in drawn]))
                for name, value in self.of.measures(at).items()
            ),
        )
