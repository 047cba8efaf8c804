//! From code to guarded events.
//!
//! Each thread is run symbolically on its own: both ways of a branch are followed and meet again
//! after it, loops are unrolled to a bound, calls are inlined. What remains is a list of
//! [`Event`]s, one per step, in program order. An event has a *guard*, the condition under which
//! it is executed, and accesses to *cells*. What a read gives is a fresh word: which write it
//! observes is the business of an encoding (`encode/`).
//!
//! Locks, semaphores, barriers and condition variables are cells too: taking a mutex reads 0 and
//! writes 1 in one event. So the encodings know nothing but reads and writes.
//!
//! A step that can wait may also stay undone (a [`Stop`]): permanently, if a condition on the final
//! values of cells holds. So every execution has a model in which each thread continues until it
//! ends, fails, waits, stands at a false `assume`, or comes to a [`Cut`].

mod arithmetic;
mod cells;
mod events;
mod fold;
mod local;
mod locks;
mod look;
mod loops;
mod racing;
mod ranges;
mod run;
mod state;
mod variables;

use std::collections::BTreeMap;
use std::sync::Arc;

use selvedge_core::{Place, ViolationKind};
use selvedge_lang::ir::{ProcedureId, Program, SiteId};

use crate::caps::Caps;
use crate::circuit::{Circuit, Word};
use crate::solver::Lit;
use selvedge_core::{Budget, Spent};

pub use cells::{Cell, CellId};
pub use events::{Event, EventId, Read, Write};
pub use racing::{Kind, Racing, has_weak_orders};

/// How far to unroll, and what may stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Depth {
    /// How often a loop may be repeated, or a procedure be called inside itself, when that is not
    /// decided by constants.
    pub repetitions: u32,
    /// Whether a thread may stop before any step, not only where it waits.
    pub stops_anywhere: bool,
    /// Whether a thread may stop before an access that can be part of a data race.
    pub stops_at_races: bool,
}

/// A thread that starts at the beginning, or at one `spawn` of the unrolled code.
#[derive(Clone, Debug)]
pub struct ThreadInstance {
    /// The event that spawns it.
    pub parent: Option<EventId>,
    /// Whether it exists.
    pub start: Lit,
    /// Whether it may stay blocked.
    pub daemon: bool,
    /// Whether it comes to its end.
    pub finished: Lit,
    /// Its events in program order; those of different branches too.
    pub events: Vec<EventId>,
    /// Its name in statistics and pictures.
    pub name: String,
    procedure: ProcedureId,
    arguments: Vec<Word>,
    /// How many generations of spawned threads it descends from.
    generation: u32,
}

/// Something that can go wrong.
#[derive(Clone, Copy, Debug)]
pub struct FaultSite {
    /// Whether it does.
    pub lit: Lit,
    /// Where.
    pub site: SiteId,
    /// What.
    pub kind: ViolationKind,
    /// In which thread; `None` in `finally`.
    pub thread: Option<usize>,
}

/// A thread that does not take its next step.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// The step.
    pub event: EventId,
    /// Whether it stops there.
    pub lit: Lit,
    /// Whether the step cannot be taken in the final state.
    pub blocked: Lit,
}

/// A place where the unrolling ends although the thread would continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Whether it is reached.
    pub lit: Lit,
    /// Why.
    pub reason: CutReason,
    /// Where.
    pub place: Place,
}

/// Why the unrolling ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CutReason {
    /// A loop or a recursion continues.
    Bound,
    /// Something has no encoding: what.
    Unsupported(String),
}

