"""`odt lsp`: the language server."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.commands import Command, Option
from odtdsl.interfaces.cli.common import OK


@dataclass(frozen=True, kw_only=True)
class Lsp(Command):
    """Serve an editor: mistakes as you type, hover, completion, format, rename. Over stdio."""

    within: Annotated[
        float, Option(least=0.1, help="Time limit in seconds for checks that read the data.")
    ] = 10.0
    stdio: Annotated[
        bool, Option("--stdio", help="Ignored: the server always uses standard input and output.")
    ] = True

    def run(self) -> int:
        """Serve the Language Server Protocol on standard input and output until the editor ends it.

        Raises U351 if pygls is not installed.
        """
        if find_spec("pygls") is None:
            raise error(
                "U351",
                "`odt lsp` needs pygls",
                helps=('install it: `pip install "odtdsl[lsp]"`',),
            )
        from odtdsl.interfaces.editor.server import serve

        serve(seconds=self.within)
        return OK
