"""What `odt solve --proof` and `odt audit --proof` do, for the command line and for Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtdsl.base.back_ends import AUTO, able
from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.insight.proofs.check import Verified, check, reached
from odtdsl.insight.proofs.claims import require_tree
from odtdsl.insight.proofs.file import Proof, read, size_of
from odtdsl.insight.proofs.log import prove, write
from odtdsl.problem.terms.normalize import normalize

if TYPE_CHECKING:
    from odtdsl.auditor.audit import Audit
    from odtdsl.compiler import Analysis
    from odtdsl.driver.result import Result


def back_end(analysis: Analysis, wish: str | None) -> str:
    """The back end that writes proofs, unless another one is requested.

    Raises
    ------
    OdtError
        U316: something does. B102: the spec asks for a diagram.
    """
    named, prover = wish or analysis.problem.options.backend, able("write proofs")
    if named not in (AUTO, prover):
        raise error(
            "U316",
            f"`{named}` cannot write proofs; `{prover}` can",
            helps=(f"write `--using {prover}`, or omit `--using`",),
        )
    require_tree(normalize(analysis.rows))
    return prover


def log(
    analysis: Analysis, result: Result, path: Path, began: float, seconds: float | None
) -> tuple[Result, Proof | None]:
    """Write the proof of a result of `sat` to a file.

    `began` is the `time.monotonic()` value that the time limit counts from: `seconds`, else that
    of the spec. Where none could be written, the result has a warning more (P201, P202, or F301
    for the file): it stands without.
    """
    from odtdsl.base.interrupts import interruptible

    seconds = analysis.problem.options.seconds if seconds is None else seconds
    deadline = None if seconds is None else began + seconds
    try:
        with interruptible() as pressed:
            proof = prove(analysis, result, deadline=deadline, interrupted=pressed)
        write(proof, path)
    except OdtError as failure:
        if not all(one.code in ("P201", "P202", "F301") for one in failure.diagnostics):
            raise
        told = tuple(replace(one, severity="warning") for one in failure.diagnostics)
        return replace(result, warnings=result.warnings + told), None
    return result, proof


def verify(analysis: Analysis, path: Path) -> tuple[Verified, ...]:
    """Check a proof in a file; errors as of `read` and `check`."""
    from odtdsl.base.interrupts import interruptible

    with interruptible() as pressed:
        return check(read(path), analysis, interrupted=pressed)


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


def written(proof: Proof | None, path: Path, spec: Path) -> Iterator[str]:
    """What was written."""
    if proof is None:
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


def written_json(proof: Proof | None, path: Path) -> dict[str, Any] | None:
    """A written proof and its file as plain values for `--json`; `None` without one."""
    if proof is None:
        return None
    parts = [{"statement": part.statement, **size_of(part)} for part in proof.parts]
    return {"file": str(path), "bytes": path.stat().st_size, "parts": parts}
