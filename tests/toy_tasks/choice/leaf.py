"""Leaves that make a choice: they hold a label, and no class weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.predictors.leaves import LeafPart
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.prediction import label_array
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.validation import wrong
from odtdsl.predictors.wording import label_text


class ChoiceLeaves(LeafPart):
    def check(self, leaf: Leaf, place: str, model: Predictor) -> Iterator[Diagnostic]:
        if leaf.label is None or not 0 <= leaf.label < len(model.classes):
            yield wrong("F210", place, f"label {leaf.label} is no choice")

    def predict(self, model: Predictor, data: object) -> npt.NDArray[Any]:
        return label_array(model.classes)[model.labels(data)]

    def names(self, model: Predictor) -> tuple[str, ...]:
        return ("choice",)

    def words(self, leaf: Leaf, model: Predictor) -> str:
        assert leaf.label is not None
        return label_text(model.classes[leaf.label])


PART = ChoiceLeaves()
