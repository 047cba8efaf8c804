//! The words of the language, each in a sentence. `docs/language.md` says more.

use selvedge_lang::index::{BUILT_IN, PLACED, WORDS};

/// Returns what a keyword or a built-in routine means.
pub(super) fn meaning(word: &str) -> Option<&'static str> {
    if ![WORDS, BUILT_IN, PLACED].iter().any(|words| words.contains(&word)) {
        return None;
    }
    Some(match word {
        "const" => "a constant; `--const N=5` gives it another value",
        "enum" => {
            "`enum State { Idle, Busy }` declares a type and its values, which reports show by name"
        }
        "int" => {
            "`int(v)` is the number of a value of an enumeration; `int` is also the type of integers"
        }
        "shared" => "declares a variable, or an array, that all threads share",
        "atomic" => {
            "`atomic { … }` and `atomic proc` are one step; accesses to a `shared atomic` variable are never a data race with each other"
        }
        "ghost" => {
            "declares a variable that the program updates and only properties read: it adds no steps"
        }
        "import" => "`import \"locks.sel\";` adds the declarations of another file",
        "mutex" => "declares a lock that one thread can hold",
        "rwlock" => "declares a lock that many threads can hold for reading, or one for writing",
        "cond" => "declares a condition variable",
        "semaphore" => "declares a counting semaphore",
        "barrier" => "declares a barrier that opens when so many threads have arrived",
        "list" => "declares a growable list of integers",
        "map" => "declares a map from integers to integers",
        "record" => {
            "`record Point { x = 0, y = 0 }` declares fields with initial values; `shared p: Point;` has a variable for each"
        }
        "actor" => {
            "an object with fields and tasks, one task at a time; `actor worker(i in 0..N)` is one for each `i`"
        }
        "task" => {
            "what an actor does when it is posted: one step up to its next `await`, and so on"
        }
        "post" => "`post account.deposit(5)` gives an actor a task and returns its future",
        "future" => {
            "the type of what `post` returns; `future int` for a task that returns an integer"
        }
        "channel" => {
            "declares a bounded queue: `send c(v);` waits while it is full, `receive(c)` while it is empty"
        }
        "lossy" => "a `lossy channel` may lose what is sent to it",
        "reordering" => "a `reordering channel` may deliver its values in any order",
        "fn" => "a function: returns a value",
        "proc" => "a procedure: returns no value, and can be spawned",
        "thread" => {
            "a thread that starts at the beginning; `thread t(i in 0..N)` is one for each `i`"
        }
        "daemon" => "a thread that may stay blocked without that being a deadlock",
        "finally" => "runs when every thread has ended, and looks at the final state",
        "always" => "a condition that holds in the initial state and after every step",
        "eventually" => "a promise: the condition is true at some time in every execution",
        "leads_to" => "`always p leads_to c;`: whenever `p` is true, `c` is true then or later",
        "progress" => "a mark: an execution without end passes marks infinitely often",
        "after" => "the branch of `receive` that is taken if no message matches",
        "independent" => {
            "declares that two atomic procedures or blocks commute; `--algorithm constrained` uses it"
        }
        "let" => "declares a local variable; in a pattern, takes a value of the message",
        "if" | "else" => "a branch; `if c { a } else { b }` is also a value",
        "while" => {
            "repeats its body while the condition is true; to wait for another thread, `await` is better"
        }
        "for" | "in" => "`for i in 0..n` repeats its body for 0, 1, …, n - 1",
        "each" => {
            "`for each x in q` repeats its body for the elements of a list; one step finds the next one"
        }
        "loop" => "repeats its body without end; `break` leaves it",
        "break" => "leaves the loop",
        "continue" => "goes on with the next iteration",
        "return" => "ends the routine or the thread",
        "assert" => "a violation if its condition is false",
        "assume" => {
            "stops its thread, without a violation, if its condition is false: the execution is not of interest"
        }
        "await" => {
            "one step that is enabled while its condition is true; it reads all of the condition at once"
        }
        "scan" => {
            "`await scan c;` reads the condition piece by piece, as a loop would, and waits if it is false"
        }
        "lock" => {
            "waits until the mutex is free and takes it; with a block, releases it on every way out"
        }
        "unlock" => "releases a mutex, which only its holder may do",
        "read_lock" | "read_unlock" => "takes and releases a reader-writer lock for reading",
        "write_lock" | "write_unlock" => "takes and releases a reader-writer lock for writing",
        "send" => "puts a message of one to eight values into the mailbox of a thread",
        "receive" => {
            "takes the oldest message that matches a pattern; waits if there is none, unless there is an `after`"
        }
        "monitor" => "`monitor t(1, v);` sends this thread the message when `t` has ended",
        "spawn" => "starts a procedure as a thread, and returns its handle",
        "join" => "waits until a thread has ended",
        "self" => "the handle of the running thread",
        "skip" => "does nothing, and is no step",
        "yield" => "a step that accesses nothing",
        "choose" => {
            "`choose(lo..hi)` is one of lo, …, hi - 1, `choose()` a boolean: every value is explored"
        }
        "true" | "false" => "a boolean",
        "min" | "max" => "the smaller or the larger of two integers",
        "abs" => "an integer without its sign",
        "compare_exchange" => {
            "`compare_exchange(x, old, new)`: one step; sets `x` to `new` if it is `old`, and returns whether it was"
        }
        "exchange" => "`exchange(x, v)`: one step; sets `x` and returns what it was",
        "fetch_add" => "`fetch_add(x, d)`: one step; adds to `x` and returns what it was",
        "load" => "`load(x, acquire)`: reads an atomic variable with a memory ordering",
        "store" => "`store(x, v, release)`: writes an atomic variable with a memory ordering",
        "fence" => "`fence(seq_cst)`: orders what its thread does before and behind it",
        "try_lock" | "try_read_lock" | "try_write_lock" => {
            "takes a lock if it is free, and returns whether it did"
        }
        "try_down" => "decrements a semaphore if it is positive, and returns whether it did",
        "count" => "the count of a semaphore, one step",
        "try_send" => {
            "`try_send(t, v)`: sends to a thread that has not ended, and returns whether it did"
        }
        "len" => "the size of an array, a constant; the length of a list or map, one step",
        "pop" => "takes the last element of a list; a violation if it is empty",
        "pop_front" => "takes the first element of a list; a violation if it is empty",
        "index_of" => "where a list has a value first; -1 if it does not have it",
        "contains" => "whether a list has an element",
        "has" => "whether a map has a key",
        "get" => "`get(m, k, other)`: the value of a key, or `other` if the map does not have it",
        "wait" => {
            "`wait(c, m)`: releases `m` and waits for a signal, then takes `m` again; two steps"
        }
        "signal" => "wakes one thread that waits, chosen by the scheduler; lost if there is none",
        "broadcast" => "wakes all threads that wait",
        "up" => "increments a semaphore; `up(s, n)` by `n`, in one step",
        "down" => "waits until a semaphore is positive and decrements it",
        "arrive" => "arrives at a barrier, and continues when it has opened; two steps",
        "push" => "appends to a list",
        "remove" => "removes a key of a map, if it is there",
        "clear" => "empties a list or a map",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_a_meaning() {
        for word in WORDS.iter().chain(BUILT_IN).chain(PLACED) {
            assert!(meaning(word).is_some(), "{word}");
        }
        assert_eq!(meaning("x"), None);
    }
}
