"""Reports without a browser: what stands in them, that all of it is true, and that none of it
can run; pictures with notes; plots."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import reports

import odtdsl
from odtdsl.driver.result import Result
from odtdsl.insight.counterfactuals import why
from odtdsl.predictors.diagram import Diagram
from odtdsl.predictors.graph import End, Joint
from odtdsl.presentation.pictures.svg import picture_of
from odtdsl.presentation.report.assembly import subject_of
from odtdsl.presentation.report.markup import Markup, data, table, tag, text
from odtdsl.presentation.report.node_facts import facts_of, notes_of
from odtdsl.presentation.report.page import page
from odtdsl.problem.ir.expr import GroupArg

NAMES = ("plain", "hostile", "diagram", "planes", "outputs", "conflict")
NEVER = {
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "img",
    "video",
    "audio",
    "source",
    "image",
    "use",
    "a:href",
    "foreignobject",
    "animate",
    "set",
    "template",
}


@cache
def made(name: str) -> Result:
    found: Result = getattr(reports, name)()
    return found


@cache
def page_of(name: str) -> str:
    return page(subject_of(made(name)))


class PageParser(HTMLParser):
    """Elements, attributes and texts of a page; cells by the caption of their table."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.inside: list[str] = []
        self.caption = self.policy = ""
        self.texts: list[str] = []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        self.attributes += [(name, key, value or "") for key, value in attrs]
        said = dict(attrs)
        if said.get("http-equiv") == "Content-Security-Policy":
            self.policy = said["content"] or ""
        if name not in ("meta", "input", "br"):
            self.inside.append(name)
        if name == "caption":
            self.caption = ""
        elif name == "tr":
            self.tables.setdefault(self.caption, []).append([])
        elif name in ("td", "th"):
            self.tables[self.caption][-1].append("")

    def handle_endtag(self, name: str) -> None:
        assert self.inside.pop() == name

    def handle_data(self, words: str) -> None:
        if "script" in self.inside or "style" in self.inside:
            return
        self.texts.append(words)
        if "caption" in self.inside:
            self.caption += words
        elif "td" in self.inside or "th" in self.inside:
            self.tables[self.caption][-1][-1] += words


@cache
def read(name: str) -> PageParser:
    reader = PageParser()
    reader.feed(page_of(name))
    reader.close()
    assert reader.inside == []
    return reader


# ---- nothing of it can run


@pytest.mark.parametrize("name", NAMES)
def test_pages_hold_no_element_or_attribute_that_does_anything(name: str) -> None:
    reader = read(name)
    assert not set(reader.tags) & NEVER
    assert reader.tags.count("script") == 2
    assert reader.tags.count("style") == 1
    for element, key, value in reader.attributes:
        assert not key.startswith("on"), (element, key)
        assert key not in ("style", "src", "srcset", "action", "formaction", "data", "xlink:href")
        if key == "href":
            assert value.startswith("#")


