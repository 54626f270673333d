"""`odt doctor`: what is installed and works on this machine."""

from __future__ import annotations

from odtdsl.interfaces.cli.common import OK, WRONG, Json, print_json, print_lines, run


def doctor(as_json: Json = False) -> None:
    """Say what is installed and works: engine, back ends, extras, and how to get the rest."""

    def action() -> int:
        from odtdsl.interfaces import health

        found = health.examine()
        if as_json:
            print_json(health.to_json(found))
        else:
            print_lines(health.lines(found))
        return OK if health.healthy(found) else WRONG

    run(action, as_json)
