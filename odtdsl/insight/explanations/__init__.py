"""Why a spec has no tree, and what its rules cost: `odt explain`."""

from odtdsl.insight.explanations.conflicts import MAX_CONFLICTS, explain
from odtdsl.insight.explanations.curves import Curve, Point
from odtdsl.insight.explanations.explanation import Conflict, Explanation, NearestBound
from odtdsl.insight.explanations.prices import Price, Prices, Range
from odtdsl.insight.explanations.tracing import MAX_CURVE_POINTS, trace

__all__ = [
    "MAX_CONFLICTS",
    "MAX_CURVE_POINTS",
    "Conflict",
    "Curve",
    "Explanation",
    "NearestBound",
    "Point",
    "Price",
    "Prices",
    "Range",
    "explain",
    "trace",
]
