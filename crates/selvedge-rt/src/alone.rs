//! Tries a spin loop out: does it give up, or does it wait for ever if nothing changes?
//!
//! The thread goes on alone, from where it would stand still: its operations run at once, and find what
//! they found before. After each turn all that the next one depends on is made into a number
//! (`state.rs`). If it comes to a state again, it goes round for ever: it waits. If it leaves the loop
//! or changes something, it gives up. If neither comes to pass in as many turns as
//! [`Settings::spin_turns`](crate::Settings::spin_turns) allows, it is taken to wait, and the verdict says
//! so. Then the execution is run again up to where it was.
//!
//! A thread stands still only when it was in all states between which it goes round: what happens if
//! something changes in any of them is then explored.
//!
//! In the same way a thread is tried that stands still and saw what a lock guards, when others had the lock:
//! if a turn changes nothing, not even its own state, it need not be made.
//!
//! The answer depends on the state of the thread and on the values that it saw, and on nothing else. It is
//! kept with a number for all that the thread came to know so far, so that no state is tried twice.

use rustc_hash::FxHashMap;
use selvedge_core::{ObjectId, Step};

use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::registers::Registers;
use crate::runtime::{Runtime, State, Way};
use crate::state;
use crate::switch::resume;
use crate::system::Program;
use crate::world::World;

/// After the same steps, threads do not stand in new states without end, if the code does the same every
/// time.
const MOST_TRIED: u32 = 1_000;

/// A thread in a loop, in one state.
pub(crate) struct Key<W: World> {
    /// Who, as a number that is the same for all systems of a check.
    pub(crate) thread: u64,
    pub(crate) spot: W::Spot,
    /// All that it came to know so far: with the same it is in the same state.
    pub(crate) history: u64,
}

impl<W: World> Clone for Key<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: World> Copy for Key<W> {}

impl<W: World> PartialEq for Key<W> {
    fn eq(&self, other: &Self) -> bool {
        (self.thread, self.spot, self.history) == (other.thread, other.spot, other.history)
    }
}

impl<W: World> Eq for Key<W> {}

impl<W: World> std::hash::Hash for Key<W> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.thread, self.spot, self.history).hash(state);
    }
}

/// What a thread does in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decided {
    /// If nothing changes, it is in this state, or in one that it was in before, for ever.
    Waits,
    /// Nobody knows, but it was followed for long.
    Assumed,
    /// It will wait, but there are states that it was not in. The history after the next turn, if
    /// nothing changes.
    GoesOn(u64),
    GivesUp,
}

/// What a turn does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnDoes {
    Nothing,
    Something,
}

/// What is known about loops.
pub(crate) struct Loops<W: World> {
    /// Of threads that saw other values of what locks guard: their state, and a number for the values.
    turns: FxHashMap<(Key<W>, u64), TurnDoes>,
    /// `None`: the loop went on before anybody knew, since something had changed.
    known: FxHashMap<Key<W>, Option<Decided>>,
}

impl<W: World> Default for Loops<W> {
    fn default() -> Self {
        Self { turns: FxHashMap::default(), known: FxHashMap::default() }
    }
}

impl<W: World> Loops<W> {
    /// What is known. `goes_on`: something has changed, so that the loop goes on in any case.
    pub fn decided(&mut self, key: Key<W>, goes_on: bool) -> Option<Decided> {
        match goes_on {
            true => *self.known.entry(key).or_insert(None),
            false => self.known.get(&key).copied().flatten(),
        }
    }

    /// What is known about the next turn, with these values of what locks guard.
    pub fn turn(&self, key: Key<W>, inside: u64) -> Option<TurnDoes> {
        self.turns.get(&(key, inside)).copied()
    }

    /// Gives whether executions so far took it for something else.
    fn decide(&mut self, key: Key<W>, decided: Decided) -> bool {
        let before = self.known.insert(key, Some(decided));
        let stands_still = matches!(decided, Decided::Waits | Decided::Assumed);
        before == Some(None) && !stands_still
    }

    /// Keeps what came out about a turn. Executions so far made it, which was not wrong.
    fn decide_turn(&mut self, key: Key<W>, inside: u64, alone: &Option<Alone<W>>) -> bool {
        let is_back = alone.as_ref().is_some_and(|alone| alone.end == Some(End::Returned));
        let turn = if is_back { TurnDoes::Nothing } else { TurnDoes::Something };
        self.turns.insert((key, inside), turn);
        false
    }

