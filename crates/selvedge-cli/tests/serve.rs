//! The workbench: its server without a browser, and the page in one.

mod page;
pub(crate) mod server;

use std::io::Read as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{DEADLOCK, Folder, LARGE, LOCKED, LOST, is_running, left_folders};
use server::Server;

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn only_who_has_the_address_is_served() {
    let server = Server::start("");
    assert_eq!(server.base.len(), 33, "a token of 128 bits");
    let (base, port) = (server.base.clone(), server.port);
    let page = server.get(&format!("{base}/"));
    assert_eq!(page.status, 200);
    for header in ["default-src 'none'; script-src 'self'", "nosniff", "no-referrer", "no-store"] {
        assert!(page.head.contains(header), "no {header} in {}", page.head);
    }
    assert!(
        !page.head.to_lowercase().contains("access-control"),
        "no page from elsewhere reads it"
    );
    // Without the token, or with another one.
    let other = format!("/{}/", "0".repeat(32));
    for path in ["/", "/facts", "/workbench.js", &other, &base, &format!("{base}0/"), &base[1..]] {
        let answer = server.get(path);
        assert!(matches!(answer.status, 400 | 403), "{path}: {answer:?}");
        assert!(!answer.body.contains(&base[1..]), "the token is not told");
    }
    // Another name of this machine, as a page from elsewhere would use.
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1", ""] {
        let request = format!("GET {base}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(server.raw(request.as_bytes()).status, 421, "{host}");
    }
    assert_eq!(server.raw(format!("GET {base}/ HTTP/1.1\r\n\r\n").as_bytes()).status, 421);
    // A page from elsewhere that knows the token.
    for (origin, kind, status) in [
        ("http://evil.example", "application/json", 403),
        ("null", "application/json", 403),
        ("http://127.0.0.1:1", "application/json", 403),
        (&format!("http://127.0.0.1:{port}"), "text/plain", 415),
        (&format!("http://127.0.0.1:{port}"), "application/json", 200),
    ] {
        let body = r#"{"text":""}"#;
        let request = format!(
            "POST {base}/diagnose HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {origin}\r\nContent-Type: {kind}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(server.raw(request.as_bytes()).status, status, "{origin} {kind}");
    }
}

#[test]
fn no_file_is_served_and_no_request_is_too_large() {
    let server = Server::start("");
    let base = &server.base;
    for path in [
        "/../../../../etc/passwd",
        "/examples/../../../../etc/passwd",
        "/examples/..%2f..%2fCargo.toml",
        "/examples//etc/passwd",
        "/examples/README.md",
        "/pages/../facts",
        "/pages/1",
        "/pages/-1",
        "/nothing",
    ] {
        let answer = server.get(&format!("{base}{path}"));
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    assert!(server.get(&format!("{base}/examples/bank.sel")).body.contains("thread ann"));
    let large = json!({ "text": "x".repeat(2 << 20) });
    let answer = server.post("diagnose", &large);
    assert_eq!(
        (answer.status, answer.body.trim()),
        (413, "the program is too long: at most 1 MiB")
    );
    for (request, status) in [
        ("DELETE {base}/ HTTP/1.1\r\nHost: {host}\r\n\r\n", 405),
        ("NONSENSE\r\n\r\n", 400),
        (
            "POST {base}/check HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{",
            400,
        ),
        (
            "POST {base}/check HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            400,
        ),
        ("POST {base}/check HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
    ] {
        let host = format!("127.0.0.1:{}", server.port);
        let request = request.replace("{base}", base).replace("{host}", &host);
        assert_eq!(server.raw(request.as_bytes()).status, status, "{request}");
    }
    let long = format!("GET {base}/{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20));
    assert!(matches!(server.raw(long.as_bytes()).status, 431 | 0));
    // What is asked for in vain does not end it.
    assert_eq!(server.get(&format!("{base}/facts")).status, 200);
}

#[test]
fn mistakes_and_constants_are_told() {
    let server = Server::start("");
    let told = server.post("diagnose", &json!({ "text": LOST })).json();
    assert_eq!(told["fine"], true);
    assert_eq!(told["constants"], json!([{ "name": "N", "value": 2 }]));
    let told = server.post("diagnose", &json!({ "text": "// é𝒳\nshared x = ;" })).json();
    let place = &told["diagnostics"][0]["place"];
    // In UTF-16 units, as a browser counts.
    assert_eq!((&place["start"], &place["line"]), (&json!(18), &json!(2)), "{told}");
    let told =
        server.post("diagnose", &json!({ "text": LOST, "constants": { "N": 99999 } })).json();
    assert_eq!(told["fine"], false);
    let formatted = server.post("format", &json!({ "text": "shared  x=0 ;" })).json();
    assert_eq!(formatted["text"], "shared x = 0;\n");
    let formatted = server.post("format", &json!({ "text": "shared" })).json();
    assert_eq!(formatted["text"], Value::Null);
}

#[test]
fn checks_have_results_and_pages() {
    let server = Server::start("");
    let result = server.check(LOST);
    assert_eq!(result["verdict"], "violated", "{result}");
    assert_eq!(result["violations"][0]["places"][0]["line"], 7);
    let page = server.get(&format!("{}/pages/{}", server.base, result["page"]));
    assert!(page.head.contains("sandbox allow-scripts; default-src 'none'"), "{}", page.head);
    assert!(page.body.contains("assertion"), "{}", page.body);
    let dark = server.get(&format!("{}/pages/{}?theme=dark", server.base, result["page"]));
    assert!(dark.body.contains("<html lang=\"en\" data-theme=\"dark\">"));
    assert_eq!(server.check(LOCKED)["verdict"], "verified");
    for more in [
        json!({ "algorithm": "source" }),
        json!({ "algorithm": "symbolic order" }),
        json!({ "memory": "rc11" }),
        json!({ "constants": { "N": 3 } }),
    ] {
        let mut asked = more.clone();
        asked["text"] = json!(LOCKED);
        assert_eq!(server.post("check", &asked).result()["verdict"], "verified", "{more}");
    }
    let asked = json!({ "text": LOST, "algorithm": "data-centric", "races": true });
    let last = server.post("check", &asked).lines().pop().expect("a line");
    assert!(last["error"].to_string().contains("does not detect data races"), "{last}");
    let broken = server.post("check", &json!({ "text": "shared" })).lines().pop().expect("a line");
    assert_eq!(broken["error"], "the program has errors");
    // What a process could take for a compiled program never gets there.
    let elf = server.post("check", &json!({ "text": "\u{7f}ELF" })).lines().pop().expect("a line");
    assert_eq!(elf["error"], "the program has errors");
}

#[test]
fn comparisons_come_row_by_row() {
    let server = Server::start("");
    let answer = server.post("compare", &json!({ "text": LOST }));
    assert_eq!(answer.result()["agree"], true);
    let rows: Vec<Value> = answer
        .lines()
        .iter()
        .filter(|line| line["row"].is_object())
        .map(|line| line["row"].clone())
        .collect();
    assert!(rows.len() >= 10, "{rows:?}");
    assert!(rows.iter().all(|row| row["verdict"] == "violated"), "{rows:?}");
    let atomic =
        "shared x = 0;\natomic proc add(v: int) { x += v; }\nthread t(i in 0..2) { add(i); }";
    let result = server.post("constraints", &json!({ "text": atomic })).result();
    assert_eq!(
        result["pairs"][0]["constraints"].as_array().map(Vec::len).unwrap_or_default(),
        1,
        "{result}"
    );
}

#[test]
fn a_check_is_limited_and_ends_with_its_reader() {
    let server = Server::start("--time 300ms --checks 2");
    let result = server.check(LARGE);
    assert_eq!(result["verdict"], "inconclusive");
    assert_eq!(result["inconclusive"][0]["reason"], "time");
    drop(server);

    let server = Server::start("--checks 2 --max-memory 64M --time 10m");
    let long = server.posted("check", &json!({ "text": LARGE }));
    let mut first = server.send(&long);
    let second = server.send(&long);
    // It says how far it is.
    let mut seen = String::new();
    while !seen.contains("progress") {
        let mut some = [0; 4096];
        let read = first.read(&mut some).expect("it answers");
        assert_ne!(read, 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&some[..read]));
    }
    until("both run", || server.children().len() == 2);
    let third = server.check_error(LOCKED);
    assert!(third.contains("2 checks are running"), "{third}");
    drop(first);
    until("one was ended", || server.children().len() == 1);
    // Its place is free a moment later.
    until("there is a place", || !server.check_error(LOCKED).contains("checks are running"));
    assert_eq!(server.check(LOCKED)["verdict"], "verified");
    drop(second);
    until("both were ended", || server.children().is_empty());
    // Memory is limited, too: this program needs more the longer it runs.
    let wide = "shared x = 0; thread t { for i in 0..100000000 { x = i; } }";
    let asked = json!({ "text": wide, "algorithm": "states" });
    let told = server.post("check", &asked).lines().pop().expect("a line");
    assert_eq!(told["result"]["inconclusive"][0]["reason"], "memory", "{told}");
}

/// A formula that is hard to solve says nothing while it runs.
#[test]
fn a_silent_check_ends_with_its_reader() {
    let server = Server::start("--time 10m");
    let hard = "shared x = 1; thread t(i in 0..9) { for k in 0..3 { x = x * 3 + x; } }\n\
                finally { assert x * x != 1234569; }";
    let asked = json!({ "text": hard, "algorithm": "symbolic order" });
    let silent = server.send(&server.posted("check", &asked));
    until("it runs", || server.children().len() == 1);
    drop(silent);
    until("it was ended", || server.children().is_empty());
}

impl Server {
    fn check_error(&self, text: &str) -> String {
        let lines = self.post("check", &json!({ "text": text })).lines();
        lines.last().map_or(String::new(), |line| line["error"].to_string())
    }
}

/// Each has its own process, folder and page.
#[test]
fn many_checks_at_once_do_not_disturb_each_other() {
    let server = Server::start("--checks 8");
    let programs = [(LOST, "violated"), (LOCKED, "verified"), (DEADLOCK, "violated")];
    std::thread::scope(|scope| {
        for (i, (text, verdict)) in programs.iter().cycle().take(24).enumerate() {
            let server = &server;
            scope.spawn(move || {
                // More than it runs at once are refused, not mixed up.
                let result = loop {
                    let answer =
                        server.post("check", &json!({ "text": text, "name": format!("p{i}.sel") }));
                    let last = answer.lines().pop().expect("there is a line");
                    match last["result"].is_object() {
                        true => break last["result"].clone(),
                        false => assert!(
                            last["error"].to_string().contains("checks are running"),
                            "{last}"
                        ),
                    }
                    std::thread::sleep(Duration::from_millis(50));
                };
                assert_eq!(result["verdict"], *verdict, "{i}");
                let page = server.get(&format!("{}/pages/{}", server.base, result["page"]));
                assert!(page.status == 404 || page.body.contains(&format!("p{i}.sel")), "{i}");
            });
        }
    });
}

#[test]
fn a_port_in_use_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it has an address").port();
    let run = Folder::new().run(&format!("serve --port {port}")).exits(2);
    run.complains(&format!("port {port} cannot be used")).complains("--port");
}

#[test]
#[cfg(unix)]
fn an_interruption_ends_everything_at_once() {
    let mut server = Server::start("");
    let _check = server.send(&server.posted("check", &json!({ "text": LARGE })));
    until("it runs", || server.children().len() == 1);
    let child = server.children().remove(0);
    let before = Instant::now();
    let pid = server.child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("kill can be run").success());
    assert_eq!(server.child.wait().expect("it ends").code(), Some(130));
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    until("the check has ended", || !is_running(&child));
    assert_eq!(left_folders(server.child.id()), 0, "its folders are removed");
}

/// A server that is killed leaves no check behind: neither of a model nor of what that starts.
#[cfg(target_os = "linux")]
#[test]
fn a_check_ends_with_a_server_that_is_killed() {
    let mut server = Server::start("");
    let _check = server.send(&server.posted("check", &json!({ "text": LARGE })));
    until("it runs", || server.children().len() == 1);
    let child = server.children().remove(0);
    assert!(is_running(&child));
    server.child.kill().expect("it can be killed");
    server.child.wait().expect("it ends");
    until("the check has ended", || !is_running(&child));
}

/// Who stops a check sees what it has found.
#[test]
fn a_check_that_is_stopped_shows_what_it_found() {
    let server = Server::start("");
    for wrong in [json!({}), json!({ "job": 7 }), json!({ "job": "../x" })] {
        assert_eq!(server.post("stop", &wrong).status, 400, "{wrong}");
    }
    assert_eq!(server.post("stop", &json!({ "job": "another" })).status, 200);
    let asked = json!({ "text": LARGE, "job": "mine", "algorithm": "optimal" });
    let result = std::thread::scope(|scope| {
        let check = scope.spawn(|| server.post("check", &asked).result());
        until("it runs", || server.children().len() == 1);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(server.post("stop", &json!({ "job": "mine" })).status, 200);
        check.join().expect("it ends")
    });
    assert_eq!(result["verdict"], "inconclusive", "{result}");
    assert_eq!(result["inconclusive"][0]["message"], "interrupted", "{result}");
    assert!(result["executions"]["complete"].as_u64() > Some(0), "{result}");
    assert!(result["page"].is_u64(), "{result}");
}
