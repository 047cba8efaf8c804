//! Cells whose accesses are seen: two that conflict and are not ordered are a data race.
//!
//! ```
//! use selvedge::cell::UnsafeCell;
//! use selvedge::sync::Arc;
//! use selvedge::{Builder, ViolationKind, thread};
//!
//! struct Slot(UnsafeCell<u32>);
//! // SAFETY: a mistake: nothing keeps two threads from using it at the same time.
//! unsafe impl Sync for Slot {}
//!
//! let outcome = Builder::new().explore(|| {
//!     let slot = Arc::new(Slot(UnsafeCell::new(0)));
//!     let other = Arc::clone(&slot);
//!     let writer = thread::spawn(move || other.0.with_mut(|value| unsafe { *value = 1 }));
//!     slot.0.with(|value| unsafe { *value });
//!     writer.join().unwrap();
//! });
//! assert_eq!(outcome.kinds(), [ViolationKind::DataRace]);
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::panic::Location;

use selvedge_core::{Label, Mode, ObjectId, Order, ValueChange, ViolationKind};

use crate::rt::{Ask, Engine, Header, Observed, Open, Restorer, Spot, Touch, Touching, shown};

/// A cell that can be changed through a shared reference, as [`std::cell::UnsafeCell`], but with
/// accesses that begin and end.
pub struct UnsafeCell<T: ?Sized> {
    header: Header,
    value: std::cell::UnsafeCell<T>,
}

// SAFETY: as for the cell of `std`.
unsafe impl<T: ?Sized + Send> Send for UnsafeCell<T> {}

impl<T> UnsafeCell<T> {
    /// Creates one with this value.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { header: Header::new(Location::caller()), value: std::cell::UnsafeCell::new(value) }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    fn object(&self, engine: &Engine, kind: &'static str) -> ObjectId {
        self.header.object(engine, kind, || {
            // SAFETY: the value lies in the cell, which outlives the execution, and no thread is left
            // when it is set back.
            unsafe { Restorer::of(self.value.get()) }
        })
    }

    fn touch(&self, kind: &'static str, mode: Mode, spot: Spot) -> ObjectId {
        let engine = Engine::enter();
        let object = self.object(&engine, kind);
        touch(&engine, object, mode, spot);
        engine.note_values(object, |_| {
            let before = self.shown();
            ValueChange { after: before.clone().filter(|_| mode == Mode::Read), before }
        });
        object
    }

    /// In replays: what the step that just ended left.
    fn note_left(&self, object: ObjectId) {
        if let Some(engine) = Engine::try_enter() {
            engine.note_values(object, |_| ValueChange { before: None, after: self.shown() });
        }
    }

    fn shown(&self) -> Option<String> {
        shown::<T>(self.value.get().cast::<u8>() as usize)
    }

    /// Calls `f` with a pointer to read through.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let access = self.get();
        f(access.pointer)
    }

    /// Calls `f` with a pointer to read and write through.
    #[inline]
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let access = self.get_mut();
        let (object, result) = (access.access.object, f(access.pointer));
        drop(access);
        self.note_left(object);
        result
    }

    /// Returns a pointer to read through, for as long as the result lives.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        let spot = Location::caller();
        let object = self.touch("UnsafeCell", Mode::Read, spot);
        let access = Access::begin(object, self.touching(), Mode::Read, spot);
        ConstPtr { pointer: self.value.get(), access }
    }

    /// Returns a pointer to read and write through, for as long as the result lives.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        let spot = Location::caller();
        let object = self.touch("UnsafeCell", Mode::Update, spot);
        let access = Access::begin(object, self.touching(), Mode::Update, spot);
        MutPtr { pointer: self.value.get(), access }
    }

    fn touching(&self) -> Touching {
        self.header.touching("UnsafeCell")
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// An access that continues until it is dropped. If its thread did something visible meanwhile, it
/// counts as a second access at its end: otherwise what happened in between would not conflict.
struct Access {
    object: ObjectId,
    touching: Touching,
    mode: Mode,
    spot: Spot,
    operations: u64,
}

impl Access {
    fn begin(object: ObjectId, touching: Touching, mode: Mode, spot: Spot) -> Self {
        if let Some(engine) = Engine::try_enter()
            && engine.rt().shared.exclusive_cells
        {
            open(&engine, Open { object, writes: mode != Mode::Read, spot });
        }
        Self { object, touching, mode, spot, operations: operations() }
    }

    /// It no longer keeps others away.
    fn close(&self) {
        let Some(engine) = Engine::try_enter() else { return };
        let open = &mut engine.rt().now.own.open;
        let is_this = |it: &Open| it.object == self.object && std::ptr::eq(it.spot, self.spot);
        if let Some(this) = open.iter().rposition(is_this) {
            open.remove(this);
        }
    }
}

/// An access begins that may not overlap with another if one of them writes.
fn open(engine: &Engine, access: Open) {
    let open = &mut engine.rt().now.own.open;
    let conflicts = |it: &&Open| it.object == access.object && (it.writes || access.writes);
    if let Some(other) = open.iter().find(conflicts)
        && !crate::rt::is_unwinding()
    {
        let name = engine.rt().object_name(access.object);
        let is = |open: &Open| if open.writes { "write to" } else { "read of" };
        let (this, that) = (is(&access), is(other));
        let message = format!("a {this} {name} begins before a {that} it has ended");
        engine.fail(ViolationKind::Misuse, message, &[access.spot, other.spot]);
    }
    open.push(access);
}

/// An access to a cell as a step of its own.
fn touch(engine: &Engine, object: ObjectId, mode: Mode, spot: Spot) {
    let verb = if mode == Mode::Read { "read" } else { "write" };
    let touch = Touch { object, mode, verb, order: Some(Order::NonAtomic) };
    match engine.asks() {
        true => {
            let at = engine.location(object, || 0);
            engine.ask(&Ask::plain(Label::Access { at, write: mode != Mode::Read }), &touch, spot);
        }
        false => _ = engine.visible(&touch, spot),
    }
    // A spin loop looks at it without reading it: that is no race.
    match mode {
        Mode::Read => engine.observed(object, Observed::Looked(Mode::Probe)),
        _ => engine.observed(object, Observed::Changed(Mode::Probe)),
    }
}

/// Returns how many visible operations the running thread did so far.
fn operations() -> u64 {
    Engine::try_enter().map_or(0, |engine| {
        let rt = engine.rt();
        rt.threads[rt.now.current].operations
    })
}

impl Drop for Access {
    fn drop(&mut self) {
        self.close();
        let now = operations();
        if now != 0
            && now != self.operations
            && !crate::rt::is_unwinding()
            && let Some(engine) = Engine::try_enter()
        {
            engine.rt().now.own.touching[0] = self.touching;
            touch(&engine, self.object, self.mode, self.spot);
        }
    }
}

/// A pointer to read through.
pub struct ConstPtr<T: ?Sized> {
    pointer: *const T,
    #[allow(dead_code, reason = "what matters is when it is dropped")]
    access: Access,
}

impl<T: ?Sized> ConstPtr<T> {
    /// Calls `f` with the pointer.
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.pointer)
    }

    /// Returns the value.
    ///
    /// # Safety
    /// As for reading through a pointer.
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller promises that no thread writes.
        unsafe { &*self.pointer }
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pointer.fmt(f)
    }
}

