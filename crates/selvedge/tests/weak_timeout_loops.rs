//! Loops around a wait that may give up, under memory models: what comes after each turn is the same, so they wait.

use std::collections::BTreeSet;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc as Std, Mutex as StdMutex};

use selvedge::sync::mpsc;
use selvedge::{Verdict, thread};

use crate::weak_timeouts::{SOON, outcomes, sent, verified, violated};

/// The next message. `None`: all senders are gone.
fn next(receiver: &mpsc::Receiver<u32>) -> Option<u32> {
    loop {
        match receiver.recv_timeout(SOON) {
            Ok(value) => return Some(value),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn sent_in<const BOUND: usize>() -> (thread::JoinHandle<()>, mpsc::Receiver<u32>) {
    let (sender, receiver) = mpsc::sync_channel(BOUND);
    (thread::spawn(move || sender.send(1).unwrap()), receiver)
}

#[test]
fn a_message_comes() {
    for (send, executions) in
        [(sent_in::<0> as fn() -> _, [5, 4, 4]), (sent_in::<1>, [6, 5, 5]), (|| sent(1), [9, 5, 5])]
    {
        verified(
            move || {
                let (thread, receiver) = send();
                assert_eq!(next(&receiver), Some(1));
                thread.join().unwrap();
            },
            executions,
        );
    }
}

#[test]
fn the_sender_goes() {
    verified(
        || {
            let (sender, receiver) = mpsc::channel();
            let thread = thread::spawn(move || drop(sender));
            assert_eq!(next(&receiver), None);
            thread.join().unwrap();
        },
        [5, 2, 2],
    );
}

#[test]
fn none_comes() {
    violated(
        || {
            let (sender, receiver) = mpsc::channel();
            next(&receiver);
            drop(sender);
        },
        "deadlock: main is blocked",
    );
}

/// A sender that does not wait meets the receiver in some turn, or does not.
#[test]
fn a_sender_meets_the_loop_or_not() {
    let seen = Std::new(StdMutex::new(BTreeSet::new()));
    let collect = Std::clone(&seen);
    let code = move || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || {
            let met = sender.try_send(1).is_ok();
            sender.send(2).unwrap();
            met
        });
        let values = std::iter::from_fn(|| next(&receiver)).collect::<Vec<_>>();
        let met = thread.join().unwrap();
        collect.lock().unwrap().insert((met, values));
    };
    let code = Std::new(code);
    let both = BTreeSet::from([(false, vec![2]), (true, vec![1, 2])]);
    for outcome in outcomes(move || code(), |it| it) {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
    assert_eq!(*seen.lock().unwrap(), both);
}

/// A loop that counts does not wait: each of its turns is explored.
#[test]
fn a_loop_that_counts() {
    violated(
        || {
            let (thread, receiver) = sent(1);
            let is_up = |_: &i32| receiver.recv_timeout(SOON).is_err();
            assert!((0..3).take_while(is_up).count() < 3, "three times");
            thread.join().unwrap();
        },
        "three times",
    );
}
