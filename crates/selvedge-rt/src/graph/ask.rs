//! Operations that are answered by an explorer of graphs.

use selvedge_core::{Answer, Bits, Label, Location, ObjectId, Order};

use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::labels::{NEVER, SAME};
use crate::operation::{Operation, Subject};
use crate::operations::Touch;
use crate::runtime::{Runtime, Way};

/// An operation as a label, with what only its thread knows.
pub struct Ask<'a> {
    /// What it is.
    pub label: Label,
    /// Whether a value ends it, if it waits.
    pub satisfies: &'a dyn Fn(Bits) -> bool,
    /// What it writes if it reads a value, if it updates.
    pub next: &'a dyn Fn(Bits) -> Bits,
}

impl Ask<'_> {
    /// One that neither waits nor updates.
    pub fn plain(label: Label) -> Self {
        Self { label, satisfies: &|_| false, next: &|bits| bits }
    }
}

impl<W: Hooks> Engine<W> {
    /// Returns whether operations are answered by an explorer of graphs.
    #[inline]
    pub fn asks(&self) -> bool {
        let rt = self.rt();
        rt.labels.is_some() && rt.now.way == Way::Announce
    }

    /// The location of an object. `initial`: its value, if this execution uses it for the first time.
    pub fn location(&self, object: ObjectId, initial: impl FnOnce() -> Bits) -> Location {
        let rt = self.rt();
        let labels = rt.labels.as_mut().expect("internal error: no explorer of graphs");
        labels.locate(object, rt.now.epoch, initial)
    }

    /// The running thread has an object for itself, and may write it without a step.
    pub fn lend(&self, object: ObjectId) {
        let rt = self.rt();
        if let Some(labels) = rt.labels.as_mut() {
            labels.lend(object, rt.now.epoch);
        }
    }

    /// Announces an operation and comes back when it is answered. `None`: what is left of the execution is run to its
    /// end, and the operation takes place in memory as it is.
    pub fn ask(
        &self,
        ask: &Ask<'_>,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Answer> {
        if let Some(answer) = self.told_silently(ask) {
            return Some(answer);
        }
        let rt = self.rt();
        let about = W::announces(rt);
        self.tell_blocks(spot);
        self.check_waiting_writers(ask.label);
        let rt = self.rt();
        let me = rt.now.current;
        rt.threads[me].operations += 1;
        rt.threads[me].spot = spot;
        rt.shared.beat();
        let answer = self.stand(ask, operation, spot);
        if let Some(answer) = answer {
            self.note_turn(ask, answer);
        }
        if answer.is_some()
            && let Some(fault) = W::chosen(self.rt(), about, spot)
        {
            self.stop(fault);
        }
        answer
    }

    /// The running thread took a lock for reading, or gave one up.
    pub fn reads_beside_others(&self, takes: bool) {
        let rt = self.rt();
        let reading = &mut rt.threads[rt.now.current].asked.reading;
        *reading = if takes { *reading + 1 } else { reading.saturating_sub(1) };
    }

    /// A reader-writer lock may let a writer that waits go before readers. That is not explored here: it matters if a
    /// thread waits while it reads.
    fn check_waiting_writers(&self, label: Label) {
        let rt = self.rt();
        let waits = matches!(label, Label::Lock(_) | Label::Await { .. } | Label::Join(_));
        let reads = rt.threads[rt.now.current].asked.reading > 0;
        if waits && reads && rt.shared.settings.writers_may_be_first {
            let name = rt.thread_name(rt.now.current);
            self.give_up_all(format!(
                "{name} waits while it holds a reader-writer lock for reading: that writers who wait go first is not \
                 explored under a memory model; say `rwlock_policy(RwLockPolicy::Readers)`, or \
                 `sequentially_consistent(true)` for none"
            ));
        }
    }

    /// The running thread reads a lock that others read, without waiting (`tries`), or waits to write a lock. As long as a
    /// writer waits, a try may fail: that is not explored here.
    pub fn check_tries(&self, lock: ObjectId, tries: bool) {
        let rt = self.rt();
        if !rt.shared.settings.writers_may_be_first {
            return;
        }
        let name = rt.names.stable(lock);
        let order = &mut *rt.shared.learned.lock_order.borrow_mut();
        let known = if tries { &mut order.tried } else { &mut order.written };
        known.insert(name);
        if order.tried.contains(&name) && order.written.contains(&name) {
            let lock = rt.object_name(lock);
            self.give_up_all(format!(
                "{lock} is read by `try_read` beside other readers, and written: that `try_read` may fail since a writer \
                 waits is not explored under a memory model; say `rwlock_policy(RwLockPolicy::Readers)`, or \
                 `sequentially_consistent(true)` for none"
            ));
        }
    }

