"""What runs the exports of a format."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from exported import Model, Row


def always(_: object) -> bool:
    """What most runners say of models and names."""
    return True


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Exports models in a format and says what the files predict.

    Attributes
    ----------
    run
        Given models, the rows of each, and a folder to write to: what each says of its rows, with
        `REFUSED` for a row that it refuses.
    programs, packages
        What must be installed, or its tests are skipped.
    cases
        How many random models it is tried on.
    most_rows
        Of a data set, where it is slow.
    carries
        Whether the format can hold a model; it refuses others.
    reads
        Whether a name can be read back.
    raw
        Whether it reads cells as `predict` does: with blanks around them, and "nan" as missing.
    """

    run: Callable[[list[Model], list[list[Row]], Path], list[list[Any]]]
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    cases: int = 60
    most_rows: int | None = None
    carries: Callable[[Model], bool] = always
    reads: Callable[[str], bool] = always
    raw: bool = False

    def said(self, models: list[Model], rows: list[list[Row]], folder: Path) -> list[list[Any]]:
        """What `run` says; skips the test where something is not installed."""
        for package in self.packages:
            pytest.importorskip(package, reason=f"{package} is not installed: it runs the exports")
        for program in self.programs:
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed: it runs the exports")
        return self.run(models, rows, folder)

    def says(self, model: Model, rows: list[Row], folder: Path) -> list[Any]:
        """As `said`, of one model."""
        return self.said([model], [rows], folder)[0]


def alone(
    run: Callable[[Model, list[Row]], list[Any]],
) -> Callable[[list[Model], list[list[Row]], Path], list[list[Any]]]:
    """A `run` that takes one model after the other, and no file."""

    def runs(models: list[Model], rows: list[list[Row]], _: Path) -> list[list[Any]]:
        return [run(model, some) for model, some in zip(models, rows, strict=True)]

    return runs
