"""Models written down for other programs: rules, SQL, Python, C, ONNX, PMML, treelite.

    model --plan_of--> Plan --to_...--> text or bytes

`Plan` is what all formats see (see `plan.py`): what `predict` does with missing cells, unseen
categories, bins and the shared nodes of diagrams is settled there. A format writes down all of
it or refuses the model with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.exports.plan import Plan, plan_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of exports.

    Attributes
    ----------
    what
        What it is, in a few words.
    suffixes
        Of files; the first is usual.
    home
        Module and function that write it.
    binary
        Whether it is bytes.
    """

    what: str
    suffixes: tuple[str, ...]
    home: tuple[str, str]
    binary: bool = False

    def write(self, plan: Plan, name: str | None) -> str | bytes:
        """The model in this format."""
        module, function = self.home
        writer: Callable[[Plan, str | None], str | bytes] = getattr(
            import_module(f"odtdsl.presentation.exports.{module}"), function
        )
        return writer(plan, name)


FORMATS: dict[str, Format] = {
    "text": Format(what="if-then rules", suffixes=(".txt",), home=("rules", "to_rules")),
    "sql": Format(what="a SELECT with a CASE", suffixes=(".sql",), home=("sql", "to_sql")),
    "python": Format(
        what="a function without dependencies", suffixes=(".py",), home=("python", "to_python")
    ),
    "c": Format(what="a C99 function", suffixes=(".c",), home=("c", "to_c")),
    "onnx": Format(
        what="an ONNX graph", suffixes=(".onnx",), home=("onnx", "to_onnx"), binary=True
    ),
    "pmml": Format(
        what="a TreeModel of PMML 4.4", suffixes=(".pmml", ".xml"), home=("pmml", "to_pmml")
    ),
    "treelite": Format(
        what="a serialized treelite model",
        suffixes=(".treelite", ".tl"),
        home=("treelite", "to_treelite"),
        binary=True,
    ),
}
"""All formats, by the names that `odt export --to` takes."""


def export(
    model: Tree | Diagram,
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
) -> str | bytes:
    """A model in the words of another program; see `Tree.export`."""
    return export_plan(plan_of(model), to, path, name=name)


def export_plan(
    plan: Plan, to: str, path: str | os.PathLike[str] | None = None, *, name: str | None = None
) -> str | bytes:
    """As `export`, of a plan."""
    from odtdsl.base.files import write_bytes
    from odtdsl.presentation.exports.names import HALF, LONE, check_name, check_texts

    format_ = format_named(to)
    if to not in ("text", "python"):
        check_texts(plan, to)
    check_name(name, to, LONE, HALF)
    found = format_.write(plan, name)
    if path is not None:
        write_bytes(Path(path), found.encode("utf-8") if isinstance(found, str) else found)
    return found


def format_named(to: str) -> Format:
    """A format by its name; U370 where there is none."""
    if to not in FORMATS:
        near = closest(to, list(FORMATS))
        known = ", ".join(FORMATS)
        raise error(
            "U370",
            f"`{to}` is no format of exports",
            helps=(f"did you mean `{near}`?" if near else f"write one of {known}",),
        )
    return FORMATS[to]


def format_of(path: Path) -> str:
    """The format that a file is to have, by its suffix; U370 where that tells none."""
    for to, format_ in FORMATS.items():
        if path.suffix.lower() in format_.suffixes:
            return to
    raise error(
        "U370",
        f"the name of `{path}` tells no format of exports",
        helps=(f"write one: `--to {' | '.join(FORMATS)}`",),
    )
