"""Classifiers: optimal trees and optimal diagrams."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.cells import row_place
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.datasets.writing import objects
from odtdsl.estimators.base import OptimalEstimator, free_name
from odtdsl.estimators.cells import check_labels, column_of, labels_of, name_of
from odtdsl.estimators.problems import (
    AUTO,
    EstimatorOptions,
    Target,
    declared_order,
    only,
    spec_model,
)
from odtdsl.estimators.trees import TreeMethods
from odtdsl.language import ast
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.tree import Tree
from odtdsl.words import values


class _Classifier(ClassifierMixin, OptimalEstimator):  # type: ignore[misc]
    """What classifiers share: labels, class weights, class shares."""

    classes_: npt.NDArray[Any]
    class_weight: Any = None

    def _read_target(self, y: Any, taken: set[str]) -> tuple[Target, Mapping[str, Any]]:
        name = name_of(y)
        column = column_of(y)
        check_labels(column)
        whole = column.dtype.kind in "biu"
        if not whole:
            check_classification_targets(column)
        self.classes_, codes = np.unique(column, return_inverse=True)
        if whole and 2 * len(self.classes_) >= len(column):
            check_classification_targets(column)  # of whole numbers it only warns, of many classes
        labels = labels_of(self.classes_)
        self._order = declared_order(self.spec, labels)
        said: ast.Target | None = only(spec_model(self.spec), ast.Target)
        if said is not None:
            name = said.columns[0].name
        elif name is None or name in taken:
            name = free_name("y", taken)
        prices = _prices(self.class_weight, self.classes_, column)
        target = Target(
            names=(name,),
            labels=tuple(labels[i] for i in self._order),
            counts=tuple(np.bincount(codes)[list(self._order)].tolist()),
            prices=tuple(prices[i] for i in self._order) if prices else (),
        )
        cells = np.array(labels) if all(type(one) is int for one in labels) else objects(labels)
        if cells.dtype.kind != "i":  # beyond 64 bits
            cells = objects(labels)
        return target, {name: cells[codes]}

    def _other_targets(self, y: Any, names: Sequence[str]) -> dict[str, Any]:
        """Cells of the classes of `fit`, which need not all be there; others are refused."""
        column = column_of(y)
        check_labels(column)
        known = dict(zip(self.classes_.tolist(), labels_of(self.classes_), strict=True))
        labels = column.tolist()
        new = [row for row, label in enumerate(labels) if label not in known]
        if new:
            raise error(
                "D142",
                f"`y` holds `{labels[new[0]]}`, which is not a class seen in `fit`",
                notes=(
                    f"first in {row_place(new[0])}; {len(new)} of {len(labels)} rows",
                    f"the classes are {', '.join(f'`{one}`' for one in known)}",
                ),
                helps=("leave these rows out, or fit with rows of that class",),
            )
        cells = np.empty(len(column), dtype=object)
        cells[:] = [known[label] for label in labels]
        return {names[0]: cells}

    def _labels(self, places: Any) -> npt.NDArray[Any]:
        """Classes by their position in the model."""
        order = np.asarray(self._order)
        found: npt.NDArray[Any] = self.classes_[order[places]]
        return found

    def predict_proba(self, X: Any) -> FloatArray:
        """The share of each class in the training weight of each row's leaf (or terminal).

        Rules and losses may ask for another label than that of the largest share, so
        `predict` is not always its argmax.

        Parameters
        ----------
        X
            As for `predict`.

        Returns
        -------
        float64 array, shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        rows = self._rows(X)
        shares = self._fitted.predict_proba(rows)
        found = np.zeros_like(shares)
        found[:, np.asarray(self._order)] = shares
        return found

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            found: FloatArray = np.log(self.predict_proba(X))
        return found


