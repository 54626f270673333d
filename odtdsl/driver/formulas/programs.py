"""Problems as programs for other solvers, and other solvers' solutions as models."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from odtdsl.backends.base import ProgramWriter
from odtdsl.backends.decoding import simplified, to_predictor
from odtdsl.base.back_ends import Variant, able
from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.files import write_text
from odtdsl.driver.choice import back_end, choose, refuse_quotients, refused
from odtdsl.driver.formulas.answers import answered
from odtdsl.driver.formulas.legend import LOOKAHEAD, Legend, row_kind
from odtdsl.driver.formulas.program_text import lp_order, rows_of, shown_as, text_of
from odtdsl.problem.ir.diagrams import evaluated
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from pathlib import Path

    from pyomo.core.base import ConcreteModel

    from odtdsl.backends.programs import Handover
    from odtdsl.compiler import Analysis
    from odtdsl.datasets.table import FloatArray
    from odtdsl.driver.formulas.solution import Solution
    from odtdsl.driver.result import Result
    from odtdsl.problem.ir.forms import Core
    from odtdsl.problem.ir.raw import RawModel


INTEGRAL, ROOM = 1e-4, 1e-5
"""How far an integer column may be off, and a row, by its largest coefficient: solvers' own
tolerances are ten times smaller."""

STRUCTURE = ("skeleton", "objective")
"""Rows of these hold for every model, but for `LOOKAHEAD`."""

RESERVED = (*STRUCTURE, LOOKAHEAD)
"""Names of groups of rows, which a rule of the same name gives way to: it is `skeleton_` there."""

SHOWN = 8
"""Terms of a broken row that a message tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Which program of a problem: as it was asked for, and is to be asked for again."""

    variant: Variant = field(default_factory=Variant)
    bounds: Sequence[Fraction] = ()
    weighted: bool = False


def program_of(analysis: Analysis, ask: Ask) -> tuple[Legend, Core]:
    """The program of a problem, with what its names say.

    Raises
    ------
    OdtError
        B codes: programs do not express the problem, see `BackEnd.check`. U321: more bounds than
        stages.
    """
    rows = _apart(analysis.rows)
    core = normalize(rows)
    refuse_quotients(core, analysis.problem.source, "programs")
    writer = able("write programs")
    choice = choose(core, writer)
    if choice.name is None:
        raise refused(choice, writer, analysis.problem.source, solving=False)
    engine = back_end(writer, ask.variant)
    assert isinstance(engine, ProgramWriter), "its entry says that it writes programs"
    if len(ask.bounds) > len(core.objective):
        raise error(
            "U321",
            f"{len(ask.bounds)} bounds were given for fewer stages of the objective",
            helps=("give one `--bound` per stage, beginning with the first stage",),
        )
    stages = zip(core.objective, ask.bounds, strict=False)
    kept = tuple(stage.sign * bound for stage, bound in stages)
    handed = engine.hand_over(core, kept=kept, weighted=ask.weighted)
    return Legend(handed, core, rows), core


def _apart(rows: Rows) -> Rows:
    """The problem, where no rule is called as the rows of the structure or the objective are."""
    taken = {rule.name for rule in rows.problem.rules}
    if taken.isdisjoint(RESERVED):
        return rows
    rules = []
    for rule in rows.problem.rules:
        word = rule.name
        while word in RESERVED or (word != rule.name and word in taken):
            word += "_"
        rules.append(replace(rule, name=word))
    return Rows(replace(rows.problem, rules=tuple(rules)), rows.data)


def write_program(
    analysis: Analysis, path: Path, to: str, ask: Ask, legend: Path | None = None
) -> tuple[tuple[str, int], ...]:
    """Write a program, and what its names say as JSON beside it; returns its size.

    Raises
    ------
    OdtError
        As `program_of`. B225: MiniZinc of hyperplanes. F301: a file cannot be written.
    """
    told, _ = program_of(analysis, ask)
    write_text(path, text_of(told, to))
    if legend is not None:
        write_text(legend, json.dumps({"format": to, **told.to_json()}, indent=1) + "\n")
    return told.handed.size()


def pyomo_model(analysis: Analysis, ask: Ask) -> ConcreteModel:
    """A program as a Pyomo model, to be altered and solved by any means.

    It remembers of what it is the program, for `decode_pyomo`.

    Raises
    ------
    OdtError
        As `program_of`.
    """
    told, _ = program_of(analysis, ask)
    writer = back_end(able("write programs"), ask.variant)
    assert isinstance(writer, ProgramWriter), "its entry says that it writes programs"
    model = writer.to_pyomo(told.handed)
    setattr(model, _ORIGIN, (analysis, ask))
    return model


def is_pyomo(thing: object) -> bool:
    """Whether it is a model of `pyomo_model`, or a copy of one; Pyomo is not loaded to see it."""
    return hasattr(type(thing), "component_objects") and hasattr(thing, _ORIGIN)


def decode_pyomo(model: ConcreteModel) -> Result:
    """The audited model that the values of a Pyomo model stand for; without values they are 0.

    Variables that were added count for nothing. The objective is read from the values: that of the
    Pyomo model may have been changed.

    Raises
    ------
    OdtError
        U210: no variable has a value. Else as `decode_program`.
    """
    from odtdsl.driver.formulas.solution import Solution

    analysis, ask = getattr(model, _ORIGIN)
    values = dict(_named_values(model))
    if not values:
        raise error(
            "U210",
            "no variable of the Pyomo model has a value",
            helps=("solve it first, and load the solution into it",),
        )
    return decode_program(analysis, Solution(values=values), ask)


def _named_values(model: ConcreteModel) -> Iterator[tuple[str, float]]:
    """Values by the names that files have: `use[n0,age]`, whose kind is `use`, is `use(n0,age)`."""
    import pyomo.environ as pyo

    for group in model.component_objects(pyo.Var):
        if not group.doc:
            continue  # it was added
        for key, variable in group.items():
            if variable.value is not None:
                yield (f"{group.doc}({key})" if key else group.doc), float(variable.value)


_ORIGIN = "_odtdsl"
"""Where a Pyomo model remembers what it is the program of."""


def show_rule(analysis: Analysis, rule: str, ask: Ask) -> Iterator[str]:
    """The rows of a rule, as an LP file has them, below its sentence.

    Raises
    ------
    OdtError
        As `program_of`. U233: no rule of this name makes rows.
    """
    told, _ = program_of(analysis, ask)
    known = dict.fromkeys(shown_as(told))
    known.setdefault("objective")
    if rule not in known:
        declared = any(one.name == rule for one in analysis.problem.rules)
        raise error(
            "U233",
            f"rule `{rule}` makes no row of the program"
            if declared
            else f"the spec has no rule `{rule}`",
            notes=(("it leaves out or fixes columns, or holds anyway",) if declared else ()),
            helps=(f"the program has rows of {', '.join(f'`{one}`' for one in known)}",),
        )
    return rows_of(told, rule)


def decode_program(
    analysis: Analysis, solution: Solution, ask: Ask, to: str | None = None
) -> Result:
    """The audited model that a solution of a program stands for.

    Parameters
    ----------
    analysis
        The spec, resolved.
    solution
        What another solver wrote.
    ask
        As the program was written.
    to
        Its format, which a solution without names is read by.

    Returns
    -------
    Result
        `feasible`: what the other solver proved is not known here. Rows of rules that the
        solution breaks are told as warnings: the audit decides.

    Raises
    ------
    OdtError
        As `program_of`. U211: the solution has other columns. U212: it is no solution: a column
        that is not whole, or a row of the structure that does not hold. U230: the objective that
        it claims is not that of its values, or that of its model is worse.
    """
    began = time.monotonic()
    legend, core = program_of(analysis, ask)
    handed = legend.handed
    point = _point(legend, solution, to)
    warnings = tuple(_broken_rules(legend, point, _checked(legend, point)))
    raw = handed.decode(point)
    if raw is None:
        raise _no_solution("its values make no model", ())
    warnings += tuple(_claims(handed, core, raw, point, solution))
    model = to_predictor(core, analysis.rows, simplified(core, raw))
    return replace(
        answered(analysis, model, began, handed.size()), warnings=(*analysis.warnings, *warnings)
    )


# ---- is it a solution


def _point(legend: Legend, solution: Solution, to: str | None) -> FloatArray:
    """float64 (n_columns,), integer columns rounded; columns that are not told are 0."""
    handed = legend.handed
    index = {name: i for i, name in enumerate(handed.column_names)}
    point = np.zeros(len(index))
    if solution.indexed is not None:
        point = _by_index(handed, solution.indexed, to)
    for name, value in solution.values.items():
        if name not in index:
            raise error(
                "U211",
                f"the solution has a variable `{name}`, which the program does not have",
                helps=(
                    _SAME,
                    "to audit by a changed spec, decode with the one of the file and `--out"
                    " model.json`; then `odt audit changed.odt model.json`",
                ),
            )
        point[index[name]] = value
    whole = np.round(point)
    off = np.flatnonzero(handed.integer & (np.abs(point - whole) > INTEGRAL))
    if len(off):
        name = handed.column_names[off[0]]
        notes = (f"`{name}`: {legend.column(name)}",)
        said = f"`{name}` is {point[off[0]]:g}, and must be a whole number"
        raise _no_solution(said, notes)
    point[handed.integer] = whole[handed.integer]
    return point


def _by_index(handed: Handover, values: tuple[float, ...], to: str | None) -> FloatArray:
    """The values of a file without names, whose columns are numbered as the program's file."""
    if to not in ("lp", "mps"):
        raise error(
            "U211",
            "the solution numbers the columns of the file that the solver read, without names",
            helps=("say which file that was, by `--to lp` or `--to mps`, or use `glpsol -o`",),
        )
    if len(values) != len(handed.column_names):
        raise error(
            "U211",
            f"the solution has {len(values)} columns, but the program has"
            f" {len(handed.column_names)}",
            helps=(_SAME,),
        )
    point = np.zeros(len(values))
    order = lp_order(handed) if to == "lp" else list(range(len(values)))
    point[order] = values
    return point


