//! Writes to freed memory, addresses that come again in another process, and code that frees in all ways without
//! a mistake.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::process::Command;
use std::ptr;
use std::rc::Rc;

use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, Mutex};
use selvedge::{Builder, Reuse, Verdict, ViolationKind, thread};

use crate::common::raw::{Raw, takes_from_a_stack};

fn reusing() -> Builder {
    Builder::new().reuse(Reuse::Choice)
}

#[test]
fn without_reuse_no_address_comes_again() {
    Builder::new().guard_freed(false).check(takes_from_a_stack);
}

/// The first node may be freed between the load and the reads.
#[test]
fn the_stack_reads_a_node_that_was_freed() {
    let outcome = Builder::new().explore(takes_from_a_stack);
    assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree]);
}

/// Only some executions put the address of a block into an atomic, and one that does not fails.
fn learns_elsewhere() {
    let slot = Arc::new(AtomicPtr::new(ptr::null_mut::<u64>()));
    let go = Arc::new(AtomicBool::new(false));
    let (other, goes) = (Arc::clone(&slot), Arc::clone(&go));
    let publisher = thread::spawn(move || {
        if !goes.load(SeqCst) {
            drop(Box::new(black_box(1_u64)));
            other.store(Box::into_raw(Box::new(2)), SeqCst);
        }
    });
    go.store(true, SeqCst);
    drop(Box::new(black_box(3_u64)));
    publisher.join().unwrap();
    assert!(!slot.load(SeqCst).is_null(), "nothing was published");
}

/// A node that was freed comes again as another one, and so does what another thread knew of it: the node after it is the first
/// of the stack, though it was taken. Nodes leak, and the text of the panic has addresses.
fn brings_back_what_was_taken() {
    let [none, second, first] = [ptr::null_mut(), Raw::new(2_u64).0, Raw::new(1_u64).0];
    let head = Arc::new(AtomicPtr::new(first));
    let (other, [first_is, second_is]) = (Arc::clone(&head), [first, second].map(Raw));
    let other = thread::spawn(move || {
        let [Raw(first), Raw(second)] = [first_is, second_is];
        head_is(&other, first) && takes(&other, first, second)
    });
    if takes(&head, first, second) && takes(&head, second, none) {
        Raw(first).free();
        takes(&head, none, Raw::new(3).0);
    }
    if other.join().unwrap() {
        assert_ne!(head.load(SeqCst), second, "it is back, as {}", second as usize);
    }

    fn head_is(head: &AtomicPtr<u64>, first: *mut u64) -> bool {
        head.load(SeqCst) == first
    }

    fn takes(head: &AtomicPtr<u64>, first: *mut u64, next: *mut u64) -> bool {
        head.compare_exchange(first, next, SeqCst, SeqCst).is_ok()
    }
}

const VICTIMS: [fn(); 3] = [takes_from_a_stack, learns_elsewhere, brings_back_what_was_taken];
const VICTIM: &str = "SELVEDGE_TEST_VICTIM";

/// Fails, with what is told about it.
#[test]
fn victim() {
    if let Ok(number) = std::env::var(VICTIM) {
        reusing().check(VICTIMS[number.parse::<usize>().unwrap()]);
    }
}

#[test]
fn another_process_shows_the_same() {
    let run = |victim: usize, schedule: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "frees::victim", "--nocapture"]).env("RUST_BACKTRACE", "0");
        command.env(VICTIM, victim.to_string());
        if let Some(schedule) = schedule {
            command.env("SELVEDGE_REPLAY", schedule);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{text}");
        let report = text.split_once("selvedge: ").map_or("", |(_, report)| report);
        report.split("\nselvedge: ").next().unwrap_or_default().to_owned()
    };
    for victim in 0..VICTIMS.len() {
        let report = run(victim, None);
        let schedule = report.split("SELVEDGE_REPLAY=").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(run(victim, Some(schedule)), report);
    }
}

/// They are the same in every execution, and in every process.
#[test]
fn addresses_in_texts_of_panics() {
    let outcome = reusing().explore(brings_back_what_was_taken);
    let panic = outcome.messages().into_iter().next().unwrap_or_default();
    let words: Vec<&str> = panic.split_whitespace().collect();
    let places: Vec<&&str> = words.iter().filter(|word| word.starts_with("main+0x")).collect();
    assert_eq!(places.len(), 3, "{}", outcome.text());
    assert!(places.iter().all(|place| place == &places[0]), "{panic}");
    let on_stack = || {
        let here = AtomicUsize::new(7);
        let to_here = &raw const here as usize;
        here.store(to_here, SeqCst);
        drop(thread::spawn(move || panic!("7 at {to_here:#x}, not 0x7_{to_here}")));
    };
    let outcome = Builder::new().explore(on_stack);
    let panic = outcome.messages().into_iter().next().unwrap_or_default();
    assert!(panic.contains("7 at main's stack+0x") && panic.contains(", not 0x7_"), "{panic}");
}

