"""The formats of files for other solvers, and what writes, shows and reads each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.back_ends import Variant
from odtdsl.base.diagnostics.model import OdtError, error

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.driver.formulas.encoding import Format
    from odtdsl.driver.result import Result

DEFAULT = Variant()
"""No option of a back end is asked for."""


def compile_to(
    analysis: Analysis,
    path: str | Path,
    to: str,
    variant: Variant = DEFAULT,
    *,
    depth: int | None = None,
    bounds: Sequence[Fraction] = (),
    weighted: bool = False,
    legend: Path | None = None,
) -> tuple[tuple[str, int], ...]:
    """Write the problem as a program (LP, MPS, MiniZinc) or a formula (CNF, WCNF, OPB).

    Parameters
    ----------
    analysis, path, to
        The spec, resolved; where to; `lp`, `mps`, `mzn`, `cnf`, `wcnf` or `opb`.
    variant
        Of programs: a formulation.
    depth
        Of formulas: see `odtdsl.driver.formulas.encoding.encode`.
    bounds
        The first stages are as good as these, or better.
    weighted
        Of programs: all stages that are left as one sum.
    legend
        Where to write what every name says, as JSON.

    Returns
    -------
    tuple of (str, int)
        The size of the encoding.

    Raises
    ------
    OdtError
        B102 and other B codes: the encoding cannot express the problem. U302, U320: an
        argument of the other kind of file. U303: an unknown format. F301: the file cannot be
        written.
    """
    formula = formula_format(to)
    check_format(to)
    if formula is not None:
        for name, _ in variant.given:
            raise _other("U302", name, "lp")
        if weighted:
            raise _other("U320", "weighted", "lp")
        from odtdsl.driver.formulas.files import write_formula

        return write_formula(
            analysis, Path(path), formula, depth=depth, bounds=bounds, legend=legend
        )
    if depth is not None:
        raise _other("U320", "depth", "cnf")
    from odtdsl.driver.formulas.programs import Ask, write_program

    ask = Ask(variant=variant, bounds=bounds, weighted=weighted)
    return write_program(analysis, Path(path), to, ask, legend)


def show_rule(
    analysis: Analysis,
    rule: str,
    to: str,
    variant: Variant = DEFAULT,
    *,
    depth: int | None = None,
    bounds: Sequence[Fraction] = (),
    weighted: bool = False,
) -> Iterator[str]:
    """The rows or clauses that a rule becomes, below its sentence; the rest as in `compile_to`.

    Raises
    ------
    OdtError
        As `compile_to`. U233: the rule makes none.
    """
    formula = formula_format(to)
    if formula is not None:
        from odtdsl.driver.formulas.files import show_formula

        return show_formula(analysis, rule, formula, depth=depth, bounds=bounds)
    from odtdsl.driver.formulas.programs import Ask, show_rule

    return show_rule(analysis, rule, Ask(variant=variant, bounds=bounds, weighted=weighted))


def decode_text(
    analysis: Analysis,
    text: str,
    path: Path,
    to: str | None = None,
    variant: Variant = DEFAULT,
    *,
    depth: int | None = None,
    bounds: Sequence[Fraction] = (),
    weighted: bool = False,
) -> Result:
    """The audited model of another solver's answer; options as `compile_to` had them.

    Parameters
    ----------
    analysis
        The spec, resolved.
    text, path
        The answer, and the file that it is from.
    to
        The format that was solved, by default by the looks of the answer.
    variant, depth, bounds, weighted
        As in `compile_to`.

    Raises
    ------
    OdtError
        F221, U210, U211, U212, U230: it is no answer to this problem. B codes as `compile_to`.
    """
    from odtdsl.driver.formulas import assignment, solution

    solution.refuse_other_files(text, path)
    formula = None if to is None else formula_format(to)
    if formula is None and (to is not None or solution.seems_program(text)):
        from odtdsl.driver.formulas.programs import Ask, decode_program

        ask = Ask(variant=variant, bounds=bounds, weighted=weighted)
        return decode_program(analysis, solution.parse(text, path), ask, to)
    from odtdsl.driver.formulas import files

    read = assignment.parse(text, path)
    return files.decode(analysis, read, to=formula, depth=depth, bounds=bounds)


def format_of(path: Path) -> str:
    """The format of a file by the ending of its name; `lp` of a name without one.

    Raises
    ------
    OdtError
        U303: nothing writes files that end so.
    """
    ending = path.suffix.lower().removeprefix(".") or "lp"
    if ending not in _PROGRAMS and formula_format(ending) is None:
        raise error(
            "U303",
            f"the ending `{path.suffix}` of `{path.name}` is not that of a format",
            helps=(f"end the name in {_ENDINGS}, or say what to write: `--to lp`",),
        )
    return ending


def formula_format(to: str) -> Format | None:
    """The format of formulas that is called so."""
    formats: dict[str, Format] = {"cnf": "cnf", "wcnf": "wcnf", "opb": "opb"}
    return formats.get(to)


def check_format(to: str) -> None:
    """U303 where nothing writes such files."""
    if to not in _PROGRAMS and formula_format(to) is None:
        raise error(
            "U303",
            f"`{to}` is not a format of this version",
            helps=(
                "write `--to lp`, `mps`, `mzn`, `cnf`, `wcnf` or `opb`",
                *((_IN_PYTHON,) if to == "pyomo" else ()),
            ),
        )


_PROGRAMS = ("lp", "mps", "mzn")
_ENDINGS = "`.lp`, `.mps`, `.mzn`, `.cnf`, `.wcnf` or `.opb`"
_IN_PYTHON = 'a Pyomo model is made in Python: `odtdsl.compile("spec.odt", to="pyomo")`'


def _other(code: str, option: str, kind: str) -> OdtError:
    message = f"the option `{option}` belongs to another kind of file"
    return error(code, message, helps=(f'write `{kind}`: `--to {kind}`, in Python `to="{kind}"`',))


__all__ = [
    "check_format",
    "compile_to",
    "decode_text",
    "format_of",
    "formula_format",
    "show_rule",
]
