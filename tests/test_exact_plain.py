"""Rules in the plain search against the search under rules, on tables where its bounds prune.

Tables are large enough for blocks of rows, windows of cuts and long features, which brute force
is not. `ODTDSL_SCALE=30` gives some 1,800 problems.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scale import scaled

import odtdsl
from odtdsl.backends.exact import backend


def table(rng: np.random.Generator) -> pd.DataFrame:
    rows, columns = int(rng.integers(40, 300)), int(rng.integers(2, 4))
    classes = int(rng.choice([2, 2, 3, 5]))
    x = rng.integers(0, int(rng.choice([2, 6, 40, 5000])), size=(rows, columns))
    if rng.random() < 0.3:
        x[:, 0] = rng.integers(0, 2, rows)
    noise = (rng.random(rows) < 0.25) * rng.integers(0, classes, rows)
    label = (x.sum(1) // max(1, int(x.max() // 3 + 1)) + noise) % classes
    if rng.random() < 0.3:  # a rare class: leaves of the free optimum are small
        label = (rng.random(rows) < 0.06).astype(int)
    label[:2] = 0, 1
    frame = pd.DataFrame({f"x{j}": x[:, j] for j in range(columns)})
    frame["y"] = [f"c{v}" for v in label]
    return frame


def rules(rng: np.random.Generator, rows: int, last: str) -> list[str]:
    known = [
        "uses(x0)",
        f"not uses({last})",
        f"forall path: x0 before {last}",
        f"forall path: not (uses(x0) and uses({last}))",
        "forall path: tests(x0) <= 1",
        f"forall path: cost <= {rng.integers(1, 4)}",
        f"leaves <= {rng.integers(2, 7)}",
    ]
    chosen = [str(c) for c in rng.choice(known, size=int(rng.integers(0, 3)), replace=False)]
    if not chosen or rng.random() < 0.5:
        chosen.append(f"forall leaf: size >= {rng.integers(2, max(3, rows // 6))}")
    return chosen


@pytest.mark.parametrize("block", range(scaled(6)))
def test_plain_search_agrees_with_the_search_under_rules(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(block)
    plain = backend.plain_of
    for _ in range(10):
        frame = table(rng)
        columns = list(frame.columns[:-1])
        asked = rules(rng, len(frame), columns[-1])
        goal = rng.choice(["errors", "errors + 1 * leaves", "errors then leaves"])
        depth = 2 if len(frame) > 120 else 3
        spec = "\n".join(
            [
                "data frame  target y: class  feature *: number  cost * = 1",
                f"tree depth <= {depth}",
                f"minimize {goal}",
                *(f"rule r{i}: {rule}" for i, rule in enumerate(asked)),
            ]
        )
        model = odtdsl.parse(spec)
        answers = []
        for choose in (plain, lambda core: None):
            monkeypatch.setattr(backend, "plain_of", choose)
            result = model.solve(frame=frame, using="exact")
            answers.append((result.status, [stage.value for stage in result.stages]))
        assert answers[0] == answers[1], (spec, frame.to_dict("list"))
        assert answers[0][0] in ("optimal", "infeasible")
