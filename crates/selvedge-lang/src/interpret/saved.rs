//! The state as bytes, and back: [`States`].
//!
//! Numbers take one byte if they are small. First come the cells, then lists, maps and the sets of threads at locks and
//! condition variables, then the threads by their numbers, up to the last that exists. Left out is what has no effect
//! any more or no effect at all: slots that are not live, how many messages a thread has sent (only their names depend
//! on it), whether a spawned thread has begun. The generation of a barrier, which grows without bound, is left out as well:
//! what matters is whether it has changed since a thread arrived.

use std::collections::BTreeMap;

use selvedge_core::{States, ThreadId};
use smallvec::SmallVec;

use crate::ir::{GlobalKind, Slot};

use super::Interpreter;
use super::conditions::Live;
use super::invisible::{HEADER, frames};
use super::load::Loaded;
use super::machine::{Machine, Message, Phase, Thread};
use super::symmetry::Symmetry;

/// The generation of a barrier in a state that was restored, and that of threads that wait there.
const GENERATION: i32 = 0;

/// The generation of threads that may pass, in a state that was restored. Its parity is the other one, as of threads
/// that arrived one generation before.
const EARLIER: i32 = GENERATION - 1;

impl States for Interpreter {
    fn save(&mut self, bytes: &mut Vec<u8>) {
        let mut symmetry = self.symmetry.take();
        let (loaded, machine, analysis) = self.parts();
        let live = &analysis.live;
        let other = match symmetry.as_mut() {
            Some(it) => it.choose(machine, loaded, live).then_some(&*it),
            None => None,
        };
        match other {
            Some(symmetry) => {
                symmetry.rename(machine, loaded, live);
                machine.save(loaded, live, bytes);
                symmetry.undo(machine, loaded, live);
            }
            None => machine.save_quickly(loaded, live, bytes),
        }
        self.symmetry = symmetry;
    }

    fn up_to_renaming(&mut self) -> Vec<String> {
        let (loaded, _, analysis) = self.parts();
        self.symmetry = Symmetry::of(loaded, &analysis.live).map(Box::new);
        self.symmetry.as_ref().map_or_else(Vec::new, |it| it.names())
    }

    fn names_as_saved(&mut self) -> Vec<ThreadId> {
        let threads = self.loaded.static_threads();
        self.symmetry.as_ref().map_or_else(Vec::new, |it| it.chosen(threads))
    }

    fn save_with_names(&mut self, names: &[ThreadId], bytes: &mut Vec<u8>) {
        let mut symmetry = self.symmetry.take();
        let (loaded, machine, analysis) = self.parts();
        let live = &analysis.live;
        match &mut symmetry {
            Some(symmetry) => {
                symmetry.choose_these(names);
                symmetry.rename(machine, loaded, live);
                machine.save(loaded, live, bytes);
                symmetry.undo(machine, loaded, live);
            }
            None => machine.save(loaded, live, bytes),
        }
        self.symmetry = symmetry;
    }

    fn restore(&mut self, bytes: &[u8]) {
        let is_first = self.initial.is_none();
        let (loaded, machine, analysis) = self.parts();
        let mut initial = None;
        if is_first {
            while machine.steps() > 0 {
                machine.undo_step();
            }
            let mut bytes = Vec::new();
            machine.save(loaded, &analysis.live, &mut bytes);
            initial = Some(bytes.into_boxed_slice());
        }
        machine.restore(loaded, &analysis.live, bytes);
        self.initial = self.initial.take().or(initial);
    }

    fn mean_the_same(&self) -> bool {
        // Threads that are spawned are numbered in the order in which they are met.
        !self.loaded.spawns
    }

