//! From checked code to the explorer, and back.

use selvedge_core::{Answer, Bits, Label, Order};

use super::asked::{Does, Ready, Update, Written, mask};
use super::labels::Labels;
use super::spin::{Range, Round, is_neutral};
use crate::entry::At;
use crate::machine::Machine;
use crate::op::{How, Op, Orders, order};
use crate::spin::content;

/// An atomic operation, as the shim asks for it. `wanted`: where a compare-exchange has what it expects. What is read goes
/// there, too.
#[derive(Clone, Copy)]
pub(crate) struct Atomic {
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// What it does, and how: see [`Atomic::kind`].
    pub(crate) what: u64,
    /// Where its operand is.
    pub(crate) operand: usize,
    pub(crate) wanted: usize,
}

/// What the shim is told: that the value is the newest, that a compare-exchange succeeded, that no other thread sees the
/// memory.
const NEWEST: u64 = 1;
const SUCCEEDED: u64 = 2;
const ALONE: u64 = 4;

/// What an atomic operation does. The shim has the same numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atomically {
    Load,
    Store,
    Update(Does),
    Compare { weak: bool },
}

impl Atomic {
    fn kind(self) -> Option<Atomically> {
        Some(match self.what & 0xff {
            0 => Atomically::Load,
            1 => Atomically::Store,
            2 => Atomically::Update(Does::Exchange),
            3 => Atomically::Update(Does::Add),
            4 => Atomically::Update(Does::Sub),
            5 => Atomically::Update(Does::And),
            6 => Atomically::Update(Does::Or),
            7 => Atomically::Update(Does::Xor),
            8 => Atomically::Update(Does::Nand),
            9 => Atomically::Compare { weak: false },
            10 => Atomically::Compare { weak: true },
            _ => return None,
        })
    }

    fn orders(self) -> Orders {
        Orders { success: order(self.what >> 8), failure: order(self.what >> 16) }
    }

    /// What it is told if it finds a value, if it does nothing then but find it.
    fn again(self, kind: Atomically, value: Bits) -> Option<Answer> {
        let Atomic { size, operand, wanted, .. } = self;
        match kind {
            Atomically::Load => Some(Answer::Value(value)),
            Atomically::Store => None,
            Atomically::Update(kind) => {
                let update = Update::Does { kind, operand: content(operand, size), size };
                (update.next(value) == value).then_some(Answer::Value(value))
            }
            Atomically::Compare { .. } => {
                (content(wanted, size) != value).then_some(Answer::Failed(value))
            }
        }
    }

    /// The operation as it is told without a memory model.
    fn op(self, kind: Atomically) -> Op {
        let Atomic { address, size, what, wanted, .. } = self;
        let how = |number: u64| How(number | (what & 0xff00));
        match kind {
            Atomically::Load => Op::Access { address, size, how: how(4) },
            Atomically::Store => Op::Access { address, size, how: how(5) },
            Atomically::Update(_) => Op::Access { address, size, how: how(6) },
            Atomically::Compare { .. } => {
                Op::Compare { address, size, wanted, orders: self.orders() }
            }
        }
    }
}

impl At {
    /// Stands at an operation that is no atomic access until the explorer has answered all its labels. Returns its result.
    pub(crate) fn ask(self, op: Op, ranges: &[(usize, usize)]) -> u64 {
        if let Some(otherwise) = op.tries() {
            if self.fails_again(ranges) {
                return otherwise;
            }
        } else if self.with(|machine| machine.goes_silently(self.me, op)) {
            return 0;
        } else if !is_neutral(op) {
            self.with(|machine| machine.threads[self.me].asked.turn.clear());
        }
        self.with(|machine| machine.threads[self.me].asked.looks.clear());
        self.tell_written();
        match op {
            Op::Wait { .. } => return self.ask_wait(op),
            Op::Signal { .. } => return self.ask_signal(op),
            Op::FutexWait { .. } => return self.ask_futex_wait(op),
            Op::FutexWake { .. } => return self.ask_futex_wake(op),
            Op::Arrive { .. } => return self.ask_arrive(op),
            Op::TryJoin { target, otherwise } => return self.ask_try_join(target, otherwise),
            _ => {}
        }
        self.with(|machine| machine.stands_asked(self, op, ranges));
        let labels = match self.with(|machine| machine.labels(self.me)) {
            Ok(labels) => labels,
            Err(what) => {
                return self.give_up(format!(
                    "{what} is not supported under a memory model yet; check it with --sequentially-consistent"
                ));
            }
        };
        let answer = self.stand_at(labels);
        let fails = self.with(|machine| machine.fails_by_itself(self.me));
        let answer = if fails { Some(Answer::Failed(1)) } else { answer };
        if op.tries().is_some() {
            self.with(|machine| machine.note_tried(self, answer));
        }
        let done = self.with(|machine| match machine.perform_answered(self.me, answer) {
            Ok(result) => Some(result),
            Err(fault) => {
                machine.fail(self.me, fault);
                None
            }
        });
        match done {
            Some(result) => result,
            None => self.stand_still(),
        }
    }

