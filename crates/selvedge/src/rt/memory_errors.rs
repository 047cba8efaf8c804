//! What goes wrong with memory: uses after a free, frees that are wrong, leaks.
//!
//! An operation on an object is seen: its block must not be free when it runs. A plain write is seen by what it
//! leaves in a freed block (`freed.rs`), and a plain read or write where freed blocks are inaccessible (`guarded.rs`).

use selvedge_core::{Fault, Violation, ViolationKind};
use selvedge_report::plural;

use super::address::address_text;
use super::blocks::{block_around, block_of};
use super::freed::Content;
use super::state::{Runtime, Touching};
use super::story::{AboutBlock, BlockName, Event, Happened};
use crate::spot::{Spot, object_name};

/// The last operation of the running thread: where it is now is not known.
pub(super) fn freeing_at(rt: &Runtime) -> Spot {
    rt.threads[rt.now.current].spot
}

/// What is wrong with using the object at an address, if its block was freed.
fn used_after_free(rt: &mut Runtime, touching: Touching, spot: Spot) -> Option<Violation> {
    let created = touching.created?;
    let block = block_of(rt, touching.address)?;
    let (free, start) = (block.free?, block.start);
    let name = object_name(touching.kind, created);
    let user = rt.thread_name(rt.now.current);
    let message = format!("{user} uses {name}, but its memory was freed");
    let text = format!("{user} uses it");
    let used = Happened { event: Event::Used, text, spot: Some(spot) };
    Some(about_block(rt, ViolationKind::UseAfterFree, message, used, start, Some(free)))
}

/// What is wrong with a plain access of the running thread to an address in a freed block, if it lies in one.
pub(super) fn accessed_after_free(
    rt: &Runtime,
    thread: usize,
    address: usize,
) -> Option<Violation> {
    let (_, block) = block_around(rt, address)?;
    let (free, start) = (block.free?, block.start);
    let name = rt.thread_name(thread);
    let message = format!("{name} reads or writes memory that was freed");
    let spot = Some(rt.threads[thread].spot);
    let text = format!("{name} reads or writes it");
    let used = Happened { event: Event::Accessed, text, spot };
    let mut violation = rt.violation(thread, ViolationKind::UseAfterFree, message, &[]);
    tell_about(rt, &mut violation, vec![used], start, Some(free));
    Some(violation)
}

#[cold]
pub(super) fn double_free(rt: &mut Runtime, free: u32, address: usize) -> Violation {
    let name = rt.thread_name(rt.now.current);
    let message = format!("{name} frees memory that was freed before");
    let wrong = wrong_free(rt, format!("{name} frees it again"));
    about_block(rt, ViolationKind::DoubleFree, message, wrong, address, Some(free))
}

#[cold]
pub(super) fn invalid_free(rt: &Runtime, address: usize) -> Violation {
    let name = rt.thread_name(rt.now.current);
    let place = address_text(rt, address);
    let message = format!("{name} frees {place}, where no block begins");
    let wrong = wrong_free(rt, format!("{name} frees it"));
    about_block(rt, ViolationKind::InvalidFree, message, wrong, address, None)
}

#[cold]
pub(super) fn other_layout(
    rt: &Runtime,
    allocated: (usize, usize),
    freed: (usize, usize),
    address: usize,
) -> Violation {
    let name = rt.thread_name(rt.now.current);
    let text = |(size, align): (usize, usize)| match allocated.1 == freed.1 {
        true => plural(size as u64, "byte", "bytes"),
        false => format!("{} aligned to {align}", plural(size as u64, "byte", "bytes")),
    };
    let (freed, allocated) = (text(freed), text(allocated));
    let message = format!("{name} frees a block of {freed}, but it was allocated as {allocated}");
    let wrong = wrong_free(rt, format!("{name} frees it"));
    about_block(rt, ViolationKind::InvalidFree, message, wrong, address, None)
}

fn wrong_free(rt: &Runtime, text: String) -> Happened {
    Happened { event: Event::WrongFree, text, spot: Some(freeing_at(rt)) }
}

