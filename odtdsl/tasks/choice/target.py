"""A target of choices: a column of rewards or losses for each."""

from __future__ import annotations

from typing import ClassVar

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler.columns import Columns
from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.statements import Statements
from odtdsl.compiler.targets import TargetPart
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.tasks.choice.problem import worths

HELD = ("reward", "loss")
"""What the columns of choices can hold."""


class ChoiceTarget(TargetPart):
    """Columns of rewards, of which more is better, or of losses."""

    called: ClassVar = "a choice"
    terms: ClassVar = frozenset({"choice", "label"})
    on_diagrams: ClassVar = True
    labels_are_columns: ClassVar = True
    of_text: ClassVar = "rewards and losses of choices are numbers"

    def takes(self, kind: str, target: TargetDecl) -> bool:
        """`reward` where columns hold rewards, `loss` where they hold losses."""
        return kind in self.terms or kind == target.by

    def called_for(self, kind: str) -> str:
        """With what the columns hold, where it matters."""
        return f"a choice by {kind}" if kind in HELD else super().called_for(kind)

    def declare(
        self, columns: Columns, statement: ast.Target, names: tuple[str, ...]
    ) -> TargetDecl:
        """Two columns or more, and what they hold."""
        assert statement.by is not None, "the grammar asks for it"
        by = statement.by.name
        if by not in HELD:
            raise columns.reporter.unknown("T123", "measure of choices", by, HELD, statement.by)
        if len(names) < 2:
            raise columns.reporter.error(
                "T124",
                "a choice needs at least two columns, one for each thing to choose",
                statement,
                helps=(
                    "if doing nothing is a choice, add a column of what that brings, such as 0",
                ),
            )
        return TargetDecl(names=names, kind="choice", classes=names, by=by)

    def other_terms(self, word: str, target: TargetDecl) -> tuple[str, ...]:
        """What the columns hold, and how often a choice is made."""
        if word in ("reward", "expected_reward", "loss", "expected_loss"):
            by = "loss" if target.by == "reward" else "reward"
            return (
                f"the choices are made `by {target.by}`: use `{target.by}`",
                f"or write `target choice {{...}} by {by}`",
            )
        example = coded(f"share({name_text(target.names[-1])})")
        return (f"for a choice use `{target.by}`, `expected_{target.by}` or {example}",)

    def compared(
        self, name: ast.Name, target: TargetDecl, scope: Scope, reporter: Reporter
    ) -> StatementError | None:
        """A choice is no number."""
        example = coded(f"share({name_text(name.name)}) <= 30%")
        return reporter.error(
            "T215",
            f"`{name.name}` is a choice, which cannot be compared with a number",
            name,
            helps=(f"to bound how often it is made, write {example} in a rule without `forall`",),
        )

    def unordered(self, target: TargetDecl) -> tuple[str, str] | None:
        """No choice is higher than another."""
        return "choices have no order", "remove the rule, or declare a target of numbers"

    def warn(self, rows: Rows, statements: Statements, reporter: Reporter) -> None:
        """Rewards that are rounded (D226), or too large (D227)."""
        try:
            _, _, decimals = worths(rows)
        except OdtError as problem:
            reporter.adopt(problem, statements.target)
            return
        if decimals is not None:
            reporter.warn(
                "D226",
                f"weight times {rows.problem.target.by} is rounded to {decimals} decimals, so"
                " that sums of all rows are exact",
                statements.target,
                helps=("to choose the digits yourself, round the columns before",),
            )


PART = ChoiceTarget()
