//! Memory of checked code, so that an address means the same in every execution.
//!
//! `const fn new` cannot register an object, so an object is known by where it lies. While a thread
//! of checked code runs, what it allocates comes from spans of its own, one block after the other,
//! and no block is used twice in an execution. So how much a thread allocated before a block depends
//! on what it did before and on nothing else: that is the name of what lies in the block. What
//! outlives an execution (a test that collects outcomes) stays where it is; the next execution begins
//! after it.

use std::alloc::Layout;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::block::Block;
use super::pages::page_size;

/// Spans are multiples of this.
const CHUNK: usize = 64 << 10;
/// Executions begin at multiples of this, so that alignment costs the same in all.
const GRAIN: usize = 128;
/// Larger blocks come from the system; nothing in them can be named.
pub(crate) const LARGEST: usize = 256 << 20;
/// The memory of blocks from this size on goes back to the system when they are freed.
pub(super) const LARGE: usize = 1 << 20;
/// No block begins where another one ends: that address is the end of one, whatever comes after it. A value without size may
/// lie there, or an atomic may have it.
const GAP: usize = 1;
const HEADER: usize = size_of::<Span>().next_multiple_of(GRAIN);

/// The region from which all spans come: address and length, 0 before its first use.
static REGION: AtomicUsize = AtomicUsize::new(0);
static REGION_LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Per chunk, how many chunks its span began before it.
static BACK: AtomicUsize = AtomicUsize::new(0);
static NEXT_CHUNK: AtomicUsize = AtomicUsize::new(0);
/// Unused spans, by how many chunks they have.
static SPARE: Mutex<BTreeMap<usize, Vec<usize>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Where the running thread of checked code allocates; null in all other code.
    static CURRENT: Cell<*mut Arena> = const { Cell::new(ptr::null_mut()) };
}

/// Makes `arena` the one that allocations come from, and returns the previous one.
#[inline]
pub(crate) fn switch(arena: *mut Arena) -> *mut Arena {
    CURRENT.with(|current| current.replace(arena))
}

/// The one that allocations come from.
pub(crate) fn current() -> *mut Arena {
    CURRENT.with(Cell::get)
}

/// The head of a span.
#[repr(C)]
pub(super) struct Span {
    /// Blocks in it that were not freed.
    pub(super) live: AtomicU32,
    pub(super) thread: u32,
    /// Of that thread.
    pub(super) arena: *const Arena,
    /// The check that it belongs to; 0 before its first use.
    owner: AtomicUsize,
    chunks: usize,
    /// Where the blocks of this execution begin; what lies before them is from earlier ones.
    pub(super) start: usize,
    /// How much its thread had allocated before what lies at `start`. It wraps: what is there may be left
    /// out, for the sake of alignment.
    before: u64,
}

impl Span {
    fn first(&self) -> usize {
        &raw const *self as usize + HEADER
    }

    fn end(&self) -> usize {
        &raw const *self as usize + self.chunks * CHUNK
    }

    /// Returns how many blocks in it are in use. A thread that freed one, on whatever thread of the system, does not use
    /// it any more.
    fn live(&self) -> u32 {
        self.live.load(Ordering::Acquire)
    }
}

/// The memory of one thread, which outlives executions.
pub(crate) struct Arena {
    /// What it allocates in this execution.
    now: Filling,
    thread: u32,
    /// The first ones are in use in this execution.
    spans: Vec<*mut Span>,
    /// Spans that are full of what outlived its execution.
    kept: Vec<*mut Span>,
    /// When to look at those again.
    most_kept: usize,
    /// The address of what is known about its check.
    owner: usize,
    /// Whether each allocation is looked at: it may be a step, or of a block that is watched.
    pub(crate) asks: bool,
    /// Whether blocks may lie on pages of their own, which only matters if allocations are looked at; see `guarded.rs`.
    guards: bool,
}

/// What one thread allocates in one execution.
struct Filling {
    /// Where the next block begins, and where the span ends that it lies in.
    bump: usize,
    end: usize,
    /// How many spans are in use; `bump` lies in the last of them.
    used: usize,
    /// Whether a block had to come from the system.
    elsewhere: bool,
    /// The blocks, in the order of their offsets.
    log: Vec<Block>,
}

impl Filling {
    /// Nothing is allocated yet. `log`: a list whose memory is used again.
    fn empty(mut log: Vec<Block>) -> Self {
        log.clear();
        Self { bump: 0, end: 0, used: 0, elsewhere: false, log }
    }
}

/// How far an arena was filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filled {
    used: usize,
    bump: usize,
    blocks: usize,
}

