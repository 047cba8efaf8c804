//! A search that is kept in a file while it runs: the same test goes on with it when it is run again.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use selvedge_crew::{Checkpoint, Keeper, Told, Unread, of_version};
use selvedge_explore::Frontier;
use serde::{Deserialize, Serialize};

use crate::failure::short;
use crate::rt::Spot;

/// The folder for checkpoints of all checks that do not name a file.
const FOLDER: &str = "SELVEDGE_CHECKPOINT";
/// How often a file is written, unless the test says so.
pub(super) const EVERY: Duration = Duration::from_secs(60);

/// Which search it is.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
struct About {
    /// The test and the place of the check.
    test: String,
    place: String,
    /// How many checks the test had there before: one in a loop has several.
    before: u64,
    /// The options of the check.
    options: String,
    /// A hash of the program that contains the test.
    build: String,
}

/// The file of a search.
#[derive(Debug)]
pub(super) struct Kept {
    path: PathBuf,
    every: Duration,
    about: About,
    /// When the search went on, and how long it took before.
    started: Instant,
    took: Duration,
    /// When it is written next, and whether it was said that it cannot be.
    next: Instant,
    has_complained: bool,
}

/// A search that was interrupted.
pub(super) type Interrupted = (Frontier, Told);

/// Returns the folder for all checks.
pub(super) fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// Returns how many checks a test had at a place, and counts one more.
fn checks_before(test: &str, place: &str) -> u64 {
    static CHECKS: Mutex<BTreeMap<(String, String), u64>> = Mutex::new(BTreeMap::new());
    let mut checks = CHECKS.lock().unwrap_or_else(PoisonError::into_inner);
    let count = checks.entry((test.to_owned(), place.to_owned())).or_default();
    *count += 1;
    *count - 1
}

/// Returns a name without characters that are special in names of files.
pub(super) fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

/// Returns a hash of the program that runs.
fn build() -> String {
    static BUILD: OnceLock<String> = OnceLock::new();
    let hash = || {
        // The file may be another one by now, if its name is.
        let own = std::fs::File::open("/proc/self/exe");
        let own = own.or_else(|_| std::fs::File::open(std::env::current_exe()?));
        let mut bytes = Vec::new();
        let read = own.and_then(|mut file| file.read_to_end(&mut bytes));
        read.map(|_| format!("{} bytes, {:016x}", bytes.len(), hash_of(&bytes)))
    };
    let hash = || {
        hash().unwrap_or_else(|error| panic!("selvedge: {FOLDER}: this program cannot be read, so a checkpoint cannot say what it belongs to: {error}"))
    };
    BUILD.get_or_init(hash).clone()
}

/// FNV-1a, by words of eight bytes: programs are large.
fn hash_of(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    let words = bytes.chunks(8).map(word);
    words.fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    })
}

/// Returns the search that a checkpoint has, and how long it took.
fn read(path: &Path, text: &str, about: &About) -> (Interrupted, Duration) {
    let refuse = |why: String, next: &str| -> ! {
        panic!("selvedge: the checkpoint {} {why}\n  {next}", path.display())
    };
    let kept = match Checkpoint::<About>::from_text(text) {
        Ok(kept) => kept,
        Err(Unread::NotOne(why)) => refuse(format!("is none: {why}"), "choose another file"),
        Err(Unread::Version(writer)) => {
            refuse(of_version(&writer), "remove it, and the search begins again")
        }
    };
    let of = &kept.about;
    if (&of.test, &of.place, of.before) != (&about.test, &about.place, about.before) {
        let nth =
            if of.before == 0 { String::new() } else { format!(", number {}", of.before + 1) };
        let why = format!("belongs to another check: {} ({}{nth})", of.test, of.place);
        refuse(why, "let each check have a file of its own, or set SELVEDGE_CHECKPOINT=folder");
    }
    if of.build != about.build {
        refuse(
            "was written by another build of this test, so what was explored does not apply to this one".to_owned(),
            "run that build again, or remove the file, and the search begins again",
        );
    }
    if of.options != about.options {
        refuse(
            "was written by a check with other options".to_owned(),
            "restore them, or remove the file, and the search begins again",
        );
    }
    match kept.frontier() {
        Some(frontier) => ((frontier, kept.told()), kept.time()),
        None => refuse("is damaged: its parts are not those of a search".to_owned(), "remove it"),
    }
}

impl Kept {
    /// Opens the file of the search at this place, in the folder for all checks unless it has a name. With the search that was
    /// interrupted, if there is one.
    pub(super) fn open(
        named: Option<&Path>,
        every: Duration,
        here: Spot,
        options: String,
    ) -> Option<(Self, Option<Interrupted>)> {
        let current = std::thread::current();
        let test = current.name().unwrap_or("check").to_owned();
        let place = short(here);
        let before = checks_before(&test, &place);
        let path = match named {
            Some(path) => path.to_owned(),
            None => {
                let nth = if before == 0 { String::new() } else { format!("-{}", before + 1) };
                folder()?.join(plain(&format!("{test}-{place}{nth}.ckpt")))
            }
        };
        let about = About { test, place, before, options, build: build() };
        let (interrupted, took) = match std::fs::read_to_string(&path) {
            Ok(text) => {
                let (interrupted, took) = read(&path, &text, &about);
                (Some(interrupted), took)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, Duration::ZERO),
            Err(error) => {
                panic!("selvedge: the checkpoint {} cannot be read: {error}", path.display())
            }
        };
        let started = Instant::now();
        let next = started + every;
        let kept = Self { path, every, about, started, took, next, has_complained: false };
        Some((kept, interrupted))
    }

    /// Returns how long the search took before it was interrupted.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// Returns what is said about a search that is not finished.
    pub(super) fn to_go_on(&self) -> String {
        format!("run the test again: {} has what was done", self.path.display())
    }

    /// Removes the file, now that the search has come to its end.
    pub(super) fn remove(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            self.complain(&format!("cannot be removed: {error}"));
        }
    }

    /// Not with `eprintln!`: tests keep that for themselves.
    fn complain(&self, why: &str) {
        let line = format!("selvedge: the checkpoint {} {why}\n", self.path.display());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

impl Keeper for Kept {
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.every;
        }
        is_due
    }

    fn keep(&mut self, frontier: &Frontier, told: &Told) {
        let time = self.took + self.started.elapsed();
        let all = Checkpoint::new(self.about.clone(), frontier, Some(told.clone()), time);
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made = folder.map_or(Ok(()), std::fs::create_dir_all);
        let written = made.and_then(|()| selvedge_report::write_whole(&self.path, &all.to_text()));
        if let Err(error) = written
            && !std::mem::replace(&mut self.has_complained, true)
        {
            self.complain(&format!("cannot be written: {error}; the search continues"));
        }
    }
}
