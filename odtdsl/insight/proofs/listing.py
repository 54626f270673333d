"""Certificates of lists: that no tree is missing which is as good as the best one, or nearly so.

Here each tree counts that has other tests or labels than the others; of those that predict alike
a list shows one. `odtcheck` finds all of them by itself, and compares.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import error
from odtdsl.base.interrupts import interruptible
from odtdsl.base.limits import parse_seconds
from odtdsl.compiler import Analysis
from odtdsl.driver.alternatives import STOPPED, best_of, shallowest
from odtdsl.driver.near import bounds_of
from odtdsl.driver.result import Certificate
from odtdsl.insight.proofs import certificate, covered
from odtdsl.insight.proofs.problem_text import tree_texts
from odtdsl.problem.ir.forms import Core, DepthStage, LinearStage
from odtdsl.problem.ir.raw import RawTree
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.driver.alternatives import Alternatives

MOST_NAMED = 10_000
"""Trees that are told one by one; more are only counted."""


def write(
    analysis: Analysis, found: Alternatives, path: Path, deadline: float | None, *, named: bool
) -> tuple[Path, int, bool]:
    """Write a certificate that a list is complete, and the training rows beside it.

    Returns the path of the rows, how many trees there are, and whether each one is told (`named`:
    whether it is to be, if they are not too many).

    Raises
    ------
    OdtError
        P201: the list is not complete, or its count is wrong. P202: the time was over. F301: a
        file cannot be written.
    """
    from odtdsl.backends.exact.lowering import deepest_of

    core = normalize(analysis.rows)
    _require_complete(found, named)
    bounds = bounds_of(core, analysis.rows, best_of(core, found.result), found.tolerance)
    if isinstance(core.objective[0], DepthStage) and bounds[0] is not None:
        depth = min(deepest_of(core)[0], floor(bounds[0]))
        for reason in covered.beyond_lists(core, depth):
            raise error("P201", f"the list is not certified: {reason}")
    trees = _trees(core, analysis, found, bounds, deadline) if named else None
    if trees is not None and found.raw not in (None, len(trees)):
        raise error(
            "P201",
            f"the list is not certified: {found.raw} trees were counted, and {len(trees)} told"
            " one by one, which is a mistake of this package",
        )
    lines = [*_claim(core, bounds)]
    if trees is None:
        if found.raw is None:
            raise error("P201", "the trees of the list were not counted, so none are certified")
        lines.append(f"count\t{found.raw}\n")
    else:
        lines += trees
    steps = _steps(core, deadline)
    rows = certificate.write_file(analysis, "".join(lines), steps, path)
    return rows, (found.raw or 0) if trees is None else len(trees), trees is not None


def _require_complete(found: Alternatives, named: bool) -> None:
    if found.status == "infeasible":
        raise error(
            "P201",
            "there is no tree to list",
            helps=("`--proof` without `--all-optimal` and `--near` certifies that there is none",),
        )
    if not found.complete and (named or found.raw is None):
        raise error(
            "P201",
            f"the list is not complete, so that is not certified: {STOPPED[found.stopped]}",
        )


def _claim(core: Core, bounds: tuple[Fraction | None, ...]) -> Iterator[str]:
    """What is claimed of all trees: their depth, splits, and values."""
    from odtdsl.backends.exact.idle_splits import idle_splits_go
    from odtdsl.backends.exact.lowering import deepest_of, least

    depth = deepest_of(core)[0]
    digits: list[str] = []
    for stage, bound in zip(core.objective, bounds, strict=True):
        if bound is None:
            break
        if isinstance(stage, DepthStage):
            depth = min(depth, floor(bound))
            continue
        assert isinstance(stage, LinearStage), "as `require_covered` has it"
        steps = floor(bound * stage.measure.denominator) - least(stage.measure)
        digits.append(str(steps))
    yield "\t".join(("all", str(depth), str(int(not idle_splits_go(core))), *digits)) + "\n"


def _trees(
    core: Core,
    analysis: Analysis,
    found: Alternatives,
    bounds: tuple[Fraction | None, ...],
    deadline: float | None,
) -> list[str] | None:
    """Every tree as a certificate tells it; None if they are too many."""
    from odtdsl.backends.base import Limits
    from odtdsl.backends.decode import unrouted
    from odtdsl.backends.exact.enumeration import Wish, enumerate_trees
    from odtdsl.problem.ir.evaluate import Evaluation

    trees: list[str] = []
    text = tree_texts(core, analysis.rows)

    def told(raw: RawTree, _values: tuple[Fraction, ...], _function: int) -> bool:
        if len(trees) == MOST_NAMED:
            return False
        tree = unrouted(analysis.rows, Evaluation(core, raw))
        trees.append(text(tree.root))
        return True

    best = best_of(core, found.result)
    with interruptible() as pressed:
        ended = enumerate_trees(
            core,
            bounds,
            Limits(deadline=deadline, interrupted=pressed),
            told,
            wish=Wish(least=best),
            shallowest=shallowest(core, best),
        )
    if ended.stopped == "enough":
        return None
    if ended.stopped:
        raise error(
            "P202",
            "no certificate was written: a limit was reached before all trees were listed",
        )
    return trees


def _steps(core: Core, deadline: float | None) -> bytes:
    """The scale of the loss, and multipliers of the rules on the whole tree."""
    from odtdsl.backends.base import Limits
    from odtdsl.backends.exact.backend import asks_fronts
    from odtdsl.backends.exact.lowering import deepest_of
    from odtdsl.backends.exact.multipliers import list_steps
    from odtdsl.backends.exact.ruled import assemble

    if not asks_fronts(core):
        return b"\x01"
    return list_steps(core, assemble(core, deepest_of(core)[0]), Limits(deadline=deadline))


def certify(
    found: Alternatives, path: Path | None, within: float | str | timedelta | None
) -> Alternatives:
    """The list with a certificate that `odtcheck` has checked; errors as of its method."""
    seconds = parse_seconds(within) if isinstance(within, str) else within
    seconds = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    deadline = None if seconds is None else time.monotonic() + seconds
    rows = found.rows
    analysis = Analysis(
        problem=rows.problem, rows=rows, test=None, warnings=(), table=rows.data.table
    )
    covered.require_covered(normalize(rows), listing=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "list.cert" if path is None else path
        write(analysis, found, file, deadline, named=bool(found.trees))
        checked = certificate.verify(analysis, file)
        size = file.stat().st_size
    shown = Certificate(
        certified=checked.complete,
        claims=checked.claims,
        steps=checked.steps,
        rules=tuple(checked.rules.split()),
        size=size,
        path=path,
    )
    return replace(found, certificate=shown)
