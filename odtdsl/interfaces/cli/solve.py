"""`odt solve` and `odt compare`: a best tree, a list of good ones, or all back ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from odtdsl.base.back_ends import able
from odtdsl.base.diagnostics.model import error
from odtdsl.base.files import regular
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
from odtdsl.interfaces.cli.outputs import check_outputs, deliver, files_of, pictures

if TYPE_CHECKING:
    from odtdsl.backends.ledger import Ledger
    from odtdsl.compiler import Analysis
    from odtdsl.driver.alternatives import Alternatives
    from odtdsl.driver.collected import Alternative
    from odtdsl.driver.near import Near
    from odtdsl.driver.result import Result
    from odtdsl.insight.proofs.commands import Written
    from odtdsl.insight.proofs.file import Proof
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
        from odtdsl.driver import pipeline
        from odtdsl.interfaces.cli.progress import Telling, Waiting

        asked = variant(self.options)
        wish = _list_wish(self.all_optimal, self.near, self.most, self.gap, self.until)
        if self.cluster is not None and wish is not None:
            raise error(
                "B110",
                "a cluster cannot share this search: a list of trees is made on one machine",
                helps=("omit `--cluster`, or `--all-optimal` and `--near`",),
            )
        ends = _ends(self.gap, self.until)
        memory = None if self.memory is None else parse_memory(self.memory)
        problem = self.problem()
        _only_lists(
            wish is not None,
            {"chooser": self.chooser, "count": self.count, "reliance": self.reliance},
        )
        if self.count and (self.reliance or any((self.out, self.svg, self.dot, self.chooser))):
            raise error(
                "U315",
                "`--count` lists no trees: there is nothing to write, and no range of reliance",
                helps=("omit `--count`; `--reliance` counts all trees as well",),
            )
        outputs = {
            "out": self.out,
            "svg": self.svg,
            "dot": self.dot,
            "proof": self.proof,
            "chooser": self.chooser,
        }
        check_outputs(outputs, (*files_of(problem), ("the start", self.start)), self.force)
        seconds = None if self.within is None else parse_seconds(self.within)
        with counting(began, seconds):
            analysis = problem.analysis()
        if not self.as_json:
            warn(analysis.warnings)
        first = _start_tree(self.start or _start_of(analysis, self.spec))
        chosen = self.using or asked.owner
        ledger = None
        if self.proof is not None:
            from odtdsl.insight.proofs.certificate import rows_of
            from odtdsl.insight.proofs.commands import back_end, ledger_of

            if wish is None:
                chosen = back_end(analysis, chosen)
                ledger = ledger_of(chosen)
            else:
                _require_covered(analysis)
            if wish is not None or ledger is not None:
                # A file of rows has nothing to be known by, but it stands beside its certificate.
                again = self.force or self.proof.exists()
                rows = {"proof": rows_of(self.proof)}
                check_outputs(rows, files_of(problem), again)
        options: dict[str, Any] = {
            "backend": chosen,
            "seconds": seconds,
            "threads": self.threads,
            "seed": self.seed,
            "memory_bytes": memory,
            "start": first,
        }
        with interruptible(), ExitStack() as stack:
            if wish is not None:
                return _list_trees(
                    analysis,
                    *wish,
                    self.as_json,
                    (self.out, self.svg, self.dot, self.chooser),
                    (self.count, self.reliance),
                    self._proving_list(began, seconds),
                    began=began,
                    **options,
                )
            cluster = None
            if self.cluster is not None:
                from odtdsl.base.cluster import connected

                cluster = stack.enter_context(connected(self.cluster))
            made = Telling() if self.progress else Waiting(quiet=self.as_json)
            with made as waiting:
                result = pipeline.solve(
                    analysis,
                    variant=asked,
                    report=waiting,
                    began=began,
                    ledger=ledger,
                    cluster=cluster,
                    **ends,
                    **options,
                )
            proving = (
                None
                if self.proof is None
                else _Proving(analysis, result, self.proof, began, seconds, ledger)
            )
            _deliver(
                analysis, result, proving, self.as_json, self.spec, (self.out, self.svg, self.dot)
            )
        unwritten = proving is not None and proving.unwritten
        return WRONG if unwritten else STATUS_CODES[result.status]

    def _proving_list(self, began: float, seconds: float | None) -> _ProvingList | None:
        if self.proof is None:
            return None
        return _ProvingList(
            path=self.proof, spec=self.spec, began=began, seconds=seconds, named=not self.count
        )


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


@dataclass(kw_only=True)
class _ProvingList:
    """A certificate of a list to be written, with the names of its trees, or how many there are."""

    path: Path
    spec: Path
    began: float
    seconds: float | None
    named: bool
    unwritten: bool = False
    made: Written | None = None

    def run(self, analysis: Analysis, found: Alternatives) -> Alternatives:
        """The list, with what kept the certificate from being written among its warnings."""
        from odtdsl.insight.proofs.commands import log_list

        known = len(found.result.warnings)
        found, self.made = log_list(
            analysis, found, self.path, self.began, self.seconds, named=self.named
        )
        self.unwritten = any(one.code == "F301" for one in found.result.warnings[known:])
        return found

    def tell(self, analysis: Analysis, found: Alternatives) -> None:
        """Write it, and say so, or why not."""
        from odtdsl.insight.proofs.commands import written

        warn(self.run(analysis, found).result.warnings[len(found.result.warnings) :])
        print_lines(written(self.made, self.path, self.spec))


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


def _require_covered(analysis: Analysis) -> None:
    from odtdsl.insight.proofs.covered import require_covered
    from odtdsl.problem.terms.normalize import normalize

    require_covered(normalize(analysis.rows), listing=True)


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


def _only_lists(listing: bool, given: Mapping[str, object]) -> None:
    """Refuse what makes sense only beside a list of trees."""
    for flag, value in given.items():
        if value and not listing:
            raise error(
                "U313",
                f"`--{flag}` applies to lists of trees only",
                helps=("add `--near 1%`, or `--all-optimal`",),
            )


def _list_wish(
    all_optimal: bool, near: str | None, most: int | None, gap: str | None, until: str | None
) -> tuple[Near | None, int] | None:
    """The tolerance and number of trees of a list; None if a single tree is requested."""
    if not all_optimal and near is None:
        if most is not None:
            raise error(
                "U313",
                "`--most` applies to lists of trees only",
                helps=("add `--all-optimal`, or `--near 1%`",),
            )
        return None
    for flag, value in (("--gap", gap), ("--until", until)):
        if value is not None:
            helps = (f"omit `{flag}`",)
            raise error("U315", "a list must begin with a proven best tree", helps=helps)
    if all_optimal and near is not None:
        raise error("U315", "`--near` includes the optimal trees", helps=("omit `--all-optimal`",))
    from odtdsl.driver.alternatives import MAX_LISTED_TREES, at_least_one
    from odtdsl.driver.near import parse_near

    return None if near is None else parse_near(near), at_least_one(
        MAX_LISTED_TREES if most is None else most
    )


def _list_trees(
    analysis: Analysis,
    near: Near | None,
    most: int,
    as_json: bool,
    paths: tuple[Path | None, Path | None, Path | None, Path | None],
    counts: tuple[bool, bool],
    proving: _ProvingList | None,
    **options: Any,
) -> int:
    """`--all-optimal` and `--near`; files get the best tree, the last one all of them.

    `counts` is whether to count trees instead of listing them, and whether to say what they rely
    on.
    """
    only, reliance = counts
    from odtdsl.driver.alternatives import alternatives
    from odtdsl.interfaces.cli.progress import Waiting
    from odtdsl.presentation import console

    missing = shows_missing(analysis)
    told = 0

    with Waiting(quiet=as_json) as waiting:

        def tell(one: Alternative) -> None:
            nonlocal told
            told += 1
            waiting.clear()
            print_lines(console.one_of_a_list(told, one, missing=missing))
            sys.stdout.flush()

        found = alternatives(
            analysis,
            near=near,
            most=most,
            tell=not only if only or as_json else tell,
            count=reliance,
            report=waiting,
            **options,
        )

    def answer() -> None:
        if as_json and proving is not None:
            from odtdsl.insight.proofs.commands import written_json

            one = proving.run(analysis, found).to_json()  # one object says all
            print_json(one | {"proof": written_json(proving.made, proving.path)})
        elif as_json:
            print_json(found.to_json())
        else:
            print_lines(console.listed(found, missing=missing, only=only, told=told))

    best = found.trees[0].tree if found.trees else None
    notes = None if best is None else missing_in(best, analysis)
    *drawn, chooser = paths
    writes = list(pictures(best, *drawn, notes=notes))
    if chooser is not None and best is not None:
        from odtdsl.presentation.chooser import write

        writes.append(lambda: write(found, analysis, chooser))
    if proving is not None and not as_json:
        writes.append(lambda: proving.tell(analysis, found))
    deliver(answer, *writes)
    return WRONG if proving is not None and proving.unwritten else STATUS_CODES[found.status]


def _start_of(analysis: Analysis, spec: Path) -> Path | None:
    start = analysis.problem.options.start
    return None if start is None else regular(spec.parent / start)


def _start_tree(path: Path | None) -> Predictor | None:
    if path is None:
        return None
    from odtdsl.interfaces.api import load_model

    return load_model(path)


@dataclass(frozen=True, kw_only=True)
class Compare(OnSpec):
    """Solve a spec on every back end that can, side by side; their proofs must agree."""

    on: Annotated[
        list[str] | None,
        Option(help='A back end, once for each, such as exact or "milp (cptree)"; default: all.'),
    ] = None
    solvers: Annotated[
        str | None, Option(help="Solvers of milp to compare, such as highs,scip.")
    ] = None
    within: Annotated[str | None, Option(help="Time limit of each run.")] = None
    gap: Gap = None
    threads: Threads = None
    seed: Seed = None
    as_json: Json = False

    def run(self) -> int:
        """Solve the spec on every back end that supports it, and print a table."""
        began = time.monotonic()
        from odtdsl.base.interrupts import interruptible
        from odtdsl.base.limits import counting, parse_gap, parse_seconds
        from odtdsl.driver import comparison
        from odtdsl.interfaces.cli.progress import Waiting
        from odtdsl.presentation import console

        seconds = None if self.within is None else parse_seconds(self.within)
        with counting(began, seconds):
            analysis = self.problem().analysis()
        if not self.as_json:
            warn(analysis.warnings)
        with interruptible(), Waiting(quiet=self.as_json):
            found = comparison.compare(
                analysis,
                backends=self._asked(),
                seconds=seconds,
                gap=None if self.gap is None else parse_gap(self.gap),
                threads=self.threads,
                seed=self.seed,
            )
        if self.as_json:
            print_json(found.to_json())
        else:
            print_lines(console.compared(found))
        return STATUS_CODES[found.status] if found.ran else WRONG

    def _asked(self) -> list[str] | None:
        """What `--on` and `--solvers` name; None where they name nothing."""
        names = [] if self.solvers is None else self.solvers.split(",")
        of_solvers = [f"{able('write programs')} ({name.strip()})" for name in names]
        return [*(self.on or ()), *of_solvers] or None


__all__ = ["Compare", "Solve"]
