"""Warnings about rules on leaf outputs that nothing satisfies, or that training rows break."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler.context import Reporter
from odtdsl.problem.ir.expr import applications
from odtdsl.problem.ir.problem import RuleDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.outputs.feasible import FeasibleSet, compiled

SHOWN = 3
"""Rows that a warning names."""


def warn_of_outputs(rows: Rows, reporter: Reporter) -> None:
    """Report an error where no output obeys all rules, and a warning where rows do not."""
    rules = [rule for rule in rows.problem.rules if _speaks_of_outputs(rule)]
    if not rules or rows.data.targets is None:
        return
    try:
        found = _set(rules, rows)
        if found.is_empty:
            _tell_empty(rules, rows, reporter)
        else:
            if not _is_of_rates(rows):
                _tell_rows(rules, rows, reporter)
            _tell_infinite(found, rules, rows, reporter)
    except OdtError:  # too many cases, or no engine: what solves tells it
        return


def _speaks_of_outputs(rule: RuleDecl) -> bool:
    return any(call.term == "output" for call in applications(rule.condition))


def _is_of_rates(rows: Rows) -> bool:
    """Whether outputs are rates: the counts of single rows, 0 most of all, need not obey them."""
    measures = [stage.measure for stage in rows.problem.objective]
    return any(call.term == "poisson" for one in measures for call in applications(one))


def _set(rules: Sequence[RuleDecl], rows: Rows) -> FeasibleSet:
    target = rows.problem.target
    return compiled([rule.condition for rule in rules], (target.step,) * len(target.names))


def _tell_empty(rules: list[RuleDecl], rows: Rows, reporter: Reporter) -> None:
    """A smallest set of rules that nothing obeys."""
    least = list(rules)
    for rule in rules:
        fewer = [one for one in least if one is not rule]
        if fewer and _set(fewer, rows).is_empty:
            least = fewer
    names = " and ".join(f"`{rule.name}`" for rule in least)
    step = rows.problem.target.step
    grid = () if step is None else (f"outputs are multiples of {step}, the step of the target",)
    reporter.error(
        "R112",
        f"no output satisfies rules {names} together"
        if len(least) > 1
        else f"no output satisfies rule {names}",
        least[0].span,
        also=tuple((rule.span, "") for rule in least[1:]),
        notes=grid,
        helps=("remove or loosen one of them",) if len(least) > 1 else (),
    )


def _tell_rows(rules: Sequence[RuleDecl], rows: Rows, reporter: Reporter) -> None:
    """How many training rows each rule refuses, and the first of them."""
    assert rows.data.targets is not None
    notes: list[str] = []
    refused = np.zeros(rows.n_rows, dtype=bool)
    worst: RuleDecl | None = None
    for rule in rules:
        wrong = ~_set([rule], rows).contains(rows.data.targets)
        if not wrong.any():
            continue
        refused |= wrong
        worst = worst or rule
        first = rows.data.row_numbers[np.flatnonzero(wrong)[:SHOWN]].tolist()
        listed = ", ".join(map(str, first)) + (", ..." if int(wrong.sum()) > SHOWN else "")
        rows_ = "row" if int(wrong.sum()) == 1 else "rows"
        notes.append(f"rule `{rule.name}` is broken by {int(wrong.sum())} {rows_}: {listed}")
    if worst is None:
        return
    reporter.warn(
        "R113",
        (
            f"the targets of {int(refused.sum())} of {rows.n_rows} training rows break rules on "
            "outputs"
        ),
        worst.span,
        notes=notes,
        helps=("check the rows and the rules; predictions satisfy the rules in any case",),
    )


def _tell_infinite(
    found: FeasibleSet, rules: Sequence[RuleDecl], rows: Rows, reporter: Reporter
) -> None:
    """Under `poisson`, rules that let no output be above 0 where rows are."""
    assert rows.data.targets is not None
    if not _is_of_rates(rows) or rows.data.targets.min() < 0:
        return
    values, _ = found.deviance(rows.data.targets.mean(axis=0)[None])
    if not np.isfinite(values[0]):
        reporter.error(
            "R114",
            (
                "the rules force the output of a target to 0, but some rows have values above "
                "0: the Poisson deviance is infinite"
            ),
            rules[0].span,
            also=tuple((rule.span, "") for rule in rules[1:]),
            helps=("allow a small output, such as `>= 0.01`, or minimize `mse`",),
        )
