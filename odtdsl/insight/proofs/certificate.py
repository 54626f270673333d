"""Certificates of `exact`: written from its log, checked by `odtcheck`, which shares no code.

A file holds the problem as text, the tree, and the steps: `docs/reference/proof.md`. Beside it
stands a CSV of the training rows that it is about.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.printing import printable
from odtdsl.insight.proofs.covered import require_covered
from odtdsl.insight.proofs.problem_text import (
    escaped,
    named_only,
    problem_text,
    rows_csv,
    tree_texts,
)
from odtdsl.problem.ir.forms import Core, DepthStage, LinearStage, RegressionStage, StageForm
from odtdsl.problem.ir.rows import Rows
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.backends.ledger import Ledger
    from odtdsl.compiler import Analysis
    from odtdsl.driver.result import Result

MAGIC = b"ODTCERT1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What `odtcheck` says of a certificate.

    Attributes
    ----------
    claims
        The bounds that are shown, in words, with values as the audit has them.
    values
        Depth of the tree, then the value of each digit of the objective, as steps above the least;
        empty without a tree.
    steps, rules
        How many steps were checked, and by which rules of the calculus.
    verdict
        Begins with `certified` or `sampled`.
    only
        The rules that it is about, where they are not all of the spec.
    counts
        Of a list: how many trees have which first stage, in steps above the least.
    distinct
        Of a list that names its trees: how many of them predict differently.
    """

    claims: tuple[str, ...]
    values: tuple[int, ...]
    steps: str
    rules: str
    verdict: str
    only: tuple[str, ...] | None = None
    counts: tuple[tuple[int, int], ...] = ()
    distinct: int | None = None

    @property
    def optimal(self) -> bool:
        """Whether all of it was checked, and the tree is optimal; of a list its best one is."""
        return self.verdict == "certified: the tree is optimal" or bool(
            self.complete and self.values
        )

    @property
    def complete(self) -> bool:
        """Whether all of it was checked, and no tree is missing from the list, or its count."""
        return self.verdict in (
            "certified: these are all the trees",
            "certified: so many trees are all there are",
        )


def is_certificate(path: Path) -> bool:
    """Whether a file begins as one."""
    from odtdsl.base.files import check_regular

    try:
        check_regular(path)
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


# ---- write and check


def of_rules(analysis: Analysis, names: Container[str]) -> Analysis:
    """The problem with some of its rules only."""
    rules = tuple(rule for rule in analysis.problem.rules if rule.name in names)
    problem = replace(analysis.problem, rules=rules)
    return replace(analysis, problem=problem, rows=Rows(problem, analysis.rows.data))


def write(
    analysis: Analysis, result: Result, ledger: Ledger, path: Path, *, only: bool = False
) -> Path:
    """Write a certificate, and the training rows beside it: returns the path of the rows.

    `only`: the rules are some of a spec's.

    Raises
    ------
    OdtError
        P201: the search shows nothing. F301: a file cannot be written.
    """
    if not ledger.parts:
        raise error(
            "P201",
            f"there is nothing to certify: the status is {result.status}, and no bound is shown",
            helps=("allow more time: `--within 10min`",),
        )
    core = normalize(analysis.rows)
    tree = ""
    if result.tree is not None:
        tree = tree_texts(core, analysis.rows)(result.tree.root)
    parts = ledger.parts[-2:]  # of the depths before only the last is asked for
    return write_file(analysis, tree, bytes([len(parts)]) + b"".join(parts), path, only=only)


def write_file(
    analysis: Analysis, told: str, body: bytes, path: Path, *, only: bool = False
) -> Path:
    """Write the problem with what is told of it and the steps, and the rows beside it.

    Returns the path of the rows.
    """
    from odtdsl.base.files import write_bytes, write_text

    text = (problem_text(analysis.rows, only) + told).encode()
    write_bytes(path, MAGIC + f"{len(text)}\n".encode() + text + body)
    beside = rows_of(path)
    write_text(beside, rows_csv(analysis.rows))
    return beside


