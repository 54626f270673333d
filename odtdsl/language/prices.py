"""Recognises prices listed as `cost` and `loss` do not list them."""

from __future__ import annotations

import re

from odtdsl.base.diagnostics.model import Diagnostic
from odtdsl.language.expressions import coded
from odtdsl.language.failure import Failure

_NAME = r"(?:`[^`\n]+`|\w+)"
_LISTED = re.compile(
    rf"(?:\{{\s*)?({_NAME}(?:\s*,\s*{_NAME})+)\s*\}}?\s*==?\s*(-?\d[\d_.]*)(?!\s*%|\w)"
)


def one_price(f: Failure) -> Diagnostic | None:
    """`cost age, sex = 1` and `cost {age, sex} = 1`."""
    if f.keyword != "cost" or f.found not in (",", "=", "=="):
        return None
    start = f.last.start if f.found == "," else f.text.rfind("{", 0, f.at)
    listed = _LISTED.match(f.text, max(0, start))
    if listed is None or listed.end() <= f.at:
        return None
    columns, price = re.findall(_NAME, listed[1]), listed[2]
    each = ", ".join(f"{column} = {price}" for column in columns)
    once = f"{{{', '.join(columns)}}} shared = {price}"
    return f.error(
        "S001",
        "each feature has its own price",
        f"write {coded(each)}",
        span=f.span(listed.start(), listed.end()),
        helps=(f"if a path pays it once for all of them, write {coded(once)}",),
    )


def losses(f: Failure) -> Diagnostic | None:
    """`loss predict "a" when "b" = 5, predict "b" when "a" = 3`."""
    if f.keyword != "loss" or f.found != "," or not f.at_statement:
        return None
    following = f.rest.lstrip().partition("\n")[0]
    if not following.startswith(("predict", "loss")):
        return None
    return f.error(
        "S001",
        "each loss is a statement of its own",
        "write `loss` instead of the comma" if following.startswith("p") else "leave it out",
    )
