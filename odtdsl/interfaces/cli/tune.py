"""`odt tune`: choose bounds, prices and limits on rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.interfaces.cli.commands import Force, Json, OnSpec, Option, Using
from odtdsl.interfaces.cli.common import (
    INTERRUPTED,
    LIMIT,
    STATUS_CODES,
    _setting,
    print_json,
    print_lines,
    warn,
)
from odtdsl.interfaces.cli.outputs import beside, check_outputs, deliver, files_of, pictures


@dataclass(frozen=True, kw_only=True)
class Tune(OnSpec):
    """Solve a spec under many settings, score them on held-out rows, choose one, and solve that."""

    vary: Annotated[
        list[str],
        Option(
            help="NAME=VALUES: depth=2..5, leaves=4,8,16, alpha=0..0.1 by 0.02, widths=1-2,1-2-4."
        ),
    ]
    cv: Annotated[int, Option(least=2, help="Number of folds.")] = 5
    repeats: Annotated[
        int, Option(least=1, help="Repeat the division of the rows this many times.")
    ] = 1
    outer: Annotated[
        int, Option(least=0, help="Outer folds of a nested selection; 0 for none.")
    ] = 0
    seed: Annotated[int, Option(least=0, help="Seed of all divisions of the rows.")] = 0
    by: Annotated[
        str | None,
        Option(help="Keep the rows of each value of this column in one fold; default: the spec's."),
    ] = None
    choose: Annotated[
        str, Option(help="one-se: fewest splits within one standard error; or best.")
    ] = "one-se"
    score: Annotated[
        str | None, Option(help='A measure, such as "error_rate" or "maximize accuracy(g)".')
    ] = None
    jobs: Annotated[int, Option(help="Number of processes; -1 for one per processor.")] = 1
    backend: Annotated[
        str | None, Option(help="Back end of joblib: loky, threading, dask or ray.")
    ] = None
    address: Annotated[
        str | None, Option(help="Address of the Dask or Ray scheduler: tcp://host:8786.")
    ] = None
    keep: Annotated[
        Path | None,
        Option(
            help="Save finished runs to this file, and continue from it; default SPEC.tune.json."
        ),
    ] = None
    using: Using = None
    within: Annotated[str | None, Option(help="Time limit of each run.")] = None
    gap: Annotated[str | None, Option(help="Stop each run at this relative gap: 1%.")] = None
    threads: Annotated[int | None, Option(least=1, most=256, help="Threads of each run.")] = None
    out: Annotated[Path | None, Option("--out", "-o", help="Save the model as JSON.")] = None
    csv: Annotated[Path | None, Option(help="Write the settings as CSV.")] = None
    svg: Annotated[Path | None, Option(help="Draw the settings as SVG.")] = None
    force: Force = False
    as_json: Json = False

    def run(self) -> int:
        """Try every setting on held-out rows, print the choice, and write what was asked for."""
        from odtdsl.base.files import write_text
        from odtdsl.base.limits import parse_gap, parse_seconds
        from odtdsl.insight.tuning.grid import parse_vary
        from odtdsl.interfaces.api.tuning import tune
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation import console
        from odtdsl.presentation.tuning import lines

        kept = self.keep or beside(self.spec, ".tune.json")
        outputs = {"keep": kept, "out": self.out, "csv": self.csv, "svg": self.svg}
        check_outputs(outputs, files_of(self.problem()), self.force)
        grid = parse_vary(self.vary)
        with Waiting(quiet=self.as_json) as waiting:
            found = tune(
                self.spec,
                dict(zip(grid.names, grid.values, strict=True)),
                cv=self.cv,
                repeats=self.repeats,
                outer=self.outer,
                seed=self.seed,
                by=self.by,
                choose=self.choose,  # type: ignore[arg-type]  # it is checked there
                score=self.score,
                jobs=self.jobs,
                backend=self.backend,
                address=self.address,
                keep=kept,
                progress=waiting.runs,
                using=self.using,
                within=None if self.within is None else parse_seconds(self.within),
                gap=None if self.gap is None else parse_gap(self.gap),
                threads=self.threads,
                data=self.data,
                test=self.test,
                settings=_lets(self.settings),
            )
        result = found.result

        def answer() -> None:
            if self.as_json:
                print_json(found.to_json())
                return
            print_lines(lines(found))
            if result is not None:
                warn(result.warnings)
                print_lines(("", *console.answer(result)))

        writes = list(pictures(None if result is None else result.model, self.out))
        if csv := self.csv:
            writes.append(lambda: write_text(csv, found.to_csv()))
        if svg := self.svg:
            writes.append(lambda: write_text(svg, found.to_svg()))
        if found.unkept is not None:
            writes.append(partial(_raise, OdtError([found.unkept])))
        deliver(answer, *writes)
        if not found.complete:
            return INTERRUPTED
        return LIMIT if result is None else STATUS_CODES[result.status]


def _raise(failure: OdtError) -> None:
    raise failure


def _lets(settings: list[str] | None) -> dict[str, str]:
    """The texts of `--set`, which are checked."""
    for text in settings or ():
        _setting(text)
    return {name.strip(): value for name, _, value in (t.partition("=") for t in settings or ())}