@pytest.mark.parametrize("name", NAMES)
def test_the_policy_names_the_only_script_and_the_only_style(name: str) -> None:
    source = page_of(name)
    policy = read(name).policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    for kind in ("style", "script"):
        (content,) = re.findall(rf"<{kind}>(.*?)</{kind}>", source, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert source.index("Content-Security-Policy") < source.index("<style>")
    shown = re.sub(r"sha256-[\w+/=]+", "", _without_rules(source))  # two slashes may stand in one
    assert not re.search(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)\w", shown)


def _without_rules(source: str) -> str:
    """The page without the text of its specs, which may say anything."""
    return re.sub(r'<pre class="spec".*?</pre>', "", source, flags=re.S)


def test_hostile_words_are_shown_as_they_are() -> None:
    words = " ".join(read("hostile").texts)
    for said in reports.HOSTILE.values():
        if "pwned='link'" not in said:  # a cell that no split names
            assert said in words
    given = json.loads(page_of("hostile").split('id="data">')[1].split("</script>")[0])
    assert reports.HOSTILE["tag"] in [one["name"] for one in given["features"]]


@pytest.mark.parametrize(
    "words", [*reports.HOSTILE.values(), "\u202ereversed", "a\x00b", "\ud800", "\u2028"]
)
def test_markup_escapes_whatever_is_not_markup(words: str) -> None:
    made = tag("p", words, title=words)
    reader = PageParser()
    reader.feed(made)
    assert reader.tags == ["p"]
    assert [key for _, key, _ in reader.attributes] == ["title"]
    said = data({words: [words]})
    assert not set("<>&") & set(said)
    assert json.loads(said) == {words: [words]}
    said.encode("ascii")
    table(words, [words], [[words]]).encode("utf-8")


def test_markup_is_not_escaped_twice() -> None:
    assert text(Markup("<b>")) == "<b>"
    assert tag("p", tag("b", "x<y"), None, hidden=True, class_="q", lang=None) == (
        '<p hidden class="q"><b>x&lt;y</b></p>'
    )


def test_specs_keep_their_lines_whatever_ends_them() -> None:
    spec = reports.PLAIN.replace("\n", "\r\n").replace("rule women:   ", "rule women:\t")
    result = odtdsl.parse(spec).solve(frame=reports.plain_frame(), using="greedy")
    shown = page(subject_of(result)).split('<pre class="spec">')[1].split("</pre>")[0]
    words = re.sub("<[^>]*>", "", shown).replace("&quot;", '"').replace("&gt;", ">")
    assert words.replace("&lt;", "<") == spec.replace("\r", "").replace("\t", "    ")


# ---- what it says is true


@pytest.mark.parametrize("name", ["plain", "hostile", "diagram", "planes", "outputs"])
def test_nodes_hold_the_rows_that_reach_them(name: str) -> None:
    result = made(name)
    assert result.model is not None
    assert result.rows is not None
    graph = result.model.graph()
    inside = result.model.rows_of_nodes(result.rows.data.table)
    assert [len(rows) for rows in inside] == [node.size for node in graph.nodes]
    for node in graph.joints:
        both = [*inside[node.left], *inside[node.right]]
        assert set(inside[node.number]) <= set(both)
        assert sum(node.sizes) == node.size
    ends = [node for node in graph.nodes if isinstance(node, End)]
    assert sum(node.size for node in ends) == result.rows.n_rows
    assert len(ends) == result.model.n_leaves


def test_costs_groups_and_rules_of_nodes() -> None:
    result = made("plain")
    assert result.tree is not None
    assert result.rows is not None
    facts = facts_of(result.tree, result.rows)
    mean = Fraction(0)
    for one in facts.nodes:
        for group, count in zip(result.rows.problem.groups, one.groups, strict=True):
            assert count == result.rows.mask(GroupArg(name=group.name))[one.inside].sum()
        if isinstance(one.node, End):
            assert one.costs is not None
            assert one.costs[0] == one.costs[1] <= 22
            mean += one.costs[0] * len(one.inside)
    spec = reports.PLAIN.replace("minimize errors then leaves", "minimize expected_cost")
    audited = odtdsl.audit(result.tree, spec, frame=reports.plain_frame())
    assert audited.objective[0] == mean / result.rows.n_rows
    explained = why(result.tree, result.rows, 7)
    passed = [one for one in facts.nodes if 7 in one.inside]
    assert [one.rules for one in passed] == [step.rules for step in explained.steps]
    paths = read("plain").tables["Cost of the paths taken"]
    assert float(paths[-1][-1]) == pytest.approx(float(audited.objective[0]), rel=1e-5)


@pytest.mark.parametrize(("groups", "lines"), [(3, 3), (4, 4), (5, 4)])
def test_a_picture_leaves_out_more_than_one_group(groups: int, lines: int) -> None:
    named = " ".join(f"group g{i} = a = {i}" for i in range(groups))
    spec = f"data frame target y {named} tree depth <= 1 minimize errors"
    result = odtdsl.solve(spec, frame={"a": list(range(6)), "y": list("nnnppp")})
    assert result.tree is not None
    assert result.rows is not None
    facts = facts_of(result.tree, result.rows)
    for noted in notes_of(facts, ["groups"]).values():
        assert len(noted) == lines
        assert [one for one in noted if "more" in one] == ["2 more groups"] * (groups > 4)


def test_diagrams_have_costs_from_to() -> None:
    rows = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "y": list("nppn") * 3}
    result = odtdsl.parse(
        "data frame target y feature *: number cost a = 1, b = 5 "
        "diagram widths 1, 2 minimize errors"
    ).solve(frame=rows, using="greedy")
    assert isinstance(result.model, Diagram)
    assert result.rows is not None
    for one in facts_of(result.model, result.rows).nodes:
        if isinstance(one.node, Joint) and one.node.level == 0:
            assert one.costs == (Fraction(1),) * 2 or one.costs == (Fraction(5),) * 2
        else:
            assert one.costs == (Fraction(6), Fraction(6))


