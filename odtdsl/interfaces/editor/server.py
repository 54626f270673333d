"""The language server: `odt lsp` speaks the protocol over standard input and output.

What needs only the text (syntax, hover, names, format) is answered at once. What needs data is
checked by a process of its own (`supervisor`), so that typing never waits for a file.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from odtdsl.base.diagnostics.model import Diagnostic, OdtError
from odtdsl.base.source import Source, Span
from odtdsl.base.version import VERSION
from odtdsl.interfaces.editor import data_facts as facts_module
from odtdsl.interfaces.editor import hover, positions
from odtdsl.interfaces.editor.checking import unread
from odtdsl.interfaces.editor.completion import complete
from odtdsl.interfaces.editor.data_facts import Facts
from odtdsl.interfaces.editor.outline import Definition, Outline
from odtdsl.interfaces.editor.protocol import Server
from odtdsl.interfaces.editor.signature import called
from odtdsl.interfaces.editor.supervisor import Checker
from odtdsl.interfaces.editor.worker import unpack
from odtdsl.language import ast
from odtdsl.language.files import MAX_BYTES

MAX_TEXT = MAX_BYTES
"""Characters of a text that is looked at: what `odt check` reads."""

_ITEM_KINDS = {
    "keyword": types.CompletionItemKind.Keyword,
    "term": types.CompletionItemKind.Function,
    "column": types.CompletionItemKind.Field,
    "group": types.CompletionItemKind.Class,
    "let": types.CompletionItemKind.Variable,
    "value": types.CompletionItemKind.Value,
    "file": types.CompletionItemKind.File,
}
_SYMBOL_KINDS = {
    "rule": types.SymbolKind.Function,
    "group": types.SymbolKind.Class,
    "let": types.SymbolKind.Variable,
}
_ORDER = ["value", "column", "group", "let", "file", "keyword", "term"]


@dataclass(slots=True, kw_only=True)
class Document:
    """An open text, and what is known about it.

    `changed` says that it changed since its last check began; `slow` is the data statement that
    was given up because its rows took too long.
    """

    uri: str
    version: int | None
    outline: Outline
    facts: Facts | None = None
    changed: bool = True
    slow: ast.Data | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def path(self) -> Path:
        """The file of the document."""
        return Path(to_fs_path(self.uri) or "untitled.odt")


class Editor:
    """The state of a session, and the answers to its requests."""

    def __init__(self, server: LanguageServer, *, seconds: float, pause: float) -> None:
        self.server, self.pause, self.seconds = server, pause, seconds
        self.documents: dict[str, Document] = {}
        self._checker: Checker | None = None

    @property
    def encoding(self) -> positions.Encoding:
        """The position encoding agreed with the client."""
        chosen: Any = self.server.server_capabilities.position_encoding
        return getattr(chosen, "value", chosen) or "utf-16"

    # ---- texts

    def opened(self, uri: str, version: int | None, text: str) -> None:
        """A text was opened or changed: look at it after a pause in typing."""
        source = Source(name=Path(to_fs_path(uri) or uri).name, text=text)
        known = self.documents.get(uri)
        if known is None:
            known = self.documents[uri] = Document(
                uri=uri, version=version, outline=Outline(source)
            )
        known.version, known.outline, known.changed = version, Outline(source), True
        self._schedule(known)

    def again(self, uri: str | None = None) -> None:
        """Check anew, since files changed."""
        for document in list(self.documents.values()):
            if uri is None or document.uri == uri:
                document.slow, document.changed = None, True
                self._schedule(document)

    def closed(self, uri: str) -> None:
        """Forgets a document and its check."""
        document = self.documents.pop(uri, None)
        if document is not None:
            if document.task is not None:
                document.task.cancel()
            self._publish(document, ())

    def _schedule(self, document: Document) -> None:
        if document.task is None or document.task.done():
            document.task = asyncio.get_running_loop().create_task(self._watch(document))

    async def _watch(self, document: Document) -> None:
        """Check until no newer text waits."""
        while document.changed:
            document.changed = False
            await asyncio.sleep(self.pause)
            if not document.changed:
                await self._check(document)

    async def _check(self, document: Document) -> None:
        outline = document.outline
        if len(outline.source.text) > MAX_TEXT:
            self._publish(document, (_too_long(outline.source),))
            return
        if not isinstance(outline.parsed, ast.Spec):
            self._publish(document, outline.parsed)
        data = outline.statement(ast.Data)
        if data is not None and data == document.slow:
            answer: dict[str, Any] = {"slow": True}
        else:
            answer = await self._checked(document)
        if outline is not document.outline:
            return  # the text has changed: its own check is to come
        document.slow = data if "slow" in answer else None
        self._publish(document, self._found(document, answer))

    async def _checked(
        self, document: Document, touching: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        if self._checker is None:
            self._checker = Checker(self.seconds)
        path, text = document.path, document.outline.source.text
        return await self._checker.check(
            path.name, text, str(path.parent.absolute()), touching=touching
        )

    def _found(self, document: Document, answer: dict[str, Any]) -> tuple[Diagnostic, ...]:
        outline = document.outline
        if answer.get("facts") is not None:
            document.facts = facts_module.from_json(answer["facts"])
        syntax = () if isinstance(outline.parsed, ast.Spec) else outline.parsed
        if "failed" in answer:
            self.server.window_log_message(
                types.LogMessageParams(type=types.MessageType.Error, message=answer["failed"])
            )
            return syntax
        if "slow" in answer:
            return (*syntax, unread(outline, f"that takes more than {self.seconds:g} s"))
        found = tuple(unpack(one, outline.source) for one in answer["diagnostics"])
        reason = answer.get("unread")
        return found if reason is None else (*found, unread(outline, reason))

    # ---- messages

    def _publish(self, document: Document, diagnostics: tuple[Diagnostic, ...]) -> None:
        source = document.outline.source
        self.server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=document.uri,
                version=document.version,
                diagnostics=[self._shown(document.uri, source, one) for one in diagnostics],
            )
        )

    def _shown(self, uri: str, source: Source, one: Diagnostic) -> types.Diagnostic:
        labels = [label for label in one.labels if label.span.start >= 0]
        span = labels[0].span if labels else Span(start=0, end=0)
        rows = [one.message + (f" ({labels[0].text})" if labels and labels[0].text else "")]
        rows += [f"note: {text}" for text in one.notes] + [f"help: {text}" for text in one.helps]
        severity = types.DiagnosticSeverity.Error
        if one.severity == "warning":
            severity = types.DiagnosticSeverity.Warning
        if one.code == "D115":
            severity = types.DiagnosticSeverity.Information
        return types.Diagnostic(
            range=self.range(source, span),
            severity=severity,
            code=one.code,
            source="odt",
            message=_sendable("\n".join(rows)),
            related_information=[
                types.DiagnosticRelatedInformation(
                    location=types.Location(uri=uri, range=self.range(source, label.span)),
                    message=_sendable(label.text or "see here"),
                )
                for label in labels[1:]
            ],
        )

    # ---- places

    def range(self, source: Source, span: Span) -> types.Range:
        """A span of a source as a range of the protocol."""
        span = positions.clipped(source, span)
        start = positions.place(source, span.start, self.encoding)
        end = positions.place(source, span.end, self.encoding)
        return types.Range(start=types.Position(*start), end=types.Position(*end))

    def at(self, uri: str, position: types.Position) -> tuple[Document, int] | None:
        """The document and the offset of a position; `None` if there is nothing to read."""
        document = self.documents.get(uri)
        if document is None or len(document.outline.source.text) > MAX_TEXT:
            return None
        where = (position.line, position.character)
        return document, positions.offset(document.outline.source, where, self.encoding)

    # ---- requests

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The hover at a position."""
        found = self.at(params.text_document.uri, params.position)
        told = None if found is None else hover.hover(found[0].outline, found[1], found[0].facts)
        if found is None or told is None:
            return None
        content = types.MarkupContent(kind=types.MarkupKind.Markdown, value=_sendable(told[0]))
        return types.Hover(contents=content, range=self.range(found[0].outline.source, told[1]))

    def completion(self, params: types.CompletionParams) -> types.CompletionList:
        """The completions at a position."""
        found = self.at(params.text_document.uri, params.position)
        if found is None:
            return types.CompletionList(is_incomplete=False, items=[])
        document, offset = found
        offered = complete(document.outline, offset, document.facts, document.path.parent)
        whole = self.range(document.outline.source, offered.span)
        items = [
            types.CompletionItem(
                label=_sendable(item.label),
                kind=_ITEM_KINDS[item.kind],
                detail=_sendable(item.detail) or None,
                sort_text=f"{_ORDER.index(item.kind)}{number:05}",
                filter_text=_sendable(item.filter or item.text),
                text_edit=types.TextEdit(range=whole, new_text=_sendable(item.text)),
            )
            for number, item in enumerate(offered.items)
        ]
        return types.CompletionList(is_incomplete=False, items=items)

    def formatting(self, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        """The edits that bring the text into its canonical form."""
        from odtdsl.language.printer import to_text

        document = self.documents.get(params.text_document.uri)
        if document is None or len(document.outline.source.text) > MAX_TEXT:
            return None
        source, spec = document.outline.source, document.outline.parsed
        if not isinstance(spec, ast.Spec):
            return None  # what is wrong is shown already
        try:
            text = to_text(spec, source=source)
        except OdtError:
            return None
        if text == source.text:
            return []
        whole = self.range(source, Span(start=0, end=len(source.text)))
        return [types.TextEdit(range=whole, new_text=_sendable(text))]

    def _defined(self, uri: str, position: types.Position) -> tuple[Document, Definition] | None:
        found = self.at(uri, position)
        named = None if found is None else hover.definition(*_first_two(found))
        return None if found is None or named is None else (found[0], named)

    def prepare(self, params: types.PrepareRenameParams) -> types.Range | None:
        """The range of the name to rename, `None` if it cannot be renamed."""
        found = self.at(params.text_document.uri, params.position)
        if found is None or hover.definition(*_first_two(found)) is None:
            return None
        token = found[0].outline.token_at(found[1])
        return None if token is None else self.range(found[0].outline.source, token.span)

    def rename(self, params: types.RenameParams) -> types.WorkspaceEdit | None:
        """The edits that rename a rule, group or `let` name; refuses a taken name."""
        found = self._defined(params.text_document.uri, params.position)
        if found is None:
            return None
        document, named = found
        try:
            edits = hover.rename(document.outline, named, params.new_name, document.facts)
        except OdtError as failure:
            raise JsonRpcInvalidParams(failure.diagnostics[0].message) from None
        source = document.outline.source
        made = [types.TextEdit(range=self.range(source, s), new_text=text) for s, text in edits]
        return types.WorkspaceEdit(changes={document.uri: made})

    def definition(self, params: types.DefinitionParams) -> types.Location | None:
        """The place where the name at a position is defined."""
        found = self._defined(params.text_document.uri, params.position)
        if found is None:
            return None
        document, named = found
        return types.Location(
            uri=document.uri, range=self.range(document.outline.source, named.span)
        )

    def references(self, params: types.ReferenceParams) -> list[types.Location] | None:
        """All places that use the name at a position."""
        found = self._defined(params.text_document.uri, params.position)
        if found is None:
            return None
        document, named = found
        spans = hover.occurrences(document.outline, named)
        if not params.context.include_declaration:
            spans = [span for span in spans if span != named.span]
        source = document.outline.source
        return [types.Location(uri=document.uri, range=self.range(source, span)) for span in spans]

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """The quick fixes of the mistakes in a range, each tried by a check of its text."""
        first = self.at(params.text_document.uri, params.range.start)
        last = self.at(params.text_document.uri, params.range.end)
        if first is None or last is None:
            return []
        document, start = first
        outline = document.outline
        if outline.statement(ast.Data) == document.slow and document.slow is not None:
            return []
        answer = await self._checked(document, touching=(start, last[1]))
        if outline is not document.outline:
            return []  # the text has changed: the places are of another
        return [
            self._action(document, unpack(packed, outline.source), title, (start, end), text)
            for packed, title, start, end, text in answer.get("fixes", ())
        ]

    def _action(
        self, document: Document, one: Diagnostic, title: str, place: tuple[int, int], text: str
    ) -> types.CodeAction:
        source = document.outline.source
        span = Span(start=place[0], end=place[1])
        edit = types.TextEdit(range=self.range(source, span), new_text=_sendable(text))
        return types.CodeAction(
            title=_sendable(title),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self._shown(document.uri, source, one)],
            edit=types.WorkspaceEdit(changes={document.uri: [edit]}),
        )

    def signature(self, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        """How the term around a position is written, and which argument stands there."""
        found = self.at(params.text_document.uri, params.position)
        call = None if found is None else called(*_first_two(found))
        if call is None:
            return None
        meaning = types.MarkupContent(kind=types.MarkupKind.Markdown, value=call.meaning)
        return types.SignatureHelp(
            signatures=[
                types.SignatureInformation(
                    label=form.label,
                    documentation=meaning,
                    parameters=[types.ParameterInformation(label=name) for name in form.params],
                )
                for form in call.forms
            ],
            active_signature=call.chosen,
            active_parameter=call.argument,
        )

    def symbols(self, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        """The outline of the document."""
        document = self.documents.get(params.text_document.uri)
        if document is None or len(document.outline.source.text) > MAX_TEXT:
            return []
        source = document.outline.source
        return [
            types.DocumentSymbol(
                name=_sendable(one.name),
                detail=one.kind,
                kind=_SYMBOL_KINDS[one.kind],
                range=self.range(source, one.whole),
                selection_range=self.range(source, one.span),
            )
            for one in document.outline.definitions
        ]

    def stop(self) -> None:
        """Stops the process that checks specs."""
        if self._checker is not None:
            self._checker.stop()


def _first_two(found: tuple[Document, int]) -> tuple[Outline, int]:
    return found[0].outline, found[1]


def _sendable(text: str) -> str:
    """Without half surrogate pairs, which UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _too_long(source: Source) -> Diagnostic:
    return Diagnostic(
        code="F003",
        source=source,
        message=f"the text is larger than {MAX_TEXT // 1000} kB, the most that a spec may have",
        helps=("data belong into a file of their own, named by the `data` statement",),
    )


def make(*, seconds: float = 10.0, pause: float = 0.25) -> tuple[LanguageServer, Editor]:
    """A server with its handlers.

    Parameters
    ----------
    seconds
        The longest that checking with data may take.
    pause
        How long nothing must be typed before a text is checked, in seconds.
    """
    server = Server("odtdsl", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    editor = Editor(server, seconds=seconds, pause=pause)
    _texts(server, editor)
    _requests(server, editor)
    return server, editor


def _texts(server: LanguageServer, editor: Editor) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def _open(params: types.DidOpenTextDocumentParams) -> None:
        text = params.text_document
        editor.opened(text.uri, text.version, text.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def _change(params: types.DidChangeTextDocumentParams) -> None:
        # The whole text comes each time, so that no two countings of lines can disagree.
        if params.content_changes:
            of = params.text_document
            editor.opened(of.uri, of.version, params.content_changes[-1].text)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def _save(params: types.DidSaveTextDocumentParams) -> None:
        editor.again(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def _close(params: types.DidCloseTextDocumentParams) -> None:
        editor.closed(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def _files(_params: types.DidChangeWatchedFilesParams) -> None:
        editor.again()

    @server.feature(types.SHUTDOWN)
    async def _shutdown(_params: None) -> None:
        editor.stop()


def _requests(server: LanguageServer, editor: Editor) -> None:
    """Every request that is answered from the text and what is known of the data."""

    def answer(kind: str, method: Callable[[Any], Any], options: Any = None) -> None:
        def handler(params: Any) -> Any:  # pygls marks what it is given, which no method lets it
            return method(params)

        server.feature(kind, options)(handler)

    answer(types.TEXT_DOCUMENT_HOVER, editor.hover)
    triggers = types.CompletionOptions(trigger_characters=['"', "`", "{", "(", ",", "="])
    answer(types.TEXT_DOCUMENT_COMPLETION, editor.completion, triggers)
    answer(types.TEXT_DOCUMENT_FORMATTING, editor.formatting)
    answer(types.TEXT_DOCUMENT_RENAME, editor.rename, types.RenameOptions(prepare_provider=True))
    answer(types.TEXT_DOCUMENT_PREPARE_RENAME, editor.prepare)
    answer(types.TEXT_DOCUMENT_DEFINITION, editor.definition)
    answer(types.TEXT_DOCUMENT_REFERENCES, editor.references)
    answer(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, editor.symbols)
    opening = types.SignatureHelpOptions(trigger_characters=["(", ","])
    answer(types.TEXT_DOCUMENT_SIGNATURE_HELP, editor.signature, opening)

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def _actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await editor.actions(params)


def serve(*, seconds: float = 10.0) -> None:
    """Serve until the client leaves."""
    server, editor = make(seconds=seconds)
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints would break the protocol
    try:
        server.start_io(sys.stdin.buffer, outgoing)
    finally:
        editor.stop()
