//! Reading programs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use selvedge_core::{Budget, Describe, Report, Schedule, System, ViolationKind};
use selvedge_explore::{Observer, Options, Sampling, Setting, explore_states};
use selvedge_lang::bundle;
use selvedge_lang::{Interpreter, ThreadNames, ir};
use selvedge_report::{ConstantJson, Origin};

use crate::args::{ProgramArgs, SpuriousArgs};
use crate::estimate::{self, Estimator};
use crate::exit::{Failure, complain};
use crate::hash::hash;
use crate::imports::{MOST_BYTES, with_imports};
use crate::on_demand::{OnDemand, Text};
use crate::registry::Chosen;
use crate::screen::Screen;

/// Values of constants, by name.
pub(crate) type Constants = BTreeMap<String, ConstantJson>;

/// Returns whether a file is one for a compiler.
pub(crate) fn is_compiled(file: &Path) -> bool {
    let is_one = |extension: &OsStr| {
        let known = ["c", "i", "cc", "cpp", "cxx", "C", "c++", "cp", "ii", "so", "o"];
        known.iter().any(|known| *known == extension)
    };
    file.extension().is_some_and(is_one) || is_elf(file)
}

/// Returns whether a file is compiled: an object, a library or a program of Linux.
pub(crate) fn is_elf(file: &Path) -> bool {
    head(file).is_some_and(|head| head.starts_with(b"\x7fELF"))
}

/// Returns whether a compiled file is for 32-bit systems.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) fn is_32_bit(file: &Path) -> bool {
    head(file).is_some_and(|head| head.starts_with(b"\x7fELF") && head[4] == 1)
}

/// Returns the first bytes of a regular file.
fn head(file: &Path) -> Option<[u8; 5]> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut head = [0; 5];
    std::fs::File::open(file).ok()?.read_exact(&mut head).ok()?;
    Some(head)
}

/// A program that can be checked, whatever it is written in.
pub(crate) trait Subject: Origin {
    /// What runs it.
    type System: Describe;

    /// Returns a fresh system whose steps have texts.
    fn system(&self) -> Self::System;

    /// Returns whether it declares invariants.
    fn has_invariants(&self) -> bool;

    /// Explores it with an algorithm of the registry. The names of its threads go to `names`.
    fn explore(
        &self,
        chosen: Chosen,
        options: &Options,
        names: Option<&ThreadNames>,
        observer: &mut dyn Observer,
    ) -> Report;

    /// Runs some executions that are chosen at random.
    fn sample(
        &self,
        sample: Sample,
        options: &Options,
        names: Option<&ThreadNames>,
        observer: &mut dyn Observer,
    ) -> Report;

    /// Returns what estimates how many executions an optimal search of it has, which begins now.
    fn estimator(&self, options: &Options) -> Option<Estimator>;

    /// Returns what is needed to load it again.
    fn origin(&self) -> Source<'_>;

    /// Returns what a schedule depends on besides the program.
    fn locals(&self) -> String {
        String::new()
    }
}

/// Executions that are chosen at random.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    pub(crate) sampling: Sampling,
    pub(crate) executions: u64,
    pub(crate) seed: u64,
}

impl Sample {
    /// Runs them on systems that `make` makes.
    pub(crate) fn run<S: System>(
        self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        let Self { sampling, executions, seed } = self;
        selvedge_explore::sample(sampling, executions, seed, make, options, observer)
    }
}

/// What a program is loaded from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// The file as the user named it.
    pub(crate) file: &'a str,
    /// Its name in messages.
    pub(crate) shown: &'a str,
    /// Its text; of several files one after the other.
    pub(crate) text: &'a str,
    /// The constants that the user set.
    pub(crate) given: &'a Constants,
    /// All constants, with the values that they have.
    pub(crate) constants: &'a Constants,
    /// Further files, and flags for the compiler.
    pub(crate) more: &'a [String],
    pub(crate) flags: &'a [String],
    /// How operations of a compiled program end spuriously.
    pub(crate) spurious: SpuriousArgs,
}

