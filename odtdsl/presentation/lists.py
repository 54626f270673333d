"""Lists of trees as plain text: `odt solve --all-optimal`, `--near`, `--count`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from odtdsl.base.numbers import counted
from odtdsl.presentation.console import answer, shown, stage_line, table
from odtdsl.presentation.pictures.text import to_text

if TYPE_CHECKING:
    from odtdsl.driver.alternatives import Alternatives, Use
    from odtdsl.driver.collected import Alternative
    from odtdsl.predictors.missing_values import MissingShown

SHOWN_TESTS = 12
"""Of a list of trees, the tests that are printed; `--json` has all of them."""


def one_of_a_list(at: int, one: Alternative, *, missing: MissingShown = False) -> Iterator[str]:
    """A tree of a list, with its place there."""
    values = ", ".join(map(shown, one.objective))
    yield f"tree {at}: {values}; {counted(one.tree.n_leaves, 'leaf', 'leaves')}"
    yield to_text(one.tree, missing=missing)


def listed(
    found: Alternatives, *, missing: MissingShown = False, only: bool = False, told: int = 0
) -> Iterator[str]:
    """The trees that are as good as the best one, or nearly so, and what they share.

    `only` how many there are. So many of the first trees as `told` were printed before.
    """
    from odtdsl.driver.collected import FIRST_TREES

    if only and found.status == "optimal":
        yield from _counted_trees(found)
        return
    if not found.trees:
        yield from answer(found.result)
        return
    for at in range(told, min(FIRST_TREES, len(found.trees))):
        yield from one_of_a_list(at + 1, found.trees[at], missing=missing)
    if (more := len(found.trees) - FIRST_TREES) > 0:
        yield f"and {more} more: `--json` lists all"
        yield ""
    yield from _listed_status(found)
    yield ""
    rows = [("value", "leaves", "trees")]
    rows += [
        (", ".join(map(shown, value)), str(leaves), str(trees))
        for value, leaves, trees in found.sizes
    ]
    yield from table(rows, indent="  ")
    for uses, most in ((found.features, None), (found.tests, SHOWN_TESTS)):
        yield ""
        yield from _uses(uses, most)
    if found.without:
        yield ""
        yield from _reliance(found)


def _counted_trees(found: Alternatives) -> Iterator[str]:
    """How many trees there are, by value, and how many do without each feature."""
    from odtdsl.driver.alternatives import STOPPED

    which = f"within {found.near} of the best" if found.near else "as good as the best"
    if found.raw is None:
        yield f"trees {which}: not all were counted ({STOPPED[found.stopped] or 'rules on order'})"
    else:
        yield f"{found.raw:,} {'tree' if found.raw == 1 else 'trees'} {which}"
    more = "" if found.complete else "more than "
    yield f"  {more}{found.distinct:,} that predict differently"
    for stage in found.result.stages:
        yield "  " + stage_line(stage)
    yield f"  {found.result.backend}, {found.seconds:.2f} s"
    if found.certificate is not None:
        yield f"  {found.certificate}"
    if found.raw is None:
        return
    yield ""
    rows = [("value", "trees")]
    rows += [(shown(value), f"{trees:,}") for value, trees in found.counts]
    yield from table(rows, indent="  ")
    if found.without:
        yield ""
        yield from _without(found)


def _without(found: Alternatives) -> Iterator[str]:
    names = [feature.name for feature in found.rows.problem.features]
    rows = [("feature", "trees without it")]
    rows += [
        (name, "none: all need it" if not trees else f"{trees:,}")
        for trees, name in sorted(zip(found.without, names, strict=True), key=lambda one: one[0])
    ]
    yield from table(rows, indent="  ")


def _reliance(found: Alternatives) -> Iterator[str]:
    """Which features good trees need, and the range of what they lose without."""
    rows = [("feature", "trees without it", "least reliance", "most")]
    rows += [
        (
            one.feature,
            "none: all need it" if one.needed else f"{one.without:,}",
            f"{100 * one.least:.2f}%",
            f"{100 * one.most:.2f}%",
        )
        for one in found.reliance()
    ]
    yield from table(rows, indent="  ")
    yield "  reliance: what the error rate grows by if the feature is taken from other rows,"
    yield "  over the listed trees" + ("" if found.complete else ", which are not all")


def _listed_status(found: Alternatives) -> Iterator[str]:
    from odtdsl.driver.alternatives import STOPPED

    trees = counted(len(found.trees), "distinct tree")
    which = f"within {found.near} of the best" if found.near else "as good as the best"
    yield f"{trees} {which}; the list is " + (
        "complete" if found.complete else f"incomplete: {STOPPED[found.stopped]}"
    )
    if found.raw is not None:
        yield f"  {found.raw:,} where those that predict alike count each"
    for stage in found.result.stages:
        yield "  " + stage_line(stage)
    shared = ", ".join(found.shared)
    yield "  all of them test " + shared if shared else "  no feature is tested by all of them"
    yield f"  every tree audited; {found.result.backend}, {found.seconds:.2f} s"
    if found.certificate is not None:
        yield f"  {found.certificate}"


def _uses(uses: Sequence[Use], most: int | None) -> Iterator[str]:
    tests = most is not None
    rows = [("test" if tests else "feature", "trees", "share")]
    rows += [
        (f"{use.feature} {use.test}".rstrip(), str(use.trees), f"{float(use.share):.0%}")
        for use in uses[:most]
    ]
    yield from table(rows, indent="  ")
    if most is not None and len(uses) > most:
        yield f"  and {len(uses) - most} more"


def alternatives_text(found: Alternatives) -> str:
    """A list of trees as `odt solve --near` prints it."""
    rows = found.result.rows
    return "\n".join(listed(found, missing=False if rows is None else rows.may_miss))
