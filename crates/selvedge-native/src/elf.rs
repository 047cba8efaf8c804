//! The symbols of a module, read from its file: names for addresses, and what it needs from outside.

/// A function or variable of a module.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    /// Its name in the source.
    pub(crate) name: String,
    /// Where it is, relative to the module.
    pub(crate) start: usize,
    /// Its size in bytes.
    pub(crate) size: usize,
    /// Whether it is a function.
    pub(crate) is_function: bool,
}

/// The symbols of a module.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// Those it defines, by address.
    defined: Vec<Symbol>,
    /// The names of the functions it needs, in order.
    pub(crate) needed_functions: Vec<String>,
}

const HEADER: usize = 64;
const SECTION: usize = 64;
const ENTRY: usize = 24;
const SYMTAB: u32 = 2;
const DYNSYM: u32 = 11;
const VARIABLE: u64 = 1;
const FUNCTION: u64 = 2;
/// One of several functions, chosen for the processor when the module is loaded.
const CHOSEN_FUNCTION: u64 = 10;

impl Symbols {
    /// Reads the symbols of a 64-bit ELF file. `None` if it is none.
    pub(crate) fn read(file: &[u8]) -> Option<Self> {
        if file.len() < HEADER || file[..4] != *b"\x7fELF" || file[4] != 2 {
            return None;
        }
        let sections = usize::try_from(number(file, 0x28, 8)?).ok()?;
        let count = number(file, 0x3c, 2)? as usize;
        let section = |index: usize| file.get(sections + index * SECTION..)?.get(..SECTION);
        let mut symbols = Self::default();
        for index in 0..count {
            let head = section(index)?;
            let kind = number(head, 4, 4)? as u32;
            if kind != SYMTAB && kind != DYNSYM {
                continue;
            }
            let names = part(file, section(number(head, 0x28, 4)? as usize)?)?;
            for entry in part(file, head)?.chunks_exact(ENTRY) {
                symbols.add(entry, names, kind == DYNSYM);
            }
        }
        symbols.defined.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
        symbols.needed_functions.sort();
        symbols.needed_functions.dedup();
        Some(symbols)
    }

    fn add(&mut self, entry: &[u8], names: &[u8], is_dynamic: bool) -> Option<()> {
        let name = name(names, number(entry, 0, 4)? as usize)?;
        let kind = number(entry, 4, 1)? & 0xf;
        let is_undefined = number(entry, 6, 2)? == 0;
        let (start, size) = (number(entry, 8, 8)? as usize, number(entry, 16, 8)? as usize);
        match (is_undefined, is_dynamic) {
            (true, true) if (kind == FUNCTION || kind == CHOSEN_FUNCTION) && !name.is_empty() => {
                self.needed_functions.push(name);
            }
            (false, false) if (kind == VARIABLE || kind == FUNCTION) && size > 0 => {
                self.defined.push(Symbol { name, start, size, is_function: kind == FUNCTION });
            }
            _ => {}
        }
        Some(())
    }

    /// Returns what lies at an address relative to the module.
    pub(crate) fn at(&self, address: usize) -> Option<&Symbol> {
        let after = self.defined.partition_point(|symbol| symbol.start <= address);
        let candidates = self.defined[..after].iter().rev().take(4);
        candidates.into_iter().find(|symbol| address < symbol.start + symbol.size)
    }

    /// Returns everything that the module defines.
    pub(crate) fn defined(&self) -> &[Symbol] {
        &self.defined
    }
}

/// Returns the content of the section of this name of a 64-bit ELF file.
pub(crate) fn section<'a>(file: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    if file.len() < HEADER || file[..4] != *b"\x7fELF" || file[4] != 2 {
        return None;
    }
    let sections = usize::try_from(number(file, 0x28, 8)?).ok()?;
    let head = |index: usize| file.get(sections.checked_add(index * SECTION)?..)?.get(..SECTION);
    let names = part(file, head(number(file, 0x3e, 2)? as usize)?)?;
    let mut heads = (0..number(file, 0x3c, 2)? as usize).filter_map(head);
    let found = heads.find(|head| {
        let at = number(head, 0, 4).map(|at| at as usize);
        at.and_then(|at| name(names, at)).is_some_and(|name| name == wanted)
    })?;
    part(file, found)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + size)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Returns the content of a section.
fn part<'a>(file: &'a [u8], head: &[u8]) -> Option<&'a [u8]> {
    let (offset, size) = (number(head, 0x18, 8)? as usize, number(head, 0x20, 8)? as usize);
    file.get(offset..)?.get(..size)
}

fn name(names: &[u8], at: usize) -> Option<String> {
    let text = names.get(at..)?;
    let end = text.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&text[..end]).into_owned())
}
