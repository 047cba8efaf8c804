//! Plain reads and writes of freed memory, which only [`Builder::guard_freed`] sees.

use super::*;

fn guarded(f: impl Fn() + 'static) -> Outcome {
    Builder::new().guard_freed(true).explore(f)
}

/// A thread does something with a box that another frees in the meantime.
fn too_late(with: fn(Raw<[u64; 4]>)) -> Outcome {
    guarded(move || {
        let shared = Raw::new([1_u64, 2, 3, 4]);
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let other = thread::spawn(move || {
            if is_done.load(SeqCst) {
                with(shared);
            }
        });
        done.store(true, SeqCst);
        shared.free();
        other.join().unwrap();
    })
}

#[test]
fn plain_uses_of_freed_memory_are_seen() {
    let uses: [fn(Raw<[u64; 4]>); 4] = [
        // SAFETY: none of them is: that is to be noticed.
        |shared| assert_ne!(unsafe { shared.0.cast::<u64>().add(1).read_volatile() }, 7),
        // SAFETY: as above.
        |shared| unsafe { shared.0.cast::<u64>().add(3).write_volatile(7) },
        |shared| {
            let mut copy = [0; 4];
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(shared.0, &raw mut copy, 1) };
            std::hint::black_box(copy);
        },
        |shared| assert_ne!(std::hint::black_box(shared.get().iter().sum::<u64>()), 7),
    ];
    for with in uses {
        let outcome = too_late(with);
        assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree], "{}", outcome.text());
        let text = outcome.text();
        for part in [
            "reads or writes memory that was freed",
            "reads or writes it",
            "main freed it",
            "main allocated it",
            "tests/memory.rs",
            "SELVEDGE_REPLAY",
        ] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        assert!(!text.contains("after this operation"), "the places are exact: {text}");
    }
}

#[test]
fn blocks_of_any_size_and_alignment() {
    for size in [1, 8, 4095, 4096, 4097, 100_000, 2 << 20] {
        for align in [1, 64, 4096, 1 << 16] {
            let layout = std::alloc::Layout::from_size_align(size, align).unwrap();
            let program = move |at: Option<usize>| {
                // SAFETY: it is freed with its layout; the use after it is to be noticed.
                unsafe {
                    let block = std::alloc::alloc(layout);
                    assert_eq!(block as usize % align, 0);
                    block.write_bytes(1, size);
                    std::alloc::dealloc(block, layout);
                    at.map(|at| block.add(at).read_volatile());
                }
            };
            let outcome = guarded(move || program(None));
            assert_eq!(outcome.verdict(), Verdict::Verified, "{size} {align}: {}", outcome.text());
            for at in [0, size - 1] {
                let outcome = guarded(move || program(Some(at)));
                assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree], "{size} {align} {at}");
            }
        }
    }
}

#[test]
fn what_is_moved_is_freed_where_it_was() {
    let outcome = guarded(|| {
        let mut numbers = Vec::with_capacity(1);
        numbers.push(1_u64);
        let first = numbers.as_ptr();
        numbers.push(2);
        // SAFETY: it is not, since the vector has moved.
        assert_eq!(unsafe { first.read_volatile() }, 1);
    });
    assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree]);
}

#[test]
fn operations_are_reported_as_before() {
    let mut same = 0;
    for algorithm in [Algorithm::Optimal, Algorithm::Oracle, Algorithm::Quasi] {
        let plain = Builder::new().algorithm(algorithm);
        let (plain, guarded) = (plain.clone(), plain.guard_freed(true));
        let (plain, guarded) = (plain.explore(freed_while_read), guarded.explore(freed_while_read));
        assert_eq!(plain.messages(), guarded.messages());
        assert_eq!(plain.executions(), guarded.executions());
        same += 1;
    }
    assert_eq!(same, 3);
}

/// The engine looks at the lock that a thread stands at, after it was freed.
#[test]
fn a_lock_that_is_freed_while_others_wait_for_it() {
    let outcome = guarded(|| {
        let shared = Raw::new(Mutex::new(0));
        let others = [(); 2].map(|()| thread::spawn(move || *shared.get().lock().unwrap() += 1));
        shared.free();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree]);
    assert!(outcome.messages()[0].contains("uses Mutex"), "{:?}", outcome.messages());
}

/// A thread stands at a lock in a freed block, which the engine looks at, and another reads the block.
#[test]
fn what_the_engine_looked_at_is_guarded_again() {
    let outcome = guarded(|| {
        let shared = Raw::new((Mutex::new(0), 7));
        let stands = thread::spawn(move || drop(shared.get().0.lock()));
        let freed = Arc::new(AtomicBool::new(false));
        let is_freed = Arc::clone(&freed);
        let reads = thread::spawn(move || {
            if is_freed.load(SeqCst) {
                // SAFETY: it is not: that is to be noticed.
                std::hint::black_box(unsafe { (&raw const shared.get().1).read_volatile() });
            }
        });
        let guard = shared.get().0.lock().unwrap();
        std::mem::forget(guard);
        shared.free();
        freed.store(true, SeqCst);
        reads.join().unwrap();
        stands.join().unwrap();
    });
    let messages = outcome.messages();
    assert!(messages[0].ends_with("reads or writes memory that was freed"), "{messages:?}");
}

#[test]
fn memory_that_is_used_again_can_be_used() {
    let program = || {
        let head = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(1_u64))));
        // SAFETY: this thread owns what it takes out.
        drop(unsafe { Box::from_raw(head.swap(ptr::null_mut(), SeqCst)) });
        head.store(Box::into_raw(Box::new(2)), SeqCst);
        // SAFETY: as above.
        assert_eq!(*unsafe { Box::from_raw(head.swap(ptr::null_mut(), SeqCst)) }, 2);
    };
    let builder = Builder::new().guard_freed(true).reuse(Reuse::Choice);
    let outcome = builder.explore(program);
    assert_eq!(
        (outcome.verdict(), outcome.executions()),
        (Verdict::Verified, 2),
        "{}",
        outcome.text()
    );
}

/// Loops that wait are recognised by the state of memory, part of which cannot be read.
#[test]
fn loops_that_wait_beside_freed_memory() {
    let outcome = guarded(|| {
        let ready = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ready);
        drop(Box::new([1; 100]));
        let waiter = thread::spawn(move || {
            while !other.load(SeqCst) {
                drop(Box::new(7));
                thread::yield_now();
            }
        });
        ready.store(true, SeqCst);
        waiter.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

#[test]
fn without_the_option_a_plain_read_is_not_seen() {
    let outcome = explore(|| {
        let shared = Raw::new(7_u64);
        shared.free();
        // SAFETY: it is not, and nothing notices.
        std::hint::black_box(unsafe { shared.0.read_volatile() });
    });
    assert_eq!(outcome.verdict(), Verdict::Verified);
}
