"""What is varied: names with their values, as settings, and a spec with a setting in it.

A setting is a tuple of values as texts, one per name, each as the language writes it: `3` for
`depth`, `1-2-4` for `widths`, `60 s` for `within`, any expression for a `let`, and the whole
statement for `skeleton`, which may be a tree or a diagram.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product
from typing import Any

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.language import ast
from odtdsl.language.fragments import written

BOUNDS = ("depth", "leaves", "splits", "nodes")
OPTIONS: Mapping[str, type[ast.Node]] = {
    "using": ast.Using,
    "within": ast.Within,
    "gap": ast.GapLimit,
    "threads": ast.Threads,
    "seed": ast.Seed,
    "memory": ast.Memory,
}
SKELETON = "skeleton"
MAX_SETTINGS = 10_000
_RANGE = re.compile(r"(-?[\d.]*\d)\s*\.\.\s*(-?\d[\d.]*?)(?:\s+by\s+(\d[\d.]*))?")
_NAME = re.compile(r"\s*([^\W\d]\w*)\s*=(.*)", re.DOTALL)

Setting = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Names, and for each the values to try, in the order in which they were given."""

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def settings(self) -> tuple[Setting, ...]:
        """Every combination, the last name fastest.

        Raises
        ------
        OdtError
            U341: more than 10,000.
        """
        found = tuple(islice(product(*self.values), MAX_SETTINGS + 1))
        if len(found) > MAX_SETTINGS:
            raise error(
                "U341",
                f"these values give more than {MAX_SETTINGS:,} settings",
                helps=("vary fewer parameters, or give fewer values",),
            )
        return found


def shown(names: Iterable[str], setting: Setting) -> str:
    """`depth 3, leaves 8`."""
    return ", ".join(f"{name} {value}" for name, value in zip(names, setting, strict=True))


# ---- reading


def parse_vary(texts: Iterable[str]) -> Grid:
    """Names and values as on the command line: `depth=2..5`, `alpha=0,0.01`, `widths=1-2,1-2-4`.

    Raises
    ------
    OdtError
        U340: a text that is none; a name given twice, or nothing at all.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        match = _NAME.fullmatch(text)
        if match is None:
            raise _wrong(f"`--vary {text}` is not NAME=VALUES")
        if match[1] in found:
            raise _wrong(f"`{match[1]}` is varied twice")
        found[match[1]] = _named(match[1], text, match[2])
    return _grid(found)


def grid_of(vary: Mapping[str, Any]) -> Grid:
    """Names and values as from Python: any iterable of numbers or texts, or a text as above.

    Raises
    ------
    OdtError
        U340, U401: a value that cannot be one.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, values in vary.items():
        if isinstance(values, str):
            found[name] = _named(name, f"{name}={values}", values)
            continue
        single = not isinstance(values, Iterable)
        found[name] = tuple(_text(name, one) for one in ([values] if single else values))
    return _grid(found)


def _grid(found: Mapping[str, tuple[str, ...]]) -> Grid:
    if not found:
        raise _wrong("no parameter is varied")
    for name, values in found.items():
        if not values:
            raise _wrong(f"`{name}` has no values")
    kept = tuple(tuple(dict.fromkeys(values)) for values in found.values())
    return Grid(names=tuple(found), values=kept)


def _wrong(message: str) -> OdtError:
    return error(
        "U340",
        message,
        helps=("write `--vary depth=2..5`, `--vary leaves=4,8,16`, or `--vary alpha=0,0.01`",),
    )


def _named(name: str, text: str, values: str) -> tuple[str, ...]:
    """The values of a name; skeletons contain commas and are separated by semicolons."""
    if name != SKELETON:
        return _listed(text, values)
    found = tuple(" ".join(part.split()) for part in values.split(";"))
    if not all(found):
        raise _wrong(f"`--vary {text}` has an empty value")
    return found


def _listed(text: str, values: str) -> tuple[str, ...]:
    """The values of a text: a range, or parts between commas outside brackets."""
    if match := _RANGE.fullmatch(values.strip()):
        return tuple(_range(text, match[1], match[2], match[3]))
    parts = [part.strip() for part in _parts(values)]
    if not all(parts):
        raise _wrong(f"`--vary {text}` has an empty value")
    return tuple(parts)


