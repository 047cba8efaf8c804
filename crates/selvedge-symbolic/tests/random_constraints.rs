//! Random pairs of blocks: wherever a constraint holds, the interpreter reaches the same state in
//! both orders; wherever it does and nothing fails, a constraint holds.
//!
//! Nothing of the synthesis is shared: states are compared by what the program itself reads, conditions
//! are evaluated by the program itself. `SELVEDGE_FUZZ_SECONDS` makes it a longer campaign.

use crate::random_blocks::{Family, Pair, State};
use selvedge_core::{Budget, Describe as _, Effect, Status, Step, System as _, ThreadId};
use selvedge_lang::{Interpreter, compile};
use selvedge_symbolic::constraints::{Synthesis, pairs, synthesise};
use selvedge_symbolic::{Caps, Values};
use selvedge_testkit::{Random, is_campaign, seeds};

/// So much work a pair is worth.
const MOST_WORK: u64 = 5_000;

/// What came out of many pairs.
#[derive(Default, Debug)]
struct Tally {
    pairs: usize,
    with_constraints: usize,
    /// States in which a constraint was tried, and held.
    held: usize,
    /// States without failures in which both orders agree, and how many no constraint covers.
    commuting: usize,
    uncovered: usize,
}

/// How a program with one pair runs.
struct Trial<'p> {
    interpreter: Interpreter,
    pair: &'p Pair,
}

/// What can be seen after both blocks, and whether one of them failed.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    steps: [String; 2],
    lines: Vec<String>,
    tasks: Vec<String>,
}

impl Trial<'_> {
    fn thread(&self, number: usize) -> ThreadId {
        ThreadId::new(number)
    }

    fn step(&mut self, thread: usize) -> Effect {
        let mut effect = Effect::default();
        self.interpreter.step(Step::of(self.thread(thread)), &mut effect);
        effect
    }

    /// Runs both blocks, `first` first; `None` if one has to wait.
    fn run(&mut self, first: usize) -> Option<(Seen, bool)> {
        self.interpreter.restart();
        let mut steps = [String::new(), String::new()];
        let mut failed = false;
        for thread in [first, 1 - first] {
            if self.interpreter.status(self.thread(thread)) != Status::Enabled {
                return None;
            }
            let effect = self.step(thread);
            failed |= effect.fault.is_some();
            let then = self.interpreter.describe_pending(self.thread(thread)).text;
            steps[thread] = format!("{:?}; then {then}", effect.fault);
        }
        let tasks = self.pair.threads()..self.interpreter.thread_count();
        let mut tasks: Vec<String> =
            tasks.map(|task| self.interpreter.describe_pending(self.thread(task)).text).collect();
        tasks.sort();
        let mut lines = Vec::new();
        // What the blocks left in local variables is written behind them.
        for thread in [0, 1, Pair::OBSERVER] {
            while self.interpreter.status(self.thread(thread)) == Status::Enabled {
                self.step(thread);
                lines.push(self.interpreter.describe_last().text);
            }
        }
        Some((Seen { steps, lines, tasks }, failed))
    }

    /// Whether a condition holds: its thread says so before anything has run.
    fn holds(&mut self, condition: usize) -> bool {
        self.interpreter.restart();
        let thread = Pair::OBSERVER + 1 + condition;
        if self.step(thread).fault.is_some() {
            return false;
        }
        // It waits at a further step if and only if the condition holds.
        self.interpreter.status(self.thread(thread)) == Status::Enabled
    }
}

