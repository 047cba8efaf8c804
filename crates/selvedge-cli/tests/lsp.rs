//! The language server, driven by a scripted client.

mod client;

use serde_json::{Value, json};

use crate::common::{Folder, LARGE, children, is_running, left_folders};
use client::{Client, URI};

const BANK: &str = "\
// Zwei Konten: 𝒳é
shared balance = 100;
mutex m;

proc withdraw(amount: int) {
    if balance >= amount { balance -= amount; }
}

thread ann { withdraw(70); }
thread ben { withdraw(60); lock m; unlock m; }

finally { assert balance >= 0, \"overdrawn\"; }
";

fn lines(edits: &Value) -> Vec<u64> {
    let edits = edits.as_array().unwrap_or_else(|| panic!("a list: {edits}"));
    let line = |edit: &Value| edit["range"]["start"]["line"].as_u64().expect("a line");
    edits.iter().map(line).collect()
}

#[test]
fn a_mistake_is_marked_until_it_is_mended() {
    let mut client = Client::with(BANK);
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    // `balance` in line 6, as it is typed.
    client.edit(5, 7, 14, "balanse");
    let found = client.diagnostics();
    assert_eq!(found.len(), 1, "{found:?}");
    let message = found[0]["message"].as_str().expect("a text");
    assert_eq!(message, "unknown variable `balanse`\nhelp: did you mean `balance`?");
    let range =
        json!({ "start": { "line": 5, "character": 7 }, "end": { "line": 5, "character": 14 } });
    assert_eq!((&found[0]["range"], &found[0]["severity"]), (&range, &json!(1)));
    client.edit(5, 7, 14, "balance");
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    // A warning, with a place in UTF-16 units behind characters that are longer elsewhere.
    client.edit(0, 0, 19, "/* 𝒳é */ mutex unused;");
    let found = client.diagnostics();
    assert_eq!(found[0]["message"], "`unused` is never used");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 0, "character": 16 }));
    assert_eq!(found[0]["severity"], 2);
    assert_eq!(client.ask("shutdown", &Value::Null)["result"], Value::Null);
    client.tell("exit", &Value::Null);
    assert_eq!(client.end(), Some(0));
}

/// What the parts of the text are, decoded: line, unit, the text itself, type and modifiers.
fn tokens(client: &mut Client, method: &str, text: &str, params: Value) -> Vec<String> {
    let legend = client.legend();
    let answer = client.ask(&format!("textDocument/semanticTokens/{method}"), &params);
    let data: Vec<usize> = serde_json::from_value(answer["result"]["data"].clone())
        .unwrap_or_else(|_| panic!("{answer}"));
    let (mut line, mut unit) = (0, 0);
    let mut told = Vec::new();
    for token in data.chunks(5) {
        let &[lines, units, length, kind, modifiers] = token else { panic!("five numbers") };
        unit = if lines == 0 { unit + units } else { units };
        line += lines;
        let all: Vec<u16> = text.lines().nth(line).expect("a line").encode_utf16().collect();
        let part = String::from_utf16(&all[unit..unit + length]).expect("whole characters");
        let kind = legend["tokenTypes"][kind].as_str().expect("a type");
        let names = legend["tokenModifiers"].as_array().expect("a list").iter().enumerate();
        let is_set = |(bit, _): &(usize, &Value)| modifiers >> bit & 1 == 1;
        let names: String = names
            .filter(is_set)
            .map(|(_, name)| format!(" {}", name.as_str().unwrap_or("")))
            .collect();
        told.push(format!("{line}:{unit} {part} {kind}{names}"));
    }
    told
}

#[test]
fn every_client_can_colour_a_text() {
    let text = "/* 𝒳\n é */ const N = 2;\nproc p(a: int) { fetch_add(x, a); } shared atomic x = N;\nthread t { p(1); }\n";
    let mut client = Client::with(text);
    let document = json!({ "uri": URI });
    let all = tokens(&mut client, "full", text, json!({ "textDocument": document }));
    assert_eq!(
        all[..5],
        [
            "0:0 /* 𝒳 comment",
            "1:0  é */ comment",
            "1:6 const keyword",
            "1:12 N variable declaration readonly",
            "1:16 2 number",
        ]
    );
    for wanted in [
        "2:5 p function declaration",
        "2:7 a parameter declaration",
        "2:17 fetch_add function defaultLibrary",
        "2:27 x variable",
        "2:50 x variable declaration",
        "3:7 t class declaration",
        "3:11 p function",
    ] {
        assert!(all.iter().any(|it| it == wanted), "{wanted} in {all:#?}");
    }
    let range =
        json!({ "start": { "line": 3, "character": 0 }, "end": { "line": 4, "character": 0 } });
    let some =
        tokens(&mut client, "range", text, json!({ "textDocument": document, "range": range }));
    assert_eq!(some, all[all.len() - 4..]);
}

