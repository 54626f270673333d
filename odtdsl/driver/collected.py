"""The trees of a list as they come in: the best of each function, audited at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.auditor.audit import Audit, audit
from odtdsl.base.diagnostics.model import error
from odtdsl.predictors.tree import Tree
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.forms import Core, DepthStage
from odtdsl.problem.ir.raw import RawLeaf, RawTree, depth_of, walk

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis

FIRST_TREES = 5
"""Of a list, what is told before its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One of the trees.

    Attributes
    ----------
    objective
        The value of each stage, recomputed by the checker.
    audit
        Every rule checked on the tree by code that shares nothing with the search.
    """

    tree: Tree
    objective: tuple[Fraction, ...]
    audit: Audit


def alternative(tree: Tree, audited: Audit) -> Alternative:
    """One of a list, with the values that its audit computed."""
    return Alternative(tree=tree, objective=audited.objective, audit=audited)


class Collected:
    """The best tree of each function, as trees come in by ascending objective.

    Their audits come last, and are to end by the deadline: so it is known what one takes.
    """

    def __init__(
        self,
        core: Core,
        analysis: Analysis,
        most: int,
        deadline: float | None,
        told: Callable[[Alternative], None] | None,
    ) -> None:
        from odtdsl.backends.exact.enumeration import merges

        self.core, self.rows, self.most = core, analysis.rows, most
        self.deadline, self.audits = deadline, list[float]()  # seconds that some took
        self.told, self.n_told, self.value = told, 0, Fraction(0)
        self.missing = frozenset(
            core.columns[family.column] for family in core.families if family.missing is not None
        )
        self.known: dict[Hashable, tuple[tuple[object, ...], RawTree]] = {}
        # Where the engine tells one tree of each function, there is nothing to compare.
        self.merges = not merges(core) or isinstance(core.objective[0], DepthStage)

    def __call__(self, raw: RawTree, values: tuple[Fraction, ...], function: int) -> bool:
        """False once a tree comes that is one too many."""
        form = self._form(raw) if self.merges else function
        if self.merges and form not in self.known and len(self.known) == self.most:
            return False
        if self.known and values[0] > self.value:
            self._tell_first()
        self.value = values[0]
        leaves = sum(isinstance(node, RawLeaf) for node, _ in walk(raw))
        rank = (values, leaves, depth_of(raw))
        before = self.known.get(form)
        if before is None or rank < before[0]:
            self.known[form] = (rank, raw)
        if before is None and len(self.known).bit_count() == 1:  # again at each power of two
            began = time.monotonic()
            self._audited(rank, raw)
            self.audits.append(time.monotonic() - began)
        return True

    def _tell_first(self) -> None:
        """Those of the first trees that are not told: only worse ones will come."""
        if self.told is None or self.n_told >= FIRST_TREES:
            return
        best_first = sorted(self.known.values(), key=lambda one: one[0])
        for rank, raw in best_first[self.n_told : FIRST_TREES]:
            self.n_told += 1
            self.told(self._audited(rank, raw))

    def _form(self, raw: RawTree) -> Hashable:
        """The same for trees that predict alike."""
        from odtdsl.backends.decode import unrouted
        from odtdsl.predictors.function import function_of

        return function_of(unrouted(self.rows, Evaluation(self.core, raw)), self.missing)

    def must_end(self) -> bool:
        """Whether there is just the time left to audit what was found."""
        if self.deadline is None:
            return False
        # One may take ten times as long as another where the machine has more to do.
        needed = sum(self.audits) / max(1, len(self.audits)) * len(self.known)
        return time.monotonic() + needed > self.deadline

    def trees(self) -> tuple[Alternative, ...]:
        """Audited, the best ones first."""
        best_first = sorted(self.known.values(), key=lambda one: one[0])
        return tuple(self._audited(rank, raw) for rank, raw in best_first)

    def _audited(self, rank: tuple[object, ...], raw: RawTree) -> Alternative:
        from odtdsl.backends.decode import to_tree

        tree = to_tree(self.core, self.rows, raw)
        audited = audit(tree, self.rows)
        claimed = tuple(
            value if isinstance(form, DepthStage) else form.sign * value
            for form, value in zip(self.core.objective, rank[0], strict=True)  # type: ignore[call-overload]
        )
        if not audited.holds or claimed != audited.objective:
            raise error(
                "X101",
                "a listed tree failed its audit: this is a bug in odtdsl, not your mistake",
                notes=(
                    f"broken rules: {[x.rule for x in audited.lines if not x.holds]}",
                    f"claimed objective {claimed}, recomputed {audited.objective}",
                ),
                helps=("please report it with the spec and the data",),
            )
        return alternative(tree, audited)
