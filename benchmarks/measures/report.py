"""Tables in Markdown: printed row by row, and put into the page of measured figures."""

from __future__ import annotations

import math
import os
import platform
import re
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from odtdsl.base import _engine

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "explanation" / "exact-measured.md"
CASES_PAGE = ROOT / "docs" / "explanation" / "cases-measured.md"
"""Rules, case studies, and the CPTree study's splits."""


class Table:
    """A table that prints itself while it grows, unless `quiet`; `name`: its place on the page."""

    def __init__(self, name: str, head: Iterable[str], *, quiet: bool = False) -> None:
        self.name = name
        self.quiet = quiet
        self.lines: list[str] = []
        self.notes: list[str] = []
        cells = list(head)
        self._put(cells)
        self._put(["---"] * len(cells))

    def add(self, *cells: object) -> None:
        self._put([shown(cell) for cell in cells])

    def note(self, text: str) -> None:
        """A sentence below the table."""
        self.notes.append(text)
        if not self.quiet:
            print("\n" + text, flush=True)

    def text(self) -> str:
        """The table and its sentences."""
        return "\n".join(self.lines) + "".join(f"\n\n{note}" for note in self.notes)

    def _put(self, cells: Iterable[str]) -> None:
        self.lines.append("| " + " | ".join(cells) + " |")
        if not self.quiet:
            print(self.lines[-1], flush=True)

    def publish(self, page: Path = PAGE) -> None:
        """Put it into its section of the page, between two comments."""
        told, before = [Path(sys.argv[0]).name], ""
        for word in sys.argv[1:]:  # where runs are kept is a path of one machine
            if word not in ("--docs", "--out") and before != "--out":
                told.append(word)
            before = word
        command = "python benchmarks/" + " ".join(told)
        put(page, self.name, f"`{command}`\n\n{self.text()}\n\n*{machine()}*")


def put(page: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- measured NAME -->` and `<!-- end -->`."""
    old = page.read_text(encoding="utf-8")
    start, end = rf"(<!-- measured {re.escape(name)} -->\n)", r"(\n<!-- end -->\n)"
    between = re.compile(rf"{start}.*?{end}", re.DOTALL)
    new, count = between.subn(lambda match: match[1] + "\n" + text + "\n" + match[2], old)
    if count != 1:
        sys.exit(f"{page} has no place for `{name}`: add `<!-- measured {name} -->`")
    scratch = page.with_suffix(".tmp")
    scratch.write_text(new, encoding="utf-8")
    scratch.replace(page)


def shown(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.3f}" if cell < 10 else f"{cell:.1f}"
    return str(cell)


def machine() -> str:
    """What the figures were taken on."""
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        names = re.findall(r"model name\s*: (.*)", cpu.read_text(encoding="utf-8"))
        model = names[0] if names else model
    peers = []
    for name in ("pycontree", "pystreed", "scikit-learn"):
        try:
            peers.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    sets = ", ".join(_engine.instruction_sets())
    return (
        f"{model}, {os.cpu_count()} cores ({sets}), load at the end {os.getloadavg()[0]:.1f};"
        f" Python {platform.python_version()}, {', '.join(peers)}"
    )


def geometric(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
