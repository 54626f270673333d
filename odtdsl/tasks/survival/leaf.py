"""What a leaf of a survival tree holds: a hazard ratio, and the course of its training rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.predictors.leaves import LeafPart
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.structure import Structure
from odtdsl.predictors.survival import Curve, median
from odtdsl.predictors.validation import wrong
from odtdsl.predictors.wording import number_text, rounded


class SurvivalLeaves(LeafPart):
    """A leaf holds one output, the hazard relative to that of all rows, and a curve."""

    def check(self, leaf: Leaf, place: str, model: Structure) -> Iterator[Diagnostic]:
        """One output of at least 0, no label, and a curve of ascending times."""
        if leaf.output is None or leaf.label is not None or leaf.class_weights:
            yield wrong("F207", place, "a leaf of a survival tree must have an output and no label")
        elif len(leaf.output) != 1 or leaf.output[0] < 0:
            yield wrong("F207", place, "output must be one hazard ratio of at least 0")
        steps = leaf.curve
        if any(not 0 <= events <= risk for _, risk, events in steps):
            yield wrong("F207", place, "events of a curve must be at least 0 and at most the risk")
        for (time, risk, events), (later, left, _) in pairwise(steps):
            if not (time < later and left <= risk - events + 1e-9 * risk):
                yield wrong("F207", place, "times of a curve must rise, and its risk must fall")
                break

    def check_model(self, model: Structure) -> Iterator[Diagnostic]:
        """A column of times and one of events."""
        if len(model.targets) != 2:
            yield wrong("F207", "targets", "a survival tree must have a time and an event")

    def predictions(self, model: Structure) -> npt.NDArray[Any]:
        """The hazard ratio of each end."""
        return np.array([(leaf.output or (np.nan,))[0] for leaf in model.ends], dtype=np.float64)

    def curves(self, model: Structure) -> tuple[Curve, ...]:
        """What the leaves keep."""
        return tuple(leaf.curve for leaf in model.ends)

    def columns(self, model: Structure) -> dict[str, list[Any]]:
        """The hazard ratio, and the median of survival, None where it is not reached."""
        return {
            **super().columns(model),
            "median_survival": [median(curve) for curve in self.curves(model)],
        }

    def names(self, model: Structure) -> tuple[str, ...]:
        """The hazard relative to that of all training rows."""
        return ("hazard_ratio",)

    def words(self, leaf: Leaf, model: Structure) -> str:
        """The hazard ratio, the median of survival, and events among rows."""
        (ratio,) = leaf.output or (np.nan,)
        times = number_text(float(f"{ratio:.3g}"))
        half = median(leaf.curve)
        said = "not reached" if half is None else rounded(half)
        came = rounded(sum(events for _, _, events in leaf.curve))
        return f"hazard x {times}, median {said}, {came} {'event' if came == '1' else 'events'}"


PART = SurvivalLeaves()
