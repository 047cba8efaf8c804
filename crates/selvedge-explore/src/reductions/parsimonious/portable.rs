//! Units as text: the same in every process, since threads have their names and not their numbers.
//!
//! Items are joined by dots: the thread, `:` and its alternative if that is not the first, and the mark: nothing for a chosen
//! step, `o` for another alternative, `b` in a block, `h` for its head and `s` for one that settles everything, both with the
//! thread that is put off; `@3` is the same item three times. `0@2.1b.2h0` puts off the third step of thread 0.
//! What is left of the children of a race follows after `?`: the event that is put off, the later step (`~` and its thread, if
//! it was not executed), whether the target contains that; and after each `;` the events of a past, and after `-` those that it
//! may be enlarged by.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use selvedge_core::{Effect, Position, Status, Step, System, ThreadKey, thread_named};

use super::pasts::{Question, Rest};
use super::unit::{Item, Mark, Reasons, Unit};
use super::{Ran, Search};
use crate::trace::races::NOT_REPRODUCIBLE;

/// A unit that means the same in every process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Text {
    items: Vec<Portable>,
    rest: Option<PortableRest>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Portable {
    thread: ThreadKey,
    choice: u32,
    mark: PortableMark,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum PortableMark {
    Free,
    Other,
    Block,
    Head(ThreadKey, Reasons),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct PortableRest {
    e: usize,
    later: PortableLater,
    contains: bool,
    todo: Vec<(Vec<usize>, Vec<usize>)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum PortableLater {
    Executed(usize),
    Pending(ThreadKey),
}

impl<S: System> Search<'_, S> {
    /// Returns a unit of this search as one that others understand.
    pub(super) fn portable(&self, unit: &Unit) -> Text {
        let name = |thread| self.run.system.thread_key(thread);
        let item = |item: &Item| Portable {
            thread: name(item.step.thread),
            choice: item.step.choice,
            mark: match item.mark {
                Mark::Free => PortableMark::Free,
                Mark::Other => PortableMark::Other,
                Mark::Block => PortableMark::Block,
                Mark::Head(thread, reasons) => PortableMark::Head(name(thread), reasons),
            },
        };
        let rest = unit.rest.as_deref().map(|rest| PortableRest {
            e: rest.question.e.index(),
            later: match rest.question.later.executed {
                true => PortableLater::Executed(rest.question.later.at.index()),
                false => PortableLater::Pending(name(rest.question.later.thread)),
            },
            contains: rest.question.contains,
            todo: rest.todo().map(|(past, more)| (numbers(past), numbers(more))).collect(),
        });
        Text { items: unit.items.iter().map(item).collect(), rest }
    }

    /// Returns a unit as one of this search, which has not run anything yet.
    ///
    /// # Errors
    /// If the program does not have these steps.
    pub(super) fn local(&mut self, text: &Text) -> Result<Unit, String> {
        let mut items = Vec::with_capacity(text.items.len());
        let mut effect = Effect::default();
        let system = &mut self.run.system;
        for item in &text.items {
            let named = |system: &S, key| thread_named(system, key).ok_or(NOT_REPRODUCIBLE);
            let thread = named(system, &item.thread)?;
            let step = Step { thread, choice: item.choice };
            if system.status(thread) != Status::Enabled || step.choice >= system.choices(thread) {
                return Err(NOT_REPRODUCIBLE.to_owned());
            }
            let mark = match &item.mark {
                PortableMark::Free => Mark::Free,
                PortableMark::Other => Mark::Other,
                PortableMark::Block => Mark::Block,
                PortableMark::Head(key, reasons) => Mark::Head(named(system, key)?, *reasons),
            };
            items.push(Item { step, mark });
            system.step(step, &mut effect);
        }
        system.restart();
        self.order.update(&self.run.system);
        let mut unit = Unit::new(items);
        if let Some(rest) = &text.rest {
            unit.rest = Some(Box::new(self.local_rest(&unit, rest)?));
        }
        Ok(unit)
    }

    fn local_rest(&mut self, unit: &Unit, rest: &PortableRest) -> Result<Rest, String> {
        if self.replay(&unit.items) != Ran::Ended {
            return Err(NOT_REPRODUCIBLE.to_owned());
        }
        let len = self.run.execution.len();
        let is_known = |numbers: &[usize]| numbers.is_sorted() && numbers.iter().all(|&x| x < len);
        let later = match &rest.later {
            PortableLater::Executed(at) if *at < len => self.executed(Position::new(*at)),
            PortableLater::Pending(key) => {
                let thread = thread_named(&self.run.system, key).ok_or(NOT_REPRODUCIBLE)?;
                let status = self.run.system.status(thread);
                if !matches!(status, Status::Enabled | Status::Blocked) {
                    return Err(NOT_REPRODUCIBLE.to_owned());
                }
                self.pending_at_end(thread)
            }
            PortableLater::Executed(_) => return Err(DAMAGED.to_owned()),
        };
        if rest.e >= len || !rest.todo.iter().all(|(past, more)| is_known(past) && is_known(more)) {
            return Err(DAMAGED.to_owned());
        }
        let question = Question { e: Position::new(rest.e), later, contains: rest.contains };
        let todo = rest.todo.iter().map(|(past, more)| (positions(past), positions(more)));
        // The replay was not a part of the search.
        self.run.report.steps = 0;
        Ok(Rest::with(question, todo.collect()))
    }
}

fn numbers(positions: &[Position]) -> Vec<usize> {
    positions.iter().map(|position| position.index()).collect()
}

fn positions(numbers: &[usize]) -> Vec<Position> {
    numbers.iter().map(|&number| Position::new(number)).collect()
}

impl fmt::Display for Portable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.thread)?;
        if self.choice > 0 {
            write!(f, ":{}", self.choice)?;
        }
        match &self.mark {
            PortableMark::Free => Ok(()),
            PortableMark::Other => f.write_char('o'),
            PortableMark::Block => f.write_char('b'),
            PortableMark::Head(thread, Reasons::Open) => write!(f, "h{thread}"),
            PortableMark::Head(thread, Reasons::Settled) => write!(f, "s{thread}"),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, same) in self.items.chunk_by(|a, b| a == b).enumerate() {
            let dot = if nth > 0 { "." } else { "" };
            write!(f, "{dot}{}", same[0])?;
            if same.len() > 1 {
                write!(f, "@{}", same.len())?;
            }
        }
        let Some(rest) = &self.rest else { return Ok(()) };
        write!(f, "?{},", rest.e)?;
        match &rest.later {
            PortableLater::Executed(at) => write!(f, "{at}")?,
            PortableLater::Pending(thread) => write!(f, "~{thread}")?,
        }
        write!(f, ",{}", u8::from(rest.contains))?;
        for (past, more) in &rest.todo {
            write!(f, ";{}-{}", Joined(past), Joined(more))?;
        }
        Ok(())
    }
}

