//! From the formula to constraints: all models over the atoms, each generalised to few of them.
//!
//! A conjunction of literals is a constraint if it entails the formula. First come those that
//! speak of local variables alone, because nothing can change them; then single literals; then whatever
//! else the models of the formula show, shortened by what the solver needed to refute the opposite.
//! In the end a constraint goes if others that read no more cover it.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_lang::ir::{GlobalId, Program, Type};

use super::GiveUp;
use super::atom::{self, Atom, AtomRelation, Literal};
use super::formula::Formula;
use super::term::Opaque;
use super::text::Names;
use super::words::Words;
use crate::caps::Caps;
use crate::solver::Lit;

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cube {
    /// If these hold and nothing overflows, the blocks commute.
    pub(super) literals: Vec<Literal>,
    /// If these hold too, the blocks commute.
    pub(super) guard: Vec<Literal>,
}

impl Cube {
    fn all(&self) -> impl Iterator<Item = &Literal> {
        self.literals.iter().chain(&self.guard)
    }
}

pub(super) struct Search<'s, 'p, 'a> {
    pub(super) program: &'p Program,
    pub(super) caps: Caps,
    pub(super) words: &'s mut Words<'a>,
    pub(super) names: &'s Names<'p>,
    pub(super) formula: &'s Formula,
    /// What each literal's text means.
    pub(super) meanings: BTreeMap<Literal, Lit>,
    /// Literals that constraints can be made of.
    pub(super) literals: Vec<Literal>,
    /// Added on top of what the blocks compare: signs of local variables.
    pub(super) extra: BTreeSet<Literal>,
    found: Vec<Cube>,
    /// States in which the blocks do not commute: what holds there, of `literals`.
    refutations: Vec<BTreeSet<Literal>>,
    /// Whether all states in which the blocks commute are covered.
    pub(super) complete: bool,
}

impl<'s, 'p, 'a> Search<'s, 'p, 'a> {
    pub(super) fn new(
        program: &'p Program,
        caps: Caps,
        words: &'s mut Words<'a>,
        names: &'s Names<'p>,
        formula: &'s Formula,
    ) -> Self {
        Self {
            program,
            caps,
            words,
            names,
            formula,
            meanings: BTreeMap::new(),
            literals: Vec::new(),
            extra: BTreeSet::new(),
            found: Vec::new(),
            refutations: Vec::new(),
            complete: true,
        }
    }

    /// Returns all constraints.
    pub(super) fn run(mut self) -> Result<(Vec<Cube>, bool), GiveUp> {
        if self.entails(&[])? {
            self.add(Vec::new())?;
        } else {
            self.collect_literals()?;
            self.local_cubes()?;
            self.single_literals()?;
            self.remaining_models()?;
        }
        let kept = self.minimised()?;
        Ok((kept, self.complete))
    }

    /// Adds a constraint that holds if nothing overflows. `false`: it cannot be made to hold otherwise.
    fn add(&mut self, literals: Vec<Literal>) -> Result<bool, GiveUp> {
        let literals = self.simplified(literals)?;
        let guard = self.guard(&literals)?;
        self.complete &= guard.is_some();
        let is_right = guard.is_some();
        self.found.extend(guard.map(|guard| Cube { literals, guard }));
        Ok(is_right)
    }

    fn meaning(&mut self, literal: &Literal) -> Lit {
        if let Some(&lit) = self.meanings.get(literal) {
            return lit;
        }
        let lit = self.words.meaning(self.program, literal);
        self.meanings.insert(literal.clone(), lit);
        lit
    }

    fn meanings(&mut self, literals: &[Literal]) -> Vec<Lit> {
        literals.iter().map(|literal| self.meaning(literal)).collect()
    }

    /// Returns whether the blocks commute wherever these literals hold and nothing overflows.
    fn entails(&mut self, literals: &[Literal]) -> Result<bool, GiveUp> {
        // Most candidates fall at a state that another one fell at.
        if self.refutations.iter().any(|state| literals.iter().all(|lit| state.contains(lit))) {
            return Ok(false);
        }
        let mut assumptions = self.meanings(literals);
        assumptions.extend([self.formula.no_overflow, !self.formula.commutes]);
        let refuted = self.words.possible(&assumptions)?;
        if refuted {
            self.refutations.push(self.holding());
        }
        Ok(!refuted)
    }

