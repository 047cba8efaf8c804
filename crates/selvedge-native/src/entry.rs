//! The way from checked code into the checker: what the shim calls, on the stack of a checked thread.
//!
//! Nothing here may be dropped after a switch: a thread that is abandoned is never unwound.

mod ends;
mod threads;

use std::sync::atomic::Ordering::Relaxed;

use selvedge_core::{Order, ViolationKind};
use smallvec::SmallVec;

use crate::crash::BEATS;
use crate::graph::Atomic;
use crate::heap::Fresh;
use crate::layout;
use crate::machine::{Machine, running};
use crate::op::{By, EAGAIN, EBUSY, EINVAL, ETIMEDOUT, Ends, How, Kind, Op, Orders, What, order};
use crate::spurious::Whim;

use threads::Joins;

/// An operation other than an access: its code, where it is, the frame that calls it, its arguments.
pub(crate) type Operate = unsafe extern "C" fn(u64, usize, usize, u64, u64, u64, u64) -> u64;
/// An access to memory.
pub(crate) type Access = unsafe extern "C" fn(usize, usize, u64, usize, usize);

/// Codes of what ends a thread.
const FAIL: u64 = 50;
const EXIT: u64 = 51;
const ASSUME: u64 = 52;
const UNCAUGHT: u64 = 68;

/// The size of a mutex.
pub(crate) const MUTEX: usize = 40;
/// The size of a condition variable.
pub(crate) const CONDITION: usize = 48;

/// Where a thread calls the shim.
#[derive(Clone, Copy)]
pub(crate) struct At {
    machine: *mut Machine,
    pub(crate) me: usize,
    pub(crate) pc: usize,
    pub(crate) frame: usize,
}

pub(crate) unsafe extern "C" fn access(
    address: usize,
    size: usize,
    how: u64,
    pc: usize,
    frame: usize,
) {
    let machine = running();
    if machine.is_null() {
        return;
    }
    // SAFETY: the machine lives while its code runs.
    let at = unsafe { At::new(machine, pc, frame) };
    let how = How(how);
    // SAFETY: as above, and no reference into it is held.
    let is_shared = size > 0
        && unsafe {
            let is_shared = match how.is_atomic() {
                true => (*machine).is_shared_atomic(at.me, address, size),
                false => (*machine).is_shared(at.me, address, size),
            };
            is_shared && !(&*machine).shared.module.is_handed_over(pc)
        };
    if !is_shared {
        return;
    }
    if how.is_weak() {
        at.with(Machine::note_weak);
    }
    // Under a memory model loops are recognised elsewhere.
    let is_answered = at.with(|machine| machine.locations.is_some());
    let how = if is_answered { how.without_site() } else { how };
    at.announce(Op::Access { address, size, how }, &[(address, size)]);
}

