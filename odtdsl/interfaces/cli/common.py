"""What the commands of `odt` share: loading, output, exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.diagnostics.render import render_text, to_json
from odtdsl.base.interrupts import interrupted

if TYPE_CHECKING:
    from odtdsl.base.source import Source
    from odtdsl.compiler import Analysis
    from odtdsl.language import ast
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.presentation.pictures.picture import Notes

OK, WRONG, USAGE, INFEASIBLE, LIMIT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130
EXPLAINED_CODES = {"feasible": OK, "infeasible": INFEASIBLE, "undecided": LIMIT}
STATUS_CODES = {"optimal": OK, "feasible": OK, "infeasible": INFEASIBLE, "unknown": LIMIT}


class NotWritten(OdtError):
    """Files that could not be written, after the answer was printed."""


# ---- loading


class Problem:
    """A spec file, parsed on demand, with the options that change what it reads."""

    def __init__(
        self,
        path: Path,
        data: str | None = None,
        test: str | None = None,
        sets: list[str] | None = None,
    ) -> None:
        self.path, self.data, self.test, self.sets = path, data, test, sets or []

    @cached_property
    def source(self) -> Source:
        """The text of the spec."""
        from odtdsl.language.parser import read_source

        return read_source(self.path)

    @cached_property
    def syntax(self) -> ast.Spec:
        """The syntax tree of the spec.

        Where a statement cannot be read, what is wrong with the others is told as well.
        """
        from odtdsl.language.parser import parse

        try:
            return parse(self.source)
        except OdtError as failure:
            from odtdsl.compiler.beyond_syntax import beyond_syntax

            found = beyond_syntax(self.source, failure.diagnostics, **self._inputs())
            raise OdtError(found) from None

    def analysis(self) -> Analysis:
        """The analysed spec with its data."""
        from odtdsl.compiler import analyse

        return analyse(
            self.syntax,
            source=self.source,
            **self._inputs(),
        )

    def _inputs(self) -> dict[str, Any]:
        """What `analyse` reads besides the spec."""
        return {
            "base": self.path.parent,
            "data": self.data,
            "test": self.test,
            "settings": dict(_setting(text) for text in self.sets),
        }


def _setting(text: str) -> tuple[str, ast.Expr]:
    """`alpha=0.5` as a name and the expression that replaces its value."""
    from odtdsl.base.source import Source
    from odtdsl.language import ast
    from odtdsl.language.parser import parse

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise error("U304", f"`--set {text}` is not a setting", helps=("write `--set alpha=0.5`",))
    source = Source(name="--set", text=f"let {name} = {value}")
    statement = parse(source).statements[0]
    if not isinstance(statement, ast.Let):
        raise error("U304", f"`--set {text}` is not a setting", helps=("write `--set alpha=0.5`",))
    return statement.name, statement.value


# ---- output


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, or blocks of them; what names hold commands no terminal."""
    from odtdsl.base.printing import printable

    for block in lines:
        click.echo("\n".join(map(printable, block.split("\n"))))


def print_json(value: Any) -> None:
    """Prints a value as one line of JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half a surrogate pair, as names of files may hold it, has no UTF-8.
    click.echo(re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text))


def _tell(diagnostics: Iterable[Diagnostic], as_json: bool) -> None:
    found = list(diagnostics)
    if as_json:
        print_json({"status": "error", "diagnostics": [to_json(d) for d in found]})
    else:
        color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        click.echo("\n\n".join(render_text(d, color=color) for d in found), err=True)


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Prints diagnostics to standard error."""
    for diagnostic in diagnostics:
        click.echo(render_text(diagnostic, color=sys.stderr.isatty()) + "\n", err=True)


def _code_of(diagnostics: Iterable[Diagnostic]) -> int:
    codes = [d.code for d in diagnostics if d.severity == "error"]
    if any(code.startswith("X") for code in codes):
        return INTERNAL
    if "B108" in codes:
        return LIMIT
    return USAGE if any(code.startswith("U3") and code != "U301" for code in codes) else WRONG


def run(action: Callable[[], int], as_json: bool) -> None:
    """Run a command; whatever goes wrong becomes a message and an exit code."""
    with interrupted() as stopped:
        try:
            code = _code_or_message(action, as_json, stopped)
        except (KeyboardInterrupt, BrokenPipeError):
            code = INTERRUPTED
        raise click.exceptions.Exit(code)


def _code_or_message(action: Callable[[], int], as_json: bool, stopped: Callable[[], bool]) -> int:
    try:
        code = action()
        sys.stdout.flush()
    except NotWritten as failure:
        _tell(failure.diagnostics, False)  # the answer is what stands on standard output
        return WRONG
    except OdtError as failure:
        code = _code_of(failure.diagnostics)
        _tell(failure.diagnostics, as_json)
        if code == INTERNAL:
            _report_file(failure)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (Python flushes it at exit)
        return OK
    except OSError as failure:
        _failed(failure)
        return WRONG
    except Exception as failure:
        if stopped():  # what was imported made something else of it
            return INTERRUPTED
        code = INTERNAL
        message = f"this is a bug in odtdsl, not your mistake: {type(failure).__name__}: {failure}"
        _tell([Diagnostic(code="X001", message=message)], as_json)
        _report_file(failure)
    return code


@contextmanager
def telling() -> Iterator[None]:
    """End with a message where the system could not read or write."""
    try:
        yield
    except OSError as failure:
        _failed(failure)
        raise SystemExit(WRONG) from None


def _failed(failure: OSError) -> None:
    message = f"reading or writing failed: {failure}"
    _tell([Diagnostic(code="F302", message=message)], False)  # it may be standard output


def open_streams() -> None:
    """Give standard streams that were closed (`>&-`) a place that takes what is written.

    Else the next file that is opened, such as an output, would be one of them.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def leave(ended: SystemExit) -> NoReturn:
    """End the process with this code, at once where HiGHS was left running behind its limit.

    Its threads would be waited for, or take the process down with them. What standard output does
    not take, which the command has told, Python would try again, and end with a code of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        ended = SystemExit(ended.code or WRONG)
    highs = sys.modules.get("odtdsl.backends.milp.highs")
    if highs is None or not highs.running():
        raise ended
    sys.stderr.flush()
    os._exit(ended.code if isinstance(ended.code, int) else 1 if ended.code else 0)


def _report_file(failure: BaseException) -> None:
    """Keep what a bug report needs, outside the working folder."""
    handle, path = tempfile.mkstemp(prefix="odt-report-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("command: " + " ".join(sys.argv) + "\n\n")
        file.write("".join(traceback.format_exception(failure)))
    click.echo(f"a report was written to {path}; please send it", err=True)


def shows_missing(analysis: Analysis) -> frozenset[str]:
    """The features of which a text of the model says where missing cells go."""
    return analysis.rows.may_miss


def missing_in(model: Predictor, analysis: Analysis) -> Notes:
    """What pictures say of missing cells at each split, with counts of training rows."""
    from odtdsl.predictors.missing_values import missing_notes

    return missing_notes(model, analysis.rows.data.table, shows_missing(analysis))
