"""Check, plan and solve a model, list its good trees, compare back ends."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.files import as_path
from odtdsl.interfaces.api.inputs import FilePath, Inputs
from odtdsl.interfaces.api.options import (
    analysed,
    cluster_of,
    limits_of,
    near_of,
    options_of,
    report_of,
    start_of,
    steady_of,
)
from odtdsl.interfaces.api.reading import ModelLike, spec_of
from odtdsl.words import values
from odtdsl.words.values import Numeric

if TYPE_CHECKING:
    from odtdsl.backends.base import Report
    from odtdsl.compiler import Analysis
    from odtdsl.driver.alternatives import Alternatives
    from odtdsl.driver.comparison import Comparison
    from odtdsl.driver.pipeline import Plan
    from odtdsl.driver.result import Result
    from odtdsl.predictors.predictor import Predictor


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
    from odtdsl.problem.terms.normalize import normalize

    warnings: tuple[Diagnostic, ...] = ()
    try:
        analysis = spec_of(model).analyse(**inputs)
        warnings = analysis.warnings
        normalize(analysis.rows)
    except OdtError as failure:
        return (*warnings, *failure.diagnostics)
    return warnings


def plan(
    model: ModelLike,
    *,
    using: str | None = None,
    encoding: Literal["ordered", "paper"] | None = None,
    solver: str | None = None,
    options: Mapping[str, str | int] | None = None,
    **inputs: Unpack[Inputs],
) -> Plan:
    """Which back end would run and why, and the size of its encoding.

    Parameters
    ----------
    model
        A model, a text or a path.
    using
        A back end instead of that of the model.
    encoding, solver, options
        As in `solve`.
    inputs
        As in `Inputs`.

    Raises
    ------
    OdtError
        With all mistakes of spec and data.
    """
    from odtdsl.driver import pipeline

    asked = options_of(options, encoding=encoding, solver=solver)
    return pipeline.plan(spec_of(model).analyse(**inputs), backend=using, variant=asked)


def solve(
    model_or_spec: ModelLike,
    /,
    *,
    using: str | None = None,
    model: Literal["pattern", "subtrees", "cptree", "odd"] | None = None,
    encoding: Literal["ordered", "paper"] | None = None,
    solver: str | None = None,
    options: Mapping[str, str | int] | None = None,
    within: Numeric | timedelta | str | None = None,
    gap: Numeric | str | None = None,
    steady: Numeric | timedelta | str | None = None,
    threads: int | None = None,
    seed: int | None = None,
    memory: str | None = None,
    start: Predictor | FilePath | None = None,
    progress: Report | None = None,
    proof: FilePath | None = None,
    client: object = None,
    **inputs: Unpack[Inputs],
) -> Result:
    """Solve a model: a tree with a proven status, audited rule by rule.

    Arguments override the `solve` statement of the spec.

    Parameters
    ----------
    model_or_spec
        A model, a text or a path.
    using
        `"auto"`, or a back end by name.
    model
        Of `milp`: the formulation, `"pattern"` (default) or `"subtrees"`, or that of a study,
        `"cptree"` or `"odd"`.
    encoding, solver
        Of `sat`: `"ordered"` (default) or `"paper"`, and the name of a solver of python-sat;
        `"rc2"` makes sums least by MaxSAT.
    options
        Any options of one back end by their names, such as `{"solver": "rc2"}`; what is given both
        ways is taken from here.
    within
        Wall time in seconds, or a text such as `"2 min"`.
    gap
        The relative gap at which to stop: 0.01 or `"1%"`; from 1 on in units of the objective.
    steady
        Stop when no better model has come for so long: seconds, or a text such as `"10 s"`.
    threads, seed
        Processor threads; the seed of all choices.
    memory
        A limit such as `"4 GB"`.
    start
        A tree, or the path of a saved one, to start from.
    progress
        Called with every improvement of incumbent or bound.
    proof
        A file for a proof that nothing is better, which `check_proof` checks: a certificate of
        `exact` where it covers the problem and depth is not the first objective, else a proof of
        `sat`, unless `using` names one of the two. Where none could be written, the result has a
        warning (P201, P202).
    client
        A `distributed.Client`, whose workers share the search with this process; see
        `docs/how-to/cluster.md`.
    inputs
        As in `Inputs`: `frame`, `test_frame`, `data`, `test`, `settings`.

    Returns
    -------
    Result
        Also where no tree was found, or none satisfies all rules: see its `status`.

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
    from odtdsl.driver import pipeline

    began = time.monotonic()
    spec = spec_of(model_or_spec)
    report = report_of(progress)
    seconds, relative_gap, memory_bytes = limits_of(within, gap, memory, threads, seed)
    analysis = analysed(spec, began, seconds, inputs)
    asked = options_of(options, model=model, encoding=encoding, solver=solver)
    chosen = using or asked.owner
    if proof is not None:
        chosen = _proving(analysis, chosen, as_path(proof, "proof"))
    from odtdsl.insight.proofs.commands import ledger_of, log

    ledger = None if proof is None else ledger_of(chosen)
    result = pipeline.solve(
        analysis,
        backend=chosen,
        variant=asked,
        seconds=seconds,
        gap=relative_gap,
        steady=steady_of(steady),
        threads=threads,
        seed=seed,
        memory_bytes=memory_bytes,
        start=start_of(start, spec, analysis),
        report=report,
        began=began,
        ledger=ledger,
        cluster=cluster_of(client),
    )
    if proof is None:
        return result
    return log(analysis, result, as_path(proof, "proof"), began, seconds, ledger)[0]


