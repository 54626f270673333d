"""`leaves`: how many leaves a model has."""

from __future__ import annotations

from odtdsl.problem.ir.expr import Apply, Scope
from odtdsl.problem.ir.forms import Additive
from odtdsl.problem.ir.problem import DiagramSkeleton
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.base import Term


class Leaves(Term):
    """Meaning: the number of leaves; in a diagram, the number of classes that rows end at.

    Core forms: Linear of the model (in a tree of hyperplanes, `splits` + 1).
    """

    name = "leaves"
    place = 20
    also = ("n_leaves", "max_leaf_nodes")
    scopes = (Scope.MODEL,)
    fewer_is_better = True

    def translate(self, rows: Rows, scope: Scope, call: Apply) -> Additive:
        """1 per leaf; of a tree of hyperplanes its splits plus 1."""
        return Additive(splits=1, constant=1) if arcs_make_a_tree(rows) else Additive(leaves=1)


def arcs_make_a_tree(rows: Rows) -> bool:
    """Whether the model is a diagram whose nodes have one arc into them each."""
    skeleton = rows.problem.skeleton
    return isinstance(skeleton, DiagramSkeleton) and skeleton.tree
