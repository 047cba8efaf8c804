//! A program in which writes and sends are put down in no order, and the first step that reads decides which one was last.
//!
//! | operation | here |
//! |---|---|
//! | a write of a variable | [`Mode::Put`], which commutes with others |
//! | a read of a variable with writes of which none happens after the others | a step with as many alternatives as there are such writes: the one that it finds comes last |
//! | a further read before the next write | has the same alternatives, of which only the one that was found is possible |
//! | a send | [`Mode::Put`]; `mailboxes.rs` checks that no receive can tell |
//!
//! The traces of this program are the classes of executions that observers distinguish. The system inside is always in the state
//! after an interleaving of the same events: when a read decides that a write comes last, the interleaving is changed and run
//! again from where it differs.

use std::cell::RefCell;
use std::rc::Rc;

use selvedge_core::{
    Access, Ahead, Effect, Ending, Flexibility, Footprint, Freed, Mode, ObjectId, Position, Status,
    Step, System, ThreadId, Values, Violation, forward_system, without,
};
use smallvec::SmallVec;

use super::lessons::Lessons;
use super::line::Line;
use super::objects::Object;

/// A system with writes and sends in no order.
pub(super) struct Observed<S> {
    pub(super) system: S,
    pub(super) line: Rc<RefCell<Line>>,
    objects: Vec<Object>,
    lessons: Rc<RefCell<Lessons>>,
    /// Whether the order of all accesses to an object counts, if that was asked before.
    ordered: RefCell<Vec<Option<bool>>>,
    /// The pending step of each thread.
    pending: Vec<Option<Pending>>,
    effect: Effect,
}

/// What is known of a pending step.
struct Pending {
    /// The variables without order that it reads.
    reads: SmallVec<[ObjectId; 2]>,
    /// Whether it accesses the same in every state.
    is_fixed: bool,
}

impl<S: System> Observed<S> {
    pub(super) fn new(system: S, line: &Rc<RefCell<Line>>, lessons: &Rc<RefCell<Lessons>>) -> Self {
        Self {
            system,
            line: Rc::clone(line),
            objects: Vec::new(),
            lessons: Rc::clone(lessons),
            ordered: RefCell::default(),
            pending: Vec::new(),
            effect: Effect::default(),
        }
    }

    /// What was learned about objects has changed.
    pub(super) fn forget_lessons(&mut self) {
        self.ordered.borrow_mut().clear();
        self.pending.clear();
        self.refresh();
    }

    /// Returns whether the step, one of the alternatives of an enabled thread, can be taken now: whether the write that it
    /// finds can come last, after all that was decided before.
    pub(super) fn is_possible(&self, step: Step) -> bool {
        let Some(object) = self.undecided(step.thread) else { return true };
        let object = &self.objects[object.index()];
        match object.found() {
            Some(found) => step.choice == found,
            None => {
                let candidates = object.candidates().unwrap_or_default();
                let after = self.line.borrow().after(candidates[step.choice as usize]);
                let is_later = |other: &&Position| after[other.index()];
                candidates.iter().filter(is_later).count() == 1
            }
        }
    }

    /// Returns whether the order of accesses to the object is left open.
    pub(super) fn is_open(&self, object: ObjectId) -> bool {
        let mut ordered = self.ordered.borrow_mut();
        if ordered.len() <= object.index() {
            ordered.resize(object.index() + 1, None);
        }
        !*ordered[object.index()]
            .get_or_insert_with(|| self.lessons.borrow().is_ordered(self.system.object_key(object)))
    }

    pub(super) fn learn(&self, object: ObjectId) {
        if self.is_open(object) {
            self.lessons.borrow_mut().learn(self.system.object_key(object));
        }
    }

    /// Returns the variable, if there is one, of which the pending step of a thread may find several writes.
    fn undecided(&self, thread: ThreadId) -> Option<ObjectId> {
        let pending = self.pending.get(thread.index())?.as_ref()?;
        let mut several = self.several(&pending.reads);
        several.next()
    }

