"""Files of the programs of bare cores, which have no spec to tell of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from odtdsl.backends.milp.formulation import PATTERN, Formulation
from odtdsl.backends.milp.writer import hand_over
from odtdsl.backends.programs import Handover
from odtdsl.base.files import write_text
from odtdsl.driver.formulas.program_text import text_of
from odtdsl.problem.ir.forms import Core


class Silent:
    """A legend without words."""

    def __init__(self, handed: Handover) -> None:
        self.handed = handed

    def head(self) -> Iterator[str]:
        yield from self.handed.what
        part = self.handed.parts[0]
        value = f"({part.constant} + {part.grid} * objective of this file)"
        yield f"objective of the spec = {value} / {part.scale}"

    def row(self, name: str) -> str:
        return ""

    def rule(self, rule: str) -> str:
        return rule


def write(
    core: Core, path: Path, to: Literal["lp", "mps"], formulation: Formulation = PATTERN
) -> tuple[tuple[str, int], ...]:
    handed = hand_over(core, formulation)
    write_text(path, text_of(Silent(handed), to))  # type: ignore[arg-type]
    return handed.size()
