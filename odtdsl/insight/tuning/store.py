"""Completed runs in a file, so that a stopped tuning can continue."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.files import check_writable, read_bytes, write_text
from odtdsl.insight.tuning.single_run import Cell

FORMAT, VERSION = "odtdsl.tuning", 1
PAUSE = 1.0
"""Seconds between two writings at least; a process that is killed loses so much."""


class Store:
    """Cells by the names of their runs, in a file where one is named.

    The file may hold runs of other tunings: they are kept, and not looked at.

    Raises
    ------
    OdtError
        F310: a file that is there and holds something else. F301: it can be seen not to be
        writable.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.cells: dict[str, Cell] = {}
        self.failure: Diagnostic | None = None
        self._waiting = False
        self._written = 0.0
        if path is None:
            return
        check_writable(path)
        if path.exists():
            self.cells = _read(path)

    def add(self, key: str, cell: Cell) -> None:
        """Keep a run; it is in the file within a second, or when `flush` is called."""
        self.cells[key] = cell
        self._waiting = True
        if time.monotonic() - self._written >= PAUSE:
            self.flush()

    def flush(self) -> None:
        """Write what is not written yet: to a temporary name, then renamed.

        Where that fails, `failure` says why until it works again: the runs go on without.
        """
        if self.path is None or not self._waiting:
            return
        text = json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "runs": {key: cell.to_json() for key, cell in self.cells.items()},
            },
            ensure_ascii=False,
            indent=0,
        )
        self._written = time.monotonic()
        try:
            write_text(self.path, text + "\n")
        except OdtError as failure:
            self.failure = failure.diagnostics[0]
        else:
            self.failure, self._waiting = None, False


def _read(path: Path) -> dict[str, Cell]:
    try:
        value: Any = json.loads(read_bytes(path))
    except OSError as failure:
        raise error("F310", f"`{path}` cannot be read: {failure.strerror or failure}") from None
    except (ValueError, RecursionError):
        raise _foreign(path) from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _foreign(path)
    if value.get("version") != VERSION:
        raise error(
            "F310",
            f"`{path}` has the format of another version of odtdsl",
            helps=("name another file", "or delete it"),
        )
    try:
        return {str(key): Cell.from_json(cell) for key, cell in value["runs"].items()}
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        raise _foreign(path) from None


def _foreign(path: Path) -> OdtError:
    return error(
        "F310",
        f"`{path}` exists, but does not contain runs of `odt tune`",
        helps=("name another file with `--keep`, or delete it",),
    )


__all__ = ["Store"]
