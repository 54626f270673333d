"""The corpus of specs under `grammar/`: what each file must give, and how to accept a change.

`grammar/bad/NAME.odt` is a spec with mistakes and `NAME.txt` what is said about it;
`grammar/good/NAME.odt` is one that is understood and `NAME.ir` its problem and core forms;
`grammar/forms/NAME.odt` is a text in every form and `NAME.fmt` its canonical form.
`python tests/corpus.py --accept` rewrites the expected files; read the diff as code.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.diagnostics.render import render_text
from odtdsl.compiler import analyse
from odtdsl.language.parser import parse, read_source
from odtdsl.language.printer import format_source
from odtdsl.problem.ir.dump import dump_core, dump_problem
from odtdsl.problem.terms.normalize import normalize

GRAMMAR = Path(__file__).resolve().parents[1] / "grammar"
BAD = sorted((GRAMMAR / "bad").glob("*.odt"))
FORMS = sorted((GRAMMAR / "forms").glob("*.odt"))
GOOD = sorted((GRAMMAR / "good").glob("*.odt"))
SUFFIXES = {"bad": ".txt", "forms": ".fmt", "good": ".ir"}


def bad_report(path: Path) -> str:
    """What the whole front end says about a bad spec: all its errors and warnings."""
    said: tuple[Diagnostic, ...] = ()
    with _inside(path.parent):
        try:
            source = read_source(path.name)
            analysis = analyse(parse(source), source=source)
            said = analysis.warnings
            normalize(analysis.rows)
        except OdtError as err:
            said += err.diagnostics
    return _rendered(said)


def good_report(path: Path) -> str:
    """What a good spec means: warnings, its problem, its core or why it has none."""
    with _inside(path.parent):
        source = read_source(path.name)
        analysis = analyse(parse(source), source=source)
        report = _rendered(analysis.warnings) + dump_problem(analysis.problem) + "\n"
        try:
            return report + dump_core(normalize(analysis.rows))
        except OdtError as err:
            return report + _rendered(err.diagnostics)


def _rendered(diagnostics: Iterable[Diagnostic]) -> str:
    return "\n".join(render_text(one) + "\n" for one in diagnostics)


def canonical(path: Path) -> str:
    """The canonical form of a good spec."""
    return format_source(read_source(path))


def expected(path: Path) -> Path:
    """The file that holds what a spec must give."""
    return path.with_suffix(SUFFIXES[path.parent.name])


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
    reports = {"bad": bad_report, "forms": canonical, "good": good_report}
    for spec in (*BAD, *FORMS, *GOOD):
        expected(spec).write_text(reports[spec.parent.name](spec), encoding="utf-8")
