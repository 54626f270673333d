"""What a rule costs: the time of a problem with one rule against that without it.

Which features a rule speaks of is not chosen by hand but from the free optimum, the tree that
the same run finds without the rule. Candidates are its features, from the root downwards, then
the others in the order of the file; taken are the first that make the free optimum break the
rule, and the first that let it satisfy the rule.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from statistics import median
from typing import Any, TypeVar

import numpy as np

from measures import sets
from measures.peers import Outcome, alternate
from measures.report import CASES_PAGE, Table, geometric
from measures.sets import Array
from measures.specs import analysed, result_of, run
from odtdsl.auditor.audit import audit
from odtdsl.compiler import Analysis
from odtdsl.predictors.nodes import Branch, Threshold, TreeNode
from odtdsl.predictors.tree import Tree

PATH = ("exclusion on a path", "order on a path")
ASKED = {
    PATH: 1.5,
    ("thresholds",): 1.0,
    ("leaf size",): 3.0,
    ("must use",): 3.0,
    ("leaves",): 3.0,
}
"""Kinds of rules, and what they may cost at most, as a geometric mean over the sets."""

T = TypeVar("T")

LONG = 20.0
"""Seconds: runs that take longer are taken once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a kind; `breaks`: whether the free optimum breaks it."""

    kind: str
    text: str
    breaks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A rule on a set, its time over that of the free problem."""

    rule: Rule
    name: str
    ratio: float
    search: float
    proven: bool


# ---- which rules


