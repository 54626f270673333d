"""The engine's trees as raw ones, and back."""

from __future__ import annotations

import numpy as np

from odtdsl.backends.exact.features import Features
from odtdsl.base import engine
from odtdsl.problem.ir.evaluate import Evaluation
from odtdsl.problem.ir.families import local_gap
from odtdsl.problem.ir.forms import Core
from odtdsl.problem.ir.raw import RawLeaf, RawSplit, RawTest, RawTree, Visit


def to_raw(core: Core, found: Features, tree: engine.Tree) -> RawTree:
    """The engine's tree as a raw one; equality and bin tests as themselves."""
    features, cuts, labels = tree.feature.tolist(), tree.cut.tolist(), tree.label.tolist()
    lefts, rights = tree.left.tolist(), tree.right.tolist()

    def node(at: int) -> RawTree:
        if features[at] < 0:
            return RawLeaf(label=labels[at])
        asked = raw_test(core, found, features[at], cuts[at])
        return RawSplit(
            family=asked.family, test=asked.test, left=node(lefts[at]), right=node(rights[at])
        )

    return node(0)


def raw_test(core: Core, found: Features, feature: int, cut: int) -> RawTest:
    """The engine's feature and cut as a test of its family."""
    family, test = found.tests[feature]
    if test < 0:
        test = _cut(found, feature, cut) - (core.families[family].missing == "left")
    return RawTest(family=family, test=test)


def _cut(found: Features, feature: int, cut: int) -> int:
    """The engine's cut as one between the values of the feature."""
    cuts = found.cuts[feature] if found.cuts else None
    return cut if cuts is None else int(cuts[cut])


def from_raw(core: Core, found: Features, tree: RawTree) -> engine.Tree | None:
    """A raw tree as the engine's; None where it holds a test that is no feature."""
    where = {pair: index for index, pair in enumerate(found.tests)}
    visits = Evaluation(core, tree).visits
    rows: list[list[int]] = []

    def add(node: RawTree) -> int:
        at = len(rows)
        rows.append([-1, -1, -1, -1, -1])
        if isinstance(node, RawLeaf):
            rows[at][4] = node.label
            return at
        feature, cut = where.get((node.family, -1)), 0
        if feature is None:
            feature = where.get((node.family, node.test))
        elif (cut := _allowed_cut(core, found, feature, node, visits[at])) < 0:
            raise KeyError
        if feature is None:
            raise KeyError
        rows[at][0], rows[at][1] = feature, cut
        rows[at][2] = add(node.left)
        rows[at][3] = add(node.right)
        return at

    try:
        add(tree)
    except KeyError:
        return None
    feature, cut, left, right, label = np.array(rows, dtype=np.int32).T.copy()
    return engine.Tree(
        feature=feature, cut=cut.astype(np.int64), left=left, right=right, label=label
    )


def _allowed_cut(core: Core, found: Features, feature: int, split: RawSplit, visit: Visit) -> int:
    """The cut that parts the rows of a node as a threshold does, and may stand; -1 without.

    Between two neighbouring values of these rows there can be several, of which one is allowed.
    """
    family = core.families[split.family]
    gap = local_gap(family, split.test, family.codes[visit.rows])
    if gap is None:
        return -1
    shift = int(family.missing == "left")
    cuts = np.arange(gap[0], gap[1]) + shift
    allowed = found.allowed[feature]
    if visit.level < len(found.by_level):
        allowed = found.by_level[visit.level][feature]
    if allowed is not None:
        cuts = cuts[allowed[cuts]]
    kept = found.cuts[feature] if found.cuts else None
    if kept is not None:
        cuts = np.intersect1d(cuts, kept, assume_unique=True)
    if not cuts.size:
        return -1
    cut = int(cuts[np.abs(cuts - shift - split.test).argmin()])
    return cut if kept is None else int(np.searchsorted(kept, cut))
