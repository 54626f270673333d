"""A forest of trees whose outputs satisfy rules, and whose mean does too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from odtdsl.base.back_ends import able
from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.estimators.base import free_name
from odtdsl.estimators.cells import Cells, read_features, read_numbers
from odtdsl.estimators.problems import Columns, EstimatorOptions, Target, problem
from odtdsl.interfaces.api.model import Model
from odtdsl.predictors.tree import Tree
from odtdsl.problem.outputs.feasible import FeasibleSet, anything, feasible_set
from odtdsl.words import values


class OutputConstrainedForestRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Bootstrapped trees of several targets under rules, their mean projected where it has to be.

    The mean of feasible outputs is feasible where the feasible set is convex. Elsewhere (at
    most k targets above 0, whole numbers, `if ... then`) it hardly ever is, so each prediction
    is the feasible output nearest to the mean.

    Parameters
    ----------
    rules
        Conditions on the outputs, such as `"y0 + y1 = 1"`, and others, as for
        `OutputConstrainedTreeRegressor`. Targets have the names of the frame `y`, else
        `y0`, `y1`, ....
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
        self,
        rules: Sequence[str] = (),
        *,
        n_estimators: int = 20,
        max_depth: int = 7,
        min_samples_leaf: int = 5,
        split: str = "optimal",
        leaf: str = "optimal",
        step: float | None = None,
        bootstrap: bool = True,
        project: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
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
            (n_rows, n_features): numbers, or a frame, as for `OptimalTreeRegressor`.
        y
            (n_rows, n_targets) or (n_rows,).

        Raises
        ------
        OdtError
            The mistakes of a rule, with its text; R112 where nothing obeys them.
        ValueError
            Wrong shapes and cells, or fewer rows than a leaf holds, as scikit-learn says it.
        """
        features = read_features(self, X, known=None, may_miss=False, instead=_INSTEAD)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        outputs, names, self._flat = read_numbers(y)
        check_consistent_length(X, outputs)
        if values.whole(self.n_estimators, "`n_estimators`") < 1:
            raise error("U332", f"`n_estimators` must be at least 1, not {self.n_estimators}")
        if features.n_rows < self.min_samples_leaf:
            raise ValueError(
                f"Found array with {features.n_rows} sample(s) while a minimum of"
                f" {self.min_samples_leaf} is required by `min_samples_leaf`."
            )
        self._kinds = dict(features.kinds)
        self.n_outputs_ = outputs.shape[1]
        names = tuple(free_name(name, set(features.columns)) for name in names)
        model = self._model(features, names)
        table = {**features.columns, **{name: outputs[:, k] for k, name in enumerate(names)}}
        self.feasible_ = _feasible(model, table, len(names))
        random = check_random_state(self.random_state)
        n_rows = features.n_rows
        rows = [
            random.randint(0, n_rows, n_rows) if self.bootstrap else np.arange(n_rows)
            for _ in range(self.n_estimators)
        ]
        trees = Parallel(n_jobs=self.n_jobs)(delayed(_grown)(model, table, each) for each in rows)
        self.trees_: tuple[Tree, ...] = tuple(trees)
        return self

    def predict(self, X: Any) -> FloatArray:
        """The mean of the trees, projected: (n_rows, n_targets), or (n_rows,) for one target."""
        check_is_fitted(self, "trees_")
        cells = read_features(self, X, known=self._kinds, may_miss=False, instead=_INSTEAD)
        each = [
            np.asarray(tree.predict(cells.columns)).reshape(cells.n_rows, -1)
            for tree in self.trees_
        ]
        mean: FloatArray = np.mean(each, axis=0)
        if self.project:
            outside = ~self.feasible_.contains(mean)
            if outside.any():
                mean[outside] = self.feasible_.project(mean[outside])[1]
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def _model(self, features: Cells, names: tuple[str, ...]) -> Model:
        options = EstimatorOptions(
            rules=self.rules,
            depth=self.max_depth,
            leaf_size=self.min_samples_leaf,
            objective="mse",
            step=self.step,
            outputs=True,
            growth=(self.split, self.leaf),
            backend=able("grow"),
        )
        columns = Columns(features=features, sensitive=None, masks=())
        return problem(options, Target(names=names), columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before 1.6
        return {"multioutput": True}


_INSTEAD = "impute missing cells in a pipeline"


def _feasible(model: Model, table: dict[str, Any], n_targets: int) -> FeasibleSet:
    from odtdsl.problem.terms.normalize import normalize

    analysis = model.analyse(frame=table)
    return feasible_set(normalize(analysis.rows)) or anything(n_targets)


def _grown(model: Model, table: dict[str, Any], rows: IntArray) -> Tree:
    frame = {name: column[rows] for name, column in table.items()}
    tree = model.solve(frame=frame).tree
    if tree is None:
        raise error(
            "U332", "a tree of the forest cannot satisfy the rules", helps=("relax the leaf sizes",)
        )
    return tree
