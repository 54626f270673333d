"""A spec that may be half written: its tokens, statements, names, and where names are used."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.source import Source, Span
from odtdsl.language import ast
from odtdsl.problem.terms.base import Param
from odtdsl.problem.terms.registry import BY_NAME

NameKind = Literal["rule", "group", "let"]
TokenKind = Literal["comment", "text", "quoted", "number", "word", "sign"]

_TOKEN = re.compile(
    r"(?P<comment>#[^\r\n]*)"
    r'|(?P<text>"(?:\\.|[^"\\\r\n])*(?:"|\\?(?=[\r\n]|\Z)))'
    r"|(?P<quoted>`(?:[^`\r\n]|``)*(?:`|(?=[\r\n]|\Z)))"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>[^\W\d][\w\u0300-\u036f]*)"
    r"|(?P<sign>[<>=!]=|[^\s\ufeff])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of text; texts and backticked names may be unclosed."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """The span of the token in the source."""
        return Span(start=self.start, end=self.end)

    @property
    def name(self) -> str | None:
        """The name that it writes, if it is one."""
        if self.kind == "word":
            return self.text
        if self.kind == "quoted" and len(self.text) > 2 and self.text.endswith("`"):
            return self.text[1:-1].replace("``", "`")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A rule, group or `let`; `node` is None if the statement cannot be parsed."""

    kind: NameKind
    name: str
    span: Span
    whole: Span
    node: ast.Rule | ast.Group | ast.Let | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A name, where it is used. `kind` is `term` for functions and bare terms."""

    kind: Literal["group", "let", "term", "column"]
    name: str
    span: Span


class Outline:
    """What a text says as far as it can be read. All spans are offsets of characters."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the source; text that is no token is left out."""
        found: list[Token] = []
        for match in _TOKEN.finditer(self.source.text):
            kind: Any = match.lastgroup
            found.append(Token(kind=kind, text=match[0], start=match.start()))
        return tuple(found)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def parsed(self) -> ast.Spec | tuple[Diagnostic, ...]:
        """The whole spec, or what is wrong with its syntax."""
        from odtdsl.language.parser import parse

        try:
            return parse(self.source)
        except OdtError as failure:
            return failure.diagnostics

    @cached_property
    def readable(self) -> tuple[tuple[ast.Statement, ...], tuple[Span, ...]]:
        """The statements that can be read, and the pieces that cannot."""
        if isinstance(self.parsed, ast.Spec):
            return self.parsed.statements, ()
        from odtdsl.language.recovery import readable

        return readable(self.source)

    def statement(self, kind: type[ast.Statement]) -> Any:
        """The first statement of a kind, or None."""
        return next((one for one in self.readable[0] if isinstance(one, kind)), None)

    def token_at(self, offset: int) -> Token | None:
        """The token that contains the cursor, or ends at it."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset > self.tokens[index].end:
            return None
        token = self.tokens[index]
        if token.start == offset and token.kind == "sign" and index:
            previous = self.tokens[index - 1]
            return previous if previous.end == offset else token
        return token

    # ---- names

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """All rules, groups and `let` names that are defined, in the order of the text."""
        statements, broken = self.readable
        found = [*self._defined(statements), *self._half_defined(broken)]
        return tuple(sorted(found, key=lambda one: one.span.start))

    def _defined(self, statements: tuple[ast.Statement, ...]) -> Iterator[Definition]:
        kinds: tuple[tuple[NameKind, type[Any]], ...] = (
            ("rule", ast.Rule),
            ("group", ast.Group),
            ("let", ast.Let),
        )
        for statement in statements:
            for kind, node in kinds:
                if isinstance(statement, node):
                    name = next(self._from(statement.span.start + len(kind)), None)
                    if name is not None:
                        yield Definition(
                            kind=kind,
                            name=statement.name,
                            span=name.span,
                            whole=statement.span,
                            node=statement,
                        )

    def _half_defined(self, broken: tuple[Span, ...]) -> Iterator[Definition]:
        for piece in broken:
            tokens = self._within(piece)
            first = next(tokens, None)
            second = next(tokens, None)
            if first is None or second is None or second.name is None:
                continue
            for kind in ("rule", "group", "let"):
                if first.text == kind:
                    known: NameKind = kind
                    yield Definition(
                        kind=known, name=second.name, span=second.span, whole=piece, node=None
                    )

    def named(self, kind: NameKind) -> tuple[str, ...]:
        """The names of a kind, in order, each once."""
        return tuple(dict.fromkeys(one.name for one in self.definitions if one.kind == kind))

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Where names and terms are used, in order."""
        statements, broken = self.readable
        found: list[Use] = []
        for statement in statements:
            for expr, is_group in _expressions(statement):
                found.extend(self._used(expr, is_group))
        for piece in broken:
            found.extend(self._half_used(piece))
        return tuple(sorted(found, key=lambda one: one.span.start))

    def _used(self, expr: Any, group_place: bool) -> Iterator[Use]:
        """The names in an expression; `group_place`: whether a group's name may occur here."""
        match expr:
            case ast.Name():
                token = next(self._from(expr.span.start, skipping="("), None)
                if token is not None and token.name == expr.name:
                    yield Use(kind=self._kind(expr, group_place), name=expr.name, span=token.span)
            case ast.Call():
                token = next(self._from(expr.span.start, skipping="("), None)
                if token is not None and token.text == expr.function:
                    yield Use(kind="term", name=expr.function, span=token.span)
                for index, arg in enumerate(expr.args):
                    yield from self._used(arg, takes_group(expr.function, index))
            case ast.Node():
                for field in fields(expr):
                    yield from self._used(getattr(expr, field.name), False)
            case tuple():
                for item in expr:
                    yield from self._used(item, group_place)

    def _kind(self, name: ast.Name, group_place: bool) -> Literal["group", "let", "term", "column"]:
        if group_place and name.name in self.named("group"):
            return "group"
        if name.quoted:
            return "column"
        if name.name in self.named("let"):
            return "let"
        return "term" if name.name in BY_NAME else "column"

    def _half_used(self, piece: Span) -> Iterator[Use]:
        defined = {one.span.start for one in self.definitions}
        before = ""
        for token in self._within(piece):
            name = token.name
            if name is not None and token.start not in defined:
                if name in self.named("group") and before in ("(", ","):
                    yield Use(kind="group", name=name, span=token.span)
                elif token.kind == "word" and name in self.named("let"):
                    yield Use(kind="let", name=name, span=token.span)
            before = token.text

    def _from(self, offset: int, skipping: str = "") -> Iterator[Token]:
        """The tokens from an offset on, without comments."""
        index = bisect_right(self._starts, offset - 1)
        for token in self.tokens[index:]:
            if token.kind != "comment" and token.text not in skipping.split():
                yield token

    def _within(self, piece: Span) -> Iterator[Token]:
        for token in self._from(piece.start):
            if token.start >= piece.end:
                return
            yield token


def takes_group(function: str, index: int) -> bool:
    """Whether an argument of a term can be a group."""
    term = BY_NAME.get(function)
    for signature in () if term is None else term.signatures:
        params = signature.params
        at = min(index, len(params) - 1) if signature.repeat else index
        if at < len(params) and params[at] in (Param.GROUP, Param.BY):
            return True
    return False


def _expressions(statement: ast.Statement) -> Iterator[tuple[Any, bool]]:
    """The expressions of a statement, in which names mean terms, columns, groups and `let`s."""
    match statement:
        case ast.Rule() | ast.Group():
            yield statement.condition, False
        case ast.Let():
            yield statement.value, False
        case ast.Objective():
            for stage in statement.stages:
                yield stage.measure, False
        case _:
            return
