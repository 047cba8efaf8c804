//! Runs programs under memory models: the intermediate representation as a [`GraphSystem`].
//!
//! Memory is the explorer's. A thread stands at a [`Label`]; when it gets its answer, the values that its operation touches
//! are put into the machine of the interpreter, the operation runs there as under sequential consistency, what it wrote is
//! read off, and everything but the thread itself is set back. So what an operation does is said once, in `ops/`; here
//! stands only which events it is (`protocols.rs`) and what comes of the answers (`answers.rs`).
//!
//! | operation | events | ordering |
//! |---|---|---|
//! | reads and writes | load, store | as written; none if the variable is not `atomic` |
//! | read-modify-writes | update, compare | as written |
//! | mutexes | lock, unlock, try-lock | acquire, release |
//! | reader-writer locks | a number: awaited and updated | acquire, release |
//! | semaphores | a number: awaited and updated | acquire, release |
//! | `wait(c, m)` | into the set of waiters; unlock; await my token and take it; lock | those of the mutex |
//! | `signal`, `broadcast` | out of the set of waiters; their tokens | none that code can see |
//! | `arrive(b)` | store that I arrived; await that each of the others has | release, acquire |
//! | … with more threads than places | update the count; the last one opens the round, the others await that | acquire, release |
//! | `send`, `receive` | update the mailbox; await a message and update it | release, acquire |
//! | lists and maps | load, update of the whole | none: they can race |
//! | `await c` | await of the one variable in `c` | as written |
//! | `atomic { … }` with one variable | load, or try: it updates if the block writes | seq_cst |
//! | `spawn`, `join`, `choose`, `fence` | themselves | |
//!
//! Atomic blocks and awaits over several variables are refused: `refuse.rs`.

mod answers;
mod judge;
mod locations;
mod protocols;
mod refuse;
mod values;
mod words;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use selvedge_core::{
    Answer, Bits, Effect, Ending, Fault, GraphSystem, Label, Location, ThreadId, Violation,
};

use crate::interpret::invisible::Pause;
use crate::interpret::machine::{Thread, Undo, restore};
use crate::interpret::{self, DEFAULT_BUDGET, Loaded, Machine, Phase};
use crate::ir::{LockMode, Op, Program};
use locations::{Contents, Locations};
use protocols::Stage;
pub use refuse::Refusal;
use refuse::Section;

/// A program whose memory is the explorer's.
///
/// Whether an await can end is found out by trying, which changes the state for a moment.
pub struct GraphInterpreter(RefCell<Inner>);

struct Inner {
    loaded: Loaded,
    machine: Machine,
    threads: Vec<Own>,
    locations: Locations,
    contents: Contents,
    /// Whether messages are sent: then the end of a thread closes its mailbox.
    has_messages: bool,
    /// The atomic sections: what is known about them.
    sections: BTreeMap<u32, Section>,
    /// Per global, the threads that use it if it is a barrier.
    parties: Vec<Arc<[u32]>>,
    /// Per global, whether it is a lock that some thread tries to take. If so, the holder of a reader-writer lock is a number, and
    /// readers are ordered: a try to write that fails sees which readers have come.
    tried: Vec<bool>,
    /// The last that was done.
    last: Last,
}

/// What a section comes to first.
enum First {
    /// This shared object.
    Object(u32),
    /// An `await` that is false, and stays so: it has read nothing shared.
    Blocked,
    /// Its end, or something that is wrong.
    Nothing,
}

/// What a thread is besides what the machine has of it.
#[derive(Clone)]
struct Own {
    now: Now,
    /// Where it stood before each of its answers.
    past: Vec<Past>,
    /// Old values of its slots.
    log: Vec<Undo>,
}

/// Where a thread stands.
#[derive(Clone)]
struct Now {
    label: Label,
    stage: Stage,
    /// The locks that it holds: their objects.
    holds: Arc<[(u32, LockMode)]>,
    /// How often it has passed each barrier.
    passed: Arc<[(u32, u32)]>,
    fault: Option<Arc<Fault>>,
}

#[derive(Clone)]
struct Past {
    thread: Thread,
    now: Now,
    /// How long the log was.
    log: usize,
}

/// What was done last, to be described.
enum Last {
    /// An operation, which the machine has recorded.
    Operation,
    /// A part of one.
    Part { pc: u32, text: String },
}

impl GraphInterpreter {
    /// Returns the program in its initial state.
    ///
    /// # Errors
    /// All that has no meaning under a memory model, in the order of the code.
    pub fn new(program: Arc<Program>) -> Result<Self, Vec<Refusal>> {
        let refusals = refuse::refusals(&program);
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let mut code = program.procedures.iter().flat_map(|procedure| &procedure.code);
        let has_messages = code.any(|instruction| matches!(instruction.op, Op::Message(_)));
        let parties = refuse::parties(&program);
        let tried = refuse::tried(&program);
        let loaded = Loaded::new(program);
        let sections = refuse::sections(&loaded);
        let mut machine = interpret::initial(&loaded, DEFAULT_BUDGET);
        machine.is_whole = false;
        let mut all = Inner {
            loaded,
            machine,
            threads: Vec::new(),
            locations: Locations::default(),
            contents: Contents::default(),
            has_messages,
            sections,
            parties,
            tried,
            last: Last::Operation,
        };
        for me in 0..all.machine.threads.len() {
            all.begin(me);
        }
        Ok(Self(RefCell::new(all)))
    }
}

