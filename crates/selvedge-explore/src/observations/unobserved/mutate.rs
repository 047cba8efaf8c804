//! Runs an execution in which a decision observes something else.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use selvedge_core::{Access, EventId, Flexibility, Mode, Position, Step, System, ThreadId};

use super::super::graph::{Cut, contains, join};
use super::super::may_write;
use super::super::realize::{Extra, Wanted};
use super::plan::{Answer, Goal, Plan, Walk};
use super::{Forbidden, Observation, Unobserved, sections};

const TOO_HARD: &str = "`--unobserved-locks` could not decide whether an observation is possible; leave \
                        it out, and the order of locks is observed";

impl<S: System> Unobserved<'_, S> {
    /// Runs an execution that has the annotation and in which the decision at `position` observes
    /// that, and annotates it. Returns whether there is any.
    pub(super) fn mutate(
        &mut self,
        annotated: &mut FxHashSet<EventId>,
        position: Position,
        observation: Observation,
        forbidden: &Forbidden,
    ) -> bool {
        let cut = self.needed(annotated, position, observation);
        let vertex = *self.graph.vertex(position);
        debug_assert!(
            !contains(&cut, vertex.id),
            "internal error: it observes what comes after it"
        );
        let orders = self.orders(&cut, position, observation);
        let plan = Plan::new(&self.graph, &cut, vertex, observation);
        // [l.4-5]
        if !self.realize(&plan, &orders, &cut, forbidden) {
            return false;
        }
        // [l.6]
        self.run_to_end(forbidden);
        annotated.insert(vertex.id);
        if self.is_over() || !self.has_forbidden(annotated, forbidden) {
            self.finish();
            return true;
        }
        self.avoid_forbidden(&plan, forbidden)
    }

    /// Returns what must happen before the decision at `position` can observe that, with everything that
    /// is annotated.
    fn needed(
        &self,
        annotated: &FxHashSet<EventId>,
        position: Position,
        observation: Observation,
    ) -> Cut {
        let find = |id| self.graph.find(id).expect("internal error: it is in the execution");
        let source = match observation {
            Observation::Source(source) => source.map(find),
            Observation::Choice(_) => None,
        };
        let cause = self.graph.cause(self.run.execution.accesses(position), position);
        let before = self.graph.previous(position).into_iter().chain(cause).chain(source);
        let mut cut: Cut = Vec::new();
        for before in annotated.iter().map(|&id| find(id)).chain(before) {
            join(&mut cut, self.graph.clock(before));
        }
        cut
    }

    /// Orders of the events of the cut and then the decision at `position` that do not contradict
    /// what is observed: one for each thing that the decision may turn out to do.
    fn orders(
        &mut self,
        cut: &[u32],
        position: Position,
        observation: Observation,
    ) -> Vec<Vec<EventId>> {
        let vertex = *self.graph.vertex(position);
        let (Observation::Source(source), Some(access)) = (observation, vertex.variable) else {
            let either = sections::exclusive(&self.graph, cut, None);
            let wanted = Wanted { cut, extras: &[], last: &[], either: &either };
            let mut order = self.realizer.realize(&self.graph, &wanted);
            order.iter_mut().for_each(|order| order.push(vertex.id));
            return order.into_iter().collect();
        };
        let modes: &[Mode] = match (vertex.flexibility, access.mode) {
            (Flexibility::Conditional, _) => &[Mode::Update, Mode::Read],
            (_, Mode::Update) => &[Mode::Update],
            _ => &[Mode::Read],
        };
        let cause = self.graph.cause(self.run.execution.accesses(position), position);
        let cause = cause.map(|cause| self.graph.vertex(cause).id);
        let either = sections::exclusive(&self.graph, cut, Some(vertex.id));
        let mut orders = Vec::new();
        for &mode in modes {
            let (step, access) = (Step::of(vertex.id.thread), Access { mode, ..access });
            let extras = [Extra { step, access, source, cause }];
            let wanted = Wanted { cut, extras: &extras, last: &[], either: &either };
            orders.extend(self.realizer.realize(&self.graph, &wanted));
        }
        orders
    }

    /// Runs the events of the plan. Returns whether that is possible.
    fn realize(
        &mut self,
        plan: &Plan,
        orders: &[Vec<EventId>],
        cut: &[u32],
        forbidden: &Forbidden,
    ) -> bool {
        let before: Rc<[Step]> = Rc::from(self.run.execution.steps());
        let mut found = Answer::No;
        for order in orders {
            self.go_to(&[]);
            match self.follow(plan, order, forbidden) {
                Answer::Yes => return true,
                Answer::Unknown => found = Answer::Unknown,
                Answer::No => {}
            }
        }
        if found == Answer::Unknown && !self.is_over() {
            self.by_running += 1;
            found = self.run_holders_on(plan, &before, cut, forbidden);
        }
        if found == Answer::Unknown && !self.is_over() {
            self.gave_up = Some(TOO_HARD.to_owned());
        }
        found == Answer::Yes
    }

    /// Tries all orders in which the threads run on that would be left with a lock. If it turns out that
    /// others could make a difference, tries all orders.
    fn run_holders_on(
        &mut self,
        plan: &Plan,
        before: &[Step],
        cut: &[u32],
        forbidden: &Forbidden,
    ) -> Answer {
        let holders = plan.holders();
        let mut walk = Walk::new(Goal::Annotation, Some(&holders), self.run.options.caps.states);
        let found = self.find_a_way(plan, forbidden, &mut walk);
        if found != Answer::No {
            return found;
        }
        self.go_to(before);
        let is_other = |thread: &usize| !holders.get(*thread).is_some_and(|&holds| holds);
        let others = (0..self.graph.cut().len()).filter(is_other).any(|thread| {
            let done = cut.get(thread).map_or(0, |&count| count as usize);
            let next = self.graph.of_thread(thread).get(done).copied();
            next.is_some_and(|next| {
                self.run.sync_to(next.index());
                let thread = ThreadId::new(thread);
                let system = &mut self.run.system;
                walk.joins || walk.read.iter().any(|&x| may_write(system, thread, x))
            })
        });
        if !others {
            return Answer::No;
        }
        self.find_a_way(
            plan,
            forbidden,
            &mut Walk::new(Goal::Annotation, None, self.run.options.caps.states),
        )
    }

    /// Looks for an execution of the plan with nothing forbidden, in place of the current one. Tells
    /// whether there may be any.
    fn avoid_forbidden(&mut self, plan: &Plan, forbidden: &Forbidden) -> bool {
        let redundant: Rc<[Step]> = Rc::from(self.run.execution.steps());
        let mut walk = Walk::new(Goal::End, None, self.run.options.caps.states_to_avoid_redundancy);
        let found = self.find_a_way(plan, forbidden, &mut walk);
        match found {
            Answer::Yes => self.finish(),
            Answer::No => self.finish_redundant(),
            Answer::Unknown => {
                self.go_to(&redundant);
                self.finish_redundant();
            }
        }
        found != Answer::No
    }
}
