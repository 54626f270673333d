"""Columns: which are features, of which type, where they may be split, what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from odtdsl.analysis.desk import Desk, Stop
from odtdsl.analysis.statements import Statements
from odtdsl.data.dataset import ColumnType, Kind, Value
from odtdsl.data.table import Table
from odtdsl.data.typing import declare_type, infer_type, level_index, levels_of
from odtdsl.diagnostics.model import OdtError
from odtdsl.ir.problem import (
    Candidates,
    Costs,
    FeatureDecl,
    MissingPolicy,
    SharedCost,
    TargetDecl,
)  # fmt: skip
from odtdsl.syntax import ast

MOST_CLASSES = 1000
KINDS: dict[str, Kind] = {
    "number": "number", "category": "category", "binary": "binary", "ordered": "ordered",
}  # fmt: skip
POLICIES: dict[str, MissingPolicy] = {
    "refuse": "refuse", "drop": "drop", "left": "left", "right": "right", "branch": "branch",
}  # fmt: skip


def literal_value(literal: ast.Literal, desk: Desk) -> Value | Fraction:
    """The value of a label or level: text or number."""
    match literal:
        case ast.Number():
            return literal.value
        case ast.Text():
            return literal.value
        case ast.Percent():
            raise desk.error(
                "T101", "a percentage is no label", literal, helps=("write the value as it stands",)
            )
        case ast.Name():
            raise desk.error(
                "T102", f"`{literal.name}` is a bare word where a value should stand", literal,
                helps=(f'write values in quotes: "{literal.name}"',),
            )  # fmt: skip


def as_value(value: Value | Fraction) -> Value:
    """A number as int or float, a text as it is."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value


