"""`odt init`: the spec that it writes is understood and solved, whatever the file is like."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from scale import scaled

import odtdsl
from odtdsl.base.diagnostics.model import OdtError
from odtdsl.compiler.draft import Draft, draft
from odtdsl.interfaces.cli.main import app


def written(tmp_path: Path, text: str, target: str | None = None, name: str = "rows.csv") -> Draft:
    """The draft of a file of this text, written beside it."""
    (tmp_path / name).write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    found = draft(tmp_path / name, tmp_path / "rows.odt", target, None)
    (tmp_path / "rows.odt").write_text(found.text, encoding="utf-8")
    return found


def statements(found: Draft) -> list[str]:
    """The lines of a draft without comments."""
    bare = [line.split("  #")[0] for line in found.text.splitlines()]
    return [line for line in bare if line and not line.startswith("#")]


ROWS = [(i, 20 + i * 7 % 50, "mf"[i % 2], f"{i % 28 + 1:02}.03.2021") for i in range(60)]


def test_roles_and_options(tmp_path: Path) -> None:
    """Semicolons, decimal commas, marks, dates, ids, an empty column and one that never differs."""
    lines = ["patient id;age;sex;born;dose;unit;gone;sick"]
    for i, age, sex, born in ROWS:
        dose = "?" if i % 9 == 0 else f"{i % 5},5"
        lines.append(f"P{i};{age};{sex};{born};{dose};mg;;{'yes' if age > 40 else 'no'}")
    found = written(tmp_path, "\n".join(lines))
    roles = {column.name: column.role for column in found.columns}
    assert roles == {
        "patient id": "id",
        "age": "feature",
        "sex": "feature",
        "born": "left out",
        "dose": "feature",
        "unit": "left out",
        "gone": "left out",
        "sick": "target",
    }
    assert statements(found)[0] == (
        'data "rows.csv", test 25% stratified seed 1, na {"?"}, separator ";", decimal ",", '
        "id `patient id`"
    )
    assert "missing branch" in statements(found)
    assert any("`age` alone is right for 100.0%" in note for note in found.notes)
    result = odtdsl.load(tmp_path / "rows.odt").solve()
    assert result.status == "optimal"
    assert result.audit is not None
    assert result.audit.holds


def test_numbers_are_estimated_and_classes_are_told(tmp_path: Path) -> None:
    found = written(tmp_path, "x,price\n" + "\n".join(f"{i},{i * 1.5}" for i in range(60)))
    assert "target price: number" in statements(found)
    assert "minimize mse" in statements(found)
    found = written(tmp_path, "x,y,z\n" + "\n".join(f"{i % 7},{i % 3},{i % 2}" for i in range(60)))
    assert found.target == "y"
    assert found.chosen
    assert "minimize errors then leaves" in statements(found)


def test_a_first_line_of_numbers_is_a_row(tmp_path: Path) -> None:
    found = written(tmp_path, "\n".join(f"{i % 2} {i / 7:.3f} {i % 5}" for i in range(40)))
    assert "header none" in statements(found)[0]
    assert found.n_rows == 40


@pytest.mark.parametrize(
    ("text", "target", "code"),
    [
        ("", None, "D105"),
        ("a\n1\n2\n", None, "D232"),
        ("a,b\n1,2\n1,3\n", None, "D232"),
        ("a,b\n1,\n2,\n", "b", "D232"),
        ("a,b\n1,2\n2,3\n", "c", "N103"),
        ("a,b\n1,2\n2\n", None, "D103"),
        ("a,a\n1,2\n2,3\n", None, "D104"),
    ],
)
def test_mistakes_have_codes(tmp_path: Path, text: str, target: str | None, code: str) -> None:
    with pytest.raises(OdtError) as caught:
        written(tmp_path, text, target)
    assert code in {one.code for one in caught.value.diagnostics}


def test_drafts_of_random_tables_are_understood(tmp_path: Path) -> None:
    """Hostile names, all kinds of columns, any of them as target: there is an answer or a code."""
    rng = random.Random(2)
    names = ["tree", "a b", "if", "é`", 'q"', "x", "choice", "size", "minimize", "1st", "#", "id"]
    kinds = [
        lambda: str(rng.randint(0, 3)),
        lambda: f"{rng.random():.2f}",
        lambda: rng.choice(["u", "v", "w w", "# no comment"]),
        lambda: rng.choice(["", "?", "1", "2", "3.5", "4", "5", "6"]),
        lambda: f"2021-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
        lambda: "same",
        lambda: str(rng.random()),
    ]
    solved = 0
    for _ in range(scaled(400, least=30)):
        columns = rng.sample(names, rng.randint(1, 5))
        cells = [rng.choice(kinds) for _ in columns]
        n = rng.randint(1, 45)
        rows = [",".join(cell() for cell in cells) for _ in range(n)]
        head = ",".join('"' + name.replace('"', '""') + '"' for name in columns)
        refused: set[str] = set()
        try:
            written(tmp_path, "\n".join([head, *rows]), rng.choice([None, *columns]))
        except OdtError as problem:
            refused = {one.code for one in problem.diagnostics}
        assert refused <= {"D232", "D107", "D105"}
        if refused:
            continue
        result = odtdsl.load(tmp_path / "rows.odt").solve(within=5)
        assert result.status in ("optimal", "feasible", "infeasible")
        solved += result.status == "optimal"
    assert solved >= 5


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what it chose, replaces nothing unasked, and leaves nothing half-written."""

    def odt(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{i},{i * 7 % 5},{i % 2}" for i in range(50))
    (tmp_path / "rows.csv").write_text("a,b,c\n" + rows)
    first = odt("init", "rows.csv")
    assert first.exit_code == 0, first.stderr
    assert "`c` is predicted; choose another with `--target`" in first.stdout
    assert "F303" in odt("init", "rows.csv").stderr
    told = json.loads(odt("init", "rows.csv", "--target", "b", "--force", "--json").stdout)
    assert (told["target"], told["chosen"]) == ("b", False)
    before = (tmp_path / "rows.odt").read_text()
    assert told["text"] == before
    assert odt("init", "rows.csv", "--target", "d", "--force").exit_code == 1
    assert (tmp_path / "rows.odt").read_text() == before
    assert odt("check", "rows.odt").exit_code == 0


@pytest.mark.parametrize(("cell", "noted"), [("1O5", True), ("?", False), ("", False)])
def test_a_word_among_numbers_that_is_no_usual_mark_is_told(
    tmp_path: Path, cell: str, noted: bool
) -> None:
    rows = "\n".join(f"{cell if i == 7 else i * 7 % 31},{i % 2}" for i in range(50))
    found = written(tmp_path, "a,y\n" + rows, "y")
    assert any("read as missing" in note and f'"{cell}"' in note for note in found.notes) == noted


def test_answers_are_predicted_rather_than_the_last_number(tmp_path: Path) -> None:
    lines = ["Alter,Kündigung,Retouren,PLZ"]
    lines += [
        f"{20 + i % 50},{'ja' if i % 3 else 'nein'},{i % 12},{700 * (i % 50):05}" for i in range(60)
    ]
    found = written(tmp_path, "\n".join(lines))
    assert (found.target, found.chosen) == ("Kündigung", True)
    assert "drop PLZ" in found.text
    assert "zeros in front" in found.text


def test_a_few_codes_with_zeros_in_front_are_a_category(tmp_path: Path) -> None:
    lines = ["ward,age,ill", *(f"0{i % 4 + 1},{i},{'yes' if i % 4 else 'no'}" for i in range(60))]
    found = written(tmp_path, "\n".join(lines))
    assert "feature ward: category  # zeros in front" in found.text
    tree = odtdsl.load(tmp_path / "rows.odt").solve().tree
    assert tree is not None
    assert 'ward == "01"' in str(tree)


def test_names_of_rows_are_no_feature_in_small_files_either(tmp_path: Path) -> None:
    lines = [
        "day,outlook,play",
        *(f"D{i},{'sun' if i % 2 else 'rain'},{'yes' if i % 3 else 'no'}" for i in range(9)),
    ]
    assert "id day" in statements(written(tmp_path, "\n".join(lines)))[0]


def test_amounts_of_money_are_no_names_of_rows(tmp_path: Path) -> None:
    """Each differs, as names of rows do; but what to do about the sign is what one has to know."""
    lines = [
        f"€{1000 + i}.00,{i}%,{i}.5 kg/m2,{i} {'ab'[i % 2]},{i % 7},{'ab'[i % 2]}"
        for i in range(60)
    ]
    lines.insert(0, "amount,share,bmi,flat,x,y")
    found = written(tmp_path, "\n".join([*lines, "€5.00,3%,7 kg/m2,7 a,1,a"]), "y")
    why = {one.name: one.why for one in found.columns}
    assert "amounts of money" in why["amount"]
    assert "percentages" in why["share"]
    assert why["bmi"] == "numbers with a unit: write the numbers without the unit"
    assert "unit" not in why["flat"]
    roles = {one.name: one.role for one in found.columns}
    assert roles == {
        **dict.fromkeys(("amount", "share", "bmi"), "left out"),
        "flat": "id",
        "x": "feature",
        "y": "target",
    }


def test_texts_read_as_missing_are_counted(tmp_path: Path) -> None:
    lines = [f"{'<5' if i % 3 == 0 else i},{i % 7},{'ab'[i % 2]}" for i in range(60)]
    found = written(tmp_path, "\n".join(["crp,x,y", *lines]), "y")
    assert any('among numbers: "<5" in 20 cells;' in note for note in found.notes)


def test_the_first_column_of_a_file_without_names_may_be_the_class(tmp_path: Path) -> None:
    lines = [f"{i % 3},{i * 1.5},{i * i},{i * 7 % 50}" for i in range(60)]
    found = written(tmp_path, "\n".join(lines))
    assert found.target == "c1"
    last = [",".join(reversed(line.split(","))) for line in lines]
    assert written(tmp_path, "\n".join(last)).target == "c4"


def survival_rows(time: str, event: str) -> str:
    lines = [f"{time},age,{event}"]
    lines += [f"{i * 7 % 41 + 1}.5,{20 + i},{'yes' if i % 3 else 'no'}" for i in range(60)]
    lines[7] = ",26,yes"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("time", "event"), [("months", "died"), ("time", "event"), ("follow-up time", "vital status")]
)
def test_times_until_an_event_are_survival(tmp_path: Path, time: str, event: str) -> None:
    found = written(tmp_path, survival_rows(time, event))
    assert found.target == f"survival {time} event {event}"
    assert "minimize survival_loss" in statements(found)
    assert any(line.startswith("missing {") and "drop" in line for line in statements(found))
    assert [column.role for column in found.columns] == ["target", "feature", "target"]
    assert odtdsl.load(tmp_path / "rows.odt").solve().status == "optimal"


