"""What the audit needs of a task: its errors, its order, and what its leaves are to predict."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from odtdsl.auditor.results import AuditLine
from odtdsl.auditor.routing import DiagramOn, ModelOn, TreeOn
from odtdsl.auditor.rows import AuditRows
from odtdsl.base.tasks import Part
from odtdsl.datasets.table import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from odtdsl.predictors.nodes import Leaf
    from odtdsl.problem.ir.problem import RuleDecl, TargetDecl


class AuditPart(Part):
    """The audit of a task, from the cells as read. A part runs nothing that searches run."""

    module: ClassVar = "audit"

    def errors(self, model: TreeOn | DiagramOn) -> Fraction | None:
        """The weight of the wrong predictions; None where none is just right or wrong."""
        return None

    def lost(self, model: ModelOn, inside: BoolArray) -> Fraction:
        """What the predictions for some rows, bool (n_rows,), cost by weight: `loss`."""
        raise AssertionError("only a target whose terms include `loss` is asked")

    def lines(self, model: TreeOn, backend: str | None) -> Iterator[AuditLine]:
        """Lines on what the leaves of a tree are to predict; `backend` made it, if known."""
        yield from ()

    def ruled(
        self, line: AuditLine, rule: RuleDecl, model: TreeOn | DiagramOn, backend: str | None
    ) -> AuditLine:
        """The line of a rule; with a note where leaves may break it."""
        return line

    @abstractmethod
    def truth(self, rows: AuditRows) -> IntArray | FloatArray:
        """What a model is to predict for the rows: labels (n_rows,) or numbers, a column each.

        `candidates at guessed` are guessed by it.
        """

    @abstractmethod
    def in_order(self, below: Leaf, above: Leaf, target: TargetDecl) -> bool:
        """Whether the first leaf may predict where a feature is smaller, under `increasing`."""
