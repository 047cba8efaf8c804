//! Runs invisible instructions: all that touches only the slots of one thread.

use crate::ir::{BinaryOp, Domain, Op, Operand, Range, Table, UnaryOp};

use super::fault::{self, Failure};
use super::load::{Loaded, value};
use super::machine::{Thread, Undo, set};

/// Why invisible code stopped.
pub(crate) enum Pause {
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
pub(super) const HEADER: u32 = 3;

/// Runs `thread`, whose number is `me`, up to the next instruction that is not invisible. Old
/// values of its slots go to `log`.
#[inline]
pub(crate) fn run(
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
            Op::Compute { target, value } => {
                let mut numbers = Numbers { loaded, me, thread, stack };
                match value.evaluate(&loaded.program, &mut numbers) {
                    Ok(result) => set(stack, log, base + target.0, result),
                    Err(fault) => return Pause::Fault(fault),
                }
            }
            Op::Branch { condition, then, otherwise } => {
                let to = if value(*condition, stack, base) != 0 { then } else { otherwise };
                thread.pc = to.0;
                continue;
            }
            Op::Jump { to } => {
                thread.pc = to.0;
                continue;
            }
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
            Op::Progress => thread.marked = true,
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
pub(crate) struct Frame {
    /// Where it stands; below the top, where it continues when the call returns.
    pub(crate) pc: u32,
    /// Where its slots start.
    pub(crate) base: u32,
    /// Below the top: the slot that gets the result of the call.
    pub(crate) target: Option<u32>,
}

/// Returns the frames of a thread, the current one first.
pub(crate) fn frames<'a>(
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

/// The values of a running thread.
struct Numbers<'a> {
    loaded: &'a Loaded,
    me: usize,
    thread: &'a Thread,
    stack: &'a [i32],
}

impl Domain for Numbers<'_> {
    type Value = i32;
    type Halt = Failure;

    #[inline]
    fn operand(&mut self, operand: Operand) -> i32 {
        value(operand, self.stack, self.thread.base)
    }

    #[inline]
    fn unary(&mut self, op: UnaryOp, value: i32) -> Result<i32, Failure> {
        op.apply(value).ok_or_else(|| fault::overflow(self.loaded, self.thread, self.stack))
    }

    #[inline]
    fn binary(&mut self, op: BinaryOp, left: i32, right: i32) -> Result<i32, Failure> {
        op.apply(left, right).ok_or_else(|| match op {
            _ if op.shifts() => fault::shift(self.loaded, self.thread.pc, right),
            _ if op.divides() && right == 0 => {
                fault::division_by_zero(self.loaded, self.thread, self.stack)
            }
            _ => fault::overflow(self.loaded, self.thread, self.stack),
        })
    }

    #[inline]
    fn position(&mut self, index: i32, range: Range) -> Result<i32, Failure> {
        let position = i64::from(index) - i64::from(range.lowest);
        if position < 0 || position >= i64::from(range.size) {
            return Err(fault::index_outside(self.loaded, self.thread.pc, index, range));
        }
        Ok(position as i32)
    }

    /// Both are in range, and so is the number of elements.
    #[inline]
    fn flat(&mut self, row: i32, columns: u32, column: i32) -> i32 {
        row * columns as i32 + column
    }

    fn thread(&mut self, first: u32, position: i32) -> i32 {
        first as i32 + position
    }

    #[inline]
    fn lookup(&mut self, table: &Table, position: i32) -> Result<i32, Failure> {
        Ok(table.values[position as usize])
    }

    #[inline]
    fn pick(&mut self, operands: &[Operand], position: i32) -> Result<i32, Failure> {
        Ok(self.operand(operands[position as usize]))
    }

    fn own(&mut self) -> i32 {
        self.me as i32
    }
}
