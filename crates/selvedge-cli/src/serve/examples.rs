//! The programs of the repository, in the binary.

macro_rules! programs {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../programs/", $name)))),*]
    };
}

/// Those without a folder first. A test compares the list with the folder.
const ALL: &[(&str, &str)] = programs! {
    "bank-fixed.sel"
    "bank.sel"
    "bugs/ab-ba.sel"
    "bugs/aba.sel"
    "bugs/check-then-act.sel"
    "bugs/data-race-fixed.sel"
    "bugs/data-race.sel"
    "bugs/double-checked.sel"
    "bugs/lost-update.sel"
    "bugs/message-order.sel"
    "bugs/two-kinds.sel"
    "constrained/bounded-buffer.sel"
    "constrained/database.sel"
    "constrained/fib-one-cell.sel"
    "constrained/fib.sel"
    "constrained/fig1.sel"
    "constrained/mergesort.sel"
    "constrained/parallel-sort.sel"
    "constrained/pi.sel"
    "constrained/quicksort.sel"
    "constrained/registration.sel"
    "constrained/visits.sel"
    "data-centric/alternate.sel"
    "data-centric/bank.sel"
    "data-centric/commits.sel"
    "data-centric/key-rotation.sel"
    "data-centric/peterson.sel"
    "data-centric/pipeline.sel"
    "data-centric/read-then-write.sel"
    "data-centric/sieve.sel"
    "data-centric/three-cycle.sel"
    "data-centric/write-then-read.sel"
    "data-centric/writes-then-read.sel"
    "features/always.sel"
    "features/assume.sel"
    "features/atomic-blocks.sel"
    "features/await.sel"
    "features/choose.sel"
    "features/early-read.sel"
    "features/fork-join.sel"
    "features/lists-and-maps.sel"
    "limits/spinning.sel"
    "litmus/iriw.sel"
    "litmus/load-buffering.sel"
    "litmus/message-passing.sel"
    "litmus/store-buffering.sel"
    "litmus/two-plus-two-writes.sel"
    "lock-free/seqlock.sel"
    "lock-free/ticket-lock.sel"
    "lock-free/treiber-stack.sel"
    "locks/barrier.sel"
    "locks/condition-buffer.sel"
    "locks/counter.sel"
    "locks/philosophers-ordered.sel"
    "locks/philosophers.sel"
    "locks/racy-counter.sel"
    "locks/reader-writer.sel"
    "locks/semaphore-buffer.sel"
    "locks/try-lock.sel"
    "mat/fib.sel"
    "mat/figure-4.sel"
    "mat/figure-7.sel"
    "mat/inputs.sel"
    "mat/rounds.sel"
    "message-passing/ping-pong.sel"
    "message-passing/ring-election.sel"
    "message-passing/selective-receive.sel"
    "message-passing/server.sel"
    "message-passing/timeout.sel"
    "mutual-exclusion/dekker.sel"
    "mutual-exclusion/peterson.sel"
    "mutual-exclusion/szymanski.sel"
    "optimal-dpor/alternate.sel"
    "optimal-dpor/control-flow.sel"
    "optimal-dpor/filesystem.sel"
    "optimal-dpor/indexer.sel"
    "optimal-dpor/lastzero.sel"
    "optimal-dpor/readers.sel"
    "optimal-dpor/sleep-block.sel"
    "optimal-dpor/writer-readers.sel"
    "optimal-dpor/writers.sel"
    "quasi-optimal/coupled-races.sel"
    "quasi-optimal/dispatcher.sel"
    "quasi-optimal/mpat.sel"
    "quasi-optimal/mpc.sel"
    "quasi-optimal/pi.sel"
    "quasi-optimal/poke.sel"
    "quasi-optimal/stair.sel"
    "quasi-optimal/two-columns.sel"
    "regressions/after-these-readers.sel"
    "regressions/alternative-that-ends-later.sel"
    "regressions/assume-or-end.sel"
    "regressions/atomic-await-branch.sel"
    "regressions/atomic-on-a-list.sel"
    "regressions/atomic-up.sel"
    "regressions/await-all-quiet.sel"
    "regressions/await-all-zero.sel"
    "regressions/await-and-increment.sel"
    "regressions/await-by-function.sel"
    "regressions/await-either.sel"
    "regressions/await-in-a-loop.sel"
    "regressions/await-other-branch.sel"
    "regressions/await-two-variables.sel"
    "regressions/awaits-of-two-variables.sel"
    "regressions/barrier-of-many.sel"
    "regressions/block-after-an-end.sel"
    "regressions/block-writes-elsewhere-two-readers.sel"
    "regressions/block-writes-elsewhere.sel"
    "regressions/blocks-that-await-all.sel"
    "regressions/burst-mutation.sel"
    "regressions/choice-that-ends.sel"
    "regressions/compare-exchange-ends.sel"
    "regressions/constrained-loses-a-state.sel"
    "regressions/ends-or-not.sel"
    "regressions/fault-before-await.sel"
    "regressions/first-step-of-a-task.sel"
    "regressions/four-threads.sel"
    "regressions/largest-count.sel"
    "regressions/last-sends.sel"
    "regressions/last-step-seen.sel"
    "regressions/lock-that-ends.sel"
    "regressions/lost-races.sel"
    "regressions/many-readers.sel"
    "regressions/one-step-task.sel"
    "regressions/reader-waits-for-a-reader.sel"
    "regressions/readers-and-a-try-write.sel"
    "regressions/readers-and-a-try.sel"
    "regressions/readers-around-a-write.sel"
    "regressions/readers-at-a-barrier.sel"
    "regressions/readers-one-writes-too.sel"
    "regressions/send-before-await.sel"
    "regressions/send-in-atomic.sel"
    "regressions/send-to-a-task.sel"
    "regressions/sends-and-compare-exchange.sel"
    "regressions/sequence-without-its-rest.sel"
    "regressions/short-histories.sel"
    "regressions/signal-to-tasks.sel"
    "regressions/signals-before-waiters.sel"
    "regressions/spawned-again.sel"
    "regressions/task-that-never-starts.sel"
    "regressions/task-without-steps.sel"
    "regressions/tasks-that-wait.sel"
    "regressions/test-and-set-in-atomic.sel"
    "regressions/three-transactions.sel"
    "regressions/try-lock-ends.sel"
    "regressions/two-ups-and-two-tries.sel"
    "regressions/unlock-what-is-free.sel"
    "regressions/upgrade-and-a-reader.sel"
    "states/barrier-in-rounds.sel"
    "states/philosophers.sel"
    "states/test-and-test-and-set.sel"
    "weak-memory/coherence.sel"
    "weak-memory/increments.sel"
    "weak-memory/iriw-acquire.sel"
    "weak-memory/iriw-relaxed-writes.sel"
    "weak-memory/iriw.sel"
    "weak-memory/load-buffering.sel"
    "weak-memory/locks.sel"
    "weak-memory/lost-wake-up.sel"
    "weak-memory/message-passing-fences.sel"
    "weak-memory/message-passing-relaxed.sel"
    "weak-memory/message-passing.sel"
    "weak-memory/peterson-exchange.sel"
    "weak-memory/peterson-one-fence.sel"
    "weak-memory/peterson-release-acquire.sel"
    "weak-memory/peterson-two-fences.sel"
    "weak-memory/peterson.sel"
    "weak-memory/publish-relaxed.sel"
    "weak-memory/publish.sel"
    "weak-memory/release-sequence-store.sel"
    "weak-memory/release-sequence.sel"
    "weak-memory/sequence-lock-no-fence.sel"
    "weak-memory/sequence-lock.sel"
    "weak-memory/store-buffering-fences.sel"
    "weak-memory/store-buffering-weak-fences.sel"
    "weak-memory/store-buffering.sel"
    "weak-memory/two-plus-two-writes.sel"
    "weak-memory/wake-up.sel"
    "weak-memory/z6-u.sel"
};

