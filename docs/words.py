"""Write `odtdsl/words/terms.py`, the words of all terms for Python, from their signatures.

They are written and not made when they are imported, so that editors and type checkers see them,
and because the terms themselves would load numpy.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from odtdsl.problem.terms.base import Kind, Param, Signature, Term
from odtdsl.problem.terms.catalogue import sections
from odtdsl.problem.terms.registry import TERMS
from odtdsl.problem.terms.regression import OF_TARGETS
from odtdsl.problem.terms.shares import OF_ROWS

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "odtdsl" / "words" / "terms.py"

HEAD = '''\
"""The words of all terms, written by `python -m docs.generate` from the terms: do not edit."""

from __future__ import annotations

from odtdsl.language import ast
from odtdsl.words import build
from odtdsl.words.expr import ColumnWord, Condition, Measure, OfGroup, OfTarget
from odtdsl.words.values import Label
'''

PARAMETERS: dict[Param, tuple[str, str, str]] = {
    Param.FEATURE: ("feature", "str", "feature"),
    Param.TARGET: ("target", "str", "target"),
    Param.LABEL: ("label", "Label", "label"),
    Param.GROUP: ("group", "str", "group"),
    Param.ROW: ("row", "Label", "row"),
    Param.MEASURE: ("measure", "Measure", "measure"),
    Param.BY: ("by", "str", "by"),
}
"""Of the kinds of arguments: name, type, and the function of `build` that makes a node of one."""


def text() -> str:
    """The module as it should be; examples are run by the words that it defines."""
    from odtdsl import words

    names: dict[str, Any] = {}
    exec(_module({}), names)
    names = vars(words) | names
    examples = {term: sections(term)["In Python"].strip("`") for term in _with_examples()}
    return _module({t.name: (code, repr(eval(code, names))) for t, code in examples.items()})


def _with_examples() -> list[Term]:
    return [term for term in TERMS if term.form != "target" and "In Python" in sections(term)]


def _module(examples: Mapping[str, tuple[str, str]]) -> str:
    written = sorted((t for t in TERMS if t.form != "target"), key=lambda term: term.name)
    infix = ", ".join(f'"{term.name}"' for term in written if term.form == "infix")
    parts = [
        HEAD,
        "__all__ = [\n" + "".join(f'    "{term.name}",\n' for term in written) + "]\n",
        f"TERM_WORDS = frozenset(__all__) - {{{infix}}}\n"
        '"""What a bare word means as a term: a column of such a name needs backticks."""\n',
    ]
    for term in TERMS:
        if term.form != "target":
            parts.append("\n".join(_word(term, examples.get(term.name))) + "\n")
    return re.sub("\n{4,}", "\n\n\n", "\n".join(parts))


def _word(term: Term, example: tuple[str, str] | None) -> Iterator[str]:
    if not _takes_arguments(term):
        yield f'{term.name} = {_class(term)}(node=ast.Name(name="{term.name}"))'
        yield from _docstring(term, example, indent="")
        return
    parameters, arguments = zip(*_parameters(term), strict=True)
    value = "Condition" if term.kind is Kind.CONDITION else "Measure"
    function = "infix" if term.form == "infix" else value.lower()
    yield ""
    yield f"def {term.name}({', '.join(parameters)}) -> {value}:"
    yield from _docstring(term, example, indent="    ")
    yield f'    return build.{function}_of("{term.name}", {", ".join(arguments)})'
    if term.name.startswith("test"):
        yield "\n"
        yield f"{term.name}.__test__ = False  # type: ignore[attr-defined]  # for pytest, no test"
    yield ""


def _takes_arguments(term: Term) -> bool:
    return term.kind is not Kind.COLUMN and all(one.params for one in term.signatures)


def _class(term: Term) -> str:
    """What a word is that stands alone, too."""
    if term.kind is Kind.COLUMN:
        return "ColumnWord"
    if term.signatures == OF_ROWS:
        return "OfGroup"
    if term.signatures == OF_TARGETS:
        return "OfTarget"
    assert term.signatures == (Signature(),), f"no word can be both alone and as {term.name}(...)"
    return "Condition" if term.kind is Kind.CONDITION else "Measure"


def _parameters(term: Term) -> Iterator[tuple[str, str]]:
    """The parameters of a word that is a function, and what makes nodes of their arguments."""
    signature = max(term.signatures, key=lambda one: len(one.params))
    least = min(len(one.params) for one in term.signatures)
    for at, param in enumerate(signature.params):
        name, kind, node = PARAMETERS[param]
        name = signature.names[at] if signature.names else name
        if at < least:
            yield f"{name}: {kind}", f"build.{node}({name})"
        else:
            yield f"{name}: {kind} | None = None", f"build.{node}({name})"
    if signature.repeat:
        more = "groups" if param is Param.BY else f"{name}s"
        yield f"*{more}: {kind}", f"*map(build.{node}, {more})"


def _docstring(term: Term, example: tuple[str, str] | None, *, indent: str) -> Iterator[str]:
    meaning = sections(term)["Meaning"]
    meaning = meaning[0].upper() + meaning[1:]
    if not meaning.endswith("."):
        meaning += "."
    lines = textwrap.wrap('"""' + meaning, width=100 - len(indent) - 3)
    if example is not None:
        lines += ["", f">>> {example[0]}", example[1]]
    alone = len(lines) == 1
    lines = [*lines[:-1], lines[-1] + '"""'] if alone else [*lines, '"""']
    yield from (indent + line if line else "" for line in lines)
