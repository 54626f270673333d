"""A target of survival: a column of times, and one of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.base.numbers import counted
from odtdsl.compiler.columns import Columns
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.statements import Statements
from odtdsl.compiler.targets import TargetPart, Truth
from odtdsl.datasets.dataset import Column, ColumnType
from odtdsl.datasets.table import BoolArray, IntArray, RawColumn
from odtdsl.language import ast
from odtdsl.problem.ir.problem import TargetDecl
from odtdsl.problem.ir.rows import Rows
from odtdsl.tasks.survival.problem import observed, of_columns, said_of

SHOWN_ROWS = 5


class SurvivalTarget(TargetPart):
    """Times of at least 0, and events that are 0 or 1, or texts that say so."""

    called: ClassVar = "a survival target"
    terms: ClassVar = frozenset({"survival"})
    most_of_weights: ClassVar = 1_000_000  # hazards are sums of weights
    of_text: ClassVar = (
        "write `target survival TIME event EVENT`: times are numbers, and an event is 1 where it"
        " came and 0 where the row was censored"
    )

    @property
    def said(self) -> str:
        """`the target is a survival time`."""
        return "a survival time"

    def declare(
        self, columns: Columns, statement: ast.Target, names: tuple[str, ...]
    ) -> TargetDecl:
        """The time and the event."""
        return TargetDecl(names=names, kind="survival")

    def column(self, target: TargetDecl, name: str, raw: RawColumn) -> ColumnType:
        """Numbers; a column of events may say `true` and `false`, or `yes` and `no`."""
        if name == target.names[1] and raw.numbers is None:
            levels = tuple(sorted(raw.distinct[0]))
            return ColumnType(name=name, kind="category", levels=levels)
        return ColumnType(name=name, kind="number")

    def truth(self, target: TargetDecl, columns: Mapping[str, Column]) -> Truth:
        """No label and no number to predict; raises for times and events out of place."""
        time, event = target.names
        times, events = of_columns(columns[time], columns[event])
        wrong = [
            *_out_of_place(
                "D228",
                times < 0,
                f"`{time}` is a time, but it is below 0",
                "times count from the start of each row; leave such rows out, or correct them",
            ),
            *_out_of_place(
                "D229",
                ~np.isin(events, (0, 1)),
                f"`{event}` says whether the event came, but it is neither 0 nor 1",
                f"these look swapped: the time is first in `target survival {event} event {time}`"
                if np.isin(times, (0, 1)).all()
                else "write 1 where the event came, and 0 where the row was censored",
                [str(one) for one in columns[event].type.levels if said_of(one) is None],
            ),
        ]
        if wrong:
            raise OdtError([one for each in wrong for one in each.diagnostics])
        return None, None

    def strata(self, target: TargetDecl, raw: Mapping[str, RawColumn]) -> IntArray | None:
        """Whether the event came."""
        found = raw[target.names[1]]
        return None if found.missing.any() else found.distinct[1].astype(np.int64)

    def other_terms(self, word: str, target: TargetDecl) -> tuple[str, ...]:
        """The loss of survival."""
        return ("for a survival target use `survival_loss`",)

    def warn(self, rows: Rows, statements: Statements, reporter: Reporter) -> None:
        """No event at all (D230), or all at one time (D231)."""
        times, events = observed(rows.data, rows.problem.target)
        came = (events > 0) & (rows.weights > 0)
        if not came.any():
            reporter.error(
                "D230",
                f"no event came in the {counted(rows.n_rows, 'training row')}: there is no "
                "hazard to compare",
                statements.target,
                helps=("an event is 1 where it came; 0 says that the row was censored",),
            )
        elif len(np.unique(times[came])) == 1:
            reporter.warn(
                "D231",
                f"all events come at `{rows.problem.target.names[0]}` = {times[came][0]:g}",
                statements.target,
                helps=("curves have one step then: a target of classes may say the same",),
            )


def _out_of_place(
    code: str, wrong: BoolArray, message: str, advice: str, texts: Sequence[str] = ()
) -> list[OdtError]:
    if not wrong.any():
        return []
    rows = np.flatnonzero(wrong)
    where = ", ".join(map(str, rows[:SHOWN_ROWS].tolist()))
    more = ", ..." if len(rows) > SHOWN_ROWS else ""
    notes = [f"row{'s' * (len(rows) > 1)} {where}{more}, counted from 0"]
    if texts:
        few = ", ".join(f"`{shortened(text)}`" for text in texts[:SHOWN_ROWS])
        notes.append(f"it holds {few}{', ...' * (len(texts) > SHOWN_ROWS)}")
    said = f"{message} in {len(rows)} of {len(wrong)} rows"
    return [error(code, said, notes=notes, helps=(advice,))]


PART = SurvivalTarget()
