//! Realizability: is there an execution in which every read observes what it is to observe?
//!
//! Given are events with their causality, and for each read `q` the write `s` that it observes. An
//! order of the events is a witness if it contains causality, and no other write `v` to the variable
//! lies between `s` and `q`: `v` is before `s`, or after `q`. The order is built up as one vector
//! clock per event: how many events of each thread must come before it.
//!
//! 1. *Cycle test.* An order that is forced both ways: not realizable.
//! 2. *Saturation.* If `s` is before `v`, then `q` must be too; if `v` is before `q`, it must be
//!    before `s`. To a fixpoint. Of the writes of a thread those before `s` come first and those after `q` last, so that one
//!    look at each end is enough (`readings.rs`). If that leaves no pair open, every linear extension is a witness.
//! 3. *One try.* The events one by one, as in the current execution where that is possible, and no write while a read of an
//!    earlier one is missing. If that comes to its end, it is a witness (`schedule.rs`).
//! 4. *2-SAT* over the open pairs (`two_sat.rs`). Unsatisfiable: not realizable, on every
//!    architecture. Satisfiable: if the communication graph is acyclic there is a witness, and
//!    otherwise mostly.
//! 5. *Search* over the open pairs, with saturation after every decision, if nothing else decides. The problem
//!    is NP-complete.
//!
//! Comments `[l.N]` name the lines of Algorithm 1, `Realize`, in Chalupa, Chatterjee, Pavlogiannis, Sinha, Vaidya (POPL 2018).
//! The paper goes straight to 2-SAT, over all pairs of events of threads that communicate; here it is over the pairs that
//! saturation leaves open.

use selvedge_core::{Access, Budget, EventId, ObjectId, Step, ThreadId};

use super::graph::{Cut, Graph, contains};
use super::readings::{Reading, Readings};
use super::two_sat::TwoSat;

/// An event that is to come after those of the cut: the next of its thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    pub(super) step: Step,
    /// What it reads, or reads and writes.
    pub(super) access: Access,
    /// The write that it is to observe: an event of the cut or an earlier extra one.
    pub(super) source: Option<EventId>,
    /// The event that created its thread, if it is the first of it.
    pub(super) cause: Option<EventId>,
}

/// What is asked for.
pub(super) struct Wanted<'a> {
    /// The events.
    pub(super) cut: &'a [u32],
    /// More events.
    pub(super) extras: &'a [Extra],
    /// Variables with the write that must be the last one; none: no thread may write it.
    pub(super) last: &'a [(ObjectId, Option<EventId>)],
    /// More orders of which one must hold.
    pub(super) either: &'a [EitherEvents],
}

/// One of the two orders holds: the first event of a pair is before the second.
pub(super) type EitherEvents = [(EventId, EventId); 2];

/// How often each way of deciding was needed.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    pub(super) asked: u64,
    pub(super) saturation: u64,
    pub(super) one_try: u64,
    pub(super) two_sat: u64,
    pub(super) search: u64,
}

/// An event of the problem, by its number.
pub(super) type Local = usize;

/// [`EitherEvents`] by their numbers.
pub(super) type Either = [(Local, Local); 2];

/// Cannot be realized.
#[derive(Debug)]
pub(super) struct Conflict;

/// Decides realizability. Keeps its memory from one question to the next.
///
/// If the budget is spent it says that nothing is realizable. The search that asked then ends too, and its
/// report says why ([`Run::into_report`](crate::search::run::Run::into_report)).
#[derive(Default)]
pub(super) struct Realizer {
    budget: Budget,
    pub(super) effort: Effort,
    /// Of each thread: the number of its first event; one more at the end.
    pub(super) offsets: Vec<Local>,
    /// Of each event: its thread.
    pub(super) thread_of: Vec<usize>,
    /// Of each event: where it stands in the current execution; extra ones come last.
    pub(super) place: Vec<usize>,
    /// How many events of each thread must come before each event.
    rows: Vec<u32>,
    /// Pairs that are not decided.
    pub(super) open: Vec<Either>,
    /// What is to be observed.
    pub(super) readings: Readings,
}