def _prices(said: Any, classes: Any, y: Any) -> tuple[Fraction, ...]:
    """What an error on a row of each class costs, by `class_weight`; none where it is None.

    Raises
    ------
    OdtError
        U602: it is no mapping from classes to finite numbers of at least 0, nor `"balanced"`.
        Also a class that `y` does not have, which may be misspelt.
    """
    if said is None:
        return ()
    if not isinstance(said, Mapping) and said != "balanced":
        raise values.wrong(
            "`class_weight`", said, 'give a dict from classes to numbers, "balanced" or None'
        )
    if isinstance(said, Mapping):
        for one in said.values():
            boundless = isinstance(one, Real | Decimal) and not math.isfinite(one)
            exact = None if boundless else values.exact(one)
            if exact is None or exact < 0:
                raise values.wrong("`class_weight`", one, "give finite numbers of at least 0")
        for label in said:
            if label not in classes.tolist():
                known = ", ".join(map(repr, classes.tolist()))
                raise values.wrong("a class of `class_weight`", label, f"`y` has {known}")
    found = compute_class_weight(dict(said) if said != "balanced" else said, classes=classes, y=y)
    if said == "balanced":
        return tuple(Fraction(f"{one:.6g}") for one in found.tolist())
    return tuple(Fraction(repr(one)) for one in found.tolist())


class OptimalTreeClassifier(TreeMethods, _Classifier):
    """A decision tree that is proven best among all that satisfy the rules.

    Parameters
    ----------
    rules : list of str, conditions or models, or a mapping of names to them
        Texts as behind `rule NAME:` in a spec, such as `"forall leaf: size >= 5"` or
        `"gap(rate(1), sex) <= 5%"`, or whole statements; conditions of `odtdsl.words`, with a
        scope as `("leaf", size >= 5)`; `odtdsl.Model`s, whose statements are added.
    groups : mapping of str to str or condition
        Named sets of rows, such as `{"old": "age >= 65"}`, for rules to speak of.
    spec : str, path or Model, optional
        A whole spec, whose data are replaced by `X` and `y`. Parameters replace or add to what
        it says; its own time limit and its own policy for missing cells win.
    settings : mapping, optional
        Values for the `let` names of `spec`.
    max_depth : int, optional
        By default what `spec` says, else 3.
    max_leaf_nodes : int, optional
        The most leaves.
    min_samples_leaf : int or float
        The fewest training rows in a leaf; a float below 1 is a share of all.
    min_samples_split : int or float
        The fewest training rows at a split, as well.
    min_weight_fraction_leaf : float
        The least share in a leaf of what all rows weigh by `class_weight` (1 each without it).
    class_weight : dict, "balanced" or None
        What an error on a row of each class costs, 1 where a dict does not say it; `"balanced"`
        is n_rows / (n_classes * rows of the class), to six digits. The mean cost is minimized
        (`loss` in the spec). Rules, `predict_proba` and sizes count rows as they are.
    cost_complexity : float
        A price per leaf, in units of the objective (as `ccp_alpha`, but of the error rate, and
        the tree is the best one at that price, not a pruned one). It is `min_impurity_decrease`,
        too: whatever is cut off the tree, the objective gets worse by this for each leaf less.
    objective : str or measure, optional
        What to minimize, as behind `minimize` in a spec; by default `error_rate`, or
        `expected_loss` where a `loss` is said.
    missing : "branch", "left", "right", "drop" or "refuse"
        Missing cells: each split learns their side, they go to one side, rows that have some
        are left out, or an error. See `docs/how-to/data.md`.
    time_limit : float, str or None
        Seconds of one fit, or a text such as `"2 min"`. When it is met, the best tree found is
        kept, with a `ConvergenceWarning`. By default (`"auto"`) 60 s for trees to depth 4, which
        are proven as a rule, and 5 s for deeper ones, which are not: they come without a
        warning, and `result_.status` tells. None is no limit.
    backend : str, optional
        `"exact"`, `"milp"`, `"sat"`, `"greedy"`, ..., with settings as behind `using` in a spec:
        `"search(steps = 1000)"`; by default what suits the problem.
    options : mapping, optional
        Options of one back end by their names, as `odtdsl.solve` takes them:
        `{"model": "subtrees"}`. Without `backend` it is the one that they belong to.
    random_state : int, RandomState or None
        The seed of all choices; None is 0. The exact search makes none.
    n_jobs : int, optional
        Processor threads of one fit.
    early_stopping : bool
        Whether to hold rows out and to keep, of all improvements that the search tells, the one
        with the best objective on them. It is `feasible`, never `optimal`.
    validation_fraction : float
        The share of the rows of each class that is then held out, drawn by `random_state`.
    n_iter_no_change : int
        After so many improvements in a row that are no better on these rows the search ends.
    certify : bool
        Whether `odtcheck`, which shares no code with the search, is to check the proof:
        `result_.certificate`. `exact` searches then; after another back end that is asked for it
        solves the problem again. What a certificate does not cover is refused before the search
        (P203), and an answer that is not proven is an error (P204).

    Attributes
    ----------
    tree_ : odtdsl.Tree
        The tree: `save`, `predict` and exports without scikit-learn.
    result_ : odtdsl.Result
        Status, objective, bound, gap, timeline. `result_.why(row)` is there until the
        estimator is pickled: training rows are not.
    audit_ : odtdsl.Audit
        Every rule, checked by code that shares nothing with the solver.
    spec_ : str
        The problem that was solved, as text.
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where `X` had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odtdsl import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = OptimalTreeClassifier(["forall leaf: size >= 5"], max_depth=2).fit(X, y)
    >>> tree.result_.status, tree.score(X, y), tree.get_n_leaves()
    ('optimal', 0.96, 3)
    """

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
        min_samples_split: int | float = 2,
        min_weight_fraction_leaf: float = 0.0,
        class_weight: Any = None,
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
        certify: bool = False,
    ) -> None:
        self.rules = rules
        self.groups = groups
        self.spec = spec
        self.settings = settings
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.class_weight = class_weight
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
        self.certify = certify

    def _options(self) -> EstimatorOptions:
        return EstimatorOptions(
            **self._said(),
            leaf_weight=self.min_weight_fraction_leaf,
            objective=self.objective,
        )

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array-like or frame, shape (n_rows, n_features)
            The columns of `fit`, in that order.

        Returns
        -------
        array, shape (n_rows,)
            Members of `classes_`.
        """
        leaves = self._places(X)
        labels = np.array([leaf.label for leaf in self.tree_.leaves], dtype=np.int64)
        return self._labels(labels[leaves])


class OptimalDiagramClassifier(_Classifier):
    """A decision diagram, whose branches may join again, best among all that satisfy the rules.

    Parameters
    ----------
    rules, groups, spec, settings, objective, missing, time_limit, backend, \
