// Connects VS Code to `selvedge lsp`.
"use strict";

const vscode = require("vscode");
const { Client } = require("./client.js");

const LANGUAGE = "sel";
let client;

function range(it) {
  return new vscode.Range(it.start.line, it.start.character, it.end.line, it.end.character);
}

function location(it) {
  return new vscode.Location(vscode.Uri.parse(it.uri), range(it.range));
}

function at(document, position) {
  return { textDocument: { uri: document.uri.toString() }, position: { line: position.line, character: position.character } };
}

function of(document) {
  return { textDocument: { uri: document.uri.toString() } };
}

function diagnostic(it) {
  // The protocol counts severities from 1, the editor from 0.
  const found = new vscode.Diagnostic(range(it.range), it.message, it.severity - 1);
  found.source = it.source;
  found.relatedInformation = (it.relatedInformation ?? []).map(
    (other) => new vscode.DiagnosticRelatedInformation(location(other.location), other.message));
  return found;
}

function symbol(it) {
  // Kinds count from 1 there and from 0 here.
  const found = new vscode.DocumentSymbol(it.name, it.detail, it.kind - 1, range(it.range), range(it.selectionRange));
  found.children = (it.children ?? []).map(symbol);
  return found;
}

function edits(changes) {
  return changes.map((change) => new vscode.TextEdit(range(change.range), change.newText));
}

function start(context, marks, progress) {
  const command = vscode.workspace.getConfiguration("selvedge").get("command", "selvedge");
  const lensesChanged = new vscode.EventEmitter();
  const onMessage = (method, params) => {
    switch (method) {
      case "textDocument/publishDiagnostics":
        marks.set(vscode.Uri.parse(params.uri), params.diagnostics.map(diagnostic));
        return;
      case "window/showMessage":
        if (params.type === 1) vscode.window.showErrorMessage(params.message);
        else if (params.type === 2) vscode.window.showWarningMessage(params.message);
        else vscode.window.showInformationMessage(params.message);
        return;
      case "window/showDocument":
        return vscode.env.openExternal(vscode.Uri.parse(params.uri)).then((success) => ({ success }));
      case "workspace/codeLens/refresh":
        lensesChanged.fire();
        return;
      case "$/progress":
        if (params.value.kind === "report") progress.get(params.token)?.report({ message: params.value.message });
    }
  };
  client = new Client(command, onMessage, (why) => {
    vscode.window.showWarningMessage(`selvedge lsp does not run (${why}). Set selvedge.command to the program.`);
  });
  const capabilities = {
    window: { showDocument: { support: true }, workDoneProgress: true },
    workspace: { codeLens: { refreshSupport: true } },
  };
  const ready = client.ask("initialize", { processId: process.pid, rootUri: null, capabilities });
  ready.then(({ capabilities: { semanticTokensProvider: { legend } } }) => {
    client.tell("initialized", {});
    vscode.workspace.textDocuments.forEach(opened);
    // On top of the grammar: what each name is.
    context.subscriptions.push(vscode.languages.registerDocumentSemanticTokensProvider(LANGUAGE, {
      provideDocumentSemanticTokens: async (document, token) => {
        const found = await client.ask("textDocument/semanticTokens/full", of(document), token);
        return found && new vscode.SemanticTokens(new Uint32Array(found.data));
      },
    }, new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers)));
  }, () => {});
  return lensesChanged;
}

function opened(document) {
  if (document.languageId !== LANGUAGE) return;
  const { version } = document;
  client.tell("textDocument/didOpen", {
    textDocument: { uri: document.uri.toString(), languageId: LANGUAGE, version, text: document.getText() },
  });
}

function changed({ document, contentChanges }) {
  if (document.languageId !== LANGUAGE || contentChanges.length === 0) return;
  client.tell("textDocument/didChange", {
    textDocument: { uri: document.uri.toString(), version: document.version },
    // The editor's own ranges would be written as lists.
    contentChanges: contentChanges.map(({ range: { start, end }, text }) => ({
      range: { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } },
      text,
    })),
  });
}

