//! The explorer of execution graphs against the axioms of each memory model, on random litmus tests.

use selvedge_core::Order;
use selvedge_explore::Memory;
use selvedge_testkit::axioms::{
    Compared, Effort, Refusal, Relations, agree_or_shrink, candidates, facts, has_cxx20_order,
    is_consistent,
};
use selvedge_testkit::litmus::{
    Instruction, LitmusProgram, Meeting, Origin, Shape, add, fence, load, lock, store, unlock, wait,
};
use selvedge_testkit::{is_campaign, seeds};

use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};

#[test]
fn graphs_races_and_deadlocks_are_those_of_the_axioms() {
    for origin in Origin::all() {
        let (mut compared, mut too_large) = (0, 0);
        // In variants of the tests of the literature each part of each axiom matters somewhere.
        let count = if origin == Origin::Shape(Shape::Classic) { 420 } else { 60 };
        for number in seeds(count) {
            let program = origin.program(number);
            match agree_or_shrink(&program, Memory::ALL, Effort::default()) {
                Ok(Compared::Same(_)) => compared += 1,
                Ok(Compared::Not(Refusal::TooLarge)) => too_large += 1,
                Ok(Compared::Not(refusal)) => panic!("{refusal:?}: {program:?}"),
                Err(difference) => panic!("{} {number}: {difference}", origin.name()),
            }
        }
        assert!(too_large < compared, "{}: {too_large} too large", origin.name());
    }
}

/// What the axioms alone say about tests of the literature: executions under SC, TSO, C++20 and RC11.
#[test]
fn counts_of_the_literature() {
    let check = |name: &str, threads: Vec<Vec<Instruction>>, expected: [usize; 4]| {
        let program = LitmusProgram::new(threads);
        let facts = facts(&program, Memory::ALL, 100_000).expect("it is small");
        let found: Vec<usize> = facts.iter().map(|facts| facts.graphs.len()).collect();
        assert_eq!(found, expected, "{name}");
    };
    let (x, y) = (0, 1);
    let sb = |w, r, fences: Option<Order>| {
        let code = |mine, other| {
            let mut code = vec![store(mine, 1, w), load(0, other, r)];
            if let Some(order) = fences {
                code.insert(1, fence(order));
            }
            code
        };
        vec![code(x, y), code(y, x)]
    };
    check("SB", sb(Relaxed, Relaxed, None), [3, 4, 4, 4]);
    check("SB, release and acquire", sb(Release, Acquire, None), [3, 4, 4, 4]);
    check("SB, SeqCst", sb(SeqCst, SeqCst, None), [3, 3, 3, 3]);
    check("SB, fences", sb(Relaxed, Relaxed, Some(SeqCst)), [3, 3, 3, 3]);
    check("SB, weaker fences", sb(Relaxed, Relaxed, Some(AcqRel)), [3, 4, 4, 4]);
    check("SB, SeqCst stores", sb(SeqCst, Acquire, None), [3, 3, 4, 4]);
    let mp = |w, r| {
        vec![vec![store(x, 1, Relaxed), store(y, 1, w)], vec![load(0, y, r), load(1, x, Relaxed)]]
    };
    check("MP", mp(Relaxed, Acquire), [3, 3, 4, 4]);
    check("MP, release and acquire", mp(Release, Acquire), [3, 3, 3, 3]);
    let mut same_thread = mp(Release, Acquire);
    same_thread[0].push(store(y, 2, Relaxed));
    check("a release sequence ends with a store", same_thread, [4, 4, 5, 5]);
    let mut other_thread = mp(Release, Acquire);
    other_thread.push(vec![add(0, y, 1, Relaxed)]);
    check("a release sequence goes on with an update", other_thread, [9, 9, 9, 9]);
    let iriw = |w, first, second| {
        let reader = |a, b| vec![load(0, a, first), load(1, b, second)];
        vec![vec![store(x, 1, w)], vec![store(y, 1, w)], reader(x, y), reader(y, x)]
    };
    check("IRIW", iriw(Relaxed, Relaxed, Relaxed), [15, 15, 16, 16]);
    check("IRIW, SeqCst", iriw(SeqCst, SeqCst, SeqCst), [15, 15, 15, 15]);
    check("IRIW, relaxed stores", iriw(Relaxed, SeqCst, SeqCst), [15, 15, 15, 16]);
    check("IRIW, acquire before SeqCst", iriw(SeqCst, Acquire, SeqCst), [15, 15, 16, 16]);
}

/// The model `c++20` is RC11 without the executions in which `SeqCst` operations have no order by the wording of the
/// standard.
#[test]
fn the_wording_of_cxx20() {
    let (mut with_order, mut without) = (0, 0);
    let shapes = [Shape::Cycle, Shape::Classic];
    for (shape, number) in shapes.iter().flat_map(|shape| seeds(250).map(move |n| (shape, n))) {
        let program = Origin::Shape(*shape).program(number);
        let result = candidates(&program, Effort::default().steps, &mut |execution| {
            let relations = Relations::new(execution);
            if is_consistent(&relations, Memory::Cxx20) {
                with_order += 1;
                assert!(has_cxx20_order(&relations), "{program:?}");
            } else if is_consistent(&relations, Memory::Rc11) {
                without += 1;
                assert!(!has_cxx20_order(&relations), "{program:?}");
            }
        });
        assert_eq!(result, Ok(()), "{program:?}");
    }
    let are_both_met = with_order > 0 && without > 0;
    assert!(!is_campaign() || are_both_met, "{with_order} and {without} executions");
}

/// Fences synchronise through atomic objects, and a condition variable is none: data that is passed on without the mutex is in
/// a data race under every model.
#[test]
fn fences_around_a_signal() {
    let data = 0;
    let mut reader = vec![lock(0)];
    reader.extend(wait(0, 0));
    reader.extend([fence(Acquire), load(0, data, Order::NonAtomic), unlock(0)]);
    let signal = Instruction::Meet(Meeting::Signal(0));
    let writer = vec![store(data, 1, Order::NonAtomic), fence(Release), signal];
    let program = LitmusProgram::new(vec![reader, writer]);
    match agree_or_shrink(&program, Memory::ALL, Effort::default()) {
        Ok(Compared::Same(facts)) => {
            assert!(facts.iter().all(|facts| !facts.races.is_empty()), "{facts:?}");
        }
        Ok(Compared::Not(refusal)) => panic!("{refusal:?}"),
        Err(difference) => panic!("{difference}"),
    }
}
