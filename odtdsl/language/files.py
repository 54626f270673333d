"""Reads a spec from a file, or says why the file is not one."""

from __future__ import annotations

import os
from pathlib import Path

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.files import as_path, read_bytes
from odtdsl.base.signatures import is_proof
from odtdsl.base.source import Source

MAX_BYTES = 300_000
"""Largest file that is read, in seconds; a spec of 200 rules has about 15,000 bytes."""

_ARCHIVE = b"PK\x03\x04"
_ROWS = (".csv", ".tsv", ".tab", ".parquet", ".arff", ".xlsx")
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_source(path: str | os.PathLike[str]) -> Source:
    """The text of a spec file, named by its path as given.

    Raises
    ------
    OdtError
        F001 no such file, F002 a directory, F003 over 300 kB, F004 not UTF-8, F005 zero bytes,
        F006 an OpenDocument file or another ZIP archive, F007 not readable,
        F008 rows or a saved model.
    """
    file = as_path(path, "the spec")
    shown = os.fspath(path)
    content = _content(file, shown)
    if (found := _other(file, content, shown)) is not None:
        raise found
    if content.startswith(_ARCHIVE):
        raise _archive(content, shown)
    for mark, encoding in _WIDE.items():
        if content.startswith(mark):
            raise _not_utf8(shown, encoding, 0)
    if (at := content.find(b"\0")) >= 0:
        raise error(
            "F005",
            f"`{shown}` is not a text file: byte {at} is zero",
            helps=("a spec is plain text in UTF-8",),
        )
    try:
        return Source(name=shown, text=content.decode("utf-8-sig"))
    except UnicodeDecodeError as err:
        skipped = 3 if content.startswith(b"\xef\xbb\xbf") else 0
        line = content.count(b"\n", 0, err.start + skipped) + 1
        raise _not_utf8(shown, _likely(content), err.start + skipped, line) from None


def _content(file: Path, shown: str) -> bytes:
    try:
        if file.is_dir():
            raise error(
                "F002",
                f"`{shown}` is a directory",
                helps=("give the path of a spec in it: a file that ends in `.odt`",),
            )
        content = read_bytes(file, MAX_BYTES + 1)
    except FileNotFoundError:
        raise _missing(file, shown) from None
    except (OSError, ValueError) as err:  # ValueError: a path with a zero character
        reason = getattr(err, "strerror", None) or str(err)
        raise error("F007", f"`{shown}` cannot be read: {reason.lower()}") from None
    if len(content) > MAX_BYTES and not content.startswith(_ARCHIVE):
        raise error(
            "F003",
            f"`{shown}` is larger than {MAX_BYTES // 1000} kB, the largest size of a spec",
            helps=("put data into a separate file and name it in the `data` statement",),
        )
    return content


def _other(file: Path, content: bytes, shown: str) -> OdtError | None:
    """What a command takes besides a spec, given in its place."""
    suffix = file.suffix.lower()
    if is_proof(content):
        return error(
            "F008",
            f"`{shown}` is a proof, not a spec",
            helps=(f"check it with its spec: `odt audit spec.odt --proof {file.name}`",),
        )
    if suffix in _ROWS:
        return error(
            "F008",
            f"`{shown}` is a data file, not a spec",
            helps=(
                (
                    f'write a spec that reads it: `data "{file.name}" target ... tree depth <= '
                    "3 minimize errors`"
                ),
                f"`odt init {file.name}` writes one, with what it finds in the columns",
            ),
        )
    if suffix == ".json" and content.lstrip()[:1] == b"{":
        return error(
            "F008",
            f"`{shown}` is a saved model, not a spec",
            helps=("put the spec first: `odt audit spec.odt tree.json`",),
        )
    return None


def _missing(file: Path, shown: str) -> OdtError:
    from odtdsl.base.diagnostics.suggest import closest

    try:
        beside = sorted(entry.name for entry in file.parent.iterdir())
    except OSError:
        beside = []
    near = closest(file.name, [name for name in beside if name.endswith(".odt")])
    helps = (f"did you mean `{file.with_name(near)}`?",) if near else ()
    return error("F001", f"there is no file `{shown}`", helps=helps)


def _archive(content: bytes, shown: str) -> OdtError:
    document = b"mimetypeapplication/vnd.oasis.opendocument" in content[:200]
    what = "an OpenDocument text of an office program" if document else "a ZIP archive"
    return error(
        "F006",
        f"`{shown}` is {what}, not a spec",
        notes=("here, `.odt` means the spec of an optimal decision tree, in plain text",),
        helps=("write the spec with a text editor and save it as plain text in UTF-8",),
    )


def _not_utf8(shown: str, encoding: str | None, at: int, line: int = 1) -> OdtError:
    likely = f"; it looks like {encoding}" if encoding else ""
    known = {"UTF-16": "UTF-16", "Latin-1": "ISO-8859-1", "Windows-1252": "WINDOWS-1252"}
    helps = ["save it as UTF-8 in your editor"]
    if encoding in known:
        helps[0] += f", or convert it: `iconv -f {known[encoding]} -t UTF-8 {shown}`"
    return error("F004", f"`{shown}` is not UTF-8: byte {at}, in line {line}{likely}", helps=helps)


def _likely(content: bytes) -> str | None:
    """The single-byte encoding that the text was probably saved in."""
    high = {byte for byte in content if byte >= 0x80}
    if not any(0x80 <= byte <= 0x9F for byte in high):
        return "Latin-1"
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return None
    return "Windows-1252"