/// A program that can be run.
pub(crate) struct Loaded {
    /// The file as the user named it; `-` is standard input.
    pub(crate) file: String,
    /// Its text.
    pub(crate) text: String,
    /// The constants that the user set.
    pub(crate) given: Constants,
    /// All constants, with the values that they have.
    pub(crate) constants: Constants,
    /// Independence constraints from elsewhere: a name and a text.
    added: Option<(String, String)>,
    /// Finds constraints when a search asks for them.
    finder: Option<Arc<OnDemand>>,
    program: Arc<ir::Program>,
}

impl Loaded {
    /// Reads and compiles. Warnings go to standard error.
    pub(crate) fn new(args: &ProgramArgs, screen: &Screen) -> Result<Self, Failure> {
        let file = args.file.to_string_lossy().into_owned();
        if is_compiled(&args.file) {
            return Err(Failure::User(format!(
                "{file} is not a model: this command does not apply to C programs\n  \
                 check it: selvedge check {}",
                shell_word(&file)
            )));
        }
        let text = with_imports(&args.file, read(&args.file)?);
        Self::compile(file, text, args.constants()?, screen)
    }

    /// Compiles a text that was read. Warnings go to standard error.
    pub(crate) fn compile(
        file: String,
        text: String,
        given: Constants,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let (loaded, warnings) = Self::compile_quietly(file, text, given, screen)?;
        complain(&warnings);
        Ok(loaded)
    }

    /// Compiles a text that was read. Returns the warnings as well.
    pub(crate) fn compile_quietly(
        file: String,
        text: String,
        given: Constants,
        screen: &Screen,
    ) -> Result<(Self, String), Failure> {
        let name = display_name(&file);
        let overrides: Vec<(String, i64)> =
            given.iter().map(|(name, value)| (name.clone(), number(*value))).collect();
        let render = |diagnostics: &[selvedge_lang::Diagnostic]| {
            selvedge_lang::render(diagnostics, name, &text, screen.error_paint.colour)
        };
        let compiled = selvedge_lang::compile(name, &text, &overrides)
            .map_err(|diagnostics| Failure::Rendered(render(&diagnostics)))?;
        let warnings = render(&compiled.warnings);
        if compiled.program.threads.is_empty() {
            return Err(Failure::User(format!(
                "{name} has no threads, so nothing runs\n  \
                 add one: thread main {{ … }}; or is a range such as 0..N empty?"
            )));
        }
        let constants: Constants = selvedge_lang::constants(&text, &overrides)
            .into_iter()
            .map(|constant| (constant.name, value(constant.ty, constant.value)))
            .collect();
        for (name, value) in &given {
            let is_bool = |value: &ConstantJson| matches!(value, ConstantJson::Bool(_));
            if is_bool(value) && constants.get(name).is_some_and(|known| !is_bool(known)) {
                return Err(Failure::User(format!(
                    "the constant `{name}` is an integer, not true or false\n  \
                     write for example --const {name}=1"
                )));
            }
        }
        let loaded = Self {
            file,
            text,
            given,
            constants,
            added: None,
            finder: None,
            program: compiled.program,
        };
        Ok((loaded, warnings))
    }

    /// Returns the same program with further independence constraints.
    pub(crate) fn with_constraints(
        self,
        name: String,
        text: String,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let overrides: Vec<(String, i64)> =
            self.given.iter().map(|(name, value)| (name.clone(), number(*value))).collect();
        let additions = selvedge_lang::Additions { name: &name, text: &text };
        let compiled =
            selvedge_lang::compile_with(self.name(), &self.text, &overrides, Some(additions));
        let compiled = compiled.map_err(|rejected| {
            let colour = screen.error_paint.colour;
            let mut out = selvedge_lang::render(&rejected.program, self.name(), &self.text, colour);
            out.push_str(&selvedge_lang::render(&rejected.additions, &name, &text, colour));
            Failure::Rendered(out)
        })?;
        Ok(Self { added: Some((name, text)), program: compiled.program, ..self })
    }

