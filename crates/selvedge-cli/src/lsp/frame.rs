//! Messages on a pipe: a header with the length, a blank line, JSON.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::Value;

/// Longer messages are skipped: no program is as long.
const MOST_BYTES: u64 = 64 << 20;
/// Longer lines are no header.
const MOST_HEADER: u64 = 4096;

/// What came in.
#[derive(Debug)]
pub(super) enum Frame {
    Message(Value),
    /// It was skipped; this is what was wrong.
    Malformed(String),
}

/// Reads the next message. `None`: there are no more.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Frame>> {
    let mut length = None;
    let mut is_started = false;
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(MOST_HEADER).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        if !line.is_empty() {
            is_started = true;
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse::<u64>().ok();
                }
                _ => {}
            }
        } else if is_started {
            break;
        }
    }
    let Some(length) = length else {
        return Ok(Some(Frame::Malformed("a header without a Content-Length".to_owned())));
    };
    if length > MOST_BYTES {
        io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        let message = format!("a message of {length} bytes; at most {MOST_BYTES} are read");
        return Ok(Some(Frame::Malformed(message)));
    }
    let mut body = Vec::new();
    // As much as there is: a length is only a promise.
    if (input.by_ref().take(length).read_to_end(&mut body)? as u64) < length {
        return Ok(None);
    }
    Ok(Some(match serde_json::from_slice(&body) {
        Ok(message) => Frame::Message(message),
        Err(error) => Frame::Malformed(format!("not JSON: {error}")),
    }))
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all(mut input: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(frame) = read(&mut input).expect("a slice can be read") {
            found.push(match frame {
                Frame::Message(message) => message.to_string(),
                Frame::Malformed(_) => "malformed".to_owned(),
            });
        }
        found
    }

    #[test]
    fn messages_follow_each_other_whatever_is_wrong_with_one() {
        let mut out = Vec::new();
        write(&mut out, &json!({ "a": "é" })).expect("a vector can be written");
        assert!(out.starts_with(b"Content-Length: 10\r\n\r\n"));
        let input = b"content-length:2\r\nOther: x\r\n\r\n{}Content-Length: 3\r\n\r\n{,}X: y\r\n\r\n\r\nContent-Length: -1\r\n\r\nContent-Length: 1\r\n\r\n7";
        assert_eq!(all(input), ["{}", "malformed", "malformed", "malformed", "7"]);
        let huge = format!("Content-Length: {}\r\n\r\n", MOST_BYTES + 1).into_bytes();
        let body = vec![b'x'; MOST_BYTES as usize + 1];
        let input = [huge, body, b"Content-Length: 2\r\n\r\n{}".to_vec()].concat();
        assert_eq!(all(&input), ["malformed", "{}"]);
        assert_eq!(all(b"Content-Length: 5\r\n\r\n{}"), [""; 0]);
        assert_eq!(all(&[0xff; 10_000]), [""; 0]);
        // A line that is longer than any header is several lines: the length behind it in the same line is none of these.
        let most = MOST_HEADER as usize;
        for (before, found) in [(most - 30, "malformed"), (most, "{}")] {
            let input = format!("{}Content-Length: 2\r\n\r\n{{}}", "x".repeat(before));
            assert_eq!(all(input.as_bytes()), [found], "{before}");
        }
    }
}