pub(crate) unsafe extern "C" fn op(
    code: u64,
    pc: usize,
    frame: usize,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
) -> u64 {
    let machine = running();
    if machine.is_null() {
        return 0;
    }
    // SAFETY: the machine lives while its code runs.
    let at = unsafe { At::new(machine, pc, frame) };
    if matches!(code, FAIL | EXIT | ASSUME | UNCAUGHT) {
        // What ends a thread is something else than going round.
        at.with(|machine| machine.ends_silently(at.me));
    }
    let (address, size) = (a as usize, b as usize);
    let object = [(address, size)];
    match code {
        1 => {
            // SAFETY: as above.
            let is_shared = unsafe { (*machine).is_shared_atomic(at.me, address, size) };
            if is_shared {
                let orders = Orders { success: order(d), failure: order(d >> 8) };
                if orders.success != Order::SeqCst {
                    at.with(Machine::note_weak);
                }
                at.announce(Op::Compare { address, size, wanted: c as usize, orders }, &object);
            }
            0
        }
        2 => at.create(address, b, c as usize, d != 0),
        3 => at.join(a, b as usize, c as usize, Joins::Waits),
        4 => at.join(a, b as usize, c as usize, Joins::Tries),
        5 => at.join(a, b as usize, c as usize, Joins::Timed),
        6 => at.detach(a),
        7 => at.end(a),
        8 => at.me as u64 + 1,
        9 => at.name(a, b as usize),
        10 => at.announce(Op::Make { address, what: What::Mutex }, &object),
        11 => {
            // A spin lock is smaller.
            let is_mutex = size >= size_of::<libc::pthread_mutex_t>();
            let what = if is_mutex { What::NoMutex } else { What::NoSpinLock };
            at.announce(Op::Make { address, what }, &object)
        }
        12 => at.announce(Op::Lock { address, kind: Kind::new(c), timed: false }, &object),
        13 => at.announce(Op::TryLock { address, kind: Kind::new(c), otherwise: EBUSY }, &object),
        14 => match at.expires() {
            true => {
                let kind = Kind::new(c);
                at.announce(Op::TryLock { address, kind, otherwise: ETIMEDOUT }, &object)
            }
            false => at.announce(Op::Lock { address, kind: Kind::new(c), timed: true }, &object),
        },
        15 => at.announce(Op::Unlock { address, kind: Kind::new(c) }, &object),
        16 => at.announce(Op::Make { address, what: What::Cond }, &object),
        17 => at.announce(Op::Make { address, what: What::NoCond }, &object),
        18 | 19 => {
            let (timed, mutex) = (code == 19, b as usize);
            let ends = match at.ends_without_reason() {
                true => Ends::WithoutReason,
                false if timed && at.expires() => Ends::TimedOut,
                false => Ends::Signalled,
            };
            let op = Op::Wait { cond: address, mutex, timed, ends };
            at.announce(op, &[(address, CONDITION), (mutex, MUTEX)])
        }
        20 => at.announce(Op::Signal { cond: address, all: false }, &object),
        21 => at.announce(Op::Signal { cond: address, all: true }, &object),
        22 => at.announce(Op::Make { address, what: What::RwLock }, &object),
        23 => at.announce(Op::Make { address, what: What::NoRwLock }, &object),
        24 | 25 => at.announce(Op::RwLock { address, write: code == 25, timed: false }, &object),
        26 | 27 => at.announce(Op::RwTry { address, write: code == 27, otherwise: EBUSY }, &object),
        28 | 29 => {
            let write = code == 29;
            match at.expires() {
                true => at.announce(Op::RwTry { address, write, otherwise: ETIMEDOUT }, &object),
                false => at.announce(Op::RwLock { address, write, timed: true }, &object),
            }
        }
        30 => at.announce(Op::RwUnlock { address }, &object),
        31 => at.announce(Op::Make { address, what: What::Semaphore(c) }, &object),
        32 => at.announce(Op::Make { address, what: What::NoSemaphore }, &object),
        33 => at.announce(Op::Down { address, timed: false }, &object),
        34 => at.announce(Op::TryDown { address, otherwise: EAGAIN }, &object),
        35 => match at.expires() {
            true => at.announce(Op::TryDown { address, otherwise: ETIMEDOUT }, &object),
            false => at.announce(Op::Down { address, timed: true }, &object),
        },
        36 => at.announce(Op::Up { address }, &object),
        37 => at.announce(Op::Value { address }, &object),
        38 => at.announce(Op::Make { address, what: What::Barrier(c) }, &object),
        39 => at.announce(Op::Make { address, what: What::NoBarrier }, &object),
        40 => {
            at.with(|machine| machine.find_barrier(address));
            at.announce(Op::Arrive { address }, &[])
        }
        41 => {
            // The guard of a local static is a byte, which compiled code looks at; it is never another one.
            let is_marked = size > 1;
            let op = match c {
                0 => Op::Once { address, is_marked },
                _ => Op::OnceEnd { address, is_marked, is_done: c == 1 },
            };
            at.announce(op, &object)
        }
        42 => at.with(|machine| {
            machine.synchronisation.keys.push(Some(a));
            machine.synchronisation.keys.len() as u64 - 1
        }),
        43 => at.with(|machine| match machine.synchronisation.keys.get_mut(address) {
            Some(key) => {
                *key = None;
                0
            }
            None => EINVAL,
        }),
        44 => at.changes(|machine| {
            let keys = &mut machine.threads[at.me].keys;
            match keys.iter_mut().find(|(key, _)| *key == a) {
                Some((_, value)) => *value = b,
                None => keys.push((a, b)),
            }
            0
        }),
        45 => at.with(|machine| {
            let keys = &machine.threads[at.me].keys;
            keys.iter().find(|(key, _)| *key == a).map_or(0, |(_, value)| *value)
        }),
        46 => at.allocate(a as usize, b as usize, c != 0, By::new(d)),
        47 => at.free(address, By::new(b)),
        48 => at.reallocate(address, size),
        49 => at.with(|machine| machine.heap.at(address).map_or(0, |block| block.size as u64)),
        50 => at.fail(a, b as usize),
        51 => {
            ends::exit(at);
            0
        }
        52 => at.assume(),
        53 => at.announce(Op::Choose { most: (a as u32).max(1) }, &[]),
        54 => {
            // SAFETY: the shim passes a text that it has.
            let name = unsafe { text(address) };
            at.with(|machine| {
                let inputs = &mut machine.shared.doubts.borrow_mut().inputs;
                inputs.get_or_insert_with(|| format!("__VERIFIER_nondet_{name}"));
            });
            0
        }
        55 => at.output(address, size),
        56 => {
            // SAFETY: the shim passes a text that it has.
            let name = unsafe { text(address) };
            let name =
                if name == "__pthread_register_cancel" { "pthread_cleanup_push" } else { &name };
            at.give_up(format!("it calls {name}, which cannot be checked"))
        }
        57 => (layout::tls(at.me).0 + address) as u64,
        // For a thread that is tried out time stands still: a loop that looks at the clock comes back.
        58 if a == 0 && at.with(|machine| machine.tried == Some(at.me)) => {
            at.with(|machine| CLOCK_START + machine.threads[at.me].clock)
        }
        58 => at.changes(|machine| {
            let clock = &mut machine.threads[at.me].clock;
            *clock = (*clock + CLOCK_STEP).max(a.saturating_sub(CLOCK_START));
            CLOCK_START + *clock
        }),
        59 => at.changes(|machine| {
            let random = &mut machine.threads[at.me].random;
            if a != 0 {
                *random = b;
            }
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *random >> 33
        }),
        // A loop that sleeps and does not look at the clock changes nothing.
        60 => at.with(|machine| {
            let clock = &mut machine.threads[at.me].clock;
            *clock = clock.saturating_add(a.min(CLOCK_START));
            0
        }),
        61 => at.announce(Op::Fence { order: order(a) }, &[]),
        62 => {
            // SAFETY: as above. A word on the stack of another thread is shared from now on.
            unsafe { (*machine).is_shared(at.me, address, size) };
            let (wanted, timed) = (c as usize, d != 0);
            let expires = timed && at.expires();
            at.announce(Op::FutexWait { address, size, wanted, timed, expires }, &object)
        }
        63 => at.announce(Op::FutexWake { address, most: c as usize }, &[]),
        64 => {
            let is_known = at.with(|machine| machine.shared.learned.registers(b != 0));
            if is_known {
                at.announce(Op::Access { address, size: 1, how: How::UPDATE }, &[(address, 1)]);
            }
            // The list itself is not what is compared.
            at.changes(|machine| machine.threads[at.me].written = None);
            0
        }
        65 => at.changes(|machine| {
            machine.threads[at.me].locals.push((address, b));
            0
        }),
        66 => at.leave_locals(),
        67 => at.with(|machine| {
            machine.thrown.push((address, at.pc));
            0
        }),
        69 => at.lock_all(address, size),
        70 => u64::from(at.ends_without_reason()),
        71 => {
            let (operand, wanted) = (c as usize, d as usize);
            at.atomic(Atomic { address, size: size & 0xff, what: b >> 8, operand, wanted })
        }
        68 => at.uncaught(address, b as usize, c as usize),
        _ => at.give_up(format!("its shim asks for operation {code}, which is not known")),
    }
}

