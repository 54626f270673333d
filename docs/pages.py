"""Run what the pages show: commands with their output, specs, Python.

Fenced blocks of a page run from top to bottom in one scratch folder with a copy of `models/`:

- `console`: each line behind `$ ` is a command, the lines below it its output. In the output a
  line `...` stands for any lines, `...` within a line for any text, and seconds (`0.71 s`) for
  any seconds. A command without output must succeed, and whatever it prints is ignored.
- a block with a file name behind its language (`odt clinic.odt`) writes that file.
- `odt` without a name must be statements that parse.
- `python` without a name runs; with `>>>` it is a doctest. All of a page share their names.
- `sh` shows what is not run, `text` what is no example.

An HTML comment `needs VARIABLE` (or several) before a block leaves it to the run that has them:
`ODTDSL_NIGHTLY` is set by `python -m tests --nightly`, for what takes more than some seconds. With
`--accept` the output that came out replaces the one shown, where that does not fit.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*) ?(.*)$")
NEEDS = re.compile(r"<!-- needs (\w+(?: \w+)*) -->")
SECONDS = re.compile(r"\d+\.\d+ s\b")
SHELL = re.compile(r"[|<>;&*$]")
TO_FILE = re.compile(r"(odt .*) > ([\w.-]+)")
RUNAWAY = 600
"""Seconds after which a command is given up. A loaded machine takes minutes for what takes one."""


class Mismatch(AssertionError):
    """A page shows something else than what happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its first line within the page, from 0, and the lines inside."""

    language: str
    name: str
    first: int
    lines: tuple[str, ...]
    needs: str | None


def pages() -> list[Path]:
    """All pages with examples: README.md and every page below docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    opened: tuple[str, str, int] | None = None
    needs: str | None = None
    inside: list[str] = []
    for number, line in enumerate(text.split("\n")):
        if opened is None:
            if match := FENCE.match(line):
                opened, inside = (match[1], match[2].strip(), number + 1), []
            elif line.strip():
                match = NEEDS.search(line)
                needs = match[1] if match else None
        elif line == "```":
            yield Block(
                language=opened[0],
                name=opened[1],
                first=opened[2],
                lines=tuple(inside),
                needs=needs,
            )
            opened, needs = None, None
        else:
            inside.append(line)


