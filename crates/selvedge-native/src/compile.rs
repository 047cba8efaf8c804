//! From source files to a module: a shared object of the program and the shim.
//!
//! The compiler is the system's. Its instrumentation for another tool's data-race detector calls a function before each
//! access; that tool's library is not linked, the shim defines these functions. References to libc that matter are
//! redirected to the shim by the linker (`--wrap`), for the program alone; with the standard library of C++ linked
//! statically, for that as well.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::assembly;
use crate::by_value::{self, ByValue};
use crate::known;
use crate::note::Notes;
use crate::odd_sizes;
use crate::shim::{self, Shim};
use crate::tasks;

/// Flags that come first, so that the user's override them. Without optimisation the program that runs has all
/// accesses of the source.
const FIRST: [&str; 2] = ["-O0", "-g"];
/// Flags that come last: without them accesses would not be seen.
const LAST: [&str; 8] = [
    "-fsanitize=thread",
    "-fno-builtin",
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-fcf-protection=none",
    "-fno-lto",
    "-g",
];
const OF_GCC: [&str; 1] = ["--param=tsan-distinguish-volatile=1"];
/// Local variables have known contents before they are initialised: written by instructions and not by a call, which would be
/// an access.
const FILLED: [&str; 2] =
    ["-ftrivial-auto-var-init=pattern", "-mmemset-strategy=rep_byte:-1:noalign"];
/// Vectors that the compiler makes of loops may be accessed under a mask, which is not seen.
const OF_CLANG: [&str; 6] = [
    "-mllvm",
    "-tsan-compound-read-before-write=1",
    "-mllvm",
    "-tsan-distinguish-volatile=1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
];
/// Semaphores of C++ are those of POSIX, which are modelled.
const OF_CXX: [&str; 1] = ["-D_GLIBCXX_USE_POSIX_SEMAPHORE=1"];

/// A language that a file is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

impl Language {
    /// Returns the language of a file, by its extension.
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension().and_then(OsStr::to_str)? {
            "c" | "i" => Some(Language::C),
            "cc" | "cpp" | "cxx" | "C" | "c++" | "cp" | "ii" => Some(Language::Cxx),
            _ => None,
        }
    }
}

/// What to compile, and how.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The command of the compiler for C.
    pub c: String,
    /// The command of the compiler for C++.
    pub cxx: String,
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
        check_flags(&self.flags)?;
        for flag in &self.flags {
            if matches!(flag.as_str(), "-c" | "-S" | "-E" | "-o" | "-shared") {
                return Err(refused(flag, "selvedge compiles and links by itself"));
            }
        }
        let is_cxx = self.files.iter().any(|file| Language::of(file) == Some(Language::Cxx));
        let language = if is_cxx { Language::Cxx } else { Language::C };
        let linker = Compiler::find(if is_cxx { &self.cxx } else { &self.c }, language)?;
        let shim = linker.shim(&self.folder, self.cache.as_deref())?;
        let mut built = Built { module: self.folder.join("program.so"), warnings: String::new() };
        let flags: Vec<String> =
            self.flags.iter().filter(|flag| !is_library(flag)).cloned().collect();
        let mut objects = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let object = self.folder.join(format!("{number}.o"));
            let other = match Language::of(file) {
                Some(Language::C) if is_cxx => Some(Compiler::find(&self.c, Language::C)?),
                _ => None,
            };
            let compiler = other.as_ref().unwrap_or(&linker);
            built.warnings.push_str(&compiler.compile(&flags, file, &object, &shim)?);
            objects.push(object.into_os_string().into_string().unwrap_or_default());
        }
        objects.extend(self.flags.iter().filter(|flag| is_library(flag)).cloned());
        linker.link(&objects, &shim, &built.module)?;
        Ok(built)
    }
}

/// A compiler of the system.
pub(crate) struct Compiler {
    command: String,
    /// What it says about itself.
    version: String,
    language: Language,
}

impl Compiler {
    pub(crate) fn find(command: &str, language: Language) -> Result<Self, Unbuilt> {
        let output = Command::new(command).arg("--version").stdin(Stdio::null()).output();
        let (name, packages, option, variable) = match language {
            Language::C => ("C", "gcc, clang", "--cc", "CC"),
            Language::Cxx => ("C++", "g++, clang", "--cxx", "CXX"),
        };
        match output {
            Ok(output) if output.status.success() => Ok(Self {
                command: command.to_owned(),
                version: String::from_utf8_lossy(&output.stdout).into_owned(),
                language,
            }),
            _ => Err(Unbuilt::Refused(format!(
                "there is no {name} compiler named `{command}`\n  install one ({packages}), or name it: {option}, \
                 or {variable} in the environment"
            ))),
        }
    }

    /// Returns the shim for programs that it links.
    pub(crate) fn shim(&self, folder: &Path, cache: Option<&Path>) -> Result<Shim, Unbuilt> {
        let is_cxx = self.language == Language::Cxx;
        Shim::new(&self.command, &self.version, is_cxx, folder, cache)
    }

