//! Pointers as code with mistakes uses them.

use std::hint::black_box;
use std::ptr;

use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicPtr;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::thread;

/// A pointer that threads share, as code with mistakes does.
pub struct Raw<T>(pub *mut T);

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Raw<T> {}

// SAFETY: where it is wrong, the checks must say so.
unsafe impl<T> Send for Raw<T> {}

impl<T> Raw<T> {
    pub fn new(value: T) -> Self {
        // The compiler must not see that nothing else uses it.
        Self(black_box(Box::into_raw(Box::new(value))))
    }

    pub fn get(&self) -> &T {
        // SAFETY: as above.
        unsafe { &*self.0 }
    }

    pub fn set(self, value: T) {
        // SAFETY: as above.
        unsafe { self.0.write_volatile(value) };
    }

    pub fn free(self) {
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.0) });
        // The free is not the last thing that is done here: a compiler would jump to it, and this frame would be gone.
        black_box(());
    }
}

/// A stack of boxes that are freed. While one thread takes the first off, another takes all of them, and pushes a
/// new one.
pub fn takes_from_a_stack() {
    struct Node {
        value: u32,
        next: *mut Node,
    }
    fn boxed(value: u32, next: *mut Node) -> *mut Node {
        Box::into_raw(Box::new(Node { value, next }))
    }
    let head = Arc::new(AtomicPtr::new(boxed(1, boxed(2, ptr::null_mut()))));
    let other = Arc::clone(&head);
    let changer = thread::spawn(move || {
        let mut taken = Vec::new();
        let mut at = other.swap(ptr::null_mut(), SeqCst);
        while !at.is_null() {
            // SAFETY: this thread took it off.
            let node = unsafe { Box::from_raw(at) };
            taken.push(node.value);
            at = node.next;
        }
        other.store(boxed(3, ptr::null_mut()), SeqCst);
        taken
    });
    let first = head.load(SeqCst);
    let mut mine = None;
    if !first.is_null() {
        // SAFETY: at the time of the load it is there.
        let (value, next) = unsafe { ((*first).value, (*first).next) };
        mine = head.compare_exchange(first, next, SeqCst, SeqCst).ok().map(|_| value);
    }
    let taken = changer.join().unwrap();
    assert!(!mine.is_some_and(|mine| taken.contains(&mine)), "two took the same");
}
