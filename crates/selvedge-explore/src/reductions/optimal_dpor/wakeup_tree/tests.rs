//! Wakeup trees against section 6 of the paper, by brute force over all interleavings.

use std::collections::BTreeSet;

use selvedge_core::{Footprint, ThreadId};

use super::*;
use crate::search::random::Random;
use crate::trace::tests::{Script, Trace};

type Steps = Vec<ThreadId>;

/// All maximal interleavings of a program, with their traces.
struct Program {
    script: Script,
    interleavings: Vec<(Steps, Trace)>,
}

impl Program {
    fn random(random: &mut Random) -> Self {
        let script = Script::of_accesses(random, 3, 2);
        let all = script.interleavings();
        let interleavings =
            all.into_iter().map(|steps| (steps.clone(), script.trace(&steps))).collect();
        Self { script, interleavings }
    }

    /// Returns the traces of the maximal executions that begin with these steps.
    fn traces(&self, steps: &[ThreadId]) -> BTreeSet<&Trace> {
        let begins = self.interleavings.iter().filter(|(all, _)| all.starts_with(steps));
        begins.map(|(_, trace)| trace).collect()
    }

    /// `v ∼ w`: they can be continued to equivalent executions.
    fn are_consistent(&self, v: &[ThreadId], w: &[ThreadId]) -> bool {
        self.traces(v).intersection(&self.traces(w)).next().is_some()
    }

    fn sequence(&self, steps: &[ThreadId]) -> Sequence {
        let mut system = self.script.clone();
        let mut sequence = Sequence::default();
        for &thread in steps {
            let access = system.take(thread);
            sequence.push(Step::of(thread), 1, &[access]);
        }
        sequence
    }

    fn random_beginning(&self, random: &mut Random) -> Steps {
        let (all, _) = &self.interleavings[random.below(self.interleavings.len())];
        all[..1 + random.below(all.len())].to_vec()
    }
}

/// A node of a tree: the steps that lead to it, and whether it is a leaf.
type Node = (Steps, bool);

/// Returns the nodes below `prefix` in the order `≺`: those of a branch before the branch itself, one branch after the other.
fn post_order(trees: &WakeupTrees, tree: Option<BranchId>, prefix: &[ThreadId]) -> Vec<Node> {
    let mut all = Vec::new();
    for branch in trees.branches(tree) {
        let steps = [prefix, &[trees.step(branch).thread]].concat();
        let below = trees.children(branch);
        all.extend(post_order(trees, below, &steps));
        all.push((steps, below.is_none()));
    }
    all
}

/// Returns the leaves of a tree in order, each as the steps that lead to it.
fn leaves(trees: &WakeupTrees, tree: Option<BranchId>) -> Vec<Steps> {
    let nodes = post_order(trees, tree, &[]).into_iter();
    nodes.filter(|(_, is_leaf)| *is_leaf).map(|(steps, _)| steps).collect()
}

/// Returns the steps of `v` that `w` does not have.
fn beyond(v: &[ThreadId], w: &[ThreadId]) -> Steps {
    let count = |steps: &[ThreadId], it: ThreadId| steps.iter().filter(|&&x| x == it).count();
    let is_new = |&index: &usize| count(&v[..index], v[index]) >= count(w, v[index]);
    (0..v.len()).filter(is_new).map(|index| v[index]).collect()
}

#[test]
fn insertion_keeps_the_promises_of_the_paper() {
    let mut random = Random::new(7);
    let (mut grown, mut covered) = (0, 0);
    for _ in 0..400 {
        let program = Program::random(&mut random);
        let mut trees = WakeupTrees::default();
        let mut tree = None;
        for _ in 0..8 {
            let v = program.random_beginning(&mut random);
            let (before, nodes) = (leaves(&trees, tree), post_order(&trees, tree, &[]));
            let sequence = program.sequence(&v);
            assert!(trees.insert(&mut tree, &sequence, Alternatives::default(), Absent::Initial));
            let after = leaves(&trees, tree);
            let what = format!("{v:?} into {before:?}: {after:?}");

            // Branches stay where they are.
            let kept: Vec<&Steps> = after.iter().filter(|leaf| before.contains(leaf)).collect();
            assert_eq!(kept, before.iter().collect::<Vec<_>>(), "{what}");
            // Definition of `insert`: let `w` be the first node with `v ∼ w`. If it is a leaf, nothing is to be done, or else
            // the rest of `v` becomes a leaf below `w`, after its other branches. The root has all sequences below it.
            let first = nodes.iter().find(|(w, _)| program.are_consistent(&v, w));
            let (w, is_leaf) = first.cloned().unwrap_or_default();
            if is_leaf {
                assert_eq!(after, before, "{what}");
                covered += 1;
            } else {
                let new = [w.clone(), beyond(&v, &w)].concat();
                assert_eq!(after.len(), before.len() + 1, "{what}");
                let below: Vec<&Steps> = after.iter().filter(|leaf| leaf.starts_with(&w)).collect();
                assert_eq!(below.last(), Some(&&new), "{what}");
                grown += 1;
            }
            // Some leaf is consistent with the sequence.
            assert!(after.iter().any(|leaf| program.are_consistent(&v, leaf)), "{what}");

            // Definition 6.1: for branches `u.p ≺ u.w` where `u.w` is a leaf, `p` is no weak initial of `w` after `u`.
            let inner =
                after.iter().flat_map(|leaf| (0..leaf.len()).map(|len| leaf[..len].to_vec()));
            for u in inner.collect::<BTreeSet<Steps>>() {
                let below = after.iter().filter(|leaf| leaf.starts_with(&u));
                let below: Vec<&Steps> = below.filter(|leaf| leaf.len() > u.len()).collect();
                for (number, leaf) in below.iter().enumerate() {
                    for earlier in &below[..number] {
                        let p = &earlier[..=u.len()];
                        let is_other = p[u.len()] != leaf[u.len()];
                        assert!(
                            !(is_other && program.are_consistent(p, leaf)),
                            "{p:?} before {leaf:?} in {after:?}"
                        );
                    }
                }
            }
        }
    }
    assert!(grown > 500 && covered > 500, "both are common: {grown}, {covered}");
}