impl Arena {
    /// `owner`: the address of what is known about its check. `guards`: whether blocks may lie on pages of their own.
    pub(crate) fn new(thread: usize, owner: usize, guards: bool) -> Self {
        Self {
            now: Filling::empty(Vec::new()),
            thread: thread as u32,
            spans: Vec::new(),
            kept: Vec::new(),
            most_kept: 16,
            owner,
            asks: false,
            guards,
        }
    }

    /// Returns whether a block of this execution had to come from the system.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.now.elsewhere
    }

    /// The blocks of this execution.
    pub(crate) fn log(&self) -> &[Block] {
        &self.now.log
    }

    /// The last block that does not begin after an offset: mostly the last one.
    #[inline]
    pub(crate) fn block_at(&mut self, offset: u64) -> Option<&mut Block> {
        let at = match self.now.log.last()?.offset <= offset {
            true => self.now.log.len() - 1,
            false => self.now.log.partition_point(|block| block.offset <= offset).checked_sub(1)?,
        };
        self.now.log.get_mut(at)
    }

    /// For the next execution: everything is free but for what is still alive.
    pub(crate) fn reset(&mut self) {
        for index in (0..self.now.used).rev() {
            let is_last = index + 1 == self.now.used;
            // SAFETY: spans are never unmapped, and this one is this arena's.
            let span = unsafe { &mut *self.spans[index] };
            if span.live() == 0 {
                span.start = span.first();
                continue;
            }
            let used = if is_last { self.now.bump } else { span.end() };
            span.start = used.next_multiple_of(GRAIN);
            if span.start + CHUNK / 4 > span.end() {
                span.start = span.end();
                self.kept.push(self.spans.remove(index));
            }
        }
        self.now = Filling::empty(std::mem::take(&mut self.now.log));
        if self.kept.len() > self.most_kept {
            self.look_at_kept();
        }
    }

    /// What this execution filled, as pairs of addresses; `None` if not all of it lies here.
    pub(crate) fn blocks(&self) -> Option<impl Iterator<Item = (usize, usize)> + '_> {
        let block = |(index, &span): (usize, &*mut Span)| {
            // SAFETY: spans are never unmapped.
            let span = unsafe { &*span };
            let is_last = index + 1 == self.now.used;
            (span.start, if is_last { self.now.bump } else { span.end() })
        };
        // Most of a span with one block is unused, and what is freed is inaccessible.
        let apart = |block: &Block| (block.start, block.start + block.size);
        let (spans, log) = match self.guards {
            true => (&[][..], &self.now.log[..]),
            false => (&self.spans[..self.now.used], &[][..]),
        };
        let log = log.iter().filter(|block| block.free.is_none()).map(apart);
        (!self.now.elsewhere).then(|| spans.iter().enumerate().map(block).chain(log))
    }

    /// From now on blocks come from spans of their own.
    pub(crate) fn set_apart(&mut self) -> Filled {
        self.now.end = self.now.bump;
        self.filled()
    }

    pub(crate) fn filled(&self) -> Filled {
        Filled { used: self.now.used, bump: self.now.bump, blocks: self.now.log.len() }
    }

    /// Returns whether everything was freed that was allocated since; then the next blocks lie where those did.
    pub(crate) fn take_back(&mut self, filled: Filled) -> bool {
        // SAFETY: spans are never unmapped.
        let live = |&span: &*mut Span| unsafe { (*span).live() };
        let is_free = self.spans[filled.used..self.now.used].iter().all(|span| live(span) == 0);
        if is_free {
            (self.now.used, self.now.bump, self.now.end) = (filled.used, filled.bump, filled.bump);
            self.now.log.truncate(filled.blocks);
        }
        is_free
    }

    fn look_at_kept(&mut self) {
        self.kept.retain(|&span| {
            // SAFETY: spans are never unmapped.
            let live = unsafe { (*span).live() };
            if live == 0 {
                give_back(span);
            }
            live != 0
        });
        self.most_kept = 2 * self.kept.len() + 16;
    }

    /// Allocates a block in the current span, if there is room.
    #[inline]
    pub(super) fn allocate(&mut self, layout: Layout) -> Option<*mut u8> {
        if layout.align() <= GRAIN {
            let start = self.now.bump.next_multiple_of(layout.align());
            let after = start + layout.size() + GAP;
            if after < self.now.end {
                self.now.bump = after;
                return Some(self.note_block(start, layout));
            }
        }
        None
    }

    /// Allocates a block in the next span with room for it; null if there is none. The caller sees to it that there is
    /// room on the stack.
    #[cold]
    pub(super) fn allocate_in_next_span(&mut self, layout: Layout) -> *mut u8 {
        // The list of spans is not memory of checked code.
        let me = switch(ptr::null_mut());
        let found = layout.size() <= LARGEST && self.next_span(layout);
        switch(me);
        if !found {
            self.now.elsewhere = true;
            return ptr::null_mut();
        }
        let start = self.now.bump.next_multiple_of(layout.align());
        self.now.bump = start + layout.size() + GAP;
        self.note_block(start, layout)
    }

    /// The block that was allocated last, if it begins at this address.
    pub(super) fn last_block(&mut self, start: usize) -> Option<&mut Block> {
        self.now.log.last_mut().filter(|block| block.start == start)
    }

    /// Allocates a block on pages of its own: a span is the smallest part of the memory that begins anywhere.
    pub(super) fn allocate_apart(&mut self, layout: Layout) -> *mut u8 {
        let align = layout.align().max(page_size());
        let Ok(pages) = Layout::from_size_align(layout.size().max(1), align) else {
            return ptr::null_mut();
        };
        let block = self.allocate_in_next_span(pages.pad_to_align());
        if let Some(noted) = self.last_block(block as usize) {
            *noted = Block::new(noted.start, layout, noted.offset);
        }
        block
    }

    /// Notes a new block in the last span in use.
    #[inline]
    fn note_block(&mut self, start: usize, layout: Layout) -> *mut u8 {
        // SAFETY: spans are never unmapped.
        let span = unsafe { &*self.spans[self.now.used - 1] };
        span.live.fetch_add(1, Ordering::Relaxed);
        if self.now.log.len() == self.now.log.capacity() {
            self.make_room();
        }
        let offset = span.before.wrapping_add((start - span.start) as u64);
        self.now.log.push(Block::new(start, layout, offset));
        start as *mut u8
    }

    /// The list of blocks is not memory of checked code.
    #[cold]
    fn make_room(&mut self) {
        let me = switch(ptr::null_mut());
        self.now.log.reserve(64);
        switch(me);
    }

    /// Makes a span with room for a block the current one. How many spans there are, and where they begin,
    /// differs from execution to execution; offsets are as if all were one.
    fn next_span(&mut self, layout: Layout) -> bool {
        let offset = match self.now.used.checked_sub(1) {
            // SAFETY: spans are never unmapped.
            Some(last) => unsafe {
                let last = &*self.spans[last];
                last.before.wrapping_add((self.now.bump - last.start) as u64)
            },
            None => 0,
        };
        let needed = layout.size() + layout.align() + 2 * GRAIN;
        // SAFETY: spans are never unmapped.
        let fits = |span: &*mut Span| unsafe { (**span).start + needed <= (**span).end() };
        if !self.spans.get(self.now.used).is_some_and(fits) {
            let Some(new) = take_span((HEADER + needed).div_ceil(CHUNK)) else { return false };
            self.spans.insert(self.now.used, new);
        }
        // SAFETY: the span is this arena's alone.
        let span = unsafe { &mut *self.spans[self.now.used] };
        (span.thread, span.arena) = (self.thread, &raw const *self);
        span.owner.store(self.owner, Ordering::Relaxed);
        self.now.used += 1;
        self.now.end = span.end();
        let rest = offset % GRAIN as u64;
        (self.now.bump, span.before) = match layout.align() <= GRAIN {
            true => (span.start + rest as usize, offset - rest),
            false => {
                let aligned = span.start.next_multiple_of(layout.align());
                let offset = offset.next_multiple_of(GRAIN as u64);
                (aligned, offset.wrapping_sub((aligned - span.start) as u64))
            }
        };
        true
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.reset();
        for span in std::mem::take(&mut self.spans) {
            // SAFETY: spans are never unmapped.
            if unsafe { (*span).live() } == 0 {
                give_back(span);
            }
        }
        self.look_at_kept();
    }
}

