"""`odt lsp`: the language server."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.common import OK, run


def lsp(
    within: Annotated[
        float, typer.Option(min=0.1, help="Seconds that checking with data may take.")
    ] = 10.0,
    stdio: Annotated[bool, typer.Option("--stdio", help="As always; editors say it.")] = True,
) -> None:
    """Serve an editor: mistakes as you type, hover, completion, format, rename. Over stdio."""

    def action() -> int:
        if find_spec("pygls") is None:
            raise error(
                "U351",
                "`odt lsp` needs pygls",
                helps=('install it: `pip install "odtdsl[lsp]"`',),
            )
        from odtdsl.interfaces.editor.server import serve

        serve(seconds=within)
        return OK

    run(action, False)
