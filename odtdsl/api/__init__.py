"""The Python face of the language: parse or build a `Model`, then solve, compile or audit it.

Wherever a function takes a model, the text of a spec or a path to one does as well: a
`pathlib.Path`, or a string that ends in `.odt` and holds no line break.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from odtdsl.api import statements
from odtdsl.api.model import FileFormat, FilePath, FormulaFormat, Inputs, Model, Setting
from odtdsl.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.files import regular
from odtdsl.source import Source
from odtdsl.words import values
from odtdsl.words.values import Numeric

if TYPE_CHECKING:
    from odtdsl.analysis import Analysis
    from odtdsl.backends.base import Report
    from odtdsl.checker import Audit
    from odtdsl.comparing import Comparison
    from odtdsl.explaining import Curve, Explanation
    from odtdsl.near_optimal import Alternatives, Near
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree
    from odtdsl.proofs.check import Verified
    from odtdsl.result import Result
    from odtdsl.solving import Plan

__all__ = [
    "FilePath", "Inputs", "Model", "Setting", "alternatives", "audit", "check", "check_proof",
    "compare", "compile", "curve", "decode", "explain", "load", "load_model", "load_tree", "parse",
    "plan", "solve",
]  # fmt: skip

ModelLike = Model | str | os.PathLike[str]


def parse(text: str, *, name: str = "<text>", base: FilePath | None = None) -> Model:
    """The model of a text in the language.

    Parameters
    ----------
    text
        Statements; none gives an empty model.
    name
        What messages call the text.
    base
        The folder that paths in it are relative to; default the current one.

    Raises
    ------
    OdtError
        With a diagnostic for every statement that cannot be read.

    Examples
    --------
    >>> parse("drop id tree depth <= 3") == Model().drop("id").tree(depth=3)
    True
    """
    from odtdsl.syntax.parser import parse as parse_spec

    source = Source(name=name, text=text)
    return Model(parse_spec(source), source=source, base=base)


def load(path: FilePath) -> Model:
    """The model of a spec file; paths in it are relative to its folder.

    Raises
    ------
    OdtError
        F001 to F007: the file cannot be read; else as `parse`.
    """
    from odtdsl.syntax.files import read_source
    from odtdsl.syntax.parser import parse as parse_spec

    source = read_source(path)
    return Model(parse_spec(source), source=source, base=Path(path).parent)


def load_tree(path: FilePath) -> Tree:
    """A saved tree, from its JSON file or from that of a whole result.

    Raises
    ------
    OdtError
        F201 to F210: it cannot be read, or is no saved tree.
    """
    from odtdsl.predictors.tree import Tree

    found = load_model(path)
    if not isinstance(found, Tree):
        raise error("F204", f"{os.fspath(path)} is a saved diagram, and a tree is asked for")
    return found


def load_model(path: FilePath) -> Tree | Diagram:
    """A saved tree or diagram, from its JSON file or from that of a whole result.

    Raises
    ------
    OdtError
        F201 to F210: it cannot be read, or is neither.
    """
    from odtdsl.predictors.json import parsed, read_bytes
    from odtdsl.predictors.saving import from_json

    name = os.fspath(path)
    value = parsed(read_bytes(path), name)
    if isinstance(value, dict) and "format" not in value and isinstance(value.get("model"), dict):
        value = value["model"]
    return from_json(value, name=name)


def check(model: ModelLike, **inputs: Unpack[Inputs]) -> tuple[Diagnostic, ...]:
    """All mistakes and warnings of a spec and its data, without solving.

    Mistakes never raise here. A problem that is well stated but beyond every back end gives
    the back ends' reasons, as errors with codes that begin with B.

    Parameters
    ----------
    model
        A model, a text or a path.
    inputs
        As in `Inputs`: rows, files and settings instead of those of the model.

    Examples
    --------
    >>> for mistake in check("tagret y  drop id"):
    ...     print(mistake.code, mistake.message)
    S002 no statement starts with `tagret`
    """
    from odtdsl.terms.normalize import normalize

    warnings: tuple[Diagnostic, ...] = ()
    try:
        analysis = _model(model).analyse(**inputs)
        warnings = analysis.warnings
        normalize(analysis.rows)
    except OdtError as failure:
        return (*warnings, *failure.diagnostics)
    return warnings


def plan(
    model: ModelLike, *, using: str | None = None,
    encoding: Literal["ordered", "paper"] | None = None, solver: str | None = None,
    **inputs: Unpack[Inputs],
) -> Plan:  # fmt: skip
    """Which back end would run and why, and the size of its encoding.

    Parameters
    ----------
    model
        A model, a text or a path.
    using
        A back end instead of that of the model.
    encoding, solver
        As in `solve`.
    inputs
        As in `Inputs`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data.
    """
    from odtdsl import solving

    return solving.plan(
        _model(model).analyse(**inputs), backend=using, formulation=encoding, solver=solver
    )


def solve(
    model_or_spec: ModelLike, /, *, using: str | None = None,
    model: Literal["pattern", "subtrees", "cptree"] | None = None,
    encoding: Literal["ordered", "paper"] | None = None, solver: str | None = None,
    within: Numeric | timedelta | str | None = None, gap: Numeric | str | None = None,
    threads: int | None = None, seed: int | None = None, memory: str | None = None,
    start: Tree | Diagram | FilePath | None = None, progress: Report | None = None,
    proof: FilePath | None = None, **inputs: Unpack[Inputs],
) -> Result:  # fmt: skip
    """Solve a model: a tree with a proven status, audited rule by rule.

    Arguments override the `solve` statement of the spec.

    Parameters
    ----------
    model_or_spec
        A model, a text or a path.
    using
        `"auto"`, or a back end by name.
    model
        Of `milp`: the formulation, `"pattern"` (default), `"subtrees"` or `"cptree"`.
    encoding, solver
        Of `sat`: `"ordered"` (default) or `"paper"`, and the name of a solver of python-sat;
        `"rc2"` makes sums least by MaxSAT.
    within
        Wall time in seconds, or a text such as `"2 min"`.
    gap
        The relative gap at which to stop: 0.01 or `"1%"`.
    threads, seed
        Processor threads; the seed of all choices.
    memory
        A limit such as `"4 GB"`.
    start
        A tree, or the path of a saved one, to start from.
    progress
        Called with every improvement of incumbent or bound.
    proof
        A file for a proof that nothing is better, which `check_proof` checks; the back end is
        `sat` then. Where none could be written, the result has a warning (P201, P202).
    inputs
        As in `Inputs`: `frame`, `test_frame`, `data`, `test`, `settings`.

    Returns
    -------
    Result
        Also where no tree was found, or none keeps all rules: see its `status`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; B codes where no back end expresses the problem.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "no", "yes", "yes"]}
    >>> result = solve("data frame target sick tree depth <= 1 minimize errors", frame=rows)
    >>> result.status, int(result.objective)
    ('optimal', 0)
    >>> result.tree.predict({"age": [25, 70]}).tolist()
    ['no', 'yes']
    """
    from odtdsl import solving
    from odtdsl.backends.variants import named, owner

    spec = _model(model_or_spec)
    seconds, relative_gap, memory_bytes = _limits(within, gap, memory)
    analysis = spec.analyse(**inputs)
    formulation = named(model=model, encoding=encoding)
    chosen = using or owner(formulation, solver)
    began = time.monotonic()
    if proof is not None:
        chosen = _proving(analysis, chosen, Path(proof))
    result = solving.solve(
        analysis, backend=chosen, formulation=formulation, solver=solver,
        seconds=seconds, gap=relative_gap, threads=threads, seed=seed, memory_bytes=memory_bytes,
        start=_start(start, spec, analysis), report=progress,
    )  # fmt: skip
    if proof is None:
        return result
    from odtdsl.proofs.commands import log

    return log(analysis, result, Path(proof), began, seconds)[0]


def alternatives(
    model_or_spec: ModelLike, /, *, near: Numeric | str | None = None, most: int = 1000,
    using: str | None = None, within: Numeric | timedelta | str | None = None,
    threads: int | None = None, seed: int | None = None, memory: str | None = None,
    start: Tree | Diagram | FilePath | None = None, progress: Report | None = None,
    **inputs: Unpack[Inputs],
) -> Alternatives:  # fmt: skip
    """The distinct trees that are as good as the best one, or nearly so, and what they share.

    Two trees that predict alike everywhere count once: see `docs/how-to/alternatives.md`.

    Parameters
    ----------
    model_or_spec
        A model, a text or a path.
    near
        How far the first stage of the objective may be from its best value: a number in its
        units, `"1%"` of the best value, or `"3 errors"`. By default, all stages must have their
        best values.
    most
        Distinct trees to list at most, the best ones first.
    using
        `"auto"` or `"exact"`: no other back end lists trees.
    within, threads, seed, memory, start, progress, inputs
        As in `solve`. The limits are for the search and the list together.

    Returns
    -------
    Alternatives
        At a limit or on Ctrl-C with what was found, and `complete` false.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; B102, B103 where trees cannot be listed; U313, U314 for
        a tolerance that is none, or in errors where the objective does not count them.

    Examples
    --------
    >>> rows = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "y": ["n", "n", "p", "p"]}
    >>> found = alternatives("data frame target y tree depth <= 1 minimize errors", frame=rows)
    >>> len(found.trees), found.complete, found.shared
    (2, True, ())
    """
    from odtdsl import near_optimal

    spec = _model(model_or_spec)
    seconds, _, memory_bytes = _limits(within, None, memory)
    count = near_optimal.at_least_one(values.whole(most, "most"))
    analysis = spec.analyse(**inputs)
    return near_optimal.alternatives(
        analysis, near=_near(near), most=count, backend=using, seconds=seconds, threads=threads,
        seed=seed, memory_bytes=memory_bytes,
        start=_start(start, spec, analysis), report=progress,
    )  # fmt: skip


def compare(
    model: ModelLike, /, *, backends: Iterable[str] | None = None,
    within: Numeric | timedelta | str | None = None, gap: Numeric | str | None = None,
    threads: int | None = None, seed: int | None = None, **inputs: Unpack[Inputs],
) -> Comparison:  # fmt: skip
    """Solve a model on every back end that can, and hold their proofs to each other.

    Parameters
    ----------
    model
        A model, a text or a path.
    backends
        Names instead of all; `"milp (cptree)"` and `"sat (paper)"` are the studies'
        formulations, `"sat (glucose4)"` is another solver.
    within
        Wall time of each run, in seconds or as a text such as `"2 min"`.
    gap, threads, seed
        As in `solve`.
    inputs
        As in `Inputs`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; X102 where proven answers disagree.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "no", "yes", "yes"]}
    >>> found = compare("data frame target sick tree depth <= 1 minimize errors", frame=rows)
    >>> found.status, [int(result.objective) for result in found.ran]
    ('optimal', [0, 0, 0, 0, 0, 0])
    """
    from odtdsl import comparing

    seconds, relative_gap, _ = _limits(within, gap, None)
    return comparing.compare(
        _model(model).analyse(**inputs), backends=backends, seconds=seconds, gap=relative_gap,
        threads=threads, seed=seed,
    )  # fmt: skip


def explain(
    model: ModelLike, /, *, using: str | None = None,
    within: Numeric | timedelta | str | None = None, memory: str | None = None, most: int = 1,
    deeper: int = 1, **inputs: Unpack[Inputs],
) -> Explanation:  # fmt: skip
    """Why no tree keeps all rules of a model, and what would do; or what each rule costs.

    Parameters
    ----------
    model
        A model, a text or a path.
    using
        A back end instead of that of the model.
    within, memory
        As in `solve`.
    most
        How many minimal conflicts to look for, the smallest first.
    deeper
        The depth counts as relaxed where so many levels more are allowed.
    inputs
        As in `Inputs`.

    Returns
    -------
    Explanation
        `undecided` where a limit was met: nothing is said that is not proven.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; B codes where no back end expresses the problem.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "yes", "no", "yes"]}
    >>> found = explain(
    ...     "data frame target sick tree depth <= 2 minimize errors "
    ...     "rule all_right: errors <= 0 rule large: forall leaf: size >= 2",
    ...     frame=rows,
    ... )
    >>> found.status, found.conflicts[0].names
    ('infeasible', ('all_right', 'large'))
    >>> [one.says for one in found.nearest]
    ['`all_right` would hold from 2 on', '`large` would hold up to 1']
    >>> found = explain(
    ...     "data frame target sick tree depth <= 3 minimize errors "
    ...     "rule large: forall leaf: size >= 2",
    ...     frame=rows,
    ... )
    >>> [(one.name, one.binds, int(one.price[0].low)) for one in found.prices.prices]
    [('large', True, 2), ('tree depth', False, 0)]
    """
    from odtdsl.explaining import explain as explained

    seconds, _, memory_bytes = _limits(within, None, memory)
    return explained(
        _model(model).analyse(**inputs), backend=using, seconds=seconds,
        memory_bytes=memory_bytes, most=most, deeper=deeper,
    )  # fmt: skip


def curve(
    model: ModelLike, rule: str, /, *, using: str | None = None,
    within: Numeric | timedelta | str | None = None, memory: str | None = None,
    points: int = 200, jobs: int = 1, **inputs: Unpack[Inputs],
) -> Curve:  # fmt: skip
    """The objective against the bound of a rule: every trade-off between the two, each proven.

    Parameters
    ----------
    model
        A model, a text or a path.
    rule
        The name of a rule that compares a measure with a number; `"leaves"` or `"depth"` for a
        bound of the skeleton.
    using
        A back end instead of that of the model.
    within, memory
        As in `solve`; the time is of the whole.
    points
        At most so many, from the loosest bound.
    jobs
        Processes, by joblib; the points do not depend on it.
    inputs
        As in `Inputs`.

    Returns
    -------
    Curve
        Also where limits ended it: see `complete` and `ended`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; U310, U311: no such rule, or none with a bound; B
        codes where no back end expresses the problem.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "yes", "no", "yes"]}
    >>> found = curve(
    ...     "data frame target sick tree depth <= 3 minimize errors "
    ...     "rule large: forall leaf: size >= 2",
    ...     "large", frame=rows,
    ... )
    >>> [(int(point.measure), int(point.objective[0])) for point in found.points]
    [(1, 0), (4, 2)]
    >>> found.complete, int(found.at().objective[0])
    (True, 2)
    """
    from odtdsl.explaining import trace

    seconds, _, memory_bytes = _limits(within, None, memory)
    return trace(
        _model(model).analyse(**inputs), rule, backend=using, seconds=seconds,
        memory_bytes=memory_bytes, points=points, jobs=jobs,
    )  # fmt: skip


def compile(
    spec: ModelLike, path: FilePath, /, *, to: FileFormat | None = None,
    model: Literal["pattern", "subtrees", "cptree"] | None = None, depth: int | None = None,
    bound: Numeric | Iterable[Numeric] = (), **inputs: Unpack[Inputs],
) -> dict[str, int]:  # fmt: skip
    """Write a model as a file that other solvers and people can read.

    Parameters
    ----------
    spec
        A model, a text or a path.
    path
        The file to write, whole or not at all.
    to
        A mixed-integer program: `"lp"` or `"mps"`; a formula: `"cnf"` (is there a tree that
        keeps the rules?), `"wcnf"` (MaxSAT) or `"opb"` (pseudo-Boolean), both with the
        objective. Default by the ending of the file, else `"lp"`.
    model
        The formulation of programs, `"pattern"` (default), `"subtrees"` or `"cptree"`.
    depth
        Of formulas: a bound beside that of the model, which needs one or the other.
    bound
        Of formulas: the objective is as good as this, or better; of several stages the first
        ones.
    inputs
        As in `Inputs`.

    Returns
    -------
    dict
        The size of the encoding: counts of variables, rows, clauses and so on by name.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; B codes: the encoding cannot express the problem;
        F301: the file cannot be written.
    """
    from odtdsl import solving

    form = to or solving.format_of(Path(path))
    return dict(
        solving.compile_to(
            _model(spec).analyse(**inputs), Path(path), form, model, depth=depth,
            bounds=_bounds(bound),
        )
    )  # fmt: skip


def decode(
    spec: ModelLike, assignment: FilePath | Iterable[int], /, *,
    to: FormulaFormat | None = None, depth: int | None = None,
    bound: Numeric | Iterable[Numeric] = (), **inputs: Unpack[Inputs],
) -> Result:  # fmt: skip
    """The audited tree that another solver's model of a formula of `compile` stands for.

    Parameters
    ----------
    spec
        A model, a text or a path.
    assignment
        The file that the solver wrote or printed, or literals: variables that are true, and
        negatives of those that are false. Variables without a value count as false.
    to, depth, bound
        As the formula was compiled. `to` is by default what the file looks like; `"cnf"` for
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
        no model; U211, U212: the assignment is no model of the formula.

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
    from odtdsl import formulas
    from odtdsl.sat import assignment as assignments

    if isinstance(assignment, str | os.PathLike):
        read = assignments.read(Path(assignment))
    else:
        read = assignments.of_literals(assignment)
    return formulas.decode(
        _model(spec).analyse(**inputs), read, to=to, depth=depth, bounds=_bounds(bound)
    )


