//! Initialisation that happens once.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use selvedge_core::{Bits, Mode, ObjectId, Order, ViolationKind};

use crate::rt::{Await, Engine, Header, Observed, Restorer, Spot, Touch, Word};

/// How far an initialisation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    Nothing,
    /// By this thread.
    Running(u32),
    Poisoned,
    Complete,
}

/// Runs an initialisation once, as [`std::sync::Once`].
pub struct Once {
    header: Header,
    progress: Cell<Progress>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl Send for Once {}
// SAFETY: as above.
unsafe impl Sync for Once {}
impl std::panic::UnwindSafe for Once {}
impl std::panic::RefUnwindSafe for Once {}

/// The state that an initialisation gets.
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
    /// As that of `std`, it is not shared.
    not_shared: PhantomData<Cell<()>>,
}

impl OnceState {
    /// Returns whether an earlier attempt panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl Once {
    /// Nothing has run.
    #[track_caller]
    pub const fn new() -> Self {
        Self { header: Header::new(Location::caller()), progress: Cell::new(Progress::Nothing) }
    }

    fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, "Once", || {
            let progress: *const Cell<Progress> = &self.progress;
            // SAFETY: what outlives an execution is not freed before the check is over.
            Restorer::With(Box::new(move || unsafe { (*progress).set(Progress::Nothing) }))
        })
    }

    /// Runs `f` unless something has run; waits if it is running.
    ///
    /// # Panics
    /// If an earlier attempt panicked.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        self.call(false, |_| f(), Location::caller());
    }

    /// Like [`Once::call_once`], also after an attempt that panicked.
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        self.call(true, f, Location::caller());
    }

    /// Returns whether something has run to its end.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        let verb = "is_completed";
        let touch = Touch { object, mode: Mode::Read, verb, order: None };
        let seen = match engine.asks() {
            true => self.word(&engine, object).load(Order::Acquire, &touch, spot),
            false => {
                engine.visible(&touch, spot);
                None
            }
        };
        engine.observed(object, Observed::Looked(Mode::Read));
        let seen = seen.map_or(self.progress.get(), Progress::from_bits);
        let complete = seen == Progress::Complete;
        engine.note(|rt| format!("is_completed {} → {complete}", rt.object_name(object)));
        complete
    }

    /// The same without a step.
    pub(super) fn was_completed(&self) -> bool {
        self.progress.get() == Progress::Complete
    }

    /// Waits until something has run to its end.
    ///
    /// # Panics
    /// If an attempt panicked.
    #[track_caller]
    pub fn wait(&self) {
        let ends = |progress| matches!(progress, Progress::Complete | Progress::Poisoned);
        if self.wait_until(ends, Location::caller()) == Progress::Poisoned {
            panic!("Once instance has previously been poisoned");
        }
    }

    /// Like [`Once::wait`], also through attempts that panic.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_until(|progress| progress == Progress::Complete, Location::caller());
    }

    fn wait_until(&self, ends: impl Fn(Progress) -> bool, spot: Spot) -> Progress {
        let engine = Engine::enter();
        let object = self.object(&engine);
        let ready = || ends(self.progress.get());
        let never = || false;
        let (verb, waits) = ("wait", "to be complete");
        let wait = Await { object, ready: &ready, writes: &never, verb, waits };
        let seen = match engine.asks() {
            true => {
                let ends = |bits| ends(Progress::from_bits(bits));
                self.word(&engine, object).wait(Order::Acquire, &ends, &wait, spot)
            }
            false => {
                engine.visible(&wait, spot);
                None
            }
        };
        seen.map_or(self.progress.get(), Progress::from_bits)
    }

    fn call(&self, force: bool, f: impl FnOnce(&OnceState), spot: Spot) {
        if let Some(poisoned) = self.begin(force, spot) {
            // Also if `f` panics.
            let mut end = Completion { once: self, to: Progress::Poisoned, spot };
            f(&OnceState { poisoned, not_shared: PhantomData });
            end.to = Progress::Complete;
        }
    }

    /// Waits for the thread that runs it; tells whether to run it now, and whether it is poisoned.
    fn begin(&self, force: bool, spot: Spot) -> Option<bool> {
        let engine = Engine::enter();
        let object = self.object(&engine);
        let me = engine.me() as u32;
        let ready = || !matches!(self.progress.get(), Progress::Running(by) if by != me);
        let runs = |progress| match progress {
            Progress::Nothing => true,
            Progress::Poisoned => force,
            Progress::Running(_) | Progress::Complete => false,
        };
        let writes = || runs(self.progress.get());
        let (verb, waits) = ("call_once", "to be complete");
        let wait = Await { object, ready: &ready, writes: &writes, verb, waits };
        let before = match engine.asks() {
            true => self.ask_begin(&engine, &wait, force, spot),
            false => {
                engine.visible(&wait, spot);
                self.progress.get()
            }
        };
        engine.observed(object, Observed::Looked(Mode::Read));
        match before {
            Progress::Running(by) if by == me && !crate::rt::is_unwinding() => {
                let name = engine.rt().object_name(object);
                let message = format!("the initialisation of {name} needs itself: it never ends");
                engine.fail(ViolationKind::Misuse, message, &[spot])
            }
            Progress::Poisoned if !force => {
                drop(engine);
                panic!("Once instance has previously been poisoned");
            }
            before if runs(before) => {
                self.progress.set(Progress::Running(me));
                engine.note(|rt| format!("call_once {}: runs it", rt.object_name(object)));
                Some(before == Progress::Poisoned)
            }
            _ => None,
        }
    }
}

