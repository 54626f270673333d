"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from odtdsl.diagnostics.model import error


def write_text(path: Path, text: str) -> None:
    """Write to a temporary name in the same folder, then rename.

    Raises
    ------
    OdtError
        F301: the file cannot be written; nothing is left behind.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as failure:
        raise error(
            "F301", f"`{path}` cannot be written: {failure.strerror or failure}",
            helps=("choose another folder or name",),
        ) from failure  # fmt: skip


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
