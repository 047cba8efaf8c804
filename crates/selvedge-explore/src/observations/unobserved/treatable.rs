//! Which steps can be treated if locks are not observed, and how their objects are.

use selvedge_core::{Access, Flexibility, Mode};

use super::super::graph::Discipline;

/// Returns how an object is treated that is accessed in this mode.
pub(super) fn discipline(mode: Mode) -> Discipline {
    match mode {
        Mode::Acquire | Mode::Release => Discipline::Unobserved,
        _ if mode.is_memory() => Discipline::Observed,
        _ => Discipline::Ordered,
    }
}

/// Returns what is wrong with a step that cannot be treated.
pub(super) fn untreatable(
    accesses: &[Access],
    flexibility: Flexibility,
    choices: u32,
) -> Option<&'static str> {
    let mut shared = 0;
    for access in accesses {
        match access.mode {
            Mode::Spawn | Mode::Begin | Mode::End | Mode::Join => continue,
            Mode::Read | Mode::Write | Mode::Update if flexibility == Flexibility::Blocking => {
                return Some("a step that waits for the value of a variable");
            }
            Mode::Acquire if flexibility == Flexibility::Lock => {}
            Mode::Read | Mode::Write | Mode::Update | Mode::Release => {}
            Mode::Acquire | Mode::Probe | Mode::ShareAcquire | Mode::ShareRelease => {
                return Some("a lock that is tried for, has readers, or is misused");
            }
            Mode::Check => return Some("a step that checks an invariant"),
            _ if access.mode.is_of_properties() => {
                return Some("a step that reads or updates a ghost variable");
            }
            _ => return Some("steps that wait for more than a lock or the end of a thread"),
        }
        shared += 1;
    }
    match (shared, choices) {
        (0, _) | (1, 1) => None,
        (1, _) => Some("a step that touches something and chooses"),
        _ => Some("an atomic step that touches several things"),
    }
}
