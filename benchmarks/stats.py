"""Ranks of methods over data sets: Friedman's test and Nemenyi's critical difference.

After Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """How methods rank.

    Attributes
    ----------
    means
        Mean rank of each method; 1 is the best, equal values share their ranks.
    p_value
        Of Friedman's test with ties corrected; 1 where all methods are equal everywhere.
    difference
        Nemenyi's: mean ranks that are further apart differ at `level`.
    sets
        The number of data sets.
    """

    means: Mapping[str, float]
    p_value: float
    difference: float
    sets: int
    level: float

    def apart(self) -> list[tuple[str, str]]:
        """The pairs that differ at `level`, the better one first."""
        order = sorted(self.means, key=lambda name: self.means[name])
        return [
            (better, worse)
            for i, better in enumerate(order)
            for worse in order[i + 1 :]
            if self.means[worse] - self.means[better] > self.difference
        ]


def ranks(values: Mapping[str, npt.ArrayLike], level: float = 0.05) -> Ranks:
    """Rank at least three methods.

    Parameters
    ----------
    values
        By method, (n_sets,): accuracies, larger is better; the same sets in the same order.
    level
        Of the test.

    Raises
    ------
    ValueError
        Fewer than three methods, values missing, or of different numbers of sets.
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    columns = [np.asarray(column, dtype=float) for column in values.values()]
    if len(columns) < 3 or len({len(column) for column in columns}) != 1:
        raise ValueError("ranks are of three methods or more, over the same data sets")
    table = np.column_stack(columns).round(9)  # equal but for rounding is equal
    if np.isnan(table).any():
        raise ValueError("a method without a value has no rank")
    n_sets, n_methods = table.shape
    ranked = np.vstack([rankdata(-row) for row in table])
    same = bool((table == table[:, :1]).all())
    q = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return Ranks(
        means=dict(zip(values, map(float, ranked.mean(axis=0)), strict=True)),
        p_value=1.0 if same else float(friedmanchisquare(*table.T).pvalue),
        difference=float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))),
        sets=n_sets,
        level=level,
    )