    fn several<'a>(&'a self, objects: &'a [ObjectId]) -> impl Iterator<Item = ObjectId> + 'a {
        let is_open = |object: &ObjectId| {
            self.objects.get(object.index()).is_some_and(|object| object.candidates().is_some())
        };
        objects.iter().copied().filter(is_open)
    }

    /// Looks at the pending steps of all threads.
    fn refresh(&mut self) {
        let count = self.system.thread_count();
        self.pending.resize_with(count, || None);
        let mut effect = std::mem::take(&mut self.effect);
        for thread in (0..count).map(ThreadId::new) {
            let status = self.system.status(thread);
            if !matches!(status, Status::Enabled | Status::Blocked) {
                self.pending[thread.index()] = None;
                continue;
            }
            if !self.pending[thread.index()].as_ref().is_some_and(|pending| pending.is_fixed) {
                self.system.pending(Step::of(thread), &mut effect);
                let mut reads = self.reads(&effect);
                if status == Status::Enabled && self.system.choices(thread) > 1 {
                    reads.drain(..).for_each(|object| self.learn(object));
                }
                let is_fixed = effect.flexibility == Flexibility::Fixed;
                self.pending[thread.index()] = Some(Pending { reads, is_fixed });
            }
            if let Some(pending) = &self.pending[thread.index()]
                && self.several(&pending.reads).count() > 1
            {
                self.several(&pending.reads).for_each(|object| self.learn(object));
            }
            self.compare_alternatives(thread, &mut effect);
        }
        self.effect = effect;
    }

    /// Alternatives of a step have to access the same, as the contract of systems says. If what the step does depends on what
    /// it finds, as with a compare-exchange, the order of all accesses to the variable counts.
    fn compare_alternatives(&mut self, thread: ThreadId, effect: &mut Effect) {
        let is_fixed = |pending: &Pending| pending.is_fixed;
        let Some(object) = self.undecided(thread) else { return };
        let is_decided = self.objects[object.index()].found().is_some();
        if is_decided || self.pending[thread.index()].as_ref().is_some_and(is_fixed) {
            return;
        }
        let mut first: Option<Vec<Access>> = None;
        for step in (0..self.choices(thread)).map(|choice| Step { thread, choice }) {
            if !self.is_possible(step) {
                continue;
            }
            self.pending(step, effect);
            let mut accesses = effect.footprint.accesses().to_vec();
            accesses.retain(|access| access.mode != Mode::End);
            if first.get_or_insert_with(|| accesses.clone()) != &accesses {
                return self.learn(object);
            }
        }
    }

    /// If a step sends and does something else as well, the order of all sends to its mailboxes counts. Returns whether it only
    /// sends one message.
    fn only_sends(&self, effect: &Effect) -> bool {
        let accesses = effect.footprint.accesses();
        let is_other =
            |mode| !matches!(mode, Mode::Send | Mode::Post | Mode::Alive | Mode::Begin | Mode::End);
        let sends = || accesses.iter().filter(|access| access.mode == Mode::Send);
        let posts = accesses.iter().filter(|access| access.mode == Mode::Post).count();
        let is_simple = sends().count() == 1
            && posts == 1
            && !accesses.iter().any(|access| is_other(access.mode));
        if !is_simple {
            sends().for_each(|access| self.learn(access.object));
        }
        is_simple
    }

    /// Returns the variables without order that a step reads. If it accesses variables in a way that depends on more than one
    /// of them, or waits for them, the order of all accesses to these counts.
    fn reads(&self, effect: &Effect) -> SmallVec<[ObjectId; 2]> {
        let own = |access: &&Access| !matches!(access.mode, Mode::Begin | Mode::Woken | Mode::End);
        let accesses = effect.footprint.accesses();
        let is_simple = match effect.flexibility {
            Flexibility::Fixed => true,
            Flexibility::Conditional => accesses.iter().filter(own).count() == 1,
            Flexibility::Lock | Flexibility::Blocking => false,
        };
        let variables = accesses.iter().filter(|access| access.mode.is_memory());
        if !is_simple {
            variables.for_each(|access| self.learn(access.object));
            return SmallVec::new();
        }
        let is_read = |access: &&Access| access.mode.reads() && self.is_open(access.object);
        variables.filter(is_read).map(|access| access.object).collect()
    }

