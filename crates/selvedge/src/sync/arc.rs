//! Reference counts.
//!
//! Counts are not part of the search unless they matter: that is, unless someone looks at them, or
//! dropping the last reference does something visible. Which contents those are is learned while the
//! code runs; then the search starts again, and the counts of these are objects like others.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc as Std;

use selvedge_core::Mode;

use crate::rt::object::content_object;
use crate::rt::runtime::Runtime;
use crate::rt::{Compare, Engine, Spot, Touch};

/// A shared reference that counts, as [`std::sync::Arc`]; one that is never dropped is a leak.
pub struct Arc<T: ?Sized> {
    inner: Option<Std<T>>,
}

/// Dropping an [`Arc`] did something visible.
pub(crate) fn note_visible_drop(rt: &mut Runtime) {
    let me = rt.current;
    let dropped = std::mem::take(&mut rt.threads[me].dropping);
    for &content in &dropped {
        learn(rt, content);
    }
    rt.threads[me].dropping = dropped;
}

fn learn(rt: &Runtime, content: &'static str) {
    if rt.shared.learned.counted.borrow_mut().insert(content) {
        rt.learn();
    }
}

/// Whether the count of this content is part of the search.
fn is_counted<T: ?Sized>(rt: &Runtime) -> bool {
    let counted = rt.shared.learned.counted.borrow();
    !counted.is_empty() && counted.contains(std::any::type_name::<T>())
}

/// A step on the count, if it matters.
#[inline]
fn count<T: ?Sized>(content: *const T, mode: Mode, verb: &'static str, spot: Spot) {
    let Some(engine) = Engine::try_enter() else { return };
    if is_counted::<T>(engine.rt()) {
        let object = content_object(&engine, content.cast::<u8>() as usize, "Arc", spot);
        engine.visible(&Touch { object, mode, plain: false, verb, order: None }, spot);
    }
}

/// A look at the count: from now on it matters.
fn look<T: ?Sized>(content: *const T, mode: Mode, verb: &'static str, spot: Spot) {
    if let Some(engine) = Engine::try_enter() {
        learn(engine.rt(), std::any::type_name::<T>());
    }
    count(content, mode, verb, spot);
}

impl<T> Arc<T> {
    /// The first reference to `value`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::tracked(Std::new(value), Location::caller())
    }

    /// The first reference to `value`, pinned.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Self> {
        let new = Self::tracked(Std::new(value), Location::caller());
        // SAFETY: the value stays where it is until the last reference is dropped.
        unsafe { Pin::new_unchecked(new) }
    }

    /// A value that holds a weak reference to itself.
    #[track_caller]
    pub fn new_cyclic(make: impl FnOnce(&Weak<T>) -> T) -> Self {
        let spot = Location::caller();
        let new = Std::new_cyclic(|weak| make(&Weak { inner: weak.clone() }));
        Self::tracked(new, spot)
    }

    /// The value, if this is the only reference.
    ///
    /// # Errors
    /// Itself, if it is not.
    #[track_caller]
    pub fn try_unwrap(mut this: Self) -> Result<T, Self> {
        look(this.pointer(), Mode::Update, "Arc::try_unwrap", Location::caller());
        let Some(inner) = this.inner.take() else { return Err(this) };
        let address = Std::as_ptr(&inner) as usize;
        match Std::try_unwrap(inner) {
            Ok(value) => {
                freed(address);
                Ok(value)
            }
            Err(inner) => Err(Self { inner: Some(inner) }),
        }
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn into_inner(mut this: Self) -> Option<T> {
        look(this.pointer(), Mode::Update, "Arc::into_inner", Location::caller());
        let inner = this.inner.take()?;
        let address = Std::as_ptr(&inner) as usize;
        let value = Std::into_inner(inner);
        if value.is_some() {
            freed(address);
        }
        value
    }

    /// A pointer that keeps the reference.
    pub fn into_raw(mut this: Self) -> *const T {
        match this.inner.take() {
            Some(inner) => Std::into_raw(inner),
            None => std::ptr::null(),
        }
    }

    /// The reference that [`Arc::into_raw`] kept.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::from_raw`].
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller promises that it came from `into_raw`.
        Self { inner: Some(unsafe { Std::from_raw(pointer) }) }
    }

    /// One more reference to what [`Arc::into_raw`] gave.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::increment_strong_count`].
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        count(pointer, Mode::Up, "Arc::clone", Location::caller());
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

    /// The value, or the only reference to a copy of it.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    /// The same as a reference of `std`, for contents of unknown size.
    #[track_caller]
    pub fn from_std(inner: Std<T>) -> Self {
        Self::tracked(inner, Location::caller())
    }

    fn tracked(inner: Std<T>, spot: Spot) -> Self {
        if let Some(engine) = Engine::try_enter() {
            let address = Std::as_ptr(&inner).cast::<u8>() as usize;
            engine.rt().leaks.add(address, "an Arc", spot);
        }
        Self { inner: Some(inner) }
    }

    fn get(&self) -> &Std<T> {
        self.inner.as_ref().expect("internal error: an Arc was used after it was taken apart")
    }

    fn pointer(&self) -> *const T {
        Std::as_ptr(self.get())
    }

    /// How many references there are.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        look(this.pointer(), Mode::Read, "Arc::strong_count", Location::caller());
        Std::strong_count(this.get())
    }

    /// How many weak references there are.
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        look(this.pointer(), Mode::Read, "Arc::weak_count", Location::caller());
        Std::weak_count(this.get())
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        look(this.pointer(), Mode::Update, "Arc::get_mut", Location::caller());
        this.inner.as_mut().and_then(Std::get_mut)
    }

    /// The value, or first a copy of it.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T
    where
        T: Clone,
    {
        look(this.pointer(), Mode::Update, "Arc::make_mut", Location::caller());
        if this.inner.as_mut().and_then(Std::get_mut).is_none() {
            let copy = Self::new((**this).clone());
            *this = copy;
        }
        let inner = this.inner.as_mut().and_then(Std::get_mut);
        inner.expect("internal error: a fresh Arc is shared")
    }

    /// Whether both refer to the same value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Std::ptr_eq(this.get(), other.get())
    }

    /// Where the value is.
    pub fn as_ptr(this: &Self) -> *const T {
        this.pointer()
    }

    /// A weak reference.
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        count(this.pointer(), Mode::Up, "Arc::downgrade", Location::caller());
        Weak { inner: Std::downgrade(this.get()) }
    }
}

