//! The state of a running program, and how to take steps back.
//!
//! All that is one number lives in flat vectors: one *cell* per shared object, one stack of slots
//! per thread. Before a cell or slot changes, its old value goes into a log; each step has a
//! [`Mark`] that tells where its part of the logs begins and what its thread was before. So
//! undoing costs what doing cost. Contents of lists, maps and mailboxes have a log of their own.
//!
//! What a cell holds: the value of a variable; for a mutex or the writing side of a reader-writer
//! lock [`FREE`] or one more than the number of the thread that holds it; the count of a
//! semaphore; for a barrier, in its two cells, how many have arrived and the generation.

use std::collections::{BTreeMap, VecDeque};

use selvedge_core::{ObjectId, ThreadId};

use crate::ir::{GlobalKind, ObjectRef, Operand, ProcedureId, Slot};

use super::load::{Loaded, value};
use super::names::Names;
use super::record::Record;
use super::restored::Restored;

/// In the cell of a lock: it is free.
pub(crate) const FREE: i32 = 0;

/// In the cell of a lock: this thread holds it.
#[inline]
pub(crate) fn held_by(thread: usize) -> i32 {
    thread as i32 + 1
}

/// The whole state.
pub(crate) struct Machine {
    pub(crate) cells: Vec<i32>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) stacks: Vec<Vec<i32>>,
    pub(crate) lists: Vec<VecDeque<i32>>,
    pub(crate) maps: Vec<BTreeMap<i32, i32>>,
    /// Per reader-writer lock: its readers, by ascending numbers.
    pub(crate) readers: Vec<Vec<usize>>,
    /// Per condition variable: the waiters, by ascending numbers.
    pub(crate) waiters: Vec<Vec<usize>>,
    /// Per thread, oldest first.
    pub(crate) mailboxes: Vec<VecDeque<Message>>,

    marks: Vec<Mark>,
    cell_log: Vec<Undo>,
    /// Old values in the stack of the thread whose step it is.
    pub(crate) local_log: Vec<Undo>,
    pub(crate) content_log: Vec<ContentUndo>,

    /// Names of threads and objects; they outlive executions.
    pub(crate) names: Names,
    pub(crate) record: Record,
    pub(crate) budget: u64,
    /// Whether the shared objects are as all threads see them. If not, only what a step touches is.
    pub(crate) is_whole: bool,
    /// The state that taking back all steps leads to, if it was restored.
    pub(super) restored: Restored,
    /// Of the state that is restored, where its parts end: a buffer.
    pub(super) ends: Vec<usize>,
}

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Not spawned in this execution.
    Absent,
    /// Stands at a visible instruction.
    Ready,
    /// Stands at its start; the invisible code there faults.
    FaultsAtOnce,
    /// Waits on a condition variable; stands at the `Wait`.
    Parked,
    /// Was woken and takes the mutex again; stands at the `Wait`.
    Woken,
    /// Has arrived at a barrier; stands at the `Arrive`.
    Passing,
    Finished,
    Assumed,
    Failed,
}

impl Phase {
    /// Every phase, in the order of their numbers.
    pub(super) const ALL: [Phase; 9] = [
        Phase::Absent,
        Phase::Ready,
        Phase::FaultsAtOnce,
        Phase::Parked,
        Phase::Woken,
        Phase::Passing,
        Phase::Finished,
        Phase::Assumed,
        Phase::Failed,
    ];

    /// Returns whether the thread takes its next step at the operation where it stands.
    pub(crate) fn is_at_operation(self) -> bool {
        matches!(self, Phase::Ready | Phase::Woken | Phase::Passing)
    }
}

/// A thread, except for its slots.
#[derive(Clone, Copy)]
pub(crate) struct Thread {
    pub(crate) pc: u32,
    /// Where the current frame starts in the stack.
    pub(crate) base: u32,
    /// Where the current frame ends.
    pub(crate) top: u32,
    /// Number of frames below the current one.
    pub(crate) depth: u32,
    /// How many threads it has spawned.
    pub(crate) spawned: u32,
    /// How many messages it has sent.
    pub(crate) sent: u32,
    /// The generation of the barrier at which it arrived last.
    pub(crate) generation: i32,
    /// What its procedure returned, once it has finished; 0 if it returns nothing.
    pub(crate) result: i32,
    pub(crate) phase: Phase,
    /// Whether it has taken a step.
    pub(crate) begun: bool,
    /// Whether its last step passed a mark of progress.
    pub(crate) marked: bool,
}

