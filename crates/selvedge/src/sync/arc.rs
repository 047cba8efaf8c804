//! Reference counts.
//!
//! Counts are not part of the search unless they matter: that is, unless someone looks at them, or
//! dropping the last reference does something visible. Which contents those are is learned while the
//! code runs; then the search starts again, and the counts of these are objects like others.

mod content;
mod convert;
mod weak;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc as Std;

use selvedge_core::{Label, Mode, ObjectId, Order};

use crate::rt::blocks::give_up_reference;
use crate::rt::counted::{is_counted, last_drop, learn};
use crate::rt::knowers::{Passed, is_known};
use crate::rt::object::content_object;
use crate::rt::{Ask, Compare, Engine, Observed, Spot, Touch};

pub use weak::Weak;

/// A shared reference that counts, as [`std::sync::Arc`]; one that is never dropped is a leak.
///
/// Two things only the compiler can give to an `Arc`: methods with `self: Arc<Self>`, and turning
/// an `Arc<T>` into an `Arc<dyn Trait>` by itself. For the latter there are [`Arc::from_std`] and
/// `Arc::from(Box<dyn Trait>)`.
pub struct Arc<T: ?Sized> {
    inner: ManuallyDrop<Std<T>>,
    /// Where this reference was made, and where the first one was.
    spot: Spot,
    made: Spot,
}

/// From now on the count of this content matters.
fn learn_of<T: ?Sized>() {
    if let Some(engine) = Engine::try_enter() {
        learn(engine.rt(), std::any::type_name::<T>());
    }
}

/// Both counts as one number. Once nothing keeps the content, its weak references are indistinguishable.
fn packed(strong: usize, weak: usize) -> u64 {
    if strong == 0 { 0 } else { (strong as u64) << 32 | weak as u64 }
}

fn unpacked(counts: u64) -> (u64, u64) {
    (counts >> 32, counts & u64::from(u32::MAX))
}

/// What a step adds to the counts.
const STRONG: i64 = 1 << 32;
const WEAK: i64 = 1;

/// A content whose references are counted.
struct Counted<'a, T: ?Sized> {
    content: *const T,
    /// Where its first reference was made.
    made: Spot,
    counts: &'a dyn Fn() -> u64,
}