def _range(text: str, low: str, high: str, step: str | None) -> Iterator[str]:
    try:
        start, end = Fraction(low), Fraction(high)
        by = Fraction(1) if step is None else Fraction(step)
    except ValueError:
        raise _wrong(f"`--vary {text}` is not a range") from None
    if end < start or by <= 0:
        raise _wrong(f"the range of `--vary {text}` is empty")
    if (end - start) / by > MAX_SETTINGS:
        raise _wrong(f"the range of `--vary {text}` has more than {MAX_SETTINGS:,} values")
    while start <= end:
        yield _decimal(start)
        start += by


def _decimal(value: Fraction) -> str:
    """A number that decimals brought about, as one."""
    if value.denominator == 1:
        return str(value.numerator)
    digits, power = 1, 10
    while power % value.denominator:
        digits, power = digits + 1, power * 10
    units = str(abs(value.numerator) * (power // value.denominator)).zfill(digits + 1)
    return f"{'-' if value < 0 else ''}{units[:-digits]}.{units[-digits:]}"


def _parts(text: str) -> Iterator[str]:
    deep, quoted, start = 0, False, 0
    for at, sign in enumerate(text):
        quoted ^= sign == '"'
        deep += 0 if quoted else (sign in "([{") - (sign in ")]}")
        if sign == "," and not quoted and deep == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _text(name: str, value: Any) -> str:
    from odtdsl.words import values
    from odtdsl.words.expr import Expression

    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Expression):
        return str(value)
    if name == "widths" and isinstance(value, Iterable):
        return "-".join(str(values.whole(width, "a width")) for width in value)
    number = values.exact(value)
    if number is None:
        raise values.wrong(
            f"a value of `{name}`", value, "give numbers, or expressions of the language as text"
        )
    if number.denominator == 1:
        return str(number.numerator)
    power = number.denominator
    while power % 2 == 0 or power % 5 == 0:
        power //= 2 if power % 2 == 0 else 5
    return (
        str(value)
        if isinstance(value, float)
        else (_decimal(number) if power == 1 else f"{number.numerator}/{number.denominator}")
    )


# ---- writing it into a spec


def applied(spec: ast.Spec, names: tuple[str, ...], setting: Setting) -> ast.Spec:
    """The spec under a setting; without comments, which would mention other numbers.

    Raises
    ------
    OdtError
        U342: a name that the spec does not have, or a value that cannot be one of it.
    """
    statements = list(spec.statements)
    for name, value in zip(names, setting, strict=True):
        _change(statements, name, value)
    return ast.Spec(statements=tuple(statements))


def _change(statements: list[ast.Statement], name: str, value: str) -> None:
    for at, statement in enumerate(statements):
        if isinstance(statement, ast.Let) and statement.name == name:
            statements[at] = replace(statement, value=_let(name, value))
            return
    if name in BOUNDS:
        _swap(statements, name, ast.Tree, lambda old: _bounded(old, name, value))
    elif name == "widths":
        _swap(statements, name, ast.Diagram, lambda old: replace(old, widths=_widths(value)))
    elif name == SKELETON:
        _skeleton(statements, value)
    elif name in OPTIONS:
        _set_option(statements, name, _option(name, value))
    else:
        raise _unknown(statements, name)


def overridden(
    spec: ast.Spec, lets: Mapping[str, ast.Expr], options: Iterable[ast.SolveOption]
) -> ast.Spec:
    """The spec with other values of some `let` names, and other options of `solve`."""
    statements: list[ast.Statement] = [
        replace(one, value=lets[one.name]) if isinstance(one, ast.Let) and one.name in lets else one
        for one in spec.statements
    ]
    for option in options:
        name = next(name for name, kind in OPTIONS.items() if isinstance(option, kind))
        _set_option(statements, name, option)
    return ast.Spec(statements=tuple(statements))


def _unknown(statements: list[ast.Statement], name: str) -> OdtError:
    from odtdsl.base.diagnostics.suggest import closest

    lets = [one.name for one in statements if isinstance(one, ast.Let)]
    skeleton = ("widths",) if any(isinstance(s, ast.Diagram) for s in statements) else BOUNDS
    near = closest(name, [*lets, *skeleton, SKELETON, *OPTIONS])
    known = ", ".join(f"`{one}`" for one in (*skeleton, SKELETON, *lets, *OPTIONS))
    return error(
        "U342",
        f"the spec has no parameter `{name}` to vary",
        notes=(f"these can be varied: {known}",),
        helps=(
            *((f"did you mean `{near}`?",) if near else ()),
            f"or name the number in the spec: `let {name} = ...`",
        ),
    )


def _swap(
    statements: list[ast.Statement], name: str, kind: type[Any], change: Callable[[Any], Any]
) -> None:
    for at, statement in enumerate(statements):
        if isinstance(statement, kind):
            statements[at] = change(statement)
            return
    one, other = ("diagram", "`widths`") if kind is ast.Tree else ("tree", "`depth` or `leaves`")
    raise error("U342", f"a {one} has no `{name}` to vary", helps=(f"vary {other}",))


def _skeleton(statements: list[ast.Statement], value: str) -> None:
    """Another skeleton, of whichever kind, in the place of the spec's."""
    kind: type[ast.Tree] | type[ast.Diagram] = (
        ast.Diagram if value.startswith("diagram") else ast.Tree
    )
    made = written(value, "`skeleton`", kind, "")
    for at, statement in enumerate(statements):
        if isinstance(statement, ast.Tree | ast.Diagram):
            statements[at] = made
            return
    statements.append(made)


def _bounded(tree: ast.Tree, name: str, value: str) -> ast.Tree:
    if not re.fullmatch(r"\d{1,9}", value):
        raise error("U342", f"the bound on {name} must be a whole number, not `{value}`")
    bound = ast.SkeletonBound(
        measure=name, op="<=", value=ast.Number(value=Fraction(value), text=value)
    )
    kept = tuple(one for one in tree.bounds if one.measure != name)
    return replace(tree, bounds=(*kept, bound))


def _widths(value: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d{1,9}(-\d{1,9})*", value):
        raise error(
            "U342", f"`{value}` is not a list of widths", helps=("write `--vary widths=1-2,1-2-4`",)
        )
    return tuple(map(int, value.split("-")))


def _let(name: str, value: str) -> ast.Expr:
    return written(value, f"`{name}`", ast.Let, "let x = ").value


def _option(name: str, value: str) -> ast.SolveOption:
    unit = " s" if name == "within" and re.fullmatch(r"[\d.]+", value) else ""
    found = written(value + unit, f"`{name}`", ast.Solve, f"solve {name} ").options
    if len(found) != 1:
        raise error("U342", f"`{value}` is more than one value of `{name}`")
    return found[0]


def _set_option(statements: list[ast.Statement], name: str, option: ast.SolveOption) -> None:
    """Replaced where the spec says it, else added."""
    for at, statement in enumerate(statements):
        if isinstance(statement, ast.Solve):
            kept = tuple(one for one in statement.options if not isinstance(one, OPTIONS[name]))
            if len(kept) < len(statement.options):
                statements[at] = replace(statement, options=(*kept, option))
                return
    statements.append(ast.Solve(options=(option,)))


def numbers(values: Iterable[str]) -> list[Any]:
    """Values of a name for a frame: numbers where all are, else texts."""
    texts = list(values)
    try:
        exact = [Fraction(text) for text in texts]
    except (ValueError, ZeroDivisionError):
        return texts
    whole = all(one.denominator == 1 for one in exact)
    if whole and all(abs(one) < 2**63 for one in exact):
        return [int(one) for one in exact]
    try:
        return [float(one) for one in exact]
    except OverflowError:
        return texts


def plain(spec: ast.Spec) -> str:
    """The canonical text of a spec, which says whether two are the same."""
    from odtdsl.language.printer import to_text

    return to_text(spec)


__all__ = [
    "Grid",
    "Setting",
    "applied",
    "grid_of",
    "numbers",
    "overridden",
    "parse_vary",
    "plain",
    "shown",
]
