//! Threads of checked code: coroutines on pooled stacks.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};
use selvedge_core::{Fault, Mode, Step, ViolationKind};

use super::arena;
use super::crash::Crash;
use super::engine::{Engine, ROOM};
use super::last_words::Again;
use super::operation::{End, Running};
use super::panics;
use super::runtime::{Runtime, State, place, set_running};

pub(crate) type Yielder = corosensei::Yielder<(), ()>;

/// How the code of a thread came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Done,
    Panicked,
    /// Its stack was taken down because nobody needs it any more, or after a fault.
    Aborted,
    /// Its stack was too small.
    Overflowed,
    /// A signal ended it.
    Crashed,
    /// It took too long.
    Interrupted,
}

/// The code of a thread.
pub(crate) type Body = Box<dyn FnOnce() -> Outcome>;

/// A thread's stack, with its code on it.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), (), Outcome, DefaultStack>,
    /// Addresses of the stack: the end of its guard, and its top.
    pub(crate) limit: usize,
    pub(crate) base: usize,
}

impl Fiber {
    /// What ends its code from inside a signal handler.
    pub(crate) fn trap_handler(&self) -> CoroutineTrapHandler<Outcome> {
        self.coroutine.trap_handler()
    }

    /// Leaves the stack as it is, for ever.
    pub(crate) fn forget(self) {
        std::mem::forget(self.coroutine);
    }
}

/// Stacks that nobody uses.
pub(crate) struct Stacks {
    free: Vec<DefaultStack>,
    pub(crate) size: usize,
}

impl Stacks {
    pub(crate) fn new(size: usize) -> Self {
        const PAGE: usize = 16 << 10;
        Self { free: Vec::new(), size: size.max(1).next_multiple_of(PAGE) }
    }

    fn take(&mut self) -> Result<DefaultStack, std::io::Error> {
        // At the end of a thread of the system nothing is spared any more.
        let spare = || SPARE.try_with(|spare| spare.borrow_mut().take(self.size)).ok().flatten();
        match self.free.pop().or_else(spare) {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(self.size + ROOM),
        }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // Nothing is spared at the end of the thread.
        let _ = SPARE.try_with(|spare| spare.borrow_mut().put(self.size, &mut self.free));
    }
}

thread_local! {
    /// For the next check of this thread: a short one takes no longer than to map its stacks.
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare { size: 0, stacks: Vec::new() }) };
}

/// Some stacks of one size.
struct Spare {
    size: usize,
    stacks: Vec<DefaultStack>,
}

impl Spare {
    /// More are given back to the system.
    const MOST: usize = 16;

    fn take(&mut self, size: usize) -> Option<DefaultStack> {
        if self.size == size { self.stacks.pop() } else { None }
    }

    fn put(&mut self, size: usize, stacks: &mut Vec<DefaultStack>) {
        if self.size != size {
            self.stacks.clear();
            self.size = size;
        }
        let room = Self::MOST - self.stacks.len();
        self.stacks.extend(stacks.drain(..room.min(stacks.len())));
    }
}

/// The payload that takes a stack down.
pub(crate) struct Abort;

/// Gives a thread its code and runs it up to its first visible operation.
///
/// # Safety
/// `rt` is valid, and no reference into it is held.
pub(crate) unsafe fn start(rt: *mut Runtime, number: usize, body: Body) {
    // SAFETY: the caller promises that `rt` is valid; references end before code runs.
    unsafe {
        let stack = match (*rt).stacks.take() {
            Ok(stack) => stack,
            Err(error) => return cannot_start(&mut *rt, number, &error),
        };
        let (limit, base) = (stack.limit().get(), stack.base().get());
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder, ()| {
            run(rt, number, yielder, body)
        });
        let thread = &mut (&mut (*rt).threads)[number];
        thread.fiber = Some(Fiber { coroutine, limit, base });
        thread.rank = (*rt).created;
        (*rt).created += 1;
        thread.state = State::Ready;
        // Steps of a script wait until its creator has come to its next operation.
        let script = std::mem::replace(&mut (*rt).script, &raw const *<&[Step]>::default());
        resume(rt, number);
        (*rt).script = script;
        let thread = &mut (&mut (*rt).threads)[number];
        if thread.state == State::Failed && number != 0 {
            // A step of its own shows the fault.
            thread.state = State::Ready;
            thread.pending = Running::ONE;
        }
    }
}

