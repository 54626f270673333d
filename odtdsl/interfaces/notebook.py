"""`%load_ext odtdsl`: the cell magic `%%odt`, which solves the spec in a cell."""

from __future__ import annotations

import argparse
import shlex
import time
from typing import TYPE_CHECKING, Any

from odtdsl.backends.base import Progress
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.presentation.console import shown
from odtdsl.presentation.explanations import explained

if TYPE_CHECKING:
    from odtdsl.driver.result import Result
    from odtdsl.insight.explanations import Explanation

REFRESH = 0.2
"""Seconds between two looks at the progress."""

USAGE = (
    "%%odt [FRAME] [--test FRAME] [--out NAME] [--using BACKEND] [--within TIME]"
    " [--set NAME=VALUE] [--check | --plan | --explain]"
)


def load_ipython_extension(shell: Any) -> None:
    """Register the magic, and how results look; IPython calls it."""
    from odtdsl.driver.result import Result
    from odtdsl.insight.explanations import Explanation

    shell.register_magic_function(_Magic(shell), "cell", "odt")
    formatters = shell.display_formatter.formatters
    formatters["text/plain"].for_type(Result, _pretty)
    formatters["text/plain"].for_type(Explanation, _pretty_explanation)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magic away again; IPython calls it."""
    shell.magics_manager.magics["cell"].pop("odt", None)


class _Magic:
    """The magic as a function with the shell at hand."""

    __name__ = "odt"

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        usage = USAGE.replace(" [--set", "\n          [--set")
        self.__doc__ = f"""Solve the spec in the cell, and show the answer.

        {usage}

        A spec with `data frame` takes its rows from FRAME, a variable of the notebook: a frame
        of pandas, polars or Arrow, an array, or a mapping; the only frame there is where none
        is named. `--out` stores the result under a name; it is `_`, too. `--check` lists
        mistakes and doubts, `--plan` says which back end would run, `--explain` which rules
        conflict or what each one costs. Ctrl-C, or "interrupt the kernel", keeps the best model
        found.
        """

    def __call__(self, line: str, cell: str) -> Any:
        from IPython.core.error import UsageError

        try:
            wish = _parsed(line)
            found = self._run(wish, cell)
        except OdtError as failure:
            # No traceback: the mistake is in the cell, and the message shows where.
            raise UsageError(f"\n{failure}") from None
        if wish.out:
            self.shell.user_ns[wish.out] = found
        return found

    def _run(self, wish: argparse.Namespace, cell: str) -> Any:
        from odtdsl.interfaces.api import check, explain, parse, plan, solve
        from odtdsl.language import ast

        model = parse(cell, name="<cell>")
        inputs: dict[str, Any] = {"settings": dict(map(_setting, wish.set))}
        if any(
            isinstance(one, ast.Data) and isinstance(one.source, ast.FrameSource)
            for one in model.spec.statements
        ):
            inputs["frame"] = self._frame(wish.frame)
        elif wish.frame is not None:
            raise error(
                "U611",
                f"`{wish.frame}` is given, and the spec reads other data",
                helps=("write `data frame` in the cell",),
            )
        if wish.test is not None:
            inputs["test_frame"] = self._frame(wish.test)
        if wish.check:
            return _Shown([str(OdtError([one])) for one in check(model, **inputs)], "no mistake")
        if wish.plan:
            from odtdsl.presentation.console import planned

            return _Shown(list(planned(plan(model, using=wish.using, **inputs))))
        if wish.explain:
            return explain(model, using=wish.using, within=wish.within, **inputs)
        with _Live(self.shell) as live:
            return solve(model, using=wish.using, within=wish.within, progress=live, **inputs)

    def _frame(self, name: str | None) -> Any:
        space = self.shell.user_ns
        if name is not None:
            if name in space:
                return space[name]
            raise error("U610", f"the notebook has no variable `{name}`", helps=(self._known(),))
        frames = self._frames()
        if len(frames) == 1:
            return space[frames[0]]
        raise error(
            "U610",
            "the spec says `data frame`, and the cell does not say which one",
            helps=("write its name behind the magic, as in `%%odt df`", self._known()),
        )

    def _frames(self) -> list[str]:
        import narwhals as nw
        from narwhals.exceptions import NarwhalsError

        found = []
        for name, value in list(self.shell.user_ns.items()):
            if name.startswith("_") or isinstance(value, type):
                continue
            try:
                wrapped = nw.from_native(value, eager_only=True, pass_through=True)
            except NarwhalsError:  # a frame with two columns of one name: the reader tells
                found.append(name)
                continue
            if isinstance(wrapped, nw.DataFrame):
                found.append(name)
        return found

    def _known(self) -> str:
        return "frames of the notebook: " + (
            ", ".join(map("`{}`".format, self._frames())) or "none"
        )


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are ours, instead of the end of the program."""

    def error(self, message: str) -> Any:
        raise error("U612", f"the line of the magic is wrong: {message}", helps=(USAGE,))


def _parsed(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%odt", add_help=False, allow_abbrev=False)
    parser.add_argument("frame", nargs="?")
    for name in ("test", "out", "using", "within"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--set", action="append", default=[])
    which = parser.add_mutually_exclusive_group()
    for name in ("check", "plan", "explain"):
        which.add_argument(f"--{name}", action="store_true")
    try:
        words = shlex.split(line)
    except ValueError as problem:
        parser.error(str(problem))
    return parser.parse_args(words)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise error("U612", f"`--set {text}` sets nothing", helps=("write `--set NAME=VALUE`",))
    return name.strip(), value.strip()


class _Live:
    """Incumbent and bound while the search runs, in a notebook; nothing stays behind."""

    def __init__(self, shell: Any) -> None:
        self.on = hasattr(shell, "kernel")
        self.handle: Any = None
        self.told = 0.0

    def __enter__(self) -> _Live:
        return self

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if not self.on or now - self.told < REFRESH:
            return
        self.told = now
        stage = f"stage {progress.stage + 1}, " if progress.stage else ""
        self._show(
            f"{progress.seconds:.1f} s: {stage}best {shown(progress.incumbent)}, bound"
            f" {shown(progress.bound)}"
        )

    def _show(self, text: str) -> None:
        from IPython.display import Pretty, display

        if self.handle is None:
            self.handle = display(Pretty(text), display_id=True)
        else:
            self.handle.update(Pretty(text))

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            self._show("")


class _Shown:
    """Lines as what a cell shows."""

    def __init__(self, lines: list[str], otherwise: str = "") -> None:
        self.text = "\n".join(lines) or otherwise

    def __repr__(self) -> str:
        return self.text


def _pretty(result: Result, printer: Any, cycle: bool) -> None:
    printer.text(str(result))


def _pretty_explanation(found: Explanation, printer: Any, cycle: bool) -> None:
    printer.text("\n".join(explained(found)))