#[test]
fn hover_says_what_a_step_depends_on() {
    let mut client = Client::with(BANK);
    let mut text = |line, character| {
        let answer = client.ask_at("hover", line, character);
        answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let read = text(5, 8);
    assert!(read.contains("shared balance: int"), "{read}");
    assert!(read.contains("Here: reads `balance`, a step of its own."), "{read}");
    assert!(read.contains("- line 6: `withdraw` reads and writes `balance`"), "{read}");
    assert!(!read.contains("`finally`"), "it runs when all others have ended: {read}");
    let lock = text(9, 32);
    assert!(lock.contains("No other thread accesses `m`"), "{lock}");
    assert!(text(5, 20).contains("amount: int"));
    let routine = text(8, 15);
    assert!(routine.contains("proc withdraw(amount: int)"), "{routine}");
    assert!(routine.contains("Run by `ann`, `ben`."), "{routine}");
    assert!(text(11, 3).contains("runs when every thread has ended"));
    assert!(text(1, 10).contains("- line 12: `finally` reads `balance`"));
    assert_eq!(text(3, 0), "");
}

#[test]
fn names_lead_to_their_declaration_and_uses() {
    let mut client = Client::with(BANK);
    let definition = client.ask_at("definition", 9, 14);
    assert_eq!(definition["range"]["start"], json!({ "line": 4, "character": 5 }));
    assert_eq!(definition["uri"], URI);
    let uses = client.ask_at("references", 1, 9);
    assert_eq!(lines(&uses), [1, 5, 5, 11]);
    let position = json!({ "line": 1, "character": 9 });
    let context = json!({ "includeDeclaration": false });
    let params =
        json!({ "textDocument": { "uri": URI }, "position": position, "context": context });
    let uses = client.ask("textDocument/references", &params);
    assert_eq!(lines(&uses["result"]), [5, 5, 11]);
    assert_eq!(lines(&client.ask_at("documentHighlight", 1, 9)), [1, 5, 5, 11]);
    assert_eq!(client.ask_at("definition", 3, 0), Value::Null);

    let symbols = client.ask_all("documentSymbol");
    let names: Vec<&str> =
        symbols.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["balance", "m", "withdraw", "ann", "ben"]);
    assert_eq!(symbols[2]["children"][0]["name"], "amount");
    assert_eq!(symbols[2]["range"]["end"], json!({ "line": 6, "character": 1 }));
}

#[test]
fn a_rename_changes_every_use_or_nothing() {
    let mut client = Client::with(BANK);
    let mut rename = |name: &str| {
        let position = json!({ "line": 5, "character": 9 });
        let document = json!({ "uri": URI });
        let params = json!({ "textDocument": document, "position": position, "newName": name });
        client.ask("textDocument/rename", &params)
    };
    let done = rename("account");
    assert_eq!(lines(&done["result"]["changes"][URI]), [1, 5, 5, 11]);
    for (name, why) in [
        ("m", "a mutex has this name"),
        ("amount", "a parameter has this name"),
        ("while", "is a keyword"),
        ("a-b", "is not a name"),
        ("", "is not a name"),
    ] {
        let answer = rename(name);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(why), "{name}: {answer}");
    }
    let prepared = client.ask_at("prepareRename", 5, 9);
    assert_eq!(prepared["placeholder"], "balance");
    assert_eq!(client.ask_at("prepareRename", 3, 0), Value::Null);
}

