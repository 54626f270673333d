"""Leaves that make a choice: they hold a label, and no class weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.predictors.leaves import LeafPart, label_array
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.structure import Structure
from odtdsl.predictors.validation import wrong
from odtdsl.predictors.wording import label_text


class PickLeaves(LeafPart):
    def check(self, leaf: Leaf, place: str, model: Structure) -> Iterator[Diagnostic]:
        if leaf.label is None or not 0 <= leaf.label < len(model.classes):
            yield wrong("F210", place, f"label {leaf.label} is no choice")

    def predictions(self, model: Structure) -> npt.NDArray[Any]:
        labels = np.array([leaf.label for leaf in model.ends], dtype=np.int64)
        return label_array(model.classes)[labels]

    def names(self, model: Structure) -> tuple[str, ...]:
        return ("pick",)

    def words(self, leaf: Leaf, model: Structure) -> str:
        assert leaf.label is not None
        return label_text(model.classes[leaf.label])


PART = PickLeaves()
