//! A mistake at a place of the sources.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// A place, and what becomes what there.
pub(crate) struct Site {
    /// From the root of the sources.
    pub(crate) file: PathBuf,
    /// Its line in that file.
    pub(crate) line: usize,
    /// What is replaced in the text of the file. Empty: the mistake comes first.
    pub(crate) range: Range<usize>,
    /// One line of code.
    pub(crate) wrong: String,
    /// For people.
    pub(crate) right: String,
    /// How the mistake stands in the code.
    pub(crate) shape: Shape,
}

/// How the mistake stands in the code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One expression in place of another.
    Expression,
    /// Statements in place of a statement.
    Statement,
    /// A statement that is added.
    #[allow(dead_code, reason = "only random mistakes are of that kind")]
    Addition,
}

impl Site {
    /// What becomes what, for people; it does not say where.
    pub(crate) fn change(&self) -> String {
        let right = short(&self.right);
        match self.shape {
            Shape::Expression => format!("`{right}` → `{}`", short(&self.wrong)),
            Shape::Statement => format!("`{right}` left out"),
            Shape::Addition => format!("{right}: `{}`", self.wrong),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.change())
    }
}

fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.chars().count() <= 70 {
        return text;
    }
    let (head, tail): (String, String) =
        (text.chars().take(40).collect(), text.chars().rev().take(27).collect());
    format!("{head}…{}", tail.chars().rev().collect::<String>())
}
