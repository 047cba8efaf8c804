//! Channels without a bound and with one, whose ends come and go.
//!
//! In all models, `queue` is what was sent and not taken, and `senders` and `receivers` are those who are
//! left. Messages are below 4; then 4 stands for nothing, 5 for a channel whose other end is gone.

use std::time::Duration;

use crate::common::model::{compare, compare_with_deadlock};
use selvedge::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel,
    sync_channel,
};
use selvedge::thread;

const NOTHING: usize = 4;
const GONE: usize = 5;

fn received(receiver: &Receiver<usize>) -> usize {
    receiver.recv().unwrap_or(GONE)
}

fn tried(receiver: &Receiver<usize>) -> usize {
    receiver.try_recv().unwrap_or_else(|error| match error {
        TryRecvError::Empty => NOTHING,
        TryRecvError::Disconnected => GONE,
    })
}

fn timed(receiver: &Receiver<usize>) -> usize {
    receiver.recv_timeout(Duration::from_secs(1)).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => NOTHING,
        RecvTimeoutError::Disconnected => GONE,
    })
}

/// What a model of a receiver says, in one step, with its result in `got`.
const TRY: &str = "
    if len(queue) > 0 { got = pop_front(queue); } else if senders > 0 { got = 4; } else { got = 5; }";
const WAIT: &str = "
    await len(queue) > 0 || senders == 0;
    if len(queue) > 0 { got = pop_front(queue); } else { got = 5; }";

fn receiving(first: &str, second: &str) -> String {
    format!(
        "list queue;
        shared atomic senders = 2;
        thread receiver {{
            let got = 0;
            atomic {{ {first} }}
            r0 = got;
            atomic {{ {second} }}
            r1 = got;
        }}
        thread a {{ atomic {{ push(queue, 1); }} atomic {{ senders -= 1; }} }}
        thread b {{ atomic {{ push(queue, 2); }} atomic {{ senders -= 1; }} }}"
    )
}

/// Two senders in threads of their own, and what main receives.
fn two_senders(take: [fn(&Receiver<usize>) -> usize; 2]) -> Vec<usize> {
    let (sender, receiver) = channel();
    let send = |sender: Sender<usize>, message| {
        thread::spawn(move || {
            sender.send(message).unwrap();
            drop(sender);
        })
    };
    let threads = [send(sender.clone(), 1), send(sender, 2)];
    let seen = take.map(|take| take(&receiver));
    _ = threads.map(|thread| thread.join().unwrap());
    seen.to_vec()
}

#[test]
fn receiving_in_every_way() {
    compare(&receiving(WAIT, WAIT), 6, || two_senders([received, received]));
    compare(&receiving(TRY, WAIT), 6, || two_senders([tried, received]));
    compare(&receiving(WAIT, TRY), 6, || two_senders([received, tried]));
    // To wait for a message is to come later; when the time is up, there was none.
    compare(&receiving(TRY, TRY), 6, || two_senders([timed, timed]));
    compare(&receiving(TRY, TRY), 6, || two_senders([tried, timed]));
}

/// The last sender goes, with or without a message.
#[test]
fn senders_that_go() {
    let model = format!(
        "list queue;
        shared atomic senders = 2;
        thread receiver {{
            let got = 0;
            atomic {{ {TRY} }}
            r0 = got;
            atomic {{ {WAIT} }}
            r1 = got;
        }}
        thread a {{ atomic {{ senders -= 1; }} }}
        thread b {{ atomic {{ senders -= 1; }} }}"
    );
    compare(&model, 6, || {
        let (sender, receiver) = channel();
        let threads = [sender.clone(), sender].map(|sender| thread::spawn(move || drop(sender)));
        let seen = vec![tried(&receiver), received(&receiver)];
        _ = threads.map(|thread| thread.join().unwrap());
        seen
    });
}

#[test]
fn a_receiver_that_goes() {
    let model = "
        list queue;
        shared atomic receivers = 1;
        thread receiver { atomic { await len(queue) > 0; r0 = pop_front(queue); } receivers = 0; }
        proc send_one(me: int) {
            let gone = 0;
            atomic { if receivers == 1 { push(queue, me); } else { gone = 5; } }
            if me == 1 { r1 = gone; } else { r2 = gone; }
        }
        thread a { send_one(1); }
        thread b { send_one(2); }
    ";
    compare(model, 6, || {
        let (sender, receiver) = channel();
        let threads = [(sender.clone(), 1), (sender, 2)].map(|(sender, message)| {
            thread::spawn(move || sender.send(message).map_or(GONE, |()| 0))
        });
        let mut results = vec![received(&receiver)];
        drop(receiver);
        results.extend(threads.map(|thread| thread.join().unwrap()));
        results
    });
}

