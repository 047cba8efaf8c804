//! A real browser, driven as the WebDriver standard says: HTTP with JSON, over a plain connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// Keys without a character, as the standard numbers them.
pub(crate) mod key {
    pub(crate) const END: char = '\u{e010}';
    pub(crate) const HOME: char = '\u{e011}';
    pub(crate) const LEFT: char = '\u{e012}';
    pub(crate) const RIGHT: char = '\u{e014}';
    pub(crate) const DOWN: char = '\u{e015}';
    pub(crate) const ESCAPE: char = '\u{e00c}';
    pub(crate) const ENTER: char = '\u{e007}';
    pub(crate) const TAB: char = '\u{e004}';
    pub(crate) const SHIFT: char = '\u{e008}';
    pub(crate) const CONTROL: char = '\u{e009}';
    pub(crate) const F8: char = '\u{e038}';
}

/// One browser at a time: each needs much memory. Inside: the one that the last test has left to the next.
static ONE: Mutex<Option<Running>> = Mutex::new(None);
/// How many tests wait for it. The last one ends it: nothing would at the end of the process.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// A browser with one window, which no other test uses.
pub(crate) struct Browser {
    /// Until it is left to another test.
    running: Option<Running>,
    alone: MutexGuard<'static, Option<Running>>,
}

impl Browser {
    /// Starts a browser, if there is one, or takes that of the test before. If `SELVEDGE_NEED_BROWSER` is set, there must be one.
    pub(crate) fn start() -> Option<Self> {
        WAITING.fetch_add(1, Ordering::SeqCst);
        let mut alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        WAITING.fetch_sub(1, Ordering::SeqCst);
        let running = alone.take().or_else(Running::start)?;
        let browser = Self { running: Some(running), alone };
        browser.resize(1280, 800);
        Some(browser)
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        self.post("/window/rect", &json!({ "width": width, "height": height }));
    }

    /// Opens a page, at a step if `hash` names one.
    pub(crate) fn open(&self, page: &Path, hash: &str) {
        self.open_address(&format!("file://{}{hash}", page.display()));
    }

    /// Opens a page by its address.
    pub(crate) fn open_address(&self, address: &str) {
        // A page that differs in its hash alone would not be loaded again.
        self.post("/url", &json!({ "url": "about:blank" }));
        self.post("/url", &json!({ "url": address }));
    }

    /// Goes into a page inside the page.
    pub(crate) fn enter(&self, frame: &str) {
        let found = self.find(frame);
        self.post("/frame", &json!({ "id": found }));
    }

    /// Goes back to the page itself.
    pub(crate) fn leave(&self) {
        self.post("/frame", &json!({ "id": null }));
    }

    /// Presses a key while others are down.
    pub(crate) fn chord(&self, held: &[char], pressed: char) {
        let event = |kind: &str, key: char| json!({ "type": kind, "value": key.to_string() });
        let down = held.iter().chain([&pressed]).map(|&key| event("keyDown", key));
        let up = [&pressed].into_iter().chain(held).map(|&key| event("keyUp", key));
        let actions: Vec<Value> = down.chain(up).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Presses keys, one after the other.
    pub(crate) fn press(&self, keys: impl IntoIterator<Item = char>) {
        let action = |key: char| {
            let key = key.to_string();
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<Value> = keys.into_iter().flat_map(action).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Clicks on what a selector finds first.
    pub(crate) fn click(&self, selector: &str) {
        let found = self.find(selector);
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        let id = id.unwrap_or_else(|| panic!("no `{selector}` in the page: {found}"));
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    fn find(&self, selector: &str) -> Value {
        self.post("/element", &json!({ "using": "css selector", "value": selector }))
    }

    /// Returns what an expression of the page's language evaluates to.
    pub(crate) fn ask(&self, expression: &str) -> Value {
        let script = format!("return ({expression})");
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Returns the texts of everything that a selector finds.
    pub(crate) fn texts(&self, selector: &str) -> Vec<String> {
        let all = self.ask(&format!(
            "[...document.querySelectorAll({})].map(one => one.textContent)",
            json!(selector)
        ));
        serde_json::from_value(all).expect("a list of texts")
    }

    /// Returns the messages in the browser's log since the last call: errors, and what its policies refused.
    pub(crate) fn log(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().expect("the log is a list");
        entries.iter().map(|entry| entry["message"].to_string()).collect()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let running = self.running.as_ref().expect("it is not left to another test yet");
        running.call("POST", &format!("{}{path}", running.session), body)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let running = self.running.take();
        // What a test that failed leaves is not known.
        if !std::thread::panicking() && WAITING.load(Ordering::SeqCst) > 0 {
            *self.alone = running.and_then(|running| running.with_fresh_window().ok());
        }
    }
}

/// A driver with its browser, ended at the end.
struct Running {
    driver: Child,
    port: u16,
    session: String,
    /// Kept open: the driver writes to it.
    _out: BufReader<ChildStdout>,
}

impl Running {
    fn start() -> Option<Self> {
        let mut driver = match Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
        {
            Ok(driver) => driver,
            Err(error) => {
                let needed = std::env::var_os("SELVEDGE_NEED_BROWSER").is_some();
                assert!(
                    !needed,
                    "SELVEDGE_NEED_BROWSER is set, and chromedriver does not run: {error}"
                );
                skipped(&error.to_string());
                return None;
            }
        };
        let mut out = BufReader::new(driver.stdout.take().expect("there is a pipe"));
        let port = out
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver says on which port it listens");
        let mut running = Self { driver, port, session: String::new(), _out: out };
        // Chromium does not run in its sandbox as root, as which CI runs.
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"];
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let answer = running.call("POST", "/session", &capabilities);
        let id = answer["sessionId"].as_str().expect("a session has a name");
        running.session = format!("/session/{id}");
        Some(running)
    }

    /// Replaces the window by a new one, which knows nothing of what was done in the old one.
    fn with_fresh_window(self) -> std::io::Result<Self> {
        let call = |method: &str, path: &str, body: &Value| {
            let answer = self.try_call(method, &format!("{}{path}", self.session), body)?;
            let refused = |it: &Value| std::io::Error::other(it.to_string());
            match &answer["value"] {
                value if value["error"].is_null() => Ok(value.clone()),
                value => Err(refused(value)),
            }
        };
        // The page that is shown is inside of another one, if a test has entered it.
        call("POST", "/frame", &json!({ "id": null }))?;
        call("POST", "/execute/sync", &json!({ "script": "localStorage.clear()", "args": [] }))?;
        let fresh = call("POST", "/window/new", &json!({ "type": "window" }))?;
        call("DELETE", "/window", &json!({}))?;
        call("POST", "/window", &json!({ "handle": fresh["handle"] }))?;
        call("POST", "/se/log", &json!({ "type": "browser" }))?;
        Ok(self)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.try_call(method, path, body).expect("the driver answers");
        let value = &answer["value"];
        assert!(value["error"].is_null(), "{method} {path} {body}: {value:#}");
        value.clone()
    }

    fn try_call(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().expect("a length is a number");
                }
                _ if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ends the browser; without this it would outlive the driver.
        if !self.session.is_empty() {
            let _ = self.try_call("DELETE", &self.session, &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Says that a test was not run. Not with `eprintln!`, which the test harness keeps to itself.
fn skipped(why: &str) {
    let text = "skipped: chromedriver does not run; install chromium and chromium-driver";
    let _ = writeln!(std::io::stderr(), "{text} ({why})");
}
