"""The analysis of a whole spec: data, columns, groups, skeleton, objective, rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from odtdsl.analysis.cells import Cells, flatten
from odtdsl.analysis.columns import Columns
from odtdsl.analysis.desk import Desk, Stop
from odtdsl.analysis.measures import SCOPES, Resolver, World
from odtdsl.analysis.skeleton import options, skeleton
from odtdsl.analysis.sources import data_request
from odtdsl.analysis.statements import Statements, sort_statements
from odtdsl.data.dataset import Column, ColumnType, Dataset, Weights
from odtdsl.data.readers import read, read_test
from odtdsl.data.request import DataRequest, TestShare
from odtdsl.data.split import split_rows
from odtdsl.data.table import BoolArray, IntArray, Table
from odtdsl.data.typing import encode
from odtdsl.data.weights import encode_weights
from odtdsl.diagnostics.model import Diagnostic, OdtError
from odtdsl.ir.expr import GroupArg, Scope
from odtdsl.ir.problem import (
    DiagramSkeleton,
    FeatureDecl,
    GroupDecl,
    Problem,
    RuleDecl,
    StageDecl,
    TargetDecl,
)  # fmt: skip
from odtdsl.ir.rows import Rows
from odtdsl.source import Source
from odtdsl.syntax import ast
from odtdsl.syntax.expressions import expr_to_text, measure_text
from odtdsl.terms.evaluate import applications
from odtdsl.terms.registry import BY_NAME

_SHOWN_ROWS = 5


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
    """

    problem: Problem
    rows: Rows
    test: Dataset | None
    warnings: tuple[Diagnostic, ...]


