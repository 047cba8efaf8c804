//! Runs invisible instructions: all that touches only the slots of one thread.

use crate::ir::{BinaryOp, Op, Operand, UnaryOp};

use super::fault::{self, Failure};
use super::load::{Loaded, value};
use super::machine::{Thread, Undo, set};

/// Why invisible code stopped.
pub(super) enum Pause {
    /// At a visible instruction.
    Visible,
    /// Behind the end of an atomic section.
    AtomicEnd,
    /// At an `await` that is false.
    Blocked,
    /// At the end of the outermost procedure, with its result.
    Returned(Option<i32>),
    /// At an `assume` that is false.
    Assumed,
    /// Somewhere: the budget is used up.
    Endless,
    /// At an instruction that is wrong.
    Fault(Failure),
}

/// More frames than this are taken for a recursion that never ends: a violation, as the language says.
const DEEPEST_CALL: u32 = 1_000;

/// In front of a frame: where to return to, the caller's frame, and where the result goes.
const HEADER: u32 = 3;

/// Runs `thread`, whose number is `me`, up to the next instruction that is not invisible. Old
/// values of its slots go to `log`.
#[inline]
pub(super) fn run(
    loaded: &Loaded,
    me: usize,
    thread: &mut Thread,
    stack: &mut Vec<i32>,
    log: &mut Vec<Undo>,
    budget: &mut u64,
) -> Pause {
    loop {
        let op = loaded.op(thread.pc);
        if *budget == 0 {
            return Pause::Endless;
        }
        *budget -= 1;
        let base = thread.base;
        match op {
            Op::Copy { target, value: from } => {
                let result = value(*from, stack, base);
                set(stack, log, base + target.0, result);
            }
            Op::Binary { op, target, left, right } => {
                let (left, right) = (value(*left, stack, base), value(*right, stack, base));
                match binary(*op, left, right) {
                    Some(result) => set(stack, log, base + target.0, result),
                    None => return Pause::Fault(arithmetic(loaded, thread, stack, *op, right)),
                }
            }
            Op::Unary { op, target, value: from } => match unary(*op, value(*from, stack, base)) {
                Some(result) => set(stack, log, base + target.0, result),
                None => return Pause::Fault(fault::overflow(loaded, thread, stack)),
            },
            Op::Branch { condition, then, otherwise } => {
                let to = if value(*condition, stack, base) != 0 { then } else { otherwise };
                thread.pc = to.0;
                continue;
            }
            Op::Jump { to } => {
                thread.pc = to.0;
                continue;
            }
            Op::Index { target, global, first, second } => {
                let dims = &loaded.program.globals[global.index()].dims;
                let first = value(*first, stack, base);
                if first < 0 || first as u32 >= dims[0] {
                    return Pause::Fault(fault::index_outside(
                        loaded, thread.pc, first, *global, 0,
                    ));
                }
                let mut flat = first;
                if let Some(second) = second {
                    let second = value(*second, stack, base);
                    if second < 0 || second as u32 >= dims[1] {
                        let fault = fault::index_outside(loaded, thread.pc, second, *global, 1);
                        return Pause::Fault(fault);
                    }
                    // Both are in range, and so is the number of elements.
                    flat = first * dims[1] as i32 + second;
                }
                set(stack, log, base + target.0, flat);
            }
            Op::ThreadIndex { target, first, count, index } => {
                let index = value(*index, stack, base);
                let lowest = loaded.program.threads[*first as usize].index.unwrap_or(0);
                let offset = i64::from(index) - i64::from(lowest);
                if offset < 0 || offset >= i64::from(*count) {
                    let fault = fault::no_such_thread(loaded, thread.pc, index, *first, *count);
                    return Pause::Fault(fault);
                }
                set(stack, log, base + target.0, *first as i32 + offset as i32);
            }
            Op::Own { target } => set(stack, log, base + target.0, me as i32),
            Op::Call { procedure, arguments, target } => {
                if thread.depth + 1 >= DEEPEST_CALL {
                    return Pause::Fault(fault::too_deep(loaded, thread.pc, DEEPEST_CALL));
                }
                let target = target.map(|target| base + target.0);
                call(loaded, *procedure, arguments, target, thread, stack, log);
                continue;
            }
            Op::Return { value: result } => {
                let result = result.map(|result| value(result, stack, base));
                if thread.depth == 0 {
                    return Pause::Returned(result);
                }
                go_back(result, thread, stack, log);
                continue;
            }
            Op::Assert { condition, .. } => {
                if value(*condition, stack, base) == 0 {
                    return Pause::Fault(fault::assertion(loaded, thread, stack));
                }
            }
            Op::Assume { condition } => {
                if value(*condition, stack, base) == 0 {
                    return Pause::Assumed;
                }
            }
            Op::Await { condition } => {
                if value(*condition, stack, base) == 0 {
                    return Pause::Blocked;
                }
            }
            Op::AtomicEnd { .. } => {
                thread.pc += 1;
                return Pause::AtomicEnd;
            }
            _ => return Pause::Visible,
        }
        thread.pc += 1;
    }
}

