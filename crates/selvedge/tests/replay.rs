//! What a failing test prints shows the same again in another process, which knows nothing of the search.

use std::cell::Cell;
use std::process::Command;
use std::time::Duration;

use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Condvar, Mutex, mpsc};
use selvedge::{Algorithm, Builder, hint, thread};

/// Set for a process that is to fail: which program, and how it is explored.
const PROGRAM: &str = "SELVEDGE_TEST_PROGRAM";
const HOW: &str = "SELVEDGE_TEST_HOW";

type Three = (AtomicUsize, AtomicUsize, AtomicUsize);

/// Runs `other` beside `main`.
fn beside(other: fn(&Three), main: fn(&Three)) {
    let shared: Arc<Three> = Arc::default();
    let theirs = Arc::clone(&shared);
    let thread = thread::spawn(move || other(&theirs));
    main(&shared);
    thread.join().unwrap();
}

/// Writes one after the other.
fn writes(x: &Three) {
    x.0.store(1, SeqCst);
    x.1.store(1, SeqCst);
    x.2.store(1, SeqCst);
}

selvedge::thread_local! {
    static TURNS: Cell<u32> = const { Cell::new(0) };
}
static FLAG: AtomicBool = AtomicBool::new(false);
static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Loops that read several things in a turn, and fail in some executions.
const PROGRAMS: [(&str, fn()); 10] = [
    ("gives up", || {
        beside(writes, |x| {
            let mut turns = 0;
            while (x.0.load(SeqCst) == 0 || x.1.load(SeqCst) == 0) && turns < 4 {
                hint::spin_loop();
                turns += 1;
            }
            assert!(x.2.load(SeqCst) == 1 || turns < 2, "{turns} turns");
        });
    }),
    ("waits", || {
        beside(writes, |x| {
            let mut seen = 0;
            while x.0.load(SeqCst) + x.1.load(SeqCst) < 2 {
                seen |= 1 << x.2.load(SeqCst);
                thread::yield_now();
            }
            assert!(x.2.load(SeqCst) == 1 || seen == 0, "seen {seen}");
        });
    }),
    ("three states", || {
        beside(writes, |x| {
            let mut phase = 0;
            while x.0.load(SeqCst) + x.1.load(SeqCst) < 2 {
                phase = (phase + 1) % 3;
                thread::yield_now();
            }
            assert!(x.2.load(SeqCst) == 1 || phase != 2, "phase {phase}");
        });
    }),
    ("two who wait for each other", || {
        fn run(x: &Three, me: usize) {
            let mut turns = 0;
            while x.0.load(SeqCst) != me && x.1.load(SeqCst) == 0 {
                turns += 1;
                if turns > 2 {
                    x.1.store(1, SeqCst);
                }
                thread::yield_now();
            }
            x.0.store(me + 1, SeqCst);
            x.2.fetch_add(turns, SeqCst);
        }
        beside(
            |x| run(x, 1),
            |x| {
                run(x, 0);
                assert_ne!(x.2.load(SeqCst), 2);
            },
        );
    }),
    ("a lock", || {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                *other.0.lock().unwrap() += 1;
                other.1.fetch_add(1, SeqCst);
            }
        });
        let mut turns = 0;
        let seen = loop {
            let (sum, seen) = (*shared.0.lock().unwrap(), shared.1.load(SeqCst));
            turns += 1;
            if sum == 2 || turns == 3 {
                break seen;
            }
            thread::yield_now();
        };
        assert_ne!(seen, 1);
        thread.join().unwrap();
    }),
    ("a lock that is tried", || {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                *other.0.lock().unwrap() += 1;
                other.1.fetch_add(1, SeqCst);
            }
        });
        let seen = loop {
            let seen = shared.1.load(SeqCst);
            if shared.0.try_lock().is_ok_and(|sum| *sum == 2) {
                break seen;
            }
            thread::yield_now();
        };
        assert_ne!(seen, 1);
        thread.join().unwrap();
    }),
    ("a channel", || {
        let (sender, receiver) = mpsc::channel();
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || {
            for i in 1..3 {
                other.store(i, SeqCst);
                sender.send(i).unwrap();
            }
        });
        let mut sum = 0;
        while sum < 3 {
            let seen = flag.load(SeqCst);
            match receiver.recv_timeout(Duration::from_secs(1)) {
                Ok(i) => {
                    assert!(i != 2 || seen != 1);
                    sum += i;
                }
                Err(_) => thread::yield_now(),
            }
        }
        thread.join().unwrap();
    }),
    ("values of a thread", || {
        beside(writes, |x| {
            while x.0.load(SeqCst) + x.1.load(SeqCst) < 2 && TURNS.get() < 5 {
                TURNS.set(TURNS.get() + 1);
                hint::spin_loop();
            }
            assert_ne!(TURNS.get(), 3);
        });
    }),
    ("statics", || {
        let thread = thread::spawn(|| {
            LIST.lock().unwrap().push(1);
            FLAG.store(true, SeqCst);
            LIST.lock().unwrap().push(2);
        });
        while !FLAG.load(SeqCst) || LIST.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        assert_eq!(LIST.lock().unwrap().len(), 2);
        thread.join().unwrap();
    }),
    ("timeouts", || {
        let shared = Arc::new((Mutex::new(false), Condvar::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.2.store(1, SeqCst);
            *other.0.lock().unwrap() = true;
            other.1.notify_all();
        });
        let (mut done, mut turns) = (shared.0.lock().unwrap(), 0);
        while !*done && turns < 3 {
            let (guard, result) = shared.1.wait_timeout(done, Duration::from_secs(1)).unwrap();
            done = guard;
            turns += u32::from(result.timed_out());
            assert!(turns < 2 || shared.2.load(SeqCst) == 0, "{turns} turns");
        }
        drop(done);
        thread.join().unwrap();
    }),
];