fn give_back(span: *mut Span) {
    // SAFETY: spans are never unmapped.
    let chunks = unsafe { (*span).chunks };
    if chunks > 1 {
        release_pages(span as usize + HEADER, chunks * CHUNK - HEADER);
    }
    if let Ok(mut spare) = SPARE.lock() {
        spare.entry(chunks).or_default().push(span as usize);
    }
}

/// An unused span, of not many more chunks than are asked for.
fn take_spare(chunks: usize) -> Option<*mut Span> {
    let mut spare = SPARE.lock().ok()?;
    let close = if chunks == 1 { 1 } else { 2 * chunks };
    let found = spare.range_mut(chunks..=close).find_map(|(_, spans)| spans.pop())?;
    let span = found as *mut Span;
    // SAFETY: it is unused.
    unsafe { (*span).start = (*span).first() };
    Some(span)
}

fn take_span(chunks: usize) -> Option<*mut Span> {
    if let Some(spare) = take_spare(chunks) {
        return Some(spare);
    }
    let (region, length) = region()?;
    let after = |first: usize| Some(first + chunks).filter(|end| end * CHUNK <= length);
    let first = NEXT_CHUNK.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).ok()?;
    let back = BACK.load(Ordering::Acquire) as *mut u32;
    for index in 1..chunks {
        // SAFETY: the table has an entry for every chunk of the region, and these are ours.
        unsafe { back.add(first + index).write(index as u32) };
    }
    let span = (region + first * CHUNK) as *mut Span;
    // SAFETY: inside the region, which is mapped, and aligned to a chunk; it has no other owner.
    unsafe {
        span.write(Span {
            live: AtomicU32::new(0),
            thread: 0,
            arena: ptr::null(),
            owner: AtomicUsize::new(0),
            chunks,
            start: span as usize + HEADER,
            before: 0,
        });
    }
    Some(span)
}

