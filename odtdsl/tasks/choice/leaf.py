"""Leaves that make a choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic, error
from odtdsl.datasets.table import FloatArray
from odtdsl.predictors.leaves import LeafPart, label_array
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.structure import Structure
from odtdsl.predictors.validation import wrong
from odtdsl.predictors.wording import label_text


class ChoiceLeaves(LeafPart):
    """A leaf holds a label, the choice; choices are the columns of the target."""

    verb: ClassVar = "chooses"

    def check(self, leaf: Leaf, place: str, model: Structure) -> Iterator[Diagnostic]:
        """A label among the choices, no output, and no class weights."""
        many = len(model.classes)
        if leaf.label is None or leaf.output is not None:
            yield wrong("F207", place, "a leaf of choices must have a label and no output")
        elif not 0 <= leaf.label < many:
            yield wrong("F210", place, f"label {leaf.label} is not among the {many} choices")
        if leaf.class_weights:
            yield wrong("F207", place, "a leaf of choices must have no class weights")

    def check_model(self, model: Structure) -> Iterator[Diagnostic]:
        """A target column for each choice."""
        if model.targets != model.classes:
            yield wrong("F207", "targets", "the targets of a tree of choices must be its choices")

    def predictions(self, model: Structure) -> npt.NDArray[Any]:
        """The choice of each end."""
        labels = np.array([leaf.label for leaf in model.ends], dtype=np.int64)
        return label_array(model.classes)[labels]

    def shares(self, model: Structure) -> FloatArray:
        """A leaf makes one choice, whatever it saw (U206)."""
        raise error("U206", "a tree of choices has no probabilities", helps=["use `predict`"])

    def names(self, model: Structure) -> tuple[str, ...]:
        """One column says which choice is made."""
        return ("choice",)

    def words(self, leaf: Leaf, model: Structure) -> str:
        """The choice."""
        assert leaf.label is not None, "check: a leaf of choices has a label"
        return label_text(model.classes[leaf.label])


PART = ChoiceLeaves()
