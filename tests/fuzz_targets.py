"""What is fuzzed: each target's inputs, what is done with one, and what has to hold then."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from fuzz_commands import command_lines
from fuzzing import Target

from odtdsl.base.diagnostics.codes import CODES
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.diagnostics.render import render_text, to_json
from odtdsl.base.source import Source
from odtdsl.datasets.request import DataRequest
from odtdsl.language.expressions import name_text
from odtdsl.language.grammar import keywords
from odtdsl.language.parser import parse
from odtdsl.language.printer import format_source, to_text

ROOT = Path(__file__).resolve().parents[1]
ODD = (
    "\0",
    "\ufeff",
    "\r",
    "\r\n",
    "\u2028",
    "\x85",
    "\x1b[2J",
    "\ud800",
    "é",
    "e\u0301",
    "𝒳",
    "𒐫",
    "\u202e",
    "\u00a0",
    "９",
    "٣",
    "²",
    "nan",
    "inf",
    "-0",
    "1e400",
    "1e-400",
    "9" * 500,
    "1_000",
    "0x10",
    "1e999999999",
    "((((",
    "]]]]",
    "{{{{",
    '"',
    "'",
    "`",
    "``",
    "\\",
    "#",
    "%s",
    "{0}",
    "../",
    "/dev/zero",
    "~nobody/",
    "${HOME}",
    "<script>",
    "a" * 3000,
)
"""Pieces that have broken readers of texts before."""


def told(failure: OdtError) -> None:
    """Every message can be shown, and sent as UTF-8."""
    assert failure.diagnostics
    for diagnostic in failure.diagnostics:
        assert diagnostic.code in CODES
        render_text(diagnostic).encode()
        json.dumps(to_json(diagnostic))


def _encoded(pieces: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(piece.encode("utf-8", "surrogatepass") for piece in pieces)


def text_of(data: bytes) -> str:
    """Any bytes as a text, half surrogates too: editors send them while one types."""
    return (
        data.decode("utf-8", "surrogatepass" if b"\xed" in data else "replace")
        if _whole(data)
        else data.decode("latin-1")
    )


def _whole(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


# ---- specs


def spec_words() -> tuple[bytes, ...]:
    """The words of the language, and odd pieces."""
    from odtdsl.problem.terms.registry import BY_NAME

    words = [word for words in keywords().values() for word in words.split()]
    signs = ["<=", "<", "=", "!=", "+", "-", "*", "/", ",", ":", "(", ")", "{", "}", "[", "]", "%"]
    return _encoded((*(f" {word} " for word in (*words, *BY_NAME, *signs)), *ODD))


def spec_seeds() -> tuple[bytes, ...]:
    """All specs of the project."""
    folders = (ROOT / "grammar", ROOT / "models")
    paths = sorted(path for folder in folders for path in folder.rglob("*.odt"))
    return tuple(path.read_bytes() for path in paths if path.stat().st_size < 6000)


@contextlib.contextmanager
def parser() -> Iterator[Target]:
    """Specs: what parses can be printed, and reads back equal."""
    yield Target(name="parser", run=run_parser, seeds=spec_seeds(), words=spec_words())


def run_parser(data: bytes) -> None:
    """Parse, format, parse again."""
    source = Source(name="fuzz.odt", text=text_of(data))
    try:
        spec = parse(source)
        shown = to_text(spec, source=source)
    except OdtError as failure:
        told(failure)
        return
    again = Source(name="again.odt", text=shown)
    assert parse(again) == spec, "the printed spec is another one"
    assert format_source(again) == shown, "formatting twice is not formatting once"


# ---- data

SUFFIXES = (".csv", ".csv", ".tsv", ".arff", ".parquet", ".frame")
ENCODINGS = (
    None,
    "latin-1",
    "utf-16",
    "utf-7",
    "utf-8-sig",
    "punycode",
    "idna",
    "unicode_escape",
    "raw_unicode_escape",
    "zlib",
    "hex",
    "rot13",
    "undefined",
    "no\0such",
    "cp037",
    "ASCII",
)
CSV = b"age,sex,y\n41,f,yes\n52,m,no\n,f,yes\n1e3,m,no\n"
ARFF = b"@relation r\n@attribute a numeric\n@attribute b {x, 'y z'}\n@data\n1,x\n2,'y z'\n?,x\n"


def case(suffix: str, content: bytes, **options: Any) -> bytes:
    """An input of the target `data`: a line of options, then the file."""
    return json.dumps({"suffix": suffix, **options}).encode() + b"\n" + content


def parquet_seeds() -> Iterator[bytes]:
    """Parquet files of every type that Arrow has."""
    import datetime
    import decimal

    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    columns: dict[str, Any] = {
        "i": [1, None, 3],
        "f": [1.5, float("nan"), float("inf")],
        "s": ["a", None, "ü"],
        "b": [True, False, None],
        "d": [datetime.date(2020, 1, 1)] * 3,
        "y": [b"\0\xff"] * 3,
        "n": [[1, 2], [], None],
        "m": [{"k": 1}] * 3,
        "c": [decimal.Decimal("1.50"), None, decimal.Decimal(0)],
    }
    for name, values in columns.items():
        for compression in ("none", "snappy"):
            stream = io.BytesIO()
            column = pa.array(values)
            kept = [column] if name not in "s" else [column, column.dictionary_encode()]
            table = pa.table({f"c{i}": one for i, one in enumerate(kept)} | {"t": ["u", "v", "u"]})
            pq.write_table(table, stream, compression=compression)
            yield case(".parquet", stream.getvalue())


@contextlib.contextmanager
def data() -> Iterator[Target]:
    """Files of rows, down to a spec on them."""
    words = ("@data", "@attribute", "@relation", "numeric", "{", "}", "?", ",", ";", "\t", '""')
    with tempfile.TemporaryDirectory() as folder:
        yield Target(
            name="data",
            run=lambda content: run_data(content, Path(folder)),
            seeds=(
                case(".csv", CSV),
                case(".csv", CSV.replace(b",", b";"), separator=";"),
                case(".csv", CSV.replace(b",", b" "), separator=" "),
                case(".csv", b'a,"b ""c""","d\ne"\n"1","2",3\n', na=["3"]),
                case(".tsv", CSV.replace(b",", b"\t"), header=False),
                case(".csv", CSV.decode().encode("utf-16"), encoding="utf-16"),
                case(".csv", CSV.replace(b"\n", b"\r")),
                case(".arff", ARFF),
                case(".frame", b'{"a": [1, null, 2.5], "b": ["x", true, 3], "y": [0, 1, 0]}'),
                *parquet_seeds(),
            ),
            words=_encoded((*words, *ODD)),
            mutate=_other_options,
        )