fn freed(address: usize) {
    if let Some(engine) = Engine::try_enter() {
        engine.rt().leaks.remove(address);
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        count(self.pointer(), Mode::Up, "Arc::clone", Location::caller());
        Self { inner: Some(Std::clone(self.get())) }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take() else { return };
        let pointer = Std::as_ptr(&inner);
        if Engine::try_enter().is_none() {
            return;
        }
        count(pointer, Mode::Update, "Arc::drop", Location::caller());
        if Std::strong_count(&inner) > 1 {
            return;
        }
        freed(pointer.cast::<u8>() as usize);
        let mark = |on: bool| {
            let Some(engine) = Engine::try_enter() else { return };
            let rt = engine.rt();
            if is_counted::<T>(rt) {
                return;
            }
            let dropping = &mut rt.threads[rt.current].dropping;
            match on {
                true => dropping.push(std::any::type_name::<T>()),
                false => {
                    dropping.pop();
                }
            }
        };
        // While it is dropped, something may turn out to be visible: then nothing is taken back.
        mark(true);
        drop(inner);
        mark(false);
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.get()
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

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    #[track_caller]
    fn from(value: Box<T>) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl From<&str> for Arc<str> {
    #[track_caller]
    fn from(value: &str) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl From<String> for Arc<str> {
    #[track_caller]
    fn from(value: String) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    #[track_caller]
    fn from(value: Vec<T>) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    #[track_caller]
    fn from(value: &[T]) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from_std(values.into_iter().collect())
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

/// A reference that does not keep the value, as [`std::sync::Weak`].
pub struct Weak<T: ?Sized> {
    inner: std::sync::Weak<T>,
}

impl<T> Weak<T> {
    /// Refers to nothing.
    pub const fn new() -> Self {
        Self { inner: std::sync::Weak::new() }
    }
}

impl<T: ?Sized> Weak<T> {
    /// A reference that keeps the value, if it is still there.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let spot = Location::caller();
        if let Some(engine) = Engine::try_enter() {
            learn(engine.rt(), std::any::type_name::<T>());
            let object = content_object(&engine, self.address(), "Arc", spot);
            let alive = || self.inner.strong_count() > 0;
            let verb = "Weak::upgrade";
            engine.visible(&Compare { object, writes: &alive, verb, order: None }, spot);
        }
        self.inner.upgrade().map(|inner| Arc { inner: Some(inner) })
    }

    fn address(&self) -> usize {
        self.inner.as_ptr().cast::<u8>() as usize
    }

    /// How many references keep the value.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        look(self.inner.as_ptr(), Mode::Read, "Weak::strong_count", Location::caller());
        self.inner.strong_count()
    }

    /// How many weak references there are.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        look(self.inner.as_ptr(), Mode::Read, "Weak::weak_count", Location::caller());
        self.inner.weak_count()
    }

    /// Whether both refer to the same value.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.inner.ptr_eq(&other.inner)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
