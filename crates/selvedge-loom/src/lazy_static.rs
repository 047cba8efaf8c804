//! Static values that are made at their first use.

pub use selvedge::thread::AccessError;

/// A static value that is made at its first use, anew in every execution.
pub type Lazy<T> = selvedge::sync::LazyLock<T>;

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
