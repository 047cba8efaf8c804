//! What a thread asks the scheduler for; see `aside.rs`.

use selvedge_core::ObjectId;

use crate::spin::Observed;
use crate::world::World;

/// What a thread that runs aside wants.
pub(crate) enum Call<W: World> {
    /// To perform the operation that it stands at.
    Operation,
    /// To have noted what it observed.
    Observed(ObjectId, Observed),
    /// To go on after the end of a turn.
    Pause(W::Spot),
    /// To know what it does after the end of a turn, under a memory model.
    Turn(W::Spot),
    /// To know whether an operation ends spuriously.
    Whim(W::Spot),
}

/// Where a thread that runs aside stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StandsAside {
    AtOperation,
    /// At the choice whether an operation ends spuriously.
    AtWhim,
}