def _bounds(bound: Numeric | Iterable[Numeric]) -> tuple[Fraction, ...]:
    found = []
    for one in bound if isinstance(bound, Iterable) else (bound,):
        value = values.exact(one)
        if value is None:
            raise values.wrong("a bound", one, "give a number, or one per stage")
        found.append(value)
    return tuple(found)


def audit(
    tree: Tree | Diagram | Result | FilePath, model: ModelLike, **inputs: Unpack[Inputs]
) -> Audit:
    """Check a tree or diagram against a model and its data, by code without solvers.

    Parameters
    ----------
    tree
        A tree or a diagram, a result that has one, or the path of a saved one.
    model
        A model, a text or a path.
    inputs
        As in `Inputs`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; F201 to F210: the file holds no tree; U301: the
        tree is not one for this problem; U401: there is no tree.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "no", "yes", "yes"]}
    >>> model = Model().data(rows).target("sick").tree(depth=1).minimize("errors")
    >>> found = audit(model.solve(), model.rule("big", "forall leaf: size >= 3"))
    >>> [(line.rule, line.holds) for line in found.lines if line.rule == "big"]
    [('big', False)]
    """
    from odtdsl import checker

    return checker.audit(_either(tree), _model(model).analyse(**inputs).rows)


def check_proof(
    proof: FilePath, model: ModelLike, tree: Tree | Result | FilePath | None = None,
    **inputs: Unpack[Inputs],
) -> tuple[Verified, ...]:  # fmt: skip
    """Check a proof that nothing is better, step by step: see `docs/how-to/proofs.md`.

    Parameters
    ----------
    proof
        A file that `solve(..., proof=...)` or `odt solve --proof` has written.
    model
        A model, a text or a path.
    tree
        A tree, a result or a path: the proof must show that it is optimal, too. That it keeps
        all rules is for `audit` to say.
    inputs
        As in `Inputs`.

    Returns
    -------
    tuple of Verified
        What is proven, part by part.

    Raises
    ------
    OdtError
        P101 to P107: the proof is none, or proves nothing of this model. P108: it does not show
        that the tree is optimal. P202: interrupted.

    Examples
    --------
    >>> rows = {"age": [20, 30, 40, 50], "sick": ["no", "yes", "no", "yes"]}
    >>> spec = Model().data(rows).target("sick").add("tree").minimize("depth")
    >>> spec = spec.rule("exact", "errors <= 0")
    >>> result = spec.solve(proof="/dev/null")
    >>> result.objective, result.backend
    (Fraction(2, 1), 'sat')
    """
    from odtdsl import checker
    from odtdsl.proofs.commands import shortfalls, verify

    analysis = _model(model).analyse(**inputs)
    found = verify(analysis, Path(proof))
    if tree is not None:
        audited = checker.audit(_either(tree), analysis.rows)
        if short := shortfalls(analysis, audited, found):
            raise OdtError(short)
    return found


