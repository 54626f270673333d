"""Survival trees, in scikit-survival's conventions: `y` is a structured array of event and time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.numbers import counted
from odtdsl.datasets.table import BoolArray, FloatArray
from odtdsl.estimators.base import OptimalEstimator, free_name
from odtdsl.estimators.problems import AUTO, EstimatorOptions, Target
from odtdsl.estimators.trees import TreeMethods
from odtdsl.predictors import survival
from odtdsl.predictors.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepFunction:
    """A curve of one row: `y[k]` from `x[k]` up to the next time, as scikit-survival's.

    Attributes
    ----------
    x, y
        float64 (n_times,): times, ascending, and values. Before the first time the value is
        `before`; behind the last one it stays, and a call for such a time warns.
    """

    x: FloatArray
    y: FloatArray
    before: float

    def __call__(self, times: Any) -> npt.NDArray[Any]:
        """The value at some times, in their shape."""
        asked = np.asarray(times, dtype=np.float64)
        if asked.size and asked.max() > self.x[-1]:
            warnings.warn(
                f"a curve is asked for at {asked.max():g}, but the longest follow-up of a training"
                f" row is {self.x[-1]:g}: what is said is the value at that time",
                UserWarning,
                stacklevel=2,
            )
        at = np.searchsorted(self.x, asked, side="right")
        found: npt.NDArray[Any] = np.append(self.before, self.y)[at]
        return found


class OptimalSurvivalTree(TreeMethods, OptimalEstimator):
    """A tree whose leaves estimate hazards, of least loss among all that satisfy the rules.

    Parameters
    ----------
    rules, groups, spec, settings, max_depth, max_leaf_nodes, min_samples_leaf, missing, \
