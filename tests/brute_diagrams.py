"""All reduced axis diagrams of a tiny core, by plain enumeration; and random ones.

The base of proofs for back ends: the set of admitted diagrams is those of `all_diagrams` that
break nothing, and `best_priced` is an optimum without a search tree.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np

from odtdsl.ir.diagrams import DiagramEvaluation, planes, sends_left
from odtdsl.ir.evaluate import test_fault as fault_of
from odtdsl.ir.forms import Core
from odtdsl.ir.problem import DiagramSkeleton
from odtdsl.ir.raw import RawDiagram, RawNode, RawPlane, RawTest

Key = tuple[int, tuple[tuple[tuple[object, ...], ...], ...]]


def widths_of(core: Core) -> tuple[int, ...]:
    assert isinstance(core.skeleton, DiagramSkeleton)
    return core.skeleton.widths


def splits_at(
    core: Core, rows: tuple[int, ...], level: int
) -> list[tuple[RawTest, frozenset[int]]]:
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
    everything = tuple(range(core.n_rows))
    yield from _grown(core, (), (frozenset(everything),))


def _grown(
    core: Core, above: tuple[tuple[RawNode, ...], ...], nodes: tuple[frozenset[int], ...]
) -> Iterator[RawDiagram]:
    level, widths = len(above), widths_of(core)
    options = [splits_at(core, tuple(sorted(rows)), level) for rows in nodes]
    below = widths[level + 1] if level + 1 < len(widths) else 0
    for arcs in _arcs(2 * len(nodes), below, core.n_classes):
        pairs = list(zip(arcs[::2], arcs[1::2], strict=True))
        if any(left == right for left, right in pairs):
            continue
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
            yield from _grown(core, (*above, layer), tuple(map(frozenset, following)))


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
    layers: list[list[tuple[object, ...]]] = [[] for _ in raw.layers]
    for visit in DiagramEvaluation(core, raw).visits:
        split = visit.node.split
        assert isinstance(split, RawTest)
        left = frozenset(visit.rows[visit.left].tolist())
        layers[visit.level].append((split.family, left, visit.node.left, visit.node.right))
    return raw.entry if not raw.layers else 0, tuple(map(tuple, layers))


def best_priced(core: Core, price: Fraction) -> Fraction:
    """The least weight of errors plus `price` for every split, without rules.

    Layer by layer over the partitions of rows among the nodes of a layer: rows that ended are
    counted at once, so that equal partitions are solved once.
    """
    assert core.labels is not None
    labels = core.labels.tolist()
    widths = widths_of(core)

    def ended(rows: frozenset[int], label: int) -> int:
        return sum(labels[row] != label for row in rows)

    @cache
    def least(level: int, nodes: frozenset[frozenset[int]]) -> Fraction:
        """Of the nodes of a layer and all below."""
        parts = [splits_at(core, tuple(sorted(rows)), level) for rows in nodes]
        if not all(parts):
            return Fraction(10**9)
        sides = [
            {frozenset({left, rows - left}) for _, left in options}
            for rows, options in zip(nodes, parts, strict=True)
        ]
        best = Fraction(10**9)
        for chosen in product(*sides):
            flows = [
                (i, flow) for i, pair in enumerate(chosen) for flow in sorted(pair, key=sorted)
            ]
            best = min(best, price * len(nodes) + led(level + 1, tuple(flows)))
        return best

    @cache
    def led(level: int, flows: tuple[tuple[int, frozenset[int]], ...]) -> Fraction:
        below = widths[level] if level < len(widths) else 0
        best = Fraction(10**9)
        for arcs in _arcs(len(flows), below, core.n_classes):
            ends = list(zip(flows, arcs, strict=True))
            if any(a[0][0] == b[0][0] and a[1] == b[1] for a, b in combinations(ends, 2)):
                continue
            done = Fraction(sum(ended(flow, ~arc) for (_, flow), arc in ends if arc < 0))
            if done >= best:
                continue
            nodes = frozenset(
                frozenset().union(*(flow for (_, flow), arc in ends if arc == node))
                for node in range(max([*arcs, -1]) + 1)
            )
            best = min(best, done + (least(level, nodes) if nodes else 0))
        return best

    everything = frozenset(range(core.n_rows))
    alone = min(Fraction(ended(everything, label)) for label in range(core.n_classes))
    return min(alone, least(0, frozenset({everything})))


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
            return RawDiagram(entry=~rng.randrange(core.n_classes)) if not layers else _closed(
                rng, core, layers
            )  # fmt: skip
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
            layer.append(RawNode(split=split, left=arcs[0], right=arcs[1]))
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
