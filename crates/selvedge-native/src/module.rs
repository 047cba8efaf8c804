//! A compiled program in memory: where its parts lie, and how its variables are set back.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::elf::Symbols;
use crate::layout;
use crate::lines::Lines;

/// The shim's table, as it lies in a module.
#[repr(C)]
pub(crate) struct Table {
    pub(crate) op: Option<crate::entry::Operate>,
    pub(crate) access: Option<crate::entry::Access>,
}

/// A range of addresses with what it held when the program was loaded.
struct Segment {
    start: usize,
    content: Box<[u8]>,
}

/// A loaded module. It is never unloaded.
pub(crate) struct Module {
    /// Where it lies.
    pub(crate) base: usize,
    end: usize,
    /// The program's variables.
    segments: Vec<Segment>,
    /// What the variables of each thread begin with, and the size of all of them.
    tls: (usize, usize, usize),
    /// The program's `main`.
    pub(crate) main: usize,
    pub(crate) symbols: Symbols,
    pub(crate) lines: Lines,
}

impl Module {
    /// Loads a module, and runs its constructors.
    ///
    /// # Errors
    /// A sentence that says why it cannot be loaded.
    pub(crate) fn load(path: &Path, sources: &[PathBuf]) -> Result<Self, String> {
        let file = std::fs::read(path).map_err(|error| error.to_string())?;
        let symbols = Symbols::read(&file).ok_or("it is not a 64-bit module")?;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: loading runs constructors of the module, which run without the checker.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure this is a text.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(why.to_string_lossy().into_owned());
        }
        // SAFETY: the names are texts, and the handle is valid.
        let symbol = |name: &CStr| unsafe { libc::dlsym(handle, name.as_ptr()) } as usize;
        let main = symbol(c"main");
        if main == 0 {
            return Err("it has no function `main`".to_owned());
        }
        let table = symbol(c"selvedge_table");
        if table == 0 {
            return Err("it was not linked by selvedge".to_owned());
        }
        let mut found =
            Found { wanted: main, base: 0, end: 0, writable: Vec::new(), tls: (0, 0, 0) };
        // SAFETY: the callback keeps to its signature, and `found` lives until it returns.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        if found.tls.2 > layout::tls(0).1 - layout::tls(0).0 {
            return Err("it has more than 1 MiB of thread-local variables".to_owned());
        }
        // SAFETY: the shim defines the table with this layout.
        unsafe {
            *(table as *mut Table) =
                Table { op: Some(crate::entry::op), access: Some(crate::entry::access) };
        }
        // The unused part of the shim's first heap holds nothing.
        if let Some(unused) = unused_heap(&symbols, found.base) {
            found.writable =
                found.writable.iter().flat_map(|&part| without(part, unused)).collect();
        }
        // SAFETY: the segments are mapped, readable and writable.
        let snapshot = |&(start, end): &(usize, usize)| unsafe {
            let content = std::slice::from_raw_parts(start as *const u8, end - start);
            Segment { start, content: content.into() }
        };
        Ok(Self {
            base: found.base,
            end: found.end,
            segments: found.writable.iter().map(snapshot).collect(),
            tls: found.tls,
            main,
            symbols,
            lines: Lines::new(path, sources),
        })
    }

    /// Sets the program's variables back to what they were.
    pub(crate) fn restore(&self) {
        for segment in &self.segments {
            // SAFETY: the segment is mapped and writable, and no reference into it is held.
            unsafe {
                let to = segment.start as *mut u8;
                std::ptr::copy_nonoverlapping(segment.content.as_ptr(), to, segment.content.len());
            }
        }
    }

    /// Sets the variables of a thread back.
    pub(crate) fn restore_tls(&self, thread: usize) {
        let (image, filled, size) = self.tls;
        let to = layout::tls(thread).0 as *mut u8;
        // SAFETY: the image is part of the module, and the slot is large enough.
        unsafe {
            std::ptr::copy_nonoverlapping(image as *const u8, to, filled);
            std::ptr::write_bytes(to.add(filled), 0, size - filled);
        }
    }

    /// Returns whether an address is one of the program's variables.
    #[inline]
    pub(crate) fn has_variable(&self, address: usize) -> bool {
        let within = |part: &Segment| address.wrapping_sub(part.start) < part.content.len();
        self.segments.iter().any(within)
    }

    /// Returns whether an address lies in the module.
    pub(crate) fn contains(&self, address: usize) -> bool {
        (self.base..self.end).contains(&address)
    }

    /// Returns the name of the function at an address.
    pub(crate) fn function(&self, address: usize) -> Option<&str> {
        let symbol = self.symbols.at(address.checked_sub(self.base)?)?;
        symbol.is_function.then_some(symbol.name.as_str())
    }

    /// Returns the name of a variable and the offset into it.
    pub(crate) fn variable(&self, address: usize) -> Option<(&str, usize, usize)> {
        let offset = address.checked_sub(self.base)?;
        let symbol = self.symbols.at(offset).filter(|symbol| !symbol.is_function)?;
        Some((&symbol.name, offset - symbol.start, symbol.size))
    }
}

/// Returns the part of the heap for constructors that they did not use.
fn unused_heap(symbols: &Symbols, base: usize) -> Option<(usize, usize)> {
    let symbol = |name: &str| symbols.defined().iter().find(|symbol| symbol.name == name);
    let (heap, used) = (symbol("early")?, symbol("early_used")?);
    // SAFETY: the shim defines it as a number of this size.
    let used = unsafe { ((base + used.start) as *const usize).read() };
    Some((base + heap.start + used, base + heap.start + heap.size))
}

/// Returns what is left of a range without another one.
fn without((start, end): (usize, usize), (from, to): (usize, usize)) -> Vec<(usize, usize)> {
    let parts = [(start, end.min(from)), (start.max(to), end)];
    parts.into_iter().filter(|(start, end)| start < end).collect()
}

/// What is looked for in the list of loaded modules.
struct Found {
    /// An address of the one that is wanted.
    wanted: usize,
    base: usize,
    end: usize,
    writable: Vec<(usize, usize)>,
    tls: (usize, usize, usize),
}

unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut libc::c_void,
) -> i32 {
    // SAFETY: the system passes a valid description, and `found` is what `load` passed.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Found>()) };
    let base = info.dlpi_addr as usize;
    // SAFETY: the description has so many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = base + header.p_vaddr as usize;
        (start, start + header.p_memsz as usize)
    };
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    if !loads().map(range).any(|(start, end)| (start..end).contains(&found.wanted)) {
        return 0;
    }
    found.base = base;
    found.end = loads().map(range).map(|(_, end)| end).max().unwrap_or(base);
    let fixed = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO).map(range);
    for header in loads().filter(|header| header.p_flags & libc::PF_W != 0) {
        let (start, end) = range(header);
        let start = match fixed {
            Some((from, to)) if (from..to).contains(&start) => to.next_multiple_of(4096).min(end),
            _ => start,
        };
        if start < end {
            found.writable.push((start, end));
        }
    }
    if let Some(tls) = headers.iter().find(|header| header.p_type == libc::PT_TLS) {
        let start = base + tls.p_vaddr as usize;
        found.tls = (start, tls.p_filesz as usize, tls.p_memsz as usize);
    }
    1
}
