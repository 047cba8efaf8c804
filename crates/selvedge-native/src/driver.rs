//! `selvedge cc` and `selvedge c++`: they take the command line of a compiler, so that an existing build makes programs that
//! can be checked.
//!
//! Compiling adds the instrumentation; linking a program links a module under the name that was asked for. Everything
//! else is done by the compiler itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::compile::{Compiler, Language, Unbuilt, check_flags, is_library};
use crate::note::Notes;

/// A command line of a compiler.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The compiler.
    pub compiler: String,
    /// The language of files that do not say, and of what is linked.
    pub language: Language,
    /// What it was called with.
    pub arguments: Vec<String>,
    /// A folder for what is built on the way, which exists.
    pub folder: PathBuf,
    /// A folder in which the shim is kept for the next time.
    pub cache: Option<PathBuf>,
}

/// What a command line asks for.
#[derive(Default)]
struct Request {
    /// Whether only objects are asked for.
    compiles_only: bool,
    /// Whether it asks for something that is not a program: the compiler does that.
    passes_on: bool,
    is_shared: bool,
    output: Option<PathBuf>,
    sources: Vec<PathBuf>,
    /// For the compiler.
    flags: Vec<String>,
    /// For the linker, in their order; sources have their place among them.
    links: Vec<Link>,
    /// The language that `-x` names.
    language: Option<Language>,
}

enum Link {
    Source(usize),
    Other(String),
}

/// Flags whose next argument belongs to them.
const WITH_VALUE: &[&str] = &[
    "-I",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-iprefix",
    "-MF",
    "-MT",
    "-MQ",
    "-Xpreprocessor",
    "-Xassembler",
    "-aux-info",
    "--param",
    "-G",
    "-Xclang",
    "-mllvm",
    "-target",
    "-arch",
];
/// The same, for the linker.
const LINKS_WITH_VALUE: &[&str] = &["-L", "-l", "-Xlinker", "-T", "-u", "-z", "-e"];
/// What ends before there is an object.
const ENDS_EARLY: &[&str] =
    &["-E", "-S", "-M", "-MM", "-fsyntax-only", "-v", "--version", "--help", "-###"];

impl Request {
    fn new(arguments: &[String]) -> Self {
        let mut request = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let text = argument.as_str();
            match text {
                "-c" => request.compiles_only = true,
                "-shared" => request.is_shared = true,
                "-o" => request.output = arguments.next().map(PathBuf::from),
                "-x" => {
                    request.language = match arguments.next().map(String::as_str) {
                        Some("c") => Some(Language::C),
                        Some("c++") => Some(Language::Cxx),
                        Some("none") => None,
                        _ => {
                            request.passes_on = true;
                            None
                        }
                    };
                }
                _ if ENDS_EARLY.contains(&text)
                    || text.starts_with("-dump")
                    || text.starts_with("-print-")
                    || text.starts_with("--print-")
                    || text == "-" =>
                {
                    request.passes_on = true;
                }
                _ if LINKS_WITH_VALUE.contains(&text) => {
                    request.links.push(Link::Other(argument.clone()));
                    request.links.extend(arguments.next().cloned().map(Link::Other));
                }
                _ if WITH_VALUE.contains(&text) => {
                    request.flags.push(argument.clone());
                    request.flags.extend(arguments.next().cloned());
                }
                _ if text.starts_with("-o") && text.len() > 2 => {
                    request.output = Some(PathBuf::from(&text[2..]));
                }
                _ if is_library(text) || is_for_linker(text) => {
                    request.links.push(Link::Other(argument.clone()));
                }
                _ if text.starts_with('-') => request.flags.push(argument.clone()),
                _ => {
                    let path = PathBuf::from(text);
                    let is_source = request.language.is_some() || Language::of(&path).is_some();
                    if is_source {
                        request.links.push(Link::Source(request.sources.len()));
                        request.sources.push(path);
                    } else if matches!(path.extension().and_then(|it| it.to_str()), Some("s" | "S"))
                    {
                        // Assembly: what it accesses is not seen, and the linked program says so.
                        request.passes_on = true;
                    } else {
                        request.links.push(Link::Other(argument.clone()));
                    }
                }
            }
        }
        // What compilers do if there is nothing to compile or link they say themselves.
        request.passes_on |= request.links.is_empty();
        request
    }
}

