//! From source files to a module: a shared object of the program and the shim.
//!
//! The compiler is the system's. Its instrumentation for another tool's data-race detector calls a function before each
//! access; that tool's library is not linked, the shim defines these functions. References to libc that matter are
//! redirected to the shim by the linker (`--wrap`), for the program alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The shim: its files and their texts.
const SHIM: [(&str, &str); 5] = [
    ("shim.h", include_str!("../shim/shim.h")),
    ("memory.c", include_str!("../shim/memory.c")),
    ("atomics.c", include_str!("../shim/atomics.c")),
    ("threads.c", include_str!("../shim/threads.c")),
    ("process.c", include_str!("../shim/process.c")),
];

/// Flags that come first, so that the user's override them. Without optimisation the program that runs has all
/// accesses of the source.
const FIRST: [&str; 2] = ["-O0", "-g"];
/// Flags that come last: without them accesses would not be seen.
const LAST: [&str; 7] = [
    "-fsanitize=thread",
    "-fno-builtin",
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-fcf-protection=none",
    "-g",
];
const OF_GCC: [&str; 1] = ["--param=tsan-distinguish-volatile=1"];
const OF_CLANG: [&str; 4] =
    ["-mllvm", "-tsan-compound-read-before-write=1", "-mllvm", "-tsan-distinguish-volatile=1"];
const OF_SHIM: [&str; 8] = [
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-builtin",
    "-fno-asynchronous-unwind-tables",
    "-fno-omit-frame-pointer",
    "-fno-optimize-sibling-calls",
    "-fcf-protection=none",
];

/// What to compile, and how.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The compiler's command.
    pub compiler: String,
    /// The files.
    pub files: Vec<PathBuf>,
    /// Flags of the user, for compiler and linker.
    pub flags: Vec<String>,
    /// A folder for what is built, which exists.
    pub folder: PathBuf,
    /// A folder in which the shim is kept for the next time.
    pub cache: Option<PathBuf>,
}

/// A module that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The module.
    pub module: PathBuf,
    /// What the compiler said about the program.
    pub warnings: String,
    /// Places of inline assembly, whose accesses are not seen.
    pub assembly: Vec<String>,
    /// The compiler, as it calls itself, and the flags that matter.
    pub compiler: String,
    /// Whether the compiler optimised, so that the program that runs may have fewer accesses than the source.
    pub is_optimised: bool,
}

/// Why there is no module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unbuilt {
    /// The user can change it: a sentence with the next step.
    Refused(String),
    /// The compiler or the linker said why.
    Rejected(String),
}