impl Inner {
    /// A thread that the machine has started comes to its first label.
    fn begin(&mut self, me: usize) {
        let now = Now {
            label: Label::Ended,
            stage: Stage::Operation,
            holds: Arc::new([]),
            passed: Arc::new([]),
            fault: None,
        };
        let own = Own { now, past: Vec::new(), log: Vec::new() };
        if self.threads.len() <= me {
            self.threads.resize(me + 1, own.clone());
        }
        self.threads[me] = own;
        // A thread without any step is over as soon as it is there: no event closes its mailbox.
        if self.machine.threads[me].phase == Phase::Finished {
            self.threads[me].now.stage = Stage::Over;
        }
        self.stand(me);
        // To go back to the first label is to go back to no answer.
        self.threads[me].log.clear();
    }

    /// Takes a thread back to where it had got this many answers. Those that it has started since are gone.
    fn go_back(&mut self, me: usize, answers: usize) {
        // A thread that was never spawned has nowhere to go back from.
        let Some(own) = self.threads.get_mut(me) else { return };
        if answers >= own.past.len() {
            return;
        }
        let started: Vec<usize> = own.past[answers..]
            .iter()
            .filter_map(|past| match past.now.label {
                Label::Spawn(child) => Some(child.index()),
                _ => None,
            })
            .collect();
        own.past.truncate(answers + 1);
        if let Some(past) = own.past.pop() {
            restore(&mut self.machine.stacks[me], &mut own.log, past.log);
            self.machine.threads[me] = past.thread;
            own.now = past.now;
        }
        for child in started {
            self.go_back(child, 0);
            self.machine.threads[child] = Thread::ABSENT;
        }
    }

    /// Runs the operation at which a thread stands, and the invisible code after it. `load` puts what it touches into the
    /// machine, `save` reads off what became of it.
    fn perform<T>(
        &mut self,
        me: usize,
        choice: u32,
        load: impl FnOnce(&mut Self),
        save: impl FnOnce(&mut Self, &Effect) -> T,
    ) -> T {
        let before = self.machine.threads[me];
        self.machine.begin_step(me);
        load(self);
        self.machine.record.start(before.pc, before.phase);
        let mut effect = Effect::default();
        self.machine.perform(&self.loaded, me, choice, &mut effect);
        if let Some(fault) = effect.fault.take() {
            self.threads[me].now.fault = Some(Arc::new(fault));
        }
        let saved = save(self, &effect);
        self.machine.keep_own(&mut self.threads[me].log);
        self.last = Last::Operation;
        saved
    }

    /// The tool cannot follow the thread further.
    fn give_up(&mut self, me: usize, reason: String) {
        self.machine.threads[me].phase = Phase::Failed;
        self.threads[me].now.fault = Some(Arc::new(Fault::GaveUp(reason)));
    }

    /// Runs the code of a section up to its first access, and takes that back.
    fn first_access(&mut self, me: usize) -> First {
        // Where a section begins is not yet in it.
        let loaded = &self.loaded;
        self.machine.tentatively(me, |machine| {
            let mut budget = machine.budget;
            loop {
                let thread = machine.threads[me];
                match loaded.op(thread.pc).operation() {
                    Some(_) => {
                        let mut object = None;
                        loaded.op(thread.pc).for_each_object(|it| {
                            object.get_or_insert(it);
                        });
                        let at = machine.at(loaded, me);
                        let object = object.map(|object| machine.cell(at, object) as u32);
                        return object.map_or(First::Nothing, First::Object);
                    }
                    None => machine.threads[me].pc += 1,
                }
                match machine.run_invisible(loaded, me, &mut budget) {
                    Pause::Visible => {}
                    Pause::Blocked => return First::Blocked,
                    _ => return First::Nothing,
                }
            }
        })
    }
}

impl GraphSystem for GraphInterpreter {
    fn restart(&mut self) {
        for me in 0..self.0.get_mut().threads.len() {
            self.rewind(ThreadId::new(me), 0);
        }
    }

    fn thread_count(&self) -> usize {
        self.0.borrow().machine.threads.len()
    }

    fn is_root(&self, thread: ThreadId) -> bool {
        thread.index() < self.0.borrow().loaded.static_threads()
    }

    fn label(&self, thread: ThreadId) -> Label {
        self.0.borrow().threads[thread.index()].now.label
    }

    fn satisfies(&self, thread: ThreadId, value: Bits) -> bool {
        self.0.borrow_mut().is_satisfied(thread.index(), value)
    }

    fn proceed(&mut self, thread: ThreadId, answer: Answer) -> Option<Bits> {
        let me = thread.index();
        let all = self.0.get_mut();
        let own = &mut all.threads[me];
        own.past.push(Past {
            thread: all.machine.threads[me],
            now: own.now.clone(),
            log: own.log.len(),
        });
        let wrote = all.take(me, answer);
        all.stand(me);
        wrote
    }

    fn rewind(&mut self, thread: ThreadId, answers: usize) -> bool {
        self.0.get_mut().go_back(thread.index(), answers);
        true
    }

    fn initial(&self, at: Location) -> Bits {
        self.0.borrow_mut().initial_value(at)
    }

    fn fault(&self, thread: ThreadId) -> Option<Fault> {
        self.0.borrow().threads[thread.index()].now.fault.as_deref().cloned()
    }

    fn judge(
        &mut self,
        last: &dyn Fn(Location) -> Option<Bits>,
    ) -> Option<(Ending, Option<Violation>)> {
        Some(self.0.get_mut().judged(last))
    }

    selvedge_core::without! { memory }
}
