"""All mistakes of a spec that an editor shows, and the facts about its data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError
from odtdsl.compiler import Analysis, analyse
from odtdsl.compiler.beyond_syntax import beyond_syntax
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.sources import data_request
from odtdsl.datasets.request import DataRequest
from odtdsl.interfaces.editor.data_facts import ColumnFacts, Facts, facts_of
from odtdsl.interfaces.editor.outline import Outline
from odtdsl.interfaces.editor.tables import Tables, Unread, head
from odtdsl.language import ast


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What is wrong; the facts, None where no data could be read; and why they were left out."""

    diagnostics: tuple[Diagnostic, ...]
    facts: Facts | None = None
    unread: str | None = None


def checked(outline: Outline, base: Path, tables: Tables) -> Checked:
    """Check a spec as `odt check` does, as far as it can be read.

    Parameters
    ----------
    outline
        The text.
    base
        The folder that its paths are relative to.
    tables
        Where data are kept.
    """
    spec = outline.parsed
    if not isinstance(spec, ast.Spec):
        facts, reason = _facts(outline, base, tables)
        if reason is None:
            with suppress(Unread):  # that is told of specs that parse
                spec = beyond_syntax(outline.source, spec, base=base, files=tables)
        return Checked(diagnostics=spec, facts=facts)
    try:
        analysis = analyse(spec, source=outline.source, base=base, files=tables)
        facts, _ = _facts(outline, base, tables)
        if facts is not None:
            facts = replace(facts, groups=_groups(analysis))
        return Checked(diagnostics=(*analysis.warnings, *_refusals(analysis)), facts=facts)
    except OdtError as failure:
        facts, _ = _facts(outline, base, tables)
        return Checked(diagnostics=failure.diagnostics, facts=facts)
    except Unread as reason:
        facts, _ = _facts(outline, base, tables)
        return Checked(diagnostics=(), facts=facts, unread=str(reason))


def unread(outline: Outline, reason: str) -> Diagnostic:
    """Says that names and values are not checked, at the `data` statement."""
    statement = outline.statement(ast.Data)
    labels = () if statement is None else (Label(span=statement.source.span),)
    return Diagnostic(
        code="D115",
        severity="warning",
        labels=labels,
        source=outline.source,
        message=f"columns and values are not checked here: {reason}",
        helps=("`odt check` does",),
    )


def _refusals(analysis: Analysis) -> tuple[Diagnostic, ...]:
    """What no back end can, as warnings: the spec itself is right."""
    from odtdsl.driver.choice import choose, refused
    from odtdsl.problem.terms.normalize import normalize

    problem = analysis.problem
    try:
        choice = choose(normalize(analysis.rows), problem.options.backend)
        if choice.name is None:
            raise refused(choice, problem.options.backend, problem.source)
    except OdtError as failure:
        if any(not one.code.startswith("B") for one in failure.diagnostics):
            raise
        return tuple(replace(one, severity="warning") for one in failure.diagnostics)
    return ()


def _groups(analysis: Analysis) -> tuple[tuple[str, int], ...]:
    from odtdsl.problem.ir.expr import GroupArg

    return tuple(
        (group.name, int(analysis.rows.mask(GroupArg(name=group.name)).sum()))
        for group in analysis.problem.groups
    )


def _facts(outline: Outline, base: Path, tables: Tables) -> tuple[Facts | None, str | None]:
    """The facts about the data, from the first data statement that can be read."""
    statement = outline.statement(ast.Data)
    if statement is None:
        return None, None
    request: DataRequest = data_request(statement, Reporter(outline.source), data=None, test=None)
    try:
        return facts_of(tables.read(request, base=base)), None
    except OdtError:
        return None, None
    except Unread as reason:
        names = head(request, base)
        columns = tuple(ColumnFacts(name=name, kind="unknown") for name in names)
        known = Facts(source=request.name, n_rows=None, columns=columns) if names else None
        return known, str(reason)
