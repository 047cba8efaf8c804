//! Fewest context switches against all orders of small random executions.

use selvedge_core::{Budget, Effect, Footprint, Mode, ObjectId, Spent};

use super::*;
use crate::search::random::Random;

fn random_execution(random: &mut Random) -> Execution {
    let mut execution = Execution::new();
    for _ in 0..8 {
        let mut footprint = Footprint::new();
        let mode = [Mode::Read, Mode::Write][random.below(2)];
        footprint.add(ObjectId::new(random.below(3)), mode);
        let effect = Effect { footprint, choices: 1, ..Effect::default() };
        execution.push(Step::of(ThreadId::new(random.below(3))), &effect);
    }
    execution
}

/// The fewest switches over all orders that respect happens-before.
fn fewest(execution: &Execution, done: &mut Vec<Position>) -> usize {
    if done.len() == execution.len() {
        let steps: Vec<Step> = done.iter().map(|&e| execution.event(e).step()).collect();
        return context_switches(&steps);
    }
    let ready: Vec<Position> = execution
        .positions()
        .filter(|e| !done.contains(e))
        .filter(|&e| {
            execution
                .positions()
                .all(|a| a == e || !execution.happens_before(a, e) || done.contains(&a))
        })
        .collect();
    let mut best = usize::MAX;
    for e in ready {
        done.push(e);
        best = best.min(fewest(execution, done));
        done.pop();
    }
    best
}

#[test]
fn no_order_has_fewer_context_switches() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let execution = random_execution(&mut random);
        let steps = shorten(&execution, Goal::End, &Budget::unlimited());
        assert_eq!(steps.len(), execution.len());
        assert_eq!(context_switches(&steps), fewest(&execution, &mut Vec::new()));
    }
}

#[test]
fn only_what_leads_to_the_last_event_stays() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let execution = random_execution(&mut random);
        let last = execution.positions().last().expect("eight events");
        let needed = execution.positions().filter(|&e| execution.happens_before(e, last)).count();
        let steps = shorten(&execution, Goal::Last, &Budget::unlimited());
        assert_eq!(steps.len(), needed);
        assert_eq!(steps.last(), Some(&execution.event(last).step()));
    }
}

#[test]
fn without_time_the_order_stays() {
    let mut random = Random::new(1);
    let spent = Budget::unlimited();
    spent.end(Spent::Time);
    for _ in 0..200 {
        let execution = random_execution(&mut random);
        assert_eq!(shorten(&execution, Goal::End, &spent), execution.steps());
    }
}
