"""The package stands as its contracts say: floors, and no circles."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from copy import deepcopy
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from docs.floors import drawn, floors
from odtdsl.base.tasks import Part

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
CONTRACTS = {
    one["id"]: one
    for one in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}
MOST_ENTRIES = 15


@pytest.fixture(scope="module")
def imports() -> Any:
    """Every import between modules, those included that only type checkers see."""
    grimp = pytest.importorskip("grimp", reason="import-linter is not installed")
    finder = "grimp.adaptors.packagefinder.ImportLibPackageFinder.determine_package_directories"
    # An editable installation names the folder above the checkout as a place of the package, too.
    with patch(finder, return_value={str(ROOT / "odtdsl")}):
        graph = grimp.build_graph("odtdsl", exclude_type_checking_imports=False, cache_dir=None)
    files = {path.relative_to(ROOT) for path in (ROOT / "odtdsl").rglob("*.py")}
    assert graph.modules == {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files
    }
    return graph


def kept(contract: dict[str, Any], imports: Any) -> bool:
    """Whether a graph of imports keeps a contract."""
    from importlinter.configuration import configure
    from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
    from importlinter.contracts.forbidden import ForbiddenContract
    from importlinter.contracts.layers import LayersContract

    configure()
    kind = {
        "layers": LayersContract,
        "forbidden": ForbiddenContract,
        "acyclic_siblings": AcyclicSiblingsContract,
    }[contract["type"]]
    options = {
        key: str(value) if isinstance(value, bool) else value
        for key, value in contract.items()
        if key not in ("id", "name", "type")
    }
    session = {"root_packages": ["odtdsl"]}
    made = kind(name=contract["name"], session_options=session, contract_options=options)
    check = made.check(imports, verbose=False)
    if not check.kept:
        made.render_broken_contract(check)  # pytest shows it where a test fails
    kept: bool = check.kept
    return kept


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_contract_is_kept(name: str, imports: Any) -> None:
    assert kept(CONTRACTS[name], deepcopy(imports))


@pytest.mark.parametrize(
    ("name", "importer", "imported"),
    [
        ("floors", "odtdsl.base.files", "odtdsl.driver.result"),
        ("floors", "odtdsl.auditor.rows", "odtdsl.backends.base"),
        ("problem", "odtdsl.problem.ir.forms", "odtdsl.problem.terms.base"),
        ("backends", "odtdsl.backends.milp.search", "odtdsl.backends.sat.search"),
        ("interfaces", "odtdsl.interfaces.api.model", "odtdsl.interfaces.cli.main"),
        ("second-opinion", "odtdsl.auditor.meanings", "odtdsl.problem.ir.evaluate"),
        ("meaning", "odtdsl.predictors.tree", "odtdsl.language.ast"),
        ("core", "odtdsl.backends.base", "odtdsl.problem.terms.registry"),
        ("circles", "odtdsl.predictors.nodes", "odtdsl.predictors.tree"),
    ],
)
def test_a_wrong_import_breaks_the_contract(
    name: str, importer: str, imported: str, imports: Any
) -> None:
    wrong = deepcopy(imports)
    wrong.add_import(importer=importer, imported=imported)
    assert not kept(CONTRACTS[name], wrong)


def test_no_file_imports_itself_by_way_of_others(imports: Any) -> None:
    """Not even a package by way of what is in it, as contracts on siblings do not see."""
    files = {name: imports.find_modules_directly_imported_by(name) for name in imports.modules}
    TopologicalSorter(files).prepare()


def floor_of(name: str) -> str:
    """The floor that a module of a task is a part of; its terms belong to the problem."""
    part = getattr(import_module(name), "PART", None)
    if part is None:
        assert name.endswith(".terms"), name
        return "problem"
    (home,) = (kind.__module__ for kind in type(part).__mro__ if Part in kind.__bases__)
    return str(home.split(".")[1])


def test_parts_of_tasks_stand_on_their_floors(imports: Any) -> None:
    """A part is found by name from its floor, so that it may import this one and those below."""
    level = {package: at for at, floor in enumerate(floors()) for package in floor}
    parts = {
        name
        for name in imports.find_descendants("odtdsl.tasks")
        if name.count(".") == 3 and not name.endswith("__init__")
    }
    assert len(parts) >= 2
    for name in parts:
        own = floor_of(name)
        allowed = {own, *(one for one, at in level.items() if at > level[own])}
        used = imports.find_modules_directly_imported_by(name)
        assert {one.split(".")[1] for one in used} - {"tasks"} <= allowed, name
        for other in (one for one in used if one.startswith("odtdsl.tasks.")):
            assert other in parts, "a part uses parts of its own task alone"
            assert other.rpartition(".")[0] == name.rpartition(".")[0], name
            assert level[floor_of(other)] >= level[own], name


def test_nothing_imports_the_root_of_the_package(imports: Any) -> None:
    """It stands on all floors: what a module needs of it, it takes from where that lives."""
    assert imports.find_modules_that_directly_import("odtdsl") == set()


def test_the_root_holds_floors_and_little_else() -> None:
    uncounted = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}
    entries = {
        path.name
        for path in (ROOT / "odtdsl").iterdir()
        if path.is_file() or any(path.rglob("*.py"))  # and not what a branch left behind
    } - uncounted
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_the_page_shows_the_floors_of_the_contract() -> None:
    assert drawn() in PAGE.read_text(encoding="utf-8"), "run `python -m docs.generate`"
    text = PAGE.read_text(encoding="utf-8")
    for floor in floors():
        for package in floor:
            assert f"`odtdsl/{package}" in text, f"{package} is not explained"


def test_the_files_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`((?:odtdsl|solvers|tests)/[\w./]+)`", PAGE.read_text("utf-8")))
    assert len(named) > 30
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_formatters_decide_the_layout() -> None:
    """Ruff's for Python, clang-format's for C++: without exceptions, within 100 columns."""
    mark = "# fmt" + ":"
    for folder in ("benchmarks", "docs", "grammar", "models", "odtdsl", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            assert mark not in path.read_text(encoding="utf-8"), path
    for path in (ROOT / "solvers").rglob("*.[ch]pp"):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            assert len(line) <= 100, f"{path}:{number}"


USED = (
    "from odtdsl.datasets import elective_grades",
    "from odtdsl.words import errors",
    "from odtdsl.estimators import OptimalTreeClassifier",
    "import odtdsl.datasets, odtdsl.estimators, odtdsl.words",
    "from odtdsl import datasets, load, load_ipython_extension, solve, words",
)
FORKED = """
import os, sys
import numpy, sklearn.base, sklearn.utils.validation  # paid once for all
for line in sys.argv[1:]:
    if not os.fork():
        exec(line)
        os._exit(0)
    if os.wait()[1]:
        sys.exit("failed: " + line)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_what_users_import_is_where_it_was() -> None:
    """Each line is the first that a process asks of odtdsl."""
    words = [sys.executable, "-c", FORKED, *USED]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


