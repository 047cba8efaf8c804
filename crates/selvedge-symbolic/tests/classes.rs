//! The models of an encoding are the classes of executions: none is lost, none is made up.

use std::collections::BTreeSet;
use std::sync::Arc;

use selvedge_core::{Budget, Effect, Ending, Execution, Schedule, System, TraceKey};
use selvedge_explore::{Algorithm, Observer, Options};
use selvedge_lang::Interpreter;
use selvedge_lang::ir::Program;
use selvedge_symbolic::check::encoded;
use selvedge_symbolic::solver::{Answer, Lit, Solver};
use selvedge_symbolic::{Scheme, witness};
use selvedge_testkit::{Random, explore};

/// Programs with more interleavings are left out.
const MOST_INTERLEAVINGS: usize = 2_000;

/// Whose event, and the how-manieth.
type Name = (u32, u32);

/// Which write each read observes.
fn reads_from(execution: &Execution) -> Vec<(Name, u32, Option<Name>)> {
    let name = |position| {
        let event = execution.event(position);
        (event.thread().number(), event.id.nth)
    };
    let mut key = Vec::new();
    for position in execution.positions() {
        for access in execution.accesses(position) {
            if !access.mode.reads() {
                continue;
            }
            let writes = |earlier: &selvedge_core::Position| {
                let accesses = execution.accesses(*earlier).iter();
                accesses.clone().any(|other| other.object == access.object && other.mode.writes())
            };
            let last = execution.positions().take(position.index()).rfind(writes);
            key.push((name(position), access.object.number(), last.map(name)));
        }
    }
    key.sort_unstable();
    key
}

#[derive(Default)]
struct Everything {
    executions: Vec<Execution>,
}

impl Observer for Everything {
    fn execution(&mut self, execution: &Execution, _: Ending) {
        self.executions.push(execution.clone());
    }
}

fn all_interleavings(program: &Arc<Program>) -> Vec<Execution> {
    let mut everything = Everything::default();
    let make = || Interpreter::new(program.clone());
    let mut options = Options { keep_going: true, ..Options::default() };
    options.limits.executions = Some(MOST_INTERLEAVINGS as u64 + 1);
    explore(Algorithm::Oracle, &make, &options, &mut everything);
    everything.executions
}

fn run(program: &Arc<Program>, schedule: &Schedule) -> Execution {
    let mut system = Interpreter::new(program.clone());
    let mut execution = Execution::new();
    let mut effect = Effect::default();
    for &step in &schedule.steps {
        system.step(step, &mut effect);
        execution.push(step, &effect);
    }
    execution
}

/// All models of an encoding that differ in what tells classes apart, as executions.
fn models(program: &Arc<Program>, scheme: Scheme) -> Vec<Execution> {
    let options = selvedge_symbolic::Options { scheme, ..Default::default() };
    let budget = &Budget::unlimited();
    let Ok(mut encoded) = encoded(program, &options, 2, Solver::new(), budget) else {
        panic!("the callback did not stop it");
    };
    let choices = encoded.encoding.choices();
    let mut executions = Vec::new();
    let goal = [encoded.goals.maximal];
    while encoded.unrolled.circuit.solver.solve(&goal, &Budget::unlimited()) == Answer::Sat {
        let order = encoded.encoding.linearize(&encoded.unrolled);
        let schedule = witness::follow(&encoded.unrolled, &order).expect("a model is an execution");
        executions.push(run(program, &schedule));
        let solver = &mut encoded.unrolled.circuit.solver;
        let block: Vec<Lit> =
            choices.iter().map(|&lit| if solver.value(lit) { !lit } else { lit }).collect();
        solver.add_clause(&block);
        assert!(executions.len() <= 3 * MOST_INTERLEAVINGS, "there is no end");
    }
    executions
}

/// A random program: straight-line code, or with branches that depend on what is read.
fn random_program(random: &mut Random, threads: usize, branches: bool, locks: bool) -> String {
    let mut text = "shared x = 0; shared y = 0; shared c = 0; mutex m;\n".to_owned();
    for thread in 0..threads {
        text.push_str(&format!("thread t{thread} {{ let r = 0;\n"));
        for _ in 0..1 + random.below(match threads {
            2 => 4,
            3 => 3,
            _ => 2,
        }) {
            statement(random, branches, locks, &mut text);
        }
        text.push_str("}\n");
    }
    text
}

