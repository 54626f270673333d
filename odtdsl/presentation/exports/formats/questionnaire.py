"""A model as one HTML page that asks its questions one by one, for a phone or a desk."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Iterator
from typing import Any

from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Day
from odtdsl.predictors.wording import label_text, number_text, rounded, share_text, value_text
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.formats.text import leaf_lines, question_text, rank_lines
from odtdsl.presentation.exports.plan import (
    TITLE,
    AtMost,
    Cell,
    CellTest,
    Fork,
    Item,
    OneOf,
    Plan,
    Plane,
    Within,
)

CSS = """
:root{color-scheme:light dark;--page:#fff;--text:#1f2328;--quiet:#59636e;
--line:#d1d9e0;--soft:#f6f8fa;--mark:#0b5cad}
@media(prefers-color-scheme:dark){
:root{--page:#0d1117;--text:#e6edf3;--quiet:#9198a1;--line:#3d444d;--soft:#161b22;--mark:#79b8ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:40rem;background:var(--page);color:var(--text);
font:1.05rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.1rem;color:var(--quiet);font-weight:500}
h2{font-size:1.5rem;line-height:1.3;margin:1rem 0}
button{font:inherit;color:inherit;background:var(--soft);border:1px solid var(--line);
border-radius:.5rem;padding:.7rem 1rem;min-height:3rem;cursor:pointer}
.answers{display:grid;gap:.6rem;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr))}
:focus-visible{outline:3px solid var(--mark);outline-offset:2px}
h2:focus{outline:none}
ol{padding:0;list-style:none}li{margin:.4rem 0}
li button{width:100%;text-align:left;min-height:2.75rem}
p,.quiet{color:var(--quiet)}
[hidden]{display:none!important}
@media print{button{border:0;background:none}.answers,#again,#keys{display:none}}
"""
SCRIPT = """
"use strict";
const model = JSON.parse(document.getElementById("model").textContent);
const by = (id) => document.getElementById(id);
const words = {yes: "Yes", no: "No", unknown: "Not known"};
let taken = [];
function put(parent, tag, text) {
    const made = parent.appendChild(document.createElement(tag));
    made.textContent = text;
    return made;
}
function here() {
    return taken.reduce((at, answer) => model.nodes[at][answer], 0);
}
function answer(word) {
    if (model.nodes[here()][word] !== undefined) {
        taken.push(word);
        draw(true);
    }
}
function price(asked) {
    const paid = model.costs.filter(([, columns]) => columns.some((one) => asked.has(one)));
    return Number(paid.reduce((sum, [amount]) => sum + amount, 0).toPrecision(12));
}
function cost(node) {
    const asked = new Set();
    let at = 0;
    for (const word of taken) {
        model.nodes[at].asks.forEach((one) => asked.add(one));
        at = model.nodes[at][word];
    }
    const so_far = price(asked);
    (node.asks || []).forEach((one) => asked.add(one));
    const more = Number((price(asked) - so_far).toPrecision(12));
    return `Cost so far: ${so_far}${node.asks ? `; this question adds ${more}` : ""}`;
}
function draw(move) {
    const node = model.nodes[here()];
    by("question").textContent = node.says;
    by("exact").textContent = node.exact || "";
    by("cost").hidden = !model.costs.length;
    by("cost").textContent = cost(node);
    by("counts").replaceChildren();
    (node.counts || []).forEach((line) => put(by("counts"), "li", line));
    for (const word of Object.keys(words)) {
        by(word).hidden = node[word] === undefined;
    }
    by("keys").hidden = node.asks === undefined;
    const path = by("path");
    path.replaceChildren();
    let at = 0;
    taken.forEach((word, step) => {
        const back = put(put(path, "li", ""), "button", `${model.nodes[at].says} ${words[word]}`);
        back.title = "Answer this again";
        back.addEventListener("click", () => { taken = taken.slice(0, step); draw(true); });
        at = model.nodes[at][word];
    });
    by("asked").hidden = taken.length === 0;
    if (move) {
        by("question").focus();
    }
}
for (const word of Object.keys(words)) {
    by(word).addEventListener("click", () => answer(word));
}
by("again").addEventListener("click", () => { taken = []; draw(true); });
document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
        return;
    }
    const word = {y: "yes", n: "no", u: "unknown"}[event.key.toLowerCase()];
    if (word) {
        answer(word);
    } else if (event.key === "Backspace" && taken.length) {
        event.preventDefault();
        taken.pop();
        draw(true);
    }
});
draw(false);
"""
PAGE = """<!DOCTYPE html>
<!-- {comment}. A questionnaire. -->
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{css_hash}'; \
script-src '{script_hash}'">
<title>{title}</title>
<style>{css}</style>
<h1>{title}</h1>
<main aria-live="polite">
<h2 id="question" tabindex="-1"></h2>
<p id="exact"></p>
<ul id="counts"></ul>
<p id="cost"></p>
<div class="answers">
<button id="yes" type="button">Yes</button>
<button id="no" type="button">No</button>
<button id="unknown" type="button">Not known</button>
</div>
<p id="keys">Keys: y, n, u; Backspace takes an answer back.</p>
</main>
<section id="asked">
<h1>Answers so far</h1>
<ol id="path"></ol>
<button id="again" type="button">Start again</button>
</section>
{ranks}<noscript>This page needs JavaScript.</noscript>
<script type="application/json" id="model">{model}</script>
<script>{script}</script>
</html>
"""


def to_questionnaire(plan: Plan, name: str | None = None) -> str:
    """A page that asks the questions of a path one by one, and shows what its leaf says.

    It needs no network and sends nothing. Each question has the answers yes and no and, where
    the model takes missing cells, "not known". The exact condition stands below the question, and
    below that what the path costs so far, where the plan has costs.

    Parameters
    ----------
    plan
        The model.
    name
        The title; default what it predicts.
    """
    title = plan.title if name is None else printable(name)
    ranks = "".join(f"<p>{html.escape(line)}</p>\n" for line in rank_lines(plan))
    return PAGE.format(
        comment=html.escape(plan.title).replace("-", "&#45;"),
        title=html.escape(title),
        css=CSS,
        css_hash=_hash(CSS),
        script=SCRIPT,
        script_hash=_hash(SCRIPT),
        ranks=ranks,
        model=_json({"nodes": list(_nodes(plan)), "costs": list(_costs(plan))}),
    )


FORMAT = Format(
    what="a page that asks question by question",
    suffixes=(".html",),
    begins=rb"<!DOCTYPE html>\n<!-- " + TITLE + rb"\. A questionnaire\. -->",
    write=to_questionnaire,
    any_text=True,
    shows_dates=True,
)


def _nodes(plan: Plan) -> Iterator[dict[str, Any]]:
    """Each split and end once, the root first; answers lead to positions."""
    places: dict[int, int] = {id(plan.root): 0}
    order: list[Item] = [plan.root]
    for item in order:  # grows on the way
        if isinstance(item, Fork):
            for child in (item.left, item.right):
                if id(child) not in places:
                    places[id(child)] = len(order)
                    order.append(child)
            yield _question(plan, item, places[id(item.left)], places[id(item.right)])
        else:
            exact, *_ = leaf_lines(plan, item.leaf)
            counts = list(_counts(plan, item.leaf))
            yield {"says": _end(plan, item.leaf), "exact": exact, "counts": counts}


def _end(plan: Plan, leaf: int) -> str:
    """What a leaf predicts, in plain words."""
    said = plan.leaves[leaf]
    values = (plan.classes[said.label],) if said.label is not None else said.output or ()
    told = zip(plan.targets, values, strict=True)
    return ", ".join(f"{printable(target)}: {_value(value)}" for target, value in told)


def _value(value: Any) -> str:
    return printable(value) if isinstance(value, str) else value_text(value)


def _costs(plan: Plan) -> Iterator[tuple[float, list[int]]]:
    """Amounts, with the tested columns that each is paid for."""
    for amount, names in plan.costs:
        columns = [at for at, column in enumerate(plan.columns) if column.name in names]
        if amount and columns:
            yield float(amount), columns


def _question(plan: Plan, fork: Fork, left: int, right: int) -> dict[str, Any]:
    question = fork.question
    said: dict[str, Any] = {"exact": question_text(plan, question), "yes": left, "no": right}
    if isinstance(question, Plane):
        asks = sorted({term.column for term in question.terms})
        return {"says": "Is this sum below its bound?", "asks": asks, **said}
    said["asks"] = [question.column]
    column = plan.columns[question.column]
    said["says"] = _asked(printable(column.name), question)
    if not column.weighed:
        said["unknown"] = left if question.missing else right
    if question.condition == OneOf(values=()):  # no cell passes, so only whether it is there
        said |= {"yes": right}
        del said["no"]
    return said


def _asked(name: str, question: CellTest) -> str:
    condition = question.condition
    if isinstance(condition, AtMost):
        if isinstance(condition.value, Day):
            return f"Is {name} on or before {condition.value}?"
        return f"Is {name} at most {value_text(condition.value)}?"
    if isinstance(condition, Within):
        return f"Is {name} {_between(condition)}?"
    if not condition.values:
        return f"Is {name} known?"
    values = [_cell(value) for value in condition.values]
    if len(values) == 1:
        return f"Is {name} {values[0]}?"
    return f"Is {name} {', '.join(values[:-1])} or {values[-1]}?"


def _between(bin_: Within) -> str:
    low, high = value_text(bin_.low), value_text(bin_.high)
    if bin_.high == math.inf:
        return "any number" if bin_.low == -math.inf else f"at least {low}"
    end = f"at most {high}" if bin_.closed else f"below {high}"
    return end if bin_.low == -math.inf else f"at least {low} and {end}"


def _cell(value: Cell) -> str:
    return f"\u201c{printable(value)}\u201d" if isinstance(value, str) else number_text(value)


def _counts(plan: Plan, leaf: int) -> Iterator[str]:
    """Of a leaf: its training rows, and the share of each class."""
    said = plan.leaves[leaf]
    yield f"{said.size} training row{'s' * (said.size != 1)} here"
    total = math.fsum(said.class_weights)
    if total:
        for label, weight in zip(plan.classes, said.class_weights, strict=True):
            share = share_text(weight, total)
            yield f"{label_text(label)}: {rounded(weight)} ({share})"


def _json(value: Any) -> str:
    """JSON in ASCII that cannot end its element."""
    text = json.dumps(value)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
