"""`odt studio`: who is answered, what it may read and write, and that it runs the commands it says.

`test_studio_browser.py` looks at the page itself.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

for package in ("starlette", "uvicorn"):
    pytest.importorskip(package, reason=f"the studio needs {package} (extra studio)")

from studio_server import SPEC, Server, random_rows, solver_of  # noqa: E402

from odtdsl.base.diagnostics.model import OdtError  # noqa: E402
from odtdsl.interfaces.studio import rules  # noqa: E402
from odtdsl.interfaces.studio.requests import EXPORTS  # noqa: E402
from odtdsl.presentation.exports.registry import FORMATS  # noqa: E402


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    outer = tmp_path_factory.mktemp("outer")
    (outer / "secret.csv").write_text("a,y\n1,yes\n2,no\n", encoding="utf-8")
    (outer / "secret.odt").write_text("# secret", encoding="utf-8")
    folder = outer / "work"
    folder.mkdir()
    started = Server(folder)
    yield started
    started.close()


def test_without_the_token_nothing_is_told(server: Server) -> None:
    token = server.token
    for path in (
        "/",
        "/static/studio.js",
        "/wrong/",
        f"/{token[:-1]}/",
        f"/x/{token}/",
        "//",
        "/%C3%A9/",
    ):
        status, headers, body = server.raw(path)
        assert (status, body) == (404, b"")
        assert set(headers) <= {"content-length", "date"}
    assert server.raw("/wrong/open", b"{}")[:1] == (404,)
    status, _, body = server.raw(f"/{token}/")
    assert status == 200
    assert b"odt studio" in body


def test_other_hosts_and_origins_are_refused(server: Server) -> None:
    page, port = f"/{server.token}/", server.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil", ""):
        assert server.raw(page, Host=host)[0] in (400, 404)
    assert server.raw(page, Host=f"localhost:{port}")[0] == 200
    for origin in (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
    ):
        assert server.raw(page + "open", b"{}", Origin=origin)[0] == 404
    status, headers, _ = server.raw(page + "open", b"{}", Origin=f"http://127.0.0.1:{port}")
    assert status == 200
    assert not [name for name in headers if name.startswith("access-control")]
    assert headers["referrer-policy"] == "no-referrer"
    assert "script-src 'self'" in headers["content-security-policy"]


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    names = {one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for name in names - {"127.0.0.1"}:
        if not str(name).startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((str(name), server.port), timeout=2)


@pytest.mark.parametrize(
    "name",
    ["../secret.odt", "/etc/passwd", "", ".", "..", "rows.csv", "a\0.odt", "x" * 500 + ".odt"],
)
def test_no_other_file_is_read_or_written(server: Server, name: str) -> None:
    opened = server.ask("open", name=name)
    assert "secret" not in str(opened.get("text"))
    assert opened.get("text", "") in ("", SPEC)
    assert "refused" in server.ask("save", name=name, text="x", known="# secret")
    assert (server.folder.parent / "secret.odt").read_text() == "# secret"


def test_links_out_of_the_folder_are_not_followed(server: Server) -> None:
    link = server.folder / "link.odt"
    link.symlink_to(server.folder.parent / "secret.odt")
    try:
        assert "link.odt" not in server.ask("open", name="")["names"]
        assert "refused" in server.ask("save", name="link.odt", text="x", known="# secret")
    finally:
        link.unlink()
    assert server.raw(f"/{server.token}/files/..%2Fsecret.csv")[0] == 404
    assert server.raw(f"/{server.token}/files/rows.csv")[0] == 404
    assert server.raw(f"/{server.token}/static/..%2Fapp.py")[0] == 404


@pytest.mark.parametrize(
    "data", ['"../secret.csv"', '"/etc/passwd"', '"~/x.csv"', 'openml "haberman"']
)
def test_data_from_elsewhere_are_not_read(server: Server, data: str) -> None:
    text = SPEC.replace('"rows.csv"', data)
    told = server.ask("check", text=text)
    assert [one["code"] for one in told["diagnostics"]] == ["U381"]
    assert told["facts"] is None
    refused = server.ask("start", command="solve", name="spec.odt", text=text, known=SPEC)
    assert refused["refused"][0]["code"] == "U381"
    test = SPEC.replace('"rows.csv"', '"rows.csv", test "../secret.csv"')
    assert server.ask("check", text=test)["diagnostics"][0]["code"] == "U381"


def test_what_another_program_wrote_is_not_written_over(server: Server) -> None:
    path = server.folder / "spec.odt"
    path.write_text(SPEC + "# mine\n", encoding="utf-8")
    told = server.ask("save", name="spec.odt", text="lost", known=SPEC)
    assert told["refused"][0]["code"] == "U384"
    assert path.read_text() == SPEC + "# mine\n"
    path.write_bytes(SPEC.replace("\n", "\r\n").encode())
    assert server.ask("save", name="spec.odt", text=SPEC + "# é\n", known=SPEC)["saved"]
    assert path.read_bytes() == (SPEC + "# é\n").replace("\n", "\r\n").encode()
    path.write_text(SPEC, encoding="utf-8")


def test_the_editor_is_helped_as_by_the_language_server(server: Server) -> None:
    text = "# 😀\n" + SPEC.replace("sex =", "sexx =")
    told = server.ask("check", text=text)
    (one,) = told["diagnostics"]
    start, end, _ = one["labels"][0]
    wide = text.encode("utf-16-le")
    assert wide[2 * start : 2 * end].decode("utf-16-le") == "sexx"
    (fix,) = server.ask("fixes", text=text, start=start, end=start)["fixes"]
    assert (fix["title"], fix["text"], fix["from"]) == ("Write `sex`", "sex", start)
    assert [rule["name"] for rule in told["rules"]] == ["fair", "robust"]
    found = server.ask("complete", text=SPEC + "rule x: acc", offset=len(SPEC) + 11)
    assert "accuracy" in [item["label"] for item in found["items"]]
    assert "weighted share" in server.ask("hover", text=SPEC, offset=SPEC.index("accuracy"))["text"]


def test_a_solve_is_the_command_that_it_shows(server: Server) -> None:
    state = server.run("solve", within="30 s")
    assert state["code"] == 0
    assert state["line"] == "odt solve spec.odt --out=spec.json '--within=30 s'"
    assert state["answer"]["status"] == "optimal"
    assert state["svg"].lstrip().startswith("<svg")
    assert ">missing" not in state["svg"]  # no cell is
    assert (server.folder / "spec.json").is_file()
    assert state["files"] == ["spec.json"]
    again = server.run("solve", go_on=True)
    assert "--start=spec.start.json" in again["line"]
    assert again["answer"]["objective"] == state["answer"]["objective"]


def test_the_page_offers_each_format_that_needs_no_package(server: Server) -> None:
    offered = server.ask("open", name="")["formats"]
    assert offered[0] == "questionnaire"
    assert set(offered) == {name for name, form in FORMATS.items() if not form.package}
    assert len(set(EXPORTS.values())) == len(EXPORTS)
    assert ".html" not in EXPORTS.values()  # the report's


@pytest.mark.nightly
def test_the_other_commands(server: Server) -> None:
    assert server.run("solve")["code"] == 0
    prices = server.run("explain")["answer"]["prices"]["prices"]
    assert {"fair", "robust"} <= {one["name"] for one in prices}
    points = server.run("curve", rule="robust")["answer"]["points"]
    assert points[0]["proven"]
    for command, more, name in (
        ("report", {}, "spec.html"),
        ("near", {"near": "1 errors"}, "spec.trees.html"),
        ("export", {"to": "questionnaire"}, "spec.ask.html"),
    ):
        assert server.run(command, **more)["files"] == [name]
        status, headers, _ = server.raw(f"/{server.token}/files/{name}")
        assert status == 200
        assert headers["content-security-policy"].startswith("sandbox allow-scripts")


@pytest.mark.parametrize(
    "asked",
    [
        {"command": "shell"},
        {"command": "export", "to": "../x"},
        {"command": "curve"},
        {"command": 3},
        {"command": "solve", "text": None},
        {"command": "solve", "name": "--help.odt"},
    ],
)
def test_odd_requests_are_refused(server: Server, asked: dict[str, object]) -> None:
    full = {"name": "spec.odt", "text": SPEC, "known": SPEC} | asked
    assert "refused" in server.ask("start", **full)
    for body in (b"", b"[]", b"{", b"\xff", b"[" * 5000):
        assert server.raw(f"/{server.token}/check", body)[0] in (400, 413)
    assert server.raw(f"/{server.token}/check", b"x" * 4_000_001)[0] == 413


def test_values_are_no_options(server: Server) -> None:
    state = server.run("near", near="--help")
    assert state["code"] != 0
    assert "--near=--help" in state["line"]


def test_a_killed_solver_ends_neither_the_page_nor_the_spec(server: Server) -> None:
    text = hard(server)
    asked = {"command": "solve", "name": "hard.odt", "text": text, "known": text}
    server.ask("start", **asked, within="300 s")
    while not server.ask("state", after=0).get("events"):
        pass
    os.kill(solver_of(server), signal.SIGKILL)
    state = server.ended()
    assert state["code"] == -signal.SIGKILL
    assert state["answer"] == ""
    assert (server.folder / "hard.odt").read_text() == text
    assert server.run("solve")["answer"]["status"] == "optimal"


def test_a_first_spec_is_begun_from_rows_of_the_folder(server: Server) -> None:
    (server.folder / "new rows.csv").write_bytes((server.folder / "rows.csv").read_bytes())
    told = server.ask("open", name="")
    assert "new rows.csv" in told["tables"]
    assert "rows.csv" in told["tables"]  # it has no spec of its own name
    assert "job" in server.ask("begin", rows="new rows.csv")
    state = server.ended()
    assert state["line"] == "odt init 'new rows.csv'"
    assert state["answer"]["spec"] == "new rows.odt"
    told = server.ask("open", name="new rows.odt")
    assert "target y" in told["text"]
    assert "new rows.csv" not in told["tables"]
    for name in ("../secret.csv", "spec.odt", "absent.csv", "/etc/passwd", 3):
        if "job" in (told := server.ask("begin", rows=name)):
            assert (name, server.ended()["code"]) == ("absent.csv", 1)
        else:
            assert "refused" in told
    (server.folder / "new rows.odt").unlink()
    (server.folder / "new rows.csv").unlink()


def test_rows_and_columns_are_profiled(server: Server) -> None:
    (server.folder / "more.csv").write_text(
        "a,b,y\n"
        + "".join(f"{i % 40},{'' if i == 3 else i % 2},{i % 3}\n" for i in range(120))
        + "5,1,2\n5,1,2\n",
        encoding="utf-8",
    )
    text = 'data "more.csv"\ntarget y: class\ntree depth <= 1\nminimize errors\n'
    facts = server.ask("check", text=text)["facts"]
    (server.folder / "more.csv").unlink()
    rows, (a, b, _) = facts["rows"], facts["columns"]
    assert (rows["n_incomplete"], rows["n_repeated"]) == (1, 2)
    assert rows["first"][3] == ["3", None, "0"]
    assert len(rows["first"]) == 8
    assert sum(a["bars"]) == 122
    assert (b["bars"], b["n_missing"]) == ([], 1)


def hard(server: Server) -> str:
    """A spec that takes longer than a test."""
    (server.folder / "hard.csv").write_text(random_rows(1500, 24), encoding="utf-8")
    text = 'data "hard.csv"\ntarget y: class\ntree depth <= 6\nminimize errors\n'
    (server.folder / "hard.odt").write_text(text, encoding="utf-8")
    return text


@pytest.mark.nightly
def test_a_stopped_solve_keeps_its_tree_and_goes_on(server: Server) -> None:
    text = hard(server)
    asked = {"command": "solve", "name": "hard.odt", "text": text, "known": text}
    server.ask("start", **asked, within="300 s")
    while not (state := server.ask("state", after=0)).get("events"):
        assert state["running"], state
    assert server.ask("check", text=SPEC)["diagnostics"] == []  # it answers meanwhile
    server.ask("stop")
    state = server.ended()
    assert state["answer"]["interrupted"]
    assert state["answer"]["status"] == "feasible"
    assert state["svg"]
    first = state["answer"]["objective"]
    server.ask("start", **asked, within="2 s", go_on=True)
    state = server.ended()
    assert "--start=hard.start.json" in state["line"]
    assert state["answer"]["objective"] <= first


# ---- rules as a list


def test_rules_are_switched_off_and_on_again() -> None:
    text = SPEC + "rule long: if size < 3\n  then purity >= 1  # why\n"
    known = rules.listed(text)
    assert [(one.name, one.on) for one in known] == [
        ("fair", True),
        ("robust", True),
        ("long", True),
    ]
    for one in known:
        off = rules.switched(text, one.span.start)
        assert [(r.name, r.on) for r in rules.listed(off)] == [
            (r.name, r.name != one.name) for r in known
        ]
        (at,) = [r.span.start for r in rules.listed(off) if not r.on]
        assert rules.switched(off, at) == text
    one_line = "rule a: depth <= 2 rule b: leaves <= 3 minimize errors"
    off = rules.switched(one_line, rules.listed(one_line)[0].span.start)
    assert [(r.name, r.on) for r in rules.listed(off)] == [("a", False), ("b", True)]
    with pytest.raises(OdtError):
        rules.switched(text, 1)


def test_curves_are_offered_of_what_has_a_bound() -> None:
    text = SPEC + "rule order: forall path: age before sex\n"
    assert [one.bounds for one in rules.listed(text)] == [True, True, False]
    assert rules.limits(text) == ["depth"]
    assert "tree depth <= 1\n" in rules.bounded(text, "tree depth", "1")
    assert rules.limits(text.replace("depth <= 2", "splits <= 3, leaves <= 4")) == ["leaves"]


def test_a_point_of_a_curve_sets_the_bound() -> None:
    assert "size >= 4\n" in rules.bounded(SPEC, "robust", rules.number_text(4, False))
    assert "(women) >= 62.5%" in rules.bounded(SPEC, "fair", rules.number_text(0.625, True))
    for name, bound in (("none", "3"), ("fair", "1 rule x: depth <= 1"), ("fair", "nan")):
        with pytest.raises(OdtError):
            rules.bounded(SPEC, name, bound)


def test_the_bundled_editor_has_its_licence() -> None:
    folder = Path(rules.__file__).parent / "static"
    text = (folder / "codemirror.LICENSE.txt").read_text(encoding="utf-8")
    assert "MIT License" in text
    assert "Marijn Haverbeke" in text
    assert (folder / "codemirror.js").stat().st_size < 400_000
    for path in folder.glob("*.*"):
        if path.suffix in (".html", ".css", ".js"):
            told = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in told, path
            assert "https://" not in told, path
