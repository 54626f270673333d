"""The cell magic `%%odt`, in a shell of IPython and in a notebook that nbclient runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("IPython", reason="needs ipython")
pd = pytest.importorskip("pandas")

from IPython.core.interactiveshell import InteractiveShell  # noqa: E402

SPEC = "data frame\ntarget sick\ntree depth <= 2\nminimize errors\n"
ROWS = {"age": [20, 30, 40, 50] * 3, "sick": ["no", "yes", "no", "yes"] * 3}


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "odtdsl")
    made.user_ns["people"] = pd.DataFrame(ROWS)
    yield made
    made.run_line_magic("unload_ext", "odtdsl")
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, line: str, cell: str = SPEC) -> Any:
    return shell.run_cell_magic("odt", line, cell)


def test_the_only_frame_is_taken_and_the_result_kept(shell: InteractiveShell) -> None:
    result = run(shell, "--out best --within 20s")
    assert result.status == "optimal"
    assert shell.user_ns["best"] is result
    shown, _ = shell.display_formatter.format(result)
    assert "optimal: proven" in shown["text/plain"]
    assert "<svg" in shown["text/html"]
    assert "audit" in shown["text/html"] or "Rule" in shown["text/html"]
    shell.user_ns["others"] = pd.DataFrame(ROWS)
    assert run(shell, "others --test people").test.rows == 12


def test_mistakes_are_told_without_a_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, cell, said in (
        ("", SPEC.replace("errors", "erors"), "did you mean `errors`"),
        ("nobody", SPEC, "no variable `nobody`"),
        ("people", SPEC.replace("data frame", 'data sklearn "iris"'), "reads other data"),
        ("--wihtin 3s", SPEC, "unrecognized arguments"),
        ("--set a", SPEC, "--set NAME=VALUE"),
        ("'", SPEC, "U612"),
        ("--plan --check", SPEC, "not allowed with"),
    ):
        done = shell.run_cell(f"%%odt {line}\n{cell}")
        assert done.error_in_exec is not None
        out = capsys.readouterr()
        assert said in out.out + out.err
        assert "Traceback" not in out.out + out.err
    shell.user_ns["others"] = pd.DataFrame(ROWS)
    shell.run_cell(f"%%odt\n{SPEC}")
    out = capsys.readouterr()
    assert "`people`, `others`" in out.out + out.err


def test_a_frame_with_two_columns_of_one_name_is_told(shell: InteractiveShell) -> None:
    people = shell.user_ns.pop("people")
    shell.user_ns["twice"] = pd.concat([people, people.age], axis=1)
    done = shell.run_cell(f"%%odt\n{SPEC}")
    assert "D104" in str(done.error_in_exec)


def test_check_plan_and_explain(shell: InteractiveShell) -> None:
    assert repr(run(shell, "--check")) == "no mistake"
    assert "exact" in repr(run(shell, "--plan"))
    spec = SPEC + "let least = 7\nrule good: errors <= 0\nrule large: forall leaf: size >= least"
    found = run(shell, "--explain --within 60s", spec)
    assert found.conflicts[0].names == ("good", "large")
    shown, _ = shell.display_formatter.format(found)
    assert "`large`" in shown["text/plain"]
    assert run(shell, "--set least=1 --using exact", spec).status == "optimal"


def test_a_notebook_runs(tmp_path: Any) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
    client = pytest.importorskip("nbclient", reason="needs nbclient")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    cell = nbformat.v4.new_code_cell
    book = nbformat.v4.new_notebook(
        cells=[
            cell("%load_ext odtdsl"),
            cell(
                "import numpy as np, pandas as pd\nr = np.random.RandomState(0)\n"
                "rows = pd.DataFrame(r.rand(300, 12)).add_prefix('x')\n"
                "rows['sick'] = r.randint(0, 3, 300)"
            ),
            cell(
                "%%odt rows --out best --within 1s\ndata frame\ntarget sick\n"
                "tree depth <= 5\nminimize errors"
            ),
            cell("print(best.status, best.rows.data.n_rows)"),
        ]
    )
    client.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = book.cells[2].outputs
    assert "feasible" in shown[-1]["data"]["text/plain"]
    assert "<svg" in shown[-1]["data"]["text/html"]
    assert shown[0]["output_type"] == "display_data"  # the live line, empty in the end
    assert book.cells[3].outputs[0]["text"] == "feasible 300\n"
