"""A target of classes: one column, with the labels it may have."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import ClassVar

import numpy as np

from odtdsl.compiler.columns import Columns
from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.statements import Statements
from odtdsl.compiler.targets import TargetPart, Truth
from odtdsl.datasets.dataset import Column, ColumnType, Value
from odtdsl.datasets.levels import level_text, text_index
from odtdsl.datasets.request import TestShare
from odtdsl.datasets.table import IntArray, RawColumn
from odtdsl.datasets.typing import levels_of
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows

MAX_CLASSES = 1000
MANY_CLASSES = 20
"""Whole numbers beyond so many are rarely classes."""
SHOWN = 6
"""Classes that one warning tells of; it counts the others."""


class ClassTarget(TargetPart):
    """A column of labels, in an order or none, of which one may be positive."""

    called: ClassVar = "a class target"
    terms: ClassVar = frozenset({"class", "label", "loss"})
    on_diagrams: ClassVar = True

    def declare(
        self, columns: Columns, statement: ast.Target, names: tuple[str, ...]
    ) -> TargetDecl:
        """One column, whose values are the classes, or those that the spec lists."""
        if len(names) > 1:
            raise columns.reporter.error(
                "T103",
                f"{len(names)} targets are classes; only number targets can be several",
                statement,
                helps=(
                    f"write {coded('target ' + ', '.join(map(name_text, names)) + ': number')},"
                    " or one column",
                ),
            )
        (name,) = names
        type_ = statement.type
        declared = None if type_ is None else type_.values
        raw = columns.table.columns[name]
        present = levels_of(raw)
        if declared is None:
            classes = present
            _check_number(raw, len(present), statement, columns.reporter)
        else:
            classes = columns.declared(declared, raw)
            _check_declared(classes, present, statement, columns.reporter)
        if len(present) == 1:
            columns.reporter.warn(
                "T121",
                f"every row has the class `{present[0]}`: there is nothing to learn",
                statement,
            )
        if not classes:
            message = f"all values of target `{name}` are missing"
            raise columns.reporter.error("D205", message, statement)
        positive: int | None = None
        if statement.positive is not None:
            positive = 0  # where it is unknown, any class will do to look for other mistakes
            with suppress(StatementError):
                positive = columns.label(statement.positive, classes)
        return TargetDecl(
            names=(name,),
            kind="class",
            classes=classes,
            ordered=type_ is not None and type_.kind == "ordered",
            positive=positive,
        )

    def column(self, target: TargetDecl, name: str, raw: RawColumn) -> ColumnType:
        """A category, or an ordered column."""
        return ColumnType(
            name=name,
            kind="ordered" if target.ordered else "category",
            levels=target.classes,
            by_value=raw.by_value,
        )

    def truth(self, target: TargetDecl, columns: Mapping[str, Column]) -> Truth:
        """The class of each row."""
        return columns[target.names[0]].codes, None

    def strata(self, target: TargetDecl, raw: Mapping[str, RawColumn]) -> IntArray | None:
        """The classes, as the cells write them."""
        texts = [str(text) for text in raw[target.names[0]].texts]
        found: IntArray = np.unique(texts, return_inverse=True)[1]
        return found

    def losses(self, target: TargetDecl, columns: Columns) -> tuple[tuple[Fraction, ...], ...]:
        """1 for every error, or what the `loss` statements say."""
        n = len(target.classes)
        right, wrong = Fraction(0), Fraction(1)
        matrix = [[right if i == j else wrong for j in range(n)] for i in range(n)]
        said: set[tuple[int, int]] = set()
        for statement in columns.statements.losses:
            try:
                predicted = columns.label(statement.predicted, target.classes)
                actual = columns.label(statement.actual, target.classes)
                if predicted == actual:
                    raise columns.reporter.error(
                        "T114", "a correct prediction must cost 0", statement
                    )
                if statement.amount.value < 0:
                    raise columns.reporter.error(
                        "T112", "a loss must be at least 0", statement.amount
                    )
                if (actual, predicted) in said:
                    raise columns.reporter.error("N114", "this loss is given twice", statement)
            except StatementError:
                continue
            said.add((actual, predicted))
            matrix[actual][predicted] = statement.amount.value
        return tuple(tuple(row) for row in matrix)

    def other_terms(self, word: str, target: TargetDecl) -> tuple[str, ...]:
        """Measures of classes; a target of numbers where its labels are numbers."""
        measures = "for a class target use `errors`, in rules also `accuracy` or `recall`"
        if any(isinstance(label, str) for label in target.classes):
            return (measures,)
        number = coded(f"target {name_text(target.names[0])}: number")
        return measures, f"if the labels are numbers to predict, write {number}"

    def compared(
        self, name: ast.Name, target: TargetDecl, scope: Scope, reporter: Reporter
    ) -> StatementError | None:
        """A label is no number."""
        return reporter.error(
            "T215",
            f"`{name.name}` is the target, and a class cannot be compared with a number",
            name,
            helps=(
                "for rules on the label of a leaf use `majority` or `purity`"
                if scope is Scope.LEAF
                else 'for the share of rows predicted as a class use `rate("yes")`',
            ),
        )

    def unordered(self, target: TargetDecl) -> tuple[str, str] | None:
        """Classes have an order where it is declared, or where one of two is positive."""
        if target.ordered or (len(target.classes) == 2 and target.positive is not None):
            return None
        name = name_text(target.names[0])
        positive = coded(f'target {name} positive "yes"')
        return (
            f"the classes of `{target.names[0]}` have no order",
            f"with two classes, say which is higher: {positive}"
            if len(target.classes) == 2
            else f"declare one: {coded(f'target {name}: ordered {{...}}')}",
        )

    def warn(self, rows: Rows, statements: Statements, reporter: Reporter) -> None:
        """Numbers as classes, classes that look alike, and those without a training row."""
        _number_as_classes(rows, statements, reporter)
        self.lookalikes(rows, statements, reporter)
        _never_seen(rows, statements, reporter)

    def lookalikes(self, rows: Rows, statements: Statements, reporter: Reporter) -> None:
        """Classes that are the same but for capitals, where the spec does not list them."""
        target = rows.problem.target
        said = None if statements.target is None else statements.target.type
        if said is not None and said.values is not None:
            return
        found: dict[str, list[str]] = {}
        for one in target.classes:
            if isinstance(one, str):
                found.setdefault(one.casefold(), []).append(one)
        for same in found.values():
            if len(same) > 1:
                reporter.warn(
                    "D222",
                    f"the classes {', '.join(map(_value, same))} differ only in capitals",
                    statements.target or statements.data,
                    helps=(
                        "if they are one class, write them the same way in the data",
                        "if they are different classes, list them: "
                        + coded(f"target {name_text(target.names[0])}: class {{...}}"),
                    ),
                )


def _check_number(raw: RawColumn, distinct: int, statement: ast.Target, reporter: Reporter) -> None:
    """Refuse a column as classes that has the values of a number."""
    if distinct > MAX_CLASSES or (distinct > MANY_CLASSES and _has_fractions(raw)):
        name = name_text(raw.name)
        raise reporter.error(
            "T106",
            f"target `{raw.name}` has {distinct} distinct values",
            statement,
            helps=(
                f"if it is a number, write {coded(f'target {name}: number')}",
                f"if it is a class, list the classes: {coded(f'target {name}: class {{...}}')}",
            ),
        )


def _has_fractions(raw: RawColumn) -> bool:
    numbers = raw.numbers
    return numbers is not None and bool((numbers[numbers == numbers] % 1 != 0).any())


def _check_declared(
    classes: tuple[Value, ...],
    present: tuple[Value, ...],
    statement: ast.Target,
    reporter: Reporter,
) -> None:
    """Refuse classes of the data that are not declared; warn of declared ones without a row."""
    for value in present:
        if text_index(classes, level_text(value)) is None:
            (name,) = statement.columns
            raise reporter.error(
                "T107",
                f"column `{name.name}` contains the class `{value}`, which is not declared",
                statement.type,
                notes=(f"declared: {', '.join(str(c) for c in classes)}",),
                helps=("add it to the classes, or declare it a missing value with `na`",),
            )
    for value in classes:
        if text_index(present, level_text(value)) is None:
            reporter.warn("T108", f"no row has the class `{value}`", statement.type)


def _number_as_classes(rows: Rows, statements: Statements, reporter: Reporter) -> None:
    target = rows.problem.target
    declared = statements.target is not None and statements.target.type is not None
    if declared or len(target.classes) <= MANY_CLASSES:
        return
    if all(not isinstance(one, str) for one in target.classes):
        (name,) = target.names
        reporter.warn(
            "T122",
            f"target `{name}` is read as {len(target.classes)} classes, all of them numbers",
            statements.target,
            helps=(
                (
                    f"to predict a number, write {coded(f'target {name_text(name)}: number')} "
                    "and `minimize mse`"
                ),
                f"if they are classes, write {coded(f'target {name_text(name)}: class')}",
            ),
        )


def _never_seen(rows: Rows, statements: Statements, reporter: Reporter) -> None:
    """Classes that a share of the rows took from training; declared ones are told by T108."""
    target = rows.problem.target
    said = None if statements.target is None else statements.target.type
    if said is not None and said.values is not None:
        return
    assert rows.data.labels is not None, "class targets have labels"
    there = np.bincount(rows.data.labels, minlength=len(target.classes))
    gone = [_value(target.classes[at]) for at in np.flatnonzero(there == 0).tolist()]
    if not gone:
        return
    more = f" or {len(gone) - SHOWN} others" if len(gone) > SHOWN else ""
    test = rows.problem.data.test
    notes, helps = [], []
    if isinstance(test, TestShare):
        notes.append("all its rows are test rows")
        if not test.stratified and test.by is None:
            helps.append("add `stratified` after the share to keep rows of each class for training")
    reporter.warn(
        "D216",
        f"no training row has the class {', '.join(gone[:SHOWN])}{more}",
        statements.data,
        notes=notes,
        helps=helps,
    )


def _value(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


PART = ClassTarget()
