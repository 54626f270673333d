"""Exports at work: each format run by the program it is for, on rows of raw cells."""

from __future__ import annotations

import ast
import ctypes
import math
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import Value
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import AxisTest, Hyperplane
from odtdsl.predictors.nodes import Branch, InBin, Test
from odtdsl.predictors.predictor import Predictor
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.exports.names import identifiers
from odtdsl.presentation.exports.plan import plan_of

Row = dict[str, Any]
Model = Predictor
REFUSED = "(refused)"
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")
AWAY = 9e99
"""A number that is no level."""


def predicted(model: Model, rows: list[Row]) -> list[Any]:
    """What `predict` says of each row; `REFUSED` where it refuses the row."""
    try:
        return _predict(model, rows)
    except OdtError:
        if len(rows) == 1:
            return [_one(model, rows[0])]
        half = len(rows) // 2
        return predicted(model, rows[:half]) + predicted(model, rows[half:])


def _predict(model: Model, rows: list[Row]) -> list[Any]:
    names = [type_.name for type_ in model.features]
    found = model.predict({name: [row.get(name) for row in rows] for name in names})
    return [tuple(x) if isinstance(x, list) else x for x in found.tolist()]


def _one(model: Model, row: Row) -> Any:
    try:
        return _predict(model, [row])[0]
    except OdtError as failure:
        if not {d.code for d in failure.diagnostics} <= {"U204", "U208"}:
            raise
        return REFUSED


def tests_of(model: Model) -> list[tuple[str, Test]]:
    """Each feature with each of its tests."""
    if isinstance(model, Tree):
        return [(n.feature, n.test) for n in model.nodes() if isinstance(n, Branch)]
    assert isinstance(model, Diagram)
    splits = (n.split for n in model.nodes())
    return [(split.feature, split.test) for split in splits if isinstance(split, AxisTest)]


def edges(model: Model) -> dict[str, list[float]]:
    """Of each number column: every threshold, and its neighbours among float64."""
    kinds = {type_.name: type_.kind for type_ in model.features}
    found: dict[str, dict[float, None]] = {}
    for feature, test in tests_of(model):
        if kinds[feature] == "number":
            ends = [test.low, test.high] if isinstance(test, InBin) else [float(test.value)]
            for end in filter(math.isfinite, ends):
                near = (end, np.nextafter(end, math.inf), np.nextafter(end, -math.inf))
                found.setdefault(feature, {}).update(dict.fromkeys(map(float, near)))
    return {feature: list(values) for feature, values in found.items()}


# ---- Python


def by_python(model: Model, rows: list[Row]) -> list[Any]:
    """The function, run on each row; its source imports nothing and has only functions."""
    source = model.export("python", name="score")
    assert isinstance(source, str)
    tree = ast.parse(source)
    assert all(isinstance(node, ast.FunctionDef) for node in tree.body)
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
    names: dict[str, Any] = {}
    exec(compile(tree, "export", "exec"), names)
    return [_raised(names["score"], row) for row in rows]


def _raised(function: Any, row: Row) -> Any:
    try:
        return function(row)
    except ValueError:
        return REFUSED


# ---- SQL


def by_sql(model: Model, rows: list[Row], table: str = "data") -> list[Any]:
    """The query in SQLite, on a table with the columns of the model."""
    query = model.export("sql", name=table)
    assert isinstance(query, str)
    plan = plan_of(model)
    base = sqlite3.connect(":memory:")
    columns = plan.columns
    kinds = {"number": "DOUBLE PRECISION", "text": "TEXT"}
    listed = ", ".join(f"{_quoted(c.name)} {kinds[c.kind]}" for c in columns)
    base.execute(
        f'CREATE TABLE {_quoted(table)} ("row number" INTEGER{", " * bool(listed)}{listed})'
    )
    base.executemany(
        f"INSERT INTO {_quoted(table)} VALUES ({', '.join('?' * (1 + len(columns)))})",
        [(i, *(_sql_cell(c.kind, row.get(c.name)) for c in columns)) for i, row in enumerate(rows)],
    )
    base.execute("CREATE TABLE canary (x)")
    found = base.execute(query).fetchall()  # one statement, or sqlite3 says so
    assert [row[0] for row in found] == list(range(len(rows)))
    assert base.execute("SELECT count(*) FROM canary").fetchone() == (0,)
    width = len(model.targets)
    said = [row[-width:] if width > 1 else row[-1] for row in found]
    return [REFUSED if x is None or (width > 1 and x[0] is None) else x for x in said]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_cell(kind: str, cell: Any) -> Any:
    return cell if cell is None or kind == "number" else str(cell)


# ---- C


