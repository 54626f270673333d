"""Rows: which are for training and which for testing, what missing cells do, encoded columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.limits import ANALYSIS, looking
from odtdsl.base.numbers import counted
from odtdsl.compiler.columns import Columns
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.statements import Statements
from odtdsl.compiler.targets import TargetPart
from odtdsl.datasets.dataset import Column, ColumnType, Dataset, Weights
from odtdsl.datasets.request import DataRequest, TestShare
from odtdsl.datasets.split import Division, split_groups, split_rows
from odtdsl.datasets.table import BoolArray, IntArray, Table
from odtdsl.datasets.typing import check_apart, encode
from odtdsl.datasets.weights import encode_weights, wrong_cells
from odtdsl.language import ast
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.problem import FeatureDecl, TargetDecl

MIN_WEIGHT = Fraction(1, 10**300)
"""The largest row weight is at least this: floats below have too few digits for sums of leaves."""

SHOWN_ROWS = 5
SHOWN_COLUMNS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRoles:
    """What the columns of the data are for; `compared` are those that only groups compare."""

    columns: Columns
    target: TargetDecl
    features: tuple[FeatureDecl, ...]
    compared: Iterable[str]


class RowChoice:
    """The rows of one analysis.

    Parameters
    ----------
    request, statements, reporter
        What the spec says of the data, and where mistakes go.
    table, test_table
        The rows as read; None without a test file.
    roles
        What the columns are for.
    division
        Which rows are for training and testing; None: as the request says.

    Attributes
    ----------
    train
        int64: the training rows, as positions in the table as read.
    test
        The test table and its rows; None without any.
    """

    def __init__(
        self,
        request: DataRequest,
        table: Table,
        test_table: Table | None,
        roles: ColumnRoles,
        statements: Statements,
        reporter: Reporter,
        division: Division | None = None,
    ) -> None:
        self.request, self.table, self.columns = request, table, roles.columns
        self.statements, self.reporter = statements, reporter
        self.target, self.features = roles.target, roles.features
        self._policies = self._all_policies(roles.compared)
        self._told: set[tuple[str, str]] = set()
        chosen, kept_back = self._split() if division is None else (division.train, division.test)
        self.train = self._complete(table, chosen, test=False)
        self.test: tuple[Table, IntArray] | None = None
        if test_table is not None:
            if self._fits(test_table):
                everything = np.arange(test_table.n_rows, dtype=np.int64)
                self.test = (test_table, self._complete(test_table, everything, test=True))
        elif len(kept_back):
            self.test = (table, self._complete(table, kept_back, test=True))

    def _all_policies(self, compared: Iterable[str]) -> dict[str, str]:
        """What a missing cell does, by column: `refuse`, `drop`, or nothing at all.

        Targets and weights cannot be missing. A column that only groups compare is refused
        where that is the default; under the other policies its comparisons are just false.
        """
        default, named = self.columns.default_missing, self.columns.missing_policies
        policies: dict[str, str] = {f.name: f.missing for f in self.features}
        for name in compared:
            policies.setdefault(name, named.get(name, default))
        whole = list(self.target.names)
        if self.statements.weight is not None:
            whole.append(self.statements.weight.column.name)
        for name in whole:
            policies[name] = "drop" if named.get(name, default) == "drop" else "refuse"
        return policies

    def _split(self) -> tuple[IntArray, IntArray]:
        everything = np.arange(self.table.n_rows, dtype=np.int64)
        share = self.request.test
        if not isinstance(share, TestShare):
            return everything, everything[:0]
        labels: IntArray | None = None
        if share.stratified:
            labels = TargetPart.of(self.target.kind).strata(self.target, self.table.columns)
            if labels is None:
                self.reporter.error(
                    "D206",
                    "a stratified share needs a class target",
                    self.statements.data,
                    helps=("leave `stratified` out",),
                )
                return everything, everything[:0]
        if share.by is not None and share.by not in self.table.columns:
            return everything, everything[:0]  # told where names are resolved
        try:
            if share.by is not None:
                return split_groups(self.table.columns[share.by], share.fraction, share.seed)
            return split_rows(self.table.n_rows, share.fraction, labels, share.seed)
        except OdtError as error:
            self.reporter.adopt(error, self.statements.data)
            return everything, everything[:0]

    def _fits(self, test: Table) -> bool:
        """Whether a test table has every column that is read of it."""
        needed = dict.fromkeys([*(f.name for f in self.features), *self._policies])
        lacking = [n for n in needed if n in self.table.columns and n not in test.columns]
        for name in lacking:
            self.reporter.error(
                "D207", f"the test data have no column `{name}`", self.statements.data
            )
        return not lacking

    # ---- missing cells

    def _complete(self, table: Table, rows: IntArray, *, test: bool) -> IntArray:
        """The rows without those that `missing drop` takes out; files refused missing cells."""
        gone = np.zeros(len(rows), dtype=bool)
        for name, policy in self._policies.items():
            if policy == "drop" and name in table.columns:
                gone |= table.columns[name].missing[rows]
        kept = rows[~gone]
        closed = [n for n, p in self._policies.items() if p == "refuse" and n in table.columns]
        features = {feature.name for feature in self.features}
        some = [name for name in closed if table.columns[name].missing.any()]  # hardly ever
        absent = {name: table.columns[name].missing[kept] for name in some}
        absent = {name: missing for name, missing in absent.items() if missing.any()}
        of_features = {name: absent.pop(name) for name in list(absent) if name in features}
        if not test and len(of_features) > 1:
            self._refuse_all(of_features)
        elif not test:
            absent = of_features | absent
        for name, missing in absent.items():
            if ("D201", name) in self._told:
                continue
            self._told.add(("D201", name))
            self._refuse(name, missing, kept, test=test)
            weight = self.statements.weight
            if weight is not None and name == weight.column.name:
                wrong = wrong_cells(table.take(kept).columns[name])  # told together
                self.reporter.adopt(OdtError(wrong), weight.column)
        if not len(kept) and not test:
            self.reporter.error(
                "D208",
                "no training row is left",
                self.statements.data,
                notes=(
                    ("the data have no rows",)
                    if not len(rows)
                    else (
                        "`missing drop` leaves out "
                        + ("the only row" if len(rows) == 1 else f"all {len(rows)} rows"),
                    )
                ),
            )
        return kept

    def _adopt(self, error: OdtError, name: str, at: ast.Node | None) -> None:
        """Report what is wrong with a column, unless the training rows have shown it."""
        new = [one for one in error.diagnostics if (one.code, name) not in self._told]
        self._told.update((one.code, name) for one in new)
        self.reporter.adopt(OdtError(new), at)

    def _refuse(self, name: str, missing: BoolArray, rows: IntArray, *, test: bool) -> None:
        where = ", ".join(str(row) for row in rows[missing][:SHOWN_ROWS])
        more = ", ..." if missing.sum() > SHOWN_ROWS else ""
        of = "test" if test else "training"
        count = int(missing.sum())
        shown = name_text(name)
        if any(feature.name == name for feature in self.features):
            helps = [
                "for all columns write `missing drop`, `left`, `right` or `branch`",
                f"for this column write {coded(f'missing {{{shown}}} branch')}",
            ]
        else:
            helps = [f"to leave such rows out, write {coded(f'missing {{{shown}}} drop')}"]
        self.reporter.error(
            "D201",
            f"column `{name}` is missing in {count} of {counted(len(rows), f'{of} row')}",
            self._place_of(name),
            helps=helps,
            notes=(f"row{'s' * (count > 1)} {where}{more}, counted from 0",),
        )

    def _refuse_all(self, absent: Mapping[str, BoolArray]) -> None:
        """Missing cells of several features, in one message."""
        each = [f"`{name}` in {int(missing.sum())}" for name, missing in absent.items()]
        listed = ", ".join(each[:SHOWN_COLUMNS]) + (", ..." if each[SHOWN_COLUMNS:] else "")
        n = len(next(iter(absent.values())))
        shown = ", ".join(name_text(name) for name in absent)
        self.reporter.error(
            "D201",
            f"{len(absent)} columns have missing cells in the {counted(n, 'training row')}",
            self.statements.data,
            helps=[
                "for all columns write `missing drop`, `left`, `right` or `branch`",
                f"for these columns write {coded(f'missing {{{shown}}} branch')}",
            ],
            notes=(f"missing are {listed}",),
        )

    def _place_of(self, name: str) -> ast.Node | None:
        """Where the spec first mentions a column."""
        statements = self.statements
        named = [*(statements.target.columns if statements.target else ())]
        for feature in statements.features:
            named += () if isinstance(feature.columns, ast.Star) else feature.columns
        if statements.weight is not None:
            named.append(statements.weight.column)
        return next((column for column in named if column.name == name), statements.data)

    # ---- encoding

    def dataset(self, table: Table, rows: IntArray, types: dict[str, ColumnType]) -> Dataset | None:
        """The rows under the types of their columns; None where cells do not fit."""
        taken = table.take(rows)
        columns: dict[str, Column] = {}
        failed = False
        seen = looking(ANALYSIS)
        for name, type_ in types.items():
            if name not in taken.columns:
                continue
            seen(len(rows))
            try:
                closed = name in self.target.names
                columns[name] = encode(taken.columns[name], type_, closed=closed)
                if name in self._policies:  # others are read by nobody
                    check_apart(taken.columns[name], columns[name])
            except OdtError as error:
                found = self._of_target(error, name) if closed else error
                self._adopt(found, name, self._place_of(name))
                failed = True
        if failed:
            return None
        try:
            labels, targets = TargetPart.of(self.target.kind).truth(self.target, columns)
        except OdtError as error:
            self._adopt(error, self.target.names[0], self.statements.target)
            return None
        return Dataset(
            table=taken,
            columns=columns,
            labels=labels,
            targets=targets,
            weights=self._weights(taken),
            row_numbers=rows,
        )

    def _of_target(self, error: OdtError, name: str) -> OdtError:
        """What is wrong with a cell, with helps that fit a target: it is no feature of any type."""
        as_class = coded(f"target {name_text(name)}")
        of_text = TargetPart.of(self.target.kind).of_text or f"if it is a class, write {as_class}"
        helps = {
            "D141": lambda one: (*one.helps[:-1], of_text),
            "D146": lambda one: (f"if they are codes of classes, write {as_class}", *one.helps[2:]),
        }
        return OdtError(
            replace(one, helps=helps[one.code](one)) if one.code in helps else one
            for one in error.diagnostics
        )

    def _weights(self, table: Table) -> Weights:
        statement = self.statements.weight
        ones = Weights(numerators=np.ones(table.n_rows, dtype=np.int64), denominator=1)
        if statement is None or statement.column.name not in table.columns:
            return ones
        raw = table.columns[statement.column.name]
        if raw.missing.any() or not table.n_rows:
            return ones  # reported as missing already
        try:
            weights, rounded = encode_weights(raw)
        except OdtError as error:
            self._adopt(error, raw.name, statement)
            return ones
        if rounded:
            self.reporter.warn(
                "D209",
                "row weights have too many digits: they are rounded to 2^-40 of the largest",
                statement,
            )
        largest = Fraction(int(weights.numerators.max()), weights.denominator)
        if largest < MIN_WEIGHT:
            self.reporter.error(
                "D161",
                f"the row weights are too small: none is above {float(MIN_WEIGHT):g}",
                statement,
                helps=("multiply them all by a common factor; shares depend only on their ratios",),
            )
        counted = weights.numerators[weights.numerators > 0]
        most = TargetPart.of(self.target.kind).most_of_weights
        if most is not None and int(counted.max()) > most * int(counted.min()):
            self.reporter.error(
                "D161",
                f"the largest row weight is more than {most:,} times the smallest",
                statement,
                helps=("give rows that hardly count the weight 0",),
                notes=("the loss has sums of weights in which small ones drown",),
            )
        return weights

    def names(self) -> dict[str, int]:
        """How a rule can call each training row: its index by its position or its id.

        -1 where several rows have the same id.
        """
        name = self.request.id_column
        if name is None:
            return {str(number): index for index, number in enumerate(self.train.tolist())}
        if name not in self.table.columns:
            return {}
        column = self.table.columns[name]
        found: dict[str, int] = {}
        for index, row in enumerate(self.train.tolist()):
            text = column.texts[row]
            if text is not None:
                found[text] = -1 if text in found else index
        return found


def with_target(
    types: dict[str, ColumnType], target: TargetDecl, table: Table
) -> dict[str, ColumnType]:
    """The types of all columns, those of the targets as they are declared."""
    part = TargetPart.of(target.kind)
    own = {name: part.column(target, name, table.columns[name]) for name in target.names}
    return {**types, **own}