fn is_for_linker(flag: &str) -> bool {
    ["-rdynamic", "-s", "-pie", "-no-pie", "-nostartfiles", "-nodefaultlibs"].contains(&flag)
        || flag.starts_with("-fuse-ld=")
        || flag.ends_with(".so")
        || flag.contains(".so.")
}

impl Driver {
    /// Does what the command line asks for. Returns the exit code of the compiler, if that said everything.
    ///
    /// # Errors
    /// If something is not accepted.
    pub fn run(&self) -> Result<i32, Unbuilt> {
        let arguments = self.expanded()?;
        let request = Request::new(&arguments);
        if request.passes_on {
            return self.pass_on();
        }
        check_flags(&arguments)?;
        if request.is_shared && !request.compiles_only {
            return Err(Unbuilt::Refused(
                "the flag -shared does not apply: a shared library cannot be checked with the program that uses it\n  \
                 link its objects, or an archive of them, into the program"
                    .to_owned(),
            ));
        }
        let compiler = Compiler::find(&self.compiler, self.language)?;
        let shim = compiler.shim(&self.folder, self.cache.as_deref())?;
        let mut objects = Vec::new();
        for (number, source) in request.sources.iter().enumerate() {
            let object = match (request.compiles_only, &request.output) {
                (true, Some(output)) => output.clone(),
                (true, None) => {
                    PathBuf::from(source.file_name().unwrap_or_default()).with_extension("o")
                }
                (false, _) => self.folder.join(format!("{number}.o")),
            };
            let mut flags = request.flags.clone();
            flags.extend(dependency_flags(&request, &object));
            if let Some(language) = request.language {
                let language = if language == Language::C { "c" } else { "c++" };
                flags.extend(["-x".to_owned(), language.to_owned()]);
            }
            let said = compiler.compile(&flags, source, &object, &shim)?;
            say(&said);
            forget_headers(&flags, &shim.headers());
            objects.push(object);
        }
        if request.compiles_only {
            return Ok(0);
        }
        let mut links = Vec::new();
        for link in &request.links {
            match link {
                Link::Source(number) => links.push(objects[*number].display().to_string()),
                Link::Other(argument) => {
                    check_object(Path::new(argument))?;
                    // The program is a module, whatever was asked for.
                    if !matches!(argument.as_str(), "-pie" | "-no-pie" | "-s" | "-rdynamic") {
                        links.push(argument.clone());
                    }
                }
            }
        }
        let output = request.output.unwrap_or_else(|| PathBuf::from("a.out"));
        say(&compiler.link(&links, &shim, &output)?);
        Ok(0)
    }

    /// Has the compiler do it.
    fn pass_on(&self) -> Result<i32, Unbuilt> {
        let status =
            Command::new(&self.compiler).args(&self.arguments).stdin(Stdio::inherit()).status();
        let status = status.map_err(|error| {
            Unbuilt::Refused(format!("`{}` cannot be run: {error}", self.compiler))
        })?;
        Ok(status.code().unwrap_or(2))
    }

    /// Returns the arguments with those of response files in place of them.
    fn expanded(&self) -> Result<Vec<String>, Unbuilt> {
        let mut arguments = Vec::new();
        for argument in &self.arguments {
            match argument.strip_prefix('@') {
                None => arguments.push(argument.clone()),
                Some(file) => {
                    let text = std::fs::read_to_string(file).map_err(|error| {
                        Unbuilt::Refused(format!("{file} cannot be read: {error}"))
                    })?;
                    arguments.extend(words(&text));
                }
            }
        }
        Ok(arguments)
    }
}

/// Says what a compiler said.
#[allow(clippy::print_stderr, reason = "a compiler speaks to the build that called it")]
fn say(text: &str) {
    if !text.is_empty() {
        eprint!("{text}");
    }
}

