//! Schedules: executions as text.

use std::fmt;
use std::str::FromStr;

use crate::ids::ThreadId;
use crate::system::{Effect, Status, Step, System};

/// The steps that reproduce an execution.
///
/// Its text form needs no quoting in a shell: steps are joined by dots, `1:2` is thread 1 with
/// alternative 2, and `0@3` is thread 0 three times. `0.1@2.0:1` has four steps. In `0.1/2.1` the last two steps repeat
/// forever: an infinite execution, as a prefix and a cycle.
///
/// Thread ids depend on what a [`System`] has run before. A schedule that leaves an exploration is
/// numbered as a fresh system numbers its threads; see [`Schedule::fresh`].
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Schedule {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// How many steps come before those that repeat forever, if some do.
    pub cycle: Option<usize>,
}

impl From<Vec<Step>> for Schedule {
    /// Returns the schedule of an execution that ends with these steps.
    fn from(steps: Vec<Step>) -> Self {
        Self { steps, cycle: None }
    }
}

impl Schedule {
    /// Returns the same steps, with threads numbered in the order in which they are created, which is how a
    /// fresh system numbers them. Runs the steps again; afterwards `system` is where they lead. If it is
    /// nondeterministic, the schedule ends where it differs.
    pub fn fresh<S: System>(system: &mut S, steps: &[Step]) -> Self {
        system.restart();
        let mut created: Vec<ThreadId> = Vec::new();
        let mut numbers: Vec<Option<ThreadId>> = Vec::new();
        let mut effect = Effect::default();
        let mut renumbered = Vec::with_capacity(steps.len());
        for index in 0..=steps.len() {
            // One step has one creator, whose children have ascending ids: the order of creation.
            numbers.resize(system.thread_count(), None);
            for thread in (0..numbers.len()).map(ThreadId::new) {
                let number = &mut numbers[thread.index()];
                if number.is_none() && system.status(thread) != Status::Absent {
                    *number = Some(ThreadId::new(created.len()));
                    created.push(thread);
                }
            }
            if let Some(&step) = steps.get(index) {
                let Some(thread) = numbers.get(step.thread.index()).copied().flatten() else {
                    break;
                };
                renumbered.push(Step { thread, choice: step.choice });
                system.step(step, &mut effect);
            }
        }
        renumbered.into()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cycle) = self.cycle else { return write_schedule(self.steps.iter().copied(), f) };
        let (prefix, cycle) = self.steps.split_at(cycle.min(self.steps.len()));
        write_schedule(prefix.iter().copied(), f)?;
        f.write_str("/")?;
        write_schedule(cycle.iter().copied(), f)
    }
}

/// Writes steps as a [`Schedule`] does. Allocates nothing, so that a signal handler may call it.
///
/// # Errors
/// If `f` has one.
pub fn write_schedule(steps: impl Iterator<Item = Step>, f: &mut dyn fmt::Write) -> fmt::Result {
    let mut steps = steps.peekable();
    let mut is_first = true;
    while let Some(step) = steps.next() {
        let mut times = 1_usize;
        while steps.next_if_eq(&step).is_some() {
            times += 1;
        }
        if !std::mem::replace(&mut is_first, false) {
            f.write_str(".")?;
        }
        write!(f, "{}", step.thread.number())?;
        if step.choice > 0 {
            write!(f, ":{}", step.choice)?;
        }
        if times > 1 {
            write!(f, "@{times}")?;
        }
    }
    Ok(())
}

/// Why a text is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseScheduleError {
    part: String,
}

impl fmt::Display for ParseScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.part.as_str() {
            "" => "there is nothing between two dots".to_owned(),
            part => format!("`{part}` is not a step"),
        };
        write!(
            f,
            "{what}; a schedule is thread numbers joined by dots, such as 0.1@2.0:1 \
             (thread 0; thread 1 twice; thread 0 with its alternative 1)"
        )
    }
}

impl std::error::Error for ParseScheduleError {}

/// A schedule longer than this is a typing error, and would fill the memory. Beyond: an error.
const MOST_STEPS: usize = 100_000_000;

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((prefix, cycle)) = text.split_once('/') else { return Ok(parse(text)?.into()) };
        let mut steps = parse(prefix)?;
        let before = steps.len();
        steps.extend(parse(cycle)?);
        match steps.len() > before {
            true => Ok(Self { steps, cycle: Some(before) }),
            false => Err(ParseScheduleError { part: "/".to_owned() }),
        }
    }
}

/// Returns the steps of a text without `/`.
fn parse(text: &str) -> Result<Vec<Step>, ParseScheduleError> {
    let mut steps = Vec::new();
    if text.trim().is_empty() {
        return Ok(steps);
    }
    for part in text.trim().split('.') {
        let error = || ParseScheduleError { part: part.to_owned() };
        let (step, times) = match part.split_once('@') {
            Some((step, times)) => (step, times.parse::<usize>().map_err(|_| error())?),
            None => (part, 1),
        };
        let (thread, choice) = match step.split_once(':') {
            Some((thread, choice)) => (thread, choice.parse().map_err(|_| error())?),
            None => (step, 0),
        };
        let thread = thread.parse::<u32>().map_err(|_| error())?;
        if times > MOST_STEPS - steps.len() {
            return Err(error());
        }
        let step = Step { thread: ThreadId::new(thread as usize), choice };
        steps.extend(std::iter::repeat_n(step, times));
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["", "0", "0.1", "0@3.1:2@9.12", "7:1", "/0", "0@2.1/1:3@2.0"] {
            let schedule: Schedule = text.parse().unwrap();
            assert_eq!(schedule.to_string(), text);
        }
        assert_eq!("0.0.1".parse::<Schedule>().unwrap().to_string(), "0@2.1");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in
            ["x", "0..1", "0.", "0@", "-1", "0:1:2", "0@99999999999", "4294967296", "0/", "0/1/2"]
        {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