/// What the clock of a thread shows at first, in nanoseconds, and how much later it is each time.
const CLOCK_START: u64 = 1_000_000_000_000_000_000;
const CLOCK_STEP: u64 = 1_000;

impl At {
    /// A thread calls the shim.
    ///
    /// # Safety
    /// The machine lives, and no reference into it is held.
    unsafe fn new(machine: *mut Machine, pc: usize, frame: usize) -> Self {
        // SAFETY: the caller's promise.
        let (me, pc) = unsafe {
            let me = (*machine).current;
            (me, (&*machine).caller(me, pc, frame))
        };
        At { machine, me, pc, frame }
    }

    /// Looks at the machine. No reference into it is held while others run.
    pub(crate) fn with<R>(self, look: impl FnOnce(&mut Machine) -> R) -> R {
        BEATS.store(BEATS.load(Relaxed) + 1, Relaxed);
        // SAFETY: the machine lives while its code runs; only the thread that runs uses it, and `look` does not switch.
        look(unsafe { &mut *self.machine })
    }

    /// The same, where a turn of a loop that does this is not one that changes nothing.
    fn changes<R>(self, change: impl FnOnce(&mut Machine) -> R) -> R {
        self.with(|machine| {
            machine.threads[self.me].turn.clear();
            machine.has_changed = true;
            machine.threads[self.me].asked.turn.clear();
            machine.ends_silently(self.me);
            change(machine)
        })
    }

