"""Figures of every node on the training rows, and the tree as scikit-learn holds its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.predictors.nodes import Branch, Leaf, Threshold
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.wording import test_words
from odtdsl.problem.ir.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFigures:
    """Arrays with an entry for each node, in the order of `Tree.nodes()`.

    Attributes
    ----------
    rows
        int64: the training rows that reach it.
    weights
        float64: their weight.
    values
        float64 (n_nodes, k): the share of each class, the mean of each target, or the mean of
        what each choice holds.
    impurities
        float64: Gini's of classes, the variance of numbers (the mean of several targets'); of
        choices, what the best one loses against the best at the root, so that it may be negative.
    """

    rows: IntArray
    weights: FloatArray
    values: FloatArray
    impurities: FloatArray


def figures(tree: Tree, rows: Rows) -> NodeFigures | None:
    """The figures of a tree on its training rows; None for a target that has no such impurity."""
    data, weights = rows.data, rows.weights / rows.weight_denominator
    if data.labels is not None:
        truth: FloatArray = np.eye(rows.n_classes)[data.labels]
    elif data.targets is not None:
        truth = data.targets
    elif rows.problem.target.by:  # of choices
        held = [data.columns[name].numbers for name in rows.problem.target.names]
        truth = np.column_stack([one for one in held if one is not None])
    else:
        return None
    reached = tree.rows_of_nodes(data.table)
    sums = np.array([weights[each].sum() for each in reached])
    safe = np.where(sums > 0, sums, 1.0)
    means = np.array([weights[each] @ truth[each] for each in reached]) / safe[:, None]
    return NodeFigures(
        rows=np.array([len(each) for each in reached], dtype=np.int64),
        weights=sums,
        values=means,
        impurities=_impurities(tree, rows, means, [(weights[e], truth[e]) for e in reached], safe),
    )


def _impurities(
    tree: Tree,
    rows: Rows,
    means: FloatArray,
    reached: Sequence[tuple[FloatArray, FloatArray]],
    weights: FloatArray,
) -> FloatArray:
    impurities: FloatArray
    if rows.problem.target.by:
        by_loss = rows.problem.target.by == "loss"
        best = means.min(axis=1) if by_loss else -means.max(axis=1)
        impurities = best - best[0]
    elif rows.data.labels is not None:
        impurities = 1 - (means**2).sum(axis=1)
    else:
        spread = [
            (weight @ (truth - mean) ** 2).mean()
            for (weight, truth), mean in zip(reached, means, strict=True)
        ]
        impurities = np.array(spread) / weights
    return impurities


def children(tree: Tree) -> tuple[list[int], list[int]]:
    """The numbers of the left and the right child of each node; -1 of leaves."""
    nodes = list(tree.nodes())
    left, right = [-1] * len(nodes), [-1] * len(nodes)
    parents: list[int] = []
    for number, node in enumerate(nodes):
        if number:
            above = parents[-1]
            if left[above] < 0:
                left[above] = number
            else:
                right[parents.pop()] = number
        if isinstance(node, Branch):
            parents.append(number)
    return left, right


def importances(tree: Tree, found: NodeFigures, names: Sequence[str]) -> FloatArray:
    """What the splits on each feature take from the impurity, as shares of all that they take."""
    left, right = children(tree)
    taken = dict.fromkeys(names, 0.0)
    mass = found.weights * found.impurities
    for number, node in enumerate(tree.nodes()):
        if isinstance(node, Branch):
            taken[node.feature] += mass[number] - mass[left[number]] - mass[right[number]]
    shares = np.array([taken[name] for name in names])
    total = shares.sum()
    return shares / total if total > 0 else np.zeros(len(names))


# ---- as scikit-learn's own tree


def view(
    tree: Tree,
    found: NodeFigures,
    names: Sequence[str],
    classes: tuple[Any, Sequence[int]] | None,
) -> Any:
    """A fitted `DecisionTreeClassifier` or `DecisionTreeRegressor` with the nodes of a tree.

    Parameters
    ----------
    tree, found, names
        The tree, the figures of its nodes, and the features of `fit`.
    classes
        The classes in scikit-learn's order, and the place of each class of the tree among them;
        None for numbers and choices.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import Tree as Nodes

    asked = [_column(tree, node) for node in tree.nodes() if isinstance(node, Branch)]
    columns = list(dict.fromkeys((*names, *asked)))
    values = found.values.copy()
    if classes is None:
        for number, node in enumerate(tree.nodes()):
            if isinstance(node, Leaf) and node.output is not None:
                values[number] = node.output
        values = values[:, :, None]
    else:
        ordered = np.zeros_like(values, shape=(len(values), len(classes[0])))
        ordered[:, list(classes[1])] = values[:, : len(classes[1])]
        values = ordered[:, None, :]
    n_outputs, n_values = values.shape[1:]
    nodes = Nodes(len(columns), np.array([n_values] * n_outputs, dtype=np.intp), n_outputs)
    state = nodes.__getstate__()
    state |= {
        "max_depth": tree.depth,
        "node_count": len(found.rows),
        "nodes": _records(tree, found, columns, state["nodes"].dtype),
        "values": np.ascontiguousarray(values),
    }
    nodes.__setstate__(state)
    shown = DecisionTreeRegressor() if classes is None else DecisionTreeClassifier()
    shown.tree_, shown.n_outputs_, shown.max_features_ = nodes, n_outputs, len(columns)
    shown.n_features_in_ = len(columns)
    shown.feature_names_in_ = np.array(columns, dtype=object)
    if classes is not None:
        shown.classes_, shown.n_classes_ = classes[0], len(classes[0])
    return shown