    /// Compiles a file to an object. Returns what the compiler said.
    pub(crate) fn compile(
        &self,
        flags: &[String],
        file: &Path,
        object: &Path,
        shim: &Shim,
    ) -> Result<String, Unbuilt> {
        let listing = object.with_extension("selvedge.s");
        let mut command = Command::new(&self.command);
        command.args(FIRST).args(flags).args(LAST);
        command.args(if self.is_clang() { &OF_CLANG[..] } else { &OF_GCC });
        if self.fills_locals() {
            command.args(FILLED);
        }
        self.add_headers(&mut command, file, shim);
        // The instrumentation is one pass for functions that are optimised, and another for those that are not.
        let passes = ["tsan", "tsan0"].map(|pass| (pass, object.with_extension(pass)));
        for (pass, dump) in passes.iter().filter(|_| !self.is_clang()) {
            command.arg(format!("-fdump-tree-{pass}-gimple-lineno={}", dump.display()));
        }
        let said = match self.is_clang() {
            true => self.list_by_clang(command, flags, file, &listing)?,
            false => run(command.arg("-S").arg(file).arg("-o").arg(&listing))?,
        };
        let by_value = self.by_value(flags, file, &passes.map(|(_, dump)| dump), shim)?;
        let text = std::fs::read(&listing).map_err(|error| unwritten(&listing, &error))?;
        let text = String::from_utf8_lossy(&text);
        if !self.is_clang() {
            tasks::refuse_static(&text, false, file)?;
        }
        let places = assembly::places(&text, file);
        let is_serial = assembly::uses_result(&text, "pthread_barrier_wait");
        if assembly::needs_executable_stack(&text) {
            let _ = std::fs::remove_file(&listing);
            return Err(Unbuilt::Refused(format!(
                "{} takes the address of a nested function, which needs an executable stack\n  make it a function of its own",
                file.display()
            )));
        }
        let this_if = |is: bool| is.then(|| file.display().to_string()).into_iter().collect();
        let notes = Notes {
            compilers: vec![self.version.lines().next().unwrap_or_default().to_owned()],
            optimised: optimisation(flags).into_iter().map(str::to_owned).collect(),
            assembly: places,
            by_value: by_value.shared,
            local_by_value: by_value.local,
            fences: this_if(assembly::has_fence(&text)),
            serial: this_if(is_serial),
            has_destructors: false,
            is_outdated: false,
        };
        let noted = std::fs::File::options().append(true).open(&listing).and_then(|mut file| {
            std::io::Write::write_all(&mut file, notes.directives().as_bytes())
        });
        noted.map_err(|error| unwritten(&listing, &error))?;
        let assembled =
            run(Command::new(&self.command).arg("-c").arg(&listing).arg("-o").arg(object));
        let _ = std::fs::remove_file(&listing);
        assembled.map(|_| said)
    }

    /// Writes the assembly of a file, with the accesses that clang's instrumentation leaves out.
    fn list_by_clang(
        &self,
        mut command: Command,
        flags: &[String],
        file: &Path,
        listing: &Path,
    ) -> Result<String, Unbuilt> {
        let text = listing.with_extension("ll");
        let said = run(command.args(["-S", "-emit-llvm"]).arg(file).arg("-o").arg(&text))?;
        let instrumented = std::fs::read_to_string(&text)
            .and_then(|llvm| std::fs::write(&text, odd_sizes::instrument(&llvm)));
        instrumented.map_err(|error| unwritten(&text, &error))?;
        // It is optimised already. Of the flags only those matter that concern the code.
        let mut command = Command::new(&self.command);
        let is_of_code = |flag: &&String| ["-O", "-m", "-f"].iter().any(|of| flag.starts_with(of));
        command.args(FIRST).args(flags.iter().filter(is_of_code)).args(&LAST[1..]);
        command.args(["-Xclang", "-disable-llvm-passes", "-Qunused-arguments", "-w", "-S"]);
        let listed = run(command.arg(&text).arg("-o").arg(listing));
        let _ = std::fs::remove_file(&text);
        listed.map(|_| said)
    }

    /// Has headers of the shim come first.
    fn add_headers(&self, command: &mut Command, file: &Path, shim: &Shim) {
        // A file that is preprocessed would be read without them.
        match file.extension().and_then(OsStr::to_str) {
            Some("i") => drop(command.args(["-x", "c"])),
            Some("ii") => drop(command.args(["-x", "c++"])),
            _ => {}
        }
        if self.language == Language::Cxx {
            command.args(OF_CXX).arg("-isystem").arg(shim.headers());
        }
        command.arg("-include").arg(shim.headers().join("selvedge-tasks.h"));
        if self.is_clang() {
            command.arg("-include").arg(shim.headers().join("selvedge-weak.h"));
        }
    }

    /// Returns whether it can fill local variables that the program does not initialise. clang would show that as accesses.
    fn fills_locals(&self) -> bool {
        let first = self.version.lines().next().unwrap_or_default();
        let major = first.rsplit(' ').next().and_then(|number| number.split('.').next());
        !self.is_clang()
            && major.and_then(|major| major.parse().ok()).is_some_and(|it: u32| it >= 12)
    }

