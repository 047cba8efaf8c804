//! Barriers.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use selvedge_core::{Bits, Effect, Flexibility, Mode, ObjectId, Order};

use crate::rt::{Engine, Header, Observed, Operation, Restorer, Runtime, Spot};

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

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl Send for Barrier {}
// SAFETY: as above.
unsafe impl Sync for Barrier {}
impl std::panic::UnwindSafe for Barrier {}
impl std::panic::RefUnwindSafe for Barrier {}

/// Whether a thread leads.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns whether this thread came last.
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
        let arrivals = self.header.object(&engine, "Barrier", || {
            let state: *const Cell<Arrivals> = &self.state;
            // SAFETY: what outlives an execution is not freed before the check is over.
            Restorer::With(Box::new(move || unsafe { (*state).set(Arrivals::default()) }))
        });
        // The ends of odd rounds have an object of their own: a thread that leaves one round need not be ordered
        // with the one that ends the next.
        let end = |part| self.header.part(&engine, arrivals, "the end of a round", part);
        let ends = [1, 2].map(end);
        let Self { parties, ref state, .. } = *self;
        let arrive = Arrive { arrivals, ends, parties, state };
        match engine.asks() {
            true => self.ask_arrive(&engine, &arrive, spot),
            false => _ = engine.visible(&arrive, spot),
        }
        let Arrivals { arrived, round } = self.state.get();
        let leads = arrived + 1 >= parties;
        self.state.set(match leads {
            true => Arrivals { arrived: 0, round: round.wrapping_add(1) },
            false => Arrivals { arrived: arrived + 1, round },
        });
        engine.note(|rt| {
            let name = rt.object_name(arrivals);
            format!("wait {name}: {} of {parties} are there", arrived + 1)
        });
        if !leads {
            let end = ends[(round & 1) as usize];
            let pass = Pass { barrier: arrivals, end, state, round };
            match engine.asks() {
                true => {
                    let has_passed = |word: Bits| word >> 32 != u64::from(round);
                    engine.word(arrivals, 0).wait(Order::Acquire, &has_passed, &pass, spot);
                }
                false => _ = engine.visible(&pass, spot),
            }
            engine.note(|rt| format!("pass {}", rt.object_name(arrivals)));
        }
        engine.observed(arrivals, Observed::Heard(u64::from(leads)));
        BarrierWaitResult(leads)
    }
}

impl Barrier {
    /// Arrives, under a memory model: the word has the round, and how many are there.
    fn ask_arrive(&self, engine: &Engine, arrive: &Arrive<'_>, spot: Spot) {
        let parties = self.parties as u64;
        let next = |word: Bits| match (word & u64::from(u32::MAX)) + 1 >= parties {
            true => u64::from(((word >> 32) as u32).wrapping_add(1)) << 32,
            false => word + 1,
        };
        engine.word(arrive.arrivals, 0).update(Order::AcqRel, &next, arrive, spot);
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

/// Comes to the barrier. Who comes when matters, also from round to round: the last one leads, and ends the
/// round.
struct Arrive<'a> {
    arrivals: ObjectId,
    ends: [ObjectId; 2],
    parties: usize,
    state: &'a Cell<Arrivals>,
}

impl Operation<Runtime> for Arrive<'_> {
    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let Arrivals { arrived, round } = self.state.get();
        effect.footprint.add(self.arrivals, Mode::Update);
        if arrived + 1 >= self.parties {
            effect.footprint.add(self.ends[(round & 1) as usize], Mode::Update);
        }
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("wait {}", rt.object_name(self.arrivals))
    }
}

/// Goes on when all have come.
struct Pass<'a> {
    barrier: ObjectId,
    end: ObjectId,
    state: &'a Cell<Arrivals>,
    round: u32,
}

impl Operation<Runtime> for Pass<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        self.state.get().round != self.round
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.end, Mode::Pass);
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("pass {}", rt.object_name(self.barrier))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        let name = rt.object_name(self.barrier);
        Some((format!("waits for others to come to {name}"), Vec::new()))
    }
}
