//! Where threads stand: what an operation touches, and whether its thread goes round in a loop that changes nothing.

use selvedge_core::{Fault, Mode, Order};
use smallvec::SmallVec;

use crate::layout::{self, Region};
use crate::machine::{Machine, State};
use crate::objects::{Ids, Object};
use crate::op::Op;
use crate::spin::{self, Look, Looks};

impl Machine {
    /// A thread accesses an atomic object. It is meant for others, also on the stack of its thread, which may wait for it to
    /// change before another one comes.
    #[inline]
    pub(crate) fn is_shared_atomic(&self, me: usize, address: usize, size: usize) -> bool {
        matches!(layout::region(address), Some((owner, Region::Stack)) if owner == me)
            || self.is_shared(me, address, size)
    }

    /// A thread accesses memory. Returns whether others can see that: a variable of the program, or memory of a thread
    /// that it does not keep to itself.
    #[inline]
    pub(crate) fn is_shared(&self, me: usize, address: usize, size: usize) -> bool {
        match layout::region(address) {
            Some((owner, Region::Stack)) if owner == me => {
                !self.shared.learned.is_own(address, size)
            }
            Some((owner, Region::Stack | Region::Tls)) if owner != me => {
                self.shared.learned.sees(address, size);
                true
            }
            Some(_) => true,
            None => self.shared.module.has_variable(address),
        }
    }

    /// Returns where the program calls, if a thread is in the standard library.
    #[inline]
    pub(crate) fn caller(&self, me: usize, pc: usize, frame: usize) -> usize {
        self.shared.module.caller(pc, frame, layout::stack(me))
    }

    /// Returns what a new thread does: the function, or what the standard library runs in it.
    pub(crate) fn body_of(&self, start: usize, argument: usize) -> usize {
        let block = match layout::region(argument) {
            Some((owner, Region::Heap)) => self.heap.before(owner, argument),
            _ => None,
        };
        let size = block.filter(|block| block.start == argument).map_or(0, |block| block.size);
        self.shared.module.body_of(start, argument, size)
    }

    /// The program asks for a weaker ordering than sequential consistency.
    pub(crate) fn note_weak(&mut self) {
        self.shared.doubts.borrow_mut().weak = true;
    }

    /// A thread now stands at an operation on these ranges of addresses.
    pub(crate) fn stands_at(&mut self, me: usize, op: Op, pc: usize, ranges: &[(usize, usize)]) {
        let mut objects = Ids::new();
        let mut blocks = Ids::new();
        let mut guest_of = None;
        let shared = &self.shared;
        let mut all = shared.objects.borrow_mut();
        for &(address, size) in ranges {
            let before = objects.len();
            if size > 0 && all.cells(address, size, &mut objects) {
                shared.learned.news.set(true);
            }
            if matches!(op, Op::Wait { .. }) {
                // One for the condition variable, and one for the mutex.
                objects.truncate(before + 1);
            }
            match layout::region(address) {
                Some((owner, Region::Heap)) => {
                    let block = self.heap.before(owner, address);
                    blocks.extend(block.map(|block| all.other(Object::Block(block.start))));
                }
                Some((owner, Region::Stack | Region::Tls)) if owner != me => guest_of = Some(owner),
                _ => {}
            }
        }
        drop(all);
        let thread = &mut self.threads[me];
        (thread.op, thread.pc, thread.objects, thread.blocks) = (op, pc, objects, blocks);
        thread.guest_of = guest_of;
    }

