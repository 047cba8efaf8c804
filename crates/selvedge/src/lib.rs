//! Checks concurrent Rust code: runs one execution per equivalence class of interleavings, and
//! reports every panic, deadlock, data race, leak and misuse, or proves that there is none. A test that uses orderings weaker
//! than `SeqCst` is explored under sequential consistency first, and then with all values that its orderings allow.
//!
//! # A first test
//!
//! Add the crate to the dependencies of your tests:
//!
//! ```toml
//! [dev-dependencies]
//! selvedge = { path = "…/selvedge/crates/selvedge" }
//! ```
//!
//! Use its types in place of those of `std`, and put the code into [`check`], in an ordinary test:
//!
//! ```
//! use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! use selvedge::sync::Arc;
//! use selvedge::thread;
//!
//! // #[test]
//! fn both_are_counted() {
//!     selvedge::check(|| {
//!         let count = Arc::new(AtomicUsize::new(0));
//!         let other = {
//!             let count = Arc::clone(&count);
//!             thread::spawn(move || count.fetch_add(1, SeqCst))
//!         };
//!         count.fetch_add(1, SeqCst);
//!         other.join().unwrap();
//!         assert_eq!(count.load(SeqCst), 2);
//!     });
//! }
//! # both_are_counted();
//! ```
//!
//! The closure runs once per class of executions: two executions are in one class if swapping neighbouring
//! independent steps transforms one into the other. Here there are two classes, one for each
//! order of the additions. [`Builder::explore`] returns the numbers in place of a panic:
//!
//! ```
//! # use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! # use selvedge::{sync::Arc, thread, Builder, Verdict};
//! let outcome = Builder::new().explore(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = Arc::clone(&count);
//!     let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
//!     count.fetch_add(1, SeqCst);
//!     thread.join().unwrap();
//! });
//! assert_eq!((outcome.verdict(), outcome.executions()), (Verdict::Verified, 2));
//! ```
//!
//! Create the objects under test inside the closure, since it runs many times. Statics are reset
//! before each execution:
//!
//! ```
//! use selvedge::sync::{LazyLock, Mutex};
//!
//! static NAMES: LazyLock<Mutex<Vec<&str>>> = LazyLock::new(|| Mutex::new(vec!["first"]));
//!
//! selvedge::check(|| {
//!     let thread = selvedge::thread::spawn(|| NAMES.lock().unwrap().push("second"));
//!     NAMES.lock().unwrap().push("third");
//!     thread.join().unwrap();
//!     assert_eq!(NAMES.lock().unwrap().len(), 3);
//! });
//! ```
//!
//! A crate that uses `std` in production selects the types in one module, with a flag:
//!
//! ```
//! mod sync {
//!     #[cfg(selvedge)]
//!     pub(crate) use selvedge::sync::{Arc, Mutex};
//!     #[cfg(not(selvedge))]
//!     pub(crate) use std::sync::{Arc, Mutex};
//! }
//! ```
//!
//! Then the library itself depends on this crate, but only with the flag; run the tests with
//! `RUSTFLAGS="--cfg selvedge" cargo test --release`:
//!
//! ```toml
//! [target.'cfg(selvedge)'.dependencies]
//! selvedge = { path = "…/selvedge/crates/selvedge" }
//!
//! [lints.rust]
//! unexpected_cfgs = { level = "warn", check-cfg = ["cfg(selvedge)"] }
//! ```
//!
//! # Reading a failure
//!
//! With a load and a store in place of a read-modify-write, one of two updates can be lost:
//!
//! ```
//! # use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! # use selvedge::{sync::Arc, thread, Builder, Verdict};
//! let outcome = Builder::new().explore(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = Arc::clone(&count);
//!     let thread = thread::spawn(move || {
//!         let old = other.load(SeqCst);
//!         other.store(old + 1, SeqCst);
//!     });
//!     let old = count.load(SeqCst);
//!     count.store(old + 1, SeqCst);
//!     thread.join().unwrap();
//!     assert_eq!(count.load(SeqCst), 2, "an update was lost");
//! });
//! assert_eq!(outcome.verdict(), Verdict::Violated);
//! assert!(outcome.messages()[0].contains("an update was lost"));
//! assert_eq!(outcome.schedules(), ["0@2.1.0.1@2.0@2"]);
//! ```
//!
//! The report has the failing line, and an execution that shows the failure, with the fewest context switches
//! of its class: a column per thread, the line of each step, the values. Objects
//! are named after the line that created them.
//!
//! ```text
//! selvedge: main panicked: assertion `left == right` failed: an update was lost
//!   left: 1
//!  right: 2
//!   --> tests/count.rs:50:9
//!    |
//! 50 |         assert_eq!(count.load(SeqCst), 2, "an update was lost");
//!    |         ^
//!
//! the execution: 8 steps, 4 context switches
//!
//! step  line    main                                 thread 1
//!    1    43    spawn thread 1
//!    2    47    load AtomicUsize@count.rs:41 → 0
//!    3    44  │                                    ▸ load AtomicUsize@count.rs:41 → 0
//!    4    48  ▸ store AtomicUsize@count.rs:41 ← 1  │
//!    5    45  │                                    ▸ store AtomicUsize@count.rs:41 ← 1
//!    6    43  │                                      end
//!    7    49  ▸ join thread 1
//!    8    50    load AtomicUsize@count.rs:41 → 1
//!             ✗ main panicked: assertion `left == right` failed: an update was lost left: 1 right: 2
//!
//! to see it again: SELVEDGE_REPLAY=count.rs:40/0@2.1.0.1@2.0@2 cargo test an_update
//! or in code:      selvedge::Builder::new().replay("0@2.1.0.1@2.0@2").check(…)
//! ```
//!
//! Step 3 is the mistake: the other thread reads before step 4 has written. The last lines say how to
//! replay it, for example under a debugger: with an environment variable that names the check and
//! the schedule, or with a line of code. Where columns are narrow, names of objects have no file
//! (`AtomicUsize@41`). A pointer is shown as the thread that owns the memory, and an offset: `main+0x40` is
//! on the heap of `main`.
//!
//! ```should_panic
//! # use selvedge::sync::Mutex;
//! // The schedule: thread 0, twice.
//! selvedge::Builder::new().replay("0@2").check(|| {
//!     let lock = Mutex::new(0);
//!     let _once = lock.lock().unwrap();
//!     let _again = lock.lock().unwrap();
//! });
//! ```
//!
//! A panic in any thread is a failure, also if it is not joined. So are a deadlock, with what each thread waits
//! for and the thread that holds it; a data race on a [`cell`], with both accesses; a leak of an [`sync::Arc`], of
//! [memory](alloc) or of a lock's guard, with the place where it was made; and misuse, such as taking a
//! mutex twice. A panic that is intended can be a result instead:
//!
//! ```
//! use selvedge::{Builder, thread};
//!
//! Builder::new().panics_are_results(true).check(|| {
//!     let result = thread::spawn(|| panic!("on purpose")).join();
//!     assert!(result.is_err());
//! });
//! ```
//!
//! # Memory that is freed
//!
//! An operation on an atomic, a cell or a lock whose memory was freed is a failure, and so are a second
//! free of the same memory, and a free of an address that is not a block or with another layout than that of its allocation.
//! If an access can come after a free, that order is explored. The report shows where the memory
//! was allocated, freed and used, and, where there is one, the schedule with the use first.
//!
//! ```
//! use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! use selvedge::{Builder, ViolationKind, thread};
//!
//! let outcome = Builder::new().explore(|| {
//!     let shared = Box::into_raw(Box::new(AtomicUsize::new(0)));
//!     let address = shared as usize;
//!     // SAFETY: a mistake: nothing keeps the box alive until then.
//!     let reader = thread::spawn(move || unsafe { (*(address as *mut AtomicUsize)).load(SeqCst) });
//!     drop(unsafe { Box::from_raw(shared) });
//!     reader.join().unwrap();
//! });
//! assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree]);
//! ```
//!
//! Freed memory is not used again in an execution, unless [`Builder::reuse`] makes that a choice of every
//! allocation: then a compare-exchange may find an address again that belongs to something else by
//! now. [`Builder::leaks`] also reports memory that is never freed, of boxes for example.
//!
//! Plain accesses to memory are not seen at first. But a freed block must not change: a write to it, through
//! a raw pointer for example, is found at the end of the execution, or when the block is used again. And if a check passes that
//! frees memory whose address other threads have from an atomic, from their closure or from a message, a second search makes such
//! memory inaccessible, so that plain uses of it are steps, and found in every order ([`Builder::guard_freed`]):
//!
//! ```
//! # #[cfg(all(target_os = "linux", target_arch = "x86_64"))] {
//! use std::ptr;
//! use selvedge::sync::{Arc, atomic::{AtomicPtr, Ordering::SeqCst}};
//! use selvedge::{Builder, ViolationKind, thread};
//!
//! let outcome = Builder::new().explore(|| {
//!     let slot = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(7))));
//!     let other = Arc::clone(&slot);
//!     let reader = thread::spawn(move || {
//!         let number = other.load(SeqCst);
//!         // SAFETY: a mistake: it may have been freed since it was found.
//!         number.is_null() || unsafe { *number } == 7
//!     });
//!     drop(unsafe { Box::from_raw(slot.swap(ptr::null_mut(), SeqCst)) });
//!     assert!(reader.join().unwrap());
//! });
//! assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree]);
//! # }
//! ```
//!
//! # More about failures
//!
//! [`Builder::keep_going`] does not stop at the first failure, and [`Builder::report_file`] writes the
//! report to a file, too, as JSON if its name ends in `.json`, as a page for a browser if it ends in `.html`:
//!
//! ```
//! # use selvedge::{Builder, sync::{Arc, Mutex}, thread};
//! # let path = std::env::temp_dir().join(format!("selvedge-{}.json", std::process::id()));
//! let builder = Builder::new().keep_going(true).report_file(&path);
//! builder.check(|| {
//!     let lock = Arc::new(Mutex::new(0));
//!     let other = Arc::clone(&lock);
//!     let thread = thread::spawn(move || *other.lock().unwrap() += 1);
//!     *lock.lock().unwrap() += 1;
//!     thread.join().unwrap();
//! });
//! assert!(std::fs::read_to_string(&path).unwrap().contains(r#""verdict": "verified""#));
//! # std::fs::remove_file(&path).unwrap();
//! ```
//!
//! Environment variables:
//!
//! | variable | effect |
//! |---|---|
//! | `SELVEDGE_REPLAY` | the execution that a report gave is run again, and no other; see above |
//! | `SELVEDGE_MEMORY=rc11` | checks without [`Builder::memory`] explore all executions that this memory model allows |
//! | `SELVEDGE_GUARD_FREED=1` | freed memory is inaccessible in every check, as with [`Builder::guard_freed`]; `0`: in none |
//! | `SELVEDGE_SEQUENTIALLY_CONSISTENT=1` | no check is explored a second time under RC11, as with [`Builder::sequentially_consistent`] |
//! | `SELVEDGE_JOBS=4` | each check without [`Builder::jobs`] explores with 4 processes |
//! | `SELVEDGE_CHECKPOINT=folder` | each check without [`Builder::checkpoint`] saves its search in a file of this folder, and continues it when it is run again |
//! | `SELVEDGE_QUIET=1` | a check that passes does not say that it used orderings weaker than `SeqCst`; see [`Builder::quiet`] |
//! | `SELVEDGE_FULL=1` | long executions are shown in full |
//! | `SELVEDGE_ANNOTATIONS=github` | a check that fails marks its lines in GitHub Actions |
//! | `SELVEDGE_HTML=folder` | a check that fails also writes a page for a browser to this folder, and its message names it |
//! | `SELVEDGE_STATISTICS=1` | a line for each check: verdict, executions, time (`cargo test -- --nocapture`), as [`Builder::statistics`] prints it |
//! | `SELVEDGE_PROGRESS=1` | a long check reports its progress after 1 second, and then less and less often; 10 without the variable, 0 for never |
//! | `RUST_BACKTRACE=1` | a panic in checked code is shown with the calls that led to it |
//!
//! # Crashes
//!
//! Code that crashes, aborts or ends the process fails its test, and the schedule is shown. On Linux and macOS, on x86-64 and
//! AArch64, a crash is a violation like a panic (tested on Linux on x86-64): it is shortened and replayed, and the other tests of the binary continue.
//!
//! ```
//! # #[cfg(all(target_os = "linux", target_arch = "x86_64"))] {
//! # use selvedge::{Builder, ViolationKind, sync::{Arc, atomic::{AtomicBool, Ordering::SeqCst}}, thread};
//! let outcome = Builder::new().explore(|| {
//!     let closed = Arc::new(AtomicBool::new(false));
//!     let other = Arc::clone(&closed);
//!     thread::spawn(move || other.store(true, SeqCst));
//!     if closed.load(SeqCst) {
//!         std::process::abort();
//!     }
//! });
//! assert_eq!(outcome.kinds(), [ViolationKind::Crash]);
//! assert_eq!(outcome.messages(), ["main aborts the process (SIGABRT)"]);
//! # }
//! ```
//!
//! Code that computes without reaching an operation is abandoned after [`Builder::max_time`], or after a minute
//! ([`Builder::max_step_time`]): the verdict is inconclusive, with the thread, its last operation and the schedule. It is not a
//! violation, since slow code on a busy machine cannot be distinguished from an endless loop.
//!
//! # Choosing bounds
//!
//! Without a bound the verdict is a proof. With too many classes, bound the search. Reaching a bound that the test
//! sets does not fail the test, but the verdict is [`Verdict::Inconclusive`]:
//!
//! ```
//! # use selvedge::{Builder, Verdict, sync::{Arc, Mutex}, thread};
//! # fn many() {
//! #     let lock = Arc::new(Mutex::new(0));
//! #     let threads = [1, 2, 3].map(|i| {
//! #         let lock = Arc::clone(&lock);
//! #         thread::spawn(move || *lock.lock().unwrap() += i)
//! #     });
//! #     threads.into_iter().for_each(|thread| thread.join().unwrap());
//! # }
//! use std::time::Duration;
//!
//! let bounded = Builder::new()
//!     .preemptions(2)                         // switches away from a thread that could go on
//!     .max_executions(5)
//!     .max_steps(1_000)                       // in one execution
//!     .max_time(Duration::from_secs(10));
//! bounded.check(many);
//! assert_eq!(bounded.explore(many).verdict(), Verdict::Inconclusive);
//! assert_eq!(Builder::new().explore(many).executions(), 6);
//! ```
//!
//! Few preemptions find most bugs. Better still are smaller tests: two threads with two
//! operations each, and a proof. For code that is too large, [`check_random`] samples;
//! [`Builder::sample`] also takes the seed.
//!
//! Other [algorithms](Algorithm) have other equivalences: [`Algorithm::DataCentric`] distinguishes only what
//! reads observe, so it has fewer executions. It does not detect data races, so their check must be
//! turned off:
//!
//! ```
//! # use selvedge::{Algorithm, Builder, sync::{Arc, atomic::{AtomicUsize, Ordering::SeqCst}}, thread};
//! let writes = || {
//!     let x = Arc::new(AtomicUsize::new(0));
//!     let threads = [1, 2, 3].map(|i| {
//!         let x = Arc::clone(&x);
//!         thread::spawn(move || x.store(i, SeqCst))
//!     });
//!     threads.into_iter().for_each(|thread| thread.join().unwrap());
//! };
//! assert_eq!(Builder::new().explore(writes).executions(), 6);
//! let observing = Builder::new().algorithm(Algorithm::DataCentric).data_races(false);
//! assert_eq!(observing.explore(writes).executions(), 1);
//! ```
//!
//! # Coming from loom
//!
//! The crate in `crates/selvedge-loom` is named `loom` and has loom's paths: give the dependency
//! its path, or cargo a patch entry, and existing tests run unchanged, `LOOM_*` variables included
//! (`docs/loom.md` says how, with results for the tests of ten crates and for loom's own). To go
//! further, replace `loom` by `selvedge`:
//!
//! ```
//! // Was loom::model(…).
//! selvedge::check(|| {
//!     use selvedge::sync::{Arc, Condvar, Mutex};
//!
//!     let pair = Arc::new((Mutex::new(false), Condvar::new()));
//!     let other = Arc::clone(&pair);
//!     let thread = selvedge::thread::spawn(move || {
//!         *other.0.lock().unwrap() = true;
//!         other.1.notify_one();
//!     });
//!     drop(pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap());
//!     thread.join().unwrap();
//! });
//! ```
//!
//! | loom | here |
//! |---|---|
//! | misses executions, and repeats others | each class once |
//! | `SeqCst` is taken for acquire and release: false alarms | exact |
//! | weaker orderings: some weak behaviours | data races follow them; a load returns the last store first, and in a second search every value that they allow: [`Builder::memory`] |
//! | at most 5 threads and 1,000 branches | no limit |
//! | no `const fn new`, `Weak`, `scope`, `OnceLock`, `sync_channel` … | all there |
//! | a lock is never poisoned | it is, as in `std` |
//! | `LOOM_CHECKPOINT_FILE` and `LOOM_LOG` to replay a failure | the report contains the execution and the command that replays it |
//!
//! # Coming from shuttle
//!
//! Replace `shuttle` by `selvedge` in paths; then:
//!
//! | shuttle | here |
//! |---|---|
//! | `check_dfs(f, None)` | [`check`]`(f)`: one execution per class in place of one per interleaving |
//! | `check_dfs(f, Some(n))` | [`Builder::max_executions`]`(n)` |
//! | `check_random(f, n)` | [`check_random`]`(f, n)` |
//! | `check_random_with_seed(f, seed, n)` | [`Builder::sample`]`(n, seed)` |
//! | `check_pct(f, n, depth)` | [`Builder::preemptions`]`(depth)`: no sample, but one execution of each class that it comes to with so few preemptions |
//! | `replay(f, schedule)` | [`replay`]`(f, schedule)`; schedules have another form |
//! | `Config::stack_size`, `max_steps` | [`Builder::stack_size`], [`Builder::max_steps`] |
//! | `future::{block_on, spawn}` | [`future::block_on`], [`future::spawn`]: a task is a thread |
//! | `rand` | none: a check must be deterministic |
//!
//! Accesses to [`cell`]s are steps here, and data races on them are found; so are leaks.
//!
//! ```
//! // Was shuttle::check_random(…, 100).
//! selvedge::check_random(
//!     || {
//!         let (sender, receiver) = selvedge::sync::mpsc::channel();
//!         let thread = selvedge::thread::spawn(move || sender.send(1).unwrap());
//!         assert_eq!(receiver.recv(), Ok(1));
//!         thread.join().unwrap();
//!     },
//!     100,
//! );
//! ```
//!
//! # Spin loops
//!
//! A loop that waits for another thread contains [`hint::spin_loop`], [`thread::yield_now`] or a wait with a timeout. A *turn*
//! of the loop, one iteration, ends there. The rule:
//!
//! 1. A thread whose turn accessed the same objects as the turn before, in the same versions, and whose code is in a
//!    state that it was in before, **waits** until one of these objects changes. If none does, that is a deadlock.
//! 2. A thread that leaves its loop, or changes something, although no object that it reads changes, **gives up**.
//!    Its turns are steps like all others, and every number of them is explored.
//! 3. To decide which it is, the loop is followed for [`Builder::spin_turns`] turns, by default 100. A loop that **counts
//!    its turns** reaches a new state in each, and may give up at any later one. It is treated as waiting, and the verdict is
//!    inconclusive and names the place and the bound.
//!
//! The state is what lies on the stack of the thread and in the heap, byte for byte. A counter that is never read counts, too,
//! unless the compiler removes it; so does a value that is left on the stack. If two equivalent states are not recognised as
//! such, that costs executions, or a proof, but hides nothing. What a loop counts in a static of another type than this
//! crate's, or in something that the closure captured, is not seen.
//!
//! ```
//! # use selvedge::{Builder, Verdict, hint, sync::{Arc, atomic::{AtomicBool, Ordering::SeqCst}}, thread};
//! fn look_at_most(times: u32) -> Verdict {
//!     Builder::new().explore(move || {
//!         let flag = Arc::new(AtomicBool::new(false));
//!         let other = Arc::clone(&flag);
//!         let setter = thread::spawn(move || other.store(true, SeqCst));
//!         for _ in 0..times {
//!             if flag.load(SeqCst) {
//!                 break;
//!             }
//!             hint::spin_loop();
//!         }
//!         setter.join().unwrap();
//!     }).verdict()
//! }
//! assert_eq!(look_at_most(10), Verdict::Verified);
//! assert_eq!(look_at_most(200), Verdict::Inconclusive); // `Builder::spin_turns(200)` follows it to the end.
//! ```
//!
//! # Limits
//!
//! * Loads see the last store, as with sequential consistency; older values, which weaker orderings allow, are explored
//!   in a second search of a check that passes and has used such orderings. It does not support
//!   every operation yet: a test that uses one of the others is inconclusive. [`Builder::memory`] explores everything under
//!   a memory model at once; [`Builder::sequentially_consistent`] turns the second search off, which the report and its
//!   JSON (`facts.memory`) say. Data races follow the orderings in any case, with fences and release sequences as in C++20: a flag that
//!   is stored with `Relaxed` orders nothing. See [`Outcome::uses_weak_orderings`].
//! * The closure must be deterministic: no clocks, no random numbers, no iteration over a `HashMap` of `std`, no threads of `std`. If it
//!   comes to another operation after the same steps, or an atomic has another value, the report says where; the first
//!   execution runs twice for that. Other values of ordinary data are noticed where they lead to another operation.
//! * Code that blocks in `std` blocks the whole check: all checked threads run on one system thread,
//!   so a lock of `std` that another of them holds is never released. A test that hangs says so
//!   on the terminal after ten seconds, and [`Builder::max_time`] ends it. A lock, channel or atomic of `std`
//!   on which no thread waits is not seen: no other order of its uses is explored.
//! * A thread of `std` that checked code spawns is not part of the check and not scheduled by it. Types of this
//!   crate panic there, and the check is inconclusive and says so, if that happens before its end. A thread that
//!   uses nothing of this crate is not noticed, unless it ends the process.
//! * Waits, `park` and `compare_exchange_weak` end spuriously at most once for each thread and place
//!   ([`Builder::spurious`]), and not where the code rechecks and changes nothing: what such a loop would see if
//!   it woke while others change what it reads, before they notify it, is explored only with
//!   [`Builder::spurious_everywhere`]. The report says if something was left out.
//! * Both outcomes of a timeout are explored. A loop that times out repeatedly is a spin loop: it
//!   continues when something that it read has changed.
//! * A spin loop waits until something it read has changed; one that counts its turns is followed up to a bound
//!   that the verdict names. [Spin loops](#spin-loops) has the rule.
//! * A compare-exchange that fails is a read, so there are fewer classes than in tools that treat
//!   it as a write: 40 in place of 62 for two threads that push and pop on a Treiber stack.
//! * [`sync::Arc`] must be this crate's if dropping the last reference does something visible. Only
//!   `std`'s can be the type of `self` (also in `impl Wake`), and is coerced to an `Arc<dyn Trait>`
//!   automatically: here that takes [`sync::Arc::from_std`]. `Arc::make_mut` needs contents of known size.
//! * [`cell::UnsafeCell`] returns guarded pointers, as loom's, not bare ones. Accesses to the other cells
//!   of [`std::cell`], or to memory without a cell around it, are not seen. Under a memory model the allocation of a block is a write
//!   of the objects in it, if another thread finds its address in an atomic: a thread that finds it with `Relaxed`, and uses an object
//!   without anything that orders its creation before, is in a data race. An object that is put into a block which was allocated before
//!   counts as created with it.
//! * Uses of freed memory are seen in every order if they are operations on types of this crate, or plain uses of a block
//!   whose address was in an atomic ([`Builder::guard_freed`] has the rule). Of other blocks, a plain read of freed memory finds what was there before, and is
//!   not seen; a plain write is seen if it changes something in the first KiB of a block of less than 1 MiB. With
//!   `guard_freed(true)` both are, in executions in which they come after the free. A use beyond the end of a block is
//!   not seen.
//! * The lines where memory was allocated and freed come from debug information. Without it, and where only code
//!   of the library is on the stack, the report has the last operation of the thread before that.
//! * [`Algorithm::Constrained`] and [`Algorithm::ContextSensitive`] compare states, and those of Rust code are not
//!   known: a check with them is inconclusive and says so. Use [`Algorithm::Optimal`].
//! * [`Algorithm::DataCentric`] detects neither data races nor premature frees. Reference
//!   counts must be seen, too: those of `std`'s `Arc` are not, so a use after one of
//!   those has freed it is found only in executions in which it comes later.
//! * The types are larger than `std`'s, so conversions from plain values in place are missing:
//!   `Atomic*::from_ptr`, `Cell::from_mut`, `Cell::as_slice_of_cells`, `UnsafeCell::raw_get`.
//! * Formatting an atomic, a cell or a lock with `{:?}` is a step, since it reads the value, as in `std`; not in
//!   the message of a panic.
//! * Beyond that, of what `std` 1.95 has stable, only what is deprecated and what belongs to files and
//!   sockets is left out. [`thread::available_parallelism`] is 2, a thread's own stack size has no
//!   effect, and no time passes: [`thread::sleep`] lets others run.
//! * An object that outlives an execution and is not a static (a `Mutex` captured by the closure) is
//!   reset only if it owns no memory. So is the content of a `LazyLock` or `OnceLock` of `std`; those of
//!   [`sync`] are created anew in every execution. Shared objects cannot lie in blocks of more than 256 MiB.
//! * A thread that has caught a panic of its own while another unwinds may still count as panicking, until
//!   the other has ended.
//! * A crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL), an abort, a second panic while a thread unwinds, and a stack overflow
//!   are violations like others on Linux and macOS, on x86-64 and AArch64: the thread is abandoned, and nothing else of that execution
//!   runs. If the crash damaged more than that (memory it wrote to, a lock of `std` or of the C library that it held), the
//!   process may still end or hang; the schedule is printed before. On other systems the process ends
//!   when the schedule is printed, and so it does where no checked thread runs, as in the destructor of a static.
//!   A handler that the code installs for one of these signals replaces this.
//! * `exit` during a check ends the process with code 101, whatever code it asked for, when the schedule is printed;
//!   there is no other report. `_exit` and signals from outside are not noticed.
//! * Code that computes for more than a minute of processor time between two operations of this crate is abandoned, and
//!   so is code that is still at the same step shortly after [`Builder::max_time`]: the verdict is inconclusive, since
//!   it is unknown whether it would have ended, and the test fails. See [`Builder::max_step_time`]. Its locks
//!   and memory are not released, as in a crash.
//! * Unix only.
//! * The crate installs [`Allocator`] as the global allocator of the test binary, to identify objects by
//!   their addresses. Turn the feature `allocator` off and wrap your own if you have one.

#[cfg(not(unix))]
compile_error!("selvedge needs a Unix system: it maps memory and switches stacks");

mod advice;
mod backtrace;
mod check;
mod failure;
mod outcome;
mod rt;
mod short_names;
mod spot;
mod turns;
mod watch;

#[cfg(test)]
mod tests;

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod sync;
pub mod thread;

pub use alloc::Reuse;
pub use check::{Builder, check, check_random, replay};
pub use outcome::Outcome;
pub use rt::allocator::Allocator;
pub use selvedge_core::{Counts, Report, Verdict, ViolationKind};
pub use selvedge_explore::{Algorithm, Equivalence, Memory};
pub use sync::waiting_writers::RwLockPolicy;
