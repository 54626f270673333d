"""The rules that the plain search takes: what of a core they are, and the rest of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from odtdsl.backends.exact.features import Features
from odtdsl.backends.exact.lowering import deepest_of, leaf_rows, least_leaf_rows
from odtdsl.backends.exact.path_states import TooManyStates
from odtdsl.backends.exact.paths import NEVER, paths
from odtdsl.problem.ir.automata import on_paths
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Clause, Core, Used


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainRules:
    """Rules on sizes of leaves, on paths, and on the columns that a tree tests.

    Attributes
    ----------
    leaf_rows
        Rows that each leaf must hold at least.
    next
        The automaton of the rules on paths (`Paths.next`); None where all paths may stand.
    must
        A column that some split must test, or None.
    forbidden
        Columns that no split may test.
    """

    leaf_rows: int = 1
    next: npt.NDArray[np.int32] | None = None
    must: int | None = None
    forbidden: frozenset[int] = frozenset()

    @property
    def none(self) -> bool:
        """Whether nothing is asked."""
        return (
            self.leaf_rows == 1 and self.next is None and self.must is None and not self.forbidden
        )

    def restricted(self, core: Core, found: Features) -> Features:
        """The features without the tests of forbidden columns."""
        if not self.forbidden:
            return found
        allowed = tuple(
            np.zeros(int(found.distinct[f]), dtype=bool)
            if core.families[family].column in self.forbidden
            else found.allowed[f]
            for f, (family, _) in enumerate(found.tests)
        )
        return replace(found, allowed=allowed or found.allowed)

    def columns(self, core: Core, found: Features) -> npt.NDArray[np.int32] | None:
        """The column of each feature, int32 (n_features,); None where no rule speaks of columns."""
        if self.next is None and self.must is None:
            return None
        columns = [core.families[family].column for family, _ in found.tests] or [0]
        return np.array(columns, dtype=np.int32)


def plain_rules(core: Core) -> tuple[PlainRules, Core] | None:
    """The rules that the plain search takes, and the core without them; None where it cannot.

    A rule that neither side knows stays in the core that is returned. The automaton must be
    one whose states allow all that the states behind them do: the bounds rest on it.
    """
    used = [clause for clause in core.clauses if _used(clause) is not None]
    along = [clause for clause in core.clauses if _along(clause)]
    asked = [found for clause in used if (found := _used(clause)) is not None]
    must = {column for column, positive in asked if positive}
    forbidden = {column for column, positive in asked if not positive}
    if len(must) > 1 or must & forbidden:
        return None
    following = None
    if along:
        following = _automaton(replace(core, clauses=tuple(along)))
        if following is None:
            return None
    rules = PlainRules(
        leaf_rows=least_leaf_rows(core),
        next=following,
        must=next(iter(must), None),
        forbidden=frozenset(forbidden),
    )
    return rules, beyond_plain(core)


def beyond_plain(core: Core) -> Core:
    """The core without the rules that the plain search may take."""

    def taken(clause: Clause) -> bool:
        return _used(clause) is not None or _along(clause) or leaf_rows(clause) is not None

    rest = tuple(c for c in core.clauses if not taken(c))
    return core if len(rest) == len(core.clauses) else replace(core, clauses=rest)


def _along(clause: Clause) -> bool:
    return bool(clause.literals) and on_paths(clause)


def _used(clause: Clause) -> tuple[int, bool] | None:
    """The column and sign of a rule `uses(f)` or `not uses(f)` about the tree."""
    if clause.scope is not Scope.MODEL or len(clause.literals) != 1:
        return None
    literal = clause.literals[0]
    return (literal.atom.column, literal.positive) if isinstance(literal.atom, Used) else None


def _automaton(core: Core) -> npt.NDArray[np.int32] | None:
    depth, _ = deepest_of(core)
    try:
        found = paths(core, depth)
    except TooManyStates:
        return None
    return np.ascontiguousarray(found.next) if found.closed and found.need[0] < NEVER else None
