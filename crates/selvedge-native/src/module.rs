//! A compiled program in memory: where its parts lie, and how its variables are set back.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::demangle::{self, Demangler, Owner};
use crate::elf::Symbols;
use crate::layout;
use crate::lines::Lines;
use crate::note::Notes;

/// The shim's table, as it lies in a module.
#[repr(C)]
pub(crate) struct Table {
    pub(crate) op: Option<crate::entry::Operate>,
    pub(crate) access: Option<crate::entry::Access>,
    pub(crate) is_answered: u64,
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
    table: usize,
    pub(crate) starter: Starter,
    pub(crate) symbols: Symbols,
    pub(crate) lines: Lines,
    /// Whether parts of it are C++.
    is_cxx: bool,
    /// Whether a function may have code of others in it, since the compiler optimised.
    is_optimised: bool,
    /// Whether the program may look at which thread a barrier calls the serial one.
    pub(crate) has_serial_thread: bool,
    /// Addresses of code that were met, and whose each is.
    owners: RefCell<FxHashMap<usize, Owner>>,
    demangler: Demangler,
}

/// Functions of the shim that call the program: an exception ends there.
#[derive(Clone, Copy)]
pub(crate) struct Starter {
    start: usize,
    main: usize,
    call: usize,
}

impl Starter {
    /// Runs the function of a thread, and returns what it returns.
    pub(crate) fn start(self, function: usize, argument: u64) -> u64 {
        type Start = extern "C" fn(usize, u64) -> u64;
        // SAFETY: the shim defines it like this, and the program passes a function of the form that it expects.
        unsafe { std::mem::transmute::<usize, Start>(self.start)(function, argument) }
    }

    /// Runs `main`. The list of arguments ends with a null pointer, which is an empty environment as well.
    pub(crate) fn main(self, function: usize, arguments: &[*mut libc::c_char]) {
        type Main = extern "C" fn(usize, i32, *const *mut libc::c_char, *const *mut libc::c_char);
        let nothing = &raw const arguments[arguments.len() - 1];
        let count = arguments.len() as i32 - 1;
        // SAFETY: as above.
        unsafe {
            std::mem::transmute::<usize, Main>(self.main)(
                function,
                count,
                arguments.as_ptr(),
                nothing,
            );
        }
    }

