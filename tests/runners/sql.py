"""SQLite runs the query."""

from __future__ import annotations

import sqlite3
from typing import Any

from exported import REFUSED, Model, Row

from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner, alone


def by_sql(model: Model, rows: list[Row], table: str = "data") -> list[Any]:
    """The query in SQLite, on a table with the columns of the model."""
    query = model.export("sql", name=table)
    assert isinstance(query, str)
    plan = plan_of(model)
    base = sqlite3.connect(":memory:")
    columns = plan.columns
    kinds = {"number": "DOUBLE PRECISION", "text": "TEXT"}
    listed = ", ".join(f"{_quoted(c.name)} {kinds[c.kind]}" for c in columns)
    base.execute(
        f'CREATE TABLE {_quoted(table)} ("row number" INTEGER{", " * bool(listed)}{listed})'
    )
    base.executemany(
        f"INSERT INTO {_quoted(table)} VALUES ({', '.join('?' * (1 + len(columns)))})",
        [(i, *(_sql_cell(c.kind, row.get(c.name)) for c in columns)) for i, row in enumerate(rows)],
    )
    base.execute("CREATE TABLE canary (x)")
    found = base.execute(query).fetchall()  # one statement, or sqlite3 says so
    assert [row[0] for row in found] == list(range(len(rows)))
    assert base.execute("SELECT count(*) FROM canary").fetchone() == (0,)
    width = len(model.targets)
    said = [row[-width:] if width > 1 else row[-1] for row in found]
    return [REFUSED if x is None or (width > 1 and x[0] is None) else x for x in said]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_cell(kind: str, cell: Any) -> Any:
    return cell if cell is None or kind == "number" else str(cell)


RUNNER = Runner(run=alone(by_sql))