def by_c(models: list[Model], rows: list[list[Row]], folder: Path) -> list[list[Any]]:
    """The functions of several models, compiled together, run on the rows of each."""
    sources = [model.export("c", name=f"model_{i}") for i, model in enumerate(models)]
    number = len(list(folder.iterdir()))  # a library of a known name is not loaded again
    path = folder / f"models_{number}.c"
    # The helper for texts is one for each file, and these are many files in one.
    parts = [
        str(s).replace(" is(", f" is_{i}(").replace("(is(", f"(is_{i}(")
        for i, s in enumerate(sources)
    ]
    path.write_text("\n".join(parts), encoding="utf-8")
    library = path.with_suffix(".so")
    command = ["gcc", *FLAGS, "-shared", "-fPIC", str(path), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))
    return [_call(loaded, i, model, rows[i]) for i, model in enumerate(models)]


def _call(library: Any, number: int, model: Model, rows: list[Row]) -> list[Any]:
    plan = plan_of(model)
    kinds = {"number": ctypes.c_double, "text": ctypes.c_char_p}
    names = identifiers(c.name for c in plan.columns)
    fields = [(name, kinds[c.kind]) for name, c in zip(names, plan.columns, strict=True)]
    struct = type("Row", (ctypes.Structure,), {"_fields_": fields or [("none", ctypes.c_char)]})
    function = getattr(library, f"model_{number}")
    outputs = (ctypes.c_double * len(plan.targets))()
    labels: Any = ()
    if plan.classes:
        labels = (ctypes.c_char_p * len(plan.classes)).in_dll(library, f"model_{number}_labels")
        for label, shown in zip(plan.classes, labels, strict=True):
            assert shown.decode("utf-8") == written(label)
    found = []
    for row in rows:
        cells = [_c_cell(c.kind, row.get(c.name)) for c in plan.columns]
        rest = () if plan.classes else (outputs,)
        code = function(ctypes.byref(struct(*cells)), *rest)
        if code == -1:
            found.append(REFUSED)
        elif plan.classes:
            found.append(plan.classes[code])
        else:
            found.append(tuple(outputs) if len(outputs) > 1 else outputs[0])  # type: ignore[arg-type]
    return found


def _c_cell(kind: str, cell: Any) -> Any:
    if kind == "number":
        return math.nan if cell is None else float(cell)
    return None if cell is None else str(cell).encode("utf-8")


def written(value: Value) -> str:
    """How a file writes a label or a level."""
    if isinstance(value, str | int):
        return str(value)
    return repr(value + 0.0).removesuffix(".0")


# ---- rules


def by_rules(model: Model, rows: list[Row]) -> list[Any]:
    """The rules, read here by what their words mean."""
    text = model.export("text")
    assert isinstance(text, str)
    head, *blocks = text.rstrip("\n").split("\n\n")
    count = re.search(r"(\d+) rules?, (?:of )?which", head.split("\n")[0])
    assert count
    assert int(count[1]) == len(blocks)
    ranks = ranks_of(head.split("\n")[1:])
    rules = [_Rule(block, len(model.targets), ranks) for block in blocks]
    refusing = plan_of(model).refusing
    return [_ruled(rules, row, refusing) for row in rows]


def ranks_of(lines: list[str]) -> dict[str, dict[str, float]]:
    """The ranks of levels, as `rank(NAME): LEVEL RANK, ...` says them."""
    return {
        line.split("`")[1]: {
            str(ast.literal_eval(level)): float(rank)
            for level, rank in re.findall(r"(\"[^\"]*\"|\S+) (\d+)[,.]", line.split(": ")[1])
        }
        for line in lines
    }


def _ruled(rules: list[_Rule], row: Row, refusing: Any) -> Any:
    if refuses(refusing, row):
        return REFUSED
    said = [rule.said for rule in rules if all(part.holds(row) for part in rule.parts)]
    assert len(said) == 1, said
    return said[0]


def refuses(refusing: Any, row: Row) -> bool:
    """Whether `predict` refuses a row, which people's formats do not say."""
    for column in refusing:
        cell = row.get(column.name)
        known = cell is None or any(same(cell, level) for level in column.levels)
        if (column.weighed and cell is None) or (column.ordered and not known):
            return True
    return False


class _Rule:
    """`if ... and ... then ...`, or `always then ...`."""

    def __init__(self, block: str, targets: int, ranks: dict[str, dict[str, float]]) -> None:
        *lines, last = block.split("\n")
        lines = [] if lines == ["always"] else lines
        self.parts = [condition(line, ranks) for line in lines]
        self.said = outputs(last, targets)


