"""A command of `odt` as a value: a dataclass whose fields are its arguments and options.

The docstring of the class is the command's help, `run` is what it does. `command` makes a click
command of it, so that a field stands for an option everywhere: on the command line, in `--help`,
and on the page that `python -m docs.generate` writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click

from odtdsl.base.back_ends import Value, offered, wishes_text
from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.common import Problem, print_lines, run


@dataclass(frozen=True)
class Argument:
    """A positional argument of the command line; optional if it has a default."""

    help: str


class Option:
    """A field that is given as `--name VALUE`, or as `--name` alone where it is a bool.

    Parameters
    ----------
    *flags
        What the user writes; by default the field's name with dashes.
    least, most
        Of a number: the bounds, both included.
    """

    def __init__(
        self,
        *flags: str,
        help: str = "",
        least: float | None = None,
        most: float | None = None,
    ) -> None:
        self.flags, self.help, self.least, self.most = flags, help, least, most


class OfBackEnds:
    """A field that has the options of all back ends, each as `--NAME VALUE`, by their names."""


ROLES = {"spec": "SPEC", "model": "MODEL", "rows": "DATA"}
"""Arguments that are files and what help calls them, in the order in which all commands take them.
"""

_ROWS = (".csv", ".tsv", ".tab", ".parquet", ".arff", ".xlsx", ".txt")

Spec = Annotated[Path, Argument(help="The .odt file.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object.")]
Data = Annotated[
    str | None, Option(help="Read the training rows from this file instead of the spec's.")
]
Test = Annotated[
    str | None, Option(help="Read the test rows from this file instead of the spec's.")
]
Sets = Annotated[list[str] | None, Option("--set", help="Set a `let` of the spec: NAME=VALUE.")]
Using = Annotated[str | None, Option(help=f"Back end: {wishes_text()}.")]
Formulation = Annotated[
    str | None,
    Option("--model", help=next(one.described for one in offered() if one.name == "model")),
]
BackEndOptions = Annotated[Mapping[str, Value] | None, OfBackEnds()]
Within = Annotated[str | None, Option(help="Time limit: 60, 60s, 2min, 1h.")]
Gap = Annotated[str | None, Option(help="Stop at this relative gap: 1%.")]
Until = Annotated[
    str | None,
    Option(help='End early: "steady 10s" where no better tree came for so long, or "gap 1%".'),
]
Memory = Annotated[str | None, Option(help="Memory limit of the process: 500MB, 4GB.")]
Threads = Annotated[int | None, Option(help="Number of threads.", least=1, most=256)]
Seed = Annotated[int | None, Option(help="Seed of the search.", least=0, most=2**31 - 1)]
Out = Annotated[Path | None, Option("--out", "-o", help="Save the tree as JSON.")]
Svg = Annotated[Path | None, Option(help="Draw the tree as SVG.")]
Dot = Annotated[Path | None, Option(help="Write the tree as DOT text.")]
Force = Annotated[bool, Option("--force", help="Also replace files that odtdsl did not write.")]


@dataclass(frozen=True, kw_only=True)
class Command(ABC):
    """A command; its name on the command line is that of its class, in small letters."""

    @abstractmethod
    def run(self) -> int:
        """Execute the command.

        Returns
        -------
        int
            The exit code; see `docs/reference/cli.md`.

        Raises
        ------
        OdtError
            It is printed, as JSON where that was asked for.
        """


@dataclass(frozen=True, kw_only=True)
class OnSpec(Command):
    """A command about a spec and its data."""

    spec: Spec
    data: Data = None
    test: Test = None
    settings: Sets = None

    def problem(self, rows: Path | None = None) -> Problem:
        """The spec, with the options that change what it reads.

        `rows` are tested in place of its own test rows; those of training stay.
        """
        if rows is not None and self.test is not None:
            raise error("U325", "DATA and `--test` are the same: give one of them")
        test = self.test if rows is None else str(rows)
        return Problem(self.spec, self.data, test, self.settings)


def command(kind: type[Command]) -> click.Command:
    """A command line for a command: its fields in their order, `--force` and `--json` last."""
    hints = get_type_hints(kind, include_extras=True)
    parameters = [made for field in fields(kind) for made in _parameters(field, hints[field.name])]
    parameters.sort(key=_rank)
    gathering = [field.name for field in fields(kind) if _gathers(hints[field.name])]

    def call(**values: Any) -> None:
        as_json = bool(values.get("as_json"))
        for name in gathering:
            values[name] = {one.name: values.pop(one.name) for one in offered()}
        values |= placed({name: values[name] for name in roles}, needed)
        given = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
        action = kind(**{name: v for name, v in given.items() if v != []})
        run(action.run, as_json)

    roles = [name for name in ROLES if _is_argument(hints.get(name))]
    needed = {field.name for field in fields(kind) if _is_required(field)}
    if "model" in roles:  # files of several kinds: `odt` knows which is which
        for parameter in parameters:
            if parameter.name in roles:
                word = ROLES[str(parameter.name)]
                parameter.metavar = word if parameter.name in needed else f"[{word}]"
                parameter.required = False
    else:
        roles = []

    text = " ".join((kind.__doc__ or "").split())
    return _Command(
        kind.__name__.lower(),
        callback=call,
        params=parameters,
        help=text,
        short_help=text,  # whole, in the list of commands too
    )


_OTHER_NAMES = {
    "--within 60s": {"--limit", "--max-time", "--seconds", "--time", "--time-limit", "--timeout"},
    "--using exact": {"--backend", "--engine", "--method"},
    "--threads 2": {"--cores", "--jobs", "--n-jobs", "--workers"},
    "--out tree.json": {"--output", "--save"},
    "--progress": {"--verbose", "-v"},
    "--set depth=3, where the spec has let depth = 2": {"--depth", "--max-depth"},
    "--gap 1%": {"--mip-gap", "--tolerance"},
}
"""What other tools call an option, by how it is written here."""


class _Command(click.Command):
    """A command that knows what other tools call its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and say of an option of another tool how it is written here."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as failure:
            own = {flag for one in self.params for flag in one.opts}
            for written, others in _OTHER_NAMES.items():
                if failure.option_name in others and written.split()[0] in own:
                    message = f"No such option '{failure.option_name}'. Write {written}."
                    raise click.NoSuchOption(
                        failure.option_name, message=message, ctx=ctx
                    ) from failure
            raise