#[test]
fn names_lead_into_imported_files() {
    let main = "import \"lib/locks.sel\";\nthread t(i in 0..2) { enter(); x = x + 1; leave(); }\n";
    let locks =
        "mutex m;\n// é\nshared x = 0;\nproc enter() { lock m; }\nproc leave() { unlock m; }\n";
    let folder = Folder::with("main.sel", main);
    std::fs::create_dir(folder.path().join("lib")).expect("a folder can be made");
    folder.write("lib/locks.sel", locks.as_bytes());
    let address = |name: &str| format!("file://{}", folder.path().join(name).display());
    let (here, there) = (address("main.sel"), address("lib/locks.sel"));
    let mut client = Client::with("");
    let open = |text: &str, version: u64| json!({ "textDocument": { "uri": here, "languageId": "sel", "version": version, "text": text } });
    client.tell("textDocument/didOpen", &open(main, 7));
    // `x` in line 2.
    let at = json!({ "textDocument": { "uri": here }, "position": { "line": 1, "character": 31 } });
    let range = |line: u64, from: u64| {
        let place = |character: u64| json!({ "line": line, "character": character });
        json!({ "start": place(from), "end": place(from + 1) })
    };
    let found = client.ask("textDocument/definition", &at);
    assert_eq!(found["result"], json!({ "uri": there, "range": range(2, 7) }));
    let found = client.ask("textDocument/references", &at);
    let mut files: Vec<&str> = Vec::new();
    for it in found["result"].as_array().expect("a list") {
        files.push(it["uri"].as_str().expect("an address"));
    }
    assert_eq!(files, [&here, &here, &there]);
    let mut rename = at.clone();
    rename["newName"] = json!("total");
    let changes = client.ask("textDocument/rename", &rename)["result"]["changes"].clone();
    assert_eq!(lines(&changes[&here]), [1, 1]);
    assert_eq!(changes[&there], json!([{ "range": range(2, 7), "newText": "total" }]));
    let hover = client.ask("textDocument/hover", &at)["result"].to_string();
    assert!(hover.contains("shared x: int"), "{hover}");
    let names = client.ask("textDocument/documentSymbol", &at)["result"].to_string();
    assert!(names.contains("\"t\"") && !names.contains("enter"), "{names}");
    // A mistake there is told there, until it is mended.
    let told = |client: &mut Client| {
        let message = client.wait(|it| it["params"]["uri"] == there.as_str());
        message["params"]["diagnostics"].as_array().expect("a list").clone()
    };
    folder.write("lib/locks.sel", locks.replace("lock m", "lock q").as_bytes());
    client.tell("textDocument/didOpen", &open(main, 8));
    let wrong = told(&mut client);
    assert!(wrong[0]["message"].to_string().contains("unknown mutex `q`"), "{wrong:?}");
    assert_eq!(wrong[0]["range"], range(3, 20));
    folder.write("lib/locks.sel", locks.as_bytes());
    client.tell("textDocument/didOpen", &open(main, 9));
    assert_eq!(told(&mut client), Vec::<Value>::new());
}

#[test]
fn formatting_is_that_of_fmt() {
    let mut client = Client::with("shared   x=0;\nthread t{x=1;}\n");
    let edits = client.ask_all("formatting");
    assert_eq!(edits[0]["newText"], "shared x = 0;\nthread t { x = 1; }\n");
    assert_eq!(edits[0]["range"]["end"], json!({ "line": 2, "character": 0 }));
    client.change(&json!({ "text": edits[0]["newText"] }));
    assert_eq!(client.ask_all("formatting"), json!([]));
    client.change(&json!({ "text": "thread {" }));
    assert_eq!(client.ask_all("formatting"), Value::Null, "the syntax is wrong");
    assert!(client.ask_all("documentSymbol").is_array());
}