/// The kinds of what is wrong in what one thread does.
fn kinds(f: impl Fn() + Clone + 'static) -> Vec<ViolationKind> {
    let outcome = Builder::new().explore(f.clone());
    for schedule in outcome.schedules() {
        let again = Builder::new().replay(&schedule).explore(f.clone());
        assert_eq!(again.kinds(), outcome.kinds(), "{}", outcome.text());
    }
    outcome.kinds()
}

#[test]
fn writes_to_freed_memory() {
    let last_byte = || {
        let block = Raw::new([1_u8; 1000]);
        block.free();
        block.set([[1; 999].as_slice(), &[2]].concat().try_into().unwrap());
    };
    assert_eq!(kinds(last_byte), [ViolationKind::UseAfterFree]);
    let grown = || {
        let mut list = vec![1_u32];
        let first = Raw(list.as_mut_ptr());
        list.reserve(100);
        first.set(2);
    };
    assert_eq!(kinds(grown), [ViolationKind::UseAfterFree]);
    // Before it is used again, too.
    let reused = || {
        let slot = AtomicPtr::new(Box::into_raw(Box::new(1_u64)));
        let block = Raw(slot.load(SeqCst));
        block.free();
        block.set(2);
        drop(Box::new(3_u64));
    };
    let outcome = reusing().keep_going(true).explore(reused);
    assert_eq!(outcome.kinds().first(), Some(&ViolationKind::UseAfterFree), "{}", outcome.text());
}

