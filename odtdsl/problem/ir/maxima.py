"""Bounds on sums of maxima: as integers, in digits that solvers can take, and as their cases.

`a0 n + a1 max(...) + ... <= b` has one coefficient per maximum, where the cases, one measure of
each maximum taken together, are a bound each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import floor, gcd, lcm, prod

from odtdsl.base.frozen import dataclass
from odtdsl.problem.ir.forms import Additive, Clause, Core, Linear, MaximaBound, SignedAtom


def common_denominator(atom: MaximaBound) -> int:
    """A denominator of all values of the left side; as long as it needs to be."""
    found = atom.measure.denominator
    for factor, parts in atom.maxima:
        found = lcm(found, factor.denominator * _over(parts))
    return found


def _over(parts: tuple[Additive, ...]) -> int:
    return lcm(*(part.denominator for part in parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBound:
    """The sum of each coefficient times the largest of its numerators is at most `at_most`.

    Attributes
    ----------
    terms
        Coefficients above 0, without bound on their digits, and the numerators as measures with
        what raises each to the denominator of its maximum. The first is the measure itself.
    """

    terms: tuple[tuple[int, tuple[tuple[int, Additive], ...]], ...]
    at_most: int


def whole(atom: MaximaBound) -> WholeBound:
    """The bound on integers, its common divisor taken out."""
    over = common_denominator(atom)
    terms: list[tuple[int, tuple[tuple[int, Additive], ...]]] = [
        (over // atom.measure.denominator, ((1, atom.measure),))
    ]
    for factor, parts in atom.maxima:
        common = _over(parts)
        raised = tuple((common // part.denominator, part) for part in parts)
        terms.append((int(factor * over / common), raised))
    divisor = gcd(*(coefficient for coefficient, _ in terms))
    return WholeBound(
        terms=tuple((coefficient // divisor, parts) for coefficient, parts in terms),
        at_most=floor(atom.at_most * over / divisor),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Digit:
    """A row of `in_digits`: coefficients from 0 to base - 1, and the bound."""

    coefficients: tuple[int, ...]
    at_most: int


def in_digits(coefficients: tuple[int, ...], at_most: int, base: int) -> tuple[Digit, ...]:
    """`sum of a_k x_k <= b` for integers x as rows of small coefficients, the lowest digit first.

    With integers c between them: `sum of digit_j(a_k) x_k + c_(j-1) - b_j <= base * c_j`, and
    in the last row 0 on the right. c_j may be as small as the row lets it, which is the ceiling
    of the left side over the base, and for integers x and y `x + base y <= 0` iff
    `ceil(x / base) + y <= 0`. So the rows have a solution c iff the sum is within the bound.
    """
    rows: list[Digit] = []
    rest, left = coefficients, at_most
    while max(rest) >= base:
        left, low = divmod(left, base)
        rows.append(Digit(coefficients=tuple(a % base for a in rest), at_most=low))
        rest = tuple(a // base for a in rest)
    return (*rows, Digit(coefficients=rest, at_most=left))


# ---- cases

MOST_CASES = 2_000
"""That are written out."""


def n_cases(atom: MaximaBound) -> int:
    """How many linear bounds the atom stands for: the product of the sizes of its maxima."""
    return prod(len(parts) for _, parts in atom.maxima)


def cases(atom: MaximaBound) -> Iterator[Linear]:
    """The bounds that the atom stands for, one for each choice of a measure per maximum.

    Raises
    ------
    OdtError
        R301: their common denominators have too many digits.
    """
    for chosen in product(*(parts for _, parts in atom.maxima)):
        total = atom.measure
        for (factor, _), part in zip(atom.maxima, chosen, strict=True):
            total = total + part.scaled(factor)
        yield Linear(measure=total, at_most=floor(atom.at_most * total.denominator))


def too_many(core: Core) -> tuple[tuple[Clause, int], ...]:
    """The clauses with more cases than are written out, and how many these are."""
    counts = ((clause, _n_written(clause)) for clause in core.clauses)
    return tuple((clause, count) for clause, count in counts if count > MOST_CASES)


def _n_written(clause: Clause) -> int:
    atoms = (literal.atom for literal in clause.literals)
    return prod(n_cases(atom) for atom in atoms if isinstance(atom, MaximaBound))


def written_out(core: Core) -> Core:
    """The same problem with the cases of sums of maxima in their place.

    Raises
    ------
    OdtError
        As `cases` tells.
    """
    if not any(isinstance(x.atom, MaximaBound) for c in core.clauses for x in c.literals):
        return core
    clauses: list[Clause] = []
    for clause in core.clauses:
        choices = [
            [SignedAtom(atom=case) for case in cases(literal.atom)]
            if isinstance(literal.atom, MaximaBound)
            else [literal]
            for literal in clause.literals
        ]
        clauses += [replace(clause, literals=literals) for literals in product(*choices)]
    return replace(core, clauses=tuple(clauses))
