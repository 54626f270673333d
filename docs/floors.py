"""The floors of the package as a picture in text, drawn from the contract in `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
WIDTH = 58


def floors() -> list[list[str]]:
    """The packages of each floor, from the top down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one["id"] == "floors")
    return [[name.strip() for name in layer.split("|")] for layer in layers]


def drawn() -> str:
    """Each floor as a row of rooms; packages side by side do not import each other."""
    line = "+" + "-" * WIDTH + "+"
    rows = [line]
    for floor in floors():
        share, rest = divmod(WIDTH - (len(floor) - 1), len(floor))
        rooms = [name.center(share + (at < rest)) for at, name in enumerate(floor)]
        rows += [f"|{'|'.join(rooms)}|", line]
    return "```text\n" + "\n".join(rows) + "\n```"


def write() -> None:
    """Put the picture into the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.sub(r"```text\n\+-.*?```", lambda _: drawn(), text, count=1, flags=re.DOTALL)
    if found != text:
        PAGE.write_text(found, encoding="utf-8")