    /// Makes the effect of a step of the system inside that of a step here.
    fn open(&self, effect: &mut Effect, alternatives: Option<u32>) {
        let simple = !matches!(effect.flexibility, Flexibility::Lock | Flexibility::Blocking);
        let (mut reads, only_sends) = (false, self.only_sends(effect));
        let put = |access: Access| {
            let is_put = match access.mode {
                Mode::Write => simple,
                Mode::Send => only_sends,
                _ => false,
            };
            match is_put && self.is_open(access.object) {
                true => Access { mode: Mode::Put, ..access },
                false => {
                    reads |= access.mode.reads() && self.is_open(access.object);
                    access
                }
            }
        };
        let accesses: SmallVec<[Access; 4]> =
            effect.footprint.accesses().iter().copied().map(put).collect();
        effect.footprint = Footprint::of_event(&accesses);
        if reads && effect.flexibility == Flexibility::Fixed {
            effect.flexibility = Flexibility::Conditional;
        }
        effect.elsewhere = selvedge_core::Elsewhere::Anything;
        if let Some(alternatives) = alternatives {
            effect.choices = alternatives;
        }
    }

    /// Brings the system inside from one interleaving to another.
    pub(super) fn follow(&mut self, from: &[Step], to: &[Step]) {
        let same = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if same < from.len() {
            self.system.rewind(&to[..same]);
        }
        for &step in &to[same..] {
            self.system.step(step, &mut self.effect);
        }
    }

    /// A step reads the object: decides which of the last writes it finds. Without a choice that is the one that came last in
    /// the interleaving. Returns what was put last, for going back.
    fn decide(&mut self, object: ObjectId, choice: Option<u32>) -> Option<(Position, usize)> {
        let at = self.objects.get(object.index())?;
        let candidates = at.candidates()?;
        if at.found().is_some() {
            return None;
        }
        let mut line = self.line.borrow_mut();
        let current = *line.order().iter().rfind(|position| candidates.contains(position))?;
        let last = choice.map_or(current, |choice| candidates[choice as usize]);
        let (from, order) = (line.steps(), (last != current).then(|| line.with_last(last)));
        let earlier = line.overwrite(candidates, last);
        if let Some(order) = order {
            line.reorder(order);
            let to = line.steps();
            drop(line);
            self.follow(&from, &to);
        }
        Some((last, earlier))
    }

    /// Adds the event of a step that was taken.
    fn add(&mut self, step: Step, raw: Effect, here: &Effect, found: Vec<(Position, usize)>) {
        let mut line = self.line.borrow_mut();
        let accesses = here.footprint.accesses();
        let mut before = Vec::new();
        for access in accesses {
            if self.objects.len() <= access.object.index() {
                self.objects.resize_with(access.object.index() + 1, Object::default);
            }
            before.extend(self.objects[access.object.index()].before(access.mode));
        }
        let position = line.push(step, raw, before);
        let mut undo = Vec::with_capacity(accesses.len());
        for (access, then) in accesses.iter().zip(line.event(position).effect.footprint.accesses())
        {
            let object = &mut self.objects[access.object.index()];
            undo.push((access.object, object.clone()));
            let is_found = |candidate: &Position| found.iter().any(|(last, _)| last == candidate);
            let choice = object.candidates().unwrap_or_default().iter().position(is_found);
            object.add(position, access.mode);
            if access.mode == Mode::Put && then.mode == Mode::Write {
                let name = |at| line.event(at).id;
                object.add_candidate(position, |a, b| line.is_before(a, b), name);
            } else if let Some(choice) = choice
                && access.mode == Mode::Read
            {
                object.find(choice as u32);
            }
        }
        let event = line.event_mut(position);
        event.undo = undo;
        event.observed = found;
    }

