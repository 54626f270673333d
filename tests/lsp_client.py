"""A client of `odt lsp`: starts it as an editor does and speaks the protocol over its pipes."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

WAIT = 90.0
"""Seconds to wait for anything: machines of CI may be busy."""


class Client:
    """A session with one server process."""

    def __init__(
        self, folder: Path, *options: str, encodings: tuple[str, ...] = ("utf-16",)
    ) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "odtdsl", "lsp", *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._asked = 0
        self._versions: dict[str, int] = {}
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._told: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self.errors = b""
        threading.Thread(target=self._drain, daemon=True).start()
        offered = {"general": {"positionEncodings": list(encodings)}}
        found = self.request(
            "initialize", {"processId": None, "rootUri": None, "capabilities": offered}
        )
        self.capabilities: dict[str, Any] = found["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.request("shutdown", None)
                self.notify("exit", None)
                assert self.process.wait(timeout=WAIT) == 0
        finally:
            self.process.kill()

    # ---- messages

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        """The result of a request; a refusal raises `Refused`."""
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        asked = self._asked
        reply = self._until(lambda m: m.get("id") == asked and "method" not in m)
        if "error" in reply:
            raise Refused(reply["error"]["message"])
        return reply["result"]

    def reply(self, name: object) -> dict[str, Any]:
        """The answer under an id, whatever it is."""
        return self._until(lambda m: "id" in m and m["id"] == name and "method" not in m)

    @property
    def told(self) -> list[dict[str, Any]]:
        """What came and was not waited for."""
        return self._told

    def _until(self, wanted: Any) -> dict[str, Any]:
        for index, message in enumerate(self._told):
            if wanted(message):
                return self._told.pop(index)
        while True:
            message = self._inbox.get(timeout=WAIT)
            if message is None:
                raise AssertionError(f"the server ended: {self.errors.decode(errors='replace')}")
            if wanted(message):
                return message
            self._told.append(message)

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                self._inbox.put(None)
                return
            self._inbox.put(json.loads(stream.read(length)))

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    # ---- documents

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, text: str, name: str = "spec.odt") -> str:
        uri = self.uri(name)
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": "odt", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, text: str) -> None:
        self._versions[uri] += 1
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": self._versions[uri]},
                "contentChanges": [{"text": text}],
            },
        )

    def diagnostics(self, uri: str, *codes: str) -> list[dict[str, Any]]:
        """What is published of the newest version: the first list with all of the codes."""

        def wanted(message: dict[str, Any]) -> bool:
            if message.get("method") != "textDocument/publishDiagnostics":
                return False
            params = message["params"]
            if params["uri"] != uri or params.get("version") != self._versions[uri]:
                return False
            return set(codes) <= {one["code"] for one in params["diagnostics"]}

        found: list[dict[str, Any]] = self._until(wanted)["params"]["diagnostics"]
        return found

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """A request about a place."""
        place = {"line": line, "character": character}
        params = {"textDocument": {"uri": uri}, "position": place, **more}
        return self.request(f"textDocument/{method}", params)


class Refused(Exception):
    """The server answered a request with an error."""


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """The text after edits, places counted in UTF-16."""
    starts = [0]
    wide = text.encode("utf-16-le")
    for index in range(0, len(wide), 2):
        if wide[index : index + 2] == b"\n\0":
            starts.append(index + 2)

    def offset(place: dict[str, int]) -> int:
        line = place["line"]
        return len(wide) if line >= len(starts) else starts[line] + 2 * place["character"]

    ordered = sorted(edits, key=lambda one: offset(one["range"]["start"]), reverse=True)
    for one in ordered:
        start, end = offset(one["range"]["start"]), offset(one["range"]["end"])
        wide = wide[:start] + one["newText"].encode("utf-16-le") + wide[end:]
    return wide.decode("utf-16-le")
