"""The audit of numbers: what the outputs of leaves are to be."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.auditor.outputs import audited_outputs, growth_of, on_outputs, softened
from odtdsl.auditor.results import AuditLine
from odtdsl.auditor.routing import DiagramOn, TreeOn
from odtdsl.auditor.rows import AuditRows
from odtdsl.auditor.targets import AuditPart
from odtdsl.auditor.values import FLOAT_TOLERANCE
from odtdsl.datasets.table import FloatArray, IntArray
from odtdsl.predictors.nodes import Leaf
from odtdsl.problem.ir.problem import RuleDecl, TargetDecl

NEAR = float(FLOAT_TOLERANCE)


class NumberAudit(AuditPart):
    """Outputs are the best of their leaves, on their grid; some ways of `greedy` bend rules."""

    def lines(self, model: TreeOn, backend: str | None) -> Iterator[AuditLine]:
        """What outputs are, and the grid that they are on."""
        yield from audited_outputs(model, growth_of(model.rows.problem, backend))

    def ruled(
        self, line: AuditLine, rule: RuleDecl, model: TreeOn | DiagramOn, backend: str | None
    ) -> AuditLine:
        """Where leaves are `relaxed` or `average`, they may break rules on outputs."""
        soft = growth_of(model.rows.problem, backend).leaf in ("relaxed", "average")
        if soft and isinstance(model, TreeOn) and on_outputs(rule):
            return softened(line, rule, model)
        return line

    def truth(self, rows: AuditRows) -> IntArray | FloatArray:
        """The numbers of each row."""
        return rows.truth

    def in_order(self, below: Leaf, above: Leaf, target: TargetDecl) -> bool:
        """No output falls, but by rounding."""
        assert below.output is not None, "a tree that fits the targets has outputs"
        assert above.output is not None, "a tree that fits the targets has outputs"
        return all(
            b - a <= NEAR * (1 + max(abs(a), abs(b)))
            for b, a in zip(below.output, above.output, strict=True)
        )


PART = NumberAudit()
