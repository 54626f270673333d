"""Proofs that nothing smaller exists: CPU seconds to search, to log and to check, and sizes.

    ODTDSL_DATA=... python benchmarks/proofs.py [--sets mouse,wine] [--depth-only monk2] [--docs]

The sets of the DT_depth / DT_size study: the least depth without an error, then the fewest leaves
at that depth. A row per claim. `--docs` puts the table into `docs/how-to/proofs.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import odtdsl
from odtdsl.backends.base import Limits
from odtdsl.insight.proofs.check import check
from odtdsl.insight.proofs.file import Part, Proof, from_bytes, size_of, to_bytes
from odtdsl.insight.proofs.log import claims_of, prove, refute
from odtdsl.problem.terms.normalize import normalize

SETS = ("mouse", "monk1", "monk2", "iris", "wine")
PAGE = ROOT / "docs" / "how-to" / "proofs.md"
MARK = "<!-- benchmarks/proofs.py -->"
HEAD = (
    "set",
    "claim",
    "rows",
    "variables",
    "clauses",
    "steps",
    "file",
    "solved",
    "proof written",
    "proof checked",
)


def model(name: str, objective: str) -> odtdsl.Model:
    """The spec of a set, whose last column is the label."""
    path = Path(os.environ["ODTDSL_DATA"]) / "sat" / f"{name}.csv"
    target = path.read_text(encoding="utf-8-sig").splitlines()[0].split(",")[-1]
    return odtdsl.parse(
        f'data "{path}" target {target}: class tree minimize {objective} rule exact: errors <= 0'
    )


def measured(name: str, objective: str) -> Iterator[tuple[str, ...]]:
    """A row per claim; times of the claim alone, but for the search, which finds the answer."""
    spec = model(name, objective)
    analysis = spec.analyse()
    began = time.process_time()
    result = spec.solve(using="sat")
    solved = time.process_time() - began
    assert result.status == "optimal"
    whole = prove(analysis, result)
    core = normalize(analysis.rows)
    for at, (claim, part) in enumerate(zip(claims_of(core, result), whole.parts, strict=True)):
        began = time.process_time()
        refute(core, claim, Limits())
        written = time.process_time() - began
        text = to_bytes(_alone(whole, part))
        began = time.process_time()
        check(from_bytes(text), analysis)
        checked = time.process_time() - began
        size = size_of(part)
        yield (
            name,
            part.statement.removeprefix("no tree that satisfies all rules has "),
            *(str(size[key]) for key in ("rows", "variables", "clauses", "steps")),
            f"{len(text) / 1e6:.2f} MB",
            "" if at else f"{solved:.2f} s",
            f"{written:.2f} s",
            f"{checked:.2f} s",
        )


def _alone(proof: Proof, part: Part) -> Proof:
    return Proof(made_by=proof.made_by, data=proof.data, spec=proof.spec, parts=(part,))


def main() -> int:
    """Print the table; put it into the page where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--depth-only", default="", help="sets of which the leaves are left out")
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args()
    lines = [_row(HEAD), _row("---" for _ in HEAD)]
    print(*lines, sep="\n", flush=True)
    for name in asked.sets.split(","):
        objective = "depth" if name in asked.depth_only.split(",") else "depth then leaves"
        for row in measured(name, objective):
            lines.append(_row(row))
            print(lines[-1], flush=True)
    if asked.docs:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(f"{MARK}\n")
        after = rest.partition(f"{MARK}\n")[2]
        text = "\n".join([before.rstrip("\n"), "", MARK, "", *lines, "", MARK, ""])
        PAGE.write_text(text + after, encoding="utf-8")
    return 0


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
