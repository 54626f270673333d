"""What certificates of `exact` cover, and by which rule they do not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import (
    Additive,
    Core,
    DepthStage,
    Linear,
    LinearStage,
    Link,
    MaximaBound,
    Monotone,
    PathTotal,
)

MOST_WORK = 2 * 10**11
"""Sums over rows that the checker may need under rules, by a rough count; where tests may be left
out of a path its bounds spare most of them."""

SPARED = 500
FAST = 50
"""Without such rules depth two takes a part of the time."""


def require_covered(core: Core, *, listing: bool = False) -> None:
    """Raise P203, before any search, for what no certificate of `exact` covers.

    `listing`: it is to be a certificate of a list of trees.
    """
    reasons = uncovered_lists(core) if listing else uncovered(core)
    if reasons:
        what, proven = (
            ("lists of trees of ", "the list complete") if listing else ("", "its answer")
        )
        all_the_same = f"`exact` proves {proven} all the same: omit `--proof`, or `certify`"
        found = not listing or core.targets is None  # else there is no list at all
        raise error(
            "P203",
            f"no certificate covers {what}this problem yet",
            notes=reasons,
            helps=(
                *([all_the_same] if found else []),
                "what certificates cover: docs/explanation/certificates.md",
            ),
        )


def uncovered_lists(core: Core) -> tuple[str, ...]:
    """Why no certificate covers lists of trees of a problem; empty where one does."""
    reasons = uncovered(core)
    return reasons or tuple(dict.fromkeys(_beyond_lists(core)))


def _beyond_lists(core: Core) -> Iterator[str]:
    if core.targets is not None:
        yield "only trees of classes can be listed"
    elif not isinstance(core.objective[0], DepthStage):  # else the depth is known after the search
        yield from beyond_lists(core)


def uncovered(core: Core) -> tuple[str, ...]:
    """Why no certificate of `exact` covers a problem; empty where one does."""
    return tuple(dict.fromkeys(_uncovered(core)))


def _uncovered(core: Core) -> Iterator[str]:
    from odtdsl.backends.exact.backend import asks_fronts
    from odtdsl.backends.exact.features import features
    from odtdsl.backends.exact.number_proof import without_numbers
    from odtdsl.problem.ir.problem import DiagramSkeleton

    if isinstance(core.skeleton, DiagramSkeleton):
        yield "it asks for a diagram"
        return
    if core.targets is not None:
        yield from list(_beyond_numbers(core)) or _beyond_engine(without_numbers(core))
    elif asks_fronts(core):
        yield from list(_beyond_measures(core)) or _beyond_engine(core)
    elif not features(core).tests:
        yield "no test may stand"


def _beyond_numbers(core: Core) -> Iterator[str]:
    from odtdsl.backends.exact.number_proof import beyond_squares, without_numbers

    yield from beyond_squares(core)
    yield from _beyond_measures(without_numbers(core))


_IN_WORDS = {
    Monotone: "the direction of predictions",
    Link: "rows that are compared with each other",
    PathTotal: "the expected cost of paths",
    MaximaBound: "a sum of maxima or absolute values",
}


def _beyond_measures(core: Core) -> Iterator[str]:
    """What is no measure of rows and leaves, fact of a feature, or state of a path."""
    for clause in core.clauses:
        for literal in clause.literals:
            atom = literal.atom
            if (told := _IN_WORDS.get(type(atom))) is not None:
                yield f"rule `{clause.origin.rule}`: {told}"
            if clause.scope is not Scope.MODEL or not isinstance(atom, Linear):
                continue
            if _prices_tests(atom.measure):
                yield f"rule `{clause.origin.rule}`: prices of tests"
    for stage in core.objective:
        if isinstance(stage, DepthStage):
            yield "the depth in the objective, under rules on rows, levels or the whole tree"
        elif not isinstance(stage, LinearStage):
            yield "a share of rows that the tree decides, in the objective"
        elif stage.maxima:
            yield "maxima or absolute values in the objective"
        elif stage.path_sum is not None:
            yield "the expected cost of paths in the objective"
        elif stage.measure.leaves < 0:
            yield "rewards for leaves in the objective"
        elif _prices_tests(stage.measure):
            yield "prices of tests in the objective"


def _prices_tests(measure: Additive) -> bool:
    return measure.columns is not None and bool(measure.columns.any())


def _beyond_engine(core: Core) -> Iterator[str]:
    """What the search under rules does not take, and what the checker would take too long for."""
    from odtdsl.backends.exact.lowering import deepest_of
    from odtdsl.backends.exact.multipliers import too_long
    from odtdsl.backends.exact.ruled import assemble, ruled_objections

    reasons = [one.reason for one in ruled_objections(core)]
    if not reasons:
        made = assemble(core, deepest_of(core)[0])
        long = dict.fromkeys(too_long(core, made))
        reasons = [f"{what}: sums of more than 15 digits" for what in long]
    yield from reasons
    if not reasons:
        yield from _looked_for_in_vain(core)
        yield from _too_much(core, "under rules on rows, levels or the whole tree")


def _looked_for_in_vain(core: Core) -> Iterator[str]:
    """Rules that the search refutes by a look at the rows, and the checker by all trees."""
    from odtdsl.backends.exact.lowering import deepest_of
    from odtdsl.backends.exact.refuted import broken_by_every_leaf

    if deepest_of(core)[0] <= 2:
        return
    for clause in core.clauses:
        if clause.scope is Scope.LEAF and broken_by_every_leaf(clause):
            yield (
                f"rule `{clause.origin.rule}`: no rows keep it; "
                "to show that, the checker would look at every tree"
            )


def beyond_lists(core: Core, least_depth: int | None = None) -> Iterator[str]:
    """Which lists of trees the checker would take too long for.

    `least_depth`: that of the trees of a list, where the depth is made least first.
    """
    from odtdsl.backends.exact.backend import asks_fronts

    fast = 1 if asks_fronts(core) else FAST
    yield from _too_much(core, "lists of trees", least_depth, fast)


def _too_much(
    core: Core, what: str, least_depth: int | None = None, fast: int = 1
) -> Iterator[str]:
    """What the checker, which searches here by itself, would take too long for."""
    from odtdsl.backends.exact.features import ruled_features
    from odtdsl.backends.exact.lowering import deepest_of
    from odtdsl.backends.exact.paths import paths

    depth, deeper = deepest_of(core)
    if least_depth is not None:
        depth, deeper = least_depth, False
    if deeper:
        yield f"trees of more than 30 levels, {what}"
        return
    found = ruled_features(core, depth)
    tests = int((found.distinct.astype(np.int64) - 1).sum())
    if not len(found.tests):
        yield "no test may stand"
    spared = fast * (SPARED if paths(core, depth).closed and not found.by_level else 1)
    work = len(found.tests) * core.n_rows * core.n_classes * float(2 * tests) ** max(0, depth - 1)
    if work > MOST_WORK * spared:
        yield f"{tests:,} tests to depth {depth}, {what}: the check would take too long"
