"""The checker's part for diagrams: the skeleton, and that nothing in it is idle."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from odtdsl.ir.problem import DiagramSkeleton
from odtdsl.predictors.diagram import Arc
from odtdsl.terms.view import DiagramView

if TYPE_CHECKING:
    from odtdsl.checker import Checked


def widths(view: DiagramView) -> Iterator[Checked]:
    """The layers and their widths against those of the skeleton."""
    from odtdsl.checker import Checked

    skeleton = view.rows.problem.skeleton
    assert isinstance(skeleton, DiagramSkeleton), "a diagram answers a diagram skeleton"
    here, allowed = view.diagram.widths, skeleton.widths
    slack = len(allowed) - len(here)
    yield Checked(
        rule="diagram depth", text=f"depth <= {len(allowed)}", holds=slack >= 0,
        value=Fraction(len(here)), bound=Fraction(len(allowed)), slack=Fraction(slack),
    )  # fmt: skip
    wide = [
        level
        for level, (many, bound) in enumerate(zip(here, allowed, strict=False))
        if many > bound
    ]
    yield Checked(
        rule="diagram widths", text=f"widths {', '.join(map(str, allowed))}", holds=not wide,
        instances=len(here),
        note="too wide: layer " + ", ".join(map(str, wide)) if wide else _shown(here),
    )  # fmt: skip


def shape(view: DiagramView) -> Iterator[Checked]:
    """Of a tree of hyperplanes: one arc into every node, and its leaves."""
    from odtdsl.checker import Checked

    skeleton = view.rows.problem.skeleton
    assert isinstance(skeleton, DiagramSkeleton), "a diagram answers a diagram skeleton"
    if not skeleton.tree:
        return
    shared = 0
    for layer in view.diagram.layers:
        led = [
            arc.node for node in layer for arc in (node.left, node.right) if arc.node is not None
        ]
        shared += len(led) - len(set(led))
    yield Checked(
        rule="tree", text="one arc leads into every node", holds=not shared,
        instances=view.diagram.n_splits, note=f"{shared} arcs too many" if shared else "",
    )  # fmt: skip
    if skeleton.leaves is not None:
        leaves = view.diagram.n_splits + 1
        yield Checked(
            rule="tree leaves", text=f"leaves <= {skeleton.leaves}",
            holds=leaves <= skeleton.leaves, value=Fraction(leaves),
            bound=Fraction(skeleton.leaves), slack=Fraction(skeleton.leaves - leaves),
        )  # fmt: skip


def _shown(here: tuple[int, ...]) -> str:
    return f"used: {', '.join(map(str, here))}" if here else "no split"


def reduced(view: DiagramView) -> Checked:
    """Every node is reached, sends a training row each way, and has arcs to two places."""
    from odtdsl.checker import Checked

    same = sum(_place(node.left) == _place(node.right) for node, _, _ in view.visits)
    smallest = min(
        (min(int(left.sum()), int((~left).sum())) for _, _, left in view.visits),
        default=view.rows.n_rows,
    )
    holds = smallest >= 1 and not same
    return Checked(
        rule="diagram reduced", text="every arc of a node carries a training row, to two places",
        holds=holds, value=Fraction(smallest), bound=Fraction(1), slack=Fraction(smallest - 1),
        instances=len(view.visits),
        note=f"{same} nodes with both arcs to one place" if same else "",
    )  # fmt: skip


def _place(arc: Arc) -> tuple[int | None, int | None]:
    return arc.node, arc.label
