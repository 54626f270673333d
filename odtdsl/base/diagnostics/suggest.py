"""Finds the word that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is near enough to `word` to be worth asking about.

    Near is a third of the longer word's letters in insertions, deletions, replacements and swaps
    of neighbours, letter case aside. Ties go to one that begins with the word, or begins it, then
    to the first candidate; the word itself is no suggestion, one that differs only in case is.
    """
    folded = word.casefold()
    best: str | None = None
    least = (1 << 30, True)
    for candidate in candidates:
        if candidate == word:
            continue
        limit = max(1, max(len(word), len(candidate)) // 3)
        if abs(len(word) - len(candidate)) > limit:
            continue
        other = candidate.casefold()
        apart = distance(folded, other)
        rank = (apart, not (other.startswith(folded) or folded.startswith(other)))
        if apart <= limit and rank < least and apart < min(len(word), len(candidate)):
            best, least = candidate, rank
    return best


MOST_SHOWN = 12
"""Names that a message lists."""


def nearest_first(word: str, names: Sequence[str]) -> Sequence[str]:
    """Names in the order in which to list them: their own, if they are few.

    Else those come first that contain the word, or a part of it that blanks or underscores bound,
    then those that need the fewest letters changed.
    """
    if len(names) <= MOST_SHOWN:
        return names
    folded = word.casefold()
    parts = [part for part in re.split(r"[\W_]+", folded) if len(part) > 2]

    def rank(name: str) -> tuple[bool, bool, float]:
        other = name.casefold()
        return (
            folded not in other and other not in folded,
            not any(part in other for part in parts),
            distance(folded, other) / max(len(folded), len(other), 1),
        )

    return sorted(names, key=rank)


def distance(a: str, b: str) -> int:
    """Damerau-Levenshtein distance with swaps of neighbours only."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]
