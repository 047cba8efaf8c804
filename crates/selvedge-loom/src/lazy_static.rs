//! Static values that are made at their first use.

use std::fmt;
use std::ops::Deref;

use selvedge::sync::LazyLock;

pub use selvedge::thread::{AccessError, panicking, yield_now};

/// A static value that is made at its first use, anew in every execution.
pub struct Lazy<T> {
    value: LazyLock<T>,
}

impl<T> Lazy<T> {
    #[doc(hidden)]
    #[track_caller]
    pub const fn new(init: fn() -> T) -> Self {
        Self { value: LazyLock::new(init) }
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// Declares static values that are made at their first use, as the crate `lazy_static` does.
#[macro_export]
macro_rules! lazy_static {
    ($(#[$attribute:meta])* $vis:vis static ref $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $(#[$attribute])*
        $vis static $name: $crate::lazy_static::Lazy<$type> =
            $crate::lazy_static::Lazy::new(|| $init);
        $crate::lazy_static!($($rest)*);
    };
    () => {};
}
