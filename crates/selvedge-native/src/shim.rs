//! The shim: C and C++ that is compiled once for each compiler, kept, and linked to every program.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile::{Unbuilt, run};

/// Its files and their texts. Those of the second list are linked to programs that are C++ in parts.
const C: [(&str, &str); 8] = [
    ("shim.h", include_str!("../shim/shim.h")),
    ("memory.c", include_str!("../shim/memory.c")),
    ("text.c", include_str!("../shim/text.c")),
    ("atomics.c", include_str!("../shim/atomics.c")),
    ("threads.c", include_str!("../shim/threads.c")),
    ("process.c", include_str!("../shim/process.c")),
    ("once.c", include_str!("../shim/once.c")),
    ("exit.c", include_str!("../shim/exit.c")),
];
const CXX: [(&str, &str); 2] = [
    ("cxx.c", include_str!("../shim/cxx.c")),
    ("terminate.cc", include_str!("../shim/terminate.cc")),
];
/// Headers that replace those of the standard library, one that comes before all others, and one that does for clang.
const HEADERS: [(&str, &str); 7] = [
    ("include/mutex", include_str!("../shim/include/mutex")),
    ("include/bits/c++config.h", include_str!("../shim/include/bits/c++config.h")),
    ("include/bits/atomic_wait.h", include_str!("../shim/include/bits/atomic_wait.h")),
    ("include/bits/atomic_timed_wait.h", include_str!("../shim/include/bits/atomic_timed_wait.h")),
    ("include/bits/shared_ptr_atomic.h", include_str!("../shim/include/bits/shared_ptr_atomic.h")),
    ("include/selvedge-tasks.h", include_str!("../shim/include/selvedge-tasks.h")),
    ("include/selvedge-weak.h", include_str!("../shim/include/selvedge-weak.h")),
];

const FLAGS: [&str; 7] = [
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-builtin",
    "-fno-omit-frame-pointer",
    "-fno-optimize-sibling-calls",
    "-fcf-protection=none",
];
/// An exception does not pass through most of it: where it cannot, nothing has caught it.
const OPAQUE: [&str; 1] = ["-fno-asynchronous-unwind-tables"];
/// Through these it does.
const TRANSPARENT: [&str; 2] = ["-fexceptions", "-fasynchronous-unwind-tables"];
const THROUGH: [&str; 4] = ["once.c", "exit.c", "cxx.c", "terminate.cc"];

/// The compiled shim.
pub(crate) struct Shim {
    folder: PathBuf,
    is_cxx: bool,
}

impl Shim {
    /// Compiles the shim into `folder`, or finds it in the cache.
    pub(crate) fn new(
        compiler: &str,
        version: &str,
        is_cxx: bool,
        folder: &Path,
        cache: Option<&Path>,
    ) -> Result<Self, Unbuilt> {
        let language = if is_cxx { "c++" } else { "c" };
        let key = key([version, compiler, language]);
        let kept = cache.map(|cache| cache.join(format!("shim-{key:016x}")));
        if let Some(kept) = &kept
            && kept.is_dir()
        {
            return Ok(Self { folder: kept.clone(), is_cxx });
        }
        let fresh = Self { folder: folder.join("shim"), is_cxx };
        let write = |(name, text): &(&str, &str)| {
            let path = fresh.folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            std::fs::write(path, text)
        };
        C.iter().chain(&CXX).chain(&HEADERS).try_for_each(write).map_err(|error| {
            Unbuilt::Refused(format!("{} cannot be written: {error}", fresh.folder.display()))
        })?;
        for name in fresh.names() {
            fresh.compile(compiler, &fresh.folder.join(name), &fresh.object(name))?;
        }
        if let Some(kept) = kept {
            // Whole or not at all: another process may look at the same time. Without a cache it takes longer.
            let copy = kept.with_extension(format!("{}", std::process::id()));
            if copy_all(&fresh.folder, &copy).and_then(|()| std::fs::rename(&copy, &kept)).is_err()
            {
                let _ = std::fs::remove_dir_all(&copy);
            }
        }
        Ok(fresh)
    }

    /// Compiles a file of the shim, or one that belongs to it.
    pub(crate) fn compile(
        &self,
        compiler: &str,
        file: &Path,
        object: &Path,
    ) -> Result<(), Unbuilt> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let language = if name.ends_with(".cc") { "c++" } else { "c" };
        let is_transparent = THROUGH.contains(&name.as_ref());
        let mut command = Command::new(compiler);
        command.args(FLAGS).args(if is_transparent { &TRANSPARENT[..] } else { &OPAQUE });
        command.arg("-c").args(["-x", language]).arg(file).arg("-I").arg(&self.folder);
        run(command.arg("-o").arg(object)).map(|_| ())
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        let of_cxx: &[(&str, &str)] = if self.is_cxx { &CXX } else { &[] };
        C.iter().chain(of_cxx).map(|(name, _)| *name).filter(|name| !name.ends_with(".h"))
    }

    fn object(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("o")
    }

    /// Returns what is linked.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        self.names().map(|name| self.object(name)).collect()
    }

    /// Returns the folder of headers for C++.
    pub(crate) fn headers(&self) -> PathBuf {
        self.folder.join("include")
    }
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_all(&entry.path(), &to)?,
            false => std::fs::copy(entry.path(), to).map(|_| ())?,
        }
    }
    Ok(())
}

/// Returns a number for the shim and what it is compiled with.
pub(crate) fn key<const N: usize>(with: [&str; N]) -> u64 {
    let texts = C.iter().chain(&CXX).chain(&HEADERS).map(|(_, text)| *text);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in texts.chain(with).chain(FLAGS).flat_map(str::bytes) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// What stands before the name of a function that the shim replaces: in its definition, or in a macro that has it.
const MARKS: [&str; 9] = [
    "__wrap_",
    "\nREFUSED(",
    "\nTHROUGH(",
    "\nPARSED(",
    "\nPARSED_IN(",
    "\nRENAMED_IN(",
    "\nCONVERTED(",
    "\nFOUND(",
    "\nFOLLOWED(",
];

/// Returns the functions that the shim replaces.
pub(crate) fn wrapped() -> impl Iterator<Item = String> {
    let mut names: Vec<String> = Vec::new();
    for (_, text) in C.iter().chain(&CXX) {
        for mark in MARKS {
            for rest in text.split(mark).skip(1) {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let name = &rest[..end.unwrap_or(rest.len())];
                if !name.is_empty() {
                    names.push(name.to_owned());
                }
            }
        }
    }
    // What it calls itself goes to libc.
    names.push("vsnprintf".to_owned());
    names.sort();
    names.dedup();
    names.into_iter()
}

/// Functions that compiled code calls and C cannot define, and what the shim calls them.
pub(crate) const RENAMED: [(&str, &str); 5] = [
    ("__atomic_load", "selvedge_atomic_load"),
    ("__atomic_store", "selvedge_atomic_store"),
    ("__atomic_exchange", "selvedge_atomic_exchange"),
    ("__atomic_compare_exchange", "selvedge_atomic_compare_exchange"),
    ("__atomic_is_lock_free", "selvedge_atomic_is_lock_free"),
];
