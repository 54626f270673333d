"""What a format of exports is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from odtdsl.presentation.exports.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of exports: the `FORMAT` of a file of `formats`.

    Attributes
    ----------
    what
        What it is, in a few words.
    suffixes
        Of files; the first is usual.
    begins
        A regular expression of how its files begin (`.` is any byte), by which `odt` knows that
        it may write one again. Files of people should not match it: `plan.TITLE` is a good part.
    write
        Writes a plan, under a name if one is given.
    binary
        Whether it is bytes.
    any_text
        Whether it carries names and labels that UTF-8 cannot write.
    package
        What must be installed, of the extra `export`; empty where nothing is.
    also
        Other names that `--to` takes for it.
    shows_dates
        Whether days are dates there, as people read it; to programs they are numbers.
    """

    what: str
    suffixes: tuple[str, ...]
    begins: bytes
    write: Callable[[Plan, str | None], str | bytes]
    binary: bool = False
    any_text: bool = False
    package: str = ""
    also: tuple[str, ...] = ()
    shows_dates: bool = False
