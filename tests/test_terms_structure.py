"""The parts stand as DESIGN.md says: one file a term, and dependencies that point one way."""

from __future__ import annotations

import ast as python
import inspect
from pathlib import Path

import pytest

from odtdsl.terms import registry
from odtdsl.terms.base import Term
from odtdsl.terms.registry import BY_NAME, TERMS

ROOT = Path(registry.__file__).parents[1]
SHARED = {
    "__init__", "base", "catalogue", "comparisons", "formulas", "linear", "monotone",
    "normalize", "objective", "over_groups", "pair", "registry", "regression", "share_of", "shares",
    "splits_filter",
}  # fmt: skip
"""Files of `terms` that are no terms."""

FORBIDDEN = {
    "syntax": {"analysis", "terms", "ir", "backends", "milp", "greedy", "checker", "data"},
    "ir": {"analysis", "terms", "backends", "milp", "greedy", "checker", "syntax", "predictors"},
    "terms": {"analysis", "backends", "milp", "greedy", "checker", "syntax"},
    "analysis": {"backends", "milp", "greedy", "checker", "solving", "api", "cli"},
    "predictors": {"analysis", "terms", "ir", "backends", "milp", "greedy", "checker", "syntax"},
    "data": {"analysis", "terms", "ir", "backends", "milp", "greedy", "checker", "syntax"},
    "backends": {"analysis", "terms", "checker", "syntax"},
    "milp": {"analysis", "terms", "checker", "syntax"},
    "greedy": {"analysis", "terms", "checker", "syntax"},
    "checker.py": {"analysis", "terms", "backends", "milp", "greedy", "syntax", "solving"},
    "auditor": {"analysis", "terms", "backends", "milp", "greedy", "syntax", "solving"},
}
"""What each part must not import: syntax <- analysis -> terms -> ir; back ends -> ir."""


def _imports(path: Path) -> set[str]:
    """The parts of the package that a file imports, inside functions too."""
    found: set[str] = set()
    for node in python.walk(python.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, python.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, python.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "odtdsl" and len(parts) > 1:
                found.add(parts[1])
    return found


@pytest.mark.parametrize("part", FORBIDDEN)
def test_dependencies_point_one_way(part: str) -> None:
    files = [ROOT / part] if part.endswith(".py") else sorted((ROOT / part).glob("*.py"))
    assert files
    for path in files:
        wrong = _imports(path) & FORBIDDEN[part]
        assert not wrong, f"{path.name} imports {wrong}"


def test_every_term_is_one_file_and_one_line_of_the_registry() -> None:
    files = {path.stem for path in (ROOT / "terms").glob("*.py")} - SHARED
    assert files == {Path(inspect.getfile(type(term))).stem for term in TERMS}
    assert files == set(BY_NAME)
    assert len(TERMS) == len(BY_NAME)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_says_what_it_means_and_becomes(term: Term) -> None:
    text = inspect.getdoc(type(term)) or ""
    headings = [line.split(":")[0] for line in text.splitlines() if ":" in line]
    assert text.startswith("Meaning: ")
    assert "Core forms" in headings
    assert term.scopes
    assert term.signatures
    assert all(len(signature.params) > 0 for signature in term.signatures if signature.repeat)
