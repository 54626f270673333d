"""The least loss of diagrams of one shape, and of the trees below them, by trying all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any


class Shapes:
    """Sets of rows are bits. `allowed`: per feature None, or whether a cut is behind each rank."""

    def __init__(self, ranks: Any, losses: Any, allowed: Sequence[Any]) -> None:
        self.ranks, self.losses, self.allowed = ranks, losses.tolist(), allowed
        self.all = (1 << len(losses)) - 1
        self.leaf = cache(self._leaf)
        self.sides = cache(lambda rows: tuple(self._sides(rows)))
        self.stump = cache(self._stump)

    def _leaf(self, rows: int) -> int:
        held = [loss for r, loss in enumerate(self.losses) if rows >> r & 1]
        return min(map(sum, zip(*held, strict=True)), default=0)

    def _sides(self, rows: int) -> Iterator[tuple[int, int]]:
        """Rows on both sides of each cut that parts them."""
        for ranks, allowed in zip(self.ranks.tolist(), self.allowed, strict=True):
            for cut in range(max(ranks)):
                left = sum(1 << r for r, rank in enumerate(ranks) if rank <= cut) & rows
                if left not in (0, rows) and (allowed is None or allowed[cut]):
                    yield left, rows & ~left

    def _stump(self, rows: int) -> int:
        cuts = (self.leaf(left) + self.leaf(right) for left, right in self.sides(rows))
        return min(cuts, default=self.leaf(rows)) if rows else 0

    def trees(self, shape: tuple[int, ...]) -> int:
        """Of the best tree in such layers: where one node is below, one arc of each split ends."""

        @cache
        def least(layer: int, rows: int) -> int:
            if layer + 1 == len(shape):
                return min(self.leaf(rows), self.stump(rows))
            best = min(self.leaf(rows), least(layer + 1, rows))
            for left, right in self.sides(rows):
                if shape[layer + 1] == 1:
                    one = self.leaf(left) + least(layer + 1, right)
                    best = min(best, one, self.leaf(right) + least(layer + 1, left))
                else:
                    best = min(best, least(layer + 1, left) + least(layer + 1, right))
            return best

        return least(0, self.all)

    def diagrams(self, shape: tuple[int, ...]) -> int | None:
        """Of the best diagram whose splits part rows, but in the last layer; None without one."""
        best: int | None = None
        # Rows of the nodes of a layer, and the least that ended above.
        here: dict[tuple[int, ...], int] = {(self.all,): 0}
        for nodes in shape[1:]:
            below: dict[tuple[int, ...], int] = {}
            for sets, lost in here.items():
                for chosen in product(*(self._choices(rows, nodes) for rows in sets)):
                    into = [0] * nodes
                    spent = lost
                    for (left, right), ends in chosen:
                        for rows, end in ((left, ends[0]), (right, ends[1])):
                            if end < 0:
                                spent += self.leaf(rows)
                            else:
                                into[end] |= rows
                    key = tuple(sorted(into))
                    if 0 not in into and spent < below.get(key, spent + 1):
                        below[key] = spent
            here = below
        for sets, lost in here.items():
            value = lost + sum(min(self.leaf(rows), self.stump(rows)) for rows in sets)
            best = value if best is None else min(best, value)
        return best

    def _choices(self, rows: int, nodes: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        ends = [(a, b) for a, b in product(range(-1, nodes), repeat=2) if a != b or a < 0]
        return list(product(set(self.sides(rows)), ends))
