//! Freed blocks that cannot be used: [`Builder::guard_freed`](crate::Builder::guard_freed).
//!
//! Each block of checked code then lies on pages of its own, which are made inaccessible when it is freed: a plain read
//! or write of it raises a signal, and the handler ends the thread with a violation. The engine itself still looks into
//! freed blocks, at the object that a thread stands at for example, whose use is found in another way (see
//! `memory_errors.rs`): then the signal handler opens the page, and it is closed before checked code runs again. The same
//! holds for blocks that are inaccessible since uses of them are steps (`plain.rs`).

use std::cell::Cell;

use super::arena;
use super::pages::{page_size, protect};

thread_local! {
    static OPENED: Cell<Opened> = const { Cell::new(Opened { pages: [0; MOST_OPENED], count: 0 }) };
}

/// If more pages were opened, all blocks are closed. Tiny in unit tests, so that they go there.
const MOST_OPENED: usize = if cfg!(test) { 1 } else { 8 };

/// Pages that were opened for the engine.
#[derive(Clone, Copy)]
struct Opened {
    pages: [usize; MOST_OPENED],
    count: usize,
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

    /// Returns whether nothing is inaccessible.
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Whole pages that are inaccessible: address and length.
    pub(super) fn pages(&self) -> impl Iterator<Item = (usize, usize)> {
        self.pages.iter().copied()
    }

    /// Makes all freed blocks accessible: nothing that runs from now on is a result.
    pub(super) fn open_all(&mut self) {
        for pages in self.pages.drain(..) {
            protect(pages, true);
        }
        forget_opened();
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
/// blocks are inaccessible there.
pub(super) fn open_for_engine(address: usize) -> bool {
    let page = page_size();
    let start = address - address % page;
    let is_open = arena::is_inside(address) && protect((start, page), true);
    if is_open {
        let mut opened = OPENED.get();
        if let Some(place) = opened.pages.get_mut(opened.count) {
            *place = start;
        }
        opened.count += 1;
        OPENED.set(opened);
    }
    is_open
}

fn forget_opened() {
    OPENED.set(Opened { pages: [0; MOST_OPENED], count: 0 });
}

/// Closes what was opened for the engine, of the pages that should be inaccessible.
pub(super) fn close_opened(inaccessible: impl Iterator<Item = (usize, usize)>) {
    let opened = OPENED.get();
    if opened.count == 0 {
        return;
    }
    let known = opened.pages.get(..opened.count);
    for (start, length) in inaccessible {
        let inside = start..start + length;
        if known.is_none_or(|known| known.iter().any(|page| inside.contains(page))) {
            protect((start, length), false);
        }
    }
    forget_opened();
}
