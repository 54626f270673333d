"""Measures of classes.

All are functions of one table: how many rows of each true class end at each leaf. A bootstrap of
rows draws that table from a multinomial distribution, so that thousands of draws of a million rows
cost no more than those of a hundred. Where rows have weights, it is drawn by true class, leaf and
weight, and holds the weights of what was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.datasets.dataset import Value
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray, RawColumn, Table
from odtdsl.insight.cart import Cart, Prices
from odtdsl.insight.measured.parts import MOST_CELLS, MOST_DRAWN, Part, measured, ratio
from odtdsl.predictors.leaves import leaf_shares
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.wording import label_text

_LEAST_SHARE = float(np.finfo(np.float64).eps)
"""What a class without training rows at a leaf counts as in the log loss, as in scikit-learn's."""

Counts = npt.NDArray[Any]
"""Counts of rows, int64, or sums of their weights, float64."""


class Classes:
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
            tables: Counts = np.concatenate([counts[None], drawn])
        else:
            tables = _weighted(places, self.weights[rows], len(counts), draws, rng)
        both = tables.reshape(-1, *shape)
        measures = [measured(name, v[0], v[1:]) for name, v in self._measures(both)]
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

    def _measures(self, counts: Counts) -> Iterator[tuple[str, FloatArray]]:
        """Each measure of tables (n, leaves, classes), float64 (n,)."""
        n = counts.sum(axis=(1, 2))
        classes = counts.sum(axis=1)
        hit, said = np.zeros_like(classes), np.zeros_like(classes)
        for leaf, label in enumerate(self.predicted):
            hit[:, label] += counts[:, leaf, label]
            said[:, label] += counts[:, leaf].sum(axis=1)
        recall, precision = ratio(hit, classes), ratio(hit, said)
        yield "accuracy", ratio(hit.sum(axis=1), n)
        yield "always the most frequent class", ratio(classes[:, self.most_often], n)
        yield "balanced accuracy", _mean_of_defined(recall)
        auc = np.stack([self._auc(counts, label) for label in range(len(self.names))], axis=1)
        yield "ROC AUC" if len(self.names) == 2 else "ROC AUC, mean", _mean_of_defined(auc)
        missed = ((np.eye(len(self.names)) - self.shares[:, None, :]) ** 2).sum(axis=2)
        halved = 2 if len(self.names) == 2 else 1  # of two classes one says it all
        yield "Brier score", ratio((counts * missed).sum(axis=(1, 2)), halved * n)
        surprise = -np.log(np.clip(self.shares, _LEAST_SHARE, 1))
        yield "log loss", ratio((counts * surprise).sum(axis=(1, 2)), n)
        if self.losses is not None:
            of_pair = self.losses.T[self.predicted]  # by leaf and true class
            yield "expected loss", ratio((counts * of_pair).sum(axis=(1, 2)), n)
        if self.paid is not None:
            paid = (counts.sum(axis=2) * self.paid).sum(axis=1)
            yield "expected cost", ratio(paid, n)
        f1 = ratio(2 * hit, classes + said)
        for label, name in enumerate(self.names):
            yield f"recall({name})", recall[:, label]
            yield f"precision({name})", precision[:, label]
            yield f"F1({name})", f1[:, label]
            if len(self.names) > 2:
                yield f"ROC AUC({name})", auc[:, label]

    def _auc(self, counts: Counts, label: int) -> FloatArray:
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
        return ratio((positive * below).sum(axis=1), pairs)

    def _roc(self, counts: Counts) -> Iterator[tuple[float, float, float]]:
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
        self, counts: IntArray, weights: Counts
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
    draws = min(draws, max(100, MOST_DRAWN // len(codes)))
    found = np.zeros((draws + 1, size))
    found[0, here[first]] = np.add.reduceat(counts * own, first)
    step = max(1, MOST_CELLS // len(codes))
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


def _mean_of_defined(values: FloatArray) -> FloatArray:
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=1), defined.sum(axis=1))
