"""The solution of a program that a solver wrote, in the formats of many.

Read are the files of HiGHS (all styles), Gurobi (`.sol`, `.json`), CPLEX (`.sol`, XML), SCIP, CBC,
GLPK (`-o` and `-w`), and lists of `name value` or `name = value`.

References: HiGHS, "writeSolution"; Gurobi, "File formats: SOL"; IBM, "SOL file format"; the
`solution` command of CBC; GLPK reference manual, section "glp_write_mip".
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

from odtdsl.base.diagnostics.model import OdtError, error, shortened

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?", re.IGNORECASE)

NONE = re.compile(
    r"infeasible|no (integer )?(feasible|solution)|undefined|unsatisfiable|empty", re.IGNORECASE
)
"""Words of a status that says that there is no solution, or that none was found."""

UNSURE = re.compile(r"no (integer )?solution|undefined|limit|stopped", re.IGNORECASE)
"""Words of one that does not prove it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Values of a program's columns.

    Attributes
    ----------
    values
        By the name of the column; what is not in it is 0.
    indexed
        Values in the order of the file's columns, of a file without names; None of others.
    objective
        What the solver says that the objective is; None where it says nothing.
    """

    values: dict[str, float]
    indexed: tuple[float, ...] | None = None
    objective: float | None = None


def seems_program(text: str) -> bool:
    """Whether a text looks like the solution of a program, and not like that of a formula."""
    head = text[:20_000]
    if re.search(r"^(<\?xml|<CPLEXSolution|\s*\{)", head) or re.search(
        r"^(s (mip|bas|ipt) |# (Columns|Objective value)|Columns\s*$|Model status|objective value:"
        r"|solution status:|no solution available|Problem: )|\bobjective value\b| Column name ",
        head,
        re.MULTILINE,
    ):
        return True
    return (
        re.search(r"^\s*(\d+\s+)?(\*\*\s+)?[a-zA-Z_.]+\([^()\s]*\)\s*=?\s", head, re.M) is not None
    )


def refuse_other_files(text: str, path: Path) -> None:
    """F221 for a file that is empty, or is what was to be solved and not the answer."""
    if not text.strip():
        raise error(
            "F221",
            f"`{path}` is empty: it holds no answer",
            helps=("look at what the solver printed, and whether it was stopped",),
        )
    if _IS_PROGRAM.search(text[:200_000]):
        raise error(
            "F221",
            f"`{path}` is what a solver is to solve, not its answer",
            helps=(
                f"solve it, for example `glpsol --lp {path.name} -o answer.txt`; give the answer"
                if _IS_LP.search(text[:200_000])
                else "solve it and give the file that the solver wrote",
            ),
        )


_IS_LP = re.compile(r"^\s*(minimi[sz]e|maximi[sz]e)\s*$", re.IGNORECASE | re.MULTILINE)
_IS_PROGRAM = re.compile(
    rf"{_IS_LP.pattern}|^NAME\b.*\n(OBJSENSE|ROWS)|(?-i:^ROWS\s*$)"
    r"|^p w?cnf |^\* #variable=|^solve (minimize|maximize|satisfy)\b",
    re.IGNORECASE | re.MULTILINE,
)


def parse(text: str, path: Path) -> Solution:
    """The solution in a text.

    Raises
    ------
    OdtError
        F221: it holds none. U210: it says that there is none, or that none was found.
    """
    head = text.lstrip()[:200]
    if head.startswith(("<?xml", "<CPLEXSolution")):
        found = _cplex(text, path)
    elif head.startswith("{"):
        found = _gurobi_json(text, path)
    elif re.search(r"^s (mip|bas|ipt) ", text, re.MULTILINE):
        found = _glpk_raw(text, path)
    elif re.search(r"^ +No\. +Column name ", text, re.MULTILINE):
        found = _glpk_table(text, path)
    elif re.match(r"\s*Problem: ", text) and re.search(r"^Rows: ", text, re.MULTILINE):
        _refuse(path, "it is cut short: there is no table of columns")
    elif re.search(r"^Columns\n +Index Status", text, re.MULTILINE):
        found = _highs_table(text, path)
    elif re.search(r"^# Primal solution values", text, re.MULTILINE):
        found = _highs_raw(text, path)
    else:
        found = _list(text, path)
    if not found.values and not found.indexed:
        _refuse(path, "it gives no value of a variable")
    for name, value in found.values.items():
        if not math.isfinite(value):
            _refuse(path, f"`{shortened(name)}` has the value {value}")
    return found


# ---- formats


def _highs_raw(text: str, path: Path) -> Solution:
    """Styles 0 (raw) and 4 (sparse), which also has the index of each column."""
    _stop_if(_after(text, "Model status"), path)
    section = text.partition("# Primal solution values")[2]
    state = section.strip().partition("\n")[0].strip()
    if state in ("None", "Infeasible"):
        raise _none(path, f"primal solution: {state}", proven=False)
    objective, values = None, {}
    lines = section.splitlines()
    start = next((i for i, x in enumerate(lines) if x.startswith("# Columns")), len(lines))
    for line in lines[:start]:
        if line.startswith("Objective "):  # and not `Objective_bound`
            objective = _number(line.split()[-1], path)
    for line in lines[start + 1 :]:
        if line.startswith("#") or not line.strip():
            break
        name, value = line.split()[:2]
        values[name] = _number(value, path)
    return Solution(values=values, objective=objective)


def _highs_table(text: str, path: Path) -> Solution:
    """Style 1 (pretty): the primal value is at its place below the head, the name is last."""
    _stop_if(_after(text, "Model status"), path)
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "Columns")
    end = lines[start + 1].index("Primal") + len("Primal")
    values = {}
    for line in lines[start + 2 :]:
        if not line[:9].strip().isdigit():
            break
        words = line[:end].split()
        values[line.split()[-1]] = _number(words[-1], path)
    said = re.search(r"^Objective value:? *(\S+)", text, re.MULTILINE)
    return Solution(values=values, objective=None if said is None else _number(said[1], path))


def _gurobi_json(text: str, path: Path) -> Solution:
    try:
        read = json.loads(text)
        values = {str(one["VarName"]): float(one["X"]) for one in read["Vars"]}
        said = read["SolutionInfo"].get("ObjVal")
        return Solution(values=values, objective=None if said is None else float(said))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _refuse(path, "it is JSON, but has no `Vars` with `VarName` and `X`, as Gurobi writes them")


def _cplex(text: str, path: Path) -> Solution:
    """Of a pool of solutions the first."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        _refuse(path, "its XML declares entities, which CPLEX' files do not")
    try:
        tree = ElementTree.fromstring(text.lstrip())
    except ElementTree.ParseError as failure:
        _refuse(path, f"its XML cannot be read: {failure}")
    root = tree if tree.tag == "CPLEXSolution" else next(tree.iter("CPLEXSolution"), None)
    if root is None:
        _refuse(path, "its XML has no element `CPLEXSolution`")
    header = root.find("header")
    said = {} if header is None else header.attrib
    values = {
        one.attrib.get("name", ""): _number(one.attrib.get("value", ""), path)
        for one in root.iterfind("variables/variable")
    }
    _stop_if(said.get("solutionStatusString", ""), path)
    claimed = said.get("objectiveValue")
    return Solution(values=values, objective=None if claimed is None else _number(claimed, path))


