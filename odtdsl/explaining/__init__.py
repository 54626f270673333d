"""Why a spec has no tree, and what its rules cost: `odt explain`."""

from odtdsl.explaining.explanation import Conflict, Explanation, NearestBound
from odtdsl.explaining.infeasible import MOST_CONFLICTS, explain

__all__ = ["MOST_CONFLICTS", "Conflict", "Explanation", "NearestBound", "explain"]