    /// Back to the scheduler; returns when this thread is chosen.
    pub(crate) fn switch_away(self) {
        // SAFETY: the yielder lives at the bottom of the stack that runs, and no reference into the machine is held.
        // The variable belongs to the thread of the system, and checked threads take turns on it.
        unsafe {
            let error = *libc::__errno_location();
            let yielder = (&(*self.machine).threads)[self.me].yielder;
            (*yielder).suspend(());
            *libc::__errno_location() = error;
        }
    }

    pub(crate) fn stand_still(self) -> u64 {
        loop {
            self.switch_away();
        }
    }

    /// Stands at an operation until it is chosen. Returns its result.
    fn announce(self, op: Op, ranges: &[(usize, usize)]) -> u64 {
        if self.with(|machine| machine.locations.is_some()) {
            return self.ask(op, ranges);
        }
        let spins = self.with(|machine| machine.comes_to(self.me, op, self.pc, self.frame));
        if spins {
            self.with(|machine| machine.stands_at(self.me, Op::Spin, self.pc, &[]));
            self.switch_away();
            self.with(|machine| {
                machine.threads[self.me].turn.clear();
                machine.comes_to(self.me, op, self.pc, self.frame)
            });
        }
        self.with(|machine| {
            machine.threads[self.me].frame = self.frame;
            machine.stands_at(self.me, op, self.pc, ranges);
        });
        self.switch_away();
        self.with(|machine| machine.threads[self.me].result)
    }

    /// Returns whether an operation with a time limit ends when its time is up.
    fn expires(self) -> bool {
        self.announce(Op::Choose { most: 2 }, &[]) == 1
    }

