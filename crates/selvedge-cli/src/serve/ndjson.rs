//! An answer in lines, each a JSON value, while something goes on; and whether somebody still listens.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::http;

/// A connection to which lines are written.
pub(super) struct Lines {
    stream: TcpStream,
}

impl Lines {
    pub(super) fn new(mut stream: TcpStream) -> io::Result<Self> {
        http::write_stream_head(&mut stream)?;
        stream.set_read_timeout(Some(Duration::from_millis(1)))?;
        Ok(Self { stream })
    }

    pub(super) fn write(&mut self, value: &Value) -> io::Result<()> {
        self.stream.write_all(format!("{value}\n").as_bytes())?;
        self.stream.flush()
    }

    /// Returns whether the other side has gone away. It has nothing more to say, so whatever can be read is the end.
    pub(super) fn is_closed(&self) -> bool {
        let waits = |error: io::Error| {
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
        };
        !self.stream.peek(&mut [0]).is_err_and(waits)
    }
}
