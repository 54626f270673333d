"""A target of numbers: one column or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from odtdsl.compiler.columns import Columns
from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.output_warnings import warn_of_outputs
from odtdsl.compiler.scale_warnings import warn_of_scales
from odtdsl.compiler.statements import Statements
from odtdsl.compiler.targets import TargetPart, Truth
from odtdsl.datasets.dataset import Column
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows


class NumberTarget(TargetPart):
    """Columns of numbers, which may lie on a grid."""

    called: ClassVar = "a number target"
    most_of_weights: ClassVar = 10**14  # losses are differences of sums
    terms: ClassVar = frozenset({"number"})

    def declare(
        self, columns: Columns, statement: ast.Target, names: tuple[str, ...]
    ) -> TargetDecl:
        """The columns, with the step of their grid."""
        step = None if statement.type is None else columns.step(statement.type)
        if statement.positive is not None:
            raise columns.reporter.error(
                "T105", "a number target has no positive class", statement.positive
            )
        return TargetDecl(names=names, kind="number", step=step)

    def truth(self, target: TargetDecl, columns: Mapping[str, Column]) -> Truth:
        """The numbers of each row."""
        numbers = [columns[name].numbers for name in target.names]
        return None, np.column_stack([n for n in numbers if n is not None])

    def other_terms(self, word: str, target: TargetDecl) -> tuple[str, ...]:
        """The losses of numbers, classes, or the name of the target in backticks."""
        helps = ["for a number target use `mse`, `mae` or `poisson`"]
        if word in target.names:
            helps += [f"for the output of a leaf write the target in backticks: `` `{word}` ``"]
        elif len(target.names) == 1:
            classes = coded(f"target {name_text(target.names[0])}: class")
            helps += [f"if its numbers are labels of classes, write {classes}"]
        return tuple(helps)

    def compared(
        self, name: ast.Name, target: TargetDecl, scope: Scope, reporter: Reporter
    ) -> StatementError | None:
        """Nothing: the name stands for the output of a leaf."""
        return None

    def warn(self, rows: Rows, statements: Statements, reporter: Reporter) -> None:
        """Targets of which one counts nearly alone."""
        warn_of_scales(rows, reporter)

    def check_outputs(self, rows: Rows, reporter: Reporter) -> None:
        """That some output keeps all rules, and the rows do."""
        warn_of_outputs(rows, reporter)


PART = NumberTarget()
