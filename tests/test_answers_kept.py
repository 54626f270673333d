"""No answer is lost to a file or a signal, and no file of the user's to an output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import odtdsl
from odtdsl.base.diagnostics.model import OdtError, error
from odtdsl.base.interrupts import interrupted, interruptible
from odtdsl.interfaces.cli.main import app
from odtdsl.interfaces.cli.outputs import replaceable
from odtdsl.predictors.saving import save
from odtdsl.presentation.exports.registry import FORMATS

ROWS = "a,b,y\n" + "".join(f"{i},{i * 7 % 5},{'u' if i * 3 % 7 < 3 else 'v'}\n" for i in range(20))
SPEC = 'data "rows.csv"\ntarget y\ntree depth <= 2\nminimize errors\nrule few: leaves <= 3\n'
ODT = [sys.executable, "-m", "odtdsl"]
FULL = Path("/dev/full")

needs_full = pytest.mark.skipif(not FULL.is_char_device(), reason="this system has no /dev/full")
posix = pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX signals")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "more.csv").write_text(ROWS)
    (tmp_path / "s.odt").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def odt(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("rule", "using", "code"),
    [("leaves >= 5", "exact", 3), ("accuracy >= 100%", "greedy", 4), ("leaves <= 3", "exact", 0)],
)
def test_an_old_file_is_not_taken_for_the_answer(
    rule: str, using: str, code: int, folder: Path
) -> None:
    """Without a model nothing is written, which only the exit code said."""
    assert odt("solve", "s.odt", "--out", "old.json")[0] == 0
    (folder / "s.odt").write_text(SPEC + f"rule more: {rule}\n")
    done, out, _ = odt("solve", "s.odt", "--using", using, "--out", "old.json", "--svg", "new.svg")
    assert done == code
    assert ("old.json: not written, as there is no model; the file that is" in out) is (code > 0)
    assert ("new.svg: not written, as there is no model\n" in out) is (code > 0)
    assert (folder / "old.json").exists()
    assert (folder / "new.svg").exists() is (code == 0)


# ---- what is read is not overwritten

WRITING = (
    "solve s.odt --test more.csv --out",
    "solve s.odt --svg",
    "solve s.odt --dot",
    "solve s.odt --proof",
    "solve s.odt --start t.json --out",
    "report s.odt --model t.json -o",
    "report s.odt --svg",
    "compile s.odt --to cnf -o",
    "explain s.odt --curve few --csv",
    "explain s.odt --curve few --svg",
    "tune s.odt --vary depth=1,2 --cv 2 --csv",
    "tune s.odt --vary depth=1,2 --cv 2 --svg",
    "tune s.odt --vary depth=1,2 --cv 2 --out",
    "tune s.odt --vary depth=1,2 --cv 2 --keep",
    "decode s.odt --assignment a.sol --out",
    "export t.json --to sql --out",
    "predict t.json rows.csv --out",
)
READ = {"export": ["t.json"], "predict": ["t.json", "rows.csv"], "decode": ["a.sol"]}


@pytest.mark.parametrize("command", WRITING)
def test_no_output_overwrites_what_the_command_reads(folder: Path, command: str) -> None:
    assert odt("solve", "s.odt", "--out", "t.json")[0] == 0
    (folder / "a.sol").write_text("v 1 0\n")
    words = command.split()
    read = READ.get(words[0], []) + ([] if words[0] in ("export", "predict") else ["s.odt"])
    read += ["rows.csv"] if "s.odt" in words else []
    read += [name for name in ("more.csv", "t.json") if name in words and name not in read]
    for name in read:
        before = (folder / name).read_bytes()
        (folder / "soft").unlink(missing_ok=True)
        (folder / "hard").unlink(missing_ok=True)
        (folder / "soft").symlink_to(folder / name)
        os.link(folder / name, folder / "hard")
        for path in (name, f"./{name}", str(folder / name), "soft", "hard"):
            code, out, err = odt(*words, path, "--force")
            assert (code, out) == (2, ""), (path, out, err)
            assert "U308" in err
            assert (folder / name).read_bytes() == before


def test_two_outputs_of_one_name_are_refused(folder: Path) -> None:
    code, out, err = odt("solve", "s.odt", "--out", "x", "--svg", "./x")
    assert (code, out) == (2, "")
    assert "U319" in err
    (folder / "x").symlink_to("y")
    assert "U319" in odt("solve", "s.odt", "--out", "x", "--svg", "y")[2]
    assert odt("solve", "s.odt", "--out", os.devnull, "--svg", os.devnull)[0] == 0


def test_a_file_that_we_did_not_write_asks_for_force(folder: Path) -> None:
    for name in ("notes.txt", "model.json"):
        (folder / name).write_text('{"mine": 1}')
        code, out, err = odt("solve", "s.odt", "--out", name)
        assert (code, out) == (1, "")
        assert "F303" in err
        assert (folder / name).read_text() == '{"mine": 1}'
        assert odt("solve", "s.odt", "--out", name, "--force")[0] == 0
        assert odt("solve", "s.odt", "--out", name)[0] == 0
    (folder / "empty").write_text("")
    assert odt("solve", "s.odt", "--out", "empty")[0] == 0
    (folder / "s.html").write_text("<!DOCTYPE html><title>mine</title>")
    assert "F303" in odt("report", "s.odt")[2]


def test_all_that_is_written_is_known_again(folder: Path) -> None:
    """Else the same command would ask for `--force` when it is run again."""
    exports = [
        suffix
        for form in FORMATS.values()
        for suffix in form.suffixes
        if not form.package or pytest.importorskip(form.package)
    ]
    commands = [
        "solve s.odt --out t.json --svg t.svg --dot t.dot",
        "solve s.odt --using sat --proof t.proof",
        "report s.odt --svg r.svg",
        "explain s.odt --curve few --csv c.csv --svg c.svg",
        "tune s.odt --vary depth=1,2 --cv 2 --csv n.csv --svg n.svg --out n.json",
        "solve s.odt --using exact --proof t.cert",
        *(
            f"compile s.odt --to {to} --legend {to}.json"
            for to in ("lp", "mps", "mzn", "cnf", "wcnf", "opb")
        ),
        *(f"export t.json --out e{suffix}" for suffix in exports),
        "predict t.json rows.csv --out p.csv",
    ]
    (folder / "d.odt").write_text(
        SPEC.replace("tree depth <= 2", "diagram widths 1, 2, 2").replace(
            "rule few: leaves <= 3\n", ""
        )
    )
    commands += [
        "solve d.odt --out d.json --svg d.svg --dot d.dot",
        "compile d.odt --to lp",
        *(f"export d.json --out d{suffix}" for suffix in exports),
    ]
    read = {"rows.csv", "more.csv", "s.odt", "d.odt"}
    plain = {"p.csv", "t.cert.csv"}  # tables
    for command in commands * 2:
        code, _, err = odt(*command.split())
        assert code == 0, (command, err)
    for path in folder.iterdir():
        assert replaceable(path) == (path.name not in read | plain), path.name


def test_predictions_are_replaced_where_they_stay_as_they_are(folder: Path) -> None:
    assert odt("solve", "s.odt", "--out", "t.json")[0] == 0
    for _ in range(2):
        assert odt("predict", "t.json", "rows.csv", "--out", "p.csv")[0] == 0
    (folder / "p.csv").write_text("y\nmine\n")
    assert "F303" in odt("predict", "t.json", "rows.csv", "--out", "p.csv")[2]
    assert (folder / "p.csv").read_text() == "y\nmine\n"
    assert odt("predict", "t.json", "rows.csv", "--out", "p.csv", "--force")[0] == 0


def test_links_and_permissions_stay(folder: Path) -> None:
    (folder / "kept").mkdir()
    (folder / "t.json").symlink_to("kept/t.json")
    assert odt("solve", "s.odt", "--out", "t.json")[0] == 0
    assert (folder / "t.json").is_symlink()
    (folder / "kept" / "t.json").chmod(0o600)
    assert odt("solve", "s.odt", "--out", "t.json")[0] == 0
    assert (folder / "kept" / "t.json").stat().st_mode & 0o777 == 0o600


@posix
def test_a_stream_that_is_named_is_written_and_not_replaced(folder: Path) -> None:
    with (folder / "got").open("wb") as file:
        subprocess.run([*ODT, "solve", "s.odt", "--out", "/dev/stdout"], stdout=file, check=True)
    assert '"format": "odtdsl.tree"' in (folder / "got").read_text()
    assert Path("/dev/stdout").is_symlink()


# ---- the answer comes before files


@needs_full
@pytest.mark.parametrize(
    "command",
    [
        "solve s.odt --out",
        "solve s.odt --svg",
        "solve s.odt --proof",
        "solve s.odt --near 1% -o",
        "explain s.odt --curve few --csv",
        "tune s.odt --vary depth=1,2 --cv 2 --csv",
        "report s.odt -o",
    ],
)
def test_a_full_disk_takes_no_answer(folder: Path, command: str) -> None:
    plain = command.split()[:-1]
    for more in ([], ["--json"]) if plain[0] != "report" else ([],):
        code, out, err = odt(*plain, *more, command.split()[-1], str(FULL))
        assert code == 1
        assert ("F301" in err) or ("F301" in out)
        if more:
            assert json.loads(out)
        else:
            assert "<= " in out
            assert "proven" in out


@needs_full
def test_a_full_disk_behind_standard_output_takes_no_file(folder: Path) -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with FULL.open("wb") as full:
        words = [*ODT, "solve", "s.odt", "--out", "t.json"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False, env=buffered)
    assert done.returncode == 1
    assert b"Exception ignored" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert odtdsl.load_model(folder / "t.json")


def test_a_failing_keep_file_does_not_end_a_tuning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise error("F301", f"`{path}` cannot be written: no space")

    monkeypatch.setattr("odtdsl.insight.tuning.store.write_text", full)
    found = odtdsl.tune("s.odt", {"depth": [1, 2]}, cv=2, keep=folder / "k.json")
    assert found.complete
    assert found.result is not None
    assert found.unkept is not None
    code, out, err = odt("tune", "s.odt", "--vary", "depth=1,2", "--cv", "2")
    assert (code, "chosen: " in out, "F301" in err) == (1, True, True)


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0,
    reason="needs a POSIX user who is not root: root may write anywhere",
)
def test_what_may_not_be_written_is_told_before_the_search(folder: Path) -> None:
    (folder / "locked").mkdir()
    (folder / "locked").chmod(0o500)
    code, out, err = odt("solve", "s.odt", "--out", "locked/t.json")
    assert (code, out) == (1, "")
    assert "F301" in err


@posix
def test_closed_streams_are_no_mistake_of_ours(folder: Path) -> None:
    for ends in (">&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"):
        line = f"'{sys.executable}' -m odtdsl solve s.odt --out t.json {ends}"
        assert subprocess.run(line, shell=True, capture_output=True, check=False).returncode == 0
        assert odtdsl.load_model(folder / "t.json")
        (folder / "t.json").unlink()
    line = f"'{sys.executable}' -m odtdsl solve s.odt --out t.json | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert "error[" not in done.stderr
    assert odtdsl.load_model(folder / "t.json")


# ---- signals


@pytest.fixture
def hard(folder: Path) -> Path:
    """A search of minutes."""
    import numpy as np

    noise = np.random.default_rng(0)
    rows = [
        f"{','.join(f'{x:.6f}' for x in noise.random(8))},{noise.integers(2)}" for _ in range(3000)
    ]
    (folder / "rows.csv").write_text("a,b,c,d,e,f,g,h,y\n" + "\n".join(rows))
    (folder / "s.odt").write_text(SPEC.replace("<= 2", "<= 4").replace("<= 3", "<= 14"))
    return folder


ENDED = """
import os, signal, sys
from odtdsl.interfaces.cli.main import main
from odtdsl.interfaces.cli.progress import Waiting
number, sent = getattr(signal, sys.argv.pop(1)), []
def stop(self, _progress):
    if not sent:
        # `timeout` sends each twice; a second Ctrl-C would end the process
        for _ in range(1 if number == signal.SIGINT else 3):
            sent.append(os.kill(os.getpid(), number))