def _glpk_raw(text: str, path: Path) -> Solution:
    """`glpsol -w` and style 2 of HiGHS: columns by their number in the file of the program."""
    indexed: dict[int, float] = {}
    objective, count = None, 0
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["s"] and len(words) >= 6:
            if words[4] in ("n", "u"):
                raise _none(path, f"status {words[4]}", proven=words[4] == "n")
            objective, count = _number(words[-1], path), _whole(words[3], path)
        elif words[:1] == ["j"] and len(words) >= 3:
            value = words[2] if NUMBER.fullmatch(words[2]) else words[-1]
            indexed[_whole(words[1], path)] = _number(value, path)
    if sorted(indexed) != list(range(1, count + 1)):
        _refuse(path, f"it is cut short: {len(indexed)} of {count} columns have a value")
    return Solution(
        values={}, indexed=tuple(indexed[i] for i in range(1, count + 1)), objective=objective
    )


def _glpk_table(text: str, path: Path) -> Solution:
    """`glpsol -o` and style 3 of HiGHS: a long name stands on a line of its own."""
    status = _line_of(text, "Status:")
    _stop_if(status, path)
    said = re.search(r"^Objective: .*= *(\S+) \(M", text, re.MULTILINE)
    values: dict[str, float] = {}
    name = None
    for line in text.partition("Column name")[2].splitlines()[2:]:
        words = line.split()
        if not words and values:
            break
        words = [word for word in words if word != "*"]
        if re.match(r" *\d+ \S", line):
            name, words = words[1], words[2:]
        if name is not None and words:
            words = words[1:] if not NUMBER.fullmatch(words[0]) else words  # the state of a column
            values[name] = _number(words[0] if words else "", path)
            name = None
    count = re.search(r"^Columns: +(\d+)", text, re.MULTILINE)
    if count is not None and len(values) < int(count[1]):
        _refuse(path, f"it is cut short: {len(values)} of {count[1]} columns have a value")
    return Solution(values=values, objective=None if said is None else _number(said[1], path))


