"""Trees under the rules of a diagram: what `unrolled` asks of the search under rules.

A diagram whose nodes have one arc into them is a tree, and all rules mean the same on it; only
bounds on the classes that it ends at are left out. One that shares nodes unrolls to a tree that
predicts alike: rules on predictions alone hold there too. Rules on its splits and paths may
not: copies hold fewer rows, and those without rows are no part of the tree.
"""

from __future__ import annotations

from dataclasses import replace

from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.forms import Additive, Atom, Clause, Core, Linear, LinearStage
from odtdsl.problem.ir.problem import TreeSkeleton


def among_trees(core: Core, measure: Additive, depth: int, splits: int) -> Core:
    """The problem of a tree, for diagrams that share nothing; `measure` prices leaves."""
    clauses = (_of_trees(clause) for clause in core.clauses)
    return _asked(core, measure, depth, splits, tuple(c for c in clauses if c is not None))


def unrolled_under_rules(core: Core, measure: Additive, depth: int, splits: int) -> Core | None:
    """The problem of a tree, for diagrams that share; None where no rule is left of it."""
    kept = tuple(
        clause
        for clause in core.clauses
        if clause.scope is Scope.MODEL and all(_predicts(x.atom) for x in clause.literals)
    )
    if not kept:
        return None
    filters = tuple(rule for rule in core.filters if rule.levels is None)
    plain = replace(measure, leaves=0)
    return _asked(replace(core, filters=filters), plain, depth, splits, kept)


def in_leaves(measure: Additive) -> Additive:
    """A measure of a tree with its splits counted as leaves less one."""
    return replace(
        measure, splits=0, leaves=measure.splits, constant=measure.constant - measure.splits
    )


def _asked(
    core: Core, measure: Additive, depth: int, splits: int, clauses: tuple[Clause, ...]
) -> Core:
    return replace(
        core,
        skeleton=TreeSkeleton(depth=depth, leaves=splits + 1),
        clauses=clauses,
        objective=(LinearStage(sign=1, measure=measure),),
    )


def _of_trees(clause: Clause) -> Clause | None:
    """A clause with splits counted as leaves less one; None where that is not all."""
    literals = []
    for literal in clause.literals:
        atom = literal.atom
        if isinstance(atom, Linear) and clause.scope is Scope.MODEL:
            measure = atom.measure
            if measure.leaves:
                return None
            literal = replace(literal, atom=replace(atom, measure=in_leaves(measure)))
        literals.append(literal)
    return replace(clause, literals=tuple(literals))


def _predicts(atom: Atom) -> bool:
    """Whether an atom speaks of predictions alone."""
    if not isinstance(atom, Linear):
        return False
    measure = atom.measure
    return measure.columns is None and not measure.leaves and not measure.splits
