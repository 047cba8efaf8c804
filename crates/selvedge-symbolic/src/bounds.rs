//! Bounds on the number of context switches, of all threads and of single ones.

use std::fmt;
use std::str::FromStr;

use selvedge_lang::ir::Program;

/// Bounds on how often the token is passed to a thread (the paper's *CB*). The thread that starts has the token
/// without a pass, so this is the number of context switches to that thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadBound {
    /// The thread: its name, the name of replicated threads, that of the routine that created threads run, or `*` for
    /// every thread.
    pub thread: String,
    /// At least so often.
    pub least: u32,
    /// At most so often.
    pub most: Option<u32>,
}

impl ThreadBound {
    /// The name that every thread has.
    pub const EVERY: &'static str = "*";

    /// Returns whether it bounds the thread of this name, which may be `inc`, `inc[1]` or `main/worker#2`.
    pub fn applies_to(&self, name: &str) -> bool {
        self.thread == Self::EVERY || self.thread == name || self.thread == routine(name)
    }

    /// Returns whether a program may have such a thread. One that is created has no name that is known before it
    /// runs, but for that of its routine.
    pub fn fits(&self, program: &Program) -> bool {
        let mut names = program.threads.iter().map(|thread| thread.full_name());
        names.any(|name| self.applies_to(&name))
            || program.procedures.iter().any(|procedure| procedure.name == self.thread)
    }
}

/// Returns what a thread runs: the last part of its name, without a number.
fn routine(name: &str) -> &str {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.split(['[', '#']).next().unwrap_or(last)
}

/// `THREAD=U`, `THREAD=L-U` or `THREAD=L-`.
impl FromStr for ThreadBound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            "THREAD=U (at most U context switches to it), THREAD=L-U (at least L and at most U) or THREAD=L-"
                .to_owned()
        };
        let (thread, range) = text.split_once('=').ok_or_else(form)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| form());
        let (least, most) = match range.split_once('-') {
            None => (0, Some(number(range)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        if thread.is_empty() {
            return Err(form());
        }
        match most {
            Some(most) if most < least => {
                Err(format!("at least {least} and at most {most}: that is no number"))
            }
            _ => Ok(Self { thread: thread.to_owned(), least, most }),
        }
    }
}

impl fmt::Display for ThreadBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, least, most } = self;
        match (least, most) {
            (0, Some(most)) => write!(f, "{thread}={most}"),
            (least, Some(most)) => write!(f, "{thread}={least}-{most}"),
            (least, None) => write!(f, "{thread}={least}-"),
        }
    }
}

/// Which executions are covered.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// At most so many context switches in all.
    pub switches: Option<u32>,
    /// How many of them to single threads.
    pub threads: &'a [ThreadBound],
}

impl Bounds<'_> {
    /// Returns whether context switches are counted at all.
    pub fn count(&self) -> bool {
        self.switches.is_some() || !self.threads.is_empty()
    }

    /// Returns whether some executions have too few of them.
    pub fn have_least(&self) -> bool {
        self.threads.iter().any(|bound| bound.least > 0)
    }
}

/// What is covered, and what to do about the rest.
impl fmt::Display for Bounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(most) = self.switches {
            parts.push(format!("at most {most} context switches"));
        }
        for ThreadBound { thread, least, most } in self.threads {
            let whom = match thread.as_str() {
                ThreadBound::EVERY => "each thread".to_owned(),
                thread => format!("`{thread}`"),
            };
            let how_many = match (least, most) {
                (0, Some(most)) => format!("at most {most}"),
                (least, Some(most)) => format!("{least} to {most}"),
                (least, None) => format!("at least {least}"),
            };
            parts.push(format!("{how_many} context switches to {whom}"));
        }
        let options = match (self.switches, self.threads) {
            (Some(_), []) => "raise --context-bound, or leave it out",
            (None, _) => "widen --thread-bound, or leave it out",
            (Some(_), _) => "widen --context-bound and --thread-bound, or leave them out",
        };
        write!(f, "only executions with {} were covered; {options}", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_read_as_it_is_written() {
        for text in ["inc=1", "inc[0]=2", "worker=1-3", "*=2-"] {
            assert_eq!(text.parse::<ThreadBound>().unwrap().to_string(), text);
        }
        for text in ["inc", "=1", "inc=", "inc=-2", "inc=3-2", "inc=a", "inc=1-2-3", "inc=1..2"] {
            assert!(text.parse::<ThreadBound>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_stands_for_a_thread_or_all_that_run_a_routine() {
        let bound = |thread: &str| ThreadBound { thread: thread.to_owned(), least: 0, most: None };
        for (thread, name, is_meant) in [
            ("*", "inc[1]", true),
            ("inc", "inc[1]", true),
            ("inc[1]", "inc[1]", true),
            ("inc[0]", "inc[1]", false),
            ("worker", "main/worker#2", true),
            ("main", "main/worker#2", false),
        ] {
            assert_eq!(bound(thread).applies_to(name), is_meant, "{thread}, {name}");
        }
    }
}