def condition(line: str, ranks: dict[str, dict[str, float]]) -> _Part | _Sum:
    """`if ...` or `and ...`."""
    return _Part(line) if re.match(r"(if|and) `", line) else _Sum(line, ranks)


def outputs(words: str, targets: int) -> Any:
    """What `TARGET = VALUE, ...` says."""
    values = re.findall(r'` = ("(?:[^"\\]|\\.)*"|[-+.\de]+)', words)
    assert len(values) == targets, words
    found = tuple(ast.literal_eval(value) for value in values)
    return found if targets > 1 else found[0]


class _Part:
    """`if NAME CONDITION {and CONDITION} [or missing]`, or `if NAME = A {or = B} [or missing]`."""

    def __init__(self, line: str) -> None:
        match = re.fullmatch(r"(?:if|and) `((?:[^`\\]|\\.)*)` (.*)", line)
        assert match, line
        self.name, words = ast.literal_eval(f'"{_escaped(match[1])}"'), match[2]
        self.missing = words.endswith("missing")
        if self.missing:
            words = words.removesuffix("missing").removesuffix(" or ")
        operand = r'\[[^\])]*[\])]|"(?:[^"\\]|\\.)*"|[-+.\de]+'
        one = rf"(?:(or|and) )?(not )?(in|<=|>=|<|>|=) ({operand})(?: |$)"
        self.present = bool(words)
        parts = [] if words in ("", "present") else re.findall(one, words)
        assert words in ("", "present") or re.fullmatch(f"({one})+", words), line
        self.any = any(part[0] == "or" for part in parts)
        self.parts = [(not negated, sign, _operand(sign, text)) for _, negated, sign, text in parts]

    def holds(self, row: Row) -> bool:
        cell = row.get(self.name)
        if cell is None or not self.present:
            return cell is None and self.missing
        truths = (_true(sign, operand, cell) is wanted for wanted, sign, operand in self.parts)
        return any(truths) if self.any else all(truths)


class _Sum:
    """`if W * NAME + W * rank(NAME) + W * [NAME = VALUE] < BOUND`."""

    def __init__(self, line: str, ranks: dict[str, dict[str, float]]) -> None:
        words = line.removeprefix("if ").removeprefix("and ")
        term = r"([-\d.e]+) \* (?:`([^`]*)`|rank\(`([^`]*)`\)|\[`([^`]*)` = ([^\]]*)\])"
        match = re.fullmatch(rf"({term}(?: \+ {term})*) (<|>=) ([-\d.e]+)", words)
        assert match, line
        self.terms = re.findall(term, match[1])
        self.below, self.bound = match[match.re.groups - 1] == "<", float(match[match.re.groups])
        self.ranks = ranks

    def holds(self, row: Row) -> bool:
        total = 0.0
        for weight, plain, ranked, named, value in self.terms:
            if plain:
                counted = row[plain]
            elif ranked:
                counted = self.ranks[ranked][str(row[ranked])]
            else:
                counted = float(same(row[named], ast.literal_eval(value)))
            total = total + float(weight) * counted
        return (total < self.bound) is self.below


def _escaped(text: str) -> str:
    return text.replace("\\`", "`").replace('"', '\\"')


def _operand(sign: str, text: str) -> Any:
    if sign != "in":
        return ast.literal_eval(text)
    low, high = text[1:-1].split(", ")
    return float(low), float(high), text[-1] == "]"


def _true(sign: str, operand: Any, cell: Any) -> bool:
    match sign:
        case "in":
            low, high, closed = operand
            return bool(low <= cell < high or (closed and cell == high))
        case "=":
            return same(cell, operand)
        case "<=":
            return bool(cell <= operand)
        case ">=":
            return bool(cell >= operand)
        case "<":
            return bool(cell < operand)
    return bool(cell > operand)


def same(cell: Any, level: Any) -> bool:
    """Whether a cell is a level, in columns whose cells are written as the levels are."""
    if isinstance(cell, str) == isinstance(level, str):
        return bool(cell == level)
    return written(cell) == written(level)


# ---- ONNX


