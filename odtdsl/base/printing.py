"""Texts that a terminal and a picture can show as they are."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """The text on one line: control and format characters, line ends, lone surrogates and what
    XML cannot hold spelled as escapes, so that a name can neither break a picture nor command
    a terminal."""
    return "".join(
        c.encode("unicode_escape").decode("ascii")
        if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in "\ufffe\uffff"
        else c
        for c in text
    )
