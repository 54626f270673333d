"""What no encoding by clauses expresses, and why."""

from __future__ import annotations

from odtdsl.problem.ir.forms import Form

_NUMBERS = "leaves predict numbers, and clauses can represent only labels"

UNSUPPORTED = {
    Form.HYPERPLANE: "a hyperplane has real weights, which clauses cannot represent",
    Form.REGRESSION: _NUMBERS,
    Form.LOSS_BOUND: _NUMBERS,
    Form.OBJECTIVE_LOSS: _NUMBERS,
    Form.OUTPUT_SET: _NUMBERS,
    Form.MONOTONE: "thresholds would have to be compared over the whole feature space; use `exact`",
}
