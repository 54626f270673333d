"""What each rule costs: the optimum without it against the optimum with all.

The best value can only fall where rules fall away. So a proven optimum of fewer rules bounds
that of more from below, and any tree that keeps a rule set bounds its optimum from above. Where
the two bounds meet nothing is searched: if the optimum without any rule keeps all but one, it is
the optimum without that one; if it is as good as the optimum with all, every price is 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from odtdsl.auditor.audit import Audit, AuditLine, audit
from odtdsl.backends.base import Limits
from odtdsl.backends.registry import back_end
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.numbers import as_number, only
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result
from odtdsl.insight.explanations.oracle import Constraint, no_progress
from odtdsl.insight.explanations.variants import Vector, compared, signed, without
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.expr import Apply
from odtdsl.problem.ir.problem import Problem

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis

FIRST_SHARE = 0.5
"""Of a time limit, what the search with all rules may take."""

WIDER_SECONDS, WIDER_FACTOR = 10.0, 3.0
"""Without a time limit, a search of a wider skeleton may take so long, or so many times as long
as the longest of the others: a level more can take a thousand times as long."""

Members = frozenset[Constraint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A number between two that are proven; None where nothing is. Equal ends say it."""

    low: Fraction | None
    high: Fraction | None

    @property
    def proven(self) -> bool:
        """Whether both ends are known and equal."""
        return self.low is not None and self.low == self.high

    def to_json(self) -> dict[str, Any]:
        """`low` and `high`, `null` where unknown."""
        return {"low": as_number(self.low), "high": as_number(self.high)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a rule, or a bound of the skeleton, costs.

    Attributes
    ----------
    constraint
        The rule or bound; None for all rules of the spec together.
    binds
        Whether the best value is better without it: proven, or None where that is undecided.
    without
        The best value of each stage without it; None for a stage behind one that is open.
    price
        By how much each stage is worse with it, in the stage's own units; as `without`.
    errors
        Weight of wrong rows (rows, without weights) of the best tree found with all rules, less
        that of the best found without this one; None for number targets.
    rows
        The price in such rows, where the first stage counts nothing but errors.
    value, bound, slack, days
        Of the rule on the best tree found with all rules, as in an audit.
    tree
        The best tree found without it.
    """

    constraint: Constraint | None
    binds: bool | None
    without: tuple[Range | None, ...]
    price: tuple[Range | None, ...]
    errors: Fraction | None = None
    rows: Range | None = None
    value: Fraction | None = None
    bound: Fraction | None = None
    slack: Fraction | None = None
    days: bool = False
    tree: Tree | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name of the rule or bound, or `all rules`."""
        return "all rules" if self.constraint is None else self.constraint.name

    @property
    def proven(self) -> bool:
        """Whether the price of every stage is known exactly."""
        return all(one is not None and one.proven for one in self.price)

    def to_json(self) -> dict[str, Any]:
        """As in `odt explain --json`."""
        return {
            "kind": "all" if self.constraint is None else self.constraint.kind,
            "name": self.name,
            "binds": self.binds,
            "proven": self.proven,
            "price": only(tuple(None if one is None else one.to_json() for one in self.price)),
            "without": only(tuple(None if one is None else one.to_json() for one in self.without)),
            "errors": as_number(self.errors),
            "rows": None if self.rows is None else self.rows.to_json(),
            "value": as_number(self.value),
            "bound": as_number(self.bound),
            "slack": as_number(self.slack),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of a spec.

    Attributes
    ----------
    optimum
        The answer with all rules: the best tree found, and what is proven of it.
    best
        The best value of each stage with all rules, as in `Price.without`.
    searches
        How many optima were searched for; others followed from these.
    """

    optimum: Result
    best: tuple[Range | None, ...]
    prices: tuple[Price, ...]
    searches: int
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """As in `odt explain --json`."""
        return {
            "optimum": self.optimum.to_json(),
            "best": only(tuple(None if one is None else one.to_json() for one in self.best)),
            "prices": [one.to_json() for one in self.prices],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Met:
    """A tree, what it keeps, and its values."""

    tree: Tree
    keeps: Members
    values: Vector
    audit: Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Optimum:
    """What is known of the best value of a set of constraints."""

    low: Vector
    met: _Met | None


class _Optima:
    """Optima of sets of constraints, from as few searches as possible."""

    def __init__(
        self,
        analysis: Analysis,
        constraints: tuple[Constraint, ...],
        backend: str,
        limits: Limits,
        *,
        deeper: int,
        tell: Callable[[str], None],
    ) -> None:
        self.tell = tell
        self.analysis, self.constraints, self.backend = analysis, constraints, backend
        self.limits, self.deeper = limits, deeper
        self.all_members: Members = frozenset(constraints)
        self.interrupted, self.searches, self.longest = False, 0, 0.0
        self._met: list[_Met] = []
        self._low: list[tuple[Members, Vector]] = []

    @property
    def problem(self) -> Problem:
        return self.analysis.problem

    def add(self, tree: Tree) -> _Met:
        """A tree that was found, whatever for."""
        found = audit(tree, self.analysis.rows)
        broken = {line.rule for line in found.lines if not line.holds}
        met = _Met(
            tree=tree,
            keeps=frozenset(one for one in self.constraints if one.name not in broken),
            values=signed(self.problem, found.objective),
            audit=found,
        )
        self._met.append(met)
        return met

    def known(self, members: Members) -> _Optimum:
        """What earlier searches say of a set."""
        best: _Met | None = None
        for met in self._met:
            if members <= met.keeps and (best is None or self._less(met.values, best.values)):
                best = met
        low: Vector = ()
        for fewer, bound in self._low:
            if fewer <= members and self._less(low, bound):
                low = bound
        return _Optimum(low=low, met=best)

    def _less(self, a: Vector, b: Vector) -> bool:
        return compared(self.problem, a, b) < 0

    def is_closed(self, members: Members) -> bool:
        known = self.known(members)
        return known.met is not None and not self._less(known.low, known.met.values)

    def search(self, members: Members, seconds: float | None) -> Result | None:
        """Search the best tree of a set; None where there is no time."""
        if self.stopped():
            return None
        asked = without(self.analysis, self.all_members - members, self.deeper)
        known, began = self.known(members), time.monotonic()
        self.searches += 1
        self.tell(f"search {self.searches}: {self._wanted(members)}")
        try:
            result = solve(
                asked,
                backend=self.backend,
                seconds=seconds,
                gap=Fraction(0),
                variant=back_end(self.backend).for_questions,
                memory_bytes=self.limits.memory_bytes,
                start=None if known.met is None else known.met.tree,
            )
        except OdtError as refused:  # a wider skeleton can be too large for a back end
            if any(one.code.startswith("X") for one in refused.diagnostics):
                raise
            return None
        self.longest = max(self.longest, time.monotonic() - began)
        self.interrupted = self.interrupted or result.interrupted
        if result.tree is not None:
            self.add(result.tree)
        self._low.append((members, signed(self.problem, tuple(_bounds(result)))))
        return result

    def _wanted(self, members: Members) -> str:
        relaxed = self.all_members - members
        if not relaxed:
            return "the best tree under all rules"
        if len(relaxed) > 1:
            return "the best tree without any rule"
        return f"the best tree without `{next(iter(relaxed)).name}`"

    def stopped(self) -> bool:
        """Whether the time is over, or the user has interrupted."""
        self.interrupted = self.interrupted or self.limits.interrupted()
        return self.interrupted or (self.left() == 0.0)

    def left(self) -> float | None:
        """Seconds until the deadline."""
        return self.limits.left()


def _bounds(result: Result) -> Iterator[Fraction]:
    """Proven bounds of the stages, up to the first that is open."""
    for stage in result.stages:
        if stage.proven and stage.value is not None:
            yield stage.value
            continue
        if stage.bound is not None:
            yield stage.bound
        return


def price_rules(
    analysis: Analysis,
    constraints: tuple[Constraint, ...],
    backend: str,
    limits: Limits,
    *,
    deeper: int = 1,
    start: Tree | None = None,
    tell: Callable[[str], None] = no_progress,
) -> Prices | None:
    """The price of each rule and bound of the skeleton, of a spec that a tree keeps.

    Parameters
    ----------
    analysis
        The spec, resolved.
    constraints
        What to price, as `insight.explanations.conflicts.constraints` gives it.
    backend
        A back end that expresses the spec.
    limits
        The deadline of all searches, the memory of one, and whether to stop, which is looked at
        between searches; searches notice Ctrl-C by themselves.
    deeper
        The depth counts as relaxed where so many levels more are allowed.
    start
        A tree that satisfies all rules.
    tell
        Called before each search with what is searched for, in words.

    Returns
    -------
    Prices
        None where the time was over before a tree was searched for.
    """
    optima = _Optima(
        analysis,
        constraints,
        backend,
        limits,
        deeper=deeper,
        tell=tell,
    )
    if start is not None:
        optima.add(start)
    left = optima.left()
    optimum = optima.search(optima.all_members, None if left is None else FIRST_SHARE * left)
    if optimum is None:
        return None
    questions = tuple(_questions(optima))
    for at, (_, members) in enumerate(questions):
        if not optima.is_closed(members):
            optima.search(members, _share(optima, members, len(questions) - at))
    return _Told(optima, optimum).prices(questions)


def _questions(optima: _Optima) -> Iterator[tuple[Constraint | None, Members]]:
    """What is relaxed, and the rest: all rules first, because that answers most of the others."""
    rules = frozenset(one for one in optima.constraints if one.kind == "rule")
    if len(rules) > 1:
        yield None, optima.all_members - rules
    for one in optima.constraints:
        yield one, optima.all_members - {one}


def _share(optima: _Optima, members: Members, open_questions: int) -> float | None:
    """Seconds of one search; a wider skeleton is not searched without end."""
    left = optima.left()
    if left is not None:
        return left / open_questions
    relaxed = optima.all_members - members
    if all(one.kind == "rule" for one in relaxed):
        return None
    return max(WIDER_SECONDS, WIDER_FACTOR * optima.longest)


class _Told:
    """From what is known of the optima to prices in the terms of the spec."""

    def __init__(self, optima: _Optima, optimum: Result) -> None:
        self.optima, self.problem, self.optimum = optima, optima.problem, optimum
        self.all = optima.known(optima.all_members)
        lines = () if self.all.met is None else self.all.met.audit.lines
        self.lines: dict[str, AuditLine] = {line.rule: line for line in lines}

    def prices(self, questions: tuple[tuple[Constraint | None, Members], ...]) -> Prices:
        optima = self.optima
        found = tuple(self._price(constraint, members) for constraint, members in questions)
        together = found[:1] if len(found) > 1 and found[0].constraint is None else ()
        return Prices(
            optimum=self.optimum,
            best=tuple(self._ranges(self.all)),
            prices=found[len(together) :] + together,
            searches=optima.searches,
            interrupted=optima.interrupted,
        )

    def _price(self, constraint: Constraint | None, members: Members) -> Price:
        fewer = self.optima.known(members)
        prices = tuple(self._differences(fewer))
        line = None if constraint is None else self.lines.get(constraint.name)
        return Price(
            constraint=constraint,
            binds=self._binds(fewer),
            without=tuple(self._ranges(fewer)),
            price=prices,
            errors=self._errors(fewer),
            rows=self._rows(prices[0]),
            value=None if line is None else line.value,
            bound=None if line is None else line.bound,
            slack=None if line is None else line.slack,
            days=line is not None and line.days,
            tree=None if fewer.met is None else fewer.met.tree,
        )

    def _binds(self, fewer: _Optimum) -> bool | None:
        low, met = self.all.low, self.all.met
        if fewer.met is not None and compared(self.problem, low, fewer.met.values) > 0:
            return True
        if met is not None and compared(self.problem, fewer.low, met.values) >= 0:
            return False
        return None

    def _errors(self, fewer: _Optimum) -> Fraction | None:
        mine = None if self.all.met is None else self.all.met.audit.errors
        theirs = None if fewer.met is None else fewer.met.audit.errors
        return None if mine is None or theirs is None else mine - theirs

    def _rows(self, price: Range | None) -> Range | None:
        """The price of a stage that is errors, or a share of them, in rows."""
        measure = self.problem.objective[0].measure
        if price is None or not isinstance(measure, Apply) or measure.args:
            return None
        rows = self.optima.analysis.rows
        whole = Fraction(int(rows.weights.sum()), rows.weight_denominator)
        factor = {"errors": Fraction(1), "error_rate": whole, "accuracy": whole}.get(measure.term)
        if factor is None:
            return None
        return Range(
            low=None if price.low is None else price.low * factor,
            high=None if price.high is None else price.high * factor,
        )

    def _ranges(self, known: _Optimum) -> Iterator[Range | None]:
        """The best value of each stage, in the terms of the spec."""
        for stage, one in zip(self.problem.objective, self._signed(known), strict=True):
            if one is None or stage.sense == "minimize":
                yield one
            else:
                yield Range(
                    low=None if one.high is None else -one.high,
                    high=None if one.low is None else -one.low,
                )

    def _signed(self, known: _Optimum) -> tuple[Range | None, ...]:
        """Of each stage, with less being better; None behind one that is open."""
        found: list[Range | None] = []
        is_open = False
        for at in range(len(self.problem.objective)):
            low = known.low[at] if at < len(known.low) else None
            high = None if known.met is None else known.met.values[at]
            if low is not None and high is not None and self._same(low, high):
                low = high
            found.append(None if is_open else Range(low=low, high=high))
            is_open = is_open or low is None or low != high
        return tuple(found)

    def _same(self, a: Fraction, b: Fraction) -> bool:
        return compared(self.problem, (a,), (b,)) == 0

    def _differences(self, fewer: _Optimum) -> Iterator[Range | None]:
        """By how much each stage is worse with all: at least 0 as far as earlier ones are even."""
        even = True
        for mine, theirs in zip(self._signed(self.all), self._signed(fewer), strict=True):
            if mine is None or theirs is None:
                yield None
                even = False
                continue
            low, high = _less(mine.low, theirs.high), _less(mine.high, theirs.low)
            if even:
                low = Fraction(0) if low is None else max(low, Fraction(0))
            if high is not None and low is not None and self._same(low, high):
                high = low
            yield Range(low=low, high=high)
            even = even and low == high == 0


def _less(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a - b


__all__ = ["Price", "Prices", "Range", "price_rules"]
