"""All reduced axis diagrams of a tiny core, by plain enumeration; and random ones.

The base of proofs for back ends: the set of admitted diagrams is those of `all_diagrams` that
break nothing, and `best_priced` is an optimum without a search tree.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import chain, product
from typing import Any

import numpy as np

from odtdsl.problem.ir.diagrams import DiagramEvaluation, sends_left
from odtdsl.problem.ir.evaluate import test_fault as fault_of
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.planes import planes
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawPlane, RawTest

Key = tuple[int, tuple[tuple[tuple[Any, ...], ...], ...]]
Splits = list[tuple[RawTest, frozenset[int]]]


def widths_of(core: Core) -> tuple[int, ...]:
    assert isinstance(core.skeleton, DiagramSkeleton)
    return core.skeleton.widths


def splits_at(core: Core, rows: tuple[int, ...], level: int) -> Splits:
    """The tests that may part some rows at a level, one for each family and left side."""
    inside = np.asarray(rows, dtype=np.int64)
    found: dict[tuple[int, frozenset[int]], RawTest] = {}
    for index, family in enumerate(core.families):
        for test in range(family.n_tests):
            split = RawTest(family=index, test=test)
            if fault_of(core, split, inside, level) is None:
                left = frozenset(inside[sends_left(core, split, inside)].tolist())
                found.setdefault((index, left), split)
    return [(split, left) for (_, left), split in found.items()]


def all_diagrams(core: Core, *, filters: bool = True) -> Iterator[RawDiagram]:
    """Every reduced diagram once: nodes of a layer in the order in which arcs lead to them.

    Splits obey candidates and filters; clauses are not asked.
    """
    for label in range(core.n_classes):
        yield RawDiagram(entry=~label)

    @cache
    def splits(rows: frozenset[int], level: int) -> Splits:
        return splits_at(core, tuple(sorted(rows)), level)

    yield from _grown(core, splits, (), (frozenset(range(core.n_rows)),))


def _grown(
    core: Core,
    splits: Callable[[frozenset[int], int], Splits],
    above: tuple[tuple[RawNode, ...], ...],
    nodes: tuple[frozenset[int], ...],
) -> Iterator[RawDiagram]:
    level, widths = len(above), widths_of(core)
    options = [splits(rows, level) for rows in nodes]
    below = widths[level + 1] if level + 1 < len(widths) else 0
    for arcs in _parting_arcs(2 * len(nodes), below, core.n_classes):
        pairs = list(zip(arcs[::2], arcs[1::2], strict=True))
        many = max([*arcs, -1]) + 1
        for chosen in product(*options):
            layer = tuple(
                RawNode(split=split, left=left, right=right)
                for (split, _), (left, right) in zip(chosen, pairs, strict=True)
            )
            if not many:
                yield RawDiagram(layers=(*above, layer))
                continue
            following: list[set[int]] = [set() for _ in range(many)]
            for rows, (_, goes), (left, right) in zip(nodes, chosen, pairs, strict=True):
                for arc, some in ((left, goes), (right, rows - goes)):
                    if arc >= 0:
                        following[arc] |= some
            yield from _grown(core, splits, (*above, layer), tuple(map(frozenset, following)))


@cache
def _arcs(many: int, below: int, classes: int) -> tuple[tuple[int, ...], ...]:
    """All ways to lead arcs to nodes below, numbered as they come up, and to classes."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(many):
        found = [
            (*arcs, end)
            for arcs in found
            for end in (*range(min(below, max([*arcs, -1]) + 2)), *(~c for c in range(classes)))
        ]
    return tuple(found)


def key(core: Core, raw: RawDiagram) -> Key:
    """What a diagram does, to compare sets by: family, rows that go left, and arcs."""
    layers: list[list[tuple[Any, ...]]] = [[] for _ in raw.layers]
    for visit in DiagramEvaluation(core, raw).visits:
        split = visit.node.split
        assert isinstance(split, RawTest)
        left = frozenset(visit.rows[visit.left].tolist())
        layers[visit.level].append((split.family, left, visit.node.left, visit.node.right))
    return raw.entry if not raw.layers else 0, tuple(map(tuple, layers))


