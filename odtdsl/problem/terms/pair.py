"""Two features in a row: what `before` and `requires` take."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, FeatureArg
from odtdsl.problem.terms.base import Param, Signature

PAIR = (Signature(params=(Param.FEATURE, Param.FEATURE), names=("first", "second")),)


def features_of(call: Apply) -> tuple[FeatureArg, FeatureArg]:
    """The two features that are the arguments of a term."""
    first, second = call.args
    assert isinstance(first, FeatureArg)
    assert isinstance(second, FeatureArg)
    return first, second
