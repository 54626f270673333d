export { EditorState, EditorSelection, StateEffect, Compartment, Prec } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection, hoverTooltip } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { autocompletion, completionKeymap, startCompletion, closeBrackets } from "@codemirror/autocomplete";
export { linter, setDiagnostics, lintGutter, lintKeymap, forceLinting } from "@codemirror/lint";
export { StreamLanguage, HighlightStyle, syntaxHighlighting, bracketMatching } from "@codemirror/language";
export { tags } from "@lezer/highlight";
