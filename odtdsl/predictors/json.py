"""Predictors as versioned JSON. Reading is strict, exact for floats, and executes nothing.

A file of version 2 is one object::

    {"format": "odtdsl.tree", "version": 2,
     "features": [{"name": "age", "kind": "number", "levels": [], "step": null,
                   "by_value": false}, ...],
     "targets": ["disease"], "classes": ["no", "yes"],
     "root": NODE}

    NODE: {"node": "leaf", "label": 0, "output": null, "size": 31, "class_weights": [30.0, 1.0]}
      or  {"node": "branch", "feature": "age", "test": TEST, "missing": "left", "size": 303,
           "left": NODE, "right": NODE}
    TEST: {"test": "threshold", "value": 54.5}   or   {"test": "equals", "value": "female"}
      or  {"test": "bin", "low": null, "high": 54.5, "closed": false}   (null: no end)

`label` is an index into `classes`; for number targets it is null, `classes` is empty and
`output` holds one number for each target; `days` lists targets that are dates, if there are any,
whose outputs are days since 1970-01-01. A leaf of a survival tree has one, its hazard ratio,
and a `curve`, a list of [time, weight at risk, weight of events]. `step` is a fraction as text,
such as "1/2". A feature has `na`, a list of texts, where the spec reads some as missing, and
`gaps`, whether the spec says where missing cells go, which files of 0.1.0 do not tell. Every
other key must be there and no other may be. Files of version 1 have no `by_value` and are read as
if it were true for every column with levels: there a cell was the level that read as its number.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from odtdsl.base import files
from odtdsl.base.diagnostics.model import Diagnostic, OdtError, error, shortened
from odtdsl.base.files import as_path, write_text
from odtdsl.base.signatures import is_proof
from odtdsl.datasets.dataset import ColumnType, Day, Kind, OfDate, Value
from odtdsl.datasets.request import ORDERS
from odtdsl.predictors.nodes import (
    Branch,
    Equals,
    InBin,
    Leaf,
    Test,
    Threshold,
    TreeNode,
    of_days,
)
from odtdsl.predictors.tree import Tree
from odtdsl.predictors.validation import MAX_DEPTH, check_tree

FORMAT = "odtdsl.tree"
VERSION = 2
VERSIONS = (1, VERSION)
"""What can be read."""

MAX_BYTES = 50_000_000
MAX_MESSAGES = 20
Object = dict[str, Any]


def to_json(tree: Tree) -> Object:
    """The tree as an object that `json.dumps` writes and `from_json` reads back equal.

    Raises
    ------
    OdtError
        F207 to F210: the tree is not well formed (see `check_tree`) and could not be read back.
    """
    if problems := check_tree(tree):
        raise OdtError(problems[:MAX_MESSAGES])
    return {
        "format": FORMAT,
        "version": VERSION,
        "features": [feature_object(type_) for type_ in tree.features],
        "targets": list(tree.targets),
        "classes": [plain(label) for label in tree.classes],
        "root": _node_object(tree.root),
        **({"task": tree.task} if tree.task else {}),
        **({"days": days} if (days := _days(tree)) else {}),
    }


def dumps(tree: Tree) -> str:
    """The tree as JSON text that ends with a newline; see `to_json`."""
    return json.dumps(to_json(tree), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def save(tree: Tree, path: str | os.PathLike[str]) -> None:
    """Write a tree to a file, whole or not at all.

    Raises
    ------
    OdtError
        F301, the file cannot be written; F207 to F210 as `to_json`.
    """
    write_text(as_path(path), dumps(tree))


def load(path: str | os.PathLike[str]) -> Tree:
    """Read a tree from a file that `save` wrote.

    Raises
    ------
    OdtError
        F201, the file cannot be read; F202, it is over 50 MB; else as `loads`.
    """
    return loads(read_bytes(path), name=os.fspath(path))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, one more than a model may have at most; F201 where it is unreadable."""
    try:
        return files.read_bytes(path, MAX_BYTES + 1)
    except (OSError, ValueError) as caught:
        reason = getattr(caught, "strerror", None) or caught
        raise error("F201", f"cannot read {os.fspath(path)}: {reason}") from caught


def loads(data: str | bytes, *, name: str = "the model") -> Tree:
    """Read a tree from JSON text or its UTF-8 bytes; `name` is what messages call it.

    Raises
    ------
    OdtError
        F202, over 50 MB; F203, not JSON; F204, JSON of something else; F205, a version that
        is not known; F206, a key is missing, unknown or repeated; F207, a value of a wrong
        type or out of place; F208, nested too deeply; F209, a number that is not finite;
        F210, a name, level or class index that does not exist.
    """
    return from_json(parsed(data, name), name=name)


