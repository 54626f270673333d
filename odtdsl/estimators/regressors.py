"""Regressors: optimal trees of numbers, one or several, with or without rules on outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from odtdsl.datasets.table import FloatArray
from odtdsl.estimators.base import OptimalEstimator, free_name
from odtdsl.estimators.cells import outputs_of, read_numbers
from odtdsl.estimators.problems import AUTO, EstimatorOptions, Target, only, spec_model
from odtdsl.estimators.trees import TreeMethods
from odtdsl.language import ast
from odtdsl.predictors.tree import Tree
from odtdsl.words import values

CRITERIA = {"squared_error": "mse", "absolute_error": "mae", "poisson": "poisson"}
"""scikit-learn's names of losses, and the language's."""


class _Regressor(TreeMethods, RegressorMixin, OptimalEstimator):  # type: ignore[misc]
    """What regressors share: number targets, their names and losses."""

    tree_: Tree
    _instead = (
        'write `missing="drop"`, or `missing="branch"` with `backend="greedy"`, or impute them in a'
        " pipeline"
    )

    def _read_target(self, y: Any, taken: set[str]) -> tuple[Target, Mapping[str, Any]]:
        self._outputs = outputs_of(y)
        array, names, self._flat = read_numbers(y)
        self.n_outputs_ = array.shape[1]
        said: ast.Target | None = only(spec_model(self.spec), ast.Target)
        if said is not None and len(said.columns) == array.shape[1]:
            named = {column.name for column in said.columns}
            if set(names) != named:
                names = tuple(column.name for column in said.columns)
        elif taken & set(names):
            names = tuple(free_name(name, taken) for name in names)
        return Target(names=names), {name: array[:, k] for k, name in enumerate(names)}

    def _options(self) -> EstimatorOptions:
        return EstimatorOptions(**self._said(), objective=self._loss(), outputs=True)

    def _loss(self) -> Any:
        if self.objective is not None:
            return self.objective
        loss = CRITERIA.get(self.criterion)
        if loss is None:
            raise values.wrong("`criterion`", self.criterion, f"give one of {', '.join(CRITERIA)}")
        said = only(spec_model(self.spec), ast.Objective)
        return loss if said is None else None

    def predict(self, X: Any) -> FloatArray:
        """The output of each row.

        Parameters
        ----------
        X : array-like or frame, shape (n_rows, n_features)
            The columns of `fit`, in that order.

        Returns
        -------
        float64 array, shape (n_rows,) or (n_rows, n_targets)
            As `y` was in `fit`.
        """
        leaves = self._places(X)
        outputs = np.array([leaf.output for leaf in self.tree_.leaves], dtype=np.float64)
        found: FloatArray = outputs[leaves]
        return found[:, 0] if self._flat or self.n_outputs_ == 1 else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before 1.6
        return {**super()._more_tags(), "multioutput": True}


class OptimalTreeRegressor(_Regressor):
    """A regression tree of least loss among all that satisfy the rules.

    Parameters
    ----------
    rules, groups, spec, settings, max_depth, max_leaf_nodes, min_samples_leaf, \
min_samples_split, missing, time_limit, backend, options, random_state, n_jobs, \
early_stopping, validation_fraction, n_iter_no_change
        As for `OptimalTreeClassifier`.
    criterion : "squared_error", "absolute_error" or "poisson"
        The loss; `poisson` needs targets of at least 0.
    cost_complexity : float
        A price per leaf, in units of the loss.
    objective : str or measure, optional
        What to minimize instead, as behind `minimize` in a spec: `"mse(a) + 2 * mse(b)"`.

    Attributes
    ----------
    tree_, result_, audit_, spec_, n_features_in_, feature_names_in_
        As for `OptimalTreeClassifier`.
    n_outputs_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from odtdsl import OptimalTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> tree = OptimalTreeRegressor(max_depth=2, min_samples_leaf=10).fit(X, y)
    >>> tree.result_.status, round(tree.score(X, y), 3)
    ('optimal', 0.444)
    """

    def __init__(
        self,
        rules: Any = (),
        *,
        criterion: str = "squared_error",
        groups: Mapping[str, Any] | None = None,
        spec: Any = None,
        settings: Mapping[str, Any] | None = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
        cost_complexity: float = 0.0,
        objective: Any = None,
        missing: str = "branch",
        time_limit: Any = AUTO,
        backend: str | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
    ) -> None:
        self.rules = rules
        self.criterion = criterion
        self.groups = groups
        self.spec = spec
        self.settings = settings
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.cost_complexity = cost_complexity
        self.objective = objective
        self.missing = missing
        self.time_limit = time_limit
        self.backend = backend
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change


class OutputConstrainedTreeRegressor(_Regressor):
    """A tree of one or several numbers, all of whose predictions satisfy the rules on outputs.

    Parameters
    ----------
    rules : list of str, conditions or models, or a mapping of names to them
        Conditions on the outputs of a leaf, such as `"y0 + y1 = 1"` or
        `"if reading < 50 then writing = 0"`: `forall leaf:` need not be said. Targets have
        the names of the frame or series `y`, else `y`, or `y0`, `y1`, .... Other rules as for
        `OptimalTreeClassifier`.
    split, leaf : str
        How `greedy` scores splits and fills leaves: `"optimal"`, `"medoid"`, `"average"`, or
        `"relaxed W"` with a penalty W. Anything but two `"optimal"` grows the tree by it;
        leaves that are relaxed or averaged may break rules, which the audit counts.
    step : float, optional
        A grid of outputs, such as 1 for whole numbers.
    criterion, groups, spec, settings, max_depth, max_leaf_nodes, min_samples_leaf, \
min_samples_split, cost_complexity, objective, missing, time_limit, backend, options, \
random_state, n_jobs
        As for `OptimalTreeRegressor`. Proofs are for depths to 3 or so: deeper trees are for
        `backend="greedy"`.

    Attributes
    ----------
    tree_, result_, audit_, spec_, n_outputs_, n_features_in_, feature_names_in_
        As for `OptimalTreeRegressor`.

    See Also
    --------
    OutputConstrainedForestRegressor : many of them, and their mean projected.

    Examples
    --------
    >>> from odtdsl import OutputConstrainedTreeRegressor
    >>> X, y = [[1], [2], [3], [4]], [[0, 9], [1, 8], [7, 3], [9, 0]]
    >>> tree = OutputConstrainedTreeRegressor(["y0 + y1 = 10", "y0 >= 0"], max_depth=1)
    >>> tree.fit(X, y).predict([[1], [4]]).tolist()
    [[1.0, 9.0], [8.25, 1.75]]
    """

    def __init__(
        self,
        rules: Any = (),
        *,
        split: str = "optimal",
        leaf: str = "optimal",
        step: float | None = None,
        criterion: str = "squared_error",
        groups: Mapping[str, Any] | None = None,
        spec: Any = None,
        settings: Mapping[str, Any] | None = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int | float = 1,
        min_samples_split: int | float = 2,
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
        self.split = split
        self.leaf = leaf
        self.step = step
        self.criterion = criterion
        self.groups = groups
        self.spec = spec
        self.settings = settings
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.cost_complexity = cost_complexity
        self.objective = objective
        self.missing = missing
        self.time_limit = time_limit
        self.backend = backend
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _options(self) -> EstimatorOptions:
        return replace(super()._options(), step=self.step, growth=(self.split, self.leaf))