impl Realizer {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..Self::default() }
    }

    /// Returns an order of the events that is a witness, if there is one, as close to the order of the
    /// execution as it can easily be.
    pub(super) fn realize(&mut self, graph: &Graph, wanted: &Wanted<'_>) -> Option<Vec<EventId>> {
        self.effort.asked += 1;
        self.go_on().ok()?;
        // [l.1-4] The clocks are transitively closed.
        self.load(graph, wanted);
        self.constrain(graph, wanted).ok()?;
        self.saturate().ok()?;
        if self.open.is_empty() {
            if !self.leaves_open() {
                self.effort.saturation += 1;
                return Some(self.linear_extension());
            }
            if let Some(order) = self.one_try() {
                self.effort.one_try += 1;
                return Some(order);
            }
        }
        self.open_readings();
        self.effort.two_sat += 1;
        if !self.satisfy().ok()? {
            self.effort.search += 1;
            self.search().ok()?;
        }
        Some(self.linear_extension())
    }

    pub(super) fn go_on(&self) -> Result<(), Conflict> {
        self.budget.check().map_err(|_| Conflict)
    }

    pub(super) fn threads(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn count(&self) -> usize {
        self.thread_of.len()
    }

    fn local(&self, id: EventId) -> Local {
        self.offsets[id.thread.index()] + id.nth as usize
    }

    pub(super) fn nth(&self, event: Local) -> u32 {
        (event - self.offsets[self.thread_of[event]]) as u32
    }

    pub(super) fn row(&self, event: Local) -> &[u32] {
        &self.rows[event * self.threads()..][..self.threads()]
    }

    pub(super) fn is_before(&self, a: Local, b: Local) -> bool {
        self.row(b)[self.thread_of[a]] > self.nth(a)
    }

    /// Numbers the events, and takes over causality.
    fn load(&mut self, graph: &Graph, wanted: &Wanted<'_>) {
        let extras_of = |thread: usize| {
            wanted.extras.iter().filter(move |extra| extra.step.thread.index() == thread)
        };
        let highest = wanted.extras.iter().map(|extra| extra.step.thread.index() + 1).max();
        let threads = wanted.cut.len().max(highest.unwrap_or(0));
        self.offsets.clear();
        self.thread_of.clear();
        self.place.clear();
        self.rows.clear();
        self.open.clear();
        self.offsets.push(0);
        for thread in 0..threads {
            let inside = wanted.cut.get(thread).map_or(0, |&count| count as usize);
            for &position in &graph.of_thread(thread)[..inside] {
                self.thread_of.push(thread);
                self.place.push(position.index());
                let clock = graph.clock(position);
                self.rows.extend((0..threads).map(|other| match clock.get(other) {
                    Some(&count) if other == thread => count - 1,
                    Some(&count) => count,
                    None => 0,
                }));
            }
            for (later, _) in extras_of(thread).enumerate() {
                self.thread_of.push(thread);
                self.place.push(graph.len());
                let nth = (inside + later) as u32;
                let base = self.rows.len();
                self.rows.resize(base + threads, 0);
                if nth > 0 {
                    self.rows.copy_within(base - threads..base, base);
                }
                self.rows[base + thread] = nth;
            }
            self.offsets.push(self.thread_of.len());
        }
    }

    /// Returns the number of the extra event.
    fn extra(&self, wanted: &Wanted<'_>, index: usize) -> Local {
        let thread = wanted.extras[index].step.thread;
        let same = |extra: &&Extra| extra.step.thread == thread;
        let earlier = wanted.extras[..index].iter().filter(same).count();
        let inside = wanted.cut.get(thread.index()).map_or(0, |&count| count as usize);
        self.offsets[thread.index()] + inside + earlier
    }

    /// Adds what observations demand.
    fn constrain(&mut self, graph: &Graph, wanted: &Wanted<'_>) -> Result<(), Conflict> {
        for (index, extra) in wanted.extras.iter().enumerate() {
            for before in extra.source.into_iter().chain(extra.cause) {
                self.order(self.local(before), self.extra(wanted, index))?;
            }
        }
        let mut reads: Vec<(ObjectId, Local, Option<Local>)> = Vec::new();
        for vertex in graph.vertices().iter().filter(|vertex| contains(wanted.cut, vertex.id)) {
            if let Some(access) = vertex.variable
                && access.mode.reads()
            {
                let source = vertex.source.map(|source| self.local(graph.vertex(source).id));
                reads.push((access.object, self.local(vertex.id), source));
            }
        }
        for (index, extra) in wanted.extras.iter().enumerate() {
            let source = extra.source.map(|source| self.local(source));
            reads.push((extra.access.object, self.extra(wanted, index), source));
        }
        self.readings.clear();
        for &(object, read, source) in &reads {
            self.go_on()?;
            let writes = match self.readings.slot(object) {
                Some(slot) => slot,
                None => {
                    let writes = self.writes_to(graph, wanted, object);
                    self.readings.add_variable(object, writes, &self.offsets)
                }
            };
            match source {
                Some(source) => self.readings.add(Reading { read, source, writes }),
                // [l.18-20] It comes before all writes: before the first of each thread.
                None => {
                    for thread in 0..self.threads() {
                        let mut of_thread = self.readings.writes(writes, thread).iter().copied();
                        if let Some(first) = of_thread.find(|&write| write != read) {
                            self.order(read, first)?;
                        }
                    }
                }
            }
        }
        // [l.21-23] Critical sections, where the caller asks for it.
        for sides in wanted.either {
            self.open.push(sides.map(|(a, b)| (self.local(a), self.local(b))));
        }
        for &(object, last) in wanted.last {
            let last = last.map(|last| self.local(last));
            for write in self.writes_to(graph, wanted, object) {
                match last {
                    None => return Err(Conflict),
                    Some(last) if last == write => {}
                    Some(last) => self.order(write, last)?,
                }
            }
        }
        Ok(())
    }

    /// Returns the writes to a variable.
    fn writes_to(&self, graph: &Graph, wanted: &Wanted<'_>, object: ObjectId) -> Vec<Local> {
        let ids = graph.history(object).iter().filter(|(_, mode)| mode.writes());
        let ids = ids.map(|&(position, _)| graph.vertex(position).id);
        let mut writes: Vec<Local> =
            ids.filter(|&id| contains(wanted.cut, id)).map(|id| self.local(id)).collect();
        for (index, extra) in wanted.extras.iter().enumerate() {
            if extra.access.object == object && extra.access.mode.writes() {
                writes.push(self.extra(wanted, index));
            }
        }
        // By thread, and in its order.
        writes.sort_unstable();
        writes
    }

    /// Puts `a` before `b`, with all that follows from it.
    pub(super) fn order(&mut self, a: Local, b: Local) -> Result<(), Conflict> {
        if self.is_before(a, b) {
            return Ok(());
        }
        if a == b || self.is_before(b, a) {
            return Err(Conflict);
        }
        let (thread, nth) = (self.thread_of[a], self.nth(a));
        self.absorb(b, a);
        let width = self.threads();
        let mine = &mut self.rows[b * width + thread];
        *mine = (*mine).max(nth + 1);
        // What comes after `b` is the end of each thread, and what is known there grows from event
        // to event.
        for thread in 0..self.threads() {
            let end = self.offsets[thread + 1];
            for later in self.first_after(b, thread)..end {
                if !self.absorb(later, b) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the first event of the thread that must come after `event`, or the end of the thread.
    pub(super) fn first_after(&self, event: Local, thread: usize) -> Local {
        let (mut low, mut high) = (self.offsets[thread], self.offsets[thread + 1]);
        while low < high {
            let middle = low.midpoint(high);
            if self.is_before(event, middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Orders everything that comes before `from` before `to`. Returns whether that is new.
    fn absorb(&mut self, to: Local, from: Local) -> bool {
        let width = self.threads();
        let mut changed = false;
        for thread in 0..width {
            let theirs = self.rows[from * width + thread];
            let mine = &mut self.rows[to * width + thread];
            changed |= theirs > *mine;
            *mine = (*mine).max(theirs);
        }
        changed
    }

    /// Decides all pairs that the order so far decides, to a fixpoint.
    fn saturate(&mut self) -> Result<(), Conflict> {
        loop {
            let (mut kept, mut changed) = (0, self.saturate_readings()?);
            for index in 0..self.open.len() {
                self.go_on()?;
                let [(a, b), (c, d)] = self.open[index];
                if self.is_before(a, b) || self.is_before(c, d) {
                    continue;
                }
                if self.is_before(b, a) {
                    self.order(c, d)?;
                    changed = true;
                } else if self.is_before(d, c) {
                    self.order(a, b)?;
                    changed = true;
                } else {
                    self.open[kept] = self.open[index];
                    kept += 1;
                }
            }
            self.open.truncate(kept);
            if !changed {
                return Ok(());
            }
        }
    }

    /// Asks for a solution of the 2-SAT problem. Returns whether it is a witness; if not, the order
    /// is as it was.
    fn satisfy(&mut self) -> Result<bool, Conflict> {
        let mut problem = TwoSat::default();
        // [l.6-9] A variable per pair: the first is before the second, or else the second before the first.
        let mut pairs: Vec<(Local, Local)> = Vec::new();
        for sides in &self.open {
            self.go_on()?;
            let [a, b] = sides.map(|(a, b)| literal(&mut pairs, a, b));
            problem.either(a, b);
        }
        // [l.10-17] [l.24-26] Orders that would close a cycle, with what is ordered already, exclude each other.
        for (i, &(a, b)) in pairs.iter().enumerate() {
            self.go_on()?;
            for (j, &(c, d)) in pairs.iter().enumerate().take(i) {
                let reaches = |x: Local, y: Local| x == y || self.is_before(x, y);
                for (first, (a, b)) in [(true, (a, b)), (false, (b, a))] {
                    for (second, (c, d)) in [(true, (c, d)), (false, (d, c))] {
                        if reaches(b, c) && reaches(d, a) {
                            problem.either(2 * i + usize::from(first), 2 * j + usize::from(second));
                        }
                    }
                }
            }
        }
        // [l.27]
        let values = problem.solve(pairs.len()).ok_or(Conflict)?;
        let (rows, open) = (self.rows.clone(), self.open.clone());
        // [l.28-29]
        let decided = pairs.iter().zip(values).try_for_each(|(&(a, b), forward)| {
            if forward { self.order(a, b) } else { self.order(b, a) }
        });
        if decided.and_then(|()| self.saturate()).is_ok() && self.open.is_empty() {
            return Ok(true);
        }
        (self.rows, self.open) = (rows, open);
        Ok(false)
    }

    /// Decides one pair after the other, first as in the current execution, and goes back if that
    /// does not work out.
    fn search(&mut self) -> Result<(), Conflict> {
        let Some(&(mut sides)) = self.open.first() else { return Ok(()) };
        let (a, b) = sides[0];
        if self.place[a] > self.place[b] {
            sides.reverse();
        }
        let (rows, open) = (self.rows.clone(), self.open.clone());
        for (a, b) in sides {
            if self.order(a, b).and_then(|()| self.saturate()).and_then(|()| self.search()).is_ok()
            {
                return Ok(());
            }
            self.rows.clone_from(&rows);
            self.open.clone_from(&open);
        }
        Err(Conflict)
    }

    /// Returns the thread and the event that comes first in the current execution, among those that can come after what is
    /// done and that `allows` accepts.
    pub(super) fn next_in_order(
        &self,
        done: &Cut,
        allows: impl Fn(usize) -> bool,
    ) -> Option<(usize, usize)> {
        let heads = (0..self.threads())
            .map(|thread| self.offsets[thread] + done[thread] as usize)
            .enumerate()
            .filter(|&(thread, head)| head < self.offsets[thread + 1]);
        let ready = heads.filter(|&(_, head)| {
            allows(head) && self.row(head).iter().zip(done).all(|(needed, done)| needed <= done)
        });
        ready.min_by_key(|&(_, head)| self.place[head])
    }

    /// Returns a linear order that contains the order so far: always the event that comes first in the
    /// current execution among those that can come next.
    fn linear_extension(&self) -> Vec<EventId> {
        // [l.30]
        let mut done: Cut = vec![0; self.threads()];
        let mut order = Vec::with_capacity(self.count());
        while order.len() < self.count() {
            let next = self.next_in_order(&done, |_| true);
            let (thread, head) = next.expect("internal error: a cycle in a saturated order");
            order.push(EventId { thread: ThreadId::new(thread), nth: self.nth(head) });
            done[thread] += 1;
        }
        order
    }
}

/// Returns the literal "`a` is before `b`".
fn literal(pairs: &mut Vec<(Local, Local)>, a: Local, b: Local) -> usize {
    let known = pairs.iter().position(|&pair| pair == (a, b) || pair == (b, a));
    let index = known.unwrap_or_else(|| {
        pairs.push((a, b));
        pairs.len() - 1
    });
    2 * index + usize::from(pairs[index] != (a, b))
}
