"""Runs `odt` with the toy task of `tests/toy_tasks`: its folder is all that the package is told.

`python tests/toy_task.py check SPEC` is `odt check SPEC`; `... values by` reads data from standard
input and prints the values that a back end finds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import odtdsl.tasks

odtdsl.tasks.__path__.append(str(Path(__file__).parent / "toy_tasks"))


def values(by: str) -> None:
    """Solve each spec with its columns; print status, values and whether the audit holds."""
    found = []
    for spec, columns in json.load(sys.stdin):
        result = odtdsl.parse(spec).data(columns).solve(using=by)
        assert result.audit is not None
        found.append([result.status, [str(one.value) for one in result.stages], result.audit.holds])
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1] == "values":
        values(sys.argv[2])
    else:
        from odtdsl.interfaces.cli.main import main

        main()
