"""`odt doctor`: what is installed and works on this machine."""

from __future__ import annotations

from odtdsl.cli_base import OK, WRONG, Json, print_json, print_lines, run


def doctor(as_json: Json = False) -> None:
    """Say what is installed and works: engine, back ends, extras, and how to get the rest."""

    def action() -> int:
        from odtdsl import doctor

        found = doctor.examine()
        if as_json:
            print_json(doctor.to_json(found))
        else:
            print_lines(doctor.lines(found))
        return OK if doctor.healthy(found) else WRONG

    run(action, as_json)
