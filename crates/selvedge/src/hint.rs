//! Hints, as in [`std::hint`].

use std::panic::Location;

use crate::rt::Engine;

pub use std::hint::{assert_unchecked, black_box, unreachable_unchecked};

/// One turn of a spin loop: the thread goes on when something that it read since it last came here
/// has changed.
#[track_caller]
pub fn spin_loop() {
    let spot = Location::caller();
    Engine::enter().spin("spin", spot);
}
