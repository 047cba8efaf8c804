//! Panics of checked code are results, not output.

use std::panic::PanicHookInfo;
use std::sync::Once;

use selvedge_core::{Place, Schedule, Step, ThreadId};

use super::arena;
use super::runtime::{Panicked, Runtime, Way, running};
use crate::failure::replay_variable;

/// Keeps the message of a panic in checked code; all others go to the hook that was there.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let rt = running();
            if rt.is_null() {
                return before(info);
            }
            let me = arena::switch(std::ptr::null_mut());
            // SAFETY: the runtime is alive while its code runs, and the engine does not panic while
            // it holds a reference into it.
            note(unsafe { &mut *rt }, info);
            arena::switch(me);
        }));
    });
}

fn note(rt: &mut Runtime, info: &PanicHookInfo<'_>) {
    let message = match (info.payload().downcast_ref::<&str>(), info.payload().downcast_ref()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => String::clone(text),
        _ => "(a payload that is no text)".to_owned(),
    };
    let place = info.location().map(|location| Place {
        file: location.file().to_owned(),
        line: location.line(),
        column: location.column(),
        length: 1,
    });
    if is_last_word(&message) {
        return double_panic(rt);
    }
    let thread = &mut rt.threads[rt.current];
    thread.unwinding = true;
    thread.panic_before = thread.panic.replace(Panicked { message, place });
}

/// Whether this is the panic with which Rust ends the process, because a destructor panicked while
/// its thread was unwinding. Its text is fixed.
fn is_last_word(message: &str) -> bool {
    message.contains("destructor during cleanup")
}

/// The process is about to be aborted: says why, and how to see it again.
#[allow(clippy::print_stderr, reason = "nobody is left to return a report to")]
fn double_panic(rt: &Runtime) {
    let name = rt.thread_name(rt.current);
    let thread = &rt.threads[rt.current];
    eprintln!(
        "selvedge: double panic: {name} panicked while it was unwinding; Rust ends the process"
    );
    let panics = [("first", &thread.panic_before), ("then", &thread.panic)];
    for (when, panic) in panics {
        if let Some(Panicked { message, place }) = panic {
            let at = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
            eprintln!("  {when}: {message}{at}");
        }
    }
    if rt.way == Way::Announce {
        let taken = if rt.scripted < rt.script.len() { rt.scripted } else { rt.log.len() };
        let steps = rt.log[..taken].iter().map(|logged| Step {
            thread: ThreadId::new(logged.thread as usize),
            choice: logged.choice,
        });
        let schedule = Schedule { steps: steps.collect() };
        let variable = replay_variable(rt.shared.checked_at, &schedule);
        eprintln!("  to see it again: SELVEDGE_REPLAY={variable} and the same test");
    }
}
