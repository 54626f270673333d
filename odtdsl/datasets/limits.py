"""Limits on how much data is read: data that would fill the memory is refused beforehand."""

from __future__ import annotations

from odtdsl.base.diagnostics.model import OdtError, error

MAX_BYTES = 4_000_000_000
"""Of a file, also a sparse one; and of the texts of a Parquet file, which may be packed small."""

MAX_CELLS = 400_000_000
"""Of a Parquet file, where a billion equal cells take a few bytes. A solve holds about 25
bytes of each."""


def too_large(name: str, what: str, most: str) -> OdtError:
    """D114."""
    return error(
        "D114",
        f"{name} is too large: it has {what}, and the limit is {most}",
        helps=("write a smaller file with only the rows and columns that the spec needs",),
    )