struct Joined<'a>(&'a [usize]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, number) in self.0.iter().enumerate() {
            let plus = if nth > 0 { "+" } else { "" };
            write!(f, "{plus}{number}")?;
        }
        Ok(())
    }
}

/// What is said about a text that no unit has.
const DAMAGED: &str = "a unit of work is damaged: it is not what was written";
/// More items than any execution has.
const MOST_ITEMS: usize = 100_000_000;

impl FromStr for Portable {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mark_at = text.find(['o', 'b', 'h', 's']).unwrap_or(text.len());
        let (step, mark) = text.split_at(mark_at);
        let (thread, choice) = match step.split_once(':') {
            Some((thread, choice)) => (thread, choice.parse().map_err(drop)?),
            None => (step, 0),
        };
        let put_off = |text: &str| text.parse().map_err(drop);
        let mark = match mark.split_at(mark.len().min(1)) {
            ("", _) => PortableMark::Free,
            ("o", "") => PortableMark::Other,
            ("b", "") => PortableMark::Block,
            ("h", thread) => PortableMark::Head(put_off(thread)?, Reasons::Open),
            ("s", thread) => PortableMark::Head(put_off(thread)?, Reasons::Settled),
            _ => return Err(()),
        };
        Ok(Self { thread: thread.parse().map_err(drop)?, choice, mark })
    }
}

impl FromStr for Text {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text).ok_or_else(|| DAMAGED.to_owned())
    }
}

fn read(text: &str) -> Option<Text> {
    let (steps, rest) = match text.split_once('?') {
        Some((steps, rest)) => (steps, Some(read_rest(rest)?)),
        None => (text, None),
    };
    let mut items: Vec<Portable> = Vec::new();
    for part in steps.split('.').filter(|_| !steps.is_empty()) {
        let (item, times) = match part.split_once('@') {
            Some((item, times)) => (item, times.parse::<usize>().ok()?),
            None => (part, 1),
        };
        let item = item.parse::<Portable>().ok()?;
        if times > MOST_ITEMS - items.len() {
            return None;
        }
        items.extend(std::iter::repeat_n(item, times));
    }
    Some(Text { items, rest })
}

fn read_rest(text: &str) -> Option<PortableRest> {
    let mut parts = text.split(';');
    let mut question = parts.next()?.splitn(3, ',');
    let e = question.next()?.parse().ok()?;
    let later = match question.next()? {
        pending if pending.starts_with('~') => PortableLater::Pending(pending[1..].parse().ok()?),
        executed => PortableLater::Executed(executed.parse().ok()?),
    };
    let contains = match question.next()? {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    let numbers = |text: &str| -> Option<Vec<usize>> {
        let parts = text.split('+').filter(|_| !text.is_empty());
        parts.map(|number| number.parse().ok()).collect()
    };
    let todo = parts.map(|sets| {
        let (past, more) = sets.split_once('-')?;
        Some((numbers(past)?, numbers(more)?))
    });
    Some(PortableRest { e, later, contains, todo: todo.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["", "0", "0@3.1:2b.2/0h0", "0:1o.1s0/3@2", "0.1?0,1,1", "0?0,~1/2,0;1+2-3;-"] {
            let unit: Text = text.parse().unwrap();
            assert_eq!(unit.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_unit_is_refused() {
        for text in
            ["x", "0..1", "0h", "0o1", "0@", "0@9999999999", "0?", "0?1,2", "0?1,2,3", "0?0,1,1;1"]
        {
            assert_eq!(text.parse::<Text>(), Err(DAMAGED.to_owned()), "{text}");
        }
    }
}
