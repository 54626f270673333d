"""Completions at the cursor: keywords that the grammar allows there, terms, names, values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from odtdsl.base.back_ends import wishes
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.numbers import counted
from odtdsl.base.source import Span
from odtdsl.interfaces.editor.data_facts import ColumnFacts, Facts
from odtdsl.interfaces.editor.keywords import (
    ENCODINGS,
    FUNCTIONS,
    MEANINGS,
    SCOPES,
    SPLITS,
)
from odtdsl.interfaces.editor.outline import Outline, Token
from odtdsl.language import ast
from odtdsl.language.expressions import name_text, quote
from odtdsl.language.failure import Failure, Piece
from odtdsl.language.grammar import keywords
from odtdsl.language.vocabulary import MISSING_POLICIES
from odtdsl.problem.terms.base import Param, Term
from odtdsl.problem.terms.catalogue import sections, usage
from odtdsl.problem.terms.registry import BY_NAME, TERMS

ItemKind = Literal["keyword", "term", "column", "group", "let", "value", "file"]
MOST_FILES = 200
DATA_SUFFIXES = (".csv", ".tsv", ".parquet", ".arff")
COLUMN_PLACES = {"target", "feature", "drop", "weight", "cost", "candidates"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A replacement for `span`; `filter` is what the typed letters are matched with."""

    label: str
    text: str
    kind: ItemKind
    detail: str = ""
    filter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completions:
    """The items, and what they replace."""

    items: tuple[Item, ...]
    span: Span


def complete(outline: Outline, offset: int, facts: Facts | None, base: Path) -> Completions:
    """The completions at an offset.

    Parameters
    ----------
    outline
        The text, half written as it is.
    offset
        Of the cursor.
    facts
        About the data, where they could be read.
    base
        The folder that paths are relative to.
    """
    token = outline.token_at(offset)
    if token is not None and token.kind in ("comment", "number"):
        return Completions(items=(), span=Span(start=offset, end=offset))
    start, end = offset, offset
    if token is not None and token.kind in ("word", "quoted", "text"):
        start = token.start
        end = token.end if token.kind != "word" else offset
        closed = token.kind == "text" and len(token.text) > 1 and token.text.endswith('"')
        if closed and offset == token.end:  # behind a text nothing is to be replaced
            start = end = offset
        end = max(end, offset)
    from odtdsl.language.recovery import before

    state = before(outline.source, start)
    asked = _Asked(outline, state, facts, base)
    inside = token if token is not None and token.start == start < offset else None
    items = asked.values(inside) if inside is not None and inside.kind == "text" else asked.all()
    return Completions(items=_once(items), span=Span(start=start, end=end))


def _once(items: Iterable[Item]) -> tuple[Item, ...]:
    found: dict[tuple[str, str], Item] = {}
    for item in items:
        found.setdefault((item.label, item.kind), item)
    return tuple(found.values())


