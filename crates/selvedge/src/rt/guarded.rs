//! Freed blocks that cannot be used: [`Builder::guard_freed`](crate::Builder::guard_freed).
//!
//! Each block of checked code then lies on pages of its own, which are made inaccessible when it is freed: a plain read
//! or write of it raises a signal, and the handler ends the thread with a violation. The engine itself still looks into
//! freed blocks, at the object that a thread stands at for example, whose use is found in another way (see
//! `blocks.rs`): then the signal handler opens the page, and it is closed before checked code runs again.

use std::cell::Cell;
use std::sync::OnceLock;

use selvedge_rt::Way;

use super::arena;
use super::world::Runtime;

thread_local! {
    /// Whether a page of a freed block was opened for the engine.
    static IS_OPEN: Cell<bool> = const { Cell::new(false) };
}

/// The freed blocks of an execution that cannot be used.
#[derive(Default)]
pub(crate) struct Guarded {
    /// Whole pages: address and length.
    pages: Vec<(usize, usize)>,
}

/// Returns the size of a page.
pub(super) fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        // SAFETY: it only asks.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(4096)
    })
}

/// Makes whole pages of the arena accessible, or inaccessible. Returns whether the system did so.
fn protect((address, length): (usize, usize), is_accessible: bool) -> bool {
    let protection =
        if is_accessible { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    // SAFETY: the pages belong to a block of an arena, and to nothing else; it is free, or is about to be used again.
    unsafe { libc::mprotect(address as *mut libc::c_void, length, protection) == 0 }
}

impl Guarded {
    /// Closes what was opened for the engine.
    #[cold]
    fn close(&self) {
        if IS_OPEN.replace(false) {
            for &pages in &self.pages {
                protect(pages, false);
            }
        }
    }

    /// Makes all freed blocks accessible: nothing that runs from now on is a result.
    pub(super) fn open_all(&mut self) {
        for pages in self.pages.drain(..) {
            protect(pages, true);
        }
        IS_OPEN.set(false);
    }

    /// The block at an address is used again.
    pub(super) fn open(&mut self, address: usize) {
        let index = self.pages.iter().rposition(|&(start, _)| start == address);
        if let Some(index) = index {
            protect(self.pages.remove(index), true);
        }
    }
}

/// The block at an address was freed. Returns whether it cannot be used any more.
#[inline]
pub(super) fn guard(rt: &mut Runtime, address: usize, size: usize) -> bool {
    rt.shared.guards && rt.now.way == Way::Announce && guard_pages(rt, address, size)
}

#[cold]
fn guard_pages(rt: &mut Runtime, address: usize, size: usize) -> bool {
    let page = page_size();
    debug_assert!(address.is_multiple_of(page), "each block lies on pages of its own");
    let pages = (address, size.max(1).next_multiple_of(page));
    let guarded = &mut rt.now.own.memory.guarded.pages;
    let is_guarded = guarded.len() < rt.shared.settings.caps.guarded && protect(pages, false);
    match is_guarded {
        true => guarded.push(pages),
        false => rt.shared.unguarded.set(true),
    }
    is_guarded
}

/// Checked code is about to run.
#[inline]
pub(super) fn close_guarded(rt: &Runtime) {
    if !rt.now.own.memory.guarded.pages.is_empty() {
        rt.now.own.memory.guarded.close();
    }
}

/// Opens the page at an address for the engine, in a signal handler. Returns false if it is none of an arena: only pages of
/// freed blocks are inaccessible there.
pub(super) fn open_for_engine(address: usize) -> bool {
    let page = page_size();
    let is_open = arena::is_inside(address) && protect((address - address % page, page), true);
    if is_open {
        IS_OPEN.set(true);
    }
    is_open
}