def test_confusion_counts_every_row_once_and_by_group() -> None:
    result, tables = made("plain"), read("plain").tables
    assert result.tree is not None
    frame = reports.plain_frame()
    predicted = result.tree.predict(frame)
    for caption, kept in (
        ("Confusion, training rows", [True] * 120),
        ("Confusion, training rows of old", [age >= 50 for age in frame["age"]]),
        ("Confusion, training rows of women", [sex == "f" for sex in frame["sex"]]),
    ):
        for row in tables[caption][1:3]:
            for label, count in zip(("no", "yes"), row[1:3], strict=True):
                cells = zip(frame["sick"], predicted, kept, strict=True)
                assert int(count) == sum((a, p, k) == (row[0], label, True) for a, p, k in cells)
    assert "Confusion, test rows of old" in tables
    rates = {row[0]: row for row in tables["Rates"]}
    assert result.test is not None
    assert rates["test rows"][2] == str(result.test.errors)


def test_thresholds_stand_between_rows() -> None:
    result = made("plain")
    rows = read("plain").tables["Thresholds"][1:]
    assert result.tree is not None
    numbers = [row for row in rows if row[1] in ("age", "pressure")]
    assert numbers
    for _, _, cut, below, above, left, right in numbers:
        assert float(below) <= float(cut) < float(above)
        assert int(left) > 0
        assert int(right) > 0


def test_outputs_say_the_feasible_set_and_errors_by_target() -> None:
    result, reader = made("outputs"), read("outputs")
    assert result.outputs is not None
    assert "0 <= first" in " ".join(reader.texts)
    assert {row[-1] for row in reader.tables["Outputs of leaves"][1:]} == {"yes"}
    told = {row[1]: float(row[3]) for row in reader.tables["Errors by target"][1:]}
    for target, mse in result.outputs.mse:
        assert told[target] == pytest.approx(mse, rel=1e-5)


def test_shared_nodes_of_diagrams() -> None:
    rows = read("diagram").tables["Shared nodes"][1:]
    assert len(rows) == 2
    assert all(row[2] == "2" for row in rows)


def test_a_conflict_is_told_with_what_would_do() -> None:
    tables = read("conflict").tables
    (caption,) = (name for name in tables if name.startswith("A proven conflict"))
    assert [row[0] for row in tables[caption][1:]] == ["women", "tree depth"]
    assert "women" in page_of("conflict")
    assert "The model" not in page_of("conflict")


def test_prices_where_they_are_asked_for() -> None:
    result = made("outputs")
    assert "Price of rules" not in page_of("outputs")
    small = odtdsl.parse(reports.PLAIN.replace("depth <= 3", "depth <= 2")).solve(
        frame=reports.plain_frame()
    )
    told = page(subject_of(small, prices=True))
    assert "What each rule costs" in told
    assert result.status == "optimal"
    refused = page(subject_of(made("diagram"), prices=True))
    assert "`odt explain` does not support diagrams yet" in refused


def test_the_same_result_gives_the_same_page() -> None:
    assert page(subject_of(made("plain"))) == page_of("plain")


def test_rows_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    made("plain").report(path, rows=False, title="A title")
    told = path.read_text(encoding="utf-8")
    assert '"rows":null' in told
    assert "<h1>A title</h1>" in told
    assert '"rows":null' not in page_of("plain")


# ---- from a file


