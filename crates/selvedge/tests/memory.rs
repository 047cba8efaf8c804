//! Memory that is freed: uses after it, frees that come twice or never, and what is not wrong at all.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod guarded;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod plain;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sharing;

use std::ptr;

use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, Mutex, OnceLock, RwLock, mpsc};
use selvedge::{Algorithm, Builder, Memory, Outcome, Reuse, Verdict, ViolationKind, thread};
use selvedge_testkit::is_campaign;

/// A pointer that threads share, as code with mistakes does.
struct Raw<T>(*mut T);
// SAFETY: a mistake: nothing says who may use what it points to.
unsafe impl<T> Send for Raw<T> {}
impl<T> Clone for Raw<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Raw<T> {}

impl<T> Raw<T> {
    fn new(value: T) -> Self {
        Self(Box::into_raw(Box::new(value)))
    }

    fn get(&self) -> &T {
        // SAFETY: what is tested is that this is noticed if it is wrong.
        unsafe { &*self.0 }
    }

    fn free(self) {
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

fn explore(f: impl Fn() + 'static) -> Outcome {
    Builder::new().explore(f)
}

/// What is found, by every explorer that looks for it; the kinds of the default one.
fn kinds(f: impl Fn() + Clone + 'static) -> Vec<ViolationKind> {
    let found = explore(f.clone()).kinds();
    for algorithm in [Algorithm::Oracle, Algorithm::Sleep, Algorithm::Source, Algorithm::Quasi] {
        let other = Builder::new().algorithm(algorithm).explore(f.clone());
        assert_eq!(other.kinds(), found, "{algorithm:?}");
    }
    found
}

fn freed_while_read() {
    let shared = Raw::new(AtomicUsize::new(0));
    let reader = thread::spawn(move || shared.get().load(SeqCst));
    shared.free();
    reader.join().unwrap();
}

#[test]
fn a_box_that_is_freed_while_another_reads_it() {
    assert_eq!(kinds(freed_while_read), [ViolationKind::UseAfterFree]);
}

/// Objects that were used before they came to where they are freed: moved into a box, or with a vector that grows.
#[test]
fn an_object_that_was_used_before_it_was_moved_and_freed() {
    fn boxed() {
        let value = AtomicUsize::new(0);
        value.store(1, SeqCst);
        let shared = Raw::new(value);
        let reader = thread::spawn(move || shared.get().load(SeqCst));
        shared.free();
        reader.join().unwrap();
    }
    fn grown() {
        let mut all = Vec::with_capacity(1);
        all.push(AtomicUsize::new(0));
        all[0].store(1, SeqCst);
        all.push(AtomicUsize::new(0));
        let shared = Raw(all.as_mut_ptr());
        let reader = thread::spawn(move || shared.get().load(SeqCst));
        drop(all);
        reader.join().unwrap();
    }
    for code in [boxed, grown] {
        assert_eq!(kinds(code), [ViolationKind::UseAfterFree]);
        for &memory in Memory::ALL {
            let outcome = Builder::new().quiet(true).memory(memory).explore(code);
            assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree], "{}", outcome.text());
        }
    }
}

/// What was moved away is not freed with the place where it was.
#[test]
fn an_object_that_was_moved_out_of_what_is_freed() {
    fn code() {
        let first = Box::new(AtomicUsize::new(0));
        first.store(1, SeqCst);
        let second = Arc::new(*first);
        let other = Arc::clone(&second);
        let other = thread::spawn(move || other.fetch_add(1, SeqCst));
        second.fetch_add(1, SeqCst);
        other.join().unwrap();
        assert_eq!(second.load(SeqCst), 3);
    }
    assert_eq!(kinds(code), []);
    for &memory in Memory::ALL {
        let outcome = Builder::new().quiet(true).memory(memory).explore(code);
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
        assert_eq!(outcome.executions(), 2);
    }
}

/// An object has its name written into it when it is first used: that is not the code.
#[test]
fn reading_freed_memory_is_not_told_as_writing() {
    let outcome = explore(|| {
        let shared = Arc::new(AtomicPtr::new(Raw::new(AtomicUsize::new(7)).0));
        let other = Arc::clone(&shared);
        let reader = thread::spawn(move || Raw(other.load(SeqCst)).get().load(SeqCst));
        Raw(shared.load(SeqCst)).free();
        reader.join().unwrap();
    });
    assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree]);
    let text = outcome.text();
    assert!(text.contains("thread 1 uses it") && !text.contains("writes to"), "{text}");
}