MOST_PARAMETERS = 8
NAMED_BY_USERS = {
    "compiler/analysis.py": {"analyse"},
    "estimators/classifiers.py": {"__init__"},
    "estimators/forest.py": {"__init__"},
    "estimators/policies.py": {"__init__"},
    "estimators/survival.py": {"__init__"},
    "estimators/policy_scores.py": {"policy_scores"},
    "estimators/regressors.py": {"__init__"},
    "insight/explanations/tracing.py": {"trace"},
    "interfaces/api/builder.py": {"data"},
    "interfaces/api/model.py": {"alternatives", "solve"},
    "interfaces/api/solving.py": {"alternatives", "solve"},
    "interfaces/api/statements.py": {"data"},
    "interfaces/api/tuning.py": {"tune"},
}
"""Functions whose many parameters are keywords with defaults: decision 22."""


def test_functions_take_few_parameters() -> None:
    for path in sorted((ROOT / "odtdsl").rglob("*.py")):
        allowed = NAMED_BY_USERS.get(path.relative_to(ROOT / "odtdsl").as_posix(), set())
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            taken = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
            many = len([each for each in taken if each.arg not in ("self", "cls")])
            assert many <= MOST_PARAMETERS or one.name in allowed, (
                f"{path}: {one.name} takes {many}"
            )
            if many > MOST_PARAMETERS:
                by_place = len(one.args.posonlyargs) + len(one.args.args)
                assert by_place <= 4, f"{path}: {one.name}: {by_place}"
