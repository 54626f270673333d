"""Who is answered: only those who know the token, on this machine, from the page itself.

The token is the first part of every path, so that neither another page on this machine nor a name
that was pointed at it (DNS rebinding) can make the browser ask with it. There are no cookies. Who
does not know it gets an empty 404, whatever is asked for.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 4_000_000
"""Bytes of a request: a spec has at most a million characters."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of the page: its own files only. Styles stand in pictures, and the editor writes some."""

FILE_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline';"
    " style-src 'unsafe-inline'; img-src data: blob:"
)
"""Of written reports: they run on their own, and reach neither the studio nor the network."""


class Guard:
    """The app behind a token, for one address.

    Parameters
    ----------
    app
        What answers; its paths are those behind the token.
    token
        The first part of every path.
    port
        The port it is served on; the names of this machine are the only hosts.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or not self._known(scope):
            if scope["type"] == "http":
                await _refuse(send, 404)
            return
        rest = scope["path"][len(self.token) + 1 :]
        length = _header(scope["headers"], b"content-length")
        posted = scope["method"] not in ("GET", "HEAD")
        if posted and (not length.isdigit() or int(length) > MAX_BODY):
            await _refuse(send, 413)
            return
        inner = {**scope, "path": rest or "/", "raw_path": rest.encode() or b"/", "root_path": ""}
        await self.app(inner, receive, _with_headers(send))

    def _known(self, scope: Scope) -> bool:
        headers = scope["headers"]
        host, origin = _header(headers, b"host"), _header(headers, b"origin")
        given = scope["path"].split("/")[1]
        return (
            hmac.compare_digest(given.encode(), self.token.encode())
            and host in self.hosts
            and (not origin or origin in {f"http://{one}" for one in self.hosts})
        )


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """A header that is there once; empty where it is missing or there twice."""
    found = [value.decode("latin-1") for key, value in headers if key == name]
    return found[0] if len(found) == 1 else "" if not found else "\0"


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {key.lower() for key, _ in message["headers"]}
            for key, value in (
                (b"content-security-policy", PAGE_POLICY.encode()),
                (b"referrer-policy", b"no-referrer"),
                (b"x-content-type-options", b"nosniff"),
                (b"cache-control", b"no-store"),
                (b"cross-origin-resource-policy", b"same-origin"),
            ):
                if key not in known:
                    message["headers"].append((key, value))
        await send(message)

    return sending


async def _refuse(send: Send, status: int) -> None:
    await send(
        {"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body", "body": b""})


__all__ = ["FILE_POLICY", "MAX_BODY", "PAGE_POLICY", "Guard"]