impl<T: ?Sized> Counted<'_, T> {
    /// A step that changes the counts, if they matter.
    fn change(&self, by: i64, mode: Mode, verb: &'static str, spot: Spot) {
        if let Some(engine) = Engine::try_enter()
            && is_counted::<T>(engine.rt())
        {
            let object = match engine.asks() {
                true => self.ask_change(&engine, by, mode, verb, spot),
                false => self.touch(&engine, mode, verb, spot),
            };
            self.saw(&engine, object, by);
        }
    }

    /// The content is there, under a memory model: weak references that were made before can be upgraded from now on, and see
    /// all of it.
    fn begin(&self, spot: Spot) {
        if let Some(engine) = Engine::try_enter()
            && is_counted::<T>(engine.rt())
            && engine.asks()
        {
            let object = self.object(&engine);
            let touch = Touch { object, mode: Mode::Up, verb: "Arc::new_cyclic", order: None };
            let next = |counts: u64| counts.wrapping_add_signed(STRONG);
            engine.word(object, (self.counts)()).update(Order::Release, &next, &touch, spot);
        }
    }

    /// A step that changes the counts, under a memory model: as `std` orders it.
    fn ask_change(
        &self,
        engine: &Engine,
        by: i64,
        mode: Mode,
        verb: &'static str,
        spot: Spot,
    ) -> ObjectId {
        let object = self.object(engine);
        let touch = Touch { object, mode, verb, order: None };
        let order = if by > 0 { Order::Relaxed } else { Order::Release };
        let next = |counts: u64| counts.wrapping_add_signed(by);
        let word = engine.word(object, (self.counts)());
        let found = word.update(order, &next, &touch, spot);
        // Who drops the last one sees all that others did with it.
        if by < 0 && found.is_some_and(|found| unpacked(next(found)).0 == 0) {
            engine.ask(&Ask::plain(Label::Fence(Order::Acquire)), &touch, spot);
        }
        object
    }

    /// A look at the counts: from now on they matter. `mode`: what depends on them. `by`: what the thread that
    /// finds them like this adds. Returns the counts, if a memory model decides what a thread that only reads them sees.
    fn look(
        &self,
        mode: Mode,
        verb: &'static str,
        spot: Spot,
        by: fn(strong: u64, weak: u64) -> i64,
    ) -> Option<(usize, usize)> {
        let engine = Engine::try_enter()?;
        learn(engine.rt(), std::any::type_name::<T>());
        let mut seen = None;
        let object = match engine.asks() {
            true if mode == Mode::Update => self.ask_look(&engine, verb, spot, by),
            true => {
                let object = self.object(&engine);
                let touch = Touch { object, mode, verb, order: None };
                seen = engine.word(object, (self.counts)()).load(Order::Relaxed, &touch, spot);
                object
            }
            // A look alone orders nothing in `std`.
            false if mode == Mode::Read => {
                engine.rt().shared.weak.set(true);
                self.touch_as(&engine, mode, verb, Some(Order::Relaxed), spot)
            }
            false => self.touch(&engine, mode, verb, spot),
        };
        let (strong, weak) = unpacked((self.counts)());
        self.saw(&engine, object, by(strong, weak));
        seen.map(|counts| {
            let (strong, weak) = unpacked(counts);
            (strong as usize, weak as usize)
        })
    }

    /// Keeps the content if it is still there, under a memory model. Returns whether it is.
    fn ask_upgrade(&self, engine: &Engine, upgrade: &Compare<'_>, spot: Spot) -> bool {
        let is_alive = |counts| unpacked(counts).0 > 0;
        let next = |counts: u64| counts.wrapping_add_signed(STRONG);
        let word = engine.word(upgrade.object, (self.counts)());
        let orders = (Order::Acquire, Order::Relaxed);
        match word.attempt(orders, &is_alive, &next, upgrade, spot) {
            Some(found) => found.is_ok(),
            None => is_alive((self.counts)()),
        }
    }

    /// A read of the counts, under a memory model: a thread that finds itself the only owner sees all that others did.
    fn ask_look(
        &self,
        engine: &Engine,
        verb: &'static str,
        spot: Spot,
        by: fn(strong: u64, weak: u64) -> i64,
    ) -> ObjectId {
        let object = self.object(engine);
        let touch = Touch { object, mode: Mode::Update, verb, order: None };
        let next = |counts: u64| {
            let (strong, weak) = unpacked(counts);
            counts.wrapping_add_signed(by(strong, weak))
        };
        engine.word(object, (self.counts)()).update(Order::Acquire, &next, &touch, spot);
        object
    }

    fn touch(&self, engine: &Engine, mode: Mode, verb: &'static str, spot: Spot) -> ObjectId {
        self.touch_as(engine, mode, verb, None, spot)
    }

    fn touch_as(
        &self,
        engine: &Engine,
        mode: Mode,
        verb: &'static str,
        order: Option<Order>,
        spot: Spot,
    ) -> ObjectId {
        let object = self.object(engine);
        engine.visible(&Touch { object, mode, verb, order }, spot);
        object
    }

    fn object(&self, engine: &Engine) -> ObjectId {
        content_object(engine, self.content.cast::<u8>() as usize, "Arc", self.made)
    }

    /// For threads that wait in a loop for a change.
    fn saw(&self, engine: &Engine, object: ObjectId, by: i64) {
        let found = (self.counts)();
        let now = found.saturating_add_signed(by);
        let now = if now >> 32 == 0 { 0 } else { now };
        engine.observed(object, Observed::Value { look: Mode::Read, found, left: now });
    }
}

