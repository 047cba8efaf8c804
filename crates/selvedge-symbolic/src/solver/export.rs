//! The formula as text for other solvers.

use std::fmt::Write as _;

use super::order::Node;
use super::{Lit, Solver};

impl Solver {
    /// The formula in SMT-LIB 2: Boolean variables, and one integer per node of the order, so that
    /// an edge is a difference constraint. `goal` is asserted too. Needs [`Solver::recording`].
    pub fn to_smt_lib(&self, goal: &[Lit]) -> String {
        let ordered = self.order.nodes() > 0;
        let mut out = String::new();
        let logic = if ordered { "QF_IDL" } else { "QF_UF" };
        let _ = writeln!(out, "(set-logic {logic})");
        for variable in 0..self.size.variables {
            let _ = writeln!(out, "(declare-const v{} Bool)", variable + 1);
        }
        for node in 0..self.order.nodes() {
            let _ = writeln!(out, "(declare-const n{node} Int)");
        }
        let _ = writeln!(out, "(assert v1)");
        let before = |from: Node, to: Node| format!("(< n{} n{})", from.index(), to.index());
        for (lit, from, to) in self.order.atoms() {
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

    /// The clauses in DIMACS, for a formula without an order. `goal` is asserted too. Needs
    /// [`Solver::recording`]. `None`: there is an order, which DIMACS cannot say.
    pub fn to_dimacs(&self, goal: &[Lit]) -> Option<String> {
        if self.order.atoms().next().is_some() {
            return None;
        }
        let clauses = self.recorded.as_deref().unwrap_or_default();
        let mut out = String::new();
        let count = clauses.len() + goal.len() + 1;
        let _ = writeln!(out, "p cnf {} {count}", self.size.variables);
        let constant = [Lit::TRUE];
        let units = goal.iter().map(std::slice::from_ref);
        let all = std::iter::once(&constant[..]).chain(clauses.iter().map(Vec::as_slice));
        for clause in all.chain(units) {
            for lit in clause {
                let _ = write!(out, "{} ", lit.dimacs());
            }
            out.push_str("0\n");
        }
        Some(out)
    }
}

fn smt(lit: Lit) -> String {
    let name = format!("v{}", lit.variable() + 1);
    if lit.is_positive() { name } else { format!("(not {name})") }
}
