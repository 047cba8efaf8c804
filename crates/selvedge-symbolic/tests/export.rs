//! Exported formulas, read back: their answer is the verdict of the check.

use std::fs;
use std::time::Duration;

use selvedge_core::{Budget, Verdict};
use selvedge_symbolic::check::encoded;
use selvedge_symbolic::solver::{Answer, Lit, Node, Solver};
use selvedge_symbolic::{Options, Scheme, check};
use selvedge_testkit::{Profile, Random, corpus, generate};

/// Programs with and without violations: branches, loops, locks, threads that are created and
/// joined, waiting, values from outside.
const PROGRAMS: [&str; 14] = [
    "bank.sel",
    "bank-fixed.sel",
    "bugs/ab-ba.sel",
    "bugs/lost-update.sel",
    "features/assume.sel",
    "features/await.sel",
    "features/choose.sel",
    "features/fork-join.sel",
    "litmus/store-buffering.sel",
    "locks/counter.sel",
    "mat/figure-7.sel",
    "mat/rounds.sel",
    "mutual-exclusion/peterson.sel",
    "optimal-dpor/lastzero.sel",
];

#[test]
fn orders() {
    programs_in_both_formats(Scheme::Order);
}

#[test]
fn tokens() {
    programs_in_both_formats(Scheme::Token);
}

#[test]
fn transactions() {
    programs_in_both_formats(Scheme::Mat);
}

fn programs_in_both_formats(scheme: Scheme) {
    let mut violated = 0;
    for name in PROGRAMS {
        // The clocks of a token alone, without the theory in our solver, take long.
        if scheme == Scheme::Token && name.starts_with("mutual-exclusion/") {
            continue;
        }
        let text = fs::read_to_string(corpus().join(name)).unwrap();
        violated += usize::from(in_both_formats(name, &text, scheme).unwrap());
    }
    assert!(violated > 2 && violated < PROGRAMS.len() - 2, "both answers are tried");
}

#[test]
fn random_programs() {
    let mut answers = [0; 2];
    for profile in [Profile::memory(), Profile::locks(), Profile::ordinary()] {
        for seed in 0..15 {
            let text = generate(&profile, seed).to_string();
            for scheme in Scheme::ALL {
                if let Some(violated) = in_both_formats("random.sel", &text, scheme) {
                    answers[usize::from(violated)] += 1;
                }
            }
        }
    }
    assert!(answers.iter().all(|&count| count > 10), "both answers are tried: {answers:?}");
}

/// Which thread is waited for is not known beforehand.
#[test]
fn joins_that_vary() {
    let text = "shared done[2] = 0;\n\
                proc work(i: int) { done[i] = 1; done[i] = 2; }\n\
                thread main {\n\
                    let i = choose(0..2);\n\
                    let t = spawn work(0);\n\
                    let u = spawn work(1);\n\
                    if i == 1 { t = u; }\n\
                    join t;\n\
                    assert done[i] == 2;\n\
                }\n";
    for scheme in Scheme::ALL {
        assert_eq!(in_both_formats("joins.sel", text, scheme), Some(false), "{}", scheme.name());
    }
}

/// Clauses over edges between few nodes, so that cycles matter.
#[test]
fn random_orders() {
    let mut dice = Random::new(23);
    let mut answers = [0; 2];
    for _ in 0..150 {
        let mut solver = Solver::recording();
        let nodes: Vec<Node> = (0..2 + dice.below(7)).map(|_| solver.new_node()).collect();
        let lits: Vec<Lit> = (0..4 + dice.below(20)).map(|_| solver.new_lit()).collect();
        for (number, &lit) in lits.iter().enumerate() {
            let from = dice.below(nodes.len());
            let to = (from + 1 + dice.below(nodes.len() - 1)) % nodes.len();
            let lit = if number % 4 == 0 { !lit } else { lit };
            solver.add_edge(lit, nodes[from], nodes[to]);
        }
        for _ in 0..2 * lits.len() {
            let clause = [(); 2].map(|()| lits[dice.below(lits.len())]);
            let clause = if dice.below(5) == 0 { clause.map(|lit| !lit) } else { clause };
            solver.add_clause(&clause);
        }
        let answer = solver.solve(&[], &Budget::unlimited());
        for mut other in [from_dimacs(&solver.to_dimacs(&[])), from_smt(&solver.to_smt_lib(&[]))] {
            assert_eq!(other.solve(&[], &Budget::unlimited()), answer);
        }
        answers[usize::from(answer == Answer::Sat)] += 1;
    }
    assert!(answers.iter().all(|&count| count > 30), "both answers are tried: {answers:?}");
}

