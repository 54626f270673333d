"""Exports agree with `predict`, whatever the cells and however hostile the names."""

from __future__ import annotations

import csv
import math
import os
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from exported import AWAY, REFUSED, Model, Row, edges, predicted
from runners import RUNNERS
from runners.python import by_python
from scale import SCALE

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.datasets.dataset import ColumnType
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.diagram_nodes import Arc, AxisTest, Hyperplane, Node, Terminal, Weight
from odtdsl.predictors.nodes import Branch, Equals, InBin, Leaf, Test, Threshold, TreeNode
from odtdsl.predictors.tree import Tree
from odtdsl.presentation.exports.registry import FORMATS

AGE = ColumnType(name="age", kind="number")
DOSE = ColumnType(name="dose (mg)", kind="number")
SIZE = ColumnType(name="size", kind="ordered", levels=("small", "middle", "large"))
GRADE = ColumnType(name="grade", kind="ordered", levels=(3, 1, 2))
CITY = ColumnType(name="city", kind="category", levels=("Köln", "Zürich", "a b"))
CODE = ColumnType(name="code", kind="category", levels=(0, 2.5, -3))
SEX = ColumnType(name="sex", kind="binary", levels=("f", "m"))
FEATURES = (AGE, DOSE, SIZE, GRADE, CITY, CODE, SEX)
PMML = "{http://www.dmg.org/PMML-4_4}"
ENDS = (-1.5, 0, 0.1, 0.1 + 0.2, 1 / 3, 2.5, 1e-300, 12345.678, 1e22, 2**53 + 2, 5e-324, -0.0, 1e23)
UNSEEN: dict[str, list[Any]] = {
    "city": ["Bern"],
    "code": [7, AWAY],
    "sex": ["x"],
    "size": ["huge"],
    "grade": [9],
}


def random_test(rng: random.Random, type_: ColumnType) -> Test:
    if type_.kind == "number":
        kind = rng.randrange(5)
        if kind <= 2:
            return Threshold(value=rng.choice(ENDS))
        if kind == 3:
            return Equals(value=rng.choice(ENDS))
        low, high = sorted(rng.choice((*ENDS, -math.inf, math.inf)) for _ in range(2))
        if low == math.inf or high == -math.inf:
            low, high = -math.inf, math.inf
        return InBin(low=low, high=high, closed=rng.random() < 0.5)
    value = rng.choice(type_.levels)
    ordered = type_.kind != "category" and rng.random() < 0.6
    return Threshold(value=value) if ordered else Equals(value=value)


def random_leaf(rng: random.Random, classes: int, targets: int) -> Leaf:
    if classes:
        return Leaf(label=rng.randrange(classes), size=rng.randint(0, 9))
    return Leaf(output=tuple(rng.choice((*ENDS, rng.gauss(0, 1))) for _ in range(targets)))


def random_tree(rng: random.Random, depth: int = 4) -> Tree:
    kind = rng.choice(("texts", "ints", "floats", "one", "two"))
    classes: tuple[Any, ...] = {
        "texts": ("no", "yes", "it's"),
        "ints": (0, 1, -7),
        "floats": (0.5, 0.1, 3),
    }.get(kind, ())
    targets = ("first", "second") if kind == "two" else ("y",)

    def node(room: int) -> TreeNode:
        if room == 0 or rng.random() < 0.2:
            return random_leaf(rng, len(classes), len(targets))
        type_ = rng.choice(FEATURES)
        return Branch(
            feature=type_.name,
            test=random_test(rng, type_),
            left=node(room - 1),
            right=node(room - 1),
            missing=rng.choice(("left", "right")),
        )

    return Tree(root=node(depth), features=FEATURES, targets=targets, classes=classes)


