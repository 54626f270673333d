"""Formulas of atoms: conditions without comparisons left, their negations and their clauses."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import assert_never

from odtdsl.ir.forms import Budget, Linear, PathTotal, SignedAtom
from odtdsl.terms.base import FALSE, TRUE, AllOf, AnyOf, Formula, Holds

MOST_CLAUSES = 2000


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
    """Clauses by distribution; tautologies and repeated literals removed, order kept."""
    match formula:
        case Holds():
            return [(SignedAtom(atom=formula.atom, positive=formula.positive),)]
        case AllOf():
            found = [clause for item in formula.items for clause in clauses(item)]
        case AnyOf():
            found = [()]
            for item in formula.items:
                right = clauses(item)
                if len(found) * len(right) > MOST_CLAUSES:
                    raise TooManyCases
                found = _reduced((*a, *b) for a in found for b in right)
        case _:
            assert_never(formula)
    if len(found) > MOST_CLAUSES:
        raise TooManyCases
    return _reduced(found)


def _reduced(found: Iterable[tuple[SignedAtom, ...]]) -> list[tuple[SignedAtom, ...]]:
    kept = (tuple(dict.fromkeys(clause)) for clause in found)
    return list(dict.fromkeys(clause for clause in kept if not _tautology(clause)))


def _tautology(clause: tuple[SignedAtom, ...]) -> bool:
    return any(
        SignedAtom(atom=literal.atom, positive=not literal.positive) in clause for literal in clause
    )
