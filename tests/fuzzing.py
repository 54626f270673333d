"""Coverage-guided mutation: what `tests/fuzz.py` runs on each of its targets.

An input is bytes. Inputs that reach lines of odtdsl not seen before join the pool that the next
ones are made from. A find is an exception that is no `OdtError`, or an input that takes longer
than `HANG` seconds of processor time; it is made smaller before it is written down.
"""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HANG = 5.0
LONGEST = 30_000
PACKAGE = str(Path(__file__).resolve().parents[1] / "odtdsl")


class InputTimeout(BaseException):
    """An input took too long. No `Exception`, so that nothing on the way catches it."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Something to be fuzzed.

    Attributes
    ----------
    run
        Takes an input; an exception that gets out of it is a find.
    seeds
        The inputs to begin with.
    words
        What mutations put in: words of the format, and what has broken other readers.
    mutate
        A mutation that knows the format, where there is one; used every other time.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]
    mutate: Callable[[bytes, random.Random], bytes] | None = None


@dataclass(kw_only=True)
class Report:
    """What a run met: `finds` are the smallest input of each place, and where it failed."""

    target: str
    inputs: int = 0
    lines: int = 0
    pool: int = 0
    slowest: float = 0.0
    finds: dict[str, tuple[bytes, str]] = field(default_factory=dict)


def fuzz(
    target: Target, seconds: float, seed: int, tell: Callable[[str], None], most: int | None = None
) -> Report:
    """Run inputs for so many seconds, `most` at most."""
    rng, report = random.Random(seed), Report(target=target.name)
    seen: set[tuple[CodeType, int]] = set()
    pool: list[bytes] = []
    end, waiting = time.monotonic() + seconds, list(target.seeds)
    rng.shuffle(waiting)
    told = time.monotonic()
    while time.monotonic() < end and report.inputs != most:
        data = waiting.pop() if waiting else mutated(target, pool, rng)
        before = len(seen)
        began = time.process_time()
        failed = outcome(target, data, seen)
        report.slowest = max(report.slowest, time.process_time() - began)
        report.inputs += 1
        if failed is not None:
            _keep(target, data, failed, report, tell)
        elif len(seen) > before:
            pool.append(data)
        if not pool:
            pool.append(data)
        if time.monotonic() > told + 60:
            told = time.monotonic()
            tell(f"{target.name}: {report.inputs} inputs, {len(seen)} lines, pool {len(pool)}")
    report.lines, report.pool = len(seen), len(pool)
    return report


def outcome(
    target: Target, data: bytes, seen: set[tuple[CodeType, int]] | None = None
) -> tuple[str, str] | None:
    """Run one input: None, or the place where it failed and the traceback."""
    began = time.process_time()
    try:
        with _limited(), _traced(seen):
            target.run(data)
    except InputTimeout:
        return "InputTimeout", traceback.format_exc()
    except Exception as failure:
        frames = traceback.extract_tb(failure.__traceback__)
        ours = [f for f in frames if f.filename.startswith(PACKAGE)] or frames
        place = f"{type(failure).__name__} at {Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return place, traceback.format_exc()
    spent = time.process_time() - began
    if spent > HANG:  # in native code, which no signal interrupts
        return "InputTimeout", f"{spent:.1f} s"
    return None


def mutated(target: Target, pool: list[bytes], rng: random.Random) -> bytes:
    """An input made from those of the pool."""
    data = rng.choice(pool)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 9))):
        if target.mutate is not None and rng.random() < 0.6:
            data = target.mutate(data, rng)
        else:
            data = _change(data, rng.choice(pool), target.words, rng)
    return data[:LONGEST]


def _change(data: bytes, other: bytes, words: tuple[bytes, ...], rng: random.Random) -> bytes:
    at, length = rng.randrange(len(data) + 1), rng.choice((1, 2, 4, 8, 32, 128))
    match rng.randrange(9):
        case 0:
            return data[:at] + data[at + length :]
        case 1:
            piece = data[at : at + length]
            return data[:at] + piece * rng.choice((2, 2, 3, 20, 300)) + data[at + length :]
        case 2 | 3:
            return data[:at] + rng.choice(words) + data[at + rng.choice((0, 0, length)) :]
        case 4:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 5:
            start = rng.randrange(len(other) + 1)
            return data[:at] + other[start : start + 4 * length] + data[at:]
        case 6:
            return data[:at] + other[rng.randrange(len(other) + 1) :]
        case 7:
            rows = data.split(b"\n")
            i, j = rng.randrange(len(rows)), rng.randrange(len(rows))
            rows[i], rows[j] = rows[j], rows[i]
            return rng.choice((b"\n", b"\n", b"\r", b"\r\n")).join(rows)
        case _:
            return data[:at]


def smaller(target: Target, data: bytes, place: str, seconds: float = 10.0) -> bytes:
    """The input with pieces left out while it still fails at the place."""
    end, size = time.monotonic() + seconds, max(1, len(data) // 2)
    while size and time.monotonic() < end:
        at = 0
        while at < len(data) and time.monotonic() < end:
            shorter = data[:at] + data[at + size :]
            failed = outcome(target, shorter)
            if failed is not None and failed[0] == place:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def _keep(
    target: Target,
    data: bytes,
    failed: tuple[str, str],
    report: Report,
    tell: Callable[[str], None],
) -> None:
    place, trace = failed
    known = report.finds.get(place)
    if known is not None and len(known[0]) <= len(data):
        return
    small = data if place == "InputTimeout" or known is not None else smaller(target, data, place)
    if known is None:
        tell(f"{target.name}: {place}\n{trace}")
    report.finds[place] = (small, trace)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Raise `InputTimeout` after `HANG` seconds of processor time, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise InputTimeout

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _traced(seen: set[tuple[CodeType, int]] | None) -> Iterator[None]:
    """Note the lines of odtdsl that run."""
    if seen is None:
        yield
        return

    def local(frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code, frame.f_lineno))
        return local

    def enter(frame: FrameType, _event: str, _arg: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)