    fn parts(&mut self, part: &mut dyn FnMut(&str, &[i32])) {
        let (loaded, machine, analysis) = self.parts();
        for (global, address) in loaded.program.globals.iter().zip(&loaded.globals) {
            for element in 0..global.elements() {
                let (cell, content) =
                    (address.base as usize + element, address.content as usize + element);
                let value = match global.kind {
                    GlobalKind::Variable { .. }
                    | GlobalKind::Ghost { .. }
                    | GlobalKind::Semaphore { .. } => {
                        vec![machine.cells[cell]]
                    }
                    GlobalKind::List { .. } | GlobalKind::Channel { .. } => {
                        machine.lists[content].iter().copied().collect()
                    }
                    GlobalKind::Map { .. } => {
                        let map = machine.maps[content].iter();
                        map.flat_map(|(&key, &value)| [key, value]).collect()
                    }
                    GlobalKind::Mutex
                    | GlobalKind::RwLock
                    | GlobalKind::Cond
                    | GlobalKind::Invariant
                    | GlobalKind::Barrier { .. } => continue,
                };
                part(&global.element_name(element), &value);
            }
        }
        for (thread, state) in machine.threads.iter().enumerate() {
            if state.phase == Phase::Absent {
                continue;
            }
            let name = machine.thread_name(loaded, thread);
            let mailbox: Vec<i32> =
                machine.mailboxes[thread].iter().flat_map(|it| it.values().to_vec()).collect();
            part(&format!("the mailbox of {name}"), &mailbox);
            if !state.phase.is_at_operation() {
                continue;
            }
            let stack = &machine.stacks[thread];
            let procedure = &loaded.program.procedures[loaded.procedure_at(state.pc).index()];
            for &slot in analysis.live.at(state.pc) {
                if let Some(local) = &procedure.slots[slot.index()].name {
                    let value = stack[(state.base + slot.0) as usize];
                    part(&format!("{local} of {name}"), &[value]);
                }
            }
        }
    }
}

impl Machine {
    /// As [`Machine::save`], by writing only what has changed if that is known.
    fn save_quickly(&self, loaded: &Loaded, live: &Live, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        if !self.save_after_step(loaded, live, bytes) {
            self.save(loaded, live, bytes);
        }
        debug_assert!(
            {
                let mut anew = Vec::new();
                self.save(loaded, live, &mut anew);
                bytes[start..] == anew
            },
            "what has changed is not all that is written again"
        );
    }

    /// Appends the state to `bytes`.
    pub(super) fn save(&self, loaded: &Loaded, live: &Live, bytes: &mut Vec<u8>) {
        self.save_shared(loaded, bytes);
        for thread in 0..self.existing_threads() {
            self.save_thread(loaded, live, thread, bytes);
        }
    }

    /// Appends the shared objects.
    pub(super) fn save_shared(&self, loaded: &Loaded, bytes: &mut Vec<u8>) {
        let mut next = 0;
        for &generation in &loaded.generations {
            put_all(bytes, self.cells[next..generation as usize].iter().copied());
            next = generation as usize + 1;
        }
        put_all(bytes, self.cells[next..loaded.global_objects as usize].iter().copied());
        for list in &self.lists {
            put_length(bytes, list.len());
            list.iter().for_each(|&value| put(bytes, value));
        }
        for map in &self.maps {
            put_length(bytes, map.len());
            for (&key, &value) in map {
                put(bytes, key);
                put(bytes, value);
            }
        }
        for set in self.readers.iter().chain(&self.waiters) {
            put_length(bytes, set.len());
            set.iter().for_each(|&thread| put_length(bytes, thread));
        }
    }

    /// Returns how many threads there are, up to the last that exists.
    pub(super) fn existing_threads(&self) -> usize {
        let mut end = self.threads.len();
        while end > 0 && self.threads[end - 1].phase == Phase::Absent {
            end -= 1;
        }
        end
    }

    pub(super) fn save_thread(
        &self,
        loaded: &Loaded,
        live: &Live,
        number: usize,
        bytes: &mut Vec<u8>,
    ) {
        let thread = &self.threads[number];
        let is_released = thread.phase == Phase::Passing && self.is_released(loaded, number);
        bytes.push(thread.phase as u8 | if is_released { RELEASED } else { 0 });
        match thread.phase {
            Phase::Absent => return,
            Phase::Finished if loaded.has_results => put(bytes, thread.result),
            Phase::Finished => {}
            Phase::Assumed | Phase::Failed => put_length(bytes, thread.pc as usize),
            Phase::Ready | Phase::FaultsAtOnce | Phase::Parked | Phase::Woken | Phase::Passing => {
                let stack = &self.stacks[number];
                if loaded.spawns {
                    put_length(bytes, thread.spawned as usize);
                }
                put_length(bytes, thread.pc as usize);
                put_length(bytes, thread.depth as usize);
                let slots = live.at(thread.pc).iter();
                put_all(bytes, slots.map(|slot| stack[(thread.base + slot.0) as usize]));
                for frame in frames(thread, stack).skip(1) {
                    put_length(bytes, frame.pc as usize);
                    put_length(bytes, frame.target.map_or(0, |target| target as usize + 1));
                    for &slot in live.at(frame.pc) {
                        if frame.target != Some(slot.0) {
                            put(bytes, stack[(frame.base + slot.0) as usize]);
                        }
                    }
                }
            }
        }
        if loaded.has_messages {
            put_length(bytes, self.mailboxes[number].len());
            for message in &self.mailboxes[number] {
                put_length(bytes, message.values().len());
                put_all(bytes, message.values().iter().copied());
            }
        }
    }