def _other_options(data: bytes, rng: random.Random) -> bytes:
    head, _, content = data.partition(b"\n")
    options = _options(head)
    match rng.randrange(6):
        case 0:
            options["suffix"] = rng.choice(SUFFIXES)
        case 1:
            options["encoding"] = rng.choice(ENCODINGS)
        case 2:
            options["separator"] = rng.choice((None, ";", " ", r"\t", '"', "ab", "", "\0", "e"))
        case 3:
            options["header"] = not options.get("header", True)
        case 4:
            options["na"] = rng.choice(([], ["?", "nan"], ["1"], ["1e400"], [""], ["x", "inf"]))
        case _:
            place = rng.randrange(len(content) + 1)
            content = content[:place] + rng.randbytes(rng.choice((1, 4))) + content[place + 1 :]
    return json.dumps(options).encode() + b"\n" + content


def _options(head: bytes) -> dict[str, Any]:
    try:
        found = json.loads(head)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"suffix": ".csv"}


def run_data(data: bytes, folder: Path) -> None:
    """Read the file, and analyse a spec whose target is its last column."""
    from odtdsl.compiler import analyse
    from odtdsl.datasets.readers import read

    head, _, content = data.partition(b"\n")
    options = _options(head)
    suffix = options.get("suffix") if options.get("suffix") in SUFFIXES else ".csv"
    encoding, separator, na = (options.get(key) for key in ("encoding", "separator", "na"))
    request = DataRequest(
        kind="frame" if suffix == ".frame" else "file",
        name=f"t{suffix}",
        encoding=encoding if isinstance(encoding, str) else None,
        separator=separator if isinstance(separator, str) else None,
        header=options.get("header") is not False,
        na=tuple(map(str, na)) if isinstance(na, list) else (),
    )
    frame = _frame(content) if suffix == ".frame" else None
    (folder / f"t{suffix}").write_bytes(content)
    try:
        table = read(request, base=folder, frame=frame)
        assert table.n_rows > 0
        lengths = {len(c.texts) for c in table.columns.values()}
        lengths |= {len(c.missing) for c in table.columns.values()}
        assert lengths == {table.n_rows}
        text = f"data frame target {name_text([*table.columns][-1])} missing branch\n"
        text += "tree depth <= 1\nminimize errors"
        source = Source(name="fuzz.odt", text=text)
        shown = {name: column.texts.tolist() for name, column in table.columns.items()}
        analyse(parse(source), source=source, frame=shown)
    except OdtError as failure:
        told(failure)


