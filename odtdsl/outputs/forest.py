"""A forest of trees whose outputs obey rules, and whose mean does too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

from odtdsl.data.table import FloatArray
from odtdsl.diagnostics.model import error
from odtdsl.outputs.feasible import FeasibleSet, anything, feasible_set
from odtdsl.predictors.tree import Tree


class OutputConstrainedForestRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Bootstrapped trees of several targets under rules, their mean projected where it has to be.

    The mean of feasible outputs is feasible where the feasible set is convex. Elsewhere (at
    most k targets above 0, whole numbers, `if ... then`) it hardly ever is, so each prediction
    is the feasible output nearest to the mean.

    Parameters
    ----------
    rules
        Conditions on the outputs `y1`, `y2`, ..., as behind `forall leaf:` in a spec, such as
        `"y1 + y2 = 1"`.
    n_estimators, max_depth, min_samples_leaf
        Of the trees.
    split, leaf
        How splits are scored and leaves filled: `optimal`, `medoid`, `average`, or
        `relaxed W` with a penalty. The last two may leave the rules; the mean is projected.
    step
        A grid of outputs, such as `1`; None for none.
    bootstrap
        Whether each tree sees a sample of the rows with replacement, as many as there are.
    project
        Whether means that leave the rules are projected.
    random_state, n_jobs
        As in scikit-learn; jobs go through joblib, so that Dask or Ray can take them.

    Attributes
    ----------
    trees_ : tuple of Tree
    feasible_ : FeasibleSet
        The outputs that the rules admit.

    References
    ----------
    Output-Constrained Decision Trees, whose forests are not projected and can leave the rules.
    """

    def __init__(
        self, rules: Sequence[str] = (), *, n_estimators: int = 20, max_depth: int = 7,
        min_samples_leaf: int = 5, split: str = "optimal", leaf: str = "optimal",
        step: float | None = None, bootstrap: bool = True, project: bool = True,
        random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.rules = rules
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.split = split
        self.leaf = leaf
        self.step = step
        self.bootstrap = bootstrap
        self.project = project
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X
            (n_rows, n_features), numbers.
        y
            (n_rows, n_targets) or (n_rows,).

        Raises
        ------
        OdtError
            The mistakes of a rule, with its text; R112 where nothing obeys them.
        """
        X, y = check_X_y(X, y, multi_output=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        if self.n_estimators < 1:
            raise error("U332", f"a forest of {self.n_estimators} trees predicts nothing")
        self.n_features_in_ = X.shape[1]
        self.n_outputs_ = y.shape[1]
        text = self._spec(X.shape[1], y.shape[1])
        self.feasible_ = _feasible(text, X, y)
        random = check_random_state(self.random_state)
        rows = [
            random.randint(0, len(X), len(X)) if self.bootstrap else np.arange(len(X))
            for _ in range(self.n_estimators)
        ]
        trees = Parallel(n_jobs=self.n_jobs)(
            delayed(_grown)(text, X[each], y[each]) for each in rows
        )
        self.trees_: tuple[Tree, ...] = tuple(trees)
        return self

    def predict(self, X: Any) -> FloatArray:
        """The mean of the trees, projected: (n_rows, n_targets), or (n_rows,) for one target."""
        check_is_fitted(self, "trees_")
        X = check_array(X)
        frame = _features(X)
        each = [np.asarray(t.predict(frame)).reshape(len(X), -1) for t in self.trees_]
        mean: FloatArray = np.mean(each, axis=0)
        if self.project:
            outside = ~self.feasible_.contains(mean)
            if outside.any():
                mean[outside] = self.feasible_.project(mean[outside])[1]
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def _spec(self, n_features: int, n_targets: int) -> str:
        names = ", ".join(f"y{k + 1}" for k in range(n_targets))
        step = "" if self.step is None else f" step {self.step}"
        lines = [
            "data frame", f"target {names}: number{step}",
            "feature " + ", ".join(f"x{k + 1}" for k in range(n_features)) + ": number",
            f"tree depth <= {self.max_depth}", "minimize mse",
            *(f"rule rule{k + 1}: forall leaf: {rule}" for k, rule in enumerate(self.rules)),
            f"rule rows: forall leaf: size >= {self.min_samples_leaf}",
            f"solve using greedy(split = {self.split}, leaf = {self.leaf})",
        ]  # fmt: skip
        return "\n".join(lines)


def _features(X: FloatArray) -> dict[str, FloatArray]:
    return {f"x{k + 1}": column for k, column in enumerate(X.T)}


def _frame(X: FloatArray, y: FloatArray) -> dict[str, FloatArray]:
    return _features(X) | {f"y{k + 1}": column for k, column in enumerate(y.T)}


def _feasible(text: str, X: FloatArray, y: FloatArray) -> FeasibleSet:
    from odtdsl.api import parse
    from odtdsl.terms.normalize import normalize

    analysis = parse(text).analyse(frame=_frame(X, y))
    return feasible_set(normalize(analysis.rows)) or anything(y.shape[1])


def _grown(text: str, X: FloatArray, y: FloatArray) -> Tree:
    from odtdsl.api import solve

    tree = solve(text, frame=_frame(X, y)).tree
    if tree is None:
        raise error("U332", "no tree of the forest keeps the rules", helps=("loosen leaf sizes",))
    return tree
