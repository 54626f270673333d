"""Loads `odt.lark` once, with its tables kept in the user's cache directory.

Computing the LALR tables takes about 0.25 s, reading them back 0.02 s. The cache holds plain data
(marshal, no code), lies in a directory of the user alone, and is named by a digest of everything
that it depends on; whatever goes wrong with it, the tables are computed afresh.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtdsl.base.tasks import types_of_targets

if TYPE_CHECKING:
    from lark import Lark

OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "lexer": "contextual",
    "keep_all_tokens": True,
    "maybe_placeholders": False,
    "propagate_positions": True,
}


def grammar_text() -> str:
    """The text of the grammar: from the installed package, else from the source folder.

    A type of targets that it does not know is one of a task: a word without arguments.
    """
    packaged = resources.files("odtdsl").joinpath("_data/grammar/odt.lark")
    beside = Path(__file__).resolve().parents[2] / "grammar" / "odt.lark"
    text = (packaged if packaged.is_file() else beside).read_text(encoding="utf-8")
    return text + "".join(_type(word) for word in types_of_targets() if rf"/{word}\b/" not in text)


def _type(word: str) -> str:
    name = word.upper()
    return f"\n{name}.2: /{word}\\b/\n%extend type: {name} -> plain_type\n"


@cache
def lark_parser() -> Lark:
    """The one parser of the process."""
    from lark import Lark

    text = grammar_text()
    path = _cache_path(text)
    if path is not None and (cached := _read(path)) is not None:
        return cached
    parser = Lark(text, **OPTIONS)
    if path is not None:
        _write(path, parser)
    return parser


@cache
def keywords() -> dict[str, str]:
    """From the name of each keyword terminal to its words, space-separated."""
    words = {}
    for terminal in lark_parser().terminals:
        pattern = terminal.pattern.value
        if pattern.endswith(r"\b"):
            words[terminal.name] = pattern[:-2].strip("()").replace("|", " ")
    return words


def _cache_directory() -> Path | None:
    """Where this user's caches are; None where no such place is known."""
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        place = os.environ.get(variable)
        if place and os.path.isabs(place):
            return Path(place) / "odtdsl"
    with suppress(RuntimeError):
        return Path.home() / ".cache" / "odtdsl"
    return None


def _cache_path(text: str) -> Path | None:
    directory = _cache_directory()
    if directory is None:
        return None
    import lark

    key = repr((text, sorted(OPTIONS.items()), lark.__version__, sys.version, marshal.version))
    return directory / f"grammar-{hashlib.sha256(key.encode()).hexdigest()[:24]}.tables"


def _read(path: Path) -> Lark | None:
    from lark import Lark

    try:
        stored = path.read_bytes()
        digest, tables = stored[:32], stored[32:]
        if hashlib.sha256(tables).digest() != digest:
            return None
        data, memo = marshal.loads(tables)
        parser: Lark = Lark._load_from_dict(data, memo)  # type: ignore[no-untyped-call]
        return parser
    except Exception:  # a cache that cannot be read is no cache, whatever the reason
        return None


def _write(path: Path, parser: Lark) -> None:
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    try:
        tables = marshal.dumps(parser.memo_serialize([TerminalDef, Rule]))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(tables).digest() + tables)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
    except (OSError, ValueError):  # read-only home, unmarshallable tables: go without a cache
        return
