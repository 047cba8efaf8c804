//! Panics of checked code are results, not output.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;

use corosensei::Coroutine;
use corosensei::stack::DefaultStack;

use selvedge_core::{Fault, Violation, ViolationKind};
use selvedge_rt::{Crash, Way, Yielder, keep_room};

use super::address::with_places;
use super::arena;
use super::running::running;
use super::state::{Engine, Panicked, Runtime};
use crate::spot;

/// A panic in a destructor while its thread was unwinding.
const DOUBLE_PANIC: Crash =
    Crash::Known("panicked while it was unwinding, which aborts the process");

/// Returns whether the running thread unwinds. Others may have been stopped while they did, and the system counts
/// all of them as one thread.
#[inline]
pub(crate) fn is_unwinding() -> bool {
    std::thread::panicking() && unwinds_itself()
}

#[cold]
fn unwinds_itself() -> bool {
    let rt = running();
    if rt.is_null() {
        return true;
    }
    // SAFETY: the runtime is alive while its code runs.
    let rt = unsafe { &*rt };
    rt.now.own.unwinding == 0 || rt.threads[rt.now.current].own.unwinding
}

/// Returns whether showing a value may take a step. Not when the check is over, and not when a panic is about to
/// be reported: a thread that is stopped there holds up the panics of all others.
pub(crate) fn may_step_to_show() -> bool {
    Engine::try_enter().is_some() && !std::thread::panicking()
}

/// What is wrong if a thread panicked.
pub(super) fn panicked(rt: &Runtime, number: usize) -> Fault {
    let name = rt.thread_name(number);
    let mut violation = rt.violation(number, ViolationKind::Panic, String::new(), &[]);
    match &rt.threads[number].own.panic {
        Some(panic) => {
            violation.message = format!("{name} panicked: {}", panic.message);
            match &panic.place {
                Some(place) => violation.places.push(place.clone()),
                None => violation
                    .notes
                    .push("its place is unknown: `resume_unwind` does not pass it on".to_owned()),
            }
        }
        None => violation.message = format!("{name} panicked"),
    }
    if number != 0 {
        let hint =
            "if it is meant to, and `join` returns the panic: Builder::panics_are_results(true)";
        violation.notes.push(hint.to_owned());
    }
    Fault::Violation(violation)
}

/// Adds the panics of a thread that crashed.
pub(super) fn about_crash(rt: &Runtime, number: usize, violation: &mut Violation) {
    let thread = &rt.threads[number];
    let panics = match thread.crash {
        Some(DOUBLE_PANIC) => {
            [("first it panicked", &thread.own.panic_before), ("then", &thread.own.panic)]
        }
        // It may be one that does not unwind.
        _ => [("it panicked before", &thread.own.panic), ("", &None)],
    };
    for (when, panic) in panics.into_iter().filter(|_| thread.own.unwinding) {
        if let Some(panic) = panic {
            let at = panic.place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
            violation.notes.push(format!("{when}: {}{at}", panic.message));
        }
    }
}

/// Keeps the message of a panic in checked code; all others go to the hook that was there.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    if std::thread::panicking() {
        // Then the system does not allow it.
        return;
    }
    INSTALL.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let rt = running();
            if rt.is_null() {
                return before(info);
            }
            // SAFETY: the runtime is alive while its code runs.
            keep_room(unsafe { &*rt });
            let me = arena::switch(std::ptr::null_mut());
            // SAFETY: the runtime is alive while its code runs, and the engine does not panic while
            // it holds a reference into it.
            note(unsafe { &mut *rt }, info);
            arena::switch(me);
        }));
    });
}

/// Makes up for panics of threads that were left alone while they were unwinding, or overflowed their
/// stacks then: the system would take the running thread of its own to be panicking forever.
///
/// It counts panics that begin on a thread of the system, and takes off those that are caught on it. So one
/// that begins on another thread, and is caught on this one, makes up for one that is never caught.
pub(crate) fn forget_uncaught() {
    const MOST: u32 = 64;
    for _ in 0..MOST {
        if !std::thread::panicking() {
            return;
        }
        if let Ok(Some(mut begun)) = std::thread::spawn(Begun::new).join() {
            begun.0.resume(());
        }
    }
}

/// A panic that is caught when it is resumed.
struct Begun(Coroutine<(), (), (), DefaultStack>);

// SAFETY: there is nothing on its stack but a panic, whose payload can be sent.
unsafe impl Send for Begun {}

impl Begun {
    fn new() -> Option<Self> {
        const STACK: usize = 64 << 10;
        struct Stop<'a>(&'a Yielder);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.suspend(());
            }
        }
        let stack = DefaultStack::new(STACK).ok()?;
        let mut begun = Coroutine::with_stack(stack, |yielder: &Yielder, ()| {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _stop = Stop(yielder);
                resume_unwind(Box::new(()));
            }));
            drop(caught);
        });
        begun.resume(());
        Some(Self(begun))
    }
}

fn note(rt: &mut Runtime, info: &PanicHookInfo<'_>) {
    let message = with_places(rt, &text_of(info.payload()));
    let place = info.location().map(spot::place);
    if is_last_word(&message) {
        // The process is about to be aborted.
        let me = rt.now.current;
        rt.threads[me].crash = Some(DOUBLE_PANIC);
        return;
    }
    // What is left of an execution may panic as well, for example where a lock is poisoned.
    if rt.tracing && rt.now.way == Way::Announce {
        note_backtrace(rt);
    }
    let me = rt.now.current;
    let own = &mut rt.threads[me].own;
    own.unwinding = true;
    own.panic_before = own.panic.replace(Panicked { message, place });
}

fn note_backtrace(rt: &Runtime) {
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        *rt.shared.backtrace.borrow_mut() = Some(backtrace);
    }
}

/// A thread of checked code ends with this payload. The hook does not see `resume_unwind`.
pub(crate) fn note_end(payload: &dyn Any) {
    let Some(engine) = Engine::try_enter() else { return };
    let message = with_places(engine.rt(), &text_of(payload));
    let panic = &mut engine.rt().threads[engine.me()].own.panic;
    if panic.as_ref().is_none_or(|known| known.message != message) {
        *panic = Some(Panicked { message, place: None });
    }
}

/// What a panic says.
fn text_of(payload: &dyn Any) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        _ => "(a payload that is not text)".to_owned(),
    }
}

/// Returns whether this is the panic with which Rust ends the process, because a destructor panicked while
/// its thread was unwinding. Its text is fixed.
fn is_last_word(message: &str) -> bool {
    message.contains("destructor during cleanup")
}
