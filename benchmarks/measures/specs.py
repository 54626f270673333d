"""Problems of the language, solved as a user solves them, and timed."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from measures.peers import Outcome
from odtdsl.base import _engine
from odtdsl.base.source import Source
from odtdsl.compiler import Analysis, analyse
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result
from odtdsl.language.parser import parse

PROOFS = ("optimal", "infeasible")


def analysed(name: str, text: str, data: Path | None = None) -> Analysis:
    """A spec with its data, read and resolved; `data` in place of the file that it names."""
    source = Source(name=f"{name}.odt", text=text)
    return analyse(parse(source), source=source, data=None if data is None else str(data))


def run(analysis: Analysis, limit: float) -> Outcome:
    """Solve on `exact`: `seconds` are from the spec with its data to the audited answer.

    `raw` has the `result`, and the seconds of the `search` itself, in C++. The collector of
    garbage is off, as `timeit` has it: its turns come by counts, so always to the same run.
    """
    gc.collect()
    gc.disable()
    try:
        with _searching() as spent:
            result = solve(analysis, backend="exact", seconds=limit, threads=1)
    finally:
        gc.enable()
    return Outcome(
        seconds=result.seconds,
        value=_whole(result.objective),
        bound=_whole(result.bound),
        proven=result.status in PROOFS,
        raw={"result": result, "search": sum(spent)},
    )


def result_of(outcome: Outcome) -> Result:
    found: Result = outcome.raw["result"]
    return found


def _whole(value: Any) -> int | None:
    if value is None:
        return None
    assert isinstance(value, Fraction), value
    assert value.denominator == 1, value
    return int(value)


@contextmanager
def _searching() -> Iterator[list[float]]:
    """The seconds of each search of the engine while this is open."""
    spent: list[float] = []

    def timed(search: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return search(*args, **options)
            finally:
                spent.append(time.perf_counter() - start)

        return called

    with (
        patch.object(_engine, "solve", timed(_engine.solve)),
        patch.object(_engine, "solve_ruled", timed(_engine.solve_ruled)),
    ):
        yield spent