def test_saved_results_are_believed_only_where_they_fit(tmp_path: Path) -> None:
    from odtdsl.presentation.report.saved import saved

    spec = tmp_path / "s.odt"
    spec.write_text('data sklearn "iris"\ntarget target\ntree depth <= 2\nminimize errors\n')
    model = odtdsl.load(spec)
    result, file = model.solve(), tmp_path / "r.json"
    whole = result.to_json()

    def status(said: dict[str, Any]) -> tuple[str, str]:
        file.write_text(json.dumps(said), encoding="utf-8")
        found, claim = saved(model.analyse(), file)
        assert found.objective == result.objective
        assert found.audit == result.audit
        return found.status, claim

    assert status(whole)[0] == "optimal"
    assert "as saved" in status(whole)[1]
    for wrong in (  # type: ignore[var-annotated]
        {"digest": "0" * 64},
        {"stages": []},
        {"status": "proven"},
        {"timeline": [{}]},
        {"seconds": -1},
        {"counters": 3},
        {"stages": [{**whole["stages"][0], "value": 5}]},
        {"stages": [{**whole["stages"][0], "proven": False}]},
    ):
        assert status(whole | wrong)[0] == "feasible"
    assert "no search was made" in status(whole["model"])[1]
    assert "tells of no proof (`odt solve SPEC --json > answer.json`" in status(whole["model"])[1]
    assert "tells of a search for another problem" in status(whole | {"digest": "0" * 64})[1]


@pytest.mark.parametrize(
    "other",
    [
        "tree depth <= 2",
        "tree depth <= 1, leaves <= 1",
        "candidates a at {3, 5} tree depth <= 1",
        "tree depth <= 1 rule r: forall leaf: size >= 1",
        "feature b: category tree depth <= 1",
        "tree depth <= 1 cost a = 2",
        "drop c tree depth <= 1",
        "weight c tree depth <= 1",
    ],
)
def test_a_proof_is_believed_for_the_very_problem_alone(other: str, tmp_path: Path) -> None:
    """A better tree may be admitted where anything is asked otherwise: rules, skeleton, columns."""
    from odtdsl.presentation.report.saved import saved

    rows = [(a, b, (a * b) % 3) for a in range(7) for b in range(5)]
    frame = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
    frame["y"] = ["uv"[(a > 3) ^ (b > 1)] for a, b, _ in rows]  # type: ignore[misc]
    text = "data frame target y {} minimize errors solve within {} s, seed {}"
    file = tmp_path / "r.json"
    result = odtdsl.parse(text.format("tree depth <= 1", 60, 1)).solve(frame=frame)
    file.write_text(json.dumps(result.to_json()), encoding="utf-8")

    def status(asked: str) -> str:
        return saved(odtdsl.parse(text.format(asked, 9, 2)).analyse(frame=frame), file)[0].status

    assert status("tree depth <= 1") == "optimal"
    assert status(other) == "feasible"