#[test]
fn a_box_that_is_freed_while_another_may_read_it() {
    // Most executions do not show it: the reader looks first.
    let program = || {
        let shared = Raw::new(AtomicUsize::new(0));
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let reader = thread::spawn(move || {
            if !is_done.load(SeqCst) {
                shared.get().load(SeqCst);
            }
        });
        done.store(true, SeqCst);
        shared.free();
        reader.join().unwrap();
    };
    assert_eq!(kinds(program), [ViolationKind::UseAfterFree]);
}

#[test]
fn cells_and_locks_too() {
    let cell = || {
        let shared = Raw::new(UnsafeCell::new(0));
        // SAFETY: what is tested is that this is noticed where it is wrong.
        let reader = thread::spawn(move || shared.get().with(|value| unsafe { *value }));
        shared.free();
        reader.join().unwrap();
    };
    assert_eq!(kinds(cell), [ViolationKind::UseAfterFree]);
    let lock = || {
        let shared = Raw::new(Mutex::new(0));
        let other = thread::spawn(move || *shared.get().lock().unwrap() += 1);
        *shared.get().lock().unwrap() += 1;
        shared.free();
        other.join().unwrap();
    };
    assert_eq!(kinds(lock), [ViolationKind::UseAfterFree]);
    let elements = || {
        let elements = Box::leak(Box::new(vec![AtomicUsize::new(0), AtomicUsize::new(0)]));
        let element = Raw(&raw mut elements[1]);
        let other = thread::spawn(move || element.get().store(1, SeqCst));
        drop(std::mem::take(elements));
        other.join().unwrap();
    };
    assert_eq!(kinds(elements), [ViolationKind::UseAfterFree]);
}

#[test]
fn a_lock_that_is_freed_while_it_is_held() {
    let program = || {
        let shared = Raw::new(Mutex::new(0));
        let guard = shared.get().lock().unwrap();
        shared.free();
        drop(guard);
    };
    assert_eq!(kinds(program), [ViolationKind::UseAfterFree]);
}

#[test]
fn frees_that_are_ordered_are_fine() {
    let joined = || {
        let shared = Raw::new(AtomicUsize::new(0));
        let reader = thread::spawn(move || shared.get().load(SeqCst));
        reader.join().unwrap();
        shared.free();
    };
    assert_eq!(kinds(joined), []);
    let handed_over = || {
        let shared = Raw::new(AtomicUsize::new(0));
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let reader = thread::spawn(move || {
            shared.get().load(SeqCst);
            done.store(true, SeqCst);
        });
        if is_done.load(SeqCst) {
            shared.free();
        } else {
            reader.join().unwrap();
            shared.free();
        }
    };
    assert_eq!(kinds(handed_over), []);
}

#[test]
fn references_that_are_counted_elsewhere_are_fine() {
    // No thread sees the counts of `std`, and those of this crate are no steps unless they matter.
    let std = || {
        let shared = std::sync::Arc::new(AtomicUsize::new(0));
        let other = std::sync::Arc::clone(&shared);
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        shared.fetch_add(1, SeqCst);
        drop(shared);
        thread.join().unwrap();
    };
    assert_eq!(kinds(std), []);
    let own = || {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        shared.fetch_add(1, SeqCst);
        drop(shared);
        thread.join().unwrap();
    };
    assert_eq!((kinds(own), explore(own).executions()), (vec![], 2));
}

#[test]
fn what_was_moved_out_is_not_freed() {
    let program = || {
        let first = Box::new(AtomicUsize::new(0));
        first.store(1, SeqCst);
        let mut all = vec![*first];
        all[0].store(2, SeqCst);
        (0..10).for_each(|i| all.push(AtomicUsize::new(i)));
        assert_eq!(all[0].load(SeqCst), 2);
    };
    assert_eq!(kinds(program), []);
}

#[test]
fn a_pointer_into_an_arc_that_all_have_dropped() {
    let program = || {
        let shared = Arc::new(AtomicUsize::new(0));
        let raw = Raw(Arc::as_ptr(&shared).cast_mut());
        let other = Arc::clone(&shared);
        let holder = thread::spawn(move || drop(other));
        let user = thread::spawn(move || raw.get().load(SeqCst));
        drop(shared);
        holder.join().unwrap();
        user.join().unwrap();
    };
    assert_eq!(kinds(program), [ViolationKind::UseAfterFree]);
    // A thread that joins the user before it drops a reference keeps it alive.
    let program = || {
        let shared = Arc::new(AtomicUsize::new(0));
        let raw = Raw(Arc::as_ptr(&shared).cast_mut());
        let other = Arc::clone(&shared);
        let user = thread::spawn(move || raw.get().load(SeqCst));
        let holder = thread::spawn(move || {
            user.join().unwrap();
            drop(other);
        });
        drop(shared);
        holder.join().unwrap();
    };
    assert_eq!(kinds(program), []);
}

