"""Diagrams of thousands of rows under a limit: what there is after some seconds."""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from measures import sets
from measures.report import Table

SKELETONS = {"I": "1, 2, 4, 8", "1 2 4 4 4 4": "1, 2, 4, 4, 4, 4"}
SETS = ("magic", "bean", "fault", "pima")


def frame(name: str) -> pd.DataFrame:
    if name == "pima":
        table = pd.read_csv(sets.folder() / "cases" / "pima.csv")
        table = table.rename(columns={table.columns[-1]: "y"})
    else:
        x, y = sets.load("continuous", name)
        table = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
        table["y"] = y
    return table.assign(y=table["y"].astype(str))


def errors(text: str, data: pd.DataFrame, limit: float, backend: str) -> Any:
    """The result, whose errors on raw data are those that it tells."""
    from odtdsl.interfaces.api import solve

    result = solve(text, frame=data, using=backend, within=limit, threads=1)
    assert result.model is not None
    wrong = np.asarray(result.model.predict(data.drop(columns="y"))).astype(str) != data["y"]
    assert result.objective == int(wrong.sum())
    return result


def early(limit: float, _jobs: int) -> Table:
    """Errors by `greedy`, by `auto` without its moves, and by `auto`."""
    warnings.simplefilter("ignore")
    at = (1.0, 3.0, limit)
    table = Table(
        "diagrams-early",
        (
            "set",
            "rows",
            "widths",
            "greedy",
            "without moves",
            *(f"after {s:g} s" for s in at),
        ),
    )
    for name in SETS:
        data = frame(name)
        for skeleton, widths in SKELETONS.items():
            text = f"data frame\ntarget y: class\ndiagram widths {widths}\nminimize errors\n"
            grown = errors(text, data, limit, "greedy")
            with patch("odtdsl.backends.exact.moves.Moves.run", lambda *_: None):
                before = errors(text, data, limit, "auto")
            now = errors(text, data, limit, "auto")
            assert now.objective <= grown.objective
            told = [
                min(
                    (
                        m.incumbent
                        for m in now.timeline
                        if m.incumbent is not None and m.seconds <= s
                    ),
                    default="",
                )
                for s in at
            ]
            table.add(name, len(data), skeleton, grown.objective, before.objective, *told)
    table.note(
        f"Errors, limit {limit:g} s for each column, one thread; wall time, as a user meets it."
        " `without moves` is `auto` with that step left out."
    )
    return table