def _list(text: str, path: Path) -> Solution:
    """Gurobi, SCIP, CBC, MiniZinc, and lists of names and values."""
    values: dict[str, float] = {}
    objective = None
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        stated = _says_status(line, path)
        if (claimed := _claim(line)) is not None:
            objective = _number(claimed, path)
        if claimed is not None or stated or line.startswith(("#", "%")):
            continue
        pair = _pair(line)
        if pair is None:
            _refuse(path, f"line {number} has `{shortened(line)}`, which is no name with a value")
        values[pair[0]] = _number(pair[1], path)
    return Solution(values=values, objective=objective)


def _claim(line: str) -> str | None:
    """The objective of `# Objective value = 3`, `objective value: 3`, `Optimal - objective value 3`
    or `objective = 3`; of `=obj= 3`, as SCIP and PIP files have it."""
    match = re.fullmatch(
        r"(?:#\s*|.* - )?(?:=obj=|objective(?: value)?)\s*[:=]?\s*(\S+)", line, re.IGNORECASE
    )
    return None if match is None else match[1]


def _says_status(line: str, path: Path) -> bool:
    """A line about the whole solution, or an empty one; what says that there is none stops."""
    if not line or re.fullmatch(r"[-=]+", line):
        return True
    if line.startswith(("=====", "solution status:", "no solution available")) or (
        re.match(r"(Optimal|Infeasible|Integer infeasible|Unbounded|Stopped|Undecided)\b", line)
    ):
        _stop_if(line, path)
        return True
    return False


def _pair(line: str) -> tuple[str, str] | None:
    """The name and the value of a line, which may begin with `**` and an index (CBC)."""
    words = line.rstrip(";").replace(" = ", " ").replace(": ", " ").split()
    words = [word for word in words if word != "**"]
    if len(words) >= 3 and words[0].isdigit() and not NUMBER.fullmatch(words[1]):
        words = words[1:]
    if len(words) == 1 and words[0].count("=") == 1:
        words = words[0].split("=")
    fits = len(words) >= 2 and not NUMBER.fullmatch(words[0]) and NUMBER.fullmatch(words[1])
    return (words[0], words[1]) if fits else None


# ---- what they share


def _after(text: str, title: str) -> str:
    """The line below one, or what follows it on the line."""
    match = re.search(rf"^{title}[ :]*\n?(.*)$", text, re.MULTILINE)
    return "" if match is None else match[1].strip()


def _line_of(text: str, head: str) -> str:
    match = re.search(rf"^{head}(.*)$", text, re.MULTILINE)
    return "" if match is None else match[1].strip()


def _stop_if(status: str, path: Path) -> None:
    """Raise where a status says that there is no solution."""
    if NONE.search(status):
        raise _none(path, status, proven=UNSURE.search(status) is None)


def _none(path: Path, said: str, *, proven: bool) -> OdtError:
    if not proven:
        return error(
            "U210",
            (
                f"`{path}` says `{shortened(said)}`: the solver found no solution, and did not"
                " prove that there is none"
            ),
            helps=("give the solver more time",),
        )
    return error(
        "U210",
        f"`{path}` says `{shortened(said)}`: no model satisfies the program",
        helps=("`odt explain` shows which rules conflict",),
    )


def _number(text: str, path: Path) -> float:
    if not NUMBER.fullmatch(text):
        _refuse(path, f"it has `{shortened(text)}` where a number should be")
    return float(text)


def _whole(text: str, path: Path) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        _refuse(path, f"it has `{shortened(text)}` where the number of a column should be")
    return int(text)


def _refuse(path: Path, why: str) -> NoReturn:
    raise error(
        "F221",
        f"`{path}` contains no solution: {why}",
        helps=(
            "give the whole file that HiGHS, Gurobi, CPLEX, SCIP, CBC or GLPK wrote, or lines such "
            "as `active(n0) 1`",
        ),
    )
