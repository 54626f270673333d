"""A problem at one depth as a formula: what kind of tree it needs, and its rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from odtdsl.backends.clauses.formula import Formula
from odtdsl.backends.clauses.names import Names
from odtdsl.backends.clauses.rules import Rules
from odtdsl.backends.clauses.tree import TreeCode
from odtdsl.datasets.table import BoolArray
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.families import admissible
from odtdsl.problem.ir.forms import (
    Additive,
    Budget,
    Clause,
    Core,
    Depth,
    DepthStage,
    Linear,
    LinearStage,
    Link,
    Order,
    SignedAtom,
    Used,
)
from odtdsl.problem.ir.problem import TreeSkeleton

MAX_FORMULA_DEPTH = 12
"""The deepest perfect tree that a formula is built on: 4,096 slots."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """What a problem asks of the formula.

    Attributes
    ----------
    allowed
        bool (n_rows, n_classes): the classes that a row may be predicted as. Demands of no
        error come to this, and need no sum.
    demanded
        The rules that these demands are.
    clauses
        The other clauses.
    idle
        Nodes may be no split.
    counted
        Slots that predict a class are counted as leaves, which needs no such nodes, but rows
        that each ask for one, and not all for the same: the root parts rows then.
    single
        A node tests one family at most.
    parts
        Every split must be shown to part rows: without that, a rule could be kept by one that
        does not, or a threshold's missing cells be parted from all others.
    every
        All rows must be in the formula: on some of them, rules could be impossible that are
        not on all, or hold where they do not.
    """

    allowed: BoolArray
    demanded: str
    clauses: tuple[Clause, ...]
    idle: bool
    counted: bool
    single: bool
    parts: bool
    every: bool


def shape_of(core: Core) -> Shape:
    """What the rules and the objective of a problem ask for."""
    allowed, demanded, clauses = demands(core)
    atoms = [signed for clause in clauses for signed in clause.literals]
    measures = [signed.atom.measure for signed in atoms if isinstance(signed.atom, Linear)]
    stages = [stage for stage in core.objective if isinstance(stage, LinearStage)]
    measures += [stage.measure for stage in stages]
    tells = any(not isinstance(signed.atom, Depth | Linear | Link) for signed in atoms)
    tells = tells or any(m.columns is not None and m.columns.any() for m in measures)
    scoped = any(clause.scope is not Scope.MODEL for clause in clauses)
    deep = any(isinstance(signed.atom, Depth) for signed in atoms)
    deep = deep or any(isinstance(stage, DepthStage) for stage in core.objective[1:])
    sized = any(m.leaves for m in measures) or core.tree.leaves is not None
    parts = not all(prunes(one) for one in atoms) or any(
        stage.measure.leaves < 0 or _negative(stage.measure) for stage in stages
    )
    parts = parts or any(
        family.kind == "threshold" and family.missing is not None for family in core.families
    )
    of_rows = any(
        (m.output is not None and m.output.any()) or (m.rows is not None and m.rows.any())
        for m in measures
    )
    told = bool((~allowed).any(axis=1).all()) and not allowed.all(axis=0).any()
    linked = any(isinstance(signed.atom, Link) for signed in atoms)
    idle = tells or linked or scoped or deep or parts or not _padded(core)
    idle = idle or (sized and (of_rows or not told))
    return Shape(
        allowed=allowed,
        demanded=demanded,
        clauses=clauses,
        idle=idle,
        counted=sized and not idle,
        single=tells,
        parts=parts,
        every=parts or of_rows,
    )


def _padded(core: Core) -> bool:
    """Whether a node that is not needed can always test something.

    It may part rows then, at the root: a rule that two rows share a leaf needs more.
    """
    return not core.filters and any(
        admissible(family, family.domain).any() for family in core.families
    )


def demands(core: Core) -> tuple[BoolArray, str, tuple[Clause, ...]]:
    """The classes that demands of no error leave each row, the names of these rules, and the
    clauses that are no demand."""
    allowed = np.ones((core.n_rows, core.n_classes), dtype=bool)
    others: list[Clause] = []
    names: list[str] = []
    for clause in core.clauses:
        demand = demand_of(clause)
        if demand is None:
            others.append(clause)
        else:
            allowed &= demand
            names.append(clause.origin.rule)
    return allowed, ", ".join(dict.fromkeys(names)), tuple(others)


def demand_of(clause: Clause) -> BoolArray | None:
    """Where the bound is the least that the rows allow, every row must be at its least."""
    atom = clause.atom
    if clause.scope is not Scope.MODEL or not isinstance(atom, Linear):
        return None
    measure = atom.measure
    plain = measure.columns is None or not measure.columns.any()
    if measure.output is None or measure.leaves or measure.splits or not plain:
        return None
    least = measure.output.min(axis=1)
    rows = 0 if measure.rows is None else int(measure.rows.sum())
    if measure.constant + rows + int(least.sum()) != atom.at_most:
        return None
    demand: BoolArray = measure.output == least[:, None]
    return demand


def prunes(signed: SignedAtom) -> bool:
    """Whether leaving a split out of a tree that parts no rows never breaks it."""
    match signed.atom:
        case Used():
            return not signed.positive
        case Order():
            return not signed.positive and not signed.atom.absent
        case Budget():
            paid = signed.atom.measure
            return (
                min((*paid.per_test, *paid.once, *(s.amount for s in paid.shared)), default=0) >= 0
            )
        case Depth():
            return signed.positive
        case Link():
            return True
        case Linear():
            return signed.atom.measure.leaves >= 0 and not _negative(signed.atom.measure)
        case _:
            return False


def _negative(measure: Additive) -> bool:
    return measure.columns is not None and bool((measure.columns < 0).any())


class Lowered:
    """A problem at one depth, whose rows can be added one after the other."""

    def __init__(
        self,
        core: Core,
        depth: int,
        shape: Shape,
        *,
        formula: Formula | None = None,
        names: Names | None = None,
    ) -> None:
        self.core, self.shape = core, shape
        self.tree = TreeCode(
            core,
            depth,
            idle=shape.idle,
            single=shape.single,
            counted=shape.counted and not shape.idle and not shape.every,
            formula=formula,
            names=names,
        )
        self.rules = Rules(self.tree)
        self.formula = self.tree.formula
        self.in_: set[int] = set()
        if shape.every:
            self.formula.group("each leaf predicts a class")
            for labels in self.tree.label.tolist():
                self.formula.add(*labels)
            self.add_rows(range(core.n_rows))
        if shape.parts:
            self.rules.part_rows()
        for clause in shape.clauses:
            self.rules.add(clause)
        if core.tree.leaves is not None:
            self._leaves(core.tree.leaves)

    def _leaves(self, most: int) -> None:
        from odtdsl.backends.clauses.sums import at_most

        self.formula.group(f"at most {most} leaves")
        terms = self.rules.terms(Additive(leaves=1), Scope.MODEL, 0)
        at_most(self.formula, terms, most)

    def add_rows(self, rows: Iterable[int]) -> None:
        """Rows with the classes that they may be predicted as."""
        for row in rows:
            if row in self.in_:
                continue
            self.in_.add(row)
            self.tree.add_row(row)
            labels = np.flatnonzero(self.shape.allowed[row]).tolist()
            if len(labels) < self.core.n_classes:
                names = self.tree.names
                allowed = " or ".join(map(names.label, labels)) or "nothing: none is allowed"
                self.formula.group(
                    f"{names.row(row)} is predicted as {allowed}", self.shape.demanded
                )
                self.tree.allow(row, labels)


def depth_first(core: Core) -> bool:
    """Whether the depth is what is minimized first."""
    return isinstance(core.objective[0], DepthStage)


def deepest(core: Core) -> int:
    """The depth that no tree of the problem exceeds."""
    skeleton = core.skeleton
    assert isinstance(skeleton, TreeSkeleton)
    bounds = [core.n_rows - 1]
    if skeleton.depth is not None:
        bounds.append(skeleton.depth)
    if skeleton.leaves is not None:
        bounds.append(skeleton.leaves - 1)
    return min(bounds)
