//! What every shared object carries: where it was created, and its number in this execution.

use std::cell::Cell;

use selvedge_core::{ObjectId, ViolationKind};
use selvedge_rt::{Region, Where};

use super::address::lies;
use super::answered_blocks;
use super::arena::LARGEST;
use super::block::BLOCK;
use super::blocks::note_object;
use super::restore::{Refused, Restorer};
use super::state::{Engine, Runtime, Touching};
use crate::spot::Spot;

/// Bits of a stamp that are the object's number; the others are the execution's. With more objects the verdict is
/// inconclusive; after 2^40 executions of a process every use of an object looks it up by its place, which is only slower.
const NUMBER_BITS: u32 = 24;

/// The head of a shared object.
pub(crate) struct Header {
    /// Execution and number; 0 before its first use.
    stamp: Cell<u64>,
    /// The address that it had then. One that was moved is another object: only its owner knows it, and it may lie in a block now.
    at: Cell<usize>,
    pub(crate) created: Spot,
}

impl Header {
    pub(crate) const fn new(created: Spot) -> Self {
        Self { stamp: Cell::new(0), at: Cell::new(0), created }
    }

    /// The object's number. `restorer` says how to keep and restore its content if it is static.
    #[inline]
    pub(crate) fn object(
        &self,
        engine: &Engine,
        kind: &'static str,
        restorer: impl Fn() -> Restorer,
    ) -> ObjectId {
        self.touch(engine, kind);
        match self.stamped(engine.rt()) {
            Some(object) if self.at.get() == self.address() => object,
            _ => self.register(engine, kind, &restorer),
        }
    }

    /// Its number, if this execution has used it, be it where it was before.
    #[inline]
    fn stamped(&self, rt: &Runtime) -> Option<ObjectId> {
        let stamp = self.stamp.get();
        let number = (stamp & ((1 << NUMBER_BITS) - 1)) as usize;
        (stamp >> NUMBER_BITS == rt.now.epoch).then(|| ObjectId::new(number))
    }

    /// The next operation is about this object.
    #[inline]
    fn touch(&self, engine: &Engine, kind: &'static str) {
        let touching = &mut engine.rt().now.own.touching;
        *touching = [self.touching(kind), touching[0]];
    }

    #[inline]
    pub(crate) fn touching(&self, kind: &'static str) -> Touching {
        Touching { address: self.address(), kind, created: Some(self.created) }
    }

    #[inline]
    fn address(&self) -> usize {
        &raw const *self as usize
    }

    /// Another object that belongs to it, which is `owner`.
    pub(crate) fn part(
        &self,
        engine: &Engine,
        owner: ObjectId,
        kind: &'static str,
        part: u32,
    ) -> ObjectId {
        engine.rt().names.part(owner, part, kind, self.created)
    }

    #[cold]
    fn register(
        &self,
        engine: &Engine,
        kind: &'static str,
        restorer: &dyn Fn() -> Restorer,
    ) -> ObjectId {
        let rt = engine.rt();
        let (place, outlives) = self.lies(rt);
        if outlives {
            self.outlives(engine, kind, restorer());
        }
        let object = match self.stamped(rt) {
            Some(from) => rt.names.enter_moved(place, from),
            None => rt.names.enter(place, kind, self.created),
        };
        if object.index() >> NUMBER_BITS != 0 {
            engine.give_up(format!("there are more than {} shared objects", 1 << NUMBER_BITS));
        }
        self.stamp.set((rt.now.epoch << NUMBER_BITS) | object.index() as u64);
        self.at.set(self.address());
        if matches!(place.region, Region::Heap(_)) {
            note_object(rt, self.address(), object);
            answered_blocks::note_object(rt, self.address(), kind, self.created);
        }
        object
    }

    /// Sees to it that the object is set back after the execution.
    #[cold]
    fn outlives(&self, engine: &Engine, kind: &'static str, restorer: Restorer) {
        let rt = engine.rt();
        let address = self.address();
        if rt.now.own.resets.iter().any(|reset| reset.covers(address)) {
            return;
        }
        let is_static = super::image::is_static(address);
        if !is_static && rt.known.iter().any(|known| known.home.is_elsewhere()) {
            // It may lie there, and be freed before the execution is over.
            engine.give_up(format!(
                "this {kind} may be part of a block of more than {} MiB, or there is no memory for more \
                 blocks: such a block is not the same in every execution (created at {})",
                LARGEST >> 20,
                self.created
            ));
        }
        rt.shared.claim_statics();
        let mut firsts = rt.shared.firsts.borrow_mut();
        match restorer.reset(self.stamp.get() == 0, address, is_static, &mut firsts) {
            Ok(reset) => rt.now.own.resets.push(reset),
            Err(why) => {
                drop(firsts);
                self.refuse(engine, kind, why);
            }
        }
    }

    /// Where it lies, and whether it outlives an execution.
    fn lies(&self, rt: &Runtime) -> (Where, bool) {
        lies(rt, self.address())
    }

    #[cold]
    fn refuse(&self, engine: &Engine, kind: &'static str, why: Refused) -> ! {
        let message = match why {
            Refused::Outside => format!(
                "this {kind} was created outside of the checked closure and owns memory, so it cannot be \
                 set back between executions; create it inside, or make it a static"
            ),
            Refused::MadeLater => format!(
                "this {kind} lies in a static, but was made at run time and owns memory, so it cannot be \
                 set back between executions; is it part of a `LazyLock` or `OnceLock` of `std`? Those of \
                 `selvedge::sync` are made anew in every execution"
            ),
        };
        engine.fail(ViolationKind::Misuse, message, &[self.created])
    }
}

/// The object that stands for something about the content at an address.
pub(crate) fn content_object(
    engine: &Engine,
    address: usize,
    kind: &'static str,
    spot: Spot,
) -> ObjectId {
    const ABOUT_CONTENT: u32 = u32::MAX;
    object_at(engine, address, ABOUT_CONTENT, kind, spot)
}

/// The object that stands for the block that begins at an address.
pub(super) fn block_object(engine: &Engine, address: usize, spot: Spot) -> ObjectId {
    object_at(engine, address, BLOCK, "block", spot)
}

fn object_at(
    engine: &Engine,
    address: usize,
    part: u32,
    kind: &'static str,
    spot: Spot,
) -> ObjectId {
    let rt = engine.rt();
    let place = Where { part, ..lies(rt, address).0 };
    rt.names.at(place, kind, spot)
}
