//! Panics of checked code are results, not output.

use std::panic::PanicHookInfo;
use std::sync::Once;

use selvedge_core::{Place, Schedule, Step, ThreadId};

use super::arena;
use super::runtime::{Panicked, Runtime, Way, running};

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
    let me = rt.current;
    let is_second = std::thread::panicking() && rt.threads[me].panic.is_some();
    if is_second && !info.can_unwind_here() {
        return second_panic(rt, &message, place.as_ref());
    }
    rt.threads[me].panic = Some(Panicked { message, place });
}

trait CanUnwind {
    /// Whether the panic can unwind: not if it is the second at once.
    fn can_unwind_here(&self) -> bool;
}

impl CanUnwind for PanicHookInfo<'_> {
    fn can_unwind_here(&self) -> bool {
        // The panic that says "in a destructor during cleanup" has a fixed text.
        let text = self.payload().downcast_ref::<&str>();
        !text.is_some_and(|text| text.contains("destructor during cleanup"))
    }
}

/// The process is about to be aborted: says why, and how to see it again.
#[allow(clippy::print_stderr, reason = "nobody is left to return a report to")]
fn second_panic(rt: &Runtime, message: &str, place: Option<&Place>) {
    if rt.way != Way::Announce {
        return;
    }
    let name = rt.thread_name(rt.current);
    let first = rt.threads[rt.current].panic.as_ref();
    let steps = rt
        .log
        .iter()
        .map(|logged| Step::of(ThreadId::new(logged.thread as usize)))
        .collect::<Vec<_>>();
    let schedule = Schedule { steps };
    let at = |place: Option<&Place>| place.map_or(String::new(), |place| format!(" at {place}"));
    eprintln!(
        "selvedge: double panic: {name} panicked while it was unwinding; Rust ends the process"
    );
    if let Some(first) = first {
        eprintln!("  last panic: {}{}", first.message, at(first.place.as_ref()));
    }
    eprintln!("  then: {message}{}", at(place));
    eprintln!("  to see it again: SELVEDGE_REPLAY={schedule} and the same test");
}
