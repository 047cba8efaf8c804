//! What reports say about memory.

use std::hint::black_box;
use std::ptr;

use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::{Builder, Reuse, thread};

use super::{expect, expect_with};
use crate::common::raw::{Raw, takes_from_a_stack};

#[test]
fn an_object_that_is_used_after_it_was_freed() {
    expect("use-after-free", || {
        let done = Arc::new(AtomicBool::new(false));
        let shared = Raw::new(AtomicUsize::new(0));
        let reader = thread::spawn(move || shared.get().load(SeqCst));
        done.store(true, SeqCst);
        shared.free();
        reader.join().unwrap();
    });
}

#[test]
fn plain_memory_that_is_written_to_after_it_was_freed() {
    expect("write-after-free", || {
        let shared = Raw::new([0_u64; 4]);
        let ready = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ready);
        let writer = thread::spawn(move || {
            if other.load(SeqCst) {
                shared.set([0, 0, 7, 0]);
            }
        });
        shared.free();
        ready.store(true, SeqCst);
        writer.join().unwrap();
    });
}

#[test]
fn two_that_free_the_same() {
    expect("double-free", || {
        let slot = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(5))));
        let take = |slot: &AtomicPtr<i32>| {
            let found = slot.load(SeqCst);
            if !found.is_null() {
                slot.store(ptr::null_mut(), SeqCst);
                Raw(found).free();
            }
        };
        let other = Arc::clone(&slot);
        let thread = thread::spawn(move || take(&other));
        take(&slot);
        thread.join().unwrap();
    });
}

#[test]
fn frees_of_what_was_not_allocated_like_this() {
    expect("invalid-free", || {
        let block = Raw::new([1_u64, 2]);
        Raw(block.0.cast::<u64>().wrapping_add(1)).free();
    });
    expect("other-layout", || {
        let block = Raw::new([1_u64, 2]);
        Raw(black_box(block.0).cast::<u64>()).free();
    });
    expect("other-alignment", || {
        let block = Raw::new(1_u64);
        Raw(black_box(block.0).cast::<[u8; 8]>()).free();
    });
}

#[test]
fn a_box_that_is_never_freed() {
    expect_with("leaked-box", &Builder::new().leaks(true), || {
        let thread = thread::spawn(|| std::mem::forget(black_box(vec![1_u8, 2, 3])));
        thread.join().unwrap();
    });
}

#[test]
fn an_address_that_comes_again() {
    expect_with("aba", &Builder::new().reuse(Reuse::Choice), takes_from_a_stack);
}