    fn stand(
        &self,
        ask: &Ask<'_>,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Answer> {
        let rt = self.rt();
        rt.stand_at(operation, Subject::Both, spot);
        let asked = &mut rt.threads[rt.now.current].asked;
        (asked.label, asked.answer) = (ask.label, None);
        // SAFETY: only lifetimes change: they are called only while the thread stands there.
        unsafe {
            asked.satisfies = std::mem::transmute::<
                *const dyn Fn(Bits) -> bool,
                *const dyn Fn(Bits) -> bool,
            >(ask.satisfies);
            asked.next = std::mem::transmute::<
                *const dyn Fn(Bits) -> Bits,
                *const dyn Fn(Bits) -> Bits,
            >(ask.next);
        }
        self.suspend();
        let rt = self.rt();
        let asked = &mut rt.threads[rt.now.current].asked;
        (asked.satisfies, asked.next) = (NEVER, SAME);
        asked.answer.take()
    }

    /// Returns whether what the running thread has just written is the newest value, which real memory then has.
    pub fn is_newest(&self) -> bool {
        let rt = self.rt();
        rt.threads[rt.now.current].asked.newest
    }

    /// Returns whether a weak compare-exchange at `spot` may fail spuriously, once more.
    pub fn may_fail_without_reason(&self, spot: W::Spot) -> bool {
        let rt = self.rt();
        let whims = &rt.threads[rt.now.current].whims;
        let so_far = whims.iter().filter(|&&other| W::is_same(other, spot)).count();
        let may = so_far < rt.shared.settings.spurious.most as usize;
        if !may {
            rt.shared.settings.spurious.is_bounded.set(true);
        }
        may
    }

    /// It did.
    pub fn failed_without_reason(&self, spot: W::Spot) {
        let rt = self.rt();
        rt.threads[rt.now.current].whims.push(spot);
    }

    /// The code of the running thread came to its end.
    pub fn end_answered(&self, spot: W::Spot) {
        if self.asks() {
            self.ends_silently();
            self.tell_blocks(spot);
        }
    }

    /// Says what the running thread allocated and freed since its last operation.
    pub fn tell_blocks(&self, spot: W::Spot) {
        while self.asks() {
            let rt = self.rt();
            let (me, epoch) = (rt.now.current, rt.now.epoch);
            let asked = &mut rt.threads[me].asked;
            let labels = rt.labels.as_mut().expect("internal error: no explorer of graphs");
            if let Some(object) = asked.allocated.pop() {
                let spot = rt.names.created(object).unwrap_or(spot);
                // Unless it is what the next operation is about, its value is not known yet.
                let is_used = labels.is_used(object, epoch);
                let at = labels.locate(object, epoch, || 0);
                if !is_used {
                    labels.lend(object, epoch);
                }
                self.tell_block("create", object, at, spot);
            } else if let Some(object) = asked.freed.pop() {
                // One that was never answered has no value.
                let at = labels.locate(object, epoch, || 0);
                self.tell_block("free", object, at, spot);
            } else {
                return;
            }
        }
    }

    fn tell_block(&self, verb: &'static str, object: ObjectId, at: Location, spot: W::Spot) {
        let order = Some(Order::NonAtomic);
        let touch = Touch { object, mode: selvedge_core::Mode::Update, verb, order };
        self.stand(&Ask::plain(Label::Access { at, write: true }), &touch, spot);
    }
}

impl<W: Hooks> Runtime<W> {
    /// Returns whether an explorer of graphs answers operations.
    pub fn is_answered(&self) -> bool {
        self.labels.is_some()
    }

    /// Objects in a block that the running thread allocated: for others that is a write.
    pub fn note_allocated_objects(&mut self, objects: &[ObjectId]) {
        self.threads[self.now.current].asked.allocated.extend_from_slice(objects);
    }

    /// Objects in a block that the running thread freed: for others that is a write.
    pub fn note_freed_objects(&mut self, objects: &[ObjectId]) {
        self.threads[self.now.current].asked.freed.extend_from_slice(objects);
    }

    /// It turns out that their free is ordered by what is no step: it is not told, unless it was already.
    pub fn forget_freed_objects(&mut self, objects: &[ObjectId]) {
        self.threads[self.now.current].asked.freed.retain(|object| !objects.contains(object));
    }
}