impl<T> Arc<T> {
    /// Returns the first reference to `value`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        if let Some(engine) = Engine::try_enter() {
            Passed::of(&value).leaves(engine.rt());
        }
        Self::tracked(Std::new(value), Location::caller())
    }

    /// Returns the first reference to `value`, pinned.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Self> {
        let new = Self::new(value);
        // SAFETY: the value stays where it is until the last reference is dropped.
        unsafe { Pin::new_unchecked(new) }
    }

    /// Returns a value that holds a weak reference to itself.
    #[track_caller]
    pub fn new_cyclic(make: impl FnOnce(&Weak<T>) -> T) -> Self {
        let spot = Location::caller();
        let new = Std::new_cyclic(|weak| make(&Weak::of(weak.clone(), spot, spot)));
        let new = Self::tracked(new, spot);
        let counts = || counts_of(&new.inner);
        Counted { content: new.pointer(), made: spot, counts: &counts }.begin(spot);
        new
    }

    /// Returns the value, if this is the only reference.
    ///
    /// # Errors
    /// Itself, if it is not.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        // If it succeeds, nothing is left for weak references.
        let by = |strong, _| if strong == 1 { -STRONG } else { 0 };
        this.look(Mode::Update, "Arc::try_unwrap", Location::caller(), by);
        let (spot, made, address) = (this.spot, this.made, this.address());
        let value =
            Std::try_unwrap(this.into_std()).map_err(|inner| Self::of(inner, spot, made))?;
        freed(address);
        Ok(value)
    }

    /// Returns the value, if this is the only reference.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let spot = Location::caller();
        learn_of::<T>();
        this.change(-STRONG, Mode::Update, "Arc::into_inner", spot);
        let address = this.address();
        let value = Std::into_inner(this.into_std())?;
        freed(address);
        Some(value)
    }

    /// Returns the value, to change it: of this reference alone, if need be a copy.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T
    where
        T: Clone,
    {
        let spot = Location::caller();
        // If only weak references are left, the value is taken away from them.
        let by = |strong, weak| if strong == 1 && weak > 0 { -STRONG } else { 0 };
        this.look(Mode::Update, "Arc::make_mut", spot, by);
        if Std::strong_count(&this.inner) > 1 {
            *this = Self::tracked(Std::new((**this).clone()), spot);
        }
        let before = this.address();
        let value = Std::make_mut(&mut this.inner);
        let after = &raw const *value as usize;
        // Weak references keep the old place, and the value is moved to a new one.
        if before != after {
            freed(before);
            track(after, spot);
        }
        value
    }

    /// Returns the value, or a copy of it.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    /// Returns the same as a reference of `std`, for contents of unknown size. It should be the only one:
    /// what is done with others is not seen.
    #[track_caller]
    pub fn from_std(inner: Std<T>) -> Self {
        Self::tracked(inner, Location::caller())
    }

    /// Returns a pointer that keeps the reference.
    pub fn into_raw(this: Self) -> *const T {
        Std::into_raw(this.into_std())
    }

    /// Returns the reference that [`Arc::into_raw`] kept.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::from_raw`].
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let address = pointer.cast::<u8>() as usize;
        if let Some(engine) = Engine::try_enter()
            && is_known(engine.rt(), address)
        {
            // Who has the address from an atomic need not keep a reference: the content may be gone.
            learn(engine.rt(), std::any::type_name::<T>());
        }
        // SAFETY: the caller promises that it came from `into_raw`.
        let inner = unsafe { Std::from_raw(pointer) };
        let spot = Location::caller();
        Self::of(inner, spot, made_at(address).unwrap_or(spot))
    }

    /// One more reference to what [`Arc::into_raw`] gave.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::increment_strong_count`].
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller promises that it came from `into_raw`; the reference is not dropped.
        let shared = ManuallyDrop::new(unsafe { Self::from_raw(pointer) });
        shared.change(STRONG, Mode::Up, "Arc::clone", Location::caller());
        // SAFETY: the caller promises that it came from `into_raw`.
        unsafe { Std::increment_strong_count(pointer) };
    }

    /// One reference less to what [`Arc::into_raw`] gave.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::decrement_strong_count`].
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller promises that it came from `into_raw`.
        drop(unsafe { Self::from_raw(pointer) });
    }

    fn tracked(inner: Std<T>, spot: Spot) -> Self {
        let new = Self::of(inner, spot, spot);
        track(new.address(), spot);
        new
    }

    fn of(inner: Std<T>, spot: Spot, made: Spot) -> Self {
        Self { inner: ManuallyDrop::new(inner), spot, made }
    }

    fn look(
        &self,
        mode: Mode,
        verb: &'static str,
        spot: Spot,
        by: fn(u64, u64) -> i64,
    ) -> Option<(usize, usize)> {
        let counts = || counts_of(&self.inner);
        Counted { content: self.pointer(), made: self.made, counts: &counts }
            .look(mode, verb, spot, by)
    }

    #[inline]
    fn change(&self, by: i64, mode: Mode, verb: &'static str, spot: Spot) {
        let counts = || counts_of(&self.inner);
        let counted = Counted { content: self.pointer(), made: self.made, counts: &counts };
        counted.change(by, mode, verb, spot);
    }

    /// The same reference, and not counted as dropped.
    fn into_std(self) -> Std<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the reference is taken out once.
        unsafe { ManuallyDrop::take(&mut this.inner) }
    }

    fn pointer(&self) -> *const T {
        Std::as_ptr(&self.inner)
    }

    fn address(&self) -> usize {
        self.pointer().cast::<u8>() as usize
    }

    /// Returns how many references there are.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        let seen = this.look(Mode::Read, "Arc::strong_count", Location::caller(), |_, _| 0);
        seen.map_or_else(|| Std::strong_count(&this.inner), |(strong, _)| strong)
    }

    /// Returns how many weak references there are.
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        let seen = this.look(Mode::Read, "Arc::weak_count", Location::caller(), |_, _| 0);
        seen.map_or_else(|| Std::weak_count(&this.inner), |(_, weak)| weak)
    }

    /// Returns the value, if this is the only reference.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.look(Mode::Update, "Arc::get_mut", Location::caller(), |_, _| 0);
        Std::get_mut(&mut this.inner)
    }

    /// Returns whether both refer to the same value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Std::ptr_eq(&this.inner, &other.inner)
    }

    /// Where the value is.
    pub fn as_ptr(this: &Self) -> *const T {
        this.pointer()
    }

    /// Returns a weak reference.
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        let spot = Location::caller();
        this.change(WEAK, Mode::Up, "Arc::downgrade", spot);
        Weak::of(Std::downgrade(&this.inner), spot, this.made)
    }
}

