//! Where memory was allocated, freed and written to: one more run of the execution that a report shows.

use std::backtrace::Backtrace;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use selvedge_core::{Replay, Schedule, ThreadId, Violation};

use crate::backtrace;
use crate::rt::story::{AboutBlock, Event, Happened, Watched};
use crate::rt::{Program, Shared};
use crate::turns;

/// Adds to a violation that is about a block of memory, and to the steps that show it, where all that
/// happened. What the debug information does not tell is left as it is: the last operation before.
pub(super) fn find(shared: &Rc<Shared>, replay: &mut Replay, violation: &mut Violation) {
    let is_it = |about: &mut AboutBlock| about.message == violation.message;
    let Some(mut about) = shared.about_block.borrow_mut().take_if(is_it) else { return };
    shared.watched.replace(Some(Watched::new(about.block)));
    let again = selvedge_core::replay(&mut Program::new(Rc::clone(shared), true), &replay.schedule);
    let seen = shared.watched.take().filter(|_| again.is_ok()).unwrap_or_default();
    shared.about_block.take();
    let root = root(Path::new(shared.checked_at.file()));
    let place_of = |calls: &Option<Backtrace>| backtrace::place(calls.as_ref()?, root.as_deref());
    let places = [
        (Event::Accessed, place_of(&seen.accessed)),
        (Event::WrongFree, place_of(&seen.wrong_free)),
        (Event::Freed, place_of(&seen.freed)),
        (Event::Allocated, place_of(&seen.allocated)),
    ];
    // An operation on an object in the block may be what first gives the object its name, which is written into it.
    let is_used = about.happened.iter().any(|happened| happened.event == Event::Used);
    if let Some(written) = seen.written.as_ref().filter(|_| !is_used) {
        let text = format!("{} writes to it in the code after this operation", written.thread);
        about.happened.insert(0, Happened { event: Event::Used, text, spot: Some(written.spot) });
        add_to(replay, written.position, "; then writes to freed memory");
    }
    about.tell(violation, &|event| {
        places.iter().find(|(known, _)| *known == event).and_then(|(_, place)| place.clone())
    });
    if let Some(position) = about.freed_by {
        add_to(replay, position, "; then frees the memory");
        let user = violation.thread;
        if let Some(schedule) = user.and_then(|user| use_first(shared, replay, position, user)) {
            violation.notes.push(format!("in this schedule the use comes first: {schedule}"));
        }
    }
}

fn add_to(replay: &mut Replay, position: usize, text: &str) {
    // With `Reuse::Choice` the free is a step of its own.
    if let Some(step) = replay.steps.get_mut(position)
        && !step.description.text.starts_with("free ")
    {
        step.description.text.push_str(text);
    }
}

/// The same steps in the order in which the thread that uses the memory does so before it is freed, if
/// there is one.
fn use_first(
    shared: &Rc<Shared>,
    replay: &Replay,
    freed_by: usize,
    user: ThreadId,
) -> Option<Schedule> {
    let steps = &replay.schedule.steps;
    if steps.get(freed_by)?.thread == user {
        return None;
    }
    let (before, after) = steps.split_at(freed_by);
    let its = after.iter().filter(|step| step.thread == user);
    let others = after.iter().filter(|step| step.thread != user);
    let schedule =
        Schedule::from(before.iter().chain(its).chain(others).copied().collect::<Vec<_>>());
    let other = selvedge_core::replay(&mut Program::new(Rc::clone(shared), true), &schedule);
    shared.about_block.take();
    let other = other.ok().filter(|other| other.violations().next().is_none())?;
    Some(turns::without(other).schedule)
}

/// The folder that the compiler names files from: here, or further up.
fn root(file: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join(file).is_file()).map(Path::to_path_buf)
}
