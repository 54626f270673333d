"""What is read of scikit-learn's files without importing it is what its loaders return."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import datasets

from odtdsl.datasets import shipped as files
from odtdsl.datasets.bundled import BUNDLED, read_sklearn
from odtdsl.datasets.request import DataRequest
from odtdsl.datasets.shipped import shipped


@pytest.mark.parametrize("name", ["breast_cancer", "iris", "wine"])
def test_it_is_what_the_loaders_return(name: str) -> None:
    read, loaded = shipped(name), getattr(datasets, f"load_{name}")()
    assert read is not None
    assert list(read.feature_names) == [str(one) for one in loaded.feature_names]
    assert list(read.target_names) == [str(one) for one in loaded.target_names]
    assert np.array_equal(read.data, loaded.data)
    assert np.array_equal(read.target, loaded.target)


def test_the_loaders_read_what_is_not_text_of_classes() -> None:
    assert [name for name in BUNDLED if shipped(name) is None] == ["diabetes", "digits", "linnerud"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("150,4,", "151,4,"),
        ("150,4,", "150,5,"),
        ("150,4,", ""),
        ("virginica\n", "virginica,another\n"),
        ("5.1,3.5,1.4,0.2,0", "5.1,3.5,1.4,0.2"),
        ("5.1,3.5,1.4,0.2,0", "5.1,3.5,1.4,wide,0"),
        ("5.1,3.5,1.4,0.2,0", "5.1,3.5,1.4,0.2,7"),
    ],
)
def test_a_file_of_another_form_is_left_to_the_loaders(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "datasets" / "data"
    folder.mkdir(parents=True)
    file = folder / "iris.csv"
    monkeypatch.setattr(
        files, "find_spec", lambda _name: SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    )
    assert shipped("iris") is None  # no such file
    shutil.copy(Path(datasets.__file__).parent / "data" / "iris.csv", file)
    assert shipped("iris") is not None
    text = file.read_text("utf-8")
    file.write_text(text.replace(old, new, 1), "utf-8")
    assert shipped("iris") is None
    table = read_sklearn(DataRequest(kind="sklearn", name="iris"))
    assert table.n_rows == 150


def test_scikit_learn_is_not_imported() -> None:
    code = """
import sys
import odtdsl
result = odtdsl.solve('data sklearn "iris" target target tree depth <= 2 minimize errors')
print(result.status, [name for name in ("sklearn", "scipy", "joblib") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "optimal []\n"
