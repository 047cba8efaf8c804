//! Condition variables: who is woken, with or without a limit of time, and notifications that are lost.

use std::time::Duration;

use crate::common::model::{compare, compare_with_deadlock, together};
use selvedge::sync::{Condvar, Mutex};

type Shared = (Mutex<usize>, Condvar);

fn shared() -> Shared {
    (Mutex::new(0), Condvar::new())
}

fn produce((m, ready): &Shared) -> usize {
    *m.lock().unwrap() += 1;
    ready.notify_one();
    0
}

#[test]
fn one_waits_for_two() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread consumer {
            lock m;
            let waits = 0;
            while items == 0 { waits += 1; wait(ready, m); }
            let v = items;
            unlock m;
            r0 = v * 2 + waits;
        }
        thread producer(i in 0..2) { lock m { items += 1; } signal(ready); }
    ";
    compare(model, 8, || {
        let consume: fn(&Shared) -> usize = |(m, ready)| {
            let (mut items, mut waits) = (m.lock().unwrap(), 0);
            while *items == 0 {
                waits += 1;
                items = ready.wait(items).unwrap();
            }
            *items * 2 + waits
        };
        together(shared(), &[consume, produce, produce])[..1].to_vec()
    });
}

/// As the one above, but the loop is that of the library.
#[test]
fn waiting_while_something_holds() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread consumer {
            lock m;
            let looks = 1;
            while items < 2 { wait(ready, m); looks += 1; }
            unlock m;
            r0 = looks;
        }
        thread producer(i in 0..2) { lock m { items += 1; } signal(ready); }
    ";
    compare(model, 8, || {
        let consume: fn(&Shared) -> usize = |(m, ready)| {
            let mut looks = 0;
            let is_less = |items: &mut usize| {
                looks += 1;
                *items < 2
            };
            drop(ready.wait_while(m.lock().unwrap(), is_less).unwrap());
            looks
        };
        together(shared(), &[consume, produce, produce])[..1].to_vec()
    });
}

#[test]
fn waiting_for_a_time() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread consumer {
            let up = 0;
            lock m;
            if items == 0 {
                if choose() { up = 1; unlock m; lock m; } else { wait(ready, m); }
            }
            let v = items;
            unlock m;
            r0 = v * 2 + up;
        }
        thread producer(i in 0..2) { lock m { items += 1; } signal(ready); }
    ";
    compare(model, 6, || {
        let consume: fn(&Shared) -> usize = |(m, ready)| {
            let (mut items, mut up) = (m.lock().unwrap(), false);
            if *items == 0 {
                let (guard, result) = ready.wait_timeout(items, Duration::ZERO).unwrap();
                (items, up) = (guard, result.timed_out());
            }
            *items * 2 + usize::from(up)
        };
        together(shared(), &[consume, produce, produce])[..1].to_vec()
    });
}

/// When the time is up, it looks once more.
#[test]
fn waiting_for_a_time_while_something_holds() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread consumer {
            let up = false;
            lock m;
            let v = items;
            while v < 2 && !up {
                up = choose();
                if up { unlock m; lock m; } else { wait(ready, m); }
                v = items;
            }
            unlock m;
            r0 = if up && v < 2 { v * 2 + 1 } else { v * 2 };
        }
        thread producer(i in 0..2) { lock m { items += 1; } signal(ready); }
    ";
    compare(model, 6, || {
        let consume: fn(&Shared) -> usize = |(m, ready)| {
            let guard = m.lock().unwrap();
            let waited = ready.wait_timeout_while(guard, Duration::ZERO, |items| *items < 2);
            let (items, result) = waited.unwrap();
            *items * 2 + usize::from(result.timed_out())
        };
        together(shared(), &[consume, produce, produce])[..1].to_vec()
    });
}

/// One notification wakes any of those who wait, and only one: who is woken wakes the next.
#[test]
fn who_of_two_is_woken() {
    let model = "
        mutex m;
        cond ready;
        shared waiting = 0;
        shared turns = 0;
        proc wait_once(me: int) {
            lock m;
            waiting += 1;
            wait(ready, m);
            turns += 1;
            let v = turns;
            unlock m;
            signal(ready);
            if me == 0 { r0 = v; } else { r1 = v; }
        }
        thread a { wait_once(0); }
        thread b { wait_once(1); }
        thread c { lock m; let v = waiting; unlock m; signal(ready); r2 = v; }
    ";
    type Shared = (Mutex<[usize; 2]>, Condvar);
    fn wait((m, ready): &Shared) -> usize {
        let mut guard = m.lock().unwrap();
        guard[0] += 1;
        guard = ready.wait(guard).unwrap();
        guard[1] += 1;
        let turn = guard[1];
        drop(guard);
        ready.notify_one();
        turn
    }
    compare_with_deadlock(model, 3, || {
        let notify: fn(&Shared) -> usize = |(m, ready)| {
            let waiting = m.lock().unwrap()[0];
            ready.notify_one();
            waiting
        };
        together((Mutex::new([0, 0]), Condvar::new()), &[wait, wait, notify])
    });
}

/// A notification of all leaves no waiter for the next one.
#[test]
fn all_are_woken() {
    let model = "
        mutex m;
        cond ready;
        shared turns = 0;
        thread a { lock m; wait(ready, m); turns += 1; let v = turns; unlock m; r0 = v; }
        thread b { lock m; wait(ready, m); turns += 1; let v = turns; unlock m; r1 = v; }
        thread c { broadcast(ready); signal(ready); }
    ";
    fn wait((m, ready): &Shared) -> usize {
        let mut turns = ready.wait(m.lock().unwrap()).unwrap();
        *turns += 1;
        *turns
    }
    compare_with_deadlock(model, 3, || {
        let notify: fn(&Shared) -> usize = |(_, ready)| {
            ready.notify_all();
            ready.notify_one();
            0
        };
        together(shared(), &[wait, wait, notify])
    });
}

/// A notification before the wait is lost, also if another thread waits with a limit of time.
#[test]
fn notifications_that_are_lost() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread a { lock m; wait(ready, m); let v = items; unlock m; r0 = v; }
        thread b {
            lock m;
            if choose() { r1 = 2; unlock m; lock m; } else { wait(ready, m); }
            let v = items;
            unlock m;
            r1 += v;
        }
        thread c { lock m { items = 1; } broadcast(ready); }
    ";
    compare_with_deadlock(model, 4, || {
        together(
            shared(),
            &[
                |(m, ready)| *ready.wait(m.lock().unwrap()).unwrap(),
                |(m, ready)| {
                    let guard = m.lock().unwrap();
                    let (guard, result) = ready.wait_timeout(guard, Duration::ZERO).unwrap();
                    *guard + 2 * usize::from(result.timed_out())
                },
                |(m, ready)| {
                    *m.lock().unwrap() = 1;
                    ready.notify_all();
                    0
                },
            ],
        )
    });
}
