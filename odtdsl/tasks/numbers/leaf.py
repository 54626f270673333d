"""Leaves that predict a number for each target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Day
from odtdsl.predictors.leaves import LeafPart
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.structure import Structure
from odtdsl.predictors.validation import wrong
from odtdsl.predictors.wording import rounded


class NumberLeaves(LeafPart):
    """A leaf holds an output for each target."""

    def check(self, leaf: Leaf, place: str, model: Structure) -> Iterator[Diagnostic]:
        """An output for each target, and no label."""
        if leaf.output is None or leaf.label is not None:
            yield wrong(
                "F207", place, "a leaf of a regression tree must have an output and no label"
            )
        elif len(leaf.output) != len(model.targets):
            yield wrong("F207", place, f"output must have {len(model.targets)} entries")
        elif leaf.class_weights:
            yield wrong("F207", place, "a leaf of a regression tree must have no class weights")

    def predictions(self, model: Structure) -> npt.NDArray[Any]:
        """The output of each end; with a second axis where there are several targets."""
        outputs = np.array([leaf.output for leaf in model.ends], dtype=np.float64)
        return outputs[:, 0] if len(model.targets) == 1 else outputs

    def columns(self, model: Structure) -> dict[str, list[Any]]:
        """See `LeafPart.columns`; dates where outputs count days."""
        found: dict[str, list[Any]] = {}
        for at, target in enumerate(model.targets):
            outputs = [leaf.output[at] for leaf in model.ends if leaf.output is not None]
            found[target] = [str(x) if isinstance(x, Day) else float(x) for x in outputs]
        return found

    def words(self, leaf: Leaf, model: Structure) -> str:
        """The output, under the names of the targets where there are several."""
        outputs = leaf.output or ()
        if len(outputs) == 1:
            return rounded(outputs[0])
        pairs = zip(model.targets, outputs, strict=True)
        return ", ".join(f"{printable(target)} = {rounded(value)}" for target, value in pairs)


PART = NumberLeaves()
