//! Contents that are not there yet, or whose type is not known.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::Arc as Std;

use super::{Arc, learn_of};

impl<T> Arc<T> {
    /// Returns the first reference to a value that is yet to be written.
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::tracked(Std::new_uninit(), Location::caller())
    }

    /// Returns the first reference to a value whose bytes are zero.
    #[track_caller]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc::new(MaybeUninit::zeroed())
    }
}

impl<T> Arc<[T]> {
    /// Returns the first reference to so many values that are yet to be written.
    #[track_caller]
    pub fn new_uninit_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::tracked(Std::new_uninit_slice(length), Location::caller())
    }

    /// Returns the first reference to so many values whose bytes are zero.
    #[track_caller]
    pub fn new_zeroed_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        (0..length).map(|_| MaybeUninit::zeroed()).collect()
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// The value was written.
    ///
    /// # Safety
    /// As for [`MaybeUninit::assume_init`].
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the caller promises that it was written.
        self.recast(|inner| unsafe { inner.assume_init() })
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// The values were written.
    ///
    /// # Safety
    /// As for [`MaybeUninit::assume_init`].
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: the caller promises that they were written.
        self.recast(|inner| unsafe { inner.assume_init() })
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// Returns the same reference, if the value is of this type.
    ///
    /// # Errors
    /// Itself, if it is not.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        self.try_recast(Std::downcast)
    }
}

impl<T: ?Sized> Arc<T> {
    /// The same reference to the same content, seen as something else.
    pub(super) fn recast<U: ?Sized>(self, cast: impl FnOnce(Std<T>) -> Std<U>) -> Arc<U> {
        same_content::<T, U>();
        let (spot, made) = (self.spot, self.made);
        Arc::of(cast(self.into_std()), spot, made)
    }

    /// As [`Arc::recast`], unless `cast` returns it.
    pub(super) fn try_recast<U: ?Sized>(
        self,
        cast: impl FnOnce(Std<T>) -> Result<Std<U>, Std<T>>,
    ) -> Result<Arc<U>, Self> {
        same_content::<T, U>();
        let (spot, made) = (self.spot, self.made);
        let cast = cast(self.into_std()).map_err(|inner| Self::of(inner, spot, made))?;
        Ok(Arc::of(cast, spot, made))
    }
}

/// Which counts matter is known by type. One count that goes by two types matters.
fn same_content<T: ?Sized, U: ?Sized>() {
    learn_of::<T>();
    learn_of::<U>();
}
