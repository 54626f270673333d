"""Runs `odt` with the toy task of `tests/toy_tasks`: its folder is all that the package is told.

`python tests/toy_task.py` reads from each line of standard input a folder and a command, runs it
there as `odt` does and prints its exit code, output and errors; `... values exact milp` reads specs
and columns and prints what these back ends find.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from itertools import product
from pathlib import Path

import odtdsl.tasks

odtdsl.tasks.__path__.append(str(Path(__file__).parent / "toy_tasks"))


def values(back_ends: list[str]) -> None:
    """Solve each spec with its columns; print status, values and whether the audit holds."""
    found = []
    for (spec, columns), by in product(json.load(sys.stdin), back_ends):
        result = odtdsl.parse(spec).data(columns).solve(using=by)
        assert result.audit is not None
        found.append([result.status, [str(one.value) for one in result.stages], result.audit.holds])
    print(json.dumps(found))


def commands() -> None:
    """Run commands in one process: what they import takes longer than what they do."""
    from odtdsl.interfaces.cli.main import app

    for line in sys.stdin:
        folder, words = json.loads(line)
        out, err, status = io.StringIO(), io.StringIO(), 0
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                app(words, prog_name="odt")
            except SystemExit as done:
                status = int(done.code or 0)
        print(json.dumps([status, out.getvalue(), err.getvalue()]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["values"]:
        values(sys.argv[2:])
    else:
        commands()