fn track(address: usize, spot: Spot) {
    if let Some(engine) = Engine::try_enter() {
        engine.rt().now.leaks.add(address, "an Arc", spot);
    }
}

fn counts_of<T: ?Sized>(inner: &Std<T>) -> u64 {
    packed(Std::strong_count(inner), Std::weak_count(inner))
}

/// Where the first reference to the content at an address was made.
fn made_at(address: usize) -> Option<Spot> {
    Engine::try_enter()?.rt().now.leaks.made_at(address)
}

/// A reference goes, maybe without a step: what it refers to is not freed before.
fn give_up<T: ?Sized>(address: usize) {
    if let Some(engine) = Engine::try_enter()
        && !is_counted::<T>(engine.rt())
    {
        give_up_reference(engine.rt(), address);
    }
}

fn freed(address: usize) {
    if let Some(engine) = Engine::try_enter() {
        engine.rt().now.leaks.remove(address);
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let spot = Location::caller();
        self.change(STRONG, Mode::Up, "Arc::clone", spot);
        Self::of(Std::clone(&self.inner), spot, self.made)
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        let checked = Engine::try_enter().is_some();
        self.change(-STRONG, Mode::Update, "Arc::drop", self.spot);
        // SAFETY: it is dropped once.
        let inner = unsafe { ManuallyDrop::take(&mut self.inner) };
        if !checked {
            return;
        }
        let pointer = Std::as_ptr(&inner);
        give_up::<T>(pointer.cast::<u8>() as usize);
        if Std::strong_count(&inner) > 1 {
            return;
        }
        freed(pointer.cast::<u8>() as usize);
        last_drop::<T>(|| drop(inner));
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer(), f)
    }
}

impl<T: ?Sized + std::error::Error> std::error::Error for Arc<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}