    fn is_clang(&self) -> bool {
        self.version.contains("clang")
    }

    /// Finds calls that copy structures: in what gcc wrote beside the object, or in what clang writes.
    fn by_value(
        &self,
        flags: &[String],
        file: &Path,
        dumps: &[PathBuf; 2],
        shim: &Shim,
    ) -> Result<ByValue, Unbuilt> {
        let headers = shim.headers().display().to_string();
        let of_system = ["/usr/include/", "/usr/lib/", &headers, "<built-in>"];
        let is_own = |file: &str| !of_system.iter().any(|part| file.starts_with(part));
        if self.is_clang() {
            let mut command = Command::new(&self.command);
            command.args(FIRST).args(flags).args(["-O0", "-g", "-w", "-fno-builtin"]);
            self.add_headers(&mut command, file, shim);
            run(command.args(["-S", "-emit-llvm"]).arg(file).arg("-o").arg(&dumps[0]))?;
        }
        let mut text = String::new();
        for dump in dumps {
            match std::fs::read(dump) {
                Ok(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
                // A file without functions has none.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let dump = dump.display();
                    return Err(Unbuilt::Refused(format!("{dump} cannot be read: {error}")));
                }
            }
            let _ = std::fs::remove_file(dump);
        }
        if self.is_clang() {
            tasks::refuse_static(&text, true, file)?;
        }
        Ok(match self.is_clang() {
            true => by_value::in_llvm(&text, &file.display().to_string(), &is_own),
            false => by_value::in_gimple(&text, &is_own),
        })
    }

    /// Links objects and libraries to a module.
    pub(crate) fn link(
        &self,
        arguments: &[String],
        shim: &Shim,
        module: &Path,
    ) -> Result<String, Unbuilt> {
        let said = run(&mut self.linking(arguments, shim, module))?;
        let file = std::fs::read(module).map_err(|error| unwritten(module, &error))?;
        let strangers = known::strangers(&file);
        if strangers.is_empty() {
            return Ok(said);
        }
        // Once more, with functions in their place that end the check where they are called.
        let text = module.with_extension("selvedge.c");
        let object = module.with_extension("selvedge.o");
        std::fs::write(&text, known::refusing(&strangers))
            .map_err(|error| unwritten(&text, &error))?;
        let linked = shim.compile(&self.command, &text, &object).and_then(|()| {
            let mut command = self.linking(arguments, shim, module);
            command.arg(&object);
            command.args(strangers.iter().map(|name| format!("-Wl,--wrap={name}")));
            run(&mut command)
        });
        let _ = std::fs::remove_file(&text);
        let _ = std::fs::remove_file(&object);
        linked
    }

    fn linking(&self, arguments: &[String], shim: &Shim, module: &Path) -> Command {
        let mut command = Command::new(&self.command);
        command.arg("-shared").args(arguments).args(shim.objects()).arg("-o").arg(module);
        command.args(shim::wrapped().map(|name| format!("-Wl,--wrap={name}")));
        command.args(shim::RENAMED.map(|(name, own)| format!("-Wl,--defsym={name}={own}")));
        command.args(["-Wl,-z,now", "-Wl,-Bsymbolic", "-Wl,-z,noexecstack", "-Wl,--no-undefined"]);
        command.args(["-Wl,-e,selvedge_hint", "-static-libgcc", "-pthread"]);
        if self.language == Language::Cxx {
            command.arg("-static-libstdc++");
        }
        command
    }
}

/// Returns the flag that has the compiler optimise, if there is one.
fn optimisation(flags: &[String]) -> Option<&str> {
    let last = flags.iter().rev().find(|flag| flag.starts_with("-O"))?;
    (last != "-O0").then_some(last)
}

/// Refuses flags with which nothing could be checked.
pub(crate) fn check_flags(flags: &[String]) -> Result<(), Unbuilt> {
    for flag in flags {
        let why = match flag.as_str() {
            "-static" | "-static-pie" => "a program that is linked statically cannot be loaded",
            "-m32" | "-mx32" => "32-bit programs cannot be loaded",
            "-stdlib=libc++" => "the standard library is GNU's, whose headers selvedge knows",
            flag if flag.starts_with("-fsanitize=") => {
                "the instrumentation of another tool cannot be combined with that of selvedge"
            }
            flag if flag.starts_with("-Wl,--wrap") => {
                "selvedge redirects functions by the same option of the linker"
            }
            _ => continue,
        };
        return Err(refused(flag, why));
    }
    Ok(())
}

fn refused(flag: &str, why: &str) -> Unbuilt {
    Unbuilt::Refused(format!("the flag {flag} does not apply: {why}\n  leave it out"))
}

pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Unbuilt {
    Unbuilt::Refused(format!("{} cannot be written: {error}", path.display()))
}

/// Libraries are for the linker alone.
pub(crate) fn is_library(flag: &str) -> bool {
    flag.starts_with("-l")
        || flag.starts_with("-L")
        || flag.starts_with("-Wl,")
        || flag.ends_with(".a")
}

/// Runs a compiler. Returns what it says.
pub(crate) fn run(command: &mut Command) -> Result<String, Unbuilt> {
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
