//! The relations that axioms are about.

use selvedge_core::Order;

use super::execution::{Event, Execution, Kind};
use super::meetings::{alive, steps};
use super::relation::{Relation, Set};

/// The sets and relations of an execution, named as in the papers.
#[derive(Clone, Debug)]
pub struct Relations {
    pub(super) reads: Set,
    pub(super) writes: Set,
    pub(super) fences: Set,
    /// Spawns and joins, and the beginnings and ends of threads.
    pub(super) starts_and_ends: Set,
    /// Accesses and fences that acquire.
    pub(super) acquire: Set,
    /// Accesses and fences that release.
    pub(super) release: Set,
    /// Accesses and fences with `SeqCst`.
    pub(super) seqcst: Set,
    /// Accesses that are not atomic; so are the initial writes.
    pub(super) plain: Set,
    /// What read-modify-writes consist of, the reads of failed ones included; so do readers of a lock count themselves.
    pub(super) locked: Set,
    /// Program order; the initial writes are before everything.
    pub(super) po: Relation,
    /// Reads-from.
    pub(super) rf: Relation,
    /// Modification order.
    pub(super) mo: Relation,
    /// From-read: what a read has not seen yet.
    pub(super) fr: Relation,
    /// `(rf ∪ mo ∪ fr)⁺`.
    pub(super) eco: Relation,
    /// From the read part of a read-modify-write to its write part.
    pub(super) rmw: Relation,
    /// From a spawn to the beginning of the thread, and from the end of a thread to its join.
    pub(super) asw: Relation,
    /// Both are at the same location.
    pub(super) same_location: Relation,
    /// Both are of the same thread.
    pub(super) same_thread: Relation,
    /// Accesses to condition variables, which synchronise with nothing.
    pub(super) conditions: Set,
    /// Ends of waits.
    pub(super) woken: Set,
    /// From what finds a thread alive to its end.
    pub(super) alive: Relation,
    /// Operations of several events that are one step.
    pub(super) steps: Vec<Set>,
}

/// Program order.
fn is_before(a: &Event, b: &Event) -> bool {
    let rank = |event: &Event| match event.kind {
        Kind::Begin => 0,
        Kind::End => usize::MAX,
        _ => 1 + event.nth,
    };
    match (a.thread, b.thread) {
        (None, Some(_)) => true,
        (None, None) => false,
        (mine, theirs) => mine == theirs && rank(a) < rank(b),
    }
}

/// The events of an execution, and the beginnings and ends of threads: with them, what is before a spawn is before
/// the first access of the thread also where program order has to come first and last.
fn all_events(execution: &Execution) -> Vec<Event> {
    let mut events = execution.events.clone();
    for event in &execution.events {
        let (thread, kind) = match event.kind {
            Kind::Spawn(child) => (child, Kind::Begin),
            Kind::Join(child) => (child, Kind::End),
            _ => continue,
        };
        let is_new = |other: &Event| !(other.thread == Some(thread) && other.kind == kind);
        if events.iter().all(is_new) {
            events.push(Event {
                thread: Some(thread),
                nth: 0,
                kind,
                at: None,
                order: Order::Relaxed,
                value: 0,
                from: None,
            });
        }
    }
    events
}

impl Relations {
    /// Those of this execution.
    pub fn new(execution: &Execution) -> Self {
        let Execution { threads, writes, .. } = execution;
        let events = all_events(execution);
        let empty = Relation::EMPTY;
        let (mut po, mut rf, mut mo, mut rmw, mut asw) = (empty, empty, empty, empty, empty);
        let (mut same_location, mut same_thread) = (empty, empty);
        let set = |holds: &dyn Fn(usize) -> bool| {
            let mut all = Set::default();
            (0..events.len()).filter(|&event| holds(event)).for_each(|event| all.insert(event));
            all
        };
        for (a, first) in events.iter().enumerate() {
            for (b, second) in events.iter().enumerate() {
                if first.at.is_some() && first.at == second.at {
                    same_location.add(a, b);
                }
                if first.thread.is_some() && first.thread == second.thread {
                    same_thread.add(a, b);
                }
                if is_before(first, second) {
                    po.add(a, b);
                }
                match (first.kind, second.kind) {
                    (Kind::Spawn(child), Kind::Begin) if second.thread == Some(child) => {
                        asw.add(a, b);
                    }
                    (Kind::End, Kind::Join(child)) if first.thread == Some(child) => asw.add(a, b),
                    _ => {}
                }
            }
            if let (Some(write), true) = (first.from, first.kind != Kind::Woken) {
                rf.add(write, a);
            }
        }
        for writes in writes {
            for (place, &write) in writes.iter().enumerate() {
                writes[place + 1..].iter().for_each(|&later| mo.add(write, later));
            }
        }
        // A writer learns from the writer before it, and from all readers in between.
        for (lock, event) in events.iter().enumerate() {
            if let (Kind::UpdateRead, Some(at), Some(from)) = (event.kind, event.at, event.from) {
                let readers = execution.ends_of_readers(at).filter(|&(release, _)| release == from);
                readers.for_each(|(_, end)| rf.add(end, lock));
            }
        }
        for thread in threads {
            for pair in thread.windows(2) {
                if events[pair[0]].kind == Kind::UpdateRead {
                    rmw.add(pair[0], pair[1]);
                }
            }
        }
        let kind = |holds: fn(Kind) -> bool| set(&|event| holds(events[event].kind));
        let order = |holds: fn(Order) -> bool| set(&|event| holds(events[event].order));
        let reads = kind(Kind::reads);
        let writes = kind(Kind::writes);
        let fences = kind(|kind| kind == Kind::Fence);
        let fr = rf.inverse().then(&mo);
        // Who is woken has not overwritten anything: what comes after the signal may come before it.
        for (woken, event) in events.iter().enumerate() {
            if let (Kind::Woken, Some(signal)) = (event.kind, event.from) {
                rf.add(signal, woken);
            }
        }
        Self {
            reads,
            writes,
            fences,
            starts_and_ends: kind(|kind| {
                matches!(kind, Kind::Spawn(_) | Kind::Join(_) | Kind::Begin | Kind::End)
            }),
            acquire: order(Order::acquires) & (reads | fences),
            release: order(Order::releases) & (writes | fences),
            seqcst: order(|order| order == Order::SeqCst) & (reads | writes | fences),
            plain: order(|order| order == Order::NonAtomic) & (reads | writes),
            locked: kind(|kind| {
                matches!(
                    kind,
                    Kind::UpdateRead
                        | Kind::UpdateWrite
                        | Kind::FailedUpdate { .. }
                        | Kind::Share
                        | Kind::Unshare
                )
            }),
            eco: (rf | mo | fr).closure(),
            po,
            rf,
            mo,
            fr,
            rmw,
            asw,
            same_location,
            same_thread,
            conditions: set(&|event| {
                events[event].at.is_some_and(|at| execution.conditions.contains(&at))
            }),
            woken: kind(|kind| kind == Kind::Woken),
            alive: alive(execution),
            steps: steps(execution),
        }
    }

    /// `po ∪ rf ∪ asw` is acyclic: no value comes out of thin air.
    pub(super) fn no_thin_air(&self) -> bool {
        (self.po | self.rf | self.asw).is_acyclic()
    }

    /// No write is between the two parts of a read-modify-write: `rmw ∩ (fr ; mo)` is empty.
    pub(super) fn atomicity(&self) -> bool {
        (self.rmw & self.fr.then(&self.mo)).is_empty()
    }
}