/// Returns the names of all examples.
pub(super) fn names() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
}

/// Returns the text of an example, without the counts that tests compare.
pub(super) fn named(name: &str) -> Option<String> {
    let (_, text) = ALL.iter().find(|(known, _)| *known == name)?;
    let lines = text.lines().filter(|line| !line.starts_with("//#"));
    // The comment before the counts ends with an empty line of its own.
    let text = lines.map(|line| format!("{line}\n")).collect::<String>();
    Some(text.replacen("//\n\n", "\n", 1))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn counts_are_left_out() {
        let text = named("bank.sel").expect("it is an example");
        assert!(text.contains("Together 6 classes.\n\nshared balance"), "{text}");
        assert_eq!(named("bank"), None);
    }

    #[test]
    fn every_program_is_an_example() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
        let mut found = Vec::new();
        let mut todo = vec![PathBuf::new()];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(root.join(&folder)).expect("the programs are there") {
                let entry = entry.expect("an entry can be read");
                let path = folder.join(entry.file_name());
                if entry.path().is_dir() {
                    todo.push(path);
                } else if path.extension().is_some_and(|ending| ending == "sel") {
                    found.push(path.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        found.sort_by_key(|name| (name.contains('/'), name.clone()));
        assert_eq!(names(), found, "the list in examples.rs is not that of the folder");
    }
}
