//! What a program can do.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use selvedge_core::ViolationKind;

/// The threads that are blocked in a deadlock, each with the line on which it waits.
pub type Deadlock = BTreeSet<(String, u32)>;

/// The values of all variables, lists and maps, as text, in the order of their names.
pub type Values = Vec<String>;

/// How many interleavings of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Executions {
    /// Every thread ended, or one failed and the others ran as far as they could.
    pub complete: u128,
    /// A thread is blocked.
    pub deadlocked: u128,
    /// A thread is blocked by an `assume` that is false.
    pub blocked: u128,
}

/// What a program can do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// What can go wrong, and on which line; without deadlocks.
    pub violations: BTreeSet<(ViolationKind, u32)>,
    /// The deadlocks.
    pub deadlocks: BTreeSet<Deadlock>,
    /// For each deadlock that is reported: the lines on which threads wait.
    pub deadlock_lines: BTreeSet<BTreeSet<u32>>,
    /// The final values of executions in which every thread ended, daemons excepted.
    pub finals: BTreeSet<Values>,
    /// The number of interleavings; `None` if they were not counted.
    pub executions: Option<Executions>,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, line) in &self.violations {
            writeln!(f, "  {kind} on line {line}")?;
        }
        for deadlock in &self.deadlocks {
            writeln!(f, "  {}", show(deadlock))?;
        }
        for values in &self.finals {
            writeln!(f, "  ends with {}", values.join(" "))?;
        }
        match self.executions {
            Some(executions) => writeln!(f, "  {executions:?}"),
            None => Ok(()),
        }
    }
}

fn show(deadlock: &Deadlock) -> String {
    let mut text = "deadlock:".to_owned();
    for (thread, line) in deadlock {
        write!(text, " {thread} on line {line}").expect("a string can be written");
    }
    text
}

/// What two sets do not have in common; `None` if they are the same.
pub(super) fn difference<T: Ord>(
    what: &str,
    reference: &BTreeSet<T>,
    tool: &BTreeSet<T>,
    show: impl Fn(&T) -> String,
) -> Option<String> {
    if reference == tool {
        return None;
    }
    let mut text = format!("{what} differ:\n");
    for (side, items) in
        [("reference", reference.difference(tool)), ("tool", tool.difference(reference))]
    {
        for item in items.take(5) {
            writeln!(text, "  only the {side}: {}", show(item)).expect("a string can be written");
        }
    }
    Some(text)
}

impl Facts {
    /// How the tool's violations, deadlocks and numbers differ from these; `None` if they do not.
    /// Numbers are compared if both are known.
    pub fn difference(&self, tool: &Facts) -> Option<String> {
        let place = |(kind, line): &(ViolationKind, u32)| format!("{kind} on line {line}");
        difference("the violations", &self.violations, &tool.violations, place)
            .or_else(|| difference("the deadlocks", &self.deadlocks, &tool.deadlocks, show))
            .or_else(|| {
                let lines = |lines: &BTreeSet<u32>| format!("{lines:?}");
                let what = "the lines of deadlocks";
                difference(what, &self.deadlock_lines, &tool.deadlock_lines, lines)
            })
            .or_else(|| match (self.executions, tool.executions) {
                (Some(reference), Some(tool)) if reference != tool => {
                    Some(format!("the reference has {reference:?}, the tool {tool:?}\n"))
                }
                _ => None,
            })
    }
}
