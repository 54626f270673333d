"""Optimal decision trees and diagrams under domain rules, from a short declarative spec.

>>> import odtdsl
>>> result = odtdsl.solve('''
...     data sklearn "iris"
...     target target
...     tree depth <= 2
...     minimize errors
...     rule robust: forall leaf: size >= 5
... ''')
>>> result.status, int(result.objective), result.audit.holds
('optimal', 6, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odtdsl import present as _present  # noqa: F401  # enters what methods of models do

if TYPE_CHECKING:
    from odtdsl import datasets as datasets
    from odtdsl import words as words
    from odtdsl.api import (
        Model,
        alternatives,
        audit,
        check,
        check_proof,
        compare,
        compile,
        curve,
        decode,
        explain,
        load,
        load_model,
        load_tree,
        parse,
        plan,
        solve,
    )
    from odtdsl.api.tuning import tune
    from odtdsl.checker import Audit
    from odtdsl.comparing import Comparison
    from odtdsl.diagnostics.model import Diagnostic, OdtError
    from odtdsl.estimators import (
        OptimalDiagramClassifier,
        OptimalTreeClassifier,
        OptimalTreeRegressor,
        OutputConstrainedForestRegressor,
        OutputConstrainedTreeRegressor,
    )
    from odtdsl.explaining import Curve, Explanation
    from odtdsl.near_optimal import Alternatives
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree
    from odtdsl.result import Result
    from odtdsl.solving import Plan
    from odtdsl.tuning.result import Tuning

    __version__: str

__all__ = [
    "Alternatives", "Audit", "Comparison", "Curve", "Diagnostic", "Diagram", "Explanation",
    "Model", "OdtError", "OptimalDiagramClassifier", "OptimalTreeClassifier",
    "OptimalTreeRegressor", "OutputConstrainedForestRegressor", "OutputConstrainedTreeRegressor",
    "Plan", "Result", "Tree", "Tuning",
    "__version__", "alternatives", "audit", "check", "check_proof", "compare", "compile", "curve",
    "datasets", "decode", "explain", "load", "load_model", "load_tree", "parse", "plan", "solve",
    "tune", "words",
]  # fmt: skip

_HOMES = {
    "Alternatives": "odtdsl.near_optimal",
    "Audit": "odtdsl.checker",
    "Comparison": "odtdsl.comparing",
    "Curve": "odtdsl.explaining",
    "Explanation": "odtdsl.explaining",
    "Diagnostic": "odtdsl.diagnostics.model",
    "Diagram": "odtdsl.predictors.diagram",
    "OdtError": "odtdsl.diagnostics.model",
    "Plan": "odtdsl.solving",
    "Result": "odtdsl.result",
    "Tree": "odtdsl.predictors.tree",
    "Tuning": "odtdsl.tuning.result",
    "load_ipython_extension": "odtdsl.notebook",
    "tune": "odtdsl.api.tuning",
    "unload_ipython_extension": "odtdsl.notebook",
    **dict.fromkeys(
        (
            "OptimalDiagramClassifier",
            "OptimalTreeClassifier",
            "OptimalTreeRegressor",
            "OutputConstrainedForestRegressor",
            "OutputConstrainedTreeRegressor",
        ),
        "odtdsl.estimators",
    ),
    **dict.fromkeys(
        (
            "Model",
            "alternatives",
            "audit",
            "check",
            "check_proof",
            "compare",
            "compile",
            "curve",
            "decode",
            "explain",
            "load",
            "load_model",
            "load_tree",
            "parse",
            "plan",
            "solve",
        ),
        "odtdsl.api",
    ),
}
"""Where each public name lives: it is imported when it is first asked for."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        from odtdsl.version import VERSION

        value: Any = VERSION
    elif name in ("datasets", "words"):
        return import_module(f"odtdsl.{name}")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