    /// Takes several mutexes, whose addresses lie at `list`, at once; but those that the thread holds and can take again.
    fn lock_all(self, list: usize, count: usize) -> u64 {
        // SAFETY: the list is on the stack of this thread, and the shim does not look at it afterwards.
        let all = unsafe { std::slice::from_raw_parts_mut(list as *mut usize, count) };
        let is_held = |&mutex: &usize| {
            self.with(|machine| machine.mutex(mutex).owner == Some(self.me))
                && crate::marks::kind(mutex) == Kind::Recursive
        };
        all.sort_by_key(is_held);
        let free = all.iter().filter(|mutex| !is_held(mutex)).count();
        if free > 0 {
            let ranges: SmallVec<[(usize, usize); 4]> =
                all[..free].iter().map(|&it| (it, MUTEX)).collect();
            self.announce(Op::LockAll { list, count: free }, &ranges);
        }
        for &address in &all[free..] {
            let op = Op::Lock { address, kind: Kind::Recursive, timed: false };
            self.announce(op, &[(address, MUTEX)]);
        }
        0
    }

    /// Returns whether an operation that may end spuriously does so.
    fn ends_without_reason(self) -> bool {
        let Whim::Chosen(key) = self.with(|machine| machine.whim(self.me, self.pc)) else {
            return false;
        };
        self.with(|machine| machine.threads[self.me].whim = key);
        let ends = self.announce(Op::Whim, &[]) == 1;
        self.with(|machine| {
            let thread = &mut machine.threads[self.me];
            thread.whim = None;
            if ends {
                thread.whims.push(self.pc);
            }
        });
        ends
    }

    pub(crate) fn give_up(self, reason: String) -> u64 {
        self.with(|machine| {
            let place = machine.place(self.pc).map_or(String::new(), |place| format!(" ({place})"));
            let name = machine.thread_name(self.me);
            machine.give_up(self.me, format!("{name} cannot continue: {reason}{place}"));
            drop(reason);
        });
        self.stand_still()
    }

    fn misuse(self, what: String) -> u64 {
        self.with(|machine| {
            let message = format!("{} {what}", machine.thread_name(self.me));
            drop(what);
            let fault =
                machine.violation(self.me, ViolationKind::Misuse, message, &[self.pc], Vec::new());
            machine.fail(self.me, fault);
        });
        self.stand_still()
    }

    fn allocate(self, size: usize, alignment: usize, zeroed: bool, by: By) -> u64 {
        let made = self.changes(|machine| {
            let fresh = Fresh { size, alignment: alignment.max(16), zeroed, by, made: self.pc };
            machine.heap.allocate(self.me, &fresh)
        });
        match made {
            // No other thread knows it yet: this orders nothing that is not ordered anyway.
            Some(block) => {
                self.announce(Op::Allocate { block }, &[(block, 0)]);
                block as u64
            }
            None => self.give_up(format!(
                "it allocates more than the {} MiB that a thread can have",
                layout::HEAP >> 20
            )),
        }
    }

    fn free(self, block: usize, by: By) -> u64 {
        self.announce(Op::Free { block, by }, &[(block, 0)])
    }

    fn reallocate(self, block: usize, size: usize) -> u64 {
        self.free(block, By::Realloc);
        let before = self.with(|machine| machine.heap.at(block).map_or(0, |block| block.size));
        let new = self.allocate(size, 16, false, By::Malloc);
        // SAFETY: both blocks lie in slots, which stay mapped, and do not overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(block as *const u8, new as *mut u8, before.min(size));
        }
        new
    }

    fn output(self, from: usize, size: usize) -> u64 {
        self.with(|machine| {
            if machine.is_tracing && machine.output.len() < 1 << 20 {
                // SAFETY: the program passes its text, which lies in mapped memory.
                let bytes = unsafe { std::slice::from_raw_parts(from as *const u8, size) };
                machine.output.extend_from_slice(bytes);
            }
        });
        0
    }
}

/// Returns a copy of a text of C; empty if there is none.
///
/// # Safety
/// The address is 0 or that of a text.
unsafe fn text(address: usize) -> String {
    if address == 0 {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let text = unsafe { std::ffi::CStr::from_ptr(address as *const libc::c_char) };
    text.to_string_lossy().into_owned()
}