def test_the_event_alone_is_not_predicted_from_its_time(tmp_path: Path) -> None:
    found = written(tmp_path, survival_rows("months", "died"), "died")
    (line,) = [line for line in found.text.split("\n") if line.startswith("drop months")]
    assert "survival months event died" in line
    asked = written(tmp_path, survival_rows("a", "b"), "survival a event b")
    assert "target survival a event b" in asked.text
    with pytest.raises(OdtError, match="no column of times `c`") as caught:
        written(tmp_path, survival_rows("a", "b"), "survival c event b")
    assert "`a`" in caught.value.diagnostics[0].notes[0]
    for coded in ("dead alive", "2 1"):
        rows = [f"{i},{i % 7},{coded.split()[i % 2]}" for i in range(20)]
        with pytest.raises(OdtError, match="`b` does not say whether the event came"):
            written(tmp_path, "\n".join(["a,x,b", *rows]), "survival a event b")


def test_how_several_numbers_are_predicted_is_told(tmp_path: Path) -> None:
    text = "\n".join(["a,b c,d", *(f"{i % 5},{i * 7 % 11},{i % 3}" for i in range(20))])
    with pytest.raises(OdtError, match="N103") as caught:
        written(tmp_path, text, "b c, d")
    (help_text,) = caught.value.diagnostics[0].helps
    assert "`` target `b c`, d: number ``" in help_text
    found = written(tmp_path, text, "b c").text
    several = found.replace("target `b c`: number", "target `b c`, d: number")
    assert several != found
    (tmp_path / "rows.odt").write_text(several)
    assert odtdsl.load(tmp_path / "rows.odt").solve().status == "optimal"


