// The page of `odt studio`. Every text from a file is put in as text, never as HTML.
import { makeEditor } from "./editor.js";
import { drawBars } from "./bars.js";
import { drawCurve } from "./curve.js";

const $ = (id) => document.getElementById(id);
const made = (tag, text = "", className = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
};

export async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const told = await answer.json();
  if (told.refused) throw new Error(told.refused.map((one) => one.message).join("; "));
  return told;
}

const page = { name: "", known: "", prices: new Map(), job: 0, after: 0, rules: [], limits: [] };
let saving = 0;

const editor = makeEditor($("editor"), { ask, changed: changed, checked: showCheck });

function say(text) {
  $("state").textContent = text;
}

function changed() {
  page.prices.clear();
  $("conflict").replaceChildren();
  if ($("tree").firstChild && $("stop").disabled) say("The spec has changed since this answer.");
  clearTimeout(saving);
  saving = setTimeout(save, 800);
}

async function save() {
  clearTimeout(saving);
  if (!page.name) return;
  const [name, text] = [page.name, editor.text()];
  const told = text === page.known || (await guarded(() => ask("save", { name, text, known: page.known })));
  if (told && name === page.name) page.known = text;
}

async function guarded(action) {
  try {
    return await action();
  } catch (failure) {
    say(failure instanceof TypeError ? "odt studio does not answer: was it ended?" : failure.message);
    return null;
  }
}

// The answers of one spec must not stand beside another.
function forget() {
  if (!$("stop").disabled) guarded(() => ask("stop", {}));
  page.job = 0;
  $("stop").disabled = $("go-on").disabled = true;
  for (const one of ["tree", "audit", "plot", "conflict", "data", "files", "progress"]) {
    $(one).replaceChildren();
  }
  $("line").textContent = "nothing yet";
  say("");
}

async function open(name) {
  const told = await guarded(() => ask("open", { name }));
  if (!told) return;
  page.name = told.name;
  page.known = told.text;
  document.title = `${told.name || told.folder} · odt studio`;
  $("names").replaceChildren(...told.names.map((one) => new Option(one, one, false, one === told.name)));
  editor.show(told.text);
  page.prices.clear();
  forget();
  $("begin").hidden = !told.tables.length;
  $("tables").replaceChildren(...told.tables.map((one) => new Option(one, one)));
  if (!$("to").length) $("to").append(...told.formats.map((one) => new Option(one, one)));
  if (told.name) return;
  const next = told.tables.length ? "begin one from a file of rows." : "put a file of rows there, such as data.csv.";
  say(`There is no spec in this folder: ${next}`);
}

// ---- what a check found

function showCheck(told) {
  page.rules = told.rules;
  page.limits = told.limits;
  const rows = told.diagnostics.map((one) => {
    const row = made("p", "", one.severity);
    const notes = [...one.notes.map((t) => `note: ${t}`), ...one.helps.map((t) => `help: ${t}`)];
    row.append(made("strong", `${one.code} `), [one.message, ...notes].join("\n"));
    return row;
  });
  if (told.unread) rows.push(made("p", `Names and values are not checked: ${told.unread}`, "warning"));
  if (!rows.length) rows.push(made("p", "No mistakes found."));
  $("mistakes").replaceChildren(...rows);
  showRules();
  if (told.facts) showData(told.facts);
}

function showRules() {
  $("rules").replaceChildren(
    ...page.rules.map((one) => {
      const row = made("li", "", one.on ? "" : "off");
      const label = made("label");
      const box = made("input");
      box.type = "checkbox";
      box.checked = one.on;
      box.addEventListener("change", async () => {
        const told = await guarded(() => ask("switch", { text: editor.text(), start: one.start }));
        if (told) editor.replace(told.text);
      });
      label.append(box, " ", made("strong", one.name), ": ", made("code", one.text));
      row.append(label);
      if (one.on && page.prices.has(one.name)) {
        row.append(" ", made("span", page.prices.get(one.name), "cost"));
      }
      return row;
    }),
  );
  const chosen = $("curve-rule").value;
  const bounding = page.rules.filter((one) => one.on && one.bounds).map((one) => one.name);
  const names = [...bounding, ...page.limits.filter((one) => !bounding.includes(one))];
  $("curve").disabled = !names.length;
  $("curve-rule").replaceChildren(...names.map((n) => new Option(n, n, false, n === chosen)));
}

