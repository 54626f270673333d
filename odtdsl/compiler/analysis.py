"""The analysis of a whole spec: data, columns, groups, skeleton, objective, rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.limits import allow
from odtdsl.base.source import Source
from odtdsl.compiler.cell_conditions import Cells
from odtdsl.compiler.column_warnings import warn_of_columns
from odtdsl.compiler.columns import Columns
from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.expansion import check_categories, check_growth
from odtdsl.compiler.group_warnings import warn_of_groups
from odtdsl.compiler.namespace import WORDS, Namespace, words_for
from odtdsl.compiler.rows import ColumnRoles, RowChoice, with_target
from odtdsl.compiler.rule_warnings import warn_of_rules
from odtdsl.compiler.rules import rules, stages
from odtdsl.compiler.share_bounds import warn_of_losses
from odtdsl.compiler.skeleton import options, skeleton
from odtdsl.compiler.sources import data_request
from odtdsl.compiler.statements import Statements, sort_statements
from odtdsl.compiler.targets import TargetPart, declared_target
from odtdsl.datasets import readers
from odtdsl.datasets.dataset import ColumnType, Dataset
from odtdsl.datasets.digest import digest
from odtdsl.datasets.request import DataRequest, TestFile
from odtdsl.datasets.split import Division
from odtdsl.datasets.table import Table
from odtdsl.language import ast
from odtdsl.problem.ir.expr import GroupArg
from odtdsl.problem.ir.planes import MAX_PLANE_CELL
from odtdsl.problem.ir.problem import (
    DiagramSkeleton,
    FeatureDecl,
    GroupDecl,
    Options,
    Problem,
    TargetDecl,
    TreeSkeleton,
)
from odtdsl.problem.ir.rows import Rows, present

_HERE = Path()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Analysis:
    """A spec understood.

    Attributes
    ----------
    rows
        The problem with its training rows.
    test
        The test rows, None without any.
    warnings
        What is allowed but probably not meant.
    table
        All rows as read, those that are not for training too.
    """

    problem: Problem
    rows: Rows
    test: Dataset | None
    warnings: tuple[Diagnostic, ...]
    table: Table


class Files(Protocol):
    """What reads rows: the module `odtdsl.datasets.readers`, or something like it."""

    def read(self, request: DataRequest, *, base: Path, frame: Any = None) -> Table:
        """The training rows (and the test rows, if they are a share of the same file)."""

    def read_test(
        self, request: DataRequest, *, base: Path, test_frame: Any = None
    ) -> Table | None:
        """The rows of a test file or test frame, `None` without one."""


def analyse(
    spec: ast.Spec,
    *,
    source: Source | None = None,
    base: Path | None = None,
    frame: Any = None,
    test_frame: Any = None,
    data: str | None = None,
    test: str | None = None,
    settings: Mapping[str, ast.Expr] | None = None,
    division: Division | None = None,
    files: Files = readers,
) -> Analysis:
    """Resolve a spec against its data.

    Parameters
    ----------
    spec
        The syntax tree.
    source
        Its text, for excerpts in messages.
    base
        The folder that paths in the spec are relative to; default the current one.
    frame, test_frame
        The rows where the spec says `data frame`, and test rows for them.
    data, test
        Files that replace the spec's paths (relative to the current folder). Where the spec keeps
        a share for testing, that share trains no more than without `test`.
    settings
        Values that replace those of `let` names.
    division
        Rows that were read before, and which of them are for training and for testing. Nothing
        is read then.
    files
        What reads the rows; an editor keeps them between its calls.

    Raises
    ------
    OdtError
        With all mistakes that were found.
    """
    reporter = Reporter(source)
    statements = sort_statements(spec, reporter, settings or {})
    before = len(reporter.errors)
    check_growth(statements, reporter)
    if statements.data is None or len(reporter.errors) > before:
        reporter.check()  # what grows without end is read no further
    assert statements.data is not None, "a spec without data has been reported"
    before = len(reporter.errors)  # of the spec as a whole: what each statement says comes with it
    request = replace(
        data_request(statements.data, reporter, data=data, test=test),
        dropped=tuple(name.name for drop in statements.drops for name in drop.columns),
    )
    if len(reporter.errors) > before:
        reporter.check()
    early = Reporter(source)  # mistakes are reported later
    chosen = options(statements.solves, early)
    allow(chosen.seconds)
    if division is not None:
        analyser = _Analyser(statements, request, division.table, None, reporter, division)
        return analyser.run(chosen, early)
    place: ast.Node | None = None if data is not None else statements.data.source
    base = base or _HERE
    try:
        table = files.read(request, base=base, frame=frame)
        place = None if test else _test_file(statements.data) or place
        tested = request
        if test is not None:
            tested = replace(request, test=TestFile(path=str(Path(test).absolute())))
        test_table = files.read_test(tested, base=base, test_frame=test_frame)
    except OdtError as error:
        reporter.adopt(error, place)
        reporter.check()
        raise
    if test_table is not None and _alike(table, test_table):
        reporter.warn(
            "D234",
            "the test rows are the training rows: what is measured on them is no test",
            statements.data if place is None else place,
            helps=("name a file of other rows, or write `test 25% seed 0` in the data statement",),
        )
    return _Analyser(statements, request, table, test_table, reporter).run(chosen, early)


def _alike(one: Table, other: Table) -> bool:
    return one.n_rows == other.n_rows and digest(one) == digest(other)


def _test_file(statement: ast.Data) -> ast.Node | None:
    return next((one for one in statement.options if isinstance(one, ast.TestFile)), None)


class _Analyser:
    """One analysis; its methods run in the order in which they stand."""

    def __init__(
        self,
        statements: Statements,
        request: DataRequest,
        table: Table,
        test_table: Table | None,
        reporter: Reporter,
        division: Division | None = None,
    ) -> None:
        self.statements, self.request, self.reporter = statements, request, reporter
        self.division = division
        self.table, self.test_table = table, test_table
        self.columns = Columns(table, statements, reporter)

    def run(self, chosen: Options, said: Reporter) -> Analysis:
        """The analysis; `said` has the mistakes in the options that were chosen before."""
        statements = self.statements
        compared = self._compared_columns()
        types = self.columns.types(compared, self.request)
        features = self.columns.features(types)
        check_categories(features, self.table.n_rows, statements, self.reporter)
        costs = self.columns.costs([feature.name for feature in features])
        shape = self._skeleton()
        self.reporter.found += said.found
        target = self._target()
        if statements.lets:
            self._check_lets(WORDS if target is None else words_for(target))
        if target is None:
            self.reporter.check()
        assert target is not None, "a target that is given up has been reported"
        types = with_target(types, target, self.table)
        losses = TargetPart.of(target.kind).losses(target, self.columns)
        rows = RowChoice(
            self.request,
            self.table,
            self.test_table,
            ColumnRoles(
                columns=self.columns,
                target=target,
                features=features,
                compared=compared,
            ),
            statements,
            self.reporter,
            self.division,
        )
        sound = not self.reporter.errors  # so far: cells are read by what the spec says of them
        train = rows.dataset(self.table, rows.train, types) if sound else None
        test = rows.dataset(*rows.test, types) if sound and rows.test is not None else None
        namespace = self._world(types, features, target, rows)
        objective = (
            stages(statements.objective, namespace, self.reporter) if statements.objective else ()
        )
        resolved = rules(statements.rules, namespace, self.reporter)
        self.reporter.check()
        assert shape is not None, "a skeleton that is given up has been reported"
        problem = Problem(
            data=self.request,
            features=features,
            target=target,
            skeleton=shape,
            objective=objective,
            rules=resolved,
            groups=tuple(namespace.groups),
            costs=costs,
            losses=losses,
            options=chosen,
            source=self.reporter.source,
            weight=None if statements.weight is None else statements.weight.column.name,
        )
        assert train is not None, "cells that do not fit have been reported"
        return self._finished(Rows(problem, train), test)

    def _target(self) -> TargetDecl | None:
        if self.statements.target is None:
            return None
        try:
            return declared_target(self.columns)
        except StatementError:
            return None

    def _skeleton(self) -> TreeSkeleton | DiagramSkeleton | None:
        if self.statements.skeleton is None:
            return None
        try:
            return skeleton(self.statements.skeleton, self.statements.objective, self.reporter)
        except StatementError:
            return None

    def _check_lets(self, words: frozenset[str]) -> None:
        """A `let` name never hides another meaning of its word."""
        for name, let in self.statements.lets.items():
            other = "a term" if name in words else "a column"
            if name in words or name in self.table.columns:
                self.reporter.error(
                    "N122",
                    f"`let {name}` has the same name as {other}",
                    let,
                    helps=("choose another name",),
                )

    def _compared_columns(self) -> list[str]:
        """The columns whose cells groups compare, also those that `gap` and `ratio` part by."""
        found = [name for group in self.statements.groups for name in _names(group.condition)]
        exprs = [rule.condition for rule in self.statements.rules]
        if self.statements.objective is not None:
            exprs += [stage.measure for stage in self.statements.objective.stages]
        exprs += [let.value for let in self.statements.lets.values()]
        declared = {group.name for group in self.statements.groups}
        for expr in exprs:
            found += [name for name in _parted_by(expr) if name not in declared]
        return [name for name in dict.fromkeys(found) if name in self.table.columns]

    def _world(
        self,
        types: dict[str, ColumnType],
        features: tuple[FeatureDecl, ...],
        target: TargetDecl,
        rows: RowChoice,
    ) -> Namespace:
        statements = self.statements
        constants = {name: let.value for name, let in statements.lets.items()}
        cells = Cells(types, rows.names, constants, self.reporter, id_column=self.request.id_column)
        groups: list[GroupDecl] = []
        for statement in statements.groups:
            try:
                condition = cells.condition(statement.condition)
            except StatementError:
                continue
            groups.append(GroupDecl(name=statement.name, condition=condition))
        planes = getattr(statements.skeleton, "splits", None) == "hyperplane"
        return Namespace(
            features=features,
            target=target,
            columns=self.columns,
            cells=cells,
            training=self.table.take(rows.train),
            groups=groups,
            lets=statements.lets,
            group_names=tuple(group.name for group in statements.groups),
            # trees of hyperplanes are diagrams too
            diagram=isinstance(statements.skeleton, ast.Diagram) or planes,
            hyperplanes=planes,
            plane_tree=planes and not isinstance(statements.skeleton, ast.Diagram),
        )

    def _finished(self, rows: Rows, test: Dataset | None) -> Analysis:
        problem = rows.problem
        self._check_groups(rows)
        self._check_hyperplanes(rows)
        self._check_diagram(rows)
        self.reporter.check()
        warn_of_columns(rows, self.statements, self.reporter)
        warn_of_groups(rows, self.statements, self.reporter)
        warn_of_rules(rows, self.reporter)
        warn_of_losses(problem, self.statements.losses, self.reporter)
        TargetPart.of(rows.problem.target.kind).check_outputs(rows, self.reporter)
        self.reporter.check()
        return Analysis(
            problem=problem, rows=rows, test=test, warnings=self.reporter.warnings, table=self.table
        )

    def _check_groups(self, rows: Rows) -> None:
        for statement in self.statements.groups:
            mask = rows.mask(GroupArg(name=statement.name))
            if not mask.any():
                self.reporter.error(
                    "D202",
                    f"group `{statement.name}` has no training rows",
                    statement,
                    helps=("check the values in its condition",),
                )
            elif mask.all():
                self.reporter.warn(
                    "D203",
                    f"group `{statement.name}` contains every training row",
                    statement,
                    helps=("check the values in its condition, or remove the group",),
                )

    def _check_hyperplanes(self, rows: Rows) -> None:
        """A hyperplane weighs all numbers of a row, so none may be missing."""
        if rows.problem.skeleton.splits != "hyperplane":
            return
        for candidates in self.statements.candidates:
            self.reporter.error(
                "K119",
                "hyperplane splits take no candidates: they combine the numbers themselves",
                candidates,
                helps=("remove `candidates`, or write `splits axis`",),
            )
        for feature in rows.problem.features:
            column = rows.data.columns[feature.name]
            if not present(column).all():
                self.reporter.error(
                    "D211",
                    f"`{feature.name}` has missing values, which hyperplane splits do not allow",
                    self.statements.skeleton,
                    helps=("write `missing drop`, or `splits axis`",),
                )
            elif (
                column.numbers is not None
                and np.abs(column.numbers).max(initial=0) > MAX_PLANE_CELL
            ):
                self.reporter.error(
                    "R301",
                    (
                        f"hyperplane splits cannot use `{feature.name}`: its values exceed "
                        f"{MAX_PLANE_CELL:g}, too large for sums of products in floating point"
                    ),
                    self.statements.skeleton,
                    helps=("give it in another unit, or `drop` it",),
                )

    def _check_diagram(self, rows: Rows) -> None:
        """One terminal per class needs classes."""
        part = TargetPart.of(rows.problem.target.kind)
        if isinstance(rows.problem.skeleton, DiagramSkeleton) and not part.on_diagrams:
            what = "a diagram has one terminal per class"
            if rows.problem.skeleton.tree:
                what = "trees with hyperplane splits need a class target"
            self.reporter.error(
                "K118",
                f"{what}, and the target is {part.said}",
                self.statements.skeleton,
                helps=("write `tree depth <= 3`, or use a class target",),
            )


def _names(expr: ast.Expr) -> list[str]:
    """The names of a group's condition whose cells are compared."""
    match expr:
        case ast.Name():
            return [expr.name]
        case ast.And() | ast.Or():
            return [name for item in expr.items for name in _names(item)]
        case ast.Not():
            return _names(expr.operand)
        case ast.If():
            return _names(expr.condition) + _names(expr.consequence)
        case ast.Compare():
            return [name for item in expr.operands for name in _names(item)]
        case ast.Member():
            return _names(expr.item)
        case _:
            return []  # `is missing` among them: it asks for missing cells


def _parted_by(expr: ast.Expr) -> list[str]:
    """The names behind the measure of every `gap` and `ratio` in an expression."""
    match expr:
        case ast.Call(function="gap" | "ratio"):
            return [arg.name for arg in expr.args[1:] if isinstance(arg, ast.Name)]
        case ast.Call():
            return [name for arg in expr.args for name in _parted_by(arg)]
        case ast.And() | ast.Or():
            return [name for item in expr.items for name in _parted_by(item)]
        case ast.Not() | ast.Negate():
            return _parted_by(expr.operand)
        case ast.If():
            return _parted_by(expr.condition) + _parted_by(expr.consequence)
        case ast.Compare():
            return [name for item in expr.operands for name in _parted_by(item)]
        case ast.Binary() | ast.Infix():
            return _parted_by(expr.left) + _parted_by(expr.right)
        case ast.Member():
            return _parted_by(expr.item)
        case _:
            return []