def test_months_beside_a_state_of_three_values_are_a_feature(tmp_path: Path) -> None:
    lines = ["months,status", *(f"{i},{'abc'[i % 3]}" for i in range(30))]
    assert written(tmp_path, "\n".join(lines)).target == "status"


def test_who_left_is_predicted_and_reasons_for_it_are_told(tmp_path: Path) -> None:
    lines = ["id,tenure,calls,plan,Churn,ChurnReason"]
    for at in range(200):
        gone = at * 7 % 10 < 3
        why = ("price", "moved")[at % 2] if gone else ""
        plan, left = "ABC"[at % 3], ("No", "Yes")[gone]
        lines.append(f"k{at},{at * 11 % 73},{at * 3 % 8},{plan},{left},{why}")
    found = written(tmp_path, "\n".join(lines))
    assert found.target == "Churn"
    assert any("whether `ChurnReason` is missing tells `Churn`" in note for note in found.notes)
    assert any('`--target "survival tenure event Churn"`' in note for note in found.notes)
    asked = written(tmp_path, "\n".join(lines), "survival tenure event Churn")
    assert "target survival tenure event Churn" in asked.text


@pytest.mark.parametrize("name", ["churn_flag", "is_fraud", "loan default", "Survived"])
def test_a_target_may_stand_first_and_be_a_word_of_a_name(tmp_path: Path, name: str) -> None:
    lines = [f"{name},age,plan", *(f"{at % 2},{at},{'ABC'[at % 3]}" for at in range(60))]
    assert written(tmp_path, "\n".join(lines)).target == name
