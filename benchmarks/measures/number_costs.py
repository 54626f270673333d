"""What a rule costs on a number target: the time with one rule against that without it.

Rules speak of the features of the free optimum, the most used first, so that most of them bind.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

import odtdsl
from measures.report import Table, geometric
from measures.sets import Array
from odtdsl.compiler import Analysis
from odtdsl.driver.pipeline import solve
from odtdsl.driver.result import Result
from odtdsl.predictors.nodes import Branch, TreeNode
from odtdsl.predictors.tree import Tree

RULES = {
    "order": "forall path: {a} before {b}",
    "requires": "forall path: {a} requires {b}",
    "uses, on each path": "forall path: uses({a})",
    "exclusion": "forall path: not (uses({a}) and uses({b}))",
    "cost of a path": "forall path: cost <= 2",
    "tests of a path": "forall path: tests({a}, {b}) <= 1",
    "length": "forall path: length >= 2",
    "leaf size": "forall leaf: size >= 5%",
    "group in a leaf": "forall leaf: size(g) >= 1",
    "split size": "forall split: size >= 20%",
    "level": "forall split: if level = 0 then feature != {a}",
    "uses, in the tree": "not uses({a}) or uses({c})",
    "tests of the tree": "tests({a}) <= 1",
    "expected cost": "expected_cost <= 2",
    "loss of a group": "mse(g) <= {most}",
    "same leaf": "same_leaf(1, 2)",
    "absolute loss of a group": "mae(g) <= {away}",
    "loss of a group, uses": "mse(g) <= {most}\nrule used: forall path: uses({a})",
    "loss of a group, leaf size": "mse(g) <= {most}\nrule sized: forall leaf: size >= 5%",
    "loss of a group, level": "mse(g) <= {most}\n"
    "rule l: forall split: if level = 0 then feature != {a}",
    "loss of a group, size where it is": "mse(g) <= {most}\n"
    "rule l: forall leaf: if size(g) >= 1 then size >= 10",
    "absolute loss of a group, leaf size": "mae(g) <= {away}\nrule sized: forall leaf: size >= 5%",
    "expected cost, leaf size": "expected_cost <= 2\nrule sized: forall leaf: size >= 5%",
    "tests of the tree, leaf size": "tests({a}) <= 1\nrule sized: forall leaf: size >= 5%",
}
"""`a`, `b`, `c`: features of the free optimum; `g`: the rows on one side of a cut of `a`."""

PATHS = ("order", "requires", "uses, on each path", "exclusion", "cost of a path")
PATHS += ("tests of a path", "length")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A set, and what rules on it speak of."""

    frame: dict[str, Array]
    names: dict[str, str]
    group: str
    most: float
    away: float
    free: Analysis
    value: float

    def text(self, depth: int, rule: str) -> str:
        """The spec with a rule."""
        return _text(
            depth, f"{self.group}\n", rule.format(**self.names, most=self.most, away=self.away)
        )


def _text(depth: int, group: str = "", rule: str = "") -> str:
    head = f"data frame\ntarget y: number\nfeature *: number\ncost * = 1\n{group}"
    return f"{head}tree depth <= {depth}\nminimize mse\n" + (f"rule asked: {rule}" if rule else "")


MOST = 3
"""Pairs of a set and a rule that take more than so many times as long are listed."""

TOTAL = 0.5
"""Processor seconds of a pair of solves up to which it is run again: of few short runs, medians
are rough."""


def timed(analysis: Analysis, limit: float) -> tuple[float, Result]:
    """Processor seconds from the analysed spec to the audited answer."""
    start = time.process_time()
    result = solve(analysis, backend="exact", seconds=limit, threads=1)
    return time.process_time() - start, result


