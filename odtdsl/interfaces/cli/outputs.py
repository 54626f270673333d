"""Outputs of commands: tried before the work, and written after the answer is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.interfaces.cli.common import NotWritten, Problem

if TYPE_CHECKING:
    from odtdsl.driver.scoring import OutputScore
    from odtdsl.predictors.predictor import Predictor
    from odtdsl.presentation.pictures.picture import Notes


def check_outputs(
    outputs: Mapping[str, Path | None], reads: Iterable[tuple[str, Path | None]], force: bool
) -> None:
    """Say before the work what would lose an answer, or a file of the user's.

    Parameters
    ----------
    outputs
        By the options that name them, without dashes.
    reads
        What else the command reads, with its name in messages.
    force
        Whether files may be replaced that odtdsl did not write.

    Raises
    ------
    OdtError
        U308: one that is read. U319: one named twice. F301: one that cannot be written.
        F303: one that is there, and not ours.
    """
    from odtdsl.base.files import check_writable, same

    named = [(option, path) for option, path in outputs.items() if path is not None]
    read = [(what, path) for what, path in reads if path is not None]
    for option, path in named:
        for what, other in read:
            if same(path, other):
                raise error(
                    "U308",
                    f"`--{option} {path}` would overwrite {what}, which this command reads",
                    helps=("choose another name",),
                )
        check_writable(path)
    for (option, path), (second, other) in combinations(named, 2):
        if same(path, other) and (path.is_file() or not path.exists()):
            raise error(
                "U319",
                f"`--{option}` and `--{second}` name the same file, `{other}`",
                helps=("give each output a different name",),
            )
    for option, path in named:
        if not force and path.is_file() and option != "keep" and not replaceable(path):
            raise error(
                "F303",
                f"`{path}` exists, and {_ours_or_not(path)}",
                helps=("choose another name", "or add `--force` to replace it"),
            )


def _ours_or_not(path: Path) -> str:
    return "may hold work of yours" if path.suffix == ".odt" else "odtdsl did not write it"


def replaceable(path: Path) -> bool:
    """Whether odtdsl wrote a file, as far as its beginning tells."""
    from odtdsl.base.signatures import is_ours

    if is_ours(path):
        return True
    from odtdsl.presentation.exports.registry import is_export

    return is_export(path)


def files_of(problem: Problem) -> Iterator[tuple[str, Path]]:
    """What a command reads for a spec: the spec, and the files that it and the options name."""
    from odtdsl.language import ast

    yield "the spec", problem.path
    base = problem.path.parent
    data = None if problem.data is None else Path(problem.data)
    test = None if problem.test is None else Path(problem.test)
    start = None
    for statement in problem.syntax.statements:
        if isinstance(statement, ast.Data):
            if isinstance(statement.source, ast.FileSource):
                data = data or _named(base, statement.source.path)
            for option in statement.options:
                if isinstance(option, ast.TestFile):
                    test = test or _named(base, option.path)
        elif isinstance(statement, ast.Solve):
            for setting in statement.options:
                if isinstance(setting, ast.Start):
                    start = base / setting.path
    for what, path in (
        ("the data", data),
        ("the test data", test),
        ("the start", start),
    ):
        if path is not None:
            yield what, path


def beside(spec: Path, suffix: str) -> Path:
    """The output of a command where no name is given."""
    return spec.parent / (spec.stem + suffix)


def _named(base: Path, name: str) -> Path | None:
    try:
        return base / Path(name).expanduser()
    except RuntimeError:  # `~name` of nobody: reading says so
        return None


# ---- after the answer


def deliver(answer: Callable[[], object], *writes: Callable[[], object]) -> None:
    """Print the answer, then write files; each is done whatever happens to the others.

    Signals wait for it; a second Ctrl-C does not.

    Raises
    ------
    NotWritten
        With what files could not be written.
    Exception
        What kept the answer from being printed; the files are written.
    """
    import sys

    from odtdsl.base.interrupts import interruptible

    failed: list[Exception] = []
    found: list[Diagnostic] = []
    with interruptible():
        try:
            answer()
            sys.stdout.flush()
        except Exception as failure:
            failed.append(failure)
        for write in writes:
            try:
                write()
            except OdtError as failure:
                found += failure.diagnostics
            except Exception as failure:
                failed.append(failure)
    if failed:
        raise failed[0]
    if found:
        raise NotWritten(found)


def pictures(
    model: Predictor | None,
    out: Path | None,
    svg: Path | None = None,
    dot: Path | None = None,
    *,
    outputs: OutputScore | None = None,
    notes: Notes | None = None,
) -> Iterator[Callable[[], None]]:
    """Write a model to files; its picture shows below the tree what outputs the rules allow.

    `notes` are lines that pictures add to nodes: see `interfaces.cli.common.missing_in`.
    """
    if model is None or (out, svg, dot) == (None, None, None):
        return
    from odtdsl.base.files import write_text
    from odtdsl.predictors.saving import save
    from odtdsl.presentation.console import feasible_text
    from odtdsl.presentation.pictures.graphviz import to_dot
    from odtdsl.presentation.pictures.svg import to_svg

    below = () if outputs is None else tuple(feasible_text(outputs.feasible))
    if out is not None:
        yield lambda: save(model, out)
    if svg is not None:
        yield lambda: write_text(svg, to_svg(model, below=below, notes=notes))
    if dot is not None:
        yield lambda: write_text(dot, to_dot(model, notes=notes))


__all__ = ["beside", "check_outputs", "deliver", "files_of", "pictures", "replaceable"]
