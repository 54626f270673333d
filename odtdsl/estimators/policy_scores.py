"""Scores of choices from what was observed: doubly robust, by inverse propensities, or by models.

Of a row only the outcome of the treatment that it got is known. A score estimates, for each row
and choice, what the outcome would have been; the mean over rows of the scores of a policy's
choices estimates the value of the policy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_consistent_length

from odtdsl.base.diagnostics.model import error
from odtdsl.base.numbers import counted
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.estimators.cells import column_of, lacking
from odtdsl.words import values

_OFF, _ERRORS = 0.2, 5
"""Known propensities are told as wrong where the mean of [W_i = a] / e(x_i, a) is farther from 1
than this, and than so many of its standard errors."""
METHODS = ("doubly_robust", "inverse_propensity", "outcome_model")
Method = Literal["doubly_robust", "inverse_propensity", "outcome_model"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicyScores:
    """What each row would gain by each choice, as estimated.

    Attributes
    ----------
    choices
        The treatments, sorted; the columns of all arrays.
    scores
        float64 (n_rows, n_choices): the estimates, for `OptimalPolicyTree.fit`.
    propensities
        float64 (n_rows, n_choices): the probability of each treatment, clipped; NaN where only
        that of the treatment that the row got is known, and where the method asks for none.
    outcomes
        float64 (n_rows, n_choices): the predicted outcomes; NaN where the method asks for none.
    clipped
        Rows whose propensity was raised to the least one.
    """

    choices: tuple[Any, ...]
    scores: FloatArray
    propensities: FloatArray
    outcomes: FloatArray
    clipped: int

    def columns(self) -> dict[str, FloatArray]:
        """The scores by choice, as columns for `data frame` or a data frame's constructor."""
        return {str(name): self.scores[:, k] for k, name in enumerate(self.choices)}