    /// Returns whether a thread that has arrived at a barrier may pass.
    pub(super) fn is_released(&self, loaded: &Loaded, thread: usize) -> bool {
        let at = self.at(loaded, thread);
        loaded.op(at.thread.pc).operation().is_none_or(|op| op.can_run(self, at))
    }

    /// Returns to a state that was saved.
    pub(super) fn restore(&mut self, loaded: &Loaded, live: &Live, bytes: &[u8]) {
        // Now it is the state that was restored before.
        while self.steps() > 0 {
            self.undo_step();
        }
        let mut reader = Reader { bytes };
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        if !reader.skips(self.restored.part(0)) {
            self.restore_shared(loaded, &mut reader);
        }
        ends.push(bytes.len() - reader.bytes.len());
        let (mut threads, mut kept) = (0, 0_u64);
        for number in 0..self.threads.len() {
            if reader.skips(self.restored.part(number + 1)) {
                kept |= 1_u64.checked_shl(number as u32).unwrap_or(0);
            } else {
                self.mailboxes[number].clear();
                self.threads[number] = Thread::ABSENT;
                if let Some(phase) = reader.byte() {
                    self.restore_thread(loaded, live, number, phase, &mut reader);
                }
            }
            let end = bytes.len() - reader.bytes.len();
            if ends.last() != Some(&end) {
                ends.push(end);
            }
            threads += i32::from(self.threads[number].phase != Phase::Absent);
        }
        self.cells[loaded.global_objects as usize] = threads;
        let cells = loaded.global_objects as usize - loaded.generations.len();
        let are_cells_short = bytes[..cells].iter().all(|&byte| byte < 0x80);
        let is_kept = |thread: usize| kept.checked_shr(thread as u32).is_some_and(|it| it & 1 == 1);
        self.restored.replace(bytes, &mut ends, are_cells_short, is_kept);
        self.ends = ends;
    }

    fn restore_shared(&mut self, loaded: &Loaded, reader: &mut Reader<'_>) {
        let mut next = 0;
        for &generation in &loaded.generations {
            reader.numbers(&mut self.cells[next..generation as usize]);
            self.cells[generation as usize] = GENERATION;
            next = generation as usize + 1;
        }
        reader.numbers(&mut self.cells[next..loaded.global_objects as usize]);
        for list in &mut self.lists {
            list.clear();
            list.extend((0..reader.length()).map(|_| reader.number()));
        }
        for map in &mut self.maps {
            *map = (0..reader.length())
                .map(|_| (reader.number(), reader.number()))
                .collect::<BTreeMap<_, _>>();
        }
        for set in self.readers.iter_mut().chain(&mut self.waiters) {
            set.clear();
            set.extend((0..reader.length()).map(|_| reader.length()));
        }
    }

    fn restore_thread(
        &mut self,
        loaded: &Loaded,
        live: &Live,
        number: usize,
        phase: u8,
        reader: &mut Reader<'_>,
    ) {
        let is_released = phase & RELEASED != 0;
        let phase = Phase::ALL[usize::from(phase & !RELEASED)];
        let generation = if is_released { EARLIER } else { GENERATION };
        let mut thread = Thread { phase, generation, begun: true, ..Thread::ABSENT };
        match phase {
            Phase::Absent => return,
            Phase::Finished if loaded.has_results => thread.result = reader.number(),
            Phase::Finished => {}
            Phase::Assumed | Phase::Failed => thread.pc = reader.length() as u32,
            Phase::Ready | Phase::FaultsAtOnce | Phase::Parked | Phase::Woken | Phase::Passing => {
                if loaded.spawns {
                    thread.spawned = reader.length() as u32;
                }
                restore_frames(loaded, live, &mut thread, &mut self.stacks[number], reader);
            }
        }
        self.threads[number] = thread;
        if loaded.has_messages {
            let mailbox = &mut self.mailboxes[number];
            mailbox.clear();
            for nth in 0..reader.length() {
                let length = reader.length();
                // Who sent it has no effect: its name only has to differ from those of the others here.
                let object = self.names.message(number, nth as u32);
                mailbox.push_back(Message::new(object, (0..length).map(|_| reader.number())));
            }
        }
    }
}

