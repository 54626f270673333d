"""Node runs the module."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from exported import Model, Row

from runners.base import Runner

CALL = """
const written = (key, value) => (typeof value === "bigint" ? { whole: String(value) } : value);
const said = work.map(([score, rows]) => rows.map((cells) => {
    try {
        return score(Object.fromEntries(cells));
    } catch (error) {
        if (error instanceof RangeError) {
            return "(refused)";
        }
        throw error;
    }
}));
console.log(JSON.stringify(said, written));
"""


def by_javascript(models: list[Model], rows: list[list[Row]], folder: Path) -> list[list[Any]]:
    """The functions of several models, each of its own module, run on the rows of each."""
    lines = []
    for i, model in enumerate(models):
        model.export("javascript", folder / f"model_{i}.mjs", name="score")
        lines.append(f'import {{ score as score_{i} }} from "./model_{i}.mjs";')
    lines.append("const work = [")
    for i, some in enumerate(rows):
        cells = ", ".join(_listed([_listed([_js(k), _js(x)]) for k, x in r.items()]) for r in some)
        lines.append(f"[score_{i}, [{cells}]],")
    lines.append("];")
    (folder / "run.mjs").write_text("\n".join(lines) + CALL, encoding="utf-8")
    found = json.loads(node("run.mjs", folder), object_hook=_whole)
    # JSON has arrays for tuples.
    return [[tuple(x) if isinstance(x, list) else x for x in some] for some in found]


def node(script: str, folder: Path) -> str:
    done = subprocess.run(
        ["node", script], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _listed(values: list[str]) -> str:
    return f"[{', '.join(values)}]"


def _js(cell: Any) -> str:
    """A cell as source: also NaN, infinite numbers and integers that are no float64."""
    if isinstance(cell, int) and abs(cell) < 1e300 and float(cell) != cell:
        return f"{cell}n"
    return json.dumps(cell)


def _whole(value: dict[str, str]) -> int:
    return int(value["whole"])


RUNNER = Runner(run=by_javascript, programs=("node",), raw=True)