fn about_block(
    rt: &Runtime,
    kind: ViolationKind,
    message: String,
    wrong: Happened,
    address: usize,
    free: Option<u32>,
) -> Violation {
    let mut violation = rt.violation(rt.now.current, kind, message, &[]);
    tell_about(rt, &mut violation, vec![wrong], address, free);
    violation
}

/// Adds to a violation what happened to the block at an address before.
fn tell_about(
    rt: &Runtime,
    violation: &mut Violation,
    mut happened: Vec<Happened>,
    address: usize,
    free: Option<u32>,
) {
    let free = free.map(|free| &rt.now.own.memory.frees[free as usize]);
    if let Some(free) = free {
        let text = format!("{} freed it", rt.thread_name(free.thread));
        happened.push(Happened { event: Event::Freed, text, spot: Some(free.spot) });
    }
    let block = block_around(rt, address);
    if let Some((thread, block)) = block {
        let it = if block.start == address { "it" } else { "the block around it" };
        let text = format!("{} allocated {it}", rt.thread_name(thread));
        happened.push(Happened { event: Event::Allocated, text, spot: None });
    }
    let block = block.map(|(thread, block)| BlockName { thread, offset: block.offset });
    let about = AboutBlock {
        message: violation.message.clone(),
        block,
        happened,
        freed_by: free.and_then(|free| free.position),
    };
    about.tell(violation, &|_| None);
    if rt.tracing {
        rt.shared.about_block.replace(Some(about));
    }
}

/// How large a block is that was freed, and by whom.
fn freed_size_and_name(rt: &Runtime, content: Content) -> (String, String) {
    let size = block_around(rt, content.address).map_or(0, |(_, block)| block.size as u64);
    let free = &rt.now.own.memory.frees[content.free as usize];
    (plural(size, "byte", "bytes"), rt.thread_name(free.thread))
}

/// A block that is never freed, if there is one.
#[cold]
pub(super) fn leaked_block(rt: &Runtime) -> Option<Violation> {
    let mut left = Vec::new();
    for (number, known) in rt.known.iter().enumerate() {
        let blocks = known.home.log().iter().filter(|block| block.free.is_none());
        left.extend(blocks.map(|block| (number, block)));
    }
    let &(thread, block) = left.first()?;
    let more = match left.len() {
        1 => String::new(),
        more => format!(", and {} more", plural(more as u64 - 1, "block", "blocks")),
    };
    let (name, bytes) = (rt.thread_name(thread), plural(block.size as u64, "byte", "bytes"));
    let message = format!("a block of {bytes} that {name} allocated is never freed{more}");
    let mut violation = rt.violation(thread, ViolationKind::Leak, message, &[]);
    violation.thread = None;
    tell_about(rt, &mut violation, Vec::new(), block.start, None);
    Some(violation)
}

/// The operation at `spot` runs now, on objects at these addresses: their blocks must not be free. Returns what is
/// wrong if one is.
#[cold]
#[inline(never)]
pub(super) fn use_of_freed(rt: &mut Runtime, touching: [Touching; 2], spot: Spot) -> Option<Fault> {
    rt.now.own.memory.close_to_engine();
    let mut used = touching.into_iter();
    used.find_map(|touching| used_after_free(rt, touching, spot)).map(Fault::Violation)
}

/// What is wrong at the end of an execution, if a freed block was written to.
pub(super) fn written_after_free(rt: &Runtime) -> Option<Violation> {
    let &changed = rt.now.own.memory.changed()?;
    Some(written(rt, changed))
}

/// What is wrong if the block at an address is used again.
pub(super) fn written_before_use(rt: &mut Runtime, address: usize) -> Option<Violation> {
    let changed = rt.now.own.memory.contents.use_again(address)?;
    Some(written(rt, changed))
}

#[cold]
fn written(rt: &Runtime, changed: Content) -> Violation {
    let (size, name) = freed_size_and_name(rt, changed);
    let message = format!("a block of {size} is written to after {name} freed it");
    let mut violation = rt.violation(0, ViolationKind::UseAfterFree, message, &[]);
    violation.thread = None;
    tell_about(rt, &mut violation, Vec::new(), changed.address, Some(changed.free));
    violation
}
