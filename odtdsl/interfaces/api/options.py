"""What callers write for limits, tolerances and starts, as the search takes it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.files import regular
from odtdsl.base.limits import counting
from odtdsl.interfaces.api import statements
from odtdsl.interfaces.api.builder import SpecBuilder
from odtdsl.interfaces.api.inputs import FilePath, Inputs
from odtdsl.interfaces.api.reading import load_model, model_of
from odtdsl.words import values
from odtdsl.words.values import Numeric

if TYPE_CHECKING:
    from odtdsl.backends.base import Report
    from odtdsl.base.back_ends import Value, Variant
    from odtdsl.base.cluster import Cluster
    from odtdsl.compiler import Analysis
    from odtdsl.driver.near import Near
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.problem.ir.problem import Options


def start_of(
    start: Predictor | FilePath | None, model: SpecBuilder, analysis: Analysis
) -> Predictor | None:
    """The model to start from: the caller's, else that of the spec, relative to its folder."""
    if start is not None:
        return model_of(start)
    named = analysis.problem.options.start
    return None if named is None else load_model(regular((model.base or Path()) / named))


def analysed(model: SpecBuilder, began: float, seconds: float | None, inputs: Inputs) -> Analysis:
    """The model resolved under a limit that counts from `began`, a `time.monotonic()` value."""
    with counting(began, seconds):
        return model.analyse(**inputs)


def cluster_of(client: object) -> Cluster | None:
    """The cluster of a client of Dask.

    Raises
    ------
    OdtError
        U401: it is none, or one for `await`.
    """
    if client is None:
        return None
    if not callable(getattr(client, "register_plugin", None)) or getattr(
        client, "asynchronous", False
    ):
        helps = 'pass a client of Dask: `distributed.Client("tcp://HOST:8786")`'
        raise values.wrong("client", client, helps)
    from odtdsl.base.cluster import Cluster

    return Cluster(client)


def report_of(progress: Report | None) -> Report | None:
    """The callback for progress, checked before a search begins.

    Raises
    ------
    OdtError
        U401: it cannot be called.
    """
    if progress is not None and not callable(progress):
        raise values.wrong("`progress`", progress, "pass a function of one argument")
    return progress


def processes_of(jobs: int) -> int:
    """How many processes to start.

    Raises
    ------
    OdtError
        U401: none; -1 stands for one per processor.
    """
    found = values.whole(jobs, "`jobs`")
    if found < 1 and found != -1:
        helps = "give a whole number of at least 1, or -1 for one per processor"
        raise values.wrong("`jobs`", jobs, helps)
    return found


def near_of(near: Numeric | str | None) -> Near | None:
    """A tolerance: a text as on the command line, or a number in units of the objective."""
    from odtdsl.driver.near import Near, parse_near

    if near is None or isinstance(near, str):
        return None if near is None else parse_near(near)
    amount = values.exact(near)
    if amount is None or amount < 0:
        raise values.wrong("near", near, 'pass a number of at least 0, `"1%"`, or `"3 errors"`')
    return Near(amount=amount, of="value", text=str(near))


def options_of(options: Mapping[str, Value] | None, **named: Value | None) -> Variant:
    """The options of one back end, given by name or in a mapping.

    Raises
    ------
    OdtError
        U401: no mapping. U302, U322: as in `odtdsl.base.back_ends.variant`.
    """
    from odtdsl.base.back_ends import variant

    if not isinstance(options, Mapping | None):
        raise values.wrong("options", options, 'pass a mapping, such as `{"solver": "rc2"}`')
    return variant(options, **named)


def limits_of(
    within: Numeric | timedelta | str | None,
    gap: Numeric | str | None,
    memory: str | None,
    threads: int | None = None,
    seed: int | None = None,
) -> tuple[float | None, Fraction | None, int | None]:
    """Limits as the `solve` statement reads them: seconds, gap, bytes.

    Raises
    ------
    OdtError
        K116, S001, U401: what no `solve` statement can say, also of threads and seed.
    """
    if all(one is None for one in (within, gap, memory, threads, seed)):
        return None, None, None
    found = _said(within=within, gap=gap, threads=threads, seed=seed, memory=memory)
    return found.seconds, None if gap is None else found.gap, found.memory_bytes


def steady_of(steady: Numeric | timedelta | str | None) -> float | None:
    """Seconds without a better model, read as by the `solve` statement."""
    return None if steady is None else _said(steady=steady).steady


def _said(**options: object) -> Options:
    """What a `solve` statement says with some of its options."""
    from odtdsl.compiler.context import Reporter
    from odtdsl.compiler.skeleton import options as read

    reporter = Reporter(None)
    found = read([statements.options(**options)], reporter)
    reporter.check()
    return found


__all__ = [
    "analysed",
    "cluster_of",
    "limits_of",
    "near_of",
    "options_of",
    "processes_of",
    "report_of",
    "start_of",
    "steady_of",
]
