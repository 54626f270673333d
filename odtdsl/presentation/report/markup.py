"""HTML made from parts: whatever is not markup already is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from odtdsl.base.printing import printable

EMPTY = ("br", "hr", "input", "meta")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Part = str | int | None
"""Markup, or text that is still to be escaped; None is nothing."""


def text(words: object) -> Markup:
    """Any text as HTML on one line: without effect as markup, as an attribute's value, as a
    command to a terminal, or on the direction of what follows."""
    return words if isinstance(words, Markup) else Markup(escape(printable(str(words))))


def block(words: str) -> Markup:
    """As `text`, but line ends stay."""
    return Markup("\n".join(text(line) for line in words.split("\n")))


def tag(name: str, *parts: Part, **attributes: object) -> Markup:
    """An element. A last `_` of an attribute's name is dropped, others become hyphens; the
    attribute is left out where its value is None or False, and alone where it is True."""
    said = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.removesuffix("_").replace("_", "-")
        said.append(f" {key}" if value is True else f' {key}="{text(str(value))}"')
    opened = f"<{name}{''.join(said)}>"
    return Markup(opened) if name in EMPTY else Markup(f"{opened}{joined(parts)}</{name}>")


def joined(parts: Iterable[Part], between: str = "") -> Markup:
    """Parts one after the other."""
    return Markup(between.join(text(part) for part in parts if part is not None))


def table(
    caption: str,
    heads: Sequence[Part],
    rows: Iterable[Sequence[Part] | Markup],
    *,
    numbers: Iterable[int] = (),
    class_: str | None = None,
) -> Markup:
    """A table, in a frame that scrolls where the page is too narrow.

    Parameters
    ----------
    caption
        What it shows.
    heads
        Of the columns.
    rows
        Cells, the first of which heads its row; or whole rows.
    numbers
        Columns that stand at the right.
    class_
        Of the table.
    """
    right = set(numbers)
    head = tag(
        "tr",
        *(
            tag("th", one, scope="col", class_="n" if i in right else None)
            for i, one in enumerate(heads)
        ),
    )
    body = (row if isinstance(row, Markup) else tag("tr", *cells(row, right)) for row in rows)
    return tag(
        "div",
        tag(
            "table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_=class_
        ),
        class_="scroll",
    )


def cells(row: Sequence[Part], numbers: Iterable[int] = ()) -> list[Markup]:
    """The cells of a row, the first as its head."""
    right = set(numbers)
    return [
        tag(
            "td" if i else "th", one, scope=None if i else "row", class_="n" if i in right else None
        )
        for i, one in enumerate(row)
    ]


class Section(Markup):
    """A part of the page that knows its heading and its anchor."""

    heading: Markup
    anchor: str


def section(title: str, anchor: str, *parts: Part, class_: str | None = None) -> Markup:
    """A part of the page, with its heading; nothing where it would be empty."""
    if not any(parts):
        return Markup("")
    found = Section(tag("section", tag("h2", title), *parts, id=anchor, class_=class_))
    found.heading, found.anchor = text(title), anchor
    return found


def data(value: Any) -> Markup:
    """JSON for a script element: no character in it can end the element or begin another."""
    said = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        said = said.replace(character, f"\\u{ord(character):04x}")
    return Markup(said)
