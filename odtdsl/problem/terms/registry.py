"""All terms, in the order of the language reference: whatever the folder `library` holds."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from odtdsl.problem.terms import library
from odtdsl.problem.terms.base import Term


def _found() -> Iterator[Term]:
    for file in iter_modules(library.__path__):
        home = f"{library.__name__}.{file.name}"
        for kind in vars(import_module(home)).values():
            if inspect.isclass(kind) and issubclass(kind, Term) and kind.__module__ == home:
                yield kind()


TERMS: tuple[Term, ...] = tuple(sorted(_found(), key=lambda term: (term.place, term.name)))

BY_NAME: dict[str, Term] = {term.name: term for term in TERMS}
"""Terms by name. `output` is not a word of the language: target names stand for it."""

Term.by_name = BY_NAME
