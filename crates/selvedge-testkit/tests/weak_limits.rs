//! Where a search through graphs stops early, it proves nothing; and how far it is on the way.

use std::sync::Arc;

use selvedge_core::{
    Answer, Bits, Bound, Fault, GraphSystem, Inconclusive, Label, Location, Order, Spent, ThreadId,
    Verdict,
};
use selvedge_explore::{Finding, Limits, Memory, Options, Silent, estimate_graphs, explore_graphs};
use selvedge_lang::{GraphInterpreter, compile};
use selvedge_testkit::litmus::{Condition, Litmus, LitmusProgram, assert_that, load, plus, store};

use Order::Relaxed;

fn store_buffering() -> LitmusProgram {
    LitmusProgram::new(vec![
        vec![store(0, 1, Relaxed), load(0, 1, Relaxed)],
        vec![store(1, 1, Relaxed), load(0, 0, Relaxed)],
    ])
}

#[test]
fn too_many_executions() {
    for most in [1, 2, 3, 5, 6] {
        let limits = Limits { executions: Some(most), ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let mut system = Litmus::new(store_buffering());
        let report = explore_graphs(&mut system, Memory::Rc11, &options, &mut Silent);
        assert_eq!(report.counts.total(), most.min(4));
        let verdict = if most < 4 { Verdict::Inconclusive } else { Verdict::Verified };
        assert_eq!(report.verdict(), verdict, "{most}");
        if most < 4 {
            assert_eq!(report.inconclusive, [Inconclusive::Bound(Bound::Executions(most))]);
        }
    }
}

#[test]
fn too_long_executions() {
    let limits = Limits { steps: 3, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut system = Litmus::new(store_buffering());
    let report = explore_graphs(&mut system, Memory::Rc11, &options, &mut Silent);
    assert_eq!(report.counts.maximal(), 0);
    assert!(report.counts.cut > 0);
    assert_eq!(report.inconclusive, [Inconclusive::Bound(Bound::Steps(3))]);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
}

#[test]
fn a_budget_that_is_spent() {
    let options = Options::default();
    options.budget.end(Spent::Memory);
    let mut system = Litmus::new(store_buffering());
    let report = explore_graphs(&mut system, Memory::Sc, &options, &mut Silent);
    assert_eq!(report.inconclusive, [Inconclusive::Bound(Bound::Memory)]);
}

/// Random executions say how many there are.
#[test]
fn the_number_of_executions_is_estimated() {
    for text in [
        "shared atomic x = 0; thread t(i in 0..4) { fetch_add(x, 1, relaxed); fetch_add(x, 1, relaxed); }",
        "shared atomic x = 0; shared atomic y = 0; thread w(i in 0..2) { store(x, i, relaxed); store(y, i, relaxed); }
         thread r(i in 0..2) { let a = load(y, relaxed); let b = load(x, relaxed); }",
        "mutex m; mutex n; shared x = 0; thread t(i in 0..4) { lock m { x += 1; } lock n { x += 1; } }",
        "shared atomic x = 0; shared atomic y = 0; thread a { await x == 1; store(y, 1, relaxed); }
         thread b { store(x, 1, relaxed); await y == 1; } thread c(i in 0..3) { store(x, 2 - i, relaxed); }",
    ] {
        let compiled = compile("program", text, &[]).expect("it compiles");
        let make =
            || GraphInterpreter::new(Arc::clone(&compiled.program)).expect("it has a meaning");
        let options = Options { keep_going: true, ..Options::default() };
        for &memory in Memory::ALL {
            let counts = explore_graphs(&mut make(), memory, &options, &mut Silent).counts;
            let estimate = |seed| {
                let mut go_on = |sampled| sampled < 2_000;
                estimate_graphs(&mut make(), memory, &options, seed, &mut go_on)
            };
            let found = estimate(7).expect("executions come to their end").range;
            let all = counts.maximal() as f64;
            assert!(found.low <= all && all <= found.high, "{memory:?}, {all}, {found:?}: {text}");
            // Where no way comes to nothing it is exact, or nearly so.
            let is_near = (0.9..1.1).contains(&(found.estimate / all));
            assert!(is_near || !text.contains("thread r("), "{memory:?}, {all}, {found:?}: {text}");
            assert_eq!(Some(found), estimate(7).map(|it| it.range), "the same seed, the same estimate");
        }
    }
}

#[test]
fn the_first_finding_ends_the_search() {
    let mut program = store_buffering();
    for code in &mut program.threads {
        code.push(assert_that(Condition::Is(plus(0, 0), 1.into())));
    }
    let mut system = Litmus::new(program);
    let report = explore_graphs(&mut system, Memory::Sc, &Options::default(), &mut Silent);
    assert_eq!(report.verdict(), Verdict::Violated);
    let [(Finding::Fault(thread, _), witness)] = &report.findings[..] else {
        panic!("{:?}", report.findings);
    };
    assert!(witness.replay(&mut system));
    assert_eq!(system.label(*thread), Label::Failed);
    // Not on another program.
    assert!(!witness.replay(&mut Litmus::new(LitmusProgram::new(vec![Vec::new(); 2]))));
}

/// A program that does something else when it is run for the third time.
struct Fickle {
    system: Litmus,
    starts: usize,
}

impl GraphSystem for Fickle {
    fn restart(&mut self) {
        self.starts += 1;
        self.system.restart();
    }

    fn thread_count(&self) -> usize {
        self.system.thread_count()
    }

    fn is_root(&self, thread: ThreadId) -> bool {
        self.system.is_root(thread)
    }

    fn label(&self, thread: ThreadId) -> Label {
        match self.system.label(thread) {
            Label::Load { order, .. } if self.starts > 2 => {
                Label::Load { at: Location::new(7), order }
            }
            label => label,
        }
    }

    fn satisfies(&self, thread: ThreadId, value: Bits) -> bool {
        self.system.satisfies(thread, value)
    }

    fn proceed(&mut self, thread: ThreadId, answer: Answer) -> Option<Bits> {
        self.system.proceed(thread, answer)
    }

    fn initial(&self, at: Location) -> Bits {
        self.system.initial(at)
    }

    fn fault(&self, thread: ThreadId) -> Option<Fault> {
        self.system.fault(thread)
    }

    selvedge_core::without! { rewind_of_threads memory judge }
}

#[test]
fn a_program_that_does_not_do_the_same_again() {
    let mut system = Fickle { system: Litmus::new(store_buffering()), starts: 0 };
    let report = explore_graphs(&mut system, Memory::Rc11, &Options::default(), &mut Silent);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    assert!(matches!(&report.inconclusive[..], [Inconclusive::GaveUp(_)]), "{report:?}");
}
