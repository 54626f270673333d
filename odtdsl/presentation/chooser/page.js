"use strict";
const page = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const SHOWN = 200; // trees in the list at once: a longer one makes clicks slow
const put = (parent, tag, text = "") => {
  const made = parent.appendChild(document.createElement(tag));
  made.textContent = text;
  return made;
};

// ---- what can be wished

const bounds = [
  {name: "leaves", rule: "leaves", of: (tree) => tree.leaves},
  {name: "depth", rule: "depth", of: (tree) => tree.depth},
];
if (page.trees.every((tree) => tree.errors !== null)) {
  bounds.push({name: "errors", rule: "errors", of: (tree) => tree.errors});
}
page.groups.forEach((group, at) => {
  if (page.trees.every((tree) => tree.groups.length)) {
    const rule = group.rule === null ? null : `errors(${group.rule})`;
    const define = group.define;
    bounds.push({name: `errors in ${group.name}`, rule, define, of: (tree) => tree.groups[at]});
  }
});
const tested = page.trees.map((tree) => {
  const found = new Set();
  const walk = (node) => {
    if (node.length === 4) {
      found.add(page.tests[node[0]][0]);
      walk(node[1]);
      walk(node[2]);
    }
  };
  walk(tree.root);
  return found;
});
const rootOf = (at) => {
  const root = page.trees[at].root;
  return root.length === 4 ? page.tests[root[0]][0] : -1;
};
const WISHES = {
  "": "may be used",
  yes: "must be used",
  no: "must not be used",
  root: "must be asked first",
};
const SAID = {
  yes: (word) => `uses(${word})`,
  no: (word) => `not uses(${word})`,
  root: (word) => `uses(${word}) and root in {${word}}`,
};
const keeps = {
  "": () => true,
  yes: (at, feature) => tested[at].has(feature),
  no: (at, feature) => !tested[at].has(feature),
  root: (at, feature) => rootOf(at) === feature,
};

for (const bound of bounds) {
  const values = page.trees.map(bound.of);
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const row = put(by("bounds"), "label");
  row.className = "row";
  put(put(row, "span", bound.name), "small", `${low} to ${high} in the list`);
  bound.input = put(row, "input");
  bound.input.type = "number";
  bound.input.step = "any";
}
const users = page.features.map((_, at) => tested.filter((one) => one.has(at)).length);
const order = page.features.map((_, at) => at).sort((a, b) => users[b] - users[a]);
for (const at of order) {
  const feature = page.features[at];
  feature.row = put(by("features"), "label");
  feature.row.className = "row";
  const name = put(feature.row, "span", feature.name);
  feature.said = put(name, "small");
  if (feature.relied) {
    put(name, "small", feature.relied);
  }
  feature.select = put(feature.row, "select");
  for (const [value, words] of Object.entries(WISHES)) {
    put(feature.select, "option", words).value = value;
  }
}

// ---- what passes

let passing = [];
let chosen = 0;

function limitOf(bound) {
  return bound.input.value === "" ? Infinity : Number(bound.input.value);
}

function filter() {
  const limits = bounds.map(limitOf);
  const wished = page.features
    .map((feature, at) => [at, feature.select.value])
    .filter(([, wish]) => wish);
  passing = page.trees
    .map((_, at) => at)
    .filter((at) =>
      bounds.every((bound, b) => bound.of(page.trees[at]) <= limits[b])
      && wished.every(([feature, wish]) => keeps[wish](at, feature)));
  chosen = 0;
  const use = page.features.map(() => 0);
  passing.forEach((at) => tested[at].forEach((feature) => { use[feature] += 1; }));
  page.features.forEach((feature, at) => {
    feature.said.textContent = `in ${use[at]} of ${passing.length}`;
  });
  drawRules(wished, limits);
  drawList();
}

function drawRules(wished, limits) {
  by("copy").textContent = "Copy the rules";
  const lines = [];
  const groups = [];
  bounds.forEach((bound, b) => {
    if (limits[b] < Infinity) {
      groups.push(...(bound.define ? [bound.define] : []));
      lines.push(bound.rule === null ? null : `${bound.rule} <= ${plain(limits[b])}`);
    }
  });
  for (const [at, wish] of wished) {
    const word = page.features[at].rule;
    lines.push(word === null ? null : SAID[wish](word));
  }
  const rules = lines.map((line, at) => (line === null
    ? "# a name with a line break cannot stand in a rule: rename the column"
    : `rule chosen_${at + 1}: ${line}`));
  by("rules").value = [...groups, ...rules].join("\n");
}