#[test]
fn two_that_free_the_same() {
    let program = || {
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
    };
    assert_eq!(kinds(program), [ViolationKind::DoubleFree]);
}

#[test]
fn frees_of_what_is_no_block() {
    let inside = || {
        let block = std::hint::black_box(Box::into_raw(Box::new([1_u64, 2])));
        // SAFETY: a mistake, which is noticed before anything is freed.
        drop(unsafe { Box::from_raw(block.cast::<u64>().add(1)) });
    };
    assert_eq!(kinds(inside), [ViolationKind::InvalidFree]);
    let shorter = || {
        let block = std::hint::black_box(Box::into_raw(Box::new([1_u64, 2])));
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(block.cast::<u64>()) });
    };
    assert_eq!(kinds(shorter), [ViolationKind::InvalidFree]);
}

/// Not each in pages of its own.
#[test]
fn small_blocks_lie_beside_each_other() {
    selvedge::check(|| {
        let blocks: Vec<Box<u64>> = (0..100).map(Box::new).collect();
        let addresses = || blocks.iter().map(|block| &raw const **block as usize);
        let (first, last) = (addresses().min().unwrap(), addresses().max().unwrap());
        assert!(last - first < 100 << 10, "{first:#x} to {last:#x}");
    });
}

#[test]
fn leaks_of_blocks_on_request() {
    let leaks = || {
        let thread = thread::spawn(|| std::mem::forget(std::hint::black_box(vec![7_u8, 8, 9])));
        thread.join().unwrap();
    };
    Builder::new().check(leaks);
    let outcome = Builder::new().leaks(true).explore(leaks);
    assert_eq!(outcome.kinds(), [ViolationKind::Leak]);
    assert_eq!(outcome.messages(), ["a block of 3 bytes that thread 1 allocated is never freed"]);
    // Nothing of all that programs use is left.
    Builder::new().leaks(true).check(|| {
        let lock = Arc::new(Mutex::new(vec![1]));
        let (sender, receiver) = selvedge::sync::mpsc::channel();
        let other = Arc::clone(&lock);
        let named = thread::Builder::new().name("named".to_owned());
        let thread = named.spawn(move || {
            other.lock().unwrap().push(2);
            sender.send(Box::new(7)).unwrap();
            format!("{:?}", other.lock().unwrap())
        });
        thread::scope(|scope| _ = scope.spawn(|| lock.lock().unwrap().push(3)));
        receiver.recv().unwrap();
        thread.unwrap().join().unwrap();
    });
}

#[test]
fn a_schedule_shows_it_again() {
    let outcome = explore(freed_while_read);
    let again = Builder::new().replay(&outcome.schedules()[0]).explore(freed_while_read);
    assert_eq!((again.verdict(), again.messages()), (Verdict::Violated, outcome.messages()));
}

/// Frees what a slot has, and puts something new there, while another thread compares addresses. Nothing
/// that was freed is used: only the address comes again.
fn compares_addresses() {
    let slot = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(1_u32))));
    let begun = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicBool::new(false));
    let other = (Arc::clone(&slot), Arc::clone(&begun), Arc::clone(&done));
    let changer = thread::spawn(move || {
        let (slot, begun, done) = other;
        begun.store(true, SeqCst);
        Raw(slot.swap(ptr::null_mut(), SeqCst)).free();
        slot.store(Box::into_raw(Box::new(2)), SeqCst);
        done.store(true, SeqCst);
    });
    let before = slot.load(SeqCst);
    if !begun.load(SeqCst) && done.load(SeqCst) {
        let found = slot.compare_exchange(before, before, SeqCst, SeqCst);
        assert!(found.is_err(), "it is not what it was");
    }
    changer.join().unwrap();
    Raw(slot.load(SeqCst)).free();
}

#[test]
fn addresses_that_come_again_are_a_choice() {
    assert_eq!(kinds(compares_addresses), []);
    let reusing = Builder::new().reuse(Reuse::Choice);
    for algorithm in [Algorithm::Optimal, Algorithm::Oracle, Algorithm::Source, Algorithm::Quasi] {
        let outcome = reusing.clone().algorithm(algorithm).explore(compares_addresses);
        assert_eq!(outcome.messages(), ["main panicked: it is not what it was"], "{algorithm:?}");
        // In a check that has learned nothing yet, as another process is.
        let again = reusing.clone().replay(&outcome.schedules()[0]).explore(compares_addresses);
        assert_eq!(again.messages(), outcome.messages(), "{algorithm:?}");
    }
}

struct Node {
    next: AtomicPtr<Node>,
}

