"""The back ends of this version: the one place that names them all.

An entry says what is known of a back end before its code is loaded. Adding one is its folder and
an entry here: the language, the choice of `auto`, `odt plan`, `odt compare`, `odt doctor` and the
editor read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.modules import loaded

Value = str | int
"""Of an option: a word, or a whole number."""

Ability = Literal["grow", "improve", "list", "write programs", "write formulas", "write proofs"]
"""What other parts of the package need a back end for: a first model, or a better one, before
another back end's search; lists of trees; files for other solvers; proofs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option that one back end takes: commands, Python and specs learn of it here.

    Attributes
    ----------
    name
        Of the field of the back end, and of the option: `model` for `--model`. No other back end
        has an option of this name.
    what
        What it chooses, in messages.
    help
        A sentence for the help of commands; `described` adds the words there are.
    kind
        Whether its value is a word or a whole number.
    values
        The words there are, the default first. None where the back end knows them.
    priced
        Words that a spec gives with a penalty, as `relaxed 0.5`.
    least, most
        Of a number: the bounds, both included.
    example
        A value to show where there is no list of words; by default `least`.
    compared
        Whether `odt compare` runs all its words where nothing is asked for.
    in_commands, in_specs
        Whether commands and Python offer it, as in `--model cptree`, and whether a spec does, in
        brackets after the name, as in `using search(steps = 1000)`.
    """

    name: str
    what: str
    help: str = ""
    kind: Literal["word", "whole"] = "word"
    values: tuple[str, ...] = ()
    priced: tuple[str, ...] = ()
    least: int = 1
    most: int = 10**9
    example: str = ""
    compared: bool = True
    in_commands: bool = True
    in_specs: bool = True

    @property
    def shown(self) -> str:
        """A value to show."""
        return self.example or next(iter(self.values), str(self.least))

    @property
    def described(self) -> str:
        """The sentence for the help of commands, with the words there are."""
        return f"{self.help.removesuffix('.')}: {_or(self.values)}." if self.values else self.help

    @property
    def wish(self) -> str:
        """What its value must be, where it is a number."""
        return f"a whole number from {self.least:,} to {self.most:,}"

    def read(self, value: Value) -> Value:
        """The value as the back end takes it.

        Raises
        ------
        OdtError
            U302: an unknown word. U322: not a number, or out of bounds.
        """
        if self.kind == "whole":
            return self._number(value)
        if self.values and value not in self.values:
            near = closest(str(value), self.values)
            raise error(
                "U302",
                f"the option `{self.name}` has no value `{value}`",
                notes=(f"it is {_or([f'`{one}`' for one in self.values])}",),
                helps=(f"did you mean `{near}`?",) if near else (),
            )
        return str(value)

    def _number(self, value: Value) -> int:
        text = str(value)
        plain = text.isascii() and text.isdigit() and len(text) <= len(str(self.most))
        if not plain or not self.least <= int(text) <= self.most:
            raise error(
                "U322",
                f"the option `{self.name}` must be {self.wish}, not `{value}`",
                helps=(f"give it a number such as {self.shown}",),
            )
        return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A back end.

    Attributes
    ----------
    name
        As users write it.
    home
        Its class, as `module:class`.
    proves
        Whether it proves that nothing is better, if it has the time.
    ends
        Whether it ends by itself, without a limit.
    on_diagrams
        Its place in the order in which `auto` asks for diagrams; None where it is not asked. For
        trees the order is that of the entries.
    packages
        What it runs on besides the engine.
    extra
        What to install for these; None where they come with odtdsl.
    options, abilities
        What it takes, and what else it is for.
    """

    name: str
    home: str
    proves: bool = True
    ends: bool = True
    on_diagrams: int | None = None
    packages: tuple[str, ...] = ()
    extra: str | None = None
    options: tuple[Option, ...] = ()
    abilities: frozenset[Ability] = frozenset()

    def load(self) -> Any:
        """The class."""
        module, _, kind = self.home.partition(":")
        return getattr(loaded(module), kind)


AUTO = "auto"
"""What leaves the choice of a back end to the package."""

