//! The explorer against all interleavings, and the command line that has it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use outside_explorer::DelayBounded;
use selvedge_core::{Effect, Ending, Execution, Report, Status, Step, System, ThreadId, Verdict};
use selvedge_explore::{Algorithm, Explorer, Observer, Options};
use selvedge_lang::Interpreter;
use selvedge_testkit::explore;

const PROGRAMS: [&str; 4] = [
    "shared x = 0; thread inc(i in 0..2) { let v = x; x = v + 1; }",
    "shared x = 0; shared y = 0; thread a { x = 1; y = 1; } thread b { x = 2; } thread c { y = 2; }",
    "mutex m; shared x = 0; thread t(i in 0..3) { lock m; x = x + 1; unlock m; }",
    "shared x = 0; shared y = 0;
     thread a { let v = choose(0..2); x = v; y = 1; } thread b { await x == 1; y = 2; }",
];

fn make(text: &str) -> impl Fn() -> Interpreter + use<> {
    let compiled = selvedge_lang::compile("test.sel", text, &[]).expect("the program is right");
    move || Interpreter::new(std::sync::Arc::clone(&compiled.program))
}

/// The schedules of the maximal executions.
#[derive(Default)]
struct Schedules(Vec<Vec<Step>>);

impl Observer for Schedules {
    fn execution(&mut self, execution: &Execution, _: Ending) {
        self.0.push(execution.steps().to_vec());
    }
}

fn options() -> Options {
    Options { keep_going: true, ..Options::default() }
}

fn bounded(delays: usize, make: &dyn Fn() -> Interpreter) -> (Vec<Vec<Step>>, Report) {
    let mut found = Schedules::default();
    let explorer = DelayBounded { name: "delay", delays };
    let report = explorer.explore(make, &options(), &mut found);
    (found.0, report)
}

/// Counts the delays of a schedule, one step after the other.
fn delays(make: &dyn Fn() -> Interpreter, steps: &[Step]) -> usize {
    let (mut system, mut effect) = (make(), Effect::default());
    system.restart();
    let (mut delays, mut turn) = (0, 0);
    for &step in steps {
        let count = system.thread_count();
        while turn % count != step.thread.index() {
            let skipped = ThreadId::new(turn % count);
            delays += usize::from(system.status(skipped) == Status::Enabled);
            turn += 1;
        }
        system.step(step, &mut effect);
    }
    delays
}

#[test]
fn exactly_the_executions_within_the_bound() {
    for text in PROGRAMS {
        let make = make(text);
        let mut all = Schedules::default();
        explore(Algorithm::Oracle, &make, &options(), &mut all);
        let costs: Vec<usize> = all.0.iter().map(|steps| delays(&make, steps)).collect();
        let most = costs.iter().copied().max().expect("there is an execution");
        assert!(most > 0, "{text}");
        for bound in 0..=most {
            let (found, report) = bounded(bound, &make);
            let set: BTreeSet<&Vec<Step>> = found.iter().collect();
            assert_eq!(set.len(), found.len(), "each once: {text}");
            let within = all.0.iter().zip(&costs).filter(|(_, cost)| **cost <= bound);
            let expected: BTreeSet<&Vec<Step>> = within.map(|(steps, _)| steps).collect();
            assert_eq!(set, expected, "with {bound} delays: {text}");
            let is_whole = report.inconclusive.is_empty();
            assert_eq!(is_whole, bound == most, "with {bound} of {most} delays: {text}");
        }
    }
}

#[test]
fn one_delay_loses_an_update() {
    let text = format!("{} finally {{ assert x == 2; }}", PROGRAMS[0]);
    let make = make(&text);
    assert_eq!(bounded(0, &make).1.verdict(), Verdict::Inconclusive);
    assert_eq!(bounded(1, &make).1.verdict(), Verdict::Violated);
}

/// Runs the command line with a program on standard input.
fn selvedge(arguments: &[&str], program: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_outside-explorer"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut input = child.stdin.take().expect("it is piped");
    // A command that does not read it may have ended.
    let _ = input.write_all(program.as_bytes());
    drop(input);
    child.wait_with_output().expect("it ends")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), output.stderr.as_slice()].concat())
        .into_owned()
}

#[test]
fn the_command_line_has_it() {
    let listed = text(&selvedge(&["algorithms"], ""));
    assert!(listed.contains("\ndelay-1\n") && listed.contains("\noptimal"), "{listed}");

    let program = format!("{} finally {{ assert x == 2; }}", PROGRAMS[0]);
    let output = selvedge(&["check", "-", "--algorithm", "delay-1"], &program);
    let shown = text(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("replay: ") && shown.contains("delay-1"), "{shown}");

    let output = selvedge(&["check", "-", "--algorithm", "delay-1"], PROGRAMS[1]);
    let shown = text(&output);
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(shown.contains("more delays than its bound, 1"), "{shown}");

    let shown = text(&selvedge(&["check", "-", "--algorithm", "delay-3"], PROGRAMS[1]));
    assert!(shown.contains("unknown algorithm `delay-3`; did you mean `delay-1`?"), "{shown}");

    let output = selvedge(&["compare", "-"], PROGRAMS[1]);
    let shown = text(&output);
    assert!(shown.contains("delay-2") && shown.contains("parsimonious"), "{shown}");
}
