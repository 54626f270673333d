"""The folder that a studio works in: the specs there, and nothing outside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from odtdsl.base.diagnostics.model import Diagnostic, Label, error
from odtdsl.base.files import write_text
from odtdsl.base.source import Span
from odtdsl.interfaces.editor.outline import Outline
from odtdsl.language import ast
from odtdsl.language.parser import read_source

TABLES = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".arff")
"""Rows that a first spec can be written for."""

MAX_NAME = 200
"""Characters of a file's name, with room for what is written beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder; `root` is its real path."""

    root: Path

    def specs(self) -> list[str]:
        """The names of the specs, in order."""
        return sorted(path.name for path in self.root.glob("*.odt") if self._inside(path))

    def tables(self) -> list[str]:
        """The names of the files of rows without a spec of their own, in order."""
        specs = {Path(name).stem for name in self.specs()}
        return sorted(
            path.name
            for path in self.root.iterdir()
            if path.suffix in TABLES and path.stem not in specs and self._inside(path)
        )

    def file(self, name: str, *suffixes: str) -> Path:
        """The path of a file of the folder itself.

        Raises
        ------
        OdtError
            U380: it is not one of this folder, or of another kind.
        """
        path = self.root / name
        plain = name == Path(name).name and 0 < len(name) <= MAX_NAME and "\0" not in name
        if not plain or path.suffix not in suffixes or not self._inside(path):
            raise error("U380", f"`{name}` is no file of this folder that the studio works on")
        return path

    def read(self, name: str) -> str:
        """The text of a spec, with line ends as editors count them."""
        text = read_source(self.file(name, ".odt")).text
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def save(self, name: str, text: str, known: str) -> Path:
        """Write a spec; a file with the line ends of Windows keeps them.

        Raises
        ------
        OdtError
            U380 as `file`; U384: the file no longer says `known`, so another program wrote it.
        """
        path = self.file(name, ".odt")
        if not path.exists() or self.read(name) != known:
            raise error(
                "U384",
                f"`{name}` was changed by another program, and is not written over",
                helps=("load the page again to see it; copy your text first",),
            )
        if text != known:
            ends_of_windows = b"\r\n" in path.read_bytes()
            write_text(path, text.replace("\n", "\r\n") if ends_of_windows else text)
        return path

    def outside(self, outline: Outline) -> tuple[Diagnostic, ...]:
        """What a spec would read from elsewhere: files outside the folder, and the network."""
        found = []
        for statement in outline.readable[0]:
            for span, path in _paths(statement):
                if path is None:
                    message = "the studio reads nothing from the network"
                elif self._inside(self.root / Path(path).expanduser()):
                    continue
                else:
                    message = "the studio reads only files of its folder"
                found.append(
                    Diagnostic(
                        code="U381",
                        source=outline.source,
                        message=message,
                        labels=(Label(span=span),),
                        helps=("copy the file there, or solve this spec by `odt solve`",),
                    )
                )
        return tuple(found)

    def _inside(self, path: Path) -> bool:
        try:
            return path.resolve().is_relative_to(self.root)
        except (OSError, RuntimeError, ValueError):
            return False


def _paths(statement: ast.Statement) -> list[tuple[Span, str | None]]:
    """The paths of a statement; None for what comes from the network."""
    found: list[tuple[Span, str | None]] = []
    if isinstance(statement, ast.Data):
        source = statement.source
        if isinstance(source, ast.FileSource):
            found.append((source.span, source.path))
        elif isinstance(source, ast.LibrarySource) and source.library != "sklearn":
            found.append((source.span, None))
        tests = [one for one in statement.options if isinstance(one, ast.TestFile)]
        found += [(one.span, one.path) for one in tests]
    if isinstance(statement, ast.Solve):
        starts = [one for one in statement.options if isinstance(one, ast.Start)]
        found += [(one.span, one.path) for one in starts]
    return found


__all__ = ["TABLES", "Folder"]
