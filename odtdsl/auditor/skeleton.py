"""The audit of the form of a model: its skeleton, and that nothing in it is idle."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from odtdsl.auditor.results import AuditLine
from odtdsl.auditor.routing import DiagramOn, TreeOn
from odtdsl.base.numbers import counted
from odtdsl.predictors.diagram_nodes import Arc
from odtdsl.problem.ir.problem import DiagramSkeleton, TreeSkeleton


def tree_form(model: TreeOn) -> Iterator[AuditLine]:
    """Depth and leaves of a tree; and every split sends a row each way, so that every leaf
    holds one."""
    skeleton = model.rows.problem.skeleton
    assert isinstance(skeleton, TreeSkeleton), "a tree answers a tree skeleton"
    for name, value, bound in (
        ("depth", model.depth, skeleton.depth),
        ("leaves", len(model.leaves), skeleton.leaves),
    ):
        if bound is not None:
            yield _at_most(f"tree {name}", f"{name} <= {bound}", value, bound)
    smallest = min(len(leaf.inside) for leaf in model.leaves)
    yield AuditLine(
        rule="tree reduced",
        text="every leaf holds a training row",
        holds=smallest >= 1,
        value=Fraction(smallest),
        bound=Fraction(1),
        slack=Fraction(smallest - 1),
        instances=len(model.leaves),
    )


def diagram_form(model: DiagramOn) -> Iterator[AuditLine]:
    """Layers and widths of a diagram; of a tree of hyperplanes one arc into every node, and
    leaves; and every node sends a row each way, to two places."""
    skeleton = model.rows.problem.skeleton
    assert isinstance(skeleton, DiagramSkeleton), "a diagram answers a diagram skeleton"
    here, allowed = model.diagram.widths, skeleton.widths
    yield _at_most("diagram depth", f"depth <= {len(allowed)}", len(here), len(allowed))
    pairs = enumerate(zip(here, allowed, strict=False))
    wide = [level for level, (many, bound) in pairs if many > bound]
    used = f"used: {', '.join(map(str, here))}" if here else "no split"
    yield AuditLine(
        rule="diagram widths",
        text=f"widths {', '.join(map(str, allowed))}",
        holds=not wide,
        instances=len(here),
        note="too wide: layer " + ", ".join(map(str, wide)) if wide else used,
    )
    if skeleton.tree:
        yield from _arcs_of_a_tree(model, skeleton)
    yield _no_idle_node(model)


def _arcs_of_a_tree(model: DiagramOn, skeleton: DiagramSkeleton) -> Iterator[AuditLine]:
    shared = 0
    for layer in model.diagram.layers:
        led = [
            arc.node for node in layer for arc in (node.left, node.right) if arc.node is not None
        ]
        shared += len(led) - len(set(led))
    yield AuditLine(
        rule="tree",
        text="exactly one arc leads into every node",
        holds=not shared,
        instances=len(model.splits),
        note=f"{shared} arcs too many" if shared else "",
    )
    if skeleton.leaves is not None:
        leaves = len(model.splits) + 1
        yield _at_most("tree leaves", f"leaves <= {skeleton.leaves}", leaves, skeleton.leaves)


def _no_idle_node(model: DiagramOn) -> AuditLine:
    same = sum(_place(node.left) == _place(node.right) for node in model.diagram.nodes())
    smallest = min(
        (min(len(split.left), len(split.right)) for split in model.splits),
        default=model.rows.n_rows,
    )
    return AuditLine(
        rule="diagram reduced",
        text="both arcs of every node carry training rows, to different places",
        holds=smallest >= 1 and not same,
        value=Fraction(smallest),
        bound=Fraction(1),
        slack=Fraction(smallest - 1),
        instances=len(model.splits),
        note=f"{counted(same, 'node')} whose arcs lead to the same place" if same else "",
    )


def _place(arc: Arc) -> tuple[int | None, int | None]:
    return arc.node, arc.label


def _at_most(rule: str, text: str, value: int, bound: int) -> AuditLine:
    return AuditLine(
        rule=rule,
        text=text,
        holds=value <= bound,
        value=Fraction(value),
        bound=Fraction(bound),
        slack=Fraction(bound - value),
    )