def _records(tree: Tree, found: NodeFigures, columns: Sequence[str], dtype: Any) -> Any:
    """The nodes as scikit-learn stores them: a row goes left where its value is at most the
    threshold."""
    left, right = children(tree)
    records = np.zeros(len(left), dtype=dtype)
    records["left_child"], records["right_child"] = left, right
    records["feature"], records["threshold"] = -2, -2.0
    records["impurity"] = found.impurities
    records["n_node_samples"] = found.rows
    records["weighted_n_node_samples"] = found.weights
    for number, node in enumerate(tree.nodes()):
        if not isinstance(node, Branch):
            continue
        record, to_left = records[number], node.missing == "left"
        record["feature"] = columns.index(_column(tree, node))
        if (most := _most(tree, node)) is not None:
            record["threshold"] = np.float32(most)  # cells are rounded to float32, too
        else:  # a column of 0 and 1: what passes the test has 1 and goes right
            record["threshold"], to_left = 0.5, not to_left
            record["left_child"], record["right_child"] = right[number], left[number]
        if "missing_go_to_left" in records.dtype.names:
            record["missing_go_to_left"] = to_left
    return records


def _most(tree: Tree, branch: Branch) -> float | None:
    """The threshold of the one test that scikit-learn has: a number is at most another."""
    kinds = {type_.name: type_.kind for type_ in tree.features}
    if isinstance(branch.test, Threshold) and kinds[branch.feature] == "number":
        return float(branch.test.value)
    return None


def _column(tree: Tree, branch: Branch) -> str:
    """The column that a branch asks for: the feature, or one of the test."""
    if _most(tree, branch) is not None:
        return branch.feature
    return " ".join(test_words(branch.feature, branch.test))


def view_columns(
    tree: Tree, cells: Any, names: Sequence[str], columns: Sequence[str]
) -> FloatArray:
    """What `view` calls its columns, of other rows: numbers as they are, tests as 0 and 1."""
    from odtdsl.predictors.frames import as_table
    from odtdsl.predictors.routing import passes, tested_cells

    table = as_table(tree, cells)
    encoded = tested_cells(tree, table.columns, table.name)
    levels = {type_.name: type_.levels for type_ in tree.features}
    rows = np.arange(table.n_rows)
    found = np.full((table.n_rows, len(columns)), np.nan)
    for at, name in enumerate(names):
        column = cells.get(name)
        if column is not None and np.asarray(column).dtype.kind == "f":
            found[:, at] = column
    for node in tree.nodes():
        if isinstance(node, Branch) and _most(tree, node) is None:
            column = encoded[node.feature]
            passed = passes(node.test, column, levels[node.feature], rows).astype(float)
            found[:, columns.index(_column(tree, node))] = np.where(column.missing, np.nan, passed)
    return found


__all__ = ["NodeFigures", "figures", "importances", "view", "view_columns"]
