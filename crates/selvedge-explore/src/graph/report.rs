//! The result of a search through graphs.

use selvedge_core::{
    Bound, Counts, Ended, Ending, EventId, Fault, GraphSystem, Inconclusive, Label, Step, ThreadId,
    Verdict, Violation,
};

use super::event::Event;
use super::execution::Graph;
use super::race;
use super::search::Search;
use super::unit::Unit;
use super::witness::Witness;

/// Something that is wrong with a program.
#[derive(Clone, Debug)]
pub enum Finding {
    /// A thread failed.
    Fault(ThreadId, Fault),
    /// These threads are deadlocked.
    Deadlock(Vec<ThreadId>),
    /// These accesses are a data race.
    DataRace(EventId, EventId),
    /// The program found fault with how an execution ended: [`GraphSystem::judge`].
    Judged(Violation),
}

impl Finding {
    /// Returns whether both are the same to the user.
    fn same_as(&self, other: &Finding) -> bool {
        match (self, other) {
            (
                Finding::Fault(_, Fault::Violation(mine)),
                Finding::Fault(_, Fault::Violation(theirs)),
            ) => mine.same_as(theirs),
            (Finding::Deadlock(mine), Finding::Deadlock(theirs)) => mine == theirs,
            (Finding::DataRace(a, b), Finding::DataRace(c, d)) => (a, b) == (c, d),
            (Finding::Judged(mine), Finding::Judged(theirs)) => mine.same_as(theirs),
            _ => false,
        }
    }
}

/// The result of a search through graphs.
#[derive(Clone, Default, Debug)]
pub struct GraphReport {
    /// Executions by kind. Redundant ones are graphs that could only be continued with a thread that waits at a write which is not the
    /// last, and that led to nothing else.
    pub counts: Counts,
    /// Events that were added to graphs.
    pub events: u64,
    /// Events that were taken back at once because they made the graph inconsistent.
    pub inconsistent: u64,
    /// Events of the longest execution.
    pub longest: usize,
    /// Distinct findings in the order in which they were found, each with an execution that shows it.
    pub findings: Vec<(Finding, Witness)>,
    /// Why nothing is proved, if nothing is.
    pub inconclusive: Vec<Inconclusive>,
}

impl GraphReport {
    /// Returns the answer in one word.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(!self.findings.is_empty(), &self.inconclusive)
    }

    /// Notes a reason why nothing is proved, once.
    pub(super) fn note(&mut self, reason: Inconclusive) {
        if !self.inconclusive.contains(&reason) {
            self.inconclusive.push(reason);
        }
    }
}

/// Listens to a search through graphs, and can end it.
pub trait GraphObserver {
    /// A complete graph. Not called for redundant or cut ones.
    fn execution(&mut self, graph: &Graph, ending: Ending) {
        let _ = (graph, ending);
    }

    /// An execution that is counted has ended: these are its steps, with threads as the system numbers them, in the order of
    /// a [`Witness`].
    fn ended(&mut self, steps: &[Step], how: Ended) {
        let _ = (steps, how);
    }

    /// Returns whether [`ended`](Self::ended) is of use: a graph has to be put in order for it.
    fn wants_steps(&self) -> bool {
        false
    }

    /// Returns whether to give work away, asked after every execution and again after every unit that was taken.
    fn is_hungry(&mut self) -> bool {
        false
    }

    /// Takes a part of the search, which then has to be explored elsewhere:
    /// [`explore_unit`](super::explore_unit).
    fn take(&mut self, unit: Unit) {
        let _ = unit;
    }

    /// Called regularly. An answer ends the search.
    fn poll(&mut self, report: &GraphReport) -> Option<Bound> {
        let _ = report;
        None
    }
}

