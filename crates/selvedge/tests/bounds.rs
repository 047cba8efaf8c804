//! Which threads may share a type, what may be caught, and what else a type can do: as with the type of `std`.

use std::cell::Cell as Unsync;
use std::rc::Rc;

mod like_std {
    pub(crate) mod std {
        pub(crate) use ::std::{sync, thread};
    }
    pub(crate) mod selvedge {
        pub(crate) use ::selvedge::{sync, thread};
    }
}

/// Whether a type has a trait: an own constant comes before that of a trait.
macro_rules! has {
    ($type:ty, $($bound:tt)+) => {{
        #[allow(dead_code, reason = "one of the two constants is not used")]
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "as above")]
        trait Otherwise {
            const HAS: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        #[allow(dead_code, reason = "as above")]
        impl<T: ?Sized + $($bound)+> Probe<T> {
            const HAS: bool = true;
        }
        <Probe<$type>>::HAS
    }};
}

/// The name of a type without its root, and those of its traits that it has.
fn line(path: &str, found: &[(&str, bool)]) -> String {
    let own: Vec<&str> = found.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let name = path.replace(char::is_whitespace, "");
    format!("{}: {}", name.splitn(3, "::").last().unwrap_or_default(), own.join(" "))
}

/// Adds the traits of some types to a list. There are hundreds of them, so that little is done in place.
macro_rules! traits {
    ($list:ident: $($type:ty),+ $(,)?) => {$({
        const FOUND: &[(&str, bool)] = &[
            ("Send", has!($type, Send)),
            ("Sync", has!($type, Sync)),
            ("Unpin", has!($type, Unpin)),
            ("UnwindSafe", has!($type, std::panic::UnwindSafe)),
            ("RefUnwindSafe", has!($type, std::panic::RefUnwindSafe)),
            ("Debug", has!($type, std::fmt::Debug)),
            ("Display", has!($type, std::fmt::Display)),
            ("Default", has!($type, Default)),
            ("Clone", has!($type, Clone)),
            ("Copy", has!($type, Copy)),
            ("PartialEq", has!($type, PartialEq)),
            ("Eq", has!($type, Eq)),
            ("Ord", has!($type, Ord)),
            ("Hash", has!($type, std::hash::Hash)),
            ("Error", has!($type, std::error::Error)),
            ("From<u32>", has!($type, From<u32>)),
        ];
        $list.push(line(stringify!($type), FOUND));
    })+};
}

macro_rules! list {
    ($list:ident, $root:ident, $($content:ty),+) => {
        $(traits!($list:
            like_std::$root::sync::Mutex<$content>,
            like_std::$root::sync::MutexGuard<'static, $content>,
            like_std::$root::sync::RwLock<$content>,
            like_std::$root::sync::RwLockReadGuard<'static, $content>,
            like_std::$root::sync::RwLockWriteGuard<'static, $content>,
            like_std::$root::sync::Arc<$content>,
            like_std::$root::sync::Weak<$content>,
            like_std::$root::sync::OnceLock<$content>,
            like_std::$root::sync::LazyLock<$content>,
            like_std::$root::sync::LazyLock<u32, Box<dyn FnOnce() -> u32>>,
            like_std::$root::sync::PoisonError<$content>,
            like_std::$root::sync::TryLockError<$content>,
            like_std::$root::sync::mpsc::Sender<$content>,
            like_std::$root::sync::mpsc::SyncSender<$content>,
            like_std::$root::sync::mpsc::Receiver<$content>,
            like_std::$root::sync::mpsc::Iter<'static, $content>,
            like_std::$root::sync::mpsc::TryIter<'static, $content>,
            like_std::$root::sync::mpsc::IntoIter<$content>,
            like_std::$root::sync::mpsc::SendError<$content>,
            like_std::$root::sync::mpsc::TrySendError<$content>,
            like_std::$root::sync::atomic::AtomicPtr<$content>,
            like_std::$root::thread::JoinHandle<$content>,
            like_std::$root::thread::ScopedJoinHandle<'static, $content>,
            like_std::$root::thread::LocalKey<$content>,
        );)+
        traits!($list:
            like_std::$root::sync::Condvar,
            like_std::$root::sync::WaitTimeoutResult,
            like_std::$root::sync::Barrier,
            like_std::$root::sync::BarrierWaitResult,
            like_std::$root::sync::Once,
            like_std::$root::sync::OnceState,
            like_std::$root::sync::mpsc::RecvError,
            like_std::$root::sync::mpsc::TryRecvError,
            like_std::$root::sync::mpsc::RecvTimeoutError,
            like_std::$root::sync::atomic::AtomicBool,
            like_std::$root::sync::atomic::AtomicI8,
            like_std::$root::sync::atomic::AtomicU32,
            like_std::$root::sync::atomic::AtomicU64,
            like_std::$root::sync::atomic::AtomicUsize,
            like_std::$root::sync::atomic::Ordering,
            like_std::$root::thread::Thread,
            like_std::$root::thread::ThreadId,
            like_std::$root::thread::Builder,
            like_std::$root::thread::Scope<'static, 'static>,
            like_std::$root::thread::AccessError,
        );
    };
}

#[test]
fn types_have_the_traits_of_those_of_std() {
    // Can be sent and shared; neither; only sent; only shared; not caught; without a size.
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    type Shared = std::sync::MutexGuard<'static, u32>;
    list!(theirs, std, u32, Rc<u32>, Unsync<u32>, Shared, &'static mut u32);
    list!(ours, selvedge, u32, Rc<u32>, Unsync<u32>, Shared, &'static mut u32);
    // Two can be made in one more way.
    let more = ["sync::Once: ", "thread::Builder: "];
    let may = |ours: &str| more.iter().any(|name| ours.starts_with(name));
    let differ: Vec<_> = theirs
        .iter()
        .zip(&ours)
        .filter(|(theirs, ours)| theirs != ours)
        .filter(|(theirs, ours)| !may(ours) || format!("{theirs} Default") != **ours)
        .map(|(theirs, ours)| format!("std:      {theirs}\nselvedge: {ours}"))
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn the_probe_tells_traits_apart() {
    assert!(
        has!(u32, Send) && has!(Unsync<u32>, Send) && has!(std::sync::Mutex<Unsync<u32>>, Sync)
    );
    assert!(!has!(Rc<u32>, Send) && !has!(Unsync<u32>, Sync) && !has!(Rc<u32>, Copy));
}