/// A program as guarded events.
pub struct Unrolled {
    /// Gates and solver.
    pub circuit: Circuit,
    /// What was unrolled.
    pub program: Arc<Program>,
    /// Static threads first, then spawned ones.
    pub threads: Vec<ThreadInstance>,
    /// All events, those of one thread in program order.
    pub events: Vec<Event>,
    /// What events access.
    pub cells: Vec<Cell>,
    /// The values of cells when everything has ended, where they matter.
    pub finals: BTreeMap<CellId, Word>,
    /// What can go wrong in threads.
    pub faults: Vec<FaultSite>,
    /// What can go wrong in `finally`.
    pub finally_faults: Vec<FaultSite>,
    /// Whether all have ended, so that `finally` runs. Nothing but that is known of it here.
    pub finally_runs: Lit,
    /// Steps that may stay undone.
    pub stops: Vec<Stop>,
    /// A thread stands at an `assume` that is false.
    pub assumed: Vec<Lit>,
    /// Where the unrolling ends.
    pub cuts: Vec<Cut>,
    /// Repetitions of loops that are not decided by constants: the how-manieth, and whether.
    pub repetitions: Vec<(u32, Lit)>,
    /// How many instructions the unrolled threads have.
    pub transitions: u64,
    /// Accesses before which threads may stand, if data races are looked for.
    pub racing: Vec<Racing>,
    pub(crate) caps: Caps,
    depth: Depth,
    cell_ids: BTreeMap<cells::CellName, CellId>,
    loops: Vec<Vec<loops::Loop>>,
    may_await: Vec<bool>,
    /// Whether the program has instructions without an encoding.
    lacks_encodings: bool,
    wakers: Vec<locks::Waker>,
    racing_blocks: Vec<racing::RacingBlock>,
}

/// Unrolls a program.
///
/// # Errors
/// If the caller asks to stop.
pub fn unroll(
    program: &Arc<Program>,
    depth: Depth,
    caps: Caps,
    mut circuit: Circuit,
    budget: &Budget,
) -> Result<Unrolled, Spent> {
    let loops = program.procedures.iter().map(loops::find).collect();
    let finally_runs = circuit.fresh();
    let mut unrolled = Unrolled {
        circuit,
        program: Arc::clone(program),
        threads: Vec::new(),
        events: Vec::new(),
        cells: Vec::new(),
        finals: BTreeMap::new(),
        faults: Vec::new(),
        finally_faults: Vec::new(),
        finally_runs,
        stops: Vec::new(),
        assumed: Vec::new(),
        cuts: Vec::new(),
        repetitions: Vec::new(),
        transitions: 0,
        depth,
        caps,
        cell_ids: BTreeMap::new(),
        loops,
        may_await: program.awaiting_procedures(),
        lacks_encodings: variables::lacks_encodings(program, caps),
        wakers: Vec::new(),
        racing: Vec::new(),
        racing_blocks: Vec::new(),
    };
    for thread in &program.threads {
        let finished = unrolled.circuit.fresh();
        unrolled.threads.push(ThreadInstance {
            parent: None,
            start: Lit::TRUE,
            daemon: thread.daemon,
            finished,
            events: Vec::new(),
            name: thread.full_name(),
            procedure: thread.procedure,
            arguments: thread.arguments.iter().map(|&value| Word::integer(value)).collect(),
            generation: 0,
        });
    }
    let mut next = 0;
    while next < unrolled.threads.len() {
        unrolled.run_thread(next, budget)?;
        next += 1;
    }
    unrolled.connect_wakers();
    unrolled.connect_blocks();
    unrolled.run_finally(budget)?;
    unrolled.bound_values(budget)?;
    unrolled.fold_known();
    Ok(unrolled)
}

impl Unrolled {
    /// Returns the place of an instruction.
    pub(crate) fn place(&self, site: SiteId) -> Place {
        self.program.place(site)
    }

    /// Returns the value of a cell when everything has ended.
    fn final_value(&mut self, cell: CellId) -> Word {
        if let Some(word) = self.finals.get(&cell) {
            return word.clone();
        }
        let word = self.circuit.fresh_word(self.cells[cell.index()].initial.width());
        self.finals.insert(cell, word.clone());
        word
    }
}