options, random_state, n_jobs
        As for `OptimalTreeClassifier`. Rules about leaves are refused: a diagram has one
        terminal per class.
    widths : sequence of int
        The most nodes of each layer, from the root down.
    splits : "axis" or "hyperplane"
        What splits test. Hyperplanes refuse missing cells.
    min_samples_split : int or float
        The fewest training rows at a split; a float below 1 is a share of all.
    cost_complexity : float
        A price per split, in units of the objective.

    Attributes
    ----------
    diagram_ : odtdsl.Diagram
    result_, audit_, spec_, classes_, n_features_in_, feature_names_in_
        As for `OptimalTreeClassifier`.

    References
    ----------
    Florio, Martins, Schiffer, Serra and Vidal, Optimal Decision Diagrams for Classification,
    AAAI 2023.

    Examples
    --------
    >>> from odtdsl import OptimalDiagramClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 3, ["even", "odd", "odd", "even"] * 3
    >>> diagram = OptimalDiagramClassifier(widths=(1, 2), backend="sat").fit(X, y)
    >>> diagram.score(X, y), diagram.get_depth(), diagram.get_n_nodes()
    (1.0, 2, 3)
    """

    _model_name = "diagram_"
    diagram_: Diagram

    def __init__(
        self,
        rules: Any = (),
        *,
        widths: Sequence[int] = (1, 2, 4),
        splits: Literal["axis", "hyperplane"] = "axis",
        groups: Mapping[str, Any] | None = None,
        spec: Any = None,
        settings: Mapping[str, Any] | None = None,
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
        self.widths = widths
        self.splits = splits
        self.groups = groups
        self.spec = spec
        self.settings = settings
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
        return EstimatorOptions(
            **self._said(),
            widths=tuple(
                values.whole(one, "a width") for one in values.listed(self.widths, "`widths`")
            ),
            splits=self.splits,
            split_size=self.min_samples_split,
            objective=self.objective,
        )

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row, a member of `classes_`; `X` as for `fit`."""
        return self._labels(self._places(X))

    def apply(self, X: Any) -> IntArray:
        """The terminal of each row: positions in `diagram_.classes`."""
        return self._places(X)

    def get_depth(self) -> int:
        """Splits on the longest path."""
        return self._fitted.depth

    def get_n_nodes(self) -> int:
        """Splits of the diagram."""
        return self._fitted.n_splits
