//! The one input of everything that shows an execution: plain data, ready to be laid out.

use std::borrow::Cow;

use selvedge_core::{
    Ending, Fault, Place, Replay, Schedule, Status, ThreadId, Violation, ViolationKind,
};
use serde::Serialize;

use crate::accesses::Accesses;
use crate::json;
use crate::width::{visible, visible_lines};

/// Where executions come from: what only a front end knows about them.
pub trait Origin {
    /// Returns the text of a file that places name.
    fn text(&self, file: &str) -> Option<Cow<'_, str>>;

    /// Returns the command that replays `schedule` and shows a violation of this kind.
    fn replay_command(&self, schedule: &Schedule, kind: ViolationKind) -> String;
}

/// An execution and what is wrong in it. All texts are free of control characters.
#[derive(Clone, Debug)]
pub struct TraceView {
    /// The names of the threads, by their numbers.
    pub threads: Vec<String>,
    /// What happened, in order.
    pub steps: Vec<StepView>,
    /// The values that shared objects had at the beginning.
    pub initial: Vec<ValueView>,
    /// The threads that did not finish.
    pub waiting: Vec<WaitingView>,
    /// How it ended, if it is maximal.
    pub ending: Option<Ending>,
    /// What is wrong.
    pub violations: Vec<ViolationView>,
    /// The schedule that reproduces it.
    pub schedule: Schedule,
    /// The calls that led to a panic, if they are known.
    pub calls: Option<String>,
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct StepView {
    /// Whose.
    #[serde(serialize_with = "json::number")]
    pub thread: ThreadId,
    /// The thread's name.
    pub name: String,
    /// Which of its alternatives.
    pub choice: u32,
    /// What it did, with values.
    pub text: String,
    /// Where in the source it stands.
    #[serde(serialize_with = "json::place")]
    pub place: Option<Place>,
    /// Whether another thread ran before it.
    #[serde(skip)]
    pub switch: bool,
    /// Why its thread stopped, if it did.
    pub stopped: Option<String>,
    /// How many alternatives it had.
    pub choices: u32,
    /// What it accessed.
    pub accesses: Vec<AccessView>,
    /// The steps of other threads that it comes immediately after in happens-before.
    pub after: Vec<EdgeView>,
    /// The other threads that could have run instead.
    pub others: Vec<OtherView>,
    /// Under a memory model: the numbers of earlier steps, from 1, whose writes are newer than what it read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<usize>,
}

/// An access to a shared object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AccessView {
    /// Its name.
    pub object: String,
    /// The name of the [mode](selvedge_core::Mode).
    pub mode: &'static str,
    /// The value that was read, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// The value that was written, if it is known; of a lock: its new state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrote: Option<String>,
}

/// An edge of happens-before, from an earlier step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EdgeView {
    /// The number of that step, from 1.
    pub step: usize,
    /// The object that both access; the thread, if its start, its end or its wake-up is the reason.
    pub object: String,
    /// Why the order matters, seen from the later step.
    pub why: &'static str,
}

/// A thread that could have run instead.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OtherView {
    /// Which.
    #[serde(serialize_with = "json::number")]
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// What it would have done.
    pub text: String,
}

/// A shared object and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ValueView {
    /// Its name.
    pub object: String,
    /// Its value.
    pub value: String,
}

/// A thread that did not finish.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingView {
    /// Which.
    #[serde(serialize_with = "json::number")]
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// What it can do at the end of the execution.
    #[serde(serialize_with = "json::status")]
    pub status: Status,
    /// What it would do next, or what it waits for.
    pub text: String,
    /// Where in the source it stands.
    #[serde(serialize_with = "json::place")]
    pub place: Option<Place>,
    /// What it waits for, if it is blocked by an object.
    pub object: Option<String>,
    /// The number of the step that took what it waits for, from 1, if there is one.
    pub holder: Option<usize>,
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub struct ViolationView {
    /// What kind.
    pub kind: ViolationKind,
    /// One sentence. That of a panic in checked code may have several lines.
    pub message: String,
    /// Where, each place once.
    pub places: Vec<PlaceView>,
    /// More lines that help to understand it.
    pub notes: Vec<String>,
    /// Whose step showed it.
    pub thread: Option<ThreadId>,
    /// The command that replays it.
    pub replay: String,
    /// The numbers of the two steps of a data race, from 1.
    pub race: Option<[usize; 2]>,
}

