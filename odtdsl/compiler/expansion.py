"""What a spec stands for, bounded before it is written out: expressions with every `let` name put
in, and the tests of categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from odtdsl.base.frozen import field_names
from odtdsl.compiler.context import Reporter
from odtdsl.compiler.statements import Statements
from odtdsl.language import ast
from odtdsl.language.depth import MAX_DEPTH
from odtdsl.language.expressions import coded, name_text
from odtdsl.problem.ir.problem import FeatureDecl

MOST_WORDS = 50_000
"""Names, numbers and operators of an expression with every `let` put in."""

MOST_MASKS = 2**28
"""Rows times values of categories: each value is a test, and searches hold the side of every row.
At the limit `exact` takes about 5 GB."""


def check_categories(
    features: Sequence[FeatureDecl], n_rows: int, statements: Statements, reporter: Reporter
) -> None:
    """Report an error where the tests of categories are too many for the rows."""
    values = {
        feature.name: len(feature.type.levels)
        for feature in features
        if feature.type.kind == "category"
    }
    if n_rows * sum(values.values()) <= MOST_MASKS:
        return
    name = max(values, key=lambda one: values[one])
    column = name_text(name)
    reporter.error(
        "D224",
        f"category `{name}` has {values[name]:,} values: too many tests for {n_rows:,} rows",
        statements.data,
        notes=(
            (
                f"each value is a test `{column} == v`; rows times values of all categories are "
                f"{n_rows * sum(values.values()):,}, and the limit is {MOST_MASKS:,}"
            ),
        ),
        helps=(
            (
                f"if it names the rows, write {coded(f'drop {column}')}, or "
                f"{coded(f'id {column}')} in the data statement of a file"
            ),
            f"if its values are numbers, write {coded(f'feature {column}: number')}",
            "otherwise merge rare values before reading the file",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Names, numbers and operators of an expression, and how deep they nest."""

    words: int
    depth: int


def check_growth(statements: Statements, reporter: Reporter) -> None:
    """Report an error for every statement that becomes too long, and for every `let` that does
    though each name in it is short enough."""
    extents = _Extents(statements.lets)
    told: set[str] = set()
    users: list[tuple[str, ast.Node, ast.Expr]] = [
        *((f"`let {let.name}`", let, let.value) for let in statements.lets.values()),
        *((f"rule `{one.name}`", one, one.condition) for one in statements.rules),
        *((f"group `{one.name}`", one, one.condition) for one in statements.groups),
    ]
    if (objective := statements.objective) is not None:
        users += [("the objective", one, one.measure) for one in objective.stages]
    for what, node, expr in users:
        if told and any(name in told for name in _names(expr)):
            if isinstance(node, ast.Let):
                told.add(node.name)
            continue  # told where it began
        found = extents.of(expr)
        words, depth = found.words, found.depth
        if words <= MOST_WORDS and depth <= MAX_DEPTH:
            continue
        if isinstance(node, ast.Let):
            told.add(node.name)
        grown = (
            f"{words:,} words"
            if words > MOST_WORDS
            else f"an expression nested {depth:,} levels deep"
        )
        reporter.error(
            "N130",
            f"{what} grows to {grown} when its `let` names are replaced by their values",
            node,
            notes=(f"the limit is {MOST_WORDS:,} words, nested {MAX_DEPTH} levels deep",),
            helps=("write out the sum or condition: avoid names that use another name twice",),
        )


_WORD = Extent(words=1, depth=1)


class _Extents:
    """The extents of `let` values, each found once."""

    def __init__(self, lets: Mapping[str, ast.Let]) -> None:
        self.lets = lets
        self.known: dict[str, Extent] = {}
        for name in lets:
            self._find(name)

    def of(self, expr: ast.Node) -> Extent:
        """Of an expression; a name in the midst of its own definition counts as one word."""
        if isinstance(expr, ast.Name):
            return _WORD if expr.quoted else self.known.get(expr.name, _WORD)
        inside = [self.of(part) for part in _parts(expr)]
        return Extent(
            words=1 + sum(one.words for one in inside),
            depth=1 + max((one.depth for one in inside), default=0),
        )

    def _find(self, name: str) -> None:
        """Names that a name needs come first; a long chain of them takes no recursion."""
        todo, opened = [name], set[str]()
        while todo:
            name = todo[-1]
            if name in self.known:
                todo.pop()
                continue
            needed = [] if name in opened else self._needed(name)
            opened.add(name)
            if needed:
                todo += needed
                continue
            self.known[name] = self.of(self.lets[name].value)
            todo.pop()

    def _needed(self, name: str) -> list[str]:
        return [n for n in _names(self.lets[name].value) if n in self.lets and n not in self.known]


def _names(expr: ast.Node) -> Iterator[str]:
    if isinstance(expr, ast.Name) and not expr.quoted:
        yield expr.name
    for part in _parts(expr):
        yield from _names(part)


def _parts(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes right below a node."""
    for name in field_names(type(node)):
        yield from _nodes(getattr(node, name))


def _nodes(value: object) -> Iterator[ast.Node]:
    if isinstance(value, ast.Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