/// Reads the frames of a thread, which were written from the top down.
fn restore_frames(
    loaded: &Loaded,
    live: &Live,
    thread: &mut Thread,
    stack: &mut Vec<i32>,
    reader: &mut Reader<'_>,
) {
    thread.pc = reader.length() as u32;
    thread.depth = reader.length() as u32;
    if thread.depth == 0 {
        // The only frame, in nearly all states.
        thread.top = loaded.frames[thread.pc as usize];
        if stack.len() < thread.top as usize {
            stack.resize(thread.top as usize, 0);
        }
        for slot in live.at(thread.pc) {
            stack[slot.index()] = reader.number();
        }
        return;
    }
    // Where a frame begins depends on those below it: first only what they are.
    let mut read: SmallVec<[(u32, u32, Reader<'_>); 8]> = SmallVec::new();
    for level in 0..=thread.depth {
        let (pc, target) = match level {
            0 => (thread.pc, 0),
            _ => (reader.length() as u32, reader.length() as u32),
        };
        read.push((pc, target, *reader));
        for _ in kept_slots(live, pc, target) {
            reader.number();
        }
    }
    let mut base = 0;
    let mut caller = None;
    for (pc, target, mut values) in read.into_iter().rev() {
        thread.top = base + loaded.frames[pc as usize];
        if stack.len() < thread.top as usize {
            stack.resize(thread.top as usize, 0);
        }
        if let Some((return_to, caller_base, target)) = caller {
            let header = (base - HEADER) as usize;
            stack[header] = return_to as i32;
            stack[header + 1] = caller_base as i32;
            stack[header + 2] = if target > 0 { (caller_base + target) as i32 } else { 0 };
        }
        for slot in kept_slots(live, pc, target) {
            stack[(base + slot.0) as usize] = values.number();
        }
        thread.base = base;
        caller = Some((pc, base, target));
        base = thread.top + HEADER;
    }
}

/// Returns the slots of a frame that are saved: not the one that the call above it sets.
fn kept_slots(live: &Live, pc: u32, target: u32) -> impl Iterator<Item = &Slot> {
    live.at(pc).iter().filter(move |slot| slot.0 + 1 != target)
}

/// In the byte of a phase: the thread may pass the barrier.
const RELEASED: u8 = 0x80;

#[inline]
fn put(bytes: &mut Vec<u8>, value: i32) {
    put_length(bytes, unsigned(value) as usize);
}

/// Small numbers of either sign become small ones without a sign.
#[inline]
pub(super) fn unsigned(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// As `put` for each. What is put is short, so there is room for it before it is counted.
#[inline]
fn put_all(bytes: &mut Vec<u8>, values: impl ExactSizeIterator<Item = i32>) {
    let mut at = bytes.len();
    bytes.resize(at + values.len(), 0);
    let mut left = values.len();
    for value in values {
        left -= 1;
        let value = unsigned(value);
        if value < 0x80 {
            bytes[at] = value as u8;
            at += 1;
        } else {
            bytes.truncate(at);
            put_length(bytes, value as usize);
            at = bytes.len();
            bytes.resize(at + left, 0);
        }
    }
}

/// Seven bits in each byte, the lowest first; all but the last have the highest bit.
#[inline]
fn put_length(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads what was put.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    /// Goes past a part that comes next, if it does.
    #[inline]
    fn skips(&mut self, part: Option<&[u8]>) -> bool {
        let rest = part.and_then(|part| self.bytes.strip_prefix(part));
        self.bytes = rest.unwrap_or(self.bytes);
        rest.is_some()
    }

    /// `None` at the end.
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    #[inline]
    fn length(&mut self) -> usize {
        match self.bytes {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.bytes = rest;
                usize::from(*byte)
            }
            _ => self.long_length(),
        }
    }

    #[cold]
    fn long_length(&mut self) -> usize {
        let (mut value, mut shift) = (0, 0);
        while let Some(byte) = self.byte() {
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        value
    }

    #[inline]
    fn number(&mut self) -> i32 {
        let value = self.length() as u32;
        (value >> 1) as i32 ^ -((value & 1) as i32)
    }

    #[inline]
    fn numbers(&mut self, values: &mut [i32]) {
        values.iter_mut().for_each(|value| *value = self.number());
    }
}
