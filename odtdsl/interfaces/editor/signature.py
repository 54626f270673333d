"""Signature help: how the term whose arguments one is writing is written."""

from __future__ import annotations

from dataclasses import dataclass

from odtdsl.interfaces.editor.hover import term
from odtdsl.interfaces.editor.keywords import FUNCTIONS
from odtdsl.interfaces.editor.outline import Outline
from odtdsl.problem.terms.base import Signature
from odtdsl.problem.terms.catalogue import usage
from odtdsl.problem.terms.registry import BY_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One way to write a call; `params` are the parts of `label` that name its parameters."""

    label: str
    params: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The call around a place: its forms, which of them fits, and the argument there."""

    forms: tuple[Form, ...]
    chosen: int
    argument: int
    meaning: str


def called(outline: Outline, offset: int) -> Called | None:
    """The innermost call whose parentheses are open at an offset; None where there is none."""
    before = [one for one in outline.tokens if one.end <= offset and one.kind != "comment"]
    depth = commas = 0
    for index in range(len(before) - 1, -1, -1):
        text = before[index].text
        if text in (")", "]", "}"):
            depth += 1
        elif text in ("[", "{", "("):
            if depth:
                depth -= 1
                continue
            word = before[index - 1].text if index else ""
            if text == "(" and (word in BY_NAME or word in FUNCTIONS):
                return _called(word, commas)
            commas = 0  # of the list or the parentheses inside the argument
        elif text == "," and not depth:
            commas += 1
        elif text == ":" and not depth:
            return None  # the beginning of a rule: no call goes on across it
    return None


def _called(word: str, argument: int) -> Called:
    if word not in BY_NAME:
        params = ("number", "...") if word == "abs" else ("a", "b", "...")
        label = "abs(number)" if word == "abs" else f"{word}(a, b, ...)"
        forms: tuple[Form, ...] = (Form(label=label, params=params[: 1 if word == "abs" else 3]),)
        return Called(forms=forms, chosen=0, argument=argument, meaning=FUNCTIONS[word])
    of = BY_NAME[word]
    forms = tuple(
        Form(label=label, params=tuple(p.value for p in signature.params))
        for label, signature in zip(usage(of), of.signatures, strict=True)
    )
    fitting = [i for i, signature in enumerate(of.signatures) if _fits(signature, argument)]
    chosen = fitting[0] if fitting else len(forms) - 1
    last = max(len(forms[chosen].params) - 1, 0)
    # Of a parameter that may be repeated, every further argument is one.
    at = min(argument, last) if of.signatures[chosen].repeat else argument
    return Called(forms=forms, chosen=chosen, argument=at, meaning=term(word) or "")


def _fits(signature: Signature, argument: int) -> bool:
    return argument < len(signature.params) or (signature.repeat and bool(signature.params))
