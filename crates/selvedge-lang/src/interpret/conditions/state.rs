//! Names of states and of what threads are doing.

use super::super::invisible::frames;
use super::super::load::Loaded;
use super::super::machine::{Machine, Phase};
use super::Analysis;
use super::Live;

impl Machine {
    /// Returns what a thread will do, as far as it depends on the thread alone: where it stands and the slots
    /// that still matter.
    pub(super) fn thread_state(&self, loaded: &Loaded, live: &Live, thread: usize) -> Vec<i32> {
        let state = &self.threads[thread];
        let mut name = vec![state.phase as i32];
        match state.phase {
            Phase::Absent => {}
            Phase::Finished if loaded.has_results => name.push(state.result),
            Phase::Finished => {}
            Phase::Assumed | Phase::Failed => name.push(state.pc as i32),
            Phase::Passing => name.push(i32::from(self.is_released(loaded, thread))),
            Phase::Ready | Phase::FaultsAtOnce | Phase::Parked | Phase::Woken => {}
        }
        if matches!(state.phase, Phase::Ready | Phase::Parked | Phase::Woken | Phase::Passing) {
            let stack = &self.stacks[thread];
            for frame in frames(state, stack) {
                name.extend([frame.pc as i32, frame.target.map_or(-1, |target| target as i32)]);
                for &slot in live.at(frame.pc) {
                    if frame.target != Some(slot.0) {
                        name.push(stack[(frame.base + slot.0) as usize]);
                    }
                }
            }
        } else if state.phase == Phase::FaultsAtOnce {
            let from = state.base as usize;
            name.push(state.pc as i32);
            let slots = live.at(state.pc).iter();
            name.extend(slots.map(|&slot| self.stacks[thread][from + slot.index()]));
        }
        name
    }

    /// Returns the whole state, up to the names of spawned threads.
    pub(super) fn state(&self, loaded: &Loaded, analysis: &Analysis) -> Vec<i32> {
        let mut name = self.cells[..loaded.global_objects as usize].to_vec();
        // What matters of a generation is whether threads that arrived may pass.
        loaded.generations.iter().for_each(|&cell| name[cell as usize] = 0);
        let mut add = |values: &mut dyn Iterator<Item = i32>| {
            let start = name.len();
            name.push(0);
            name.extend(values);
            name[start] = (name.len() - start) as i32;
        };
        for list in &self.lists {
            add(&mut list.iter().copied());
        }
        for map in &self.maps {
            add(&mut map.iter().flat_map(|(&key, &value)| [key, value]));
        }
        for thread in 0..loaded.static_threads() {
            add(&mut self.thread_state(loaded, &analysis.live, thread).into_iter());
        }
        let mut spawned: Vec<Vec<i32>> = (loaded.static_threads()..self.threads.len())
            .filter(|&thread| self.threads[thread].phase != Phase::Absent)
            .map(|thread| {
                let mut state = self.thread_state(loaded, &analysis.live, thread);
                if analysis.names_matter {
                    state.push(thread as i32);
                }
                state
            })
            .collect();
        spawned.sort_unstable();
        for thread in spawned {
            add(&mut thread.into_iter());
        }
        for set in self.readers.iter().chain(&self.waiters) {
            add(&mut set.iter().map(|&thread| thread as i32));
        }
        for (thread, mailbox) in self.mailboxes.iter().enumerate() {
            if !mailbox.is_empty() {
                let values = mailbox.iter().flat_map(|message| message.values().to_vec());
                add(&mut std::iter::once(thread as i32).chain(values));
            }
        }
        name
    }
}
