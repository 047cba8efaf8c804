//! Freed blocks that cannot be used: [`Builder::guard_freed`](crate::Builder::guard_freed).
//!
//! Each block of checked code then lies on pages of its own, which are made inaccessible when it is freed: a plain read
//! or write of it raises a signal, and the handler ends the thread with a violation. The engine itself still looks into
//! freed blocks, at the object that a thread stands at for example, whose use is found in another way (see
//! `memory_errors.rs`): then the signal handler opens the page, and it is closed before checked code runs again.

use std::cell::Cell;

use super::arena;
use super::pages::{page_size, protect};

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

impl Guarded {
    /// Makes a block that was freed inaccessible, unless `most` are already. Returns whether it is.
    #[cold]
    pub(super) fn guard(&mut self, address: usize, size: usize, most: usize) -> bool {
        let page = page_size();
        debug_assert!(address.is_multiple_of(page), "each block lies on pages of its own");
        let pages = (address, size.max(1).next_multiple_of(page));
        let is_guarded = self.pages.len() < most && protect(pages, false);
        if is_guarded {
            self.pages.push(pages);
        }
        is_guarded
    }

    /// Closes what was opened for the engine: checked code is about to run.
    #[inline]
    pub(super) fn close(&self) {
        if !self.pages.is_empty() {
            self.close_opened();
        }
    }

    #[cold]
    fn close_opened(&self) {
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
