"""The command line, `odt COMMAND`: the list of all commands.

Exit codes: 0 an answer; 1 spec, data or model wrong (also an audit that fails); 2 usage;
3 infeasible, proven; 4 a limit without an answer; 70 a mistake of odtdsl; 130 interrupted.
"""

from __future__ import annotations

from odtdsl.interfaces.cli.commands import group
from odtdsl.interfaces.cli.common import leave, open_streams, telling

app = group(
    {
        "init": "init",
        "check": "specs",
        "fmt": "specs",
        "plan": "specs",
        "solve": "solve",
        "compare": "compare",
        "explain": "explain",
        "compile": "formulas",
        "decode": "formulas",
        "tune": "tune",
        "report": "report",
        "doctor": "doctor",
        "lsp": "lsp",
        "studio": "studio",
        "export": "export",
        "predict": "predict",
        "evaluate": "models",
        "audit": "models",
        "why": "why",
        "rules": "specs",
    },
    help="Optimal decision trees under domain rules, from a short .odt file.",
)
"""Every command and the module beside this one that has its class, in the order of the help."""


def main() -> None:
    """The whole command line, up to the end of the process."""
    open_streams()
    try:
        with telling():  # of help and versions, which no command prints
            app(prog_name="odt")
    except SystemExit as ended:
        leave(ended)
