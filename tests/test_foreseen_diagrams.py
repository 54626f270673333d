"""What is said before any search of rules that no diagram keeps, against diagrams.

All diagrams of tiny tables, and random ones of hyperplanes, which are too many: one that keeps the
rules shows that a claim is false. Trees are in `test_foreseen`.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pandas as pd
import pytest
from brute_diagrams import all_diagrams, random_diagram
from scale import SCALE, scaled
from test_foreseen import parts
from tiny_diagrams import table

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.compiler.bounds import plainly_refuted
from odtdsl.compiler.rule_warnings import find
from odtdsl.language.parser import parse
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import EmptyDenominator, Unsupported
from odtdsl.problem.terms.normalize import normalize

AXIS = tuple(f"diagram widths {widths}" for widths in ("1", "1, 2", "1, 1, 2", "1, 2, 1"))
PLANES = ("tree depth <= 1, splits hyperplane", "tree depth <= 2, splits hyperplane")
MOST = 400
"""Diagrams of each case, all where there are no more."""

MODEL = (
    *("errors", "accuracy", "splits", "leaves", "nodes", "depth", "tests(a)", "expected_cost"),
    *('rate("x")', 'recall("x")', 'count_predicted("y")', 'rate("x", low)', "errors(low)"),
    *('count_predicted("x") - 2 * splits', "splits - errors", 'abs(rate("x") - rate("x", low))'),
    *('gap(rate("x"), low, high)', "2 * leaves - splits", "errors + expected_cost", "tests(c)"),
)
PATH = (
    "length",
    "cost",
    "tests(a)",
    "length - cost",
    "tests(c) - 2 * length",
    "2 * cost - tests(b)",
)
SPLIT = ("size", "level", "3 - size")
PLAIN = {
    "model": ("uses(a)", "not uses(b)", "root in {a, c}", "uses(c) or splits <= 1"),
    "path": ("a before b", "c requires a", "uses(a)", "not (uses(a) and uses(b))"),
    "split": ("feature in {a, b}", "if level = 0 then feature in {c}"),
}
TERMS = {"model": MODEL, "path": PATH, "split": SPLIT}


def condition(rng: random.Random, scope: str) -> str:
    if rng.random() < 0.2:
        return rng.choice(PLAIN[scope])
    term = rng.choice(TERMS[scope])
    share = any(word in term for word in ("rate", "recall", "accuracy"))
    bound = f"{rng.randint(0, 10)}0%" if share else str(rng.randint(-2, 6))
    return f"{term} {rng.choice(['<=', '<=', '>=', '>=', '<', '>', '='])} {bound}"


def rules_of(rng: random.Random) -> list[str]:
    """One to three, often two bounds of one measure."""
    if rng.random() < 0.3:
        scope = rng.choice(("model", "path"))
        term = rng.choice(TERMS[scope])
        low, high = sorted((rng.randint(-2, 6), rng.randint(-2, 6)))
        share = "0%" if "rate" in term or "acc" in term or "recall" in term else ""
        some = [f"{term} >= {high}{share}", f"{term} <= {low}{share}"]
        return [scoped(scope, one) for one in some]
    return [rule(rng) for _ in range(rng.choice((1, 1, 2, 3)))]


def rule(rng: random.Random) -> str:
    scope = rng.choice(("model", "model", "path", "path", "split"))
    text = condition(rng, scope)
    if rng.random() < 0.3:
        text = f"{text} {rng.choice(['or', 'and'])} {condition(rng, scope)}"
    return scoped(scope, text)


def scoped(scope: str, text: str) -> str:
    return text if scope == "model" else f"forall {scope}: {text}"


def text_of(rng: random.Random, skeleton: str, rules: list[str]) -> str:
    lines = [
        *("data frame", "target y: class", "feature a, b, c: number"),
        *rng.choice(((), ("weight w",), ("drop w",))),
        *("group low = a <= 0", "group high = not (a <= 0)"),
        *rng.choice(((), ("cost a = 2, b = 1",), ("cost * = 1", "cost {a, c} shared = 3"))),
        *(skeleton, "minimize errors"),
        *(f"rule r{at}: {one}" for at, one in enumerate(rules)),
    ]
    return "\n".join(lines)


def rows_of(text: str, frame: pd.DataFrame) -> Rows | None:
    source = Source(name="tiny.odt", text=text)
    try:
        return analyse(parse(source), source=source, frame=frame).rows
    except OdtError:
        return None


def core_of(rows: Rows) -> Core | None:
    try:
        return normalize(rows)
    except (Unsupported, EmptyDenominator, OdtError):
        return None


def diagrams(rng: random.Random, core: Core) -> list[RawDiagram]:
    """All that there are, or some."""
    every = [] if core.skeleton.splits == "hyperplane" else list(islice(all_diagrams(core), MOST))
    if 0 < len(every) < MOST:
        return every
    return [random_diagram(rng, core) for _ in range(MOST // 4)]


def kept(core: Core, some: list[RawDiagram]) -> bool:
    return any(not DiagramEvaluation(core, raw).violations() for raw in some)


def claims(seed: str, skeletons: tuple[str, ...]) -> Counter[str]:
    """All that is said of a case, each held against diagrams that keep the rules that are named."""
    rng = random.Random(seed)
    frame = table(rng, 7)
    frame["w"] = [rng.choice((0, 1, 1, 2)) for _ in range(len(frame))]
    rules, skeleton, drawn = rules_of(rng), rng.choice(skeletons), rng.randrange(2**32)

    def rows_with(some: list[str]) -> Rows | None:
        return rows_of(text_of(random.Random(drawn), skeleton, some), frame)

    rows, bare = rows_with(rules), rows_with([])
    if rows is None or bare is None or bare.n_classes < 2:
        return Counter(["refused"])
    said, core = find(*parts(rows)), core_of(rows)
    refuted = core is not None and plainly_refuted(core)
    seen = Counter(["refuted" if refuted else "open"])
    free = core_of(bare)
    if free is None or not (said or refuted):
        return seen
    some = diagrams(rng, free)
    where = f"{text_of(random.Random(drawn), skeleton, rules)}\n{frame.to_dict('list')}"
    for found in said:
        names = [rules[int(one.name[1:])] for one in found.rules]
        alone = rows_with(names)
        under = None if alone is None else core_of(alone)
        if under is not None:
            of = [raw for raw in some if raw.layers or found.what not in ("split", "budget")]
            assert not kept(under, of), f"{found.what} {names}\n{where}"
            seen[found.what if len(names) == 1 else "together"] += 1
    assert core is None or not refuted or not kept(core, some), where
    return seen


@pytest.mark.parametrize("skeletons", [AXIS, PLANES], ids=["axis", "planes"])
def test_no_claim_is_false(skeletons: tuple[str, ...]) -> None:
    seen = Counter[str]()
    for seed in range(scaled(2_000, least=100)):
        seen += claims(f"foreseen {seed}", skeletons)
    assert min(seen[word] for word in ("refuted", "together", "tree", "path")) > 10 * SCALE, seen


@pytest.mark.parametrize("least", [1, 2])
def test_paths_below_hyperplanes_have_a_length(least: int) -> None:
    """It counts splits, however many features each of them tests."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": ["x", "y", "y", "x"]})
    rows = rows_of(
        "data frame target y tree depth <= 2, splits hyperplane minimize errors "
        f"rule r: forall path: length >= {least}",
        frame,
    )
    assert rows is not None
    assert not find(*parts(rows))
    assert not plainly_refuted(normalize(rows))