    /// Stands at labels, one after the other. Returns the last answer.
    pub(super) fn stand_at(self, labels: Labels) -> Option<Answer> {
        let mut last = None;
        // An index, since nothing may be dropped after a switch.
        for nth in 0..labels.len() {
            last = self.stand(labels[nth]);
            self.with(|machine| machine.threads[self.me].asked.note_taken(labels[nth]));
        }
        self.with(|machine| machine.threads[self.me].asked.taken.clear());
        last
    }

    pub(super) fn stand(self, label: Label) -> Option<Answer> {
        self.with(|machine| {
            let asked = &mut machine.threads[self.me].asked;
            (asked.label, asked.answer) = (label, None);
        });
        self.switch_away();
        self.with(|machine| machine.threads[self.me].asked.answer.take())
    }

    /// Tells plain writes to atomics that the running thread has done.
    pub(crate) fn tell_written(self) {
        loop {
            let next = self.with(|machine| {
                let thread = &mut machine.threads[self.me];
                let written: Written = *thread.asked.written.first()?;
                thread.asked.written.remove(0);
                let Written { at, object, address, size, pc } = written;
                thread.op = Op::Access { address, size, how: How::WRITE };
                (thread.pc, thread.objects) = (pc, smallvec::smallvec![object]);
                Some(Label::Store { at, order: Order::NonAtomic, value: content(address, size) })
            });
            let Some(label) = next else { return };
            self.stand(label);
        }
    }

    /// An atomic operation. Returns what the shim is told.
    pub(crate) fn atomic(self, atomic: Atomic) -> u64 {
        let Atomic { address, size, .. } = atomic;
        // SAFETY: the machine lives while its code runs.
        let is_shared = self.with(|machine| machine.is_shared_atomic(self.me, address, size));
        if !is_shared {
            return ALONE;
        }
        let Some(kind) = atomic.kind() else {
            return self
                .give_up("its shim asks for an atomic operation that is not known".to_owned());
        };
        if !matches!(size, 1 | 2 | 4 | 8) {
            return self.give_up(format!(
                "an atomic of {size} bytes is not supported under a memory model; check it with --sequentially-consistent"
            ));
        }
        if let Some(answer) =
            self.goes_round(Range::Cell(address, size), &|value| atomic.again(kind, value))
        {
            self.with(|machine| machine.threads[self.me].asked.newest = false);
            return self.is_told(atomic, kind, answer);
        }
        self.tell_written();
        let whole =
            self.with(|machine| machine.stands_at_atomic(self, atomic.op(kind), address, size));
        if !whole {
            return self.give_up(
                "an atomic is accessed in parts as well, which is not supported under a memory model; check it with \
                 --sequentially-consistent"
                    .to_owned(),
            );
        }
        let answer = match self.with(|machine| machine.atomic_labels(self, atomic, kind)) {
            Ok(labels) => self.stand_at(labels),
            Err(what) => return self.give_up(what.to_owned()),
        };
        if let Some(fault) = self.with(|machine| machine.perform_answered(self.me, None).err()) {
            self.with(|machine| machine.fail(self.me, fault));
            return self.stand_still();
        }
        self.is_told(atomic, kind, answer.unwrap_or(Answer::Done))
    }

    /// Returns what an operation that may be in a loop is told without the explorer, if it is.
    pub(super) fn goes_round(
        self,
        range: Range,
        again: &dyn Fn(Bits) -> Option<Answer>,
    ) -> Option<Answer> {
        loop {
            match self.with(|machine| machine.comes_round(self, range, again)) {
                Round::Asks => return None,
                Round::Told(answer) => return Some(answer),
                Round::Chooses(most) => {
                    self.with(|machine| machine.stands_asked(self, Op::Choose { most }, &[]));
                    if let Some(Answer::Chosen(read)) = self.stand(Label::Choose(most)) {
                        self.with(|machine| machine.waits_at(self.me, read));
                    }
                }
            }
        }
    }

