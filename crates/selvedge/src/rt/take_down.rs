//! The end of an execution: what is left of it runs to its end or is unwound, so that nothing it owns is lost, and
//! what outlives it is set back.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use selvedge_core::{Violation, ViolationKind};
use selvedge_rt::{Hooks, Way, World, resume};

use super::body::Abort;
use super::memory_errors::{leaked_block, written_after_free};
use super::panics;
use super::state::{Guards, Runtime, Rust};
use crate::spot::place;

/// Takes down the stack of the running thread.
pub(super) fn unwind(rt: &mut Runtime) -> ! {
    let abort = Box::new(Abort);
    let me = rt.now.current;
    rt.threads[me].own.unwinding = true;
    Rust::switch(Rust::code_of(&mut rt.known[me].home));
    resume_unwind(abort)
}

/// Ends an execution that is not over.
///
/// # Safety
/// `rt` is valid, and no reference into it is held.
pub(super) unsafe fn finish(rt: *mut Runtime) {
    // SAFETY: the caller promises that it is valid. References end before code runs.
    unsafe {
        open_freed(&mut *rt);
        if (*rt).now.is_broken {
            leave_all(&mut *rt);
        }
        let is_alive = |rt: &Runtime| rt.threads.iter().any(|thread| thread.fiber.is_some());
        if (*rt).is_answered() {
            // An execution that a memory model does not allow is abandoned in the middle: the values that its threads
            // got may be inconsistent, so that none of them continues.
            (*rt).now.way = Way::Drain;
        } else if is_alive(&*rt) {
            drain(rt);
        }
        if is_alive(&*rt) {
            abort(rt);
        }
        // What a thread left that could not be taken down: it can no longer be dropped.
        for thread in &mut (*rt).threads {
            thread.own.locals.forget();
        }
        close(rt);
    }
}

/// All threads came to their ends: sets static data back. Returns what is wrong nevertheless.
///
/// # Safety
/// `rt` is valid, and no reference into it is held.
pub(super) unsafe fn ends(rt: *mut Runtime) -> Option<Violation> {
    // SAFETY: the caller promises that it is valid. References end before code runs.
    unsafe {
        let written = written_after_free(&*rt);
        close(rt);
        written.or_else(|| leak(&*rt))
    }
}

/// Nothing that runs from now on is a result: freed blocks can be used again.
fn open_freed(rt: &mut Runtime) {
    rt.now.own.memory.guarded.open_all();
    rt.now.own.memory.published.open_all();
    if rt.shared.guards != Guards::Nothing && rt.known.iter().any(|known| known.home.is_elsewhere())
    {
        rt.shared.unguarded.set(true);
    }
}

/// After a crash nothing runs any more: other threads may use what the one that crashed left half done.
fn leave_all(rt: &mut Runtime) {
    for thread in &mut rt.threads {
        if let Some(fiber) = thread.fiber.take() {
            fiber.forget();
        }
    }
    panics::forget_uncaught();
}

/// Lets the threads that can run do so, one after the other.
///
/// # Safety
/// As for [`finish`].
unsafe fn drain(rt: *mut Runtime) {
    // SAFETY: the caller's promise.
    unsafe {
        (*rt).now.way = Way::Drain;
        while let Some(next) = next_to_drain(&*rt) {
            (*rt).now.choice = 0;
            resume(rt, next);
        }
    }
}

/// A thread that can run. One that failed before its first step stands at it, but does not go on; nor does one that
/// is taken down, and waits in a destructor.
fn next_to_drain(rt: &Runtime) -> Option<usize> {
    let goes_on = |&number: &usize| {
        let thread = &rt.threads[number];
        let is_left = thread.fault.is_some() || thread.own.aborting;
        thread.fiber.is_some() && !is_left && rt.is_enabled(number)
    };
    (0..rt.threads.len()).find(goes_on)
}

/// Takes down the stacks of threads that never continue.
///
/// # Safety
/// As for [`finish`].
unsafe fn abort(rt: *mut Runtime) {
    // Those that were spawned last may use what is on the stacks of the others.
    let is_alive = |rt: &Runtime, number: &usize| rt.threads[*number].fiber.is_some();
    let last = |rt: &Runtime| (0..rt.threads.len()).rev().find(|number| is_alive(rt, number));
    // SAFETY: the caller's promise.
    unsafe {
        while let Some(number) = last(&*rt) {
            (*rt).now.drained = 0;
            (&mut (*rt).threads)[number].own.aborting = true;
            resume(rt, number);
            if let Some(fiber) = (&mut (*rt).threads)[number].fiber.take() {
                // It came back although it is taken down: leave it alone.
                fiber.forget();
            }
        }
    }
    panics::forget_uncaught();
}

/// Sets static data back.
///
/// # Safety
/// As for [`finish`].
unsafe fn close(rt: *mut Runtime) {
    // SAFETY: the caller promises that it is valid. References end before code runs.
    let resets = unsafe {
        (*rt).now.way = Way::Close;
        (*rt).now.own.memory.guarded.open_all();
        (*rt).now.own.memory.published.open_all();
        (*rt).now.current = 0;
        std::mem::take(&mut (*rt).now.own.resets)
    };
    let before = Rust::set_running(rt);
    for reset in resets.into_iter().rev() {
        // A destructor that panics has no caller to report to.
        let _ = catch_unwind(AssertUnwindSafe(|| reset.reset()));
    }
    Rust::set_running(before);
}

fn leak(rt: &Runtime) -> Option<Violation> {
    if let Some((object, spot)) = rt.now.leaks.guards().next() {
        let name = rt.object_name(object);
        return Some(Violation {
            kind: ViolationKind::Leak,
            message: format!("{name} is never unlocked: the guard taken here is leaked"),
            places: vec![place(spot)],
            notes: Vec::new(),
            thread: None,
        });
    }
    let left = rt.now.leaks.left();
    let Some((what, spot)) = left.first() else {
        return rt.shared.block_leaks.then(|| leaked_block(rt)).flatten();
    };
    let more = match left.len() {
        1 => String::new(),
        more => format!(", and {} more", more - 1),
    };
    Some(Violation {
        kind: ViolationKind::Leak,
        message: format!("{what} is never freed{more}"),
        places: left.iter().map(|&(_, spot)| place(spot)).take(8).collect(),
        notes: vec![format!(
            "{what} was made at {spot}, and something still refers to it at the end"
        )],
        thread: None,
    })
}