def _checked(legend: Legend, point: FloatArray) -> list[int]:
    """Rows of rules that do not hold; raises for other rows, and for bounds of columns."""
    handed = legend.handed
    outside = (point < handed.column_lower - ROOM) | (point > handed.column_upper + ROOM)
    for column in np.flatnonzero(outside)[:1].tolist():
        name = handed.column_names[column]
        low, high = handed.column_lower[column], handed.column_upper[column]
        notes = (f"`{name}`: {legend.column(name)}",)
        raise _no_solution(f"`{name}` is {point[column]:g}, not from {low:g} to {high:g}", notes)
    products = np.concatenate([[0.0], np.cumsum(handed.values * point[handed.columns])])
    sums = products[handed.starts[1:]] - products[handed.starts[:-1]]
    widest = np.ones(len(sums))
    rows = np.repeat(np.arange(len(sums)), np.diff(handed.starts))
    np.maximum.at(widest, rows, np.abs(handed.values))
    room = ROOM * widest
    broken = np.flatnonzero((sums < handed.row_lower - room) | (sums > handed.row_upper + room))
    for row in broken.tolist():
        name = handed.row_names[row]
        if handed.origins[row].rule in STRUCTURE and row_kind(name) != LOOKAHEAD:
            raise _no_solution(f"it breaks row `{name}`", tuple(_told(legend, point, row)))
    return [row for row in broken.tolist() if handed.origins[row].rule not in STRUCTURE]


