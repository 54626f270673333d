"""Bounds on weighted sums of literals, as clauses."""

from __future__ import annotations

from collections import Counter as Multiset
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd, prod

from odtdsl.backends.clauses.formula import Bound, Formula
from odtdsl.base.diagnostics.model import error

MAX_CLAUSE_SUM = 2**62
"""Weights of a sum that is written as clauses stay below this together: where they leave 64 bits,
the encoder (pindakaas 0.6) ends with a TypeError, or writes clauses that admit something else."""

FEW_SUMS = 4_000_000
"""Literals times partial sums, up to which a sum is written by its values and not as an adder."""

SMALL_BOUND = 60_000
"""Literals times bound, likewise."""


@dataclass(slots=True, kw_only=True)
class Terms:
    """constant + the sum of the weights of the literals that are true."""

    constant: int = 0
    weights: dict[int, int] = field(default_factory=dict)
    """By variable, the weight of its positive literal."""

    def add(self, literal: int | bool, weight: int) -> None:
        """Add a multiple of a literal; a negative literal counts 1 where its variable is false."""
        if isinstance(literal, bool):
            self.constant += weight * literal
            return
        if literal < 0:  # weight * (1 - x)
            self.constant += weight
            weight = -weight
        variable = abs(literal)
        self.weights[variable] = self.weights.get(variable, 0) + weight

    def value(self, true: set[int]) -> int:
        """The sum where these variables are true."""
        return self.constant + sum(w for variable, w in self.weights.items() if variable in true)

    def positive(self) -> tuple[int, list[tuple[int, int]]]:
        """The same as a constant and literals of positive weights."""
        constant, found = self.constant, []
        for variable, weight in self.weights.items():
            if weight > 0:
                found.append((variable, weight))
            elif weight < 0:
                constant += weight
                found.append((-variable, -weight))
        return constant, found


def at_most(formula: Formula, terms: Terms, bound: int, guard: tuple[int, ...] = ()) -> None:
    """The sum is at most the bound, or one of the guard's literals is true."""
    constant, weighted = terms.positive()
    slack = bound - constant
    if slack < 0:
        formula.add(*guard)
        return
    for literal, weight in weighted:
        if weight > slack:
            formula.add(*guard, -literal)
    weighted = [(literal, weight) for literal, weight in weighted if weight <= slack]
    if sum(weight for _, weight in weighted) <= slack:
        return
    common = gcd(*(weight for _, weight in weighted))
    literals = [literal for literal, _ in weighted]
    weights = [weight // common for _, weight in weighted]
    slack //= common
    if slack == 0:
        formula.extend([(-literal,) for literal in literals], guard)
    elif formula.bounds is not None:
        kept = tuple(zip(literals, weights, strict=True))
        formula.bounds.append(
            Bound(groups=len(formula.groups), weighted=kept, most=slack, guard=guard)
        )
    elif max(weights) == 1:
        _count(formula, literals, slack, guard)
    else:
        _weigh(formula, literals, weights, slack, guard)


def _count(formula: Formula, literals: list[int], most: int, guard: tuple[int, ...]) -> None:
    from pysat.card import CardEnc, EncType

    encoding = EncType.seqcounter if most <= 3 else EncType.kmtotalizer
    made = CardEnc.atmost(lits=literals, bound=most, top_id=formula.top, encoding=encoding)
    formula.counted(made.nv, "of a counter")
    formula.extend(made.clauses, guard)


class Counter:
    """A totalizer of literals whose bound can fall from `most`: every bound is one literal.

    Neighbours are added up first: where the literals are slots of a tree, every sum is that of a
    subtree, and what a solver learns of one stays in it.

    Source: Bailleux and Boufkhad, "Efficient CNF encoding of Boolean cardinality constraints"
    (CP 2003).
    """

    def __init__(self, formula: Formula, literals: list[int], most: int) -> None:
        self.most, self._count, self._formula = most, len(literals), formula
        counts = [[literal] for literal in literals]
        while len(counts) > 1:
            pairs = zip(counts[::2], counts[1::2], strict=False)
            counts = [self._both(*pair) for pair in pairs] + counts[len(counts) // 2 * 2 :]
        self._at_least = counts[0] if counts else []

    def _both(self, left: list[int], right: list[int]) -> list[int]:
        """Literals that so many of both sides, from 1 to the first that is too many, are true."""
        formula = self._formula
        found: list[int] = formula.block(
            lambda index: f"{index + 1} of a counter for {title}",
            min(len(left) + len(right), self.most + 1),
        ).tolist()
        title = formula.groups[-1].title if formula.groups else ""
        formula.extend(
            (*(-one for one in (*left[i - 1 : i], *right[j - 1 : j])), found[i + j - 1])
            for i in range(len(left) + 1)
            for j in range(len(right) + 1)
            if 0 < i + j <= len(found)
        )
        formula.extend((-more, less) for less, more in pairwise(found))
        return found

    def at_most(self, most: int) -> int | None:
        """The literal that bounds the count; None where nothing exceeds the bound."""
        assert most <= self.most, "the counter does not count so far"
        return -self._at_least[most] if most < self._count else None


def _weigh(
    formula: Formula, literals: list[int], weights: list[int], most: int, guard: tuple[int, ...]
) -> None:
    from pysat.pb import EncType, PBEnc

    if sum(weights) >= MAX_CLAUSE_SUM:
        raise error(
            "B220",
            "a rule or the objective has numbers with too many digits for clauses",
            helps=("round weights, costs or bounds to fewer decimals",),
        )
    way = EncType.best if _has_few_sums(weights, most) else EncType.adder
    made = PBEnc.atmost(
        lits=literals, weights=weights, bound=most, top_id=formula.top, encoding=way
    )
    formula.counted(made.nv, "of an adder")
    formula.extend(made.clauses, guard)


def _has_few_sums(weights: list[int], most: int) -> bool:
    """Whether clauses by the values of partial sums, which solvers reason with best, stay few.

    Their number is known only when they are written, and may be 15 million for 240 literals. An
    adder has some 80 clauses a literal.
    """
    n, sums = len(weights), prod(count + 1 for count in Multiset(weights).values())
    return n * sums <= FEW_SUMS or n * most <= SMALL_BOUND