def random_diagram(rng: random.Random, planes: bool = False) -> Diagram:
    classes = rng.choice((("no", "yes"), (0, 1), (0.5, 2)))
    widths = (1, 2, 3)

    def arc(level: int) -> Arc:
        if level + 1 == len(widths) or rng.random() < 0.2:
            return Arc(label=rng.randrange(2))
        return Arc(node=rng.randrange(widths[level + 1]))

    def split() -> AxisTest | Hyperplane:
        if planes and rng.random() < 0.5:
            return random_plane(rng)
        type_ = rng.choice(FEATURES)
        missing = rng.choice(("left", "right"))
        return AxisTest(feature=type_.name, test=random_test(rng, type_), missing=missing)  # type: ignore[arg-type]

    layers = tuple(
        tuple(Node(split=split(), left=arc(i), right=arc(i)) for _ in range(width))
        for i, width in enumerate(widths)
    )
    return Diagram(
        entry=Arc(node=0),
        layers=layers,
        terminals=(Terminal(), Terminal()),
        features=FEATURES,
        targets=("y",),
        classes=classes,
    )


def random_plane(rng: random.Random) -> Hyperplane:
    weights = []
    for type_ in rng.sample(FEATURES, rng.randint(1, 4)):
        value = rng.choice(type_.levels) if type_.kind in ("category", "binary") else None
        weights.append(Weight(feature=type_.name, weight=rng.uniform(-2, 2), value=value))
    return Hyperplane(weights=tuple(weights), bound=rng.uniform(-2, 2))


def random_rows(rng: random.Random, model: Model, count: int = 40) -> list[Row]:
    """Cells at the thresholds and beside them, levels, missing and unseen ones."""
    near = edges(model)

    def cell(type_: ColumnType) -> Any:
        if rng.random() < 0.12:
            return None
        if type_.kind == "number":
            return rng.choice([*near.get(type_.name, []), rng.uniform(-3, 3), *ENDS])
        refused = type_.kind == "ordered"
        return rng.choice(
            [*type_.levels, *([] if refused and rng.random() < 0.9 else UNSEEN[type_.name])]
        )

    rows = [{type_.name: cell(type_) for type_ in FEATURES} for _ in range(count)]
    rows += [{**rng.choice(rows), name: x} for name, values in near.items() for x in values]
    return rows


def cases(seed: str, count: int, planes: bool = True) -> list[tuple[Model, list[Row]]]:
    found: list[tuple[Model, list[Row]]] = []
    for i in range(count):
        rng = random.Random(f"{seed} {i}")
        model: Model
        if i % 3 == 2:
            model = random_diagram(rng, planes=planes and i % 2 == 0)
        else:
            model = random_tree(rng, depth=rng.randint(0, 5))
        found.append((model, random_rows(rng, model)))
    return found


def test_random_cells_reach_what_matters() -> None:
    """The cases below have refused rows, missing cells, and both answers of planes."""
    said = [x for model, rows in cases("count", 20) for x in predicted(model, rows)]
    assert 0.01 < sum(x == REFUSED for x in said) / len(said) < 0.5


