"""`tests`: how many splits test any of some features."""

from __future__ import annotations

import numpy as np

from odtdsl.problem.ir.expr import Apply, FeatureArg, Scope
from odtdsl.problem.ir.forms import Additive, PathMeasure
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Param, Signature, Term, Unsupported


class Tests(Term):
    """Meaning: on a path, the number of its splits that test any of the named features; in
    the model, the number of such splits of the tree, not of its paths.

    In Python: `tests("age", "sex") <= 2`

    Core forms: Budget on a path; Linear of the model.
    """

    __test__ = False  # its name makes pytest look twice
    name = "tests"
    place = 220
    scopes = (Scope.MODEL, Scope.PATH)
    signatures = (Signature(params=(Param.FEATURE,), repeat=True),)

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive | PathMeasure:
        """1 per test of one of the features, on a path or in the model.

        Raises Unsupported for several features where splits are hyperplanes.
        """
        wanted = {arg.index for arg in call.args if isinstance(arg, FeatureArg)}
        if rows.problem.skeleton.splits == "hyperplane" and len(wanted) > 1:
            raise Unsupported(
                (
                    "a hyperplane may test several of the features at once: write `tests(a) + "
                    "tests(b)`, which counts it once for each"
                ),
                code="R207",
            )
        counted = [int(index in wanted) for index in range(len(rows.problem.features))]
        if scope is Scope.PATH:
            return PathMeasure(per_test=tuple(counted), once=(0,) * len(counted))
        return Additive(columns=np.asarray(counted, dtype=np.int64))