/// A stack of boxes whose nodes are freed as soon as they are taken off.
struct Stack {
    head: AtomicPtr<Node>,
    /// Of each thread, what it looks at; that is never freed.
    hazards: [AtomicPtr<Node>; 2],
    left: Mutex<Vec<Raw<Node>>>,
}

impl Stack {
    fn new() -> Self {
        let hazards = [AtomicPtr::default(), AtomicPtr::default()];
        Self { head: AtomicPtr::default(), hazards, left: Mutex::default() }
    }

    fn push(&self) {
        let new = Raw::new(Node { next: AtomicPtr::default() });
        loop {
            let head = self.head.load(SeqCst);
            new.get().next.store(head, SeqCst);
            if self.head.compare_exchange(head, new.0, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> bool {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return false;
            }
            let next = Raw(head).get().next.load(SeqCst);
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                Raw(head).free();
                return true;
            }
        }
    }

    /// The same, with hazard pointers.
    fn pop_safely(&self, me: usize) -> bool {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return false;
            }
            self.hazards[me].store(head, SeqCst);
            if self.head.load(SeqCst) != head {
                continue;
            }
            let next = Raw(head).get().next.load(SeqCst);
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                self.hazards[me].store(ptr::null_mut(), SeqCst);
                match self.hazards[1 - me].load(SeqCst) == head {
                    true => self.left.lock().unwrap().push(Raw(head)),
                    false => Raw(head).free(),
                }
                return true;
            }
        }
    }
}

#[test]
fn a_stack_that_frees_at_once() {
    let program = || {
        let stack = Arc::new(Stack::new());
        (0..2).for_each(|_| stack.push());
        let other = Arc::clone(&stack);
        let thread = thread::spawn(move || other.pop());
        stack.pop();
        thread.join().unwrap();
    };
    assert_eq!(kinds(program), [ViolationKind::UseAfterFree]);
}

#[test]
fn a_stack_with_hazard_pointers() {
    let program = || {
        let stack = Arc::new(Stack::new());
        (0..2).for_each(|_| stack.push());
        let other = Arc::clone(&stack);
        let thread = thread::spawn(move || other.pop_safely(1));
        stack.pop_safely(0);
        thread.join().unwrap();
        stack.left.lock().unwrap().drain(..).for_each(Raw::free);
    };
    // In a campaign with every explorer, brute force too: that takes a while.
    assert_eq!(if is_campaign() { kinds(program) } else { explore(program).kinds() }, []);
    Builder::new().leaks(true).check(program);
}

/// The queue of Michael and Scott, as far as taking from it goes: the first node is a dummy.
#[test]
fn a_queue_that_frees_under_another() {
    let program = || {
        let last = Raw::new(Node { next: AtomicPtr::default() });
        let first = Raw::new(Node { next: AtomicPtr::new(last.0) });
        let head = Arc::new(AtomicPtr::new(first.0));
        let take = |head: &AtomicPtr<Node>| {
            let dummy = head.load(SeqCst);
            let next = Raw(dummy).get().next.load(SeqCst);
            if !next.is_null() && head.compare_exchange(dummy, next, SeqCst, SeqCst).is_ok() {
                Raw(dummy).free();
            }
        };
        let other = Arc::clone(&head);
        let thread = thread::spawn(move || take(&other));
        take(&head);
        thread.join().unwrap();
    };
    assert_eq!(kinds(program), [ViolationKind::UseAfterFree]);
}

/// A node that comes back to the head of a stack while another thread is about to take it off: what was below
/// it is gone. With nodes that are never freed, but used again by hand, that shows too.
#[test]
fn a_stack_whose_node_comes_back() {
    let program = || {
        let below = Raw::new(Node { next: AtomicPtr::default() });
        let top = Raw::new(Node { next: AtomicPtr::new(below.0) });
        let head = Arc::new(AtomicPtr::new(top.0));
        let other = Arc::clone(&head);
        let thread = thread::spawn(move || {
            // Takes both off, and puts the first one back.
            if other.compare_exchange(top.0, below.0, SeqCst, SeqCst).is_ok()
                && other.compare_exchange(below.0, ptr::null_mut(), SeqCst, SeqCst).is_ok()
            {
                below.free();
                top.get().next.store(ptr::null_mut(), SeqCst);
                other.store(top.0, SeqCst);
            }
        });
        let next = top.get().next.load(SeqCst);
        if head.compare_exchange(top.0, next, SeqCst, SeqCst).is_ok() && !next.is_null() {
            Raw(next).get().next.load(SeqCst);
        }
        thread.join().unwrap();
    };
    assert_eq!(kinds(program), [ViolationKind::UseAfterFree]);
}