fn cannot_start(rt: &mut Runtime, number: usize, error: &std::io::Error) {
    let reason = format!("there is no memory for the stack of one more thread ({error})");
    let thread = &mut rt.threads[number];
    thread.fault = Some(Fault::GaveUp(reason));
    thread.state = State::Ready;
    thread.pending = Running::ONE;
}

/// The code of a thread on its own stack.
fn run(rt: *mut Runtime, number: usize, yielder: &Yielder, body: Body) -> Outcome {
    // SAFETY: the runtime outlives its threads, and the scheduler holds no reference into it while
    // a thread runs.
    unsafe { (&mut (*rt).threads)[number].yielder = yielder };
    let mut outcome = body();
    if !crate::thread::local::drop_all(rt, number) && outcome == Outcome::Done {
        outcome = Outcome::Panicked;
    }
    // SAFETY: as above.
    let allowed = unsafe { &*rt }.shared.panics_are_results;
    let ends = outcome == Outcome::Done || (outcome == Outcome::Panicked && allowed);
    if number != 0 && ends {
        // SAFETY: as above; the spot is where the thread was spawned, since its end has no place.
        let spot = unsafe { (&(*rt).threads)[number].spawned_at };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let engine = Engine::enter();
            engine.visible(&End, spot);
            let thread = &mut engine.rt().threads[number];
            thread.is_done = true;
            // For those who wait for it in a loop.
            let life = thread.life;
            engine.changed(life, Mode::Alive);
        }));
        if ended.is_err() {
            return Outcome::Aborted;
        }
    }
    outcome
}

/// Lets a thread run up to its next visible operation, or to its end.
///
/// # Safety
/// `rt` is valid, and no reference into it is held.
pub(crate) unsafe fn resume(rt: *mut Runtime, number: usize) {
    // SAFETY: the caller promises that `rt` is valid. The thread is boxed, so that it stays where it
    // is when its code adds others; its code touches all fields of it but the coroutine.
    unsafe {
        let thread = &raw mut *(&mut (*rt).threads)[number];
        let Some(fiber) = (*thread).fiber.as_mut() else {
            (*thread).state = State::Failed;
            return;
        };
        // What it stood at ends when it runs.
        (*thread).pending = Running::ONE;
        (*thread).runs = true;
        (*rt).close_guarded();
        let before = std::mem::replace(&mut (*rt).current, number);
        let running = set_running(rt);
        let least = std::mem::replace(&mut (*rt).least_stack, fiber.limit + ROOM);
        let outer = arena::switch(&raw mut *(*thread).arena);
        let result = fiber.coroutine.resume(());
        arena::switch(outer);
        (*rt).least_stack = least;
        set_running(running);
        (*rt).current = before;
        (*thread).runs = false;
        if let CoroutineResult::Return(outcome) = result {
            ended(rt, number, outcome);
        }
    }
}

/// Puts the stack back, and says how the thread ended.
///
/// # Safety
/// As for [`resume`].
#[inline(never)]
unsafe fn ended(rt: *mut Runtime, number: usize, outcome: Outcome) {
    // SAFETY: the caller promises that `rt` is valid; no code runs here.
    let rt = unsafe { &mut *rt };
    let thread = &mut rt.threads[number];
    thread.yielder = ptr::null();
    let is_left = matches!(outcome, Outcome::Overflowed | Outcome::Crashed | Outcome::Interrupted);
    rt.is_broken |= is_left;
    match thread.fiber.take() {
        // Others may use what lies on its stack.
        Some(fiber) if is_left => std::mem::forget(fiber.coroutine.into_stack()),
        Some(fiber) => rt.stacks.free.push(fiber.coroutine.into_stack()),
        None => {}
    }
    thread.state = State::Finished;
    let is_result = number != 0 && rt.shared.panics_are_results;
    let fault = match outcome {
        Outcome::Panicked if !is_result => Some(panicked(rt, number)),
        Outcome::Overflowed => Some(overflowed(rt, number)),
        Outcome::Crashed => Some(crashed(rt, number)),
        Outcome::Interrupted => Some(interrupted(rt, number)),
        _ => None,
    };
    let thread = &mut rt.threads[number];
    thread.fault = thread.fault.take().or(fault);
    if thread.fault.is_some() {
        thread.state = State::Failed;
    }
}

