"""scikit-learn estimators: optimal trees and diagrams that fit into pipelines and searches.

What is here imports scikit-learn; `import odtdsl` does not, and hands these classes out when
they are first asked for.
"""

from __future__ import annotations

from odtdsl.estimators.classifiers import OptimalDiagramClassifier, OptimalTreeClassifier
from odtdsl.estimators.forest import OutputConstrainedForestRegressor
from odtdsl.estimators.policies import OptimalPolicyTree
from odtdsl.estimators.regressors import OptimalTreeRegressor, OutputConstrainedTreeRegressor
from odtdsl.estimators.survival import OptimalSurvivalTree

__all__ = [
    "OptimalDiagramClassifier",
    "OptimalPolicyTree",
    "OptimalSurvivalTree",
    "OptimalTreeClassifier",
    "OptimalTreeRegressor",
    "OutputConstrainedForestRegressor",
    "OutputConstrainedTreeRegressor",
]
