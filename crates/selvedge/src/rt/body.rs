//! The code of a thread, and how it comes to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use selvedge_rt::Outcome;

use super::panics;
use super::running::running;
use super::state::{Engine, Runtime};

/// The payload that takes a stack down.
pub(crate) struct Abort;

/// A body that runs `code` and tells how it ended; `result` takes what came out.
pub(crate) fn body<'a, T: 'a>(
    code: impl FnOnce() -> T + 'a,
    result: impl FnOnce(std::thread::Result<T>) + 'a,
) -> Box<dyn FnOnce() -> Outcome + 'a> {
    Box::new(move || ends(run(code, result)))
}

fn run<T>(code: impl FnOnce() -> T, result: impl FnOnce(std::thread::Result<T>)) -> Outcome {
    let outcome_of = |ended: &std::thread::Result<T>| match ended {
        Ok(_) => Outcome::Done,
        Err(payload) if payload.is::<Abort>() => Outcome::Aborted,
        Err(_) => Outcome::Failed,
    };
    let ended = catch_unwind(AssertUnwindSafe(code));
    let outcome = outcome_of(&ended);
    match &ended {
        Err(_) if outcome == Outcome::Aborted => return outcome,
        Err(payload) => panics::note_end(&**payload),
        Ok(_) => {}
    }
    // To leave the result may be a step, and to drop it may be more.
    match catch_unwind(AssertUnwindSafe(|| result(ended))) {
        Ok(()) => outcome,
        Err(payload) if payload.is::<Abort>() => Outcome::Aborted,
        Err(_) => Outcome::Failed,
    }
}

/// The running thread drops its thread-local values. If others may go on, its end is a step.
fn ends(mut outcome: Outcome) -> Outcome {
    let rt = running();
    // SAFETY: this is the code of a thread, so that its runtime is alive. No reference is held while code runs.
    let number = unsafe { (*rt).now.current };
    if !drop_locals(rt, number) && outcome == Outcome::Done {
        outcome = Outcome::Failed;
    }
    // SAFETY: as above.
    let allowed = unsafe { &*rt }.shared.panics_are_results;
    let goes_on = outcome == Outcome::Done || (outcome == Outcome::Failed && allowed);
    // Under a memory model it matters to others what it freed since its last operation.
    let told = catch_unwind(AssertUnwindSafe(|| {
        let engine = Engine::enter();
        let spot = engine.rt().threads[number].spot;
        engine.end_answered(spot);
    }));
    if told.is_err() {
        return Outcome::Aborted;
    }
    if number != 0 && goes_on {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let engine = Engine::enter();
            engine.end();
            engine.rt().threads[number].own.is_done = true;
            engine.ended();
        }));
        if ended.is_err() {
            return Outcome::Aborted;
        }
    }
    outcome
}

/// Drops all thread-local values of a thread that ends, the last made first; false if one panicked.
fn drop_locals(rt: *mut Runtime, number: usize) -> bool {
    let mut fine = true;
    loop {
        // SAFETY: the runtime is alive, and no reference into it is held while a value is dropped.
        let locals = unsafe { &mut (&mut (*rt).threads)[number].own.locals };
        let Some(value) = locals.take_last() else { return fine };
        fine &= catch_unwind(AssertUnwindSafe(|| drop(value))).is_ok();
    }
}
