//! Who may ask for what.

use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use selvedge_explore::Memory;
use selvedge_lang::index;
use selvedge_report::COLOURS;
use selvedge_symbolic::Scheme;
use serde_json::{Value, json};

use super::http::{self, Request, Response};
use super::jobs::{Asked, Jobs};
use super::ndjson::Lines;
use super::{diagnose, examples, token};
use crate::args::ServeArgs;
use crate::exit::Failure;
use crate::registry;

/// The workbench may load its own parts and nothing else.
const WORKBENCH: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A result runs its own scripts in a place of its own, and loads nothing.
const PAGE: &str = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
     frame-ancestors 'self'";

/// How many results are kept, and how long they are in all.
const MOST_PAGES: usize = 20;
const MOST_PAGE_BYTES: usize = 128 << 20;

/// All that the connections share.
pub(super) struct Workbench {
    token: String,
    hosts: [String; 2],
    jobs: Jobs,
    pages: Mutex<Pages>,
}

/// Results, the oldest first.
#[derive(Default)]
struct Pages {
    next: u64,
    kept: VecDeque<(u64, String)>,
}

impl Pages {
    fn add(&mut self, page: String) -> u64 {
        self.next += 1;
        self.kept.push_back((self.next, page));
        while self.kept.len() > MOST_PAGES || self.bytes() > MOST_PAGE_BYTES && self.kept.len() > 1
        {
            self.kept.pop_front();
        }
        self.next
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|(_, page)| page.len()).sum()
    }
}

