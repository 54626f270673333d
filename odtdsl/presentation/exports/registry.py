"""All formats of exports, and what writes a model in one: whatever the folder `formats` holds."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

from odtdsl.base.diagnostics.model import error
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.files import as_path, write_bytes
from odtdsl.base.signatures import begins
from odtdsl.predictors.predictor import Predictor
from odtdsl.presentation.exports import formats
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.names import HALF, LONE, check_name, check_texts
from odtdsl.presentation.exports.plan import Plan, plan_of

FORMATS: dict[str, Format] = {
    file.name: import_module(f"{formats.__name__}.{file.name}").FORMAT
    for file in iter_modules(formats.__path__)
}
"""All formats, by the names that `odt export --to` takes: those of their files."""


def export(
    model: Predictor,
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
    form = format_named(to)
    if form.package and find_spec(form.package) is None:
        raise error(
            "U374",
            f"an export to {to} needs the package {form.package}, which is not installed",
            helps=("pip install 'odtdsl[export]'",),
        )
    if not form.any_text:
        check_texts(plan, to)
    check_name(name, to, LONE, HALF)
    found = form.write(plan, name)
    if path is not None:
        write_bytes(as_path(path), found.encode("utf-8") if isinstance(found, str) else found)
    return found


def format_named(to: str) -> Format:
    """A format by its name, or another that is understood; raises U370 for an unknown one."""
    found = FORMATS.get(to) or next((one for one in FORMATS.values() if to in one.also), None)
    if found is None:
        near = closest(to, list(FORMATS))
        known = ", ".join(FORMATS)
        raise error(
            "U370",
            f"`{to}` is not an export format",
            helps=(f"did you mean `{near}`?" if near else f"write one of {known}",),
        )
    return found


def is_export(path: Path) -> bool:
    """Whether a regular file begins as exports do, or is empty."""
    return begins(path, (form.begins for form in FORMATS.values()))


def format_of(path: Path) -> str:
    """The format of a file by its suffix; raises U370 for an unknown one."""
    for to, form in FORMATS.items():
        if path.suffix.lower() in form.suffixes:
            return to
    raise error(
        "U370",
        f"the name of `{path}` does not determine an export format",
        helps=(f"name the format: `--to {' | '.join(FORMATS)}`",),
    )
