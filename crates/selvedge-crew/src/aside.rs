//! Something that is computed by a copy of this process while this one goes on.

use std::io;
use std::time::Duration;

use crate::copies::{Copy, Said, wait};

/// How long is waited at a time for a part of the answer.
const A_WHILE: Duration = Duration::from_millis(500);

/// A copy that computes one answer: what it does to its memory, and what it learns, stays there. It ends when this is dropped.
pub struct Aside(Copy);

impl Aside {
    /// Makes a copy that computes a line of text.
    ///
    /// # Errors
    /// If there can be no copy.
    pub fn start(work: &mut dyn FnMut() -> String) -> io::Result<Self> {
        let mut copy = Copy::start(&|| {}, &mut |_| format!("{}\n", work()))?;
        copy.order("\n")?;
        Ok(Self(copy))
    }

    /// Waits for the answer, as long as parts of it come. `None`: there is none by then.
    pub fn answer(mut self) -> Option<String> {
        while !wait(std::iter::once(&self.0), A_WHILE).is_empty() {
            match self.0.said() {
                Ok(Said::Nothing) => {}
                Ok(Said::Line(line)) => return Some(line),
                Ok(Said::Ended) | Err(_) => return None,
            }
        }
        None
    }
}