Waiting.__call__ = stop
main()
"""


@posix
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_search_that_is_ended_prints_and_saves_its_tree(hard: Path, number: str) -> None:
    words = ["solve", "s.odt", "--out", "t.json"]
    done = subprocess.run(
        [sys.executable, "-c", ENDED, number, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "(interrupted)" in done.stdout
    assert "Traceback" not in done.stderr
    assert odtdsl.load_model(hard / "t.json")


@posix
def test_sigterm_keeps_the_runs_of_a_tuning(hard: Path) -> None:
    words = [*ODT, "tune", "s.odt", "--vary", "depth=1,4", "--cv", "2"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        deadline = time.monotonic() + 60
        while not (hard / "s.tune.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        process.terminate()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the same command continues from there" in out


IMPORTING = """
import os, signal, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), getattr(signal, number))
_, module, number = sys.argv
sys.argv[:] = ["odt", "solve", "s.odt", "--using", "milp"]
sys.meta_path.insert(0, Stop())
from odtdsl.__main__ import main
main()
"""


@posix
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    "module",
    ["click", "odtdsl.interfaces.cli.main", "odtdsl.interfaces.cli.solve", "numpy", "lark"],
)
def test_a_signal_during_imports_prints_no_traceback(
    folder: Path, module: str, number: str
) -> None:
    words = [sys.executable, "-c", IMPORTING, module, number]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


SENT = """
import os, signal, odtdsl
sent = []
def stop(_progress):
    if not sent:
        sent.append(os.kill(os.getpid(), signal.SIGTERM))
