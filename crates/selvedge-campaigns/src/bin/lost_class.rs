//! Shows where an explorer loses a class: `lost_class FILE ALGORITHM`.
//!
//! Takes the first class that `sleep` visits and the other does not, and follows it down the tree of visited
//! executions: at each node by the first branch with which an execution of the class can begin. Where there is
//! no such branch, one is missing: that node is printed, with its branches and what is left of the class.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool that shows what it finds")]

use std::process::ExitCode;

use selvedge_core::{Ending, Execution, Position, Step, TraceKey};
use selvedge_explore::{Algorithm, Observer, Options};
use selvedge_testkit::Subject;

/// All executions, in the order in which they are visited.
#[derive(Default)]
struct All(Vec<Execution>);

impl Observer for All {
    fn execution(&mut self, execution: &Execution, _: Ending) {
        self.0.push(execution.clone());
    }
}

fn executions(subject: &Subject, algorithm: Algorithm) -> Result<Vec<Execution>, String> {
    let mut all = All::default();
    let options = Options { keep_going: true, ..Options::default() };
    subject.explore(algorithm, &options, &mut all)?;
    Ok(all.0)
}

fn show(execution: &Execution, position: Position) -> String {
    format!("{:?} {:?}", execution.event(position).step(), execution.accesses(position))
}

/// Where in what is left of `lost` the step is, if an execution of the class can go on with it.
fn initial(lost: &Execution, left: &[Position], step: Step) -> Option<usize> {
    let index = left.iter().position(|&p| lost.event(p).step() == step)?;
    let is_first = left[..index].iter().all(|&p| !lost.happens_before(p, left[index]));
    is_first.then_some(index)
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: lost_class FILE ALGORITHM";
    let (file, name) = (arguments.next().ok_or(usage)?, arguments.next().ok_or(usage)?);
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let algorithm = Algorithm::ALL.iter().find(|it| it.info().name == name).ok_or(usage)?;
    let subject = Subject::new(&file, &text, &[])?;
    let visited = executions(&subject, *algorithm)?;
    let keys: Vec<TraceKey> = visited.iter().map(TraceKey::of).collect();
    let all = executions(&subject, Algorithm::Sleep)?;
    let Some(lost) = all.iter().find(|it| !keys.contains(&TraceKey::of(it))) else {
        println!("{name} visits all {} classes", all.len());
        return Ok(());
    };
    let mut left: Vec<Position> = (0..lost.len()).map(Position::new).collect();
    let mut prefix: Vec<Step> = Vec::new();
    loop {
        let mut branches: Vec<Step> = Vec::new();
        for execution in visited.iter().filter(|it| it.steps().starts_with(&prefix)) {
            let step = execution.steps().get(prefix.len()).copied();
            branches.extend(step.filter(|step| !branches.contains(step)));
        }
        match branches.iter().find_map(|&step| Some((step, initial(lost, &left, step)?))) {
            Some((step, index)) => {
                println!("{step:?}   of {branches:?}");
                prefix.push(step);
                left.remove(index);
            }
            None => {
                println!("no branch of {branches:?} begins what is left:");
                left.iter().for_each(|&position| println!("    {}", show(lost, position)));
                println!("visited there:");
                for execution in visited.iter().filter(|it| it.steps().starts_with(&prefix)) {
                    let rest = prefix.len()..execution.len();
                    let rest: Vec<String> =
                        rest.map(|at| show(execution, Position::new(at))).collect();
                    println!("    {}", rest.join("\n      "));
                }
                return Ok(());
            }
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
