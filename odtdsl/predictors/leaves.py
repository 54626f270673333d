"""What predictors need of a task: what its leaves hold, predict and say."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic, error
from odtdsl.base.tasks import Part, tasks
from odtdsl.datasets.dataset import Value
from odtdsl.datasets.table import FloatArray
from odtdsl.predictors.nodes import Leaf
from odtdsl.predictors.structure import Structure
from odtdsl.predictors.survival import Curve


class LeafPart(Part):
    """The leaves of a task. A leaf holds a label or an output for each target, never both."""

    module: ClassVar = "leaf"
    verb: ClassVar[str] = "predicts"
    """What a leaf does with its value, in words."""

    @abstractmethod
    def check(self, leaf: Leaf, place: str, model: Structure) -> Iterator[Diagnostic]:
        """What is wrong with a leaf: F207, F209, F210."""

    def check_model(self, model: Structure) -> Iterator[Diagnostic]:
        """What is wrong with the targets and classes of a model: F207."""
        yield from ()

    @abstractmethod
    def predictions(self, model: Structure) -> npt.NDArray[Any]:
        """What each of the model's ends predicts, as an array of `Predictor.predict`."""

    def shares(self, model: Structure) -> FloatArray:
        """Of each of the model's ends the share of each class; U206 where a task has none."""
        raise error(
            "U206", "a tree with number targets has no class probabilities", helps=["use `predict`"]
        )

    def names(self, model: Structure) -> tuple[str, ...]:
        """What its predictions are called, as exports write them: by default the targets."""
        return model.targets

    def curves(self, model: Structure) -> tuple[Curve, ...]:
        """The course of the training rows of each end; U215 where a task has none."""
        raise error(
            "U215",
            f"a tree of {tasks()[model.target_kind][0].plural} has no survival curves",
            helps=["use `predict`"],
        )

    def columns(self, model: Structure) -> dict[str, list[Any]]:
        """What `odt predict` says of each end: by default its predictions alone."""
        values = self.predictions(model)
        columns = values.T.tolist() if values.ndim > 1 else [values.tolist()]
        return dict(zip(self.names(model), columns, strict=True))

    @abstractmethod
    def words(self, leaf: Leaf, model: Structure) -> str:
        """What a leaf predicts, in words."""


def leaves_of(model: Structure) -> LeafPart:
    """The part of the model's task."""
    return LeafPart.of(model.target_kind)


def known(kind: str) -> bool:
    """Whether there is a task for a kind of target."""
    return kind in tasks()


def label_array(labels: tuple[Value, ...]) -> npt.NDArray[Any]:
    """The labels as an array: of 64-bit integers or float64 where all are numbers that it holds
    exactly, else of objects."""
    if all(isinstance(label, int) for label in labels):
        for dtype in (np.int64, np.uint64):
            limits = np.iinfo(dtype)
            if all(limits.min <= label <= limits.max for label in labels):  # type: ignore[operator]
                return np.array(labels, dtype=dtype)
    elif not any(
        isinstance(label, str) or (abs(label) > 2**53 and isinstance(label, int))
        for label in labels
    ):
        return np.array(labels, dtype=np.float64)
    result = np.empty(len(labels), dtype=object)
    result[:] = labels
    return result


def leaf_shares(leaf: Leaf, n_classes: int) -> list[float]:
    """The share of each class in the weight of a leaf; 1 for its own label if it has no weight."""
    total = sum(leaf.class_weights)
    if total > 0:
        return [weight / total for weight in leaf.class_weights]
    return [float(i == leaf.label) for i in range(n_classes)]
