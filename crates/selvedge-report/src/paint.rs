//! Colours, if asked for.

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// A property holds.
    Good,
    /// A property does not hold.
    Bad,
    /// Nothing is proved.
    Unsure,
    /// A heading.
    Strong,
    /// Signs that frame the text.
    Frame,
    /// What is less important.
    Faint,
    /// The thread with this number.
    Thread(usize),
}

/// Writes with colours or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paint {
    /// Whether escape sequences may be used.
    pub colour: bool,
}

impl Paint {
    /// Returns the text as it should look.
    pub fn style(self, style: Style, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Good => "1;32",
            Style::Bad => "1;31",
            Style::Unsure => "1;33",
            Style::Strong => "1",
            Style::Frame => "34",
            Style::Faint => "2",
            Style::Thread(number) => ["36", "33", "35", "32", "94", "91"][number % 6],
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