    /// Returns the literals that hold in the solver's last model.
    fn holding(&self) -> BTreeSet<Literal> {
        let holds = |literal: &&Literal| {
            let meaning = self.meanings.get(literal);
            meaning.is_some_and(|&lit| self.words.circuit.solver.value(lit))
        };
        self.literals.iter().filter(holds).cloned().collect()
    }

    /// Returns whether these literals can hold at all.
    fn possible(&mut self, literals: &[Literal]) -> Result<bool, GiveUp> {
        let mut assumptions = self.meanings(literals);
        assumptions.push(self.formula.no_overflow);
        self.words.possible(&assumptions)
    }

    fn collect_literals(&mut self) -> Result<(), GiveUp> {
        let comparisons = self.formula.comparisons.clone();
        let mut candidates = Vec::new();
        for comparison in &comparisons {
            let (names, terms) = (self.names, &self.words.terms);
            let order = |product: &[_]| names.order(terms, product);
            candidates.extend(atom::literal(comparison, &order));
        }
        for candidate in candidates {
            let bound = self.as_bound(&candidate);
            self.add_literal(candidate, false)?;
            if let Some(bound) = bound {
                self.add_literal(bound, false)?;
            }
        }
        let locals = self.words.terms.all().filter(|(id, opaque)| {
            matches!(opaque, Opaque::Local(..)) && self.words.terms.ty(*id) == Type::Int
        });
        let locals: Vec<_> = locals.map(|(id, _)| id).collect();
        for id in locals {
            let form = vec![(vec![id], 1)];
            let negative = Atom { form, relation: AtomRelation::AtMost, bound: -1 };
            self.add_literal(Literal::Compared(negative, false), true)?;
        }
        Ok(())
    }

    /// For `len(q) == 0` the bound that says the same, because its opposite reads better.
    fn as_bound(&self, literal: &Literal) -> Option<Literal> {
        let Literal::Compared(Atom { form, relation: AtomRelation::Equal, bound: 0 }, truth) =
            literal
        else {
            return None;
        };
        let [(product, _)] = form.as_slice() else { return None };
        let [id] = product.as_slice() else { return None };
        let Opaque::Length(_) = self.words.terms.get(*id) else { return None };
        let atom = Atom { form: form.clone(), relation: AtomRelation::AtMost, bound: 0 };
        Some(Literal::Compared(atom, *truth))
    }

    /// Adds a literal and its opposite, if both can be written and both are possible.
    fn add_literal(&mut self, literal: Literal, extra: bool) -> Result<(), GiveUp> {
        let Some(opposite) = literal.negated() else { return Ok(()) };
        let known = self.literals.contains(&literal);
        if known || self.names.literal(&self.words.terms, &literal).is_none() {
            return Ok(());
        }
        if self.possible(std::slice::from_ref(&literal))?
            && self.possible(std::slice::from_ref(&opposite))?
        {
            if extra {
                self.extra.extend([literal.clone(), opposite.clone()]);
            }
            self.literals.extend([literal, opposite]);
        }
        Ok(())
    }

