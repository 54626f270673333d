"""Policies: trees that choose among treatments, by what rows gain or lose by each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from odtdsl.base.numbers import counted
from odtdsl.datasets.table import FloatArray
from odtdsl.estimators.base import OptimalEstimator, free_name
from odtdsl.estimators.cells import check_outputs, outputs_of, read_numbers
from odtdsl.estimators.problems import AUTO, EstimatorOptions, Target, only, spec_model
from odtdsl.estimators.trees import TreeMethods
from odtdsl.language import ast
from odtdsl.predictors.tree import Tree
from odtdsl.words import values

HELD = ("reward", "loss")


class OptimalPolicyTree(TreeMethods, OptimalEstimator):
    """A tree that makes one of several choices in each leaf, of most reward among all that satisfy
    the rules.

    Parameters
    ----------
    rules, groups, spec, settings, max_depth, max_leaf_nodes, min_samples_leaf, \
min_samples_split, missing, time_limit, backend, options, random_state, n_jobs
        As for `OptimalTreeClassifier`. Rules name choices by the columns of the rewards:
        `"share(drug_a) <= 30%"`.
    by : "reward" or "loss"
        What the columns hold: rewards are maximized, losses minimized.
    cost_complexity : float
        A price per leaf, in units of the mean reward.
    objective : str or measure, optional
        What to optimize instead: `"maximize expected_reward - 0.1 * expected_cost"`.

    Attributes
    ----------
    choices_ : array, shape (n_choices,)
        What `predict` can say: the names of the columns of a frame, else 0, 1, ....
    tree_, result_, audit_, spec_, n_features_in_, feature_names_in_
        As for `OptimalTreeClassifier`.

    Notes
    -----
    `fit(X, rewards)` takes a column for each choice, which says what each row would gain by it:
    known, or estimated by `policy_scores` from treatments and outcomes that were observed. One
    column alone, of shape (n_rows, 1), says what choice 1 gains over choice 0; `y` of one
    dimension is read so with a warning, since it may as well be outcomes that were observed. Rules
    name the choices of an array `choice0`, `choice1`, ....

    References
    ----------
    Athey and Wager, Policy learning with observational data, Econometrica 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from odtdsl import OptimalPolicyTree
    >>> X = np.arange(8).reshape(-1, 1)
    >>> rewards = np.column_stack([np.zeros(8), [-2, -1, -1, 1, 1, 2, 2, 3]])
    >>> policy = OptimalPolicyTree(["share(choice1) <= 50%"], max_depth=1).fit(X, rewards)
    >>> policy.predict([[1], [7]]).tolist(), policy.score(X, rewards)
    ([0, 1], 1.0)
    """

    choices_: npt.NDArray[Any]
    tree_: Tree

    def __init__(
        self,
        rules: Any = (),
        *,
        by: Literal["reward", "loss"] = "reward",
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
        self.by = by
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
        return EstimatorOptions(**self._said(), objective=self.objective)

    def _read_target(self, y: Any, taken: set[str]) -> tuple[Target, Mapping[str, Any]]:
        if self.by not in HELD:
            raise values.wrong("`by`", self.by, f"give one of {', '.join(HELD)}")
        self._outputs = outputs_of(y)
        array, names, flat = read_numbers(y)
        if flat:
            warnings.warn(
                "`y` has one dimension: it is read as what `choice1` gains over `choice0`. Outcomes"
                " of what was done are no gains: make them scores of all choices by"
                " `policy_scores(X, treatment, outcome)`. If gains are meant, pass them as one"
                " column, `y.reshape(-1, 1)` or `y.to_frame()`",
                UserWarning,
                stacklevel=5,
            )
        named = hasattr(y, "columns") and len(names) > 1
        if array.shape[1] == 1:
            array = np.column_stack([np.zeros(len(array)), array])
        if not named:
            names = tuple(f"choice{index}" for index in range(array.shape[1]))
        self.choices_ = np.array(names, dtype=object) if named else np.arange(array.shape[1])
        said: ast.Target | None = only(spec_model(self.spec), ast.Target)
        if said is not None and len(said.columns) == len(names):
            declared = tuple(column.name for column in said.columns)
            if set(names) != set(declared):
                names = declared
        elif taken & set(names):
            names = tuple(free_name(name, taken) for name in names)
        columns = {name: array[:, k] for k, name in enumerate(names)}
        return Target(names=names, by=self.by), columns

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The choice for each row.

        Parameters
        ----------
        X : array-like or frame, shape (n_rows, n_features)
            The columns of `fit`, in that order.

        Returns
        -------
        array, shape (n_rows,)
            Of `choices_`.
        """
        chosen = self._chosen(X)  # first: it says what is wrong with the estimator
        found: npt.NDArray[Any] = self.choices_[chosen]
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean reward of the choices made; of losses, the mean with its sign turned.

        Parameters
        ----------
        X
            As for `predict`.
        y : array-like or frame, shape (n_rows, n_choices) or (n_rows,)
            Rewards (or losses), as for `fit`; a frame has the columns of `fit`, in that order.
        sample_weight : array-like, shape (n_rows,), optional
            Weights of rows.

        Returns
        -------
        float
            More is better.

        Raises
        ------
        ValueError
            Another number of columns than in `fit`, or other names.
        """
        chosen = self._chosen(X)
        check_outputs(y, self._outputs)
        rewards, _, _ = read_numbers(y)
        check_consistent_length(chosen, rewards)
        if rewards.shape[1] == 1:
            rewards = np.column_stack([np.zeros(len(rewards)), rewards])
        if rewards.shape[1] != len(self.choices_):
            raise ValueError(
                f"y has {counted(rewards.shape[1], 'column')}, but there are "
                f"{len(self.choices_)} choices"
            )
        made: FloatArray = rewards[np.arange(len(chosen)), chosen]
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rewards)
        mean = float(np.average(made, weights=weights))
        return mean if self.by == "reward" else -mean

    def _chosen(self, X: Any) -> npt.NDArray[np.int64]:
        places = self._places(X)
        order = {name: at for at, name in enumerate(self.tree_.classes)}
        named = self.choices_.dtype == object
        if named and set(order) == set(self.choices_.tolist()):  # a spec may list them otherwise
            where = {at: self.choices_.tolist().index(name) for name, at in order.items()}
        else:
            where = {at: at for at in order.values()}
        labels = [where[leaf.label] for leaf in self.tree_.leaves if leaf.label is not None]
        found: npt.NDArray[np.int64] = np.array(labels, dtype=np.int64)[places]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before 1.6
        return {**super()._more_tags(), "requires_y": True, "multioutput": True}