fn panicked(rt: &Runtime, number: usize) -> Fault {
    let name = rt.thread_name(number);
    let mut violation = rt.violation(number, ViolationKind::Panic, String::new(), &[]);
    match &rt.threads[number].panic {
        Some(panic) => {
            violation.message = format!("{name} panicked: {}", panic.message);
            match &panic.place {
                Some(place) => violation.places.push(place.clone()),
                None => violation.notes.push("nobody knows where: `resume_unwind`".to_owned()),
            }
        }
        None => violation.message = format!("{name} panicked"),
    }
    if number != 0 {
        let hint = "if it is meant to, and `join` gives it: Builder::panics_are_results(true)";
        violation.notes.push(hint.to_owned());
    }
    Fault::Violation(violation)
}

fn overflowed(rt: &Runtime, number: usize) -> Fault {
    let name = rt.thread_name(number);
    let size = rt.stacks.size >> 10;
    let mut violation = rt.violation(
        number,
        ViolationKind::Resources,
        format!("{name} overflows its stack of {size} KiB"),
        &[],
    );
    violation.places.push(place(rt.threads[number].spot));
    violation.notes.push(format!(
        "the place is its last operation; if this is no endless recursion, give threads more: \
         Builder::stack_size({})",
        rt.stacks.size * 4
    ));
    Fault::Violation(violation)
}

fn crashed(rt: &Runtime, number: usize) -> Fault {
    let (name, thread) = (rt.thread_name(number), &rt.threads[number]);
    if let Some(Crash::Freed { address }) = thread.crash
        && let Some(violation) = rt.accessed_after_free(number, address)
    {
        return Fault::Violation(violation);
    }
    let what = thread.crash.map_or(String::new(), |crash| crash.to_string());
    let mut violation =
        rt.violation(number, ViolationKind::Crash, format!("{name} {what}"), &[thread.spot]);
    violation.notes.push("the place is its last operation".to_owned());
    let panics = match thread.crash {
        Some(Crash::DoublePanic) => {
            [("first it panicked", &thread.panic_before), ("then", &thread.panic)]
        }
        // It may be one that does not unwind.
        _ => [("it panicked before", &thread.panic), ("", &None)],
    };
    for (when, panic) in panics.into_iter().filter(|_| thread.unwinding) {
        if let Some(panic) = panic {
            let at = panic.place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
            violation.notes.push(format!("{when}: {}{at}", panic.message));
        }
    }
    Fault::Violation(violation)
}

fn interrupted(rt: &Runtime, number: usize) -> Fault {
    let (name, spot) = (rt.thread_name(number), rt.threads[number].spot);
    let why = rt.shared.pulse.overdue().map_or(String::new(), |overdue| overdue.to_string());
    let reason = format!(
        "{name} {why}; its last operation: {spot}; does it loop without end, or wait for something of \
         `std`? To see it again: {}",
        Again(rt)
    );
    rt.note_hopeless(&reason);
    Fault::GaveUp(reason)
}

/// A body that runs `code` and tells how it ended; `result` takes what came out.
pub(crate) fn body<'a, T: 'a>(
    code: impl FnOnce() -> T + 'a,
    result: impl FnOnce(std::thread::Result<T>) + 'a,
) -> Box<dyn FnOnce() -> Outcome + 'a> {
    let outcome_of = |ended: &std::thread::Result<T>| match ended {
        Ok(_) => Outcome::Done,
        Err(payload) if payload.is::<Abort>() => Outcome::Aborted,
        Err(_) => Outcome::Panicked,
    };
    Box::new(move || {
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
            Err(_) => Outcome::Panicked,
        }
    })
}