impl Default for Thread {
    fn default() -> Self {
        Thread::ABSENT
    }
}

impl Thread {
    pub(crate) const ABSENT: Thread = Thread {
        pc: 0,
        base: 0,
        top: 0,
        depth: 0,
        spawned: 0,
        sent: 0,
        generation: 0,
        result: 0,
        phase: Phase::Absent,
        begun: false,
        marked: false,
    };
}

/// Where an operation stands: a thread, and the program whose code it runs.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) loaded: &'a Loaded,
    /// The number of the thread.
    pub(crate) me: usize,
    /// The thread before the operation.
    pub(crate) thread: &'a Thread,
}

/// A message in a mailbox.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    pub(crate) object: ObjectId,
    values: [i32; Message::LONGEST],
    length: u8,
}

impl Message {
    /// The verifier refuses programs that send more values.
    pub(crate) const LONGEST: usize = 8;

    pub(crate) fn new(object: ObjectId, values: impl Iterator<Item = i32>) -> Self {
        let mut message = Self { object, values: [0; Self::LONGEST], length: 0 };
        for value in values.take(Self::LONGEST) {
            message.values[usize::from(message.length)] = value;
            message.length += 1;
        }
        message
    }

    pub(crate) fn values(&self) -> &[i32] {
        &self.values[..usize::from(self.length)]
    }
}

/// Where the logs stood before a step, and its thread before it.
struct Mark {
    thread: u32,
    cells: u32,
    locals: u32,
    contents: u32,
    before: Thread,
}

/// The old value of a cell or slot.
#[derive(Clone, Copy)]
pub(crate) struct Undo {
    index: u32,
    old: i32,
}

/// How to take back a change of something that is not one number.
pub(crate) enum ContentUndo {
    /// Another thread was changed.
    Thread(usize, Thread),
    ListPushed(usize),
    ListPopped(usize, i32),
    ListPoppedFront(usize, i32),
    /// Which list, from where, and what.
    ListTaken(usize, usize, i32),
    ListSet(usize, usize, i32),
    ListCleared(usize, VecDeque<i32>),
    MapChanged(usize, i32, Option<i32>),
    MapCleared(usize, BTreeMap<i32, i32>),
    ReaderAdded(usize, usize),
    ReaderRemoved(usize, usize),
    WaiterAdded(usize, usize),
    WaiterRemoved(usize, usize),
    MessagePosted(usize),
    MessageTaken(usize, usize, Box<Message>),
    MailboxReplaced(usize, VecDeque<Message>),
}

