// The editor: CodeMirror with the answers of the language server's own functions.
import {
  EditorState, EditorView, HighlightStyle, StreamLanguage, autocompletion, bracketMatching,
  completionKeymap, defaultKeymap, drawSelection, history, historyKeymap, hoverTooltip, keymap,
  lineNumbers, lintGutter, lintKeymap, setDiagnostics, syntaxHighlighting, tags,
} from "./codemirror.js";

const WORDS = new Set(("data target feature drop weight missing candidates cost loss group let tree " +
  "diagram minimize maximize rule solve then forall if and or not in is before requires").split(" "));

const language = StreamLanguage.define({
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"(?:\\.|[^"\\])*"?/)) return "string";
    if (stream.match(/^`(?:[^`]|``)*`?/)) return "variableName";
    if (stream.match(/^[0-9]+(?:\.[0-9]+)?%?/)) return "number";
    const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u);
    if (word) return WORDS.has(word[0]) ? "keyword" : null;
    stream.next();
    return null;
  },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "light-dark(#1d5fbf, #8ab4f8)" },
  { tag: tags.string, color: "light-dark(#1a6b33, #93d6a5)" },
  { tag: tags.number, color: "light-dark(#8a3a00, #f0b37e)" },
  { tag: tags.comment, color: "light-dark(#5a6270, #a5adba)" },
]);

export function makeEditor(parent, { ask, changed, checked }) {
  let timer = 0;
  let latest = 0;
  let silent = false;

  const text = () => view.state.doc.toString();

  async function check() {
    const number = ++latest;
    const of = text();
    let told;
    try {
      told = await ask("check", { text: of });
    } catch {
      return; // the next key asks again
    }
    if (number !== latest || of !== text()) return;
    show(told.diagnostics);
    checked(told);
  }

  function show(diagnostics) {
    const size = view.state.doc.length;
    const found = diagnostics.map((one) => {
      const [start, end] = one.labels.find(([at]) => at >= 0) ?? [0, 0];
      const from = Math.min(start, size);
      return {
        from,
        to: Math.max(from, Math.min(end, size)),
        severity: one.severity,
        message: [`${one.code}: ${one.message}`, ...one.helps].join("\n"),
        actions: one.code.startsWith("U38") ? [] : [{ name: "Quick fixes", apply: offer }],
      };
    });
    view.dispatch(setDiagnostics(view.state, found.sort((a, b) => a.from - b.from)));
  }

  async function offer(_view, from, to) {
    const of = text();
    const told = await ask("fixes", { text: of, start: from, end: to }).catch(() => ({ fixes: [] }));
    if (of !== text()) return;
    const dialog = document.createElement("dialog");
    dialog.className = "fixes";
    dialog.setAttribute("aria-label", "Quick fixes");
    const button = (title, action) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = title;
      made.addEventListener("click", () => {
        dialog.close();
        action();
        view.focus();
      });
      dialog.append(made, " ");
    };
    for (const one of told.fixes) {
      button(one.title, () => view.dispatch({ changes: { from: one.from, to: one.to, insert: one.text } }));
    }
    button(told.fixes.length ? "None of these" : "There is no quick fix", () => {});
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  async function completions(context) {
    const told = await ask("complete", { text: context.state.doc.toString(), offset: context.pos })
      .catch(() => null);
    if (!told || !told.items.length) return null;
    if (!context.explicit && told.from === context.pos) return null;
    return {
      from: told.from,
      to: told.to,
      options: told.items.map((one, rank) => ({
        label: one.label,
        detail: one.detail,
        boost: -rank / told.items.length,
        apply: one.text,
      })),
    };
  }

  const hovering = hoverTooltip(async (inside, offset) => {
    const told = await ask("hover", { text: inside.state.doc.toString(), offset }).catch(() => null);
    if (!told?.text) return null;
    return {
      pos: told.from,
      end: told.to,
      create: () => {
        const dom = document.createElement("div");
        dom.style.cssText = "white-space: pre-wrap; padding: .4rem; max-height: 40vh; overflow: auto";
        dom.textContent = told.text.replaceAll("**", "").replaceAll("```odt\n", "").replaceAll("\n```", "");
        return { dom };
      },
    };
  });

  const view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        lineNumbers(), history(), drawSelection(), bracketMatching(), lintGutter(), language,
        syntaxHighlighting(colours), hovering, autocompletion({ override: [completions] }),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Text of the spec" }),
        keymap.of([...completionKeymap, ...lintKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          clearTimeout(timer);
          timer = setTimeout(check, silent ? 0 : 250);
          if (!silent) changed();
        }),
      ],
    }),
  });

  function put(value) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }

  return {
    text,
    replace: put,
    show(value) {
      silent = true;
      put(value);
      silent = false;
      check();
    },
    // Conflicts come from a file of the same text: by line and column.
    mark(diagnostics) {
      const doc = view.state.doc;
      const place = (line, column) => {
        const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
        return Math.min(at.from + column - 1, at.to);
      };
      const found = diagnostics.flatMap((one) => one.labels.map((label) => ({
        from: place(label.line, label.column),
        to: place(label.end_line, label.end_column),
        severity: "error",
        message: [`${one.code}: ${one.message}`, ...one.helps].join("\n"),
      })));
      view.dispatch(setDiagnostics(view.state, found.sort((a, b) => a.from - b.from)));
    },
  };
}
