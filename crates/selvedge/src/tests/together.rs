//! A check by several processes: they find what one finds, and learn what one learns.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use selvedge_crew::Pace;

use crate::sync::atomic::{AtomicBool, AtomicUsize};
use crate::sync::{Arc, Condvar, Mutex, RwLock};
use crate::{Algorithm, Builder, Verdict, hint, thread};

/// Threads that swap their numbers into one variable: special if they come in this order.
fn swaps(before: &'static [usize], special: fn()) {
    let x = Arc::new(AtomicUsize::new(9));
    let follow = |i: usize| {
        let x = Arc::clone(&x);
        thread::spawn(move || x.swap(i, SeqCst) == before[i])
    };
    let threads: Vec<_> = (0..before.len()).map(follow).collect();
    let follows: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    if follows.iter().all(|&follows| follows) {
        special();
    }
}

/// The order 1, 2, 4, 3, 0.
const ORDER: &[usize] = &[3, 9, 1, 4, 2];

fn deadlock() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let other = Arc::clone(&locks);
    let thread = thread::spawn(move || {
        let _b = other.1.lock().unwrap();
        *other.0.lock().unwrap() += 1;
    });
    let a = locks.0.lock().unwrap();
    *locks.1.lock().unwrap() += *a;
    drop(a);
    thread.join().unwrap();
}

fn spins() {
    let ready = Arc::new(AtomicBool::new(false));
    let data = Arc::new(AtomicUsize::new(0));
    let (ready2, data2) = (Arc::clone(&ready), Arc::clone(&data));
    let thread = thread::spawn(move || {
        data2.store(1, Relaxed);
        data2.store(2, Relaxed);
        ready2.store(true, SeqCst);
    });
    while !ready.load(SeqCst) {
        hint::spin_loop();
    }
    assert_eq!(data.load(Relaxed), 2);
    thread.join().unwrap();
}

fn waits() {
    let pair = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|i| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                *pair.2.write().unwrap() += i;
                *pair.0.lock().unwrap() += 1;
                pair.1.notify_one();
            })
        })
        .collect();
    let mut count = pair.0.lock().unwrap();
    while *count < 2 {
        count = pair.1.wait(count).unwrap();
    }
    drop(count);
    assert!(*pair.2.read().unwrap() <= 1);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn crashes() {
    // SAFETY: it is not: this is what is to be noticed.
    unsafe { std::ptr::write_volatile(std::hint::black_box(std::ptr::null_mut::<u8>()), 1) };
}

/// Explores with one process, two and three; they begin at once.
#[track_caller]
fn same(builder: &Builder, f: fn(), verdict: Verdict) {
    let tiny = Pace { alone: 0, own: 1, patience: Duration::from_secs(5) };
    let alone = builder.clone().algorithm(Algorithm::Parsimonious).explore(f);
    assert_eq!(alone.verdict(), verdict, "{}", alone.text());
    for jobs in 2..=3 {
        let mut builder = builder.clone().jobs(jobs);
        builder.pace = tiny;
        let several = builder.explore(f);
        assert_eq!(several.verdict(), verdict, "{}", several.text());
        assert_eq!(several.messages(), alone.messages());
        assert_eq!(several.schedules(), alone.schedules());
        assert_eq!(several.executions(), alone.executions());
    }
}

#[test]
fn what_several_processes_find() {
    let builder = Builder::new();
    same(&builder, || swaps(ORDER, || ()), Verdict::Verified);
    same(&builder, || swaps(ORDER, || panic!("in this order")), Verdict::Violated);
    let most = builder.clone().max_executions(50);
    same(&most, || swaps(ORDER, || panic!("in this order")), Verdict::Inconclusive);
    same(&builder.clone().keep_going(true), deadlock, Verdict::Violated);
    same(&builder, deadlock, Verdict::Violated);
    same(&builder.clone().sample(100, 7), deadlock, Verdict::Violated);
}

#[test]
fn what_several_processes_learn() {
    same(&Builder::new(), spins, Verdict::Verified);
    same(&Builder::new(), waits, Verdict::Verified);
}

#[test]
fn code_that_ends_processes() {
    same(&Builder::new(), || swaps(ORDER, crashes), Verdict::Violated);
}

#[test]
fn searches_that_cannot_be_divided_say_so() {
    let outcome = Builder::new().jobs(2).algorithm(Algorithm::Quasi).explore(spins);
    assert!(outcome.text().contains("`quasi` is sequential"), "{}", outcome.text());
    let outcome = Builder::new().jobs(2).explore(spins);
    assert!(!outcome.text().contains("sequential"), "{}", outcome.text());
}
