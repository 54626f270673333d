"""The fuzz target `commands`: command lines of `odt` over small specs.

An input is a JSON list of arguments. Whatever they are, a command ends with a code that
`docs/reference/cli.md` lists and that is no mistake of odtdsl, and prints no traceback.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from fuzzing import Target

from odtdsl.interfaces.cli.main import app

CODES = {0, 1, 2, 3, 4}
"""Of the listed ones all but 70, a mistake of odtdsl, and 130: nobody interrupts."""

ROWS = "age,sex,cost,y\n" + "\n".join(
    f"{20 + 7 * i % 50},{'fm'[i % 2]},{i * 3 % 11}.5,{('no', 'yes')[(i * i + i // 3) % 3 > 0]}"
    for i in range(24)
)
SPECS = {
    "classes.odt": 'data "rows.csv", test "rows.csv" target y cost age = 2\n'
    'group women = sex == "f" let k = 3 tree depth <= 2, leaves <= 3\n'
    "minimize errors + 0.01 * k * leaves "
    "rule big: forall leaf: size >= 2 rule fair: accuracy(women) >= 40%\n"
    "rule paid: forall path: cost <= 4 solve within 0.3 s",
    "numbers.odt": 'data "rows.csv" target cost: number drop y tree depth <= 1 minimize mse\n'
    "solve within 0.3 s",
    "diagram.odt": 'data "rows.csv" target y diagram widths 1, 2 minimize errors\n'
    "solve within 0.3 s",
    "never.odt": 'data "rows.csv" target y tree depth <= 1 minimize errors\n'
    "rule none: errors = 0 rule many: leaves >= 2 solve within 20 s",
    "small.odt": 'data "rows.csv" target y tree minimize depth then leaves rule p: errors <= 9\n'
    "solve using sat, within 0.3 s",
    "wrong.odt": 'data "no.csv" target z tree depth <= minimize',
}
FILES = (
    *SPECS,
    "rows.csv",
    "tree.json",
    "answer.json",
    "old.txt",
    "formula.cnf",
    "model.sol",
    "no.such",
    "new.json",
    "new.svg",
    "new.csv",
    "new.dot",
    "new.html",
    "new.py",
    "new.sql",
    "new.c",
    "new.cnf",
    "new.lp",
    "new.odtproof",
    ".",
    "",
    "x" * 300,
    "a\0b",
    "-",
    "\udcff",
    "é ü",
)
TEXTS = (
    "",
    " ",
    "1",
    "0",
    "-1",
    "2147483648",
    "9" * 30,
    "9" * 5000,
    "1e400",
    "nan",
    "inf",
    "0.3",
    "0.01",
    "1%",
    "50%",
    "-5%",
    "0.2 s",
    "2min",
    "1h1",
    "auto",
    "exact",
    "milp",
    "sat",
    "cpsat",
    "greedy",
    "milp (cptree)",
    "sat (paper)",
    "sat (glucose4)",
    "pattern",
    "subtrees",
    "cptree",
    "odd",
    "ordered",
    "paper",
    "rc2",
    "glucose4",
    "nosuch",
    "k=2",
    "k=",
    "=2",
    "k=1/0",
    "k=x",
    "k=9" + "9" * 400,
    "depth=1..2",
    "depth=2..1",
    "leaves=2,3",
    "k=1,2",
    "alpha=0..1 by 0",
    "widths=1-2",
    "depth=1..99999999999",
    "depth=a",
    "within=0.1,0.2",
    "one-se",
    "best",
    "error_rate",
    "maximize accuracy(women)",
    "3 errors",
    "0.02",
    "1 leaf",
    "big",
    "fair",
    "none",
    "depth",
    "leaves",
    "tree depth",
    "age=30",
    "sex=f",
    "age=",
    "age=1e999",
    "sex=é",
    "y=yes",
    "yes",
    "no",
    "?",
    ";",
    ",",
    "\t",
    "ab",
    ".",
    "'",
    '"',
    "\0",
    "\udcff",
    "é",
    "\u202e",
    "𝒳",
    "text",
    "sql",
    "python",
    "c",
    "onnx",
    "pmml",
    "treelite",
    "lp",
    "mps",
    "cnf",
    "wcnf",
    "opb",
    "threading",
    "if",
    "a b",
    "1a",
    "a" * 3000,
    "<b>",
    "$(x)",
    "%s",
    "{0}",
    "--json",
    "--",
    "-o",
)
LEFT_OUT = {"--address", "--help"}
"""A scheduler that is not there is waited for; help is of click."""
FEW = {"--jobs": ("1", "0", "x", "1.5"), "--backend": ("threading", "sequential", "nosuch", "")}
"""Values that start no processes."""


GOOD = {
    "--data": ("rows.csv",),
    "--test": ("rows.csv",),
    "--set": ("k=2", "k=4"),
    "--using": ("auto", "exact", "milp", "sat", "greedy"),
    "--model": ("pattern", "tree.json"),
    "--within": ("0.3", "0.2 s"),
    "--gap": ("1%", "0"),
    "--until": ("steady 1s", "gap 1%"),
    "--memory": ("2GB",),
    "--threads": ("1", "2"),
    "--seed": ("0", "7"),
    "--start": ("tree.json",),
    "--out": ("new.json", "new.html", "new.py"),
    "--svg": ("new.svg",),
    "--dot": ("new.dot",),
    "--csv": ("new.csv",),
    "--keep": ("keep.json",),
    "--proof": ("new.odtproof",),
    "--near": ("1 errors", "5%"),
    "--most": ("3",),
    "--on": ("exact", "greedy", "milp (cptree)"),
    "--deeper": ("1", "0"),
    "--points": ("3",),
    "--curve": ("big", "fair", "leaves", "many"),
    "--to": ("python", "sql", "cnf", "yes", "lp"),
    "--depth": ("2",),
    "--bound": ("3", "2"),
    "--assignment": ("model.sol",),
    "--cv": ("2",),
    "--vary": ("depth=1,2", "k=2..3"),
    "--repeats": ("1", "2"),
    "--outer": ("0", "2"),
    "--choose": ("best", "one-se"),
    "--score": ("error_rate",),
    "--row": ("0", "23"),
    "--cell": ("age=30", "sex=f"),
    "--freeze": ("age",),
    "--name": ("f",),
    "--title": ("é",),
}
"""Values with which commands get further."""
ARGUMENTS = {
    "spec": tuple(SPECS)[:5],
    "path": tuple(SPECS)[:5],
    "model": ("tree.json",),
    "tree": ("tree.json",),
    "data": ("rows.csv",),
    "rows": ("rows.csv",),
}
FILE_OPTIONS = {
    "--assignment",
    "--csv",
    "--data",
    "--dot",
    "--keep",
    "--out",
    "--proof",
    "--start",
    "--svg",
    "--test",
}


def commands() -> dict[str, Any]:
    """The commands of `odt` by name, without the one that serves until it is stopped."""
    return {name: command for name, command in app.commands.items() if name != "studio"}


def drawn(rng: random.Random) -> list[str]:
    """A command line, most of whose words have a meaning."""
    name, command = rng.choice(list(commands().items()))
    arguments = [name]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            if rng.random() < 0.97:
                good = ARGUMENTS.get(parameter.name, FILES)
                arguments.append(rng.choice(good if rng.random() < 0.9 else FILES))
        elif parameter.required or rng.random() < 0.15:
            arguments += _option(parameter, rng)
    return arguments


def _option(parameter: Any, rng: random.Random) -> list[str]:
    name = rng.choice(parameter.opts)
    if LEFT_OUT & set(parameter.opts):
        return []
    if parameter.is_flag:
        return [name]
    for known, values in FEW.items():
        if known in parameter.opts:
            return [name, rng.choice(values)]
    for known, values in GOOD.items():  # type: ignore[assignment]
        if known in parameter.opts and rng.random() < 0.7:
            return [name, rng.choice(values)]
    is_file = bool(FILE_OPTIONS & set(parameter.opts))
    pool = FILES if is_file and rng.random() < 0.9 else TEXTS
    return [name, rng.choice(pool)]


def changed(data: bytes, rng: random.Random) -> bytes:
    """Another command line, or this one with a word more, less, or another."""
    arguments = _arguments(data)
    if not arguments or rng.random() < 0.3:
        return json.dumps(drawn(rng)).encode()
    at = rng.randrange(len(arguments))
    match rng.randrange(4):
        case 0:
            del arguments[at]
        case 1:
            arguments[at] = rng.choice((*TEXTS, *FILES))
        case 2:
            others = drawn(rng)
            arguments[at + 1 :] = others[1:]
        case _:
            arguments.insert(at + 1, rng.choice(TEXTS))
    return json.dumps(arguments).encode()


def _arguments(data: bytes) -> list[str] | None:
    """The words of an input; None where they are none, or would reach beyond the folder."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        return None
    if any("/" in one or one.startswith("..") for one in found):
        return None
    if any("\0" in one for one in found):  # no system hands such an argument to a program
        return None
    if any(one.partition("=")[0] in LEFT_OUT for one in found) or found[:1] == ["studio"]:
        return None
    for option, values in FEW.items():
        for word, after in zip(found, [*found[1:], ""], strict=False):
            if word.startswith(option[:3]) and (word != option or after not in values):
                return None
    return found