def alternatives(
    model_or_spec: ModelLike,
    /,
    *,
    near: Numeric | str | None = None,
    most: int = 1000,
    count: bool = False,
    only_count: bool = False,
    using: str | None = None,
    within: Numeric | timedelta | str | None = None,
    threads: int | None = None,
    seed: int | None = None,
    memory: str | None = None,
    start: Predictor | FilePath | None = None,
    progress: Report | None = None,
    proof: FilePath | None = None,
    **inputs: Unpack[Inputs],
) -> Alternatives:
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
    count
        Whether to count all trees, however many there are, and those that do without each
        feature: `raw`, `counts` and `without` of the answer, and what `reliance()` calls needed.
    only_count
        The same without a list: trees that predict alike are counted once up to `most`.
    using
        `"auto"` or `"exact"`: no other back end lists trees.
    within, threads, seed, memory, start, progress, inputs
        As in `solve`. The limits are for the search and the list together.
    proof
        A file for a certificate that no tree is missing, which `check_proof` checks. Where none
        could be written, as the list is not complete, its result has a warning (P201, P202).

    Returns
    -------
    Alternatives
        At a limit or on Ctrl-C with what was found, and `complete` false.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; B102, B103 where trees cannot be listed; U313, U314 for
        a tolerance that is none, or in errors where the objective does not count them; P203 where
        no certificate covers lists of trees of the problem.

    Examples
    --------
    >>> rows = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "y": ["n", "n", "p", "p"]}
    >>> found = alternatives("data frame target y tree depth <= 1 minimize errors", frame=rows)
    >>> len(found.trees), found.complete, found.shared
    (2, True, ())
    """
    from odtdsl.driver import alternatives as near_optimal

    began = time.monotonic()
    spec = spec_of(model_or_spec)
    report = report_of(progress)
    seconds, _, memory_bytes = limits_of(within, None, memory, threads, seed)
    most = near_optimal.at_least_one(values.whole(most, "most"))
    analysis = analysed(spec, began, seconds, inputs)
    if proof is not None:
        from odtdsl.base.files import check_writable
        from odtdsl.insight.proofs.covered import require_covered
        from odtdsl.problem.terms.normalize import normalize

        check_writable(as_path(proof, "proof"))
        require_covered(normalize(analysis.rows), listing=True)
    found = near_optimal.alternatives(
        analysis,
        near=near_of(near),
        most=most,
        tell=not only_count,
        count=count,
        backend=using,
        seconds=seconds,
        threads=threads,
        seed=seed,
        memory_bytes=memory_bytes,
        start=start_of(start, spec, analysis),
        report=report,
        began=began,
    )
    if proof is None:
        return found
    from odtdsl.insight.proofs.commands import log_list

    return log_list(analysis, found, as_path(proof, "proof"), began, seconds, named=not only_count)[
        0
    ]


def compare(
    model: ModelLike,
    /,
    *,
    backends: Iterable[str] | None = None,
    within: Numeric | timedelta | str | None = None,
    gap: Numeric | str | None = None,
    threads: int | None = None,
    seed: int | None = None,
    **inputs: Unpack[Inputs],
) -> Comparison:
    """Solve a model on every back end that can, and hold their proofs to each other.

    Parameters
    ----------
    model
        A model, a text or a path.
    backends
        Names instead of all; `"milp (cptree)"` and `"sat (paper)"` are the studies'
        formulations, `"sat (glucose4)"` is another solver.
    within
        Wall time of each run, in seconds or as a text such as `"2 min"`; reading and analysis
        have as much.
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
    >>> found.status, {int(result.objective) for result in found.ran}
    ('optimal', {0})
    """
    from odtdsl.driver import comparison

    began = time.monotonic()
    seconds, relative_gap, _ = limits_of(within, gap, None, threads, seed)
    return comparison.compare(
        analysed(spec_of(model), began, seconds, inputs),
        backends=None
        if backends is None
        else map(_back_end, values.listed(backends, "`backends`")),
        seconds=seconds,
        gap=relative_gap,
        threads=threads,
        seed=seed,
    )


def _back_end(name: object) -> str:
    if not isinstance(name, str):
        raise values.wrong("a back end", name, "give its name")
    return name


def _proving(analysis: Analysis, using: str | None, path: Path) -> str:
    from odtdsl.base.files import check_writable
    from odtdsl.insight.proofs.commands import back_end

    check_writable(path)
    return back_end(analysis, using)


__all__ = ["alternatives", "check", "compare", "plan", "solve"]