def parsed(data: str | bytes, name: str) -> object:
    """What a JSON text or its bytes hold; F202, F203, F208 and F209 as `loads`."""
    if len(data) > MAX_BYTES:
        raise error(
            "F202", f"{name} is larger than {MAX_BYTES // 1000000} MB, the limit for a model"
        )
    if isinstance(data, bytes) and is_proof(data):
        helps = (f"check it with its spec: `odt audit spec.odt tree.json --proof {name}`",)
        raise error("F203", f"{name} is a proof, not a model", helps=helps)
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        found: object = json.loads(
            text, object_pairs_hook=_object_once, parse_constant=_refuse_constant
        )
        return found
    except UnicodeDecodeError as caught:
        raise error("F203", f"{name} is not JSON: it is not UTF-8 text") from caught
    except json.JSONDecodeError as caught:
        raise _not_json(name, text, caught) from caught
    except RecursionError as caught:
        raise error("F208", f"{name} is nested deeper than a tree can be ({MAX_DEPTH})") from caught
    except ValueError as caught:  # more digits than Python turns into an integer
        raise error("F209", f"{name} contains a number with too many digits") from caught


def from_json(value: object, *, name: str = "the model") -> Tree:
    """The tree of an object that `to_json` made, possibly by way of JSON text.

    Raises
    ------
    OdtError
        F204 to F210, see `loads`; all that is wrong at once, at most 20 messages.
    """
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise error(
            "F204",
            f"{name} is not a saved tree: it has no format mark",
            helps=[f'a saved tree must be an object with "format": "{FORMAT}"'],
        )
    check_version(value, name)
    reader = Reader(value["version"])
    tree = reader.tree(value)
    problems = reader.problems or list(check_tree(tree))
    if problems:
        raise OdtError([named(problem, name) for problem in problems[:MAX_MESSAGES]])
    return tree


def check_version(value: Object, name: str) -> None:
    """Raise F205 for a version that this reader does not know."""
    version = value.get("version")
    if type(version) is not int or version not in VERSIONS:
        raise error(
            "F205",
            (
                f"{name} has version {json.dumps(version, default=repr)[:40]}, but this version "
                f"of odtdsl reads versions 1 to {VERSION}"
            ),
            helps=["a newer version of odtdsl may read it"],
        )


