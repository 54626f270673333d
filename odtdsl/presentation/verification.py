"""What `odt audit` prints: the rules that a saved tree satisfies, and what a proof shows of it."""

from __future__ import annotations

from collections.abc import Iterator

from odtdsl.insight.proofs.commands import verified
from odtdsl.insight.verification import Audited
from odtdsl.presentation.console import (
    audited,
    audited_test,
    score_line,
    shown,
    test_lines,
    trained_line,
)


def lines(found: Audited) -> Iterator[str]:
    """An audit of a saved model, as text."""
    if found.audit is not None:
        for text, value in zip(found.texts, found.audit.objective, strict=True):
            yield f"{text}: {shown(value)}"
        if found.test is not None:
            yield score_line(found.test, "rows" if found.trained else "test")
            if found.trained:
                yield "  " + trained_line(found.trained)
            yield from (f"  {line}" for line in test_lines(found.test, found.texts))
        yield from audited(found.audit)
    if found.test is not None and found.test.audit is not None and found.test.audit.lines:
        yield ""
        yield from audited_test(found.test.audit, "row" if found.trained else "test row")
    if found.proven is not None:
        if found.audit is not None:
            yield ""
        yield from verified(found.proven)
        if found.audit is not None and found.holds:
            yield "so the tree is optimal"