/// A frame of a thread.
pub(super) struct Frame {
    /// Where it stands; below the top, where it goes on when the call returns.
    pub(super) pc: u32,
    /// Where its slots start.
    pub(super) base: u32,
    /// Below the top: the slot that gets the result of the call.
    pub(super) target: Option<u32>,
}

/// Returns the frames of a thread, the current one first.
pub(super) fn frames<'a>(
    thread: &Thread,
    stack: &'a [i32],
) -> impl Iterator<Item = Frame> + use<'a> {
    let mut depth = thread.depth;
    let mut next = Some(Frame { pc: thread.pc, base: thread.base, target: None });
    std::iter::from_fn(move || {
        let frame = next.take()?;
        if depth > 0 {
            depth -= 1;
            let header = (frame.base - HEADER) as usize;
            let base = stack[header + 1] as u32;
            let target = stack[header + 2];
            let target = (target > 0).then(|| target as u32 - 1 - base);
            next = Some(Frame { pc: stack[header] as u32, base, target });
        }
        Some(frame)
    })
}

fn call(
    loaded: &Loaded,
    procedure: crate::ir::ProcedureId,
    arguments: &[Operand],
    target: Option<u32>,
    thread: &mut Thread,
    stack: &mut Vec<i32>,
    log: &mut Vec<Undo>,
) {
    let entry = loaded.procedures[procedure.index()];
    let (caller, header) = (thread.base, thread.top);
    let base = header + HEADER;
    let top = base + entry.frame;
    if stack.len() < top as usize {
        stack.resize(top as usize, 0);
    }
    set(stack, log, header, (thread.pc + 1) as i32);
    set(stack, log, header + 1, caller as i32);
    // Slots start behind a header, except in the outermost frame: one more than the address.
    set(stack, log, header + 2, target.map_or(0, |target| target as i32 + 1));
    for (i, &argument) in arguments.iter().enumerate() {
        let argument = value(argument, stack, caller);
        set(stack, log, base + i as u32, argument);
    }
    thread.pc = entry.pc;
    thread.base = base;
    thread.top = top;
    thread.depth += 1;
}

fn go_back(result: Option<i32>, thread: &mut Thread, stack: &mut [i32], log: &mut Vec<Undo>) {
    let header = (thread.base - HEADER) as usize;
    thread.pc = stack[header] as u32;
    thread.base = stack[header + 1] as u32;
    let target = stack[header + 2];
    thread.top = header as u32;
    thread.depth -= 1;
    if let Some(result) = result
        && target > 0
    {
        set(stack, log, target as u32 - 1, result);
    }
}

#[cold]
fn arithmetic(
    loaded: &Loaded,
    thread: &Thread,
    stack: &[i32],
    op: BinaryOp,
    right: i32,
) -> Failure {
    if matches!(op, BinaryOp::Divide | BinaryOp::Remainder) && right == 0 {
        fault::division_by_zero(loaded, thread, stack)
    } else {
        fault::overflow(loaded, thread, stack)
    }
}

/// `None` if it overflows or divides by zero.
#[inline]
pub(super) fn binary(op: BinaryOp, left: i32, right: i32) -> Option<i32> {
    let truth = |value: bool| Some(i32::from(value));
    match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide => left.checked_div(right),
        BinaryOp::Remainder => left.checked_rem(right),
        BinaryOp::Min => Some(left.min(right)),
        BinaryOp::Max => Some(left.max(right)),
        BinaryOp::Equal => truth(left == right),
        BinaryOp::NotEqual => truth(left != right),
        BinaryOp::Less => truth(left < right),
        BinaryOp::LessEqual => truth(left <= right),
        BinaryOp::Greater => truth(left > right),
        BinaryOp::GreaterEqual => truth(left >= right),
    }
}

/// `None` if it overflows.
pub(super) fn unary(op: UnaryOp, value: i32) -> Option<i32> {
    match op {
        UnaryOp::Negate => value.checked_neg(),
        UnaryOp::Abs => value.checked_abs(),
        UnaryOp::Not => Some(i32::from(value == 0)),
    }
}