def _frame(content: bytes) -> Any:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {"a": [1]}
    return found if isinstance(found, dict) else {"a": [found]}


# ---- models


@contextlib.contextmanager
def models() -> Iterator[Target]:
    """Saved trees, diagrams and results."""
    with tempfile.TemporaryDirectory() as folder:
        yield Target(
            name="models",
            run=lambda content: run_models(content, Path(folder)),
            seeds=model_seeds(),
            words=_encoded(
                (
                    "null",
                    "true",
                    "-1",
                    "1e999",
                    "NaN",
                    "-Infinity",
                    "{}",
                    "[]",
                    '"left"',
                    '"right"',
                    '"branch"',
                    '"leaf"',
                    '"equals"',
                    '"bin"',
                    '"threshold"',
                    "[" * 2000,
                    '"\\ud800"',
                    '{"a":' * 200,
                    *ODD,
                )
            ),
            mutate=_other_json,
        )


def model_seeds() -> tuple[bytes, ...]:
    """A tree of every test, one of numbers, two diagrams, a result."""
    number = {"name": "age", "kind": "number", "levels": [], "step": "1/2"}
    word = {"name": "sex", "kind": "category", "levels": ["f", "m"], "step": None}
    leaves = [
        {"node": "leaf", "label": i % 2, "output": None, "size": 3, "class_weights": [1.0, 2.0]}
        for i in range(4)
    ]

    def branch(feature: str, test: dict[str, Any], left: Any, right: Any) -> dict[str, Any]:
        return {
            "node": "branch",
            "feature": feature,
            "test": test,
            "missing": "left",
            "size": 6,
            "left": left,
            "right": right,
        }

    low = branch("sex", {"test": "equals", "value": "f"}, leaves[0], leaves[1])
    bins = {"test": "bin", "low": None, "high": 3.5, "closed": True}
    root = branch("age", {"test": "threshold", "value": 1.5}, low, branch("age", bins, *leaves[2:]))
    tree = {
        "format": "odtdsl.tree",
        "version": 1,
        "features": [number, word],
        "targets": ["y"],
        "classes": ["no", "yes"],
        "root": root,
    }
    output = {"node": "leaf", "label": None, "output": [1.5], "size": 3, "class_weights": []}
    numbers = tree | {"classes": [], "root": output}
    ends = [{"node": None, "label": i, "size": 3} for i in range(2)]
    axis = {"split": "axis", "feature": "age", "test": bins, "missing": "right"}
    plane = {
        "split": "hyperplane",
        "bound": 4.5,
        "weights": [
            {"feature": "age", "weight": 0.5, "value": None},
            {"feature": "sex", "weight": -1.0, "value": "f"},
        ],
    }
    diagrams = [
        {
            "format": "odtdsl.diagram",
            "version": 1,
            "features": [number, word],
            "targets": ["y"],
            "classes": ["no", "yes"],
            "entry": {"node": 0, "label": None, "size": 6},
            "layers": [[{"split": split, "left": ends[0], "right": ends[1], "size": 6}]],
            "terminals": [{"size": 3, "class_weights": [2.0, 1.0]}] * 2,
        }
        for split in (axis, plane)
    ]
    found = (tree, numbers, *diagrams, {"status": "optimal", "model": tree})
    return tuple(json.dumps(one).encode() for one in found)


