//! As much of HTTP/1.1 as one page on this machine needs: a request per connection, limited in size and time.
//!
//! Written here because it is short, and because what is refused is the point of it.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A request has to arrive within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// The request line and each header.
const MOST_LINE: u64 = 8 << 10;
const MOST_HEADERS: usize = 64;
/// A program and what is to be done with it.
pub(super) const MOST_BODY: usize = 1 << 20;

/// What a browser asks for.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// With what follows a `?`.
    pub(super) target: String,
    pub(super) host: String,
    /// The page that asks, if the browser says so.
    pub(super) origin: Option<String>,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

/// An answer in one piece.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    /// What the browser may do with it.
    pub(super) policy: &'static str,
    pub(super) body: Vec<u8>,
}

/// Nothing at all may be done with it.
pub(super) const NO_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

impl Response {
    /// Returns a text that says what is wrong.
    pub(super) fn refusal(status: u16, why: &str) -> Self {
        let kind = "text/plain; charset=utf-8";
        Self { status, kind, policy: NO_POLICY, body: format!("{why}\n").into_bytes() }
    }

    pub(super) fn json(value: &serde_json::Value) -> Self {
        let body = value.to_string().into_bytes();
        Self { status: 200, kind: "application/json", policy: NO_POLICY, body }
    }
}

/// Reads a request.
///
/// # Errors
/// The outer error: the client has closed the connection. The inner one: the answer to a request that is refused.
pub(super) fn read(stream: &TcpStream) -> io::Result<Result<Request, Response>> {
    stream.set_write_timeout(Some(PATIENCE))?;
    parse(&mut BufReader::new(Patient { stream, until: Instant::now() + PATIENCE }))
}

/// A connection that has to say what it wants in time: all of it, not each byte.
struct Patient<'s> {
    stream: &'s TcpStream,
    until: Instant,
}

impl io::Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(bytes)
    }
}

fn parse(input: &mut impl BufRead) -> io::Result<Result<Request, Response>> {
    let refuse = |status, why| Ok(Err(Response::refusal(status, why)));
    let Some(line) = read_line(input)? else {
        return refuse(431, "the address is too long");
    };
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return refuse(400, "this is not HTTP");
    };
    if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return refuse(400, "this is not a request for a page");
    }
    let mut request =
        Request { method: method.to_owned(), target: target.to_owned(), ..Request::default() };
    let mut length = None;
    for count in 0.. {
        let Some(line) = read_line(input)? else { return refuse(431, "a header is too long") };
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return refuse(400, "a header without a colon");
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            _ if count == MOST_HEADERS => return refuse(431, "too many headers"),
            // With two of them, a proxy may have believed the other one.
            "host" if !request.host.is_empty() => return refuse(400, "two hosts"),
            "host" => value.clone_into(&mut request.host),
            "origin" => request.origin = Some(value.to_owned()),
            "content-type" => value.clone_into(&mut request.content_type),
            "content-length" if length.is_some() => return refuse(400, "two lengths"),
            "content-length" => match value.parse::<usize>() {
                Ok(value) => length = Some(value),
                Err(_) => return refuse(400, "the length is not a number"),
            },
            "transfer-encoding" => return refuse(411, "send the length of the body"),
            _ => {}
        }
    }
    let length = length.unwrap_or(0);
    if length > MOST_BODY {
        // What it sends is read and thrown away, so that it hears why; no more than that, for which it would wait.
        let sent = length.min(8 * MOST_BODY) as u64;
        io::copy(&mut input.by_ref().take(sent), &mut io::sink()).ok();
        return refuse(413, "the program is too long: at most 1 MiB");
    }
    request.body = vec![0; length];
    input.read_exact(&mut request.body)?;
    Ok(Ok(request))
}

/// Returns a line without its end; `None` if it is too long.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.by_ref().take(MOST_LINE).read_until(b'\n', &mut line)?;
    match line.strip_suffix(b"\n") {
        Some(line) => {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            Ok(Some(String::from_utf8_lossy(line).into_owned()))
        }
        None if (line.len() as u64) < MOST_LINE => Err(io::ErrorKind::UnexpectedEof.into()),
        None => Ok(None),
    }
}

/// Writes an answer in one piece.
pub(super) fn write(stream: &mut impl Write, response: &Response) -> io::Result<()> {
    let length = format!("Content-Length: {}\r\n", response.body.len());
    write_head(stream, response.status, response.kind, response.policy, &length)?;
    stream.write_all(&response.body)?;
    stream.flush()
}

/// Writes the head of an answer that comes in lines; the end of the connection is its end.
pub(super) fn write_stream_head(stream: &mut impl Write) -> io::Result<()> {
    write_head(stream, 200, "application/x-ndjson", NO_POLICY, "")?;
    stream.flush()
}

fn write_head(
    stream: &mut impl Write,
    status: u16,
    kind: &str,
    policy: &str,
    more: &str,
) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n{more}Connection: close\r\n\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Result<Request, u16> {
        let parsed = parse(&mut text.as_bytes()).expect("the request is complete");
        parsed.map_err(|response| response.status)
    }

    #[test]
    fn requests_are_read_or_refused() {
        let request = status("POST /a?b HTTP/1.1\r\nHOST: x:1\r\nContent-Length: 2\r\n\r\nhi")
            .expect("it is fine");
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/a?b"));
        assert_eq!((request.host.as_str(), request.body.as_slice()), ("x:1", &b"hi"[..]));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(10_000));
        for (text, expected) in [
            ("GET / FTP/1.0\r\n\r\n", 400),
            ("GET http://elsewhere/ HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1 x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nnonsense\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            ("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413),
            (&many, 431),
            (&long, 431),
        ] {
            assert_eq!(status(text).map(|_| ()), Err(expected), "{text}");
        }
        // A body that is too long is read to its end, and no further: the connection stays open.
        let head = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", MOST_BODY + 1);
        let text = head + &"x".repeat(MOST_BODY + 1) + "more";
        let mut input = text.as_bytes();
        assert!(parse(&mut input).is_ok_and(|it| it.is_err_and(|it| it.status == 413)));
        assert_eq!(input, b"more");
        assert!(parse(&mut "GET / HTTP/1.1\r\n".as_bytes()).is_err());
        assert!(parse(&mut "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab".as_bytes()).is_err());
    }
}
