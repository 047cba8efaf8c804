//! References that do not keep the value.

use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::Weak as Std;

use selvedge_core::Mode;

use super::{Arc, Counted, STRONG, WEAK, give_up, learn, made_at, packed};
use crate::rt::{Compare, Engine, Spot};

/// A reference that does not keep the value, as [`std::sync::Weak`].
pub struct Weak<T: ?Sized> {
    inner: ManuallyDrop<Std<T>>,
    /// Where this reference was made, and where the first one to the value was.
    spot: Spot,
    made: Spot,
}

impl<T> Weak<T> {
    /// Refers to nothing.
    #[track_caller]
    pub const fn new() -> Self {
        let spot = Location::caller();
        Self { inner: ManuallyDrop::new(Std::new()), spot, made: spot }
    }
}

impl<T: ?Sized> Weak<T> {
    pub(super) fn of(inner: Std<T>, spot: Spot, made: Spot) -> Self {
        Self { inner: ManuallyDrop::new(inner), spot, made }
    }

    /// Returns a reference that keeps the value, if it is still there.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let spot = Location::caller();
        if let Some(engine) = Engine::try_enter()
            && !self.is_dangling()
        {
            learn(engine.rt(), std::any::type_name::<T>());
            let counts = || self.counts();
            let counted = self.counted(&counts);
            let object = counted.object(&engine);
            let alive = || self.inner.strong_count() > 0;
            let verb = "Weak::upgrade";
            let upgrade = Compare { object, writes: &alive, verb, order: None, failure: None };
            let is_alive = match engine.asks() {
                true => counted.ask_upgrade(&engine, &upgrade, spot),
                false => {
                    engine.visible(&upgrade, spot);
                    alive()
                }
            };
            counted.saw(&engine, object, if is_alive { STRONG } else { 0 });
            if !is_alive {
                return None;
            }
        }
        self.inner.upgrade().map(|inner| Arc::of(inner, spot, self.made))
    }

    /// Returns how many references keep the value.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        let seen = self.look("Weak::strong_count", Location::caller());
        seen.map_or_else(|| self.inner.strong_count(), |(strong, _)| strong)
    }

    /// Returns how many weak references there are; none if nothing keeps the value.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        let seen = self.look("Weak::weak_count", Location::caller());
        seen.map_or_else(
            || self.inner.weak_count(),
            |(strong, weak)| if strong == 0 { 0 } else { weak },
        )
    }

    /// Returns whether both refer to the same value.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.inner.ptr_eq(&other.inner)
    }

    /// Where the value is, or was.
    pub fn as_ptr(&self) -> *const T {
        self.inner.as_ptr()
    }

    /// Returns a pointer that keeps the weak reference.
    pub fn into_raw(self) -> *const T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the reference is taken out once.
        unsafe { ManuallyDrop::take(&mut this.inner) }.into_raw()
    }

    /// Returns the weak reference that [`Weak::into_raw`] kept.
    ///
    /// # Safety
    /// As for [`std::sync::Weak::from_raw`].
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller promises that it came from `into_raw`.
        let inner = unsafe { Std::from_raw(pointer) };
        let spot = Location::caller();
        Self::of(inner, spot, made_at(pointer.cast::<u8>() as usize).unwrap_or(spot))
    }

    /// Returns whether it came from [`Weak::new`].
    fn is_dangling(&self) -> bool {
        self.inner.as_ptr().cast::<()>() == Std::<()>::new().as_ptr()
    }

    /// Returns the counts, as far as a memory model decides them.
    fn look(&self, verb: &'static str, spot: Spot) -> Option<(usize, usize)> {
        let look = |counted: Counted<'_, T>| counted.look(Mode::Read, verb, spot, |_, _| 0);
        if self.is_dangling() { None } else { look(self.counted(&|| self.counts())) }
    }

    /// A step on the counts, if they matter: readers of the counts see weak references too.
    fn change(&self, by: i64, mode: Mode, verb: &'static str, spot: Spot) {
        if !self.is_dangling() {
            self.counted(&|| self.counts()).change(by, mode, verb, spot);
        }
    }

    fn counted<'a>(&self, counts: &'a dyn Fn() -> u64) -> Counted<'a, T> {
        Counted { content: self.inner.as_ptr(), made: self.made, counts }
    }

    fn counts(&self) -> u64 {
        packed(self.inner.strong_count(), self.inner.weak_count())
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let spot = Location::caller();
        self.change(WEAK, Mode::Up, "Weak::clone", spot);
        Self { inner: self.inner.clone(), spot, made: self.made }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        self.change(-WEAK, Mode::Update, "Weak::drop", self.spot);
        if !self.is_dangling() {
            give_up::<T>(self.inner.as_ptr().cast::<u8>() as usize);
        }
        // SAFETY: it is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
    }
}

impl<T> Default for Weak<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