/// A place, with its source line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceView {
    /// Where.
    pub place: Place,
    /// The text of that line, if it is known.
    pub line: Option<String>,
    /// A few words to stand under the place; may be empty.
    pub label: String,
}

impl TraceView {
    /// Lays out `replay` in which `violations` were found.
    pub fn new(replay: &Replay, violations: &[&Violation], origin: &dyn Origin) -> Self {
        let threads: Vec<String> = replay.thread_names.iter().map(|name| visible(name)).collect();
        let accesses = Accesses::new(replay);
        let mut before = None;
        let mut steps = Vec::with_capacity(replay.steps.len());
        for (at, step) in replay.steps.iter().enumerate() {
            let thread = step.step.thread;
            let last = before.replace(thread);
            let others = step.others.iter().map(|(other, description)| OtherView {
                thread: *other,
                name: name(&threads, *other),
                text: visible(&description.text),
            });
            steps.push(StepView {
                thread,
                name: name(&threads, thread),
                choice: step.step.choice,
                text: visible(&step.description.text),
                place: step.description.place.clone(),
                switch: last.is_some_and(|last| last != thread),
                stopped: step.effect.fault.as_ref().map(why_stopped),
                choices: step.effect.choices,
                accesses: accesses.of(step),
                after: accesses.edges(at),
                // What has no text is no operation of the program: the end of a turn of a spin loop.
                others: others.filter(|other| !other.text.is_empty()).collect(),
                missed: step.missed.iter().map(|index| index + 1).collect(),
            });
        }
        let waiting = replay.unfinished.iter().map(|waiting| WaitingView {
            thread: waiting.thread,
            name: name(&threads, waiting.thread),
            status: waiting.status,
            text: visible(&waiting.description.text),
            place: waiting.description.place.clone(),
            object: waiting.obstacles.first().map(|object| accesses.name(*object)),
            holder: waiting.obstacles.first().and_then(|object| accesses.holder(*object)),
        });
        let mut view = Self {
            waiting: waiting.collect(),
            initial: accesses.initial(),
            threads,
            steps,
            ending: replay.ending,
            violations: Vec::new(),
            schedule: replay.schedule.clone(),
            calls: None,
        };
        view.violations = violations
            .iter()
            .map(|found| ViolationView {
                race: accesses.race(found),
                ..view.violation(found, origin)
            })
            .collect();
        view
    }