#[test]
fn the_lens_checks_and_shows_the_page() {
    let mut client = Client::with(BANK);
    client.diagnostics();
    let lenses = client.ask_all("codeLens");
    assert_eq!(lenses[0]["command"]["title"], "Check");
    let command = lenses[0]["command"].clone();
    // Editors without lenses have the same as actions, unless they ask for others only.
    let actions = |only: Value| json!({ "textDocument": { "uri": client::URI }, "context": { "only": only } });
    for (only, count) in
        [(Value::Null, 2), (json!(["source"]), 2), (json!(["quickfix", "sour"]), 0)]
    {
        let found = client.ask("textDocument/codeAction", &actions(only))["result"].clone();
        assert_eq!(found.as_array().map(Vec::len), Some(count), "{found}");
        assert!(count == 0 || found[0]["command"] == command, "{found}");
    }
    let run = json!({ "command": command["command"], "arguments": command["arguments"] });
    let result = client.ask("workspace/executeCommand", &run)["result"].clone();
    assert_eq!(result["verdict"], "violated", "{result}");
    let shown = client.wait(|message| message["method"] == "window/showDocument");
    let page = shown["params"]["uri"].as_str().expect("an address");
    assert_eq!(
        (page, &shown["params"]["external"]),
        (result["page"].as_str().expect("an address"), &json!(true))
    );
    let path = page.strip_prefix("file://").expect("a file").to_owned();
    let html = std::fs::read_to_string(&path).expect("the page is there");
    assert!(html.contains("my20bank.sel") && html.contains("overdrawn"));
    // The violation is marked where it is, and the lens says it, until the text changes.
    let found = client.diagnostics();
    assert_eq!(found[0]["source"], "selvedge check");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 11, "character": 17 }));
    let title = client.ask_all("codeLens")[2]["command"]["title"].to_string();
    assert!(title.contains("violated: assertion"), "{title}");
    client.edit(0, 0, 0, "//");
    assert_eq!(client.diagnostics(), Vec::<Value>::new());
    assert_eq!(client.ask_all("codeLens").as_array().map(Vec::len), Some(2));
    let kinds: Vec<Value> = client
        .seen
        .iter()
        .filter(|message| message["method"] == "$/progress")
        .map(|message| message["params"]["value"]["kind"].clone())
        .collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&json!("begin")), Some(&json!("end"))));
    // Only pages that it wrote are shown.
    let other = json!({ "command": "selvedge.show", "arguments": ["file:///etc/passwd"] });
    assert_eq!(client.ask("workspace/executeCommand", &other)["error"]["code"], -32602);
    client.edit(1, 0, 0, "!");
    let refused = client.ask("workspace/executeCommand", &run);
    assert!(refused["error"]["message"].to_string().contains("has errors"), "{refused}");
    client.ask("shutdown", &Value::Null);
    client.tell("exit", &Value::Null);
    assert_eq!(client.end(), Some(0));
    assert!(!std::path::Path::new(&path).exists(), "pages are removed at the end");
}

#[test]
fn a_long_check_can_be_cancelled() {
    let mut client = Client::with(LARGE);
    let run = json!({ "command": "selvedge.check", "arguments": [URI] });
    for by_token in [true, false] {
        let id = client.request("workspace/executeCommand", &run);
        let told = client.wait(|message| message["params"]["value"]["kind"] == "report");
        let message = told["params"]["value"]["message"].as_str().expect("a text");
        assert!(message.contains(" executions") || message.contains(" states"), "{message}");
        // It still answers other questions.
        assert!(client.ask_at("hover", 1, 8)["contents"].is_object());
        match by_token {
            true => client.tell(
                "window/workDoneProgress/cancel",
                &json!({ "token": told["params"]["token"] }),
            ),
            false => client.tell("$/cancelRequest", &json!({ "id": id })),
        }
        let answer = client.wait(|message| message["id"] == id && message.get("method").is_none());
        assert_eq!(answer["error"]["code"], -32800, "{answer}");
        client.seen.clear();
    }
}

/// An editor that goes away leaves nothing behind.
#[test]
fn a_check_ends_with_the_server() {
    let mut client = Client::with(LARGE);
    let run = json!({ "command": "selvedge.check", "arguments": [URI] });
    client.request("workspace/executeCommand", &run);
    client.wait(|message| message["params"]["value"]["kind"] == "report");
    let server = client.process();
    let check = children(server).pop().expect("a check runs");
    assert_eq!(left_folders(server), 1);
    assert_eq!(client.end(), Some(1));
    assert!(!is_running(&check));
    assert_eq!(left_folders(server), 0);
}

