//! Random walks: stepping and rewinding must look like a fresh run.

use std::sync::Arc;

use selvedge_core::{Status, Step, System, ThreadId};

use super::driver::Driver;
use super::programs;
use crate::ir::Program;

/// Good enough for choosing, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

#[test]
fn rewinding_is_like_a_fresh_run() {
    for (name, program) in programs::all() {
        for seed in 0..40 {
            walk(name, &program, seed);
        }
    }
}

fn walk(name: &str, program: &Arc<Program>, seed: u64) {
    let mut random = Random(seed * 7_919 + 1);
    let mut driver = Driver::new(program);
    // Per step: who by name, the alternative, what was seen before it, and what it did.
    let mut trail: Vec<Taken> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..120 {
        let enabled = driver.enabled();
        if enabled.is_empty() || (random.below(4) == 0 && !steps.is_empty()) {
            judge_twice(&mut driver);
            if steps.is_empty() {
                break;
            }
            let kept = random.below(steps.len() + 1);
            steps.truncate(kept);
            driver.system.rewind(&steps);
            let before = trail.get(kept).map(|taken| taken.before.clone());
            trail.truncate(kept);
            if let Some(before) = before {
                assert_eq!(driver.observe(), before, "{name}, seed {seed}: after rewinding");
            }
            continue;
        }
        let thread = enabled[random.below(enabled.len())];
        let choice = random.below(driver.system.choices(thread) as usize) as u32;
        let step = Step { thread, choice };
        trail.push(take(&mut driver, step));
        steps.push(step);
    }
    replay_fresh(name, program, seed, &trail, &mut driver);
}

#[derive(Clone)]
struct Taken {
    name: String,
    choice: u32,
    before: Vec<String>,
    did: String,
}

fn take(driver: &mut Driver, step: Step) -> Taken {
    use selvedge_core::Describe;
    let name = driver.system.thread_name(step.thread);
    let before = driver.observe();
    let mut effect = std::mem::take(&mut driver.effect);
    driver.system.pending(step, &mut effect);
    driver.effect = effect;
    let promised = driver.show_effect();
    let mut effect = std::mem::take(&mut driver.effect);
    driver.system.step(step, &mut effect);
    driver.effect = effect;
    assert_eq!(promised, driver.show_effect(), "{name}: pending and step differ");
    let failed = driver.system.status(step.thread) == Status::Failed;
    assert_eq!(driver.effect.fault.is_some(), failed, "{name}: a fault stops its thread");
    let did =
        format!("{:?} {} {}", driver.system.describe_last(), driver.show_effect(), driver.fault());
    let told = driver.system.describe_last();
    let effect = std::mem::take(&mut driver.effect);
    driver.observe();
    driver.effect = effect;
    assert_eq!(told, driver.system.describe_last(), "{name}: asking changed what is told of it");
    Taken { name, choice: step.choice, before, did }
}

/// `end` may be asked at any maximal state and changes nothing.
fn judge_twice(driver: &mut Driver) {
    if driver.enabled().is_empty() {
        let before = driver.observe();
        let first = format!("{:?}", driver.end());
        assert_eq!(first, format!("{:?}", driver.end()));
        assert_eq!(before, driver.observe());
    }
}

fn replay_fresh(name: &str, program: &Arc<Program>, seed: u64, trail: &[Taken], used: &mut Driver) {
    let mut fresh = Driver::new(program);
    for (at, taken) in trail.iter().enumerate() {
        assert_eq!(fresh.observe(), taken.before, "{name}, seed {seed}, before step {at}");
        let thread: ThreadId = fresh.thread(&taken.name);
        let again = take(&mut fresh, Step { thread, choice: taken.choice });
        assert_eq!(again.did, taken.did, "{name}, seed {seed}, step {at}");
    }
    assert_eq!(fresh.observe(), used.observe(), "{name}, seed {seed}, at the end");
}

/// What the contract of a system promises: steps with independent footprints can be swapped, and
/// a step that waits keeps waiting unless a step that touches what it waits for is taken.
#[test]
fn independent_steps_commute() {
    for (name, program) in programs::all() {
        for seed in 0..20 {
            let mut random = Random(seed * 104_729 + 3);
            let mut driver = Driver::new(&program);
            let mut steps: Vec<Step> = Vec::new();
            for _ in 0..25 {
                swap_all(name, &mut driver, &mut steps);
                let enabled = driver.enabled();
                if enabled.is_empty() {
                    break;
                }
                let thread = enabled[random.below(enabled.len())];
                let choice = random.below(driver.system.choices(thread) as usize) as u32;
                let step = Step { thread, choice };
                driver.system.step(step, &mut driver.effect);
                steps.push(step);
            }
        }
    }
}

fn swap_all(name: &str, driver: &mut Driver, steps: &mut Vec<Step>) {
    let kept = steps.len();
    let live: Vec<_> = (0..driver.system.thread_count())
        .map(ThreadId::new)
        .filter(|&thread| matches!(driver.system.status(thread), Status::Enabled | Status::Blocked))
        .collect();
    for &first in &live {
        if driver.system.status(first) != Status::Enabled {
            continue;
        }
        for &second in live.iter().filter(|&&second| second != first) {
            let (a, b) = (Step::of(first), Step::of(second));
            let status = driver.system.status(second);
            driver.system.pending(a, &mut driver.effect);
            let footprint = driver.effect.footprint.clone();
            driver.system.pending(b, &mut driver.effect);
            if footprint.dependent(&driver.effect.footprint) {
                continue;
            }
            let promised = driver.show_effect();
            driver.system.step(a, &mut driver.effect);
            steps.push(a);
            assert_eq!(driver.system.status(second), status, "{name}: {a:?} changes {b:?}");
            if status == Status::Enabled {
                let one = take(driver, b);
                assert!(one.did.contains(&promised), "{name}: {} / {promised}", one.did);
                let ab = driver.observe();
                driver.system.rewind(&steps[..kept]);
                take(driver, b);
                take(driver, a);
                assert_eq!(ab, driver.observe(), "{name}: {a:?} and {b:?}");
            }
            steps.truncate(kept);
            driver.system.rewind(steps);
        }
    }
}