impl Machine {
    /// Returns the initial state, except that no thread exists.
    pub(crate) fn new(loaded: &Loaded, budget: u64) -> Self {
        let program = &loaded.program;
        let mut lists = Vec::new();
        let mut maps = Vec::new();
        // One cell more counts the threads.
        let mut cells = vec![FREE; loaded.global_objects as usize + 1];
        for global in &program.globals {
            match &global.kind {
                GlobalKind::Variable { initial, .. }
                | GlobalKind::Ghost { initial, .. }
                | GlobalKind::Semaphore { initial } => {
                    let base = global.base as usize;
                    cells[base..base + initial.len()].copy_from_slice(initial);
                }
                GlobalKind::List { initial } => {
                    lists.extend(initial.iter().map(|list| list.iter().copied().collect()));
                }
                GlobalKind::Channel { capacity, .. } => {
                    lists.extend(capacity.iter().map(|_| VecDeque::new()));
                }
                GlobalKind::Map { initial } => {
                    maps.extend(initial.iter().map(|map| map.iter().copied().collect()));
                }
                GlobalKind::Mutex
                | GlobalKind::RwLock
                | GlobalKind::Cond
                | GlobalKind::Invariant
                | GlobalKind::Barrier { .. } => {}
            }
        }
        Self {
            cells,
            threads: Vec::new(),
            stacks: Vec::new(),
            lists,
            maps,
            readers: vec![Vec::new(); loaded.contents.rwlocks as usize],
            waiters: vec![Vec::new(); loaded.contents.conds as usize],
            mailboxes: Vec::new(),
            marks: Vec::new(),
            cell_log: Vec::new(),
            local_log: Vec::new(),
            content_log: Vec::new(),
            names: Names::behind(loaded.global_objects),
            record: Record::default(),
            budget,
            is_whole: true,
            restored: Restored::default(),
            ends: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn set_cell(&mut self, index: u32, value: i32) {
        let cell = &mut self.cells[index as usize];
        self.cell_log.push(Undo { index, old: *cell });
        *cell = value;
    }

    /// Returns where a thread stands.
    #[inline]
    pub(crate) fn at<'a>(&'a self, loaded: &'a Loaded, me: usize) -> At<'a> {
        At { loaded, me, thread: &self.threads[me] }
    }

    #[inline]
    pub(crate) fn value(&self, at: At<'_>, operand: Operand) -> i32 {
        value(operand, &self.stacks[at.me], at.thread.base)
    }

    pub(crate) fn values(&self, at: At<'_>, operands: &[Operand]) -> Vec<i32> {
        operands.iter().map(|&operand| self.value(at, operand)).collect()
    }

    /// Returns which element of its global an object reference means.
    #[inline]
    pub(crate) fn element(&self, at: At<'_>, object: ObjectRef) -> u32 {
        self.value(at, object.index) as u32
    }

    /// Returns the cell of an object. Not for barriers.
    #[inline]
    pub(crate) fn cell(&self, at: At<'_>, object: ObjectRef) -> usize {
        at.loaded.cell(object, self.element(at, object))
    }

    /// Returns the object with the number of its cell.
    #[inline]
    pub(crate) fn object(&self, at: At<'_>, object: ObjectRef) -> ObjectId {
        ObjectId::new(self.cell(at, object))
    }

    /// Returns the index of an object's list, map, readers or waiters.
    pub(crate) fn content(&self, at: At<'_>, object: ObjectRef) -> usize {
        at.loaded.content(object, self.element(at, object))
    }

    /// Returns the name of an object as the user would write it.
    pub(crate) fn name(&self, at: At<'_>, object: ObjectRef) -> String {
        at.loaded.name(object, self.element(at, object) as usize)
    }

    /// Writes a slot of the thread whose step it is.
    #[inline]
    pub(crate) fn set_target(&mut self, at: At<'_>, target: Slot, value: i32) {
        set(&mut self.stacks[at.me], &mut self.local_log, at.thread.base + target.0, value);
    }

    /// Changes a thread other than the one whose step it is.
    pub(crate) fn set_other(&mut self, thread: usize, state: Thread) {
        let old = std::mem::replace(&mut self.threads[thread], state);
        self.content_log.push(ContentUndo::Thread(thread, old));
    }

    /// Returns how many steps were taken.
    pub(crate) fn steps(&self) -> usize {
        self.marks.len()
    }

    /// Returns the thread of the only step that was taken.
    pub(super) fn only_step(&self) -> Option<usize> {
        match &self.marks[..] {
            [mark] => Some(mark.thread as usize),
            _ => None,
        }
    }

    /// Returns how much the logs of cells and of contents hold.
    pub(crate) fn log_lengths(&self) -> (usize, usize) {
        (self.cell_log.len(), self.content_log.len())
    }

    /// Returns the cells that changed since the log was so long; some may be listed twice.
    pub(crate) fn cells_changed_since(&self, length: usize) -> impl Iterator<Item = u32> + '_ {
        self.cell_log[length..].iter().map(|undo| undo.index)
    }

    /// Starts a step of `thread`, to be undone by [`Machine::undo_step`].
    #[inline]
    pub(crate) fn begin_step(&mut self, thread: usize) {
        self.marks.push(Mark {
            thread: thread as u32,
            cells: self.cell_log.len() as u32,
            locals: self.local_log.len() as u32,
            contents: self.content_log.len() as u32,
            before: self.threads[thread],
        });
    }

    /// Takes the most recent step back.
    pub(crate) fn undo_step(&mut self) {
        let Some(mark) = self.marks.pop() else { return };
        let thread = mark.thread as usize;
        for undo in self.cell_log.drain(mark.cells as usize..).rev() {
            self.cells[undo.index as usize] = undo.old;
        }
        restore(&mut self.stacks[thread], &mut self.local_log, mark.locals as usize);
        while self.content_log.len() > mark.contents as usize {
            if let Some(undo) = self.content_log.pop() {
                self.undo_content(undo);
            }
        }
        self.threads[thread] = mark.before;
    }

    /// Ends the most recent step for its thread alone: its slots and its place in the code stay, with the old values of the
    /// slots in `log`; what it did to shared objects and to other threads is taken back.
    pub(crate) fn keep_own(&mut self, log: &mut Vec<Undo>) {
        let Some(mark) = self.marks.pop() else { return };
        for undo in self.cell_log.drain(mark.cells as usize..).rev() {
            self.cells[undo.index as usize] = undo.old;
        }
        while self.content_log.len() > mark.contents as usize {
            if let Some(undo) = self.content_log.pop() {
                self.undo_content(undo);
            }
        }
        log.extend(self.local_log.drain(mark.locals as usize..));
    }

    fn undo_content(&mut self, undo: ContentUndo) {
        match undo {
            ContentUndo::Thread(thread, old) => self.threads[thread] = old,
            ContentUndo::ListPushed(list) => drop(self.lists[list].pop_back()),
            ContentUndo::ListPopped(list, value) => self.lists[list].push_back(value),
            ContentUndo::ListPoppedFront(list, value) => self.lists[list].push_front(value),
            ContentUndo::ListTaken(list, index, value) => self.lists[list].insert(index, value),
            ContentUndo::ListSet(list, index, old) => self.lists[list][index] = old,
            ContentUndo::ListCleared(list, old) => self.lists[list] = old,
            ContentUndo::MapChanged(map, key, Some(old)) => {
                self.maps[map].insert(key, old);
            }
            ContentUndo::MapChanged(map, key, None) => {
                self.maps[map].remove(&key);
            }
            ContentUndo::MapCleared(map, old) => self.maps[map] = old,
            ContentUndo::ReaderAdded(lock, thread) => {
                remove_sorted(&mut self.readers[lock], thread)
            }
            ContentUndo::ReaderRemoved(lock, thread) => {
                insert_sorted(&mut self.readers[lock], thread);
            }
            ContentUndo::WaiterAdded(cond, thread) => {
                remove_sorted(&mut self.waiters[cond], thread)
            }
            ContentUndo::WaiterRemoved(cond, thread) => {
                insert_sorted(&mut self.waiters[cond], thread);
            }
            ContentUndo::MessagePosted(thread) => drop(self.mailboxes[thread].pop_back()),
            ContentUndo::MessageTaken(thread, position, message) => {
                self.mailboxes[thread].insert(position, *message);
            }
            ContentUndo::MailboxReplaced(thread, old) => self.mailboxes[thread] = old,
        }
    }

    pub(crate) fn add_reader(&mut self, lock: usize, thread: usize) {
        insert_sorted(&mut self.readers[lock], thread);
        self.content_log.push(ContentUndo::ReaderAdded(lock, thread));
    }

    pub(crate) fn remove_reader(&mut self, lock: usize, thread: usize) {
        remove_sorted(&mut self.readers[lock], thread);
        self.content_log.push(ContentUndo::ReaderRemoved(lock, thread));
    }

    pub(crate) fn add_waiter(&mut self, cond: usize, thread: usize) {
        insert_sorted(&mut self.waiters[cond], thread);
        self.content_log.push(ContentUndo::WaiterAdded(cond, thread));
    }

    pub(crate) fn remove_waiter(&mut self, cond: usize, thread: usize) {
        remove_sorted(&mut self.waiters[cond], thread);
        self.content_log.push(ContentUndo::WaiterRemoved(cond, thread));
    }

    /// Adds the thread with the next free number to all tables.
    pub(crate) fn add_thread(
        &mut self,
        creator: Option<(ThreadId, u32)>,
        procedure: ProcedureId,
    ) -> usize {
        let thread = self.threads.len();
        self.threads.push(Thread::ABSENT);
        self.stacks.push(Vec::new());
        self.mailboxes.push(VecDeque::new());
        self.names.add_thread(creator, procedure);
        thread
    }
}

/// Writes a slot and logs its old value.
#[inline]
pub(crate) fn set(stack: &mut [i32], log: &mut Vec<Undo>, index: u32, value: i32) {
    let cell = &mut stack[index as usize];
    log.push(Undo { index, old: *cell });
    *cell = value;
}

/// Takes back what the log has from `mark` on.
#[inline]
pub(crate) fn restore(stack: &mut [i32], log: &mut Vec<Undo>, mark: usize) {
    for undo in log.drain(mark..).rev() {
        stack[undo.index as usize] = undo.old;
    }
}

fn insert_sorted(set: &mut Vec<usize>, thread: usize) {
    if let Err(position) = set.binary_search(&thread) {
        set.insert(position, thread);
    }
}

fn remove_sorted(set: &mut Vec<usize>, thread: usize) {
    if let Ok(position) = set.binary_search(&thread) {
        set.remove(position);
    }
}