def _other_json(data: bytes, rng: random.Random) -> bytes:
    """Another value in some place of the JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places = list(_places(value))
    if not places:
        return data
    holder, key = rng.choice(places)
    other, at = rng.choice(places)
    match rng.randrange(5):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.extend([holder[key]] * rng.choice((1, 3, 200)))
        case 2:
            holder[key] = json.loads(json.dumps(other[at]))
        case _:
            odd = (  # type: ignore[var-annotated]
                None,
                True,
                -1,
                0,
                3,
                1.5,
                1e308,
                10**400,
                2**63,
                "",
                "age",
                "nan",
                [],
                {},
                [[]],
                "\ud800",
                "left",
                "1/0",
                "1/3",
                "a\0b",
                "number",
                "ordered",
                "binary",
                -0.0,
                [1, 2],
            )
            holder[key] = rng.choice(odd)
    return json.dumps(value).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items  # type: ignore[assignment]
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def run_models(data: bytes, folder: Path) -> None:
    """Load; what loads is saved equal, drawn, and predicts."""
    from odtdsl.interfaces.api import load_model
    from odtdsl.predictors import saving
    from odtdsl.presentation.pictures import graphviz, svg

    path = folder / "model.json"
    path.write_bytes(data)
    try:
        model = load_model(path)
    except OdtError as failure:
        told(failure)
        return
    assert saving.from_json(json.loads(saving.dumps(model))) == model
    for draw in (svg.to_svg, graphviz.to_dot):
        draw(model).encode()
    str(model).encode()
    row = {
        type_.name: list(type_.levels[:1]) or [1.5] if type_.kind != "category" else ["f"]  # type: ignore[misc]
        for type_ in model.features
    }
    if row:
        try:
            assert len(model.predict(row)) == 1
        except OdtError as failure:
            told(failure)


# ---- the editor


@contextlib.contextmanager
def editor() -> Iterator[Target]:
    """What the language server does with a text: mistakes with data, and every request."""
    from odtdsl.interfaces.editor.tables import Tables

    corpus = (ROOT / "grammar" / "good", ROOT / "grammar" / "bad")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for path in (path for place in corpus for path in place.glob("*.csv")):
            (base / path.name).write_bytes(path.read_bytes())
        (base / "t.csv").write_bytes(CSV)
        tables = Tables()
        yield Target(
            name="editor",
            run=lambda content: run_editor(content, base, tables),
            seeds=tuple(seed for seed in spec_seeds() if b"sklearn" not in seed),
            words=(*spec_words(), b'data "t.csv" ', b"women", b"\nrule ", b"\ngroup g = ", b"\n"),
        )


def run_editor(data: bytes, base: Path, tables: Any) -> None:
    """Check the text, then ask everything at places that the text itself decides."""
    from odtdsl.interfaces.editor import hover, positions
    from odtdsl.interfaces.editor.checking import checked
    from odtdsl.interfaces.editor.completion import complete
    from odtdsl.interfaces.editor.outline import Outline
    from odtdsl.interfaces.editor.worker import pack, unpack

    source = Source(name="t.odt", text=text_of(data))
    outline, size = Outline(source), len(source.text)
    found = checked(outline, base, tables)
    for diagnostic in found.diagnostics:
        assert unpack(json.loads(json.dumps(pack(diagnostic))), source) == diagnostic
        assert diagnostic.code in CODES
        for label in diagnostic.labels:
            span = positions.clipped(source, label.span)
            assert positions.place(source, span.start) <= positions.place(source, span.end)
    rng = random.Random(len(data))
    places = {0, size, *(rng.randrange(size + 1) for _ in range(12))}
    for at in sorted(places):
        hover.hover(outline, at, found.facts)
        for item in complete(outline, at, found.facts, base).items:
            assert item.label
        named = hover.definition(outline, at)
        if named is not None:
            _renamed(outline, named, rng.choice(("new name", "x1", "if", named.name)))


def _renamed(outline: Any, named: Any, name: str) -> None:
    """A rename touches only the name, and a text that could be read still can."""
    from odtdsl.interfaces.editor import hover
    from odtdsl.language import ast

    text = outline.source.text
    try:
        edits = hover.rename(outline, named, name, None)
    except OdtError as failure:
        told(failure)
        return
    assert edits
    for span, new in reversed(edits):
        text = text[: span.start] + new + text[span.end :]
    if isinstance(outline.parsed, ast.Spec):
        again = parse(Source(name="t.odt", text=text))
        assert len(again.statements) == len(outline.parsed.statements)


TARGETS: dict[str, Callable[[], AbstractContextManager[Target]]] = {
    "parser": parser,
    "data": data,
    "models": models,
    "editor": editor,
    "commands": command_lines,
}
"""All targets, by name."""
