//! The same text with the types of `std` and with those of this crate: what users call exists, has the
//! same types, and has the same results.

macro_rules! same_text {
    ($library:ident) => {
        mod $library {
            use ::std::collections::HashMap;
            use ::std::time::Duration;

            use ::$library::cell::{Cell, UnsafeCell};
            use ::$library::hint;
            use ::$library::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
            use ::$library::sync::atomic::{
                AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr,
                AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence,
            };
            use ::$library::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
            use ::$library::sync::{
                Arc, Barrier, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, PoisonError,
                RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, Weak,
            };
            use ::$library::thread;

            static COUNT: AtomicUsize = AtomicUsize::new(0);
            static NAMES: Mutex<Vec<u32>> = Mutex::new(Vec::new());
            static TABLE: LazyLock<u32> = LazyLock::new(|| 7);
            static SET: OnceLock<u32> = OnceLock::new();
            static ONCE: Once = Once::new();
            static LOCK: RwLock<u32> = RwLock::new(1);
            static GATE: Condvar = Condvar::new();
            static MEET: Barrier = Barrier::new(1);

            fn atomics() {
                macro_rules! integer {
                    // A function each: one for all of them takes the compiler long.
                    ($atomic:ident, $integer:ty) => {{
                        fn part() {
                        let mut x = $atomic::new(5);
                        assert_eq!(x.swap(6, AcqRel), 5);
                        assert_eq!(x.fetch_add(1, SeqCst), 6);
                        assert_eq!(x.fetch_sub(2, SeqCst), 7);
                        assert_eq!(x.fetch_and(4, SeqCst), 5);
                        assert_eq!(x.fetch_or(3, SeqCst), 4);
                        assert_eq!(x.fetch_xor(1, SeqCst), 7);
                        assert_eq!(x.fetch_max(9, SeqCst), 6);
                        assert_eq!(x.fetch_min(2, SeqCst), 9);
                        assert_eq!(x.fetch_nand(2, SeqCst), 2);
                        assert_eq!(x.load(Acquire), !2);
                        x.store(1, Release);
                        assert_eq!(x.compare_exchange(1, 2, SeqCst, Relaxed), Ok(1));
                        assert_eq!(x.compare_exchange(1, 2, SeqCst, Relaxed), Err(2));
                        assert_eq!(x.compare_exchange_weak(2, 3, AcqRel, Acquire), Ok(2));
                        assert_eq!(x.fetch_update(SeqCst, SeqCst, |v| v.checked_add(1)), Ok(3));
                        assert_eq!(x.fetch_update(SeqCst, SeqCst, |_| None), Err(4));
                        *x.get_mut() = 9;
                        let _: *mut $integer = x.as_ptr();
                        assert_eq!(format!("{x:?}"), "9");
                        assert_eq!(x.into_inner(), 9);
                        assert_eq!($atomic::default().into_inner(), 0);
                        assert_eq!($atomic::from(3).into_inner(), 3);
                        }
                        part();
                    }};
                }
                integer!(AtomicI8, i8);
                integer!(AtomicI16, i16);
                integer!(AtomicI32, i32);
                integer!(AtomicI64, i64);
                integer!(AtomicIsize, isize);
                integer!(AtomicU8, u8);
                integer!(AtomicU16, u16);
                integer!(AtomicU32, u32);
                integer!(AtomicU64, u64);
                integer!(AtomicUsize, usize);
                let mut x = AtomicBool::new(false);
                assert!(!x.fetch_or(true, SeqCst));
                assert!(x.fetch_and(true, SeqCst));
                assert!(x.fetch_xor(true, SeqCst));
                assert!(!x.fetch_nand(true, SeqCst));
                assert!(x.fetch_not(SeqCst));
                assert_eq!(x.compare_exchange_weak(false, true, SeqCst, SeqCst), Ok(false));
                assert_eq!(x.fetch_update(SeqCst, SeqCst, |v| Some(!v)), Ok(true));
                *x.get_mut() = true;
                let _: *mut bool = x.as_ptr();
                assert!(x.into_inner());
                let _ = (AtomicBool::default(), AtomicBool::from(true));
                let (mut a, mut b) = (1, 2);
                let mut p = AtomicPtr::new(&raw mut a);
                assert_eq!(p.swap(&raw mut b, SeqCst), &raw mut a);
                assert_eq!(p.load(SeqCst), &raw mut b);
                p.store(&raw mut a, SeqCst);
                assert!(p.compare_exchange(&raw mut a, &raw mut b, SeqCst, SeqCst).is_ok());
                assert!(p.compare_exchange_weak(&raw mut a, &raw mut b, SeqCst, SeqCst).is_err());
                assert!(p.fetch_update(SeqCst, SeqCst, |_| None).is_err());
                *p.get_mut() = ::std::ptr::null_mut();
                let _: *mut *mut i32 = p.as_ptr();
                assert!(p.into_inner().is_null());
                let _ = (AtomicPtr::<u8>::default(), AtomicPtr::from(&raw mut a));
                let p = AtomicPtr::new(&raw mut a);
                assert_eq!(format!("{p:?} {p:p}"), format!("{0:?} {0:?}", &raw mut a));
                const FOUR: u32 = AtomicU32::new(4).into_inner();
                assert_eq!(FOUR, 4);
                fence(SeqCst);
                compiler_fence(SeqCst);
                hint::spin_loop();
            }

            fn locks() {
                let mut m = Mutex::new(1);
                *m.lock().unwrap() += 1;
                *m.try_lock().unwrap() += 1;
                {
                    let guard = m.lock().unwrap();
                    assert!(matches!(m.try_lock(), Err(TryLockError::WouldBlock)));
                    assert_eq!((format!("{guard:?}"), format!("{guard}")), ("3".into(), "3".into()));
                }
                assert!(!m.is_poisoned());
                m.clear_poison();
                *m.get_mut().unwrap() = 8;
                assert_eq!(format!("{m:?}"), "Mutex { data: 8, poisoned: false, .. }");
                let held = m.lock().unwrap();
                assert!(format!("{m:?}").contains("<locked>"));
                drop(held);
                assert_eq!(m.into_inner().unwrap(), 8);
                let _ = (Mutex::<u32>::default(), Mutex::from(2));
                let unsized_one: Box<Mutex<[u32]>> = Box::new(Mutex::new([1, 2]));
                assert_eq!(unsized_one.lock().unwrap().len(), 2);

                let mut rw = RwLock::new(String::from("a"));
                {
                    let (first, second) = (rw.read().unwrap(), rw.try_read().unwrap());
                    assert_eq!(*first, *second);
                    assert!(matches!(rw.try_write(), Err(TryLockError::WouldBlock)));
                    assert_eq!(format!("{first:?} {first}"), "\"a\" a");
                }
                rw.write().unwrap().push('b');
                rw.try_write().unwrap().push('c');
                assert!(!rw.is_poisoned());
                rw.clear_poison();
                rw.get_mut().unwrap().push('d');
                assert_eq!(format!("{rw:?}"), "RwLock { data: \"abcd\", poisoned: false, .. }");
                assert_eq!(rw.into_inner().unwrap_or_else(PoisonError::into_inner), "abcd");
                let _ = (RwLock::<u32>::default(), RwLock::from(2));

                let pair = (Mutex::new(0), Condvar::default());
                let guard = pair.1.wait_while(pair.0.lock().unwrap(), |n| *n != 0).unwrap();
                let (guard, timeout) = pair.1.wait_timeout(guard, Duration::ZERO).unwrap();
                assert!(timeout.timed_out());
                let (guard, timeout) =
                    pair.1.wait_timeout_while(guard, Duration::ZERO, |n| *n == 0).unwrap();
                assert!(timeout.timed_out() && *guard == 0);
                drop(guard);
                pair.1.notify_one();
                pair.1.notify_all();
                assert!(format!("{:?}", pair.1).starts_with("Condvar"));
                assert!(Barrier::new(1).wait().is_leader());
            }

            fn once() {
                let once = Once::new();
                once.call_once(|| ());
                once.call_once_force(|state| assert!(!state.is_poisoned()));
                once.wait();
                assert!(once.is_completed());
                let mut cell = OnceLock::new();
                assert_eq!(cell.get(), None);
                assert_eq!(*cell.get_or_init(|| 1), 1);
                assert_eq!(cell.set(2), Err(2));
                assert_eq!(*cell.wait(), 1);
                *cell.get_mut().unwrap() += 1;
                assert_eq!(cell.clone(), cell);
                assert_eq!(format!("{cell:?}"), "OnceLock(2)");
                assert_eq!(cell.take(), Some(2));
                assert_eq!(cell.into_inner(), None);
                let _ = (OnceLock::<u32>::default(), OnceLock::from(2));
                let lazy = LazyLock::new(|| 4);
                assert_eq!((*lazy, *LazyLock::force(&lazy)), (4, 4));
                let _: LazyLock<u32> = LazyLock::default();
                let lazy: LazyLock<u32> = LazyLock::new(|| 5);
                assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
                LazyLock::force(&lazy);
                assert_eq!(format!("{lazy:?}"), "LazyLock(5)");
                let once = Once::new();
                assert!(attempt(|| once.call_once(|| panic!("on purpose"))));
                assert!(attempt(|| once.wait()), "it is poisoned");
                once.call_once_force(|state| assert!(state.is_poisoned()));
                once.wait_force();
                let turns = ::std::cell::Cell::new(0);
                let lazy = LazyLock::new(|| {
                    turns.set(turns.get() + 1);
                    assert!(turns.get() == 2, "on purpose");
                });
                assert!(attempt(|| *lazy) && attempt(|| *lazy), "it is poisoned");
                let cell = OnceLock::new();
                assert!(attempt(|| _ = cell.get_or_init(|| panic!("on purpose"))));
                assert_eq!((*cell.get_or_init(|| 1), *cell.wait()), (1, 1), "it is not");
            }

            /// Whether it panics.
            fn attempt(f: impl FnOnce()) -> bool {
                ::std::panic::catch_unwind(::std::panic::AssertUnwindSafe(f)).is_err()
            }

            fn arcs() {
                let mut a = Arc::new(1);
                *Arc::get_mut(&mut a).unwrap() = 2;
                let mut b = Arc::clone(&a);
                assert_eq!((Arc::strong_count(&a), Arc::weak_count(&a)), (2, 0));
                assert!(Arc::ptr_eq(&a, &b) && a == b && a <= b);
                *Arc::make_mut(&mut b) += 1;
                assert_eq!((*a, *b), (2, 3));
                let weak: Weak<i32> = Arc::downgrade(&a);
                assert_eq!(weak.upgrade().as_deref(), Some(&2));
                assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
                assert!(weak.ptr_eq(&weak.clone()));
                let raw = Arc::into_raw(a);
                // SAFETY: the pointer came from `into_raw`, and the count goes up and down again.
                let a = unsafe {
                    Arc::increment_strong_count(raw);
                    Arc::decrement_strong_count(raw);
                    Arc::from_raw(raw)
                };
                assert_eq!(Arc::as_ptr(&a), raw);
                let other = Arc::clone(&a);
                assert!(Arc::try_unwrap(a).is_err());
                assert_eq!(Arc::into_inner(other), Some(2));
                assert_eq!(Arc::unwrap_or_clone(b), 3);
                assert!(weak.upgrade().is_none() && Weak::<u32>::new().upgrade().is_none());
                struct Node {
                    me: Weak<Node>,
                }
                let node = Arc::new_cyclic(|me| Node { me: me.clone() });
                assert!(Arc::ptr_eq(&node, &node.me.upgrade().unwrap()));
                let text: Arc<str> = Arc::from("text");
                let list: Arc<[u32]> = Arc::from(vec![1, 2]);
                let collected: Arc<[u32]> = (0..3).collect();
                assert_eq!((text.len(), list.len(), collected.len()), (4, 2, 3));
                let boxed: Arc<u32> = Arc::from(Box::new(3));
                assert_eq!(*boxed, 3);
                let mut map = HashMap::new();
                map.insert(Arc::new(String::from("key")), 1);
                assert_eq!(map.get(&String::from("key")), Some(&1));
                assert_eq!(format!("{boxed:?} {boxed}"), "3 3");
                let _ = (Arc::<u32>::default(), Arc::from(3), Arc::pin(3), Arc::<u32>::new(1));
            }

            fn arcs_of_other_contents() {
                use ::std::any::Any;
                use ::std::borrow::Cow;
                let weak = {
                    let mut moved = Arc::new(String::from("moved"));
                    let weak = Arc::downgrade(&moved);
                    Arc::make_mut(&mut moved).push('!');
                    assert!(weak.upgrade().is_none() && *moved == "moved!");
                    weak
                };
                assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
                let keep = Arc::new(6);
                let raw = Arc::downgrade(&keep).into_raw();
                // SAFETY: the pointer came from `into_raw`.
                let weak = unsafe { Weak::from_raw(raw) };
                assert!(weak.as_ptr() == Arc::as_ptr(&keep) && weak.upgrade().is_some());
                let text: Arc<str> = Arc::from("text");
                let raw = Arc::into_raw(text);
                // SAFETY: the pointer came from `into_raw`.
                let text = unsafe { Arc::from_raw(raw) };
                let bytes: Arc<[u8]> = Arc::from(text);
                assert_eq!(&*bytes, b"text");
                let array: Arc<[u8; 4]> = bytes.try_into().unwrap();
                assert_eq!(array[0], b't');
                let list: Arc<[u32]> = Arc::from([1, 2]);
                assert!(<Arc<[u32; 3]>>::try_from(list).is_err());
                let cow: Arc<str> = Arc::from(Cow::Borrowed("cow"));
                let path: Arc<::std::path::Path> = Arc::from(::std::path::Path::new("a"));
                let c: Arc<::std::ffi::CStr> = Arc::from(c"c");
                assert!(&*cow == "cow" && path.exists() != path.is_absolute() || c.count_bytes() == 1);
                let _ = (Arc::<str>::default(), Arc::<[u32]>::default());
                let any: Arc<dyn Any + Send + Sync> = Arc::from(Box::new(3) as Box<dyn Any + Send + Sync>);
                let any = any.downcast::<u8>().unwrap_err();
                assert_eq!(*any.downcast::<i32>().unwrap(), 3);
                let mut new = Arc::<u32>::new_uninit();
                Arc::get_mut(&mut new).unwrap().write(9);
                // SAFETY: it was written.
                assert_eq!(*unsafe { new.assume_init() }, 9);
                let mut new = Arc::<[u32]>::new_uninit_slice(2);
                Arc::get_mut(&mut new).unwrap().iter_mut().for_each(|value| _ = value.write(1));
                // SAFETY: all were written.
                assert_eq!(*unsafe { new.assume_init() }, [1, 1]);
                let error: Arc<dyn ::std::error::Error> = Arc::from(Box::from("wrong"));
                assert_eq!(error.to_string(), "wrong");
            }

            /// What can be sent, shared and caught.
            fn marks() {
                use ::std::panic::{RefUnwindSafe, UnwindSafe};
                fn shared<T: Send + Sync>() {}
                fn sent<T: Send>() {}
                fn looked_at<T: Sync>() {}
                fn caught<T: UnwindSafe + RefUnwindSafe>() {}
                shared::<(AtomicBool, AtomicPtr<u8>, AtomicI64, Arc<u8>, Weak<u8>)>();
                shared::<(Mutex<Cell<u8>>, RwLock<u8>, Condvar, Barrier, Once, OnceLock<u8>)>();
                shared::<(LazyLock<u8>, mpsc::Sender<u8>, mpsc::SyncSender<u8>, thread::Thread)>();
                shared::<(thread::JoinHandle<u8>, thread::ScopedJoinHandle<'_, u8>)>();
                shared::<(thread::ThreadId, thread::Scope<'_, '_>, thread::LocalKey<u8>)>();
                sent::<(mpsc::Receiver<u8>, Cell<u8>, UnsafeCell<u8>)>();
                looked_at::<(MutexGuard<'_, u8>, RwLockReadGuard<'_, u8>)>();
                looked_at::<RwLockWriteGuard<'_, u8>>();
                caught::<(AtomicBool, AtomicPtr<u8>, Mutex<&mut u8>, RwLock<&mut u8>, Arc<u8>)>();
                caught::<(Condvar, Barrier, Once, OnceLock<u8>, LazyLock<u8>, Weak<u8>)>();
                caught::<(mpsc::Sender<u8>, mpsc::SyncSender<u8>, mpsc::Receiver<u8>)>();
                caught::<(MutexGuard<'_, u8>, RwLockReadGuard<'_, u8>, RwLockWriteGuard<'_, u8>)>();
                caught::<thread::Thread>();
            }

            fn channels() {
                let (sender, receiver) = mpsc::channel();
                assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
                let late = receiver.recv_timeout(Duration::ZERO);
                assert_eq!(late, Err(RecvTimeoutError::Timeout));
                let second = sender.clone();
                sender.send(1).unwrap();
                second.send(2).unwrap();
                assert_eq!(receiver.recv(), Ok(1));
                assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2]);
                sender.send(3).unwrap();
                drop((sender, second));
                assert_eq!(receiver.iter().collect::<Vec<_>>(), [3]);
                assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
                assert!(receiver.recv().is_err());
                let (sender, receiver) = mpsc::channel();
                sender.send(1).unwrap();
                drop(sender);
                assert_eq!(receiver.into_iter().collect::<Vec<u32>>(), [1]);
                let (sender, receiver) = mpsc::channel();
                drop(receiver);
                assert_eq!(sender.send(7).unwrap_err().0, 7);
                let (sender, receiver) = mpsc::sync_channel(1);
                sender.try_send(1).unwrap();
                assert!(matches!(sender.try_send(2), Err(TrySendError::Full(2))));
                assert_eq!((&receiver).into_iter().next(), Some(1));
                drop(receiver);
                assert!(matches!(sender.clone().try_send(2), Err(TrySendError::Disconnected(2))));
                assert!(format!("{sender:?}").starts_with("SyncSender"));
                let (sender, receiver) = mpsc::sync_channel(0);
                let thread = thread::spawn(move || sender.send(5));
                assert_eq!(receiver.recv(), Ok(5));
                thread.join().unwrap().unwrap();
            }

            ::$library::thread_local! {
                static LOCAL: Cell<u32> = Cell::new(1);
                static TEXT: ::std::cell::RefCell<String> = const { ::std::cell::RefCell::new(String::new()) };
                static SET_FIRST: Cell<u32> = unreachable!("it is set before it is used");
            }

            fn threads() {
                let builder = thread::Builder::new().name("named".into()).stack_size(1 << 16);
                let handle = builder.spawn(|| thread::current().name().map(str::to_owned)).unwrap();
                assert_eq!(handle.thread().name(), Some("named"));
                let _ = (handle.thread().id(), handle.is_finished());
                assert_eq!(handle.join().unwrap().as_deref(), Some("named"));
                thread::current().unpark();
                thread::park();
                thread::park_timeout(Duration::ZERO);
                thread::sleep(Duration::ZERO);
                thread::yield_now();
                assert!(!thread::panicking());
                assert!(thread::available_parallelism().is_ok());
                let mut numbers = [1, 2];
                let sum = thread::scope(|scope| {
                    let first = scope.spawn(|| numbers[0]);
                    let second = thread::Builder::new().spawn_scoped(scope, || numbers[1]).unwrap();
                    let _ = (first.is_finished(), first.thread().id());
                    first.join().unwrap() + second.join().unwrap()
                });
                numbers[0] = sum;
                assert_eq!(numbers, [3, 2]);
                LOCAL.with(|local| local.set(local.get() + 1));
                assert_eq!(LOCAL.try_with(Cell::get).ok(), Some(2));
                LOCAL.set(LOCAL.get() + 1);
                assert_eq!((LOCAL.replace(5), LOCAL.take()), (3, 5));
                SET_FIRST.set(7);
                assert_eq!(SET_FIRST.get(), 7);
                // SAFETY: it borrows nothing.
                let thread = unsafe { thread::Builder::new().spawn_unchecked(|| 1) };
                assert_eq!(thread.unwrap().join().unwrap(), 1);
                TEXT.set(String::from("a"));
                TEXT.with_borrow_mut(|text| text.push('b'));
                assert_eq!(TEXT.with_borrow(String::len), 2);
                assert_eq!(TEXT.replace(String::from("c")), "ab");
                assert_eq!(TEXT.take(), "c");
            }

            fn statics() {
                assert_eq!(COUNT.fetch_add(1, SeqCst), 0);
                NAMES.lock().unwrap().push(1);
                assert_eq!(*NAMES.lock().unwrap(), [1]);
                assert_eq!((*TABLE, *SET.get_or_init(|| 3)), (7, 3));
                ONCE.call_once(|| ());
                *LOCK.write().unwrap() += 1;
                assert_eq!(*LOCK.read().unwrap(), 2);
                GATE.notify_all();
                assert!(MEET.wait().is_leader());
            }

            fn cells() {
                let cell = UnsafeCell::new(1);
                assert_eq!(cell.into_inner(), 1);
                let mut cell = Cell::new(1);
                cell.set(2);
                assert_eq!((cell.get(), cell.replace(3), cell.take()), (2, 2, 3));
                *cell.get_mut() = 4;
                cell.update(|value| value + 1);
                assert!(cell == cell.clone() && cell <= Cell::new(6));
                assert_eq!(format!("{cell:?}"), "Cell { value: 5 }");
                assert_eq!(cell.into_inner(), 5);
            }

            pub(crate) const PARTS: &[fn()] =
                &[atomics, locks, once, arcs, arcs_of_other_contents, marks, channels, threads, statics, cells];
        }
    };
}

same_text!(std);
same_text!(selvedge);

#[test]
fn with_std() {
    self::std::PARTS.iter().for_each(|part| part());
}

#[test]
fn with_selvedge() {
    // As `std` does on x86-64, where nothing fails spuriously.
    let builder = ::selvedge::Builder::new().spurious(0);
    self::selvedge::PARTS.iter().for_each(|part| builder.check(part));
}
