"""The page as a whole: its parts in their order, in a document that can load nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from string import Template

from odtdsl.presentation.pictures.svg import style
from odtdsl.presentation.report import errors, model, rules, summary, tables, timeline
from odtdsl.presentation.report.markup import Markup, Section, data, joined, tag, text
from odtdsl.presentation.report.payload import payload
from odtdsl.presentation.report.subject import Subject
from odtdsl.presentation.report.test_rows import held_out

PARTS: tuple[Callable[[Subject], Markup], ...] = (
    summary.objective,
    summary.warnings,
    rules.explained,
    model.model,
    rules.spec,
    rules.audit,
    held_out,
    errors.errors,
    errors.outputs,
    tables.costs,
    tables.thresholds,
    tables.shared,
    timeline.timeline,
    summary.search,
)


def write(subject: Subject, path: Path) -> None:
    """Write the page to a file, whole or not at all.

    Raises
    ------
    OdtError
        F301: the file cannot be written.
    """
    from odtdsl.base.files import write_text

    write_text(path, page(subject))


def page(subject: Subject) -> str:
    """The page as HTML.

    Its content security policy lets nothing be loaded, and nothing run but the one script whose
    hash it names: what a name or a cell says can neither run nor style anything.
    """
    css = _file("page.css") + style("auto")
    script = _file("page.js")
    parts = [part(subject) for part in PARTS]
    return Template(_file("page.html")).substitute(
        policy=text(policy(css, script)),
        title=text(f"{subject.name}: odtdsl report"),
        css=css,
        script=script,
        data=data(payload(subject)),
        head=summary.head(subject),
        contents=tag("ul", *_contents(parts)),
        parts=joined(parts, "\n"),
    )


def _contents(parts: list[Markup]) -> Iterator[Markup]:
    """Links to the sections that are there."""
    for part in parts:
        if isinstance(part, Section):
            yield tag("li", tag("a", part.heading, href=f"#{part.anchor}"))


def policy(css: str, script: str) -> str:
    """The content security policy of a page that loads nothing and runs one script."""
    return (
        f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _file(name: str) -> str:
    return resources.files("odtdsl.presentation.report").joinpath(name).read_text(encoding="utf-8")
