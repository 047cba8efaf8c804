//! Values of atomics under a memory model, which mean the same in every execution.
//!
//! An explorer of graphs keeps what was written, and tells it to threads of other executions. A block may lie at another
//! address there: what an execution leaves moves what the next one allocates. So an address in a block is *named* before
//! the explorer gets it, by who allocated the block and how much before it, and looked up when a thread reads it.
//!
//! A name is the same as long as its execution lasts, and no two values have the same one: an address that is in no block
//! may be part of one later, and a number that looks like a name could not be told from it. Both end the check without a
//! verdict.

use selvedge_core::Bits;

use super::arena::{self, Lies};
use super::block::Block;
use super::state::Runtime;

/// What names begin with. No address does: its upper bits are all the same.
const PREFIX: u64 = 0x5e1d;
const PREFIX_AT: u32 = 48;
/// The rest is a thread, and an offset of so many bits in its memory.
const OFFSET_BITS: u32 = 36;
const MOST_THREADS: usize = 1 << (PREFIX_AT - OFFSET_BITS);

/// What an explorer gets to know of a value.
pub(crate) fn named(rt: &Runtime, value: u64) -> Bits {
    if value >> PREFIX_AT == PREFIX {
        rt.note_hopeless(&format!(
            "an atomic has the value {value:#x}, which stands for an address under a memory model; use another number, or \
             say `sequentially_consistent(true)`"
        ));
        return value;
    }
    let Lies::In { thread, offset } = arena::locate(value as usize) else { return value };
    let address = value as usize;
    let is_in = |block: &&Block| address.wrapping_sub(block.start) <= block.size;
    let is_named = block_from(rt, thread, offset).filter(is_in).is_some();
    if !is_named || offset >> OFFSET_BITS != 0 || thread >= MOST_THREADS {
        rt.note_hopeless(
            "an atomic has an address that is in no block of memory: under a memory model it is not the same in every \
             execution; keep an index, or say `sequentially_consistent(true)`",
        );
        return value;
    }
    PREFIX << PREFIX_AT | (thread as u64) << OFFSET_BITS | offset
}

/// The value that an explorer knows as this, in this execution.
pub(crate) fn value_of(rt: &Runtime, bits: Bits) -> u64 {
    if bits >> PREFIX_AT != PREFIX {
        return bits;
    }
    let thread = (bits >> OFFSET_BITS) as usize % MOST_THREADS;
    let offset = bits % (1 << OFFSET_BITS);
    match block_from(rt, thread, offset) {
        Some(block) => block.start as u64 + (offset - block.offset),
        // Who wrote it had it before, in every execution of deterministic code.
        None => {
            rt.note_hopeless(
                "the program is nondeterministic: an address that an atomic had is not allocated when the same steps run again",
            );
            bits
        }
    }
}

/// The block of a thread that an offset in its memory lies in, or at whose end.
fn block_from(rt: &Runtime, thread: usize, offset: u64) -> Option<&Block> {
    let log = rt.known.get(thread)?.home.log();
    let after = log.partition_point(|block| block.offset <= offset);
    let block = log.get(after.checked_sub(1)?)?;
    (offset - block.offset <= block.size as u64).then_some(block)
}
