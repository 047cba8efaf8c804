//! Standard output and error: width, colours, and closed pipes.

use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

use selvedge_report::{Paint, TextOptions};

use crate::args::Colour;
use crate::exit::{Failure, complain};

/// The width of a page that is not a terminal.
const PAGE: usize = 100;
/// Nothing can be laid out below this.
const NARROWEST: usize = 40;

/// Where results go.
pub(crate) struct Screen {
    /// How many columns there are.
    pub(crate) width: usize,
    /// The same for tables, which have no lines to break where nothing ends.
    pub(crate) table_width: usize,
    /// Colours on standard output.
    pub(crate) paint: Paint,
    /// Colours on standard error.
    pub(crate) error_paint: Paint,
}

impl Screen {
    pub(crate) fn new(colour: Colour) -> Self {
        let wanted = |is_terminal: bool| match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => is_terminal && allows_colour(|name| std::env::var_os(name)),
        };
        let known = known_width();
        Self {
            width: known.unwrap_or(PAGE).max(NARROWEST),
            table_width: known.unwrap_or(usize::MAX),
            paint: Paint { colour: wanted(std::io::stdout().is_terminal()) },
            error_paint: Paint { colour: wanted(std::io::stderr().is_terminal()) },
        }
    }

    /// Returns how executions and violations should look.
    pub(crate) fn text_options(&self, full: bool) -> TextOptions {
        TextOptions {
            width: self.width,
            colour: self.paint.colour,
            full,
            full_hint: "--full shows all".to_owned(),
        }
    }

    /// Writes a result. A reader that has gone away (`| head`) is no error.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::User(format!("standard output cannot be written: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&self, text: &str) {
        let word = self.error_paint.style(selvedge_report::Style::Unsure, "warning");
        complain(&format!("{word}: {text}\n"));
    }
}

/// Returns whether the environment is content with colours on a terminal.
fn allows_colour(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let no_colour = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = variable("TERM").is_some_and(|value| value == "dumb");
    !no_colour && !dumb
}

/// Returns how wide the terminal is, or should be thought to be.
fn known_width() -> Option<usize> {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.map(|(width, _)| usize::from(width.0)).or_else(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_variable_turns_colours_off() {
        let allows = |no_colour: Option<&str>, term: &str| {
            allows_colour(|name| match name {
                "NO_COLOR" => no_colour.map(OsString::from),
                _ => Some(OsString::from(term)),
            })
        };
        assert!(allows(None, "xterm"));
        // As https://no-color.org has it: when present and not an empty string.
        assert!(allows(Some(""), "xterm"));
        assert!(!allows(Some("1"), "xterm"));
        assert!(!allows(None, "dumb"));
        assert!(!allows(Some("1"), "dumb"));
    }
}
