"""Columns: which are features, of which type, where they may be split, what is missing."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.compiler.literals import is_quoted, level_of, literal_constant, plain_value
from odtdsl.compiler.statements import Statements
from odtdsl.datasets.dataset import ColumnType, Kind, OfDate, Value
from odtdsl.datasets.levels import as_levels, level_text
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.table import RawColumn, Table
from odtdsl.datasets.typing import declare_type, infer_type, levels_of
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.intervals import nearest_float
from odtdsl.problem.ir.problem import (
    Candidates,
    Costs,
    FeatureDecl,
    MissingPolicy,
    SharedCost,
)

MOST_SHARES = 10_000
KINDS: dict[str, Kind] = {
    "number": "number",
    "integer": "number",
    "category": "category",
    "binary": "binary",
    "ordered": "ordered",
}
POLICIES: dict[str, MissingPolicy] = {
    "refuse": "refuse",
    "drop": "drop",
    "left": "left",
    "right": "right",
    "branch": "branch",
}
_CLOSED = ("refuse", "drop")
"""The policies without a side for missing cells."""


class Columns:
    """Resolves columns of a table under the statements of a spec."""

    def __init__(self, table: Table, statements: Statements, reporter: Reporter) -> None:
        self.table = table
        self.statements = statements
        self.reporter = reporter
        self.targets = tuple(c.name for c in statements.target.columns) if statements.target else ()
        self.dropped = {name.name for drop in statements.drops for name in drop.columns}

    def find(self, name: ast.Name, *, code: str = "N103") -> str:
        """The column of a name; files an unknown one."""
        if name.name not in self.table.columns:
            raise self.reporter.unknown(code, "column", name.name, list(self.table.columns), name)
        return name.name

    def known(self, names: Iterable[ast.Name]) -> list[str]:
        """Those of the names that are columns; files the others."""
        found: list[str] = []
        for name in names:
            try:
                found.append(self.find(name))
            except StatementError:
                continue
        return found

    def declared(self, literals: tuple[ast.Literal, ...], column: RawColumn) -> tuple[Value, ...]:
        """The levels that a spec lists: texts of the column where it has them.

        Where one of them stands in quotes, all are texts.
        """
        present = levels_of(column)
        texts: dict[str, None] = {}
        for literal in literals:
            constant = literal_constant(literal, self.reporter)
            at = level_of(present, constant, self.reporter, literal, by_value=column.by_value)
            text = constant.written if at is None else level_text(present[at])
            if text in texts:
                raise self.reporter.error("N105", f"`{text}` is listed twice", literal)
            texts[text] = None
        return tuple(texts) if is_quoted(literals) else as_levels(list(texts))

    def label(self, literal: ast.Literal, classes: tuple[Value, ...]) -> int:
        """The index of a class label."""
        constant = literal_constant(literal, self.reporter)
        by_value = any(self.table.columns[name].by_value for name in self.targets)
        index = level_of(classes, constant, self.reporter, literal, by_value=by_value)
        if index is None:
            shown = plain_value(constant)
            raise self.reporter.unknown("N106", "class", str(shown), classes, literal, values=True)
        return index

    # ---- features

    def types(
        self, compared: Collection[str] = (), request: DataRequest | None = None
    ) -> dict[str, ColumnType]:
        """The type of every column of the table, with the marks of its missing cells and its dates.

        Names of rows that groups compare are texts.
        """
        declared, star = self._declared_types()
        option = self._id_option()
        names = {option.column.name} & set(compared) if option is not None else set()
        out = self._not_features()
        found: dict[str, ColumnType] = {}
        for name, raw in self.table.columns.items():
            spec = declared.get(name, None if name in out else star)
            try:
                if name in names and spec is None:
                    found[name] = declare_type(raw, "category")
                    continue
                found[name] = infer_type(raw) if spec is None else self._declare(name, spec)
            except StatementError:
                found[name] = infer_type(raw)
        na = () if request is None else request.na
        made: dict[str, OfDate] = {}
        if request is not None and (request.days or request.parts):
            from odtdsl.datasets.dates import made_of_dates

            made = made_of_dates(request)
        return {
            name: replace(type_, na=na, date=made.get(name)) if na or name in made else type_
            for name, type_ in found.items()
        }

    def _declared_types(self) -> tuple[dict[str, ast.TypeSpec], ast.TypeSpec | None]:
        """What `feature` statements say of columns, and of all others (`feature *`)."""
        declared: dict[str, ast.TypeSpec] = {}
        star: ast.TypeSpec | None = None
        for statement in self.statements.features:
            if isinstance(statement.columns, ast.Star):
                if star is not None:
                    self.reporter.error("N107", "the type of `*` is declared twice", statement)
                star = statement.type
                continue
            for name in statement.columns:
                self._check_declared(name, declared)
            for column in self.known(statement.columns):
                declared[column] = statement.type
        return declared, star

    def _check_declared(self, name: ast.Name, declared: Collection[str]) -> None:
        if name.name in declared:
            self.reporter.error("N107", f"the type of `{name.name}` is declared twice", name)
        if name.name in self.targets:
            self.reporter.error(
                "N108",
                f"`{name.name}` is the target, not a feature",
                name,
                helps=("remove it from the features",),
            )
        elif name.name in self._not_features() - self.dropped:
            self.reporter.error(
                "N112",
                f"`{name.name}` contains the weights or names of rows, so it is not a feature",
                name,
                helps=("remove it from the features",),
            )

    def _declare(self, name: str, spec: ast.TypeSpec) -> ColumnType:
        column = self.table.columns[name]
        levels = None if spec.values is None else self.declared(spec.values, column)
        step = self.step(spec)
        kind = KINDS.get(spec.kind)
        if kind is None:
            raise self.reporter.unknown("S030", "type of features", spec.kind, list(KINDS), spec)
        try:
            return declare_type(column, kind, levels=levels, step=step)
        except OdtError as error:
            self.reporter.adopt(error, spec)
            raise StatementError from None

    def step(self, spec: ast.TypeSpec) -> Fraction | None:
        """The grid of a number; `integer` is one of step 1."""
        if spec.step is None:
            return Fraction(1) if spec.kind == "integer" else None
        if spec.step.value <= 0:
            raise self.reporter.error("T104", "a step must be above 0", spec.step)
        return spec.step.value

    def _not_features(self) -> set[str]:
        out = {*self.targets, *self.dropped}
        if self.statements.weight is not None:
            out.add(self.statements.weight.column.name)
        if (option := self._id_option()) is not None:
            out.add(option.column.name)
        if (by := self._by_column()) is not None:
            out.add(by.name)
        return out

    def features(self, types: dict[str, ColumnType]) -> tuple[FeatureDecl, ...]:
        """Features in the order of the data, with candidates and missing policies."""
        for drop in self.statements.drops:
            self.known(drop.columns)
            for column in drop.columns:
                if column.name in self.targets:
                    self.reporter.error(
                        "N109", f"`{column.name}` is the target and cannot be dropped", column
                    )
        self._check_weight_and_id()
        out = self._not_features()
        names = [name for name in types if name not in out]
        if not names:
            said = [*self.statements.drops, self.statements.data]
            self.reporter.error("K103", "no column is left as a feature", said[0])
        candidates = self._candidates(types, names)
        missing = self._missing(names)
        return tuple(
            FeatureDecl(
                type=replace(types[name], gaps=missing[name] not in _CLOSED),
                candidates=candidates[name],
                missing=missing[name],
            )
            for name in names
        )

    def _check_weight_and_id(self) -> None:
        weight, option = self.statements.weight, self._id_option()
        if weight is not None:
            self.known([weight.column])
            if weight.column.name in self.targets:
                self.reporter.error("N108", "the target cannot also be the weight", weight.column)
        if option is not None:
            self.known([option.column])
        if (by := self._by_column()) is not None and self.known([by]) and by.name in self.targets:
            self.reporter.error("N108", "rows cannot be kept together by the target", by)

    def _id_option(self) -> ast.IdColumn | None:
        options = () if self.statements.data is None else self.statements.data.options
        return next((option for option in options if isinstance(option, ast.IdColumn)), None)

    def _by_column(self) -> ast.Name | None:
        """The column whose values stay together in `test 25% by patient`."""
        options = () if self.statements.data is None else self.statements.data.options
        shares = (option for option in options if isinstance(option, ast.TestShare))
        return next((share.by for share in shares), None)

    def _candidates(self, types: dict[str, ColumnType], names: list[str]) -> dict[str, Candidates]:
        """Those that columns name themselves, else those of `candidates *`."""
        named: dict[str, Candidates] = {}
        star: Candidates | None = None
        for statement in self.statements.candidates:
            try:
                place = replace(self._place(statement), span=statement.span)
            except StatementError:
                place = Candidates()
            if not isinstance(statement.columns, ast.Star):
                for name in statement.columns:
                    self._candidates_of(name, place, types, names, named)
                continue
            if star is not None:
                self.reporter.error("N110", "the candidates of `*` are given twice", statement)
            star = place
        numbers = [name for name in names if types[name].kind == "number"]
        others = dict.fromkeys(numbers, star or Candidates())
        return {**dict.fromkeys(names, Candidates()), **others, **named}

    def _candidates_of(
        self,
        name: ast.Name,
        place: Candidates,
        types: dict[str, ColumnType],
        names: list[str],
        named: dict[str, Candidates],
    ) -> None:
        try:
            column = self.feature(name, names)
        except StatementError:
            return
        if types[column].kind != "number":
            remove = "remove it here"
            if self.table.columns[column].numbers is not None:
                remove = f"write {coded(f'feature {name_text(column)}: number')}, or {remove}"
            self.reporter.error(
                "T109",
                f"`{column}` is not a number column: each of its values is a candidate",
                name,
                notes=(f"it has type {types[column].kind}",),
                helps=(remove,),
            )
        elif column in named:
            self.reporter.error("N110", f"the candidates of `{column}` are given twice", name)
        named[column] = place

    def _place(self, statement: ast.Candidates) -> Candidates:
        match statement.place:
            case "midpoints":
                return Candidates()
            case "midpoints exact" | "guessed" as place:
                return Candidates(place="guessed" if place == "guessed" else "midpoints exact")
            case "quantiles" | "bins" as place:
                count = statement.count or 0
                if not 2 <= count <= MOST_SHARES:
                    raise self.reporter.error(
                        "T110",
                        f"`at {place} {count}` gives no threshold",
                        statement,
                        helps=(f"write a number from 2 to {MOST_SHARES}",),
                    )
                return Candidates(
                    place="quantiles" if place == "quantiles" else "bins", count=count
                )
            case _:
                values: list[Fraction] = []
                for literal in statement.values or ():
                    value = literal_constant(literal, self.reporter).value
                    if isinstance(value, str):
                        raise self.reporter.error(
                            "T111",
                            "a threshold must be a number",
                            literal,
                            helps=("write numbers without quotes",),
                        )
                    if math.isinf(nearest_float(value)):
                        raise self.reporter.error("T111", "this threshold is too large", literal)
                    values.append(value)
                return Candidates(place="values", values=tuple(sorted(set(values))))

    def _missing(self, names: list[str]) -> dict[str, MissingPolicy]:
        """The policy of every feature."""
        policies = self.missing_policies
        return {name: policies.get(name, self.default_missing) for name in names}

    @cached_property
    def missing_policies(self) -> dict[str, MissingPolicy]:
        """The policies of columns that a `missing` statement names, features or not."""
        named: dict[str, MissingPolicy] = {}
        for statement in self.statements.missing:
            if statement.columns is None:
                continue  # its policy is told by `default_missing`
            policy = self._policy(statement)
            for column in statement.columns:
                name = column.name
                if name in named:
                    self.reporter.error(
                        "N111", f"the missing-value policy of `{name}` is given twice", column
                    )
                elif name in self._whole_columns and policy not in _CLOSED:
                    self.reporter.error(
                        "N111",
                        f"`{name}` is not a feature: no split sends its missing values to a side",
                        column,
                        helps=(
                            (
                                "write `drop`, which leaves out rows with a missing value, or "
                                "`refuse`"
                            ),
                        ),
                    )
                elif self.known([column]):
                    named[name] = policy
        return named

    @cached_property
    def default_missing(self) -> MissingPolicy:
        """The policy of all columns that no statement names."""
        found = [s for s in self.statements.missing if s.columns is None]
        for again in found[1:]:
            self.reporter.error(
                "N111", "the missing-value policy of all columns is given twice", again
            )
        return self._policy(found[0]) if found else "refuse"

    @property
    def _whole_columns(self) -> set[str]:
        """Columns without whose value a row says nothing: targets and weights."""
        weight = self.statements.weight
        return {*self.targets, *([] if weight is None else [weight.column.name])}

    def _policy(self, statement: ast.Missing) -> MissingPolicy:
        policy = POLICIES.get(statement.policy)
        if policy is None:
            self.reporter.unknown(
                "N111", "missing-value policy", statement.policy, list(POLICIES), statement
            )
        return policy or "refuse"

    def feature(self, name: ast.Name, names: list[str]) -> str:
        """The feature of a name; files targets, dropped columns and unknown ones."""
        if name.name in names:
            return name.name
        if name.name in self.targets:
            raise self.reporter.error("N108", f"`{name.name}` is the target, not a feature", name)
        if name.name in self.dropped:
            raise self.reporter.error(
                "N112",
                f"`{name.name}` is dropped, so no split tests it",
                name,
                helps=("remove it from `drop`, or leave it out here",),
            )
        if name.name in self.table.columns:
            raise self.reporter.error(
                "N112",
                f"`{name.name}` contains the weights or names of rows, so it is not a feature",
                name,
            )
        raise self.reporter.unknown("N103", "column", name.name, names, name)

    # ---- costs and losses

    def costs(self, names: list[str]) -> Costs:
        """The prices of the named features, and the shared amounts."""
        default: Fraction | None = None
        prices: dict[str, Fraction] = {}
        shared: list[SharedCost] = []
        for statement in self.statements.costs:
            for item in statement.items:
                try:
                    if item.amount.value < 0:
                        raise self.reporter.error("T112", "a cost must be at least 0", item.amount)
                    if isinstance(item.columns, ast.Star):
                        if default is not None:
                            raise self.reporter.error(
                                "N114", "the cost of `*` is given twice", item
                            )
                        default = item.amount.value
                        continue
                    columns = [self.feature(name, names) for name in item.columns]
                    if item.shared:
                        indices = tuple(sorted({names.index(c) for c in columns}))
                        shared.append(SharedCost(features=indices, amount=item.amount.value))
                        continue
                    for column, name in zip(columns, item.columns, strict=True):
                        if column in prices:
                            raise self.reporter.error(
                                "N114", f"the cost of `{column}` is given twice", name
                            )
                        prices[column] = item.amount.value
                except StatementError:
                    continue
        other = default or Fraction(0)
        return Costs(
            features=tuple(prices.get(name, other) for name in names),
            shared=tuple(shared),
        )