before = signal.getsignal(signal.SIGTERM)
result = odtdsl.load("s.odt").solve(progress=stop)
assert signal.getsignal(signal.SIGTERM) is before, "handlers are put back"
print(result.status, result.interrupted)
"""


@posix
def test_sigterm_ends_a_search_from_python_but_leaves_handlers_of_the_user(hard: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SENT], capture_output=True, text=True, check=True)
    assert done.stdout == "feasible True\n"
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with interruptible() as asked:
            signal.raise_signal(signal.SIGTERM)
        assert (asked(), heard) == (False, [signal.SIGTERM])
    finally:
        signal.signal(signal.SIGTERM, before)


@posix
def test_handlers_hear_of_those_within() -> None:
    with interrupted() as raised, interruptible() as outer:
        with interruptible() as inner:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
        assert (inner(), outer(), raised()) == (True, True, False)
        with interruptible() as later:
            assert later()  # it is to stop too
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    ignored = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with interrupted():
            signal.raise_signal(signal.SIGTERM)  # `nohup` and its like stay in force
    finally:
        signal.signal(signal.SIGTERM, ignored)


# ---- plain input that ended with code 70, or not at all

LONG = "9" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ["--gap", LONG],
        ["--gap", "0." + LONG],
        ["--within", LONG],
        ["--near", LONG],
        ["--near", f"{LONG} errors"],
        ["--set", f"few={LONG}"],
        ["--set", f"{LONG}=1"],
    ],
)
def test_numbers_of_thousands_of_digits_are_refused(folder: Path, words: list[str]) -> None:
    code, _, err = odt("solve", "s.odt", *words)
    assert code in (1, 2), err
    assert "error[" in err


@pytest.mark.parametrize("size", [2**31 - 1, 2**31, 2**32, 2**63, 10**30])
@pytest.mark.parametrize("using", ["auto", "milp", "sat", "greedy"])
def test_sizes_beyond_machine_integers_are_infeasible(folder: Path, size: int, using: str) -> None:
    (folder / "s.odt").write_text(SPEC + f"rule large: forall leaf: size >= {size}\n")
    code, _, err = odt("solve", "s.odt", "--using", using)
    assert code in (3, 4) or (code == 1 and "B220" in err), err


@pytest.mark.parametrize("name", ["a b", "a\\nb", "é", "", LONG[:350], "-1", "a/b?c=d&e"])
def test_names_of_openml_that_no_address_can_hold(folder: Path, name: str) -> None:
    (folder / "s.odt").write_text(SPEC.replace('data "rows.csv"', f'data openml "{name}"'))
    code, _, err = odt("check", "s.odt")
    assert code == 1, err


def test_numbers_of_solvers_and_formats_that_are_none(folder: Path) -> None:
    (folder / "a.sol").write_text(f"v 1 {LONG} 0\n")
    assert odt("decode", "s.odt", "--assignment", "a.sol")[0] == 1
    (folder / "p").write_text(
        f"c odt proof 1\nc made by x\nc data {'0' * 64}\nc part {LONG} of 1\n"
    )
    assert odt("audit", "s.odt", "--proof", "p")[0] == 1
    for to in ("", "a/b", "\x00", LONG):
        assert odt("compile", "s.odt", "--to", to)[0] in (1, 2)


@posix
def test_files_that_never_end_are_not_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert odt("solve", "s.odt", "--out", "t.json")[0] == 0
    for path in ("pipe", "/dev/zero", "/proc/kmsg", "/proc/self/mem"):
        if not Path(path).exists():
            continue
        for words in (
            ["check", path],
            ["fmt", path],
            ["solve", "s.odt", "--start", path],
            ["check", "s.odt", "--data", path],
            ["check", "s.odt", "--test", path],
            ["predict", path, "rows.csv"],
            ["predict", "t.json", path],
            ["audit", "s.odt", path],
            ["audit", "s.odt", "--proof", path],
            ["decode", "s.odt", "--assignment", path],
            ["tune", "s.odt", "--vary", "depth=1,2", "--keep", path],
            ["export", path, "--to", "c"],
        ):
            code, _, err = odt(*words)
            assert code == 1, (words, err)
    line = f"'{sys.executable}' -m odtdsl check /dev/stdin --data rows.csv < s.odt"
    assert subprocess.run(line, shell=True, capture_output=True, check=False).returncode == 0
    line = f"cat s.odt | '{sys.executable}' -m odtdsl check /dev/stdin --data rows.csv"
    assert subprocess.run(line, shell=True, capture_output=True, check=False).returncode == 0


def test_writers_of_python_keep_the_rows_too(tmp_path: Path) -> None:
    """A model knows no spec; what was read as rows is written over by nothing of odtdsl."""
    rows, test = tmp_path / "rows.csv", tmp_path / "test.csv"
    for path in (rows, test):
        path.write_text("a,y\n1,n\n2,p\n3,p\n")
    spec = tmp_path / "s.odt"
    spec.write_text(
        'data "rows.csv", test "test.csv" target y tree depth <= 1 minimize errors'
        " rule few: leaves <= 2"
    )
    model = odtdsl.load(spec)
    result = model.solve()
    assert result.tree is not None
    tree, link = result.tree, tmp_path / "link.csv"
    link.symlink_to(rows)
    writers: dict[str, Callable[[Path], object]] = {
        "save": lambda path: save(tree, path),
        "report": result.report,
        "model": model.save,
        "export": lambda path: tree.export("python", path),
        "compile": lambda path: model.compile(path, to="lp"),
    }
    for name, write in writers.items():
        for path in (rows, test, link):
            before = path.read_bytes()
            with pytest.raises(OdtError) as caught:
                write(path)
            assert [one.code for one in caught.value.diagnostics] == ["U308"], name
            assert path.read_bytes() == before
        write(tmp_path / f"{name}.out")
        write(tmp_path / f"{name}.out")  # ours may be replaced
    rows.unlink()
    save(tree, rows)  # nothing is there that could be lost
