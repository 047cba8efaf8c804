//! Where an address lies, so that it means the same in every execution.

use selvedge_rt::{Region, Where};

use super::arena::{self, Lies};
use super::state::Runtime;

/// An address as the same text in every execution and every run: whose memory, and where in it.
pub(crate) fn address_text(rt: &Runtime, address: usize) -> String {
    if address == 0 {
        return "null".to_owned();
    }
    let place = lies(rt, address).0;
    let (thread, memory) = match place.region {
        Region::Heap(thread) => (thread, ""),
        Region::Stack(thread) => (thread, "'s stack"),
        Region::Thread(_)
        | Region::Messages(_)
        | Region::PartOf(_)
        | Region::Pool
        | Region::Outside => {
            return format!("{address:#x}");
        }
    };
    format!("{}{memory}+{:#x}", rt.thread_name(thread as usize), place.offset)
}

/// A text in which addresses of checked code are as [`address_text`] has them, so that it is the same in every execution:
/// what an execution leaves moves what the next one allocates.
pub(super) fn with_places(rt: &Runtime, text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    while let Some(begin) = rest.find(is_of_word) {
        let (before, word) = rest.split_at(begin);
        let (word, after) = word.split_at(word.find(|it| !is_of_word(it)).unwrap_or(word.len()));
        told.push_str(before);
        match address_in(word).filter(|&address| is_placed(rt, address)) {
            Some(address) => told.push_str(&address_text(rt, address)),
            None => told.push_str(word),
        }
        rest = after;
    }
    told.push_str(rest);
    told
}

/// The number that a word is.
fn address_in(word: &str) -> Option<usize> {
    match word.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

fn is_placed(rt: &Runtime, address: usize) -> bool {
    let (Region::Heap(thread) | Region::Stack(thread)) = lies(rt, address).0.region else {
        return false;
    };
    (thread as usize) < rt.threads.len()
}

/// A value as the same number in every execution of every system of a check, also if it is an address: what an execution leaves
/// moves what the next one allocates, and stacks are used in any order.
pub(crate) fn steady(rt: &Runtime, value: u64) -> u64 {
    const FIRST_PAGE: u64 = 4096;
    if value < FIRST_PAGE {
        return value;
    }
    let place = lies(rt, value as usize).0;
    match place.region {
        Region::Heap(_) | Region::Stack(_) => rt.names.stable_place(place),
        Region::Thread(_)
        | Region::Messages(_)
        | Region::PartOf(_)
        | Region::Pool
        | Region::Outside => value,
    }
}

/// Returns whether a value may be an address, perhaps with a tag above or below it, or its complement: memory is mapped
/// there.
#[cold]
pub(super) fn may_be(value: u64) -> bool {
    const BITS: u32 = 48;
    let low = |value: u64| value & ((1 << BITS) - 1);
    [low(value), low(!value), value >> (u64::BITS - BITS)].into_iter().any(is_mapped)
}

fn is_mapped(address: u64) -> bool {
    const PAGE: u64 = 4096;
    let page = (address & !(PAGE - 1)) as usize as *mut libc::c_void;
    // SAFETY: it fails where nothing is mapped, and else starts to write pages of files that are mapped and shared.
    address >= PAGE && unsafe { libc::msync(page, PAGE as usize, libc::MS_ASYNC) } == 0
}

/// Where an address lies, and whether what is there outlives an execution.
pub(super) fn lies(rt: &Runtime, address: usize) -> (Where, bool) {
    match arena::locate(address) {
        Lies::In { thread, offset } => {
            return (Where { region: Region::Heap(thread as u32), offset, part: 0 }, false);
        }
        Lies::Kept => {
            return (Where { region: Region::Outside, offset: address as u64, part: 0 }, true);
        }
        Lies::Outside => {}
    }
    for (number, thread) in rt.threads.iter().enumerate() {
        if let Some(fiber) = &thread.fiber
            && fiber.contains(address)
        {
            let offset = (fiber.base() - address) as u64;
            return (Where { region: Region::Stack(number as u32), offset, part: 0 }, false);
        }
    }
    (Where { region: Region::Outside, offset: address as u64, part: 0 }, true)
}