def rows_of(path: Path) -> Path:
    """Where the rows of a certificate are written: beside it."""
    return path.with_name(path.name + ".csv")


def verify(analysis: Analysis, path: Path, sample: str | None = None) -> Checked:
    """Check a certificate against a spec and its data, by `odtcheck`.

    Raises
    ------
    OdtError
        P103, P104: it is of other data or another spec. P109: a step is refused. P101, P102: it
        is no certificate. P203: the spec is one that none covers.
    """
    raw = path.read_bytes()
    head, _, rest = raw[len(MAGIC) :].partition(b"\n")
    size = int(head) if head.isdigit() and len(head) < 10 else -1
    if size < 0 or size > len(rest):
        raise error("P102", "the certificate is cut short")
    try:
        theirs = rest[:size].decode("utf-8")
    except UnicodeDecodeError:
        raise error("P102", "the text of the certificate is not in UTF-8") from None
    only = named_only(theirs)
    if only is not None:
        names = (rule.name for rule in analysis.problem.rules)
        analysis = of_rules(analysis, {name for name in names if escaped(name) in only})
    listing = "\nall\t" in theirs
    core = normalize(analysis.rows)
    require_covered(core, listing=listing)
    _same(theirs, problem_text(analysis.rows, only is not None), analysis)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        rows.write_text(rows_csv(analysis.rows), encoding="utf-8")
        asked = [] if sample is None else ["--sample", sample]
        ran = subprocess.run(
            [str(checker()), str(path), str(rows), *asked],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    lines = ran.stdout.splitlines()
    if ran.returncode == 1:
        raise error("P109", f"the certificate is {lines[-1] if lines else 'refused'}")
    if ran.returncode:
        raise error("P101", f"the certificate cannot be checked: {ran.stderr.strip()}")

    def told(word: str) -> tuple[str, ...]:
        return tuple(line.removeprefix(word) for line in lines if line.startswith(word))

    values = told("values: ")
    counts = tuple(tuple(map(int, line.split())) for line in told("count: "))
    return Checked(
        claims=tuple(_claims(analysis, core, lines)),
        values=tuple(map(int, values[0].split())) if values else (),
        steps=told("steps: ")[0],
        rules=told("rules: ")[0],
        verdict=lines[-1],
        only=None if only is None else tuple(rule.name for rule in analysis.problem.rules),
        counts=tuple((value, trees) for value, trees in counts),
        distinct=_distinct(analysis, theirs) if listing else None,
    )


def _claims(analysis: Analysis, core: Core, lines: list[str]) -> Iterator[str]:
    """What is shown, with the values of stages in place of the units that `odtcheck` knows."""
    for line, behind in zip(lines, [*lines[1:], ""], strict=True):
        word, _, text = line.partition(": ")
        if word != "claim":
            continue
        units = behind.removeprefix("bound: ").split() if behind.startswith("bound: ") else []
        asked = zip(analysis.problem.objective, core.objective, strict=True)
        stages = [(goal, stage) for goal, stage in asked if not isinstance(stage, DepthStage)]
        if stages and units:
            values = (
                f"{goal.text.split(' ', 1)[-1]} {_value_text(core, stage, int(unit))}"
                for (goal, stage), unit in zip(stages, units, strict=False)
            )
            text = f"{text.partition(' than ')[0]} than {', then '.join(values)}"
        yield text


def _value_text(core: Core, stage: StageForm, units: int) -> str:
    """Units of a certificate as a value of the stage."""
    from odtdsl.backends.exact.lowering import least

    if isinstance(stage, RegressionStage):
        return f"{float(_of_units(core, stage, units)):.10g}"
    assert isinstance(stage, LinearStage), "as `require_covered` has it"
    value = stage.sign * Fraction(least(stage.measure) + units, stage.measure.denominator)
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.10g}"


def _distinct(analysis: Analysis, text: str) -> int | None:
    from odtdsl.insight.proofs.told_trees import distinct

    return distinct(analysis, text)