    /// What the end of an execution reads is observed.
    fn observe_end(&mut self) {
        let mut footprint = Footprint::new();
        match self.system.judging() {
            Some(system) => system.judged(&mut footprint),
            None => self.lessons.borrow_mut().is_blind = true,
        }
        let objects: Vec<ObjectId> =
            footprint.accesses().iter().map(|access| access.object).collect();
        let is_undecided = |object: &ObjectId| self.objects[object.index()].found().is_none();
        self.several(&objects).filter(is_undecided).for_each(|object| self.learn(object));
        if !self.system.freed().is_empty() {
            self.lessons.borrow_mut().has_freed = true;
        }
    }
}

impl<S: System> System for Observed<S> {
    forward_system! { self => self.system; thread_count thread_key object_key status obstacles promises }

    fn restart(&mut self) {
        self.line.replace(Line::default());
        self.objects.clear();
        self.pending.clear();
        self.system.restart();
        self.refresh();
    }

    fn rewind(&mut self, kept: &[Step]) {
        let mut line = self.line.borrow_mut();
        let from = line.steps();
        while line.len() > kept.len() {
            let event = line.pop().expect("internal error: there are events left");
            self.pending[event.id.thread.index()] = None;
            for (object, then) in event.undo.into_iter().rev() {
                self.objects[object.index()] = then;
            }
        }
        let to = line.steps();
        drop(line);
        self.follow(&from, &to);
        self.refresh();
    }

    fn choices(&self, thread: ThreadId) -> u32 {
        match self.undecided(thread) {
            Some(object) => self.objects[object.index()].candidates().map_or(1, <[_]>::len) as u32,
            None => self.system.choices(thread),
        }
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        let undecided = self.undecided(step.thread);
        let inner = if undecided.is_some() { Step::of(step.thread) } else { step };
        let is_fixed =
            self.pending[step.thread.index()].as_ref().is_some_and(|pending| pending.is_fixed);
        let other = undecided.filter(|_| !is_fixed).and_then(|object| {
            let object = &self.objects[object.index()];
            let last = object.candidates()?[step.choice as usize];
            object.found().is_none().then_some(last)
        });
        match other {
            None => self.system.pending(inner, effect),
            Some(last) => {
                let line = self.line.borrow();
                let (from, to) = (line.steps(), line.steps_of(&line.with_last(last)));
                drop(line);
                self.follow(&from, &to);
                self.system.pending(inner, effect);
                self.follow(&to, &from);
            }
        }
        let _ = self.reads(effect);
        let alternatives = undecided.map(|_| self.choices(step.thread));
        self.open(effect, alternatives);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        let undecided = self.undecided(step.thread);
        let alternatives = undecided.map(|_| self.choices(step.thread));
        let inner = if undecided.is_some() { Step::of(step.thread) } else { step };
        let found = undecided.and_then(|object| self.decide(object, Some(step.choice)));
        let mut found: Vec<(Position, usize)> = found.into_iter().collect();
        self.system.step(inner, effect);
        let _ = self.reads(effect);
        let raw = effect.clone();
        self.open(effect, alternatives);
        // One that was not foreseen finds what came last; the search starts again.
        for access in raw.footprint.accesses() {
            if access.mode.reads() && Some(access.object) != undecided {
                found.extend(self.decide(access.object, None));
            }
        }
        self.add(inner, raw, effect, found);
        self.pending[step.thread.index()] = None;
        self.refresh();
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        self.observe_end();
        self.observe_receives();
        self.system.end()
    }

    /// Reports none: their order is that of the interleaving.
    fn freed(&self) -> &[Freed] {
        &[]
    }

    /// One at a time: each is recorded.
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        None
    }

    /// Not known: positions differ.
    fn values(&self) -> Option<&dyn Values> {
        None
    }

    without! { judging foresight conditions states }
}
