"""What is found about a spec, as a value, as JSON and as diagnostics."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from odtdsl.auditor.results import AuditLine, lines_to_json
from odtdsl.base.back_ends import proves
from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.base.diagnostics.render import to_json
from odtdsl.base.methods import method
from odtdsl.base.numbers import as_number, counted
from odtdsl.base.source import Source
from odtdsl.datasets.dataset import Day
from odtdsl.insight.explanations.nearest_bounds import Nearest, shown
from odtdsl.insight.explanations.oracle import Constraint
from odtdsl.insight.explanations.prices import Prices
from odtdsl.predictors.wording import rounded
from odtdsl.problem.ir.problem import MAX_SEARCH_DEPTH, TreeSkeleton

CONFLICT_WARNINGS = ("R107", "R108")
"""Warnings that no tree satisfies some rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Rules and bounds of the skeleton that no tree keeps together: that much is proven.

    Attributes
    ----------
    minimal
        Proven: without any one of them, a tree satisfies the others.
    smallest
        Proven: no fewer rules and bounds of the spec conflict.
    searched
        The trees of which that is proven: bounds of the skeleton that are not in conflict are
        relaxed, but not gone.
    """

    constraints: tuple[Constraint, ...]
    minimal: bool
    searched: TreeSkeleton
    smallest: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules and bounds in conflict."""
        return tuple(constraint.name for constraint in self.constraints)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestBound:
    """A bound that would do, proven: the nearest one at which a tree satisfies `kept` too.

    Attributes
    ----------
    others
        `spec` if `kept` is all the rest of the spec: the bound is the only thing to change. Else
        `conflict`: the rest of the conflict, and the bounds of the skeleton where these can be
        kept with it.
    kept
        The other rules, and bounds of the skeleton, that the tree satisfies.
    searched
        The trees that were searched, without the bound if it is one of the skeleton.
    rest
        Whether the rest of the spec can be satisfied without the constraint; None if undecided.
    """

    constraint: Constraint
    found: Nearest
    others: Literal["spec", "conflict"]
    kept: tuple[Constraint, ...]
    searched: TreeSkeleton
    rest: bool | None

    @property
    def text(self) -> str:
        """The bound in a sentence, with the rules and the trees for which it was found."""
        one, whole = self.constraint, self.others == "spec"
        rules = tuple(other for other in self.kept if other.kind == "rule")
        if one.kind == "rule":
            way = "least" if self.found.op == "<=" else "most"
            bound = f"with a bound of at {way} {shown(self.found)}"
            if whole:
                return f"`{one.name}` can be satisfied {bound}"
            among = f"together with {_listed(rules)}" if rules else "alone"
            here = _within(_trees(self.searched))
            return f"`{one.name}` can be satisfied {among} {bound}{here}" + self._rest(
                f"the other rules conflict even without `{one.name}`"
            )
        value = int(self.found.value)
        bound = _bound(one.kind, value)
        if whole:
            return f"with {bound}, all other rules can be satisfied"
        together = " together" if len(rules) > 1 else ""
        here = _within(_trees(self.searched, but=(one.kind,)))
        widest = _bound(one.kind, getattr(self.searched, one.kind))
        return f"with {bound}, {_listed(rules)} can be satisfied{together}{here}" + self._rest(
            f"all rules together conflict even with {widest}"
        )

    def _rest(self, refuted: str) -> str:
        """What is known of all rules together."""
        if self.rest is None:
            return "; it is undecided whether all other rules can be satisfied too"
        return f"; {refuted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why no tree satisfies all rules, or what each rule costs; only what is proven is reported.

    Attributes
    ----------
    status
        `infeasible` (proven), `feasible`, or `undecided`: a limit was met, Ctrl-C was
        pressed, or the back end cannot tell.
    conflicts
        The smallest one that was found first; with `all`, all that were found.
    complete
        Whether `conflicts` holds every minimal conflict.
    drop
        The fewest rules without which a tree satisfies the others; None where that was not decided.
    nearest
        For rules of the first conflict.
    open
        Of which rules of the first conflict the nearest bound is undecided.
    prices
        Where a tree satisfies all rules: the best one, and what each rule costs; None otherwise, or
        where the time was over.
    near_miss
        Where it is undecided: what the tree breaks that breaks the fewest rules, of a few that
        were grown; empty without one. Nothing is proven of it.
    searches
        How many searches that took, and how many of them ended without an answer.
    most, deeper
        How many conflicts were looked for; how many levels the depth was relaxed by.
    """

    status: Literal["infeasible", "feasible", "undecided"]
    backend: str
    seconds: float
    conflicts: tuple[Conflict, ...] = ()
    complete: bool = False
    drop: tuple[Constraint, ...] | None = None
    nearest: tuple[NearestBound, ...] = ()
    open: tuple[Constraint, ...] = ()
    prices: Prices | None = None
    near_miss: tuple[AuditLine, ...] = ()
    searches: int = 0
    undecided: int = 0
    interrupted: bool = False
    source: Source | None = None
    warnings: tuple[Diagnostic, ...] = ()
    most: int = 1
    deeper: int = 1

    def __str__(self) -> str:
        """What `odt explain` prints."""
        return cast(str, method("Explanation.__str__")(self))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The conflicts with their source lines; or that nothing was decided."""
        if self.status == "undecided":
            return (self._undecided(),)
        return tuple(self._told(at, one) for at, one in enumerate(self.conflicts))

    @property
    def other_warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings of the spec, without those that a proven conflict repeats."""
        told = {label.span for one in self.diagnostics() for label in one.labels}
        return tuple(
            one
            for one in self.warnings
            if one.code not in CONFLICT_WARNINGS or not {label.span for label in one.labels} <= told
        )

    def _undecided(self) -> Diagnostic:
        notes: tuple[str, ...] = (f"the search ended without an answer after {self.seconds:.1f} s",)
        helps: tuple[str, ...] = ("give it more time with `--within`",)
        if self.interrupted:
            notes, helps = (f"the search was interrupted after {self.seconds:.1f} s",), ()
        elif not proves(self.backend):
            notes = (f"`{self.backend}` found no such tree, and cannot prove that none exists",)
            helps = ("use a back end that can prove it: `--using exact` or `--using milp`",)
        if self.near_miss:
            broken = ", ".join(map(_broken, self.near_miss))
            notes = (*notes, f"of some trees that were grown, the nearest breaks only {broken}")
        return Diagnostic(
            code="R402",
            severity="warning",
            source=self.source,
            message="it is undecided whether any tree satisfies all rules",
            notes=notes,
            helps=helps,
        )

    def _told(self, at: int, conflict: Conflict) -> Diagnostic:
        first = at == 0
        count = len(conflict.constraints)
        message = f"no tree satisfies {_listed(conflict.constraints)}" + (
            " together" if count > 1 else ""
        )
        spans = [one.span for one in conflict.constraints if one.span.start >= 0]
        return Diagnostic(
            code="R401",
            message=message,
            source=self.source,
            labels=tuple(Label(span=span) for span in spans),
            notes=(
                self._proof(conflict),
                *_limits(conflict),
                *(self._notes() if first else ()),
            ),
            helps=tuple(self._helps()) if first else (),
        )

    def _proof(self, conflict: Conflict) -> str:
        """What is proven of a conflict, in words."""
        if len(conflict.constraints) == 1:
            return "proven; no tree satisfies it even alone" if conflict.minimal else "proven"
        if not conflict.minimal:
            return "proven; it is undecided whether a smaller set of them conflicts"
        minimal = "proven; drop any one of them, and a tree satisfies the others"
        if conflict.smallest:
            return minimal + "; no smaller set conflicts"
        if len(self.conflicts[0].constraints) < len(conflict.constraints):
            return minimal
        return minimal + "; it is undecided whether a smaller set conflicts"

    def _notes(self) -> Iterable[str]:
        if len(self.conflicts) > 1 or self.complete:
            number = len(self.conflicts)
            these = (
                "this is the only conflict"
                if number == 1
                else f"there are {number} conflicts in total"
            )
            yield these if self.complete else f"{number} conflicts were found; there may be more"
        if self.open:
            bounds = "bound" if len(self.open) == 1 else "bounds"
            yield f"undecided: the nearest {bounds} of {_listed(self.open)}"
        if self.drop is None:
            yield "undecided: the fewest rules to drop"

    def _helps(self) -> Iterable[str]:
        for one in self.nearest:
            yield one.text
        if self.drop is not None:
            fewer = "; dropping fewer is not enough" if len(self.drop) > 1 else ""
            yield f"without {_listed(self.drop)}, all other rules can be satisfied{fewer}"
        more = []
        if not self.interrupted and (self.undecided or self.open or self.drop is None):
            more.append("give it more time with `--within`")
        if self.most == 1:
            more.append("look for other conflicts with `--all`")
        if any(map(_may_be_deeper, self.conflicts)):
            more.append(f"search deeper trees with `--deeper {self.deeper + 1}`")
        if more:
            yield "; ".join(more)

    def to_json(self) -> dict[str, Any]:
        """One object as `odt explain --json` writes it."""
        return {
            "status": self.status,
            "backend": self.backend,
            "seconds": round(self.seconds, 6),
            "interrupted": self.interrupted,
            "searches": self.searches,
            "undecided": self.undecided,
            "conflicts": [
                {
                    "constraints": [_constraint(one) for one in conflict.constraints],
                    "minimal": conflict.minimal,
                    "smallest": conflict.smallest,
                    "within": _bounds(conflict.searched),
                }
                for conflict in self.conflicts
            ],
            "complete": self.complete,
            "drop": None if self.drop is None else [one.name for one in self.drop],
            "nearest": [
                {
                    "constraint": one.constraint.name,
                    "op": one.found.op,
                    "value": as_number(one.found.value),
                    "others": one.others,
                    "kept": [other.name for other in one.kept],
                    "within": _bounds(one.searched),
                    "text": one.text,
                }
                for one in self.nearest
            ],
            "open": [one.name for one in self.open],
            "near_miss": lines_to_json(self.near_miss),
            "prices": None if self.prices is None else self.prices.to_json(),
            "diagnostics": [to_json(one) for one in (*self.other_warnings, *self.diagnostics())],
        }


def _limits(conflict: Conflict) -> Iterable[str]:
    """The bounds of the skeleton under which a conflict is proven, but that are not part of it."""
    kinds = [one.kind for one in conflict.constraints if one.kind != "rule"]
    if trees := _trees(conflict.searched, but=kinds):
        deeper = "depth" not in kinds and conflict.searched.depth is not None
        larger = "deeper" if deeper else "larger"
        yield f"this holds for {trees}; {larger} trees were not searched"


def _may_be_deeper(conflict: Conflict) -> bool:
    depth = conflict.searched.depth
    blamed = any(one.kind == "depth" for one in conflict.constraints)
    return not blamed and depth is not None and depth < MAX_SEARCH_DEPTH


def _trees(searched: TreeSkeleton, *, but: Collection[str] = ()) -> str:
    """`trees up to depth 3 with up to 5 leaves`, without what `but` names; empty for any tree."""
    found = []
    if searched.depth is not None and "depth" not in but:
        found.append(f"up to depth {searched.depth}")
    if searched.leaves is not None and "leaves" not in but:
        found.append(f"with up to {counted(searched.leaves, 'leaf', 'leaves')}")
    return f"trees {' '.join(found)}" if found else ""


def _within(trees: str) -> str:
    return f", in {trees}" if trees else ""


def _bound(kind: str, value: int | None) -> str:
    """`depth 3`, `5 leaves`."""
    if kind == "depth":
        return "any depth" if value is None else f"depth {value}"
    return "any number of leaves" if value is None else counted(value, "leaf", "leaves")


def _bounds(searched: TreeSkeleton) -> dict[str, int | None]:
    return {"depth": searched.depth, "leaves": searched.leaves}


def _broken(line: AuditLine) -> str:
    """`fair` (value 0.2, bound 0.1)."""
    if line.value is None or line.bound is None:
        return f"`{line.rule}`"
    kind = Day if line.days else float
    value, bound = rounded(kind(line.value)), rounded(kind(line.bound))
    return f"`{line.rule}` (value {value}, bound {bound})"


def _constraint(one: Constraint) -> dict[str, str]:
    return {"kind": one.kind, "name": one.name, "text": one.text}


def _listed(constraints: tuple[Constraint, ...]) -> str:
    """`a`, `b` and `depth <= 2`."""
    names = [f"`{one.name}`" if one.kind == "rule" else f"`{one.text}`" for one in constraints]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


__all__ = ["Conflict", "Explanation", "NearestBound"]