class Reader:
    """Turns parsed JSON into a tree and collects what is wrong, each with its place.

    Where a value is wrong a harmless one stands in for it, so that reading goes on.
    """

    def __init__(self, version: int = VERSION) -> None:
        self.version = version
        self.problems: list[Diagnostic] = []
        self.types: dict[str, ColumnType] = {}
        """The features that were read so far."""
        self.outputs_of_days: tuple[bool, ...] = ()
        """Of each target whether its outputs count days."""

    def wrong(self, code: str, place: str, message: str) -> None:
        """Records a mistake, unless there are too many already."""
        if len(self.problems) < MAX_MESSAGES:
            self.problems.append(Diagnostic(code=code, message=f"at {place}: {message}"))

    def tree(self, value: Object) -> Tree:
        """A tree from its JSON object; mistakes are recorded in `problems`."""
        keys = ("format", "version", "features", "targets", "classes", "root")
        more = [key for key in ("task", "days") if key in value]
        self.keys(value, "the top level", (*keys, *more))
        features = self.items(value.get("features", []), "features")
        targets = self.items(value.get("targets", []), "targets")
        days = self.items(value.get("days", []), "days")
        if any(target not in targets for target in days):
            self.wrong("F207", "days", "must name targets")
        self.outputs_of_days = tuple(target in days for target in targets)
        classes = self.items(value.get("classes", []), "classes")
        return Tree(
            features=tuple(self.feature(v, f"features[{i}]") for i, v in enumerate(features)),
            targets=tuple(self.text(v, f"targets[{i}]") for i, v in enumerate(targets)),
            classes=tuple(self.value(v, f"classes[{i}]") for i, v in enumerate(classes)),
            root=self.node(value["root"], "root", 0) if "root" in value else Leaf(),
            task=self.text(value.get("task", ""), "task"),
        )

    def feature(self, value: object, place: str) -> ColumnType:
        """A feature from its JSON object."""
        keys: tuple[str, ...] = ("name", "kind", "levels", "step")
        if self.version > 1:
            keys += ("by_value",)
        if isinstance(value, dict) and "na" in value:
            keys += ("na",)
        if isinstance(value, dict) and "date" in value:
            keys += ("date",)
        if isinstance(value, dict) and "gaps" in value:
            keys += ("gaps",)
        entry = self.entry(value, place, keys)
        kinds: tuple[Kind, ...] = get_args(Kind)
        kind = next((kind for kind in kinds if kind == entry.get("kind")), None)
        if kind is None and "kind" in entry:
            self.wrong("F207", f"{place}.kind", f"{_short(entry['kind'])} is not a column kind")
        levels = self.items(entry.get("levels", []), f"{place}.levels")
        marks = self.items(entry.get("na", []), f"{place}.na")
        by_value = entry.get("by_value", self.version == 1 and kind != "number")
        if not isinstance(by_value, bool):
            self.wrong("F207", f"{place}.by_value", f"{_short(by_value)} is not true or false")
        gaps = entry.get("gaps")
        if "gaps" in entry and not isinstance(gaps, bool):
            self.wrong("F207", f"{place}.gaps", f"{_short(gaps)} is not true or false")
        found = ColumnType(
            name=self.text(entry.get("name", ""), f"{place}.name"),
            kind=kind or "number",
            levels=tuple(self.value(v, f"{place}.levels[{i}]") for i, v in enumerate(levels)),
            step=self.step(entry.get("step"), f"{place}.step"),
            by_value=by_value is True,
            na=tuple(self.text(v, f"{place}.na[{i}]") for i, v in enumerate(marks)),
            date=self.date(entry["date"], f"{place}.date") if "date" in entry else None,
            gaps=gaps if isinstance(gaps, bool) else None,
        )
        self.types[found.name] = found
        return found

    def date(self, value: object, place: str) -> OfDate | None:
        """What a feature was made of, from its JSON object."""
        entry = self.entry(value, place, ("column", "part", "order"))
        part = self.text(entry.get("part", ""), f"{place}.part")
        order = self.text(entry.get("order", ""), f"{place}.order")
        if part not in ("days", "year", "month", "weekday") or order not in ("", *ORDERS):
            self.wrong("F207", place, "must say days, year, month or weekday, and dmy, mdy or ''")
            return None
        column = self.text(entry.get("column", ""), f"{place}.column")
        return OfDate(column=column, part=part, order=order)

    def shown(self, name: str, test: Test) -> Test:
        """A test, with a threshold of days as a date."""
        type_ = self.types.get(name)
        if type_ is None or type_.date is None:
            return test
        if isinstance(test, InBin):
            return replace(test, low=type_.shown(test.low), high=type_.shown(test.high))
        if isinstance(test, Threshold) and not isinstance(test.value, str):
            return Threshold(value=type_.shown(test.value))
        return test

    def node(self, value: object, place: str, depth: int) -> TreeNode:
        """A branch or leaf from its JSON object; `depth` guards against deep nesting."""
        if depth > MAX_DEPTH:
            if not any(problem.code == "F208" for problem in self.problems):
                self.wrong("F208", "root", f"the tree is deeper than {MAX_DEPTH}")
            return Leaf()
        if isinstance(value, dict) and value.get("node") == "branch":
            return self.branch(value, place, depth)
        if isinstance(value, dict) and value.get("node") == "leaf":
            return self.leaf(value, place)
        self.wrong("F207", place, 'a node must be an object with "node": "leaf" or "branch"')
        return Leaf()

    def branch(self, value: Object, place: str, depth: int) -> Branch:
        """A branch from its JSON object."""
        keys = ("node", "feature", "test", "missing", "size", "left", "right")
        self.keys(value, place, keys)
        missing = value.get("missing", "left")
        if missing not in ("left", "right"):
            self.wrong("F207", f"{place}.missing", f'{_short(missing)} is not "left" or "right"')
            missing = "left"
        left, right = (
            self.node(value[side], f"{place}.{side}", depth + 1) if side in value else Leaf()
            for side in ("left", "right")
        )
        feature = self.text(value.get("feature", ""), f"{place}.feature")
        return Branch(
            feature=feature,
            test=self.shown(feature, self.test(value.get("test"), f"{place}.test"))
            if "test" in value
            else Threshold(value=0),
            left=left,
            right=right,
            missing=missing,
            size=self.count(value.get("size", 0), f"{place}.size"),
        )

    def leaf(self, value: Object, place: str) -> Leaf:
        """A leaf from its JSON object."""
        keys = ("node", "label", "output", "size", "class_weights")
        self.keys(value, place, (*keys, "curve") if "curve" in value else keys)
        label, output = value.get("label"), value.get("output")
        weights = self.items(value.get("class_weights", []), f"{place}.class_weights")
        return Leaf(
            label=None if label is None else self.count(label, f"{place}.label"),
            output=None
            if output is None
            else of_days(
                tuple(
                    self.number(v, f"{place}.output[{i}]")
                    for i, v in enumerate(self.items(output, f"{place}.output"))
                ),
                self.outputs_of_days,
            ),
            size=self.count(value.get("size", 0), f"{place}.size"),
            class_weights=tuple(
                self.number(v, f"{place}.class_weights[{i}]") for i, v in enumerate(weights)
            ),
            curve=self.curve(value.get("curve", []), f"{place}.curve"),
        )

    def curve(self, value: object, place: str) -> tuple[tuple[float, float, float], ...]:
        """The curve of a leaf from its JSON list."""
        found = []
        for i, step in enumerate(self.items(value, place)):
            three = self.items(step, f"{place}[{i}]")
            if len(three) != 3:
                self.wrong("F207", f"{place}[{i}]", "must be a time, a weight at risk, and events")
                continue
            time, risk, events = (self.number(v, f"{place}[{i}]") for v in three)
            found.append((time, risk, events))
        return tuple(found)

    def test(self, value: object, place: str) -> Test:
        """A test from its JSON object."""
        kind = value.get("test") if isinstance(value, dict) else None
        if kind in ("threshold", "equals"):
            entry = self.entry(value, place, ("test", "value"))
            operand = self.value(entry.get("value", 0), f"{place}.value")
            return Threshold(value=operand) if kind == "threshold" else Equals(value=operand)
        if kind == "bin":
            entry = self.entry(value, place, ("test", "low", "high", "closed"))
            low, high = entry.get("low"), entry.get("high")
            closed = entry.get("closed", False)
            if not isinstance(closed, bool):
                self.wrong("F207", f"{place}.closed", f"{_short(closed)} is not true or false")
            return InBin(
                low=-math.inf if low is None else self.number(low, f"{place}.low"),
                high=math.inf if high is None else self.number(high, f"{place}.high"),
                closed=closed is True,
            )
        self.wrong(
            "F207", place, 'a test must be an object with "test": "threshold", "equals" or "bin"'
        )
        return Threshold(value=0)

    def keys(self, value: Object, place: str, keys: tuple[str, ...]) -> None:
        """Records keys that are missing, repeated or unknown."""
        for key in keys:
            if key not in value:
                self.wrong("F206", place, f'the key "{key}" is missing')
        for key in value:
            if isinstance(key, _Repeated):
                self.wrong("F206", place, f"the key {_short(str(key))} occurs twice")
            elif key not in keys:
                self.wrong("F206", place, f"the key {_short(key)} is unknown")

    def entry(self, value: object, place: str, keys: tuple[str, ...]) -> Object:
        """The value as an object with exactly these keys; else a mistake."""
        if not isinstance(value, dict):
            self.wrong("F207", place, f"{_short(value)} is not an object")
            return {}
        self.keys(value, place, keys)
        return value

    def items(self, value: object, place: str) -> list[Any]:
        """The value as a list, else a mistake and an empty list."""
        if isinstance(value, list):
            return value
        self.wrong("F207", place, f"{_short(value)} is not a list")
        return []

    def text(self, value: object, place: str) -> str:
        """The value as a text, else a mistake and an empty text."""
        if isinstance(value, str) and _writable(value):
            return value
        self.wrong("F207", place, f"{_short(value)} is not a string")
        return ""

    def count(self, value: object, place: str) -> int:
        """The value as a whole number of at least 0, else a mistake and 0."""
        if type(value) is int and 0 <= value < 2**63:
            return value
        self.wrong("F207", place, f"{_short(value)} is not a whole number of 0 or more")
        return 0

    def number(self, value: object, place: str) -> float:
        """The value as a finite float, else a mistake and 0."""
        if type(value) in (int, float):
            return float(self.value(value, place))
        self.wrong("F207", place, f"{_short(value)} is not a number")
        return 0.0

    def value(self, value: object, place: str) -> Value:
        """A label or level. Floats may be infinite here in spite of JSON, by `1e999`."""
        if isinstance(value, str) and _writable(value):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if abs(value) < math.inf and (isinstance(value, float) or abs(value) <= 10**300):
                return value
            self.wrong("F209", place, f"{_short(value)} is not a finite number")
        else:
            self.wrong("F207", place, f"{_short(value)} is not a string or a number")
        return 0

    def step(self, value: object, place: str) -> Fraction | None:
        """A step from its text, such as `1/2`; `None` without one."""
        if value is None:
            return None
        parts = value.split("/") if isinstance(value, str) else []
        if 1 <= len(parts) <= 2 and all(p.isascii() and p.isdigit() for p in parts):
            digits = [int(part) for part in parts if len(part) <= 100]
            if len(digits) == len(parts) and min(digits) > 0:
                return Fraction(*digits)
        self.wrong("F207", place, f'{_short(value)} is not a fraction like "1/2"')
        return None


