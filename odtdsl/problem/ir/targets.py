"""What core problems need of a task."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from odtdsl.base.tasks import Part

if TYPE_CHECKING:
    from odtdsl.problem.ir.problem import TargetDecl


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