impl Sources {
    /// Compiles and links.
    ///
    /// # Errors
    /// If the files are not accepted.
    pub fn build(&self) -> Result<Built, Unbuilt> {
        self.check_flags()?;
        let version = self.version()?;
        let own: &[&str] = if version.contains("clang") { &OF_CLANG } else { &OF_GCC };
        let mut built = Built {
            module: self.folder.join("program.so"),
            warnings: String::new(),
            assembly: Vec::new(),
            compiler: version.lines().next().unwrap_or_default().to_owned(),
            is_optimised: self.is_optimised(),
        };
        let mut objects = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let (assembly, object) =
                (self.folder.join(format!("{number}.s")), self.folder.join(format!("{number}.o")));
            let mut command = Command::new(&self.compiler);
            command.args(FIRST).args(self.compile_flags()).args(LAST).args(own);
            command.arg("-S").arg(file).arg("-o").arg(&assembly);
            built.warnings.push_str(&run(&mut command)?);
            let text = std::fs::read_to_string(&assembly).unwrap_or_default();
            built.assembly.extend(inline_assembly(&text, file));
            run(Command::new(&self.compiler).arg("-c").arg(&assembly).arg("-o").arg(&object))?;
            objects.push(object);
        }
        objects.extend(self.shim(&version)?);
        let mut command = Command::new(&self.compiler);
        command.arg("-shared").args(&objects).arg("-o").arg(&built.module);
        command.args(wrapped().map(|name| format!("-Wl,--wrap={name}")));
        command.args(["-Wl,-z,now", "-Wl,-Bsymbolic", "-Wl,-z,noexecstack", "-Wl,--no-undefined"]);
        command.args(["-static-libgcc", "-pthread"]).args(self.link_flags());
        run(&mut command)?;
        Ok(built)
    }

    fn check_flags(&self) -> Result<(), Unbuilt> {
        for flag in &self.flags {
            let why = match flag.as_str() {
                "-static" => "a program that is linked statically cannot be loaded",
                "-m32" => "32-bit programs cannot be loaded",
                "-c" | "-S" | "-E" | "-o" => "selvedge compiles and links by itself",
                flag if flag.starts_with("-fsanitize=") => {
                    "the instrumentation of another tool cannot be combined with that of selvedge"
                }
                flag if flag.starts_with("-Wl,--wrap") => {
                    "selvedge redirects functions by the same option of the linker"
                }
                _ => continue,
            };
            return Err(Unbuilt::Refused(format!(
                "the flag {flag} does not apply: {why}\n  leave it out"
            )));
        }
        Ok(())
    }

    fn is_optimised(&self) -> bool {
        let last = self.flags.iter().rev().find(|flag| flag.starts_with("-O"));
        last.is_some_and(|flag| flag != "-O0")
    }

    /// Libraries are for the linker alone.
    fn compile_flags(&self) -> impl Iterator<Item = &String> {
        self.flags.iter().filter(|flag| !is_library(flag))
    }

    fn link_flags(&self) -> impl Iterator<Item = &String> {
        self.flags.iter().filter(|flag| is_library(flag))
    }

    fn version(&self) -> Result<String, Unbuilt> {
        let output = Command::new(&self.compiler).arg("--version").stdin(Stdio::null()).output();
        match output {
            Ok(output) if output.status.success() => {
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            }
            _ => Err(Unbuilt::Refused(format!(
                "there is no C compiler named `{}`\n  install one (gcc, clang), or name it: --cc, or CC in the environment",
                self.compiler
            ))),
        }
    }

    /// Returns the compiled shim, from the cache if it is there.
    fn shim(&self, version: &str) -> Result<Vec<PathBuf>, Unbuilt> {
        let key = hash(SHIM.iter().map(|(_, text)| *text).chain([version, &self.compiler]));
        let kept = self.cache.as_ref().map(|cache| cache.join(format!("shim-{key:016x}")));
        let names = || SHIM.iter().filter(|(name, _)| name.ends_with(".c")).map(|(name, _)| *name);
        let objects = |folder: &Path| -> Vec<PathBuf> {
            names().map(|name| folder.join(name).with_extension("o")).collect()
        };
        if let Some(kept) = &kept
            && objects(kept).iter().all(|object| object.is_file())
        {
            return Ok(objects(kept));
        }
        let folder = self.folder.join("shim");
        let written = std::fs::create_dir_all(&folder).and_then(|()| {
            SHIM.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
        });
        written.map_err(|error| {
            Unbuilt::Refused(format!("{} cannot be written: {error}", folder.display()))
        })?;
        for (name, object) in names().zip(objects(&folder)) {
            let mut command = Command::new(&self.compiler);
            command.args(OF_SHIM).arg("-c").arg(folder.join(name)).arg("-o").arg(object);
            run(&mut command)?;
        }
        if let Some(kept) = kept {
            // Whole or not at all: another process may look at the same time. Without a cache it takes longer.
            let _ = std::fs::create_dir_all(kept.parent().unwrap_or(&kept));
            let copy = kept.with_extension(format!("{}", std::process::id()));
            let copied = std::fs::create_dir_all(&copy).and_then(|()| {
                objects(&folder)
                    .iter()
                    .zip(objects(&copy))
                    .try_for_each(|(from, to)| std::fs::copy(from, to).map(|_| ()))
            });
            if copied.and_then(|()| std::fs::rename(&copy, &kept)).is_err() {
                let _ = std::fs::remove_dir_all(&copy);
            }
        }
        Ok(objects(&folder))
    }
}

