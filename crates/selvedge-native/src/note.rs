//! What a module says about how it was built, in a section of its own: so a module is checked like its sources are,
//! however it was linked.

use std::fmt::Write as _;
use std::path::Path;

use crate::elf;
use crate::shim;

/// The section, which is not loaded.
const SECTION: &str = ".selvedge";

/// What is known about how a module was built.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Notes {
    /// The compilers, as they call themselves.
    pub compilers: Vec<String>,
    /// Files that were optimised, so that the program that runs may have fewer accesses than they have, and how.
    pub optimised: Vec<String>,
    /// Places of inline assembly, whose accesses are not seen.
    pub assembly: Vec<String>,
    /// Places of calls that copy structures that threads may share, which is not seen.
    pub by_value: Vec<String>,
    /// The same for local variables, which other threads may have the address of.
    pub local_by_value: Vec<String>,
    /// Files with instructions that are fences, which a memory model does not see.
    pub fences: Vec<String>,
    /// Whether the program looks at which thread a barrier calls the serial one.
    pub serial: Vec<String>,
    /// Whether it has functions that run at the end of the process, which are not run.
    pub has_destructors: bool,
    /// Whether a part was compiled for another version of the shim.
    pub is_outdated: bool,
}

impl Notes {
    /// Reads the notes of a module or an object. `None` if it was not built by selvedge.
    pub fn read(path: &Path) -> Option<Self> {
        let file = std::fs::read(path).ok()?;
        let section = elf::section(&file, SECTION)?;
        // The compiler's own is one of them.
        let destructors = elf::section(&file, ".fini_array").unwrap_or_default();
        let mut notes = Self { has_destructors: destructors.len() > 8, ..Self::default() };
        for line in section.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let (name, value) = line.split_once(' ')?;
            let list = match name {
                "compiler" => &mut notes.compilers,
                "optimised" => &mut notes.optimised,
                "assembly" => &mut notes.assembly,
                "by-value" => &mut notes.by_value,
                "local-by-value" => &mut notes.local_by_value,
                "fence" => &mut notes.fences,
                "serial" => &mut notes.serial,
                _ => {
                    notes.is_outdated |= name != "version" || value != version();
                    continue;
                }
            };
            if !list.iter().any(|known| *known == value) {
                list.push(value.to_owned());
            }
        }
        Some(notes)
    }

    /// Returns the lines that an assembler makes the section from.
    pub(crate) fn directives(&self) -> String {
        let mut text = format!("\n\t.section {SECTION},\"\",@progbits\n");
        let mut line = |name: &str, value: &str| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(text, "\t.asciz \"{name} {value}\"");
        };
        line("version", &version());
        self.compilers.iter().for_each(|value| line("compiler", value));
        self.optimised.iter().for_each(|value| line("optimised", value));
        self.assembly.iter().for_each(|value| line("assembly", value));
        self.by_value.iter().for_each(|value| line("by-value", value));
        self.local_by_value.iter().for_each(|value| line("local-by-value", value));
        self.fences.iter().for_each(|value| line("fence", value));
        self.serial.iter().for_each(|value| line("serial", value));
        text
    }
}

/// Objects and modules fit the shim that they were built with.
fn version() -> String {
    format!("{:016x}", shim::key([]))
}
