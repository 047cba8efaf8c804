//! Runs a program at random, forwards and backwards, and checks what it says about itself.

use std::sync::Arc;

use selvedge_core::{Describe, Effect, Status, Step, System, ThreadId};
use selvedge_lang::{Interpreter, ir};

/// Instructions in one step: few, since a mutant may loop without end.
const BUDGET: u64 = 2_000;
const STEPS: usize = 200;
/// A program with more threads is looked at in part: every look asks all of them.
const MOST_THREADS: usize = 40;
/// Alternatives of one step that are looked at.
const MOST_CHOICES: u32 = 4;

/// Takes random steps of `program`, and rewinds now and then. `below` gives random numbers.
///
/// # Panics
/// If the interpreter contradicts itself.
pub(crate) fn run(program: &Arc<ir::Program>, text: &str, below: &mut dyn FnMut(usize) -> usize) {
    let mut walk = Walk {
        system: Interpreter::new(Arc::clone(program)).with_instruction_budget(BUDGET),
        text,
        steps: Vec::new(),
        seen: Vec::new(),
    };
    for _ in 0..STEPS {
        let enabled = walk.enabled();
        if enabled.is_empty() {
            walk.judge();
        }
        if enabled.is_empty() || below(8) == 0 {
            if walk.steps.is_empty() {
                break;
            }
            let kept = below(walk.steps.len() + 1);
            walk.rewind(kept);
            continue;
        }
        let thread = enabled[below(enabled.len())];
        let choice = below(walk.system.choices(thread) as usize) as u32;
        walk.take(Step { thread, choice });
    }
}

struct Walk<'a> {
    system: Interpreter,
    /// For messages.
    text: &'a str,
    steps: Vec<Step>,
    /// What was seen before each step.
    seen: Vec<Vec<String>>,
}

impl Walk<'_> {
    fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.system.thread_count().min(MOST_THREADS)).map(ThreadId::new)
    }

    fn enabled(&self) -> Vec<ThreadId> {
        self.threads().filter(|&thread| self.system.status(thread) == Status::Enabled).collect()
    }

    fn take(&mut self, step: Step) {
        let before = self.observe();
        let (mut promised, mut effect) = (Effect::default(), Effect::default());
        self.system.pending(step, &mut promised);
        self.system.step(step, &mut effect);
        self.system.describe_last();
        assert_eq!(show(&promised), show(&effect), "{step:?} does something else:\n{}", self.text);
        let failed = self.system.status(step.thread) == Status::Failed;
        assert_eq!(effect.fault.is_some(), failed, "a fault stops its thread:\n{}", self.text);
        self.steps.push(step);
        self.seen.push(before);
    }

    fn rewind(&mut self, kept: usize) {
        self.steps.truncate(kept);
        self.system.rewind(&self.steps);
        let before = self.seen.get(kept).cloned();
        self.seen.truncate(kept);
        if let Some(before) = before {
            assert_eq!(self.observe(), before, "rewound to another state:\n{}", self.text);
        }
    }

    /// The end can be judged more than once and changes nothing.
    fn judge(&mut self) {
        let before = self.observe();
        let first = format!("{:?}", self.system.end());
        assert_eq!(first, format!("{:?}", self.system.end()), "{}", self.text);
        assert_eq!(self.observe(), before, "judging changed the state:\n{}", self.text);
    }

    /// All that can be seen of the threads that exist.
    fn observe(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut effect = Effect::default();
        for thread in self.threads() {
            let status = self.system.status(thread);
            let choices = match status {
                Status::Absent => continue,
                Status::Enabled => self.system.choices(thread).min(MOST_CHOICES),
                Status::Blocked => 1,
                _ => 0,
            };
            let name = self.system.thread_name(thread);
            let place = match status {
                Status::Enabled | Status::Blocked | Status::Parked => {
                    self.system.describe_pending(thread).text
                }
                _ => String::new(),
            };
            lines.push(format!("{name} is {status:?} at {place}"));
            for choice in 0..choices {
                self.system.pending(Step { thread, choice }, &mut effect);
                for access in effect.footprint.accesses() {
                    assert!(!self.system.object_name(access.object).is_empty(), "{}", self.text);
                }
                lines.push(format!("{name}:{choice} {}", show(&effect)));
            }
            assert_eq!(self.system.status(thread), status, "asking changed it:\n{}", self.text);
        }
        lines
    }
}

/// All but the fault, which is not told of a pending step.
fn show(effect: &Effect) -> String {
    let Effect { footprint, flexibility, choices, order, .. } = effect;
    format!("{flexibility:?} {choices} {order:?} {footprint:?}")
}