class _Repeated(str):
    """A key that an object of a file has twice."""

    __slots__ = ()


def _object_once(pairs: list[tuple[str, Any]]) -> Object:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                # str.__eq__ would merge it with the key it repeats.
                result[_Repeated(f"{key}\0repeated")] = None
            seen.add(key)
    return result


def _refuse_constant(text: str) -> float:
    raise error("F209", f"the model contains {text}, which is not a finite number")


def _not_json(name: str, text: str, caught: json.JSONDecodeError) -> OdtError:
    if not text.strip():
        return error("F203", f"{name} is empty")
    if caught.pos >= len(text.rstrip()):
        return error(
            "F203", f"{name} is truncated: it ends at line {caught.lineno}, inside a value"
        )
    return error(
        "F203",
        f"{name} is not JSON: {caught.msg} at line {caught.lineno}, column {caught.colno}",
        helps=("use a model saved by `odt solve SPEC --out tree.json`",),
    )


def named(problem: Diagnostic, name: str) -> Diagnostic:
    """The problem with the model that has it."""
    return Diagnostic(code=problem.code, message=f"{name}, {problem.message}", helps=problem.helps)


def feature_object(type_: ColumnType) -> Object:
    """The type of a feature."""
    return {
        "name": type_.name,
        "kind": type_.kind,
        "levels": [plain(level) for level in type_.levels],
        "step": None if type_.step is None else str(type_.step),
        "by_value": type_.by_value,
        **({"na": list(type_.na)} if type_.na else {}),
        **({"date": _date_object(type_.date)} if type_.date is not None else {}),
        **({} if type_.gaps is None else {"gaps": type_.gaps}),
    }