    /// A thread comes to an operation. Returns whether it goes round in a loop that changes nothing.
    pub(crate) fn comes_to(&mut self, me: usize, op: Op, pc: usize, frame: usize) -> bool {
        let written = self.threads[me].written.take();
        if let Some(look) = written {
            match self.value(look.what) == look.value {
                true => self.threads[me].turn.push(look),
                false => self.threads[me].turn.clear(),
            }
        }
        self.threads[me].state_there = None;
        let Some(what) = op.looks() else { return false };
        match op {
            Op::Access { how, .. } if !how.is_place_of_loop() => return false,
            Op::Unlock { .. } => return false,
            _ => {}
        }
        let thread = &mut self.threads[me];
        let is_here = |look: &&Look| look.pc == pc && look.what == what;
        if !thread.turn.iter().any(|look| is_here(&look)) {
            return false;
        }
        let state = spin::state(me, frame, thread.top);
        thread.state_there = state;
        if state.is_some() {
            self.shared.learned.compares(me, frame);
        }
        let thread = &mut self.threads[me];
        // Several turns before, if it goes through a few states and comes back.
        let is_same = |look: &Look| is_here(&look) && state.is_some() && look.state == state;
        let Some(earlier) = thread.turn.iter().rposition(is_same) else { return false };
        if !spin::leaves_mutexes(&thread.turn[earlier..]) {
            return false;
        }
        // What it looked at before does not matter.
        thread.turn.drain(..earlier);
        self.shared.learned.note_polled(&thread.turn);
        true
    }

    /// Notes what a step of a thread means for the loop that it may be in. Called before it runs.
    pub(crate) fn note_turn(&mut self, me: usize) {
        let thread = &self.threads[me];
        let Some(what) = thread.op.looks() else {
            if !matches!(thread.op, Op::Spin | Op::Fence { .. }) {
                self.threads[me].turn.clear();
            }
            return;
        };
        if let Looks::Taken(address) | Looks::GivenUp(address) = what {
            let state = thread.state_there;
            return self.note_turn_with_mutex(me, what, address, state);
        }
        if let Op::TryLock { address, .. } = thread.op {
            self.shared.learned.note_tried(address);
        }
        let looks_with = match thread.op {
            Op::TryLock { .. } => Mode::Probe,
            // To wait is no access that could race: the thread may have looked under a mutex.
            Op::Access { how, .. } if how.order() == Order::NonAtomic => Mode::Probe,
            _ => Mode::Read,
        };
        let objects = thread.objects.iter().map(|&object| (object, looks_with)).collect();
        let look = Look {
            pc: thread.pc,
            what,
            objects,
            value: self.value(what),
            state: thread.state_there,
        };
        let may_write = match thread.op {
            Op::Access { how, .. } => how.mode().writes(),
            Op::Compare { address, size, wanted, .. } => Self::finds(address, size, wanted),
            _ => self
                .mutex(match what {
                    Looks::Mutex(address)
                    | Looks::Memory { address, .. }
                    | Looks::Taken(address)
                    | Looks::GivenUp(address) => address,
                })
                .owner
                .is_none(),
        };
        let thread = &mut self.threads[me];
        match (may_write, thread.op) {
            (true, Op::TryLock { .. }) => thread.turn.clear(),
            (true, _) => thread.written = Some(look),
            (false, _) => thread.turn.push(look),
        }
        self.forget_old_looks(me);
    }

    fn forget_old_looks(&mut self, me: usize) {
        let most = self.shared.caps.looks;
        let turn = &mut self.threads[me].turn;
        if turn.len() > most {
            turn.drain(..most.div_ceil(2));
        }
    }

    /// A step of a thread takes a mutex or gives one up. Called before it runs.
    fn note_turn_with_mutex(
        &mut self,
        me: usize,
        what: Looks,
        address: usize,
        state: Option<u128>,
    ) {
        let owner = self.mutex(address).owner;
        let is_plain = match what {
            Looks::Taken(_) => owner.is_none(),
            _ => owner == Some(me),
        };
        let is_tried = self.shared.learned.is_tried(address);
        let thread = &mut self.threads[me];
        match is_plain && !is_tried {
            true => {
                let objects = SmallVec::new();
                thread.turn.push(Look { pc: thread.pc, what, objects, value: 0, state });
            }
            false => thread.turn.clear(),
        }
        self.forget_old_looks(me);
    }

    /// Takes the fault of a thread that failed.
    pub(crate) fn take_fault(&mut self, me: usize) -> Option<Fault> {
        let thread = &mut self.threads[me];
        if thread.state == State::Failed { thread.fault.take() } else { None }
    }
}
