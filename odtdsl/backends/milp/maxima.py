"""The largest of sums as a column, and bounds on sums of such."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from odtdsl.backends.milp.encoding import Encoding
from odtdsl.backends.milp.program import Affine, Completion
from odtdsl.backends.milp.rows import RowMaker
from odtdsl.problem.ir.forms import Additive, MaximaBound, Origin
from odtdsl.problem.ir.maxima import in_digits, whole

BASE = 1_000
"""Of the digits of coefficients: what columns may be off by stays small against one step."""


def largest(
    encoding: Encoding, parts: tuple[Additive, ...], common: int, name: str, origin: Origin
) -> int:
    """A column that is at least each measure's numerator over the common denominator."""
    program = encoding.program
    sums = [Affine().add(encoding.of_model(part), common // part.denominator) for part in parts]
    reach = max(map(_reach, sums))
    column = program.column(name, lower=-reach, upper=reach)
    for position, part in enumerate(sums):
        row = part.copy().add_term(column, -1)
        program.row(f"{name}_{position}", origin, row, upper=0)
    program.completed_by(column, lambda point: max(part.at(point) for part in sums))
    return column


def _reach(expression: Affine) -> int:
    """What the size of an expression of 0-1 columns stays within."""
    return abs(expression.constant) + sum(map(abs, expression.terms.values()))


def bound(encoding: Encoding, atom: MaximaBound, row: RowMaker) -> None:
    """A column per maximum, and a row per digit of their coefficients."""
    whole_bound = whole(atom)
    terms = list(_terms(encoding, atom, row))
    coefficients = tuple(coefficient for coefficient, _ in whole_bound.terms)
    *lower, last = in_digits(coefficients, whole_bound.at_most, BASE)
    carry, most = Affine(), 0
    for place, digit in enumerate(lower):
        total, reach = _weighed(terms, digit.coefficients)
        total.add(carry).constant -= digit.at_most
        high = -(-(reach + most - digit.at_most) // BASE)
        low = -(-(-reach - most - digit.at_most) // BASE)
        column = encoding.program.column(
            row.part("carry", str(place)), lower=low, upper=high, integer=True
        )
        asked = total.copy().add_term(column, -BASE)
        always = row.always(f"digit{place}")
        always.at_most(asked, 0, reach + most - digit.at_most - BASE * low, "")
        encoding.program.completed_by(column, _carried(total))
        carry, most = Affine().add_term(column), max(abs(low), abs(high))
    total, reach = _weighed(terms, last.coefficients)
    row.at_most(total.add(carry), last.at_most, reach + most, "")


def _terms(encoding: Encoding, atom: MaximaBound, row: RowMaker) -> Iterator[tuple[Affine, int]]:
    """What the coefficients weigh, each with what its size stays within."""
    measure = encoding.of_model(atom.measure)
    yield measure, _reach(measure)
    for number, (_, parts) in enumerate(atom.maxima):
        common = lcm(*(part.denominator for part in parts))
        name = row.part("largest", str(number))
        column = largest(encoding, parts, common, name, row.origin)
        yield Affine().add_term(column), encoding.program.column_upper[column]


def _weighed(terms: list[tuple[Affine, int]], coefficients: tuple[int, ...]) -> tuple[Affine, int]:
    total, reach = Affine(), 0
    for (expression, within), coefficient in zip(terms, coefficients, strict=True):
        if coefficient:
            total.add(expression, coefficient)
            reach += coefficient * within
    return total, reach


def _carried(total: Affine) -> Completion:
    return lambda point: -(-total.at(point) // BASE)