    /// Keeps what came out about a loop. Gives whether executions so far took it for something else.
    fn decide_loop(&mut self, key: Key<W>, alone: &Option<Alone<W>>) -> bool {
        match alone.as_ref().map(|alone| (alone, alone.end)) {
            Some((alone, Some(End::Returned))) => {
                let keys: Vec<Key<W>> = alone.path.iter().map(|&(key, _)| key).collect();
                // The last turn touched what the ones before it did, or it must be made, too.
                let passed = if alone.varies { keys.len() } else { keys.len() - 1 };
                self.decide_all(&keys[..passed])
            }
            Some((_, Some(End::Lasted))) => self.decide(key, Decided::Assumed),
            _ => self.decide(key, Decided::GivesUp),
        }
    }

    /// The states up to which a thread goes on, and the last one, in which it waits.
    fn decide_all(&mut self, keys: &[Key<W>]) -> bool {
        let mut is_news = false;
        for (index, &key) in keys.iter().enumerate() {
            if index > 0 && self.decided(key, false).is_some() {
                break;
            }
            let next = keys.get(index + 1);
            let decided = next.map_or(Decided::Waits, |next| Decided::GoesOn(next.history));
            is_news |= self.decide(key, decided);
        }
        is_news
    }
}

/// A thread that runs alone.
pub(crate) struct Alone<W: World> {
    thread: usize,
    spot: W::Spot,
    /// What it touches in each turn, and whether that is so.
    seen: Vec<ObjectId>,
    varies: bool,
    /// Values of all objects. At the end of a turn they are what they were.
    values: Vec<u64>,
    /// Its visible operations up to a turn. Each turn begins with the same, so that nothing differs
    /// from turn to turn but what the code itself does.
    before: u64,
    /// It comes back to the loop before it did so many.
    operations: u64,
    /// How many turns it makes at most.
    turns: usize,
    /// What it had allocated before a turn.
    filled: W::Mark,
    /// Locks that it took, with a number for all memory at that time.
    pub(crate) memory: Vec<(ObjectId, Option<u128>)>,
    /// The states that it was in.
    path: Vec<(Key<W>, Option<u128>)>,
    /// What came out.
    end: Option<End>,
}

/// How a thread that ran alone came to an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// In a state that it was in before.
    Returned,
    /// After too many turns.
    Lasted,
    /// It left the loop.
    Left,
}

impl<W: Hooks> Engine<W> {
    /// The thread that runs alone comes to a spin loop.
    pub(crate) fn turn_alone(&self, spot: W::Spot, registers: Option<Registers>) {
        let rt = self.rt();
        if rt.now.spins.alone.as_ref().is_some_and(|alone| !W::is_same(alone.spot, spot)) {
            // Another place in the same loop: the turn goes on, or becomes longer than it was.
            return;
        }
        let Some(mut alone) = rt.now.spins.alone.take() else { return };
        let end = rt.end_turn(&mut alone, spot, registers);
        rt.now.spins.alone = Some(alone);
        match end {
            Some(end) => self.end_alone(end),
            None => state::clear_stack_below(rt.threads[rt.now.current].fiber.as_ref()),
        }
    }

    /// Whether the thread that runs alone may do something visible: if it is part of a turn.
    pub(crate) fn is_turn(&self) -> bool {
        let rt = self.rt();
        let me = rt.now.current;
        rt.now.spins.alone.as_ref().is_some_and(|alone| {
            let is_it = alone.thread == me && alone.end.is_none();
            is_it && rt.threads[me].operations <= alone.operations
        })
    }

    /// Enough is known. The thread goes on when what is left of the execution is run to its end.
    #[cold]
    pub(crate) fn end_alone(&self, end: End) {
        let rt = self.rt();
        if let Some(alone) = &mut rt.now.spins.alone {
            alone.end.get_or_insert(end);
        }
        self.suspend();
    }
}

impl<W: Hooks> Runtime<W> {
    #[cold]
    fn note_other_state(&self, number: usize, spot: W::Spot) {
        let name = self.thread_name(number);
        self.note_unsteady(format!(
            "after the same steps {name}, in the loop at {spot}, saw other values"
        ));
    }

    /// The thread that runs alone came to the end of a turn. Gives what is known then.
    fn end_turn(
        &mut self,
        alone: &mut Alone<W>,
        spot: W::Spot,
        registers: Option<Registers>,
    ) -> Option<End> {
        let me = self.now.current;
        let thread = &mut self.threads[me];
        let touched = thread.touched.seen().iter().map(|seen| seen.object);
        let touched_same = touched.eq(alone.seen.iter().copied());
        let is_same = touched_same || thread.touched.varies;
        let acted =
            alone.values.iter().zip(&self.now.spins.values).any(|(before, now)| before != now);
        if !is_same || acted {
            return Some(End::Left);
        }
        alone.varies |= !touched_same;
        let home = &mut self.known[me].home;
        if !W::take_back(home, alone.filled) {
            alone.filled = W::set_apart(home);
        }
        thread.operations = alone.before;
        self.now.drained = 0;
        let (first, last) = (alone.path[0].0, alone.path[alone.path.len() - 1].0);
        let history = thread.touched.forget_turn(first.history, last.history);
        let key = Key { thread: first.thread, spot, history };
        let state = self.state_of(me, registers);
        let was_there = state.is_some() && alone.path.iter().any(|(_, before)| *before == state);
        alone.path.push((key, state));
        match was_there {
            true => Some(End::Returned),
            false => (alone.path.len() > alone.turns).then_some(End::Lasted),
        }
    }
}

