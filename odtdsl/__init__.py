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

from odtdsl import presentation as _presentation  # noqa: F401  # enters what methods of models do

if TYPE_CHECKING:
    from odtdsl import datasets as datasets
    from odtdsl import words as words
    from odtdsl.auditor.audit import Audit
    from odtdsl.base.diagnostics.model import Diagnostic, OdtError
    from odtdsl.driver.alternatives import Alternatives
    from odtdsl.driver.comparison import Comparison
    from odtdsl.driver.pipeline import Plan
    from odtdsl.driver.result import Result
    from odtdsl.estimators import (
        OptimalDiagramClassifier,
        OptimalPolicyTree,
        OptimalSurvivalTree,
        OptimalTreeClassifier,
        OptimalTreeRegressor,
        OutputConstrainedForestRegressor,
        OutputConstrainedTreeRegressor,
    )
    from odtdsl.estimators.base import DataWarning, RuleWarning
    from odtdsl.estimators.policy_scores import policy_scores
    from odtdsl.insight.explanations import Curve, Explanation
    from odtdsl.insight.tuning.result import Tuning
    from odtdsl.interfaces.api import (
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
    from odtdsl.interfaces.api.tuning import tune
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree

    __version__: str

__all__ = [
    "Alternatives",
    "Audit",
    "Comparison",
    "Curve",
    "DataWarning",
    "Diagnostic",
    "Diagram",
    "Explanation",
    "Model",
    "OdtError",
    "OptimalDiagramClassifier",
    "OptimalPolicyTree",
    "OptimalSurvivalTree",
    "OptimalTreeClassifier",
    "OptimalTreeRegressor",
    "OutputConstrainedForestRegressor",
    "OutputConstrainedTreeRegressor",
    "Plan",
    "Result",
    "RuleWarning",
    "Tree",
    "Tuning",
    "__version__",
    "alternatives",
    "audit",
    "check",
    "check_proof",
    "compare",
    "compile",
    "curve",
    "datasets",
    "decode",
    "explain",
    "load",
    "load_model",
    "load_tree",
    "parse",
    "plan",
    "policy_scores",
    "solve",
    "tune",
    "words",
]

_HOMES = {
    "Alternatives": "odtdsl.driver.alternatives",
    "Audit": "odtdsl.auditor.audit",
    "Comparison": "odtdsl.driver.comparison",
    "Curve": "odtdsl.insight.explanations",
    "Explanation": "odtdsl.insight.explanations",
    "DataWarning": "odtdsl.estimators.base",
    "RuleWarning": "odtdsl.estimators.base",
    "Diagnostic": "odtdsl.base.diagnostics.model",
    "Diagram": "odtdsl.predictors.diagram",
    "OdtError": "odtdsl.base.diagnostics.model",
    "Plan": "odtdsl.driver.pipeline",
    "Result": "odtdsl.driver.result",
    "Tree": "odtdsl.predictors.tree",
    "Tuning": "odtdsl.insight.tuning.result",
    "policy_scores": "odtdsl.estimators.policy_scores",
    "load_ipython_extension": "odtdsl.interfaces.notebook",
    "tune": "odtdsl.interfaces.api.tuning",
    "unload_ipython_extension": "odtdsl.interfaces.notebook",
    **dict.fromkeys(
        (
            "OptimalDiagramClassifier",
            "OptimalPolicyTree",
            "OptimalSurvivalTree",
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
        "odtdsl.interfaces.api",
    ),
}
"""Where each public name lives: it is imported when it is first asked for."""

_MODULES = {"datasets": "odtdsl.datasets", "words": "odtdsl.words"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        from odtdsl.base.version import VERSION

        value: Any = VERSION
    elif name in _MODULES:
        return import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
