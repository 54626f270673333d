"""Whether columns alone, rows apart, leave a tree: those of each path, those that must be used.

A search that finds no tree has tried every cut. Where already the orders, budgets and
exclusions of paths keep a column that must be used from every tree, that is told here in a
moment: trees of columns are far fewer than trees of tests. Whatever a tree keeps its columns
keep, so what is refuted here no tree keeps.
"""

from __future__ import annotations

from functools import cache

from odtdsl.backends.exact.features import ruled_features
from odtdsl.backends.exact.lowering import deepest_of
from odtdsl.backends.exact.path_states import TooManyStates
from odtdsl.backends.exact.paths import paths
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Core, Used

MOST_STEPS = 1_000_000
"""States times columns times sets of columns that are looked at."""

Columns = frozenset[int]


def refuted(core: Core) -> bool:
    """Whether the rules on paths and splits keep a column that must be used from every tree."""
    must, never = _used(core)
    if not must:
        return False
    depth, cut_off = deepest_of(core)
    if cut_off:
        return False
    if must & never:
        return True
    try:
        automaton = paths(core, depth)
    except (TooManyStates, OverflowError):
        return False
    usable = _usable(core, depth, never)
    if len(automaton.need) * len(core.columns) * 3 ** len(must) * (depth + 1) > MOST_STEPS:
        return False

    @cache
    def stands(state: int, level: int, wanted: Columns) -> bool:
        """Whether a sub-tree at this level tests all the wanted columns."""
        if not wanted:
            return automaton.need[state] <= depth - level
        return level < depth and any(
            splits(state, level, wanted, column) for column in usable[level]
        )

    def splits(state: int, level: int, wanted: Columns, column: int) -> bool:
        below = int(automaton.next[state, column])
        rest = wanted - {column}
        return below >= 0 and any(
            stands(below, level + 1, left) and stands(below, level + 1, rest - left)
            for left in _subsets(rest)
        )

    return not stands(0, 0, must)


def _usable(core: Core, depth: int, never: Columns) -> tuple[tuple[int, ...], ...]:
    """Per level the columns that some admitted test tests."""
    found = ruled_features(core, depth)
    levels = found.by_level if len(found.by_level) == depth else (found.allowed,) * depth
    return tuple(
        tuple(
            sorted(
                {
                    core.families[family].column
                    for (family, _), allowed in zip(found.tests, flags, strict=False)
                    if allowed is None or allowed.any()
                }
                - never
            )
        )
        for flags in levels
    )


def _used(core: Core) -> tuple[Columns, Columns]:
    """The columns that rules of one literal want in the tree, and those that they do not."""
    must: set[int] = set()
    never: set[int] = set()
    for clause in core.clauses:
        literal = clause.literals[0] if len(clause.literals) == 1 else None
        if clause.scope is Scope.MODEL and literal is not None and isinstance(literal.atom, Used):
            (must if literal.positive else never).add(literal.atom.column)
    return frozenset(must), frozenset(never)


def _subsets(columns: Columns) -> list[Columns]:
    found = [frozenset[int]()]
    for column in sorted(columns):
        found += [one | {column} for one in found]
    return found
