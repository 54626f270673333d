"""Skeletons and solve options: numbers with bounds of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Literal, assert_never

from odtdsl.base.back_ends import Option, names, offered, setting_of, settings, wishes
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.limits import BYTES, SECONDS
from odtdsl.base.numbers import counted
from odtdsl.compiler.context import Reporter, StatementError
from odtdsl.language import ast
from odtdsl.language.expressions import number_text
from odtdsl.problem.ir.problem import (
    MAX_SEARCH_DEPTH,
    DiagramSkeleton,
    Options,
    Setting,
    TreeSkeleton,
)

MAX_LAYERS = 64
MAX_PLANE_LAYERS = 6
MAX_SECONDS = 1000 * 3600
Splits = Literal["axis", "hyperplane"]


def skeleton(
    statement: ast.Tree | ast.Diagram, objective: ast.Objective | None, reporter: Reporter
) -> TreeSkeleton | DiagramSkeleton:
    """The skeleton that a statement `tree` or `diagram` describes, with its bounds checked."""
    if isinstance(statement, ast.Diagram):
        return _diagram(statement, reporter)
    return _tree(statement, objective, reporter)


def _splits(word: str | None, at: ast.Node, reporter: Reporter) -> Splits:
    match word:
        case None | "axis":
            return "axis"
        case "hyperplane":
            return "hyperplane"
        case _:
            raise reporter.unknown("K104", "kind of splits", word, ["axis", "hyperplane"], at)


def _tree(
    statement: ast.Tree, objective: ast.Objective | None, reporter: Reporter
) -> TreeSkeleton | DiagramSkeleton:
    depth: int | None = None
    leaves: int | None = None
    failed = False
    for bound in statement.bounds:
        try:
            value = _bound(bound, reporter)
        except StatementError:
            failed = True
            continue
        match bound.measure:
            case "depth":
                depth = value if depth is None else min(depth, value)
                continue
            case "nodes":
                value = (value + 1) // 2
            case "splits":
                value = value + 1
        leaves = value if leaves is None else min(leaves, value)
    if failed:
        raise StatementError
    if leaves is not None and leaves < 1:
        raise reporter.error(
            "K105", "a tree has at least one leaf", statement, helps=("write `tree leaves <= 6`",)
        )
    if depth is not None and depth > MAX_SEARCH_DEPTH:
        raise reporter.error(
            "K106",
            f"a depth of {depth} is too large",
            statement,
            notes=(
                f"the largest depth is {MAX_SEARCH_DEPTH}; on most data, exact search can handle"
                " 3 to 6",
            ),
            helps=("write `tree depth <= 4`, or bound the leaves: `tree leaves <= 12`",),
        )
    if depth is not None and leaves is not None and leaves > 2**depth:
        reporter.warn(
            "K107",
            (
                f"`leaves <= {leaves}` has no effect: a tree of depth {depth} has at most "
                f"{counted(2**depth, 'leaf', 'leaves')}"
            ),
            statement,
        )
    if depth is None and leaves is None and not _makes_depth_least(objective):
        raise reporter.error(
            "K108",
            "the size of the tree is not bounded",
            statement,
            helps=("write `tree depth <= 3`, or minimize the depth: `minimize depth then errors`",),
        )
    splits = _splits(statement.splits, statement, reporter)
    if splits == "hyperplane":
        return _of_planes(statement, depth, leaves, reporter)
    return TreeSkeleton(depth=depth, leaves=leaves)


def _of_planes(
    statement: ast.Tree, depth: int | None, leaves: int | None, reporter: Reporter
) -> DiagramSkeleton:
    """A tree of hyperplanes: the diagram whose nodes have one arc into them each."""
    if depth is None or not 1 <= depth <= MAX_PLANE_LAYERS:
        raise reporter.error(
            "K120",
            f"a tree with hyperplane splits needs a depth from 1 to {MAX_PLANE_LAYERS}",
            statement,
            notes=("each level doubles the number of nodes in the optimization model",),
            helps=("write `tree depth <= 2, splits hyperplane`",),
        )
    widths = tuple(1 << level for level in range(depth))
    return DiagramSkeleton(widths=widths, splits="hyperplane", tree=True, leaves=leaves)


def _makes_depth_least(objective: ast.Objective | None) -> bool:
    if objective is None:
        return True
    first = objective.stages[0]
    return first.sense == "minimize" and first.measure == ast.Name(name="depth")


def _bound(bound: ast.SkeletonBound, reporter: Reporter) -> int:
    value = bound.value.value
    if bound.op not in ("<=", "<"):
        raise reporter.error(
            "K109",
            f"`{bound.measure} {bound.op}` is not an upper bound",
            bound,
            helps=(
                f"write `{bound.measure} <= {bound.value.text or value}`",
                f"for a lower bound write a rule: `rule large: {bound.measure} >= 3`",
            ),
        )
    if value.denominator != 1 or value < 0:
        raise reporter.error(
            "K110", f"a bound on {bound.measure} must be a whole number of at least 0", bound.value
        )
    return int(value) - (1 if bound.op == "<" else 0)


def _diagram(statement: ast.Diagram, reporter: Reporter) -> DiagramSkeleton:
    widths = statement.widths
    if len(widths) > MAX_LAYERS:
        raise reporter.error(
            "K111",
            f"a diagram of {len(widths)} layers is too large",
            statement,
            notes=(f"at most {MAX_LAYERS} layers",),
            helps=("write fewer and wider layers, such as `diagram widths 1, 2, 4, 4, 4`",),
        )
    if any(width < 1 for width in widths):
        filled = ", ".join(str(width) for width in widths if width > 0) or "1, 2"
        raise reporter.error(
            "K112",
            "every layer of a diagram needs at least one node",
            statement,
            helps=(f"leave the empty layers out: `diagram widths {filled}`",),
        )
    if widths[0] != 1:
        raise reporter.error(
            "K113",
            "the first layer of a diagram is the root: its width must be 1",
            statement,
            helps=(f"write `diagram widths 1, {', '.join(map(str, widths))}`",),
        )
    trimmed = [1]
    for width in widths[1:]:
        trimmed.append(min(width, 2 * trimmed[-1]))
    if tuple(trimmed) != widths:
        reporter.warn(
            "K114",
            "a layer can be at most twice as wide as the one above, so wider layers are reduced",
            statement,
            notes=(f"the widths used are {', '.join(map(str, trimmed))}",),
        )
    return DiagramSkeleton(
        widths=tuple(trimmed), splits=_splits(statement.splits, statement, reporter)
    )


# ---- solve


def options(statements: list[ast.Solve], reporter: Reporter) -> Options:
    """The options of the solve; an option given twice is an error."""
    found = Options()
    said: dict[type[ast.Node], ast.Node] = {}
    for statement in statements:
        for option in statement.options:
            if type(option) in said:
                reporter.error(
                    "N102",
                    "this option of `solve` is given twice",
                    option,
                    label="again here",
                    also=((said[type(option)], "first here"),),
                )
                continue
            said[type(option)] = option
            try:
                found = _option(found, option, reporter)
            except StatementError:
                continue
    return found


def _option(found: Options, option: ast.SolveOption, reporter: Reporter) -> Options:
    match option:
        case ast.Using():
            if option.backend not in wishes():
                way = setting_of(option.backend.lower())
                helps = (f"it is a solver: write `using {way}`",) if way else ()
                raise reporter.unknown(
                    "K115", "back end", option.backend, wishes(), option, helps=helps
                )
            return replace(found, backend=option.backend, settings=_settings(option, reporter))
        case ast.Within():
            return replace(found, seconds=_seconds(option, "a time limit", reporter))
        case ast.GapLimit():
            return replace(found, gap=_gap(option, reporter))
        case ast.Steady():
            return replace(
                found, steady=_seconds(option, "a time without a better model", reporter)
            )
        case ast.Threads():
            if not 1 <= option.count <= 256:
                raise reporter.error("K116", "the number of threads must be from 1 to 256", option)
            return replace(found, threads=option.count)
        case ast.Seed():
            if not 0 <= option.value < 2**31:
                raise reporter.error("K116", "a seed must be from 0 to 2147483647", option)
            return replace(found, seed=option.value)
        case ast.Memory():
            amount = option.amount.value * BYTES[option.unit]
            if not 10**6 <= amount < 10**18:
                raise reporter.error("K116", "a memory limit must be at least 1 MB", option)
            return replace(found, memory_bytes=int(amount))
        case ast.Start():
            return replace(found, start=option.path)
        case _:
            assert_never(option)


def _seconds(option: ast.Within | ast.Steady, what: str, reporter: Reporter) -> float:
    seconds = option.amount.value * SECONDS[option.unit]
    if not 0 < seconds <= MAX_SECONDS:
        raise reporter.error("K116", f"{what} must be above 0 s and at most 1000 h", option)
    return float(seconds)


def _gap(option: ast.GapLimit, reporter: Reporter) -> Fraction:
    amount = option.amount.value
    if isinstance(option.amount, ast.Percent):
        if not 0 <= amount < 100:
            raise reporter.error(
                "K116", "a relative gap must be at least 0% and below 100%", option
            )
        return amount / 100
    if amount < 0:
        raise reporter.error("K116", "a gap must not be negative", option)
    return amount


def _settings(option: ast.Using, reporter: Reporter) -> tuple[Setting, ...]:
    """What the back end is told in brackets; of a setting given twice, the last."""
    known = {one.name: one for one in settings(option.backend)}
    if option.settings and not known:
        taking = [name for name in names() if settings(name)]
        listed = " and ".join(f"`{name}`" for name in taking)
        shown = ", ".join(_example(name, settings(name)) for name in taking)
        raise reporter.error(
            "K117",
            f"`{option.backend}` takes no settings",
            option,
            helps=(*_outside(option.settings[0]), f"only {listed} take settings: {shown}"),
        )
    found: dict[str, Setting] = {}
    for setting in option.settings:
        if setting.key not in known:
            way = setting_of((setting.value or "").lower())
            helps = (f"write `using {way}`",) if way else tuple(_outside(setting))
            raise reporter.unknown("K117", "setting", setting.key, known, setting, helps=helps)
        found[setting.key] = _setting(option.backend, known[setting.key], setting, reporter)
    return tuple(found.values())


def _outside(said: ast.Setting) -> Iterator[str]:
    """Where the option is set that is meant, if no spec sets it."""
    known = {option.name: option for option in offered() if not option.in_specs}
    name = _meant(said.key, known)
    if name is not None:
        value = _meant(said.value or "", known[name].values) or known[name].shown
        yield (
            f"`{name}` is set outside the spec: `--{name} {value}`, in Python"
            f' `options={{"{name}": "{value}"}}`'
        )


def _meant(word: str, known: Collection[str]) -> str | None:
    return word if word in known else closest(word, known)


def _example(name: str, some: Iterable[Option]) -> str:
    return f"`using {name}({', '.join(f'{one.name} = {one.shown}' for one in some)})`"


def _setting(backend: str, option: Option, said: ast.Setting, reporter: Reporter) -> Setting:
    amount = None if said.amount is None else said.amount.value
    if option.kind == "whole":
        whole = amount is not None and amount.denominator == 1 and not said.value
        if amount is None or not whole or not option.least <= amount <= option.most:
            raise reporter.error(
                "K117",
                f"`{option.name}` must be {option.wish}",
                said,
                helps=(f"write {_example(backend, [option])}",),
            )
        return Setting(name=option.name, value=int(amount))
    word = said.value or ("" if said.amount is None else number_text(said.amount))
    if word not in (option.values or (said.value,)):
        raise reporter.unknown("K117", option.what, word, option.values, said)
    if (word in option.priced) != (amount is not None) or (amount or 0) < 0:
        raise reporter.error("K117", _prices(option), said)
    return Setting(name=option.name, value=word, penalty=amount or Fraction(0))


def _prices(option: Option) -> str:
    if not option.priced:
        return f"`{option.name}` takes a word without a number"
    priced = " and ".join(f"`{word}`" for word in option.priced)
    return f"{priced} takes a penalty of at least 0; the others take none"
