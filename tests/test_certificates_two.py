"""What the checker's fast judgement of trees of depth two leaves out costs no true tree."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from scale import scaled
from test_certificates import checked, forged, pieces, refused

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


def entangled(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """Classes that two tests together tell, and one does not; up to four steps of rows."""
    n, p = int(rng.integers(8, 90)), int(rng.integers(2, 5))
    x = rng.integers(0, rng.choice([2, 3, 12, 90], p), (n, p))
    sides = x > [rng.integers(column.max() + 1) for column in x.T]
    kinds = int(rng.integers(2, 5))
    y = (sides[:, 0] ^ sides[:, 1]) + (kinds - 2) * sides[:, -1]
    y = np.where(rng.random(n) < rng.choice([0, 0.1, 0.3, 1]), rng.integers(0, kinds, n), y)
    y[:2] = 0, 1
    frame: dict[str, Any] = {f"x{i}": x[:, i].tolist() for i in range(p)}
    frame |= {"y": [f"c{k}" for k in y], "w": rng.integers(1, 4, n).tolist()}
    lines = [
        f"data frame target y: class feature {', '.join(f'x{i}' for i in range(p))}: number",
        rng.choice(["weight w", "drop w"]),
        f"tree depth <= {rng.choice([2, 2, 3])}",
        f"minimize errors {rng.choice(['', '+ 2 * leaves', 'then leaves'])}",
        rng.choice(["", "rule few: leaves <= 3"]),
        rng.choice(["", f"rule big: forall leaf: size >= {rng.integers(2, 12)}"]),
    ]
    return "\n".join(lines), frame


@pytest.mark.parametrize("seed", range(scaled(400, least=100)))
def test_no_tree_of_depth_two_is_left_out(seed: int, tmp_path: Path) -> None:
    """Value by value: what the best tree reaches is certified, and one more is refused."""
    spec, frame = entangled(np.random.default_rng(seed))
    path = tmp_path / "a.cert"
    assert odtdsl.solve(spec, frame=frame, using="exact", proof=path).status == "optimal"
    told = checked(path)
    assert told.stdout.endswith("certified: the tree is optimal\n"), told.stdout
    forged(path)


AFTER = "rule p: forall path: f before g rule q: forall path: f before h"


def columns(names: str, rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


LEFT_OUT = {
    # Under a least size the best place may be within rows of one class, here on both sides.
    "runs": (
        "feature g: number rule r: forall leaf: size >= 4",
        columns("gy", list(enumerate("bbb" + "a" * 8 + "b" * 8 + "aaa"))),
        2,
    ),
    # What two leaves that are too small gain on the left of f, by h, is no reason to skip g.
    "small leaves": (
        f"weight w feature h, g, f: number rule r: forall leaf: size >= 4 {AFTER}",
        columns(
            "hgfwy",
            [(0, 0, 0, 1, "a")] * 24
            + [(0, 0, 1, 0, "a")] * 36
            + [(0, 1, 1, 0, "a")] * 12
            + [(1, 1, 0, 2, "b")] * 3
            + [(0, 1, 0, 1, "a")]
            + [(0, 1, 1, 1, "a")] * 12,
        ),
        1,
    ),
    # After h, g gains just one more on the left of f: in the third step of rows, and nowhere else.
    "one more": (
        f"weight w feature h, g, f: number {AFTER}",
        columns(
            "hgfwy",
            [(0, 0, 0, 1, "a")] * 24
            + [(0, 0, 1, 0, "a")] * 36
            + [(0, 1, 1, 0, "a")] * 12
            + [(0, 1, 0, 1, "b")]
            + [(1, 1, 0, 1, "b")] * 9
            + [(0, 1, 1, 1, "a")] * 12,
        ),
        0,
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_skipped_holds_no_better_split(name: str, tmp_path: Path) -> None:
    features, frame, value = LEFT_OUT[name]
    path = tmp_path / "a.cert"
    spec = f"data frame target y: class {features} tree depth <= 2 minimize errors"
    assert odtdsl.solve(spec, frame=frame, using="exact", proof=path).objective == value
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")
    forged(path)


def test_rows_on_the_other_side_hide_no_test(tmp_path: Path) -> None:
    """On the left of f, a test of g parts two rows between which only one of the right stood."""
    rows = [(1, 0, "a"), (2, 1, "a"), (2, 0, "b"), (3, 1, "a")]
    spec = "data frame target y: class feature g, f: number tree depth <= 3 minimize errors"
    spec += " rule p: forall path: f before g"
    path = tmp_path / "a.cert"
    result = odtdsl.solve(spec, frame=columns("gfy", rows), using="exact", proof=path)
    assert result.objective == 0
    head, text, _ = pieces(path)
    # One claim, of depth 3 and value 1, by SPLIT: g <= 1 loses 1 on the right, g <= 2 on the left;
    # that f loses 1 on the left is false.
    steps = [1, 3, 1, 1, 0, *(2, 0, 2, 1, 0, 1, 1), *(1, 0, 1, 1)]
    path.write_bytes(head + text + bytes(steps))
    assert "refused at step 4: a single split" in refused(path).stdout
