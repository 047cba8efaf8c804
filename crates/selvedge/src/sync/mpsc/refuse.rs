//! Channels that live longer than an execution.

use crate::rt::Restorer;

/// A channel that outlives an execution cannot be set back.
pub(super) fn refuse() -> Restorer {
    let (content, drop) = (std::ptr::null_mut(), Box::new(|| ()));
    Restorer::Bytes { content, length: 0, drop, owns: true }
}
