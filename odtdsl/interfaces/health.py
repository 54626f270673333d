"""What is installed, what works, and how to get the rest: `odt doctor` and `odt --version`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from odtdsl.base.back_ends import ENTRIES

State = Literal["ok", "missing", "broken"]

SOLVERS = ("highspy", "pyomo", "python-sat", "pindakaas", "ortools")
"""Packages whose versions decide what a search answers, and when."""

EXTRAS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("Parquet files", "reading", ("pyarrow", "polars"), "pyarrow"),
    ("Excel files", "reading", ("openpyxl",), "odtdsl[excel]"),
    ("frames of pandas", "reading", ("pandas",), "odtdsl[frames]"),
    ("frames of polars", "reading", ("polars",), "odtdsl[frames]"),
    ("back end cpsat", "solving", ("ortools",), "odtdsl[cpsat]"),
    ("runs on Dask", "search and tuning", ("distributed",), "odtdsl[distributed]"),
    ("runs on Ray", "tuning", ("ray",), "ray"),
    ("pictures by matplotlib", "plotting", ("matplotlib",), "matplotlib"),
    ("ONNX models", "export", ("onnx",), "onnx"),
    ("treelite models", "export", ("treelite",), "treelite"),
    ("language server", "editing", ("pygls",), "pygls"),
)
"""What can be added: what it is for, its kind, the packages of which one will do, how to get it."""

TINY = "data frame target y tree depth <= 1 minimize errors"
ROWS = {"a": [0, 1, 2, 3], "y": ["n", "n", "p", "p"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line: what was looked at, whether it works, and a version or what to do."""

    name: str
    state: State
    note: str
    needed: bool = True


def installed(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions() -> Iterator[str]:
    """The lines of `odt --version`."""
    from odtdsl.base.version import VERSION

    yield f"odt {VERSION}"
    yield f"engine {_engine().note}, Python {platform.python_version()}"
    yield ", ".join(f"{name} {installed(name) or '-'}" for name in SOLVERS)


def examine() -> tuple[Finding, ...]:
    """Look at this machine, and solve a tiny problem on every back end."""
    return (*_machine(), _engine(), *_needed(), *_back_ends(), *_outside_solvers(), *_extras())


def healthy(findings: tuple[Finding, ...]) -> bool:
    """Whether all works that odtdsl cannot do without."""
    return all(one.state == "ok" for one in findings if one.needed)


def to_json(findings: tuple[Finding, ...]) -> dict[str, Any]:
    """One object as `odt doctor --json` writes it."""
    return {"ok": healthy(findings), "findings": [asdict(one) for one in findings]}


def lines(findings: tuple[Finding, ...]) -> Iterator[str]:
    """A table of the findings, and what to do."""
    from odtdsl.presentation.console import table

    words = {"ok": "ok", "missing": "-", "broken": "BROKEN"}
    yield from table(
        [
            ("what", "state", "version, or how to get it"),
            *((one.name, words[one.state], one.note) for one in findings),
        ]
    )
    yield ""
    broken = [one.name for one in findings if one.needed and one.state != "ok"]
    if broken:
        yield f"does not work: {', '.join(broken)}"
    else:
        yield "all that odtdsl needs works"


# ---- parts


def _machine() -> Iterator[Finding]:
    current = sys.version_info[:2] >= (3, 11)
    said = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding(
        name="python",
        state="ok" if current else "broken",
        note=said if current else f"{said}: odtdsl needs 3.11 or later",
    )
    yield Finding(name="platform", state="ok", note=platform.platform(terse=True))
    yield Finding(name="processors", state="ok", note=_processors())


def _processors() -> str:
    """Those that this process may use, which a container or a job queue may have made fewer."""
    everywhere = os.cpu_count() or 1
    try:
        here = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not tell
        here = everywhere
    said = str(here) if here == everywhere else f"{here} of {everywhere}"
    return f"{said} (`--threads`, `--jobs`); {platform.machine()}"


def _engine() -> Finding:
    from odtdsl.base import engine
    from odtdsl.base.diagnostics.model import OdtError

    try:
        sets = engine.instruction_sets()
    except OdtError as failure:
        one = failure.diagnostics[0]
        return Finding(name="engine", state="broken", note=f"{one.message}: {one.helps[0]}")
    except Exception as failure:  # whatever a broken library raises is what is to be told
        return Finding(name="engine", state="broken", note=f"{type(failure).__name__}: {failure}")
    asked = os.environ.get("ODTDSL_ISA")
    takes = str(asked if asked in sets else sets[-1])
    others = ", ".join(name for name in sets if name != takes)
    return Finding(name="engine", state="ok", note=takes + (f" (also {others})" if others else ""))


def _needed() -> Iterator[Finding]:
    """Packages that come with odtdsl."""
    for name in ("numpy", "lark", "scikit-learn", "joblib", "narwhals", "click"):
        found = installed(name)
        yield Finding(
            name=name,
            state="missing" if found is None else "ok",
            note=f"pip install {name}" if found is None else found,
        )


def _back_ends() -> Iterator[Finding]:
    for name, entry in ENTRIES.items():
        found = {package: installed(package) for package in entry.packages}
        absent = [package for package, has in found.items() if has is None]
        if absent:
            how = f"odtdsl[{entry.extra}]" if entry.extra else " ".join(absent)
            state: State = "missing"
            note = f'pip install "{how}"' if "[" in how else f"pip install {how}"
        else:
            wrong = _try(name)
            state = "broken" if wrong else "ok"
            note = wrong or ", ".join(f"{package} {has}" for package, has in found.items())
        yield Finding(name=f"back end {name}", state=state, note=note, needed=entry.extra is None)


def _try(name: str) -> str:
    """What is wrong with a back end: it solves four rows, or says why not."""
    from odtdsl.interfaces.api import solve

    try:
        result = solve(TINY, using=name, frame=ROWS, within=20)
    except Exception as failure:  # whatever a broken solver raises is what is to be told
        return f"{type(failure).__name__}: {str(failure).splitlines()[0]}"
    return "" if result.objective == 0 else f"gave {result.objective} for an objective of 0"


def _outside_solvers() -> Iterator[Finding]:
    """Solvers that `milp` calls besides its own; a licence is not asked for."""
    from odtdsl.backends.milp.outside import SOLVERS as OUTSIDE

    for name, solver in OUTSIDE.items():
        yield Finding(
            name=f"milp --mip {name}",
            state="ok" if solver.is_there else "missing",
            note=solver.version if solver.is_there else solver.install,
            needed=False,
        )


def _extras() -> Iterator[Finding]:
    for name, kind, packages, how in EXTRAS:
        found = [f"{package} {has}" for package in packages if (has := installed(package))]
        quoted = f'"{how}"' if "[" in how else how
        yield Finding(
            name=f"{kind}: {name}",
            state="ok" if found else "missing",
            note=", ".join(found) or f"pip install {quoted}",
            needed=False,
        )


__all__ = ["Finding", "examine", "healthy", "installed", "lines", "to_json", "versions"]
