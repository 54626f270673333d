"""What `odt solve --proof` and `odt audit --proof` do, for the command line and for Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtdsl.base.back_ends import AUTO, able
from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.numbers import as_number
from odtdsl.driver.choice import choose
from odtdsl.insight.proofs import certificate, covered, listing
from odtdsl.insight.proofs.check import Verified, check, reached
from odtdsl.insight.proofs.claims import Claim, optimum, require_tree
from odtdsl.insight.proofs.file import Proof, read, size_of
from odtdsl.insight.proofs.log import prove, write
from odtdsl.problem.ir.forms import Core, DepthStage, LinearStage
from odtdsl.problem.ir.problem import StageDecl
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.auditor.audit import Audit
    from odtdsl.backends.ledger import Ledger
    from odtdsl.compiler import Analysis
    from odtdsl.driver.alternatives import Alternatives
    from odtdsl.driver.result import Result


CERTIFIER = "exact"
"""The back end whose certificates `odtcheck` checks."""

NOTHING = Claim(stage=None)
"""Of a bound that is told in words only."""


@dataclass(frozen=True, slots=True)
class Written:
    """A certificate that was written, the file of its rows, and of how many trees it is (0: of one
    answer); `named` says whether it tells each of them, `stopped` whether a limit ended it."""

    rows: Path
    trees: int = 0
    named: bool = True
    stopped: bool = False


def back_end(analysis: Analysis, wish: str | None) -> str:
    """The back end that writes proofs, unless another one is requested.

    `exact`, where a certificate covers the problem and depth is not what comes first; else `sat`.

    Raises
    ------
    OdtError
        U316: something does. B102: the spec asks for a diagram. P203: no certificate covers it.
    """
    named, prover = wish or analysis.problem.options.backend, able("write proofs")
    if named == CERTIFIER:
        covered.require_covered(normalize(analysis.rows))
        return named
    if named not in (AUTO, prover):
        raise error(
            "U316",
            f"`{named}` cannot write proofs; `{prover}` and `{CERTIFIER}` can",
            helps=(f"write `--using {prover}` or `--using {CERTIFIER}`, or omit `--using`",),
        )
    core = normalize(analysis.rows)
    if named == AUTO and core.targets is not None:  # of numbers `sat` writes none
        covered.require_covered(core)
        return CERTIFIER
    by_depth = isinstance(core.objective[0], DepthStage)
    if named == AUTO and not by_depth and not covered.uncovered(core):
        return CERTIFIER
    require_tree(core)
    if named == AUTO and choose(core, prover).name is None:  # what nobody asked for is no reason
        covered.require_covered(core)
        return CERTIFIER
    return prover


def certifiable(analysis: Analysis) -> str:
    """What `odt plan` says of certificates."""
    core = normalize(analysis.rows)
    reasons = covered.uncovered(core)
    if reasons:
        return f"certificate: not covered, {'; '.join(reasons)}"
    told = f"certificate: `--using {CERTIFIER} --proof FILE` writes one"
    reasons = covered.uncovered_lists(core)
    if reasons:
        return f"{told}; of lists: not covered, {'; '.join(reasons)}"
    return f"{told}, also of lists (`--all-optimal`, `--near`)"


def ledger_of(name: str | None) -> Ledger | None:
    """Where the back end that writes the proof leaves its certificates; None for `sat`."""
    from odtdsl.backends.ledger import Ledger

    return Ledger() if name == CERTIFIER else None


def log(
    analysis: Analysis,
    result: Result,
    path: Path,
    began: float,
    seconds: float | None,
    ledger: Ledger | None = None,
) -> tuple[Result, Proof | Written | None]:
    """Write the proof of a result of `sat`, or with a ledger the certificate of one of `exact`.

    `began` is the `time.monotonic()` value that the time limit counts from: `seconds`, else that
    of the spec. Where none could be written, the result has a warning more (P201, P202, or F301
    for the file): it stands without.
    """
    from odtdsl.base.interrupts import interruptible

    seconds = analysis.problem.options.seconds if seconds is None else seconds
    deadline = None if seconds is None else began + seconds
    proof: Proof | Written
    try:
        if ledger is not None:
            rows = certificate.write(analysis, result, ledger, path)
            stopped = result.status not in ("optimal", "infeasible")
            return result, Written(rows, stopped=stopped)
        with interruptible() as pressed:
            proof = prove(analysis, result, deadline=deadline, interrupted=pressed)
        write(proof, path)
    except OdtError as failure:
        return _warned(result, failure), None
    return result, proof


def log_list(
    analysis: Analysis,
    found: Alternatives,
    path: Path,
    began: float,
    seconds: float | None,
    *,
    named: bool = True,
) -> tuple[Alternatives, Written | None]:
    """Write the certificate that a list is complete; without `named`, of how many trees there are.

    Parameters are those of `log`. Where none could be written, the result of the list has a
    warning more (P201, P202, or F301 for the file): the list stands without.
    """
    seconds = analysis.problem.options.seconds if seconds is None else seconds
    deadline = None if seconds is None else began + seconds
    try:
        return found, Written(*listing.write(analysis, found, path, deadline, named=named))
    except OdtError as failure:
        return replace(found, result=_warned(found.result, failure)), None


def _warned(result: Result, failure: OdtError) -> Result:
    """The result with what kept its proof from being written as warnings."""
    if not all(one.code in ("P201", "P202", "F301") for one in failure.diagnostics):
        raise failure
    told = tuple(replace(one, severity="warning") for one in failure.diagnostics)
    return replace(result, warnings=result.warnings + told)


def verify(analysis: Analysis, path: Path, sample: str | None = None) -> tuple[Verified, ...]:
    """Check a proof in a file; errors as of `read` and `check`, or of `certificate.verify`.

    `sample`: the share of a certificate's checks of depth two that is made, such as `1%`.
    """
    from odtdsl.base.interrupts import interruptible

    if certificate.is_certificate(path):
        return tuple(_certified(analysis, path, sample))

    with interruptible() as pressed:
        return check(read(path), analysis, interrupted=pressed)


def _certified(analysis: Analysis, path: Path, sample: str | None) -> Iterator[Verified]:
    """A certificate as parts of a proof: its bounds, and last what it shows of its own tree."""
    core = normalize(analysis.rows)
    found = certificate.verify(analysis, path, sample)
    if found.only is not None:
        told = f"of these rules only: {', '.join(found.only) or 'none'}"
        yield Verified(statement=told, claim=NOTHING, certified=True)
    for bound in (*found.claims, *_of_list(analysis, core, found)):
        yield Verified(statement=bound, claim=NOTHING, certified=True)
    told = f"steps: {found.steps}; rules: {found.rules}; {found.verdict}"
    if not found.optimal:
        yield Verified(statement=told, claim=NOTHING, certified=True)
        return
    for claim in optimum(certificate.stage_values(core, found)):
        if claim.stage:
            name = _name(analysis.problem.objective[claim.stage])
            told = f"so no tree that is as good in what comes first is better in {name}"
        yield Verified(statement=told, claim=claim, certified=True)


def _name(goal: StageDecl) -> str:
    """A stage without the word that says which way it goes."""
    return goal.text.split(" ", 1)[-1]


def _of_list(analysis: Analysis, core: Core, found: certificate.Checked) -> Iterator[str]:
    """How many trees of a list have which first stage, and how many predict differently."""
    from odtdsl.backends.exact.lowering import least

    for goal, stage in zip(analysis.problem.objective, core.objective, strict=True):
        if isinstance(stage, LinearStage):
            name, denominator = _name(goal), stage.measure.denominator
            for steps, trees in found.counts:
                value = stage.sign * Fraction(least(stage.measure) + steps, denominator)
                yield f"{trees:,} of them with {name} = {as_number(value)}"
            break
    if found.complete and found.distinct is not None:
        yield f"{found.distinct:,} where those that predict alike count once (compared by odtdsl)"


def shortfalls(
    analysis: Analysis, audit: Audit, found: Sequence[Verified]
) -> tuple[Diagnostic, ...]:
    """Where a proof does not show that a tree is optimal; nothing where it does."""
    stages = reached(normalize(analysis.rows), audit.objective, found)
    return tuple(
        Diagnostic(
            code="P108",
            message=f"the proof does not show that the tree is optimal for `{stage.text}`",
            notes=("it proves only:", *(one.statement for one in found)),
            helps=("give the result that was saved together with the proof",),
        )
        for stage, fine in zip(analysis.problem.objective, stages, strict=True)
        if not fine
    )


# ---- as text and as JSON


def written(proof: Proof | Written | None, path: Path, spec: Path) -> Iterator[str]:
    """What was written."""
    if proof is None:
        return
    if isinstance(proof, Written):
        size = path.stat().st_size
        yield ""
        trees = f"{proof.trees:,} {'tree' if proof.trees == 1 else 'trees'}"
        of = f" that {'these are all' if proof.named else 'there are'} {trees}"
        of = of if proof.trees else ""
        yield f"certificate{of}: {path}, {size} bytes; check it: odt audit {spec} --proof {path}"
        yield f"  on a machine without odtdsl: odtcheck {path} {proof.rows}"
        if proof.stopped:
            yield "  the search was stopped: the check may show less than the bound that is told"
        return
    yield ""
    yield f"proof: {path}, {path.stat().st_size} bytes; check it: odt audit {spec} --proof {path}"
    for part in proof.parts:
        yield f"  {part.statement}"
        yield f"    {_told(size_of(part))}"


def verified(found: Sequence[Verified]) -> Iterator[str]:
    """What is proven."""
    yield "proven, each step checked:"
    for one in found:
        yield f"  {one.statement}"
        taken = f", {one.seconds:.2f} s" if one.clauses else ""
        if not one.certified:
            yield f"    {_told(_size(one))}{taken}"


def _told(size: Mapping[str, int | None]) -> str:
    if not size["clauses"]:
        return "holds by itself"
    return ", ".join(f"{'all' if n is None else n} {name}" for name, n in size.items())


def _size(one: Verified) -> dict[str, int]:
    return {
        "rows": one.rows,
        "variables": one.variables,
        "clauses": one.clauses,
        "steps": one.lemmas,
    }


def verified_json(found: Sequence[Verified]) -> list[dict[str, Any]]:
    """Checked proofs as plain values for `--json`."""
    return [{"statement": one.statement, **_size(one), "seconds": one.seconds} for one in found]


def written_json(proof: Proof | Written | None, path: Path) -> dict[str, Any] | None:
    """A written proof and its file as plain values for `--json`; `None` without one."""
    if proof is None:
        return None
    if isinstance(proof, Written):
        told = {"file": str(path), "bytes": path.stat().st_size, "rows": str(proof.rows)}
        return told | ({"trees": proof.trees, "named": proof.named} if proof.trees else {})
    parts = [{"statement": part.statement, **size_of(part)} for part in proof.parts]
    return {"file": str(path), "bytes": path.stat().st_size, "parts": parts}
