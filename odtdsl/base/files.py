"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from odtdsl.base.diagnostics.model import OdtError, error, shortened


def as_path(value: str | os.PathLike[str], place: str = "the file") -> Path:
    """A path that a call from Python was given for something; U401 for what is none."""
    if isinstance(value, str | os.PathLike):
        return Path(value)
    raise error(
        "U401",
        f"{place} cannot be {shortened(repr(value))}",
        helps=("give the path of a file, as a text or a `Path`",),
    )


def read_bytes(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """The bytes of a file, at most so many.

    Pipes and devices may never end, nor may the files of `/proc` and `/sys`: none is opened but
    the open streams of this process, as `<(command)` and `/dev/stdin` name them.

    Raises
    ------
    OSError, ValueError
        It cannot be read, or not so.
    """
    named = Path(path)
    stream = _stream(named)
    if stream is None:
        check_regular(named)
    with open(path if stream is None else os.dup(stream), "rb") as file:
        return file.read(most)


def check_regular(path: Path) -> None:
    """OSError where something is there that is no file on a disk, and may block or never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is not a regular file")
    if os.path.realpath(path).startswith(("/proc/", "/sys/")):
        raise OSError(errno.EINVAL, "it is a system file, which may never end")


def regular(path: Path) -> Path:
    """The path, which a spec names, unless reading it may never end.

    Raises
    ------
    OdtError
        F201.
    """
    try:
        check_regular(path)
    except (OSError, ValueError) as failure:
        raise error("F201", f"cannot read {path}: {_reason(failure)}") from None
    return path


def check_writable(path: Path) -> None:
    """Refuse what can be seen not to work before the work is done, by trying it.

    Raises
    ------
    OdtError
        F301: a folder, in a folder that is not there or may not be written, or a file that may
        not be.
    """
    try:
        if path.is_dir() or not path.absolute().parent.is_dir():
            what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise _unwritable(path, f"it {what}")
        if _stream(path) is not None:
            return
        if path.exists() and not os.access(path, os.W_OK):
            raise _unwritable(path, "it is read-only")
        if not path.exists() or path.is_file():
            _check_folder(path)
    except (OSError, ValueError) as failure:  # ValueError: a zero in the name
        raise _unwritable(path, _reason(failure)) from None


def _check_folder(path: Path) -> None:
    """A file of this name can be made where the output will stand."""
    target = _target(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    os.close(handle)
    os.unlink(name)


def write_text(path: Path, text: str) -> None:
    """As `write_bytes`, in UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write to a temporary name in the same folder, then rename.

    Links stay links, and the file behind them is written, with the permissions it had. What is no
    regular file, such as a device or a pipe, is written to as it is.

    Raises
    ------
    OdtError
        F301: the file cannot be written; nothing is left behind. U308: rows were read from it.
    """
    with written_whole(path) as file:
        file.write(data)


@contextmanager
def written_whole(
    path: Path, before: Callable[[Path], None] = lambda temporary: None
) -> Iterator[BinaryIO]:
    """A file to write piece by piece; it gets its name when the block has ended, else none.

    `before` is called with the temporary file, when it is whole; what it raises keeps the old one.

    Raises
    ------
    OdtError
        As `write_bytes`.
    """
    try:
        stream = _stream(path)
        if stream is not None or (path.exists() and not path.is_file()):
            with open(path if stream is None else os.dup(stream), "wb") as device:
                yield device
            return
        _check_kept(path)
        target = _target(path)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            before(Path(name))
            os.chmod(name, mode)
            os.replace(name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except (OSError, ValueError) as failure:
        raise _unwritable(path, _reason(failure)) from failure


_kept: set[Path] = set()
"""Files of rows that this process has read, behind links."""


def keep_from_writers(path: Path) -> None:
    """Let nothing of odtdsl write over this file, which holds rows, in this process.

    Models and results that are saved from Python know no spec, and so not what it reads.
    """
    _kept.add(_target(path))


def _check_kept(path: Path) -> None:
    if path.is_file() and any(kept.exists() and same(path, kept) for kept in _kept):
        raise error(
            "U308",
            f"`{path}` holds rows that were read: it would be overwritten",
            helps=("choose another name",),
        )


def holds(path: Path, text: str) -> bool:
    """Whether a file has this text already."""
    data = text.encode("utf-8")
    with suppress(OSError):
        return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    return False


def same(one: Path, other: Path) -> bool:
    """Whether two names are one file, through links of both kinds; there need be none yet."""
    with suppress(OSError, ValueError):
        if one.exists() and other.exists():
            return one.samefile(other)
    return _target(one) == _target(other)


def _target(path: Path) -> Path:
    """The file that a name stands for, behind symbolic links."""
    return Path(os.path.realpath(path))


_STREAM = re.compile(r"/dev/std(in|out|err)|/(?:dev|proc/self)/fd/(\d+)")


def _stream(path: Path) -> int | None:
    """The number of an open stream, where a path names it: it is not to be opened or replaced."""
    match = _STREAM.fullmatch(str(path.absolute()))
    if match is None:
        return None
    return int(match[2]) if match[1] is None else ("in", "out", "err").index(match[1])


def _unwritable(path: Path, why: str) -> OdtError:
    return error(
        "F301", f"`{path}` cannot be written: {why}", helps=("choose another folder or name",)
    )


def _reason(failure: OSError | ValueError) -> str:
    return str(getattr(failure, "strerror", None) or failure).lower()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