def run_command(data: bytes, folder: Path) -> None:
    """Run a command line in the folder."""
    arguments = _arguments(data)
    if arguments is None:
        return
    _fill(folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        ran = CliRunner().invoke(app, arguments, input="")
    finally:
        os.chdir(before)
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    assert ran.exit_code in CODES, f"exit code {ran.exit_code}: {ran.output}"
    assert "Traceback" not in ran.output
    assert "Warning:" not in ran.stderr, ran.stderr
    if "--json" in arguments and ran.exit_code != 2 and ran.stdout.strip():
        json.loads(ran.stdout)


def _fill(folder: Path) -> None:
    """The files that commands read, as they were; what commands wrote is gone."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, text in {"rows.csv": ROWS, "old.txt": "mine", **SPECS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, text in _made.items():
        (folder / name).write_text(text, encoding="utf-8")


_made: dict[str, str] = {}
"""A saved tree, an answer, a formula and an assignment: made once."""


def _make(folder: Path) -> None:
    _fill(folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        run = CliRunner().invoke
        for name in tuple(SPECS)[:5]:
            ran = run(app, ["solve", name, "--out", "tree.json"])
            assert ran.exit_code == (3 if name == "never.odt" else 0), ran.output
        run(app, ["solve", "classes.odt", "--out", "tree.json"])
        _made["answer.json"] = run(app, ["solve", "classes.odt", "--json"]).stdout
        run(app, ["compile", "small.odt", "--out", "formula.cnf", "--depth", "2"])
        for name in ("tree.json", "formula.cnf"):
            _made[name] = Path(name).read_text(encoding="utf-8")
        _made["model.sol"] = "s SATISFIABLE\nv 1 -2 3 0\n"
    finally:
        os.chdir(before)


@contextlib.contextmanager
def command_lines() -> Iterator[Target]:
    """Command lines, run one after the other in one process."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make(folder)
        yield Target(
            name="commands",
            run=lambda data: run_command(data, folder),
            seeds=tuple(json.dumps(drawn(rng)).encode() for _ in range(200)),
            words=tuple(json.dumps(text).encode() for text in TEXTS[:60]),
            mutate=changed,
        )
