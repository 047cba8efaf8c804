//! Compiling and exploring C programs. A process runs one at a time.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use selvedge_core::{Report, Verdict, Violation};
use selvedge_explore::{Algorithm, Observer, Options, confirm};
use selvedge_native::{Loaded, Notes, Sources};
use selvedge_testkit::{explore, is_campaign};

/// Memory of checked programs has one place in a process.
static ONE: Mutex<()> = Mutex::new(());

/// Ignores what it sees.
pub(crate) struct Nothing;

impl Observer for Nothing {}

/// A program in memory, which no other test disturbs.
pub(crate) struct Compiled {
    pub(crate) loaded: Loaded,
    pub(crate) notes: Notes,
    /// What comes before the name of the file.
    prefix: String,
    _folder: Folder,
    _source: Option<Folder>,
    _guard: MutexGuard<'static, ()>,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a folder of its own in the folder for temporary files of the build.
fn folder() -> Folder {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("c-{}-{number}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).expect("the folder can be made");
    Folder(path)
}

/// Compilers for C and C++.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Toolchain {
    pub(crate) c: &'static str,
    pub(crate) cxx: &'static str,
}

pub(crate) const GCC: Toolchain = Toolchain { c: "cc", cxx: "c++" };
pub(crate) const CLANG: Toolchain = Toolchain { c: "clang", cxx: "clang++" };

/// Returns the compilers that there are, in a campaign; in `cargo test` the first. Clang may be missing, unless `SELVEDGE_NEED_CLANG` is set.
pub(crate) fn toolchains() -> Vec<Toolchain> {
    static FOUND: LazyLock<Vec<Toolchain>> = LazyLock::new(find_toolchains);
    if is_campaign() { FOUND.clone() } else { vec![GCC] }
}

/// Returns the levels of optimisation that a campaign looks at; in `cargo test` it is the one that most tests have not.
pub(crate) fn levels() -> &'static [&'static str] {
    if is_campaign() { &["-O0", "-O2"] } else { &["-O2"] }
}

fn find_toolchains() -> Vec<Toolchain> {
    let has = |command: &str| Command::new(command).arg("--version").output().is_ok();
    if has(CLANG.c) && has(CLANG.cxx) {
        return vec![GCC, CLANG];
    }
    assert!(std::env::var_os("SELVEDGE_NEED_CLANG").is_none(), "clang is needed: install clang");
    // Not with `eprintln!`, which the test harness keeps to itself.
    let _ = std::io::stderr().write_all(b"skipped for clang: it is not installed\n");
    vec![GCC]
}

/// Returns the folder of what need not be compiled again.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-cache")
}

/// Compiles files.
pub(crate) fn compile_files(files: &[PathBuf], flags: &[&str]) -> Compiled {
    compile_files_with(GCC, files, flags)
}

/// Compiles files.
pub(crate) fn compile_files_with(
    toolchain: Toolchain,
    files: &[PathBuf],
    flags: &[&str],
) -> Compiled {
    let folder = folder();
    let sources = Sources {
        c: toolchain.c.to_owned(),
        cxx: toolchain.cxx.to_owned(),
        files: files.to_vec(),
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        folder: folder.0.clone(),
        cache: Some(cache()),
    };
    let built = sources.build().unwrap_or_else(|error| panic!("{files:?}: {error:?}"));
    let notes = Notes::read(&built.module).expect("a module has notes");
    // Compilers are processes of their own: while one runs, another test explores.
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = Loaded::new(&built.module, files, &[]).expect("it can be loaded");
    let parent = files[0].parent().map(|folder| format!("{}/", folder.display()));
    let prefix = parent.unwrap_or_default();
    Compiled { loaded, notes, prefix, _folder: folder, _source: None, _guard: guard }
}

/// Compiles a text.
pub(crate) fn compile(text: &str, flags: &[&str]) -> Compiled {
    compile_with(GCC, text, flags)
}

/// Compiles a text.
pub(crate) fn compile_with(toolchain: Toolchain, text: &str, flags: &[&str]) -> Compiled {
    let head = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
                #include <semaphore.h>\n#include <string.h>\n#include <errno.h>\n#include <threads.h>\n\
                #include <sched.h>\n#include <stdint.h>\n";
    compile_text(toolchain, "test.c", &format!("{head}#line 1\n{text}"), flags)
}

/// Compiles a text to which nothing is added, by the extension of its name.
pub(crate) fn compile_text(
    toolchain: Toolchain,
    name: &str,
    text: &str,
    flags: &[&str],
) -> Compiled {
    let folder = folder();
    let file = folder.0.join(name);
    std::fs::write(&file, text).expect("the file can be written");
    let compiled = compile_files_with(toolchain, &[file], flags);
    // Its lines are read when something is shown.
    Compiled { _source: Some(folder), ..compiled }
}

impl Compiled {
    /// Explores until nothing new is learned.
    pub(crate) fn explore_with(&self, algorithm: Algorithm, options: &Options) -> Report {
        search(&self.loaded, algorithm, options, &mut Nothing)
    }

    /// Explores everything, and looks for races.
    pub(crate) fn explore(&self, algorithm: Algorithm) -> Report {
        let options = Options { keep_going: true, data_races: true, ..Options::default() };
        self.explore_with(algorithm, &options)
    }

    /// Returns the first violation, replayed.
    pub(crate) fn violation(&self) -> Violation {
        self.violation_of(&self.loaded)
    }

    /// Returns the first violation of the program with other arguments, replayed.
    pub(crate) fn violation_of(&self, loaded: &Loaded) -> Violation {
        let options = Options { data_races: true, ..Options::default() };
        let report = search(loaded, Algorithm::Optimal, &options, &mut Nothing);
        let (violation, schedule) = report.violations.first().unwrap_or_else(|| {
            panic!("no violation, {:?}, {:?}", report.counts, report.inconclusive)
        });
        let confirmed = confirm(&|| loaded.traced(), violation, schedule);
        let confirmed = confirmed.unwrap_or_else(|error| panic!("{violation:?}: {}", error.reason));
        let mut violation = confirmed.violation;
        // The folder is another one every time.
        violation.message = violation.message.replace(&self.prefix, "");
        violation
    }
}

/// Explores until nothing new is learned.
pub(crate) fn search(
    loaded: &Loaded,
    algorithm: Algorithm,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    loaded.settle(|| {
        let report = explore(algorithm, &|| loaded.program(), options, observer);
        assert_eq!(loaded.unsteady(), None);
        report
    })
}

/// Explorers that need no model.
pub(crate) const EXPLORERS: [Algorithm; 6] = [
    Algorithm::Sleep,
    Algorithm::Classic,
    Algorithm::Source,
    Algorithm::Optimal,
    Algorithm::Parsimonious,
    Algorithm::DataCentric,
];

/// Checks that a text is verified, with this many executions of `optimal`.
#[track_caller]
pub(crate) fn verified(text: &str, executions: u64) {
    let compiled = compile(text, &[]);
    let report = compiled.explore(Algorithm::Optimal);
    assert_eq!(
        report.verdict(),
        Verdict::Verified,
        "{:?} {:?}",
        report.violations,
        report.inconclusive
    );
    assert_eq!(report.counts.maximal(), executions, "{:?}", report.counts);
}

/// Checks that a text shows a violation with this message.
#[track_caller]
pub(crate) fn violated(text: &str, message: &str) {
    let violation = compile(text, &[]).violation();
    assert_eq!(violation.message, message, "{violation:?}");
}