    /// The explorer has answered an atomic operation.
    fn is_told(self, atomic: Atomic, kind: Atomically, answer: Answer) -> u64 {
        let Atomic { size, wanted, .. } = atomic;
        let (value, succeeds) = match answer {
            Answer::Value(value) => (value, true),
            Answer::Failed(value) => (value, false),
            Answer::Chosen(_) | Answer::Done => (0, true),
        };
        let changes = succeeds && atomic.again(kind, value).is_none();
        self.with(|machine| machine.note_told(self, changes, value));
        let expected = content_of(wanted, size, kind);
        if matches!(kind, Atomically::Compare { weak: true }) && !succeeds && expected == value {
            self.with(|machine| machine.threads[self.me].whims.push(self.pc));
        }
        if kind != Atomically::Store {
            // SAFETY: the shim passes a place of this size on its stack.
            unsafe { write(wanted, size, value) };
        }
        let newest = self.with(|machine| machine.threads[self.me].asked.newest);
        let writes = succeeds && kind != Atomically::Load;
        (if newest && writes { NEWEST } else { 0 }) | if succeeds { SUCCEEDED } else { 0 }
    }
}

/// Returns what a compare-exchange expects.
fn content_of(wanted: usize, size: usize, kind: Atomically) -> Bits {
    match kind {
        Atomically::Compare { .. } => content(wanted, size),
        _ => 0,
    }
}

/// Writes the bytes of a value.
///
/// # Safety
/// There is a place for them at the address.
unsafe fn write(address: usize, size: usize, value: Bits) {
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), address as *mut u8, size);
    }
}

impl Machine {
    /// A thread now stands at an operation on these ranges.
    pub(super) fn stands_asked(&mut self, at: At, op: Op, ranges: &[(usize, usize)]) {
        self.threads[at.me].frame = at.frame;
        self.stands_at(at.me, op, at.pc, ranges);
    }

    /// A thread stands at an atomic operation. Returns whether its memory is one object.
    pub(super) fn stands_at_atomic(&mut self, at: At, op: Op, address: usize, size: usize) -> bool {
        self.stands_asked(at, op, &[(address, size)]);
        let [object] = self.threads[at.me].objects.as_slice() else { return false };
        let object = *object;
        self.shared.learned.note_atomic(object);
        true
    }

    /// Returns the labels of an atomic operation.
    fn atomic_labels(
        &mut self,
        here: At,
        atomic: Atomic,
        kind: Atomically,
    ) -> Result<Labels, &'static str> {
        let me = here.me;
        let Atomic { size, operand, wanted, .. } = atomic;
        let mut labels = Labels::new();
        self.add_uses(me, &mut labels);
        let Some(&object) = self.threads[me].objects.first() else {
            return Err("internal error: an atomic without memory");
        };
        let at = self.locate_cell(object);
        let orders = atomic.orders();
        let waits = self.waits_for_change(me);
        if waits.is_some() && kind != Atomically::Load {
            labels.push(Label::Await { at, order: Order::Relaxed, update: false });
        }
        let spurious = self.shared.whims.asked.get();
        let so_far = self.threads[me].whims.iter().filter(|&&pc| pc == here.pc).count();
        let asked = &mut self.threads[me].asked;
        asked.ready = waits.map_or(Ready::Never, Ready::OtherThan);
        asked.update = Update::Same;
        labels.push(match kind {
            Atomically::Load => match waits {
                Some(_) => Label::Await { at, order: orders.success, update: false },
                None => Label::Load { at, order: orders.success },
            },
            Atomically::Store => {
                Label::Store { at, order: orders.success, value: content(operand, size) }
            }
            Atomically::Update(kind) => {
                asked.update = Update::Does { kind, operand: content(operand, size), size };
                Label::Update { at, order: orders.success }
            }
            Atomically::Compare { weak } => {
                let (expected, new) = (content(wanted, size), content(operand, size));
                let (expected, new) = (expected & mask(size), new & mask(size));
                let may_fail = weak && so_far < spurious.most as usize;
                if weak && !may_fail && spurious.most > 0 {
                    self.shared.whims.is_bounded.set(true);
                }
                let Orders { success, failure } = orders;
                Label::Compare { at, expected, new, success, failure, weak: may_fail }
            }
        });
        Ok(labels)
    }
}
