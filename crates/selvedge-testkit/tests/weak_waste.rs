//! Wasted executions: graphs that are dropped because a thread would wait at a write that is not the last one.
//!
//! Their share, of all graphs that are met, is stated here, so that it is noticed when it grows: `… weak_waste -- --nocapture` prints it. Locks
//! and spin locks waste nothing; awaits that a write can make wait again do.

#![expect(clippy::print_stdout, reason = "the shares are printed on request")]

use std::sync::Arc;

use selvedge_core::Order;
use selvedge_explore::{GraphReport, Limits, Memory, Options, Silent, explore_graphs};
use selvedge_lang::{GraphInterpreter, compile};
use selvedge_testkit::litmus::{
    Flavour, Instruction, LitmusProgram, Origin, Shape, await_swap, store, tally,
};
use selvedge_testkit::{corpus, programs, seeds, text_of};

/// Executions, and those that were wasted.
#[derive(Default, Debug)]
struct Share {
    programs: u64,
    executions: u64,
    wasted: u64,
}

impl Share {
    fn add(&mut self, report: &GraphReport) {
        self.programs += 1;
        self.executions += report.counts.maximal();
        self.wasted += report.counts.redundant;
    }

    /// In hundredths.
    fn percent(&self) -> f64 {
        100.0 * self.wasted as f64 / (self.executions + self.wasted) as f64
    }
}

fn has_awaits(program: &LitmusProgram) -> bool {
    let is_await =
        |one: &Instruction| matches!(one, Instruction::Await(..) | Instruction::AwaitUpdate(..));
    program.threads.iter().flatten().filter(|one| is_await(one)).count() >= 2
}

/// Explores random programs with at least two awaits each, of which `is_wanted` says something.
fn random(origin: Origin, is_wanted: fn(&LitmusProgram) -> bool) -> Share {
    let mut share = Share::default();
    for program in seeds(3_000).map(|number| origin.program(number)) {
        if has_awaits(&program) && is_wanted(&program) {
            share.add(&tally(&program, Memory::Rc11, &|_| false).report);
        }
    }
    println!("{}: {share:?}, {:.2} %", origin.name(), share.percent());
    share
}

fn only_reads(program: &LitmusProgram) -> bool {
    !program.threads.iter().flatten().any(|one| matches!(one, Instruction::AwaitUpdate(..)))
}

/// Random programs with at least two awaits each, those that only read apart.
#[test]
fn random_programs_full_of_awaits() {
    let awaits = Origin::Flavour(Flavour::Awaits);
    let [reads, all] = [only_reads, |_: &LitmusProgram| true].map(|which| random(awaits, which));
    let primitives = random(Origin::Shape(Shape::Primitives), |_| true);
    assert!(reads.programs > 50 && reads.percent() < 1.5, "{reads:?}");
    assert!(all.programs > 100 && all.percent() < 3.0, "{all:?}");
    assert!(primitives.programs > 50 && primitives.percent() < 0.5, "{primitives:?}");
}

/// The programs of the corpus in which threads wait for variables.
#[test]
fn programs_of_the_corpus_with_awaits() {
    let mut share = Share::default();
    for path in programs() {
        let text = text_of(&path);
        if !text.contains("await ") {
            continue;
        }
        let name = path.strip_prefix(corpus()).expect("it is in the corpus").display().to_string();
        let compiled = compile(&name, &text, &[]).expect("it compiles");
        let Ok(mut system) = GraphInterpreter::new(Arc::clone(&compiled.program)) else { continue };
        let limits = Limits { executions: Some(2_000), ..Limits::default() };
        let options = Options { keep_going: true, limits, ..Options::default() };
        let report = explore_graphs(&mut system, Memory::Rc11, &options, &mut Silent);
        if report.counts.redundant > 0 {
            println!("{name}: {} and {}", report.counts.maximal(), report.counts.redundant);
        }
        share.add(&report);
    }
    println!("corpus: {share:?}, {:.2} %", share.percent());
    assert!(share.programs > 10 && share.wasted == 0, "{share:?}");
}

/// Spin locks of n threads, as code writes them: `while lock.swap(1) != 0 {}`.
#[test]
fn spin_locks() {
    for threads in 2..=5 {
        let code = vec![await_swap(0, 0, (0, 1), Order::Acquire), store(0, 0, Order::Release)];
        let program = LitmusProgram::new(vec![code; threads]);
        let report = tally(&program, Memory::Rc11, &|_| false).report;
        let counts = (report.counts.maximal(), report.counts.redundant);
        println!("{threads}: {counts:?}");
        assert_eq!(counts, [(2, 0), (6, 0), (24, 0), (120, 0)][threads - 2]);
    }
}
