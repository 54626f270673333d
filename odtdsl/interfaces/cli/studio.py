"""`odt studio`: the workbench, a page on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import click

from odtdsl.base.diagnostics.model import error
from odtdsl.interfaces.cli.commands import Argument, Command, Option
from odtdsl.interfaces.cli.common import OK


@dataclass(frozen=True, kw_only=True)
class Studio(Command):
    """Open a page to write, check and solve specs of a folder. Serves this machine alone."""

    spec: Annotated[
        Path | None, Argument(help="The .odt file, or a folder of them; default: this folder.")
    ] = None
    port: Annotated[int, Option(least=0, most=65535, help="Port; 0 for any that is free.")] = 0
    no_browser: Annotated[
        bool, Option("--no-browser", help="Print the address only; open no browser.")
    ] = False

    def run(self) -> int:
        """Serve the page on 127.0.0.1 until Ctrl-C.

        Raises U351 if its packages are not installed, U380 if the spec is no file or folder, U383
        if the port is taken.
        """
        if find_spec("starlette") is None or find_spec("uvicorn") is None:
            raise error(
                "U351",
                "`odt studio` needs starlette and uvicorn",
                helps=('install them: `pip install "odtdsl[studio]"`',),
            )
        from odtdsl.interfaces.studio.app import serve

        path = self.spec or Path()
        root, name = (path, "") if path.is_dir() else (path.parent, path.name)
        if name and (path.suffix != ".odt" or not path.is_file()):
            raise error(
                "U380",
                f"{path} is neither a spec nor a folder",
                helps=("begin one with `odt init data.csv`",),
            )
        serve(root, spec=name, port=self.port, browse=not self.no_browser, say=click.echo)
        return OK


__all__ = ["Studio"]