impl<W: Hooks> Program<W> {
    /// Tries out threads that stand still in a loop of which nobody knows whether it gives up, or whether
    /// the next turn does something. The state is then what it was, but that a thread whose loop gives up
    /// goes on.
    #[inline]
    pub(crate) fn decide_loops(&mut self) {
        if self.rt().shared.learned.spins.get() {
            self.decide_open_loops();
        }
    }

    #[inline(never)]
    fn decide_open_loops(&mut self) {
        let mut tried = 0;
        while let Some((number, key, inside)) = undecided(self.rt()) {
            tried += 1;
            if tried > MOST_TRIED {
                return self.rt().note_other_state(number, key.spot);
            }
            let kept: Vec<Step> = self.rt().log.iter().map(|logged| logged.step()).collect();
            let alone = match inside {
                // When the lock was given up, before somebody else took it.
                Some(_) => self.try_alone(number, key, 1, &kept[..self.rt().changed_after(number)]),
                None => self.try_alone(
                    number,
                    key,
                    self.rt().shared.settings.spin_turns as usize,
                    &kept,
                ),
            };
            let mut loops = self.rt().shared.learned.loops.borrow_mut();
            let is_news = match inside {
                Some(inside) => loops.decide_turn(key, inside, &alone),
                None => loops.decide_loop(key, &alone),
            };
            drop(loops);
            let last = self.rt_mut().now.last.take();
            self.replay(&kept);
            let rt = self.rt_mut();
            rt.now.last = last;
            if is_news {
                rt.learn();
            }
        }
    }

    /// Lets a thread that stands still after the steps `kept` run alone.
    #[cold]
    fn try_alone(
        &mut self,
        number: usize,
        key: Key<W>,
        turns: usize,
        kept: &[Step],
    ) -> Option<Alone<W>> {
        // One step at a time and without texts, whatever way led here: what is left on the stack is then
        // the same, and so is the answer.
        let last = self.rt_mut().now.last.take();
        let tracing = std::mem::replace(&mut self.rt_mut().tracing, false);
        self.replay_with(kept, &[]);
        let rt = self.rt_mut();
        let registers = rt.threads[number].touched.stands.and_then(|(_, registers)| registers);
        let state = rt.state_of(number, registers);
        let values = rt.now.spins.values.clone();
        let filled = W::set_apart(&mut rt.known[number].home);
        let thread = &mut rt.threads[number];
        let (before, operations) = thread.touched.last_turn();
        let alone = Alone {
            thread: number,
            spot: key.spot,
            seen: thread.touched.seen().iter().map(|seen| seen.object).collect(),
            varies: false,
            values,
            before,
            operations,
            turns,
            filled,
            memory: Vec::new(),
            path: vec![(key, state)],
            end: None,
        };
        thread.operations = before;
        thread.touched.forget_turns();
        // It may be elsewhere when the same steps are taken again.
        let last_step = thread.last_step;
        if let Some(step) = last_step {
            rt.log[step].next = None;
        }
        (rt.now.spins.alone, rt.now.way) = (Some(alone), Way::Alone);
        // SAFETY: no reference into the runtime is held.
        unsafe { resume(self.raw(), number) };
        let rt = self.rt_mut();
        (rt.tracing, rt.now.last) = (tracing, last);
        // If it came to its end, or failed, it left the loop.
        rt.now.spins.alone.take().filter(|alone| alone.end.is_some())
    }
}

/// A thread that stands still, and should be tried: with nothing changed, or with these values of what locks
/// guard.
fn undecided<W: Hooks>(rt: &Runtime<W>) -> Option<(usize, Key<W>, Option<u64>)> {
    let stands = |number: usize| {
        let thread = &rt.threads[number];
        let (key, _) = thread.touched.stands?;
        if thread.state != State::Ready || rt.shared.is_unsteady.get() {
            return None;
        }
        let mut loops = rt.shared.learned.loops.borrow_mut();
        if let Some(inside) = rt.changed_inside(number) {
            return loops.turn(key, inside).is_none().then_some((number, key, Some(inside)));
        }
        let is_open = thread.touched.undecided && loops.decided(key, false).is_none();
        (is_open && !rt.has_changed(number)).then_some((number, key, None))
    };
    (0..rt.threads.len()).find_map(stands)
}
