"""What differs between the versions of scikit-learn that are supported, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

try:  # 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Callbacks came with scikit-learn 1.9."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


def validated(estimator: BaseEstimator, X: Any, *, reset: bool, **check: Any) -> Any:
    """`X` as a checked array; its width and names are remembered or, without `reset`, compared."""
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before 1.6
        if "ensure_all_finite" in check:
            check["force_all_finite"] = check.pop("ensure_all_finite")
        return estimator._validate_data(X, reset=reset, **check)
    return validate_data(estimator, X, reset=reset, **check)


def remembered(estimator: BaseEstimator, X: Any, *, reset: bool) -> None:
    """Remember the width and names of `X`, or compare them, without looking at its cells."""
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before 1.6
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)


ImprovementCallback = Callable[[dict[str, Any]], bool]
"""Takes what improved, by name; True asks the search to stop."""


def callback_task(
    estimator: Any, X: Any, y: Any
) -> tuple[ImprovementCallback | None, Callable[[], None]]:
    """A function that reports improvements to the estimator's callbacks, and one that ends their
    task.

    Each improvement of incumbent or bound is a task of its own, whose `metadata` say what
    improved; a callback that answers True to its end stops the search.
    """
    if not hasattr(estimator, "_init_callback_context"):
        return None, lambda: None
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def told(improved: dict[str, Any]) -> bool:
        task = context.subcontext(task_name="improvement")
        task.call_on_fit_task_begin(estimator=estimator, metadata=improved)
        return bool(task.call_on_fit_task_end(estimator=estimator, metadata=improved))

    def end() -> None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=dict)

    return (told if getattr(estimator, "_skl_callbacks", ()) else None), end


__all__ = [
    "CallbackSupportMixin",
    "ImprovementCallback",
    "callback_task",
    "remembered",
    "validated",
    "with_callbacks",
]
