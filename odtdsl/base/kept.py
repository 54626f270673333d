"""Answers that several steps of a solve ask for: each is kept until others are asked for, and none
longer than the solve, since what they are about may be large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper, lru_cache
from typing import TypeVar

Answer = TypeVar("Answer")

_kept: list[Callable[[], None]] = []


def kept(function: Callable[..., Answer], last: int = 1) -> _lru_cache_wrapper[Answer]:
    """The function with its last answers kept; arguments are compared as by `lru_cache`."""
    cached = lru_cache(maxsize=last)(function)
    _kept.append(cached.cache_clear)
    return cached


@contextmanager
def keeping() -> Iterator[None]:
    """Forget all answers behind the block; a thread that solves meanwhile finds them again."""
    try:
        yield
    finally:
        for forget in _kept:
            forget()