def best_priced(core: Core, price: Fraction) -> Fraction:
    """The least weight of errors plus `price` for every split, without rules.

    Layer by layer over the partitions of rows among the nodes of a layer: rows that ended are
    counted at once, so that equal partitions are solved once. Sets of rows are bits of a number,
    and values are in units of the price's denominator.
    """
    assert core.labels is not None
    widths, unit = widths_of(core), price.denominator
    far, everything = 10**15, (1 << core.n_rows) - 1
    others = [
        sum(1 << row for row, of in enumerate(core.labels.tolist()) if of != label)
        for label in range(core.n_classes)
    ]

    def ended(rows: int, label: int) -> int:
        return unit * (rows & others[label]).bit_count()

    @cache
    def sides(rows: int, level: int) -> list[tuple[int, int]]:
        inside = tuple(row for row in range(core.n_rows) if rows >> row & 1)
        lefts = {sum(1 << row for row in left) for _, left in splits_at(core, inside, level)}
        return sorted({(min(left, rows ^ left), max(left, rows ^ left)) for left in lefts})

    @cache
    def least(level: int, nodes: tuple[int, ...]) -> int:
        """Of the nodes of a layer and all below."""
        parts = [sides(rows, level) for rows in nodes]
        flows = (tuple(chain.from_iterable(chosen)) for chosen in product(*parts))
        below = min((led(level + 1, one) for one in flows), default=far)
        return price.numerator * len(nodes) + below

    @cache
    def led(level: int, flows: tuple[int, ...]) -> int:
        """Of what the two arcs of each node of a layer bring to the next one."""
        best, below = far, widths[level] if level < len(widths) else 0
        for arcs in _parting_arcs(len(flows), below, core.n_classes):
            done = sum(ended(flow, ~arc) for flow, arc in zip(flows, arcs, strict=True) if arc < 0)
            if done >= best:
                continue
            nodes = [0] * (max(arcs) + 1)
            for flow, arc in zip(flows, arcs, strict=True):
                if arc >= 0:
                    nodes[arc] |= flow
            best = min(best, done + (least(level, tuple(sorted(nodes))) if nodes else 0))
        return best

    alone = min(ended(everything, label) for label in range(core.n_classes))
    return Fraction(min(alone, least(0, (everything,))), unit)


@cache
def _parting_arcs(many: int, below: int, classes: int) -> list[tuple[int, ...]]:
    """Those whose pairs, the arcs of a node, lead apart."""
    ways = _arcs(many, below, classes)
    return [w for w in ways if all(w[i] != w[i + 1] for i in range(0, many, 2))]


# ---- random ones


def random_diagram(rng: random.Random, core: Core) -> RawDiagram:
    """A reduced diagram; axis tests obey filters, hyperplanes do not care."""
    some_splits = planes_at if core.skeleton.splits == "hyperplane" else splits_at
    widths = widths_of(core)
    layers: list[tuple[RawNode, ...]] = []
    nodes: list[set[int]] = [set(range(core.n_rows))]
    if rng.random() < 0.1:
        return RawDiagram(entry=~rng.randrange(core.n_classes))
    for level in range(len(widths)):
        below = widths[level + 1] if level + 1 < len(widths) else 0
        options = [some_splits(core, tuple(sorted(rows)), level) for rows in nodes]
        if not all(options):
            return (
                RawDiagram(entry=~rng.randrange(core.n_classes))
                if not layers
                else _closed(rng, core, layers)
            )
        layer: list[RawNode] = []
        following: dict[int, set[int]] = {}
        for rows, some in zip(nodes, options, strict=True):
            split, left = rng.choice(some)
            ends = [*range(min(below, len(following) + 2)), *(~c for c in range(core.n_classes))]
            arcs = rng.sample(ends, 2)
            for index, arc in enumerate(arcs):
                if arc >= 0:
                    arcs[index] = arc = min(arc, len(following))
                    following.setdefault(arc, set()).update(left if index == 0 else rows - left)
            if arcs[0] == arcs[1]:
                return random_diagram(rng, core)
            layer.append(RawNode(split=split, left=arcs[0], right=arcs[1]))  # type: ignore[arg-type]
        layers.append(tuple(layer))
        nodes = [following[index] for index in sorted(following)]
        if not nodes:
            break
    return RawDiagram(layers=tuple(layers))


def _closed(rng: random.Random, core: Core, layers: list[tuple[RawNode, ...]]) -> RawDiagram:
    """The layers so far, with all arcs to the next one led to classes."""
    last: list[RawNode] = []
    for node in layers[-1]:
        arcs = [node.left, node.right]
        for index in range(2):
            if arcs[index] >= 0:
                free = [~c for c in range(core.n_classes) if ~c != arcs[1 - index]]
                arcs[index] = rng.choice(free)
        last.append(RawNode(split=node.split, left=arcs[0], right=arcs[1]))
    return RawDiagram(layers=(*layers[:-1], tuple(last)))


def planes_at(
    core: Core, rows: tuple[int, ...], level: int
) -> list[tuple[RawPlane, frozenset[int]]]:
    """Some hyperplanes that part some rows; the same ones for the same rows."""
    of, inside = planes(core), np.asarray(rows, dtype=np.int64)
    rng = random.Random(f"{rows} {level}")
    found: list[tuple[RawPlane, frozenset[int]]] = []
    for _ in range(8):
        some = sorted(rng.sample(range(len(of.columns)), rng.randint(1, min(3, len(of.columns)))))
        weights = tuple((i, rng.choice([-1.0, 0.5, 0.3]) / of.columns[i].span) for i in some)
        sums = np.unique(of.sums(weights, inside))
        if len(sums) > 1:
            at = rng.randrange(len(sums) - 1)
            plane = RawPlane(weights=weights, bound=float(sums[at] / 2 + sums[at + 1] / 2))
            left = inside[of.goes_left(plane, inside)]
            if 0 < len(left) < len(inside):
                found.append((plane, frozenset(left.tolist())))
    return found