    /// Returns the same program, for which constraints are found when a search asks for them, and what finds them.
    pub(crate) fn finding_constraints(self, budget: &Budget) -> (Self, Arc<OnDemand>) {
        let constants = self.given.iter();
        let constants = constants.map(|(name, value)| (name.clone(), number(*value))).collect();
        let from = Text { name: self.name().to_owned(), text: self.text.clone(), constants };
        let finder = Arc::new(OnDemand::new(from, Arc::clone(&self.program), budget));
        (Self { finder: Some(Arc::clone(&finder)), ..self }, finder)
    }

    /// Returns what was compiled.
    pub(crate) fn program(&self) -> &Arc<ir::Program> {
        &self.program
    }

    /// Returns a fresh system.
    pub(crate) fn system(&self) -> Interpreter {
        let system = Interpreter::new(Arc::clone(&self.program));
        match &self.finder {
            Some(finder) => system.finding_constraints(Arc::clone(finder) as _),
            None => system,
        }
    }

    /// Returns a hash of all that decides what the program does, its constants included.
    pub(crate) fn identity(&self) -> String {
        hash(&self.program.identity())
    }

    /// Returns a hash of the program as it is written: violations name lines and columns.
    pub(crate) fn written_identity(&self) -> String {
        hash(&format!("{}\n{}", self.program.identity(), self.text))
    }

    /// Returns the files that the program consists of, each with a hash of its text.
    pub(crate) fn file_hashes(&self) -> Vec<(String, String)> {
        let parts = bundle::parts(&self.text);
        parts.iter().map(|part| (part.name(&self.file), hash(&part.text))).collect()
    }

    /// Returns the file's name in messages.
    pub(crate) fn name(&self) -> &str {
        display_name(&self.file)
    }

    /// Returns the constants that the user set: `N = 5, DEBUG = true`.
    pub(crate) fn constants_text(&self) -> String {
        let texts = self.given.iter().map(|(name, value)| format!("{name} = {}", text(*value)));
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Returns a command on the same program with the same constants.
    pub(crate) fn command(&self, name: &str) -> String {
        let mut command = format!("selvedge {name} {}", shell_word(&self.file));
        for (name, value) in &self.given {
            command.push_str(&format!(" --const {name}={}", text(*value)));
        }
        command
    }
}

impl Loaded {
    /// Returns whether something is promised about executions without end.
    pub(crate) fn has_promises(&self) -> bool {
        !self.program.promises.is_empty()
    }

    /// Returns a fresh system that tells the names of its threads, if they are wanted.
    fn naming(&self, names: Option<&ThreadNames>) -> Interpreter {
        match names {
            Some(names) => self.system().telling_names(names),
            None => self.system(),
        }
    }
}

impl Subject for Loaded {
    type System = Interpreter;

    fn system(&self) -> Interpreter {
        self.system()
    }

    fn has_invariants(&self) -> bool {
        !self.program.invariants.is_empty()
    }

    fn explore(
        &self,
        chosen: Chosen,
        options: &Options,
        names: Option<&ThreadNames>,
        observer: &mut dyn Observer,
    ) -> Report {
        let make = || self.naming(names);
        match chosen.takes(Setting::SharedStates) {
            true => explore_states(&make, options, observer),
            false => chosen.explore(&make, options, observer),
        }
    }

    fn sample(
        &self,
        sample: Sample,
        options: &Options,
        names: Option<&ThreadNames>,
        observer: &mut dyn Observer,
    ) -> Report {
        sample.run(&|| self.naming(names), options, observer)
    }

    fn origin(&self) -> Source<'_> {
        let Self { file, text, given, constants, .. } = self;
        Source {
            file,
            shown: self.name(),
            text,
            given,
            constants,
            more: &[],
            flags: &[],
            spurious: SpuriousArgs::default(),
        }
    }