/// Address and length of the region; reserved at its first use.
fn region() -> Option<(usize, usize)> {
    static RESERVING: Mutex<()> = Mutex::new(());
    let known = REGION.load(Ordering::Acquire);
    if known != 0 {
        return Some((known, REGION_LENGTH.load(Ordering::Acquire)));
    }
    let _one_at_a_time = RESERVING.lock().ok()?;
    if REGION.load(Ordering::Acquire) == 0 {
        for shift in [38, 36, 33, 30] {
            let length = 1_usize << shift;
            let (Some(start), Some(back)) = (map(length + CHUNK), map(length / CHUNK * 4)) else {
                continue;
            };
            BACK.store(back, Ordering::Release);
            REGION_LENGTH.store(length, Ordering::Release);
            REGION.store(start.next_multiple_of(CHUNK), Ordering::Release);
            break;
        }
    }
    let start = REGION.load(Ordering::Acquire);
    (start != 0).then(|| (start, REGION_LENGTH.load(Ordering::Acquire)))
}

/// Address space that takes no memory until it is used.
fn map(length: usize) -> Option<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new private mapping touches nothing that exists.
    let address = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address as usize)
}

/// Returns the memory of all whole unused chunks in a range to the system. They can be used again.
pub(super) fn release_pages(start: usize, length: usize) {
    // No system has larger pages.
    let (first, end) = (start.next_multiple_of(CHUNK), (start + length) / CHUNK * CHUNK);
    if first < end {
        // SAFETY: the pages are part of the region, and hold nothing that is needed.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_DONTNEED) };
    }
}

/// The span that an address lies in, if it was given out here.
#[inline]
pub(super) fn span_of(address: usize) -> Option<*mut Span> {
    let region = REGION.load(Ordering::Relaxed);
    let offset = address.wrapping_sub(region);
    if region == 0 || offset >= REGION_LENGTH.load(Ordering::Relaxed) {
        return None;
    }
    let chunk = offset / CHUNK;
    let back = BACK.load(Ordering::Relaxed) as *const u32;
    // SAFETY: the table has an entry for every chunk of the region.
    let first = chunk - unsafe { back.add(chunk).read() } as usize;
    Some((region + first * CHUNK) as *mut Span)
}

/// Returns whether an address lies in memory for checked code.
pub(super) fn is_inside(address: usize) -> bool {
    span_of(address).is_some()
}

/// The check to whose memory an address belongs.
pub(crate) fn owner_of(address: usize) -> Option<usize> {
    // SAFETY: spans are never unmapped, and where none begins yet there is a 0.
    let owner = span_of(address).map(|span| unsafe { (*span).owner.load(Ordering::Relaxed) });
    owner.filter(|&owner| owner != 0)
}

/// A block that was freed is in use again.
pub(super) fn use_again(address: usize) {
    if let Some(span) = span_of(address) {
        // SAFETY: spans are never unmapped.
        unsafe { (*span).live.fetch_add(1, Ordering::Relaxed) };
    }
}

/// Where an address lies in the memory of checked code.
pub(crate) enum Lies {
    /// In a block that this thread allocated in this execution; a number that is the same in all.
    In { thread: usize, offset: u64 },
    /// In a block that an earlier execution left.
    Kept,
    /// Elsewhere.
    Outside,
}

pub(crate) fn locate(address: usize) -> Lies {
    let Some(span) = span_of(address) else { return Lies::Outside };
    // SAFETY: spans are never unmapped.
    let head = unsafe { &*span };
    if address < head.start {
        return Lies::Kept;
    }
    let offset = head.before.wrapping_add((address - head.start) as u64);
    Lies::In { thread: head.thread as usize, offset }
}
