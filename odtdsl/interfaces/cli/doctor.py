"""`odt doctor`: what is installed and works on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from odtdsl.interfaces.cli.commands import Command, Json
from odtdsl.interfaces.cli.common import OK, WRONG, print_json, print_lines


@dataclass(frozen=True, kw_only=True)
class Doctor(Command):
    """Say what is installed and works: engine, back ends, extras, and how to get the rest."""

    as_json: Json = False

    def run(self) -> int:
        """Print what is installed and whether it works; exits with 1 if something does not."""
        from odtdsl.interfaces import health

        found = health.examine()
        if self.as_json:
            print_json(health.to_json(found))
        else:
            print_lines(health.lines(found))
        return OK if health.healthy(found) else WRONG