fn is_library(flag: &str) -> bool {
    flag.starts_with("-l")
        || flag.starts_with("-L")
        || flag.starts_with("-Wl,")
        || flag.ends_with(".a")
}

/// Runs a compiler. Returns what it says.
fn run(command: &mut Command) -> Result<String, Unbuilt> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        let name = command.get_program().to_string_lossy().into_owned();
        Unbuilt::Refused(format!("`{name}` cannot be run: {error}"))
    })?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(said),
        false if said.contains("undefined reference to `__tsan_") => {
            let name = said
                .split("undefined reference to `")
                .nth(1)
                .and_then(|rest| rest.split('\'').next());
            let name = name.unwrap_or("__tsan_…");
            Err(Unbuilt::Refused(format!(
                "this compiler calls {name}, which this version of selvedge does not know\n  use another compiler: --cc"
            )))
        }
        false => Err(Unbuilt::Rejected(said)),
    }
}

/// Returns the functions that the shim replaces: `__wrap_f` in its text, and those that it refuses.
fn wrapped() -> impl Iterator<Item = String> {
    let mut names: Vec<String> = Vec::new();
    for (_, text) in SHIM {
        for mark in ["__wrap_", "\nREFUSED("] {
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

/// Returns whether a function from outside is known to be harmless: it neither waits nor touches what threads share.
pub(crate) fn is_known(name: &str) -> bool {
    const KNOWN: &[&str] = &[
        "abs",
        "atan",
        "atan2",
        "atof",
        "atoi",
        "atol",
        "atoll",
        "bsearch",
        "ceil",
        "cos",
        "exp",
        "fabs",
        "floor",
        "fmod",
        "getenv",
        "isalnum",
        "isalpha",
        "isdigit",
        "isspace",
        "labs",
        "log",
        "log10",
        "log2",
        "longjmp",
        "memchr",
        "pow",
        "qsort",
        "round",
        "sin",
        "siglongjmp",
        "sqrt",
        "stderr",
        "stdin",
        "stdout",
        "strerror",
        "strrchr",
        "strstr",
        "strtod",
        "strtol",
        "strtoll",
        "strtoul",
        "strtoull",
        "sysconf",
        "tan",
        "timespec_getres",
        "tolower",
        "toupper",
        "trunc",
    ];
    const PARTS: &[&str] = &[
        "_",
        "pthread_attr_",
        "pthread_mutexattr_",
        "pthread_condattr_",
        "pthread_rwlockattr_",
        "pthread_barrierattr_",
        "pthread_equal",
        "pthread_getattr",
        "thrd_equal",
        "sched_get",
        "pthread_setsched",
        "pthread_getsched",
    ];
    let name = name.split('@').next().unwrap_or(name);
    KNOWN.contains(&name)
        || PARTS.iter().any(|part| name.starts_with(part))
        || wrapped().any(|known| known == name)
}

/// Returns the places of inline assembly in the compiler's output, which marks it. Fences and hints to spin are known.
fn inline_assembly(text: &str, file: &Path) -> Vec<String> {
    const KNOWN: [&str; 8] =
        ["", "pause", "nop", "rep nop", "rep; nop", "mfence", "lfence", "sfence"];
    let mut places = Vec::new();
    for part in text.split("#APP").skip(1) {
        let code = part.split("#NO_APP").next().unwrap_or(part);
        let mut place = file.display().to_string();
        for line in code.lines().map(str::trim) {
            if let Some(mark) = line.strip_prefix("# ") {
                if let Some(number) = mark
                    .split_whitespace()
                    .next()
                    .filter(|it| it.parse::<u32>().is_ok_and(|it| it > 0))
                {
                    place = format!("{}:{number}", file.display());
                }
            } else if !KNOWN.contains(&line) && !line.starts_with('#') {
                places.push(place.clone());
                break;
            }
        }
    }
    places
}

fn hash<'a>(parts: impl Iterator<Item = &'a str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.flat_map(str::bytes) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}
