"""Why a spec has no tree, and what its rules cost: `odt explain`."""

from odtdsl.explaining.curves import Curve, Point
from odtdsl.explaining.explanation import Conflict, Explanation, NearestBound
from odtdsl.explaining.infeasible import MOST_CONFLICTS, explain
from odtdsl.explaining.prices import Price, Prices, Range
from odtdsl.explaining.walking import MOST_POINTS, trace

__all__ = [
    "MOST_CONFLICTS", "MOST_POINTS", "Conflict", "Curve", "Explanation", "NearestBound", "Point",
    "Price", "Prices", "Range", "explain", "trace",
]  # fmt: skip