def by_onnx(model: Model, rows: list[Row]) -> list[Any]:
    """The graph in onnxruntime; rows one by one where it refuses the batch."""
    import onnx
    import onnxruntime

    written = model.export("onnx")
    assert isinstance(written, bytes)
    onnx.checker.check_model(onnx.load_from_string(written), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(written, options, providers=["CPUExecutionProvider"])
    try:
        return _onnx(session, model, rows)
    except Exception as failure:
        if "out of data bounds" not in str(failure):
            raise
    return [_onnx_one(session, model, row) for row in rows]


def _onnx_one(session: Any, model: Model, row: Row) -> Any:
    try:
        return _onnx(session, model, [row])[0]
    except Exception as failure:
        if "out of data bounds" not in str(failure):
            raise
        return REFUSED


def _onnx(session: Any, model: Model, rows: list[Row]) -> list[Any]:
    plan = plan_of(model)
    inputs = [value.name for value in session.get_inputs()]
    if inputs == ["X"]:
        names = [type_.name for type_ in model.features]
        cells = [[_c_cell("number", row.get(name)) for name in names] for row in rows]
        feeds = {"X": np.array(cells, dtype=np.float64)}
    elif inputs == ["rows"]:
        feeds = {"rows": np.zeros((len(rows), 1))}
    else:
        feeds = {
            name: np.array([[_onnx_cell(c.kind, row.get(c.name))] for row in rows])
            for name, c in zip(inputs, plan.columns, strict=True)
        }
    found = session.run(None, feeds)
    if plan.classes:
        assert np.allclose(found[1].sum(axis=1), 1)
        return list(found[0].tolist())
    assert found[0].dtype == np.float64
    return [row[0] if len(row) == 1 else tuple(row) for row in found[0].tolist()]


def _onnx_cell(kind: str, cell: Any) -> Any:
    return _c_cell(kind, cell) if kind == "number" else "" if cell is None else str(cell)


# ---- PMML


def by_pmml(model: Model, rows: list[Row]) -> list[Any]:
    """The document in JPMML, on a Java machine inside this process."""
    import jpmml_evaluator

    written = model.export("pmml")
    assert isinstance(written, str)
    backend = jpmml_evaluator.make_backend("jpype")
    builder = jpmml_evaluator.LoadingModelEvaluatorBuilder(backend)
    evaluator = builder.loadString(written).build()
    plan = plan_of(model)
    assert [field.getName() for field in evaluator.getTargetFields()] == list(model.targets)
    return [_pmml_one(evaluator, plan, row, model) for row in rows]


def _pmml_one(evaluator: Any, plan: Any, row: Row, model: Model) -> Any:
    cells = {
        c.name: None
        if row.get(c.name) is None
        else float(row[c.name])
        if c.kind == "number"
        else str(row[c.name])
        for c in plan.columns
    }
    try:
        found = evaluator.evaluate(cells)
    except Exception as failure:
        if "ValueCheckException" not in str(failure):
            raise
        return REFUSED
    return found[model.targets[0]]


# ---- treelite


def by_treelite(model: Model, rows: list[Row]) -> list[Any]:
    """The model in treelite's own interpreter."""
    import treelite

    written = model.export("treelite")
    assert isinstance(written, bytes)
    loaded = treelite.Model.deserialize_bytes(written)
    plan = plan_of(model)
    cells = np.full((len(rows), len(model.features)), np.nan)
    for column in plan.columns:
        for i, row in enumerate(rows):
            cells[i, column.position] = _code(column, row.get(column.name))
    found = treelite.gtil.predict(loaded, cells, nthread=1).reshape(len(rows), -1)
    assert found.dtype == np.float64
    if plan.classes:
        assert (found.sum(axis=1) == 1).all()
        return [plan.classes[i] for i in found.argmax(axis=1)]
    return [row[0] if len(row) == 1 else tuple(row) for row in found.tolist()]


def _code(column: Any, cell: Any) -> float:
    if cell is None:
        return math.nan
    if column.kind == "number":
        return float(cell)
    return float(column.levels.index(cell)) if cell in column.levels else -1.0


# ---- all formats that need a package

PACKAGES = {
    "onnx": ("onnx", "onnxruntime"),
    "pmml": ("jpmml_evaluator", "jpype"),
    "treelite": ("treelite",),
}


def by_package(to: str, model: Model, rows: list[Row], said: list[Any]) -> list[Any]:
    """A format of another library, where that is installed, else the test is skipped."""
    for package in PACKAGES[to]:
        pytest.importorskip(package, reason=f"{package} runs exports to {to}")
    if to == "pmml" and shutil.which("java") is None:
        pytest.skip("java runs exports to pmml")
    if to == "treelite":  # which has no way to refuse a row
        found = by_treelite(model, rows)
        return [REFUSED if x == REFUSED else y for x, y in zip(said, found, strict=True)]
    return by_onnx(model, rows) if to == "onnx" else by_pmml(model, rows)


def refused_by(to: str, model: Model) -> bool:
    """What only these formats cannot carry."""
    if to == "pmml":
        return len(model.targets) > 1
    planes = isinstance(model, Diagram) and any(
        isinstance(node.split, Hyperplane) for node in model.nodes()
    )
    return to == "treelite" and planes
