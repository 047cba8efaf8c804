//! Selvedge, loom and shuttle (depth first) on the same programs, in one run.
//!
//! `cargo run --release -- [PROGRAM…] [--quick]`: executions of one check, its CPU seconds, and
//! executions per CPU second of each, all with the same parameter. Peers stop after a number of runs
//! that is enough to know their rate; `--quick` leaves them out. All take turns, and the best turn of
//! each counts: what else the machine does makes the others longer. Litmus tests (`MP`, `SB`, …), which Selvedge runs under RC11 and
//! shuttle not at all, are a second table.

mod litmus;
mod programs;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use programs::Body;
use selvedge_report::{Align, Paint, Table, grouped};

/// Peers are stopped after so many runs.
const MOST_RUNS: u64 = 100_000;

const TURNS: usize = 5;

/// A check that is over sooner is repeated, so that its rate can be measured.
const LEAST_SECONDS: f64 = 0.3;

/// Programs with the same parameter for all: loom has at most 5 threads.
const COMPARED: &[(&str, usize)] = &[
    ("stores", 4),
    ("readers", 4),
    ("lastzero", 4),
    ("mutex", 4),
    ("rounds", 5),
    ("fetch_add", 4),
    ("mpsc", 8),
    ("treiber", 2),
    ("treiber", 3),
    ("ring", 5),
    ("buffer", 2),
    ("buffer", 3),
    ("buffer", 4),
];

/// Programs that are too large for the peers.
const LARGE: &[(&str, usize)] = &[
    ("stores", 8),
    ("readers", 14),
    ("lastzero", 12),
    ("mutex", 8),
    ("rounds", 6),
    ("fetch_add", 8),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [one, library, name, n] = wanted.as_slice()
        && one == "--one"
    {
        return run_one(library, name, n.parse().expect("a number"));
    }
    let names: Vec<&String> = wanted.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|word| *word == name);
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("n", Align::Right),
        ("selvedge", Align::Right),
        ("s", Align::Right),
        ("per s", Align::Right),
        ("loom", Align::Right),
        ("per s", Align::Right),
        ("shuttle", Align::Right),
        ("per s", Align::Right),
        ("selvedge/loom", Align::Right),
    ]);
    for &(name, n) in COMPARED.iter().chain(LARGE).filter(|(name, _)| is_wanted(name)) {
        let alone = LARGE.contains(&(name, n)) || wanted.iter().any(|word| word == "--quick");
        let libraries: &[&str] =
            if alone { &["selvedge"] } else { &["selvedge", "loom", "shuttle"] };
        let best = best_turns(libraries, name, n);
        let ours = &best[0];
        let mut row = vec![name.to_owned(), n.to_string(), grouped(ours.runs)];
        row.extend([format!("{:.4}", ours.seconds), rate(ours)]);
        if alone {
            row.extend(std::iter::repeat_n("–".to_owned(), 5));
        } else {
            let (loom, shuttle) = (&best[1], &best[2]);
            let ratio = ours.per_second() / loom.per_second();
            row.extend([runs(loom), rate(loom), runs(shuttle), rate(shuttle)]);
            row.push(format!("{ratio:.1}"));
        }
        eprintln!("{}", row.join("  "));
        table.row(row);
    }
    println!("{}", table.render(160, Paint { colour: false }));
    let tests = litmus::TESTS.iter().map(|(name, _)| *name).filter(|name| is_wanted(name));
    println!("{}", litmus_table(tests).render(160, Paint { colour: false }));
}

/// Litmus tests: executions, how long a check takes, and both ratios.
fn litmus_table<'a>(tests: impl Iterator<Item = &'a str>) -> Table {
    let mut table = Table::new(&[
        ("litmus test", Align::Left),
        ("selvedge", Align::Right),
        ("s", Align::Right),
        ("per s", Align::Right),
        ("loom", Align::Right),
        ("s", Align::Right),
        ("per s", Align::Right),
        ("rates", Align::Right),
        ("times", Align::Right),
    ]);
    for name in tests {
        let best = best_turns(&["selvedge", "loom"], name, 1);
        let (ours, theirs) = (&best[0], &best[1]);
        let seconds = |measured: &Measured| format!("{:.6}", measured.seconds);
        let mut row = vec![name.to_owned(), runs(ours), seconds(ours), rate(ours)];
        row.extend([runs(theirs), seconds(theirs), rate(theirs)]);
        row.push(format!("{:.1}", ours.per_second() / theirs.per_second()));
        row.push(format!("{:.0}", theirs.seconds / ours.seconds));
        eprintln!("{}", row.join("  "));
        table.row(row);
    }
    table
}

