"""From rules on leaf outputs to a union of polyhedra.

Disjunctions are multiplied out syntactically as long as few pieces come of it; what would be
too many stays a choice inside its pieces, for branch and bound. Counts of targets that leave
an interval, and values of one target with gaps between them, are never multiplied out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, gcd

from odtdsl.base.diagnostics.model import error
from odtdsl.problem.ir.expr import Condition
from odtdsl.problem.outputs.formula import (
    FALSE,
    TRUE,
    All,
    Any,
    AtLeast,
    Formula,
    Key,
    Part,
    conjunction,
    either,
    formula,
    snapped,
)
from odtdsl.problem.outputs.union import (
    FREE,
    Apart,
    Interval,
    OutputUnion,
    Piece,
    Range,
    apart,
    is_empty,
    meet,
    within,
)

MAX_PIECES = 64
"""Pieces that are multiplied out; beyond, disjunctions stay choices."""
MOST_ALTERNATIVES = 5_000
"""Alternatives of one choice, or of a count that is no count of single targets."""

ONE = Fraction(1)


@dataclass(slots=True)
class _Draft:
    """A piece in the making; intervals of several targets that have gaps are not in it."""

    ranges: dict[Key, Interval] = field(default_factory=dict)
    gaps: tuple[tuple[int, Fraction, Fraction], ...] = ()
    counts: tuple[AtLeast, ...] = ()

    def copy(self) -> _Draft:
        return _Draft(dict(self.ranges), self.gaps, self.counts)

    def narrow(self, key: Key, interval: Interval) -> bool:
        """Take a range in; False where nothing is left of it."""
        self.ranges[key] = meet(self.ranges.get(key, FREE), interval)
        return not is_empty(self.ranges[key])

    def has(self, part: Part) -> bool:
        """Whether a part holds already."""
        mine = self.ranges.get(part.key, FREE)
        return any(within(mine, one) for one in part.intervals)

    def refuses(self, part: Part) -> bool:
        mine = self.ranges.get(part.key, FREE)
        return all(apart(mine, one) for one in part.intervals)


class _Compiler:
    def __init__(self, steps: tuple[Fraction | None, ...]) -> None:
        self.steps = steps

    def run(self, conditions: Iterable[Condition]) -> OutputUnion:
        whole = _opened(self.on_grid(conjunction([formula(one) for one in conditions])))
        items = list(whole.items) if isinstance(whole, All) else [whole]
        first = _Draft()
        drafts = [first] if self.take(first, [i for i in items if not isinstance(i, Any)]) else []
        choices: list[Any] = []
        for one in sorted((i for i in items if isinstance(i, Any)), key=lambda i: len(i.items)):
            grown = self.multiplied(drafts, one)
            if len(grown) > MAX_PIECES and len(grown) > len(drafts):
                choices.append(one)
            else:
                drafts = grown
        flat = tuple(self.choice(one) for one in choices)
        pieces = [piece for draft in drafts if (piece := self.piece(draft, flat)) is not None]
        return OutputUnion(steps=self.steps, pieces=tuple(_largest(pieces)))

    def on_grid(self, node: Formula) -> Formula:
        """Parts moved to the grid of their targets: sums of grid values lie on a grid too."""
        match node:
            case Part():
                intervals = snapped(node.intervals, self.grid_of(node.key))
                return Part(key=node.key, intervals=intervals) if intervals else FALSE
            case All():
                return conjunction([self.on_grid(item) for item in node.items])
            case Any():
                return either([self.on_grid(item) for item in node.items])
            case AtLeast():
                items = tuple(self.on_grid(item) for item in node.items)
                return AtLeast(least=node.least, items=items)

    def grid_of(self, key: Key) -> Fraction | None:
        """The step of a sum of targets: the largest that divides all their steps."""
        found = Fraction(0)
        for target, factor in key:
            step = self.steps[target]
            if step is None:
                return None
            one = abs(factor) * step
            found = Fraction(
                gcd(found.numerator * one.denominator, one.numerator * found.denominator),
                found.denominator * one.denominator,
            )
        return found

    def take(self, draft: _Draft, items: Sequence[Formula]) -> bool:
        """Take in what is no disjunction; False where nothing can hold."""
        for item in items:
            match item:
                case Part(key=key, intervals=intervals):
                    if not draft.narrow(key, (intervals[0][0], intervals[-1][1])):
                        return False
                    if len(intervals) > 1:
                        draft.gaps += _gaps(key, intervals)
                case AtLeast():
                    draft.counts += (item,)
                case All():
                    if not self.take(draft, item.items):
                        return False
                case Any():
                    return False  # FALSE: others are multiplied out before
        return True

    def multiplied(self, drafts: list[_Draft], node: Any) -> list[_Draft]:
        """Each draft with each alternative, but where one holds already or none can."""
        found: list[_Draft] = []
        for draft in drafts:
            if any(isinstance(item, Part) and draft.has(item) for item in node.items):
                found.append(draft)
                continue
            for item in node.items:
                found += self.with_(draft, item)
        return found

    def with_(self, draft: _Draft, item: Formula) -> list[_Draft]:
        if isinstance(item, Part) and draft.refuses(item):
            return []
        parts = item.items if isinstance(item, All) else (item,)
        copy = draft.copy()
        if not self.take(copy, [part for part in parts if not isinstance(part, Any)]):
            return []
        drafts = [copy]
        for part in parts:
            if isinstance(part, Any):
                drafts = self.multiplied(drafts, part)
                _few(len(drafts))
        return drafts

    # ---- what is left for branch and bound

    def choice(self, node: Any) -> tuple[tuple[Range, ...], ...]:
        """A disjunction as alternatives of plain ranges."""
        found: list[tuple[Range, ...]] = []
        for draft in self.multiplied([_Draft()], self.plain(node)):
            found.append(
                tuple(
                    Range(factors=key, low=interval[0], high=interval[1])
                    for key, interval in draft.ranges.items()
                )
            )
            _few(len(found))
        return tuple(found)

    def plain(self, node: Formula) -> Any:
        """A formula whose parts are single intervals, and without counts."""
        made = self._plain(node)
        return made if isinstance(made, Any) else Any(items=(made,))

    def _plain(self, node: Formula) -> Formula:
        match node:
            case Part():
                each = [Part(key=node.key, intervals=(one,)) for one in node.intervals]
                return each[0] if len(each) == 1 else Any(items=tuple(each))
            case AtLeast():
                return self._plain(_subsets(node))
            case All():
                return All(items=tuple(self._plain(item) for item in node.items))
            case Any():
                flat: list[Formula] = []
                for item in node.items:
                    made = self._plain(item)
                    flat += made.items if isinstance(made, Any) else [made]
                return Any(items=tuple(flat))

    # ---- pieces

    def piece(
        self, draft: _Draft, choices: tuple[tuple[tuple[Range, ...], ...], ...]
    ) -> Piece | None:
        """The finished piece; None where a bound or a count leaves nothing."""
        counts: list[Apart] = []
        for count in draft.counts:
            native = _apart(count)
            if native is None:
                choices = (*choices, self.choice(Any(items=(count,))))
            else:
                counts.append(native)
        bounds = [
            snapped([draft.ranges.get(((target, ONE),), FREE)], step)
            for target, step in enumerate(self.steps)
        ]
        if not all(bounds):
            return None
        return Piece(
            bounds=tuple(one[0] for one in bounds),
            gaps=_merged(draft.gaps),
            ranges=tuple(
                Range(factors=key, low=low, high=high)
                for key, (low, high) in sorted(draft.ranges.items())
                if len(key) > 1 and (low, high) != FREE
            ),
            counts=tuple(counts),
            choices=choices,
        )


def _opened(node: Formula) -> Formula:
    """Several intervals of a sum of targets as alternatives: only single targets have gaps."""
    match node:
        case Part() if len(node.key) > 1 and len(node.intervals) > 1:
            return Any(items=tuple(Part(key=node.key, intervals=(i,)) for i in node.intervals))
        case Part():
            return node
        case All():
            return All(items=tuple(_opened(item) for item in node.items))
        case AtLeast():
            return AtLeast(least=node.least, items=tuple(_opened(item) for item in node.items))
        case Any():
            opened = [_opened(item) for item in node.items]
            flat = [
                part for one in opened for part in (one.items if isinstance(one, Any) else (one,))
            ]
            return Any(items=tuple(flat))


def _gaps(key: Key, intervals: Sequence[Interval]) -> tuple[tuple[int, Fraction, Fraction], ...]:
    assert len(key) == 1, "forms of several targets are multiplied out before"
    found: list[tuple[int, Fraction, Fraction]] = []
    for (_, below), (above, _) in pairwise(intervals):
        assert below is not None
        assert above is not None
        found.append((key[0][0], below, above))
    return tuple(found)


def _merged(
    gaps: tuple[tuple[int, Fraction, Fraction], ...],
) -> tuple[tuple[int, Fraction, Fraction], ...]:
    """Overlapping gaps of a target as one."""
    found: list[tuple[int, Fraction, Fraction]] = []
    for target, low, high in sorted(set(gaps)):
        if found and found[-1][0] == target and low < found[-1][2]:
            found[-1] = (target, found[-1][1], max(high, found[-1][2]))
        else:
            found.append((target, low, high))
    return tuple(found)


def _apart(count: AtLeast) -> Apart | None:
    """A count of single targets, each in one interval; None for others."""
    inside: list[tuple[int, Fraction | None, Fraction | None]] = []
    for item in count.items:
        if not isinstance(item, Part) or len(item.key) > 1 or len(item.intervals) > 1:
            return None
        ((target, _),) = item.key
        inside.append((target, *item.intervals[0]))
    if len({target for target, _, _ in inside}) < len(inside):
        return None
    return Apart(most=len(inside) - count.least, inside=tuple(inside))


def _subsets(count: AtLeast) -> Formula:
    _few(comb(len(count.items), count.least))
    return either([conjunction(some) for some in combinations(count.items, count.least)])


def _few(n: int) -> None:
    if n > MOST_ALTERNATIVES:
        raise error(
            "R302",
            f"the rules on outputs expand to more than {MOST_ALTERNATIVES} alternatives",
            helps=("in `count`, use comparisons of one target each, or fewer conditions",),
        )


def _largest(pieces: list[Piece]) -> list[Piece]:
    """Without the pieces that plainly lie in another one; of equals the first stays."""
    unique = list(dict.fromkeys(pieces))
    return [a for a in unique if not any(a is not b and _inside(a, b) for b in unique)]


def _inside(a: Piece, b: Piece) -> bool:
    if not all(within(x, y) for x, y in zip(a.bounds, b.bounds, strict=True)):
        return False
    mine = {one.factors: (one.low, one.high) for one in a.ranges}
    return (
        all(within(mine.get(one.factors, FREE), (one.low, one.high)) for one in b.ranges)
        and set(b.gaps) <= set(a.gaps)
        and set(b.counts) <= set(a.counts)
        and set(b.choices) <= set(a.choices)
    )


def compile_outputs(
    conditions: Sequence[Condition], steps: tuple[Fraction | None, ...]
) -> OutputUnion:
    """The union of polyhedra where all conditions hold; without pieces where nothing does.

    Parameters
    ----------
    conditions
        Of rules on leaf outputs, as analysis leaves them.
    steps
        The grid of each target; None without one.

    Raises
    ------
    OdtError
        R302: a disjunction of too many alternatives.
    """
    return _Compiler(steps).run(conditions)


__all__ = ["FALSE", "TRUE", "compile_outputs"]
