// Runs the extension in Node with a stand-in for the editor: `node test.js path/to/selvedge`. The tests of selvedge-cli do so.
"use strict";

const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const Module = require("node:module");
const os = require("node:os");
const path = require("node:path");

const command = process.argv[2];
const providers = {};
const commands = {};
const events = {};
const marked = [];
const opened = [];
const messages = [];
const disposable = { dispose() {} };
const event = (name) => (listener) => { events[name] = listener; return disposable; };
const provider = (name) => (language, it, legend) => {
  assert.equal(language, "sel");
  providers[name] = Object.assign(it, { legend });
  return disposable;
};
const record = (...names) => class { constructor(...values) { names.forEach((name, i) => { this[name] = values[i]; }); } };

class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range {
  constructor(a, b, c, d) { this.start = new Position(a, b); this.end = new Position(c, d); }
  toJSON() { return [this.start, this.end]; }
}

const program = "shared x = 0;\nthread t(i in 0..2) { let v = x; x = v + 1; }\nfinally { assert x == 2; }\n";
const document = {
  uri: { toString: () => "file:///lost.sel" }, languageId: "sel", version: 1, text: program, getText() { return this.text; },
};
const vscode = {
  Range, Position,
  Diagnostic: record("range", "message", "severity"), DiagnosticRelatedInformation: record("location", "message"),
  Location: record("uri", "range"), DocumentSymbol: record("name", "detail", "kind", "range", "selectionRange"),
  TextEdit: record("range", "newText"), Hover: record("contents", "range"), MarkdownString: record("value"),
  SemanticTokens: record("data"), SemanticTokensLegend: record("types", "modifiers"),
  DocumentHighlight: record("range", "kind"), CodeLens: record("range", "command"),
  WorkspaceEdit: class { constructor() { this.all = []; } set(uri, edits) { this.all.push(...edits); } },
  EventEmitter: class { constructor() { this.event = () => disposable; } fire() {} },
  Uri: { parse: (text) => ({ toString: () => text }) },
  ProgressLocation: { Notification: 15 },
  env: { openExternal: async (uri) => { opened.push(uri.toString()); return true; } },
  window: {
    showErrorMessage: (text) => messages.push(text), showWarningMessage: (text) => messages.push(text),
    showInformationMessage: (text) => messages.push(text),
    withProgress: (options, run) => run({ report() {} }, { onCancellationRequested: () => disposable }),
  },
  workspace: {
    getConfiguration: () => ({ get: () => command }), textDocuments: [document],
    onDidOpenTextDocument: event("open"), onDidChangeTextDocument: event("change"), onDidCloseTextDocument: event("close"),
  },
  commands: { registerCommand: (name, run) => { commands[name] = run; return disposable; } },
  languages: {
    createDiagnosticCollection: () => ({ set: (uri, all) => marked.push(all), dispose() {} }),
    registerHoverProvider: provider("hover"), registerDefinitionProvider: provider("definition"),
    registerReferenceProvider: provider("references"), registerDocumentHighlightProvider: provider("highlights"),
    registerRenameProvider: provider("rename"), registerDocumentSymbolProvider: provider("symbols"),
    registerDocumentFormattingEditProvider: provider("format"), registerCodeLensProvider: provider("lens"),
    registerDocumentSemanticTokensProvider: provider("tokens"),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

async function until(what, is) {
  for (let i = 0; i < 1000 && !is(); i++) await new Promise((done) => setTimeout(done, 20));
  assert(is(), what);
}

/// The problem matcher of the manifest finds the message and the place in what `selvedge check` prints.
function matches() {
  const [{ pattern: [first, second] }] = require("./package.json").contributes.problemMatchers;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "selvedge-"));
  for (const [text, message, place] of [
    [program, "assertion `x == 2` is false (x = 1)", ["lost.sel", "3", "18"]],
    ["thread t { x = 1; }\n", "unknown variable `x`", ["lost.sel", "1", "12"]],
  ]) {
    fs.writeFileSync(path.join(folder, "lost.sel"), text);
    const { stdout, stderr } = spawnSync(command, ["check", "lost.sel"], { cwd: folder, encoding: "utf8" });
    const lines = (stderr + stdout).split("\n");
    const at = lines.findIndex((line) => new RegExp(first.regexp).test(line));
    assert(at >= 0, lines.join("\n"));
    assert.equal(lines[at].match(first.regexp)[first.message], message);
    const found = lines[at + 1].match(second.regexp);
    assert.deepEqual([found[second.file], found[second.line], found[second.column]], place);
  }
  fs.rmSync(folder, { recursive: true });
}

async function main() {
  matches();
  const { activate, deactivate } = require("./extension.js");
  const context = { subscriptions: [] };
  activate(context);
  await until("nothing is wrong with it", () => marked.length === 1);
  assert.deepEqual(marked.pop(), []);
  const x = new Position(0, 7);
  const hover = await providers.hover.provideHover(document, x);
  assert(hover.contents.value.includes("shared x: int"), hover.contents.value);
  const definition = await providers.definition.provideDefinition(document, new Position(1, 30));
  assert.equal(definition.range.start.line, 0);
  assert.equal((await providers.references.provideReferences(document, x, { includeDeclaration: true })).length, 4);
  assert.equal((await providers.highlights.provideDocumentHighlights(document, x)).length, 4);
  assert.equal((await providers.rename.prepareRename(document, x)).placeholder, "x");
  assert.equal((await providers.rename.provideRenameEdits(document, x, "y")).all.length, 4);
  await assert.rejects(providers.rename.provideRenameEdits(document, x, "t"), /cannot be called `t`/);
  const symbols = await providers.symbols.provideDocumentSymbols(document);
  assert.deepEqual(symbols.map((it) => it.name), ["x", "t"]);
  assert.deepEqual(await providers.format.provideDocumentFormattingEdits(document, {}), []);
  const tokens = await providers.tokens.provideDocumentSemanticTokens(document);
  assert.deepEqual([...tokens.data.slice(0, 5)], [0, 0, 6, providers.tokens.legend.types.indexOf("keyword"), 0]);
  const lenses = await providers.lens.provideCodeLenses(document);
  await commands[lenses[0].command.command](...lenses[0].command.arguments);
  await until("the violation is marked", () => marked.some((all) => all[0]?.source === "selvedge check"));
  assert(opened[0].endsWith("/page.html"), opened[0]);
  assert(messages[0].startsWith("violated: "), messages[0]);
  // A mistake is typed: `x` becomes `xx` in line 2.
  marked.length = 0;
  document.version = 2;
  events.change({ document, contentChanges: [{ range: new Range(1, 30, 1, 30), text: "x" }] });
  await until("the mistake is marked", () => marked.length > 0);
  assert.match(marked[0][0].message, /unknown variable `xx`/);
  assert.equal(marked[0][0].severity, 0);
  events.close(document);
  await until("the marks are gone", () => marked.at(-1).length === 0);
  await deactivate();
  console.log("the extension works");
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
