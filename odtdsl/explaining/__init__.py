"""Why a spec has no tree, and what its rules cost: `odt explain`."""

from odtdsl.explaining.explanation import Conflict, Explanation, NearestBound
from odtdsl.explaining.infeasible import MOST_CONFLICTS, explain
from odtdsl.explaining.prices import Price, Prices, Range

__all__ = [
    "MOST_CONFLICTS", "Conflict", "Explanation", "NearestBound", "Price", "Prices", "Range",
    "explain",
]  # fmt: skip