function table(heads, rows) {
  const found = made("table");
  const head = found.createTHead().insertRow();
  heads.forEach((text) => head.append(made("th", text)));
  const body = found.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    cells.forEach((text) => row.append(made("td", String(text ?? ""))));
  }
  return found;
}

function showData(facts) {
  const count = facts.n_rows === null ? "rows not counted" : `${facts.n_rows} rows`;
  const columns = facts.columns.slice(0, 200);
  const more = facts.columns.length > 200 ? ", the first 200 shown" : "";
  const told = table(["column", "kind", "values", "missing", "range or most frequent"], columns.map((one) => [
    one.name,
    one.kind,
    one.n_levels,
    one.n_missing || "",
    one.low !== null ? `${one.low} to ${one.high}`
      : one.levels.slice(0, 4).map(([text, n]) => `${text.slice(0, 40)} (${n})`).join(", "),
  ]));
  told.tHead.rows[0].append(made("th", "rows"));
  columns.forEach((one, at) => told.tBodies[0].rows[at].insertCell().append(drawBars(one)));
  $("data").replaceChildren(
    made("p", `${facts.source}: ${count}, ${facts.columns.length} columns${more}`),
    ...(facts.rows ? [showRows(facts)] : []),
    told,
  );
}

function showRows({ rows, columns, n_rows }) {
  const found = made("details");
  const repeated = rows.n_repeated === null ? ""
    : `; ${rows.n_repeated || "none"} equal to an earlier row`;
  found.append(
    made("summary", `${rows.n_incomplete || "No"} rows with missing cells${repeated}`),
    made("p", `The first ${rows.first.length} of ${n_rows} rows:`, "hint"),
    table(columns.slice(0, rows.first[0]?.length).map((one) => one.name), rows.first),
  );
  return found;
}

// ---- commands

async function start(command, more = {}) {
  if (!page.name) {
    say("There is no spec yet: begin one.");
    return;
  }
  await save();
  const text = editor.text();
  const body = { command, name: page.name, text, known: page.known, within: $("within").value, ...more };
  const told = await guarded(() => ask("start", body));
  if (!told) return;
  page.known = text;
  started(told, command);
}

async function begin() {
  await save();
  const told = await guarded(() => ask("begin", { rows: $("tables").value }));
  if (told) started(told, "init");
}

function started(told, command) {
  Object.assign(page, { job: told.job, after: 0, last: null, drawn: null });
  $("line").textContent = told.line;
  $("stop").disabled = false;
  $("go-on").disabled = true;
  say("running");
  follow(told.job, command);
}

async function follow(job, command) {
  while (job === page.job) {
    const told = await guarded(() => ask("state", { after: page.after }));
    if (!told || told.job !== job) return;
    for (const one of told.events) {
      page.after = one.number;
      page.last = { ...one, at: performance.now() };
      if (one.svg) {
        draw(one.svg);
        page.drawn = one.incumbent;
      }
    }
    if (told.running && page.last) showProgress(page.last);
    if (!told.running) {
      $("stop").disabled = true;
      ended(command, told);
      return;
    }
    await new Promise((done) => setTimeout(done, 300));
  }
}

// Of several objectives in order, a list.
const shown = (value) => (Array.isArray(value) ? value.map(shown).join(", ")
  : value === null || value === undefined ? "none" : String(Number(value.toPrecision(6))));
const percent = (value) => (value === null || value === undefined ? "unknown" : `${(100 * value).toFixed(1)}%`);

// The clock goes on while a proof runs that tells nothing new; not every tree comes with a picture.
function showProgress(one) {
  const since = (performance.now() - one.at) / 1000;
  const drawn = page.drawn === null || shown(page.drawn) === shown(one.incumbent) ? ""
    : `; the tree drawn has ${shown(page.drawn)}`;
  const still = since < 2 ? "" : `; nothing new for ${since.toFixed(0)} s`;
  $("progress").textContent = `${(one.seconds + since).toFixed(1)} s: best ${shown(one.incumbent)}, `
    + `bound ${shown(one.bound)}, gap ${percent(one.gap)}${drawn}${still}`;
}

function draw(svg) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return;
  const first = !$("tree").firstChild;
  // A wide tree that is fitted stays large enough to read, and scrolls.
  const least = innerWidth > 820 ? 0.55 : 0.8;
  parsed.style.minWidth = `${least * Number.parseFloat(parsed.getAttribute("width"))}px`;
  $("tree").replaceChildren(document.adoptNode(parsed));
  // The root stands in the middle, and a wide tree would show its lower left corner.
  if (first) $("tree").scrollLeft = ($("tree").scrollWidth - $("tree").clientWidth) / 2;
}

