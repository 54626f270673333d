"""A model as a flowchart of Mermaid, which Markdown shows on many sites."""

from __future__ import annotations

import re

from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.formats.text import leaf_lines, question_text, rank_lines
from odtdsl.presentation.exports.plan import TITLE, Fork, Item, Plan


def to_mermaid(plan: Plan, name: str | None = None) -> str:
    """A flowchart from the top down: splits ask, and leaves say what is predicted.

    "or missing" says that a missing cell goes to `yes`; else it goes to `no`. Rows that `predict`
    refuses are not drawn.

    Parameters
    ----------
    plan
        The model.
    name
        The title above the chart; default none.
    """
    lines = [] if name is None else ["---", f"title: {_label(name)}", "---"]
    lines += ["flowchart TD", f"  %% {_plain(plan.title)}."]
    stack: list[tuple[Item, str]] = [(plan.root, "")]
    number = 0
    while stack:
        item, arrow = stack.pop()
        if isinstance(item, Fork):
            lines.append(f"  n{number}[{_label(question_text(plan, item.question))}]")
            stack.append((item.right, f"  n{number} -- no --> "))
            stack.append((item.left, f"  n{number} -- yes --> "))
        else:
            lines.append(f"  n{number}([{_label(*leaf_lines(plan, item.leaf))}])")
        if arrow:
            lines.append(f"{arrow}n{number}")
        number += 1
    lines += [f"  r{at}>{_label(line)}]" for at, line in enumerate(rank_lines(plan))]
    return "\n".join(lines) + "\n"


FORMAT = Format(
    what="a flowchart for Markdown",
    suffixes=(".mmd",),
    begins=rb'(---\ntitle: "[^\n]*"\n---\n)?flowchart TD\n  %% ' + TITLE + rb"\.\n",
    write=to_mermaid,
    shows_dates=True,
)


def _label(*lines: str) -> str:
    """Lines as a label; what Mermaid, Markdown or HTML could read is written by its number."""
    return '"' + "<br>".join(map(_plain, lines)) + '"'


def _plain(text: str) -> str:
    return re.sub(r"[^\w .,()=+/-]", _coded, text)


def _coded(match: re.Match[str]) -> str:
    return f"#{ord(match[0])};"
