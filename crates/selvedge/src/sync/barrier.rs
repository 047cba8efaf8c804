//! Barriers.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use selvedge_core::{Effect, Flexibility, Mode, ObjectId};

use crate::rt::runtime::Runtime;
use crate::rt::{Engine, Header, Operation, Restorer, Touch};

/// Lets several threads wait for each other, as [`std::sync::Barrier`]. The last to come leads.
pub struct Barrier {
    header: Header,
    parties: usize,
    state: Cell<Arrivals>,
}

#[derive(Clone, Copy, Default)]
struct Arrivals {
    /// Who have come in this round.
    arrived: usize,
    round: u32,
}

// SAFETY: all threads of checked code run on one thread of the system, by turns.
unsafe impl Send for Barrier {}
// SAFETY: as above.
unsafe impl Sync for Barrier {}
impl std::panic::UnwindSafe for Barrier {}
impl std::panic::RefUnwindSafe for Barrier {}

/// Whether a thread leads.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread came last.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// For `parties` threads.
    #[track_caller]
    pub const fn new(parties: usize) -> Self {
        Self {
            header: Header::new(Location::caller()),
            parties,
            state: Cell::new(Arrivals { arrived: 0, round: 0 }),
        }
    }

    /// Waits until as many threads have come as the barrier is for.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let spot = Location::caller();
        let engine = Engine::enter();
        let first = self.header.object(&engine, "Barrier", || {
            let state: *const Cell<Arrivals> = &self.state;
            // SAFETY: what outlives an execution is not freed before the check is over.
            Restorer::With(Box::new(move || unsafe { (*state).set(Arrivals::default()) }))
        });
        // Odd rounds have an object of their own: whoever leaves one round need not be ordered with
        // whoever comes to the next.
        let second = self.header.part(&engine, first, "Barrier", 1);
        let both = [first, second];
        let arrive = Arrive { both, state: &self.state };
        engine.visible(&arrive, spot);
        let Arrivals { arrived, round } = self.state.get();
        let leads = arrived + 1 >= self.parties;
        self.state.set(match leads {
            true => Arrivals { arrived: 0, round: round.wrapping_add(1) },
            false => Arrivals { arrived: arrived + 1, round },
        });
        engine.note(|rt| {
            let name = rt.object_name(first);
            format!("wait {name}: {} of {} are there", arrived + 1, self.parties)
        });
        if !leads {
            let object = both[(round & 1) as usize];
            engine.visible(&Pass { object, state: &self.state, round }, spot);
            engine.note(|rt| format!("pass {}", rt.object_name(first)));
        }
        engine.heard(first, u64::from(leads));
        BarrierWaitResult(leads)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

/// Comes to the barrier. Who comes when matters: the last one leads.
struct Arrive<'a> {
    both: [ObjectId; 2],
    state: &'a Cell<Arrivals>,
}

impl Operation for Arrive<'_> {
    fn effect(&self, rt: &mut Runtime, me: usize, choice: u32, effect: &mut Effect) {
        let object = self.both[(self.state.get().round & 1) as usize];
        let (mode, verb) = (Mode::Update, "wait");
        Touch { object, mode, plain: false, verb, order: None }.effect(rt, me, choice, effect);
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("wait {}", rt.object_name(self.both[0]))
    }
}

/// Goes on when all have come.
struct Pass<'a> {
    object: ObjectId,
    state: &'a Cell<Arrivals>,
    round: u32,
}

impl Operation for Pass<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        self.state.get().round != self.round
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.object, Mode::Pass);
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("pass {}", rt.object_name(self.object))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        let name = rt.object_name(self.object);
        Some((format!("waits for others to come to {name}"), Vec::new()))
    }
}
