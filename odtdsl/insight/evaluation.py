"""How good a saved model is on rows whose truth is known, each measure with an interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from odtdsl.auditor.rows import AuditRows
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.datasets.digest import digest
from odtdsl.datasets.table import BoolArray, FloatArray, RawColumn, Table
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
from odtdsl.insight.measured.classes import Classes
from odtdsl.insight.measured.numbers import Numbers
from odtdsl.insight.measured.parts import LEVEL, Part, measured
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
MOST_GROUPS = 20
_LEAST_SAMPLES, _MOST_SAMPLED = 100, 2 * 10**5
"""Of samples whose measures are computed row by row: how many, and rows of all."""


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
) -> Classes | Numbers | _Sampled:
    own = np.ones(table.n_rows) if weights is None else weights
    sampled = ScorePart.of(model.target_kind).resampled(model, table, own)
    return _Sampled(sampled) if sampled is not None else _measured(model, table, prices, weights)


def _measured(
    model: Predictor,
    table: Table,
    prices: Prices | None,
    weights: FloatArray | None,
    grown: Cart | None = None,
) -> Classes | Numbers:
    kind = Classes if model.classes else Numbers
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
                measured(name, value, np.array([one[name] for one in drawn]))
                for name, value in self.of.measures(at).items()
            ),
        )
