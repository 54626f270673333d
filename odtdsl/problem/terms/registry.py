"""All terms, in the order of the language reference: those of the folder `library` and of tasks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from odtdsl.base.tasks import tasks
from odtdsl.problem.ir.expr import Scope
from odtdsl.problem.terms import library
from odtdsl.problem.terms.base import Term


def _found() -> Iterator[Term]:
    homes = [f"{library.__name__}.{file.name}" for file in iter_modules(library.__path__)]
    own = (f"{package}.terms" for _, package in tasks().values())
    homes += [home for home in own if find_spec(home)]
    for home in homes:
        for kind in vars(import_module(home)).values():
            if inspect.isclass(kind) and issubclass(kind, Term) and kind.__module__ == home:
                yield kind()


TERMS: tuple[Term, ...] = tuple(sorted(_found(), key=lambda term: (term.place, term.name)))

BY_NAME: dict[str, Term] = {term.name: term for term in TERMS}
"""Terms by name. `output` is not a word of the language: target names stand for it."""

Term.by_name = BY_NAME


def quotients(scope: Scope) -> list[str]:
    """The terms of a scope that can be compared only with constants."""
    return [term.name for term in TERMS if term.is_quotient and scope in term.scopes]