/// Checks that nothing is wrong with code that frees, whether addresses come again or not.
#[track_caller]
fn fine(f: impl Fn() + Clone + 'static) {
    for builder in [Builder::new(), reusing()] {
        let outcome = builder.explore(f.clone());
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
}

#[test]
fn what_moves_and_what_has_no_size() {
    fine(|| {
        let mut atomics: Vec<AtomicUsize> = Vec::new();
        for i in 0..20 {
            atomics.push(AtomicUsize::new(i));
            atomics[i / 2].fetch_add(1, SeqCst);
        }
        atomics.truncate(3);
        atomics.shrink_to_fit();
        atomics.iter().for_each(|atomic| _ = atomic.load(SeqCst));
        let mut text = String::new();
        (0..100).for_each(|i| text.push_str(&i.to_string()));
        drop(text.into_boxed_str());
    });
    fine(|| {
        let nothing: Vec<()> = vec![(); 10];
        drop((Box::new(()), nothing.into_boxed_slice(), Box::<[u64]>::from([])));
        let code: Box<dyn Fn()> = Box::new(|| ());
        code();
    });
    fine(|| {
        #[repr(align(4096))]
        #[derive(Clone)]
        struct Aligned(#[expect(dead_code, reason = "it takes room")] u8);
        drop(black_box(vec![Aligned(1); 2]));
        // Pages of large blocks go back to the system.
        drop(black_box(vec![1_u8; 3 << 20]));
        assert!(black_box(vec![0_u8; 1 << 10]).iter().all(|&byte| byte == 0));
    });
}

#[test]
fn counts_and_traits() {
    trait Shape {
        fn area(&self) -> usize;
    }
    struct Square(Arc<AtomicUsize>, Vec<u8>);
    impl Shape for Square {
        fn area(&self) -> usize {
            self.0.load(SeqCst) * self.1.len()
        }
    }
    impl Drop for Square {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    fine(|| {
        let side = Arc::new(AtomicUsize::new(2));
        let shape: Box<dyn Shape + Send> = Box::new(Square(Arc::clone(&side), vec![0; 3]));
        let thread = thread::spawn(move || shape.area());
        side.load(SeqCst);
        thread.join().unwrap();
        let counted: Rc<dyn Shape> = Rc::new(Square(side, vec![1]));
        let (weak, other) = (Rc::downgrade(&counted), Rc::clone(&counted));
        drop((counted, other));
        assert!(weak.upgrade().is_none());
        let shared = std::sync::Arc::new(AtomicUsize::new(0));
        let kept = std::sync::Arc::downgrade(&shared);
        let thread = thread::spawn(move || drop(shared));
        if let Some(shared) = kept.upgrade() {
            shared.load(SeqCst);
        }
        thread.join().unwrap();
    });
}

#[test]
fn what_threads_own_and_what_crosses_the_check() {
    selvedge::thread_local! {
        static MINE: Cell<Option<Box<u32>>> = Cell::new(Some(Box::new(1)));
    }
    std::thread_local! {
        #[allow(clippy::vec_box, reason = "each is a block of its own")]
        static SYSTEM: RefCell<Vec<Box<u32>>> = const { RefCell::new(Vec::new()) };
    }
    fine(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2].map(|new| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.fetch_add(1, SeqCst);
                MINE.with(|mine| drop(mine.replace(Some(Box::new(new)))));
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // A list that outlives executions: each frees what the one before left.
    fine(|| {
        let other = thread::spawn(|| thread::yield_now());
        SYSTEM.with(|list| {
            let mut list = list.borrow_mut();
            if list.len() > 5 {
                *list = Vec::new();
            }
            list.push(Box::new(1));
        });
        other.join().unwrap();
    });
    let before = Rc::new(RefCell::new(vec![Box::new(1_u64), Box::new(2)]));
    let after = Rc::new(RefCell::new(Vec::new()));
    let (taken, kept) = (Rc::clone(&before), Rc::clone(&after));
    fine(move || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let thread = thread::spawn(move || y.store(1, SeqCst));
        drop(taken.borrow_mut().pop());
        kept.borrow_mut().push(Box::new(x.load(SeqCst)));
        thread.join().unwrap();
    });
    assert!(before.borrow().is_empty());
    assert!(after.take().len() >= 4, "one of each execution");
}

/// The queue of Michael and Scott, as far as taking goes, with nodes that are freed when all is over.
#[test]
fn a_queue_that_frees_later() {
    struct Node {
        next: AtomicPtr<Node>,
    }
    let node = |next| Raw::new(Node { next: AtomicPtr::new(next) });
    let program = move || {
        let first = node(node(node(ptr::null_mut()).0).0);
        let head = Arc::new(AtomicPtr::new(first.0));
        let left = Arc::new(Mutex::new(Vec::new()));
        let take = |head: &AtomicPtr<Node>, left: &Mutex<Vec<Raw<Node>>>| {
            let dummy = head.load(SeqCst);
            let next = Raw(dummy).get().next.load(SeqCst);
            if !next.is_null() && head.compare_exchange(dummy, next, SeqCst, SeqCst).is_ok() {
                left.lock().unwrap().push(Raw(dummy));
            }
        };
        let other = (Arc::clone(&head), Arc::clone(&left));
        let thread = thread::spawn(move || take(&other.0, &other.1));
        take(&head, &left);
        thread.join().unwrap();
        left.lock().unwrap().drain(..).for_each(Raw::free);
        let mut at = head.load(SeqCst);
        while !at.is_null() {
            let next = Raw(at).get().next.load(SeqCst);
            Raw(at).free();
            at = next;
        }
    };
    fine(program);
    Builder::new().leaks(true).check(program);
}

/// What a random program does with its blocks.
#[derive(Clone, Copy, Debug)]
enum Action {
    Allocate,
    Use,
    Write(u64),
    Free,
    FreeAsOther,
}

/// An atomic and plain memory.
struct Both {
    shared: AtomicUsize,
    plain: u64,
}

/// What is wrong first, if a block of each slot is freed where it should not be.
fn predicted(actions: &[(usize, Action)]) -> Option<ViolationKind> {
    let mut free = [None::<bool>; 3];
    let mut written = None;
    for &(slot, action) in actions {
        match (action, free[slot]) {
            (Action::Allocate, _) => free[slot] = Some(false),
            (_, None) | (Action::Use | Action::Write(_), Some(false)) => {}
            (Action::Use, Some(true)) => return Some(ViolationKind::UseAfterFree),
            (Action::Write(_), Some(true)) => written = Some(ViolationKind::UseAfterFree),
            (Action::Free, Some(false)) => free[slot] = Some(true),
            (Action::Free | Action::FreeAsOther, Some(true)) => {
                return Some(ViolationKind::DoubleFree);
            }
            (Action::FreeAsOther, Some(false)) => return Some(ViolationKind::InvalidFree),
        }
    }
    written
}

#[test]
fn random_programs_of_one_thread() {
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut seen = [0; 4];
    for round in 0..600 {
        let actions: Vec<(usize, Action)> = (0..2 + random(12))
            .enumerate()
            .map(|(at, _)| {
                // Each write is of another value, so that it changes what is there.
                let action = match random(12) {
                    0..=3 => Action::Allocate,
                    4..=5 => Action::Use,
                    6..=7 => Action::Write(at as u64 + 1),
                    8..=10 => Action::Free,
                    _ => Action::FreeAsOther,
                };
                (random(3) as usize, action)
            })
            .collect();
        let expected = predicted(&actions);
        let program = actions.clone();
        let outcome = Builder::new().explore(move || {
            let mut slots = [None::<Raw<Both>>; 3];
            for &(slot, action) in &program {
                match (action, slots[slot]) {
                    (Action::Allocate, _) => {
                        let shared = AtomicUsize::new(0);
                        slots[slot] = Some(Raw::new(Both { shared, plain: 0 }));
                    }
                    (_, None) => {}
                    (Action::Use, Some(block)) => _ = block.get().shared.fetch_add(1, SeqCst),
                    (Action::Write(value), Some(block)) => {
                        // SAFETY: where it is wrong, the check must say so.
                        unsafe { (&raw mut (*block.0).plain).write_volatile(value) };
                    }
                    (Action::Free, Some(block)) => block.free(),
                    (Action::FreeAsOther, Some(block)) => Raw(block.0.cast::<u64>()).free(),
                }
            }
        });
        let found = outcome.kinds().first().copied();
        assert_eq!(found, expected, "round {round}: {actions:?}\n{}", outcome.text());
        seen[match expected {
            None => 0,
            Some(ViolationKind::UseAfterFree) => 1,
            Some(ViolationKind::DoubleFree) => 2,
            Some(_) => 3,
        }] += 1;
    }
    assert!(seen.iter().all(|&often| often > 40), "{seen:?}");
}
