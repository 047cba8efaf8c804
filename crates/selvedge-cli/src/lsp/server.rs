//! What the server knows, and how it answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;

use serde_json::{Value, json};

use super::Event;
use super::answers;
use super::checks::{Check, Checks, Ended, News};
use super::document::Document;
use super::hover::hover;
use super::tokens;

/// Errors of the protocol.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const NOT_INITIALISED: i32 = -32002;
const REQUEST_FAILED: i32 = -32803;
const CANCELLED: i32 = -32800;

/// The command of the lens.
const CHECK: &str = "selvedge.check";
/// Shows a page once more.
const SHOW: &str = "selvedge.show";

/// The kind of the actions that are the lenses once more.
const ACTION: &str = "source.check";

/// How far the conversation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Before `initialize`.
    New,
    Running,
    ShutDown,
}

/// Why a request has no result.
struct Problem {
    code: i32,
    message: String,
}

impl Problem {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// `None`: the answer comes later.
type Answer = Result<Option<Value>, Problem>;

/// The language server.
pub(super) struct Server {
    pub(super) state: State,
    /// The client said `exit`.
    pub(super) is_over: bool,
    send: fn(&Value),
    documents: BTreeMap<String, Document>,
    /// Those whose diagnostics have to be published.
    changed: BTreeSet<String>,
    /// By text: the files that it imports, are not open and have diagnostics.
    elsewhere: BTreeMap<String, BTreeSet<String>>,
    checks: Checks,
    /// What the last check of a text said, until the text changes.
    verdicts: BTreeMap<String, Ended>,
    /// What the client can do.
    can_show: bool,
    can_progress: bool,
    can_refresh: bool,
    next_request: u64,
}

impl Server {
    pub(super) fn new(events: Sender<Event>, send: fn(&Value)) -> Self {
        Self {
            state: State::New,
            is_over: false,
            send,
            documents: BTreeMap::new(),
            changed: BTreeSet::new(),
            elsewhere: BTreeMap::new(),
            checks: Checks::new(events),
            verdicts: BTreeMap::new(),
            can_show: false,
            can_progress: false,
            can_refresh: false,
            next_request: 0,
        }
    }

    pub(super) fn malformed(&self, why: &str) {
        self.refuse(&Value::Null, &Problem::new(PARSE_ERROR, why));
    }

    /// Answers a request, or heeds a notification.
    pub(super) fn message(&mut self, message: &Value) {
        let id = &message["id"];
        let Some(method) = message["method"].as_str() else {
            // Answers to what was asked need nothing more.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            if !is_answer {
                self.refuse(id, &Problem::new(INVALID_REQUEST, "a message without a method"));
            }
            return;
        };
        let params = &message["params"];
        if message.get("id").is_none() {
            self.notification(method, params);
            return;
        }
        match self.request(method, params, id) {
            Ok(Some(result)) => {
                (self.send)(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            }
            Ok(None) => {}
            Err(problem) => self.refuse(id, &problem),
        }
    }

