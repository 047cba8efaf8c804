//! The formula as text for other solvers.

use std::fmt::Write as _;

use super::order::Node;
use super::{Lit, Solver};

impl Solver {
    /// Returns the formula in SMT-LIB 2: Boolean variables, and one integer per node of the order, so that
    /// an edge is a difference constraint. `goal` is asserted too. Needs [`Solver::recording`].
    pub fn to_smt_lib(&self, goal: &[Lit]) -> String {
        let ordered = self.exports_order();
        let nodes = if ordered { self.order.nodes() } else { 0 };
        let mut out = String::new();
        let logic = if ordered { "QF_IDL" } else { "QF_UF" };
        let _ = writeln!(out, "(set-logic {logic})");
        for variable in 0..self.size.variables {
            let _ = writeln!(out, "(declare-const v{} Bool)", variable + 1);
        }
        for node in 0..nodes {
            let _ = writeln!(out, "(declare-const n{node} Int)");
        }
        let _ = writeln!(out, "(assert v1)");
        let before = |from: Node, to: Node| format!("(< n{} n{})", from.index(), to.index());
        for (lit, from, to) in self.order.atoms().filter(|_| ordered) {
            let _ = match lit {
                Lit::TRUE => writeln!(out, "(assert {})", before(from, to)),
                lit => writeln!(out, "(assert (=> {} {}))", smt(lit), before(from, to)),
            };
        }
        let clauses = self.recorded.iter().flatten().map(Vec::as_slice);
        for clause in clauses.chain(goal.iter().map(std::slice::from_ref)) {
            let _ = match clause {
                [] => writeln!(out, "(assert false)"),
                [lit] => writeln!(out, "(assert {})", smt(*lit)),
                clause => {
                    let literals: Vec<String> = clause.iter().map(|&lit| smt(lit)).collect();
                    writeln!(out, "(assert (or {}))", literals.join(" "))
                }
            };
        }
        out.push_str("(check-sat)\n");
        out
    }

    /// Returns the formula in DIMACS. An order becomes a clock for each of its nodes, a binary number: an
    /// edge goes to a greater one. `goal` is asserted too. Needs [`Solver::recording`].
    pub fn to_dimacs(&self, goal: &[Lit]) -> String {
        let mut clauses = vec![vec![Lit::TRUE.dimacs()]];
        let recorded = self.recorded.iter().flatten().map(Vec::as_slice);
        for clause in recorded.chain(goal.iter().map(std::slice::from_ref)) {
            clauses.push(clause.iter().map(|lit| lit.dimacs()).collect());
        }
        let mut variables = self.size.variables as i64;
        if self.exports_order() {
            let mut clocks = Clocks::new(self.order.nodes(), variables);
            for (lit, from, to) in self.order.atoms() {
                clocks.increase(lit, from, to, &mut clauses);
            }
            variables = clocks.variables;
        }
        let mut out = format!("p cnf {variables} {}\n", clauses.len());
        for clause in clauses {
            for lit in clause {
                let _ = write!(out, "{lit} ");
            }
            out.push_str("0\n");
        }
        out
    }

    /// Returns whether other solvers need the order stated.
    fn exports_order(&self) -> bool {
        self.order.atoms().next().is_some() && !self.order_is_implied
    }
}

/// A binary number for each node, in variables after those of the formula.
struct Clocks {
    /// Before the first clock.
    offset: i64,
    bits: i64,
    /// All variables so far.
    variables: i64,
}

impl Clocks {
    fn new(nodes: usize, offset: i64) -> Self {
        // As many numbers as nodes are enough: edges without a cycle can be put in a row.
        let bits = i64::from(usize::BITS - nodes.saturating_sub(1).leading_zeros());
        Self { offset, bits, variables: offset + bits * nodes as i64 }
    }

    fn bit(&self, node: Node, bit: i64) -> i64 {
        self.offset + self.bits * node.index() as i64 + bit + 1
    }

    /// If `lit`, the clock of `from` is less than that of `to`.
    fn increase(&mut self, lit: Lit, from: Node, to: Node, clauses: &mut Vec<Vec<i64>>) {
        // From the highest bit on: as long as all were equal, the next of `from` is not greater;
        // and in the end they were not all equal.
        let mut equal = lit.dimacs();
        for bit in (0..self.bits).rev() {
            let (a, b) = (self.bit(from, bit), self.bit(to, bit));
            self.variables += 1;
            let still_equal = self.variables;
            clauses.push(vec![-equal, -a, b]);
            clauses.push(vec![-equal, a, b, still_equal]);
            clauses.push(vec![-equal, -a, -b, still_equal]);
            equal = still_equal;
        }
        clauses.push(vec![-equal]);
    }
}

fn smt(lit: Lit) -> String {
    let name = format!("v{}", lit.variable() + 1);
    if lit.is_positive() { name } else { format!("(not {name})") }
}
