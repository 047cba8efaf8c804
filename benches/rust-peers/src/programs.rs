//! The programs, once for each library: the same text with other types.

/// One program: its name, its parameter, and how to run it once.
pub type Body = fn(usize);

macro_rules! programs {
    ($library:ident) => {
        pub mod $library {
            use std::sync::Arc;

            use $library::sync::atomic::Ordering::SeqCst;
            use $library::sync::atomic::{AtomicPtr, AtomicUsize};
            use $library::sync::mpsc::channel;
            use $library::sync::{Condvar, Mutex, RwLock};
            use $library::thread;

            pub fn stores(n: usize) {
                let x = Arc::new(AtomicUsize::new(0));
                let threads: Vec<_> = (1..n)
                    .map(|i| {
                        let x = Arc::clone(&x);
                        thread::spawn(move || x.store(i, SeqCst))
                    })
                    .collect();
                x.store(n, SeqCst);
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            pub fn readers(n: usize) {
                let x = Arc::new(AtomicUsize::new(0));
                let threads: Vec<_> = (0..n)
                    .map(|_| {
                        let x = Arc::clone(&x);
                        thread::spawn(move || {
                            x.load(SeqCst);
                        })
                    })
                    .collect();
                x.store(1, SeqCst);
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            pub fn lastzero(n: usize) {
                let array: Arc<Vec<AtomicUsize>> =
                    Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
                let threads: Vec<_> = (1..=n)
                    .map(|i| {
                        let array = Arc::clone(&array);
                        thread::spawn(move || {
                            let before = array[i - 1].load(SeqCst);
                            array[i].store(before + 1, SeqCst);
                        })
                    })
                    .collect();
                let mut i = n;
                while array[i].load(SeqCst) != 0 {
                    i -= 1;
                }
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            pub fn mutex_counter(n: usize) {
                let count = Arc::new(Mutex::new(0));
                let threads: Vec<_> = (1..n)
                    .map(|_| {
                        let count = Arc::clone(&count);
                        thread::spawn(move || *count.lock().unwrap() += 1)
                    })
                    .collect();
                *count.lock().unwrap() += 1;
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            pub fn rounds(n: usize) {
                let x = Arc::new(AtomicUsize::new(0));
                let y = Arc::clone(&x);
                let round = move |x: &AtomicUsize, me: usize| {
                    for i in 0..n {
                        x.store(me * 100 + i, SeqCst);
                        x.load(SeqCst);
                    }
                };
                let other = thread::spawn(move || round(&y, 1));
                round(&x, 2);
                other.join().unwrap();
            }

            pub fn fetch_add(n: usize) {
                let x = Arc::new(AtomicUsize::new(0));
                let threads: Vec<_> = (1..n)
                    .map(|_| {
                        let x = Arc::clone(&x);
                        thread::spawn(move || {
                            x.fetch_add(1, SeqCst);
                        })
                    })
                    .collect();
                x.fetch_add(1, SeqCst);
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            pub fn producers(n: usize) {
                let (sender, receiver) = channel();
                let threads: Vec<_> = (0..2)
                    .map(|i| {
                        let sender = sender.clone();
                        thread::spawn(move || {
                            for message in 0..n {
                                sender.send(i * 100 + message).unwrap();
                            }
                        })
                    })
                    .collect();
                for _ in 0..2 * n {
                    receiver.recv().unwrap();
                }
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            struct Node {
                value: usize,
                next: *mut Node,
            }

            struct Treiber {
                head: AtomicPtr<Node>,
            }

            // Nodes are reached through an atomic, and never freed.
            unsafe impl Send for Treiber {}
            unsafe impl Sync for Treiber {}

            impl Treiber {
                fn push(&self, value: usize) {
                    let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
                    let mut head = self.head.load(SeqCst);
                    loop {
                        unsafe { (*node).next = head };
                        match self.head.compare_exchange(head, node, SeqCst, SeqCst) {
                            Ok(_) => return,
                            Err(found) => head = found,
                        }
                    }
                }

                fn pop(&self) -> Option<usize> {
                    let mut head = self.head.load(SeqCst);
                    while !head.is_null() {
                        let next = unsafe { (*head).next };
                        match self.head.compare_exchange(head, next, SeqCst, SeqCst) {
                            Ok(_) => return Some(unsafe { (*head).value }),
                            Err(found) => head = found,
                        }
                    }
                    None
                }
            }

            pub fn treiber(n: usize) {
                let stack = Arc::new(Treiber { head: AtomicPtr::new(std::ptr::null_mut()) });
                let threads: Vec<_> = (1..n)
                    .map(|i| {
                        let stack = Arc::clone(&stack);
                        thread::spawn(move || {
                            stack.push(i);
                            stack.pop();
                        })
                    })
                    .collect();
                stack.push(n);
                stack.pop();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            pub fn ring(n: usize) {
                struct Ring {
                    slots: [AtomicUsize; 2],
                    head: AtomicUsize,
                    tail: AtomicUsize,
                }
                let ring = Arc::new(Ring {
                    slots: [AtomicUsize::new(0), AtomicUsize::new(0)],
                    head: AtomicUsize::new(0),
                    tail: AtomicUsize::new(0),
                });
                let producer = {
                    let ring = Arc::clone(&ring);
                    thread::spawn(move || {
                        for value in 1..=n {
                            let tail = ring.tail.load(SeqCst);
                            if tail - ring.head.load(SeqCst) < 2 {
                                ring.slots[tail % 2].store(value, SeqCst);
                                ring.tail.store(tail + 1, SeqCst);
                            }
                        }
                    })
                };
                for _ in 0..n {
                    let head = ring.head.load(SeqCst);
                    if head != ring.tail.load(SeqCst) {
                        ring.slots[head % 2].load(SeqCst);
                        ring.head.store(head + 1, SeqCst);
                    }
                }
                producer.join().unwrap();
            }

            pub fn buffer(n: usize) {
                struct Buffer {
                    items: RwLock<Vec<usize>>,
                    gate: Mutex<usize>,
                    changed: Condvar,
                }
                let buffer = Arc::new(Buffer {
                    items: RwLock::new(Vec::new()),
                    gate: Mutex::new(0),
                    changed: Condvar::new(),
                });
                let producer = {
                    let buffer = Arc::clone(&buffer);
                    thread::spawn(move || {
                        for item in 0..n {
                            buffer.items.write().unwrap().push(item);
                            *buffer.gate.lock().unwrap() += 1;
                            buffer.changed.notify_one();
                        }
                    })
                };
                for item in 0..n {
                    let mut ready = buffer.gate.lock().unwrap();
                    while *ready == 0 {
                        ready = buffer.changed.wait(ready).unwrap();
                    }
                    *ready -= 1;
                    drop(ready);
                    assert!(buffer.items.read().unwrap().contains(&item));
                }
                producer.join().unwrap();
            }

            pub const ALL: &[(&str, super::Body)] = &[
                ("stores", stores),
                ("readers", readers),
                ("lastzero", lastzero),
                ("mutex", mutex_counter),
                ("rounds", rounds),
                ("fetch_add", fetch_add),
                ("mpsc", producers),
                ("treiber", treiber),
                ("ring", ring),
                ("buffer", buffer),
            ];
        }
    };
}

programs!(selvedge);
programs!(loom);
programs!(shuttle);
