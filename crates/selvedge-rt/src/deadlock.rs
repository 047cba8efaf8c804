//! Threads that never continue: who waits for what, and who holds it.

use selvedge_core::{Description, Violation, ViolationKind};

use crate::runtime::{Runtime, State};
use crate::world::World;

impl<W: World> Runtime<W> {
    /// Returns whether a thread waits for something that time alone would end: then the execution in which
    /// its time is up covers this one. Or it is only taken to wait: then the verdict says so, or another
    /// execution covers this one.
    pub(crate) fn someone_may_go_on(&self) -> bool {
        self.waiting().any(|number| {
            let thread = &self.threads[number];
            // SAFETY: a thread that waits stands at its operation, which is on its stack.
            let operation = unsafe { &*thread.pending };
            self.now.spins.is_assumed(number)
                || operation.is_timed()
                || operation.is_without_reason(self)
        })
    }

    fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        let waits =
            |number: &usize| matches!(self.threads[*number].state, State::Ready | State::Parked);
        (0..self.threads.len()).filter(waits)
    }

    /// What a thread that did not finish would do, or waits for.
    pub(crate) fn describe_pending(&self, number: usize) -> Description {
        let thread = &self.threads[number];
        let text = match thread.state {
            State::Absent | State::Finished => String::new(),
            State::Failed => "failed".to_owned(),
            State::Ready | State::Parked => {
                // SAFETY: the thread stands at its operation, which is on its stack.
                let operation = unsafe { &*thread.pending };
                let text = operation.text(self, number);
                match operation.waits_for(self, number) {
                    Some((what, _)) if !self.is_enabled(number) => format!("{text}: {what}"),
                    _ => text,
                }
            }
        };
        Description { text, place: Some(W::place(thread.spot)) }
    }

    pub(crate) fn deadlock(&self) -> Violation {
        let waiting: Vec<usize> = self.waiting().collect();
        let main_is_over = self.threads[0].state == State::Finished;
        let names: Vec<String> = waiting.iter().map(|&number| self.thread_name(number)).collect();
        let main = W::MAIN;
        let message = match names.as_slice() {
            [one] if main_is_over => {
                format!("deadlock: {one} outlives {main} and is blocked")
            }
            [one] => format!("deadlock: {one} is blocked"),
            many if main_is_over => {
                format!("deadlock: {} outlive {main} and are blocked", listed(many))
            }
            many => format!("deadlock: {} are blocked", listed(many)),
        };
        let mut notes: Vec<String> = waiting.iter().map(|&it| self.why_it_waits(it)).collect();
        // SAFETY: a thread that waits stands at its operation, which is on its stack.
        let depends = |&number: &usize| unsafe { &*self.threads[number].pending }.depends_on();
        notes.extend(waiting.iter().find_map(depends).map(str::to_owned));
        Violation {
            kind: ViolationKind::Deadlock,
            message,
            places: waiting.iter().map(|&number| W::place(self.threads[number].spot)).collect(),
            notes,
            thread: None,
        }
    }

    fn why_it_waits(&self, number: usize) -> String {
        let thread = &self.threads[number];
        // SAFETY: the thread stands at its operation, which is on its stack.
        let operation = unsafe { &*thread.pending };
        let name = self.thread_name(number);
        let Some((what, holders)) = operation.waits_for(self, number) else {
            return format!("{name} cannot continue with {}", operation.text(self, number));
        };
        let holders: Vec<String> = holders
            .iter()
            .map(|&holder| match holder == number {
                true => "the thread itself".to_owned(),
                false if self.threads[holder].state == State::Finished => {
                    format!(
                        "{}, which has ended and will never release it",
                        self.thread_name(holder)
                    )
                }
                false => self.thread_name(holder),
            })
            .collect();
        match holders.is_empty() {
            true => format!("{name} {what}"),
            false => format!("{name} {what}, held by {}", listed(&holders)),
        }
    }
}

/// As a person would say it: `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
