"""The terms as a catalogue: for `odt rules` and the generated reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.problem.terms.base import Kind, Signature, Term
from odtdsl.problem.terms.registry import BY_NAME, TERMS

HEADINGS = ("Meaning", "In Python", "Core forms", "Also known as", "References")


def sections(term: Term) -> dict[str, str]:
    """The headings of a term's docstring and their texts, each on one line."""
    text = inspect.cleandoc(type(term).__doc__ or "")
    found: dict[str, str] = {}
    pattern = "|".join(HEADINGS)
    for match in re.finditer(rf"^({pattern}): (.*?)(?=^(?:{pattern}): |\Z)", text, re.M | re.S):
        found[match[1]] = " ".join(match[2].split())
    return found


def usage(term: Term) -> tuple[str, ...]:
    """How the term is written, one form per signature."""
    return tuple(_usage(term, signature) for signature in term.signatures)


def _usage(term: Term, signature: Signature) -> str:
    if term.form == "infix":
        return f"feature {term.name} feature"
    if term.kind is Kind.COLUMN:
        return f"{term.name} in {{feature, ...}}"
    if term.form == "target":
        return "a number target's name"
    shown = ", ".join(param.value for param in signature.params)
    if signature.repeat:
        shown += ", ..."
    return f"{term.name}({shown})" if shown else term.name


def as_json(word: str | None) -> list[dict[str, Any]]:
    """One object per term."""
    return [
        {
            "name": term.name,
            "usage": list(usage(term)),
            "scopes": [scope.value for scope in term.scopes],
            "value": term.kind.value,
            "target": term.target,
            **{key.lower().replace(" ", "_"): text for key, text in sections(term).items()},
        }
        for term in _chosen(word)
    ]


def as_text(word: str | None) -> Iterator[str]:
    """A line per term, or all about one."""
    chosen = _chosen(word)
    if word is not None:
        (term,) = chosen
        yield "  or  ".join(usage(term))
        yield f"  in: {', '.join(scope.value for scope in term.scopes)};  is a {term.kind.value}"
        for heading, text in sections(term).items():
            yield f"  {heading}: {text}"
        return
    width = max(len(usage(term)[-1]) for term in chosen)
    for term in chosen:
        scopes = ", ".join(scope.value for scope in term.scopes)
        meaning = sections(term)["Meaning"].split(". ")[0].rstrip(".")
        yield f"{usage(term)[-1].ljust(width)}  {scopes.ljust(11)}  {meaning}"


def _chosen(word: str | None) -> tuple[Term, ...]:
    if word is None:
        return TERMS
    if word not in BY_NAME:
        raise error("U307", f"term `{word}` is unknown", helps=(_instead(word),))
    return (BY_NAME[word],)


def _instead(word: str) -> str:
    """The terms that others call so, else the nearest one."""
    plain = word.casefold().replace("_", " ").strip()
    known = [term for term in TERMS if plain in sections(term).get("Also known as", "").casefold()]
    if plain and known:
        return "see " + ", ".join(f"`odt rules {term.name}`" for term in known)
    near = closest(word, BY_NAME)
    return f"did you mean `{near}`?" if near else "`odt rules` lists all terms"