def _same(theirs: str, mine: str, analysis: Analysis) -> None:
    """Check that the problem of a certificate is that of the spec."""
    skipped = ("made\t", "leaf\t", "split\t", "all\t", "count\t")
    # As `odtcheck` parts lines: what ends one elsewhere, such as U+2028, would hide lines from it.
    there = [line for line in theirs.split("\n") if not line.startswith(skipped)]
    here = [line for line in mine.split("\n") if not line.startswith(skipped)]
    if there == here:
        return
    odd = [line for line in there if line not in here], [line for line in here if line not in there]
    code, what = ("P104", "spec")
    if any(line.startswith("data\t") for line in odd[0]):
        code, what = ("P103", "data")
    notes = [f"only in the certificate: {one}" for one in _told(there, odd[0][:5])]
    notes += [f"only in the spec: {one}" for one in _told(here, odd[1][:5])]
    raise OdtError(
        [
            Diagnostic(
                code=code,
                message=f"the certificate was written for other {what}"
                if what == "data"
                else "the certificate was written for another spec",
                notes=tuple(notes),
                helps=(f"check it with the {what} it was written for",),
                source=analysis.problem.source,
            )
        ]
    )


def _told(lines: list[str], odd: list[str]) -> Iterator[str]:
    """Lines of a problem for people; what a rule loses or bounds, with the name of the rule."""
    rule = ""
    for line in lines:
        word, _, rest = line.partition("\t")
        if word == "measure":
            rule = rest.partition("\t")[0]
        if line in odd:
            of = f"rule `{printable(rule)}`, " if rule and word in ("loss", "kinds", "rows") else ""
            yield of + printable(line.replace("\t", " ")[:100])


def checker() -> Path:
    """The program `odtcheck`, which is built beside the engine.

    Raises
    ------
    OdtError
        X202: it is not there.
    """
    from importlib.util import find_spec

    name = "odtcheck.exe" if sys.platform == "win32" else "odtcheck"
    spec = find_spec("odtdsl.base._engine")
    if spec is not None and spec.origin is not None:
        found = Path(spec.origin).parent / name
        if found.is_file():
            return found
    raise error(
        "X202",
        "the program `odtcheck` is not built",
        helps=("reinstall odtdsl, or build it: `c++ -O2 -std=c++17 odtcheck.cpp -o odtcheck`",),
    )


def stage_values(core: Core, checked: Checked) -> tuple[Fraction, ...]:
    """The values of the tree of a certificate, signed as the stages of a core are."""
    from odtdsl.backends.exact.backend import asks_fronts
    from odtdsl.backends.exact.lowering import demands, least

    hard = 0 if asks_fronts(core) else sum(1 for _ in demands(core))
    digits = iter(checked.values[1 + hard :])
    found: list[Fraction] = []
    for stage in core.objective:
        if isinstance(stage, DepthStage):
            found.append(Fraction(checked.values[0]))
        elif isinstance(stage, RegressionStage):
            found.append(_squared(core, stage, next(digits)))
        elif isinstance(stage, LinearStage):
            steps = least(stage.measure) + next(digits)
            found.append(Fraction(steps, stage.measure.denominator))
    return tuple(found)


def _squared(core: Core, stage: RegressionStage, value: int) -> Fraction:
    """Units as a value of the stage, with what the certificate takes for equal."""
    from odtdsl.backends.exact.lowering import deepest_of
    from odtdsl.backends.exact.number_proof import whole
    from odtdsl.problem.ir.regression import rounding

    units = whole(core)
    assert units is not None, "as `require_covered` has it"
    rounded = 3 * (1 << deepest_of(core)[0]) * units.unit
    return _of_units(core, stage, value) + rounded + rounding(core, stage.loss)


def _of_units(core: Core, stage: RegressionStage, value: int) -> Fraction:
    from odtdsl.backends.exact.number_proof import whole

    units = whole(core)
    assert units is not None, "as `require_covered` has it"
    return value * units.unit + Fraction(stage.rest.constant, stage.rest.denominator)