_ENTRIES = (
    Entry(
        name="exact",
        home="odtdsl.backends.exact.backend:Exact",
        on_diagrams=4,
        abilities=frozenset({"list"}),
    ),
    Entry(
        name="milp",
        home="odtdsl.backends.milp.backend:Milp",
        on_diagrams=2,
        packages=("pyomo", "highspy"),
        options=(
            Option(
                name="model",
                what="formulation",
                help="Formulation of milp.",
                values=("pattern", "subtrees", "cptree", "odd"),
                in_specs=False,
            ),
            Option(
                name="mip",
                what="solver",
                help="Solver of milp.",
                values=("highs", "scip", "gurobi", "xpress", "cbc", "glpk"),
                compared=False,
            ),
        ),
        abilities=frozenset({"write programs"}),
    ),
    Entry(
        name="sat",
        home="odtdsl.backends.sat.backend:Sat",
        on_diagrams=3,
        packages=("python-sat", "pindakaas"),
        options=(
            Option(
                name="encoding",
                what="formulation",
                help="Encoding of sat.",
                values=("ordered", "paper"),
                in_specs=False,
            ),
            Option(
                name="solver",
                what="solver",
                help="Solver of sat, such as glucose4 or rc2.",
                example="glucose4",
                in_specs=False,
            ),
        ),
        abilities=frozenset({"write formulas", "write proofs"}),
    ),
    Entry(
        name="cpsat",
        home="odtdsl.backends.cpsat.backend:CpSat",
        on_diagrams=1,
        packages=("ortools",),
        extra="cpsat",
    ),
    Entry(
        name="search",
        home="odtdsl.backends.exact.anytime:Search",
        proves=False,
        ends=False,
        options=(
            Option(
                name="steps",
                what="limit",
                help="Limit of search in millions of row visits; no clock.",
                kind="whole",
                example="1000",
            ),
        ),
        abilities=frozenset({"improve"}),
    ),
    Entry(
        name="greedy",
        home="odtdsl.backends.greedy.backend:GreedyBackEnd",
        proves=False,
        options=tuple(
            Option(
                name=name,
                what="growth",
                values=("optimal", "relaxed", "medoid", "average"),
                priced=("relaxed",),
                in_commands=False,
            )
            for name in ("split", "leaf")
        ),
        abilities=frozenset({"grow"}),
    ),
)

_PORTFOLIO = Entry(name=AUTO, home="odtdsl.backends.auto.backend:Auto")

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
"""Those that prove come first, in the order in which `auto` asks for trees: so they were measured
(`docs/explanation/sat-measured.md`, `exact-measured.md`). For diagrams clauses prove more than
linear relaxations do."""


def names() -> tuple[str, ...]:
    """The names of all back ends, without `auto`."""
    return tuple(ENTRIES)


def wishes() -> tuple[str, ...]:
    """What may follow `using`."""
    return (AUTO, *ENTRIES)


def wishes_text(mark: str = "") -> str:
    """These in a sentence, each between marks."""
    return _or([f"{mark}{name}{mark}" for name in wishes()])


