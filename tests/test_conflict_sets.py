"""Minimal conflicts, drops and hitting sets of random families, against all subsets."""

from __future__ import annotations

import random
from itertools import combinations

from scale import scaled

from odtdsl.insight.explanations.conflict_sets import (
    Conflicts,
    shrink,
    smallest_drop,
    smallest_hitting,
)


def _subsets(everyone: range) -> list[frozenset[int]]:
    return [frozenset(c) for k in range(len(everyone) + 1) for c in combinations(everyone, k)]


def test_sets_against_all_subsets() -> None:
    """Random families of feasible sets: minimal conflicts, in order of size, and the drop."""
    for seed in range(scaled(300)):
        rng = random.Random(seed)
        everyone = range(rng.randint(1, 6))
        tops = [frozenset(rng.sample(everyone, rng.randrange(len(everyone)))) for _ in range(4)]

        def ask(members: frozenset[int], tops: list[frozenset[int]] = tops) -> bool:
            return any(members <= top for top in tops)

        bad = [one for one in _subsets(everyone) if not ask(one)]
        minimal = [one for one in bad if not any(other < one for other in bad)]
        whole = frozenset(everyone)
        first = shrink(ask, whole, everyone)
        assert first.minimal
        assert first.members in minimal
        search = Conflicts(ask, everyone, first)
        while search.next() is not None:
            pass
        assert search.complete
        assert set(search.known) == set(minimal)
        assert [len(one) for one in search.known] == sorted(map(len, minimal))
        drop = smallest_drop(ask, whole, whole, [first.members])
        assert drop is not None
        assert len(drop.members) == len(everyone) - max(map(len, tops))


def test_without_answers_nothing_is_proven() -> None:
    for seed in range(scaled(300)):
        rng = random.Random(seed)
        everyone = range(5)
        tops = [frozenset(rng.sample(everyone, rng.randint(0, 4))) for _ in range(3)]
        silent = {one for one in _subsets(everyone) if rng.random() < 0.4 and len(one) < 5}

        def honest(members: frozenset[int], tops: list[frozenset[int]] = tops) -> bool:
            return any(members <= top for top in tops)

        def ask(
            members: frozenset[int], silent: set[frozenset[int]] = silent, honest=honest
        ) -> bool | None:
            return None if members in silent else honest(members)

        bad = [one for one in _subsets(everyone) if not honest(one)]
        minimal = {one for one in bad if not any(other < one for other in bad)}
        first = shrink(ask, frozenset(everyone), everyone)
        assert not honest(first.members)
        assert not first.minimal or first.members in minimal
        search = Conflicts(ask, everyone, first)
        smallest = search.next()
        assert smallest is None or len(smallest) == min(map(len, minimal))
        while (found := search.next()) is not None:
            assert found in minimal
        assert not search.complete or set(search.known) == minimal
        drop = smallest_drop(ask, frozenset(everyone), frozenset(everyone), [first.members])
        assert drop is None or len(drop.members) == 5 - max(map(len, tops))


def test_hitting_sets_against_all_subsets() -> None:
    for seed in range(scaled(200)):
        rng = random.Random(seed)
        everyone = range(6)
        some = [frozenset(rng.sample(everyone, rng.randint(1, 3))) for _ in range(6)]
        never = [
            frozenset(rng.sample(everyone, rng.randint(1, 3))) for _ in range(rng.randrange(4))
        ]
        good = [
            one
            for one in _subsets(everyone)
            if all(one & s for s in some) and not any(n <= one for n in never)
        ]
        found = smallest_hitting(some, never_within=never)
        assert (found is None) == (not good)
        assert found is None or (found in good and len(found) == min(map(len, good)))
