"""The web application: its pages, what it answers, and how it is served."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.interfaces.studio.guard import FILE_POLICY, MAX_BODY, Guard
from odtdsl.interfaces.studio.requests import EXPORTS, Studio, read_body

STATIC = Path(__file__).parent / "static"


def app(studio: Studio) -> Starlette:
    """What answers behind the guard."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await studio.close()

    async def stop(_asked: dict[str, Any]) -> dict[str, Any]:
        return studio.stopped()

    def file(request: Request) -> Response:
        try:
            suffixes = (".html", ".json", *(Path(one).suffix for one in EXPORTS.values()))
            path = studio.folder.file(request.path_params["name"], *suffixes)
        except OdtError:
            return Response(status_code=404)
        if not path.is_file():
            return Response(status_code=404)
        page = path.suffix == ".html"
        kind = "text/html; charset=utf-8" if page else "text/plain; charset=utf-8"
        headers = {"content-security-policy": FILE_POLICY}
        return FileResponse(path, media_type=kind, headers=headers)

    routes = [
        Route("/", lambda _request: FileResponse(STATIC / "index.html")),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/files/{name}", file),
        _post("/open", _now(studio.opened)),
        _post("/save", _now(studio.saved)),
        _post("/check", studio.checked),
        _post("/fixes", studio.fixes),
        _post("/complete", _now(studio.completions)),
        _post("/hover", _now(studio.hovered)),
        _post("/switch", _now(studio.switched)),
        _post("/bound", _now(studio.bounded)),
        _post("/begin", studio.begun),
        _post("/start", studio.started),
        _post("/stop", stop),
        _post("/state", _now(studio.state)),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def _now(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Answer:
    async def answering(asked: dict[str, Any]) -> dict[str, Any]:
        return answer(asked)

    return answering


def _post(path: str, answer: Answer) -> Route:
    async def handler(request: Request) -> Response:
        try:
            body = await request.body()
            if len(body) > MAX_BODY:
                return Response(status_code=413)
            return JSONResponse(await answer(read_body(body)))
        except OdtError as failure:
            told = [
                {"code": one.code, "message": one.message, "helps": list(one.helps)}
                for one in failure.diagnostics
            ]
            return JSONResponse({"refused": told}, status_code=400)
        except OSError as failure:
            message = f"reading or writing failed: {failure.strerror}"
            told = [{"code": "F302", "message": message, "helps": []}]
            return JSONResponse({"refused": told}, status_code=400)

    return Route(path, handler, methods=["POST"])


def serve(root: Path, *, spec: str, port: int, browse: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, on this machine alone.

    Parameters
    ----------
    root
        The folder to work in.
    spec
        The name of the spec to show first; may be empty.
    port
        0 for any that is free.
    browse
        Open a browser.
    say
        Prints the address, which holds the token.

    Raises
    ------
    OdtError
        U383: the port is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen()  # whoever reads the address may ask at once, and waits a moment
    except OSError as failure:
        listening.close()
        raise error("U383", f"port {port} cannot be used: {failure.strerror}") from None
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    guarded = Guard(app(Studio(root)), token, port)
    from urllib.parse import quote

    address = f"http://127.0.0.1:{port}/{token}/" + (f"#{quote(spec)}" if spec else "")
    say(address)
    if browse:
        webbrowser.open(address)
    # No access log: the paths hold the token. Nothing is told of who serves.
    config = uvicorn.Config(
        guarded, log_level="warning", access_log=False, server_header=False, ws="none"
    )
    uvicorn.Server(config).run(sockets=[listening])


__all__ = ["app", "serve"]
