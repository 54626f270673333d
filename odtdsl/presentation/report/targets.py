"""What reports need of a task: where a model is wrong, and what rows and nodes hold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from odtdsl.base.tasks import Part
from odtdsl.datasets.dataset import Dataset
from odtdsl.datasets.table import BoolArray, IntArray
from odtdsl.presentation.report.markup import Markup
from odtdsl.presentation.report.subject import Subject

if TYPE_CHECKING:
    from odtdsl.presentation.report.node_facts import Facts, NodeFacts
    from odtdsl.problem.ir.problem import TargetDecl


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Rows under a name: their data, and which of them count."""

    name: str
    data: Dataset
    inside: BoolArray


class ReportPart(Part):
    """A task in reports.

    Attributes
    ----------
    spread_head
        The head of the column of the table of nodes that `spread` fills.
    """

    module: ClassVar = "report"

    spread_head: ClassVar[str]

    @abstractmethod
    def errors(self, subject: Subject, samples: Sequence[Sample]) -> Markup:
        """The section on where the model is right and wrong."""

    def outputs(self, subject: Subject) -> Markup:
        """The section on what leaves may predict and do; empty for most tasks."""
        return Markup("")

    @abstractmethod
    def spread(self, one: NodeFacts, facts: Facts) -> str:
        """What the rows at a node hold, in a few words."""

    @abstractmethod
    def actual(self, data: Dataset, target: TargetDecl, at: IntArray) -> list[str]:
        """What each of some rows holds, in words."""