def placed(files: Mapping[str, Path | None], needed: Collection[str]) -> dict[str, Path | None]:
    """The files of a command as spec, model and rows, in whatever order they were given.

    Parameters
    ----------
    files
        By the names of the command's arguments, in the order of the help, as click read them.
    needed
        The arguments that must be given.

    Raises
    ------
    click.UsageError
        One that is needed is missing.
    """
    given = [path for path in files.values() if path is not None]
    found: dict[str, Path | None] = dict.fromkeys(files)
    rest = []
    for path in given:
        role = _role_of(path)
        if role in found and found[role] is None:
            found[role] = path
        else:
            rest.append(path)
    free = [name for name, path in found.items() if path is None]
    free.sort(key=lambda name: name not in needed)
    for name, path in zip(sorted(free[: len(rest)], key=list(files).index), rest, strict=True):
        found[name] = path
    for name in files:
        if name in needed and found[name] is None:
            told = f"Missing argument '{ROLES[name]}'."
            if name == "model":
                told += " `odt solve SPEC --out tree.json` saves one."
            raise click.UsageError(told)
    asked = [path for path in found.values() if path is not None]
    if asked != given:
        order = " ".join(ROLES[name] for name, path in found.items() if path is not None)
        click.echo(f"the order is {order}: read as {' '.join(map(str, asked))}", err=True)
    return found


