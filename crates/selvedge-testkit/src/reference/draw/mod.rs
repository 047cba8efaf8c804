//! Random programs over all that `docs/language.md` offers.
//!
//! [`generate`](crate::generate) draws programs for explorers: one register for each thread, and operations that meet. These are for the meaning of
//! statements: nested expressions, scopes, routines that return from inside loops and locks, recursion, negative
//! divisions, evaluation order. Programs are small and end, apart from a few that never do and are not compared.

mod artist;
mod expressions;
mod ghosts;
mod messages;
mod palette;
mod passed;
mod routines;
mod shrink;
mod statements;
mod synchronise;

use std::collections::BTreeSet;
use std::fmt;

pub use palette::Feature;
pub use shrink::shrink;

/// A program as a tree of lines, so that parts of it can be taken away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawn {
    /// Threads, routines, `finally`. What they share is declared as far as it is used.
    pub nodes: Vec<Node>,
}

/// A line, or lines with blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A statement.
    Line(String),
    /// `head { … } head { … }`: more than one for `if … else …`.
    Blocks(Vec<(String, Vec<Node>)>),
}

impl Node {
    pub(crate) fn block(head: impl Into<String>, body: Vec<Node>) -> Self {
        Node::Blocks(vec![(head.into(), body)])
    }
}

/// The program with this number.
pub fn draw(number: u64) -> Drawn {
    artist::Artist::new(number).program()
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        print(&self.nodes, 0, &mut text);
        // What a declaration uses is declared too.
        let mut used: BTreeSet<&str> = words(&text).collect();
        for _ in palette::DECLARATIONS {
            for (name, declaration) in palette::DECLARATIONS {
                if used.contains(name) {
                    used.extend(words(declaration));
                }
            }
        }
        for (name, declaration) in palette::DECLARATIONS {
            if used.contains(name) {
                writeln!(f, "{declaration}")?;
            }
        }
        f.write_str(&text)
    }
}

/// The names and keywords in `text`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

fn print(nodes: &[Node], depth: usize, text: &mut String) {
    let indent = "    ".repeat(depth);
    for node in nodes {
        match node {
            Node::Line(line) => *text += &format!("{indent}{line}\n"),
            Node::Blocks(blocks) => {
                for (number, (head, body)) in blocks.iter().enumerate() {
                    let before = if number == 0 { &indent } else { " " };
                    *text += &format!("{before}{head} {{\n");
                    print(body, depth + 1, text);
                    *text += &format!("{indent}}}");
                }
                text.push('\n');
            }
        }
    }
}