@pytest.mark.parametrize("to", RUNNERS)
def test_random_models_agree(to: str, tmp_path: Path) -> None:
    runner = RUNNERS[to]
    drawn = cases(to, runner.cases if SCALE >= 1 else runner.cases // 2)
    for model, _ in drawn:
        if not runner.carries(model):
            with pytest.raises(OdtError, match="U371"):
                model.export(to)
    drawn = [case for case in drawn if runner.carries(case[0])]
    found = runner.said([model for model, _ in drawn], [rows for _, rows in drawn], tmp_path)
    for (model, rows), said in zip(drawn, found, strict=True):
        assert said == predicted(model, rows)
    assert any(REFUSED in said for said in found)


def test_every_format_is_run() -> None:
    assert set(RUNNERS) == set(FORMATS)


# ---- data sets

SKLEARN = ("breast_cancer", "diabetes", "linnerud", "wine")
LEVELS: dict[str, dict[str, tuple[Any, ...]]] = {
    "heart.csv": {
        "sex": ("female", "male"),
        "cp": (1, 2, 3, 4),
        "restecg": (0, 1, 2),
        "slope": (1, 2, 3),
        "thal": ("fixed", "normal", "reversable"),
        "fbs": (0, 1),
        "exang": (0, 1),
    },
    "post_operative.csv": dict.fromkeys(("l_core", "l_surf", "l_bp"), ("low", "mid", "high"))
    | dict.fromkeys(("surf_stbl", "core_stbl", "bp_stbl"), ("unstable", "mod-stable", "stable"))
    | {"l_o2": ("excellent", "good")},
    "compas_train.csv": {
        "race": ("african_american", "caucasian"),
        "age_cat": ("under_25", "25_to_45", "over_45"),
        "sex": ("female", "male"),
        "c_charge_degree": ("felony", "misdemeanor"),
    },
}
"""Files in ODTDSL_DATA, with the levels of the columns that are no numbers."""
ORDERED = ("cp", "l_core", "l_surf", "l_bp", "surf_stbl", "core_stbl", "bp_stbl", "age_cat")
TARGETS = ("disease", "decision", "recidivism")


def rows_of(name: str) -> tuple[tuple[ColumnType, ...], list[Row]]:
    """The features of a set, and its rows, raw."""
    if name in SKLEARN:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")()
        names = [str(x) for x in bunch.feature_names]
        rows = [dict(zip(names, row, strict=True)) for row in bunch.data.tolist()]
        return tuple(ColumnType(name=x, kind="number") for x in names), rows
    folder = os.environ.get("ODTDSL_DATA")
    if folder is None:
        pytest.skip("ODTDSL_DATA does not name the folder of public data")
    with open(Path(folder) / "cases" / name, encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    levels = LEVELS[name]
    types = tuple(
        ColumnType(
            name=x,
            levels=levels.get(x, ()),
            kind="ordered" if x in ORDERED else "category" if x in levels else "number",
        )
        for x in found[0]
        if x not in TARGETS
    )
    return types, [{t.name: typed(row[t.name], t) for t in types} for row in found]


def typed(cell: str, type_: ColumnType) -> Any:
    if cell in ("", "?"):
        return None
    return cell if any(isinstance(level, str) for level in type_.levels) else float(cell)


def split_of(rng: random.Random, types: tuple[ColumnType, ...], rows: list[Row]) -> AxisTest:
    """A test of a column; thresholds are midpoints of values of the set."""
    type_ = rng.choice(types)
    test: Test
    if type_.levels:
        value = rng.choice(type_.levels[:-1])
        test = Threshold(value=value) if type_.kind == "ordered" else Equals(value=value)
    else:
        values = sorted({row[type_.name] for row in rows} - {None})
        at = rng.randrange(len(values) - 1)
        test = Threshold(value=(values[at] + values[at + 1]) / 2)
    return AxisTest(feature=type_.name, test=test, missing=rng.choice(("left", "right")))


def model_of(name: str, types: tuple[ColumnType, ...], rows: list[Row]) -> Model:
    """A model of a set: a diagram of wine, outputs of diabetes and linnerud, else classes."""
    rng = random.Random(name)
    targets = {"diabetes": ("y",), "linnerud": ("Weight", "Waist", "Pulse")}.get(name, ())

    def grown(room: int) -> TreeNode:
        if room == 0:
            return random_leaf(rng, 0 if targets else 2, len(targets))
        split = split_of(rng, types, rows)
        return Branch(
            feature=split.feature,
            test=split.test,
            missing=split.missing,
            left=grown(room - 1),
            right=grown(room - 1),
        )

    if name == "wine":
        drawn = random_diagram(rng)
        layers = tuple(
            tuple(replace(node, split=split_of(rng, types, rows)) for node in layer)
            for layer in drawn.layers
        )
        return replace(drawn, layers=layers, features=types)
    classes = () if targets else ("no", "yes")
    return Tree(root=grown(4), features=types, targets=targets or ("y",), classes=classes)


def at_the_edges(rng: random.Random, model: Model, rows: list[Row]) -> list[Row]:
    """Rows with one cell at a threshold or beside it, missing, or a category unseen."""
    near = edges(model)
    found = [{**rng.choice(rows), name: x} for name, values in near.items() for x in values]
    found += [{**rng.choice(rows), name: None} for name in model.tested for _ in range(3)]
    other = {
        t.name: "new" if any(isinstance(x, str) for x in t.levels) else AWAY
        for t in model.features
        if t.levels
    }
    found += [{**rng.choice(rows), name: other[name]} for name in model.tested if name in other]
    return found


SETS: dict[str, tuple[Model, list[Row], list[Any]]] = {}


def of_set(name: str) -> tuple[Model, list[Row], list[Any]]:
    """A model of a set, all its rows and those at the edges, and what `predict` says."""
    if name not in SETS:
        types, rows = rows_of(name)
        model = model_of(name, types, rows)
        rows = rows + at_the_edges(random.Random(name), model, rows)
        SETS[name] = model, rows, predicted(model, rows)
        assert len(set(SETS[name][2])) > 1
    return SETS[name]


@pytest.mark.parametrize("to", RUNNERS)
@pytest.mark.parametrize("name", [*SKLEARN, *LEVELS])
def test_data_sets_agree(name: str, to: str, tmp_path: Path) -> None:
    model, rows, said = of_set(name)
    runner = RUNNERS[to]
    if not runner.carries(model):
        pytest.skip("that it is refused is tested above")
    if runner.most_rows:  # all that is at the edges, and so many of the rest
        rows, said = rows[-runner.most_rows :], said[-runner.most_rows :]
    assert runner.says(model, rows, tmp_path) == said


def test_texts_that_write_one_number_are_levels_of_their_own() -> None:
    """ "4.0" is not "04", and "4" is neither; of two levels that read as it, a number is none."""
    tree = code_tree(ColumnType(name="code", kind="category", levels=("04", "4.0", "5.0", "a")))
    rows: list[Row] = [{"code": x} for x in ("04", "4.0", "4", "4.00", "5", "a", None)]
    said = predicted(tree, rows)
    assert said == ["04", "4.0", "x", "x", "x", "x", "x"]
    assert by_python(tree, rows) == said
    for values in ([5], [5.0]):
        numbers: list[Row] = [{"code": x} for x in values]
        assert by_python(tree, numbers) == predicted(tree, numbers) == ["5.0"]
    with pytest.raises(OdtError, match="different levels with this number"):
        predicted(tree, [{"code": 4}])
    assert by_python(tree, [{"code": 4}]) == [REFUSED]


def test_levels_of_a_frame_of_numbers_are_found_by_value() -> None:
    """As are those of a model of version 1, where the first that reads as the number counts."""
    code = ColumnType(name="code", kind="category", levels=("04", "4.0", "5.0"), by_value=True)
    rows: list[Row] = [{"code": x} for x in ("04", "4.0", "4", "4.00", "5", "a", None)]
    said = predicted(code_tree(code), rows)
    assert said == ["04", "4.0", "04", "04", "5.0", "x", "x"]
    assert by_python(code_tree(code), rows) == said
    plain = ColumnType(name="code", kind="category", levels=(4, 5, 6), by_value=True)
    written = replace(plain, by_value=False)
    for type_, expected in ((plain, ["4.0", "4.0", "x"]), (written, ["4.0", "x", "x"])):
        tree = code_tree(type_)
        rows = [{"code": x} for x in ("5", "5.0", "7")]
        assert by_python(tree, rows) == predicted(tree, rows) == expected


def test_numbers_beyond_float64_are_refused_in_python() -> None:
    """As `predict` refuses them; they raised OverflowError."""
    number = Tree(
        root=Branch(
            feature="age",
            test=Threshold(value=2.5),
            missing="left",
            left=Leaf(label=0, size=1),
            right=Leaf(label=1, size=1),
        ),
        features=(AGE,),
        targets=("y",),
        classes=("low", "high"),
    )
    text = code_tree(ColumnType(name="code", kind="category", levels=("04", "a", "b")))
    cells: list[tuple[Model, Any]] = [(number, 10**400), (number, -(10**400))]
    cells += [(model, Fraction(10**400)) for model in (number, text)]
    for model, cell in cells:
        row = {model.features[0].name: cell}
        assert by_python(model, [row]) == [REFUSED]
        with pytest.raises(OdtError, match="D106"):
            model.predict({name: [x] for name, x in row.items()})
    for cell in ([], object()):
        assert by_python(text, [{"code": cell}]) == [REFUSED]


def code_tree(code: ColumnType) -> Tree:
    """A tree that asks for the second level, then for the first, then for the third."""
    root: Leaf | Branch = Leaf(label=0, size=1)
    for level, label in ((2, 3), (0, 2), (1, 1)):
        root = Branch(
            feature="code",
            test=Equals(value=code.levels[level]),
            missing="right",
            left=Leaf(label=label, size=1),
            right=root,
        )
    return Tree(root=root, features=(code,), targets=("y",), classes=("x", "4.0", "04", "5.0"))
