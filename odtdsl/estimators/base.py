"""What all estimators share: fit by solving a problem, predict by its model, show both."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from odtdsl.base import back_ends
from odtdsl.base.back_ends import gives_up, proves
from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.datasets.table import IntArray, Table
from odtdsl.driver.overrides import Overrides
from odtdsl.driver.scoring import TestScore, score
from odtdsl.driver.unfamiliar import Unfamiliar
from odtdsl.estimators.cells import Cells, Kind, check_outputs, masks, read_features, read_sensitive
from odtdsl.estimators.early import HeldOut, parted, stops_early
from odtdsl.estimators.new_rows import data_of
from odtdsl.estimators.nodes import NodeFigures, figures
from odtdsl.estimators.problems import (
    AUTO,
    Columns,
    EstimatorOptions,
    Target,
    add_weights,
    classes_from_y,
    dropped_by,
    only,
    only_deep,
    problem,
    undeclared_categories,
)
from odtdsl.estimators.versions import (
    CallbackSupportMixin,
    ImprovementCallback,
    callback_task,
    with_callbacks,
)
from odtdsl.estimators.weights import repeated, weights_of, with_digits
from odtdsl.interfaces.api.model import Model
from odtdsl.interfaces.api.options import options_of
from odtdsl.language import ast
from odtdsl.predictors.frames import as_table
from odtdsl.predictors.tree import Tree
from odtdsl.words import values

_FAR = 0.5
"""A relative gap from which more time is a bad advice for a proof."""

if TYPE_CHECKING:
    from odtdsl.backends.base import Progress
    from odtdsl.compiler.analysis import Analysis
    from odtdsl.driver.result import Result
    from odtdsl.insight.explanations.explanation import Explanation
    from odtdsl.predictors.predictor import Predictor


class DataWarning(UserWarning):
    """Cells of `X` or classes of `y` that are taken for what they are probably not meant as, or
    that are predicted on and no row of `fit` had."""


class RuleWarning(UserWarning):
    """Rules or an objective that are probably not meant as they are written."""


POLICIES = ("branch", "left", "right", "drop", "refuse")


class OptimalEstimator(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: everything but what a target is and what a model looks like."""

    _model_name: ClassVar[str] = "tree_"
    _instead: ClassVar[str] = 'write `missing="branch"`: each split learns the side of such cells'
    """What to write where missing cells are refused and there are some."""

    # ---- a warning once for all clones, as of a grid search

    def __sklearn_clone__(self) -> Self:
        made: Self = super().__sklearn_clone__()
        made._told = self._told = getattr(self, "_told", {})
        return made

    def _not_told(self, warning: Diagnostic) -> bool:
        """Whether no clone has warned of the same column so; counts differ from fold to fold."""
        key = (warning.code, *warning.message.split("`")[1:2])
        mine = self._token = getattr(self, "_token", None) or object()
        return getattr(self, "_told", {}).setdefault(key, mine) is mine

    def _are_new(self, name: str, strange: Unfamiliar) -> bool:
        """Whether no clone has warned of all these new values of a column."""
        told = self.__dict__.setdefault("_told", {}).setdefault(("new values", name), set())
        untold = strange.new[name].keys() - told
        told |= untold
        return bool(untold)

    # ---- what each estimator says

    @abstractmethod
    def _options(self) -> EstimatorOptions:
        """The parameters in the words that all estimators share."""

    @abstractmethod
    def _read_target(self, y: Any, taken: set[str]) -> tuple[Target, Mapping[str, Any]]:
        """The target and its columns; remembers the classes or the number of outputs."""

    # ---- fit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> Self:
        """Solve the problem.

        Parameters
        ----------
        X : array-like, sparse matrix or frame, shape (n_rows, n_features)
            Numbers; of frames (pandas, polars, Arrow) also categories, texts and truth values.
            Cells that a sparse matrix does not store are 0; it takes the memory of a dense one.
        y : array-like, shape (n_rows,) or (n_rows, n_targets)
            Classes or numbers.
        sample_weight : array-like, shape (n_rows,), optional
            Weights from 0; they are exact, so 0.1 is one tenth, except where rules or losses
            multiply them beyond exact arithmetic: they then keep 3 to 7 digits of the largest, and
            `result_.warnings` says so (D209). Rows of weight 0 are left out, and whole weights
            without rules are repeated rows.
        sensitive_features : array-like or frame, shape (n_rows,) or (n_rows, k), optional
            Columns that groups, `gap` and `ratio` may speak of, and no split tests. Names are
            those of the frame or series, else `sensitive`, or `sensitive0`, `sensitive1`, ....
            A column of truth values is a group of its name, too.

        Returns
        -------
        self

        Raises
        ------
        OdtError
            The mistakes of rules and spec, with their text. U607: no model satisfies all rules,
            proven. U608: none was found within the limits. U613: no rows to hold out.
        ValueError, TypeError
            Wrong shapes and cells, as scikit-learn says it.

        Warns
        -----
        ConvergenceWarning
            A limit came before the proof: the model is the best one found.
        DataWarning
            Cells of `X` or classes of `y` are probably not meant as they are taken, such as one
            text among numbers, which makes a category of them all. One warning tells of all
            columns; `spec="feature NAME: category"` says that they are meant so.
        RuleWarning
            A rule or the objective is probably not meant as it is written, such as a bound of 90
            where 90% was meant, which no model can keep.
        """
        model, table, rounded = self._problem(X, y, sample_weight, sensitive_features)
        told, end = callback_task(self, X, y)
        held = None
        if stops_early(self):
            names, by_class = only(model, ast.Target).columns, hasattr(self, "classes_")
            table, held = parted(
                table,
                names[0].name if by_class else None,
                self.validation_fraction,
                self._limits()["seed"] or 0,
            )
        self._asked = model, table
        self.result_ = self._solved(model, table, told, rounded, held)
        self.spec_ = str(model)
        self.audit_ = self.result_.audit
        setattr(self, self._model_name, self.result_.model)
        self.__dict__.pop("_figures", None)  # of the model of a former fit
        end()
        return self

    def to_model(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> Model:
        """The problem that `fit` would solve, to plan, explain or compare it.

        Parameters
        ----------
        X, y, sample_weight, sensitive_features
            As for `fit`. The estimator stays as it is.

        Returns
        -------
        Model
            With its rows: `.explain()` says which rules conflict, or what each one costs.
        """
        from sklearn.base import clone

        model, table, _ = clone(self)._problem(X, y, sample_weight, sensitive_features)
        model.frame = table
        return model  # type: ignore[no-any-return]

    def explain(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
        within: Any = None,
    ) -> Explanation:
        """Which rules conflict, or what each of them costs.

        Parameters
        ----------
        X, y, sample_weight, sensitive_features
            As for `fit`. Without them: the rows of the last `fit`, also of one that found no
            model; they are there until the estimator is pickled.
        within : float or str, optional
            A time limit, such as `"30 s"`.

        Returns
        -------
        Explanation
            Print it; `.conflicts` and `.prices` hold it as values.

        Raises
        ------
        NotFittedError
            There are neither rows here nor a `fit` before.
        """
        if X is None:
            check_is_fitted(self, "_asked")
            asked, table = self._asked
            model = asked.copy()
            model.frame = table
        else:
            model = self.to_model(X, y, sample_weight, sensitive_features=sensitive_features)
        return model.explain(within=within)

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, sensitive: Any
    ) -> tuple[Model, dict[str, Any], tuple[Diagnostic, ...]]:
        """The problem, its rows, and what had to be changed of their weights."""
        options = self._options()
        if options.missing not in POLICIES:
            raise values.wrong("`missing`", options.missing, f"give one of {', '.join(POLICIES)}")
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y"
                " is None."
            )
        may_miss = options.missing != "refuse"
        self._dropped = dropped_by(self.spec)
        features = self._read(X, None, may_miss=may_miss)
        self._kinds = dict(features.kinds)
        beside = None if sensitive is None else read_sensitive(sensitive, features.n_rows)
        taken = set(features.columns) | (set() if beside is None else set(beside.columns))
        target, outputs = self._read_target(y, taken)
        check_consistent_length(X, *outputs.values())
        weights = weights_of(sample_weight, features.n_rows)
        table: dict[str, Any] = {**features.columns, **({} if beside is None else beside.columns)}
        if len(table) < len(features.columns) + (0 if beside is None else len(beside.columns)):
            raise _clash(set(features.columns) & set({} if beside is None else beside.columns))
        if clash := set(outputs) & set(table):
            raise _clash(clash)
        table |= outputs
        model = problem(
            options,
            target,
            Columns(
                features=features,
                sensitive=beside,
                masks=() if beside is None else masks(beside),
            ),
        )
        if weights is None:
            return model, table, ()
        rows = repeated(weights, target, model)
        if rows is None:
            name = free_name("sample_weight", set(table))
            add_weights(model, name)
            table[name] = weights
            rows = np.flatnonzero(weights) if weights.any() else np.arange(len(weights))
            table = {name: np.asarray(column)[rows] for name, column in table.items()}
            return model, *with_digits(model, table, name)
        return model, {name: np.asarray(column)[rows] for name, column in table.items()}, ()

    def _solved(
        self,
        model: Model,
        table: dict[str, Any],
        told: ImprovementCallback | None,
        rounded: tuple[Diagnostic, ...],
        held: dict[str, Any] | None = None,
    ) -> Result:
        from odtdsl.compiler.column_warnings import of_program
        from odtdsl.driver import pipeline

        analysis = _analysed(model, table)
        guessed = of_program(
            analysis.rows,
            undeclared_categories(self.spec, self._kinds),
            classes=classes_from_y(self.spec),
        )
        doubted = [one for one in analysis.warnings if one.code[0] in "RO"]
        for category, found in ((DataWarning, guessed), (RuleWarning, doubted)):
            if told_now := [one for one in found if self._not_told(one)]:
                warnings.warn("\n".join(map(str, told_now)), category, stacklevel=4)
        analysis = replace(analysis, warnings=(*analysis.warnings, *guessed, *rounded))
        certify = bool(getattr(self, "certify", False))
        from odtdsl.insight.proofs.certify import checked, logged

        said = analysis.problem.options.backend
        named = None if self.backend is None and said == back_ends.AUTO else said
        overrides = Overrides(backend=named, variant=options_of(self.options))
        ledger = None
        if certify:
            ledger, certified = logged(analysis)
            overrides |= certified
        beside = None if held is None else HeldOut(analysis.rows, held, self.n_iter_no_change)
        stopped = False

        def report(progress: Progress) -> None:
            nonlocal stopped
            if told is not None and told(_improved(progress, analysis.problem.objective)):
                stopped = True
            if beside is not None:
                beside.hear(progress)

        listens = told is not None or beside is not None
        result = pipeline.solve(
            analysis,
            report=report if listens else None,
            stop=(lambda: stopped or (beside is not None and beside.over())) if listens else None,
            ledger=ledger,
            **overrides,
        )
        if beside is not None:
            pressed = result.interrupted and not (stopped or beside.over())
            result = replace(beside.kept(result), interrupted=pressed)
        awaited = beside is None and (self.time_limit != AUTO or not only_deep(model))
        self._judge(result, awaited=awaited)
        if ledger is not None:
            return checked(analysis, result, result, ledger)
        return result.certify() if certify else result

    def _said(self) -> dict[str, Any]:
        """The parameters that all estimators share, as `EstimatorOptions` take them."""
        return {
            "rules": self.rules,
            "groups": self.groups or {},
            "spec": self.spec,
            "settings": self.settings or {},
            "price": self.cost_complexity,
            "missing": self.missing,
            **self._limits(),
        }

    def _limits(self) -> dict[str, Any]:
        """Back end, time, threads and seed."""
        limit, seed = self.time_limit, self.random_state
        if seed is not None and not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        return {
            "backend": self.backend,
            "limit": None if limit == math.inf else limit,
            "threads": None if self.n_jobs is None else effective_n_jobs(self.n_jobs),
            "seed": None if seed is None else int(seed),
        }

    def _judge(self, result: Result, *, awaited: bool) -> None:
        """Raise or warn by the result; `awaited`: whether a proof could be expected, so that its
        absence is reported.
        """
        name = type(self).__name__
        if result.model is None and result.status == "infeasible":
            raise error(
                "U607",
                f"no {self._model_name[:-1]} satisfies all rules (proven)",
                helps=("`.explain()` of this estimator says which rules conflict",),
            )
        if result.model is None:
            raise error(
                "U608",
                (
                    f"no {self._model_name[:-1]} that satisfies all rules was found in "
                    f"{result.seconds:.1f} s"
                ),
                notes=("infeasibility is not proven, so there may be one",),
                helps=(
                    (
                        'another back end (`backend="auto"`) or looser rules may help'
                        if gives_up(result.backend)
                        else "raise `time_limit`, or relax the rules or the skeleton"
                    ),
                ),
            )
        awaited = (awaited and proves(result.backend)) or result.interrupted
        if result.status == "feasible" and awaited:
            gap = "" if result.gap is None else f" (gap {float(result.gap):.2%})"
            far = result.gap is None or result.gap > _FAR
            advice = (
                "far from a proof, less depth or a price of leaves helps more than `time_limit`"
                if far
                else "raise `time_limit` for a proof"
            )
            ended = "was interrupted" if result.interrupted else "reached its limit"
            warnings.warn(
                f"{name} {ended} after {result.seconds:.1f} s: the {self._model_name[:-1]} is the"
                f" best one found{gap}; {advice}",
                ConvergenceWarning,
                stacklevel=5,
            )

    # ---- predict

    @property
    def _fitted(self) -> Predictor:
        check_is_fitted(self, "result_")
        model = self.result_.model
        assert model is not None, "fit raises where there is no model"
        return model

    def _read(self, X: Any, known: Mapping[str, Kind] | None, *, may_miss: bool) -> Cells:
        return read_features(
            self,
            X,
            known=known,
            may_miss=may_miss,
            instead=self._instead,
            dropped=getattr(self, "_dropped", ()),  # pickled before there was one
        )

    def _columns(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        model = self._fitted
        cells = self._read(X, self._kinds, may_miss=self.missing != "refuse")
        wanted = set(model.tested) or set(list(cells.columns)[:1])
        return {name: column for name, column in cells.columns.items() if name in wanted}

    def _places(self, X: Any) -> IntArray:
        """The leaf, or the terminal, of each row."""
        return self._fitted.apply(self._rows(X))

    def _rows(self, X: Any) -> Table:
        """The tested cells of rows to predict; warns of values that `fit` had none of."""
        columns = self._columns(X)  # first: it says what is wrong with the estimator
        model = self._fitted
        table = as_table(model, columns)
        strange = Unfamiliar(model)
        strange.look_at(table)
        told = [strange.of_new(name) for name in strange.new if self._are_new(name, strange)]
        if told:
            warnings.warn("\n".join(map(str, told)), DataWarning, stacklevel=4)
        return table

    def audit(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> TestScore:
        """Every rule and the objective on other rows, such as test rows.

        Rules hold for the rows of `fit`: one that does not hold here is no fault of the model, but
        something to know. `audit_` is the audit on the rows of `fit`.

        Parameters
        ----------
        X, y, sample_weight, sensitive_features
            As for `fit`, of the other rows. Each row weighs one where no weights are given.

        Returns
        -------
        TestScore
            `.audit.lines`: of each rule its `value`, whether it `holds` here (None: not measured),
            and the number of `rows` behind it; `.audit.objective`: the stages of the objective;
            `.errors`, or `.mse` and `.mae`; `.baseline`: the same of the best constant.

        Raises
        ------
        OdtError
            U609: the estimator was pickled, so that its training rows are gone; or columns are
            lacking that the fit had. D codes: cells that do not fit, such as an unseen class.
        """
        model, rows = self._fitted, self.result_.rows
        if rows is None:
            raise error(
                "U609",
                "a pickled estimator does not keep the training rows, which the audit needs",
                helps=("audit before pickling, or fit again",),
            )
        may_miss = self.missing != "refuse"
        cells = self._read(X, self._kinds, may_miss=may_miss)
        columns: dict[str, Any] = dict(cells.columns)
        if sensitive_features is not None:
            columns |= read_sensitive(sensitive_features, cells.n_rows).columns
        columns |= self._other_targets(y, rows.problem.target.names)
        check_consistent_length(X, *columns.values())
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, np.empty((cells.n_rows, 1)))
        weighed, data = data_of(rows, columns, weights)
        return score(model, data, weighed)

    def _other_targets(self, y: Any, names: Sequence[str]) -> dict[str, Any]:
        """The columns of the target of other rows, by the names that they had in `fit`."""
        from sklearn.base import clone

        check_outputs(y, getattr(self, "_outputs", ()))
        _, outputs = clone(self)._read_target(y, set())
        return dict(zip(names, outputs.values(), strict=True))

    # ---- what the estimator says of itself

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before 1.6
        return {"allow_nan": self.missing != "refuse"}

    def _figures_of_nodes(self) -> NodeFigures | None:
        """What is known of the nodes of a tree: made when asked for, as long as there are rows."""
        if "_figures" not in self.__dict__:
            model, rows = self.result_.model, self.result_.rows
            found = None
            if isinstance(model, Tree) and rows is not None:
                found = figures(model, rows)
            self._figures: NodeFigures | None = found
        return self._figures

    def __getstate__(self) -> dict[str, Any]:
        """Without the training rows, which `result_.why` needs and predictions do not."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_asked", None)
        if "result_" in state:
            state["_figures"] = self._figures_of_nodes()
            state["result_"] = state["result_"].without_rows()
        return state

    def __str__(self) -> str:
        """The fitted model as text, else the estimator with its parameters."""
        if not hasattr(self, "result_"):
            return repr(self)
        from odtdsl.presentation.console import drawn, status_line

        return f"{drawn(self._fitted)}\n{status_line(self.result_)}"

    def _html_repr(self) -> str:
        """scikit-learn's box of parameters and, once fitted, the answer with its picture."""
        box: str = estimator_html_repr(self)
        if not hasattr(self, "result_"):
            return box
        from odtdsl.presentation.report.fragment import fragment

        return f"{box}\n{fragment(self.result_)}"

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._html_repr()
        return bundle


def _improved(progress: Progress, objective: tuple[Any, ...]) -> dict[str, Any]:
    """An improvement in plain numbers, for callbacks."""

    def plain(value: Fraction | None) -> float | None:
        return None if value is None else float(value)

    return {
        "stage": objective[progress.stage].text,
        "incumbent": plain(progress.incumbent),
        "bound": plain(progress.bound),
        "seconds": progress.seconds,
    }


def _analysed(model: Model, table: dict[str, Any]) -> Analysis:
    """The problem; of an unknown column it is told how those of groups are passed."""
    try:
        return model.analyse(frame=table)
    except OdtError as caught:
        helps = ["pass columns that no split may test as `fit(X, y, sensitive_features=...)`"]
        if "x0" in table:
            helps.append(
                "names are `x0`, `x1`, ... as `X` has none: pass a data frame; transformers of"
                ' scikit-learn make one after `set_output(transform="pandas")`'
            )
        raise OdtError(
            replace(one, helps=tuple(helps)) if one.code == "N103" and not one.helps else one
            for one in caught.diagnostics
        ) from None


def _clash(names: set[str]) -> OdtError:
    listed = ", ".join(f"`{name}`" for name in sorted(names))
    return error(
        "U605",
        f"more than one column is named {listed}",
        notes=("features, targets and sensitive features share one namespace in the rules",),
        helps=("rename one of them",),
    )


def free_name(name: str, taken: set[str]) -> str:
    """A name that is not taken, by underscores behind it."""
    while name in taken:
        name += "_"
    return name
