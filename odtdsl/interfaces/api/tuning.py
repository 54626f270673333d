"""`odtdsl.tune`: choose bounds, prices and limits on rows that were held out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.api import statements
from odtdsl.interfaces.api.inputs import FilePath, Inputs
from odtdsl.interfaces.api.model import Model
from odtdsl.interfaces.api.options import analysed, limits_of, processes_of
from odtdsl.interfaces.api.reading import ModelLike, spec_of
from odtdsl.language import ast
from odtdsl.words.values import Numeric, whole

if TYPE_CHECKING:
    from odtdsl.driver.result import Result
    from odtdsl.insight.tuning.result import Tuning
    from odtdsl.insight.tuning.run import ProgressCallback


def tune(
    model: ModelLike,
    vary: Mapping[str, Any],
    /,
    *,
    cv: int = 5,
    repeats: int = 1,
    outer: int = 0,
    seed: int = 0,
    by: str | None = None,
    choose: Literal["one-se", "best"] = "one-se",
    score: str | None = None,
    jobs: int = 1,
    backend: str | None = None,
    address: str | None = None,
    keep: FilePath | None = None,
    progress: ProgressCallback | None = None,
    using: str | None = None,
    within: Numeric | timedelta | str | None = None,
    gap: Numeric | str | None = None,
    threads: int | None = None,
    memory: str | None = None,
    **inputs: Unpack[Inputs],
) -> Tuning:
    """Solve a model under many settings, score them on held-out rows, and choose one.

    The training rows are divided into folds; each setting is solved without each fold and scored
    on it. The chosen setting is then solved on all training rows. Test rows of the spec take no
    part: `result.test` says how the model does on them.

    Parameters
    ----------
    model
        A model, a text or a path.
    vary
        Values by name: `depth`, `leaves`, `splits`, `nodes`; `widths` of diagrams, as texts
        `"1-2-4"` or lists; `skeleton`, whole statements such as `"tree depth <= 4"`; the name of
        any `let`; `within`, `gap`, `threads`, `seed`, `memory`, `using` of the solve. Values are
        an iterable, or a text as on the command line: `"2..5"`, `"0..0.1 by 0.02"`, `"4,8,16"`,
        and semicolons between skeletons.
    cv
        Folds. Each has its share of every class; for numbers, of every range of values.
    repeats
        How often the rows are divided anew.
    outer
        Nested selection: so many folds are held out from the choice, one after the other, and
        the whole procedure is scored on them: see `Tuning.estimate`.
    seed
        Of all divisions.
    by
        A column, such as `"patient"`, whose values stay together in one fold; by default that of
        `test 25% by patient`, if the spec has it.
    choose
        `"one-se"`: the fewest splits among the settings within one standard error of the best.
        `"best"`: the best mean score.
    score
        A measure of the language, weighed and counted on held-out rows, such as
        `"error_rate(women)"` or `"maximize recall(\"yes\")"`. Default `error_rate`,
        `expected_loss` where the objective speaks of losses, and `mse` (or `mae`, `poisson` of
        the objective) for numbers.
    jobs
        Processes; -1 for one per processor.
    backend, address
        A back end of joblib: `"loky"` (default), `"threading"`, `"dask"`, `"ray"`; the address
        of a cluster's scheduler.
    keep
        A file for runs that are done. Where it is there, its runs are not done again.
    progress
        Called with the runs that are done, and how many there are.
    using, within, gap, threads, memory
        As in `solve`: of every single run.
    inputs
        As in `Inputs`.

    Returns
    -------
    Tuning
        On Ctrl-C with the runs that are done, and `complete` false.

    Raises
    ------
    OdtError
        With all mistakes of spec and data; U340 to U348: of values, folds, score and workers;
        F310: `keep` is a file that holds something else.

    Examples
    --------
    >>> import odtdsl
    >>> found = odtdsl.tune(
    ...     'data sklearn "iris" target target tree depth <= 2 minimize errors',
    ...     {"depth": [0, 1, 2, 3]},
    ... )
    >>> found.setting, found.result.tree.n_leaves, len(found.trials)
    ({'depth': '2'}, 3, 4)
    """
    from odtdsl.insight.tuning.grid import applied, grid_of, overridden
    from odtdsl.insight.tuning.run import TuningOptions
    from odtdsl.insight.tuning.run import tune as run

    if choose not in ("one-se", "best"):
        raise error("U402", f"`choose` must not be {choose!r}", helps=('write "one-se" or "best"',))
    began = time.monotonic()
    said, grid = spec_of(model), grid_of(vary)
    wish = TuningOptions(
        cv=whole(cv, "cv"),
        repeats=whole(repeats, "repeats"),
        outer=whole(outer, "outer"),
        seed=whole(seed, "seed"),
        by=by,
        rule=choose,
        score=score,
        jobs=processes_of(jobs),
        backend=backend,
        address=address,
        keep=None if keep is None else Path(keep),
    )
    spec, source = said._located()
    applied(spec, grid.names, grid.settings()[0])  # unknown names are told before the data
    analysis = analysed(said, began, limits_of(within, None, None)[0], inputs)
    lets = {
        name: statements.expression(value, f"setting {name}")
        for name, value in (inputs.get("settings") or {}).items()
    }
    options = _options(using=using, within=within, gap=gap, threads=threads, memory=memory)
    given: Inputs = {**inputs, "settings": None}

    def solve(chosen: ast.Spec) -> Result:
        """The chosen setting on all training rows; messages show it as it is then."""
        last = Model(chosen, base=said.base, frame=said.frame, test_frame=said.test_frame)
        return last.solve(**given)

    return run(overridden(spec, lets, options), source, analysis, grid, wish, solve, progress)


def _options(**said: Any) -> tuple[ast.SolveOption, ...]:
    if all(value is None for value in said.values()):
        return ()
    return statements.options(**said).options


__all__ = ["tune"]