/// What a step that is not in the sequence means is left open unless the sequence is whole.
#[test]
fn a_step_that_is_absent_decides_only_for_whole_sequences() {
    let mut random = Random::new(8);
    let mut undecided = 0;
    for _ in 0..400 {
        let program = Program::random(&mut random);
        let first = program.random_beginning(&mut random);
        let v = program.random_beginning(&mut random);
        let insert = |absent| {
            let mut trees = WakeupTrees::default();
            let mut tree = None;
            let begin = program.sequence(&first[..1]);
            trees.insert(&mut tree, &begin, Alternatives::default(), Absent::Initial);
            let sequence = program.sequence(&v);
            let decided = trees.insert(&mut tree, &sequence, Alternatives::default(), absent);
            (decided, leaves(&trees, tree))
        };
        let is_absent = !v.contains(&first[0]) && program.are_consistent(&first[..1], &v);
        let (decided, after) = insert(Absent::Undecided);
        assert_eq!(decided, !is_absent, "{v:?} beside {first:?}");
        if is_absent {
            undecided += 1;
            assert_eq!(after, [first[..1].to_vec()], "nothing is done");
            assert_eq!(insert(Absent::Initial).1.len(), 1, "it covers the sequence");
            assert_eq!(insert(Absent::Nothing).1.len(), 2, "it does not");
        }
    }
    assert!(undecided > 20, "{undecided}");
}

/// Branches are taken from the front, and what is freed is used again.
#[test]
fn branches_are_freed() {
    let mut random = Random::new(9);
    for _ in 0..200 {
        let program = Program::random(&mut random);
        let mut trees = WakeupTrees::default();
        let fill = |trees: &mut WakeupTrees| {
            let mut tree = None;
            for (steps, _) in &program.interleavings {
                let sequence = program.sequence(steps);
                trees.insert(&mut tree, &sequence, Alternatives::default(), Absent::Initial);
            }
            tree
        };
        let tree = fill(&mut trees);
        let all = leaves(&trees, tree);
        let traces: BTreeSet<&Trace> = program.interleavings.iter().map(|(_, it)| it).collect();
        assert_eq!(all.len(), traces.len(), "one leaf for each trace");
        let size = trees.arena.len();

        let first = tree.expect("something was inserted");
        let below = trees.take_children(first);
        let rest = trees.drop_branch(first);
        let split = leaves(&trees, below).len().max(1);
        assert_eq!(leaves(&trees, rest), all[split..], "the others come after the first");
        trees.drop_tree(below);
        trees.drop_tree(rest);
        assert_eq!(trees.free.len(), size, "all of it is free");
        let again = fill(&mut trees);
        assert_eq!(leaves(&trees, again), all);
        assert_eq!(trees.arena.len(), size, "nothing new was needed");
    }
}

/// One alternative of a step covers a sequence without it only together with all others.
#[test]
fn alternatives_cover_a_sequence_together() {
    let by = |thread, choice, choices| {
        Move::new(Step { thread: ThreadId::new(thread), choice }, choices, Footprint::new())
    };
    let mut sequence = Sequence::default();
    sequence.push_move(&by(1, 0, 1));
    let insert = |choices: &[u32], asleep: &[u32]| {
        let mut trees = WakeupTrees::default();
        let (mut tree, mut last, mut sleeping) = (None, None, Alternatives::default());
        for &choice in choices {
            last = Some(trees.add_leaf(&mut tree, last, by(0, choice, 3)));
        }
        for &choice in asleep {
            assert!(!sleeping.add(&by(0, choice, 3)));
        }
        assert!(trees.insert(&mut tree, &sequence, sleeping, Absent::Initial));
        trees.branches(tree).count()
    };
    assert_eq!(insert(&[0, 1, 2], &[]), 3, "all alternatives are there");
    assert_eq!(insert(&[0, 2], &[]), 3, "one is missing: a branch of its own");
    assert_eq!(insert(&[0, 2], &[1]), 2, "the missing one sleeps");
}