impl GraphObserver for crate::options::Silent {}

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Judges a graph in which no thread is enabled, unless one is held back, and plans the alternatives of the locks that wait in
    /// it.
    pub(super) fn finish(&mut self) {
        debug_assert!(!self.is_stale(), "internal error: waits at a write that is not the last");
        let is_complete = self.graph().held.is_empty();
        if is_complete {
            let level = self.levels.last().expect("internal error: no graph");
            if self.judge.admits(&level.graph) {
                self.conclude();
            } else {
                self.report.inconsistent += 1;
            }
        }
        for thread in self.graph().threads() {
            match self.graph().threads[thread.index()].stands {
                Some(Label::Lock(at)) => self.plan_steals(thread, at),
                Some(Label::Share(at)) => self.plan_shares(thread, at),
                _ => {}
            }
        }
        if !is_complete {
            if self.planned() != self.begun {
                return;
            }
            // Nothing else was found on the way to it.
            self.report.counts.redundant += 1;
            self.tell(Ended::Redundant);
        }
        self.after_execution();
    }

    /// Returns whether a thread waits at a write that is no longer the last one.
    fn is_stale(&self) -> bool {
        let graph = self.graph();
        let is_stale = |event: &Event| {
            event.is_blocked() && event.source() != event.at.map(|at| graph.last_write(at))
        };
        graph.threads().any(|thread| graph.last(thread).is_some_and(is_stale))
    }

    /// Ends an execution at a data race: what comes after it is undefined.
    pub(super) fn stop_at_race(&mut self) {
        self.report.longest = self.report.longest.max(self.graph().len());
        self.report.counts.complete += 1;
        for (first, second) in race::find(self.graph(), &|at| self.program.memory_of(at)) {
            self.find(Finding::DataRace(first, second));
        }
        let level = self.levels.last().expect("internal error: no graph");
        self.observer.execution(&level.graph, Ending::Complete);
        self.tell(Ended::Violated);
        self.after_execution();
    }

    /// Shows the observer how the execution ended, if it wants to know.
    pub(super) fn tell(&mut self, how: Ended) {
        if self.observer.wants_steps() {
            let witness = Witness::of(self.graph(), &|thread| self.program.is_root(thread));
            self.observer.ended(&witness.own_steps(), how);
        }
    }

    fn conclude(&mut self) {
        self.report.longest = self.report.longest.max(self.graph().len());
        let graph = self.graph();
        let standing = |thread: &ThreadId| graph.threads[thread.index()].stands;
        let waits = |label| {
            matches!(
                label,
                Some(Label::Lock(_) | Label::Share(_) | Label::Join(_) | Label::Await { .. })
            )
        };
        let failed: Vec<ThreadId> =
            graph.threads().filter(|thread| standing(thread) == Some(Label::Failed)).collect();
        let waiting: Vec<ThreadId> =
            graph.threads().filter(|thread| waits(standing(thread))).collect();
        let is_assumed = graph.threads().any(|thread| standing(&thread) == Some(Label::Assumed));
        // Under sequential consistency a data race leaves nothing undefined: it is reported only on request. Where threads
        // have memory of their own, it ended the execution.
        let wants_races =
            self.options.data_races || !(self.judge.is_sequential() || self.program.has_memory());
        let races = match wants_races {
            true => race::find(graph, &|at| self.program.memory_of(at)),
            false => Vec::new(),
        };
        // Before the program judges, which may end its threads.
        let faults: Vec<(ThreadId, Option<Fault>)> =
            failed.iter().map(|&thread| (thread, self.fault(thread))).collect();
        let level = self.levels.last().expect("internal error: no graph");
        let judged = self.program.judge(&level.graph);
        let Some(judged) = self.trust(judged) else { return };
        let has_judged = judged.is_some();
        let ending = match () {
            () if !failed.is_empty() => Ending::Complete,
            () if is_assumed => Ending::Blocked,
            () => match &judged {
                Some((ending, _)) => *ending,
                None if !waiting.is_empty() => Ending::Deadlocked,
                None => Ending::Complete,
            },
        };
        // A graph that is reached again by another order of readers is judged, too, but counted once.
        let is_first = self.graph().is_met_first();
        match ending {
            _ if !is_first => self.report.counts.redundant += 1,
            Ending::Complete => self.report.counts.complete += 1,
            Ending::Deadlocked => self.report.counts.deadlocked += 1,
            Ending::Blocked => self.report.counts.blocked += 1,
        }
        let is_deadlocked = ending == Ending::Deadlocked && !has_judged;
        let is_fault =
            |(_, fault): &(ThreadId, Option<Fault>)| matches!(fault, Some(Fault::Violation(_)));
        let is_violated = faults.iter().any(is_fault)
            || !races.is_empty()
            || matches!(judged, Some((_, Some(_))))
            || is_deadlocked;
        self.tell(match is_violated {
            _ if !is_first => Ended::Redundant,
            true => Ended::Violated,
            false => Ended::Maximal(ending),
        });
        for (thread, fault) in faults {
            match fault {
                Some(Fault::GaveUp(reason)) => self.report.note(Inconclusive::GaveUp(reason)),
                Some(fault) => self.find(Finding::Fault(thread, fault)),
                None => {}
            }
        }
        for (first, second) in races {
            self.find(Finding::DataRace(first, second));
        }
        if let Some((_, Some(violation))) = judged {
            self.find(Finding::Judged(violation));
        }
        if is_deadlocked {
            self.find(Finding::Deadlock(waiting));
        }
        if is_first {
            let level = self.levels.last().expect("internal error: no graph");
            self.observer.execution(&level.graph, ending);
        }
    }

    /// A thread failed in place of an event of the graph, when that was replayed in another order.
    pub(super) fn find_failed_instead(&mut self) {
        let roots: Vec<bool> = self.graph().threads().map(|it| self.program.is_root(it)).collect();
        let Some((thread, fault, order)) = self.program.failed_instead() else { return };
        let graph = &self.levels.last().expect("internal error: no graph").graph;
        let is_root = |thread: ThreadId| roots.get(thread.index()).is_some_and(|&root| root);
        let finding = Finding::Fault(thread, fault);
        if !self.report.findings.iter().any(|(known, _)| known.same_as(&finding)) {
            let witness = Witness::in_order(graph, &is_root, order);
            self.report.findings.push((finding, witness));
        }
    }

    fn find(&mut self, finding: Finding) {
        if !self.report.findings.iter().any(|(known, _)| known.same_as(&finding)) {
            let is_root = |thread| self.program.is_root(thread);
            let witness = match finding {
                Finding::Fault(..) | Finding::Judged(_) if self.program.has_memory() => {
                    Witness::of_run(self.graph(), &is_root, self.program.ran())
                }
                Finding::DataRace(first, second) if self.program.has_memory() => {
                    Witness::of_race(self.graph(), &is_root, [first, second])
                }
                _ => Witness::of(self.graph(), &is_root),
            };
            self.report.findings.push((finding, witness));
        }
        self.stopped |= !self.options.keep_going;
    }
}
