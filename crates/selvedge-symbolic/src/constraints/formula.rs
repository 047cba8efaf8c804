//! The formula: in which states do two blocks commute?
//!
//! With the guarded commands `C_i -> (A_i, S_i)` of one order and `C'_j -> (A'_j, S'_j)` of the other it is
//! the disjunction of all `C_i && C'_j && A_i = A'_j && S_i = S'_j`. The second order is run where `C_i` holds, so
//! that pairs which cannot be are never met.

use super::GiveUp;
use super::path::{Exit, Path, Task, Value};
use super::run::{Comparison, Relation, Runner};
use super::store::Objects;
use super::term::{Poly, Side};
use super::witness::Question;
use crate::solver::Lit;

/// When two blocks commute.
pub(super) struct Formula {
    /// They commute. An overflow is a failure like others.
    pub(super) commutes: Lit,
    /// Nothing overflows, in either order.
    pub(super) no_overflow: Lit,
    /// What it is made of.
    pub(super) comparisons: Vec<Comparison>,
    /// What may overflow.
    pub(super) results: Vec<Poly>,
}

impl Runner<'_, '_> {
    /// Runs both orders and compares them.
    pub(super) fn formula(&mut self) -> Result<Formula, GiveUp> {
        let firsts = self.run(Side::First, Path::new(Vec::new(), Vec::new()))?;
        let (mut equal, mut overflows) = (Vec::new(), Vec::new());
        for first in &firsts {
            let start = Path::new(first.conditions.clone(), first.witnesses.clone());
            for second in self.run(Side::Second, start)? {
                // Its guard contains that of the other order.
                let guard = self.words.circuit.all(&second.conditions);
                let same = self.same_end(first, &second)?;
                equal.push(self.words.circuit.and(guard, same));
                if first.overflows || second.overflows {
                    overflows.push(guard);
                }
            }
        }
        Ok(Formula {
            commutes: self.words.circuit.any(&equal),
            no_overflow: !self.words.circuit.any(&overflows),
            comparisons: std::mem::take(&mut self.comparisons),
            results: std::mem::take(&mut self.results),
        })
    }

    /// Returns whether both orders end the same way.
    fn same_end(&mut self, a: &Path, b: &Path) -> Result<Lit, GiveUp> {
        self.words.noted = Some(Vec::new());
        let mut all = Vec::new();
        for (a, b) in a.exits.iter().zip(&b.exits) {
            all.push(self.same_exit(a.as_ref(), b.as_ref()));
        }
        let globals = a.store.globals.keys().chain(b.store.globals.keys());
        let globals: std::collections::BTreeSet<_> = globals.copied().collect();
        for global in globals {
            let Ok(kind) = self.kind(global) else { continue };
            let untouched = Objects::untouched(global, kind);
            let [left, right] = [a, b].map(|path| path.store.globals.get(&global));
            let (left, right) = (left.unwrap_or(&untouched), right.unwrap_or(&untouched));
            all.push(self.words.same_objects(left, right));
        }
        all.push(self.same_tasks(&a.tasks, &b.tasks));
        let noted = self.words.noted.take().unwrap_or_default();
        let same = self.words.circuit.all(&all);
        if same != Lit::FALSE && !a.overflows && !b.overflows {
            self.note_undecided(b, noted)?;
        }
        Ok(same)
    }

    /// Equalities that the guard does not decide are candidates for constraints.
    fn note_undecided(&mut self, path: &Path, noted: Vec<(Poly, Poly)>) -> Result<(), GiveUp> {
        let mut assumptions = path.conditions.clone();
        for (a, b) in noted {
            let comparison = (Relation::Equal, a.clone(), b.clone());
            if self.comparisons.contains(&comparison) {
                continue;
            }
            let equal = self.words.equal(&a, &b);
            let mut decided = false;
            let question = Question::Compare(Relation::Equal, &a, &b);
            let seen = self.answers(path, question);
            for (lit, is_seen) in [(equal, seen[1]), (!equal, seen[0])] {
                if is_seen {
                    continue;
                }
                assumptions.push(lit);
                decided |= !self.words.possible(&assumptions)?;
                assumptions.pop();
            }
            if !decided {
                self.comparisons.push(comparison);
            }
        }
        Ok(())
    }

    fn same_exit(&mut self, a: Option<&Exit>, b: Option<&Exit>) -> Lit {
        match (a, b) {
            (Some(Exit::At(a, left)), Some(Exit::At(b, right))) if a == b => {
                let pairs = left.iter().zip(right);
                let all: Vec<Lit> = pairs.map(|((_, a), (_, b))| self.same_value(a, b)).collect();
                self.words.circuit.all(&all)
            }
            (Some(Exit::Failed(a, left)), Some(Exit::Failed(b, right))) if a == b => {
                let pairs = left.iter().zip(right);
                let all: Vec<Lit> = pairs.map(|(a, b)| self.same_value(a, b)).collect();
                self.words.circuit.all(&all)
            }
            (Some(Exit::FailedInLoop(a)), Some(Exit::FailedInLoop(b))) => {
                self.words.same_call(*a, *b)
            }
            (Some(Exit::Assumed(a)), Some(Exit::Assumed(b))) => Lit::constant(a == b),
            (Some(Exit::Returned), Some(Exit::Returned)) => Lit::TRUE,
            _ => Lit::FALSE,
        }
    }

    fn same_value(&mut self, a: &Value, b: &Value) -> Lit {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => self.words.equal(a, b),
            (Value::Index(a), Value::Index(b)) => self.words.same_index(a, b),
            _ => Lit::FALSE,
        }
    }

    /// Returns whether two multisets of tasks are the same.
    fn same_tasks(&mut self, a: &[Task], b: &[Task]) -> Lit {
        if a.len() != b.len() {
            return Lit::FALSE;
        }
        let mut left = a.to_vec();
        let mut right = b.to_vec();
        // What is in both anyway.
        left.retain(|task| match right.iter().position(|other| other == task) {
            Some(at) => {
                right.remove(at);
                false
            }
            None => true,
        });
        if left.len() > self.caps.permuted {
            // There may be states in which the blocks commute that this does not see.
            self.abstracted = true;
            let pairs = left.iter().zip(&right);
            let all: Vec<Lit> = pairs.map(|(a, b)| self.same_task(a, b)).collect();
            return self.words.circuit.all(&all);
        }
        self.some_order(&left, &mut right)
    }

    fn some_order(&mut self, left: &[Task], right: &mut Vec<Task>) -> Lit {
        let Some((first, rest)) = left.split_first() else { return Lit::TRUE };
        let mut any = Vec::new();
        for at in 0..right.len() {
            let same = self.same_task(first, &right[at]);
            if same != Lit::FALSE {
                let task = right.remove(at);
                let others = self.some_order(rest, right);
                right.insert(at, task);
                any.push(self.words.circuit.and(same, others));
            }
        }
        self.words.circuit.any(&any)
    }

    fn same_task(&mut self, a: &Task, b: &Task) -> Lit {
        match (a, b) {
            (
                Task::One { procedure: p, arguments: a, handle: h },
                Task::One { procedure: q, arguments: b, handle: i },
            ) if p == q && h == i => self.words.same_index(a, b),
            (Task::Loop(a), Task::Loop(b)) => self.words.same_call(*a, *b),
            _ => Lit::FALSE,
        }
    }
}