    fn estimator(&self, options: &Options) -> Option<Estimator> {
        let (program, options) = (Arc::clone(&self.program), options.clone());
        let make = move || Interpreter::new(Arc::clone(&program));
        Some(Box::new(move || estimate::in_passing(&make, &options)))
    }
}

impl Origin for Loaded {
    fn text(&self, file: &str) -> Option<Cow<'_, str>> {
        let parts = bundle::parts(&self.text);
        let text = match &self.added {
            Some((name, text)) if name == file => text,
            _ => parts.iter().find(|part| part.name(self.name()) == file).unwrap_or(&parts[0]).text,
        };
        Some(Cow::Borrowed(text))
    }

    fn replay_command(&self, schedule: &Schedule, kind: ViolationKind) -> String {
        let races = if kind == ViolationKind::DataRace { " --races" } else { "" };
        let schedule = schedule.to_string();
        let schedule = if schedule.is_empty() { "''" } else { &schedule };
        format!("{}{races} --schedule {schedule}", self.command("replay"))
    }
}

fn text(value: ConstantJson) -> String {
    match value {
        ConstantJson::Bool(value) => value.to_string(),
        ConstantJson::Int(value) => value.to_string(),
    }
}

fn value(ty: ir::Type, value: i32) -> ConstantJson {
    match ty {
        ir::Type::Bool => ConstantJson::Bool(value != 0),
        ir::Type::Int | ir::Type::Thread | ir::Type::Enum(_) | ir::Type::Future(_) => {
            ConstantJson::Int(i64::from(value))
        }
    }
}

fn number(value: ConstantJson) -> i64 {
    match value {
        ConstantJson::Bool(value) => i64::from(value),
        ConstantJson::Int(value) => value,
    }
}

fn display_name(file: &str) -> &str {
    if file == "-" { "<stdin>" } else { file }
}

/// Returns the text of a program: a file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let text = read_text(path)?;
    if text.trim().is_empty() {
        let file = path.to_string_lossy();
        let name = display_name(&file);
        return Err(Failure::User(format!(
            "cannot read {name}: it is empty; a program has at least one thread"
        )));
    }
    Ok(text)
}

/// Returns the text of a file, or of standard input for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let file = path.to_string_lossy();
    let name = display_name(&file);
    let fail = |reason: String| Failure::User(format!("cannot read {name}: {reason}"));
    let mut bytes = Vec::new();
    let result = if file == "-" {
        std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes)
    } else {
        if path.is_dir() {
            return Err(fail("it is a directory; name a file in it".to_owned()));
        }
        std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
    };
    result.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => fail(format!("there is no such file{}", near(path))),
        _ => fail(error.to_string()),
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(fail("it is larger than 16 MiB; is it the right file?".to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good].iter().filter(|&&byte| byte == b'\n').count();
        fail(format!("it is not text in UTF-8 (line {line})"))
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Returns a file that exists and that was probably meant.
fn near(path: &Path) -> String {
    let with_extension = path.with_extension("sel");
    if path.extension().is_none() && with_extension.is_file() {
        format!("; did you mean {}?", with_extension.display())
    } else {
        String::new()
    }
}

/// Returns the name as a word that a shell does not change.
pub(crate) fn shell_word(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:+@%=".contains(c);
    let name =
        if name.starts_with('-') && name != "-" { format!("./{name}") } else { name.to_owned() };
    if !name.is_empty() && name.chars().all(plain) {
        name
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_survive_the_shell() {
        assert_eq!(shell_word("a/b-1.sel"), "a/b-1.sel");
        assert_eq!(shell_word("my file.sel"), "'my file.sel'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("-x"), "./-x");
        assert_eq!(shell_word("-"), "-");
        assert_eq!(shell_word("$(x)"), "'$(x)'");
    }
}
