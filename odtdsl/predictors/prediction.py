"""Prediction: what the leaf that a row reaches says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from odtdsl.datasets.dataset import Value
from odtdsl.datasets.table import FloatArray
from odtdsl.predictors.leaves import leaves_of
from odtdsl.predictors.nodes import Leaf

if TYPE_CHECKING:
    from odtdsl.predictors.predictor import Predictor


def predict(model: Predictor, data: object) -> npt.NDArray[Any]:
    """See `Predictor.predict`."""
    return leaves_of(model).predict(model, data)


def predict_proba(model: Predictor, data: object) -> FloatArray:
    """See `Predictor.predict_proba`."""
    return leaves_of(model).predict_proba(model, data)


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