/// Nor does one that is killed with its server.
#[cfg(target_os = "linux")]
#[test]
fn a_check_ends_with_a_server_that_is_killed() {
    let mut client = Client::with(LARGE);
    let run = json!({ "command": "selvedge.check", "arguments": [URI] });
    client.request("workspace/executeCommand", &run);
    client.wait(|message| message["params"]["value"]["kind"] == "report");
    let server = client.process();
    let check = children(server).pop().expect("a check runs");
    let killed = std::process::Command::new("kill").args(["-KILL", &server.to_string()]).status();
    assert!(killed.expect("kill can be run").success());
    let start = std::time::Instant::now();
    while is_running(&check) {
        assert!(start.elapsed().as_secs() < 60, "the check runs on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Not every use of a variable is listed.
#[test]
fn hover_lists_so_many_uses() {
    for (threads, more) in [(12, None), (15, Some("- and 3 more"))] {
        let threads = (0..threads).map(|nth| format!("thread t{nth} {{ x = {nth}; }}\n"));
        let text = format!("shared x = 0;\n{}", threads.collect::<String>());
        let mut client = Client::with(&text);
        let found = client.ask_at("hover", 0, 7)["contents"]["value"].to_string();
        assert_eq!(found.matches("- line ").count(), 12, "{found}");
        assert_eq!(more.is_some_and(|more| found.contains(more)), more.is_some(), "{found}");
        assert_eq!(found.contains(" more"), more.is_some(), "{found}");
    }
}

#[test]
fn nothing_that_comes_in_ends_it() {
    let mut client = Client::with(BANK);
    for (bytes, code) in [
        (&b"Content-Length: 3\r\n\r\n{,}"[..], -32700),
        (b"Nonsense\r\n\r\n", -32700),
        (b"Content-Length: many\r\n\r\n", -32700),
        (b"Content-Length: 2\r\n\r\n[]", -32600),
        (b"Content-Length: 10\r\n\r\n{\"id\":\"a\"}", -32600),
    ] {
        client.raw(bytes);
        let answer = client.wait(|message| message.get("error").is_some());
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    // More than it reads.
    let length = 65 << 20;
    client.raw(format!("Content-Length: {length}\r\n\r\n").as_bytes());
    client.raw(&vec![b' '; length]);
    let answer = client.wait(|message| message.get("error").is_some());
    assert!(answer["error"]["message"].to_string().contains("at most"), "{answer}");
    let odd = [
        ("textDocument/teleport", json!({}), -32601),
        ("textDocument/hover", json!({}), -32602),
        ("textDocument/hover", json!({ "textDocument": { "uri": "file:///other.sel" } }), -32602),
        ("textDocument/rename", json!(7), -32602),
        ("workspace/executeCommand", json!({ "command": "rm", "arguments": ["-rf"] }), -32602),
        ("workspace/executeCommand", json!({ "command": "selvedge.check" }), -32602),
        ("initialize", json!({}), -32600),
    ];
    for (method, params, code) in odd {
        assert_eq!(client.ask(method, &params)["error"]["code"], code, "{method}");
    }
    client.tell("textDocument/didChange", &json!({ "textDocument": { "uri": "file:///x" } }));
    client.tell("textDocument/didChange", &json!("?"));
    client.tell("$/whatever", &json!([]));
    let position = json!({ "line": 1_000_000_000_000_u64, "character": -3 });
    let params = json!({ "textDocument": { "uri": URI }, "position": position });
    assert_eq!(client.ask("textDocument/hover", &params)["result"], Value::Null);
    assert!(client.ask_at("hover", 1, 9)["contents"].is_object());
}

/// A key at a time, from nothing to a program and back: no panic, and an answer to every question.
#[test]
fn half_a_program_has_answers() {
    let mut client = Client::with("");
    for end in (0..BANK.len()).filter(|&at| BANK.is_char_boundary(at)).step_by(5) {
        client.change(&json!({ "text": &BANK[..end] }));
        for method in ["hover", "definition", "references", "prepareRename"] {
            client.ask_at(method, 5, 8);
        }
        client.ask_all("documentSymbol");
    }
    client.change(&json!({ "text": BANK.replace("amount;", "amount") }));
    assert_eq!(client.diagnostics().len(), 1);
    assert_eq!(client.ask_all("documentSymbol").as_array().map(Vec::len), Some(5));
}

#[test]
fn it_ends_as_the_protocol_says() {
    let mut client = Client::new();
    assert_eq!(client.ask("textDocument/hover", &json!({}))["error"]["code"], -32002);
    client.tell("exit", &Value::Null);
    assert_eq!(client.end(), Some(1), "exit without shutdown");
    assert_eq!(Client::with(BANK).end(), Some(1), "the pipe is closed");
    let mut client = Client::with(BANK);
    client.ask("shutdown", &Value::Null);
    assert_eq!(client.ask("textDocument/hover", &json!({}))["error"]["code"], -32600);
    client.tell("exit", &Value::Null);
    assert_eq!(client.end(), Some(0));
}