fn try_pair(random: &mut Random, family: Family, states: usize, caps: &Caps, tally: &mut Tally) {
    let mut pair = Pair::new(random, family);
    let text = pair.text(&State::default());
    let program = match compile("pair.sel", &text, &[]) {
        Ok(compiled) => compiled.program,
        Err(errors) => panic!("{}", selvedge_lang::render(&errors, "pair.sel", &text, false)),
    };
    let both = pairs(&program)[1];
    // By work, not by time: the same on every machine.
    let synthesis = synthesise(
        &program,
        both,
        &Values::unknown(),
        caps,
        &Budget::unlimited().with_work(MOST_WORK),
    );
    tally.pairs += 1;
    let Ok(found) = &synthesis.found else { return };
    tally.with_constraints += usize::from(!found.constraints.is_empty());
    for constraint in &found.constraints {
        pair.add_condition(constraint.text());
        let condition = constraint.condition.join(" && ");
        pair.add_condition((!condition.is_empty()).then_some(condition));
    }
    for _ in 0..states {
        let state = State::random(random, family);
        check_state(&pair, &state, &synthesis, found.complete, tally);
    }
}

fn check_state(
    pair: &Pair,
    state: &State,
    synthesis: &Synthesis,
    complete: bool,
    tally: &mut Tally,
) {
    let text = pair.text(state);
    let program = match compile("pair.sel", &text, &[]) {
        Ok(compiled) => compiled.program,
        Err(errors) => panic!("{}", selvedge_lang::render(&errors, "pair.sel", &text, false)),
    };
    let mut trial = Trial { interpreter: Interpreter::new(program), pair };
    let orders = [trial.run(0), trial.run(1)];
    let agree = match &orders {
        [Some((a, _)), Some((b, _))] => a == b,
        _ => false,
    };
    let failed = orders.iter().flatten().any(|(_, failed)| *failed);
    let mut covered = false;
    for condition in 0..pair.conditions() {
        let holds = trial.holds(condition);
        let with_guard = condition % 2 == 0;
        covered |= holds && !with_guard;
        if with_guard && holds {
            tally.held += 1;
            assert!(agree, "{}\n{text}\n{orders:#?}", synthesis.declarations());
        }
    }
    if agree && !failed {
        tally.commuting += 1;
        if !covered {
            tally.uncovered += 1;
            assert!(!complete, "not covered: {}\n{text}", synthesis.declarations());
        }
    }
}

#[allow(clippy::print_stderr, reason = "a campaign tells what it did")]
fn campaign(name: &str, family: Family, seed: u64, pairs: u64) {
    let mut pairs = seeds(pairs).peekable();
    let mut random = Random::new(seed ^ pairs.peek().copied().unwrap_or(0));
    let mut tally = Tally::default();
    for _ in pairs {
        try_pair(&mut random, family, 24, &Caps::default(), &mut tally);
    }
    assert!(tally.held > 0, "{tally:?}");
    if !is_campaign() {
        return;
    }
    eprintln!("{name}: {tally:?}");
    // The test would be worth little if constraints were rare or never held.
    assert!(4 * tally.with_constraints > tally.pairs, "{tally:?}");
    assert!(tally.held > tally.pairs, "{tally:?}");
    assert!(tally.commuting > tally.pairs, "{tally:?}");
    assert!(20 * tally.uncovered < tally.commuting, "{tally:?}");
}

/// With tiny caps constraints are fewer, and right all the same; and if they are said to be all, they are.
#[test]
fn tiny_caps() {
    let families = [Family::Arithmetic, Family::Arrays, Family::Containers, Family::Blocks];
    for (seed, family) in (5..).zip(families) {
        let (mut random, mut tally) = (Random::new(seed), Tally::default());
        while tally.pairs < 40 {
            try_pair(&mut random, family, 24, &Caps::tiny(), &mut tally);
        }
        assert!(tally.held > 0, "{tally:?}");
    }
}

#[test]
fn branches_and_arithmetic() {
    campaign("branches_and_arithmetic", Family::Arithmetic, 1, 40);
}

#[test]
fn arrays_and_tasks() {
    campaign("arrays_and_tasks", Family::Arrays, 2, 40);
}

#[test]
fn lists_and_maps() {
    campaign("lists_and_maps", Family::Containers, 3, 40);
}

#[test]
fn blocks_with_local_variables() {
    campaign("blocks_with_local_variables", Family::Blocks, 4, 40);
}
