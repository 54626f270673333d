"""`odt solve`: a best tree, or a list of good ones."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from odtdsl.base.diagnostics.model import error
from odtdsl.base.files import regular
from odtdsl.base.printing import printable
from odtdsl.interfaces.cli.commands import (
    BackEndOptions,
    Dot,
    Force,
    Gap,
    Json,
    Memory,
    OnSpec,
    Option,
    Out,
    Seed,
    Svg,
    Threads,
    Until,
    Using,
    Within,
)
from odtdsl.interfaces.cli.common import (
    STATUS_CODES,
    WRONG,
    missing_in,
    print_json,
    print_lines,
    shows_missing,
    warn,
)
from odtdsl.interfaces.cli.lists import (
    ProvingList,
    Wish,
    list_trees,
    only_of_lists,
    require_covered,
    wish_of,
)
from odtdsl.interfaces.cli.outputs import check_outputs, deliver, files_of, pictures

if TYPE_CHECKING:
    from odtdsl.backends.ledger import Ledger
    from odtdsl.compiler import Analysis
    from odtdsl.driver.result import Result
    from odtdsl.insight.proofs.commands import Written
    from odtdsl.insight.proofs.file import Proof
    from odtdsl.interfaces.cli.common import Problem
    from odtdsl.predictors.predictor import Predictor


@dataclass(frozen=True, kw_only=True)
class Solve(OnSpec):
    """Solve a spec: print the tree, its status, and every rule audited."""

    using: Using = None
    options: BackEndOptions = None
    within: Within = None
    gap: Gap = None
    until: Until = None
    memory: Memory = None
    threads: Threads = None
    cluster: Annotated[
        str | None,
        Option(help="Share the search with a Dask scheduler, tcp://HOST:8786, or local:N."),
    ] = None
    seed: Seed = None
    start: Annotated[Path | None, Option(help="Start from this saved tree.")] = None
    out: Out = None
    svg: Svg = None
    dot: Dot = None
    all_optimal: Annotated[bool, Option("--all-optimal", help="List all optimal trees.")] = False
    near: Annotated[
        str | None,
        Option(help="List all trees within this distance of the best: 1%, 3 errors, 0.02."),
    ] = None
    most: Annotated[int | None, Option(help="Maximum number of trees to list; default 1000.")] = (
        None
    )
    count: Annotated[
        bool, Option("--count", help="Count the trees, however many there are; list none.")
    ] = False
    reliance: Annotated[
        bool,
        Option("--reliance", help="Add which features all trees of a list need, and how much."),
    ] = False
    chooser: Annotated[
        Path | None, Option(help="Write a page to choose from the listed trees.")
    ] = None
    proof: Annotated[
        Path | None,
        Option(help="Write a proof that no tree is better, or missing from a list (sat, exact)."),
    ] = None
    force: Force = False
    as_json: Json = False
    progress: Annotated[
        bool,
        Option("--progress", help="Tell each better tree or bound as a line of JSON on stderr."),
    ] = False

    def run(self) -> int:
        """Solve the spec, print the model with its status and audit, and write the files asked for.

        The exit code tells the status, see `docs/reference/cli.md`; it is 1 if a file could not be
        written.
        """
        began = time.monotonic()
        from odtdsl.base.back_ends import variant
        from odtdsl.base.interrupts import interruptible
        from odtdsl.base.limits import counting, parse_memory, parse_seconds

        asked = variant(self.options)
        wish = self._wish()
        ends = _ends(self.gap, self.until)
        memory = None if self.memory is None else parse_memory(self.memory)
        problem = self.problem()
        self._check_outputs(problem)
        seconds = None if self.within is None else parse_seconds(self.within)
        with counting(began, seconds):
            analysis = problem.analysis()
        if not self.as_json:
            warn(analysis.warnings)
        start = _start_tree(self.start or _start_of(analysis, self.spec))
        chosen, ledger = self._logging(analysis, wish, self.using or asked.owner)
        if self.proof is not None and (wish is not None or ledger is not None):
            self._check_rows(problem, self.proof)
        options: dict[str, Any] = {
            "backend": chosen,
            "seconds": seconds,
            "threads": self.threads,
            "seed": self.seed,
            "memory_bytes": memory,
            "start": start,
            "began": began,
        }
        with interruptible():
            if wish is not None:
                return self._list(analysis, wish, options)
            return self._solve(analysis, ledger, options, variant=asked, **ends)

    def _wish(self) -> Wish | None:
        """The list that is asked for, once nothing stands beside it that it cannot have."""
        wish = wish_of(
            all_optimal=self.all_optimal,
            near=self.near,
            most=self.most,
            count=self.count,
            reliance=self.reliance,
        )
        if wish is None:
            if self.chooser is not None:
                raise only_of_lists("chooser")
            return None
        for flag, value in (("--gap", self.gap), ("--until", self.until)):
            if value is not None:
                helps = (f"omit `{flag}`",)
                raise error("U315", "a list must begin with a proven best tree", helps=helps)
        if self.cluster is not None:
            raise error(
                "B110",
                "a cluster cannot share this search: a list of trees is made on one machine",
                helps=("omit `--cluster`, or `--all-optimal` and `--near`",),
            )
        if wish.count and (wish.reliance or any((*self._drawn(), self.chooser))):
            raise error(
                "U315",
                "`--count` lists no trees: there is nothing to write, and no range of reliance",
                helps=("omit `--count`; `--reliance` counts all trees as well",),
            )
        return wish

    def _drawn(self) -> tuple[Path | None, Path | None, Path | None]:
        return self.out, self.svg, self.dot

    def _check_outputs(self, problem: Problem) -> None:
        outputs = {
            "out": self.out,
            "svg": self.svg,
            "dot": self.dot,
            "proof": self.proof,
            "chooser": self.chooser,
        }
        check_outputs(outputs, (*files_of(problem), ("the start", self.start)), self.force)

    def _check_rows(self, problem: Problem, proof: Path) -> None:
        """Check the file of rows: it has nothing to be known by, but stands beside its proof."""
        from odtdsl.insight.proofs.certificate import rows_of

        check_outputs({"proof": rows_of(proof)}, files_of(problem), self.force or proof.exists())

    def _logging(
        self, analysis: Analysis, wish: Wish | None, chosen: str | None
    ) -> tuple[str | None, Ledger | None]:
        """The back end that can prove what `--proof` asks for, and where it logs its steps."""
        if self.proof is None:
            return chosen, None
        if wish is not None:
            require_covered(analysis)
            return chosen, None
        from odtdsl.insight.proofs.commands import back_end, ledger_of

        chosen = back_end(analysis, chosen)
        return chosen, ledger_of(chosen)

    def _list(self, analysis: Analysis, wish: Wish, options: dict[str, Any]) -> int:
        proving = None
        if self.proof is not None:
            proving = ProvingList(
                path=self.proof,
                spec=self.spec,
                began=options["began"],
                seconds=options["seconds"],
                named=not wish.count,
            )
        return list_trees(
            analysis,
            wish,
            as_json=self.as_json,
            drawn=self._drawn(),
            chooser=self.chooser,
            proving=proving,
            **options,
        )

    def _solve(
        self, analysis: Analysis, ledger: Ledger | None, options: dict[str, Any], **ends: Any
    ) -> int:
        from odtdsl.driver import pipeline
        from odtdsl.interfaces.cli.progress import Telling, Waiting

        with ExitStack() as stack:
            cluster = None
            if self.cluster is not None:
                from odtdsl.base.cluster import connected

                cluster = stack.enter_context(connected(self.cluster))
            made = Telling() if self.progress else Waiting(quiet=self.as_json)
            with made as waiting:
                result = pipeline.solve(
                    analysis, report=waiting, ledger=ledger, cluster=cluster, **ends, **options
                )
            proving = None
            if self.proof is not None:
                proving = _Proving(
                    analysis, result, self.proof, options["began"], options["seconds"], ledger
                )
            _deliver(analysis, result, proving, self.as_json, self.spec, self._drawn())
        unwritten = proving is not None and proving.unwritten
        return WRONG if unwritten else STATUS_CODES[result.status]


class _Proving:
    """A proof to be made and written; `result` has what kept it from that among its warnings."""

    def __init__(
        self,
        analysis: Analysis,
        result: Result,
        path: Path,
        began: float,
        seconds: float | None,
        ledger: Ledger | None,
    ) -> None:
        self.ledger = ledger
        self.analysis, self.result, self.path = analysis, result, path
        self.began, self.seconds = began, seconds
        self.made: Proof | Written | None = None
        self.unwritten = False

    def run(self) -> None:
        from odtdsl.insight.proofs.commands import log

        known = len(self.result.warnings)
        self.result, self.made = log(
            self.analysis, self.result, self.path, self.began, self.seconds, self.ledger
        )
        self.warnings = self.result.warnings[known:]
        self.unwritten = any(one.code == "F301" for one in self.warnings)

    def tell(self, spec: Path) -> None:
        from odtdsl.insight.proofs.commands import written

        self.run()
        warn(self.warnings)
        print_lines(written(self.made, self.path, spec))


def _deliver(
    analysis: Analysis,
    result: Result,
    proving: _Proving | None,
    as_json: bool,
    spec: Path,
    paths: tuple[Path | None, Path | None, Path | None],
) -> None:
    """Print the answer, then write its files, and the proof if requested."""
    from odtdsl.presentation import console

    def answer() -> None:
        if not as_json:
            warn(result.warnings[len(analysis.warnings) :])
            print_lines(console.answer(result, missing=shows_missing(analysis)))
            if result.model is None:
                print_lines(_unwritten(path for path in paths if path is not None))
        elif proving is None:
            print_json(result.to_json())
        else:
            from odtdsl.insight.proofs.commands import written_json

            proving.run()  # one object says all
            told = {"proof": written_json(proving.made, proving.path)}
            print_json(proving.result.to_json() | told)

    notes = None if result.model is None else missing_in(result.model, analysis)
    writes = list(pictures(result.model, *paths, outputs=result.outputs, notes=notes))
    if proving is not None and not as_json:
        writes.append(lambda: proving.tell(spec))
    deliver(answer, *writes)


def _unwritten(paths: Iterable[Path]) -> Iterator[str]:
    """What becomes of files where there is nothing to write: an old one looks like the answer."""
    for path in paths:
        old = "; the file that is there is an older one" if path.exists() else ""
        yield f"{printable(str(path))}: not written, as there is no model{old}"


def _ends(gap: str | None, until: str | None) -> dict[str, Any]:
    """What ends the search before a proof, as overrides."""
    from odtdsl.base.limits import parse_gap, parse_until

    found: dict[str, Any] = {} if gap is None else {"gap": parse_gap(gap)}
    if until is not None:
        kind, value = parse_until(until)
        if kind in found:
            raise error(
                "U323", "`--gap` and `--until` both give a gap", helps=("omit one of them",)
            )
        found[kind] = value
    return found


def _start_of(analysis: Analysis, spec: Path) -> Path | None:
    start = analysis.problem.options.start
    return None if start is None else regular(spec.parent / start)


def _start_tree(path: Path | None) -> Predictor | None:
    if path is None:
        return None
    from odtdsl.interfaces.api import load_model

    return load_model(path)


__all__ = ["Solve"]