/// Files of dependencies are named after the object, not after what it is assembled from.
fn dependency_flags(request: &Request, object: &Path) -> Vec<String> {
    let has = |flag: &str| request.flags.iter().any(|known| known.starts_with(flag));
    if !has("-MD") && !has("-MMD") {
        return Vec::new();
    }
    let mut flags = Vec::new();
    if !has("-MF") {
        flags.extend(["-MF".to_owned(), object.with_extension("d").display().to_string()]);
    }
    if !has("-MT") && !has("-MQ") {
        flags.extend(["-MT".to_owned(), object.display().to_string()]);
    }
    flags
}

/// Takes the headers of the shim out of a file of dependencies: they are not part of the project, and may be gone when it is built again.
fn forget_headers(flags: &[String], headers: &Path) {
    let file = flags.iter().position(|flag| flag == "-MF").and_then(|at| flags.get(at + 1));
    let file =
        file.map(String::as_str).or_else(|| flags.iter().find_map(|it| it.strip_prefix("-MF")));
    let Some(file) = file else { return };
    if let Ok(text) = std::fs::read_to_string(file) {
        // If that fails, a build that runs again may ask for them.
        let _ = std::fs::write(file, without_headers(&text, &headers.display().to_string()));
    }
}

fn without_headers(dependencies: &str, headers: &str) -> String {
    let is_kept = |line: &&str| !(line.starts_with(headers) && line.ends_with(':'));
    let lines = dependencies.lines().filter(is_kept).map(|line| {
        let words = line.split(' ').filter(|word| !word.starts_with(headers));
        words.collect::<Vec<_>>().join(" ") + "\n"
    });
    lines.collect()
}

/// An object that another compiler made has accesses that are not seen.
fn check_object(path: &Path) -> Result<(), Unbuilt> {
    if path.extension().is_none_or(|extension| extension != "o") || !path.is_file() {
        return Ok(());
    }
    let why = match Notes::read(path) {
        None => "was not compiled by selvedge, so that its accesses would not be seen",
        Some(notes) if notes.is_outdated => "was compiled by another version of selvedge",
        Some(_) => return Ok(()),
    };
    Err(Unbuilt::Refused(format!(
        "{} {why}\n  compile it again: CC=\"selvedge cc\" CXX=\"selvedge c++\"",
        path.display()
    )))
}

/// Returns the words of a response file: quotes and backslashes as compilers read them.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_word, mut quote) = (String::new(), false, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => {
                word.extend(letters.next());
                is_word = true;
            }
            (letter, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                is_word = true;
            }
            (letter, None) if letter.is_whitespace() => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (letter, _) => {
                word.push(letter);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        Request::new(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_line_is_understood() {
        let compile = request("-Wall -Iinc -I inc2 -MMD -c a.c -o build/a.o");
        assert!(compile.compiles_only && !compile.passes_on);
        assert_eq!(compile.flags, ["-Wall", "-Iinc", "-I", "inc2", "-MMD"]);
        assert_eq!(compile.output.as_deref(), Some(Path::new("build/a.o")));
        let flags = dependency_flags(&compile, Path::new("build/a.o"));
        assert_eq!(flags, ["-MF", "build/a.d", "-MT", "build/a.o"]);
        let link = request("a.o libq.a -L. -lm -o prog");
        assert!(!link.compiles_only && !link.passes_on && link.sources.is_empty());
        assert_eq!(link.links.len(), 4);
        for other in ["--version", "-E a.c", "-M a.c", "-S a.c", "-dumpmachine", "-Wall"] {
            assert!(request(other).passes_on, "{other}");
        }
    }

    #[test]
    fn headers_of_the_shim_are_no_dependencies() {
        let text =
            "a.o: a.c /shim/include/x.h \\\n /shim/include/y.h b.h\n\n/shim/include/x.h:\nb.h:\n";
        assert_eq!(without_headers(text, "/shim/include"), "a.o: a.c \\\n b.h\n\nb.h:\n");
    }

    #[test]
    fn response_files_have_quotes() {
        assert_eq!(words("-DA=\"b c\" 'd'\n e\\ f \"\""), ["-DA=b c", "d", "e f", ""]);
    }
}
