//! What an [`Arc`] can be made of, as in `std`.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc as Std;
use std::task::{Wake, Waker};

use super::Arc;

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

/// The same conversions as `std` has for its own.
macro_rules! through_std {
    ($($from:ty => $content:ty;)+) => {$(
        impl From<$from> for Arc<$content> {
            #[track_caller]
            fn from(value: $from) -> Self {
                Self::from_std(Std::from(value))
            }
        }
    )+};
}

through_std! {
    &str => str;
    &mut str => str;
    String => str;
    &CStr => CStr;
    &mut CStr => CStr;
    CString => CStr;
    &OsStr => OsStr;
    &mut OsStr => OsStr;
    OsString => OsStr;
    &Path => Path;
    &mut Path => Path;
    PathBuf => Path;
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

impl<T: Clone> From<&mut [T]> for Arc<[T]> {
    #[track_caller]
    fn from(value: &mut [T]) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    #[track_caller]
    fn from(value: Box<T>) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    #[track_caller]
    fn from(value: [T; N]) -> Self {
        Self::from_std(Std::from(value))
    }
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ?Sized + ToOwned,
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(value: Cow<'a, B>) -> Self {
        match value {
            Cow::Borrowed(value) => Self::from(value),
            Cow::Owned(value) => Self::from(value),
        }
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(text: Arc<str>) -> Self {
        text.recast(Std::from)
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(list: Arc<[T]>) -> Result<Self, Self::Error> {
        list.try_recast(Std::try_from)
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from_std(values.into_iter().collect())
    }
}

impl Default for Arc<str> {
    #[track_caller]
    fn default() -> Self {
        Self::from("")
    }
}

impl Default for Arc<CStr> {
    #[track_caller]
    fn default() -> Self {
        Self::from(c"")
    }
}

impl<T> Default for Arc<[T]> {
    #[track_caller]
    fn default() -> Self {
        Self::from([])
    }
}

impl<T: ?Sized> Default for Pin<Arc<T>>
where
    Arc<T>: Default,
{
    #[track_caller]
    fn default() -> Self {
        // SAFETY: the value stays where it is until the last reference is dropped.
        unsafe { Pin::new_unchecked(Arc::default()) }
    }
}

/// The waker frees it without being seen: it cannot leak any more.
impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    fn from(task: Arc<W>) -> Self {
        super::freed(task.address());
        Waker::from(task.into_std())
    }
}