def fits(shown: list[str], printed: list[str]) -> bool:
    """Whether output is as a page shows it, wildcards considered."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(fits(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and _line_fits(shown[0], printed[0]) and fits(shown[1:], printed[1:])


def _line_fits(shown: str, printed: str) -> bool:
    parts = [re.escape(SECONDS.sub("# s", part)) for part in shown.rstrip().split("...")]
    return re.fullmatch(".*?".join(parts), SECONDS.sub("# s", printed.rstrip())) is not None


class Runner:
    """Runs the blocks of one page in a folder, which becomes the working one."""

    def __init__(self, folder: Path, *, accept: bool = False) -> None:
        self.folder, self.accept = folder, accept
        self.names: dict[str, object] = {"__name__": "page"}
        self.status = 0
        self.accepted: dict[int, tuple[int, list[str]]] = {}
        shutil.copytree(ROOT / "models", folder / "models", dirs_exist_ok=True)

    def run(self, block: Block) -> None:
        """Run a block.

        Raises
        ------
        Mismatch
            Where something else happens than what is shown.
        """
        body = "\n".join(block.lines) + "\n"
        if block.name:
            (self.folder / block.name).write_text(body, encoding="utf-8")
        elif block.language == "console":
            for command, at, shown in _commands(block):
                self._command(command, at, shown)
        elif block.language == "odt":
            self._parses(body)
        elif block.language == "python":
            self._python(body, block.first)

    # ---- console

    def _command(self, command: str, at: int, shown: list[str]) -> None:
        printed = self.output(command)
        if shown == ["?"] or (shown and not fits(shown, printed)):
            if not self.accept or self.status == 70:
                raise Mismatch(
                    f"line {at + 1}: `{command}`\n-- shown:\n"
                    + "\n".join(shown)
                    + "\n-- printed:\n"
                    + "\n".join(printed)
                )
            self.accepted[at] = (len(shown), printed)
        if not shown and self.status:
            raise Mismatch(f"`{command}` ended with {self.status}:\n" + "\n".join(printed))

    def output(self, command: str) -> list[str]:
        """What a command prints, out and err; `status` is its exit code."""
        if command == "echo $?":
            return [str(self.status)]
        plain = os.path.expandvars(command) if command.startswith("odt ") else command
        to_file = TO_FILE.fullmatch(plain)
        plain = to_file[1] if to_file else plain
        words = [] if SHELL.search(plain) else shlex.split(plain)
        if words[:1] == ["odt"]:
            text = self._odt(words[1:], self.folder / to_file[2] if to_file else None)
        else:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                env=self._environment(),
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=RUNAWAY,
            )
            self.status, text = done.returncode, done.stdout
        text = re.sub(r"^still searching after .*\n", "", text, flags=re.M)  # on a busy machine
        return text.rstrip("\n").split("\n") if text.strip("\n") else []

    def _odt(self, arguments: list[str], file: Path | None) -> str:
        """In this process: imports are paid once. Standard output may go to a file."""
        from odtdsl.interfaces.cli.main import app

        text = io.StringIO()
        out = text if file is None else io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(text):
            try:
                app(arguments, prog_name="odt")
            except SystemExit as done:
                self.status = done.code if isinstance(done.code, int) else 0
        if file is not None:
            file.write_text(out.getvalue(), encoding="utf-8")
        return text.getvalue()

    def _environment(self) -> dict[str, str]:
        """`odt` and `python` are those of this tree, whatever is installed."""
        bin_ = self.folder / ".bin"
        if not bin_.exists():
            bin_.mkdir()
            (bin_ / "odt").write_text(
                f'#!/bin/sh\nexec "{sys.executable}" -c '
                '"from odtdsl.interfaces.cli.main import main; main()" "$@"\n'
            )
            (bin_ / "odt").chmod(0o755)
            (bin_ / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            (bin_ / "python").chmod(0o755)
        import odtdsl

        path = f"{bin_}{os.pathsep}{os.environ.get('PATH', '')}"
        home = Path(odtdsl.__file__).resolve().parent.parent
        return {**os.environ, "PATH": path, "PYTHONPATH": str(home), "NO_COLOR": "1"}

    # ---- the rest

    def _parses(self, body: str) -> None:
        from odtdsl.base.source import Source
        from odtdsl.language.parser import parse

        parse(Source(name="a page", text=body))

    def _python(self, body: str, first: int) -> None:
        if ">>>" not in body:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile("\n" * first + body, "page", "exec"), self.names)
            except Exception as failure:
                found = traceback.extract_tb(failure.__traceback__)
                line = next((f.lineno for f in reversed(found) if f.filename == "page"), first)
                raise Mismatch(f"line {line}: {type(failure).__name__}: {failure}") from failure
            return
        test = doctest.DocTestParser().get_doctest(body, self.names, "page", "page", first)
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        if runner.failures:
            raise Mismatch(report.getvalue())


def _commands(block: Block) -> Iterator[tuple[str, int, list[str]]]:
    """Each command of a console block, where its output starts, and the output shown."""
    starts = [i for i, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in pairwise([*starts, len(block.lines)]):
        command, at = block.lines[start][2:], start + 1
        while command.endswith("\\"):
            command = command[:-1] + block.lines[at].strip()
            at += 1
        shown = list(block.lines[at:end])
        while shown and not shown[-1].strip():
            shown.pop()
        yield command, block.first + at, shown


def run_page(
    page: Path, folder: Path, *, accept: bool = False, names: Mapping[str, object] | None = None
) -> None:
    """Run a page in a folder, which has to be the working one; `names` are there for Python.

    Raises
    ------
    Mismatch
        Where it shows something else than what happens.
    """
    text = page.read_text(encoding="utf-8")
    runner = Runner(folder, accept=accept)
    runner.names.update(names or {})
    for block in blocks(text):
        if block.needs is None or os.environ.keys() >= set(block.needs.split()):
            runner.run(block)
    if runner.accepted:
        lines = text.split("\n")
        for at, (old, new) in sorted(runner.accepted.items(), reverse=True):
            lines[at : at + old] = new
        page.write_text("\n".join(lines), encoding="utf-8")


def main() -> int:
    """Check pages, or accept what they print."""
    import tempfile

    reader = argparse.ArgumentParser("python -m docs.pages", description=__doc__)
    reader.formatter_class = argparse.RawDescriptionHelpFormatter
    reader.add_argument("--accept", action="store_true", help="show the output that comes out")
    reader.add_argument("page", nargs="*", type=Path, help="default: all of them")
    asked = reader.parse_args()
    accept = asked.accept
    named = [page.resolve() for page in asked.page]
    failed = 0
    for page in named or pages():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            try:
                run_page(page, Path(folder), accept=accept)
            except Exception as failure:
                failed = 1
                print(f"{page}: {type(failure).__name__}: {failure}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