/// One check: how many runs, in how many seconds on a processor.
struct Measured {
    runs: u64,
    seconds: f64,
}

impl Measured {
    fn per_second(&self) -> f64 {
        self.runs as f64 / self.seconds.max(1e-9)
    }
}

fn rate(measured: &Measured) -> String {
    grouped(measured.per_second() as u64)
}

fn runs(measured: &Measured) -> String {
    // loom stops one run earlier.
    if measured.runs + 1 >= MOST_RUNS {
        return format!(">{}", grouped(MOST_RUNS));
    }
    grouped(measured.runs)
}

/// The best of some turns of each library.
fn best_turns(libraries: &[&str], name: &str, n: usize) -> Vec<Measured> {
    let turn = || libraries.iter().map(|library| measure(library, name, n)).collect::<Vec<_>>();
    let mut best = turn();
    for _ in 1..TURNS {
        for (best, new) in best.iter_mut().zip(turn()) {
            if new.per_second() > best.per_second() {
                *best = new;
            }
        }
    }
    best
}

/// Runs one program in a process of its own: the peers' panic hooks do not get on with each other.
fn measure(library: &str, name: &str, n: usize) -> Measured {
    let this = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(this)
        .args(["--one", library, name, &n.to_string()])
        .output()
        .expect("it can run itself");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace().rev();
    let mut word = || words.next().unwrap_or("0");
    let seconds = word().parse().unwrap_or(0.0);
    Measured { runs: word().parse().unwrap_or(0), seconds }
}

fn run_one(library: &str, name: &str, n: usize) {
    let test = litmus::find(name);
    let check = || match (library, test) {
        ("selvedge", Some(test)) => run_selvedge_under_rc11(test),
        ("loom", Some(test)) => run_loom(move || litmus::loom::run(test)),
        _ => run_program(library, name, n),
    };
    let (start, mut checks, mut runs) = (cpu_seconds(), 0, 0);
    while checks == 0 || cpu_seconds() - start < LEAST_SECONDS {
        (checks, runs) = (checks + 1, check());
    }
    println!("{runs} {:.9}", (cpu_seconds() - start) / f64::from(checks));
}

fn run_program(library: &str, name: &str, n: usize) -> u64 {
    match library {
        "selvedge" => run_selvedge(find(programs::selvedge::ALL, name), n),
        "loom" => {
            let body = find(programs::loom::ALL, name);
            run_loom(move || body(n))
        }
        _ => run_shuttle(find(programs::shuttle::ALL, name), n),
    }
}

fn find(all: &[(&str, Body)], name: &str) -> Body {
    all.iter().find(|(other, _)| *other == name).map(|&(_, body)| body).expect("a program")
}

fn run_selvedge(body: Body, n: usize) -> u64 {
    let outcome = selvedge::Builder::new().explore(move || body(n));
    assert_eq!(outcome.verdict(), selvedge::Verdict::Verified, "{}", outcome.text());
    outcome.executions()
}

fn run_selvedge_under_rc11(test: &'static litmus::Test) -> u64 {
    let builder = selvedge::Builder::new().memory(selvedge::Memory::Rc11);
    let outcome = builder.explore(move || litmus::selvedge::run(test));
    assert_eq!(outcome.verdict(), selvedge::Verdict::Verified, "{}", outcome.text());
    outcome.executions()
}

fn run_loom(body: impl Fn() + Sync + Send + 'static) -> u64 {
    let runs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    let mut builder = loom::model::Builder::new();
    builder.max_permutations = Some(MOST_RUNS as usize);
    builder.checkpoint_interval = 1_000;
    builder.max_branches = 10_000;
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        body();
    });
    runs.load(Relaxed)
}

fn run_shuttle(body: Body, n: usize) -> u64 {
    let scheduler = shuttle::scheduler::DfsScheduler::new(Some(MOST_RUNS as usize), false);
    let mut config = shuttle::Config::new();
    config.silence_warnings = true;
    shuttle::Runner::new(scheduler, config).run(move || body(n)) as u64
}

/// Time of this process on a processor.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