/// Whether there is a violation; `None` if the check does not know.
fn in_both_formats(name: &str, text: &str, scheme: Scheme) -> Option<bool> {
    let program = selvedge_lang::compile(name, text, &[]).ok()?.program;
    let options = Options { scheme, unroll: 4, ..Options::default() };
    let outcome = check(&program, &options, &Budget::unlimited(), &|| Duration::ZERO);
    let violated = match outcome.report.verdict() {
        Verdict::Violated => true,
        Verdict::Verified => false,
        Verdict::Inconclusive => return None,
    };
    let budget = &Budget::unlimited();
    let Ok(encoded) = encoded(&program, &options, 4, Solver::recording(), budget) else {
        panic!("the callback did not stop it");
    };
    let goal = [encoded.goals.violated];
    let solver = &encoded.unrolled.circuit.solver;
    let expected = if violated { Answer::Sat } else { Answer::Unsat };
    for mut other in [from_dimacs(&solver.to_dimacs(&goal)), from_smt(&solver.to_smt_lib(&goal))] {
        assert_eq!(
            other.solve(&[], &Budget::unlimited()),
            expected,
            "{name} {}\n{text}",
            scheme.name()
        );
    }
    Some(violated)
}

fn from_dimacs(text: &str) -> Solver {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split_whitespace().collect();
    let &["p", "cnf", variables, clauses] = head.as_slice() else { panic!("{head:?}") };
    let mut solver = Solver::recording();
    let lits: Vec<Lit> = (0..variables.parse().unwrap()).map(|_| solver.new_lit()).collect();
    let mut count = 0;
    for line in lines {
        let numbers: Vec<i64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let Some((0, numbers)) = numbers.split_last() else { panic!("no end: {line}") };
        let clause: Vec<Lit> = numbers
            .iter()
            .map(|&number| {
                let lit = lits[number.unsigned_abs() as usize - 1];
                if number > 0 { lit } else { !lit }
            })
            .collect();
        solver.add_clause(&clause);
        count += 1;
    }
    assert_eq!(clauses.parse(), Ok(count));
    solver
}

/// A term of SMT-LIB.
enum Term {
    Name(String),
    List(Vec<Term>),
}

/// Reads the commands of a script.
fn terms(text: &str) -> Vec<Term> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut open = vec![Vec::new()];
    for word in spaced.split_whitespace() {
        match word {
            "(" => open.push(Vec::new()),
            ")" => {
                let list = open.pop().expect("it was opened");
                open.last_mut().expect("not too many are closed").push(Term::List(list));
            }
            name => open.last_mut().expect("one is open").push(Term::Name(name.to_owned())),
        }
    }
    assert_eq!(open.len(), 1, "all are closed");
    open.remove(0)
}

/// What a script declares: Booleans become literals, integers become nodes.
#[derive(Default)]
struct Script {
    solver: Solver,
    lits: Vec<Lit>,
    nodes: Vec<Node>,
}

fn from_smt(text: &str) -> Solver {
    let mut script = Script::default();
    for command in terms(text) {
        let Term::List(parts) = command else { panic!("a name is no command") };
        match parts.as_slice() {
            [Term::Name(word), ..] if word == "set-logic" || word == "check-sat" => {}
            [Term::Name(word), _, Term::Name(sort)] if word == "declare-const" => {
                match sort.as_str() {
                    "Bool" => script.lits.push(script.solver.new_lit()),
                    _ => script.nodes.push(script.solver.new_node()),
                }
            }
            [Term::Name(word), term] if word == "assert" => script.assert(term),
            _ => panic!("a command that is not expected"),
        }
    }
    script.solver
}

impl Script {
    fn assert(&mut self, term: &Term) {
        match term {
            Term::Name(name) if name == "false" => self.solver.add_clause(&[]),
            Term::List(parts) => match parts.as_slice() {
                [Term::Name(op), rest @ ..] if op == "or" => {
                    let clause: Vec<Lit> = rest.iter().map(|term| self.lit(term)).collect();
                    self.solver.add_clause(&clause);
                }
                [Term::Name(op), Term::Name(from), Term::Name(to)] if op == "<" => {
                    self.edge(Lit::TRUE, from, to);
                }
                [Term::Name(op), premise, Term::List(edge)] if op == "=>" => {
                    let lit = self.lit(premise);
                    let [Term::Name(less), Term::Name(from), Term::Name(to)] = edge.as_slice()
                    else {
                        panic!("not an edge")
                    };
                    assert_eq!(less, "<");
                    self.edge(lit, from, to);
                }
                _ => {
                    let lit = self.lit(term);
                    self.solver.add_clause(&[lit]);
                }
            },
            term => {
                let lit = self.lit(term);
                self.solver.add_clause(&[lit]);
            }
        }
    }

    fn lit(&self, term: &Term) -> Lit {
        match term {
            Term::Name(name) => {
                let number: usize = name.strip_prefix('v').expect("a Boolean").parse().unwrap();
                self.lits[number - 1]
            }
            Term::List(parts) => match parts.as_slice() {
                [Term::Name(not), inner] if not == "not" => !self.lit(inner),
                _ => panic!("not a literal"),
            },
        }
    }

    fn edge(&mut self, lit: Lit, from: &str, to: &str) {
        let node = |name: &str| {
            let number: usize = name.strip_prefix('n').expect("an integer").parse().unwrap();
            self.nodes[number]
        };
        let (from, to) = (node(from), node(to));
        self.solver.add_edge(lit, from, to);
    }
}