class Columns:
    """Resolves columns of a table under the statements of a spec."""

    def __init__(self, table: Table, statements: Statements, desk: Desk) -> None:
        self.table = table
        self.statements = statements
        self.desk = desk
        self.targets = tuple(c.name for c in statements.target.columns) if statements.target else ()
        self.dropped = {name.name for drop in statements.drops for name in drop.columns}

    def find(self, name: ast.Name, *, code: str = "N103") -> str:
        """The column of a name; files an unknown one."""
        if name.name not in self.table.columns:
            raise self.desk.unknown(code, "column", name.name, list(self.table.columns), name)
        return name.name

    def known(self, names: Iterable[ast.Name]) -> list[str]:
        """Those of the names that are columns; files the others."""
        found: list[str] = []
        for name in names:
            try:
                found.append(self.find(name))
            except Stop:
                continue
        return found

    # ---- target

    def target(self) -> TargetDecl:
        statement = self.statements.target
        assert statement is not None, "a spec without a target stops before"
        names = self.known(statement.columns)
        if len(names) < len(statement.columns):
            raise Stop
        if len(set(names)) < len(names):
            raise self.desk.error("N104", "a target is named twice", statement)
        kind = "class" if statement.type is None else statement.type.kind
        if kind in ("number", "integer"):
            return self._number_target(statement, names)
        if len(names) > 1:
            raise self.desk.error(
                "T103", f"{len(names)} targets are classes; only number targets can be several",
                statement, helps=(f"write `target {', '.join(names)}: number`, or one column",),
            )  # fmt: skip
        return self._class_target(statement, names[0])

    def _number_target(self, statement: ast.Target, names: list[str]) -> TargetDecl:
        assert statement.type is not None
        step = Fraction(1) if statement.type.kind == "integer" else None
        if statement.type.step is not None:
            step = statement.type.step.value
            if step <= 0:
                raise self.desk.error("T104", "a step is above 0", statement.type.step)
        if statement.positive is not None:
            raise self.desk.error(
                "T105", "a number target has no positive class", statement.positive
            )
        return TargetDecl(names=tuple(names), kind="number", step=step)

    def _class_target(self, statement: ast.Target, name: str) -> TargetDecl:
        declared = statement.type.values if statement.type is not None else None
        present = levels_of(self.table.columns[name])
        if declared is not None:
            classes = self._declared(declared)
        else:
            classes = present
            if len(present) > MOST_CLASSES or (len(present) > 20 and self._looks_continuous(name)):
                raise self.desk.error(
                    "T106", f"target `{name}` has {len(present)} distinct values", statement,
                    helps=(
                        f"for a number write `target {name}: number`",
                        "or list the classes: `target y: class {...}`",
                    ),
                )  # fmt: skip
        for value in present:
            if level_index(classes, value) is None:
                raise self.desk.error(
                    "T107", f"column `{name}` holds the class `{value}`, which is not declared",
                    statement.type, notes=(f"declared: {', '.join(str(c) for c in classes)}",),
                    helps=("add it to the classes, or mark it as missing with `na`",),
                )  # fmt: skip
        for value in classes:
            if declared is not None and level_index(present, value) is None:
                self.desk.warn("T108", f"no row has the class `{value}`", statement.type)
        if not classes:
            raise self.desk.error("D205", f"target `{name}` has no value at all", statement)
        positive = None
        if statement.positive is not None:
            positive = self.label(statement.positive, classes)
        ordered = statement.type is not None and statement.type.kind == "ordered"
        return TargetDecl(
            names=(name,), kind="class", classes=classes, ordered=ordered, positive=positive
        )

    def _looks_continuous(self, name: str) -> bool:
        numbers = self.table.columns[name].numbers
        return numbers is not None and bool((numbers[numbers == numbers] % 1 != 0).any())

    def _declared(self, literals: tuple[ast.Literal, ...]) -> tuple[Value, ...]:
        values: list[Value] = []
        for literal in literals:
            value = as_value(literal_value(literal, self.desk))
            if value in values:
                raise self.desk.error("N105", f"`{value}` is listed twice", literal)
            values.append(value)
        return tuple(values)

    def label(self, literal: ast.Literal, classes: tuple[Value, ...]) -> int:
        """The index of a class label."""
        value = literal_value(literal, self.desk)
        index = level_index(classes, value)
        if index is None:
            shown = as_value(value)
            raise self.desk.unknown("N106", "class", str(shown), [str(c) for c in classes], literal)
        return index

    # ---- features

    def types(self, target: TargetDecl) -> dict[str, ColumnType]:
        """The type of every column of the table."""
        declared: dict[str, ast.TypeSpec] = {}
        star: ast.TypeSpec | None = None
        for statement in self.statements.features:
            if isinstance(statement.columns, ast.Star):
                star = statement.type
                continue
            for name in statement.columns:
                if name.name in declared:
                    self.desk.error("N107", f"the type of `{name.name}` is declared twice", name)
                if name.name in self.targets:
                    self.desk.error(
                        "N108", f"`{name.name}` is the target, not a feature", name,
                        helps=("take it out of the features",),
                    )  # fmt: skip
            for column in self.known(statement.columns):
                declared[column] = statement.type
        found: dict[str, ColumnType] = {}
        for name, raw in self.table.columns.items():
            spec = declared.get(name)
            if spec is None and name not in self._not_features(target):
                spec = star
            try:
                found[name] = infer_type(raw) if spec is None else self._declare(name, spec)
            except Stop:
                found[name] = infer_type(raw)
        return found

    def _declare(self, name: str, spec: ast.TypeSpec) -> ColumnType:
        levels = None if spec.values is None else self._declared(spec.values)
        try:
            return declare_type(self.table.columns[name], KINDS[spec.kind], levels=levels)
        except OdtError as error:
            self.desk.adopt(error, spec)
            raise Stop from None

    def _not_features(self, target: TargetDecl) -> set[str]:
        out = {*target.names, *self.dropped}
        if self.statements.weight is not None:
            out.add(self.statements.weight.column.name)
        for option in self.statements.data.options if self.statements.data else ():
            if isinstance(option, ast.IdColumn):
                out.add(option.column.name)
        return out

    def features(self, types: dict[str, ColumnType], target: TargetDecl) -> tuple[FeatureDecl, ...]:
        """Features in the order of the data, with candidates and missing policies."""
        for drop in self.statements.drops:
            self.known(drop.columns)
            for name in drop.columns:
                if name.name in self.targets:
                    self.desk.error(
                        "N109", f"`{name.name}` is the target and cannot be dropped", name
                    )
        out = self._not_features(target)
        names = [name for name in types if name not in out]
        if not names:
            self.desk.error("K103", "no column is left as a feature")
        candidates = self._candidates(types, names)
        missing = self._missing(names)
        return tuple(
            FeatureDecl(type=types[name], candidates=candidates[name], missing=missing[name])
            for name in names
        )

    def _candidates(self, types: dict[str, ColumnType], names: list[str]) -> dict[str, Candidates]:
        found = dict.fromkeys(names, Candidates())
        named: set[str] = set()
        for statement in self.statements.candidates:
            if isinstance(statement.columns, ast.Star):
                continue
            for name in statement.columns:
                try:
                    column = self.feature(name, names)
                    if types[column].kind != "number":
                        raise self.desk.error(
                            "T109", f"`{column}` is no number: every value of it is a candidate",
                            name, notes=(f"it is of type {types[column].kind}",),
                            helps=(f"write `feature {column}: number`, or take it out here",),
                        )  # fmt: skip
                    if column in named:
                        raise self.desk.error(
                            "N110", f"candidates of `{column}` are said twice", name
                        )
                    named.add(column)
                    found[column] = self._place(statement)
                except Stop:
                    continue
        for statement in self.statements.candidates:
            if isinstance(statement.columns, ast.Star):
                try:
                    place = self._place(statement)
                except Stop:
                    continue
                for name in names:
                    if name not in named and types[name].kind == "number":
                        found[name] = place
        return found

    def _place(self, statement: ast.Candidates) -> Candidates:
        match statement.place:
            case "midpoints":
                return Candidates()
            case "guessed":
                if self.statements.target is not None and self.statements.target.type is not None:
                    if self.statements.target.type.kind in ("number", "integer"):
                        raise self.desk.error(
                            "T118", "`at guessed` needs a class target", statement,
                            helps=("write `at quantiles 10`, or `at midpoints`",),
                        )  # fmt: skip
                return Candidates(place="guessed")
            case "quantiles" | "bins":
                count = statement.count or 0
                if not 2 <= count <= 10_000:
                    raise self.desk.error(
                        "T110", f"`at {statement.place} {count}` makes no cut", statement,
                        helps=("take from 2 to 10000 shares",),
                    )  # fmt: skip
                place = "quantiles" if statement.place == "quantiles" else "bins"
                return Candidates(
                    place="quantiles" if place == "quantiles" else "bins", count=count
                )
            case _:
                values: list[Fraction] = []
                for literal in statement.values or ():
                    value = literal_value(literal, self.desk)
                    if isinstance(value, str):
                        raise self.desk.error("T111", "a threshold is a number", literal)
                    values.append(value)
                return Candidates(place="values", values=tuple(sorted(set(values))))

    def _missing(self, names: list[str]) -> dict[str, MissingPolicy]:
        default: MissingPolicy = "refuse"
        named: dict[str, MissingPolicy] = {}
        for statement in self.statements.missing:
            policy = POLICIES.get(statement.policy)
            if policy is None:
                self.desk.unknown(
                    "N111", "missing-value policy", statement.policy, list(POLICIES), statement
                )
                continue
            if statement.columns is None:
                default = policy
                continue
            for name in statement.columns:
                try:
                    named[self.feature(name, names)] = policy
                except Stop:
                    continue
        return {name: named.get(name, default) for name in names}

    @property
    def default_missing(self) -> str:
        for statement in self.statements.missing:
            if statement.columns is None:
                return statement.policy
        return "refuse"

    def feature(self, name: ast.Name, names: list[str]) -> str:
        """The feature of a name; files targets, dropped columns and unknown ones."""
        if name.name in names:
            return name.name
        if name.name in self.targets:
            raise self.desk.error("N108", f"`{name.name}` is the target, not a feature", name)
        if name.name in self.dropped:
            raise self.desk.error(
                "N112", f"`{name.name}` is dropped, so no split tests it", name,
                helps=(f"take it out of `drop`, or leave `{name.name}` out here",),
            )  # fmt: skip
        if name.name in self.table.columns:
            raise self.desk.error("N112", f"`{name.name}` is no feature", name)
        raise self.desk.unknown("N103", "column", name.name, names, name)

    # ---- costs and losses

    def costs(self, names: list[str]) -> Costs:
        default = Fraction(0)
        prices: dict[str, Fraction] = {}
        shared: list[SharedCost] = []
        for statement in self.statements.costs:
            for item in statement.items:
                try:
                    if item.amount.value < 0:
                        raise self.desk.error("T112", "a cost is at least 0", item.amount)
                    if isinstance(item.columns, ast.Star):
                        default = item.amount.value
                        continue
                    columns = [self.feature(name, names) for name in item.columns]
                    if item.shared:
                        indices = tuple(sorted({names.index(c) for c in columns}))
                        shared.append(SharedCost(features=indices, amount=item.amount.value))
                        continue
                    for column, name in zip(columns, item.columns, strict=True):
                        if column in prices:
                            raise self.desk.error(
                                "N114", f"the cost of `{column}` is said twice", name
                            )
                        prices[column] = item.amount.value
                except Stop:
                    continue
        return Costs(
            features=tuple(prices.get(name, default) for name in names), shared=tuple(shared)
        )

    def losses(self, target: TargetDecl) -> tuple[tuple[Fraction, ...], ...]:
        n = len(target.classes)
        if target.kind == "number":
            for statement in self.statements.losses:
                self.desk.error(
                    "T113", "`loss` speaks of classes, but the target is a number", statement
                )
            return ()
        matrix = [[Fraction(int(i != j)) for j in range(n)] for i in range(n)]
        said: set[tuple[int, int]] = set()
        for statement in self.statements.losses:
            try:
                predicted = self.label(statement.predicted, target.classes)
                actual = self.label(statement.actual, target.classes)
                if predicted == actual:
                    raise self.desk.error("T114", "a right answer costs 0", statement)
                if statement.amount.value < 0:
                    raise self.desk.error("T112", "a loss is at least 0", statement.amount)
                if (actual, predicted) in said:
                    raise self.desk.error("N114", "this loss is said twice", statement)
            except Stop:
                continue
            said.add((actual, predicted))
            matrix[actual][predicted] = statement.amount.value
        return tuple(tuple(row) for row in matrix)