fn statement(random: &mut Random, branches: bool, locks: bool, text: &mut String) {
    let variable = ["x", "y"][random.below(2)];
    match random.below(8) {
        0..=2 => text.push_str(&format!("r = {variable};\n")),
        3..=4 => text.push_str(&format!("{variable} = {};\n", 1 + random.below(2))),
        5 => text.push_str(&format!("{variable} = r;\n")),
        6 if branches => {
            text.push_str("if r == 0 {\n");
            statement(random, false, locks, text);
            if random.below(2) == 0 {
                text.push_str("} else {\n");
                statement(random, false, locks, text);
            }
            text.push_str("}\n");
        }
        7 if locks => {
            text.push_str("lock m {\n");
            statement(random, branches, false, text);
            text.push_str("}\n");
        }
        _ => text.push_str("r = fetch_add(c, 1);\n"),
    }
}

fn compiled(text: &str) -> Arc<Program> {
    match selvedge_lang::compile("random.sel", text, &[]) {
        Ok(compiled) => compiled.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

/// Calls `check` with random programs of a size that all interleavings can be listed.
fn campaign(branches: bool, locks: bool, check: fn(&str, usize, &Arc<Program>, &[Execution])) {
    let mut random = Random::new(42);
    let mut checked = [0; 5];
    let wanted = 25;
    while checked[2] < wanted || checked[3] < wanted || checked[4] < wanted / 2 {
        let threads = 2 + random.below(3);
        let text = random_program(&mut random, threads, branches, locks);
        let program = compiled(&text);
        let interleavings = all_interleavings(&program);
        if interleavings.len() > MOST_INTERLEAVINGS || checked[threads] > 2 * wanted {
            continue;
        }
        checked[threads] += 1;
        check(&text, threads, &program, &interleavings);
    }
}

/// The models of the token encodings are schedules; their classes are those of the interleavings.
fn token_classes(text: &str, threads: usize, program: &Arc<Program>, all: &[Execution]) {
    let expected: BTreeSet<TraceKey> = all.iter().map(TraceKey::of).collect();
    for scheme in [Scheme::Token, Scheme::Mat] {
        if scheme == Scheme::Token && all.len() > 300 {
            continue;
        }
        let models = models(program, scheme);
        let found: BTreeSet<TraceKey> = models.iter().map(TraceKey::of).collect();
        let name = scheme.name();
        assert_eq!(found.len(), expected.len(), "{name} loses or makes up classes\n{text}");
        assert!(found == expected, "{name} has other classes\n{text}");
        match scheme {
            Scheme::Token => assert_eq!(models.len(), all.len(), "every interleaving\n{text}"),
            _ if threads == 2 => assert_eq!(models.len(), expected.len(), "each once\n{text}"),
            _ => assert!(models.len() <= all.len(), "{text}"),
        }
    }
}

#[test]
fn tokens_without_branches() {
    campaign(false, false, token_classes);
}

#[test]
fn tokens_with_branches() {
    campaign(true, false, token_classes);
}

#[test]
fn tokens_with_locks() {
    campaign(true, true, token_classes);
}

/// The models of the order encoding are the reads-from functions.
fn order_classes(text: &str, _: usize, program: &Arc<Program>, all: &[Execution]) {
    let expected: BTreeSet<_> = all.iter().map(reads_from).collect();
    let models = models(program, Scheme::Order);
    let found: BTreeSet<_> = models.iter().map(reads_from).collect();
    assert!(found == expected, "{} of {} classes\n{text}", found.len(), expected.len());
    if !text.contains("lock") {
        assert_eq!(models.len(), expected.len(), "each once\n{text}");
    }
}

#[test]
fn orders_without_branches() {
    campaign(false, false, order_classes);
}

#[test]
fn orders_with_branches() {
    campaign(true, false, order_classes);
}

#[test]
fn orders_with_locks() {
    campaign(true, true, order_classes);
}

/// How often `mat` meets a class, for each number of threads. Prints the table of `docs/papers.md`.
#[test]
#[expect(clippy::print_stdout, reason = "the table is what the test is run for")]
fn redundancy_with_more_than_two_threads() {
    let mut random = Random::new(7);
    let mut table = Vec::new();
    for (threads, programs) in [(2, 40), (3, 40), (4, 20)] {
        let (mut classes, mut met, mut interleavings) = (0, 0, 0);
        let mut done = 0;
        while done < programs {
            let program = compiled(&random_program(&mut random, threads, false, false));
            let all = all_interleavings(&program);
            if all.len() > MOST_INTERLEAVINGS {
                continue;
            }
            done += 1;
            classes += all.iter().map(TraceKey::of).collect::<BTreeSet<_>>().len();
            met += models(&program, Scheme::Mat).len();
            interleavings += all.len();
        }
        let more = 100 * (met - classes) / classes;
        println!("| {threads} | {programs} | {classes} | {met} | {more} % | {interleavings} |");
        table.push((threads, classes, met, interleavings));
    }
    assert_eq!(table, [(2, 146, 146, 757), (3, 363, 467, 6960), (4, 314, 473, 6390)]);
}
