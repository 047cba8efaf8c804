//! A copy of the sources in which mistakes are made, and cargo running there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Tests that take longer do not come to an end.
const LONGEST: Duration = Duration::from_secs(900);

/// A copy of the sources in a temporary folder, which is gone when this is dropped.
pub(crate) struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    /// Copies what a build needs.
    pub(crate) fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = std::env::temp_dir().join(format!("selvedge-mistakes-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be made");
        let mut todo: Vec<PathBuf> =
            ["Cargo.toml", "Cargo.lock", "README.md", "crates", "docs", "programs"]
                .map(PathBuf::from)
                .to_vec();
        while let Some(path) = todo.pop() {
            let source = root.join(&path);
            if source.is_dir() {
                fs::create_dir_all(folder.join(&path)).expect("the copy can be made");
                for entry in fs::read_dir(&source).expect("the sources can be read") {
                    todo.push(path.join(entry.expect("the sources can be read").file_name()));
                }
            } else {
                fs::copy(&source, folder.join(&path)).expect("the copy can be made");
            }
        }
        Self { folder }
    }

    /// Where a file of the copy is.
    pub(crate) fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.folder.join(file)
    }

    /// Runs `act` while the text of a file is another one.
    pub(crate) fn with_text<T>(&self, file: &Path, text: &str, act: impl FnOnce(&Self) -> T) -> T {
        let path = self.path(file);
        let original = fs::read_to_string(&path).expect("the file of the mistake can be read");
        fs::write(&path, text).expect("the copy can be written");
        let result = act(self);
        fs::write(&path, original).expect("the copy can be written");
        result
    }

    /// Whether cargo succeeds with these arguments. A mistake may make a test run for ever: that is
    /// not a success.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> bool {
        let mut child = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.path("target"))
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
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // It is a temporary folder; leaving it behind would only cost space.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