    fn refuse(&self, id: &Value, problem: &Problem) {
        let error = json!({ "code": problem.code, "message": problem.message });
        (self.send)(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn notify(&self, method: &str, params: &Value) {
        (self.send)(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&mut self, method: &str, params: &Value) {
        self.next_request += 1;
        let id = format!("selvedge-{}", self.next_request);
        (self.send)(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn notification(&mut self, method: &str, params: &Value) {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        match method {
            "exit" => self.is_over = true,
            _ if self.state != State::Running => {}
            "textDocument/didOpen" => {
                let text = params["textDocument"]["text"].as_str().unwrap_or_default();
                let version = params["textDocument"]["version"].clone();
                let document = Document::new(uri, text.to_owned(), version);
                self.documents.insert(uri.to_owned(), document);
                self.changed.insert(uri.to_owned());
            }
            "textDocument/didChange" => self.change(uri, params),
            "textDocument/didClose" => {
                self.documents.remove(uri);
                self.changed.remove(uri);
                self.verdicts.remove(uri);
                self.nothing_wrong(uri);
                self.tell_elsewhere(uri, &BTreeMap::new());
            }
            "$/cancelRequest" => self.checks.stop(|check| check.request == params["id"]),
            "window/workDoneProgress/cancel" => {
                self.checks.stop(|check| check.token == params["token"]);
            }
            // Others are none of its business.
            _ => {}
        }
    }

    fn change(&mut self, uri: &str, params: &Value) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        for change in params["contentChanges"].as_array().into_iter().flatten() {
            document.change(change);
        }
        document.version = params["textDocument"]["version"].clone();
        self.changed.insert(uri.to_owned());
        self.verdicts.remove(uri);
    }

    /// Tells the diagnostics of what has changed.
    pub(super) fn publish(&mut self) {
        for uri in std::mem::take(&mut self.changed) {
            self.refresh(&uri);
            let Some(document) = self.documents.get(&uri) else { continue };
            let wrong = answers::diagnostics(document, &uri);
            let mut diagnostics = wrong.here;
            if let Some(ended) = self.verdicts.get(&uri) {
                diagnostics.extend(ended.diagnostics(document));
            }
            let params =
                json!({ "uri": uri, "version": document.version, "diagnostics": diagnostics });
            self.notify("textDocument/publishDiagnostics", &params);
            self.tell_elsewhere(&uri, &wrong.elsewhere);
        }
    }

    /// Tells the diagnostics of files that a text imports. One that is open has its own.
    fn tell_elsewhere(&mut self, uri: &str, wrong: &BTreeMap<String, Vec<Value>>) {
        let closed = |it: &&String| !self.documents.contains_key(*it);
        let now: BTreeSet<String> = wrong.keys().filter(closed).cloned().collect();
        let before = self.elsewhere.insert(uri.to_owned(), now.clone()).unwrap_or_default();
        before.difference(&now).filter(closed).for_each(|mended| self.nothing_wrong(mended));
        for file in &now {
            let params = json!({ "uri": file, "diagnostics": wrong[file] });
            self.notify("textDocument/publishDiagnostics", &params);
        }
    }

    fn nothing_wrong(&self, uri: &str) {
        let nothing: [Value; 0] = [];
        let params = json!({ "uri": uri, "diagnostics": nothing });
        self.notify("textDocument/publishDiagnostics", &params);
    }

    /// Looks for the names of a text that has changed.
    fn refresh(&mut self, uri: &str) {
        if let Some(document) = self.documents.get_mut(uri) {
            document.refresh();
        }
    }

    fn request(&mut self, method: &str, params: &Value, id: &Value) -> Answer {
        match (self.state, method) {
            (State::New, "initialize") => return Ok(Some(self.initialize(params))),
            (State::New, _) => {
                return Err(Problem::new(NOT_INITIALISED, "the first request is `initialize`"));
            }
            (State::ShutDown, _) => {
                return Err(Problem::new(INVALID_REQUEST, "the server was shut down"));
            }
            (State::Running, "initialize") => {
                return Err(Problem::new(INVALID_REQUEST, "it was initialised before"));
            }
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                self.checks.stop(|_| true);
                return Ok(Some(Value::Null));
            }
            (State::Running, "workspace/executeCommand") => return self.command(params, id),
            (State::Running, _) => {}
        }
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        if self.changed.contains(uri) {
            self.refresh(uri);
        }
        let position = &params["position"];
        let known = || {
            let closed = || Problem::new(INVALID_PARAMS, "this file is not open");
            self.documents.get(uri).ok_or_else(closed)
        };
        let answer = match method {
            "textDocument/hover" => hover(known()?, position),
            "textDocument/definition" | "textDocument/declaration" => {
                answers::definition(known()?, uri, position)
            }
            "textDocument/references" => {
                let all = params["context"]["includeDeclaration"].as_bool().unwrap_or(true);
                answers::references(known()?, uri, position, all)
            }
            "textDocument/documentHighlight" => answers::highlights(known()?, position),
            "textDocument/prepareRename" => answers::prepare_rename(known()?, position),
            "textDocument/rename" => {
                let name = params["newName"].as_str().unwrap_or_default();
                let renamed = answers::rename(known()?, uri, position, name);
                renamed.map_err(|why| Problem::new(REQUEST_FAILED, why))?
            }
            "textDocument/documentSymbol" => answers::symbols(known()?),
            "textDocument/semanticTokens/full" => tokens::full(known()?),
            "textDocument/semanticTokens/range" => tokens::range(known()?, &params["range"]),
            "textDocument/formatting" => answers::formatting(known()?),
            "textDocument/codeLens" => {
                known()?;
                self.lenses(uri)
            }
            "textDocument/codeAction" => {
                known()?;
                self.actions(uri, &params["context"]["only"])
            }
            _ => {
                let message = format!("selvedge does not know `{method}`");
                return Err(Problem::new(METHOD_NOT_FOUND, message));
            }
        };
        Ok(Some(answer))
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.state = State::Running;
        let able = &params["capabilities"];
        let can = |path: &str| able.pointer(path).and_then(Value::as_bool).unwrap_or(false);
        self.can_show = can("/window/showDocument/support");
        self.can_progress = can("/window/workDoneProgress");
        self.can_refresh = can("/workspace/codeLens/refreshSupport");
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": { "openClose": true, "change": 2 },
                "hoverProvider": true,
                "definitionProvider": true,
                "declarationProvider": true,
                "referencesProvider": true,
                "documentHighlightProvider": true,
                "renameProvider": { "prepareProvider": true },
                "documentSymbolProvider": true,
                "semanticTokensProvider": { "legend": tokens::legend(), "full": true, "range": true },
                "documentFormattingProvider": true,
                "codeLensProvider": {},
                "codeActionProvider": { "codeActionKinds": [ACTION] },
                "executeCommandProvider": { "commands": [CHECK, SHOW], "workDoneProgress": true },
            },
            "serverInfo": { "name": "selvedge", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Returns what stands above the text: what to run, and what the last run said.
    fn lenses(&self, uri: &str) -> Value {
        let start = json!({ "line": 0, "character": 0 });
        let lens = |title: &str, command: &str, arguments: Value| {
            let command = json!({ "title": title, "command": command, "arguments": arguments });
            json!({ "range": { "start": start, "end": start }, "command": command })
        };
        let mut lenses = vec![
            lens("Check", CHECK, json!([uri])),
            lens("Check for data races, too", CHECK, json!([uri, "--races"])),
        ];
        if let Some(ended) = self.verdicts.get(uri) {
            lenses.push(lens(&ended.told(), SHOW, json!([ended.page])));
        }
        json!(lenses)
    }

    /// Returns the same as actions, for editors that show no lenses. `only`: the kinds that are asked for, if not all.
    fn actions(&self, uri: &str, only: &Value) -> Value {
        let is_asked_for = |kind: &Value| {
            let kind = kind.as_str().unwrap_or_default();
            kind == ACTION || ACTION.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.'))
        };
        if only.as_array().is_some_and(|kinds| !kinds.iter().any(is_asked_for)) {
            return json!([]);
        }
        let lenses = self.lenses(uri);
        let commands = lenses.as_array().into_iter().flatten().map(|lens| &lens["command"]);
        let action = |command: &Value| json!({ "title": command["title"], "kind": ACTION, "command": command });
        commands.map(action).collect()
    }

    fn command(&mut self, params: &Value, id: &Value) -> Answer {
        let arguments: Vec<String> = match &params["arguments"] {
            Value::Array(all) => {
                all.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        match (params["command"].as_str(), arguments.split_first()) {
            (Some(CHECK), Some((uri, options))) => self.check(uri, options, params, id),
            (Some(SHOW), Some((page, []))) if self.checks.has_page(page) => {
                let page = page.clone();
                self.show(&page);
                Ok(Some(Value::Null))
            }
            (Some(CHECK | SHOW), _) => {
                Err(Problem::new(INVALID_PARAMS, "the first argument is the address of a file"))
            }
            _ => Err(Problem::new(INVALID_PARAMS, "there is no such command")),
        }
    }

    fn check(&mut self, uri: &str, options: &[String], params: &Value, id: &Value) -> Answer {
        let Some(document) = self.documents.get(uri) else {
            return Err(Problem::new(INVALID_PARAMS, "this file is not open"));
        };
        let version = document.version.clone();
        let (name, text) = answers::program(document, uri);
        // The process that runs it must never see anything but a program.
        if selvedge_lang::compile(&name, &text, &[]).is_err() {
            let message = "the program has errors: fix what is marked first";
            return Err(Problem::new(REQUEST_FAILED, message));
        }
        // The same again stops the one before.
        self.checks.stop(|check| check.uri == uri);
        let given = params["workDoneToken"].clone();
        let token = match (&given, self.can_progress) {
            (Value::Null, true) => {
                let token = json!(format!("selvedge-check-{}", self.next_request));
                self.ask("window/workDoneProgress/create", &json!({ "token": token }));
                token
            }
            _ => given,
        };
        let check =
            Check { request: id.clone(), token: token.clone(), uri: uri.to_owned(), version };
        let started = self.checks.start(check, &text, options);
        started.map_err(|error| Problem::new(REQUEST_FAILED, error))?;
        let begin = json!({ "kind": "begin", "title": "selvedge check", "cancellable": true });
        self.tell_progress(&token, &begin);
        Ok(None)
    }

    fn tell_progress(&self, token: &Value, value: &Value) {
        if !token.is_null() {
            self.notify("$/progress", &json!({ "token": token, "value": value }));
        }
    }

    /// Passes on what a check says.
    pub(super) fn news(&mut self, news: News) {
        match news {
            News::Progress { number, text } => {
                if let Some(check) = self.checks.get(number) {
                    let report = json!({ "kind": "report", "message": text, "cancellable": true });
                    self.tell_progress(&check.token, &report);
                }
            }
            News::Ended { number, result } => {
                let Some(check) = self.checks.remove(number) else { return };
                self.tell_progress(&check.token, &json!({ "kind": "end" }));
                match result {
                    Ok(Some(ended)) => self.ended(check, ended),
                    Ok(None) => {
                        self.refuse(
                            &check.request,
                            &Problem::new(CANCELLED, "the check was stopped"),
                        );
                    }
                    Err(message) => {
                        self.refuse(&check.request, &Problem::new(REQUEST_FAILED, message));
                    }
                }
            }
        }
    }

    fn ended(&mut self, check: Check, ended: Ended) {
        let result =
            json!({ "verdict": ended.verdict, "message": ended.message, "page": ended.page });
        (self.send)(&json!({ "jsonrpc": "2.0", "id": check.request, "result": result }));
        let page = ended.page.clone();
        let message = json!({ "type": ended.message_type(), "message": ended.told() });
        self.notify("window/showMessage", &message);
        self.show(&page);
        let current = self.documents.get(&check.uri).map(|document| &document.version);
        if current == Some(&check.version) {
            self.verdicts.insert(check.uri.clone(), ended);
            self.changed.insert(check.uri);
            if self.can_refresh {
                self.ask("workspace/codeLens/refresh", &Value::Null);
            }
        }
    }

    /// Asks the client to show a page in a browser.
    fn show(&mut self, page: &str) {
        if self.can_show {
            let params = json!({ "uri": page, "external": true, "takeFocus": true });
            self.ask("window/showDocument", &params);
        } else {
            let message = json!({ "type": 3, "message": format!("the page is {page}") });
            self.notify("window/showMessage", &message);
        }
    }
}
