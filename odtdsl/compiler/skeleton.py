"""Skeletons and solve options: numbers with bounds of their own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal, assert_never

from odtdsl.compiler.context import Desk, Stop
from odtdsl.language import ast
from odtdsl.problem.ir.problem import DEEPEST, DiagramSkeleton, Growth, Options, TreeSkeleton

MOST_LAYERS = 64
MOST_PLANE_LAYERS = 6
BACKENDS = ("auto", "exact", "milp", "sat", "cpsat", "search", "greedy")
WAYS = ("optimal", "relaxed", "medoid", "average")
SECONDS = {"s": 1, "min": 60, "h": 3600}
LONGEST = 1000 * 3600
MOST_STEPS = 10**9
BYTES = {"MB": 10**6, "GB": 10**9}
Splits = Literal["axis", "hyperplane"]


def skeleton(
    statement: ast.Tree | ast.Diagram, objective: ast.Objective | None, desk: Desk
) -> TreeSkeleton | DiagramSkeleton:
    """The skeleton that a statement `tree` or `diagram` describes, with its bounds checked."""
    if isinstance(statement, ast.Diagram):
        return _diagram(statement, desk)
    return _tree(statement, objective, desk)


def _splits(word: str | None, at: ast.Node, desk: Desk) -> Splits:
    match word:
        case None | "axis":
            return "axis"
        case "hyperplane":
            return "hyperplane"
        case _:
            raise desk.unknown("K104", "kind of splits", word, ["axis", "hyperplane"], at)


def _tree(
    statement: ast.Tree, objective: ast.Objective | None, desk: Desk
) -> TreeSkeleton | DiagramSkeleton:
    depth: int | None = None
    leaves: int | None = None
    failed = False
    for bound in statement.bounds:
        try:
            value = _bound(bound, desk)
        except Stop:
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
        raise Stop
    if leaves is not None and leaves < 1:
        raise desk.error(
            "K105", "a tree has at least one leaf", statement, helps=("write `tree leaves <= 6`",)
        )
    if depth is not None and depth > DEEPEST:
        raise desk.error(
            "K106",
            f"a depth of {depth} is beyond every search",
            statement,
            notes=(f"the largest depth is {DEEPEST}; exact search reaches 3 to 6 on most data",),
            helps=("write `tree depth <= 4`, or bound the leaves: `tree leaves <= 12`",),
        )
    if depth is not None and leaves is not None and leaves > 2**depth:
        desk.warn(
            "K107",
            f"a tree of depth {depth} has at most {2**depth} leaves: {leaves} bounds nothing",
            statement,
        )
    if depth is None and leaves is None and not _makes_depth_least(objective):
        raise desk.error(
            "K108",
            "the tree has no bound",
            statement,
            helps=(
                "write `tree depth <= 3`, or make the depth least: `minimize depth then errors`",
            ),
        )
    splits = _splits(statement.splits, statement, desk)
    if splits == "hyperplane":
        return _of_planes(statement, depth, leaves, desk)
    return TreeSkeleton(depth=depth, leaves=leaves)


def _of_planes(
    statement: ast.Tree, depth: int | None, leaves: int | None, desk: Desk
) -> DiagramSkeleton:
    """A tree of hyperplanes: the diagram whose nodes have one arc into them each."""
    if depth is None or not 1 <= depth <= MOST_PLANE_LAYERS:
        raise desk.error(
            "K120",
            f"a tree of hyperplanes has a depth of 1 to {MOST_PLANE_LAYERS}",
            statement,
            notes=("each level doubles the nodes of its model",),
            helps=("write `tree depth <= 2, splits hyperplane`",),
        )
    widths = tuple(1 << level for level in range(depth))
    return DiagramSkeleton(widths=widths, splits="hyperplane", tree=True, leaves=leaves)


def _makes_depth_least(objective: ast.Objective | None) -> bool:
    if objective is None:
        return True
    first = objective.stages[0]
    return first.sense == "minimize" and first.measure == ast.Name(name="depth")


def _bound(bound: ast.SkeletonBound, desk: Desk) -> int:
    value = bound.value.value
    if bound.op not in ("<=", "<"):
        raise desk.error(
            "K109",
            f"`{bound.measure} {bound.op}` is no upper bound",
            bound,
            helps=(
                f"write `{bound.measure} <= {bound.value.text or value}`",
                f"lower bounds are rules: `rule large: {bound.measure} >= 3`",
            ),
        )
    if value.denominator != 1 or value < 0:
        raise desk.error(
            "K110", f"a bound of {bound.measure} is a whole number from 0 on", bound.value
        )
    return int(value) - (1 if bound.op == "<" else 0)


def _diagram(statement: ast.Diagram, desk: Desk) -> DiagramSkeleton:
    widths = statement.widths
    if len(widths) > MOST_LAYERS:
        raise desk.error(
            "K111",
            f"a diagram of {len(widths)} layers is beyond every search",
            statement,
            notes=(f"at most {MOST_LAYERS} layers",),
            helps=("write fewer and wider layers, such as `diagram widths 1, 2, 4, 4, 4`",),
        )
    if any(width < 1 for width in widths):
        filled = ", ".join(str(width) for width in widths if width > 0) or "1, 2"
        raise desk.error(
            "K112",
            "every layer of a diagram has at least one node",
            statement,
            helps=(f"leave the empty layers out: `diagram widths {filled}`",),
        )
    if widths[0] != 1:
        raise desk.error(
            "K113",
            "the first layer of a diagram is the root: its width is 1",
            statement,
            helps=(f"write `diagram widths 1, {', '.join(map(str, widths))}`",),
        )
    trimmed = [1]
    for width in widths[1:]:
        trimmed.append(min(width, 2 * trimmed[-1]))
    if tuple(trimmed) != widths:
        desk.warn(
            "K114",
            "a layer wider than twice the one above is trimmed to that",
            statement,
            notes=(f"the widths are taken as {', '.join(map(str, trimmed))}",),
        )
    return DiagramSkeleton(widths=tuple(trimmed), splits=_splits(statement.splits, statement, desk))


# ---- solve


def options(statements: list[ast.Solve], desk: Desk) -> Options:
    """Defaults of the solve; an option said twice is an error."""
    found = Options()
    said: dict[type[ast.Node], ast.Node] = {}
    for statement in statements:
        for option in statement.options:
            if type(option) in said:
                desk.error(
                    "N102",
                    "this option of `solve` is said twice",
                    option,
                    label="again here",
                    also=((said[type(option)], "first here"),),
                )
                continue
            said[type(option)] = option
            try:
                found = _option(found, option, desk)
            except Stop:
                continue
    return found


def _option(found: Options, option: ast.SolveOption, desk: Desk) -> Options:
    match option:
        case ast.Using():
            if option.backend not in BACKENDS:
                raise desk.unknown("K115", "back end", option.backend, BACKENDS, option)
            found = replace(found, backend=option.backend)
            if option.backend == "search":
                return replace(found, steps=_steps(option, desk))
            return replace(found, growth=_growth(option, desk))
        case ast.Within():
            return replace(found, seconds=_seconds(option, "a time limit", desk))
        case ast.GapLimit():
            return replace(found, gap=_gap(option, desk))
        case ast.Steady():
            return replace(found, steady=_seconds(option, "a time without a better model", desk))
        case ast.Threads():
            if not 1 <= option.count <= 256:
                raise desk.error("K116", "threads are from 1 to 256", option)
            return replace(found, threads=option.count)
        case ast.Seed():
            if option.value >= 2**31:
                raise desk.error("K116", "a seed is below 2147483648", option)
            return replace(found, seed=option.value)
        case ast.Memory():
            amount = option.amount.value * BYTES[option.unit]
            if not 10**6 <= amount < 10**18:
                raise desk.error("K116", "a memory limit is at least 1 MB", option)
            return replace(found, memory_bytes=int(amount))
        case ast.Start():
            return replace(found, start=option.path)
        case _:
            assert_never(option)


def _seconds(option: ast.Within | ast.Steady, what: str, desk: Desk) -> float:
    seconds = option.amount.value * SECONDS[option.unit]
    if not 0 < seconds <= LONGEST:
        raise desk.error("K116", f"{what} is above 0 s and at most 1000 h", option)
    return float(seconds)


def _gap(option: ast.GapLimit, desk: Desk) -> Fraction:
    amount = option.amount.value
    if isinstance(option.amount, ast.Percent):
        if not 0 <= amount < 100:
            raise desk.error("K116", "a relative gap is from 0% to below 100%", option)
        return amount / 100
    if amount < 0:
        raise desk.error("K116", "a gap is not negative", option)
    return amount


def _steps(option: ast.Using, desk: Desk) -> int | None:
    steps: int | None = None
    for setting in option.settings:
        if setting.key != "steps":
            raise desk.unknown("K117", "setting", setting.key, ("steps",), setting)
        amount = None if setting.value or setting.amount is None else setting.amount.value
        if amount is None or amount.denominator != 1 or not 1 <= amount <= MOST_STEPS:
            raise desk.error(
                "K117",
                f"`steps` is a whole number from 1 to {MOST_STEPS:,}",
                setting,
                helps=("write `using search(steps = 1000)`",),
            )
        steps = int(amount)
    return steps


def _growth(option: ast.Using, desk: Desk) -> Growth:
    if option.settings and option.backend != "greedy":
        raise desk.error(
            "K117",
            f"`{option.backend}` takes no settings",
            option,
            helps=(
                "settings go with `using greedy(split = optimal, leaf = optimal)` and"
                " `using search(steps = 1000)`",
            ),
        )
    growth = Growth()
    for setting in option.settings:
        if setting.key not in ("split", "leaf"):
            raise desk.unknown("K117", "setting", setting.key, ("split", "leaf"), setting)
        if setting.value not in WAYS:
            raise desk.unknown("K117", "way of growth", setting.value, WAYS, setting)
        amount = Fraction(0) if setting.amount is None else setting.amount.value
        if (setting.value == "relaxed") != (setting.amount is not None) or amount < 0:
            raise desk.error(
                "K117", "`relaxed` takes a penalty of at least 0, the other ways none", setting
            )
        if setting.key == "split":
            growth = replace(growth, split=setting.value, split_penalty=amount)
        else:
            growth = replace(growth, leaf=setting.value, leaf_penalty=amount)
    return growth