/// A pointer to read and write through.
pub struct MutPtr<T: ?Sized> {
    pointer: *mut T,
    #[allow(dead_code, reason = "what matters is when it is dropped")]
    access: Access,
}

impl<T: ?Sized> MutPtr<T> {
    /// Calls `f` with the pointer.
    pub fn with<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.pointer)
    }

    /// Returns the value.
    ///
    /// # Safety
    /// As for writing through a pointer.
    #[allow(clippy::mut_from_ref, reason = "the name and type that users of loom know")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller promises that nothing else uses the value.
        unsafe { &mut *self.pointer }
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pointer.fmt(f)
    }
}

/// A cell whose value is copied or moved in and out, as [`std::cell::Cell`].
pub struct Cell<T: ?Sized> {
    cell: UnsafeCell<T>,
}

impl<T> Cell<T> {
    /// Creates one with this value.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { cell: UnsafeCell::new(value) }
    }

    /// Returns a copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.cell.touch("Cell", Mode::Read, Location::caller());
        // SAFETY: all threads of checked code run one at a time, and no reference into it is given out.
        unsafe { *self.cell.value.get() }
    }

    /// Writes the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.swap_in(value, Location::caller()));
    }

    /// Writes the value; returns the previous one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        self.swap_in(value, Location::caller())
    }

    fn swap_in(&self, value: T, spot: Spot) -> T {
        let object = self.cell.touch("Cell", Mode::Update, spot);
        // SAFETY: all threads of checked code run one at a time, and no reference into it is given out.
        let old = unsafe { std::ptr::replace(self.cell.value.get(), value) };
        self.cell.note_left(object);
        old
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Replaces the value by what `f` makes of it: a read and a write.
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T)
    where
        T: Copy,
    {
        self.set(f(self.get()));
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if !std::ptr::eq(self, other) {
            self.cell.touch("Cell", Mode::Update, Location::caller());
            other.cell.touch("Cell", Mode::Update, Location::caller());
            // SAFETY: two different cells, and no reference into either is given out.
            unsafe { std::ptr::swap(self.cell.value.get(), other.cell.value.get()) };
        }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.cell.into_inner()
    }
}

impl<T: ?Sized> Cell<T> {
    /// Returns the value, which the exclusive borrow protects.
    pub fn get_mut(&mut self) -> &mut T {
        self.cell.value.get_mut()
    }

    /// Returns a pointer to the value. What is done through it is not seen.
    pub fn as_ptr(&self) -> *mut T {
        self.cell.value.get()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl<T: Copy + PartialEq> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Cell<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match crate::rt::may_step_to_show() {
            true => self.get(),
            // SAFETY: all threads of checked code run one at a time, and no reference into it is given out.
            false => unsafe { *self.cell.value.get() },
        };
        f.debug_struct("Cell").field("value", &value).finish()
    }
}