def test_the_command_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from odtdsl.interfaces.cli.main import app

    monkeypatch.chdir(tmp_path)
    Path("iris.odt").write_text(
        'data sklearn "iris"\ntarget target\ntree depth <= 2\nminimize errors\n'
        "rule few: errors <= 10\n"
    )

    def odt(*arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            app([*arguments], prog_name="odt")
        return int(ended.value.code or 0)

    assert odt("report", "iris.odt", "--svg", "iris.svg") == 0
    assert "optimal" in capsys.readouterr().out
    assert Path("iris.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "rules: few" in Path("iris.svg").read_text(encoding="utf-8")
    assert odt("solve", "iris.odt", "--out", "tree.json") == 0
    assert odt("report", "iris.odt", "--model", "tree.json", "--out", "other.html") == 0
    assert "a saved model" in Path("other.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert odt("solve", "iris.odt", "--json") == 0
    Path("answer.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert odt("report", "iris.odt", "answer.json", "--out", "whole.html") == 0
    for name, proven in (("iris", "yes"), ("other", "not told"), ("whole", "yes")):
        said = Path(f"{name}.html").read_text(encoding="utf-8")
        (row,) = re.findall(r"<tr>(?:(?!</tr>).)*>minimize errors<.*?</tr>", said, re.S)
        assert re.findall(r">([^<>]+)</t[dh]>", row)[-1] == proven
    assert odt("report", "iris.odt", "--set", "x=1") == 1
    assert odt("report", "iris.odt", "--out", "iris.odt") == 2
    strict = Path("iris.odt").read_text().replace("10", "5")
    Path("strict.odt").write_text(strict)
    assert odt("report", "strict.odt", "--model", "tree.json", "--json") == 1
    assert json.loads(capsys.readouterr().out.split("\n")[-2])["holds"] is False
    assert "breaks rules" in Path("strict.html").read_text(encoding="utf-8")
    assert odt("report", "strict.odt") == 3
    assert "Why there is no model" in Path("strict.html").read_text(encoding="utf-8")


def test_results_without_rows_or_model_are_refused() -> None:
    from dataclasses import replace

    bare = replace(made("plain"), rows=None)
    with pytest.raises(odtdsl.OdtError, match="no training rows"):
        bare.report("never.html")
    with pytest.raises(odtdsl.OdtError, match="no model to draw"):
        made("conflict").to_svg()
    with pytest.raises(odtdsl.OdtError, match="not something that pictures show"):
        made("plain").to_svg(show=["colours"])  # type: ignore[list-item]


# ---- pictures


def test_pictures_of_results_show_what_is_asked_for() -> None:
    result = made("plain")
    bare, full = result.to_svg(show=()), result.to_svg()
    # Where missing cells go is shown; without the rows, at every split, as any may meet one.
    splits = result.tree.n_splits  # type: ignore[union-attr]
    alone = result.tree.to_svg()  # type: ignore[union-attr]
    assert alone.count(">missing: ") == splits
    assert 0 < bare.count(">missing: ") <= splits
    for word in ("cost 22", "women ", "rules: "):
        assert word in full
        assert word not in bare
    assert "rules: " not in result.to_svg(show=["costs"])


@pytest.mark.parametrize("name", ["plain", "diagram", "outputs", "hostile", "conflict"])
def test_notebooks_show_models_and_results(name: str) -> None:
    result = made(name)
    shown = [result._repr_html_()]
    if result.model is not None:
        shown.append(result.model._repr_html_())
    for one in shown:
        reader = PageParser()
        reader.feed(one)
        assert reader.inside == []
        assert "script" not in reader.tags
        assert not set(reader.tags) & NEVER
        assert not any(key.startswith("on") for _, key, _ in reader.attributes)
        for rule in re.findall(r"([^{}]+)\{", "".join(re.findall(r"<style>(.*?)</style>", one))):
            assert rule.startswith((".odt ", "@media"))  # the page around is left alone


@pytest.mark.parametrize("name", ["plain", "diagram", "planes", "hostile"])
def test_plots_hold_the_same_words_in_their_boxes(name: str) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = made(name)
    assert result.model is not None
    picture = picture_of(result.model)
    for ax in (result.model.plot(), plt.subplots(figsize=(4, 3))[1]):
        axes = ax if len(ax.texts) else result.model.plot(ax)
        axes.figure.canvas.draw()
        said = sorted(one.get_text() for one in axes.texts)
        words = [line for box in picture.boxes for line, _ in box.text.lines]
        words += [line.label for line in picture.lines] + [key.label for key in picture.keys]
        assert said == sorted(words)
        boxes = [p for p in axes.patches if type(p).__name__ == "FancyBboxPatch"]
        assert len(boxes) == len(picture.boxes)
        extents = [box.get_window_extent() for box in boxes]
        for one in axes.texts:
            if one.get_ha() == "center":
                inner = one.get_window_extent()
                assert any(
                    box.x0 <= inner.x0 + 1
                    and inner.x1 - 1 <= box.x1
                    and box.y0 <= inner.y0 + 2
                    and inner.y1 - 2 <= box.y1
                    for box in extents
                ), one.get_text()
    assert result.plot() is not None
    plt.close("all")


def test_plots_without_matplotlib_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(odtdsl.OdtError, match="need matplotlib"):
        made("plain").plot()


def test_words_at_arcs_stay_within_the_picture() -> None:
    model = made("diagram").model
    assert model is not None
    picture = picture_of(model)
    assert picture.left < 0
    for line in picture.lines:
        assert picture.left <= line.at[0] <= picture.left + picture.width