def _told(legend: Legend, point: FloatArray, row: int) -> Iterator[str]:
    """What a broken row says, and the values that break it."""
    handed = legend.handed
    if says := legend.row(handed.row_names[row]):
        yield says
    here = range(handed.starts[row], handed.starts[row + 1])
    alive = [i for i in here if point[handed.columns[i]]]
    for i in alive[:SHOWN]:
        name = handed.column_names[handed.columns[i]]
        yield f"`{name}` is {point[handed.columns[i]]:g}: {legend.column(name)}"
    if not alive:
        yield "all its variables are 0, or not in the file: it may have been cut short"
    if len(alive) > SHOWN:
        yield "..."


def _broken_rules(legend: Legend, point: FloatArray, rows: list[int]) -> Iterator[Diagnostic]:
    handed = legend.handed
    by_rule: dict[str, list[int]] = {}
    for row in rows:
        by_rule.setdefault(handed.origins[row].rule, []).append(row)
    for rule, mine in by_rule.items():
        name = handed.row_names[mine[0]]
        more = "" if len(mine) == 1 else f" and {len(mine) - 1} more"
        yield Diagnostic(
            code="U231",
            severity="warning",
            message=f"the solution breaks row `{name}`{more} of rule `{rule}`",
            notes=(legend.rule(rule),),
            helps=("the audit says whether the model breaks the rule",),
        )


def _claims(
    handed: Handover, core: Core, raw: RawModel, point: FloatArray, solution: Solution
) -> Iterator[Diagnostic]:
    """The claimed objective against the values, and the values against the model."""
    total = float(sum(value * point[column] for column, value in handed.cost.items()))
    room = 1e-4 * max(1.0, abs(total))
    if solution.objective is not None and abs(solution.objective - total) > room:
        raise error(
            "U230",
            f"the solution claims the objective {solution.objective:g}, but its values make "
            f"{total:g}",
            helps=(
                _SAME,
                "of a program whose objective was changed by hand, leave the claim out of the file",
            ),
        )
    seen = evaluated(core, raw)
    values = {part.stage: seen.stage_value(core.objective[part.stage]) for part in handed.parts}
    loose = 0.5 + sum(part.weight * part.loose for part in handed.parts)
    true = sum((part.weight * part.steps(values[part.stage]) for part in handed.parts), Fraction(0))
    if handed.parts and true > total + max(loose, room):
        raise error(
            "U230",
            f"the solution's values make the objective {total:g}, but that of its model is"
            f" {float(true):g}",
            helps=(_SAME,),
        )
    if handed.parts and true < total - max(loose, room):
        yield Diagnostic(
            code="U232",
            severity="warning",
            message=f"the model is better than the solution says: its objective is"
            f" {float(true):g} in the program's steps, and that of the values {total:g}",
            notes=("a solver that stopped early may leave `hit` below what the model reaches",),
        )


_SAME = (
    "use the same spec, data and options `--model`, `--bound` and `--weighted` as for `odt compile`"
)


def _no_solution(why: str, notes: tuple[str, ...]) -> OdtError:
    return error("U212", f"it is not a solution of the program: {why}", notes=notes, helps=(_SAME,))
