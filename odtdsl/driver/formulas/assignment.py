"""The model that a solver printed, in the forms that solvers print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from odtdsl.base.diagnostics.model import OdtError, error, shortened
from odtdsl.base.files import read_bytes
from odtdsl.driver.formulas.encoding import Format

STATUS = {
    "SAT": True,
    "SATISFIABLE": True,
    "OPTIMUM FOUND": True,
    "UNSAT": False,
    "UNSATISFIABLE": False,
    "INDET": None,
    "UNKNOWN": None,
}
"""What solvers say of a formula: that it has a model, has none, or nothing."""

LITERAL = re.compile(r"([+-]|~)?(x?)(\d{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Truth values of variables, the format that they seem to be of, and the cost as the solver
    says it; None where it says none."""

    values: dict[int, bool]
    to: Format
    cost: int | None = None


def of_literals(literals: Iterable[int]) -> Assignment:
    """Variables that are true, and negatives of those that are false."""
    return Assignment(values={abs(x): x > 0 for x in literals if x}, to="cnf")


def read(path: Path) -> Assignment:
    """The last model in a file.

    Read are `v` lines with literals (`v 1 -2 0`), with names (`v x1 -x2`, of pseudo-Boolean
    solvers) or with bits (`v 101`, of newer MaxSAT solvers); bare literals, as minisat writes
    them below `SAT`; comments, costs (`o 5`) and status lines around them.

    Raises
    ------
    OdtError
        F220: the file cannot be read. F221: it holds no assignment. U210: it says that there
        is no model, or that none was found.
    """
    return parse(read_text(path), path)


def read_text(path: Path) -> str:
    """The text of a file with an answer; F220, F221 as in `read`."""
    try:
        return read_bytes(path).decode("utf-8")
    except OSError as failure:
        raise error(
            "F220",
            f"`{path}` cannot be read: {failure.strerror or failure}",
            helps=("give the file with the output of the solver",),
        ) from failure
    except UnicodeDecodeError as failure:
        raise _no_assignment(path, "it is not a text file") from failure


def parse(text: str, path: Path) -> Assignment:
    """As `read`, from the text of a file."""
    values: dict[int, bool] = {}
    status: bool | None = None
    said: str | None = None
    ended = named = False
    cost: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        head, _, rest = line.strip().partition(" ")
        if line.strip().removeprefix("s ").strip() in STATUS:
            said = line.strip().removeprefix("s ").strip()
            status = STATUS[said]
        elif head == "o":
            cost = _cost(rest, path, number)
        elif head not in ("", "c"):
            tokens = rest.split() if head == "v" else line.split()
            for variable, true, has_name in _literals(tokens, path, number):
                if ended:  # another model
                    values, ended = {}, False
                named |= has_name
                if variable:
                    values[variable] = true
                else:
                    ended = True
    if status is False or (said is not None and not values):
        raise _no_model(path, said or "")
    if not values:
        raise _no_assignment(path, "it has no line of literals")
    bits = None if ended or named else _bits(text)
    if bits is not None:
        return Assignment(values=bits, to="wcnf", cost=cost)
    to: Format = "opb" if named else "cnf" if cost is None else "wcnf"
    return Assignment(values=values, to=to, cost=cost)


def _cost(text: str, path: Path, line: int) -> int:
    if not re.fullmatch(r"-?\d{1,30}", text.strip()):
        raise _no_assignment(path, f"line {line} has the cost `{shortened(text)}`")
    return int(text)


def _literals(tokens: list[str], path: Path, line: int) -> Iterator[tuple[int, bool, bool]]:
    """Variable, value, and whether it has a name such as `x5`."""
    for token in tokens:
        match = LITERAL.fullmatch(token)
        if match is None:
            said = f"line {line} has `{shortened(token)}`, which is not a literal"
            raise _no_assignment(path, said)
        yield int(match[3]), match[1] not in ("-", "~"), bool(match[2])


def _bits(text: str) -> dict[int, bool] | None:
    """The values of the only word of the only `v` line, where it is one of 0 and 1."""
    lines = [line.split()[1:] for line in text.splitlines() if line.split()[:1] == ["v"]]
    if len(lines) != 1 or len(lines[0]) != 1 or not re.fullmatch("[01]{2,}", lines[0][0]):
        return None
    return {index: bit == "1" for index, bit in enumerate(lines[0][0], start=1)}


def _no_assignment(path: Path, why: str) -> OdtError:
    return error(
        "F221",
        f"`{path}` contains no assignment: {why}",
        helps=(
            "give solver output with lines such as `v 1 -2 3 0`, the result file of minisat, or "
            "of a program a file with lines such as `active(n0) 1`",
        ),
    )


def _no_model(path: Path, said: str) -> OdtError:
    if STATUS.get(said) is None:
        return error(
            "U210",
            (
                f"`{path}` says `{said}`: the solver found no model, and did not prove that "
                "there is none"
            ),
            helps=("give the solver more time",),
        )
    if STATUS[said]:
        return error(
            "U210",
            f"`{path}` says `{said}`, but does not give the model",
            helps=("run the solver with the option that prints the model",),
        )
    return error(
        "U210",
        f"`{path}` says `{said}`: no tree satisfies the formula",
        helps=("`odt explain` shows which rules conflict",),
    )
