"""Certificates expanded to pseudo-Boolean proofs, which a checker of cutting planes accepts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from pseudo_boolean import Expansion, Steps, Tiny, Wrong, check, parsed, satisfied
from scale import scaled
from test_certificate_rules import numbers
from test_certificates import checked, pieces

import odtdsl
from odtdsl.predictors.nodes import Leaf, Threshold, TreeNode


def tiny_of(rng: np.random.Generator) -> tuple[str, dict[str, Any], Tiny]:
    """A spec of a few rows, their frame, and the same as ranks; some with four levels of bits."""
    n, p = int(rng.integers(4, 11)), int(rng.integers(1, 4))
    if deep := rng.random() < 0.2:
        n, p = int(rng.integers(24, 31)), 5
    many = not deep and rng.random() < 0.4  # classes
    if many:
        n, p = int(rng.integers(10, 15)), 2
    x = rng.integers(0, 7 if many else 2 if p >= 3 else 4, (n, p))
    y = x.sum(axis=1) % 2 if deep else rng.integers(0, 2, n)  # parity needs five levels
    if many:
        y = rng.integers(0, 7, n)
    y[:2] = 0, 1
    y = np.unique(y, return_inverse=True)[1]
    w = rng.integers(1, 4, n) if not many and rng.random() < 0.5 else np.ones(n, dtype=np.int64)
    frame: dict[str, Any] = {f"x{f}": x[:, f].tolist() for f in range(p)}
    frame |= {"y": [f"c{label}" for label in y], "w": w.tolist()}
    depth = 4 if deep else 3 if many else int(rng.integers(1, 4))
    features = ", ".join(f"x{f}" for f in range(p))
    spec = (
        f"data frame target y: class feature {features}: number weight w"
        f" tree depth <= {depth} minimize errors"
    )
    ranks = np.array([np.unique(column, return_inverse=True)[1] for column in x.T]).T
    return spec, frame, Tiny([tuple(row) for row in ranks.tolist()], y.tolist(), w.tolist())


def of_tree(
    expansion: Expansion, tree: TreeNode, frame: dict[str, Any], named: list[str]
) -> set[str]:
    """The variables that a tree makes true."""
    tiny, true = expansion.tiny, set[str]()

    def put(*name: object) -> None:
        true.add(f"x{expansion.variable(*name)}")

    def visit(node: int, depth: int, here: TreeNode | None) -> list[bool]:
        label = here.label if isinstance(here, Leaf) else 0
        put("class", node, label)
        lost = [label != one for one in tiny.classes]
        if depth == 0:
            return lost
        below: tuple[TreeNode | None, TreeNode | None] = None, None
        if isinstance(here, Leaf) or here is None:
            put(node, "leaf")
        else:
            assert isinstance(here.test, Threshold)
            f = named.index(here.feature)
            cut = f, len({v for v in frame[here.feature] if v <= float(here.test.value)}) - 1
            put(node, cut)
            below = here.left, here.right
        sides = [visit(2 * node + side, depth - 1, below[side]) for side in (0, 1)]
        if below[0] is not None:
            lost = [sides[tiny.ranks[i][f] > cut[1]][i] for i in range(len(lost))]
        for i, error in enumerate(lost):
            if error:
                put("error", node, i)
        return lost

    visit(1, expansion.depth, tree)
    return true


class Expanded(NamedTuple):
    """A tiny problem with its certificate, written out."""

    tiny: Tiny
    frame: dict[str, Any]
    features: list[str]
    result: odtdsl.Result
    depth: int
    least: int
    steps: Steps | None
    expansion: Expansion
    none_below: int


def expanded(seed: int, folder: Path) -> Expanded:
    """A random one; constraints from `none_below` on say that no tree loses less than `least`."""
    spec, frame, tiny = tiny_of(np.random.default_rng(seed))
    path = folder / "a.cert"
    result = odtdsl.solve(spec, frame=frame, using="exact", proof=path)
    assert checked(path).stdout.endswith("certified: the tree is optimal\n")
    _, text, raw = pieces(path)
    named = [line.split("\t")[2] for line in text.decode().split("\n") if line[:7] == "feature"]
    kept = [int(name.removeprefix("x")) for name in named]  # constant features have no tests
    tiny = Tiny([tuple(rank[f] for f in kept) for rank in tiny.ranks], tiny.classes, tiny.weights)
    steps = iter(numbers(raw))
    assert next(steps) == 1
    depth, least = next(steps), next(steps)
    assert least == result.objective == tiny.best(tiny.rows, depth)
    found: Steps | None = parsed(tiny, steps, tiny.rows, depth) if least else None
    assert next(steps, None) is None
    expansion = Expansion(tiny, depth)
    none_below = len(expansion.formula)
    expansion.refute(found, least)
    return Expanded(tiny, frame, named, result, depth, least, found, expansion, none_below)


@pytest.mark.parametrize("seed", range(scaled(300, part=0.5)))
def test_certificates_are_pseudo_boolean_proofs(seed: int, tmp_path: Path) -> None:
    """Of the optimum; a tampered proof is refused, and the tree satisfies the formula."""
    here = expanded(seed, tmp_path)
    tiny, expansion, least = here.tiny, here.expansion, here.least
    formula, proof = expansion.texts()
    check(formula, proof)
    # Without the bound, and with what defines the fresh variables left out, the tree is a solution.
    del expansion.formula[here.none_below :], expansion.defined[:]
    assert here.result.tree is not None
    true = of_tree(expansion, here.result.tree.root, here.frame, here.features)
    assert satisfied(expansion.texts()[0], true)
    worst = sum(w for i, w in enumerate(tiny.weights) if f"x{expansion.error(1, i)}" in true)
    assert worst == least or here.depth == 0
    if least:
        with pytest.raises(Wrong):
            check(formula, proof.replace(f" {least} * ", f" {least - 1} * "))
        with pytest.raises(AssertionError):
            Expansion(tiny, here.depth).refute(here.steps, least + 1)


def test_what_classes_lose_is_expanded(tmp_path: Path) -> None:
    """Some bounds of the problems above rise by it."""
    assert sum(expanded(seed, tmp_path).expansion.lost > 0 for seed in range(20)) >= 5


@pytest.mark.skipif(shutil.which("veripb") is None, reason="veripb is not installed")
def test_veripb_accepts_a_hundred(tmp_path: Path) -> None:
    files = tmp_path / "a.opb", tmp_path / "a.pbp"
    for seed in range(100):
        texts = expanded(seed, tmp_path).expansion.texts()
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        ran = subprocess.run(["veripb", *files], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"seed {seed}: {ran.stdout}{ran.stderr}"


def test_a_proof_of_nothing_is_refused() -> None:
    formula = "* #variable= 1 #constraint= 1\n+1 x1 >= 1 ;\n"
    head, end = "pseudo-Boolean proof version 2.0\nf 1\n", "output NONE\nconclusion UNSAT : 2\n"
    for step in ("pol 1 ~x1 +", "pol 1 2 d", "rup >= 1 ;", "pol 1 0 d", "pol 7", "pol 1 1"):
        with pytest.raises(Wrong):
            check(formula, f"{head}{step}\n{end}end pseudo-Boolean proof\n")
