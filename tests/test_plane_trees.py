"""Trees of hyperplanes: optima by `milp` against all linear partitions of tiny tables.

`ODTDSL_SCALE=50` takes 1,000 problems.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scale import blocks

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.backends.milp import Milp
from odtdsl.backends.milp.diagram_search import lower_diagram
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.compiler import analyse
from odtdsl.language.parser import parse
from odtdsl.problem.ir.diagrams import DiagramEvaluation
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawDiagram, RawNode, RawPlane
from odtdsl.problem.terms.normalize import normalize

HEAD = "data frame\ntarget y\nfeature a, b: number\n"
XOR: dict[str, list[Any]] = {
    "a": [0, 0, 1, 1] * 3,
    "b": [0, 1, 0, 1] * 3,
    "y": ["even", "odd", "odd", "even"] * 3,
}


def table(rng: random.Random) -> dict[str, list[Any]]:
    n = rng.randint(5, 8)
    classes = "xyz"[: rng.choice((2, 2, 3))]
    labels = [*classes, *(rng.choice(classes) for _ in range(n - len(classes)))]
    return {
        "a": [float(rng.randrange(3)) for _ in range(n)],
        "b": [float(rng.randrange(3)) for _ in range(n)],
        "y": labels,
    }


@cache
def parted(low: tuple[tuple[float, float], ...], high: tuple[tuple[float, float], ...]) -> bool:
    """Whether a line has one set of points below it and the other above, by an LP."""
    from scipy.optimize import linprog

    rows = [[*point, -1.0] for point in low] + [[-x, -y, 1.0] for x, y in high]
    found = linprog(np.zeros(3), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=[(None, None)] * 3)
    return bool(found.status == 0)


def fewest(frame: dict[str, list[Any]], depth: int, splits: int, size: int) -> dict[int, int]:
    """The fewest errors of trees with so many splits, each with `size` rows, by all partitions."""
    points = list(zip(frame["a"], frame["b"], strict=True))

    @cache
    def best(rows: frozenset[int], left: int) -> dict[int, int]:
        labels = [frame["y"][row] for row in rows]
        found = {0: len(rows) - max(labels.count(label) for label in set(labels))}
        kinds = sorted({points[row] for row in rows})
        if not left or len(rows) < size:
            return found
        for many in range(1, len(kinds) // 2 + 1):
            for low in combinations(kinds, many):
                if not parted(low, tuple(kind for kind in kinds if kind not in low)):
                    continue
                here = frozenset(row for row in rows if points[row] in low)
                for one, errors in best(here, left - 1).items():
                    for other, more in best(rows - here, left - 1).items():
                        total = 1 + one + other
                        if total <= splits:
                            found[total] = min(found.get(total, 99), errors + more)
        return found

    return best(frozenset(range(len(points))), depth)


@pytest.mark.parametrize("seeds", blocks(20, 5))
def test_optima_are_those_of_all_partitions(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"planes {seed}")
        frame, depth = table(rng), rng.choice((1, 2, 2, 2))
        leaves = rng.choice((2, 3, 4)) if rng.random() < 0.4 else 1 << depth
        price, size = rng.choice((Fraction(0), Fraction(1, 3), Fraction(3, 2))), rng.choice((1, 4))
        bound = f", leaves <= {leaves}" if leaves < 1 << depth else ""
        core = core_of(
            f"tree depth <= {depth}{bound}, splits hyperplane\n"
            f"minimize errors + {price.numerator} * leaves / {price.denominator}\n"
            f"rule stable: forall split: size >= {size}",
            frame,
        )
        expected = min(
            errors + price * (splits + 1)
            for splits, errors in fewest(frame, depth, leaves - 1, size).items()
        )
        answer = Milp().solve(core, Limits())
        assert answer.status == "optimal", seed
        assert answer.stages[0].value == expected, seed
        assert answer.diagram is not None
        assert not DiagramEvaluation(core, answer.diagram).violations(), seed
        if seed % 5 == 0:
            assert Milp("odd").solve(core, Limits()).stages[0].value == expected, seed


def core_of(text: str, frame: dict[str, list[Any]]) -> Core:
    source = Source(name="planes.odt", text=HEAD + text)
    return normalize(analyse(parse(source), source=source, frame=frame).rows)


def test_a_tree_of_planes_from_front_to_end() -> None:
    """One line per class of the parity of two bits: two splits, where axis splits need three."""
    spec = "data frame target y tree depth <= 2, leaves <= 3, splits hyperplane minimize errors"
    result = odtdsl.solve(spec, frame=XOR)
    assert (result.status, result.backend, result.objective) == ("optimal", "milp", 0)
    assert result.tree is None
    assert result.diagram is not None
    assert (result.diagram.widths, result.diagram.n_splits) == ((1, 1), 2)
    assert result.audit is not None
    assert {line.rule for line in result.audit.lines} >= {"tree", "tree leaves"}


def test_shared_nodes_are_no_trees() -> None:
    """A diagram joins what a tree keeps apart."""
    core = core_of("tree depth <= 3, splits hyperplane\nminimize errors", XOR)
    model = lower_diagram(core)
    assert model.encoding.perfect.targets(1) == (3, 4, 7, 8)
    assert model.encoding.perfect.n_paths == 8
    node = RawNode(split=RawPlane(weights=((0, 1.0),), bound=0.5), left=0, right=1)
    below = RawNode(split=RawPlane(weights=((1, 1.0),), bound=0.5), left=0, right=~0)
    last = RawNode(split=RawPlane(weights=((1, 1.0),), bound=0.5), left=~0, right=~1)
    shared = RawDiagram(layers=((node,), (below, below), (last,)))
    reasons = [getattr(one, "reason", "") for one in DiagramEvaluation(core, shared).violations()]
    assert "shared" in reasons


@pytest.mark.parametrize(
    ("skeleton", "rule", "code"),
    [
        ("tree leaves <= 4, splits hyperplane", "", "K120"),
        ("tree depth <= 7, splits hyperplane", "", "K120"),
        ("tree depth <= 2, splits hyperplane", "rule r: forall leaf: size >= 2", "T221"),
        ("tree depth <= 2, splits hyperplane", "rule r: forall split: threshold(a) < 1", "T222"),
    ],
)
def test_what_is_refused(skeleton: str, rule: str, code: str) -> None:
    with pytest.raises(OdtError) as caught:
        odtdsl.solve(f"data frame target y {skeleton} minimize errors {rule}", frame=XOR)
    told = caught.value.diagnostics[0]
    assert told.code == code
    assert code != "T221" or "a tree of hyperplane splits" in told.message


# ---- rules on the features of planes, by all trees of partitions and features


@dataclass(frozen=True)
class Grown:
    """A tree: the class of a single leaf, the errors, the features of each path and of each split,
    and what the paths cost.
    """

    label: str | None
    errors: int
    paths: tuple[tuple[frozenset[str], ...], ...]
    splits: tuple[frozenset[str], ...]
    charged: int


def bill(path: tuple[frozenset[str], ...]) -> int:
    """Prices: a 3, b 4, c 2, and 5 where a or b is tested."""
    tested = frozenset().union(*path)
    return sum({"a": 3, "b": 4, "c": 2}[one] for one in tested) + 5 * bool(tested & {"a", "b"})


PRICES = "cost a = 3, b = 4, c = 2\ncost {a, b} shared = 5\n"
Kept = Callable[[Grown], bool]


def every_path(kept: Callable[[tuple[frozenset[str], ...]], bool]) -> Kept:
    return lambda tree: all(kept(path) for path in tree.paths)


def ordered(path: tuple[frozenset[str], ...]) -> bool:
    return not any("a" in low and "b" in up for i, low in enumerate(path) for up in path[: i + 1])


def needing(path: tuple[frozenset[str], ...]) -> bool:
    return all("b" not in low or any("a" in up for up in path[:i]) for i, low in enumerate(path))


FEATURE_RULES: dict[str, Kept] = {
    "forall path: a before b": every_path(ordered),
    "forall path: not (a before b)": every_path(lambda path: not ordered(path)),
    "forall path: b requires a": every_path(needing),
    "forall path: not (b requires a)": every_path(lambda path: not needing(path)),
    "forall path: uses(c)": every_path(lambda path: any("c" in one for one in path)),
    "forall path: not uses(c)": every_path(lambda path: not any("c" in one for one in path)),
    "uses(a) and uses(b)": lambda tree: all(any(f in s for s in tree.splits) for f in "ab"),
    "not uses(a) or not uses(b)": lambda tree: any(
        all(f not in s for s in tree.splits) for f in "ab"
    ),
    "tests(a) + tests(b) <= 2": lambda t: sum(len(s & {"a", "b"}) for s in t.splits) <= 2,
    "tests(a) >= 2": lambda tree: sum("a" in one for one in tree.splits) >= 2,
    "forall path: tests(a) <= 1": every_path(lambda path: sum("a" in one for one in path) <= 1),
    "forall path: cost <= 8": every_path(lambda path: bill(path) <= 8),
    "forall path: cost <= 11 or uses(c)": every_path(
        lambda path: bill(path) <= 11 or any("c" in one for one in path)
    ),
    "forall path: cost >= 10": every_path(lambda path: bill(path) >= 10),
    "expected_cost <= 6": lambda tree: tree.charged <= 6 * ROWS,
    "root in {b} or uses(c)": lambda tree: (
        not tree.splits or tree.splits[0] <= {"b"} or any("c" in one for one in tree.splits)
    ),
    "not (root in {b, c})": lambda tree: bool(tree.splits) and "a" in tree.splits[0],
}
ROWS = 6
NAMES = "abc"


def all_trees(frame: dict[str, list[Any]], depth: int) -> set[Grown]:
    """Every tree of linear partitions whose splits weigh sets of features.

    A set can part the rows where a part of it can: the plane is turned a little. A feature of one
    value is never weighed.
    """
    names = [name for name in NAMES if len(set(frame[name])) > 1]
    points = [tuple(frame[name][row] for name in NAMES) for row in range(ROWS)]
    sets = [frozenset(some) for k in (1, 2, 3) for some in combinations(names, k)]

    @cache
    def grow(rows: frozenset[int], left: int, above: tuple[frozenset[str], ...]) -> set[Grown]:
        found = {
            Grown(
                label,
                sum(frame["y"][row] != label for row in rows),
                (above,),
                (),
                len(rows) * bill(above),
            )
            for label in "pq"
        }
        if not left:
            return found
        kinds = sorted({points[row] for row in rows})
        for many in range(1, len(kinds)):
            for low in combinations(kinds, many):
                here = frozenset(row for row in rows if points[row] in low)
                parting = [
                    some
                    for some in sets
                    if divided(low, tuple(kind for kind in kinds if kind not in low), some)
                ]
                for some in parting:
                    below = (*above, some)
                    for one in grow(here, left - 1, below):
                        for other in grow(rows - here, left - 1, below):
                            if one.label is not None and one.label == other.label:
                                continue  # the arcs of a node lead to different places
                            found.add(
                                Grown(
                                    None,
                                    one.errors + other.errors,
                                    one.paths + other.paths,
                                    (some, *one.splits, *other.splits),
                                    one.charged + other.charged,
                                )
                            )
        return found

    return grow(frozenset(range(ROWS)), depth, ())


@cache
def divided(
    low: tuple[tuple[float, ...], ...], high: tuple[tuple[float, ...], ...], some: frozenset[str]
) -> bool:
    """Whether a plane over some of the features has the one set below it and not the other."""
    places = [NAMES.index(name) for name in sorted(some)]
    sides = [[[point[place] for place in places] for point in side] for side in (low, high)]
    from scipy.optimize import linprog

    rows = [[*point, -1.0] for point in sides[0]] + [
        [*(-x for x in point), 1.0] for point in sides[1]
    ]
    free = [(None, None)] * (len(places) + 1)
    found = linprog(np.zeros(len(free)), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=free)
    return bool(found.status == 0)


@pytest.mark.parametrize("seeds", blocks(17, 6))
def test_rules_on_features_hold_as_among_all_trees(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"plane rules {seed}")
        depth = rng.choice((1, 1, 2))
        frame: dict[str, list[Any]] = {
            name: [float(rng.randrange(2)) for _ in range(ROWS)] for name in NAMES
        }
        frame["y"] = ["p", "q", *(rng.choice("pq") for _ in range(ROWS - 2))]
        rule = list(FEATURE_RULES)[seed % len(FEATURE_RULES)]
        priced = rng.random() < 0.4
        charge = "expected_cost + 3 * tests(b) - tests(c)" if priced else "splits"
        core = core_of(
            f"feature c: number\n{PRICES}tree depth <= {depth}, splits hyperplane\n"
            f"minimize errors + ({charge}) / 4\nrule r: {rule}",
            frame,
        )
        trees = [tree for tree in all_trees(frame, depth) if FEATURE_RULES[rule](tree)]
        answer = Milp().solve(core, Limits())
        if not trees:
            assert answer.status == "infeasible", (seed, rule)
            continue
        expected = min(
            tree.errors
            + (
                Fraction(tree.charged, ROWS)
                + 3 * sum("b" in one for one in tree.splits)
                - sum("c" in one for one in tree.splits)
                if priced
                else len(tree.splits)
            )
            / Fraction(4)
            for tree in trees
        )
        assert answer.status == "optimal", (seed, rule)
        assert answer.stages[0].value == expected, (seed, rule)
        assert answer.diagram is not None
        assert not DiagramEvaluation(core, answer.diagram).violations(), (seed, rule)
