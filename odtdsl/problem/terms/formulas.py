"""Formulas of atoms: conditions without comparisons left, their negations and their clauses."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import assert_never

from odtdsl.problem.ir.forms import Budget, Linear, MaximaBound, PathTotal, SignedAtom
from odtdsl.problem.ir.maxima import cases, n_cases
from odtdsl.problem.terms.base import FALSE, TRUE, AllOf, AnyOf, Formula, Holds

MOST_CLAUSES = 2000

MOST_LITERALS = 1_000_000
"""That are written while a formula is distributed."""


class TooManyCases(Exception):
    """A formula that has too many clauses to be written down."""


def negated(formula: Formula) -> Formula:
    """The negation, on atoms: `not (n <= b)` is `-n <= -b - 1` for integer n and b."""
    match formula:
        case AllOf():
            return AnyOf(items=tuple(negated(item) for item in formula.items))
        case AnyOf():
            return AllOf(items=tuple(negated(item) for item in formula.items))
        case Holds(atom=Linear() as atom):
            minus = atom.measure.scaled(Fraction(-1))
            return Holds(atom=Linear(measure=minus, at_most=-atom.at_most - 1))
        case Holds(atom=Budget() as atom):
            less = atom.measure.scaled(Fraction(-1))
            return Holds(atom=Budget(measure=less, at_most=-atom.at_most - 1))
        case Holds(atom=PathTotal() as atom):
            minus = atom.measure.scaled(Fraction(-1))
            paths = atom.path_sum.scaled(Fraction(-1))
            return Holds(atom=PathTotal(measure=minus, path_sum=paths, at_most=-atom.at_most - 1))
        case Holds(atom=MaximaBound() as atom):  # one of the cases is above
            if n_cases(atom) > MOST_CLAUSES:
                raise TooManyCases
            return AnyOf(items=tuple(negated(Holds(atom=case)) for case in cases(atom)))
        case Holds():
            return Holds(atom=formula.atom, positive=not formula.positive)
        case _:
            assert_never(formula)


def at_most(k: int, items: tuple[Formula, ...]) -> Formula:
    """At most k of the items hold: of every k + 1 one fails."""
    if k >= len(items):
        return TRUE
    if k < 0:
        return FALSE
    if comb(len(items), k + 1) > MOST_CLAUSES:
        raise TooManyCases
    return AllOf(
        items=tuple(
            AnyOf(items=tuple(negated(item) for item in some))
            for some in combinations(items, k + 1)
        )
    )


def at_least(k: int, items: tuple[Formula, ...]) -> Formula:
    """At least k of the items hold: of every n - k + 1 one does."""
    return at_most(len(items) - k, tuple(negated(item) for item in items))


def clauses(formula: Formula) -> list[tuple[SignedAtom, ...]]:
    """Clauses by distribution; tautologies and repeated literals removed, order kept.

    Raises
    ------
    TooManyCases
        Before more than `MOST_CLAUSES` are held at once.
    """
    match formula:
        case Holds():
            return [(SignedAtom(atom=formula.atom, positive=formula.positive),)]
        case AllOf():
            found: list[tuple[SignedAtom, ...]] = []
            for item in formula.items:
                found += clauses(item)
                if len(found) > MOST_CLAUSES:
                    found = _few(_reduced(found))
            return _few(_reduced(found))
        case AnyOf():
            return _some(formula.items)
        case _:
            assert_never(formula)


def _some(items: tuple[Formula, ...]) -> list[tuple[SignedAtom, ...]]:
    """Clauses of a disjunction. Runs of literals are put in at once: there may be thousands."""
    found: list[tuple[SignedAtom, ...]] = [()]
    run: list[SignedAtom] = []
    written = 0
    for item in items:
        right = clauses(item)
        if len(right) == 1:
            run += right[0]
            continue
        if len(found) * len(right) > MOST_CLAUSES or written > MOST_LITERALS:
            raise TooManyCases
        written += len(found) * len(right) * len(run) + len(right) * sum(map(len, found))
        found = _reduced((*a, *run, *b) for a in found for b in right)
        run = []
    return _reduced((*a, *run) for a in found)


def _few(found: list[tuple[SignedAtom, ...]]) -> list[tuple[SignedAtom, ...]]:
    if len(found) > MOST_CLAUSES:
        raise TooManyCases
    return found


def _reduced(found: Iterable[tuple[SignedAtom, ...]]) -> list[tuple[SignedAtom, ...]]:
    kept = (tuple(dict.fromkeys(clause)) for clause in found)
    return list(dict.fromkeys(clause for clause in kept if not _tautology(clause)))


def _tautology(clause: tuple[SignedAtom, ...]) -> bool:
    true = {literal.atom for literal in clause if literal.positive}
    return any(not literal.positive and literal.atom in true for literal in clause)