/// Says how an initialisation ended.
struct Completion<'a> {
    once: &'a Once,
    to: Progress,
    spot: Spot,
}

impl Drop for Completion<'_> {
    fn drop(&mut self) {
        let Some(engine) = Engine::try_enter() else { return };
        let object = self.once.object(&engine);
        let verb = "complete";
        let touch = Touch { object, mode: Mode::Update, verb, order: None };
        match engine.asks() {
            true => {
                let word = self.once.word(&engine, object);
                word.store(Order::Release, self.to.bits(), &touch, self.spot);
            }
            false => _ = engine.visible(&touch, self.spot),
        }
        self.once.progress.set(self.to);
        engine.observed(object, Observed::Changed(Mode::Read));
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl Progress {
    /// As a word under a memory model.
    fn bits(self) -> Bits {
        match self {
            Progress::Nothing => 0,
            Progress::Poisoned => 1,
            Progress::Complete => 2,
            Progress::Running(by) => 3 + Bits::from(by),
        }
    }

    fn from_bits(bits: Bits) -> Self {
        match bits {
            0 => Progress::Nothing,
            1 => Progress::Poisoned,
            2 => Progress::Complete,
            running => Progress::Running((running - 3) as u32),
        }
    }
}

impl Once {
    fn word<'a>(&self, engine: &'a Engine, object: ObjectId) -> Word<'a> {
        engine.word(object, self.progress.get().bits())
    }

    /// Tries to begin, and waits while another runs it, under a memory model. Returns what it found: if it can begin
    /// from that, it did.
    fn ask_begin(&self, engine: &Engine, wait: &Await<'_>, force: bool, spot: Spot) -> Progress {
        let (word, me) = (self.word(engine, wait.object), engine.me() as u32);
        let mut expected = Progress::Nothing;
        loop {
            let exchange = (expected.bits(), Progress::Running(me).bits());
            let found = match word.compare_exchange(exchange, Order::Acquire, wait, spot) {
                None => return self.progress.get(),
                Some(Ok(found)) => return Progress::from_bits(found),
                Some(Err(found)) => Progress::from_bits(found),
            };
            let found = match found {
                Progress::Running(by) if by != me => {
                    let is_over = |bits| bits < 3;
                    match word.wait(Order::Acquire, &is_over, wait, spot) {
                        None => return self.progress.get(),
                        Some(found) => Progress::from_bits(found),
                    }
                }
                found => found,
            };
            match found {
                Progress::Poisoned if force => expected = Progress::Poisoned,
                Progress::Nothing => expected = Progress::Nothing,
                found => return found,
            }
        }
    }
}
