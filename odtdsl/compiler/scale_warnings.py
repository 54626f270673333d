"""A warning where a loss adds targets of unlike scale: the largest then decides alone."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from odtdsl.compiler.context import Reporter
from odtdsl.datasets.table import FloatArray
from odtdsl.language.expressions import name_text
from odtdsl.problem.ir.expr import Apply, TargetArg, applications
from odtdsl.problem.ir.problem import StageDecl
from odtdsl.problem.ir.regression import median
from odtdsl.problem.ir.rows import Rows

UNLIKE = 100
"""How many times the loss of one target another's has to be: the smaller is below 1% of it."""
LOSSES = ("mse", "mae", "poisson")


def warn_of_scales(rows: Rows, reporter: Reporter) -> None:
    """Warn once, of the first stage whose loss of all targets is that of some of them only."""
    for stage in rows.problem.objective:
        for call in applications(stage.measure):
            if call.term in LOSSES and not any(isinstance(one, TargetArg) for one in call.args):
                apart = _apart(rows, call)
                if apart is not None:
                    _tell(rows, stage, call, apart, reporter)
                    return


def _apart(rows: Rows, call: Apply) -> FloatArray | None:
    """What the best constants lose on each target, where these lie far apart; else None."""
    truth, weights = rows.data.targets, rows.weights
    if truth is None or truth.shape[1] < 2 or not weights.any():
        return None
    if call.term == "poisson" and truth.min() < 0:
        return None  # refused where it is solved
    with np.errstate(all="ignore"):  # targets too large for a loss are refused there as well
        means = np.average(truth, axis=0, weights=weights)
        if call.term == "mse":
            each = (truth - means) ** 2
        elif call.term == "mae":
            each = np.abs(truth - [median(column, weights) for column in truth.T])
        else:
            each = np.where(truth > 0, truth * np.log(np.where(truth > 0, truth / means, 1)), 0)
        lost = np.average(each, axis=0, weights=weights)
    vary = lost[lost > 0]  # nothing is to be gained on a target that never differs
    if len(vary) < 2 or not np.isfinite(lost).all() or vary.max() <= UNLIKE * vary.min():
        return None
    return lost


def _tell(rows: Rows, stage: StageDecl, call: Apply, lost: FloatArray, reporter: Reporter) -> None:
    names = rows.problem.target.names
    most = int(lost.argmax())
    parts = [f"`{name}` {one:.3g}" for name, one in zip(names, lost, strict=True)]
    same = [
        f"{call.term}({name_text(name)})" + (f" / {_round(one)}" if one > 0 else "")
        for name, one in zip(names, lost, strict=True)
    ]
    reporter.warn(
        "O106",
        f"`{call.term}` adds targets of unlike scale: `{names[most]}` decides nearly alone",
        stage.span,
        notes=(f"the best constants have a `{call.term}` of: {', '.join(parts)}",),
        helps=(f"where targets are to count alike, `{call.term}` becomes `{' + '.join(same)}`",),
    )


def _round(value: float) -> str:
    """Two digits, without an exponent."""
    return f"{Decimal(f'{value:.2g}'):f}"
