//! The solvers against brute force, and against each other.

use selvedge_core::{Budget, Spent};

use selvedge_testkit::Random;

use super::order::{OrderTheory, is_acyclic};
use super::{Answer, Engine, Lit, Node, Size, Solver};

/// Those that this build has.
fn engines() -> impl Iterator<Item = Engine> {
    Engine::ALL.into_iter().filter(|engine| engine.is_built_in())
}

/// A random formula with an order, small enough to try everything.
struct Formula {
    variables: usize,
    clauses: Vec<Vec<(usize, bool)>>,
    nodes: usize,
    fixed: Vec<(usize, usize)>,
    /// Literal and edge.
    atoms: Vec<((usize, bool), (usize, usize))>,
}

impl Formula {
    fn random(dice: &mut Random) -> Self {
        let variables = 3 + dice.below(8);
        let nodes = 2 + dice.below(5);
        let literal = |dice: &mut Random| (dice.below(variables), dice.below(2) == 0);
        let clauses = (0..dice.below(4 * variables))
            .map(|_| (0..1 + dice.below(3)).map(|_| literal(dice)).collect())
            .collect();
        let fixed = (0..dice.below(3))
            .map(|_| {
                let to = 1 + dice.below(nodes - 1);
                (dice.below(to), to)
            })
            .collect();
        let atoms = (0..dice.below(12))
            .map(|_| {
                let from = dice.below(nodes);
                let to = (from + 1 + dice.below(nodes - 1)) % nodes;
                (literal(dice), (from, to))
            })
            .collect();
        Self { variables, clauses, nodes, fixed, atoms }
    }

    fn holds(&self, model: u32, assumptions: &[(usize, bool)]) -> bool {
        let value = |(variable, positive): (usize, bool)| (model >> variable & 1 == 1) == positive;
        let mut edges = self.fixed.clone();
        edges.extend(self.atoms.iter().filter(|(lit, _)| value(*lit)).map(|&(_, edge)| edge));
        let mut solver = Solver::new();
        let nodes: Vec<Node> = (0..self.nodes).map(|_| solver.new_node()).collect();
        let edges: Vec<_> = edges.iter().map(|&(from, to)| (nodes[from], nodes[to])).collect();
        assumptions.iter().all(|&lit| value(lit))
            && self.clauses.iter().all(|clause| clause.iter().any(|&lit| value(lit)))
            && is_acyclic(self.nodes, &edges)
    }
}

#[test]
fn the_same_answers_as_brute_force_also_when_asked_again() {
    engines().for_each(compare_with_brute_force);
}

fn compare_with_brute_force(engine: Engine) {
    let mut dice = Random::new(7);
    let (mut sat, mut unsat) = (0, 0);
    for _ in 0..400 {
        let formula = Formula::random(&mut dice);
        let mut solver = Solver::of(engine).that_records();
        let lits: Vec<Lit> = (0..formula.variables).map(|_| solver.new_lit()).collect();
        let lit = |(variable, positive): (usize, bool)| {
            if positive { lits[variable] } else { !lits[variable] }
        };
        let nodes: Vec<Node> = (0..formula.nodes).map(|_| solver.new_node()).collect();
        for &(from, to) in &formula.fixed {
            solver.add_edge(Lit::TRUE, nodes[from], nodes[to]);
        }
        for &(name, (from, to)) in &formula.atoms {
            solver.add_edge(lit(name), nodes[from], nodes[to]);
        }
        for clause in &formula.clauses {
            let clause: Vec<Lit> = clause.iter().map(|&name| lit(name)).collect();
            solver.add_clause(&clause);
        }
        for _ in 0..4 {
            let assumptions: Vec<(usize, bool)> = (0..dice.below(3))
                .map(|_| (dice.below(formula.variables), dice.below(2) == 0))
                .collect();
            let expected =
                (0..1 << formula.variables).any(|model| formula.holds(model, &assumptions));
            let assumed: Vec<Lit> = assumptions.iter().map(|&name| lit(name)).collect();
            let answer = solver.solve(&assumed, &Budget::unlimited());
            assert_eq!(answer == Answer::Sat, expected, "{:?}", formula.clauses);
            match answer {
                Answer::Sat => {
                    sat += 1;
                    let model = (0..formula.variables)
                        .fold(0, |model, i| model | u32::from(solver.value(lits[i])) << i);
                    assert!(formula.holds(model, &assumptions), "what it gives is a model");
                }
                _ => {
                    unsat += 1;
                    let core = solver.core().to_vec();
                    assert!(core.iter().all(|lit| assumed.contains(lit)), "{core:?}");
                    assert_eq!(solver.solve(&core, &Budget::unlimited()), Answer::Unsat);
                }
            }
        }
    }
    assert!(sat > 300 && unsat > 300, "{sat} sat, {unsat} unsat: both are tried");
}

