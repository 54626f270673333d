"""Leaves that predict a class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.datasets.table import FloatArray
from odtdsl.predictors.leaves import LeafPart, label_array, leaf_shares
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.structure import Structure
from odtdsl.predictors.validation import wrong
from odtdsl.predictors.wording import label_text


class ClassLeaves(LeafPart):
    """A leaf holds a label, and the training weight of each class."""

    def check(self, leaf: Leaf, place: str, model: Structure) -> Iterator[Diagnostic]:
        """A label among the classes, and no output."""
        many = len(model.classes)
        if leaf.label is None or leaf.output is not None:
            yield wrong(
                "F207", place, "a leaf of a classification tree must have a label and no output"
            )
        elif not 0 <= leaf.label < many:
            yield wrong("F210", place, f"label {leaf.label} is not among the {many} classes")
        if len(leaf.class_weights) not in (0, many):
            yield wrong("F207", place, f"class_weights must have {many} entries")

    def check_model(self, model: Structure) -> Iterator[Diagnostic]:
        """One target."""
        if len(model.targets) > 1:
            yield wrong("F207", "targets", "a tree with classes must have exactly one target")

    def predictions(self, model: Structure) -> npt.NDArray[Any]:
        """The label of each end."""
        labels = np.array([leaf.label for leaf in model.ends], dtype=np.int64)
        return label_array(model.classes)[labels]

    def shares(self, model: Structure) -> FloatArray:
        """The share of each class in the training weight of each end."""
        many = len(model.classes)
        return np.array([leaf_shares(leaf, many) for leaf in model.ends], dtype=np.float64)

    def words(self, leaf: Leaf, model: Structure) -> str:
        """The label."""
        assert leaf.label is not None, "check: a leaf of a class tree has a label"
        return label_text(model.classes[leaf.label])


PART = ClassLeaves()
