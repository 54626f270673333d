"""What core problems need of a task."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from odtdsl.base.tasks import Part

Curve = tuple[tuple[float, float, float], ...]
"""Of a leaf with a course in time: time, weight at risk, weight of events, by ascending time."""

if TYPE_CHECKING:
    from odtdsl.datasets.dataset import Dataset
    from odtdsl.datasets.table import FloatArray, IntArray
    from odtdsl.problem.ir.problem import TargetDecl
    from odtdsl.problem.ir.rows import Rows


class ProblemPart(Part):
    """A task in the problem.

    Attributes
    ----------
    in_floats
        Whether losses are floats, so that near ones are equal; else values are exact.
    """

    module: ClassVar = "problem"

    in_floats: ClassVar[bool] = False

    @abstractmethod
    def text(self, target: TargetDecl) -> str:
        """The declaration, as dumps of problems show it."""

    def losses(self, rows: Rows) -> tuple[IntArray, int]:
        """What rows pay, by their weight, for each label: `loss`.

        Returns
        -------
        numerators, denominator
            int64 (n_rows, n_labels), over a common denominator.
        """
        raise AssertionError("only a target whose terms include `loss` is asked")

    def estimated(self, rows: Rows) -> FloatArray | None:
        """What outputs of leaves estimate: float64 (n_rows, n_outputs); None where labels are."""
        return rows.data.targets

    def estimate(
        self, rows: Rows, inside: IntArray, output: tuple[float, ...]
    ) -> tuple[tuple[float, ...], Curve]:
        """What the leaf of some rows puts out, and its curve, by the output of the search."""
        return output, ()

    def guide(self, data: Dataset, target: TargetDecl) -> IntArray | FloatArray | None:
        """What `candidates at guessed` are guessed by: labels (n_rows,) or numbers."""
        return data.targets if data.labels is None else data.labels
