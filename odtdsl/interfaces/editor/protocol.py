"""Between the wire and the handlers: malformed messages are answered, too.

pygls drops a request whose parameters do not have their shape, so a client would wait for ever.
Here such a request becomes one of a method of our own, `REFUSED`, whose handler refuses it; pygls
then answers under the request's own id, as it does for every handler that fails.
"""

from __future__ import annotations

from typing import Any, NoReturn

from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import (
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCRequestMessage

REFUSED = "odtdsl/refused"
"""The method of requests that could not be read; what is wrong is their parameters."""

SHOWN = 3
"""So many mistakes of one message are told."""


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, which refuses what it cannot read."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as an object, of what JSON gave; called for every object inside it, too."""
        try:
            return super().structure_message(data)
        except JsonRpcException as failure:
            name = data.get("id")
            if "method" not in data or not isinstance(name, str | int) or isinstance(name, bool):
                raise  # nobody waits for an answer, or under no id that one can have
            return JsonRPCRequestMessage(
                id=name,
                method=REFUSED,
                jsonrpc="2.0",
                params=_refusal(data["method"], _told(failure.__cause__)),
            )


def _refusal(method: object, wrong: str) -> JsonRpcException:
    if not isinstance(method, str):
        return JsonRpcInvalidRequest(f"this is not a request: {wrong}")
    return JsonRpcInvalidParams(f"the parameters of {method} cannot be read: {wrong}")


def _told(cause: BaseException | None) -> str:
    """What is wrong with a message, in few words."""
    try:
        found = transform_error(cause, path="message")  # type: ignore[arg-type]
    except Exception:  # an error of another kind than cattrs makes: its words are no one's business
        return "it does not have the shape that the protocol requires"
    return "; ".join(found[:SHOWN]) + ("; ..." if len(found) > SHOWN else "")


class Server(LanguageServer):
    """A server that refuses what it cannot read, and writes other failures to the client's log."""

    def __init__(self, name: str, version: str, **options: Any) -> None:
        super().__init__(name, version, protocol_cls=Protocol, **options)

        @self.feature(REFUSED)
        def _refuse(params: Any) -> NoReturn:
            if isinstance(params, JsonRpcException):
                raise params
            raise JsonRpcInvalidParams(f"{REFUSED} is not to be asked")

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A log line: a window that opens would stop who types, and requests have an answer."""
        if source == FeatureRequestError:
            return
        if isinstance(error, JsonRpcException) and error.__cause__ is not None:
            error = JsonRpcInvalidParams(f"a message cannot be read: {_told(error.__cause__)}")
        self.window_log_message(
            types.LogMessageParams(type=types.MessageType.Error, message=str(error))
        )


__all__ = ["REFUSED", "Protocol", "Server"]