#[test]
fn random_three_sat_around_the_threshold() {
    let mut dice = Random::new(3);
    let (mut sat, mut unsat) = (0, 0);
    for _ in 0..30 {
        let mut clauses = Vec::new();
        for _ in 0..427 {
            clauses.push([(); 3].map(|()| (dice.below(100), dice.below(2) == 0)));
        }
        let mut answers = engines().map(|engine| {
            let mut solver = Solver::of(engine).that_records();
            let lits: Vec<Lit> = (0..100).map(|_| solver.new_lit()).collect();
            for clause in &clauses {
                let lit = |(variable, positive): (usize, bool)| {
                    if positive { lits[variable] } else { !lits[variable] }
                };
                solver.add_clause(&clause.map(lit));
            }
            // Models are checked against the recorded clauses in debug builds.
            solver.solve(&[], &Budget::unlimited())
        });
        let first = answers.next();
        assert!(answers.all(|answer| Some(answer) == first), "solvers differ: {clauses:?}");
        match first {
            Some(Answer::Sat) => sat += 1,
            _ => unsat += 1,
        }
    }
    assert!(sat > 5 && unsat > 5, "{sat} sat, {unsat} unsat");
}

/// Clauses over edges between many nodes: too many for brute force.
#[test]
fn solvers_agree_about_orders() {
    let mut dice = Random::new(19);
    let (mut sat, mut unsat) = (0, 0);
    for round in 0..40 {
        let (nodes, count) = (10 + dice.below(20), 60 + dice.below(60));
        let edges: Vec<(usize, usize)> = (0..count)
            .map(|_| {
                let from = dice.below(nodes);
                (from, (from + 1 + dice.below(nodes - 1)) % nodes)
            })
            .collect();
        let clauses: Vec<[(usize, bool); 3]> = (0..count * (2 + round % 3))
            .map(|_| [(); 3].map(|()| (dice.below(count), dice.below(3) != 0)))
            .collect();
        let assumed = [(); 2].map(|()| (dice.below(count), dice.below(2) == 0));
        let mut answers = engines().map(|engine| {
            let mut solver = Solver::of(engine).that_records();
            let order: Vec<Node> = (0..nodes).map(|_| solver.new_node()).collect();
            let lits: Vec<Lit> = edges.iter().map(|_| solver.new_lit()).collect();
            for (&lit, &(from, to)) in lits.iter().zip(&edges) {
                solver.add_edge(lit, order[from], order[to]);
                solver.add_edge(!lit, order[to], order[from]);
            }
            let lit = |(name, positive): (usize, bool)| {
                if positive { lits[name] } else { !lits[name] }
            };
            let mut answers = Vec::new();
            // Half of the clauses, then the others, then with assumptions.
            for half in clauses.chunks(clauses.len().div_ceil(2)) {
                half.iter().for_each(|clause| solver.add_clause(&clause.map(lit)));
                answers.push(solver.solve(&[], &Budget::unlimited()));
            }
            answers.push(solver.solve(&assumed.map(lit), &Budget::unlimited()));
            answers
        });
        let first = answers.next().unwrap_or_default();
        assert!(answers.all(|others| others == first), "solvers differ in round {round}");
        sat += first.iter().filter(|&&answer| answer == Answer::Sat).count();
        unsat += first.iter().filter(|&&answer| answer == Answer::Unsat).count();
    }
    assert!(sat > 20 && unsat > 20, "{sat} sat, {unsat} unsat");
}

#[test]
fn edges_can_be_added_between_queries() {
    for engine in engines() {
        let mut solver = Solver::of(engine);
        let [a, b, c] = [(); 3].map(|()| solver.new_node());
        let [x, y, z] = [(); 3].map(|()| solver.new_lit());
        solver.add_clause(&[x, y]);
        solver.add_clause(&[!x, z]);
        solver.add_edge(x, a, b);
        assert_eq!(solver.solve(&[x, y, z], &Budget::unlimited()), Answer::Sat);
        solver.add_edge(y, b, c);
        assert_eq!(solver.solve(&[x, y], &Budget::unlimited()), Answer::Sat);
        solver.add_edge(z, c, a);
        assert_eq!(solver.solve(&[x, y], &Budget::unlimited()), Answer::Unsat, "{engine:?}");
        assert_eq!(solver.solve(&[x], &Budget::unlimited()), Answer::Sat);
        assert!(solver.value(x) && !solver.value(y) && solver.value(z));
    }
}

#[test]
fn models_can_be_enumerated() {
    for engine in engines() {
        let mut solver = Solver::of(engine);
        let nodes: Vec<Node> = (0..4).map(|_| solver.new_node()).collect();
        let mut atoms = Vec::new();
        for a in 0..4 {
            for b in 0..a {
                let lit = solver.new_lit();
                solver.add_edge(lit, nodes[a], nodes[b]);
                solver.add_edge(!lit, nodes[b], nodes[a]);
                atoms.push(lit);
            }
        }
        let mut count = 0;
        while solver.solve(&[], &Budget::unlimited()) == Answer::Sat {
            count += 1;
            let block: Vec<Lit> =
                atoms.iter().map(|&lit| if solver.value(lit) { !lit } else { lit }).collect();
            solver.add_clause(&block);
        }
        assert_eq!(count, 24, "the orders of four nodes");
    }
}