#[test]
fn iterating() {
    let model = "
        thread receiver {
            receive (let a) { r0 = a; }
            receive (let b) { r1 = b; }
            receive (let c) { r2 = c; }
        }
        thread one { send receiver(1); send receiver(2); }
        thread other { send receiver(3); }
    ";
    compare(model, 4, || {
        let (sender, receiver) = channel();
        let other = sender.clone();
        let threads = [
            thread::spawn(move || (1..3).for_each(|message| sender.send(message).unwrap())),
            thread::spawn(move || other.send(3).unwrap()),
        ];
        let received = receiver.iter().collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        received
    });
    let model = "
        list queue;
        thread receiver {
            let number = 0;
            let more = true;
            while more {
                atomic {
                    if len(queue) > 0 { number = number * 4 + pop_front(queue); } else { more = false; }
                }
            }
            r0 = number;
        }
        thread one { push(queue, 1); push(queue, 2); }
        thread other { push(queue, 3); }
    ";
    compare(model, 64, || {
        let (sender, receiver) = channel();
        let other = sender.clone();
        let one = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            sender
        });
        let other = thread::spawn(move || {
            other.send(3).unwrap();
            other
        });
        let number = receiver.try_iter().fold(0, |number, message| number * 4 + message);
        _ = [one, other].map(|thread| drop(thread.join().unwrap()));
        vec![number]
    });
}

/// What a sender to a full channel does: it fails, or it waits.
#[test]
fn bounds() {
    let model = format!(
        "list queue;
        shared atomic senders = 2;
        shared atomic receivers = 1;
        thread receiver {{
            let got = 0;
            atomic {{ {WAIT} }}
            r0 = got;
            receivers = 0;
        }}
        thread a {{
            atomic {{
                if receivers == 0 {{ r1 = 5; }} else if len(queue) == 1 {{ r1 = 4; }} else {{ push(queue, 1); }}
            }}
            atomic {{ senders -= 1; }}
        }}
        thread b {{
            atomic {{
                await len(queue) == 0 || receivers == 0;
                if receivers == 0 {{ r2 = 5; }} else {{ push(queue, 2); }}
            }}
            atomic {{ senders -= 1; }}
        }}"
    );
    compare(&model, 6, || {
        let (sender, receiver) = sync_channel(1);
        let other = sender.clone();
        let a = thread::spawn(move || match sender.try_send(1) {
            Ok(()) => 0,
            Err(TrySendError::Full(_)) => NOTHING,
            Err(TrySendError::Disconnected(_)) => GONE,
        });
        let b = thread::spawn(move || other.send(2).map_or(GONE, |()| 0));
        let seen = received(&receiver);
        drop(receiver);
        vec![seen, a.join().unwrap(), b.join().unwrap()]
    });
}

/// Without room, a sender is there until its message is taken, and a receiver until it gets one.
#[test]
fn meeting() {
    // `offered`: the message of who is there.
    let model = "
        shared atomic x = 0;
        shared atomic offered = 0;
        thread receiver {
            let got = 0;
            atomic { await offered != 0; got = offered; offered = 0; }
            let v = x;
            r0 = got; r1 = v;
            atomic { await offered != 0; offered = 0; }
        }
        proc send_one(me: int) {
            atomic { await offered == 0; offered = me; }
            await offered != me;
            x = me;
        }
        thread a { send_one(1); }
        thread b { send_one(2); }
    ";
    use selvedge::sync::atomic::AtomicUsize;
    use selvedge::sync::atomic::Ordering::SeqCst;
    use std::sync::Arc;
    compare(model, 3, || {
        let (sender, receiver) = sync_channel(0);
        let x = Arc::new(AtomicUsize::new(0));
        let send = |sender: SyncSender<usize>, me: usize| {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                sender.send(me).unwrap();
                x.store(me, SeqCst);
                sender
            })
        };
        let threads = [send(sender.clone(), 1), send(sender, 2)];
        let seen = vec![received(&receiver), x.load(SeqCst)];
        receiver.recv().unwrap();
        _ = threads.map(|thread| drop(thread.join().unwrap()));
        seen
    });
}

/// Without room, to try succeeds only if the other end is there.
#[test]
fn meeting_without_waiting() {
    let model = "
        shared atomic waits = 0;
        shared atomic offered = 0;
        thread receiver { waits = 1; atomic { await offered != 0; r0 = offered; waits = 0; offered = 0; } }
        proc try_send(me: int) {
            let full = 0;
            atomic { if waits == 1 && offered == 0 { offered = me; } else { full = 4; } }
            if me == 1 { r1 = full; } else { r2 = full; }
        }
        thread a { try_send(1); }
        thread b { try_send(2); }
    ";
    compare_with_deadlock(model, 5, || {
        let (sender, receiver) = sync_channel(0);
        let threads = [(sender.clone(), 1), (sender, 2)].map(|(sender, message)| {
            // It is given back, so that the receiver does not see it go.
            thread::spawn(move || {
                let result = if sender.try_send(message).is_ok() { 0 } else { NOTHING };
                (result, sender)
            })
        });
        let mut results = vec![received(&receiver)];
        results.extend(threads.map(|thread| thread.join().unwrap().0));
        results
    });
}
