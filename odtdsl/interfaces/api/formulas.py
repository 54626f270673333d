"""Models as files for other solvers, and their answers read back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, cast, overload

from odtdsl.base.files import as_path
from odtdsl.interfaces.api.inputs import FileFormat, FilePath, Inputs
from odtdsl.interfaces.api.reading import ModelLike, spec_of
from odtdsl.words import values
from odtdsl.words.values import Numeric

if TYPE_CHECKING:
    from pyomo.core.base import ConcreteModel

    from odtdsl.driver.result import Result


@overload
def compile(
    spec: ModelLike,
    path: FilePath,
    /,
    *,
    to: FileFormat | None = None,
    model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
    depth: int | None = None,
    bound: Numeric | Iterable[Numeric] = (),
    weighted: bool = False,
    legend: FilePath | None = None,
    **inputs: Unpack[Inputs],
) -> dict[str, int]: ...


@overload
def compile(
    spec: ModelLike,
    path: None = None,
    /,
    *,
    to: Literal["pyomo"],
    model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
    bound: Numeric | Iterable[Numeric] = (),
    weighted: bool = False,
    **inputs: Unpack[Inputs],
) -> ConcreteModel: ...


def compile(
    spec: ModelLike,
    path: FilePath | None = None,
    /,
    *,
    to: FileFormat | Literal["pyomo"] | None = None,
    model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
    depth: int | None = None,
    bound: Numeric | Iterable[Numeric] = (),
    weighted: bool = False,
    legend: FilePath | None = None,
    **inputs: Unpack[Inputs],
) -> dict[str, int] | ConcreteModel:
    """Write a model as a file that other solvers and people can read, or as a Pyomo model.

    Parameters
    ----------
    spec
        A model, a text or a path.
    path
        The file to write, whole or not at all. None for a Pyomo model.
    to
        `"pyomo"`: a `ConcreteModel` of the program, to be altered and solved; `decode(model)` then
        takes its values. The column `use(n0,age)` of files is `model.use["n0,age"]`, the rows of a
        rule `budget` are `model.rule_budget`. Where there is a `model.lookahead`, deactivate it
        before you loosen a rule: it was computed under the rules.
        A mixed-integer program: `"lp"`, `"mps"` or `"mzn"` (MiniZinc); a formula: `"cnf"` (is
        there a tree that satisfies the rules?), `"wcnf"` (MaxSAT) or `"opb"` (pseudo-Boolean),
        both with the objective. Default by the ending of the file, else `"lp"`.
    model
        The formulation of programs, `"pattern"` (default), `"subtrees"`, or a study's: `"cptree"`,
        `"odd"`.
    depth
        Of formulas: a bound beside that of the model, which needs one or the other.
    bound
        The objective is as good as this, or better; of several stages the first ones. A program
        minimizes the stage after them.
    weighted
        Of programs: all stages that are left are minimized as one sum, in which a step of one
        weighs more than all that the later ones can add.
    legend
        Where to write, as JSON, what every variable and row says.
    inputs
        As in `Inputs`.

    Returns
    -------
    dict or ConcreteModel
        The size of the encoding: counts of variables, rows, clauses and so on by name. With
        `to="pyomo"` the model.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; B codes: the encoding cannot express the problem;
        F301: the file cannot be written; U401: a file and `to="pyomo"`, or neither.
    """
    from odtdsl.base.back_ends import variant
    from odtdsl.driver.formulas import formats, programs

    if to == "pyomo":
        if path is not None or legend is not None or depth is not None:
            why = "a Pyomo model is no file, and a program has the depth of its spec"
            raise values.wrong("the model", path or legend or depth, f"leave it out: {why}")
        ask = programs.Ask(variant=variant(model=model), bounds=_bounds(bound), weighted=weighted)
        return programs.pyomo_model(spec_of(spec).analyse(**inputs), ask)
    if path is None:
        raise values.wrong("the file", path, 'name one, or write to="pyomo"')
    form = to or formats.format_of(as_path(path))
    return dict(
        formats.compile_to(
            spec_of(spec).analyse(**inputs),
            as_path(path),
            form,
            variant(model=model),
            depth=depth,
            bounds=_bounds(bound),
            weighted=weighted,
            legend=None if legend is None else as_path(legend, "legend"),
        )
    )


def decode(
    spec: ModelLike | ConcreteModel,
    assignment: FilePath | Iterable[int] | Mapping[str, float] | None = None,
    /,
    *,
    to: FileFormat | None = None,
    model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
    depth: int | None = None,
    bound: Numeric | Iterable[Numeric] = (),
    weighted: bool = False,
    **inputs: Unpack[Inputs],
) -> Result:
    """The audited tree or diagram of another solver's answer to a file of `compile`.

    Parameters
    ----------
    spec
        A model, a text or a path. Or a solved Pyomo model of `compile`, or a copy of it, which
        knows of what it is the program; then nothing else is given.
    assignment
        The file that the solver wrote or printed. Or, of a formula, literals: variables that are
        true, and negatives of those that are false; of a program, values by the names of its
        variables. Variables without a value count as false, or 0.
    to, model, depth, bound, weighted
        As the file was compiled. `to` is by default what the answer looks like; `"cnf"` for
        literals.
    inputs
        As in `Inputs`.

    Returns
    -------
    Result
        With the status `feasible`: what the other solver proved is not known here.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; F220, F221: the file cannot be read; U210: it holds
        no model; U211, U212: the assignment is no model of the formula, or no solution of the
        program; U230: it claims an objective that it does not have.

    Examples
    --------
    >>> import os, tempfile
    >>> from pysat.formula import CNF
    >>> from pysat.solvers import Minisat22
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "yes", "yes", "no"]}
    >>> model = Model().data(rows).target("sick").tree(depth=2).minimize("errors")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.cnf")
    ...     _ = compile(model, path, bound=0)
    ...     clauses = CNF(from_file=path).clauses
    >>> with Minisat22(bootstrap_with=clauses) as solver:
    ...     result = decode(model, solver.get_model() if solver.solve() else [], bound=0)
    >>> result.audit.holds, int(result.objective), result.tree.n_leaves
    (True, 0, 3)
    """
    from odtdsl.base.back_ends import variant
    from odtdsl.driver.formulas import assignment as assignments
    from odtdsl.driver.formulas import files, formats, programs
    from odtdsl.driver.formulas.solution import Solution

    if programs.is_pyomo(spec):
        return programs.decode_pyomo(cast("ConcreteModel", spec))
    if assignment is None:
        raise values.wrong("the answer", assignment, "pass a file, literals or values")
    spec = cast("ModelLike", spec)
    bounds = _bounds(bound)
    if isinstance(assignment, str | os.PathLike):
        path = Path(assignment)
        return formats.decode_text(
            spec_of(spec).analyse(**inputs),
            assignments.read_text(path),
            path,
            to,
            variant(model=model),
            depth=depth,
            bounds=bounds,
            weighted=weighted,
        )
    if not isinstance(assignment, Iterable):
        raise values.wrong("the answer", assignment, "pass a file, literals or values")
    analysis = spec_of(spec).analyse(**inputs)
    if isinstance(assignment, Mapping):
        ask = programs.Ask(variant=variant(model=model), bounds=bounds, weighted=weighted)
        named = {str(name): float(value) for name, value in assignment.items()}
        return programs.decode_program(analysis, Solution(values=named), ask)
    return files.decode(
        analysis,
        assignments.of_literals(assignment),
        to=None if to is None else formats.formula_format(to),
        depth=depth,
        bounds=bounds,
    )


def _bounds(bound: Numeric | Iterable[Numeric]) -> tuple[Fraction, ...]:
    found = []
    for one in bound if isinstance(bound, Iterable) else (bound,):
        value = values.exact(one)
        if value is None:
            raise values.wrong("a bound", one, "pass a number, or one per stage")
        found.append(value)
    return tuple(found)


__all__ = ["compile", "decode"]
