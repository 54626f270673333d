"""Where the diagnostics of an analysis are collected, and names are looked up."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from odtdsl.base.diagnostics.model import Diagnostic, Label, OdtError, Severity
from odtdsl.base.diagnostics.suggest import closest, nearest_first
from odtdsl.base.source import Source, Span
from odtdsl.language import ast


class StatementError(Exception):
    """A statement or expression cannot be resolved; its diagnostic has been reported."""


class Reporter:
    """Collects diagnostics of one source."""

    def __init__(self, source: Source | None) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def text(self, at: ast.Node) -> str | None:
        """How the source writes it; None where there is no source."""
        if self.source is None or at.span.start < 0:
            return None
        return self.source.text[at.span.start : at.span.end]

    def error(
        self,
        code: str,
        message: str,
        at: ast.Node | Span | None = None,
        *,
        label: str = "",
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
        also: Iterable[tuple[ast.Node | Span, str]] = (),
    ) -> StatementError:
        """Report an error; raise what it returns to give up the statement."""
        self._report("error", code, message, at, label, notes, helps, also)
        return StatementError()

    def warn(
        self,
        code: str,
        message: str,
        at: ast.Node | Span | None = None,
        *,
        label: str = "",
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
        also: Iterable[tuple[ast.Node | Span, str]] = (),
    ) -> None:
        """Report a warning at a place of the spec."""
        self._report("warning", code, message, at, label, notes, helps, also)

    def adopt(self, error: OdtError, at: ast.Node | None = None) -> None:
        """Report the diagnostics of another stage, at a place where they name none."""
        for diagnostic in error.diagnostics:
            if diagnostic.labels or at is None:
                self.found.append(diagnostic)
            else:
                self._report(
                    diagnostic.severity,
                    diagnostic.code,
                    diagnostic.message,
                    at,
                    "",
                    diagnostic.notes,
                    diagnostic.helps,
                    (),
                )

    def unknown(
        self,
        code: str,
        what: str,
        name: str,
        known: Collection[str | int | float],
        at: ast.Node,
        *,
        values: bool = False,
        helps: Iterable[str] = (),
    ) -> StatementError:
        """Report that a name (`values`: a value) means nothing, with the nearest that does."""
        words = [str(word) for word in known]
        shown = {str(w): f'"{w}"' if values and isinstance(w, str) else f"`{w}`" for w in known}
        near = closest(name, words)
        suggestions = [f"did you mean {shown[near]}?"] if near is not None else []
        first = nearest_first(name, words) if code == "N103" else words
        listed = ", ".join(shown[word] for word in first[:12]) + (", ..." if words[12:] else "")
        notes = [f"there are: {listed}"] if words and near is None else []
        return self.error(
            code, f"{what} `{name}` is unknown", at, notes=notes, helps=[*suggestions, *helps]
        )

    @property
    def errors(self) -> list[Diagnostic]:
        """The errors so far."""
        return [d for d in self.found if d.severity == "error"]

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings so far."""
        return tuple(d for d in self.found if d.severity == "warning")

    def check(self) -> None:
        """Raise all that was found if there is an error."""
        if self.found and self.errors:
            raise OdtError(_in_source_order(self.found))

    def _report(
        self,
        severity: Severity,
        code: str,
        message: str,
        at: ast.Node | Span | None,
        label: str,
        notes: Iterable[str],
        helps: Iterable[str],
        also: Iterable[tuple[ast.Node | Span, str]],
    ) -> None:
        labels: list[Label] = []
        for place, text in [(at, label), *also]:
            span = place.span if isinstance(place, ast.Node) else place
            if span is not None and span.start >= 0:
                labels.append(Label(span=span, text=text))
        self.found.append(
            Diagnostic(
                code=code,
                message=message,
                severity=severity,
                labels=tuple(labels),
                notes=tuple(notes),
                helps=tuple(helps),
                source=self.source,
            )
        )


def _in_source_order(found: list[Diagnostic]) -> list[Diagnostic]:
    def place(diagnostic: Diagnostic) -> int:
        return diagnostic.labels[0].span.start if diagnostic.labels else -1

    return sorted(found, key=place)
