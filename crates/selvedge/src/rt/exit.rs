//! `exit` in the middle of a check ends the process as failed: it cannot be taken back, but no test passes by it.

use std::sync::Once;

use selvedge_rt::{World, last_words};

use super::running::running;
use super::state::Rust;
use crate::watch;

/// Installs the handler that reports a call of `exit`.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // SAFETY: the function keeps to its signature, and does not unwind.
        unsafe { libc::atexit(at_exit) };
    });
}

/// Runs on the thread that called `exit`. If that thread runs checked code, the code did; if another thread of the
/// system runs a check, the check does not come to its end.
extern "C" fn at_exit() {
    let rt = running();
    if !rt.is_null() {
        // SAFETY: the runtime is alive while its code runs.
        let rt = unsafe { &*rt };
        last_words::say(rt, &"ends the process (`exit`) in the middle of a check", "");
        last_words::list_steps(rt);
    } else if !watch::tell_cut_short() {
        return;
    }
    // SAFETY: nothing runs after it.
    unsafe { libc::_exit(Rust::FAILED) }
}
