//! Panics of checked code are results, not output.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;

use corosensei::Coroutine;
use corosensei::stack::DefaultStack;

use selvedge_core::Place;

use super::arena;
use super::crash::Crash;
use super::engine::{Engine, keep_room};
use super::fiber::Yielder;
use super::runtime::{Panicked, Runtime, running};

/// Keeps the message of a panic in checked code; all others go to the hook that was there.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    if std::thread::panicking() {
        // Then the system lets nobody do so.
        return;
    }
    INSTALL.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let rt = running();
            if rt.is_null() {
                return before(info);
            }
            keep_room(rt);
            let me = arena::switch(std::ptr::null_mut());
            // SAFETY: the runtime is alive while its code runs, and the engine does not panic while
            // it holds a reference into it.
            note(unsafe { &mut *rt }, info);
            arena::switch(me);
        }));
    });
}

/// Makes up for panics of threads that were left alone while they were unwinding, or overflowed their
/// stacks then: the system would take the running thread of its own to be panicking for ever.
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
    let message = text_of(info.payload());
    let place = info.location().map(|location| Place {
        file: location.file().to_owned(),
        line: location.line(),
        column: location.column(),
        length: 1,
    });
    if is_last_word(&message) {
        // The process is about to be aborted.
        rt.threads[rt.current].crash = Some(Crash::DoublePanic);
        return;
    }
    if rt.tracing {
        note_backtrace(rt);
    }
    let thread = &mut rt.threads[rt.current];
    thread.unwinding = true;
    thread.panic_before = thread.panic.replace(Panicked { message, place });
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
    let message = text_of(payload);
    let panic = &mut engine.rt().threads[engine.me()].panic;
    if panic.as_ref().is_none_or(|known| known.message != message) {
        *panic = Some(Panicked { message, place: None });
    }
}

/// What a panic says.
pub(crate) fn text_of(payload: &dyn Any) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        _ => "(a payload that is no text)".to_owned(),
    }
}

/// Whether this is the panic with which Rust ends the process, because a destructor panicked while
/// its thread was unwinding. Its text is fixed.
fn is_last_word(message: &str) -> bool {
    message.contains("destructor during cleanup")
}
