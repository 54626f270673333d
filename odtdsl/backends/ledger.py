"""Where a search that certifies what it proves leaves its certificates."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Ledger:
    """Certificates, a depth each, in the order of the search.

    Attributes
    ----------
    parts
        The bytes of each, as `docs/reference/proof.md` has them: depth, bound and steps.
    """

    parts: list[bytes] = field(default_factory=list)
