//! Ctrl-C: the first one ends the search, the second one the process.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::exit;

static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// From now on a first Ctrl-C only makes [`is_requested`] true.
pub(crate) fn install() {
    let handler = || {
        if SIGNALS.fetch_add(1, Ordering::Relaxed) > 0 {
            exit::complain("\n");
            std::process::exit(exit::INTERRUPTED);
        }
    };
    // Without a handler Ctrl-C ends the process as it always does: no reason to give up.
    let _ = ctrlc::set_handler(handler);
}

/// Whether the user asked to stop.
pub(crate) fn is_requested() -> bool {
    SIGNALS.load(Ordering::Relaxed) > 0
}
