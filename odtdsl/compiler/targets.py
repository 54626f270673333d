"""What the compiler needs of a task: how a target is declared, encoded, and warned of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from odtdsl.base.tasks import Part, task_of_type, tasks
from odtdsl.compiler.columns import Columns
from odtdsl.compiler.context import StatementError
from odtdsl.datasets.dataset import Column, ColumnType
from odtdsl.datasets.table import FloatArray, IntArray, RawColumn
from odtdsl.language.fragments import words_of

if TYPE_CHECKING:
    from odtdsl.compiler.context import Reporter
    from odtdsl.compiler.statements import Statements
    from odtdsl.language import ast
    from odtdsl.problem.ir.expr import Scope
    from odtdsl.problem.ir.problem import TargetDecl
    from odtdsl.problem.ir.rows import Rows

Truth = tuple[IntArray | None, FloatArray | None]
"""What rows hold of the target: labels, int64 (n_rows,); numbers, float64 (n_rows, n_targets)."""


class TargetPart(Part):
    """The target of a task.

    Attributes
    ----------
    called
        What messages call such a target, with its article: `a class target`.
    terms
        What it has that terms may need: a term says in `target` what that is.
    labels_are_columns
        Whether what is predicted are the target columns, so that rules name it without quotes.
    of_text
        What to say of a cell of the target that is a text; empty where it may be a class.
    on_diagrams
        Whether a diagram can predict it, which has one terminal for each class.
    most_of_weights
        How many times the smallest row weight the largest may be; None: as many as are read.
    """

    module: ClassVar = "target"

    called: ClassVar[str]
    terms: ClassVar[frozenset[str]]
    on_diagrams: ClassVar[bool] = False
    labels_are_columns: ClassVar[bool] = False
    of_text: ClassVar[str] = ""
    most_of_weights: ClassVar[int | None] = None

    def takes(self, kind: str, target: TargetDecl) -> bool:
        """Whether terms that need `kind` fit a target."""
        return kind in self.terms

    def called_for(self, kind: str) -> str:
        """What messages call the targets of the task that terms of a kind need; empty for none."""
        return self.called if kind in self.terms else ""

    @property
    def said(self) -> str:
        """What follows "the target is" in messages: `a class`."""
        return self.called.removesuffix(" target")

    @abstractmethod
    def declare(
        self, columns: Columns, statement: ast.Target, names: tuple[str, ...]
    ) -> TargetDecl:
        """The target of a statement with known columns; raises `StatementError` on a mistake."""

    def column(self, target: TargetDecl, name: str, raw: RawColumn) -> ColumnType:
        """The type of a target column."""
        return ColumnType(name=name, kind="number", step=target.step)

    def truth(self, target: TargetDecl, columns: Mapping[str, Column]) -> Truth:
        """What rows hold, where that is a label or numbers to predict.

        Raises
        ------
        OdtError
            What is wrong with the cells of training or test rows.
        """
        return None, None

    def strata(self, target: TargetDecl, raw: Mapping[str, RawColumn]) -> IntArray | None:
        """int64 (n_rows,): what a stratified share of rows is like the whole in; None: nothing."""
        return None

    def losses(self, target: TargetDecl, columns: Columns) -> tuple[tuple[Fraction, ...], ...]:
        """The loss by actual and predicted class; files `loss` statements where none has one."""
        for statement in columns.statements.losses:
            columns.reporter.error(
                "T113", f"`loss` is about classes, but the target is {self.said}", statement
            )
        return ()

    @abstractmethod
    def other_terms(self, word: str, target: TargetDecl) -> tuple[str, ...]:
        """What to write in place of a term that needs another kind of target (T219)."""

    def compared(
        self, name: ast.Name, target: TargetDecl, scope: Scope, reporter: Reporter
    ) -> StatementError | None:
        """What is wrong with a target's name in an expression; None: it is a leaf's output."""
        return reporter.error(
            "T215", f"`{name.name}` is the target, and {self.called} has no outputs", name
        )

    def unordered(self, target: TargetDecl) -> tuple[str, str] | None:
        """Why no prediction is higher than another, and what to write; None where one is."""
        return None

    def lookalikes(self, rows: Rows, statements: Statements, reporter: Reporter) -> None:
        """Report warnings about values of the target that may be meant to be the same."""

    def warn(self, rows: Rows, statements: Statements, reporter: Reporter) -> None:
        """File what is doubtful about the target on the training rows."""
        self.lookalikes(rows, statements, reporter)

    def check_outputs(self, rows: Rows, reporter: Reporter) -> None:
        """File what is wrong with the rules on outputs of leaves."""


def called(kind: str) -> str:
    """What messages call the targets that terms of a kind need."""
    names = [TargetPart.of(one).called_for(kind) for one in tasks()]
    return " or ".join(sorted(filter(None, names), reverse=True))


def declared_target(columns: Columns) -> TargetDecl:
    """The target that the spec declares; stops the analysis where it cannot be used."""
    statement = columns.statements.target
    assert statement is not None, "a spec without a target stops before"
    names = columns.known(statement.columns)
    if len(names) < len(statement.columns):
        raise StatementError
    if len(set(names)) < len(names):
        raise columns.reporter.error("N104", "a target is named twice", statement)
    undeclared = "number" if _asks_for_numbers(columns, statement, names) else "class"
    kind = undeclared if statement.type is None else statement.type.kind
    task = task_of_type(kind)
    assert task is not None, "the grammar knows the types of targets"
    return TargetPart.of(task.kind).declare(columns, statement, tuple(names))


def _asks_for_numbers(columns: Columns, statement: ast.Target, names: Sequence[str]) -> bool:
    """Whether the objective has measures of numbers alone, and the targets are columns of numbers.

    Then `minimize mse` of whole numbers needs no `target y: number`.
    """
    from odtdsl.problem.terms.registry import BY_NAME

    objective = columns.statements.objective
    if objective is None or statement.positive is not None:
        return False
    if any(columns.table.columns[name].numbers is None for name in names):
        return False
    kinds = {BY_NAME[word].target for word in words_of(objective) if word in BY_NAME} - {None}
    return kinds == {"number"}