time_limit, backend, options, random_state, n_jobs
        As for `OptimalTreeClassifier`. Rules speak of what number targets have, too, and of
        `survival_loss`: `"forall path: stage before biopsy"`.
    cost_complexity : float
        A price per leaf, in units of `survival_loss`.
    objective : str or measure, optional
        What to optimize instead: `"survival_loss + 0.1 * expected_cost"`.

    Attributes
    ----------
    unique_times_ : float64 array, shape (n_times,)
        The times of the training rows; curves of arrays have a value at each.
    event_times_ : float64 array, shape (n_event_times,)
        Those at which some event came.
    tree_, result_, audit_, spec_, n_features_in_, feature_names_in_
        As for `OptimalTreeClassifier`.

    Notes
    -----
    `y` is what scikit-survival takes: a structured array whose first field says whether the event
    came, and whose second one holds the time; or a frame of two columns, the one of truth values
    being the event. The loss is the exponential log-likelihood relative to the cumulative hazard
    of all rows.

    References
    ----------
    LeBlanc and Crowley, Relative risk trees for censored survival data, Biometrics 1992.
    Huisman, van der Linden and Demirovic, Optimal survival trees, AAAI 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from odtdsl import OptimalSurvivalTree
    >>> X = np.arange(8).reshape(-1, 1)
    >>> y = np.zeros(8, dtype=[("died", bool), ("months", float)])
    >>> y["died"] = [1, 1, 0, 1, 1, 0, 1, 0]
    >>> y["months"] = [2, 1, 4, 3, 9, 9, 8, 7]
    >>> tree = OptimalSurvivalTree(["forall leaf: size >= 3"], max_depth=1).fit(X, y)
    >>> tree.predict([[1], [7]]).round(2).tolist(), round(tree.score(X, y), 2)
    ([2.38, 0.54], 0.79)
    >>> tree.predict_survival_function([[1]])[0]([2, 5]).round(2).tolist()
    [0.5, 0.25]
    """

    unique_times_: FloatArray
    event_times_: FloatArray
    tree_: Tree

    def __init__(
        self,
        rules: Any = (),
        *,
        groups: Mapping[str, Any] | None = None,
        spec: Any = None,
        settings: Mapping[str, Any] | None = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int | float = 1,
        cost_complexity: float = 0.0,
        objective: Any = None,
        missing: str = "branch",
        time_limit: Any = AUTO,
        backend: str | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.rules = rules
        self.groups = groups
        self.spec = spec
        self.settings = settings
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.cost_complexity = cost_complexity
        self.objective = objective
        self.missing = missing
        self.time_limit = time_limit
        self.backend = backend
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _options(self) -> EstimatorOptions:
        return EstimatorOptions(**self._said(), objective=self.objective)

    def _read_target(self, y: Any, taken: set[str]) -> tuple[Target, Mapping[str, Any]]:
        (event, came), (time, times) = read_survival(y)
        if not came.any():
            raise ValueError("all rows are censored: y has no event")
        self.unique_times_ = np.unique(times)
        self.event_times_ = np.unique(times[came])
        event, time = (free_name(name, taken) for name in (event, time))
        columns = {time: times, event: came.astype(np.int64)}
        return Target(names=(time, event), timed=True), columns

    def predict(self, X: Any) -> FloatArray:
        """The risk of each row: its hazard relative to that of all training rows.

        Parameters
        ----------
        X : array-like or frame, shape (n_rows, n_features)
            The columns of `fit`, in that order.

        Returns
        -------
        float64 array, shape (n_rows,)
            More is riskier.
        """
        places = self._places(X)
        ratios = [leaf.output[0] for leaf in self.tree_.leaves if leaf.output is not None]
        return np.array(ratios, dtype=np.float64)[places]

    def predict_survival_function(self, X: Any, return_array: bool = False) -> npt.NDArray[Any]:
        """The Kaplan-Meier curve of the leaf of each row.

        Parameters
        ----------
        X
            As for `predict`.
        return_array : bool
            Whether to return values at `unique_times_` instead of functions.

        Returns
        -------
        array, shape (n_rows,) of `StepFunction`, or float64 (n_rows, n_times)
        """
        return self._curves(X, survival.survival, 1.0, return_array)

    def predict_cumulative_hazard_function(
        self, X: Any, return_array: bool = False
    ) -> npt.NDArray[Any]:
        """The Nelson-Aalen estimate of the leaf of each row.

        Parameters
        ----------
        X
            As for `predict`.
        return_array : bool
            Whether to return values at `unique_times_` instead of functions.

        Returns
        -------
        array, shape (n_rows,) of `StepFunction`, or float64 (n_rows, n_times)
        """
        return self._curves(X, survival.cumulative_hazard, 0.0, return_array)

    def _curves(self, X: Any, of: Any, before: float, as_array: bool) -> npt.NDArray[Any]:
        places = self._places(X)
        at = self.unique_times_
        values = np.array([of(leaf.curve, at) for leaf in self.tree_.leaves])
        found: npt.NDArray[Any]
        if as_array:
            found = values[places]
            return found
        each = np.empty(len(values), dtype=object)
        each[:] = [StepFunction(x=at, y=one, before=before) for one in values]
        found = each[places]
        return found

    def score(self, X: Any, y: Any) -> float:
        """Harrell's C of the predicted risks.

        Parameters
        ----------
        X
            As for `predict`.
        y
            As for `fit`.

        Returns
        -------
        float
            1 for a perfect order, 0.5 for chance.
        """
        risk = self.predict(X)
        (_, came), (_, times) = read_survival(y)
        if len(times) != len(risk):
            raise ValueError(f"X has {counted(len(risk), 'row')}, but y has {len(times)}")
        found = survival.concordance(times, came.astype(np.float64), risk)
        if found is None:
            raise ValueError("no two rows of y have a known order in time")
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before 1.6
        return {**super()._more_tags(), "requires_y": True}


def read_survival(y: Any) -> tuple[tuple[str, BoolArray], tuple[str, FloatArray]]:
    """The events and the times of `y`, each with its name: bool and float64 (n_rows,).

    Raises
    ------
    ValueError
        It is neither a structured array of two fields nor a frame of two columns; an event is
        no truth value; a time is below 0, missing or infinite.
    """
    if hasattr(y, "columns"):
        names = tuple(map(str, y.columns))
        columns = [np.asarray(y[name]) for name in y.columns]
        if len(columns) == 2 and columns[0].dtype != bool and columns[1].dtype == bool:
            names, columns = names[::-1], columns[::-1]
    else:
        array = np.asarray(y)
        names = array.dtype.names or ()
        columns = [array[name] for name in names]
    if len(columns) != 2 or columns[0].ndim != 1:
        raise ValueError(
            "y must be a structured array with the event first and the time second, such as"
            " np.array([(True, 3.5)], dtype=[('died', bool), ('months', float)]), or a frame of"
            " these two columns"
        )
    came, times = columns
    if came.dtype != bool:
        if not np.isin(came, (0, 1)).all():
            raise ValueError(f"`{names[0]}` of y must say by True or False whether the event came")
        came = came.astype(bool)
    try:
        times = times.astype(np.float64)
    except (TypeError, ValueError) as caught:
        raise ValueError(f"`{names[1]}` of y must hold times") from caught
    if not np.isfinite(times).all():
        raise ValueError(f"`{names[1]}` of y has times that are missing or infinite")
    if (times < 0).any():
        raise ValueError(f"`{names[1]}` of y has times below 0")
    return (names[0], came), (names[1], times)