impl Workbench {
    pub(super) fn new(port: u16, args: &ServeArgs) -> Result<Self, Failure> {
        Ok(Self {
            token: token::new(),
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            jobs: Jobs::new(args),
            pages: Mutex::default(),
        })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Ends all that runs.
    pub(super) fn end(&self) {
        self.jobs.end();
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a request and answers it.
    pub(super) fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let request = match http::read(&stream)? {
            Ok(request) => request,
            Err(refusal) => return http::write(&mut stream, &refusal),
        };
        let path = match self.permitted(&request) {
            Ok(path) => path,
            Err(refusal) => return http::write(&mut stream, &refusal),
        };
        match (request.method.as_str(), path) {
            ("GET", path) => http::write(&mut stream, &self.get(path)),
            ("POST", "check" | "compare" | "constraints") => self.job(path, &request, stream),
            ("POST", "stop") => {
                let stopped = read_json(&request).and_then(|body| self.jobs.stop(&body));
                let answer =
                    stopped.map_or_else(|refusal| refusal, |()| Response::json(&json!({})));
                http::write(&mut stream, &answer)
            }
            ("POST", path) => http::write(&mut stream, &post(path, &request)),
            _ => http::write(&mut stream, &Response::refusal(405, "only GET and POST")),
        }
    }

    /// Returns what is asked for, without the token, if the request may be answered.
    fn permitted<'r>(&self, request: &'r Request) -> Result<&'r str, Response> {
        // Another name that leads to this machine would be a page from elsewhere (DNS rebinding).
        if !self.hosts.contains(&request.host) {
            let why = format!("this host is not served: open http://{}/…", self.hosts[0]);
            return Err(Response::refusal(421, &why));
        }
        let is_own =
            |origin: &String| self.hosts.iter().any(|host| *origin == format!("http://{host}"));
        if !request.origin.as_ref().is_none_or(is_own) {
            return Err(Response::refusal(403, "pages from elsewhere cannot use the workbench"));
        }
        let path = request.target[1..].split_once('/');
        match path {
            Some((given, path)) if token::is_same(given, &self.token) => Ok(path),
            _ => Err(Response::refusal(
                403,
                "open the address that `selvedge serve` has printed: it has a token",
            )),
        }
    }

    fn get(&self, path: &str) -> Response {
        let own = |kind, text: &str| Response {
            status: 200,
            kind,
            policy: WORKBENCH,
            body: text.as_bytes().to_vec(),
        };
        match path {
            "" => own("text/html; charset=utf-8", include_str!("page/workbench.html")),
            "workbench.css" => {
                let style = format!("{COLOURS}{}", include_str!("page/workbench.css"));
                own("text/css; charset=utf-8", &style)
            }
            "workbench.js" => {
                own("text/javascript; charset=utf-8", include_str!("page/workbench.js"))
            }
            "facts" => Response::json(&self.facts()),
            _ => match path.split_once('/') {
                Some(("examples", name)) => match examples::named(name) {
                    Some(text) => own("text/plain; charset=utf-8", &text),
                    None => Response::refusal(404, "there is no such example"),
                },
                Some(("pages", rest)) => self.page(rest),
                _ => Response::refusal(404, "there is nothing here"),
            },
        }
    }

    /// `7`, `7?theme=dark`
    fn page(&self, rest: &str) -> Response {
        let (number, query) = rest.split_once('?').unwrap_or((rest, ""));
        let pages = self.pages();
        let wanted = number.parse::<u64>().ok();
        let Some((_, page)) = pages.kept.iter().find(|(number, _)| Some(*number) == wanted) else {
            return Response::refusal(404, "this result is no longer kept: check again");
        };
        let theme = match query {
            "theme=light" => " data-theme=\"light\"",
            "theme=dark" => " data-theme=\"dark\"",
            _ => "",
        };
        let body = page.replacen("<html lang=\"en\"", &format!("<html lang=\"en\"{theme}"), 1);
        Response {
            status: 200,
            kind: "text/html; charset=utf-8",
            policy: PAGE,
            body: body.into_bytes(),
        }
    }

    /// Returns what the page has to know.
    fn facts(&self) -> Value {
        let algorithms = registry::all().map(|algorithm| {
            let info = algorithm.info();
            json!({ "name": info.name, "summary": info.summary, "advice": info.advice })
        });
        let keywords = [index::WORDS, index::PLACED].concat();
        let schemes: Vec<&str> = Scheme::ALL.iter().map(|scheme| scheme.name()).collect();
        let memories: Vec<&str> = Memory::ALL.iter().map(|memory| memory.name()).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "keywords": keywords,
            "builtIn": index::BUILT_IN,
            "algorithms": algorithms.collect::<Vec<_>>(),
            "algorithm": registry::DEFAULT,
            "schemes": schemes,
            "memories": memories,
            "examples": examples::names(),
            "limits": self.jobs.limits(),
        })
    }

    /// Runs something in a process of its own, and tells how far it is.
    fn job(&self, what: &str, request: &Request, mut stream: TcpStream) -> io::Result<()> {
        let asked = match read_json(request).and_then(|body| Asked::read(&body)) {
            Ok(asked) => asked,
            Err(refusal) => return http::write(&mut stream, &refusal),
        };
        let mut lines = Lines::new(stream)?;
        let done = match what {
            "check" => self.jobs.check(&asked, &mut lines, |page| self.pages().add(page)),
            "compare" => self.jobs.compare(&asked, &mut lines),
            _ => self.jobs.constraints(&asked, &mut lines),
        };
        // If the client has disconnected, this fails too.
        done.or_else(|error| lines.write(&json!({ "error": format!("it cannot be run: {error}") })))
    }
}

fn post(path: &str, request: &Request) -> Response {
    let asked = match read_json(request).and_then(|body| Asked::read(&body)) {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    match path {
        "diagnose" => Response::json(&diagnose::diagnose(&asked.text, &asked.given)),
        "format" => Response::json(&match selvedge_lang::format(&asked.text) {
            Ok(text) => json!({ "text": text }),
            Err(_) => json!({ "text": null }),
        }),
        _ => Response::refusal(404, "there is nothing here"),
    }
}

/// A page from elsewhere cannot send JSON without asking first, and it is not allowed to.
fn read_json(request: &Request) -> Result<Value, Response> {
    if request.content_type.split(';').next().map(str::trim) != Some("application/json") {
        return Err(Response::refusal(415, "send JSON"));
    }
    let body = serde_json::from_slice(&request.body);
    body.map_err(|error| Response::refusal(400, &format!("this is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pages_go_first() {
        let mut pages = Pages::default();
        for _ in 0..30 {
            pages.add("x".to_owned());
        }
        assert_eq!((pages.kept.len(), pages.kept[0].0), (MOST_PAGES, 11));
        pages.add("x".repeat(MOST_PAGE_BYTES));
        assert_eq!(pages.kept.len(), 1);
    }
}