function closed(document) {
  if (document.languageId === LANGUAGE) client.tell("textDocument/didClose", of(document));
}

/// Runs the command of a lens, with progress that can be cancelled.
function run(progress, command, args) {
  const options = { location: vscode.ProgressLocation.Notification, title: "selvedge check", cancellable: true };
  return vscode.window.withProgress(options, (report, token) => {
    const workDoneToken = `vscode-${Date.now()}`;
    progress.set(workDoneToken, report);
    const asked = client.ask("workspace/executeCommand", { command, arguments: args, workDoneToken }, token);
    return asked
      .catch((error) => { if (error.code !== -32800) vscode.window.showErrorMessage(error.message); })
      .finally(() => progress.delete(workDoneToken));
  });
}

function activate(context) {
  const marks = vscode.languages.createDiagnosticCollection("selvedge");
  const progress = new Map();
  const lensesChanged = start(context, marks, progress);
  const { languages, workspace, commands } = vscode;
  const ask = (method, params, token) => client.ask(`textDocument/${method}`, params, token);
  context.subscriptions.push(
    marks,
    workspace.onDidOpenTextDocument(opened),
    workspace.onDidChangeTextDocument(changed),
    workspace.onDidCloseTextDocument(closed),
    commands.registerCommand("selvedge.check", (uri, ...options) => {
      const file = uri ?? vscode.window.activeTextEditor?.document.uri.toString();
      return file && run(progress, "selvedge.check", [file, ...options]);
    }),
    commands.registerCommand("selvedge.show", (page) => run(progress, "selvedge.show", [page])),
    languages.registerHoverProvider(LANGUAGE, {
      provideHover: async (document, position, token) => {
        const found = await ask("hover", at(document, position), token);
        return found && new vscode.Hover(new vscode.MarkdownString(found.contents.value), range(found.range));
      },
    }),
    languages.registerDefinitionProvider(LANGUAGE, {
      provideDefinition: async (document, position, token) => {
        const found = await ask("definition", at(document, position), token);
        return found && location(found);
      },
    }),
    languages.registerReferenceProvider(LANGUAGE, {
      provideReferences: async (document, position, context, token) => {
        const found = await ask("references", { ...at(document, position), context }, token);
        return (found ?? []).map(location);
      },
    }),
    languages.registerDocumentHighlightProvider(LANGUAGE, {
      provideDocumentHighlights: async (document, position, token) => {
        const found = await ask("documentHighlight", at(document, position), token);
        return (found ?? []).map((it) => new vscode.DocumentHighlight(range(it.range), it.kind - 1));
      },
    }),
    languages.registerRenameProvider(LANGUAGE, {
      prepareRename: async (document, position, token) => {
        const found = await ask("prepareRename", at(document, position), token);
        if (!found) throw new Error("there is no name here");
        return { range: range(found.range), placeholder: found.placeholder };
      },
      provideRenameEdits: async (document, position, newName, token) => {
        const found = await ask("rename", { ...at(document, position), newName }, token);
        const all = new vscode.WorkspaceEdit();
        for (const [uri, changes] of Object.entries(found.changes)) all.set(vscode.Uri.parse(uri), edits(changes));
        return all;
      },
    }),
    languages.registerDocumentSymbolProvider(LANGUAGE, {
      provideDocumentSymbols: async (document, token) => (await ask("documentSymbol", of(document), token)).map(symbol),
    }),
    languages.registerDocumentFormattingEditProvider(LANGUAGE, {
      provideDocumentFormattingEdits: async (document, options, token) =>
        edits((await ask("formatting", { ...of(document), options }, token)) ?? []),
    }),
    languages.registerCodeLensProvider(LANGUAGE, {
      onDidChangeCodeLenses: lensesChanged.event,
      provideCodeLenses: async (document, token) => {
        const found = await ask("codeLens", of(document), token);
        return found.map((it) => new vscode.CodeLens(range(it.range), it.command));
      },
    }),
  );
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
