// Starts `odt lsp` for specs and keeps it running; all knowledge of the language is there.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function makeClient() {
  const settings = vscode.workspace.getConfiguration("odtdsl");
  const [command, ...args] = settings.get("command", ["odt", "lsp"]);
  args.push("--within", String(settings.get("within", 10)));
  const server = { command, args, transport: TransportKind.stdio };
  // Data that change on the disk change what is wrong with a spec.
  const files = vscode.workspace.createFileSystemWatcher("**/*.{csv,tsv,parquet,arff}");
  const options = {
    documentSelector: [{ language: "odt" }],
    synchronize: { fileEvents: files },
  };
  return new LanguageClient("odtdsl", "odtdsl", server, options);
}

async function start() {
  client = makeClient();
  try {
    await client.start();
  } catch (failure) {
    const shown = `odtdsl: the language server did not start (${failure.message}). `;
    vscode.window.showErrorMessage(
      shown + 'Install it with `pip install "odtdsl[lsp]"` and set `odtdsl.command` to its `odt`.',
    );
  }
}

async function restart() {
  await deactivate();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("odtdsl.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("odtdsl")) {
        return restart();
      }
      return undefined;
    }),
  );
  await start();
}

async function deactivate() {
  const ending = client;
  client = undefined;
  if (ending && ending.isRunning()) {
    await ending.stop();
  }
}

module.exports = { activate, deactivate };
