"""Two features in a row: what `before` and `requires` take."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, FeatureArg
from odtdsl.problem.terms.base import Param, Signature

PAIR = (Signature(params=(Param.FEATURE, Param.FEATURE), names=("first", "second")),)


def features_of(call: Apply) -> tuple[FeatureArg, FeatureArg]:
    first, second = call.args
    assert isinstance(first, FeatureArg)
    assert isinstance(second, FeatureArg)
    return first, second
