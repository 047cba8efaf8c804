//! Where a search through graphs stops early, it proves nothing.

use selvedge_core::{
    Answer, Bits, Bound, Fault, GraphSystem, Inconclusive, Label, Location, Order, Spent, ThreadId,
    Verdict,
};
use selvedge_explore::{Finding, Limits, Memory, Options, Silent, explore_graphs};
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