    /// Runs a destructor.
    pub(crate) fn call(self, function: usize, argument: u64) {
        type Call = extern "C" fn(usize, u64);
        // SAFETY: as above.
        unsafe { std::mem::transmute::<usize, Call>(self.call)(function, argument) }
    }
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
        let starter = Starter {
            start: symbol(c"selvedge_start"),
            main: symbol(c"selvedge_main"),
            call: symbol(c"selvedge_call"),
        };
        if starter.start == 0 || starter.main == 0 || starter.call == 0 {
            return Err("it was linked by another version of selvedge; build it again".to_owned());
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
            *(table as *mut Table) = Table {
                op: Some(crate::entry::op),
                access: Some(crate::entry::access),
                is_answered: 0,
            };
        }
        for unused in unused(&symbols, found.base) {
            found.writable =
                found.writable.iter().flat_map(|&part| without(part, unused)).collect();
        }
        // SAFETY: the segments are mapped, readable and writable.
        let snapshot = |&(start, end): &(usize, usize)| unsafe {
            let content = std::slice::from_raw_parts(start as *const u8, end - start);
            Segment { start, content: content.into() }
        };
        let notes = Notes::read(path);
        Ok(Self {
            base: found.base,
            end: found.end,
            segments: found.writable.iter().map(snapshot).collect(),
            tls: found.tls,
            main,
            table,
            starter,
            is_optimised: notes.as_ref().is_none_or(|notes| !notes.optimised.is_empty()),
            has_serial_thread: notes.is_none_or(|notes| !notes.serial.is_empty()),
            is_cxx: symbols.defined().iter().any(|symbol| symbol.name == "selvedge_unwind"),
            symbols,
            lines: Lines::new(path, sources),
            owners: RefCell::default(),
            demangler: Demangler::default(),
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

    /// Says whether an explorer of graphs answers atomic operations.
    pub(crate) fn set_answered(&self, is_answered: bool) {
        // SAFETY: the shim defines the table with this layout, and its code does not run now.
        unsafe { (*(self.table as *mut Table)).is_answered = u64::from(is_answered) };
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

    /// Returns where the program's variables lie.
    pub(crate) fn variables(&self) -> Vec<(usize, usize)> {
        self.segments.iter().map(|part| (part.start, part.start + part.content.len())).collect()
    }

    /// Returns how many bytes the variables of a thread take.
    pub(crate) fn tls_size(&self) -> usize {
        self.tls.2
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
    pub(crate) fn function(&self, address: usize) -> Option<String> {
        let symbol = self.symbols.at(address.checked_sub(self.base)?)?;
        symbol.is_function.then(|| {
            demangle::short(&demangle::without_arguments(&self.demangler.text(&symbol.name)))
        })
    }

    /// Returns the name of a thread with this body: a function, or what [`Self::body_of`] found.
    pub(crate) fn body_name(&self, address: usize) -> Option<String> {
        let symbol = self.symbols.at(address.checked_sub(self.base)?)?;
        match symbol.is_function {
            true => self.function(address),
            false => Some(demangle::lambda(&self.demangler.text(&symbol.name))),
        }
    }

    /// Returns the name of a variable and the offset into it.
    pub(crate) fn variable(&self, address: usize) -> Option<(String, usize, usize)> {
        let offset = address.checked_sub(self.base)?;
        let symbol = self.symbols.at(offset).filter(|symbol| !symbol.is_function)?;
        let name = demangle::short(&self.demangler.text(&symbol.name));
        Some((name, offset - symbol.start, symbol.size))
    }

    /// Returns whose code a return address lies in.
    fn owner(&self, pc: usize) -> Owner {
        if let Some(&known) = self.owners.borrow().get(&pc) {
            return known;
        }
        let offset = pc.wrapping_sub(self.base).wrapping_sub(1);
        let symbol = self.symbols.at(offset).filter(|_| self.contains(pc));
        let owner = symbol.map_or(Owner::Program, |symbol| Owner::of(&symbol.name));
        self.owners.borrow_mut().insert(pc, owner);
        owner
    }

    fn is_of_library(&self, pc: usize) -> bool {
        self.owner(pc) != Owner::Program
    }

    /// Returns whether code accesses only what it alone has: the creator of a thread until it is created, and then the
    /// thread.
    #[inline]
    pub(crate) fn is_handed_over(&self, pc: usize) -> bool {
        self.is_cxx && !self.is_optimised && self.owner(pc) == Owner::Start
    }

    /// Returns where the program called the standard library, if a thread is in it: up from a frame of its stack.
    #[inline]
    pub(crate) fn caller(&self, pc: usize, frame: usize, stack: (usize, usize)) -> usize {
        if !self.is_cxx {
            return pc;
        }
        let (mut frame, mut at) = (frame, pc);
        while self.is_of_library(at) {
            // Optimised code of the library may have any number there.
            let is_frame = frame >= stack.0 && frame <= stack.1.saturating_sub(16);
            if !is_frame || frame % 8 != 0 {
                return pc;
            }
            // SAFETY: it lies on the stack of the thread, which runs.
            let (next, up) =
                unsafe { ((frame as *const usize).read(), (frame as *const usize).add(1).read()) };
            // The frame of the shim returns to where it was called from; those above it come after that.
            at = up;
            if next <= frame {
                return if self.contains(at) && !self.is_of_library(at) { at } else { pc };
            }
            frame = next;
        }
        if self.contains(at) { at } else { pc }
    }

    /// Returns what a thread does that the standard library starts with this argument: a function of the program that
    /// the argument holds, or else the type of it, which names a lambda expression.
    pub(crate) fn body_of(&self, start: usize, argument: usize, size: usize) -> usize {
        let is_routine = |offset: usize| {
            self.symbols.at(offset).is_some_and(|symbol| Owner::of(&symbol.name) != Owner::Program)
        };
        if !self.is_cxx || !start.checked_sub(self.base).is_some_and(is_routine) || size < 8 {
            return start;
        }
        // SAFETY: the argument is a block of this size.
        let words = unsafe { std::slice::from_raw_parts(argument as *const usize, size / 8) };
        let is_body = |word: &&usize| {
            let offset = word.wrapping_sub(self.base);
            let symbol = self.symbols.at(offset).filter(|_| self.contains(**word));
            symbol.is_some_and(|symbol| {
                symbol.is_function
                    && symbol.start == offset
                    && Owner::of(&symbol.name) == Owner::Program
            })
        };
        words[1..].iter().find(is_body).copied().unwrap_or(words[0])
    }
}

/// Returns parts of the shim that hold nothing: what constructors did not use of their heap, and a pool that is never used.
fn unused(symbols: &Symbols, base: usize) -> Vec<(usize, usize)> {
    let symbol = |name: &str| symbols.defined().iter().find(|symbol| symbol.name == name);
    let mut parts = Vec::new();
    if let (Some(heap), Some(used)) = (symbol("early"), symbol("early_used")) {
        // SAFETY: the shim defines it as a number of this size.
        let used = unsafe { ((base + used.start) as *const usize).read() };
        parts.push((base + heap.start + used, base + heap.start + heap.size));
    }
    let pool = symbol("emergency_pool");
    parts.extend(pool.map(|pool| (base + pool.start, base + pool.start + pool.size)));
    parts
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
