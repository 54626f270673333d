"""Runs `odt` with the toy task of `tests/toy_tasks`: its folder is all that the package is told.

`python tests/toy_task.py check SPEC` is `odt check SPEC`; `... values exact milp` reads specs and
columns from standard input and prints what these back ends find.
"""

from __future__ import annotations

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


if __name__ == "__main__":
    if sys.argv[1] == "values":
        values(sys.argv[2:])
    else:
        from odtdsl.interfaces.cli.main import main

        main()