def _role_of(path: Path) -> str | None:
    """What a file is by its name; None where the name does not say."""
    suffix = path.suffix.lower()
    known = {".odt": "spec", ".json": "model"} | dict.fromkeys((*_ROWS, "-"), "rows")
    return known.get(suffix or str(path))


def _is_argument(hint: Any) -> bool:
    return hint is not None and isinstance(get_args(hint)[-1], Argument)


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _rank(parameter: click.Parameter) -> int:
    """Arguments first, what many commands share last; the order of fields within each."""
    if isinstance(parameter, click.Argument):
        return 0
    return {"force": 2, "as_json": 3}.get(parameter.name or "", 1)


def _gathers(hint: Any) -> bool:
    return isinstance(get_args(hint)[-1], OfBackEnds)


def _parameters(field: Field[Any], hint: Any) -> Iterator[click.Parameter]:
    if not _gathers(hint):
        yield _parameter(field, hint)
        return
    for one in offered():
        whole = one.kind == "whole"
        yield click.Option(
            [one.name, f"--{one.name.replace('_', '-')}"],
            help=one.described,
            type=click.IntRange(one.least, one.most) if whole else click.STRING,
        )


def _parameter(field: Field[Any], hint: Any) -> click.Parameter:
    kind, told = get_args(hint)[0], get_args(hint)[-1]
    required = _is_required(field)
    default = None if required else field.default
    if isinstance(told, Argument):
        many = -1 if _is_list(kind) else 1
        made = click.Argument([field.name], required=required, type=_type(kind, None), nargs=many)
        vars(made)["help"] = told.help  # click tells it from 8.5 on
        return made
    # To click from 8.3 on, an option with a default is never missing, even where that is None; and
    # one without, of which it is said that it is no flag, needs no value.
    given: dict[str, Any] = {} if required else {"default": False if kind is bool else default}
    flags = told.flags or (f"--{field.name.replace('_', '-')}",)
    return click.Option(
        [field.name, *flags],
        help=told.help or None,
        required=required,
        is_flag=True if kind is bool else None,
        multiple=_is_list(kind),
        type=None if kind is bool else _type(kind, told),
        show_default=not (kind is bool or default is None),
        **given,
    )


def _kinds(kind: Any) -> list[Any]:
    """The types of a field but None."""
    return [part for part in (get_args(kind) or (kind,)) if part is not type(None)]


def _is_list(kind: Any) -> bool:
    return list in (get_origin(part) for part in (kind, *_kinds(kind)))


def _type(kind: Any, told: Option | None) -> Any:
    (plain,) = [str] if _is_list(kind) else _kinds(kind)
    least, most = (None, None) if told is None else (told.least, told.most)
    if plain is int and least is None and most is None:
        return click.INT
    if plain is int:
        return click.IntRange(least, most)  # type: ignore[arg-type]  # whole bounds
    if plain is float:
        return click.FloatRange(least, most)
    return click.Path(path_type=Path) if plain is Path else click.STRING


class Commands(Mapping[str, click.Command]):
    """The commands of `odt` by name; the module of each is imported when it is asked for.

    Parameters
    ----------
    homes
        For each command, in the order of the help, its module in this package.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes
        self._made: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._made:
            home = import_module(f"{__package__}.{self._homes[name]}")
            self._made[name] = command(getattr(home, name.capitalize()))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


class Group(click.Group):
    """`odt`, with its commands in the order of the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands in the order of the help, not of the alphabet."""
        return list(self.commands)


def _version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from odtdsl.interfaces.health import versions

        print_lines(versions())
        ctx.exit()


def group(homes: Mapping[str, str], help: str) -> Group:
    """All commands as one command line; see `Commands`."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_version,
        help="Print the versions of odtdsl and of the solvers.",
    )
    made = Group(
        name="odt",
        help=help,
        no_args_is_help=True,
        params=[version],
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    made.commands = Commands(homes)  # type: ignore[assignment]  # nothing is added to them
    return made


__all__ = ["Argument", "Command", "Json", "Option", "command", "group"]
