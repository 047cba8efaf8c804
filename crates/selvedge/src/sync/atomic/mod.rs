//! Atomics, as in [`std::sync::atomic`]. Data races follow the orderings, as in C++20; loads see the last store, as
//! with sequential consistency. Older values, which weaker orderings allow, are explored with
//! [`Builder::memory`](crate::Builder::memory); without it, the report says that they are not.

mod answered;
mod core;
mod integers;
mod others;

pub use integers::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};
pub use others::{AtomicBool, AtomicPtr};
pub use std::sync::atomic::{Ordering, compiler_fence};

use std::panic::Location;

use selvedge_core::{Label, Order};

use self::core::note_order;
use crate::rt::{Ask, Engine, Fence};

/// A fence: a step that orders what its thread does around it, for data races.
///
/// # Panics
/// If `order` is `Relaxed`, as in `std`.
#[track_caller]
pub fn fence(order: Ordering) {
    if order == Ordering::Relaxed {
        panic!("there is no such thing as a relaxed fence");
    }
    if let Some(engine) = Engine::try_enter() {
        let order = Order::from(order);
        note_order(&engine, order);
        match engine.asks() {
            true => {
                _ = engine.ask(
                    &Ask::plain(Label::Fence(order)),
                    &Fence { order },
                    Location::caller(),
                )
            }
            false => _ = engine.visible(&Fence { order }, Location::caller()),
        }
        engine.note(|_| format!("fence ({order})"));
    }
}

/// One turn of a spin loop: see [`crate::hint::spin_loop`].
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
