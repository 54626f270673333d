"""What the page asks for, as functions from plain data to plain data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error
from odtdsl.base.source import Source
from odtdsl.interfaces.editor import data_facts, hover
from odtdsl.interfaces.editor.completion import complete
from odtdsl.interfaces.editor.outline import Outline
from odtdsl.interfaces.editor.supervisor import Checker
from odtdsl.interfaces.editor.worker import pack, unpack
from odtdsl.interfaces.studio import rules
from odtdsl.interfaces.studio.folder import TABLES, Folder
from odtdsl.interfaces.studio.jobs import Job, Jobs
from odtdsl.language.files import MAX_BYTES
from odtdsl.presentation.exports.registry import FORMATS

SECONDS = 10.0
"""The longest that a check with data may take."""


def _endings() -> Iterator[tuple[str, str]]:
    """Pages end otherwise than the report, which has the name of the spec."""
    for name, form in FORMATS.items():
        if not form.package:
            ending = form.suffixes[0]
            yield name, ".ask.html" if ending == ".html" else ending


EXPORTS = dict(sorted(_endings(), key=lambda one: (not one[1].endswith(".html"), one[0])))
"""Formats that need no further package, and what their files end in: pages first."""


class Studio:
    """The state of a studio: its folder, what checks texts, and the command that runs."""

    def __init__(self, root: Path) -> None:
        self.folder = Folder(root=root.resolve())
        self.jobs = Jobs(self.folder.root)
        self._checker = Checker(SECONDS)
        self._facts: data_facts.Facts | None = None

    async def close(self) -> None:
        """End the processes."""
        await self.jobs.end()
        self._checker.stop()

    # ---- texts

    def opened(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A spec's text; without a name the first, and the names of all."""
        names = self.folder.specs()
        name = _text(asked, "name") if asked.get("name") else (names or [""])[0]
        text = self.folder.read(name) if name in names else ""
        tables = self.folder.tables()
        return {
            "names": names,
            "name": name,
            "text": text,
            "folder": self.folder.root.name,
            "tables": tables,
            "formats": list(EXPORTS),
        }

    def saved(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Write a spec."""
        self.folder.save(_text(asked, "name"), _spec(asked), _spec(asked, "known"))
        return {"saved": True}

    async def checked(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The mistakes of a text, its rules, and the columns of its data."""
        text = _spec(asked)
        outline = _outline(text)
        told: dict[str, Any] = {"rules": _rules(text), "limits": rules.limits(text), "facts": None}
        outside = self.folder.outside(outline)
        if outside:
            return told | {"diagnostics": [_shown(text, one) for one in outside]}
        answer = await self._checker.check("spec.odt", text, str(self.folder.root))
        found = [unpack(one, outline.source) for one in answer.get("diagnostics", ())]
        if not isinstance(outline.parsed, tuple) and "diagnostics" not in answer:
            told["unread"] = answer.get("failed") or f"reading takes more than {SECONDS:g} s"
        elif answer.get("unread"):
            told["unread"] = answer["unread"]
        if answer.get("facts") is not None:
            self._facts = data_facts.from_json(answer["facts"])
            told["facts"] = answer["facts"]
        return told | {"diagnostics": [_shown(text, one) for one in found]}

    async def fixes(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The quick fixes of the mistakes at a place."""
        text = _spec(asked)
        if self.folder.outside(_outline(text)):
            return {"fixes": []}
        touching = (_from16(text, _number(asked, "start")), _from16(text, _number(asked, "end")))
        root = str(self.folder.root)
        answer = await self._checker.check("spec.odt", text, root, touching=touching)
        return {
            "fixes": [
                {
                    "code": of["code"],
                    "title": title,
                    "from": _to16(text, start),
                    "to": _to16(text, end),
                    "text": new,
                }
                for of, title, start, end, new in answer.get("fixes", ())
            ]
        }

    def completions(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What the grammar and the data allow at a place."""
        text = _spec(asked)
        at = _from16(text, _number(asked, "offset"))
        offered = complete(_outline(text), at, self._facts, self.folder.root)
        return {
            "from": _to16(text, offered.span.start),
            "to": _to16(text, offered.span.end),
            "items": [
                {"label": one.label, "text": one.text, "kind": one.kind, "detail": one.detail}
                for one in offered.items
            ],
        }

    def hovered(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The meaning of the word at a place, as Markdown."""
        text = _spec(asked)
        at = _from16(text, _number(asked, "offset"))
        found = hover.hover(_outline(text), at, self._facts)
        if found is None:
            return {"text": None}
        span = found[1]
        return {"text": found[0], "from": _to16(text, span.start), "to": _to16(text, span.end)}

    def switched(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The text with a rule switched on or off."""
        text = _spec(asked)
        return {"text": rules.switched(text, _from16(text, _number(asked, "start")))}

    def bounded(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The text with the bound of a point of a curve."""
        bound = rules.number_text(asked.get("value"), asked.get("percent") is True)
        return {"text": rules.bounded(_spec(asked), _text(asked, "rule"), bound)}

    # ---- commands

    async def begun(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Write a first spec for rows of the folder; the line that one would type."""
        rows = self.folder.file(_text(asked, "rows"), *TABLES)
        job = await self.jobs.start(("init", _given(rows.name), "--json"))
        return {"job": job.number, "line": job.line}

    async def started(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Save the spec and run a command on it; the line that one would type."""
        name, text = _text(asked, "name"), _spec(asked)
        outside = self.folder.outside(_outline(text))
        if outside:
            raise OdtError(outside)
        path = self.folder.save(name, text, _spec(asked, "known"))
        job = await self.jobs.start(self._command(_text(asked, "command"), path, asked))
        return {"job": job.number, "line": job.line}

    def _command(self, command: str, path: Path, asked: dict[str, Any]) -> tuple[str, ...]:
        spec = _given(path.name)
        tree = _given(path.with_suffix(".json").name)
        within = ("--within=" + asked["within"],) if _is_limit(asked.get("within")) else ()
        match command:
            case "solve":
                first = _started(path) if asked.get("go_on") is True else None
                start = () if first is None else ("--start=" + _given(first.name),)
                return ("solve", spec, "--out=" + tree, *start, *within, "--json", "--progress")
            case "explain":
                return ("explain", spec, *within, "--json")
            case "curve":
                return ("explain", spec, "--curve=" + _text(asked, "rule"), *within, "--json")
            case "near":
                page = _given(path.with_suffix(".trees.html").name)
                near = "--near=" + _text(asked, "near")
                return ("solve", spec, near, "--chooser=" + page, *within, "--json")
            case "report":
                page = _given(path.with_suffix(".html").name)
                return ("report", spec, "--out=" + page, *within, "--json")
            case "export":
                to = _text(asked, "to")
                if to in EXPORTS:
                    file = _given(path.with_suffix(EXPORTS[to]).name)
                    reads = (spec, tree) if to == "questionnaire" else (tree,)
                    return ("export", *reads, "--to=" + to, "--out=" + file, "--json")
        raise error("U382", f"the studio has no command `{command[:40]}`")

    def stopped(self) -> dict[str, Any]:
        """Ask the command to stop."""
        self.jobs.stop()
        return {"asked": True}

    def state(self, asked: dict[str, Any]) -> dict[str, Any]:
        """How the command goes: what it told since a number, and its answer once it ended."""
        job = self.jobs.current
        if job is None:
            return {"job": 0}
        events = [self._drawn(one) for one in job.since(_number(asked, "after"))[-1:]]
        told: dict[str, Any] = {"job": job.number, "line": job.line, "events": events}
        if job.code is None:
            return told | {"running": True}
        return told | {"running": False, "code": job.code} | self._ended(job)

    def _ended(self, job: Job) -> dict[str, Any]:
        answer = job.answer
        told: dict[str, Any] = {"command": job.argv[0], "answer": answer, "errors": job.errors}
        if isinstance(answer, dict) and isinstance(answer.get("model"), dict):
            told["svg"] = self._svg(answer["model"])
        written = [one.split("=", 1)[1] for one in job.argv if one.startswith(_WRITTEN)]
        told["files"] = [
            Path(one).name for one in written if job.code == 0 or (self.folder.root / one).exists()
        ]
        return told

    def _drawn(self, event: dict[str, Any]) -> dict[str, Any]:
        model = event.get("model")
        rest = {key: value for key, value in event.items() if key != "model"}
        return rest | {"svg": self._svg(model) if isinstance(model, dict) else None}

    def _svg(self, model: dict[str, Any]) -> str | None:
        """The picture; it says where missing cells go of the columns that have some."""
        from odtdsl.predictors.missing_values import missing_sides
        from odtdsl.predictors.saving import from_json
        from odtdsl.presentation.pictures.svg import to_svg

        facts = self._facts
        known = facts is not None and facts.n_rows is not None
        columns = () if facts is None else facts.columns
        asked = {one.name for one in columns if one.n_missing} if known else True
        try:
            tree = from_json(model)
            return to_svg(tree, notes=missing_sides(tree, asked))
        except OdtError:
            return None


def _started(spec: Path) -> Path | None:
    """The tree to go on from, moved away from where the next one is written to."""
    tree, start = spec.with_suffix(".json"), spec.with_suffix(".start.json")
    if tree.is_file():
        tree.replace(start)
    return start if start.is_file() else None


_WRITTEN = ("--out=", "--chooser=")


def _rules(text: str) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "text": one.text,
            "on": one.on,
            "bounds": one.bounds,
            "start": _to16(text, one.span.start),
        }
        for one in rules.listed(text)
    ]


def _shown(text: str, one: Diagnostic) -> dict[str, Any]:
    told = pack(one)
    told["labels"] = [[_to16(text, a), _to16(text, b), said] for a, b, said in told["labels"]]
    return told


# ---- what was asked


def _outline(text: str) -> Outline:
    return Outline(Source(name="spec.odt", text=text))


def _text(asked: dict[str, Any], key: str) -> str:
    value = asked.get(key)
    if not isinstance(value, str) or len(value) > 2000 or "\0" in value:
        raise error("U382", f"`{key}` is no text")
    return value


def _spec(asked: dict[str, Any], key: str = "text") -> str:
    value = asked.get(key)
    if not isinstance(value, str):
        raise error("U382", f"`{key}` is no text")
    if len(value) > MAX_BYTES:
        raise error("F003", "the text is larger than a spec may be")
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(asked: dict[str, Any], key: str) -> int:
    value = asked.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise error("U382", f"`{key}` is no number")
    return value


def _is_limit(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) < 40 and value.isprintable()


def _given(name: str) -> str:
    """A file's name as an argument: one that begins with `-` would be an option."""
    return f"./{name}" if name.startswith("-") else name


def _to16(text: str, offset: int) -> int:
    """An offset in characters as the browser counts it."""
    return len(text[: max(offset, 0)].encode("utf-16-le", "surrogatepass")) // 2


def _from16(text: str, offset: int) -> int:
    wide = text.encode("utf-16-le", "surrogatepass")[: 2 * offset]
    return len(wide.decode("utf-16-le", "replace"))


def read_body(body: bytes) -> dict[str, Any]:
    """The object that a request holds.

    Raises
    ------
    OdtError
        U382: it holds none.
    """
    try:
        value = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise error("U382", "the request holds no object")
    return value


__all__ = ["EXPORTS", "Studio", "read_body"]