def compared(ruled: Analysis, free: Analysis, runs: int, limit: float) -> tuple[float, Result]:
    """The median of runs with a rule over that of runs without it, in turns: a busy machine slows
    both."""
    seconds: tuple[list[float], list[float]] = ([], [])
    while len(seconds[0]) < runs or sum(map(sum, seconds)) < TOTAL:
        for analysis, known in zip((free, ruled), seconds, strict=True):
            spent, result = timed(analysis, limit)
            known.append(spent)
    return median(seconds[1]) / median(seconds[0]), result


def problem(columns: Array, targets: Array, depth: int, limit: float) -> Problem | None:
    """The free optimum, and rules about it; None where fewer than three features are tested."""
    frame = {f"x{k}": column.astype(float) for k, column in enumerate(columns.T)} | {"y": targets}
    analysis = odtdsl.parse(_text(depth)).analyse(frame=frame)
    _, free = timed(analysis, limit)
    tree = free.model
    assert isinstance(tree, Tree)
    used = [name for name, _ in Counter(_tested(tree.root)).most_common()]
    if len(used) < 3:
        return None
    a = frame[used[0]]
    cut = float(np.unique(a)[(len(np.unique(a)) - 1) // 2])
    outputs = np.asarray(tree.predict({n: c for n, c in frame.items() if n != "y"})).ravel()
    rest = (outputs - targets)[a <= cut]
    value = free.stages[0].value
    assert value is not None
    return Problem(
        frame=frame,
        names=dict(zip("abc", used, strict=False)),
        group=f"group g = {used[0]} <= {cut:g}",
        most=round(float((rest**2).mean()) * 0.99, 9),
        away=round(float(np.abs(rest).mean()) * 0.99, 9),
        free=analysis,
        value=float(value),
    )


def _tested(node: TreeNode) -> Iterator[str]:
    if isinstance(node, Branch):
        yield node.feature
        yield from _tested(node.left)
        yield from _tested(node.right)


def measure(
    cases: Callable[[], Iterator[tuple[str, Array, Array]]], depth: int, runs: int, limit: float
) -> Table:
    """A row per rule: geometric mean and largest of the ratios over the sets."""
    table = Table(
        f"number-rules-{depth}",
        ("rule", "sets", "binds on", "ratio, mean", "ratio, largest", "largest on", "open"),
    )
    ratios: dict[str, dict[str, float]] = {rule: {} for rule in RULES}
    binds, still_open = Counter[str](), Counter[str]()
    for name, columns, targets in cases():
        of = problem(columns, targets, depth, limit)
        if of is None:
            continue
        for rule, words in RULES.items():
            spec = odtdsl.parse(of.text(depth, words))
            ratio, result = compared(spec.analyse(frame=of.frame), of.free, runs, limit)
            ratios[rule][name] = ratio
            still_open[rule] += result.status == "feasible"
            value = result.stages[0].value if result.stages else None
            binds[rule] += value is None or float(value) > of.value * (1 + 1e-9)
    for rule, of_set in ratios.items():
        worst = max(of_set, key=lambda name: of_set[name])
        table.add(
            rule,
            str(len(of_set)),
            str(binds[rule]),
            f"{geometric(list(of_set.values())):.2f}",
            f"{of_set[worst]:.2f}",
            worst,
            str(still_open[rule]),
        )
    paths = [ratio for rule in PATHS for ratio in ratios[rule].values()]
    pairs = [(ratio, rule, name) for rule in RULES for name, ratio in ratios[rule].items()]
    above = sorted((pair for pair in pairs if pair[0] > MOST), reverse=True)
    listed = "; ".join(f"{rule}, {name}: {ratio:.2f}" for ratio, rule, name in above)
    table.note(
        f"Depth {depth}, one thread: processor time from the analysed spec to the audited answer,"
        " with the rule over that without it, run in turns."
        f" Rules on paths: {geometric(paths):.2f} in the mean."
        f" Above {MOST}: {len(above)} of {len(pairs)} pairs{': ' if above else ''}{listed}."
    )
    return table
