//! What every shared object carries: where it was created, and its number in this execution.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;

use selvedge_core::{ObjectId, ViolationKind};

use super::arena::{self, Lies};
use super::engine::Engine;
use super::names::{Region, Where};
use super::operation::Spot;
use super::runtime::Runtime;

/// Bits of a stamp that are the object's number; the others are the execution's.
const NUMBER_BITS: u32 = 24;

/// The head of a shared object.
pub(crate) struct Header {
    /// Execution and number; 0 before its first use.
    stamp: Cell<u64>,
    pub(crate) created: Spot,
}

/// How to set something back that outlives an execution.
pub(crate) type Reset = Box<dyn FnOnce()>;

impl Header {
    pub(crate) const fn new(created: Spot) -> Self {
        Self { stamp: Cell::new(0), created }
    }

    /// The object's number. `restorer` says how to keep and restore its content if it is static.
    #[inline]
    pub(crate) fn object(
        &self,
        engine: &Engine,
        kind: &'static str,
        restorer: impl Fn() -> Restorer,
    ) -> ObjectId {
        let stamp = self.stamp.get();
        if stamp >> NUMBER_BITS == engine.rt().epoch {
            return ObjectId::new((stamp & ((1 << NUMBER_BITS) - 1)) as usize);
        }
        self.register(engine, kind, &restorer)
    }

    /// Another object that belongs to it.
    pub(crate) fn part(&self, engine: &Engine, kind: &'static str, part: u32) -> ObjectId {
        let rt = engine.rt();
        let place = Where { part, ..self.lies(rt).0 };
        rt.names.at(place, kind, self.created)
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
            rt.shared.claim_statics();
            match restorer().reset(self.stamp.get() == 0, &raw const *self as usize) {
                Ok(reset) => rt.resets.push(reset),
                Err(()) => self.refuse(engine, kind),
            }
        }
        let object = rt.names.at(place, kind, self.created);
        self.stamp.set((rt.epoch << NUMBER_BITS) | object.index() as u64);
        object
    }

    /// Where it lies, and whether it outlives an execution.
    fn lies(&self, rt: &Runtime) -> (Where, bool) {
        lies(rt, &raw const *self as usize)
    }

    #[cold]
    fn refuse(&self, engine: &Engine, kind: &'static str) -> ! {
        let message = format!(
            "this {kind} was created outside of the checked closure and owns memory, so it cannot be \
             set back between executions; create it inside, or make it a static"
        );
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
    let rt = engine.rt();
    let place = Where { part: ABOUT_CONTENT, ..lies(rt, address).0 };
    rt.names.at(place, kind, spot)
}

impl Runtime {
    /// An address as the same text in every execution and every run: whose memory, and where in it.
    pub(crate) fn address_text(&self, address: usize) -> String {
        if address == 0 {
            return "null".to_owned();
        }
        let place = lies(self, address).0;
        let (thread, memory) = match place.region {
            Region::Heap(thread) => (thread, ""),
            Region::Stack(thread) => (thread, "'s stack"),
            Region::Messages(_) | Region::Outside => return format!("{address:#x}"),
        };
        format!("{}{memory}+{:#x}", self.thread_name(thread as usize), place.offset)
    }

    /// A value as the same number in every execution, also if it is an address: what an execution leaves
    /// behind moves what the next one allocates, and stacks are used in any order.
    pub(crate) fn steady(&self, value: u64) -> u64 {
        const FIRST_PAGE: u64 = 4096;
        if value < FIRST_PAGE {
            return value;
        }
        let place = lies(self, value as usize).0;
        match place.region {
            Region::Heap(thread) => 1 << 63 | u64::from(thread) << 44 | place.offset,
            Region::Stack(thread) => 3 << 62 | u64::from(thread) << 44 | place.offset,
            Region::Messages(_) | Region::Outside => value,
        }
    }
}

/// Where an address lies, and whether what is there outlives an execution.
fn lies(rt: &Runtime, address: usize) -> (Where, bool) {
    match arena::locate(address) {
        Lies::In { thread, offset } => {
            return (Where { region: Region::Heap(thread as u32), offset, part: 0 }, false);
        }
        Lies::Kept => {
            return (Where { region: Region::Outside, offset: address as u64, part: 0 }, true);
        }
        Lies::Outside => {}
    }
    for (number, thread) in rt.threads.iter().enumerate() {
        if let Some(fiber) = &thread.fiber
            && (fiber.limit..fiber.base).contains(&address)
        {
            let offset = (fiber.base - address) as u64;
            return (Where { region: Region::Stack(number as u32), offset, part: 0 }, false);
        }
    }
    (Where { region: Region::Outside, offset: address as u64, part: 0 }, true)
}

/// How the content of an object that outlives an execution is set back.
pub(crate) enum Restorer {
    /// Like this.
    With(Reset),
    /// As the bytes that it had at first. `owns`: whether dropping it does something.
    Bytes { content: *mut u8, length: usize, drop: Reset, owns: bool },
}

/// The first contents of static data, by address.
static FIRST: Mutex<BTreeMap<usize, Box<[u8]>>> = Mutex::new(BTreeMap::new());

impl Restorer {
    /// What restores the content of a value that lies at `content`.
    ///
    /// # Safety
    /// The pointer is valid for as long as the execution may touch it, and nobody uses the value
    /// when the reset runs.
    pub(crate) unsafe fn of<T: ?Sized>(content: *mut T) -> Self {
        // SAFETY: the caller promises that the pointer is valid.
        let length = unsafe { size_of_val(&*content) };
        let drop: Box<dyn FnOnce() + '_> = Box::new(move || {
            // SAFETY: the caller promises that nobody uses the value.
            unsafe { std::ptr::drop_in_place(content) };
        });
        // SAFETY: only the lifetime changes; the caller promises that the pointer stays valid.
        let drop = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Reset>(drop) };
        let owns = std::mem::needs_drop::<T>();
        Restorer::Bytes { content: content.cast::<u8>(), length, drop, owns }
    }

    /// `pristine`: whether it was never used. An error: it is not known how to set it back.
    fn reset(self, pristine: bool, address: usize) -> Result<Reset, ()> {
        let (content, length, drop, owns) = match self {
            Restorer::With(reset) => return Ok(reset),
            Restorer::Bytes { content, length, drop, owns } => (content, length, drop, owns),
        };
        if owns && !super::image::is_static(address) {
            return Err(());
        }
        let mut first = FIRST.lock().map_err(|_| ())?;
        if pristine {
            // SAFETY: the value is valid and `length` bytes long. Static data is made by the
            // compiler and owns no memory, so that a copy of its bytes is a value too.
            let bytes = unsafe { std::slice::from_raw_parts(content, length) };
            first.insert(address, bytes.into());
        }
        Ok(Box::new(move || {
            drop();
            if let Ok(first) = FIRST.lock()
                && let Some(bytes) = first.get(&address)
            {
                // SAFETY: the value was just dropped, and nobody else uses it.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), content, length) };
            }
        }))
    }
}