def analyse(
    spec: ast.Spec, *, source: Source | None = None, base: Path | None = None,
    frame: Any = None, test_frame: Any = None, data: str | None = None, test: str | None = None,
    settings: Mapping[str, ast.Expr] | None = None,
) -> Analysis:  # fmt: skip
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
        Files that replace the spec's paths (relative to the current folder).
    settings
        Values that replace those of `let` names.

    Raises
    ------
    OdtError
        With all mistakes that were found.
    """
    desk = Desk(source)
    statements = sort_statements(spec, desk, settings or {})
    desk.check()
    assert statements.data is not None
    request = data_request(statements.data, desk, data=data, test=test)
    desk.check()
    try:
        table = read(request, base=base or Path(), frame=frame)
        test_table = read_test(request, base=base or Path(), test_frame=test_frame)
    except OdtError as error:
        desk.adopt(error, statements.data.source)
        desk.check()
        raise
    return _Analyser(statements, request, table, test_table, desk).run()


class _Analyser:
    """One analysis; its methods run in the order in which they stand."""

    def __init__(
        self, statements: Statements, request: DataRequest, table: Table,
        test_table: Table | None, desk: Desk,
    ) -> None:  # fmt: skip
        self.statements, self.request, self.desk = statements, request, desk
        self.columns = Columns(table, statements, desk)
        self.table, self.test_table = table, test_table

    def run(self) -> Analysis:
        try:
            target = self.columns.target()
        except Stop:
            target = None
        if target is None:
            self.desk.check()
            raise AssertionError("a stop files an error")
        types = self.columns.types(target)
        types = self._target_types(types, target)
        features = self.columns.features(types, target)
        self.desk.check()
        train_rows, test_rows = self._split(target)
        train, test = self._rows(train_rows, test_rows, types, features, target)
        self.desk.check()
        rows_by_name = self._row_names(train)
        constants = {name: let.value for name, let in self.statements.lets.items()}
        cells = Cells(types, rows_by_name, constants, self.desk)
        groups = self._groups(cells)
        names = [feature.name for feature in features]
        costs, losses = self.columns.costs(names), self.columns.losses(target)
        shape = self._skeleton()
        world = World(
            features=features, target=target, columns=self.columns, cells=cells, groups=groups,
            lets=self.statements.lets, diagram=isinstance(shape, DiagramSkeleton),
        )  # fmt: skip
        objective = self._objective(world)
        rules = self._rules(world)
        chosen = options(self.statements.solves, self.desk)
        self.desk.check()
        assert shape is not None
        weight = self.statements.weight
        problem = Problem(
            data=self.request, features=features, target=target, skeleton=shape,
            objective=objective, rules=rules, groups=tuple(world.groups), costs=costs,
            losses=losses, weight=None if weight is None else weight.column.name,
            options=chosen, source=self.desk.source,
        )  # fmt: skip
        rows = Rows(problem, train)
        self._check_groups(rows)
        self.desk.check()
        return Analysis(problem=problem, rows=rows, test=test, warnings=self.desk.warnings)

    # ---- rows

    def _target_types(
        self, types: dict[str, ColumnType], target: TargetDecl
    ) -> dict[str, ColumnType]:
        found = dict(types)
        for name in target.names:
            if target.kind == "class":
                kind = "ordered" if target.ordered else "category"
                found[name] = ColumnType(name=name, kind=kind, levels=target.classes)  # type: ignore[arg-type]
            else:
                found[name] = ColumnType(name=name, kind="number", step=target.step)
        return found

    def _split(self, target: TargetDecl) -> tuple[IntArray, IntArray]:
        everything = np.arange(self.table.n_rows, dtype=np.int64)
        share = self.request.test
        if not isinstance(share, TestShare):
            return everything, everything[:0]
        labels = None
        if share.stratified:
            if target.kind != "class":
                self.desk.error(
                    "D206", "a stratified share needs a class target", self.statements.data
                )
                return everything, everything[:0]
            texts = self.table.columns[target.names[0]].texts
            _, labels = np.unique(np.asarray([str(t) for t in texts]), return_inverse=True)
        try:
            return split_rows(self.table.n_rows, share.fraction, labels, share.seed)
        except OdtError as error:
            self.desk.adopt(error, self.statements.data)
            return everything, everything[:0]

    def _rows(
        self, train_rows: IntArray, test_rows: IntArray, types: dict[str, ColumnType],
        features: tuple[FeatureDecl, ...], target: TargetDecl,
    ) -> tuple[Dataset, Dataset | None]:  # fmt: skip
        keep = self._complete(self.table, features, target, train_rows)
        train = self._dataset(self.table, keep, types, target)
        if self.test_table is not None:
            lacking = [
                n for n in (*(f.name for f in features), *target.names)
                if n not in self.test_table.columns
            ]  # fmt: skip
            for name in lacking:
                self.desk.error(
                    "D207", f"the test data lack the column `{name}`", self.statements.data
                )
            if lacking:
                return train, None
            everything = np.arange(self.test_table.n_rows, dtype=np.int64)
            keep = self._complete(self.test_table, features, target, everything, test=True)
            return train, self._dataset(self.test_table, keep, types, target)
        if len(test_rows):
            keep = self._complete(self.table, features, target, test_rows, test=True)
            return train, self._dataset(self.table, keep, types, target)
        return train, None

    def _complete(
        self, table: Table, features: tuple[FeatureDecl, ...], target: TargetDecl,
        rows: IntArray, *, test: bool = False,
    ) -> IntArray:  # fmt: skip
        """The rows without those that `missing drop` takes out; files refused missing cells."""
        policies: dict[str, str] = {feature.name: feature.missing for feature in features}
        default = self.columns.default_missing
        others = [*target.names, *self._group_columns()]
        if self.statements.weight is not None:
            others.append(self.statements.weight.column.name)
        for name in others:
            policies.setdefault(name, "drop" if default == "drop" else "refuse")
        gone = np.zeros(len(rows), dtype=bool)
        for name, policy in policies.items():
            if policy == "drop" and name in table.columns:
                gone |= table.columns[name].missing[rows]
        kept = rows[~gone]
        for name, policy in policies.items():
            if policy == "refuse" and name in table.columns:
                missing = table.columns[name].missing[kept]
                if missing.any() and (not test or name in target.names):
                    self._refuse_missing(name, missing, kept, test=test)
        if not len(kept) and not test:
            self.desk.error("D208", "no training row is left", self.statements.data)
        return kept

    def _group_columns(self) -> list[str]:
        """Columns that groups compare, as far as they can be told from their names."""
        found: list[str] = []
        for group in self.statements.groups:
            found += [n for n in _names(group.condition) if n in self.table.columns]
        return found

    def _refuse_missing(self, name: str, missing: BoolArray, rows: IntArray, *, test: bool) -> None:
        where = ", ".join(str(row) for row in rows[missing][:_SHOWN_ROWS])
        more = ", ..." if missing.sum() > _SHOWN_ROWS else ""
        of = "test" if test else "training"
        self.desk.error(
            "D201", f"column `{name}` is missing in {int(missing.sum())} of {len(rows)} {of} rows",
            self._place_of(name), notes=(f"rows {where}{more}, counted from 0",),
            helps=(
                "write `missing drop`, `missing left`, `missing right` or `missing branch`",
                f"or for this column only: `missing {{{_column(name)}}} branch`",
            ),
        )  # fmt: skip

    def _place_of(self, name: str) -> ast.Node | None:
        target = self.statements.target
        for column in target.columns if target is not None else ():
            if column.name == name:
                return column
        for statement in self.statements.features:
            if not isinstance(statement.columns, ast.Star):
                for column in statement.columns:
                    if column.name == name:
                        return column
        return self.statements.data

    def _dataset(
        self, table: Table, rows: IntArray, types: dict[str, ColumnType], target: TargetDecl
    ) -> Dataset:
        taken = table.take(rows)
        columns: dict[str, Column] = {}
        for name, type_ in types.items():
            if name not in taken.columns:
                continue
            try:
                closed = name in target.names
                columns[name] = encode(taken.columns[name], type_, closed=closed)
            except OdtError as error:
                self.desk.adopt(error, self._place_of(name))
        if len(columns) < sum(name in taken.columns for name in types):
            self.desk.check()
        labels = columns[target.names[0]].codes if target.kind == "class" else None
        targets = None
        if target.kind == "number":
            numbers = [columns[name].numbers for name in target.names]
            targets = np.column_stack([n for n in numbers if n is not None])
        return Dataset(
            table=taken, columns=columns, labels=labels, targets=targets,
            weights=self._weights(taken), row_numbers=rows,
        )  # fmt: skip

    def _weights(self, table: Table) -> Weights:
        statement = self.statements.weight
        ones = Weights(numerators=np.ones(table.n_rows, dtype=np.int64), denominator=1)
        if statement is None or statement.column.name not in table.columns:
            if statement is not None:
                self.desk.unknown(
                    "N103", "column", statement.column.name, list(table.columns), statement.column
                )
            return ones
        raw = table.columns[statement.column.name]
        if raw.missing.any() or not table.n_rows:
            return ones  # filed as missing already
        try:
            weights, rounded = encode_weights(raw)
        except OdtError as error:
            self.desk.adopt(error, statement)
            return ones
        if rounded:
            self.desk.warn(
                "D209", "row weights have too many digits; they are rounded to 2^-40 of the largest",
                statement,
            )  # fmt: skip
        return weights

    def _row_names(self, train: Dataset) -> dict[str, int]:
        """How a rule can call each training row."""
        if self.request.id_column is None:
            return {str(number): index for index, number in enumerate(train.row_numbers)}
        if self.request.id_column not in self.table.columns:
            data = self.statements.data
            option = next(o for o in data.options if isinstance(o, ast.IdColumn)) if data else None
            assert option is not None
            self.desk.unknown(
                "N103", "column", self.request.id_column, list(self.table.columns), option.column
            )
            return {}
        found: dict[str, int] = {}
        for index, text in enumerate(train.table.columns[self.request.id_column].texts):
            if text in found or text is None:
                self.desk.error(
                    "D210", f"two rows are called `{text}` by the id column" if text is not None
                    else "a row has no id", self.statements.data,
                )  # fmt: skip
                return found
            found[text] = index
        return found

    # ---- groups, skeleton, objective, rules

    def _groups(self, cells: Cells) -> list[GroupDecl]:
        found: list[GroupDecl] = []
        for statement in self.statements.groups:
            try:
                condition = cells.condition(statement.condition)
            except Stop:
                continue
            found.append(GroupDecl(name=statement.name, condition=condition))
            for name in flatten(condition):
                cells.types[name]
        return found

    def _check_groups(self, rows: Rows) -> None:
        for statement in self.statements.groups:
            mask = rows.mask(GroupArg(name=statement.name))
            if not mask.any():
                self.desk.error(
                    "D202", f"group `{statement.name}` holds no training row", statement,
                    helps=("check the values that it compares with",),
                )  # fmt: skip
            elif mask.all():
                self.desk.warn(
                    "D203", f"group `{statement.name}` holds every training row", statement
                )

    def _skeleton(self):  # type: ignore[no-untyped-def]
        assert self.statements.skeleton is not None
        try:
            return skeleton(self.statements.skeleton, self.statements.objective, self.desk)
        except Stop:
            return None

    def _objective(self, world: World) -> tuple[StageDecl, ...]:
        assert self.statements.objective is not None
        resolver = Resolver(world, Scope.MODEL, self.desk)
        stages = self.statements.objective.stages
        found: list[StageDecl] = []
        sense = stages[0].sense or "minimize"
        for stage in stages:
            try:
                measure = resolver.number(stage.measure)
            except Stop:
                continue
            calls = applications(measure)
            if not calls:
                self.desk.error("O101", "the objective is a constant", stage)
                continue
            chosen = stage.sense or sense
            self._check_direction(stage, chosen, stages[0], {c.term for c in calls})
            text = f"{chosen} {measure_text(stage.measure)}"
            found.append(StageDecl(sense=chosen, measure=measure, text=text, span=stage.span))
        return tuple(found)

    def _check_direction(
        self, stage: ast.Stage, sense: str, first: ast.Stage, terms: set[str]
    ) -> None:
        wishes = {BY_NAME[term].fewer_is_better for term in terms} - {None}
        if len(wishes) == 1 and (sense == "minimize") != wishes.pop():
            if stage.sense is None:
                self.desk.warn(
                    "O102", f"this stage takes the first one's direction: it will {sense} here",
                    stage, helps=("say `then minimize ...` or `then maximize ...`",),
                )  # fmt: skip
            else:
                self.desk.warn("O103", f"to {sense} this is probably not meant", stage)

    def _rules(self, world: World) -> tuple[RuleDecl, ...]:
        found: list[RuleDecl] = []
        for rule in self.statements.rules:
            scope = Scope.MODEL if rule.scope is None else SCOPES[rule.scope]
            try:
                condition = Resolver(world, scope, self.desk).condition(rule.condition)
            except Stop:
                continue
            if not applications(condition):
                self.desk.error("R101", f"rule `{rule.name}` says nothing about the model", rule)
                continue
            features = {
                getattr(call.args[0], "name", "")
                for call in applications(condition) if call.term == "threshold"
            }  # fmt: skip
            if len(features) > 1:
                self.desk.error(
                    "R102", f"rule `{rule.name}` speaks of the thresholds of several features", rule,
                    helps=("write one rule per feature",),
                )  # fmt: skip
                continue
            head = "" if rule.scope is None else f"forall {rule.scope}: "
            text = head + expr_to_text(rule.condition, rule_head=True)
            found.append(
                RuleDecl(
                    name=rule.name, scope=scope, condition=condition, text=text, span=rule.span
                )
            )
        return tuple(found)


def _names(expr: ast.Expr) -> list[str]:
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


def _column(name: str) -> str:
    from odtdsl.syntax.expressions import name_text

    return name_text(name)


__all__ = ["Analysis", "analyse", "replace"]
