"""Text in pictures: how wide it is, where it is broken, how it is written into SVG."""

from __future__ import annotations

import unicodedata
from html import escape

FONT = 13.0
"""Size of the text of pictures, in px."""
WRAP = 190.0
"""Widest line of text in a box, in px; longer names are wrapped, then cut."""
MOST_LINES = 3


def text_width(text: str, size: float = FONT) -> float:
    """An estimate, on the large side, of a text's width in px in a sans-serif font."""
    return size * sum(_character_width(character) for character in text)


def _character_width(character: str) -> float:
    if character in "iljI.,:;'|!() []/\\ftr-`":
        return 0.4
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in "mwMW@%…":
        return 0.98
    if character.isupper() or character in "<>=+~&#_":
        return 0.84 if character in "<>=+~" else 0.74
    return 0.64


def wrapped(text: str, width: float = WRAP, most: int = MOST_LINES) -> tuple[str, ...]:
    """The text in at most `most` lines of `width` px, broken at blanks where possible, else after
    `_`, `-`, `/`, `.` or `,` outside of a number; an ellipsis where it is cut."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < most:
        if text_width(rest) <= width:
            lines.append(rest)
            return tuple(lines)
        count = _fitting(rest, width)
        if len(lines) == most - 1:
            lines.append(rest[: max(1, _fitting(rest, width - text_width("…")))].rstrip() + "…")
            break
        count = _break(rest, count)
        lines.append(rest[:count].rstrip(" "))
        rest = rest[count:].lstrip(" ")
    return tuple(lines) or ("",)


def _break(text: str, count: int) -> int:
    """Where a line of at most `count` characters ends, not in its first third."""
    blanks = [i for i in range(count // 3, count + 1) if text[i : i + 1] == " "]
    if blanks:
        return blanks[-1]
    marks = [
        i + 1
        for i in range(count // 3, count)
        if text[i] in "_-/.," and not text[i + 1 : i + 2].isdigit()
    ]
    return marks[-1] if marks else count


def _fitting(text: str, width: float) -> int:
    """How many characters fit, at least one; combining marks stay with their letter."""
    used = 0.0
    for i, character in enumerate(text):
        used += text_width(character)
        if used > width:
            return max(1, i)
    return len(text)


def attr(text: str) -> str:
    """Text inside of an attribute."""
    return escape(text, quote=False).replace('"', "&quot;")


def px(value: float) -> str:
    """Tenths of a pixel, without a trailing zero."""
    return f"{value:.1f}".removesuffix(".0")