def _paths(node: TreeNode, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """What each path tests, from the root downwards."""
    if not isinstance(node, Branch):
        yield above
        return
    for side in (node.left, node.right):
        yield from _paths(side, (*above, node.feature))


def _together(tree: Tree, pair: tuple[str, str]) -> bool:
    return any(set(pair) <= set(path) for path in _paths(tree.root))


def _out_of_order(tree: Tree, pair: tuple[str, str]) -> bool:
    """Whether some path asks the second above the first, or between two of the first."""
    first, second = pair
    return any(
        second in path[: len(path) - path[::-1].index(first)]
        for path in _paths(tree.root)
        if first in path
    )


def _first(
    kind: str, of: Iterator[T] | list[T], breaks: Callable[[T], bool], text: Callable[[T], str]
) -> Iterator[Rule]:
    """The first candidate that the free optimum breaks, and the first that it keeps."""
    found: dict[bool, Rule] = {}
    for candidate in of:
        broken = breaks(candidate)
        if broken not in found:
            found[broken] = Rule(kind=kind, text=text(candidate), breaks=broken)
        if len(found) == 2:
            break
    yield from (found[broken] for broken in (True, False) if broken in found)


def rules(tree: Tree, cells: dict[str, Array]) -> Iterator[Rule]:
    """The rules of a set, from its free optimum; `cells` by feature."""
    branches = [node for node in tree.nodes() if isinstance(node, Branch)]
    used = list(dict.fromkeys(node.feature for node in branches))
    order = [*used, *(name for name in cells if name not in used)]
    yield from _first(
        "exclusion on a path",
        combinations(order, 2),
        lambda pair: _together(tree, pair),
        lambda pair: f"forall path: not (uses({pair[0]}) and uses({pair[1]}))",
    )
    yield from _first(
        "order on a path",
        permutations(order, 2),
        lambda pair: _out_of_order(tree, pair),
        lambda pair: f"forall path: {pair[0]} before {pair[1]}",
    )
    quartiles = {name: np.quantile(cells[name], [0.25, 0.75]) for name in order}

    def outside(name: str) -> bool:
        low, high = quartiles[name]
        tests = [node.test for node in branches if node.feature == name]
        values = [float(t.value) for t in tests if isinstance(t, Threshold)]
        return any(not low <= value <= high for value in values)

    yield from _first(
        "thresholds",
        [name for name in order if quartiles[name][0] < quartiles[name][1]],
        outside,
        lambda name: "forall split: threshold({}) in [{!r}, {!r}]".format(
            name, *map(float, quartiles[name])
        ),
    )
    rows = branches[0].size
    small = any(100 * leaf.size < rows for leaf in tree.leaves)
    yield Rule(kind="leaf size", text="forall leaf: size >= 1%", breaks=small)
    # what the free optimum has no use for comes first
    yield from _first(
        "must use",
        [*order[len(used) :], *used],
        lambda name: name not in used,
        lambda name: f"uses({name})",
    )
    yield Rule(kind="leaves", text="leaves <= 6", breaks=tree.n_leaves > 6)


# ---- one set


def _spec(name: str, depth: int, rule: str = "") -> Analysis:
    asked = f"rule asked: {rule}\n" if rule else ""
    text = (
        f'data "{name}.txt", separator " ", header none\ntarget c1: class\nfeature *: number\n'
        f"tree depth <= {depth}\nminimize errors\n{asked}"
    )
    return analysed(name, text, sets.path("continuous", name))


def _known(name: str, free: Outcome, ruled: Outcome, rule: Rule) -> None:
    """A rule never helps; one that the free optimum keeps costs no errors."""
    assert free.value is not None, name
    assert ruled.bound is None or ruled.value is None or ruled.bound <= ruled.value, (name, rule)
    if free.proven and ruled.value is not None:
        assert free.value <= ruled.value, (name, rule, free.value, ruled.value)
    if free.proven and ruled.proven and not rule.breaks:
        assert ruled.value == free.value, (name, rule, free.value, ruled.value)


def _measured(name: str, args: Namespace, table: Table) -> Iterator[Cost]:
    plain = _spec(name, args.depth)
    first = run(plain, args.limit)  # also loads all that is loaded once
    tree = result_of(first).tree
    assert tree is not None, name
    columns = plain.rows.data.columns
    cells = {f.name: columns[f.name].numbers for f in plain.problem.features}
    for rule in rules(tree, cells):  # type: ignore[arg-type]
        asked = _spec(name, args.depth, rule.text)
        held = {line.rule: line.holds for line in audit(tree, asked.rows).lines}
        assert held["asked"] != rule.breaks, (name, rule)
        searches: dict[bool, list[float]] = {False: [], True: []}

        def timed(analysis: Analysis, ruled: bool) -> Outcome:
            outcome = run(analysis, args.limit)
            searches[ruled].append(outcome.raw["search"])
            return outcome

        pair = alternate(
            args.runs, lambda: timed(plain, False), lambda: timed(asked, True), long=LONG
        )
        ruled = pair.other
        assert ruled is not None
        _known(name, pair.mine, ruled, rule)
        search = median(b / a for a, b in zip(searches[False], searches[True], strict=True))
        proven = pair.mine.proven and ruled.proven
        mark = "" if proven else "≥ "
        table.add(
            name,
            f"`{rule.text}`",
            "breaks it" if rule.breaks else "keeps it",
            pair.mine.value,
            _value(ruled),
            f"{pair.seconds:.4f}",
            f"{pair.other_seconds:.4f}",
            f"{mark}{pair.ratio:.2f}",
            f"{mark}{search:.2f}",
        )
        yield Cost(rule=rule, name=name, ratio=pair.ratio, search=search, proven=proven)


def _value(ruled: Outcome) -> str:
    if ruled.proven:
        return "none" if ruled.value is None else str(ruled.value)
    bound = "no bound" if ruled.bound is None else f"bound {ruled.bound}"
    return f"open: {ruled.value or 'none found'}, {bound}"


# ---- all


def cost(args: Namespace) -> None:
    """Geometric means by kind, and a row per set and rule."""
    each = Table(
        f"cost-rules-{args.depth}",
        (
            "set",
            "rule",
            "free optimum",
            "free errors",
            "errors",
            "free, s",
            "with the rule, s",
            "ratio",
            "ratio of searches",
        ),
    )
    found: list[Cost] = []
    for name in args.sets.split(",") if args.sets else sets.CONTINUOUS:
        found += _measured(name, args, each)
    still_open = sum(not one.proven for one in found)
    each.note(
        f"Depth {args.depth}, limit {args.limit:g} s, one thread, medians of {args.runs} (one where"
        f" a run takes over {LONG:g} s), runs alternated."
        + (f" {still_open} open at the limit." if still_open else " All proven.")
    )
    table = Table(
        f"cost-{args.depth}",
        (
            "rules",
            "free optimum",
            "solves",
            "ratio",
            "ratio of searches",
            "largest",
            "open",
            "asked",
        ),
    )
    for kinds, most in ASKED.items():
        of_kinds = [one for one in found if one.rule.kind in kinds]
        for says in ("breaks it", "keeps it"):
            for kind in kinds:
                chosen = [
                    one
                    for one in of_kinds
                    if one.rule.kind == kind and one.rule.breaks == (says == "breaks it")
                ]
                if chosen:
                    table.add(kind, says, *_means(chosen), "")
        table.add(" and ".join(kinds), "all", *_means(of_kinds), f"at most {most:g}")
    if args.docs:
        table.publish(CASES_PAGE)
        each.publish(CASES_PAGE)


def _means(chosen: list[Cost]) -> list[Any]:
    still_open = sum(not one.proven for one in chosen)
    mark = "≥ " if still_open else ""
    largest = max(chosen, key=lambda one: one.ratio)
    at_least = "" if largest.proven else "≥ "
    return [
        len(chosen),
        f"{mark}{geometric([one.ratio for one in chosen]):.2f}",
        f"{mark}{geometric([one.search for one in chosen]):.2f}",
        f"{at_least}{largest.ratio:.2f} ({largest.name})",
        still_open or "",
    ]