def policy_scores(
    X: Any,
    treatment: Any,
    outcome: Any,
    propensity: Any = None,
    *,
    method: Method = "doubly_robust",
    models: tuple[Any, Any] = (None, None),
    folds: int = 5,
    least_propensity: float = 0.01,
    random_state: int | None = 0,
) -> PolicyScores:
    """Scores of the choices among treatments, from rows of which each got one.

    With Y the outcome, W the treatment, e(x, a) its propensity and m(x, a) the predicted outcome,
    the score of row i and choice a is

    - `doubly_robust`: m(x_i, a) + [W_i = a] (Y_i - m(x_i, a)) / e(x_i, a), unbiased where e or m
      is right;
    - `inverse_propensity`: [W_i = a] Y_i / e(x_i, a), unbiased where e is right;
    - `outcome_model`: m(x_i, a), as good as m.

    Both are estimated on other folds than the row's (cross-fitting). All assume that nothing but
    `X` tells both who got which treatment and what came of it, and that every row could have got
    any.

    Parameters
    ----------
    X : array-like or frame, shape (n_rows, n_features)
        What models predict from. The default models take numbers.
    treatment : array-like, shape (n_rows,)
        What each row got.
    outcome : array-like, shape (n_rows,)
        What came of it; more is better, or for a tree `by="loss"` worse.
    propensity : array-like, shape (n_rows,) or (n_rows, n_choices), optional
        Where it is known, as in a trial: in one dimension the probability of the treatment that
        the row got (not of one and the same treatment for all rows), in two a column for each
        treatment in sorted order. Else it is estimated. A warning tells where it does not fit the
        treatments: over all rows, [W_i = a] / e(x_i, a) should have mean 1 for each treatment a.
    method : "doubly_robust", "inverse_propensity" or "outcome_model"
        As above.
    models : two estimators of scikit-learn
        Of the outcome (a regressor, or a classifier of outcomes 0 and 1) and of the treatment (a
        classifier with `predict_proba`); None stands for random forests whose leaves hold at least
        10 and 20 rows.
    folds : int
        Of the cross-fitting, at least 2.
    least_propensity : float
        Propensities below this are raised to it, with a warning: they make few rows count much.
    random_state : int, optional
        Of the folds and the default models.

    Returns
    -------
    PolicyScores

    Raises
    ------
    OdtError
        U614: fewer than two treatments, a treatment with fewer rows than folds, or propensities
        that are no probabilities. U401: an unknown method.
    ValueError
        Wrong shapes and cells, as scikit-learn says it.

    References
    ----------
    Robins, Rotnitzky and Zhao 1994; Dudik, Langford and Li 2011; Chernozhukov et al. 2018 (cross-
    fitting); Athey and Wager 2021; Zhou, Athey and Wager 2023.

    Examples
    --------
    >>> from odtdsl import OptimalPolicyTree, datasets, policy_scores
    >>> data = datasets.treatments(rows=1000)
    >>> X = [[a, s] for a, s in zip(data["age"], data["severity"])]
    >>> found = policy_scores(X, data["treatment"], data["outcome"])
    >>> found.choices
    ('drug', 'none', 'surgery')
    >>> policy = OptimalPolicyTree(max_depth=2).fit(X, found.scores)
    >>> [found.choices[i] for i in policy.predict([[40, 1], [40, 9], [70, 9]])]
    ['none', 'surgery', 'drug']
    """
    if method not in METHODS:
        raise values.wrong("`method`", method, f"give one of {', '.join(METHODS)}")
    rows = _Observed(X, treatment, outcome, folds, random_state)
    shape = (len(rows.outcome), len(rows.choices))
    outcomes, chances = np.full(shape, np.nan), np.full(shape, np.nan)
    if method != "inverse_propensity":
        outcomes = rows.outcomes(models[0])
    clipped = 0
    if method != "outcome_model":
        if not 0 < least_propensity < 1:
            raise values.wrong("`least_propensity`", least_propensity, "give one between 0 and 1")
        if propensity is None:
            chances = rows.chances(models[1])
        else:
            chances = rows.known(propensity)
            _told_unlikely(chances, rows)
        clipped = _told_clipped(chances[np.arange(shape[0]), rows.given], least_propensity)
        chances = np.where(chances < least_propensity, least_propensity, chances)
    return PolicyScores(
        choices=rows.choices,
        scores=rows.scores(outcomes, chances, method),
        propensities=chances,
        outcomes=outcomes,
        clipped=clipped,
    )


