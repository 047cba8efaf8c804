//! Finds children: what an event on the path could observe instead.
//!
//! Let `r` be the event of a branch and `e` a later event. Candidates are:
//!
//! 1. *`e` writes what `r` reads.* The events of the branch and the past of `e`, then `r`. If `e` is
//!    the last event so far, then `r` observes it.
//! 2. *`r` and `e` are both read-modify-writes, and `e` observes `r`.* Then `e` cannot be observed by
//!    `r`, but it could have come before it: first `e`, which observes what `r` observed, and then `r`.
//!    Whether `e` still writes is found out by running it (a compare-exchange may fail).
//! 3. *They touch something ordered, and do not commute.* Also first `e`, then `r`. If
//!    `e` makes `r` wait (it took the lock), then `e` takes the place of `r`, which comes later or never.
//!    A step that waits at the end of the execution counts as an `e` too. Where `r` made `e` wait, what
//!    `e` is to come after is not told by what it came after: see `parts.rs`.
//!
//! In its new place `e` may touch other things than it did (a block decides again), and so what it is to
//! come after is not known yet. Therefore all that was put ahead of `r` in a child of kind 3 stays open for
//! reversal: a later event that conflicts with it is put before it, and `r` still comes last.
//!
//! The past of `e` is all that is taken along, so that a class is never split. By induction on the
//! size of what `r` observes, all children are found: take away a last event of it, and what `r` does
//! then is a child that is smaller, below which that event occurs again, as an `e`.
//!
//! Writes that come before the branch are candidates at once; for them the question is whether the
//! observation is possible at all (`realize.rs`).

use selvedge_core::{
    Access, EventId, Flexibility, Mode, ObjectId, Position, Status, Step, System, ThreadId, commute,
};
use smallvec::{SmallVec, smallvec};

use super::DataCentric;
use super::branch::{Branch, Child, Goal, Key, Role, Subject};
use super::graph::{Cut, Discipline, contains, join};
use super::print::Print;
use super::realize::{Extra, Wanted};
use crate::trace::races::NOT_REPRODUCIBLE;

/// An event, or a step that waits at the end.
pub(super) struct Later {
    thread: ThreadId,
    /// The event before it in its thread, or the one that created the thread.
    pub(super) previous: Option<Position>,
    /// Where it is.
    pub(super) position: Position,
    /// Whether other events can make it wait.
    pub(super) waits: bool,
}

