"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from odtdsl.diagnostics.model import error


def regular(path: Path) -> Path:
    """The path, which a spec names, unless it is a device or a pipe, which may never end.

    Raises
    ------
    OdtError
        F201.
    """
    with suppress(OSError, ValueError):  # which opening it will say better
        if path.exists() and not path.is_file() and not path.is_dir():
            raise error("F201", f"cannot read {path}: it is no regular file")
    return path


def check_writable(path: Path) -> None:
    """Refuse what can be seen not to work before the work is done.

    Raises
    ------
    OdtError
        F301: a folder, or in a folder that is not there.
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise error("F301", f"`{path}` cannot be written: it {what}", helps=("choose another",))


def write_text(path: Path, text: str) -> None:
    """As `write_bytes`, in UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write to a temporary name in the same folder, then rename.

    What is no regular file, such as a device or a pipe, is written to as it is.

    Raises
    ------
    OdtError
        F301: the file cannot be written; nothing is left behind.
    """
    try:
        if path.exists() and not path.is_file():
            with open(path, "wb") as device:
                device.write(data)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
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
