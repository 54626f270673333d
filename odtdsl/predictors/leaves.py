"""What predictors need of a task: what its leaves hold, predict and say."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt

from odtdsl.base.diagnostics.model import Diagnostic, error
from odtdsl.base.tasks import Part, tasks
from odtdsl.datasets.table import FloatArray
from odtdsl.predictors.nodes import Leaf

if TYPE_CHECKING:
    from odtdsl.predictors.predictor import Predictor


class LeafPart(Part):
    """The leaves of a task. A leaf holds a label or an output for each target, never both."""

    module: ClassVar = "leaf"

    @abstractmethod
    def check(self, leaf: Leaf, place: str, model: Predictor) -> Iterator[Diagnostic]:
        """What is wrong with a leaf: F207, F209, F210."""

    def check_model(self, model: Predictor) -> Iterator[Diagnostic]:
        """What is wrong with the targets and classes of a model: F207."""
        yield from ()

    @abstractmethod
    def predict(self, model: Predictor, data: object) -> npt.NDArray[Any]:
        """See `Predictor.predict`."""

    def predict_proba(self, model: Predictor, data: object) -> FloatArray:
        """See `Predictor.predict_proba`; U206 where a task has no shares of classes."""
        raise error(
            "U206", "a tree with number targets has no class probabilities", helps=["use `predict`"]
        )

    def names(self, model: Predictor) -> tuple[str, ...]:
        """What its predictions are called, as exports write them: by default the targets."""
        return model.targets

    @abstractmethod
    def words(self, leaf: Leaf, model: Predictor) -> str:
        """What a leaf predicts, in words."""


def leaves_of(model: Predictor) -> LeafPart:
    """The part of the model's task."""
    return LeafPart.of(model.target_kind)


def known(kind: str) -> bool:
    """Whether there is a task for a kind of target."""
    return kind in tasks()
