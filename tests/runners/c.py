"""A compiler of C99 makes a library, which is called here."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

from exported import REFUSED, Model, Row, plain, written

from odtdsl.presentation.exports.names import identifiers
from odtdsl.presentation.exports.plan import plan_of
from runners.base import Runner

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")


def by_c(models: list[Model], rows: list[list[Row]], folder: Path) -> list[list[Any]]:
    """The functions of several models, compiled together, run on the rows of each."""
    sources = [model.export("c", name=f"model_{i}") for i, model in enumerate(models)]
    number = len(list(folder.iterdir()))  # a library of a known name is not loaded again
    path = folder / f"models_{number}.c"
    # The helper for texts is one for each file, and these are many files in one.
    parts = [
        str(s).replace(" is(", f" is_{i}(").replace("(is(", f"(is_{i}(")
        for i, s in enumerate(sources)
    ]
    path.write_text("\n".join(parts), encoding="utf-8")
    library = path.with_suffix(".so")
    command = ["gcc", *FLAGS, "-shared", "-fPIC", str(path), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))
    return [_call(loaded, i, model, rows[i]) for i, model in enumerate(models)]


def _call(library: Any, number: int, model: Model, rows: list[Row]) -> list[Any]:
    plan = plan_of(model)
    kinds = {"number": ctypes.c_double, "text": ctypes.c_char_p}
    names = identifiers(c.name for c in plan.columns)
    fields = [(name, kinds[c.kind]) for name, c in zip(names, plan.columns, strict=True)]
    struct = type("Row", (ctypes.Structure,), {"_fields_": fields or [("none", ctypes.c_char)]})
    function = getattr(library, f"model_{number}")
    outputs = (ctypes.c_double * len(plan.targets))()
    labels: Any = ()
    if plan.classes:
        labels = (ctypes.c_char_p * len(plan.classes)).in_dll(library, f"model_{number}_labels")
        for label, shown in zip(plan.classes, labels, strict=True):
            assert shown.decode("utf-8") == written(label)
    found = []
    for row in rows:
        cells = [_c_cell(c.kind, row.get(c.name)) for c in plan.columns]
        rest = () if plan.classes else (outputs,)
        code = function(ctypes.byref(struct(*cells)), *rest)
        if code == -1:
            found.append(REFUSED)
        elif plan.classes:
            found.append(plan.classes[code])
        else:
            found.append(tuple(outputs) if len(outputs) > 1 else outputs[0])  # type: ignore[arg-type]
    return found


def _c_cell(kind: str, cell: Any) -> Any:
    found = plain(kind, cell)
    return found.encode("utf-8") if isinstance(found, str) else found


RUNNER = Runner(run=by_c, programs=("gcc",), cases=45)
