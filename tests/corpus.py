"""The corpus of specs under `grammar/`: what each file must give, and how to accept a change.

`grammar/bad/NAME.odt` is a spec with mistakes and `NAME.txt` what is said about it;
`grammar/forms/NAME.odt` is a text in every form and `NAME.fmt` its canonical form.
`python tests/corpus.py --accept` rewrites the expected files; read the diff as code.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from odtdsl.diagnostics.model import OdtError
from odtdsl.diagnostics.render import render_text
from odtdsl.syntax.parser import parse, read_source
from odtdsl.syntax.printer import format_source

GRAMMAR = Path(__file__).resolve().parents[1] / "grammar"
BAD = sorted((GRAMMAR / "bad").glob("*.odt"))
FORMS = sorted((GRAMMAR / "forms").glob("*.odt"))


def bad_report(path: Path) -> str:
    """What the whole front end says about a bad spec."""
    with _inside(path.parent):
        try:
            source = read_source(path.name)
            spec = parse(source)
            try:
                from odtdsl.analysis import analyse
            except ImportError:  # the front end ends with the parser
                return "nothing\n"
            analyse(spec, source=source)
        except OdtError as err:
            return "".join(render_text(one) + "\n\n" for one in err.diagnostics)[:-1]
    return "nothing\n"


def canonical(path: Path) -> str:
    """The canonical form of a good spec."""
    return format_source(read_source(path))


def expected(path: Path) -> Path:
    """The file that holds what a spec must give."""
    return path.with_suffix(".txt" if path.parent.name == "bad" else ".fmt")


@contextlib.contextmanager
def _inside(directory: Path) -> Iterator[None]:
    """Messages name files as given; from inside the folder that is the bare name."""
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    if sys.argv[1:] != ["--accept"]:
        sys.exit("usage: python tests/corpus.py --accept")
    for spec in (*BAD, *FORMS):
        text = bad_report(spec) if spec in BAD else canonical(spec)
        expected(spec).write_text(text, encoding="utf-8")