class _Observed:
    """Rows with the treatment that each got and what came of it."""

    def __init__(self, X: Any, treatment: Any, outcome: Any, folds: int, seed: int | None) -> None:
        given = column_of(treatment)
        if lacks := int(lacking(given).sum()):
            raise error(
                "U614",
                f"{lacks} of {len(given)} rows have no treatment",
                helps=("leave these rows out of `X`, `treatment` and `outcome`",),
            )
        self.X = X if hasattr(X, "columns") else check_array(X, ensure_all_finite=False)
        self.outcome: FloatArray = check_array(
            outcome, ensure_2d=False, dtype=np.float64, input_name="outcome"
        ).ravel()
        check_consistent_length(self.X, given, self.outcome)
        found, codes = np.unique(given, return_inverse=True)
        self.choices: tuple[Any, ...] = tuple(found.tolist())
        self.given: IntArray = codes.astype(np.int64)
        self.seed = seed
        counts = np.bincount(self.given)
        if len(found) < 2:
            raise error("U614", f"every row got the same treatment, `{found[0]}`")
        if folds < 2 or counts.min() < folds:
            fewest = found[int(counts.argmin())]
            raise error(
                "U614",
                f"{counted(folds, 'fold')} cannot divide the rows of each treatment",
                notes=(f"`{fewest}` has {counted(int(counts.min()), 'row')}",),
                helps=(
                    "use at least 2 folds, and at most as many as the rarest treatment has rows",
                ),
            )
        split = StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, codes)
        self.folds = [(fit.astype(np.int64), rest.astype(np.int64)) for fit, rest in split]

    def outcomes(self, model: Any) -> FloatArray:
        """Predicted outcomes under each treatment, by models of the rows that got it."""
        usual = RandomForestRegressor(min_samples_leaf=10, random_state=self.seed)
        start = usual if model is None else model
        found = np.empty((len(self.outcome), len(self.choices)))
        for fit, rest in self.folds:
            for choice in range(len(self.choices)):
                own = fit[self.given[fit] == choice]
                fitted = clone(start).fit(_safe_indexing(self.X, own), self.outcome[own])
                found[rest, choice] = _predicted(fitted)(_safe_indexing(self.X, rest))
        return found

    def chances(self, model: Any) -> FloatArray:
        """Estimated probabilities of the treatments."""
        usual = RandomForestClassifier(min_samples_leaf=20, random_state=self.seed)
        start = usual if model is None else model
        found = np.empty((len(self.outcome), len(self.choices)))
        for fit, rest in self.folds:
            fitted = clone(start).fit(_safe_indexing(self.X, fit), self.given[fit])
            found[rest] = fitted.predict_proba(_safe_indexing(self.X, rest))
        return found

    def known(self, given: Any) -> FloatArray:
        """Propensities that the caller knows, of what rows got or of all treatments."""
        array = check_array(given, ensure_2d=False, dtype=np.float64, input_name="propensity")
        check_consistent_length(self.outcome, array)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        found = np.full((len(array), len(self.choices)), np.nan)
        if array.ndim == 1:
            found[np.arange(len(array)), self.given] = array
        elif array.shape == found.shape:
            found = array
        wrong = ~((array > 0) & (array <= 1)).all() or (
            array.ndim == 2 and not np.allclose(array.sum(axis=1), 1, atol=1e-6)
        )
        if wrong or (array.ndim == 2 and array.shape != found.shape):
            raise error(
                "U614",
                "propensities must be probabilities above 0",
                helps=(
                    "pass the probability of the treatment that each row got, or a column for each"
                    " treatment, in sorted order, that sum to 1",
                ),
            )
        return found

    def scores(self, outcomes: FloatArray, chances: FloatArray, method: Method) -> FloatArray:
        """The scores of a method, float64 (n_rows, n_choices)."""
        if method == "outcome_model":
            return outcomes.copy()
        each = np.arange(len(self.outcome))
        found = np.zeros_like(chances) if method == "inverse_propensity" else outcomes.copy()
        rest = self.outcome - found[each, self.given]
        found[each, self.given] += rest / chances[each, self.given]
        return found


def _predicted(model: Any) -> Callable[[Any], npt.NDArray[Any]]:
    """The mean outcome by a regressor, or the chance of 1 by a classifier."""
    if not is_classifier(model):
        predict: Callable[[Any], npt.NDArray[Any]] = model.predict
        return predict

    def chance(X: Any) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = model.predict_proba(X) @ model.classes_
        return found

    return chance


def _told_unlikely(chances: FloatArray, rows: _Observed) -> None:
    """Warn where a treatment was given far more or less often than known propensities say."""
    for at, name in enumerate(rows.choices):
        got = rows.given == at
        terms = np.where(got, 1 / np.where(got, chances[:, at], 1), 0)
        off = abs(float(terms.mean()) - 1)
        if off > max(_OFF, _ERRORS * float(terms.std()) / len(terms) ** 0.5):
            warnings.warn(
                f"`propensity` does not fit the treatments: by it {terms.sum():,.0f} rows would"
                f" stand for the {counted(len(terms), 'row')} if all got `{name}`; scores may be"
                " far off. In one dimension give the probability of the treatment that each row"
                f" got, else a column for each of {', '.join(map(str, rows.choices))}, in this"
                " order",
                UserWarning,
                stacklevel=3,
            )
            return


def _told_clipped(chances: FloatArray, least: float) -> int:
    clipped = int((chances < least).sum())
    if clipped:
        warnings.warn(
            f"{clipped} of {len(chances)} rows got a treatment whose propensity is below {least:g};"
            " it is raised to that: scores of such rows are biased, but less noisy",
            UserWarning,
            stacklevel=3,
        )
    return clipped