#[test]
fn a_search_can_be_stopped() {
    for engine in engines() {
        // Pigeons: hard for this kind of solver.
        let mut solver = Solver::of(engine);
        let places: Vec<Vec<Lit>> =
            (0..13).map(|_| (0..12).map(|_| solver.new_lit()).collect()).collect();
        for pigeon in &places {
            solver.add_clause(pigeon);
        }
        for (number, first) in places.iter().enumerate() {
            for second in &places[..number] {
                for (&a, &b) in first.iter().zip(second) {
                    solver.add_clause(&[!a, !b]);
                }
            }
        }
        let budget = Budget::unlimited().with_work(3);
        assert_eq!(solver.solve(&[], &budget), Answer::Stopped, "{engine:?}");
        assert_eq!(budget.spent(), Some(Spent::Work));
    }
}

/// An order that is hard to find: the solver works mostly in the theory, and must be stopped there.
#[test]
fn a_search_for_an_order_can_be_stopped() {
    for engine in engines() {
        let mut dice = Random::new(31);
        let mut solver = Solver::of(engine);
        let nodes: Vec<Node> = (0..60).map(|_| solver.new_node()).collect();
        let mut atoms = Vec::new();
        for (number, &a) in nodes.iter().enumerate() {
            for &b in &nodes[..number] {
                let lit = solver.new_lit();
                solver.add_edge(lit, a, b);
                solver.add_edge(!lit, b, a);
                atoms.push(lit);
            }
        }
        for _ in 0..4 * atoms.len() {
            let clause = [(); 3].map(|()| {
                let lit = atoms[dice.below(atoms.len())];
                if dice.below(2) == 0 { lit } else { !lit }
            });
            solver.add_clause(&clause);
        }
        let budget = Budget::unlimited().with_work(4);
        assert_eq!(solver.solve(&[], &budget), Answer::Stopped, "{engine:?}");
        assert!(solver.conflicts() < 10_000, "{engine:?}: {}", solver.conflicts());
    }
}

#[test]
fn formulas_can_be_exported() {
    let mut solver = Solver::recording();
    let (a, b) = (solver.new_lit(), solver.new_lit());
    solver.add_clause(&[a, !b]);
    assert_eq!(solver.to_dimacs(&[b]), "p cnf 3 3\n1 0\n2 -3 0\n3 0\n");
    let (x, y) = (solver.new_node(), solver.new_node());
    solver.add_edge(a, x, y);
    // Variables 4 and 5 are the clocks of the nodes, 6 is whether they are equal.
    let clocks = "-2 -4 5 0\n-2 4 5 6 0\n-2 -4 -5 6 0\n-6 0\n";
    assert_eq!(solver.to_dimacs(&[]), format!("p cnf 6 6\n1 0\n2 -3 0\n{clocks}"));
    let text = solver.to_smt_lib(&[b]);
    for line in ["(assert (=> v2 (< n0 n1)))", "(assert (or v2 (not v3)))", "(assert v3)"] {
        assert!(text.contains(line), "{text}");
    }
}

/// What is asked of every model in debug builds: all clauses and the order.
#[test]
fn what_is_no_model_is_noticed() {
    let mut solver = Solver::recording();
    let (ab, ba, c) = (solver.new_lit(), solver.new_lit(), solver.new_lit());
    let (a, b) = (solver.new_node(), solver.new_node());
    solver.add_edge(ab, a, b);
    solver.add_edge(ba, b, a);
    solver.add_clause(&[ab, ba]);
    solver.add_clause(&[c]);
    let mut is_model = |values: [bool; 3]| {
        solver.model = [&[true], &values[..]].concat();
        solver.is_model()
    };
    assert!(is_model([true, false, true]));
    assert!(!is_model([true, true, true]), "the order has a cycle");
    assert!(!is_model([false, false, true]), "the first clause is false");
    assert!(!is_model([true, false, false]), "the second clause is false");
}

/// Two edges of a cycle may be there because of one literal.
#[test]
fn a_cycle_names_each_literal_once() {
    let mut order = OrderTheory::default();
    let [a, b, c, d] = [(); 4].map(|()| order.new_node());
    let [one, two, three] = [1, 2, 3].map(|variable| Lit::new(variable, true));
    for (lit, from, to) in [(one, a, b), (two, b, c), (one, c, d), (three, d, a)] {
        order.add_atom(lit, from, to);
    }
    order.push_level();
    assert_eq!((order.assert(one), order.assert(two)), (Ok(()), Ok(())));
    assert_eq!(order.assert(three), Err(vec![one, two, three]));
}

/// Limits go by it, and reports show it.
#[test]
fn the_size_is_what_was_added() {
    let mut solver = Solver::new();
    let [a, b] = [(); 2].map(|()| solver.new_lit());
    let before = solver.size();
    // False literals are left out of a clause, and so are clauses that are true.
    for clause in [&[a, b][..], &[a, Lit::FALSE], &[!b, Lit::TRUE]] {
        solver.add_clause(clause);
    }
    let Size { variables, clauses, literals, .. } = solver.size();
    assert_eq!((variables - before.variables, clauses - before.clauses), (0, 2));
    assert_eq!(literals - before.literals, 3);
    solver.new_lit();
    assert_eq!(solver.size().variables, variables + 1);
}
