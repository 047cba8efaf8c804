//! A number of an execution graph, to know it again.

use selvedge_core::{EventId, ThreadId};

use super::event::{Act, Source};
use super::execution::Graph;
use crate::search::marks::{TraceHash, mixed};

impl Graph {
    /// Returns a number of the graph: of its events, what they read, and the order of the writes. A spawned thread is told by the event that
    /// spawned it, as it may have another number in another system of the program.
    pub fn hash(&self) -> TraceHash {
        let names = self.names();
        let name =
            |event: EventId| mixed(names[event.thread.index()].wrapping_add(u64::from(event.nth)));
        let mut sum = 0_u64;
        for thread in self.threads() {
            for (nth, event) in (0..).zip(self.events(thread)) {
                let own = name(EventId { thread, nth });
                let more = match event.act {
                    Act::Read { from, reading } => {
                        let from = match from {
                            Source::Initial => 0,
                            Source::Write(write) => name(write),
                        };
                        mixed(from).wrapping_add(reading as u64)
                    }
                    Act::Choice => event.value,
                    _ => 0,
                };
                sum = sum.wrapping_add(mixed(own ^ mixed(more)));
            }
        }
        for at in self.locations() {
            for pair in self.writes(at).windows(2) {
                sum = sum.wrapping_add(mixed(name(pair[0]) ^ mixed(name(pair[1]))));
            }
        }
        sum
    }

    /// Returns a number of each thread.
    fn names(&self) -> Vec<u64> {
        let number = |thread: ThreadId| mixed(u64::from(thread.number()));
        let mut names: Vec<u64> = self.threads().map(number).collect();
        // A thread that was spawned has a greater number than the one that spawned it, or that one is named by its number.
        for thread in self.threads() {
            for (nth, event) in (0_u64..).zip(self.events(thread)) {
                if let Act::Spawn(child) = event.act {
                    names[child.index()] = mixed(!names[thread.index()].wrapping_add(nth));
                }
            }
        }
        names
    }
}
