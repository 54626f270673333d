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
from odtdsl.problem.terms.synonyms import is_part, our_name, our_way

HEADINGS = ("Meaning", "In Python", "Core forms", "Related", "References")
"""Of docstrings."""
SECTIONS = (*HEADINGS[:3], "Also known as", "Expresses", *HEADINGS[3:])
"""Of what is shown about a term."""
LEAST_LETTERS = 3
"""Of the beginning of a term that is proposed for it."""


def sections(term: Term) -> dict[str, str]:
    """What is shown about a term, by headings: its docstring and what others call it."""
    found = _of_docstring(term) | _of_others(term)
    return {heading: found[heading] for heading in SECTIONS if heading in found}


def _of_docstring(term: Term) -> dict[str, str]:
    """The headings of a term's docstring and their texts, each on one line."""
    text = inspect.cleandoc(type(term).__doc__ or "")
    found: dict[str, str] = {}
    pattern = "|".join(HEADINGS)
    for match in re.finditer(rf"^({pattern}): (.*?)(?=^(?:{pattern}): |\Z)", text, re.M | re.S):
        found[match[1]] = " ".join(match[2].split())
    return found


def _of_others(term: Term) -> dict[str, str]:
    """The names and the ideas of others; ideas with the same example stand together."""
    ideas: dict[str, list[str]] = {}
    for idea, example in term.expresses:
        ideas.setdefault(example, []).append(idea)
    expressed = "; ".join(f"{', '.join(some)}: `{example}`" for example, some in ideas.items())
    found = {"Also known as": ", ".join(term.also), "Expresses": expressed}
    return {heading: f"{text}." for heading, text in found.items() if text}


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
            "quotient": term.is_quotient,
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
        scopes = ", ".join(scope.value for scope in term.scopes)
        value = f"{term.kind.value}{', compared only with constants' * term.is_quotient}"
        yield f"  in: {scopes};  is a {value}"
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
    name = word if word in BY_NAME else our_name(word)
    if name is None:
        raise error("U307", f"term `{word}` is unknown", helps=_instead(word))
    return (BY_NAME[name],)


def _instead(word: str) -> tuple[str, ...]:
    """How we say it and the terms that are about it; else the nearest one."""
    found = tuple(help for help in (our_way(word),) if help is not None)
    if known := [term for term in TERMS if _is_about(term, word)]:
        return (*found, "see " + ", ".join(f"`odt rules {term.name}`" for term in known))
    near = closest(word, BY_NAME)
    return (f"did you mean `{near}`?" if near else "`odt rules` lists all terms",)


def _is_about(term: Term, word: str) -> bool:
    """Whether a word, or some words, stand in its name or among what others say for it, or begin
    its name.
    """
    ideas = (idea for idea, _ in term.expresses)
    texts = (term.name, *term.also, *ideas, _of_docstring(term).get("Related", ""))
    return any(is_part(word, text) for text in texts) or _begins(term.name, word)


def _begins(name: str, word: str) -> bool:
    """Whether a name begins with some letters, enough to tell."""
    return len(word) >= LEAST_LETTERS and name.startswith(word.casefold())
