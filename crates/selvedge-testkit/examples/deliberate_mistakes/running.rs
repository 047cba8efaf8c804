//! Cargo, in a copy of the sources with a mistake.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::workshop::Workshop;

/// Tests that take longer do not come to an end.
const LONGEST: Duration = Duration::from_secs(900);

/// Runs `act` while the text of a file of the copy is another one.
pub(crate) fn with_text<T>(
    workshop: &Workshop,
    file: &Path,
    text: &str,
    act: impl FnOnce() -> T,
) -> T {
    let original = fs::read(workshop.path(file)).expect("the file of the mistake can be read");
    workshop.write(file, text);
    let result = act();
    workshop.write(file, original);
    result
}

/// Whether cargo succeeds with these arguments. With a mistake a test may never end: that is not a
/// success.
pub(crate) fn cargo(workshop: &Workshop, arguments: &[&str]) -> bool {
    let mut child = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(workshop.path("."))
        .env("CARGO_TARGET_DIR", workshop.path("target"))
        .env_remove("RUSTFLAGS")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("cargo can be run");
    let end = Instant::now() + LONGEST;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("cargo can be waited for") {
            return status.success();
        }
        thread::sleep(Duration::from_millis(100));
    }
    // It may have ended just now.
    let _ = child.kill();
    let _ = child.wait();
    false
}
