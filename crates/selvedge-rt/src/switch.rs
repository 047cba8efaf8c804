//! Switching to a thread of checked code, and what its end means.

use selvedge_core::{Fault, ViolationKind};

use crate::aside::Answer;
use crate::fiber::{Body, Fiber, Outcome, ROOM};
use crate::hooks::Hooks;
use crate::last_words::Again;
use crate::operation::Running;
use crate::runtime::{NO_SCRIPT, Runtime, State, Way};
use crate::world::Advice;

/// Starts the code of a thread and runs it up to its first visible operation.
///
/// # Safety
/// `rt` is valid, and no reference into it is held.
pub unsafe fn start<W: Hooks>(rt: *mut Runtime<W>, number: usize, body: Body) {
    // SAFETY: the caller promises that `rt` is valid; references end before code runs.
    unsafe {
        let stack = match (*rt).labels.is_some() {
            true => (*rt).stacks.take_own(number),
            false => (*rt).stacks.take(),
        };
        let stack = match stack {
            Ok(stack) => stack,
            Err(error) => return cannot_start(&mut *rt, number, &error),
        };
        let fiber = Fiber::new(stack, move |yielder| {
            // The runtime outlives its threads, and the scheduler holds no reference into it while a thread runs.
            (&mut (*rt).threads)[number].yielder = yielder;
            body()
        });
        let thread = &mut (&mut (*rt).threads)[number];
        thread.fiber = Some(fiber);
        thread.rank = (*rt).now.created;
        (*rt).now.created += 1;
        thread.state = State::Ready;
        // Steps of a script wait until its creator has come to its next operation.
        let script = std::mem::replace(&mut (*rt).script, NO_SCRIPT);
        resume(rt, number);
        (*rt).script = script;
        let thread = &mut (&mut (*rt).threads)[number];
        if thread.state == State::Failed && number != 0 {
            // A step of its own shows the fault.
            thread.state = State::Ready;
            thread.pending = Running::one();
        }
    }
}

fn cannot_start<W: Hooks>(rt: &mut Runtime<W>, number: usize, error: &std::io::Error) {
    let reason = format!("there is no memory for the stack of one more thread ({error})");
    let thread = &mut rt.threads[number];
    thread.fault = Some(Fault::GaveUp(reason));
    thread.state = State::Ready;
    thread.pending = Running::one();
}

/// Lets a thread run up to its next visible operation, or to its end.
///
/// # Safety
/// `rt` is valid, and no reference into it is held.
pub unsafe fn resume<W: Hooks>(rt: *mut Runtime<W>, number: usize) {
    // SAFETY: the caller promises that `rt` is valid. The thread is boxed, so that it stays where it
    // is when its code adds others; its code touches all fields of it but the coroutine.
    unsafe {
        let thread = &raw mut *(&mut (*rt).threads)[number];
        let Some(fiber) = (*thread).fiber.as_mut() else {
            (*thread).state = State::Failed;
            return;
        };
        if (*rt).now.way == Way::Aside {
            (*rt).go_on_aside(number);
        }
        // What it stood at ends when it runs.
        (*thread).pending = Running::one();
        (*thread).runs = true;
        W::resumes(&mut *rt);
        let before = std::mem::replace(&mut (*rt).now.current, number);
        let running = W::set_running(rt);
        let least = std::mem::replace(&mut (*rt).now.least_stack, fiber.limit() + ROOM);
        let outer = W::switch(W::code_of(&mut (&mut (*rt).known)[number].home));
        let ends = loop {
            let ends = fiber.resume();
            // What a thread wants that runs aside.
            let Some(call) = (*thread).call.take() else { break ends };
            if (*rt).answer(call) == Answer::Stand {
                break ends;
            }
        };
        W::switch(outer);
        (*rt).now.least_stack = least;
        W::set_running(running);
        (*rt).now.current = before;
        (*thread).runs = false;
        if let Some(outcome) = ends {
            ended(rt, number, outcome);
        }
    }
}

/// Puts the stack back, and says how the thread ended.
///
/// # Safety
/// As for [`resume`].
#[inline(never)]
unsafe fn ended<W: Hooks>(rt: *mut Runtime<W>, number: usize, outcome: Outcome) {
    // SAFETY: the caller promises that `rt` is valid; no code runs here.
    let rt = unsafe { &mut *rt };
    let thread = &mut rt.threads[number];
    thread.yielder = std::ptr::null();
    let is_left = matches!(outcome, Outcome::Overflowed | Outcome::Crashed | Outcome::Interrupted);
    rt.now.is_broken |= is_left;
    match thread.fiber.take() {
        // Others may use what lies on its stack.
        Some(fiber) if is_left => std::mem::forget(fiber.into_stack()),
        Some(fiber) if rt.labels.is_some() => rt.stacks.put_own(number, fiber.into_stack()),
        Some(fiber) => rt.stacks.put(fiber.into_stack()),
        None => {}
    }
    thread.state = State::Finished;
    let fault = match outcome {
        Outcome::Failed => W::failed(rt, number),
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

fn overflowed<W: Hooks>(rt: &Runtime<W>, number: usize) -> Fault {
    let name = rt.thread_name(number);
    let size = rt.stacks.size >> 10;
    let mut violation = rt.violation(
        number,
        ViolationKind::Resources,
        format!("{name} overflows its stack of {size} KiB"),
        &[],
    );
    violation.places.push(W::place(rt.threads[number].spot));
    violation.notes.push(format!(
        "the place is its last operation; if this is no endless recursion, give threads more: {}",
        W::advice(Advice::Stack(rt.stacks.size * 4))
    ));
    Fault::Violation(violation)
}

fn crashed<W: Hooks>(rt: &Runtime<W>, number: usize) -> Fault {
    let (name, thread) = (rt.thread_name(number), &rt.threads[number]);
    let what = thread.crash.map_or(String::new(), |crash| crash.to_string());
    let mut violation =
        rt.violation(number, ViolationKind::Crash, format!("{name} {what}"), &[thread.spot]);
    violation.notes.push("the place is its last operation".to_owned());
    W::about_crash(rt, number, &mut violation);
    Fault::Violation(violation)
}

fn interrupted<W: Hooks>(rt: &Runtime<W>, number: usize) -> Fault {
    let (name, spot) = (rt.thread_name(number), rt.threads[number].spot);
    let why = rt.shared.overdue().map_or(String::new(), |(overdue, _)| overdue.to_string());
    let advice = W::advice(Advice::LongCode);
    let reason = format!(
        "{name} {why}; its last operation: {spot}; {advice} To see it again: {}",
        Again(rt)
    );
    rt.note_hopeless(&reason);
    Fault::GaveUp(reason)
}
