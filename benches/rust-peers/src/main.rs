//! Selvedge, loom and shuttle (depth first) on the same programs, in one run.
//!
//! `cargo run --release [PROGRAM [N]] [--quick]`: executions, CPU seconds and executions per CPU
//! second of each; peers stop after a number of runs that is enough to know their rate.

mod programs;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use programs::Body;
use selvedge_report::{Align, Paint, Table, grouped};

/// Peers are stopped after so many runs.
const MOST_RUNS: u64 = 100_000;

/// Program, parameter for Selvedge, parameter for peers (they have more runs, loom few threads).
const CASES: &[(&str, usize, usize)] = &[
    ("stores", 8, 4),
    ("readers", 14, 3),
    ("lastzero", 12, 3),
    ("mutex", 8, 4),
    ("rounds", 5, 5),
    ("fetch_add", 8, 4),
    ("mpsc", 8, 8),
    ("treiber", 2, 2),
    ("treiber", 3, 3),
    ("ring", 5, 5),
    ("buffer", 2, 2),
    ("buffer", 3, 3),
    ("buffer", 4, 4),
    ("stores", 6, 4),
    ("mutex", 6, 4),
    ("rounds", 6, 5),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [one, library, name, n] = wanted.as_slice()
        && one == "--one"
    {
        return run_one(library, name, n.parse().expect("a number"));
    }
    let quick = wanted.iter().any(|word| word == "--quick");
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("n", Align::Right),
        ("selvedge", Align::Right),
        ("s", Align::Right),
        ("per s", Align::Right),
        ("n of peers", Align::Right),
        ("loom", Align::Right),
        ("per s", Align::Right),
        ("shuttle", Align::Right),
        ("per s", Align::Right),
        ("selvedge/loom", Align::Right),
    ]);
    for &(name, n, peers_n) in CASES {
        if wanted.iter().any(|word| !word.starts_with('-'))
            && !wanted.iter().any(|word| word == name)
        {
            continue;
        }
        let ours = measure("selvedge", name, n);
        let mut row = vec![
            name.to_owned(),
            n.to_string(),
            grouped(ours.runs),
            format!("{:.2}", ours.seconds),
            rate(&ours),
            peers_n.to_string(),
        ];
        if quick {
            row.extend(std::iter::repeat_n("–".to_owned(), 5));
        } else {
            let loom = measure("loom", name, peers_n);
            let shuttle = measure("shuttle", name, peers_n);
            let ratio = ours.per_second() / loom.per_second();
            row.extend([
                runs(&loom),
                rate(&loom),
                runs(&shuttle),
                rate(&shuttle),
                format!("{ratio:.1}"),
            ]);
        }
        eprintln!("{}", row.join("  "));
        table.row(row);
    }
    println!("{}", table.render(160, Paint { colour: false }));
}

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
    match measured.seconds < 0.002 {
        true => "–".to_owned(),
        false => grouped(measured.per_second() as u64),
    }
}

fn runs(measured: &Measured) -> String {
    let stopped = if measured.runs >= MOST_RUNS { ">" } else { "" };
    format!("{stopped}{}", grouped(measured.runs))
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
    let start = cpu_seconds();
    let runs = match library {
        "selvedge" => run_selvedge(find(programs::selvedge::ALL, name), n),
        "loom" => run_loom(find(programs::loom::ALL, name), n),
        _ => run_shuttle(find(programs::shuttle::ALL, name), n),
    };
    println!("{runs} {:.6}", cpu_seconds() - start);
}

fn find(all: &[(&str, Body)], name: &str) -> Body {
    all.iter().find(|(other, _)| *other == name).map(|&(_, body)| body).expect("a program")
}

fn run_selvedge(body: Body, n: usize) -> u64 {
    let outcome = selvedge::Builder::new().explore(move || body(n));
    assert_eq!(outcome.verdict(), selvedge::Verdict::Verified, "{}", outcome.text());
    outcome.executions()
}

fn run_loom(body: Body, n: usize) -> u64 {
    let runs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    let mut builder = loom::model::Builder::new();
    builder.max_permutations = Some(MOST_RUNS as usize);
    builder.checkpoint_interval = 1_000;
    builder.max_branches = 10_000;
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        body(n);
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