def _proving(analysis: Analysis, using: str | None, path: Path) -> str:
    from odtdsl.files import check_writable
    from odtdsl.proofs.commands import back_end

    check_writable(path)
    return back_end(analysis, using)


def _model(model: ModelLike) -> Model:
    if isinstance(model, Model):
        return model
    if isinstance(model, os.PathLike):
        return load(model)
    if isinstance(model, str):
        is_path = model.endswith(".odt") and "\n" not in model and "\r" not in model
        return load(model) if is_path else parse(model)
    raise values.wrong("a model", model, "give a Model, the text of a spec, or a path")


def _either(tree: Tree | Diagram | Result | FilePath) -> Tree | Diagram:
    from odtdsl.predictors.diagram import Diagram
    from odtdsl.predictors.tree import Tree
    from odtdsl.result import Result

    if isinstance(tree, Result) and tree.model is not None:
        return tree.model
    if isinstance(tree, Tree | Diagram):
        return tree
    if isinstance(tree, str | os.PathLike):
        return load_model(tree)
    raise values.wrong("a tree", tree, "give a tree, a result that has one, or a path")


def _start(
    start: Tree | Diagram | FilePath | None, model: Model, analysis: Analysis
) -> Tree | Diagram | None:
    """The model to start from: the caller's, else that of the spec, relative to its folder."""
    if start is not None:
        return _either(start)
    named = analysis.problem.options.start
    return None if named is None else load_model(regular((model.base or Path()) / named))


def _near(near: Numeric | str | None) -> Near | None:
    """A tolerance: a text as on the command line, or a number in units of the objective."""
    from odtdsl.near_optimal import Near, parse_near

    if near is None or isinstance(near, str):
        return None if near is None else parse_near(near)
    amount = values.exact(near)
    if amount is None or amount < 0:
        raise values.wrong("near", near, 'write a number from 0, `"1%"`, or `"3 errors"`')
    return Near(amount=amount, of="value", text=str(near))


def _limits(
    within: Numeric | timedelta | str | None, gap: Numeric | str | None, memory: str | None
) -> tuple[float | None, Fraction | None, int | None]:
    """Limits as the `solve` statement reads them: seconds, relative gap, bytes."""
    if within is None and gap is None and memory is None:
        return None, None, None
    from odtdsl.analysis.desk import Desk
    from odtdsl.analysis.skeleton import options

    said = statements.options(
        using=None, within=within, gap=gap, threads=None, seed=None, memory=memory, start=None
    )
    desk = Desk(None)
    found = options([said], desk)
    desk.check()
    relative = None if gap is None else found.gap
    return found.seconds, relative, found.memory_bytes
