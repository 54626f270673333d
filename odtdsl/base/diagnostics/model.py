"""Diagnostics as values: a stable code, what is wrong, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from odtdsl.base.frozen import dataclass
from odtdsl.base.methods import method
from odtdsl.base.source import Source, Span

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A place in the source and, optionally, what to say about it."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One message.

    Attributes
    ----------
    code
        Stable: a letter for the stage (S syntax, N names, T types, D data, K skeleton,
        O objective, R rules, B back ends, F files, U use, X internal) and three digits.
        Warnings carry codes of the same stages.
    message
        One sentence, lower case, without a final stop: what is wrong.
    labels
        The first is the primary place.
    notes, helps
        Facts that explain it; what to write instead.
    source
        The text that the labels point into; None where there is none (a Python model).
    """

    code: str
    message: str
    severity: Severity = "error"
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    source: Source | None = None

    def __str__(self) -> str:
        """The message with its place and what to write instead, as `OdtError` shows it."""
        return str(method("Diagnostic.__str__")(self))


class DataHelp(str):
    """A help that says what to write in the data statement of a spec.

    Attributes
    ----------
    option
        The same for a command that reads rows without a spec, by its options.
    """

    option: str

    def __new__(cls, statement: str, option: str) -> Self:
        """Both texts; as a text it is the former."""
        made = super().__new__(cls, statement)
        made.option = option
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.option


class OdtError(Exception):
    """One or more diagnostics that stop the work. `str()` renders them as plain text."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.diagnostics))


def shortened(text: str, most: int = 40) -> str:
    """A text for a message, cut where it is longer: cells and tokens may have any length."""
    return text if len(text) <= most else text[: most - 1] + "…"


def error(
    code: str,
    message: str,
    *,
    span: Span | None = None,
    label: str = "",
    notes: Iterable[str] = (),
    helps: Iterable[str] = (),
    source: Source | None = None,
) -> OdtError:
    """An `OdtError` of a single diagnostic, ready to raise."""
    labels = () if span is None else (Label(span=span, text=label),)
    return OdtError(
        [
            Diagnostic(
                code=code,
                message=message,
                labels=labels,
                notes=tuple(notes),
                helps=tuple(helps),
                source=source,
            )
        ]
    )
