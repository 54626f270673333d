"""How far from the best a tree may be to be listed: `1%`, `3 errors` or `0.02`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from odtdsl.base.diagnostics.model import error
from odtdsl.base.limits import DECIMAL
from odtdsl.problem.ir.forms import Core, LinearStage

if TYPE_CHECKING:
    from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """How far from the best value of the first stage a tree may be.

    Attributes
    ----------
    amount
        In units of `of`.
    of
        `value`: the stage's own units; `share`: a share of the best value's size; `errors`:
        what errors of weight one add to the stage.
    text
        As given.
    """

    amount: Fraction
    of: Literal["value", "share", "errors"]
    text: str


def parse_near(text: str) -> Near:
    """`1%`, `3 errors` or `0.02`.

    Raises
    ------
    OdtError
        U313: no tolerance.
    """
    match = re.fullmatch(rf"\s*({DECIMAL})\s*(%|errors?|)\s*", text)
    if match is None:
        raise error(
            "U313",
            f"`{text}` is not a tolerance",
            helps=(
                (
                    "write `1%` (of the best value), `3 errors`, or `0.02` (in units of the "
                    "objective)"
                ),
            ),
        )
    amount = Fraction(match[1])
    if match[2] == "%":
        return Near(amount=amount / 100, of="share", text=text.strip())
    return Near(amount=amount, of="errors" if match[2] else "value", text=text.strip())


def bounds_of(
    core: Core, rows: Rows, best: tuple[Fraction, ...], near: Near | None
) -> tuple[Fraction | None, ...]:
    """The largest value of each stage; None for any.

    Parameters
    ----------
    core, rows
        The problem.
    best
        The best value of each stage, minimized.
    near
        The tolerance of the first stage; None where all stages must have their best values.

    Raises
    ------
    OdtError
        U314: `near` counts errors, and the first stage does not.
    """
    if near is None:
        return best
    match near.of:
        case "value":
            slack = near.amount
        case "share":
            slack = near.amount * abs(best[0])
        case "errors":
            slack = near.amount * price_of_an_error(core, rows)
    return (best[0] + slack, *(None for _ in best[1:]))


def price_of_an_error(core: Core, rows: Rows) -> Fraction:
    """What a wrong row of weight one adds to the first stage.

    Raises
    ------
    OdtError
        U314: that is not one number.
    """
    stage = core.objective[0]
    counted = stage.measure if isinstance(stage, LinearStage) and not stage.maxima else None
    if counted is not None and counted.output is not None and core.labels is not None:
        output, labels = counted.output, core.labels
        each = range(core.n_rows)
        right = output[each, labels]
        found = {
            Fraction(int(output[i, c] - right[i]) * rows.weight_denominator, int(rows.weights[i]))
            for i in each
            for c in range(core.n_classes)
            if c != labels[i] and rows.weights[i]
        }
        if len(found) == 1 and (price := found.pop()) > 0:
            return price / counted.denominator
    raise error(
        "U314",
        "the first stage of the objective does not count all errors at the same price",
        helps=("write `--near 1%`, or `--near 0.02` in units of the objective",),
    )
