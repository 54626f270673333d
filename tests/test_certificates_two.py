"""What the checker's fast judgement of trees of depth two leaves out costs no true tree."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from test_certificates import checked, pieces

import odtdsl
from odtdsl.insight.proofs.certificate import MAGIC


def claimed(path: Path, tree: list[str], value: int) -> CompletedProcess[str]:
    """What the checker says of another tree and value of depth two in place of those of a file."""
    _, text, _ = pieces(path)
    lines = [x for x in text.decode().splitlines() if not x.startswith(("split\t", "leaf\t"))]
    text = "".join(f"{line}\n" for line in (*lines, *tree)).encode()
    steps = [1, 2]
    while value > 127:
        steps.append(value & 127 | 128)
        value >>= 7
    path.write_bytes(MAGIC + f"{len(text)}\n".encode() + text + bytes([*steps, value]))
    return checked(path)


@pytest.mark.parametrize("unit", [1, 20, 1_300_000, 2_000_000])
def test_sums_of_heavy_rows_do_not_overflow(unit: int, tmp_path: Path) -> None:
    """One class on one side of all tests weighs more than half of what 16 or 32 bits hold.

    The tree that loses nothing needs a split of that side by g, which no test before it has
    bounded; on the other sides, rows without weight are all that a first step of g meets.
    """
    rows = [
        *[(0, 1, 0, 425 * unit, "a")] * 2,
        *[(0, 2, 0, 200 * unit, "b")] * 2,
        *[(1, 2, 301 + i, 0, "a") for i in range(24)],
        *[(0, 2, 1 + i, unit, "a") for i in range(300)],
    ]
    frame: dict[str, Any] = dict(zip("hgfwy", map(list, zip(*rows, strict=True)), strict=True))
    spec = (
        "data frame target y: class weight w feature h, g, f: number tree depth <= 2"
        " minimize errors rule r: forall leaf: size >= 2 rule p: forall path: f before g"
    )
    path = tmp_path / "a.cert"
    assert odtdsl.solve(spec, frame=frame, using="exact", proof=path).objective == 0
    told = claimed(path, ["split\t1\t1.0", "leaf\t0", "leaf\t1"], 300 * unit)
    assert "refused at step 1: a tree of depth two loses less than is claimed" in told.stdout
