"""Random problems of diagrams, small enough for every diagram to be looked at."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice

import pandas as pd
from brute_diagrams import all_diagrams

from odtdsl.backends.base import Limits, RawAnswer
from odtdsl.backends.exact.backend import Exact
from odtdsl.backends.exact.layered_diagrams import Layered
from odtdsl.backends.exact.unrolled import Unrolled
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.language.parser import parse
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram
from odtdsl.problem.terms.normalize import normalize

WIDTHS = ("1, 2", "1, 2, 1", "1, 2, 2", "1, 1, 2", "1, 2, 1, 1", "1, 2, 2, 1")
PRICES = (Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(3, 2))
RULES = (
    'rate("x") <= 60%',
    'rate("x") >= 40% or uses(a)',
    'recall("x") >= 50%',
    "errors <= 2",
    "splits <= 2",
    "splits >= 2",
    "leaves = 2",
    "uses(c)",
    "forall split: size >= 3",
    "forall path: a before b",
    "forall path: not (uses(a) and uses(b))",
    "root in {b, c}",
    "forall split: if level = 0 then feature in {a, b}",
    "forall path: length <= 1 or uses(c)",
    "forall split: if level = 1 then feature in {c}",
    'count_predicted("x") = 3',
)


def table(rng: random.Random, rows: int) -> pd.DataFrame:
    """Half of the tables hold the parity of three bits, where sharing pays."""
    n = rng.randint(4, rows)
    if rng.random() < 0.5:
        bits = rng.sample(range(8), min(n, 8))
        frame = pd.DataFrame(
            {name: [bit >> at & 1 for bit in bits] for at, name in enumerate("abc")}
        )
        frame["y"] = ["xy"[(a + b + c) % 2] for a, b, c in frame.itertuples(index=False)]
        if rng.random() < 0.5:
            frame.loc[rng.randrange(len(frame)), "y"] = rng.choice("xyz")
        return frame
    frame = pd.DataFrame({name: [rng.randrange(3) for _ in range(n)] for name in "ab"})
    frame["c"] = [rng.randrange(2) for _ in range(n)]
    frame["y"] = [rng.choice("xyz"[: rng.choice((2, 3))]) for _ in range(n)]
    return frame


def core_of(
    rng: random.Random, rows: int, widths: str, price: Fraction, rules: Sequence[str] = ()
) -> Core:
    text = (
        f"data frame\ntarget y: class\nfeature a, b, c: number\ndiagram widths {widths}\n"
        f"minimize errors + {price.numerator} * splits / {price.denominator}\n"
        + "".join(f"rule r{index}: {rule}\n" for index, rule in enumerate(rules))
    )
    source = Source(name="tiny.odt", text=text)
    while True:
        frame = table(rng, rows)
        if frame.y.nunique() > 1 and "x" in set(frame.y):
            return normalize(analyse(parse(source), source=source, frame=frame).rows)


def unrolled(core: Core, start: RawDiagram | None = None, seconds: float | None = None) -> Unrolled:
    deadline = None if seconds is None else time.monotonic() + seconds
    limits = Limits(deadline=deadline, threads=1, seed=1, interrupted=lambda: False)
    return Unrolled(core, limits, start, None, Exact()._of_trees)


def admitted(core: Core, most: int = 12_000) -> list[tuple[Fraction, RawDiagram]]:
    """The diagrams that satisfy the rules, with their values; none where there are too many."""
    every = list(islice(all_diagrams(core), most + 1))
    if len(every) > most:
        return []
    (stage,) = core.objective
    evaluations = ((DiagramEvaluation(core, raw), raw) for raw in every)
    return [(e.stage_value(stage), raw) for e, raw in evaluations if not e.violations()]


def check_answer(
    search: Unrolled | Layered, answer: RawAnswer, values: list[tuple[Fraction, RawDiagram]]
) -> bool:
    """Its bound holds, and what is better lies in the room that is left; whether it is proven."""
    (outcome,) = answer.stages
    assert outcome.bound is not None
    assert outcome.value is not None
    assert outcome.bound <= min(value for value, _ in values) <= outcome.value
    most, narrow = search.room()
    for value, raw in values:
        if value < outcome.value:
            sizes = [len(layer) for layer in raw.layers]
            assert sum(sizes) <= most
            assert all(a <= b for a, b in zip(sizes, narrow, strict=False))
    return outcome.proven