    /// Returns all places that it names.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        let steps = self.steps.iter().filter_map(|step| step.place.as_ref());
        let waiting = self.waiting.iter().filter_map(|waiting| waiting.place.as_ref());
        let wrong = self.violations.iter().flat_map(|found| &found.places);
        steps.chain(waiting).chain(wrong.map(|view| &view.place))
    }

    /// Returns how often control passes from one thread to another.
    pub fn context_switches(&self) -> usize {
        self.steps.iter().filter(|step| step.switch).count()
    }

    /// Returns what a step did, and what it did not see although it was written before:
    /// `load(x, relaxed) → 0 (does not see x = 1 of step 2)`.
    pub fn told(&self, step: &StepView) -> String {
        if step.missed.is_empty() {
            return step.text.clone();
        }
        let newer: Vec<String> =
            step.missed.iter().map(|&number| self.unseen(step, number)).collect();
        format!("{} (does not see {})", step.text, newer.join(", "))
    }

    /// Returns what the step with this number wrote to what `reader` read.
    fn unseen(&self, reader: &StepView, number: usize) -> String {
        let is_read = |object: &String| reader.accesses.iter().any(|read| read.object == *object);
        let written = self.steps[number - 1].accesses.iter().find(|it| is_read(&it.object));
        match written {
            Some(AccessView { object, wrote: Some(value), mode: "write" | "update", .. }) => {
                format!("{object} = {value} of step {number}")
            }
            _ => format!("step {number}"),
        }
    }

    /// Returns the name of a thread.
    pub fn name(&self, thread: ThreadId) -> String {
        name(&self.threads, thread)
    }

    fn violation(&self, violation: &Violation, origin: &dyn Origin) -> ViolationView {
        let mut places: Vec<PlaceView> = Vec::new();
        for (side, place) in violation.places.iter().enumerate() {
            let label = match violation.kind {
                // All sides are shown, also if one line races with itself: the notes count them.
                ViolationKind::DataRace
                | ViolationKind::UseAfterFree
                | ViolationKind::DoubleFree
                | ViolationKind::InvalidFree
                    if violation.places.len() > 1 =>
                {
                    format!("({})", side + 1)
                }
                _ if places.iter().any(|known| known.place == *place) => continue,
                ViolationKind::Deadlock => self.who_waits_at(place),
                _ => String::new(),
            };
            let line = origin.text(&place.file).and_then(|text| line_of(&text, place));
            places.push(PlaceView { place: place.clone(), line, label });
        }
        ViolationView {
            kind: violation.kind,
            message: visible_lines(&violation.message),
            places,
            notes: violation.notes.iter().map(|note| visible(note)).collect(),
            thread: violation.thread,
            replay: origin.replay_command(&self.schedule, violation.kind),
            race: None,
        }
    }

    fn who_waits_at(&self, place: &Place) -> String {
        const NAMED: usize = 3;
        let here = |waiting: &&WaitingView| {
            waiting.place.as_ref() == Some(place)
                && matches!(waiting.status, Status::Blocked | Status::Parked)
        };
        let names: Vec<String> =
            self.waiting.iter().filter(here).map(|waiting| waiting.name.clone()).collect();
        match names.as_slice() {
            [] => String::new(),
            [one] => format!("{one} waits here"),
            [first @ .., last] if names.len() <= NAMED => {
                format!("{} and {last} wait here", first.join(", "))
            }
            _ => {
                let more = names.len() - NAMED;
                format!("{} and {more} more wait here", names[..NAMED].join(", "))
            }
        }
    }
}

fn name(threads: &[String], thread: ThreadId) -> String {
    match threads.get(thread.index()) {
        Some(name) => name.clone(),
        None => format!("thread {}", thread.number()),
    }
}

/// Returns what a thread with this status does, would do (`text`) or waits for, in a few words.
pub fn status_text(status: Status, text: &str) -> String {
    match status {
        Status::Enabled => format!("next: {text}"),
        // Front ends may say so themselves: "lock m: waits for m, held by writer".
        Status::Blocked | Status::Parked if text.contains("waits") => text.to_owned(),
        Status::Blocked | Status::Parked => format!("waits: {text}"),
        Status::Assumed => "is blocked by an `assume` that is false".to_owned(),
        Status::Finished => "finished".to_owned(),
        Status::Failed => "failed".to_owned(),
        Status::Absent => "does not exist".to_owned(),
    }
}

fn why_stopped(fault: &Fault) -> String {
    match fault {
        Fault::Violation(violation) => visible(&violation.message),
        Fault::GaveUp(reason) => visible(reason),
    }
}

/// Returns the source line of `place`, if `text` is the file it lies in.
fn line_of(text: &str, place: &Place) -> Option<String> {
    let index = (place.line as usize).checked_sub(1)?;
    text.lines().nth(index).map(str::to_owned)
}