function plain(number) { // without an exponent, which the language does not read
  return number.toLocaleString("en-US", {useGrouping: false, maximumFractionDigits: 20});
}

function drawList() {
  const list = by("list");
  list.replaceChildren();
  const all = page.trees.length;
  const more = passing.length > SHOWN ? `; the best ${SHOWN} are shown` : "";
  by("count").textContent = `${passing.length} of ${all} trees${more}`;
  passing.slice(0, SHOWN).forEach((at, place) => {
    const tree = page.trees[at];
    const value = tree.value.join(", ");
    const asked = [...tested[at]].map((feature) => page.features[feature].name).join(", ");
    const leaves = `${tree.leaves} ${tree.leaves === 1 ? "leaf" : "leaves"}`;
    const option = put(list, "div", `${value}; ${leaves}; ${asked || "no question"}`);
    option.id = `tree-${place}`;
    option.setAttribute("role", "option");
    option.addEventListener("click", () => choose(place));
  });
  choose(0);
}

function choose(place) {
  const list = by("list");
  const last = Math.min(passing.length, SHOWN) - 1;
  list.children[chosen]?.setAttribute("aria-selected", "false");
  chosen = Math.max(0, Math.min(place, last));
  const option = list.children[chosen];
  if (!option) {
    list.removeAttribute("aria-activedescendant");
    by("tree").textContent = "No listed tree fulfils all wishes. Clear one of them.";
    return;
  }
  option.setAttribute("aria-selected", "true");
  list.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({block: "nearest"});
  const tree = page.trees[passing[chosen]];
  const lines = [];
  drawNode(tree.root, "", "", lines);
  bounds.forEach((bound) => lines.push(`${bound.name}: ${bound.of(tree)}`));
  by("tree").textContent = lines.join("\n");
}

// Classes that are called yes or no would read like another answer.
const answers = ["yes", "no"];
const says = page.classes.some((one) => answers.includes(one.toLowerCase())) ? "predicts " : "";

function drawNode(node, first, rest, lines) {
  if (node.length === 3) {
    const [label, rows, wrong] = node;
    const name = label === "" ? "" : `${says}${page.classes[label]}  `;
    lines.push(`${first}${name}(${rows} rows, ${wrong} wrong)`);
    return;
  }
  const [test, left, right, side] = node;
  const missing = side ? `  (missing: ${side === 1 ? "yes" : "no"})` : "";
  lines.push(first + page.tests[test][1] + missing);
  drawNode(left, `${rest}\u251c\u2500 yes: `, `${rest}\u2502  `, lines);
  drawNode(right, `${rest}\u2514\u2500 no: `, `${rest}   `, lines);
}

// ---- what is pressed

by("wishes").addEventListener("input", (event) => {
  if (event.target.id === "find") {
    const words = event.target.value.toLowerCase();
    page.features.forEach((feature) => {
      feature.row.hidden = !feature.name.toLowerCase().includes(words);
    });
  } else {
    filter();
  }
});
by("wishes").addEventListener("submit", (event) => event.preventDefault());
by("wishes").addEventListener("reset", () => setTimeout(() => {
  page.features.forEach((feature) => { feature.row.hidden = false; });
  filter();
}));
by("list").addEventListener("keydown", (event) => {
  const places = {
    ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: 0, End: SHOWN,
    PageDown: chosen + 10, PageUp: chosen - 10,
  };
  if (event.key in places) {
    event.preventDefault();
    choose(places[event.key]);
  }
});
by("copy").addEventListener("click", () => {
  by("rules").select(); // and copied as by Ctrl-C: a page in a sandbox has no other clipboard
  by("copy").textContent = document.execCommand("copy") ? "Copied" : "Copy them by Ctrl-C";
});

const within = page.near ? `within ${page.near} of the best` : "as good as the best";
const rest = page.complete ? "the list is complete" : `the list is incomplete: ${page.stopped}`;
const raw = page.raw === null ? "" : ` (${page.raw} where trees that predict alike count each)`;
const relied = page.features.some((feature) => feature.relied)
  ? " Reliance: what the error rate grows by if a feature is taken from other rows." : "";
by("about").textContent = `${page.trees.length} distinct trees ${within}${raw}; ${rest}.`
  + ` Values: ${page.stages.join(", ")}.${relied}`;
filter();