def _date_object(date: OfDate) -> Object:
    return {"column": date.column, "part": date.part, "order": date.order}


def _days(tree: Tree) -> list[str]:
    """The targets whose outputs count days."""
    outputs = next(iter(tree.leaves)).output or ()
    return [name for name, at in zip(tree.targets, outputs, strict=False) if isinstance(at, Day)]


def _node_object(node: TreeNode) -> Object:
    if isinstance(node, Leaf):
        return {
            "node": "leaf",
            "label": None if node.label is None else int(node.label),
            "output": None if node.output is None else [float(v) for v in node.output],
            "size": int(node.size),
            "class_weights": [float(v) for v in node.class_weights],
            **({"curve": [list(map(float, one)) for one in node.curve]} if node.curve else {}),
        }
    return {
        "node": "branch",
        "feature": node.feature,
        "test": test_object(node.test),
        "missing": node.missing,
        "size": int(node.size),
        "left": _node_object(node.left),
        "right": _node_object(node.right),
    }


def test_object(test: Test) -> Object:
    """A test of one feature."""
    match test:
        case Threshold(value=value):
            return {"test": "threshold", "value": plain(value)}
        case Equals(value=value):
            return {"test": "equals", "value": plain(value)}
        case InBin(low=low, high=high, closed=closed):
            ends = [None if math.isinf(end) else float(end) for end in (low, high)]
            return {"test": "bin", "low": ends[0], "high": ends[1], "closed": bool(closed)}


def plain(value: Value) -> Value:
    """The value as Python's own type, because `json` does not know numpy's integers."""
    return value.item() if isinstance(value, np.generic) else value


def _short(value: object, most: int = 40) -> str:
    match value:
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case str():
            text = json.dumps(value[:most])
        case None | bool() | float():
            text = json.dumps(value)
        case int():
            text = str(value) if abs(value) < 10**most else "a very large number"
        case _:
            text = f"a value of type `{type(value).__name__}`"
    return shortened(text, most)


def _writable(text: str) -> bool:
    """Whether a text can be written as UTF-8: JSON's escapes can spell half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