impl<S: System> DataCentric<'_, S> {
    /// Finds children of the branches on the path: what the event at `position`, which is new,
    /// makes possible.
    pub(super) fn discover(&mut self, position: Position) {
        let id = self.graph.vertex(position).id;
        let cause = || self.cause(position).and_then(|cause| self.graph.find(cause));
        let previous = self.graph.previous(position).or_else(cause);
        let waits = can_wait(self.graph.vertex(position).flexibility);
        let later = Later { thread: id.thread, previous, position, waits };
        for index in 0..self.run.execution.accesses(position).len() {
            let access = self.run.execution.accesses(position)[index];
            self.discover_by(&later, access, &[]);
        }
    }

    /// Finds children that the steps that are pending at the end make possible: those that wait,
    /// or those that were cut off.
    pub(super) fn discover_at_end(&mut self) {
        for thread in self.run.threads() {
            let status = self.run.system.status(thread);
            if !matches!(status, Status::Blocked | Status::Enabled) {
                continue;
            }
            let mut effect = std::mem::take(&mut self.pending);
            self.run.system.pending(Step::of(thread), &mut effect);
            let accesses = effect.footprint.accesses();
            if status == Status::Blocked {
                let blocking = Flexibility::Blocking;
                self.learned |= self.lessons.learn(&mut self.graph, accesses, blocking);
            }
            let position = Position::new(self.graph.len());
            let cause = || self.graph.cause(accesses, position);
            let previous = self.graph.of_thread(thread.index()).last().copied().or_else(cause);
            let waits = status == Status::Blocked || can_wait(effect.flexibility);
            let later = Later { thread, previous, position, waits };
            for &access in accesses {
                self.discover_by(&later, access, accesses);
            }
            self.pending = effect;
        }
    }

    /// What one access of a later step makes possible. `pending`: all its accesses, if it is one.
    fn discover_by(&mut self, later: &Later, access: Access, pending: &[Access]) {
        let discipline = self.graph.discipline(access.object);
        for index in (0..self.graph.history(access.object).len()).rev() {
            let (earlier, mode) = self.graph.history(access.object)[index];
            let id = self.graph.vertex(earlier).id;
            if id.thread == later.thread || earlier > later.position {
                continue;
            }
            let Some(role) = self.role(id) else { continue };
            if later.previous.is_some_and(|previous| self.graph.is_past(earlier, previous)) {
                continue;
            }
            match discipline {
                Discipline::Unobserved => {}
                Discipline::Ordered => {
                    if !commute(mode, access.mode) && !self.is_needed(mode, access.mode, later) {
                        self.reverse(role, earlier, later, pending);
                    }
                }
                Discipline::Observed | Discipline::OrderedWrites if !pending.is_empty() => {
                    if access.mode.writes() {
                        self.reverse_after(role, earlier, later, &[]);
                    }
                }
                Discipline::Observed | Discipline::OrderedWrites => {
                    if let Role::Own(branch) = role {
                        self.mutate(branch, earlier, mode, later, access);
                    }
                    let flexibility = self.graph.vertex(later.position).flexibility;
                    let may_write = access.mode.writes() || flexibility == Flexibility::Conditional;
                    let both_write = mode.writes() && may_write;
                    if discipline == Discipline::OrderedWrites && both_write {
                        self.reverse(role, earlier, later, pending);
                    }
                }
            }
        }
    }

    /// Returns whether the later step cannot run without the earlier access, whatever else happens.
    fn is_needed(&self, earlier: Mode, mode: Mode, later: &Later) -> bool {
        match (earlier, mode) {
            (Mode::Spawn, Mode::Begin) | (Mode::End, Mode::Join) | (Mode::Wake, Mode::Woken) => {
                true
            }
            // A lock that was only tried could be found taken.
            (Mode::Release, Mode::Acquire) => {
                let vertex = self.graph.vertices().get(later.position.index());
                vertex.is_none_or(|vertex| vertex.flexibility == Flexibility::Lock)
            }
            _ => false,
        }
    }

    /// Candidates 1 and 2, for a variable of which observations matter.
    fn mutate(
        &mut self,
        branch: usize,
        earlier: Position,
        mode: Mode,
        later: &Later,
        access: Access,
    ) {
        if !mode.reads() {
            return;
        }
        let vertex = *self.graph.vertex(later.position);
        if access.mode.writes() && !self.graph.is_past(earlier, later.position) {
            return self.observe_later(branch, earlier, access.object, later.position);
        }
        let may_write = access.mode.writes() || vertex.flexibility == Flexibility::Conditional;
        if vertex.source == Some(earlier) && may_write {
            self.observe_swapped(branch, earlier, access.object, later);
        }
    }

    /// Candidate 1: the branch's event, at `earlier`, is to observe the later write.
    fn observe_later(
        &mut self,
        branch: usize,
        earlier: Position,
        object: ObjectId,
        write: Position,
    ) {
        let source = self.graph.vertex(write).print;
        if !self.branches[branch].is_new(Key::source(Some(source))) {
            return;
        }
        let mut cut = self.branches[branch].base.clone();
        join(&mut cut, self.graph.clock(write));
        let step = Step::of(self.graph.vertex(earlier).id.thread);
        if self.last_write_in(object, &cut) == Some(write) {
            let (mut steps, prints) = self.graph.steps_of(&cut);
            steps.push(step);
            let at = steps.len() - 1;
            let goal = Goal::Observes { at, source: Some(source), only_reading: false };
            self.branches[branch].queue.push(Child { steps, goal, prints });
        } else {
            let write = self.graph.vertex(write).id;
            self.realize_observation(branch, earlier, object, &cut, Some(write));
        }
    }

    /// Candidate 2: the later read-modify-write, which observes the branch's event, is to come
    /// before it.
    fn observe_swapped(
        &mut self,
        branch: usize,
        earlier: Position,
        object: ObjectId,
        later: &Later,
    ) {
        let vertex = self.graph.vertex(earlier);
        let (id, source) = (vertex.id, vertex.source);
        let print_of = |position: Option<Position>| {
            position.map_or(Print::default(), |position| self.graph.vertex(position).print)
        };
        let key = Print::start(u64::from(later.thread.number()))
            .then(print_of(later.previous))
            .then(print_of(source));
        if !self.branches[branch].is_new(Key::Reversal.of(key)) {
            return;
        }
        let cut = self.cut_without(branch, earlier, later.previous.into_iter());
        let first = Step::of(later.thread);
        let (steps, prints) = if self.last_write_in(object, &cut) == source {
            self.graph.steps_of(&cut)
        } else {
            // The two must come directly after each other, wherever that is possible.
            let access = Access { object, mode: Mode::Update };
            let source = source.map(|source| self.graph.vertex(source).id);
            let swapped = EventId {
                thread: later.thread,
                nth: cut.get(later.thread.index()).copied().unwrap_or(0),
            };
            let cause = self.cause(later.position);
            let own_cause = self.cause(earlier);
            let extras = [
                Extra { step: first, access, source, cause },
                Extra {
                    step: Step::of(id.thread),
                    access,
                    source: Some(swapped),
                    cause: own_cause,
                },
            ];
            let Some(order) = self.order(&cut, &extras) else { return };
            let prints = self.graph.steps_of(&cut).1;
            let place = |id| order.iter().position(|&(_, other)| other == id);
            let (first, at) = place(swapped).zip(place(id)).expect("the extra events are there");
            let steps = order.into_iter().map(|(step, _)| step).collect();
            let goal = Goal::Swapped { first, at };
            return self.branches[branch].queue.push(Child { steps, goal, prints });
        };
        let goal = Goal::Reversed { ahead: smallvec![first], own: 0 };
        self.branches[branch].queue.push(Child { steps, goal, prints });
    }

    /// Candidate 3: the later step is to come before the branch's event, at `earlier`.
    fn reverse(&mut self, role: Role, earlier: Position, later: &Later, pending: &[Access]) {
        let accesses = match pending {
            [] => self.run.execution.accesses(later.position).to_vec(),
            pending => pending.to_vec(),
        };
        let is_pending = later.position.index() == self.graph.len();
        if (later.waits || is_pending) && !self.is_alone(earlier, &accesses) {
            for kept in self.parts(role, earlier, later, &accesses) {
                self.reverse_after(role, earlier, later, &kept);
            }
            return;
        }
        let mut kept: Vec<Position> = Vec::new();
        for access in accesses {
            if self.graph.discipline(access.object) == Discipline::Ordered {
                kept.extend(self.kept_without(earlier, access, later.position));
            }
        }
        kept.sort_unstable();
        kept.dedup();
        self.reverse_after(role, earlier, later, &kept);
    }

    /// Returns whether all that the accesses conflict with is ordered with the event at `earlier`: they touch one
    /// object, which that event has for itself.
    fn is_alone(&self, earlier: Position, accesses: &[Access]) -> bool {
        let mut own = accesses.iter().filter(|access| !access.mode.is_cause());
        let (Some(one), None) = (own.next(), own.next()) else { return false };
        let theirs = self.run.execution.accesses(earlier).iter();
        theirs.filter(|other| other.object == one.object).all(|it| !commute(it.mode, it.mode))
    }

    /// What an access at `later` comes after, of all that does not come after `earlier`.
    fn kept_without(&self, earlier: Position, access: Access, later: Position) -> Vec<Position> {
        let stays = |other: &Position| !self.graph.is_past(earlier, *other);
        let below: Vec<Position> = self.graph.below(access.object, access.mode, later).collect();
        if below.iter().all(stays) {
            return below;
        }
        // Those directly below it hide others that stay.
        let history = self.graph.history(access.object).iter();
        let before = history.filter(|&&(other, mode)| other < later && !commute(mode, access.mode));
        before.map(|&(other, _)| other).filter(stays).collect()
    }

    /// Candidate 3, with what the later step comes directly after.
    fn reverse_after(&mut self, role: Role, earlier: Position, later: &Later, kept: &[Position]) {
        let branch = match role {
            Role::Own(branch) | Role::Ahead(branch) => branch,
        };
        let others = later.previous.into_iter().chain(kept.iter().copied());
        let cut = self.cut_without(branch, earlier, others);
        // If it needs the branch's event, it cannot come ahead of it.
        let own = self.branches[branch].event().expect("internal error: no event to reverse");
        if contains(&cut, own) || own.thread == later.thread {
            return;
        }
        let Role::Ahead(_) = role else {
            return self.queue_reversed(branch, earlier, later, kept, &cut, &[]);
        };
        let rest = self.ahead_after(branch, later, &cut);
        let from = rest.partition_point(|&other| other < earlier);
        if from > 0 {
            self.queue_reversed(branch, earlier, later, kept, &cut, &rest[from..]);
        }
        self.queue_reversed(branch, earlier, later, kept, &cut, &rest);
    }

    /// Queues the child with the events of the cut, then the later step, then those of `rest`, and then the
    /// branch's event.
    fn queue_reversed(
        &mut self,
        branch: usize,
        earlier: Position,
        later: &Later,
        kept: &[Position],
        cut: &[u32],
        rest: &[Position],
    ) {
        let print_of = |position: Position| self.graph.vertex(position).print;
        let all = |positions: &[Position]| {
            positions.iter().fold(Print::default(), |all, &one| all.and(print_of(one)))
        };
        let key = Print::start(u64::from(later.thread.number()))
            .then(print_of(earlier))
            .then(later.previous.map_or(Print::default(), print_of))
            .then(all(kept))
            .then(all(rest));
        if !self.branches[branch].is_new(Key::Reversal.of(key)) {
            return;
        }
        let (steps, prints) = self.graph.steps_of(cut);
        let rest = rest.iter().map(|&other| Step::of(self.graph.vertex(other).id.thread));
        let ahead = std::iter::once(Step::of(later.thread)).chain(rest).collect();
        let goal = Goal::Reversed { ahead, own: 0 };
        self.branches[branch].queue.push(Child { steps, goal, prints });
    }

    /// The events ahead of the branch's that can come after the later step, which is put before one of them.
    /// The branch's event may observe any of them. But those before that one may be unable to run there:
    /// they are tried and left out.
    fn ahead_after(&self, branch: usize, later: &Later, cut: &[u32]) -> Vec<Position> {
        let ahead = self.branches[branch].ahead.iter();
        let rest = ahead.filter(|other| other.thread != later.thread && !contains(cut, **other));
        rest.filter_map(|&other| self.graph.find(other)).collect()
    }

    /// The events of the branch, what its event at `earlier` observes, and the past of `others`.
    pub(super) fn cut_without(
        &self,
        branch: usize,
        earlier: Position,
        others: impl Iterator<Item = Position>,
    ) -> Cut {
        let id = self.graph.vertex(earlier).id;
        let mut cut = self.branches[branch].base.clone();
        join(&mut cut, self.graph.clock(earlier));
        others.for_each(|other| join(&mut cut, self.graph.clock(other)));
        cut[id.thread.index()] = id.nth;
        cut
    }

    /// Returns the last write to the variable among the events of the cut.
    fn last_write_in(&self, object: ObjectId, cut: &[u32]) -> Option<Position> {
        let mut writes = self.graph.history(object).iter().rev().filter(|(_, mode)| mode.writes());
        let inside = |position| contains(cut, self.graph.vertex(position).id);
        writes.find(|&&(position, _)| inside(position)).map(|&(position, _)| position)
    }

    /// Makes a branch of the event at `position`, the last one, and finds what it could observe of
    /// what came before.
    pub(super) fn branch(&mut self, position: Position) {
        let vertex = *self.graph.vertex(position);
        let mut base = self.graph.cut();
        base[vertex.id.thread.index()] -= 1;
        let mut branch = Branch::new(Subject::Event(vertex.id), base);
        branch.is_new(Key::Found.of(vertex.print));
        let source = vertex.source.map(|source| self.graph.vertex(source).print);
        branch.is_new(Key::source(source));
        self.push_branch(branch);
        self.queue_alternatives(self.branches.len() - 1, &[position.index()]);
        if let Some(access) = vertex.variable
            && access.mode.reads()
        {
            self.observe_earlier(position, access.object);
        }
    }

    /// Queues the other alternatives of the branch's event, the last of the `new` ones, which was
    /// just taken with the first.
    pub(super) fn queue_alternatives(&mut self, branch: usize, new: &[usize]) {
        let &at = new.last().expect("internal error: nothing new");
        let choices = self.run.execution.event(Position::new(at)).choices;
        for choice in 1..choices {
            let mut steps = self.run.execution.steps().to_vec();
            steps[at].choice = choice;
            let goal = Goal::Alternative { new: SmallVec::from_slice(new) };
            let prints = self.prints_without(at);
            self.branches[branch].queue.push(Child { steps, goal, prints });
        }
    }

    /// Returns the prints of all events but the one at `at`.
    pub(super) fn prints_without(&self, at: usize) -> Print {
        let vertices = self.graph.vertices().iter().enumerate();
        vertices.filter(|&(i, _)| i != at).fold(Print::default(), |all, (_, v)| all.and(v.print))
    }

    /// Which other writes before the branch its event, the last one, could observe.
    fn observe_earlier(&mut self, position: Position, object: ObjectId) {
        let branch = self.branches.len() - 1;
        let current = self.graph.vertex(position).source;
        let previous = self.graph.previous(position);
        let is_past =
            |write: Position| previous.is_some_and(|previous| self.graph.is_past(write, previous));
        let writes: Vec<Position> = self
            .graph
            .history(object)
            .iter()
            .filter(|&&(other, mode)| mode.writes() && other < position)
            .map(|&(other, _)| other)
            .collect();
        // How many events of each thread come before a write that the event must come after.
        let mut covered: Cut = Vec::new();
        for &other in writes.iter().filter(|&&other| is_past(other)) {
            let id = self.graph.vertex(other).id;
            let mut before = self.graph.clock(other).to_vec();
            before[id.thread.index()] = id.nth;
            join(&mut covered, &before);
        }
        let overwritten = |write: Option<Position>| match write {
            None => !covered.is_empty(),
            Some(write) => contains(&covered, self.graph.vertex(write).id),
        };
        let sources: Vec<Option<Position>> = std::iter::once(None)
            .chain(writes.iter().copied().map(Some))
            .filter(|&write| write != current && !overwritten(write))
            .collect();
        for source in sources {
            let print = source.map(|source| self.graph.vertex(source).print);
            let source = source.map(|source| self.graph.vertex(source).id);
            self.branches[branch].is_new(Key::source(print));
            self.branches[branch].questions.push(source);
        }
    }

    /// Asks the questions of the branch, the last one, and queues a child for each "yes". To be
    /// called before the first of its children is left.
    pub(super) fn ask(&mut self) {
        let index = self.branches.len() - 1;
        let questions = std::mem::take(&mut self.branches[index].questions);
        let Some(event) = self.branches[index].event().filter(|_| !questions.is_empty()) else {
            return;
        };
        // The current execution has all events of the branch, and its own, if the program does the same
        // every time.
        let Some(position) = self.graph.find(event) else {
            return self.run.give_up(NOT_REPRODUCIBLE.to_owned());
        };
        let variable = self.graph.vertex(position).variable;
        let object = variable.expect("internal error: the event reads nothing").object;
        let base = self.branches[index].base.clone();
        for source in questions {
            self.realize_observation(index, position, object, &base, source);
        }
    }

    /// Asks whether the branch's event, now at `earlier`, can observe the write after the events
    /// of the cut, and queues that.
    fn realize_observation(
        &mut self,
        branch: usize,
        earlier: Position,
        object: ObjectId,
        cut: &[u32],
        source: Option<EventId>,
    ) {
        let vertex = self.graph.vertex(earlier);
        let (id, step) = (vertex.id, Step::of(vertex.id.thread));
        let vertex_flexibility = vertex.flexibility;
        let mode = vertex.variable.map_or(Mode::Read, |access| access.mode);
        // Whether a compare-exchange writes depends on what it observes. What is possible if it
        // writes is possible if it does not.
        let ordered = self.graph.discipline(object) == Discipline::OrderedWrites;
        let modes: &[Mode] = match (vertex.flexibility, mode) {
            // In the order of writes it can only be the last one: see `reverse`.
            (Flexibility::Conditional, _) if ordered => &[Mode::Read],
            (_, Mode::Update) if ordered => &[],
            (Flexibility::Conditional, _) => &[Mode::Update, Mode::Read],
            (_, Mode::Update) => &[Mode::Update],
            _ => &[Mode::Read],
        };
        let print = source.map(|source| {
            let position = self.graph.find(source).expect("internal error: the write is gone");
            self.graph.vertex(position).print
        });
        let cause = self.cause(earlier);
        for &mode in modes {
            let extra = Extra { step, access: Access { object, mode }, source, cause };
            if let Some(order) = self.order(cut, &[extra]) {
                let at = order.iter().position(|&(_, other)| other == id);
                let at = at.expect("internal error: the event is not in the order");
                let only_reading =
                    mode == Mode::Read && vertex_flexibility == Flexibility::Conditional;
                let goal = Goal::Observes { at, source: print, only_reading };
                let prints = self.graph.steps_of(cut).1;
                let steps = order.into_iter().map(|(step, _)| step).collect();
                return self.branches[branch].queue.push(Child { steps, goal, prints });
            }
        }
    }

    /// Returns the event that created the thread, if the one at `position` is its first.
    pub(super) fn cause(&self, position: Position) -> Option<EventId> {
        let cause = self.graph.cause(self.run.execution.accesses(position), position)?;
        Some(self.graph.vertex(cause).id)
    }

    /// Returns an order of the events of the cut and the extra ones in which everybody observes what it
    /// is to observe.
    pub(super) fn order(&mut self, cut: &[u32], extras: &[Extra]) -> Option<Vec<(Step, EventId)>> {
        let wanted = Wanted { cut, extras, last: &[], either: &[] };
        let order = self.realizer.realize(&self.graph, &wanted)?;
        let step_of = |id: EventId| {
            if contains(cut, id) {
                let position = self.graph.find(id).expect("internal error: not in the execution");
                self.graph.vertex(position).step()
            } else {
                Step::of(id.thread)
            }
        };
        Some(order.into_iter().map(|id| (step_of(id), id)).collect())
    }
}

fn can_wait(flexibility: Flexibility) -> bool {
    matches!(flexibility, Flexibility::Lock | Flexibility::Blocking)
}
