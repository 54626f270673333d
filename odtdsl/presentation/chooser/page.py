"""Good trees as one HTML file: filters, the trees that pass, and the filters as rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.numbers import as_number
from odtdsl.base.printing import printable
from odtdsl.language.constructors import name, number
from odtdsl.language.expressions import column_text, expr_to_text, name_text, quote
from odtdsl.predictors.nodes import Branch, TreeNode
from odtdsl.predictors.routing import route
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import label_text, split_words
from odtdsl.presentation.report.markup import data, text
from odtdsl.presentation.report.page import policy
from odtdsl.problem.ir.expr import CellCompare, GroupArg
from odtdsl.problem.ir.problem import GroupDecl, Problem

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.driver.alternatives import Alternatives
    from odtdsl.driver.reliance import Reliance
    from odtdsl.problem.ir.rows import Rows


def write(found: Alternatives, analysis: Analysis, path: Path) -> None:
    """Write the page to a file, whole or not at all.

    Raises
    ------
    OdtError
        F301: the file cannot be written.
    """
    from odtdsl.base.files import write_text

    write_text(path, page(found, analysis))


def page(found: Alternatives, analysis: Analysis) -> str:
    """A page without network that filters the listed trees and writes the filters as rules.

    Parameters
    ----------
    found
        The trees, at least one of them.
    analysis
        The spec that they are the answer of: its groups have their errors counted.
    """
    source = analysis.problem.source
    title = "trees" if source is None else Path(source.name).stem
    css, script = _file("page.css"), _file("page.js")
    return Template(_file("page.html")).substitute(
        policy=text(policy(css, script)),
        title=text(f"{printable(title)}: odtdsl chooser"),
        css=css,
        script=script,
        data=data(_payload(found, analysis.rows)),
    )


def _payload(found: Alternatives, rows: Rows) -> dict[str, Any]:
    from odtdsl.driver.alternatives import STOPPED

    types = found.trees[0].tree.features
    packed = _Packed(rows)
    relied = {one.feature: _relied(one) for one in (found.reliance() if found.without else ())}
    return {
        "complete": found.complete,
        "stopped": STOPPED[found.stopped],
        "near": found.near,
        "stages": [stage.text for stage in found.result.stages],
        "raw": None if found.raw is None else f"{found.raw:,}",
        "features": [
            {
                "name": printable(type_.name),
                "rule": _written(column_text, name(type_.name)),
                "relied": relied.get(type_.name, ""),
            }
            for type_ in types
        ],
        "groups": [
            {"name": printable(group.name), **_group(group, at, rows.problem)}
            for at, group in enumerate(rows.problem.groups, start=1)
        ],
        "classes": [label_text(one) for one in found.trees[0].tree.classes],
        "trees": [
            {
                "value": [as_number(value) for value in one.objective],
                "errors": as_number(one.audit.errors),
                "leaves": one.tree.n_leaves,
                "depth": one.tree.depth,
                "groups": packed.group_errors(one.tree),
                "root": packed.node(one.tree.root),
            }
            for one in found.trees
        ],
        "tests": packed.tests,
    }


def _group(group: GroupDecl, at: int, problem: Problem) -> dict[str, str | None]:
    """How a rule calls a group; and the statement that defines it, if a rule of the spec made it of
    a value of a column."""
    source = "" if problem.source is None else problem.source.text
    made = group.condition
    word = _written(name_text, group.name)
    named = word is not None and re.search(rf"\bgroup\s+{re.escape(word)}\s*=", source)
    if named or not isinstance(made, CellCompare):
        return {"rule": word}
    value = quote(made.value) if isinstance(made.value, str) else expr_to_text(number(made.value))
    column = _written(column_text, name(made.column))
    if column is None:
        return {"rule": None}
    word = f"chosen_group_{at}"
    return {"rule": word, "define": f"group {word} = {column} = {value}"}


def _relied(one: Reliance) -> str:
    """What a feature is for the good trees; nothing where no listed tree relies on it."""
    words = ["needed by every good tree"] if one.needed else []
    if one.least or one.most:
        words.append(f"reliance {100 * one.least:.1f}% to {100 * one.most:.1f}%")
    return "; ".join(words)


class _Packed:
    """Nodes as short lists; each test is said once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.at = {one.name: at for at, one in enumerate(rows.problem.features)}
        self.tests: list[tuple[int, str]] = []
        self.known: dict[tuple[int, str], int] = {}

    def node(self, node: TreeNode) -> list[Any]:
        """Of a split its test, both sides, and where missing cells go (0: not said, 1: left,
        2: right). Of a leaf its class, its rows, and the weight of the wrong ones.
        """
        if isinstance(node, Branch):
            side = 1 + (node.missing == "right") if node.feature in self.rows.may_miss else 0
            return [self._test(node), self.node(node.left), self.node(node.right), side]
        if node.label is None:
            return ["", node.size, 0]
        wrong = sum(node.class_weights) - node.class_weights[node.label]
        return [node.label, node.size, _weight(wrong)]

    def _test(self, node: Branch) -> int:
        key = (self.at[node.feature], " ".join(split_words(node)))
        if key not in self.known:
            self.known[key] = len(self.tests)
            self.tests.append(key)
        return self.known[key]

    def group_errors(self, tree: Tree) -> list[int | float]:
        """The weight of the wrong rows of each group; nothing for targets without classes."""
        groups = self.rows.problem.groups
        labels = [leaf.label for leaf in tree.leaves if leaf.label is not None]
        if not groups or len(labels) < tree.n_leaves or self.rows.data.labels is None:
            return []
        wrong = np.asarray(labels)[route(tree, self.rows.data.table)] != self.rows.labels
        weights = self.rows.weights
        return [
            _weight(
                int(weights[wrong & self.rows.mask(GroupArg(name=group.name))].sum())
                / self.rows.weight_denominator
            )
            for group in groups
        ]


def _weight(weight: float) -> int | float:
    """A sum of weights as a page shows it: whole where it is."""
    return int(weight) if weight == int(weight) else round(weight, 6)


def _written(write: Callable[[Any], str], what: Any) -> str | None:
    """A column or a group in a rule; None where its name cannot be written."""
    try:
        return write(what)
    except OdtError:
        return None


def _file(name: str) -> str:
    return resources.files("odtdsl.presentation.chooser").joinpath(name).read_text(encoding="utf-8")