def _or(words: Sequence[str]) -> str:
    """These in a sentence: a, b or c."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def preferred(*, diagrams: bool) -> tuple[str, ...]:
    """Those that `auto` tries for trees or for diagrams, in this order."""
    if not diagrams:
        return tuple(entry.name for entry in ENTRIES.values() if entry.proves)
    asked = [(entry.on_diagrams, entry.name) for entry in ENTRIES.values() if entry.on_diagrams]
    return tuple(name for _, name in sorted(asked))


def entry_of(name: str) -> Entry:
    """A back end, or `auto`, by name.

    Raises
    ------
    OdtError
        B101: this version has no such back end.
    """
    if name == AUTO:
        return _PORTFOLIO
    if str(name) not in ENTRIES:
        word, bracket, _ = str(name).partition("(")
        if bracket and (entry := ENTRIES.get(word.strip())) is not None:
            flags = [f"`--{option.name}`" for option in entry.options if option.in_commands]
            raise error(
                "B101",
                f"a back end has its settings in brackets in a spec only: `{name}`",
                helps=(
                    f"write `solve using {name}` in the spec",
                    *([f"or `--using {entry.name}` with {' or '.join(flags)}"] if flags else []),
                ),
            )
        near = closest(str(name), names())
        way = setting_of(str(name).strip().lower())
        first, comma, second = str(name).partition(",")
        raise error(
            "B101",
            f"the back end `{name}` is not part of this version",
            notes=(f"the back ends are `{'`, `'.join(names())}`; `{AUTO}` chooses one",),
            helps=(f"name one at a time, such as `--on {first} --on {second.strip()}`",)
            if comma
            else (f"write {_flags(way)}, or `solve using {way}` in the spec",)
            if way
            else (f"did you mean `{near}`?",)
            if near
            else ("to solve it in another program: `odt compile`, then `odt decode`",),
        )
    return ENTRIES[name]


def proves(name: str) -> bool:
    """Whether a back end proves that nothing is better."""
    return entry_of(name).proves


def gives_up(name: str) -> bool:
    """Whether a back end ends without a proof on its own, so that more time is of no use."""
    return entry_of(name).ends and not entry_of(name).proves


def settings(name: str) -> tuple[Option, ...]:
    """The options of a back end that a spec may set in brackets after its name."""
    return tuple(option for option in entry_of(name).options if option.in_specs)


def setting_of(value: str) -> str | None:
    """How a spec says a value that one back end has a setting for: `scip` is `milp(mip = scip)`."""
    ways = [
        f"{entry.name}({option.name} = {value})"
        for entry in ENTRIES.values()
        for option in settings(entry.name)
        if value in option.values
    ]
    return ways[0] if len(ways) == 1 else None


def _flags(way: str) -> str:
    """The options of commands that stand for `milp(mip = scip)`."""
    name, _, rest = way.rstrip(")").partition("(")
    option, _, value = rest.partition(" = ")
    return f"`--using {name} --{option} {value}`"


def takes(name: str, setting: str) -> bool:
    """Whether a back end takes a setting in brackets after its name."""
    return any(option.name == setting for option in settings(name))


def able(ability: Ability) -> str:
    """The first back end that is for something."""
    return next(entry.name for entry in ENTRIES.values() if ability in entry.abilities)


# ---- options of users


def offered() -> tuple[Option, ...]:
    """The options of all back ends that commands and Python offer."""
    return tuple(one for entry in ENTRIES.values() for one in entry.options if one.in_commands)


@dataclass(frozen=True, slots=True)
class Variant:
    """The options that users gave for one back end: names to values; empty where they gave none."""

    given: tuple[tuple[str, Value], ...] = ()

    @property
    def owner(self) -> str | None:
        """The back end that takes them; None where none is given."""
        return _owner(self.given[0][0])[0].name if self.given else None

    def get(self, name: str) -> Value | None:
        """The value of an option; None where it was not given."""
        return dict(self.given).get(name)

    def of(self, back_end: str) -> dict[str, Value]:
        """The options, where they are this back end's.

        Raises
        ------
        OdtError
            U302: they are another's.
        """
        for name, _ in self.given:
            if _owner(name)[0].name != back_end:
                raise self._anothers(name, back_end)
        return dict(self.given)

    def asked(self, back_end: str | None) -> str | None:
        """The back end that users ask for: the one they name, else that of the options.

        Raises
        ------
        OdtError
            U302: they name `auto`, which may choose one without these options.
        """
        if back_end == AUTO and self.given:
            raise self._anothers(self.given[0][0], AUTO)
        return back_end or self.owner

    def _anothers(self, name: str, back_end: str) -> OdtError:
        owner = _owner(name)[0].name
        return error(
            "U302",
            f"`{name}` is an option of `{owner}`, not of `{back_end}`",
            helps=(
                f'use `{owner}` (`--using {owner}`, in Python `using="{owner}"`, of estimators '
                f'`backend="{owner}"`)',
            ),
        )


def variant(options: Mapping[str, Value] | None = None, /, **named: Value | None) -> Variant:
    """What users ask of one back end, by name or in a mapping; None for what they do not ask.

    What is given both ways is as in the mapping.

    Raises
    ------
    OdtError
        U302: an unknown value, or options of different back ends. U322: an unknown option, or a
        value that is no number as it takes.
    """
    asked = {**named, **(options or {})}
    given = [(name, value) for name, value in asked.items() if value is not None]
    owners = {_owner(name)[0].name for name, _ in given}
    if len(owners) > 1:
        names_ = " and ".join(f"`{name}` of `{_owner(name)[0].name}`" for name, _ in given)
        helps = ("give the options of one of them only",)
        raise error("U302", f"{names_} are options of different back ends", helps=helps)
    return Variant(tuple((name, _owner(name)[1].read(value)) for name, value in given))


def _owner(name: str) -> tuple[Entry, Option]:
    known = {o.name: (e, o) for e in ENTRIES.values() for o in e.options if o.in_commands}
    if name not in known:
        near = closest(str(name), known)
        listed = ", ".join(f"`{option}` of `{entry.name}`" for option, (entry, _) in known.items())
        raise error(
            "U322",
            f"no back end has an option `{name}`",
            notes=(f"there are: {listed}",),
            helps=_instead(name) or ((f"did you mean `{near}`?",) if near else ()),
        )
    return known[name]


def _instead(name: str) -> tuple[str, ...]:
    """Where a spec sets what is no option of commands and Python."""
    ways = [
        f"`using {entry.name}({option.name} = {option.shown})`"
        for entry in ENTRIES.values()
        for option in settings(entry.name)
        if option.name == name
    ]
    return (f"set it in the spec: {' or '.join(ways)}",) if ways else ()


def variants(back_end: str) -> Iterator[Variant]:
    """Those of a back end that are compared besides its default, option by option."""
    for option in _named(back_end):
        if option.compared:
            yield from (Variant(((option.name, value),)) for value in option.values[1:])


def _named(back_end: str) -> list[Option]:
    return [option for option in entry_of(back_end).options if option.in_commands]


def read_variant(name: str) -> tuple[str, Variant]:
    """The back end and the options of a name such as `milp (cptree)` or `sat (glucose4)`.

    Raises
    ------
    OdtError
        B101: an unknown back end. U302: it takes no such value. U322: no number as it takes.
    """
    back_end, _, value = name.removesuffix(")").partition(" (")
    if not value:
        return back_end, Variant()
    for option in _named(back_end):
        if value in option.values or not option.values:
            return back_end, Variant(((option.name, option.read(value)),))
    raise error("U302", f"`{back_end}` takes no `{value}`", helps=_listed(back_end))


def _listed(back_end: str) -> tuple[str, ...]:
    known = [value for option in _named(back_end) for value in option.values[1:]]
    return (f"write {' or '.join(f'`{back_end} ({one})`' for one in known)}",) if known else ()
