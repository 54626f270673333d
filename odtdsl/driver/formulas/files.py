"""Problems as formulas for other solvers, and other solvers' models as trees."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.files import write_text
from odtdsl.driver.formulas.answers import answered
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.driver.formulas.assignment import Assignment
    from odtdsl.driver.formulas.encoding import Encoding, Format
    from odtdsl.driver.result import Result

FORMATS = ("cnf", "wcnf", "opb")
SHOWN = 8
"""Literals of a broken clause that a message tells."""


def write_formula(
    analysis: Analysis,
    path: Path,
    to: Format,
    *,
    depth: int | None = None,
    bounds: Sequence[Fraction] = (),
    legend: Path | None = None,
) -> tuple[tuple[str, int], ...]:
    """Write a problem as a formula, and what it says as JSON beside it; returns its size.

    Raises
    ------
    OdtError
        As `odtdsl.driver.formulas.encoding.encode`; F301: the file cannot be written.
    """
    from odtdsl.driver.formulas.encoding import encode
    from odtdsl.driver.formulas.writer import legend_of, write

    encoding = encode(normalize(analysis.rows), analysis.rows, to, depth=depth, bounds=bounds)
    write(encoding, path)
    if legend is not None:
        write_text(legend, json.dumps(legend_of(encoding), indent=1) + "\n")
    return encoding.size()


def show_formula(
    analysis: Analysis,
    rule: str,
    to: Format,
    *,
    depth: int | None = None,
    bounds: Sequence[Fraction] = (),
) -> Iterator[str]:
    """The groups of clauses of a rule, below its sentence.

    Raises
    ------
    OdtError
        As `odtdsl.driver.formulas.encoding.encode`; U233: there are none.
    """
    from odtdsl.driver.formulas.encoding import encode
    from odtdsl.driver.formulas.writer import rows_of

    encoding = encode(normalize(analysis.rows), analysis.rows, to, depth=depth, bounds=bounds)
    known = dict.fromkeys(
        name for group in encoding.formula.groups for name in group.rule.split(", ") if name
    )
    if rule not in known:
        raise error(
            "U233",
            f"the formula has no clauses of a rule `{rule}`",
            helps=(f"it has clauses of {', '.join(f'`{one}`' for one in known)}",),
        )
    return rows_of(encoding, rule)


def decode(
    analysis: Analysis,
    assignment: Assignment,
    *,
    to: Format | None = None,
    depth: int | None = None,
    bounds: Sequence[Fraction] = (),
) -> Result:
    """The audited tree that an assignment to the variables of a formula stands for.

    Parameters
    ----------
    analysis
        The spec, resolved.
    assignment
        Truth values. Variables without one count as false.
    to, depth, bounds
        As the formula was written; the format by default as solvers write their models.

    Returns
    -------
    Result
        `feasible`: what another solver proved is not known here.

    Raises
    ------
    OdtError
        As `odtdsl.driver.formulas.encoding.encode`; U211: the formula has another number of
        variables; U212: the assignment is no model of it.
    """
    from odtdsl.backends.decode import simplify, to_tree
    from odtdsl.driver.formulas.encoding import encode

    began = time.monotonic()
    rows = analysis.rows
    core = normalize(rows)
    encoding = encode(core, rows, to or assignment.to, depth=depth, bounds=bounds)
    _check(encoding, assignment)
    _check_cost(encoding, assignment)
    true = {variable for variable, value in assignment.values.items() if value}
    tree = to_tree(core, rows, simplify(core, encoding.lowered.tree.decode(true)))
    return answered(analysis, tree, began, encoding.size())


# ---- is it a model


def _check(encoding: Encoding, assignment: Assignment) -> None:
    """Every clause and sum of the formula; objectives ask for nothing."""
    formula, values = encoding.formula, assignment.values
    highest = max((abs(x) for clause in formula.clauses for x in clause), default=0)
    found = max(values, default=0)
    if not highest <= found <= formula.top:
        raise error(
            "U211",
            f"the assignment ends with variable {found}, but the formula"
            f" ({encoding.to}, depth {encoding.lowered.tree.depth}) has {formula.top}",
            helps=(_SAME,),
        )
    true = {variable if value else -variable for variable, value in values.items()}
    true.update(-variable for variable in range(1, formula.top + 1) if variable not in values)
    for number, clause in enumerate(formula.clauses):
        if true.isdisjoint(clause):
            raise _broken(encoding, number, clause)
    for bound in formula.bounds or ():
        total = sum(weight for literal, weight in bound.weighted if literal in true)
        if total > bound.most and true.isdisjoint(bound.guard):
            raise error(
                "U212",
                (
                    f"the assignment is not a model: it breaks a sum of group {bound.groups}: "
                    f"{encoding.title(bound.groups)}"
                ),
                notes=(f"the sum is {total}, and the limit is {bound.most}",),
                helps=(_SAME,),
            )


def _check_cost(encoding: Encoding, assignment: Assignment) -> None:
    """The cost that the solver says is that of its model."""
    if assignment.cost is None or encoding.to == "cnf":
        return
    terms = encoding.terms
    constant, weighted = terms.positive()
    true = {variable for variable, value in assignment.values.items() if value}
    total = sum(weight for x, weight in weighted if (abs(x) in true) == (x > 0))
    if encoding.to == "opb":  # its weights may be negative, without a constant
        total += constant - terms.constant
    if assignment.cost != total:
        raise error(
            "U230",
            f"the solver claims the cost {assignment.cost}, but that of its model is {total}",
            helps=(_SAME,),
        )


_SAME = "use the same spec, data and options `--to`, `--depth` and `--bound` as for `odt compile`"


def _broken(encoding: Encoding, number: int, clause: tuple[int, ...]) -> OdtError:
    """Clauses are counted from 1, as in the file."""
    formula = encoding.formula
    group = max(i for i, one in enumerate(formula.groups, start=1) if one.first <= number)
    notes = [
        f"{literal} is false: {formula.meaning(literal)}"
        if literal > 0
        else f"{-literal} is true: {formula.meaning(-literal)}"
        for literal in clause[:SHOWN]
    ]
    return error(
        "U212",
        (
            f"the assignment is not a model: it breaks clause {number + 1}, of group {group}: "
            f"{encoding.title(group)}"
        ),
        notes=(*notes, *(["..."] if len(clause) > SHOWN else [])),
        helps=(_SAME,),
    )


def parse_bound(text: str) -> Fraction:
    """A value of a stage as the command line has it: `8`, `0.05`, `90%`, `1/3`.

    Raises
    ------
    OdtError
        U321: it is no number.
    """
    match = re.fullmatch(r"\s*(-?\d{1,30}(?:\.\d{1,30}|/[1-9]\d{0,30})?)\s*(%?)\s*", text)
    if match is None:
        raise error(
            "U321", f"`{text}` is not a bound on an objective", helps=("write 8, 0.05, 1/3 or 90%",)
        )
    return Fraction(match[1]) / (100 if match[2] else 1)