const HOWS: [&str; 6] = ["optimal", "source", "quasi-optimal", "data-centric", "oracle", "sample"];

fn builder(how: &str) -> Builder {
    let builder = Builder::new();
    match how {
        "source" => builder.algorithm(Algorithm::Source),
        "quasi-optimal" => builder.algorithm(Algorithm::Quasi),
        "data-centric" => builder.algorithm(Algorithm::DataCentric).data_races(false),
        "oracle" => builder.algorithm(Algorithm::Oracle),
        "sample" => builder.sample(1_000, 7),
        _ => builder,
    }
}

/// Fails, with what is told about it.
#[test]
fn victim() {
    let (Ok(program), Ok(how)) = (std::env::var(PROGRAM), std::env::var(HOW)) else { return };
    let (_, run) = PROGRAMS[program.parse::<usize>().unwrap()];
    builder(&how).check(run);
}

/// What a process says about a failure, and how to see it again.
fn failure(program: usize, how: &str, replay: Option<&str>) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "replay::victim", "--nocapture"]).env("RUST_BACKTRACE", "0");
    command.env(PROGRAM, program.to_string()).env(HOW, how);
    if let Some(schedule) = replay {
        command.env("SELVEDGE_REPLAY", schedule);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{}, {how}: {text}", PROGRAMS[program].0);
    // Behind it comes how many executions there were.
    let report = text.split_once("selvedge: ").map_or("", |(_, report)| report);
    let report = report.split("\nselvedge: ").next().unwrap_or_default().to_owned();
    let schedule = text.split("SELVEDGE_REPLAY=").nth(1).and_then(|rest| rest.split(' ').next());
    let schedule = schedule.unwrap_or_else(|| panic!("{}, {how}: {text}", PROGRAMS[program].0));
    (report, schedule.to_owned())
}

#[test]
fn another_process_shows_the_same() {
    for (number, (name, _)) in PROGRAMS.into_iter().enumerate() {
        for how in HOWS {
            let (report, schedule) = failure(number, how, None);
            assert!(report.contains("main panicked"), "{name}, {how}: {report}");
            let again = failure(number, how, Some(&schedule));
            assert_eq!(again, (report, schedule), "{name}, {how}");
        }
    }
}

#[test]
fn names_do_not_depend_on_what_was_explored_before() {
    // Only some executions touch the first lock of the line, and one that does not fails.
    let outcome = Builder::new().explore(|| {
        let shared = Arc::new(([Mutex::new(0), Mutex::new(0)], AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.1.store(true, SeqCst));
        if !shared.1.load(SeqCst) {
            drop(shared.0[0].lock());
        } else {
            let _guard = shared.0[1].lock();
            drop(shared.0[1].lock());
        }
        thread.join().unwrap();
    });
    let expected = "main takes Mutex@replay.rs:254 again (lock), which it holds already: it would \
                    wait for itself";
    assert_eq!(outcome.messages(), [expected], "{}", outcome.text());
}