    fn globals<'l>(&self, literals: impl Iterator<Item = &'l Literal>) -> BTreeSet<GlobalId> {
        literals.flat_map(|literal| literal.globals(&self.words.terms)).collect()
    }

    /// Constraints of one or two literals on local variables.
    fn local_cubes(&mut self) -> Result<(), GiveUp> {
        let is_local = |literal: &&Literal| literal.globals(&self.words.terms).is_empty();
        let local: Vec<Literal> = self.literals.iter().filter(is_local).cloned().collect();
        self.singles(&local)?;
        if local.len() > self.caps.paired {
            return Ok(());
        }
        for (i, first) in local.iter().enumerate() {
            for second in &local[i + 1..] {
                let pair = [first.clone(), second.clone()];
                if self.entails(&pair)? && self.possible(&pair)? && !self.is_known(&pair)? {
                    self.add(pair.to_vec())?;
                }
            }
        }
        Ok(())
    }

    fn single_literals(&mut self) -> Result<(), GiveUp> {
        let all = self.literals.clone();
        self.singles(&all)
    }

    fn singles(&mut self, literals: &[Literal]) -> Result<(), GiveUp> {
        for literal in literals {
            let single = std::slice::from_ref(literal);
            let known = self.found.iter().any(|found| found.literals.as_slice() == single);
            if !known && self.entails(single)? {
                self.add(single.to_vec())?;
            }
        }
        Ok(())
    }

    /// Returns whether constraints that read no more hold wherever these literals do.
    fn is_known(&mut self, literals: &[Literal]) -> Result<bool, GiveUp> {
        let found = self.found.clone();
        let cube = Cube { literals: literals.to_vec(), guard: Vec::new() };
        self.is_covered(&cube, found.iter())
    }

    /// Returns whether others that read no more hold wherever it does.
    fn is_covered<'c>(
        &mut self,
        cube: &Cube,
        others: impl Iterator<Item = &'c Cube>,
    ) -> Result<bool, GiveUp> {
        let globals = self.globals(cube.all());
        let mut assumptions: Vec<Lit> = cube.all().map(|literal| self.meaning(literal)).collect();
        for other in others {
            if self.globals(other.all()).is_subset(&globals) {
                let all: Vec<Lit> = other.all().map(|literal| self.meaning(literal)).collect();
                assumptions.push(!self.words.circuit.all(&all));
            }
        }
        Ok(!self.words.possible(&assumptions)?)
    }

    /// Models of the formula that no constraint covers yet.
    fn remaining_models(&mut self) -> Result<(), GiveUp> {
        // Clauses that exclude models count only while models are looked for.
        let searching = self.words.circuit.fresh();
        for cube in self.found.clone() {
            self.exclude(searching, &cube.literals);
        }
        let mut in_vain = 0;
        for _ in 0..self.caps.models {
            let goal = [searching, self.formula.commutes, self.formula.no_overflow];
            if !self.words.possible(&goal)? {
                return Ok(());
            }
            let holding = self.holding();
            let cube: Vec<Literal> =
                self.literals.iter().filter(|literal| holding.contains(literal)).cloned().collect();
            if !self.entails(&cube)? {
                in_vain += 1;
                self.complete = false;
                if cube.is_empty() || in_vain > self.caps.models_in_vain {
                    return Ok(());
                }
                self.exclude(searching, &cube);
                continue;
            }
            in_vain = 0;
            let cube = self.generalised(cube)?;
            self.exclude(searching, &cube);
            self.add(cube)?;
            if self.found.len() >= self.caps.constraints {
                break;
            }
        }
        self.complete = false;
        Ok(())
    }

    fn exclude(&mut self, searching: Lit, cube: &[Literal]) {
        let mut clause = vec![!searching];
        clause.extend(self.meanings(cube).into_iter().map(|lit| !lit));
        self.words.circuit.require(&clause);
    }

    /// As few of the literals as possible, after they were seen to entail the formula.
    fn generalised(&mut self, cube: Vec<Literal>) -> Result<Vec<Literal>, GiveUp> {
        if cube.len() <= self.caps.paired {
            for (i, first) in cube.iter().enumerate() {
                for second in &cube[i + 1..] {
                    let pair = [first.clone(), second.clone()];
                    if self.entails(&pair)? {
                        return Ok(pair.to_vec());
                    }
                }
            }
        }
        // What was added goes first, then what is shared, then equalities, which hold rarely.
        let mut candidates = cube.clone();
        candidates.sort_by_key(|literal| {
            let shared = literal.globals(&self.words.terms).len();
            (!self.extra.contains(literal), std::cmp::Reverse(shared), !literal.is_equality())
        });
        let mut kept = cube;
        for candidate in candidates {
            let fewer: Vec<Literal> =
                kept.iter().filter(|literal| **literal != candidate).cloned().collect();
            if self.entails(&fewer)? {
                kept = fewer;
            }
        }
        Ok(kept)
    }

    /// With intervals put together; the same if that would change the meaning.
    fn simplified(&mut self, cube: Vec<Literal>) -> Result<Vec<Literal>, GiveUp> {
        let simple = atom::simplified(&cube);
        let terms = &self.words.terms;
        let readable = simple.iter().all(|literal| self.names.literal(terms, literal).is_some());
        if !readable || simple == cube || !self.entails(&simple)? {
            return Ok(cube);
        }
        let [old, new] = [cube, simple].map(|literals| Cube { literals, guard: Vec::new() });
        let same = self.is_covered(&old, std::iter::once(&new))?;
        Ok(if same { new.literals } else { old.literals })
    }

    /// Returns all constraints but those that others cover.
    fn minimised(&mut self) -> Result<Vec<Cube>, GiveUp> {
        let found = std::mem::take(&mut self.found);
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(|&i| {
            // Of two that say the same, a bound reads better than `!=`.
            let unequal = found[i].all().filter(|literal| literal.is_inequality()).count();
            let weight = (found[i].all().count(), self.globals(found[i].all()).len(), unequal);
            (std::cmp::Reverse(weight), std::cmp::Reverse(i))
        });
        let mut kept: BTreeSet<usize> = order.iter().copied().collect();
        for i in order {
            kept.remove(&i);
            if !self.is_covered(&found[i], kept.iter().map(|&other| &found[other]))? {
                kept.insert(i);
            }
        }
        Ok(kept.into_iter().map(|i| found[i].clone()).collect())
    }

    /// Returns what must be added so that the blocks commute even if something overflows; `None` if that
    /// cannot be said.
    fn guard(&mut self, literals: &[Literal]) -> Result<Option<Vec<Literal>>, GiveUp> {
        if self.entails_exactly(literals, &[])? {
            return Ok(Some(Vec::new()));
        }
        let candidates = self.guard_candidates();
        // Those that nothing but an overflow makes false come first.
        let mut harmless = Vec::new();
        let mut possible = Vec::new();
        for candidate in candidates {
            if !self.does_harm(literals, &candidate)? {
                harmless.push(candidate);
            } else if self.possible(&[literals, std::slice::from_ref(&candidate)].concat())? {
                possible.push(candidate);
            }
        }
        let mut guard = harmless;
        if !self.entails_exactly(literals, &guard)? {
            guard.extend(possible);
            if !self.entails_exactly(literals, &guard)? {
                return Ok(None);
            }
        }
        // What is shared goes first: constraints on local variables last longer.
        let mut candidates = guard.clone();
        candidates
            .sort_by_key(|literal| std::cmp::Reverse(literal.globals(&self.words.terms).len()));
        for candidate in candidates {
            let fewer: Vec<Literal> =
                guard.iter().filter(|literal| **literal != candidate).cloned().collect();
            if self.entails_exactly(literals, &fewer)? {
                guard = fewer;
            }
        }
        if !self.possible(&[literals, &guard].concat())? {
            return Ok(None);
        }
        Ok(Some(atom::simplified(&guard)))
    }

    /// That every result fits, as far as it can be written.
    fn guard_candidates(&self) -> Vec<Literal> {
        let mut candidates: Vec<Literal> = Vec::new();
        let (names, terms) = (self.names, &self.words.terms);
        let order = |product: &[_]| names.order(terms, product);
        for result in &self.formula.results {
            for literal in atom::fits(result, &order) {
                if names.literal(terms, &literal).is_some() && !candidates.contains(&literal) {
                    candidates.push(literal);
                }
            }
        }
        candidates
    }

    /// Returns whether a part of a guard can be false where the literals hold and nothing overflows.
    fn does_harm(&mut self, literals: &[Literal], part: &Literal) -> Result<bool, GiveUp> {
        let mut assumptions = self.meanings(literals);
        assumptions.extend([self.formula.no_overflow, !self.meaning(part)]);
        self.words.possible(&assumptions)
    }

    fn entails_exactly(&mut self, literals: &[Literal], guard: &[Literal]) -> Result<bool, GiveUp> {
        let mut assumptions = self.meanings(literals);
        assumptions.extend(self.meanings(guard));
        assumptions.push(!self.formula.commutes);
        Ok(!self.words.possible(&assumptions)?)
    }
}