class _Asked:
    """One question: the tokens before the cursor, and what is known of names and data."""

    def __init__(
        self, outline: Outline, state: Failure | None, facts: Facts | None, base: Path
    ) -> None:
        self.outline, self.state, self.facts, self.base = outline, state, facts, base
        self.pieces: tuple[Piece, ...] = () if state is None else state.statement
        self.keyword = self.pieces[0].kind.lower() if self.pieces else ""
        self.last = self.pieces[-1] if self.pieces else None

    # ---- what is asked for

    def all(self) -> Iterator[Item]:
        if self.state is None:
            yield from self._names()
            return
        if "NAME" in self.state.expected:
            yield from self._names()
        if "STRING" in self.state.expected:
            yield from self.values(None)
        yield from self._keywords(self.state.expected)

    def _keywords(self, expected: frozenset[str]) -> Iterator[Item]:
        for kind, words in keywords().items():
            if kind in expected:
                for word in words.split():
                    yield Item(label=word, text=word, kind="keyword", detail=MEANINGS[word])

    def _names(self) -> Iterator[Item]:
        last = "" if self.last is None else self.last.kind
        if last in ("RULE", "GROUP", "LET"):
            return
        match last:
            case "FORALL":
                yield from (
                    Item(label=word, text=f"{word}:", kind="keyword", detail=text)
                    for word, text in SCOPES.items()
                )
            case "SPLITS":
                yield from self._words(SPLITS)
            case "USING":
                yield from self._words(wishes())
            case "HEADER":
                yield from self._words(("none",))
            case "DATA":
                yield from self._words(("sklearn", "openml", "frame"))
            case "MISSING":
                yield from self._words(MISSING_POLICIES)
            case "ID":
                yield from self._columns()
            case _ if self.keyword == "missing":
                closed = last == "RBRACE"
                yield from self._words(MISSING_POLICIES) if closed else self._columns()
            case _ if self.keyword in COLUMN_PLACES:
                yield from self._columns()
            case _ if self.keyword == "group":
                yield from self._columns()
                yield from self._lets()
                yield Item(label="row", text="row", kind="term", detail="the number of a row")
            case _:
                yield from self._in_expression()

    def _words(self, words: Iterable[str]) -> Iterator[Item]:
        for word in words:
            yield Item(label=word, text=word, kind="keyword")

    # ---- expressions

    def _in_expression(self) -> Iterator[Item]:
        call = self._call()
        if call is not None:
            param = _param(*call)
            if param is not None:
                yield from self._argument(param)
                return
        member = self._member()
        if member is not None:
            if member in ("feature", "root"):
                yield from self._features()
            return
        if self.last is not None and self.last.kind in ("BEFORE", "REQUIRES"):
            yield from self._features()
            return
        yield from self._terms()
        yield from self._lets()

    def _argument(self, param: Param) -> Iterator[Item]:
        match param:
            case Param.FEATURE:
                yield from self._features()
            case Param.TARGET:
                yield from self._columns(only=self._targets())
            case Param.GROUP:
                yield from self._groups()
            case Param.BY:
                yield from self._groups()
                yield from self._columns()
            case Param.MEASURE:
                yield from (
                    _term(term)
                    for term in TERMS
                    if any(Param.GROUP in s.params for s in term.signatures)
                )
            case Param.LABEL | Param.ROW:
                return

    def _terms(self) -> Iterator[Item]:
        scope = self._scope()
        anywhere = self.keyword not in ("rule", "minimize", "maximize")
        for term in TERMS:
            if term.form != "call":
                continue
            if anywhere or scope in term.scopes:
                yield _term(term)
        for name, text in FUNCTIONS.items():
            yield Item(label=name, text=name, kind="term", detail=text)
        if scope == "path":
            yield from self._features()
        elif scope == "leaf":
            yield from self._columns(only=self._targets())

    def _scope(self) -> str:
        for first, second in zip(self.pieces, self.pieces[1:], strict=False):
            if first.kind == "FORALL":
                return second.text
        return "model"

    def _call(self) -> tuple[str, int] | None:
        """The function whose arguments contain the cursor, and the argument's number."""
        level, index = 0, 0
        for at in range(len(self.pieces) - 1, 0, -1):
            kind = self.pieces[at].kind
            if kind in ("RPAR", "RBRACE", "RSQB"):
                level += 1
            elif kind in ("LPAR", "LBRACE", "LSQB"):
                if level == 0:
                    opener = self.pieces[at - 1]
                    called = kind == "LPAR" and opener.kind == "NAME"
                    return (opener.text, index) if called else None
                level -= 1
            elif kind == "COMMA" and level == 0:
                index += 1
        return None

    def _member(self) -> str | None:
        """The word before `in {`, if the cursor is within the braces."""
        for at in range(len(self.pieces) - 1, 1, -1):
            kind = self.pieces[at].kind
            if kind == "LBRACE":
                return self.pieces[at - 2].text if self.pieces[at - 1].kind == "IN" else ""
            if kind not in ("COMMA", "STRING", "NUMBER", "NAME", "QUOTED", "MINUS", "PERCENT"):
                return None
        return None

    # ---- names

    def _columns(self, only: tuple[str, ...] | None = None) -> Iterator[Item]:
        for column in () if self.facts is None else self.facts.columns:
            if only is None or column.name in only:
                try:
                    text = name_text(column.name)
                except OdtError:  # a name with a line break, which no spec can write
                    continue
                yield Item(label=column.name, text=text, kind="column", detail=_detail(column))

    def _features(self) -> Iterator[Item]:
        no_features = set(self._targets())
        for statement in self.outline.readable[0]:
            if isinstance(statement, ast.Drop):
                no_features |= {column.name for column in statement.columns}
        for item in self._columns():
            if item.label not in no_features:
                yield item

    def _groups(self) -> Iterator[Item]:
        for name in self.outline.named("group"):
            yield Item(label=name, text=name_text(name), kind="group", detail="group of rows")

    def _lets(self) -> Iterator[Item]:
        for name in self.outline.named("let"):
            yield Item(label=name, text=name_text(name), kind="let", detail="let")

    def _targets(self) -> tuple[str, ...]:
        target = self.outline.statement(ast.Target)
        return () if target is None else tuple(column.name for column in target.columns)

    # ---- values

    def values(self, token: Token | None) -> Iterator[Item]:
        """Texts that fit here: levels, classes, files, names of data sets."""
        last = "" if self.last is None else self.last.kind
        typed = "" if token is None else token.text[1:].removesuffix('"')
        if last in ("DATA", "TEST", "START"):
            suffixes = (".json",) if last == "START" else DATA_SUFFIXES
            yield from self._files(typed, suffixes)
        elif self.keyword == "data" and last == "NAME" and self.pieces[-1].text == "sklearn":
            from odtdsl.datasets.bundled import BUNDLED

            yield from (_text(name) for name in BUNDLED)
        elif last == "ENCODING":
            yield from (_text(name) for name in ENCODINGS)
        else:
            yield from self._levels(self._valued())

    def _valued(self) -> str | None:
        """The column whose values fit here."""
        targets = self._targets()
        target = targets[0] if len(targets) == 1 else None
        if self.keyword in ("loss",) or (self.last is not None and self.last.kind == "POSITIVE"):
            return target
        call = self._call()
        if call is not None and _param(*call) is Param.LABEL:
            return target
        if self.keyword in ("target", "feature"):
            return next((p.text for p in self.pieces[1:2] if p.kind in ("NAME", "QUOTED")), None)
        member = self._member()
        if member:
            return member
        compared = self.pieces[-2:]
        if len(compared) == 2 and compared[1].kind in ("EQUAL", "COMPARISON"):
            return compared[0].text if compared[0].kind in ("NAME", "QUOTED") else None
        return None

    def _levels(self, written: str | None) -> Iterator[Item]:
        if written is None or self.facts is None:
            return
        name = written[1:-1].replace("``", "`") if written.startswith("`") else written
        column = self.facts.column(name)
        for text, count in () if column is None else column.levels:
            bare = column is not None and column.kind == "number"
            yield _text(text, counted(count, "row"), bare=bare)

    def _files(self, typed: str, suffixes: tuple[str, ...]) -> Iterator[Item]:
        """Files and folders beside the spec, or in the folder that is typed already."""
        folder, _, _ = typed.rpartition("/")
        try:
            entries = sorted((self.base / folder).iterdir() if folder else self.base.iterdir())
            for entry in entries[:MOST_FILES]:
                if entry.name.startswith("."):
                    continue
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir():
                    yield _text(path + "/", "folder", kind="file")
                elif entry.suffix.lower() in suffixes:
                    yield _text(path, "file", kind="file")
        except (OSError, ValueError):
            return


def _param(function: str, index: int) -> Param | None:
    """What a term takes as its argument of a number; the first signature that goes so far."""
    term = BY_NAME.get(function)
    for signature in () if term is None else term.signatures:
        if index < len(signature.params):
            return signature.params[index]
        if signature.repeat:
            return signature.params[-1]
    return None


def _term(term: Term) -> Item:
    meaning = sections(term)["Meaning"].split(". ")[0].rstrip(".")
    return Item(
        label=term.name, text=term.name, kind="term", detail=f"{usage(term)[-1]}: {meaning}"
    )


def _text(value: str, detail: str = "", *, bare: bool = False, kind: ItemKind = "value") -> Item:
    text = value if bare else quote(value)
    return Item(label=value, text=text, kind=kind, detail=detail, filter=text)


def _detail(column: ColumnFacts) -> str:
    if column.kind == "unknown":
        return "column"
    if column.low is not None:
        return f"number, {column.low} to {column.high}"
    shown = ", ".join(text for text, _ in column.levels[:4])
    return f"{counted(column.n_levels, 'value')}: {shown}{', ...' if column.n_levels > 4 else ''}"