function ended(command, told) {
  const answer = told.answer;
  const told_wrong = answer?.diagnostics?.map((one) => `${one.code} ${one.message}`).join("; ");
  if (typeof answer !== "object" || answer === null || answer.status === "error") {
    const crashed = told.code < 0 ? "The command was ended from outside; the spec is saved."
      : `ended with code ${told.code}`;
    say(told_wrong || told.errors.trim().split("\n").at(-1) || crashed);
    return;
  }
  if (command === "init") {
    open(answer.spec);
    return;
  }
  say(`${command}: ${answer.interrupted ? "stopped, " : ""}${answer.status ?? "done"}`);
  if (told.svg) draw(told.svg);
  if (command === "solve") showSolved(answer);
  if (command === "explain") showExplained(answer);
  if (command === "curve") drawCurve($("plot"), answer, takePoint);
  showFiles(told.files);
}

function showSolved(answer) {
  $("go-on").disabled = answer.status !== "feasible" || !answer.model;
  $("progress").textContent =
    `${answer.status}: objective ${shown(answer.objective)}, bound ${shown(answer.bound)}, ` +
    `gap ${percent(answer.gap)}, ${answer.seconds.toFixed(2)} s by ${answer.backend}`;
  if (answer.status === "infeasible") {
    $("tree").replaceChildren(made("p", "No tree satisfies all rules. Ask what each rule costs to see the conflict."));
  }
  const rows = (answer.audit ?? []).map((one) => [one.holds ? "holds" : "FAILS", one.rule, one.text]);
  $("audit").replaceChildren(made("h2", "Audit"), table(["", "rule", "condition"], rows));
}

function cost({ low, high }, at, stages) {
  const amount = low === high ? shown(low) : `between ${shown(low)} and ${shown(high)}`;
  const of = stages?.[at]?.text.replace(/^(minimize|maximize) /, "");
  return of ? `${amount} in ${of}` : amount;
}

function showExplained(answer) {
  page.prices.clear();
  const stages = answer.prices?.optimum.stages;
  for (const one of answer.prices?.prices ?? []) {
    const told = [one.price ?? []].flat().map((of, at) => cost(of, at, stages)).join(", ");
    page.prices.set(one.name, one.binds ? `costs ${told || "something"}` : "costs nothing");
  }
  showRules();
  const told = (answer.diagnostics ?? []).filter((one) => one.severity === "error");
  $("conflict").replaceChildren(
    ...told.map((one) => made("p", [one.message, ...one.helps].join("\n"), "error")),
  );
  editor.mark(told);
}

async function takePoint(rule, value, isPercent) {
  const body = { text: editor.text(), rule, value, percent: isPercent };
  const told = await guarded(() => ask("bound", body));
  if (!told) return;
  editor.replace(told.text);
  await start("solve");
}

function showFiles(names) {
  const known = new Set([...$("files").querySelectorAll("a")].map((one) => one.textContent));
  for (const name of names ?? []) {
    if (known.has(name)) continue;
    const row = made("li");
    const link = made("a", name);
    link.href = `files/${encodeURIComponent(name)}`;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    row.append(link);
    $("files").append(row);
  }
}

$("begin-go").addEventListener("click", begin);
$("solve").addEventListener("click", () => start("solve"));
$("go-on").addEventListener("click", () => start("solve", { go_on: true }));
$("fit").addEventListener("change", () => $("tree").classList.toggle("fit", $("fit").checked));
$("stop").addEventListener("click", () => guarded(() => ask("stop", {})));
$("explain").addEventListener("click", () => start("explain"));
$("curve").addEventListener("click", () => start("curve", { rule: $("curve-rule").value }));
$("near-go").addEventListener("click", () => start("near", { near: $("near").value }));
$("report").addEventListener("click", () => start("report"));
$("export").addEventListener("click", () => start("export", { to: $("to").value }));
$("names").addEventListener("change", async () => {
  await save();
  location.hash = encodeURIComponent($("names").value);
  open($("names").value);
});
let wanted = "";
try {
  wanted = decodeURIComponent(location.hash.slice(1));
} catch { /* an address that somebody shortened */ }
open(wanted);
