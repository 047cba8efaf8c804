//! Atomics, as in [`std::sync::atomic`], with sequential consistency. Weaker orderings are accepted
//! and shown; behaviours that only they allow are not explored, and the report says so.

mod core;
mod integers;
mod others;

pub use integers::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};
pub use others::{AtomicBool, AtomicPtr};
pub use std::sync::atomic::{Ordering, compiler_fence};

/// A fence. Under sequential consistency it does nothing.
///
/// # Panics
/// If `order` is `Relaxed`, as in `std`.
#[track_caller]
pub fn fence(order: Ordering) {
    if order == Ordering::Relaxed {
        panic!("there is no such thing as a relaxed fence");
    }
    if order != Ordering::SeqCst
        && let Some(engine) = crate::rt::Engine::try_enter()
    {
        engine.rt().shared.weak.set(true);
    }
}

/// One turn of a spin loop: see [`crate::hint::spin_loop`].
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
