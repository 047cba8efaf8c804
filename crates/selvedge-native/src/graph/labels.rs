//! Operations as labels: which the explorer is asked about, one after the other, and what becomes of the thread.

use selvedge_core::{Answer, Bits, Fault, Label, Location, Mode, ObjectId, Order};
use smallvec::SmallVec;

use super::asked::{DONE, Does, Ready, Update};
use crate::machine::{Machine, State};
use crate::marks;
use crate::objects::Object;
use crate::op::{How, Kind, Op, What};
use crate::perform::Then;
use crate::spin::content;

/// The labels of an operation; of most there is one.
pub(super) type Labels = SmallVec<[Label; 2]>;

impl Machine {
    /// Returns the location of an object.
    pub(super) fn locate(&mut self, object: ObjectId, initial: Bits) -> Location {
        self.locations().locate(object, || initial)
    }

    /// Returns the location of a cell of memory, whose initial value is what lies there.
    pub(super) fn locate_cell(&mut self, object: ObjectId) -> Location {
        let initial = match self.shared.objects.borrow().get(object) {
            Object::Cell { start, size } => content(start, size),
            _ => 0,
        };
        self.locate(object, initial)
    }

    /// Returns the labels of the operation at which a thread stands, or why it has none.
    pub(super) fn labels(&mut self, me: usize) -> Result<Labels, &'static str> {
        let thread = &self.threads[me];
        let (op, first) = (thread.op, thread.objects.first().copied());
        let mut labels = Labels::new();
        self.add_uses(me, &mut labels);
        match op {
            Op::Access { how, size, .. } => match how.order() {
                _ if how.is_volatile() => return Err("a volatile access, unlike an atomic one,"),
                Order::NonAtomic => self.add_plain(me, how.mode(), &mut labels),
                // The list of what is done at the end of the process.
                order if how == How::UPDATE && size == 1 => {
                    let Some(object) = first else { return Ok(labels) };
                    let at = self.locate(object, 0);
                    self.threads[me].asked.update = Update::Same;
                    labels.push(Label::Update { at, order });
                }
                _ => return Err("an atomic object that no instruction can access"),
            },
            Op::Fence { order } => labels.push(Label::Fence(order)),
            Op::Spawn { child } => labels.push(Label::Spawn(selvedge_core::ThreadId::new(child))),
            Op::Join { target, .. } => {
                labels.push(Label::Join(selvedge_core::ThreadId::new(target)));
            }
            Op::Choose { most } => labels.push(Label::Choose(most)),
            Op::Whim => labels.push(Label::Choose(2)),
            Op::End => {
                // What others see of its stack and its thread-local variables is gone.
                if self.shared.learned.is_seen(me) {
                    let at = self.locate(self.known[me].life, 0);
                    labels.push(Label::Access { at, write: true });
                }
            }
            Op::Allocate { block } => {
                let object = self.shared.objects.borrow_mut().other(Object::Block(block));
                let at = self.locate(object, 0);
                labels.push(Label::Access { at, write: true });
            }
            Op::Free { block, .. } => {
                // What is no block is an error, with or without others.
                if let Some(found) = self.heap.at(block).map(|block| block.start) {
                    let object = self.shared.objects.borrow_mut().other(Object::Block(found));
                    let at = self.locate(object, 0);
                    labels.push(Label::Access { at, write: true });
                }
            }
            Op::Lock { address, kind, .. } => {
                let owns = self.mutex(address).owner == Some(me);
                if !owns || kind == Kind::Normal {
                    labels.push(Label::Lock(self.lock_location(first)?));
                }
            }
            Op::TryLock { address, .. } => {
                let waits = self.waits_for_change(me).is_some();
                let at = self.lock_location(first)?;
                if waits {
                    labels.push(Label::Lock(at));
                } else if self.mutex(address).owner != Some(me) {
                    labels.push(Label::TryLock(at));
                }
            }
            Op::Unlock { address, .. } => {
                let mutex = self.mutex(address);
                if mutex.owner == Some(me) && mutex.depth == 1 {
                    labels.push(Label::Unlock(self.lock_location(first)?));
                }
            }
            Op::RwLock { .. } | Op::RwTry { .. } | Op::RwUnlock { .. } => {
                let lock = first.ok_or("an object without memory")?;
                labels.extend(self.label_of_rwlock(me, op, lock));
            }
            Op::Make { what, .. } => {
                let at = self.lock_location(first)?;
                labels.push(match what {
                    What::Mutex
                    | What::NoMutex
                    | What::NoSpinLock
                    | What::Cond
                    | What::NoCond
                    | What::RwLock
                    | What::NoRwLock
                    | What::Barrier(_)
                    | What::NoBarrier => Label::Access { at, write: true },
                    What::Semaphore(value) => Label::Store { at, order: Order::NonAtomic, value },
                    What::NoSemaphore => Label::Access { at, write: true },
                });
            }
            Op::Down { address, .. } => {
                let at = self.semaphore_location(first, address)?;
                labels.push(Label::Await { at, order: Order::AcqRel, update: true });
                self.counts(me, Does::Sub);
            }
            Op::TryDown { address, .. } => {
                let at = self.semaphore_location(first, address)?;
                labels.push(self.try_or_wait(me, at, Order::AcqRel, Order::Acquire));
                self.counts(me, Does::Sub);
            }
            Op::Up { address } => {
                let at = self.semaphore_location(first, address)?;
                labels.push(Label::Update { at, order: Order::AcqRel });
                self.counts(me, Does::Add);
            }
            Op::Value { address } => {
                let at = self.semaphore_location(first, address)?;
                labels.push(Label::Load { at, order: Order::Acquire });
            }
            Op::Doomed
            | Op::Spin
            | Op::Wait { .. }
            | Op::Reacquire { .. }
            | Op::Signal { .. }
            | Op::Arrive { .. }
            | Op::Pass { .. }
            | Op::TryJoin { .. }
            | Op::FutexWait { .. }
            | Op::FutexWoken { .. }
            | Op::FutexWake { .. } => {}
            Op::Compare { .. } => return Err("an atomic object that no instruction can access"),
            // One after the other, always in the same order: see `judge` for a thread that waits here.
            Op::LockAll { .. } => {
                for object in self.threads[me].objects.clone() {
                    labels.push(Label::Lock(self.locate(object, 0)));
                }
                labels.sort_by_key(|label| match label {
                    Label::Lock(at) => at.index() + 1,
                    _ => 0,
                });
            }
            Op::Once { address, .. } => {
                let at = self.once_location(address);
                labels.push(Label::Await { at, order: Order::AcqRel, update: true });
                let asked = &mut self.threads[me].asked;
                (asked.ready, asked.update) = (Ready::NotBegun, Update::Begins);
            }
            Op::OnceEnd { address, is_done, .. } => {
                let (at, value) = (self.once_location(address), if is_done { DONE } else { 0 });
                labels.push(Label::Store { at, order: Order::Release, value });
            }
        }
        Ok(labels)
    }

    /// Returns the location of what is done once. It is not that of the flag, which compiled code looks at by itself: there it
    /// never sees that it is done, and asks.
    fn once_location(&mut self, address: usize) -> Location {
        let object = self.shared.objects.borrow_mut().other(Object::Queue(address));
        self.locate(object, 0)
    }

    /// A semaphore counts up or down.
    fn counts(&mut self, me: usize, kind: Does) {
        let asked = &mut self.threads[me].asked;
        (asked.ready, asked.update) = (Ready::Positive, Update::Does { kind, operand: 1, size: 8 });
    }

    /// Returns the location of what threads synchronise with: it has no value of the program.
    pub(super) fn lock_location(
        &mut self,
        object: Option<ObjectId>,
    ) -> Result<Location, &'static str> {
        let object = object.ok_or("an object without memory")?;
        Ok(self.locate(object, 0))
    }

    /// The same, of a semaphore. One that was initialised before the check has a count.
    fn semaphore_location(
        &mut self,
        object: Option<ObjectId>,
        address: usize,
    ) -> Result<Location, &'static str> {
        let object = object.ok_or("an object without memory")?;
        Ok(self.locate(object, marks::early(address).unwrap_or(0)))
    }

    /// Adds that the blocks of an access are used, for steps that free them: once until the thread does something that may
    /// order what others do behind it.
    pub(super) fn add_uses(&mut self, me: usize, labels: &mut Labels) {
        if matches!(self.threads[me].op, Op::Free { .. } | Op::Allocate { .. }) {
            return;
        }
        if let Some(owner) = self.threads[me].guest_of {
            let at = self.locate(self.known[owner].life, 0);
            labels.push(Label::Access { at, write: false });
        }
        for block in std::mem::take(&mut self.threads[me].blocks) {
            if !self.threads[me].asked.used.contains(&block) {
                self.threads[me].asked.used.push(block);
                let at = self.locate(block, 0);
                labels.push(Label::Access { at, write: false });
            }
            self.threads[me].blocks.push(block);
        }
    }

    /// Adds a plain access. One to memory that is accessed atomically, too, has a value.
    fn add_plain(&mut self, me: usize, mode: Mode, labels: &mut Labels) {
        for object in self.threads[me].objects.clone() {
            let (is_atomic, write) = (self.shared.learned.is_atomic(object), mode.writes());
            // What lies in plain memory is nothing to the explorer.
            let at = if is_atomic { self.locate_cell(object) } else { self.locate(object, 0) };
            match (is_atomic, write) {
                (false, _) => labels.push(Label::Access { at, write }),
                (true, false) => labels.push(Label::Load { at, order: Order::NonAtomic }),
                // It is told when it is done.
                (true, true) => self.note_written(me, object, at),
            }
        }
    }

    fn note_written(&mut self, me: usize, object: ObjectId, at: Location) {
        let Object::Cell { start, size } = self.shared.objects.borrow().get(object) else { return };
        let pc = self.threads[me].pc;
        let written = super::asked::Written { at, object, address: start, size, pc };
        self.threads[me].asked.written.push(written);
    }

    /// Does what the operation of a thread does, after the last of its labels was answered.
    pub(super) fn perform_answered(
        &mut self,
        me: usize,
        answer: Option<Answer>,
    ) -> Result<u64, Fault> {
        let op = self.threads[me].op;
        if !matches!(op, Op::Access { .. }) {
            self.threads[me].asked.used.clear();
        }
        let choice = match (op, answer) {
            (Op::Choose { .. } | Op::Whim, Some(Answer::Chosen(choice))) => choice,
            (Op::TryLock { otherwise, .. }, Some(Answer::Failed(_)))
            | (Op::TryDown { otherwise, .. }, Some(Answer::Failed(_)))
            | (Op::RwTry { otherwise, .. }, Some(Answer::Failed(_))) => return Ok(otherwise),
            (Op::Value { .. }, Some(Answer::Value(value))) => return Ok(value),
            (
                Op::Down { address, .. } | Op::TryDown { address, .. },
                Some(Answer::Value(count)),
            ) => {
                // What is told is the explorer's; the count in memory may be another.
                self.synchronisation.semaphores.insert(address, count);
                0
            }
            (Op::Once { .. }, Some(Answer::Value(DONE))) => return Ok(0),
            (Op::Up { address }, Some(Answer::Value(count))) => {
                self.synchronisation.semaphores.insert(address, count);
                0
            }
            _ => 0,
        };
        match self.perform(me, choice)? {
            Then::GoesOn(result) => Ok(result),
            Then::Stands => Err(Fault::GaveUp(
                "internal error: an operation with a label has a second half".to_owned(),
            )),
        }
    }

    /// Returns what a thread that can be asked stands at.
    pub(super) fn label(&self, me: usize) -> Label {
        let Some(thread) = self.threads.get(me) else { return Label::Ended };
        match thread.state {
            State::Failed => Label::Failed,
            State::Assumed => Label::Assumed,
            State::Ready if self.is_over() => Label::Ended,
            State::Ready if thread.fault.is_some() => Label::Failed,
            State::Ready => thread.asked.label,
            State::Exited => Label::Exited,
            State::Absent | State::Parked | State::Finished => Label::Ended,
        }
    }
}
